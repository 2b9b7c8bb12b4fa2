"""Makes folders for work in progress outside the runs, and finds out whether their process still lives.

The process that made a folder holds a lock on it until it removes it.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from profiler.store.locks import held_if_free, try_lock

_PREFIX, _LOCKED = "prof-", "-locked"
_NEW_S = 10  # whoever makes a folder may not have its lock yet


@contextmanager
def renamed_into_place(path: Path) -> Iterator[Path]:
    """Yields a path beside this one to write to, and renames that file at the end, so that no name ever holds half a file."""
    aside = path.with_name(f".{path.name}.part")
    try:
        aside.unlink(missing_ok=True)  # it may be a link
        yield aside
        os.replace(aside, path)
    finally:
        with suppress(OSError):
            aside.unlink()


def make_scratch(place: Path | None = None) -> tuple[Path, int | None]:
    """Makes a folder in `place`, and returns it with the lock that its owner keeps open."""
    folder = Path(tempfile.mkdtemp(_LOCKED, _PREFIX, place))
    with suppress(OSError):  # a file system without locks
        return folder, try_lock(folder)
    return folder, None


def end_scratch(folder: Path, lock: int | None) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    if lock is not None:
        os.close(lock)


@contextmanager
def scratch_folder(place: Path | None = None) -> Iterator[Path]:
    """Yields a folder in `place` that is removed at the end."""
    folder, lock = make_scratch(place)
    try:
        yield folder
    finally:
        end_scratch(folder, lock)


def find_left_scratch() -> list[Path]:
    """Returns the folders that this user's killed processes left."""
    found: list[Path] = []
    try:
        folders = sorted(Path(tempfile.gettempdir()).glob(f"{_PREFIX}*{_LOCKED}"))
    except OSError:
        return found
    for folder in folders:
        with suppress(OSError):
            if not folder.is_symlink() and folder.is_dir() and folder.stat().st_uid == os.getuid():
                found += [folder] if _is_left(folder) else []
    return found


def _is_left(folder: Path) -> bool:
    age_s = time.time() - max(path.lstat().st_mtime for path in (folder, *folder.rglob("*")))
    if age_s < _NEW_S:
        return False
    with held_if_free(folder) as is_free:
        return is_free
