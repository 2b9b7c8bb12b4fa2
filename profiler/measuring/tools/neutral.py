"""Makes neutral folders for programs under ncu: temporary folders whose names reveal nothing about the user.

A report contains the working directory, the program's path and ncu's command line. So a compiled rung is copied to a
neutral folder and runs there, and so does a script whose ladder names all the files that it reads. Any other program
may need its own folder and runs there.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from profiler.store.scratch import neutral_place, remove_left_scratch, scratch_folder


@contextmanager
def neutral_folder() -> Iterator[Path]:
    """Yields a fresh folder outside the user's home, and removes it at the end; before, removes what killed processes left."""
    remove_left_scratch()
    with scratch_folder(neutral_place()) as folder:
        yield folder


def relative_words(words: list[str], folder: Path) -> list[str]:
    """Returns the command as one would type it in that folder."""
    inside = f"{folder}/"
    return [f"./{word[len(inside) :]}" if word.startswith(inside) else word for word in words]
