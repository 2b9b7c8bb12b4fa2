"""Examines everything that is stored: every hash, every table, every report, and what killed processes left behind.

In: a store. Out: one `Fault` for each run, pack or leftover that is not as it should be. Changes nothing; `repair.py`
does that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Literal

from profiler.errors import ProfError, RunDamaged, RunUnreadable, RunUnusable
from profiler.store.packs import layout
from profiler.store.packs.publish import UPLOAD_DAYS, without_last_file
from profiler.store.remote.objects import ObjectPlace
from profiler.store.remote.places import FolderPlace, Place, reading_from, unreadable
from profiler.store.remote.upload import CLAIM_S, CLAIMS_FOLDER
from profiler.store.runs.commit import STAGING_FOLDER, find_left_staging
from profiler.store.runs.file_names import MANIFEST_FILE, table_file
from profiler.store.runs.index import find_in_folder, find_in_pack
from profiler.store.runs.run import Run
from profiler.store.runs.run_id import RunId
from profiler.store.runs.run_store import SWEEPS_FOLDER, RunStore, sweeps_folder
from profiler.store.scratch import find_left_scratch
from profiler.store.sweeps import SweepStore
from profiler.store.tables.contradictions import find_contradictions
from profiler.store.tables.schema import TABLES

FaultKind = Literal["run", "sweep", "pack", "unread", "left", "scratch"]


@dataclass(frozen=True)
class Fault:
    """A thing in the store that `prof fsck` lists, and why; `done` says what a repair did about it.

    `scratch` is no fault of the store: a killed process of whichever store left it among temporary files. An `unread`
    thing may be whole: the system does not let prof read it.
    """

    kind: FaultKind
    name: str  # of the run or the pack, relative to the runs; or a path
    found: str
    done: str = ""

    @property
    def is_wrong(self) -> bool:
        """Returns whether this store is not as it should be, and nothing was done about it."""
        return self.kind != "scratch" and not self.done


@dataclass
class Examined:
    """The number of runs, packs and sweeps that were read."""

    runs: int = 0
    packs: int = 0
    sweeps: int = 0


def examine_store(
    store: RunStore, counts: Examined, advance: Callable[[], None] = lambda: None
) -> Iterator[Fault]:
    """Reads everything, and yields what is wrong. Counts in `counts`, and calls `advance` for each folder that was read."""
    place = store.place
    for name in place.names():
        if RunId.parse(name):
            counts.runs += 1
            yield from _fault("run", name, faults_of_folder(place, name))
        elif layout.is_pack(name):
            counts.packs += 1
            yield from _faults_of_pack(place, name, counts)
        advance()
    yield from _faults_of_sweeps(store, counts, advance)
    yield from _left_behind(store)


def faults_of_folder(place: Place, name: str) -> list[ProfError]:
    """Returns the faults of a run in a folder of its own."""
    try:
        found = find_in_folder(place, name)
    except (ProfError, OSError) as error:
        return [_noted(error, place, name)]
    return faults_of_run(found)


def faults_of_run(run: Run) -> list[ProfError]:
    """Returns the faults of a run whose manifest is whole."""
    manifest, files = run.manifest, run.files
    if manifest.run_id != files.name or set(manifest.tables) != set(TABLES):
        return [RunDamaged("the folder and its manifest do not belong together")]
    found: list[ProfError] = []
    for report in manifest.reports:
        if report.file is not None:
            found += _checked(files.place, files.name, run.verify_report, report)
    run.forget_reports()
    for table in TABLES:
        found += _checked(files.place, files.name, run.table, table)
    if not found:
        tables = {table: run.table(table) for table in TABLES}
        for launch, how in islice(find_contradictions(tables, manifest.ncu_version), 1):
            found.append(RunDamaged(f"launch {launch} contradicts itself: {how}"))
    return found


def open_pack(place: Place, name: str) -> layout.Pack:
    """Returns the pack, with an empty index when its own is damaged; raises the error of one that cannot be read."""
    try:
        with reading_from(place.shown(f"{name}/{layout.PACK_FILE}")):
            return layout.Pack.read(place, name)
    except RunDamaged:
        return layout.Pack(place, name, layout.PackIndex(layout.VERSION, {}, {}))


def runs_of_pack(pack: layout.Pack) -> Iterator[tuple[str, Run | ProfError]]:
    """Yields each run's id, with the run or with the error that its line has.

    Where the index is damaged, every line is a run, and its own seal says whether it is whole.
    """
    file, whole = f"{pack.name}/{layout.MANIFESTS_FILE}", b""
    with suppress(RunDamaged), reading_from(pack.place.shown(file)):
        whole = pack.place.read(file)
    lines = {run_id: whole[one.offset : one.offset + one.length] for run_id, one in pack.index.runs.items()}
    if not pack.index.files:
        lines = {str(number): line for number, line in enumerate(whole.splitlines(keepends=True), 1)}
    for run_id, data in lines.items():
        try:
            found = find_in_pack(pack, pack.verified_line(run_id, data) if pack.index.files else data)
        except RunDamaged as error:
            yield run_id, _noted(error, pack.place, pack.name)
        else:
            yield found.manifest.run_id, found


def orphans(place: Place) -> dict[str, list[str]]:
    """Returns the files of an object store's runs and packs that lack their last file, by folder; none of an upload under way."""
    if not isinstance(place, ObjectPlace):
        return {}
    oldest = datetime.now(UTC) - timedelta(days=UPLOAD_DAYS)
    return {
        folder: files
        for folder, files in without_last_file(place.files()).items()
        if max(map(place.modified, files)) < oldest
    }


