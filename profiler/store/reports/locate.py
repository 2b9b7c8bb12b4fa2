"""Finds reports by paths, URLs, folders and patterns, and fetches those at URLs.

In: places as the user typed them. Out: each report once, with its size when a listing shows it.
"""

from __future__ import annotations

import glob
import os
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path, PurePath, PurePosixPath
from typing import Any

from profiler.errors import ProfError, RemoteFailed, ReportNotFound, ReportTooLarge
from profiler.store.disk import storage_error
from profiler.store.packs.layout import REPORTS_FOLDER, is_pack
from profiler.store.remote.bounds import MOST_FILE_BYTES, FileTooLarge
from profiler.store.remote.files import open_filesystem, remote_errors
from profiler.store.remote.listing import find_matches, list_files
from profiler.store.remote.urls import is_url, public_url
from profiler.store.runs.file_names import REPORT_SUFFIXES
from profiler.store.runs.run_id import RunId

_FETCH_BYTES = 1 << 24  # how much one request fetches, and how much of a report is in memory at a time


@dataclass(frozen=True)
class RemoteReport:
    """A report at a URL, or `trouble`: the error that its listing gave."""

    url: str
    bytes: int | None = None
    trouble: ProfError | None = None

    @property
    def name(self) -> str:
        return PurePosixPath(public_url(self.url)).name

    def __str__(self) -> str:
        return public_url(self.url)


Report = Path | RemoteReport


def find_reports(places: list[str]) -> list[Report]:
    """Finds reports: files as given, folders searched to the bottom, patterns expanded; each file once.

    A place that cannot be listed stays in the result, and reading it gives the error.
    """
    found: dict[str, Report] = {}
    for place in places:
        if is_url(place):
            for remote in _reports_at(place):
                found.setdefault(remote.url, remote)
        else:
            for path in _expand(place):
                found.setdefault(os.path.realpath(path), path)
    return list(found.values())


def size_bytes(report: Report) -> int:
    """Returns the size of a report; 0 when it is not known."""
    if isinstance(report, RemoteReport):
        return report.bytes or 0
    try:
        return report.stat().st_size
    except OSError:
        return 0


def fetch(
    report: RemoteReport,
    target: Path,
    go_on: Callable[[], bool] = lambda: True,
    limit_s: float = float("inf"),
) -> None:
    """Fetches a report into a local file, piece by piece; raises when it is missing, denied or cut short."""
    pieces, size = _open(report)
    deadline = time.monotonic() + limit_s
    try:
        with target.open("wb") as file, closing(pieces):
            while piece := _next_piece(report, pieces):
                if file.tell() + len(piece) > (MOST_FILE_BYTES if size is None else size):
                    raise RemoteFailed(f"{report}: more comes than was announced, or than a report can have")
                file.write(piece)
                if time.monotonic() > deadline:
                    raise RemoteFailed(f"{report}: did not arrive within {limit_s:g} s")
                if not go_on():
                    return
            if size is not None and file.tell() != size:
                raise RemoteFailed(f"{report}: {size} bytes were announced, and {file.tell()} came")
    except FileTooLarge as error:
        raise ReportTooLarge(f"{report}: one piece is {error.strerror}") from error
    except OSError as error:
        raise storage_error(error, target.parent) from error


def _open(report: RemoteReport) -> tuple[Generator[bytes], int | None]:
    """Returns the pieces of a report, and its size if that is announced; raises when it is missing, denied or too large."""
    if report.trouble is not None:
        raise report.trouble
    filesystem, path = open_filesystem(report.url)
    size = report.bytes
    if size is None:
        with remote_errors(report.url, ReportNotFound):
            size = filesystem.info(path)["size"]
    if (size or 0) > MOST_FILE_BYTES:
        raise ReportTooLarge(f"{report}: larger than {MOST_FILE_BYTES >> 30} GiB")
    return (_streamed(filesystem, path) if size is None else _pieces(filesystem, path, size)), size


def _next_piece(report: RemoteReport, pieces: Iterator[bytes]) -> bytes:
    with remote_errors(report.url, ReportNotFound):
        return next(pieces, b"")


