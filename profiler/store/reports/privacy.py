"""Finds the home directories that a report names: in its command line, its folders and the paths of its sources.

In: a stored report, compressed or not. Out: the home directories in it. The report is searched as bytes, so that parts
which prof does not decode are searched too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from profiler.store.reports.identity import read_plain

_NAME = rb"[A-Za-z0-9_][A-Za-z0-9_.@+-]{0,63}"
_HOMES = rb"/root(?![A-Za-z0-9_.-])|(?:/home/|/Users/|[A-Za-z]:[\\/]{1,2}Users[\\/]{1,2})" + _NAME
# One of them is in each match. Most reports hold none, which shows much faster.
_MARKS = (b"/root", b"/home/", b"Users")
_LONGEST = 4096  # more than any match, so that none is cut by the end of a chunk


def find_home_directories(report: Path, own: Path | None = None) -> list[str]:
    """Returns the home directories that the report names, sorted; `own` is found wherever it lies.

    Raises a ReportError, also when a compressed report does not decompress.
    """
    homes, marks = _HOMES, list(_MARKS)
    if own is not None and len(own.parts) > 1:  # the root folder is nobody's home
        homes = re.escape(bytes(own)) + rb"(?=/)|" + homes
        marks.append(bytes(own))
    pattern = re.compile(homes)

    def homes_in(text: bytes) -> Iterator[re.Match[bytes]]:
        return pattern.finditer(text) if any(mark in text for mark in marks) else iter(())

    found, rest = set(), b""
    for chunk in read_plain(report):
        text = rest + chunk
        settled = len(text) - _LONGEST
        found |= {match.group() for match in homes_in(text) if match.start() < settled}
        rest = text[max(0, settled) :]
    found |= {match.group() for match in homes_in(rest)}
    return sorted(home.decode(errors="replace") for home in found)
