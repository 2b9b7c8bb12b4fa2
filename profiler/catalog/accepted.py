"""Keeps the changes that a project has accepted: who accepted which new figure, when and why.

`prof.accepted.jsonl` has a line for each, and is committed with the code. A change is accepted from one figure to
another. When the baseline is recorded anew, it no longer has the old figure, and the line has no more effect.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import msgspec
from msgspec import Struct

from profiler.errors import OutputNotWritable, ThresholdsInvalid

ACCEPTED_FILE = "prof.accepted.jsonl"


class Accepted(Struct, frozen=True, forbid_unknown_fields=True):
    """A metric of a kernel may go from `before` to `after`, in the metric's base unit."""

    name: str
    metric: str
    before: float
    after: float
    when: str
    who: str
    why: str


_ONE = msgspec.json.Decoder(Accepted)


def accepted_path(start: Path) -> Path:
    """Returns the file in `start` or the nearest parent that has one; else where it would be in `start`."""
    paths = [folder / ACCEPTED_FILE for folder in (start, *start.parents)]
    return next((path for path in paths if path.is_file()), paths[0])


def read_accepted(path: Path) -> list[Accepted]:
    """Returns the accepted changes, oldest first; none where there is no file."""
    try:
        lines = path.read_bytes().splitlines() if path.is_file() else []
    except OSError as error:
        raise ThresholdsInvalid(f"{path}: cannot be read: {error.strerror}") from None
    found = []
    for number, line in enumerate(lines, start=1):
        try:
            found.append(_ONE.decode(line))
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise ThresholdsInvalid(f"{path}, line {number}: not an accepted change: {error}") from None
    return found


def append_accepted(path: Path, changes: Iterable[Accepted]) -> None:
    """Adds a line for each change to the end of the file."""
    try:
        with path.open("ab") as file:
            file.write(b"".join(msgspec.json.encode(one) + b"\n" for one in changes))
    except OSError as error:
        raise OutputNotWritable(f"{path}: cannot be written: {error.strerror}") from None
