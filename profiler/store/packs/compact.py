"""Moves many small runs into few packs, so that listings and queries touch few files; no answer changes.

A pack is complete before its `pack.json` appears, and from then on its runs are read from it. Only then are
their folders removed, each manifest first. So a call may be killed at any moment: a run is in its folder, in a pack,
or in both, which counts as one run. The next call continues. A call removes only what it wrote to a pack
or verified in one, so two calls at once do no harm. In a folder, a lock keeps the second call out, and a run
disappears by one rename.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Set
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from profiler.errors import CompactBusy, RunDamaged, RunUnusable
from profiler.store.disk import writing_to
from profiler.store.locks import held_if_free
from profiler.store.packs.layout import Pack
from profiler.store.packs.publish import PackPublisher, publisher_for
from profiler.store.packs.write import PackWriter, add_to_one
from profiler.store.runs.commit import Staging
from profiler.store.runs.files import read_ahead
from profiler.store.runs.index import find_in_folder
from profiler.store.runs.run import Run
from profiler.store.runs.run_id import RunId, id_time
from profiler.store.runs.run_store import RunStore

_LOCK_FILE = ".compact"
FEWEST_RUNS = 8  # fewer runs are not worth a pack
# A full pack: one that has reached either of these gets no more runs and is never rewritten.
MOST_RUNS, MOST_TABLE_BYTES = 2000, 256 << 20
_AT_ONCE = 16  # how many runs' tables are requested at once from a URL


@dataclass(frozen=True)
class PackPlan:
    """The work to do: put `runs` into packs in this order, and remove `absorbed` and `redundant`, but not `staying`."""

    runs: list[RunId]
    absorbed: list[Pack]  # small packs, whose runs are among `runs`
    redundant: list[str]  # folders of runs that a pack holds, or that another run of the same report replaces
    staying: Set[str] = frozenset()  # folders and packs that nobody may remove

    @property
    def folders(self) -> set[str]:
        """Returns the folders of runs and packs that the plan removes."""
        packed = {name for pack in self.absorbed for name in pack.index.runs}
        return {*map(str, self.runs)} - packed | {pack.name for pack in self.absorbed} | {*self.redundant}


@dataclass
class Compacted:
    """The result of `compact`."""

    packed: int = 0
    packs: list[str] = field(default_factory=list)
    damaged: list[RunUnusable] = field(default_factory=list)  # these runs stay as they are


def plan_packs(store: RunStore, older_than_days: float = 0, staying: Set[str] = frozenset()) -> PackPlan:
    """Chooses the runs to pack, among those whose folder or pack is not one of `staying`.

    A small pack is rewritten only with at least as many other runs, so that few are copied often.
    """
    newest = id_time(datetime.now(UTC) - timedelta(days=older_than_days))
    visible = {str(run_id): run_id for run_id in store.ids()}
    index = store.index
    loose = [run_id for name, run_id in visible.items() if index.pack_of(name) is None]
    loose = [run_id for run_id in loose if str(run_id) not in staying]
    runs = [run_id for run_id in loose if not older_than_days or run_id.time <= newest]
    redundant = [name for name in index.folders if name not in visible or index.pack_of(name)]
    redundant = [name for name in redundant if name not in staying]
    if len(runs) < FEWEST_RUNS:
        return PackPlan([], [], redundant, staying)
    absorbed, count = [], len(runs)
    for pack in sorted(index.packs, key=lambda pack: len(pack.index.runs)):
        is_small = len(pack.index.runs) < MOST_RUNS // 2 and pack.size_bytes < MOST_TABLE_BYTES // 2
        if is_small and len(pack.index.runs) <= count and pack.name not in staying:
            absorbed.append(pack)
            count += len(pack.index.runs)
    held = [visible[name] for pack in absorbed for name in pack.index.runs if name in visible]
    return PackPlan(sorted({*runs, *held}, key=str), absorbed, redundant, staying)


def compact(store: RunStore, plan: PackPlan, advance: Callable[[], None] = lambda: None) -> Compacted:
    """Carries out the plan; calls `advance` for every run that was written or left alone."""
    store.ids()  # list the runs as they are now
    with writing_to(store.root), alone(store.local), Staging(store.local) as staging:
        compaction = _Compaction(store, plan, staging, publisher_for(store.place, staging), advance)
        compaction.run()
    return compaction.done


@dataclass
class _Compaction:
    store: RunStore
    plan: PackPlan
    staging: Staging
    publisher: PackPublisher
    advance: Callable[[], None]
    done: Compacted = field(default_factory=Compacted)

    def run(self) -> None:
        self.publisher.tidy(name for pack in self.store.packs for name in pack.index.runs)
        self.publisher.remove(self._safe_to_remove())
        visible, absorbed = set(map(str, self.store.ids())), list(self.plan.absorbed)
        loose = {*self.store.index.folders} - self.plan.staying
        for writer in self._written():
            self.done.packs.append(self.publisher.publish(writer))
            self.done.packed += len(writer.runs)
            self.publisher.remove([name for name in writer.runs if name in loose])
            visible -= writer.runs.keys()
            replaced = [pack for pack in absorbed if not pack.index.runs.keys() & visible]
            self.publisher.remove([pack.name for pack in replaced])
            absorbed = [pack for pack in absorbed if pack not in replaced]

    def _safe_to_remove(self) -> list[str]:
        """Returns the redundant folders whose run is whole elsewhere: in a pack, or as another run of the same report."""
        visible = {(run_id.time, run_id.hash): run_id for run_id in self.store.ids()}
        safe = []
        for name in self.plan.redundant:
            run_id = RunId.parse(name)
            assert run_id is not None
            try:
                kept = self.store.open(visible[run_id.time, run_id.hash])
                kept.verify()
                if find_in_folder(self.store.place, name).manifest.sha256 != kept.manifest.sha256:
                    raise RunDamaged(f"{self.store.place.shown(name)}: another run has the same id")
                safe.append(name)
            except FileNotFoundError:  # another client removes it
                safe.append(name)
            except RunUnusable as error:
                self.done.damaged.append(error)
        return safe

    def _written(self) -> Iterator[PackWriter]:
        """Yields each pack when it is full or gets no more runs.

        Several are open at once when the tables' columns differ.
        """
        under_way: list[PackWriter] = []
        for run in self._opened():
            try:
                writer = add_to_one(under_way, run, self.staging.folder)
            except RunUnusable as error:
                self.done.damaged.append(error)
                continue
            finally:
                self.advance()
            if len(writer.runs) >= MOST_RUNS or writer.size_bytes >= MOST_TABLE_BYTES:
                under_way.remove(writer)
                yield writer
        yield from (writer for writer in under_way if writer.runs)

    def _opened(self) -> Iterator[Run]:
        """Opens each run that is whole. Requests several at once from a URL."""
        for start in range(0, len(self.plan.runs), _AT_ONCE):
            some = self.plan.runs[start : start + _AT_ONCE]
            self.store.read_ahead(some)
            opened: list[Run] = []
            for run_id in some:
                try:
                    run = self.store.open(run_id)
                    self._require_reports(run)
                    run.verify_reports(left_elsewhere=False)
                    run.forget_reports()
                    opened.append(run)
                except RunUnusable as error:
                    self.done.damaged.append(error)
            read_ahead([run.files for run in opened if run.is_far])
            yield from opened

    def _require_reports(self, run: Run) -> None:
        for report in run.manifest.reports:
            if report.file is not None and not self.publisher.has(run.files.report_name(report)):
                raise RunDamaged(f"{run.files.shown_report(report)}: the run's report is not there")


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Lets one call at a time on this machine compact these runs."""
    folder.mkdir(parents=True, exist_ok=True)
    with held_if_free(folder / _LOCK_FILE) as is_ours:
        if not is_ours:
            raise CompactBusy(f"{folder}: another prof is compacting these runs")
        yield
