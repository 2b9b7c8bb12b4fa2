"""Makes neutral folders for programs under ncu: temporary folders whose names reveal nothing about the user.

A report contains the working directory, the program's path and ncu's command line. So a compiled rung is copied to a
neutral folder and runs there, and so does a script whose ladder names all the files that it reads. Any other program
may need its own folder and runs there.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from profiler.store.scratch import scratch_folder

_COMMON = Path("/tmp")


@contextmanager
def neutral_folder() -> Iterator[Path]:
    """Yields a fresh folder outside the user's home, and removes it at the end."""
    place = Path(tempfile.gettempdir())
    if place.resolve().is_relative_to(Path.home()) and _COMMON.is_dir():
        place = _COMMON
    with scratch_folder(place) as folder:
        yield folder


def bring_binary(binary: Path, folder: Path) -> Path:
    """Copies the binary into the folder, unless it is there already; returns the copy."""
    target = folder / binary.name
    if not target.exists():
        shutil.copy2(binary, target)
    return target


def relative_words(words: list[str], folder: Path) -> list[str]:
    """Returns the command as one would type it in that folder."""
    inside = f"{folder}/"
    return [f"./{word[len(inside) :]}" if word.startswith(inside) else word for word in words]
