"""Says what a text means that a person or an agent wrote to name a recording. Nothing is opened.

In: a rung's number, a run's name, or the path or URL of a run, of reports or of machine code. Out: one class for each.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from profiler.ask.named.settings import Settings
from profiler.measuring.tools.disassembly import is_code_path
from profiler.store.remote.urls import is_url
from profiler.store.reports.near import files_in
from profiler.store.runs.file_names import REPORT_SUFFIXES, holds_run
from profiler.store.runs.run_id import RunId

if TYPE_CHECKING:
    from profiler.store.remote.places import Location
    from profiler.store.runs.run_store import RunStore


@dataclass(frozen=True)
class RunName:
    """A run's name or id, or a rung's number: the newest such run. No run need have it."""

    text: str

    @property
    def is_number(self) -> bool:
        return self.text.isdecimal()


@dataclass(frozen=True)
class RunPlace:
    """The path or URL of one stored run, which may be in a pack."""

    text: str
    location: Location
    run_id: RunId


@dataclass(frozen=True)
class ReportPath:
    """The path of a report. There need be none."""

    path: str


@dataclass(frozen=True)
class ReportFolder:
    """A folder that is no run and holds other than one report: these reports, or none."""

    path: str
    reports: tuple[str, ...]


@dataclass(frozen=True)
class ReportUrl:
    """A URL that is not that of a run."""

    url: str


@dataclass(frozen=True)
class CodePath:
    """The path of a file of machine code, or of a folder of cubins."""

    path: str


Meant = RunName | RunPlace | ReportPath | ReportFolder | ReportUrl | CodePath


def find_meaning(
    text: str, settings: Settings, stored: Callable[[], RunStore] | None = None, *, code: bool = False
) -> Meant:
    """Returns what a text means; a folder that holds one report means that report.

    A folder's name means a run of this name, if one is `stored`. Machine code is meant only where `code` may be. What an
    agent wrote is a path below the folders that it may read, or an error.
    """
    folder = _folder_meaning(text, settings, stored)
    if isinstance(folder, ReportPath):
        return folder
    if code and settings.reach is None and is_code_path(text):
        return CodePath(text)
    if folder is not None:
        return folder
    if settings.reach is not None:
        text = settings.reach.locate(text)
        settings.reach.check(text)
    if is_url(text):
        return _run_at_url(text) or ReportUrl(text)
    if "\0" in text or text.isdecimal():  # an agent may send what no command line can hold, and no path has
        return RunName(text)
    if text.endswith(REPORT_SUFFIXES):
        return ReportPath(text)
    if place := _run_at_path(text, settings):
        return place
    looks_like_path = "/" in text or text in (".", "..")
    if looks_like_path and settings.reach is None and os.path.isdir(text):
        return ReportFolder(text, ())
    is_path = looks_like_path or (os.path.isfile(text) and not is_code_path(text))
    return ReportPath(text) if is_path else RunName(text)


def _folder_meaning(
    text: str, settings: Settings, stored: Callable[[], RunStore] | None
) -> ReportPath | ReportFolder | None:
    """Returns the one report in a folder, or the folder if it holds several; None for any other text, and for the name of a `stored` run."""
    may_be_folder = not ("\0" in text or text.isdecimal() or text.endswith(REPORT_SUFFIXES) or is_url(text))
    folder, reports = _reports_in(text, settings) if may_be_folder else (text, ())
    if reports and "/" not in text:
        store = (stored or settings.open_store)()
        if any(run_id.name == text for run_id in store.ids()):
            return None
    if len(reports) == 1:
        return ReportPath(reports[0])
    return ReportFolder(folder, reports) if reports else None


def recordings_in(text: str, settings: Settings) -> list[str]:
    """Returns the reports in a folder, by names that whoever wrote the text may use; of any other text itself."""
    match find_meaning(text, settings):
        case ReportFolder(_, reports) if reports:
            return [_name_of(report, settings) for report in reports]
        case ReportPath(path) if path.endswith(REPORT_SUFFIXES) and not text.endswith(REPORT_SUFFIXES):
            return [_name_of(path, settings)]
        case _:
            return [text]


def _name_of(report: str, settings: Settings) -> str:
    return report if settings.reach is None else settings.reach.name_of(Path(report))


def _reports_in(text: str, settings: Settings) -> tuple[str, tuple[str, ...]]:
    """Returns a folder and the reports in it; none of a run. A link in it may lead out of what an agent may read."""
    reach = settings.reach
    folder = Path(text if reach is None else reach.locate(os.path.join(text, "")))
    if reach is not None and not reach.holds(folder):
        return str(folder), ()
    held = [str(file) for file in files_in(folder) if reach is None or reach.holds(file)]
    return str(folder), () if held and holds_run(folder) else tuple(held)


def _run_at_url(url: str) -> RunPlace | None:
    location, _, name = url.rstrip("/").rpartition("/")
    run_id = RunId.parse(name)
    return RunPlace(url, location, run_id) if run_id else None


def _run_at_path(text: str, settings: Settings) -> RunPlace | None:
    folder = Path(text).resolve()
    run_id = RunId.parse(folder.name)
    if run_id is None or ("/" not in text and not folder.exists()):
        return None
    is_there = holds_run(folder) or run_id in settings.open_store(folder.parent).ids()
    return RunPlace(text, folder.parent, run_id) if is_there else None
