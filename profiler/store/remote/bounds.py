"""How large a file may be that somebody else wrote, on this machine or at a URL, and what stops at that size.

A server may send without end, whatever it was asked for and whatever it announced.
"""

from __future__ import annotations

import errno
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fsspec.callbacks import Callback  # type: ignore[import-untyped]

MOST_FILE_BYTES = 16 << 30  # of a report or of a table of a pack, which is copied piece by piece
_MOST_BYTES = 4 << 30  # of a table or of the lines of a pack, which is read as a whole
_MOST_OTHER_BYTES = 64 << 20  # of anything else: a manifest, an index, a listing


def most_bytes(name: str) -> int:
    """Return how large a file with this name may be that is read as a whole."""
    return _MOST_BYTES if name.endswith((".parquet", ".jsonl")) else _MOST_OTHER_BYTES


class FileTooLarge(OSError):
    """A file is larger than one with its name can be."""

    def __init__(self, most: int) -> None:
        super().__init__(errno.EFBIG, f"larger than {most >> 20:,} MiB")
        self.most = most

    def __reduce__(self) -> tuple[object, ...]:
        return (FileTooLarge, (self.most,))


def bounded_copy() -> Callback:
    """Return what a file system reports its progress to, and which stops it when the file is too large."""
    from fsspec.callbacks import Callback

    def stop(size: int | None, value: int, **_: object) -> None:
        if max(size or 0, value) > MOST_FILE_BYTES:
            raise FileTooLarge(MOST_FILE_BYTES)

    return Callback(hooks={"bound": stop})


@cache
def bounded_response() -> type[Any]:
    """Return the kind of answer from a web server that is read as a whole only if it is not too large."""
    from aiohttp import ClientResponse

    class Bounded(ClientResponse):
        async def read(self) -> bytes:
            if self._body is None:
                asked = self.history[0] if self.history else self
                most, pieces, count = most_bytes(asked.url.path), [], 0
                async for piece in self.content.iter_any():
                    pieces.append(piece)
                    count += len(piece)
                    if count > most:
                        self.close()
                        raise FileTooLarge(most)
                self._body = b"".join(pieces)
            return await super().read()

    return Bounded
