"""A place on an object store, through fsspec: many requests at once, and errors that say what to do.

Listings are never cached, so that prof sees what another client wrote a moment ago.
"""

from __future__ import annotations

import errno
import weakref
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from functools import cached_property
from glob import has_magic
from pathlib import Path
from typing import Any

from profiler.errors import RemoteFailed
from profiler.store.disk import renamed_into_place
from profiler.store.remote.bounds import MOST_HELD_BYTES, FileTooLarge, bounded_copy, most_bytes
from profiler.store.remote.files import open_filesystem, remote_errors
from profiler.store.remote.listing import is_s3, is_web, list_files
from profiler.store.remote.places import Location, Piece, inside, state_folder, stays_inside
from profiler.store.remote.urls import error_text, public_url

_AT_ONCE = 64
_DEEPEST = 6  # `damaged/2/pack-…/reports/…`, and one more
_LONGEST_NAME = 4096


class ObjectPlace:
    """Folders under a prefix. A folder is there when one of `last_files` is in it, which its writer puts last."""

    def __init__(self, url: str, last_files: Collection[str]) -> None:
        self._last_files = last_files
        self._url = url
        self.root: Location = public_url(url)

    @cached_property
    def local(self) -> Path:
        return state_folder(self._url)

    def names(self) -> list[str]:
        """Returns the folders that are whole. Takes one listing of everything, since nothing else shows which are."""
        split = (name.split("/") for name in self.files(deepest=2))
        return sorted(
            parts[0]
            for parts in split
            if len(parts) == 2 and parts[1] in self._last_files and not parts[0].startswith(".")
        )

    def files(self, start: str = "", deepest: int = _DEEPEST) -> dict[str, int]:
        """Returns the names of all files that begin with `start`, with their sizes in bytes.

        A web server is asked for one folder after another, down to the `deepest`; a bucket gives all at once. Leaves out
        names that prof cannot have given, and stops at more than it would ever give.
        """
        folder, sizes = f"{self._connected[1]}/", dict[str, int]()
        with self._explained():
            self._system.invalidate_cache()
            try:
                for entry in list_files(self._system, folder, self.root, start, deepest):
                    name = entry["name"].removeprefix(folder)
                    if _is_name(name) and name.startswith(start) and entry["name"].startswith(folder):
                        sizes[name] = entry.get("size", 0)
            except FileNotFoundError as error:  # an empty place gives an empty listing
                raise self._no_bucket(error) from error
            if not sizes:
                self._require_answer(folder)
            return sizes

    def read(self, name: str, start: int | None = None, end: int | None = None) -> bytes:
        (found,) = self.read_all([(name, start, end)])
        if isinstance(found, OSError):
            raise found
        return found

    def read_all(self, pieces: Sequence[Piece], most: int | None = None) -> list[bytes | OSError]:
        found: list[bytes | OSError] = []
        held = 0
        for start in range(0, len(pieces), _AT_ONCE):
            some = pieces[start : start + _AT_ONCE]
            if held > MOST_HELD_BYTES:
                found += [FileTooLarge(MOST_HELD_BYTES)] * len(some)
            else:
                found += self._read_some(some, most)
            held += sum(len(one) for one in found[start:] if isinstance(one, bytes))
        return found

    def _read_some(self, pieces: Sequence[Piece], most: int | None) -> list[bytes | OSError]:
        with self._explained():
            answers = self._system.cat_ranges(
                [self._path(name) for name, _, _ in pieces],
                [start for _, start, _ in pieces],
                [self._end(*piece, most) for piece in pieces],
                on_error="return",
                batch_size=_AT_ONCE,
            )
            return [self._answer(piece, answer, most) for piece, answer in zip(pieces, answers, strict=True)]

    def file(self, name: str) -> Path:
        target = self._copy_of(name)
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            with renamed_into_place(target) as aside, self._explained():
                self._system.get_file(self._path(name), str(aside), callback=bounded_copy(aside.parent))
        return target

    def keep(self, name: str, data: bytes) -> Path:
        target = self._copy_of(name)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
        return target

    def forget(self, name: str) -> None:
        self._copy_of(name).unlink(missing_ok=True)

    def shown(self, name: str) -> str:
        return f"{self.root}/{name}"

    # Writing

    def put(self, name: str, content: bytes | Path) -> None:
        """Writes a file: these bytes, or those of a file of this machine, which may be large."""
        with self._explained():
            self._write(self._path(name), content)

    def put_new(self, name: str, content: bytes | Path) -> bool:
        """Does as `put` does, unless the name is taken; returns False when it is. S3 decides that itself, in one
        request.

        On a store without such a request, another client's file may slip in between the check and the write.
        """
        path = self._path(name)
        with self._explained():
            if is_s3(self._system):
                try:
                    self._write(path, content, mode="create")
                except FileExistsError:
                    return False
                except OSError as error:
                    if _is_precondition(error):
                        return False
                    # ENOSYS: a server of S3's protocol that does not know this request.
                    if error.errno != errno.ENOSYS:
                        raise
                else:
                    return True
            if self._system.exists(path):
                return False
            self._write(path, content)
        return True

    def _write(self, path: str, content: bytes | Path, **mode: str) -> None:
        if isinstance(content, Path):
            self._system.put_file(str(content), path, **mode)
        else:
            self._system.pipe_file(path, content, **mode)

    def copy(self, source: str, target: str) -> None:
        with self._explained():
            self._system.cp_file(self._path(source), self._path(target))

    def modified(self, name: str) -> datetime:
        """Returns the time of the last change of a file."""
        with self._explained():
            found: datetime = self._system.modified(self._path(name))
            return found

    def remove(self, names: Iterable[str]) -> None:
        """Removes files; ignores missing ones."""
        paths = [self._path(name) for name in names]
        if not paths:
            return
        with self._explained():
            try:
                # Many in one request; but names given so are searched as patterns.
                if not has_magic("".join(paths)):
                    self._system.rm(paths)
                    return
            except FileNotFoundError:
                pass
            for path in paths:
                with suppress(FileNotFoundError):
                    self._system.rm_file(path)

    @cached_property
    def _spool(self) -> Path:
        """Returns the folder for fetched files, which lasts as long as this object."""
        from profiler.store.scratch import end_scratch, make_scratch

        folder, lock = make_scratch()
        weakref.finalize(self, end_scratch, folder, lock)
        return folder

    def _copy_of(self, name: str) -> Path:
        """Returns the path on this machine for a file of the place."""
        return self._spool / inside(name)

    @cached_property
    def _connected(self) -> tuple[Any, str]:
        system, folder = open_filesystem(self._url)
        return system, folder.rstrip("/")

    @property
    def _system(self) -> Any:
        return self._connected[0]

    def _require_answer(self, folder: str) -> None:
        """Raises RemoteFailed when a web server has no such folder or does not answer, which `find` hides."""
        if is_web(self._system):
            try:
                with remote_errors(self._url, missing=RemoteFailed):
                    self._system.ls(folder, detail=False)
            except FileTooLarge as error:
                raise RemoteFailed(f"{self.root}: the listing is {error.strerror}") from error

    def _path(self, name: str) -> str:
        return f"{self._connected[1]}/{inside(name)}"

    def _end(self, name: str, start: int | None, end: int | None, most: int | None) -> int | None:
        """Returns where to stop: at the latest one byte after what a file may have. A web server may ignore it."""
        beyond = (start or 0) + most_bytes(name, most) + 1
        if end is None:
            return None if is_web(self._system) and most is None else beyond
        return min(end, beyond)

    def _answer(self, piece: Piece, answer: bytes | Exception, most: int | None) -> bytes | OSError:
        if isinstance(answer, FileTooLarge) or (
            isinstance(answer, FileNotFoundError) and not _is_bucket_missing(answer)
        ):
            return answer
        if isinstance(answer, Exception):
            if piece[2] is None and _is_empty_file(answer):
                return b""
            raise answer
        largest = most_bytes(piece[0], most)
        return bytes(answer) if len(answer) <= largest else FileTooLarge(largest)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Translates errors of the file system: FileNotFoundError stays, but a missing bucket becomes RemoteFailed."""
        try:
            with remote_errors(self._url):
                yield
        except FileNotFoundError as error:
            if not _is_bucket_missing(error):
                raise
            raise self._no_bucket(error) from error

    def _no_bucket(self, error: FileNotFoundError) -> RemoteFailed:
        return RemoteFailed(
            f"{self.root}: there is no such bucket ({error_text(self._url, error)})",
            remedy="Check the URL of `--runs` and the endpoint (AWS_ENDPOINT_URL), or create the bucket.",
        )


def _is_name(name: str) -> bool:
    return stays_inside(name) and name.count("/") < _DEEPEST and len(name) <= _LONGEST_NAME


def _is_bucket_missing(error: FileNotFoundError) -> bool:
    return "NoSuchBucket" in str(error.__cause__) or "bucket does not exist" in str(error)


def _is_empty_file(error: Exception) -> bool:
    """Returns whether a store answered 416: an empty file has no first byte that could be asked for."""
    return 416 in (getattr(error, name, None) for name in ("status", "code", "status_code")) or (
        "InvalidRange" in str(error.__cause__)
    )


def _is_precondition(error: OSError) -> bool:
    """Returns whether S3 answered 412 (the name is taken) or 409 (another client is writing it this moment)."""
    text = str(error.__cause__)
    return "PreconditionFailed" in text or "ConditionalRequestConflict" in text
