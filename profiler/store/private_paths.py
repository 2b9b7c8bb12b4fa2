"""Whose home a report gives away: it holds its command line, its folders, and the paths of sources.

A stored report goes in, compressed or not, and the home directories named in it come out. It is
searched as bytes, so that nothing in it is overlooked because nobody decodes it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from profiler.errors import ReportUnreadable

_NAME = rb"[A-Za-z0-9_][A-Za-z0-9_.@+-]{0,63}"
_HOMES = rb"/root(?![A-Za-z0-9_.-])|/(?:home|Users)/" + _NAME
_LONGEST = 4096  # more than any match, so that none is cut by the end of a chunk
_CHUNK_BYTES = 1 << 22
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"


def find_home_directories(report: Path, own: Path | None = None) -> list[str]:
    """The homes it names, sorted; `own` is one to look for wherever it lies.

    Raises ReportUnreadable, also where a compressed report does not decompress.
    """
    homes = _HOMES
    if own is not None and len(own.parts) > 1:  # the root folder is nobody's
        homes = re.escape(bytes(own)) + rb"(?=/)|" + homes
    pattern = re.compile(homes)
    found, rest = set(), b""
    for chunk in _chunks(report):
        text = rest + chunk
        settled = len(text) - _LONGEST
        found |= {match.group() for match in pattern.finditer(text) if match.start() < settled}
        rest = text[max(0, settled) :]
    found |= {match.group() for match in pattern.finditer(rest)}
    return sorted(home.decode(errors="replace") for home in found)


def _chunks(report: Path) -> Iterator[bytes]:
    import pyarrow as pa

    try:
        with pa.OSFile(str(report)) as file:
            packed = file.read(len(_ZSTD_MAGIC)) == _ZSTD_MAGIC
            file.seek(0)
            stream = pa.CompressedInputStream(file, "zstd") if packed else file
            while chunk := stream.read(_CHUNK_BYTES):
                yield chunk
    except OSError as error:
        raise ReportUnreadable(f"{report}: cannot be read: {error}") from error
