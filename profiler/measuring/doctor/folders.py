"""Checks the folders that prof works in: free space, unfinished collections, and reports that name private paths."""

from __future__ import annotations

import shutil
import tempfile
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

from profiler.errors import ProfError, ReportError, RunDamaged, RunUnreadable, StoreError
from profiler.measuring.doctor.checks import Ability, HealthCheck, Machine
from profiler.store.disk import storage_error
from profiler.store.fsck import Fault, left_staging
from profiler.store.remote.places import Location
from profiler.store.remote.urls import public_url
from profiler.store.reports.privacy import find_home_directories
from profiler.store.runs.file_names import REPORT_SUFFIXES
from profiler.store.runs.run_store import RunStore
from profiler.store.runs.unfinished import UNFINISHED_FOLDER, read_plan
from profiler.text import counted, first_of, size

_LITTLE_BYTES = 1 << 30  # ten times the report of a large program
_NEWEST_RUNS = 200
SEARCHED_BYTES = 8 << 20  # takes well under a second
_MOST_LISTED = 3
_NOT_THERE_YET = (
    "The first recording creates it. If runs should be there, check --runs, or PROF_RUNS if that is set."
)


def check_folders(root: Location, machine: Machine) -> list[HealthCheck]:
    """Checks the temporary folder and the runs folder, and what lies in the runs folder."""
    temporary, local = machine.temporary_folder, RunStore(root).local
    remedy = "Set TMPDIR to another folder."
    return [
        _check_folder("temporary folder", "reading", temporary, str(temporary), remedy),
        check_runs_folder(root),
        check_stored_runs(root),
        check_unfinished(local),
        check_private_paths(local),
    ]


def check_runs_folder(root: Location) -> HealthCheck:
    """Checks that the runs folder can be written, or created if it does not exist yet."""
    name, remedy = "runs folder", "Choose another folder with --runs."
    check = partial(HealthCheck, name, "storing")
    try:
        store = RunStore(root)
        count = len(store.ids())
        store.require_whole()
    except ProfError as error:
        return check("failed", error.message, error.remedy)
    if not isinstance(root, Path):
        return check("ok", f"{public_url(root)}: {counted(count, 'run', 'runs')}")
    place = next(folder for folder in (root, *root.absolute().parents) if folder.exists())
    if place == root:
        return _check_folder(name, "storing", place, f"{root}: {counted(count, 'run', 'runs')}", remedy)
    found = _check_folder(name, "storing", place, f"{root}: not there yet", remedy)
    return replace(found, remedy=_NOT_THERE_YET) if found.state == "ok" else found


def check_stored_runs(root: Location) -> HealthCheck:
    """Checks that every stored run can be opened, and for what killed processes left; reads no tables."""
    check = partial(HealthCheck, "stored runs", "storing")
    remedy = "`prof fsck` lists what is wrong; `prof fsck --repair` sets it aside."
    if not isinstance(root, Path):
        return check("ok", "not read at a URL: `prof fsck` reads them")
    store, unfinished = RunStore(root), list[Fault]()
    with suppress(StoreError):  # the check of the runs folder says so
        store.open_all(store.ids())
        unfinished += left_staging(store)
    if damaged := [name for name, error in store.left_out.items() if isinstance(error, RunDamaged)]:
        return check("failed", f"damaged: {first_of(damaged, _MOST_LISTED)}", remedy)
    if unread := [*store.left_out, *(one.name for one in unfinished if one.kind == "unread")]:
        return check("failed", f"cannot be read: {first_of(unread, _MOST_LISTED)}", RunUnreadable.remedy)
    if left := [one.name for one in unfinished]:
        return check("warn", f"killed processes left {first_of(left, _MOST_LISTED)}", remedy)
    return check("ok", "all of them can be opened")


