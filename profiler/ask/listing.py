"""Lists the stored runs, the kernels of the ladder with their runs, and the report files that an agent may read."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from msgspec.structs import replace

from profiler.analyse.listing import (
    DAMAGED,
    LADDER_HEADER,
    NAMES_HEADER,
    OVERVIEW_HEADER,
    RUNS_HEADER,
    UNREADABLE,
    Listing,
    StoreOverview,
)
from profiler.ask.named.gpus import is_on, no_such_gpu
from profiler.ask.named.ladders import ladder_meant, ladder_name, readable_ladder, require_ladder
from profiler.ask.named.reach import Reach
from profiler.ask.named.references import meant_by
from profiler.ask.named.settings import Settings
from profiler.catalog.ladders.ladder import Ladder, find_ladder, is_path, known_ladders, size_text
from profiler.catalog.ladders.ladder_file import read_title
from profiler.errors import LadderNotFound, RunDamaged, RunNotFound, RunUnusable
from profiler.store.reports.locate import find_reports
from profiler.store.runs.manifest import Manifest
from profiler.store.runs.names import no_such_name
from profiler.store.runs.run_id import RunId, rung_name, sweep_name, timed_name
from profiler.store.runs.run_store import RunStore
from profiler.text import date_of, natural_order, short_gpu

_Cell = str | int
_ADDS_ONE = "`prof ingest REPORT` adds one, and so does `prof collect -- PROGRAM`"


def list_stored(
    settings: Settings, name: str | None = None, store: RunStore | None = None, *, with_kernels: bool = True
) -> Listing:
    """Returns every run of a name; without a name, the newest run of each name, and the ladder's kernels if asked for.

    What was recorded last comes first. A name that no run has is an error, as in every other question. An agent also gets the
    reports within its reach.
    """
    store = store or settings.open_store()
    require_ladder(settings, lambda: store)
    run_ids = _on(store, meant_by(name, settings), settings.gpu)
    if name is not None and not run_ids:
        raise _no_such_run(store, name, settings)
    ladder = readable_ladder(settings) if with_kernels and name is None else None
    shown = (
        _newest_of_names(run_ids) if name is None else [(run_id, None) for run_id in _newest_first(run_ids)]
    )
    store.read_ahead(run_id for run_id, _ in shown)
    runs = [_row_of(run_id, _read(store, run_id), count) for run_id, count in shown]
    damaged = [error.message for error in store.left_out.values()]
    reports = _reports_within(settings.reach) if name is None else []
    listing = list_kernels(ladder, store) if ladder else Listing(None, [], [])
    return replace(listing, runs=runs, reports=reports, damaged=damaged)


def means_ladder(name: str, store: RunStore, settings: Settings) -> bool:
    """Returns whether a name to list, which no run has, is that of a ladder here or of one that has runs."""
    if settings.ladder_given or not (
        name in known_ladders(*settings.ladder_places) or name in store.ladders()
    ):
        return False
    return not any(map(meant_by(name, settings), (run_id.name for run_id in store.ids())))


def list_kernels(ladder: Ladder, store: RunStore) -> Listing:
    """Returns the kernels of a ladder alone, with their numbers of runs and sweeps. Reads only the names of these."""
    runs = Counter(run_id.name for run_id in (*store.ids(), *store.sweep_ids()))
    rows = [
        _named(
            LADDER_HEADER,
            kernel.number,
            kernel.name,
            runs[rung_name(ladder.name, kernel.number)],
            runs[timed_name(ladder.name, kernel.number)],
            runs[sweep_name(ladder.name, kernel.number)],
            kernel.idea,
        )
        for kernel in ladder.kernels
    ]
    return Listing(ladder.name, rows, [])


def _reports_within(reach: Reach | None) -> list[str]:
    """Returns the names of the report files below the folders of an agent's server, newest first."""
    if reach is None:
        return []
    found = find_reports([str(folder) for folder in reach.report_folders])
    reports = [one for one in found if isinstance(one, Path) and one.is_file() and reach.holds(one)]
    reports.sort(key=lambda path: path.stat().st_mtime_ns, reverse=True)
    return [reach.name_of(path) for path in reports]


def _newest_of_names(run_ids: Sequence[RunId]) -> list[tuple[RunId, int]]:
    """Returns the newest run of each name, and how many that name has; the newest of all first. The runs come oldest first."""
    counts = Counter(run_id.name for run_id in run_ids)
    newest = {run_id.name: run_id for run_id in run_ids}
    return [(run_id, counts[run_id.name]) for run_id in _newest_first(newest.values())]


def _newest_first(run_ids: Iterable[RunId]) -> list[RunId]:
    """Returns the runs by their time; those of one second by their names."""
    by_name = sorted(run_ids, key=lambda one: natural_order(one.name))
    return sorted(by_name, key=lambda one: one.time, reverse=True)


