"""Keeps what is slow to compute and cheap to keep, as bytes by key, in the user's cache folder.

Everything in there may be deleted at any time. An entry carries a digest of its whole key and its content, so an entry
that is damaged, cut short or of another key does not count. A folder that belongs to somebody else, or that others may
write to, is not used: they could put any answer there. No answer fails because of the cache: what cannot be kept is
not kept, without a message.
"""

from __future__ import annotations

import hashlib
import os
import stat
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from profiler.errors import ResourcesShort
from profiler.store.disk import open_regular, renamed_into_place

_PICTURES_BYTES = 32 << 20
_DIGEST_BYTES = 32
_FOR_THIS_USER = 0o600
_KEPT_OF_LIMIT = 0.75  # so that a full cache is not tidied at every entry


def cache_root() -> Path | None:
    """Returns the folder of all caches; None where the user has no home."""
    named = os.environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(named):  # others are to be ignored (XDG Base Directory Specification)
        return Path(named) / "prof"
    try:
        return Path.home() / ".cache" / "prof"
    except RuntimeError:
        return None


def open_cache(name: str, limit_bytes: int) -> Cache:
    """Returns the user's cache of this name: one in a process, since it learns how full its folder is at its first entry."""
    return _opened(name, limit_bytes, cache_root())


def open_pictures() -> Cache:
    """Returns the user's cache of the pictures of pages: one takes some 15 KB, and a page of a ladder has fifty."""
    return open_cache("pictures", _PICTURES_BYTES)


class Cache:
    """One folder of entries, which together take about `limit_bytes` at most: what was used least recently goes first."""

    def __init__(self, name: str, limit_bytes: int, root: Path | None = None) -> None:
        root = root or cache_root()
        self._folder = root / name if root else None
        self._limit = limit_bytes
        self._size: int | None = None  # of all entries, as far as this process knows

    def get(self, key: str) -> bytes | None:
        """Returns what was kept under the key, if it is there whole."""
        if self._folder is None:
            return None
        path = self._folder / _name(key)
        try:
            _require_private(self._folder)
            with open_regular(path) as file:
                content = file.read(self._limit)
        except (OSError, ResourcesShort):
            return None
        data = content[_DIGEST_BYTES:]
        if content[:_DIGEST_BYTES] != _digest(key, data):
            with suppress(OSError):
                path.unlink()
            return None
        with suppress(OSError):
            os.utime(path)
        return data

    def put(self, key: str, data: bytes) -> None:
        """Keeps the data, unless it alone is larger than the cache may be."""
        if self._folder is None or len(data) + _DIGEST_BYTES > self._limit * _KEPT_OF_LIMIT:
            return
        with suppress(OSError):
            for folder in (self._folder.parent, self._folder):
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            _require_private(self._folder)
            with renamed_into_place(self._folder / _name(key), _FOR_THIS_USER) as aside:
                aside.write_bytes(_digest(key, data) + data)
            self._make_room(len(data) + _DIGEST_BYTES)

    def _make_room(self, added: int) -> None:
        if self._size is not None and self._size + added <= self._limit:
            self._size += added
            return
        assert self._folder is not None
        found = []
        for entry in os.scandir(self._folder):
            with suppress(FileNotFoundError):  # another process tidies too
                found.append((entry.stat().st_mtime_ns, entry.stat().st_size, entry.path))
        self._size = sum(size for _, size, _ in found)
        if self._size > self._limit:
            for _, size, path in sorted(found):
                if self._size <= self._limit * _KEPT_OF_LIMIT:
                    break
                with suppress(FileNotFoundError):
                    os.unlink(path)
                self._size -= size


def _require_private(folder: Path) -> None:
    """Raises PermissionError unless only this user can write to the folder and to the one around it.

    Both may be links that this user made: another user who could make one would choose what is read, and removed, in there.
    """
    for one in (folder.parent, folder):
        status = one.stat()
        by_others = status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
        if by_others or {status.st_uid, one.lstat().st_uid} != {os.getuid()}:
            raise PermissionError(one)


_opened = lru_cache(Cache)


@lru_cache
def hash_of_code(*places: Path) -> str:
    """Returns a hash of these modules, and of those below these folders, as part of a key: a version would have to be raised by hand."""
    read = hashlib.sha256()
    for place in places:
        for module in sorted(place.rglob("*.py")) if place.is_dir() else [place]:
            read.update(f"{module.relative_to(place)}\0".encode() + module.read_bytes())
    return read.hexdigest()


def _name(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()


def _digest(key: str, data: bytes) -> bytes:
    return hashlib.sha256(key.encode() + b"\0" + data).digest()
