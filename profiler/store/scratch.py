"""Folders for work in progress outside the runs, of which one can tell whether their process lives.

The process that made a folder holds a lock on it until it removes it. A folder of an older prof has no lock, and is
taken for left behind when nothing in it changed for a day.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from profiler.store.locks import try_lock

_PREFIX, _LOCKED = "prof-", "-locked"
_LEFT_S = 86_400
_NEW_S = 10  # whoever makes a folder may not have its lock yet


def make_scratch(place: Path | None = None) -> tuple[Path, int | None]:
    """Make a folder in `place`, and return it with the lock that its owner keeps open."""
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
    """Yield a folder in `place` that is removed at the end."""
    folder, lock = make_scratch(place)
    try:
        yield folder
    finally:
        end_scratch(folder, lock)


def find_left_scratch() -> list[Path]:
    """Return the folders that this user's killed processes left."""
    found: list[Path] = []
    try:
        folders = sorted(Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"))
    except OSError:
        return found
    for folder in folders:
        with suppress(OSError):
            if not folder.is_symlink() and folder.is_dir() and folder.stat().st_uid == os.getuid():
                found += [folder] if _is_left(folder) else []
    return found


def _is_left(folder: Path) -> bool:
    age_s = time.time() - max(path.lstat().st_mtime for path in (folder, *folder.rglob("*")))
    if age_s < (_NEW_S if folder.name.endswith(_LOCKED) else _LEFT_S):
        return False
    lock = try_lock(folder)
    if lock is not None:
        os.close(lock)
    return lock is not None
