"""Writes the files that a user named, each completely or not at all."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

import typer

from profiler.commands.shared.options import VerbSettings
from profiler.errors import OutputNotWritable
from profiler.text import printable


def check_ending(path: Path, endings: Sequence[str], option: str, why: str = "") -> None:
    """Refuses a file name with any other ending, before anything is computed."""
    if path.suffix.lower() not in endings:
        *others, last = endings
        known = f"{', '.join(others)} or {last}" if others else last
        raise typer.BadParameter(
            f"'{printable(path.name)}' should end in {known}{why}", param_hint=f"'{option}'"
        )


def write_whole(content: bytes, path: Path) -> None:
    """Writes a file as `whole_file` does."""
    with whole_file(path) as file:
        file.write(content)


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """Opens a temporary file and renames it, so that the file is never half written and a failure keeps the old one."""
    aside = path.with_name(f".{path.name}.part")
    try:
        aside.unlink(missing_ok=True)  # it may be a link
        with aside.open("xb") as file:
            yield file
        os.replace(aside, path)
    except OSError as error:
        raise OutputNotWritable(f"{path}: cannot be written: {error.strerror}") from None
    finally:
        with suppress(OSError):
            aside.unlink()


def report_written(path: Path, settings: VerbSettings, what_to_do: str = "") -> None:
    if not settings.quiet:
        print(f"Wrote {printable(str(path))}{what_to_do}", file=sys.stderr)