def _faults_of_pack(place: Place, name: str, counts: Examined) -> Iterator[Fault]:
    found = _checked(place, name, layout.Pack.read, place, name)
    try:
        pack = open_pack(place, name)
        if not found:
            found += _checked(place, name, pack.verified_file, layout.MANIFESTS_FILE)
            for table in TABLES:
                found += _checked(place, name, pack.verified_file, table_file(table))
        for run_id, one in runs_of_pack(pack):
            counts.runs += 1
            of_run = [one] if isinstance(one, ProfError) else faults_of_run(one)
            found += [error.changed(f"{run_id}: {error.message}") for error in of_run]
    except RunUnusable as error:
        found.append(_noted(error, place, name))
    yield from _fault("pack", name, found)


def _faults_of_sweeps(store: RunStore, counts: Examined, advance: Callable[[], None]) -> Iterator[Fault]:
    if not isinstance(store.root, Path):
        return
    try:
        sweeps = SweepStore(store.root)
    except RunUnreadable as error:
        yield Fault("unread", SWEEPS_FOLDER, error.message)
        return
    for run_id in store.sweep_ids():
        counts.sweeps += 1
        found = _checked(FolderPlace(sweeps.root), str(run_id), sweeps.open, str(run_id))
        yield from _fault("sweep", f"{SWEEPS_FOLDER}/{run_id}", found)
        advance()


def left_staging(store: RunStore) -> Iterator[Fault]:
    """Yields the folders in which killed processes prepared runs and sweeps."""
    roots = [store.local]
    if isinstance(store.root, Path):
        with suppress(RunUnreadable):  # a link: nothing beyond it is of this store
            roots.append(sweeps_folder(store.root))
    for root in roots:
        try:
            yield from _left_in(find_left_staging(root), "left")
        except OSError as error:
            yield Fault("unread", str(root / STAGING_FOLDER), unreadable(error, STAGING_FOLDER).message)


def _left_in(folders: Iterable[Path], kind: FaultKind) -> Iterator[Fault]:
    return (Fault(kind, str(folder), "a process that was killed left it") for folder in folders)


def left_claims(place: Place) -> list[str]:
    """Returns the files by which killed uploads claim a report: those for which no other client would wait any more."""
    if not isinstance(place, ObjectPlace):
        return []
    oldest = datetime.now(UTC) - timedelta(seconds=CLAIM_S)
    found = []
    for file in place.files(f"{CLAIMS_FOLDER}/"):
        with suppress(FileNotFoundError):  # its client has removed it just now
            found += [file] if place.modified(file) < oldest else []
    return found


def _left_behind(store: RunStore) -> Iterator[Fault]:
    yield from left_staging(store)
    yield from _left_in(find_left_scratch(), "scratch")
    for name, files in orphans(store.place).items():
        lost = f"{len(files)} files of an upload that never ended, or that lost its last file"
        yield Fault("left", name, lost)
    for file in left_claims(store.place):
        yield Fault("left", file, f"an upload claimed a report more than {CLAIM_S:.0f} s ago and never ended")


def _checked(place: Place, name: str, check: Callable[..., object], *given: object) -> list[ProfError]:
    """Runs a check of a folder, and returns its error."""
    try:
        check(*given)
    except (ProfError, OSError) as error:
        return [_noted(error, place, name)]
    return []


def _noted(error: ProfError | OSError, place: Place, name: str) -> ProfError:
    """Returns the error of a folder without the folder's path, which the row names."""
    if isinstance(error, OSError):
        return unreadable(error, Path(error.filename or f"{name}/{MANIFEST_FILE}").name)
    return error.changed(error.message.replace(f"{place.shown(name)}/", ""))


def _fault(kind: FaultKind, name: str, found: Sequence[ProfError]) -> Iterator[Fault]:
    if found:
        # Any other error leaves open whether the thing is whole: no permission, no memory, no room.
        is_damaged = all(isinstance(error, RunDamaged) for error in found)
        yield Fault(kind if is_damaged else "unread", name, "; ".join(error.message for error in found))
