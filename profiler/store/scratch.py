"""Makes folders for work in progress outside the runs, and finds out whether their process still lives.

The process that made a folder holds a lock on it until it removes it.
"""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
import time
from collections.abc import Container, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from profiler.store.locks import held_if_free, try_lock

_PREFIX, _LOCKED = "prof-", "-locked"
_NEW_S = 10  # whoever makes a folder may not have its lock yet
_COMMON = Path("/tmp")


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


def neutral_place() -> Path:
    """Returns where to make folders whose paths say nothing about the user: the temporary folder, unless that is in their home."""
    place = Path(tempfile.gettempdir())
    return _COMMON if place.resolve().is_relative_to(Path.home()) and _COMMON.is_dir() else place


def find_left_scratch() -> list[Path]:
    """Returns the folders that this user's killed processes left."""
    return list(_left_folders())


def remove_left_scratch(among: Container[Path] | None = None) -> None:
    """Removes the folders that killed processes of this user left; with `among`, only those of them."""
    for folder in _left_folders():
        if among is None or folder in among:
            shutil.rmtree(folder, ignore_errors=True)


def _left_folders() -> Iterator[Path]:
    """Yields each folder whose process is gone, and holds the folder's lock meanwhile."""
    for folder in _own_folders():
        with suppress(OSError):
            age_s = time.time() - max(path.lstat().st_mtime for path in (folder, *folder.rglob("*")))
            if age_s >= _NEW_S:
                with held_if_free(folder) as is_free:
                    if is_free:
                        yield folder


def _own_folders() -> Iterator[Path]:
    """Yields the folders of this user whose names are those of folders for work in progress; a link to one is none."""
    for place in dict.fromkeys((Path(tempfile.gettempdir()), neutral_place())):
        with suppress(OSError):
            for folder in sorted(place.glob(f"{_PREFIX}*{_LOCKED}")):
                with suppress(OSError):
                    status = folder.lstat()
                    if stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid():
                        yield folder