def check_unfinished(root: Path) -> HealthCheck:
    """Checks for what `prof collect` keeps of collections that are interrupted, or still under way."""
    check, folders = partial(HealthCheck, "unfinished", "storing"), _entries(root / UNFINISHED_FOLDER)
    if not folders:
        return check("ok", "no interrupted collection")
    plans = ((folder, read_plan(folder)) for folder in folders)
    found = [f"{plan.name if plan else folder.name} ({size(_bytes_below(folder))})" for folder, plan in plans]
    go_on = "The same `prof collect` goes on where it stopped; to give one up, delete its folder in"
    return check(
        "warn", f"not complete: {first_of(found, _MOST_LISTED)}", f"{go_on} {root / UNFINISHED_FOLDER}."
    )


def check_private_paths(root: Path) -> HealthCheck:
    """Searches the newest reports for home directories, in a few megabytes of compressed reports."""
    check, reports = partial(HealthCheck, "private paths", "storing"), _named_reports(root)
    searched, left = 0, SEARCHED_BYTES
    homes: set[str] = set()
    private: list[str] = []
    for report, name in reports:
        with suppress(OSError, ReportError):  # reading a damaged report raises its own error
            left -= report.stat().st_size
            if left < 0:
                break
            found = find_home_directories(report, own=Path.home())
            searched += 1
            if found:
                homes.update(found)
                private.append(name)
    if not reports:
        return check("ok", "no stored report to search")
    scope = counted(len(reports), "stored report", "stored reports")
    if searched < len(reports):
        scope = f"the newest {searched} of {scope}"
    if not private:
        return check("ok", f"none in {scope}")
    return check(
        "warn",
        f"{first_of(sorted(homes), _MOST_LISTED)}, in {len(private)} of {scope}: {first_of(private, _MOST_LISTED)}",
        "Before you publish these, record them again from a folder that names nobody, as `prof collect` does.",
    )


def newest_reports(root: Path) -> list[Path]:
    """Returns the stored reports of the newest runs, newest first; none if the folder cannot be listed."""
    return [report for report, _ in _named_reports(root)]


def _named_reports(root: Path) -> list[tuple[Path, str]]:
    """Returns the reports of the newest runs with the runs' names; skips damaged runs."""
    store, run_ids = RunStore(root), []
    with suppress(StoreError):
        run_ids = store.ids()[-_NEWEST_RUNS:]
    found: list[tuple[Path, str]] = []
    for run_id in reversed(run_ids):
        entries = _entries(root / str(run_id))
        with suppress(OSError, StoreError):
            if store.index.pack_of(str(run_id)) is not None:
                run = store.open(run_id)
                entries = [run.report_path(one) for one in run.manifest.reports if one.file is not None]
        found += [(entry, run_id.name) for entry in entries if entry.name.endswith(REPORT_SUFFIXES)]
    return found


def smallest_report(root: Location) -> Path | None:
    """Returns the smallest of the newest reports, which is the quickest to read."""
    with suppress(OSError):
        return min(newest_reports(RunStore(root).local), key=lambda one: one.stat().st_size, default=None)
    return None


def _check_folder(name: str, ability: Ability, folder: Path, what: str, remedy: str) -> HealthCheck:
    """Checks that a file can be written to the folder, and that there is free space."""
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(b"\0")
            file.flush()
        free = shutil.disk_usage(folder).free
    except OSError as error:
        return HealthCheck(name, ability, "failed", storage_error(error, folder).message, remedy)
    if free < _LITTLE_BYTES:
        found = f"{what}, only {size(free)} free"
        return HealthCheck(name, ability, "warn", found, f"Free some space. {remedy}")
    return HealthCheck(name, ability, "ok", f"{what}, {size(free)} free")


def _entries(folder: Path) -> list[Path]:
    with suppress(OSError):
        return sorted(folder.iterdir())
    return []


def _bytes_below(folder: Path) -> int:
    with suppress(OSError):
        return sum(path.lstat().st_size for path in folder.rglob("*"))
    return 0
