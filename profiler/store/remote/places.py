"""The interface to a place that holds runs, and its form for a folder of this machine. Names go in, bytes
come out.

A name is relative to the place and has forward slashes: `RUN-ID/run.json`. A missing file raises
FileNotFoundError, an object store that cannot be used one of the `Remote…` errors, and a name that leads out
of the place RunDamaged.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol
from urllib.parse import unquote

from profiler.errors import RunDamaged, RunUnreadable, RunUnusable, StoreError
from profiler.machine import user_state_folder
from profiler.store.disk import open_regular
from profiler.store.remote.bounds import FileTooLarge, most_bytes
from profiler.store.remote.urls import is_url, public_url

Location = Path | str  # a string is a URL
# A name, and the first and the last (exclusive) of its bytes; None for all.
Piece = tuple[str, int | None, int | None]
# The system's errors for a file that prof cannot have written: it is missing, a folder, a pipe, or has another size.
_NOT_AS_WRITTEN = (
    errno.ENOENT,
    errno.ENOTDIR,
    errno.EISDIR,
    errno.ELOOP,
    errno.ENXIO,
    errno.EINVAL,
    errno.EFBIG,
)


def stays_inside(name: str) -> bool:
    """Returns whether a relative name with forward slashes stays within the folder that it is joined to."""
    return "\0" not in name and all(part not in ("", ".", "..") for part in name.split("/"))


def inside(name: str) -> str:
    """Returns the name unchanged; RunDamaged when it leads out of the folder that it is to be joined to."""
    if not stays_inside(name):
        raise RunDamaged(f"{name!r}: a name that leads out of the runs")
    return name


class Place(Protocol):
    """A folder or a URL that holds runs and packs."""

    @property
    def root(self) -> Location:
        """Returns the place as messages name it, without secrets."""

    @property
    def local(self) -> Path:
        """Returns a folder of this machine for unfinished work: `root` itself when that is a folder."""

    def names(self) -> list[str]:
        """Returns the folders that may be runs or packs, in order; those that begin with a dot are left out."""

    def read(self, name: str, start: int | None = None, end: int | None = None) -> bytes: ...

    def read_all(self, pieces: Sequence[Piece], most: int | None = None) -> list[bytes | OSError]:
        """Reads several pieces at once; a piece that cannot be read, or is larger than `most`, is returned as its error."""

    def file(self, name: str) -> Path:
        """Returns a file of this machine with the same content."""

    def keep(self, name: str, data: bytes) -> Path:
        """Returns a file of this machine with the same content, which was just read as `data`."""

    def forget(self, name: str) -> None:
        """Removes the copy that `file` or `keep` made on this machine, if they made one."""

    def shown(self, name: str) -> str:
        """Returns the path or URL of a file, for messages."""


class FolderPlace:
    """A folder of this machine. A `confined` one follows no link that leads out of it."""

    def __init__(self, root: Path, *, confined: bool = False) -> None:
        self.root: Location = root
        self.local = root
        self._border = root.resolve() if confined else None

    def names(self) -> list[str]:
        try:
            return sorted(entry for entry in os.listdir(self.local) if not entry.startswith("."))
        except FileNotFoundError:
            return []
        except OSError as error:
            is_file = isinstance(error, NotADirectoryError)
            what = "a file, and not a folder of runs" if is_file else f"cannot be listed: {error.strerror}"
            raise StoreError(f"{self.root}: {what}", remedy="Choose another folder with `--runs`.") from error

    def read(self, name: str, start: int | None = None, end: int | None = None) -> bytes:
        with open_regular(self._path(name)) as file:
            size = os.fstat(file.fileno()).st_size
            start, end = start or 0, size if end is None else end
            if not 0 <= start <= end <= size:
                raise OSError(errno.EINVAL, "it is too short")
            if end - start > most_bytes(name):
                raise FileTooLarge(most_bytes(name))
            file.seek(start)
            return file.read(end - start)

    def read_all(self, pieces: Sequence[Piece], most: int | None = None) -> list[bytes | OSError]:  # noqa: ARG002 - nothing is read ahead here
        found: list[bytes | OSError] = []
        for piece in pieces:
            try:
                found.append(self.read(*piece))
            except OSError as error:
                found.append(error)
        return found

    def file(self, name: str) -> Path:
        path = self._path(name)
        open_regular(path).close()
        return path

    def keep(self, name: str, data: bytes) -> Path:  # noqa: ARG002 - it is there already
        return self._path(name)

    def forget(self, name: str) -> None:
        pass

    def shown(self, name: str) -> str:
        return str(self.local / name)

    def _path(self, name: str) -> Path:
        path = self.local / inside(name)
        if self._border is not None and not path.resolve().is_relative_to(self._border):
            raise PermissionError(errno.EACCES, f"a link there leads out of {self.root}", str(path))
        return path


@contextmanager
def reading_from(where: str) -> Iterator[None]:
    """Turns an error of the system inside into the one for this file of a run."""
    try:
        yield
    except OSError as error:
        raise unreadable(error, where) from error


def unreadable(error: OSError, where: str) -> RunUnusable:
    """Returns the error for a file of a run: it is damaged when it is missing or no such file, else it may be whole."""
    is_damage = isinstance(error, FileNotFoundError) or error.errno in _NOT_AS_WRITTEN
    kind = RunDamaged if is_damage else RunUnreadable
    return kind(f"{where}: cannot be read: {error.strerror or str(error) or 'it is not there'}")


def location_of(given: Location) -> Location:
    """Returns a path as a path and a URL as text; a `file://` URL becomes the path that it names."""
    if isinstance(given, Path) or not is_url(given):
        return Path(given)
    if given.startswith("file://"):
        return Path(unquote(given.removeprefix("file://")))
    return given.rstrip("/")


def state_folder(url: str) -> Path:
    """Returns the folder of this machine that keeps unfinished work for the runs at a URL, from one call to the next."""
    shown = public_url(url)
    slug = re.sub(r"[^a-z0-9]+", "-", shown.lower()).strip("-")[:60]
    return user_state_folder() / f"{slug}-{hashlib.sha256(shown.encode()).hexdigest()[:12]}"