def _pieces(filesystem: Any, path: str, size: int) -> Generator[bytes]:
    for start in range(0, size, _FETCH_BYTES):
        yield filesystem.cat_file(path, start=start, end=min(start + _FETCH_BYTES, size))


def _streamed(filesystem: Any, path: str) -> Generator[bytes]:
    """Yields a file whose size is unknown, as from some web servers, to its end."""
    with filesystem.open(path, "rb") as stream:
        while piece := stream.read(_FETCH_BYTES):
            yield piece


# Local places


def _expand(place: str) -> list[Path]:
    if os.path.isdir(place):
        return sorted(_reports_below(Path(place)))
    matches = [] if os.path.lexists(place) else sorted(glob.glob(place, recursive=True))
    if not matches:
        return [Path(place)]
    return [report for match in matches for report in _expand(match)]


def _reports_below(folder: Path) -> Iterator[Path]:
    unreadable: list[OSError] = []
    for parent, folders, files in os.walk(folder, onerror=unreadable.append):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in files:
            if name.endswith(REPORT_SUFFIXES) and not _is_stored(Path(parent)):
                yield Path(parent) / name
    yield from (Path(error.filename) for error in unreadable)


def _is_stored(folder: PurePath) -> bool:
    """Returns whether a folder holds reports that are stored already: a run's folder, or the reports of a pack."""
    return RunId.parse(folder.name) is not None or (
        folder.name == REPORTS_FOLDER and is_pack(folder.parent.name)
    )


# URLs


def _reports_at(url: str) -> list[RemoteReport]:
    """Finds the reports at a URL.

    A listing takes one request for about a thousand names, however deep the folders are.
    """
    try:
        filesystem, path = open_filesystem(url)
        with remote_errors(url, ReportNotFound):
            # In a web address `?` begins a query.
            may_be_pattern = glob.has_magic(path) and not url.lower().startswith("http")
            pattern = may_be_pattern and not filesystem.exists(path)
            found = dict(
                _files_of_pattern(filesystem, url, path)
                if pattern
                else _files_below(filesystem, url, path, filesystem.info(path))
            )
    except ProfError as error:
        return [RemoteReport(url, trouble=error)]
    if not found and pattern:
        return [RemoteReport(url, trouble=ReportNotFound(f"{public_url(url)}: nothing is there"))]
    return [
        RemoteReport(_url_of(name, url, path, filesystem), entry.get("size"))
        for name, entry in sorted(found.items(), key=lambda one: one[0])
    ]


def _files_below(
    filesystem: Any, url: str, place: str, info: dict[str, Any]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields a file itself, or the reports in a folder that are neither hidden nor part of a run."""
    if info["type"] != "directory":
        yield place, info
        return
    for entry in list_files(filesystem, place, public_url(url)):
        if _is_report_in(place, entry["name"]):
            yield entry["name"], entry


def _files_of_pattern(filesystem: Any, url: str, pattern: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields the files that a pattern names, and the reports in the folders that it names."""
    for place, entry in find_matches(filesystem, pattern, public_url(url)):
        name = entry["name"].rstrip("/")
        if name == place:
            yield from _files_below(filesystem, url, name, entry)
        elif _is_report_in(place, name):
            yield name, entry


def _is_report_in(place: str, name: str) -> bool:
    """Returns whether a file in a folder is a report that is neither hidden nor part of a run."""
    *folders, file = PurePosixPath(name.removeprefix(place)).parts
    hidden = any(part.startswith(".") for part in folders)
    return file.endswith(REPORT_SUFFIXES) and not hidden and not _is_stored(PurePosixPath(name).parent)


def _url_of(name: str, url: str, path: str, filesystem: Any) -> str:
    """Returns the URL of a listed name. Listings leave out the protocol, and some the host; `url` has both."""
    url, path = url.rstrip("/"), path.rstrip("/")
    if url.endswith(path):
        return url[: len(url) - len(path)] + name
    found: str = filesystem.unstrip_protocol(name)
    return found
