"""Many small runs into few packs, so that a listing and a query meet few files; no answer changes.

A pack is complete before its `pack.json` is there, and with it the runs in it are read from there; only then are
their folders removed, each manifest first. Whatever is killed when: a run is in its folder, in a pack, or in both, where
it counts once, and the next call goes on. Nothing is ever removed but what a pack holds that this call wrote or verified, so
two calls at once do no harm. On a folder a lock keeps the second out, and a run vanishes from sight by one rename.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from profiler.errors import CompactBusy, RunDamaged
from profiler.store.packs.layout import Pack
from profiler.store.packs.publish import Packing, packing_of
from profiler.store.packs.write import PackWriter
from profiler.store.runs.commit import Staging, storage_error, try_lock
from profiler.store.runs.files import read_ahead
from profiler.store.runs.manifest import RunId
from profiler.store.runs.run import Run
from profiler.store.runs.run_store import RunStore

_LOCK_FILE = ".compact"
FEWEST_RUNS = 8  # fewer are not worth a pack
_AT_ONCE = 16  # runs whose tables are asked for at once, where they are far away


@dataclass(frozen=True)
class Limits:
    """A pack that has reached one of them is closed, and never rewritten."""

    table_bytes: int = 256 << 20
    runs: int = 2000


@dataclass(frozen=True)
class Plan:
    """`runs` go into packs, in this order. `along` are small packs that are rewritten with them."""

    runs: list[RunId]
    along: list[Pack]
    redundant: list[str]  # folders of runs that a pack holds, or another run of the same report


@dataclass
class Compacted:
    packed: int = 0
    packs: list[str] = field(default_factory=list)
    damaged: list[RunDamaged] = field(default_factory=list)  # they stay as they are


def plan_packs(store: RunStore, older_than_days: float = 0, limits: Limits | None = None) -> Plan:
    """A small pack goes along only with at least as many other runs, so that few runs are written often."""
    limits = limits or Limits()
    newest = (datetime.now(UTC) - timedelta(days=older_than_days)).strftime("%Y%m%dt%H%M%Sz")
    visible = {str(run_id): run_id for run_id in store.ids()}
    index = store.index
    loose = [run_id for name, run_id in visible.items() if index.pack_of(name) is None]
    runs = [run_id for run_id in loose if not older_than_days or run_id.time <= newest]
    redundant = [name for name in index.folders if name not in visible or index.pack_of(name)]
    if len(runs) < FEWEST_RUNS:
        return Plan([], [], redundant)
    along, count = [], len(runs)
    for pack in sorted(index.packs, key=lambda pack: len(pack.index.runs)):
        is_small = len(pack.index.runs) < limits.runs // 2 and pack.size_bytes < limits.table_bytes // 2
        if is_small and len(pack.index.runs) <= count:
            along.append(pack)
            count += len(pack.index.runs)
    held = [visible[name] for pack in along for name in pack.index.runs if name in visible]
    return Plan(sorted({*runs, *held}, key=str), along, redundant)


def compact(
    store: RunStore, plan: Plan, advance: Callable[[], None] = lambda: None, limits: Limits | None = None
) -> Compacted:
    """`advance` is called for every run that was written, or left."""
    done = Compacted()
    store.ids()  # as it is now
    with _alone(store.local), Staging(store.local) as staging:
        try:
            packing = packing_of(store.place, staging)
            packing.tidy(name for pack in store.packs for name in pack.index.runs)
            packing.remove(_safe_to_remove(store, plan.redundant, done))
            _pack(store, plan, staging, packing, limits or Limits(), done, advance)
        except OSError as error:
            raise storage_error(error, store.root) from error
    return done


def _pack(
    store: RunStore, plan: Plan, staging: Staging, packing: Packing, limits: Limits, done: Compacted,
    advance: Callable[[], None],
) -> None:  # fmt: skip
    visible, loose, along = set(map(str, store.ids())), set(store.index.folders), list(plan.along)
    for writer in _written(store, plan.runs, staging, packing, limits, done, advance):
        done.packs.append(packing.publish(writer))
        done.packed += len(writer.runs)
        packing.remove([name for name in writer.runs if name in loose])
        visible -= writer.runs.keys()
        replaced = [pack for pack in along if not pack.index.runs.keys() & visible]
        packing.remove([pack.name for pack in replaced])
        along = [pack for pack in along if pack not in replaced]


def _written(
    store: RunStore, run_ids: Sequence[RunId], staging: Staging, packing: Packing, limits: Limits,
    done: Compacted, advance: Callable[[], None],
) -> Iterator[PackWriter]:  # fmt: skip
    """Packs that are full, or have got all there is; more than one is open where the tables' columns differ."""
    under_way: list[PackWriter] = []
    for run, manifest in _opened(store, run_ids, packing, done):
        try:
            for writer in under_way:
                if writer.add(run, manifest):
                    break
            else:
                under_way.append(writer := PackWriter(staging.folder()))
                writer.add(run, manifest)
        except RunDamaged as error:
            done.damaged.append(error)
        advance()
        if len(writer.runs) >= limits.runs or writer.size_bytes >= limits.table_bytes:
            under_way.remove(writer)
            yield writer
    yield from (writer for writer in under_way if writer.runs)


def _opened(
    store: RunStore, run_ids: Sequence[RunId], packing: Packing, done: Compacted
) -> Iterator[tuple[Run, bytes]]:
    """Each run that is whole, with its manifest as written; those far away are asked for several at once."""
    for start in range(0, len(run_ids), _AT_ONCE):
        some = run_ids[start : start + _AT_ONCE]
        store.read_ahead(some)
        opened: list[tuple[Run, bytes]] = []
        for run_id in some:
            try:
                run, manifest = store.open_raw(run_id)
                _require_reports(run, packing)
                opened.append((run, manifest))
            except RunDamaged as error:
                done.damaged.append(error)
        read_ahead([run.files for run, _ in opened if run.is_far])
        yield from opened


def _require_reports(run: Run, packing: Packing) -> None:
    for report in run.manifest.reports:
        if report.file is not None and not packing.has(run.files.report_name(report)):
            raise RunDamaged(f"{run.files.shown(report.file)}: the run's report is not there")


def _safe_to_remove(store: RunStore, names: Sequence[str], done: Compacted) -> list[str]:
    """Of folders that are not needed: those whose run is whole in its pack, or is another run's double."""
    safe = []
    for name in names:
        run_id = RunId.parse(name)
        assert run_id is not None
        try:
            if store.index.pack_of(name) is not None:
                store.open(run_id).verify()
            safe.append(name)
        except RunDamaged as error:
            done.damaged.append(error)
    return safe


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """One call at a time on this machine."""
    folder.mkdir(parents=True, exist_ok=True)
    lock = try_lock(folder / _LOCK_FILE)
    if lock is None:
        raise CompactBusy(f"{folder}: another prof compacts these runs")
    try:
        yield
    finally:
        os.close(lock)
