"""Where runs lie: a folder of this machine, or a URL that fsspec knows. Names go in, bytes come out.

A name is relative to the place and has forward slashes: `RUN-ID/run.json`. What is not there is a
FileNotFoundError; an object store that cannot be used is one of the `Remote…` errors. A name that leads out of
the place is RunDamaged, whoever gave it.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol
from urllib.parse import unquote

from profiler.errors import StoreError
from profiler.store.file_names import inside
from profiler.store.remote.files import is_url, public_url

Location = Path | str  # a string is a URL
Piece = tuple[str, int | None, int | None]  # a name, and which of its bytes: from, to


class Place(Protocol):
    """What a `RunStore` needs of where it lies."""

    @property
    def root(self) -> Location:
        """As messages name it, without secrets."""

    @property
    def local(self) -> Path:
        """A folder of this machine for what is under way: `root` itself where that is one."""

    def names(self) -> list[str]:
        """The folders in it that may be runs or packs, in order, without those that begin with a dot."""

    def read(self, name: str, start: int | None = None, end: int | None = None) -> bytes: ...

    def read_all(self, pieces: Sequence[Piece]) -> list[bytes | OSError]:
        """Many at once; what cannot be read stands in the list as its error."""

    def file(self, name: str) -> Path:
        """A file of this machine that holds the same."""

    def keep(self, name: str, data: bytes) -> Path:
        """The same, where its bytes were just read."""

    def forget(self, name: str) -> None:
        """It was looked at, and its copy on this machine may go."""

    def shown(self, name: str) -> str:
        """For messages."""


class Folder:
    """Runs in a folder of this machine. A `confined` one opens nothing that a link leads out of it to."""

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
            raise StoreError(
                f"{self.root}: not a folder of runs: {error.strerror}",
                remedy="Choose another folder with --runs.",
            ) from error

    def read(self, name: str, start: int | None = None, end: int | None = None) -> bytes:
        with open(self._path(name), "rb") as file:
            if start is None or end is None:
                return file.read()
            return os.pread(file.fileno(), end - start, start)

    def read_all(self, pieces: Sequence[Piece]) -> list[bytes | OSError]:
        found: list[bytes | OSError] = []
        for piece in pieces:
            try:
                found.append(self.read(*piece))
            except OSError as error:
                found.append(error)
        return found

    def file(self, name: str) -> Path:
        path = self._path(name)
        path.stat()
        return path

    def keep(self, name: str, data: bytes) -> Path:  # noqa: ARG002 - they are there
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


def location_of(given: Location) -> Location:
    """A path, or a URL; a `file://` URL is the path that it names."""
    if isinstance(given, Path) or not is_url(given):
        return Path(given)
    if given.startswith("file://"):
        return Path(unquote(given.removeprefix("file://")))
    return given.rstrip("/")


def state_folder(url: str) -> Path:
    """What is under way for the runs at a URL is kept on this machine, from one call to the next."""
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    shown = public_url(url)
    slug = re.sub(r"[^a-z0-9]+", "-", shown.lower()).strip("-")[:60]
    return Path(state) / "prof" / f"{slug}-{hashlib.sha256(shown.encode()).hexdigest()[:12]}"
