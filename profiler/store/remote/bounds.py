"""How large a file may be that somebody else wrote, on this machine or at a URL, and what stops at that size.

A server may send without end, whatever it was asked for and whatever it announced.
"""

from __future__ import annotations

import errno
import re
import shutil
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from profiler.errors import DiskFull

if TYPE_CHECKING:
    from aiohttp import ClientResponse
    from fsspec.callbacks import Callback  # type: ignore[import-untyped]

MOST_FILE_BYTES = 16 << 30  # of a report or of a table of a pack, which is copied piece by piece
_MOST_BYTES = 4 << 30  # of a table or of the lines of a pack, which is read as a whole
_MOST_OTHER_BYTES = 64 << 20  # of anything else: a manifest, an index, a listing
MOST_AHEAD_BYTES = 64 << 20  # of each of the files that are read at once; a larger one is read alone
MOST_HELD_BYTES = 4 << 30  # of all of these together
_FREE_BYTES, _FREE_PART = 1 << 30, 10  # what copies leave free: a gigabyte, or a tenth of a small disk


def most_bytes(name: str, most: int | None = None) -> int:
    """Returns how large a file with this name may be that is read as a whole, and at most as large as `most`."""
    largest = _MOST_BYTES if name.endswith((".parquet", ".jsonl")) else _MOST_OTHER_BYTES
    return largest if most is None else min(largest, most)


class FileTooLarge(OSError):
    """A file is larger than one with its name can be."""

    def __init__(self, most: int) -> None:
        super().__init__(errno.EFBIG, f"larger than {most >> 20:,} MiB")
        self.most = most

    def __reduce__(self) -> tuple[object, ...]:
        return (FileTooLarge, (self.most,))


def bounded_copy(folder: Path) -> Callback:
    """Returns what a file system reports its progress to, and which stops it when the file is too large.

    Many files may be below that: it also stops one that would leave too little of the disk with `folder`.
    """
    from fsspec.callbacks import Callback

    def stop(size: int | None, value: int, **_: object) -> None:
        if max(size or 0, value) > MOST_FILE_BYTES:
            raise FileTooLarge(MOST_FILE_BYTES)
        disk = shutil.disk_usage(folder)
        if disk.free < min(_FREE_BYTES, disk.total // _FREE_PART):
            raise DiskFull(f"{folder}: copies of files at a URL would fill the disk")

    return Callback(hooks={"bound": stop})


@cache
def bounded_response() -> type[Any]:
    """Returns the kind of answer from a web server that is read as a whole only if it is not too large."""
    from aiohttp import ClientResponse

    class Bounded(ClientResponse):
        async def read(self) -> bytes:
            if self._body is None:
                asked = self.history[0] if self.history else self
                most, pieces, count = most_bytes(asked.url.path, _end_asked(asked)), [], 0
                async for piece in self.content.iter_any():
                    pieces.append(piece)
                    count += len(piece)
                    if count > most:
                        self.close()
                        raise FileTooLarge(most)
                self._body = b"".join(pieces)
            return await super().read()

    return Bounded


def _end_asked(response: ClientResponse) -> int | None:
    """Returns where the request's range of bytes ends; a server that ignores it sends the file from its start."""
    asked = re.fullmatch(r"bytes=\d+-(\d+)", response.request_info.headers.get("Range", ""))
    return int(asked[1]) + 1 if asked else None
