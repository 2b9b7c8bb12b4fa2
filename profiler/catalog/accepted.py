"""Keeps the changes that a project has accepted: who accepted which new figure, or which removal, when and why.

`prof.accepted.jsonl` has a line for each, and is committed with the code. A change is accepted from one figure to
another. When the baseline is recorded anew, it no longer has the old figure, or the old kernel, and the line has no
more effect.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO

import msgspec
from msgspec import Struct

from profiler.errors import OutputNotWritable, ThresholdsInvalid

_ACCEPTED_FILE = "prof.accepted.jsonl"
_MOST_BYTES = 64 << 20


class Accepted(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """Somebody accepted a change of what is called `name`: a metric goes from `before` to `after`, in its base unit.

    Without a metric, another `kernel` stands in its place; without a kernel too, it is gone.
    """

    name: str
    metric: str = ""
    before: float | None = None
    after: float | None = None
    kernel: str | None = None
    when: str
    who: str
    why: str

    def __post_init__(self) -> None:
        figures = {self.before is None, self.after is None}
        if figures != {not self.metric} or (self.metric and self.kernel is not None):
            raise ValueError("a metric needs the figures before and after, and nothing else has any")

    @property
    def is_removal(self) -> bool:
        """Returns whether the kernel or the recording may be gone."""
        return not self.metric and self.kernel is None


_ONE = msgspec.json.Decoder(Accepted)


def accepted_path(start: Path) -> Path:
    """Returns the file in `start` or the nearest parent that has one; else where it would be in `start`."""
    paths = [folder / _ACCEPTED_FILE for folder in (start, *start.parents)]
    return next((path for path in paths if path.is_file()), paths[0])


def read_accepted(path: Path) -> list[Accepted]:
    """Returns the accepted changes, oldest first; none where there is no file."""
    data = b""
    try:
        if path.is_file():
            with path.open("rb") as file:
                data = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise ThresholdsInvalid(f"{path}: cannot be read: {error.strerror}") from None
    if len(data) > _MOST_BYTES:
        raise ThresholdsInvalid(f"{path}: larger than {_MOST_BYTES >> 20} MiB")
    found = []
    for number, line in enumerate(data.splitlines(), start=1):
        try:
            found.append(_ONE.decode(line))
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise ThresholdsInvalid(f"{path}, line {number}: not an accepted change: {error}") from None
    return found


def append_accepted(path: Path, changes: Iterable[Accepted]) -> None:
    """Adds a line for each change to the end of the file."""
    lines = b"".join(msgspec.json.encode(one) + b"\n" for one in changes)
    try:
        with open(path, "a+b", opener=_open_own) as file:
            file.write(_missing_line_end(file) + lines)
    except OSError as error:
        reason = "a link is there" if error.errno == errno.ELOOP else error.strerror or str(error)
        raise OutputNotWritable(f"{path}: cannot be written: {reason}") from None


def _open_own(path: str, flags: int) -> int:
    """Opens the file itself. A link in a stranger's repository could lead to any file of the user; a pipe is not waited for."""
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK, 0o666)


def _missing_line_end(file: BinaryIO) -> bytes:
    """Returns the line end that somebody's editor left out, so that two changes do not become one line."""
    if file.seek(0, os.SEEK_END) == 0:
        return b""
    file.seek(-1, os.SEEK_END)
    return b"" if file.read(1) == b"\n" else b"\n"