def _on(store: RunStore, is_meant: Callable[[str], bool], gpu: str | None) -> list[RunId]:
    """Returns the runs of the names meant that were recorded on this GPU; a damaged run may belong to any."""
    run_ids = [run_id for run_id in store.ids() if is_meant(run_id.name)]
    if gpu is None:
        return run_ids
    store.read_ahead(run_ids)
    found, others = [], []
    for run_id in run_ids:
        try:
            manifest = store.open(run_id).manifest
        except RunUnusable:
            found.append(run_id)
            continue
        if is_on(manifest, gpu):
            found.append(run_id)
        else:
            others += manifest.gpus
    if others and not found:
        raise no_such_gpu(gpu, "these names", others)
    return found


def derive_overview(store: RunStore, settings: Settings, longer_than: int) -> StoreOverview | None:
    """Returns a row for each ladder, and one for each name of no ladder, both newest first; None for so many names or fewer.

    The GPUs of a ladder come from the newest run of each of its names: only these manifests are read.
    """
    newest = _newest_of_names(_on(store, meant_by(None, settings), settings.gpu))
    if len(newest) <= longer_than:
        return None
    readable_ladder(settings)  # notes that the file is broken, as a list of the ladder's kernels would
    store.read_ahead(run_id for run_id, _ in newest)
    by_ladder: dict[str, list[tuple[int, Manifest]]] = defaultdict(list)
    others = []
    for run_id, runs in newest:
        found = _read(store, run_id)
        if isinstance(found, str) or found.ladder is None:
            others.append(_row_of(run_id, found, runs))
        else:
            by_ladder[found.ladder].append((runs, found))
    ladders = [
        _named(
            OVERVIEW_HEADER,
            name,
            len({manifest.kernel for _, manifest in found}),
            sum(runs for runs, _ in found),
            date_of(max(manifest.recorded for _, manifest in found)),
            ", ".join(sorted({short_gpu(gpu) for _, manifest in found for gpu in manifest.gpus})),
            _title(name, settings),
        )
        for name, found in by_ladder.items()  # in the order of their newest runs
    ]
    return StoreOverview(ladders, others)


def _title(ladder: str, settings: Settings) -> str:
    """Returns the title in the ladder's file, or "" if none is found: the runs may come from elsewhere."""
    if is_path(ladder):  # the name comes from a run, which must not make prof open a path
        return ""
    try:
        return read_title(find_ladder(ladder, *settings.ladder_places))
    except LadderNotFound:
        return ""


def _no_such_run(store: RunStore, name: str, settings: Settings) -> RunNotFound:
    """Returns the error for a name that no run has; a person may have meant a ladder."""
    if not store.ids():
        return RunNotFound(f"{store.root}: no runs yet", remedy=f"{_ADDS_ONE}.")
    return RunNotFound(why_nothing(store, name, settings), remedy=ladder_meant(name, settings) or None)


def why_nothing(store: RunStore, name: str | None, settings: Settings) -> str:
    """Returns the message for a list without runs: why none has this name or belongs to this ladder."""
    ids = store.ids()
    if not ids:
        return f"{store.root}: no runs yet: {_ADDS_ONE}"
    ladder = ladder_name(settings)
    if name is None:
        return f"{store.root}: no run of ladder '{ladder}'"
    is_there = meant_by(None, settings)
    names = {run_id.name for run_id in ids if is_there(run_id.name)}
    return f"{store.root}: {no_such_name(name, ladder, names, of_ladder=settings.ladder_given)}"


def _read(store: RunStore, run_id: RunId) -> Manifest | str:
    """Returns the manifest of a run, or in one word why it cannot be used."""
    try:
        return store.open(run_id).manifest
    except RunUnusable as error:
        store.leave_out(str(run_id), error)
        return DAMAGED if isinstance(error, RunDamaged) else UNREADABLE


def _row_of(run_id: RunId, manifest: Manifest | str, runs: int | None) -> dict[str, _Cell]:
    """Returns the row of a run, with its workload, or with the number of `runs` if that is given.

    A run that cannot be used is listed too, with what the name of its folder says.
    """
    header = RUNS_HEADER if runs is None else NAMES_HEADER
    if isinstance(manifest, str):
        state = manifest
        return _named(header, run_id.name, "" if runs is None else runs, "", 0, "", "", state, str(run_id))
    return _named(
        header,
        manifest.name,
        size_text(manifest.workload or {}) if runs is None else runs,
        manifest.recorded,
        manifest.launches,
        ", ".join(manifest.gpus),
        manifest.ncu_version,
        manifest.origin,
        manifest.run_id,
    )


def _named(header: Sequence[str], *cells: _Cell) -> dict[str, _Cell]:
    return dict(zip(header, cells, strict=True))
