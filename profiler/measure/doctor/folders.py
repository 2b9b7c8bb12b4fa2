"""The folders that prof works in, and what lies in them: room, leftovers, and reports that tell too much."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import msgspec

from profiler.errors import ProfError, ReportError, StoreError
from profiler.measure.doctor.health import Ability, Check, Machine
from profiler.store.remote.files import public_url
from profiler.store.remote.places import Location
from profiler.store.reports.identity import COMPRESSED_SUFFIX, REPORT_SUFFIX
from profiler.store.reports.privacy import find_home_directories
from profiler.store.runs.commit import storage_error
from profiler.store.runs.run_store import RunStore
from profiler.store.runs.unfinished import UNFINISHED_FOLDER, CollectionPlan

_LITTLE_BYTES = 1 << 30  # the report of a large program takes a tenth of it
_NEWEST_RUNS = 200
_SEARCHED_BYTES = 8 << 20  # of compressed reports: well under a second
_MOST_LISTED = 3
_NOT_THERE_YET = (
    "The first recording makes it; if runs should be there, check --runs, or PROF_RUNS where that is set."
)


def check_folders(root: Location, machine: Machine) -> list[Check]:
    temporary, local = machine.temporary_folder, RunStore(root).local
    return [
        _check_folder(
            "temporary folder", "reading", temporary, str(temporary), "Set TMPDIR to another folder."
        ),
        check_runs_folder(root),
        check_unfinished(local),
        check_private_paths(local),
    ]


def check_runs_folder(root: Location) -> Check:
    """One that is not there yet has to have a place where it can be made."""
    name, remedy = "runs folder", "Choose another folder with --runs."
    try:
        count = len(RunStore(root).ids())
    except ProfError as error:
        return Check(name, "storing", "failed", error.message, error.remedy)
    if not isinstance(root, Path):
        return Check(name, "storing", "ok", f"{public_url(root)}: {_counted(count, 'run')}")
    place = next(folder for folder in (root, *root.absolute().parents) if folder.exists())
    if place == root:
        return _check_folder(name, "storing", place, f"{root}: {_counted(count, 'run')}", remedy)
    check = _check_folder(name, "storing", place, f"{root}: not there yet", remedy)
    return replace(check, remedy=_NOT_THERE_YET) if check.state == "ok" else check


def check_unfinished(root: Path) -> Check:
    """What `prof collect` keeps until a collection is whole; one that is under way is there too."""
    folders = _entries(root / UNFINISHED_FOLDER)
    if not folders:
        return Check("unfinished", "storing", "ok", "no interrupted collection")
    found = [f"{_planned_name(folder)} ({_size(_bytes_below(folder))})" for folder in folders]
    return Check(
        "unfinished", "storing", "warn", f"not whole yet: {_listed(found)}",
        "The same `prof collect` goes on where it stopped; to give one up, delete its folder in "
        f"{root / UNFINISHED_FOLDER}.",
    )  # fmt: skip


def check_private_paths(root: Path) -> Check:
    """In the newest reports, as many as can be searched in a moment."""
    reports = _named_reports(root)
    searched, left = 0, _SEARCHED_BYTES
    homes: set[str] = set()
    telling: list[str] = []
    for report, name in reports:
        with suppress(OSError, ReportError):  # what is damaged is told by whoever reads it
            left -= report.stat().st_size
            if left < 0:
                break
            found = find_home_directories(report, own=Path.home())
            searched += 1
            if found:
                homes.update(found)
                telling.append(name)
    if not reports:
        return Check("private paths", "storing", "ok", "no stored report to search")
    scope = _counted(len(reports), "stored report")
    if searched < len(reports):
        scope = f"the newest {searched} of {scope}"
    if not telling:
        return Check("private paths", "storing", "ok", f"none in {scope}")
    return Check(
        "private paths", "storing", "warn",
        f"{_listed(sorted(homes))}, in {len(telling)} of {scope}: {_listed(telling)}",
        "Before you publish these, record them again from a folder that names nobody, as `prof collect` does.",
    )  # fmt: skip


def newest_reports(root: Path) -> list[Path]:
    """The stored reports of the newest runs, newest first; none where the folder cannot be listed."""
    return [report for report, _ in _named_reports(root)]


def _named_reports(root: Path) -> list[tuple[Path, str]]:
    """With the name of the run that each belongs to; a damaged run is left to whoever reads it."""
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
        found += [
            (entry, run_id.name)
            for entry in entries
            if entry.name.endswith((COMPRESSED_SUFFIX, REPORT_SUFFIX))
        ]
    return found


def smallest_report(root: Location) -> Path | None:
    """The quickest one to read, of the newest in a folder."""
    with suppress(OSError):
        return min(
            newest_reports(RunStore(root).local), key=lambda report: report.stat().st_size, default=None
        )
    return None


def _check_folder(name: str, ability: Ability, folder: Path, what: str, remedy: str) -> Check:
    """It can be written, and there is room: tried with a file that has no name."""
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(b"\0")
            file.flush()
        free = shutil.disk_usage(folder).free
    except OSError as error:
        return Check(name, ability, "failed", storage_error(error, folder).message, remedy)
    if free < _LITTLE_BYTES:
        return Check(
            name,
            ability,
            "warn",
            f"{what}, {_size(free)} free, which is little",
            f"Free some space. {remedy}",
        )
    return Check(name, ability, "ok", f"{what}, {_size(free)} free")


def _planned_name(folder: Path) -> str:
    with suppress(OSError, msgspec.DecodeError, UnicodeDecodeError):
        return msgspec.json.decode((folder / "plan.json").read_bytes(), type=CollectionPlan).name
    return folder.name


def _entries(folder: Path) -> list[Path]:
    with suppress(OSError):
        return sorted(folder.iterdir())
    return []


def _bytes_below(folder: Path) -> int:
    total = 0
    with suppress(OSError):
        total = sum(path.lstat().st_size for path in folder.rglob("*"))
    return total


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_MOST_LISTED])
    return f"{shown} and {len(names) - _MOST_LISTED} more" if len(names) > _MOST_LISTED else shown


def _counted(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def _size(count: int) -> str:
    return f"{count / 1e9:.1f} GB" if count >= 1e8 else f"{count / 1e6:.1f} MB"
