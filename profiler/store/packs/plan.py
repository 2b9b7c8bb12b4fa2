"""Moves many small runs into few packs, so that listings and queries touch few files; no answer changes.

A pack is complete before its `pack.json` appears, and from then on its runs are read from it. Only then are
their folders removed, each manifest first. So whenever a call is killed, a run is in its folder, in a pack,
or in both, which counts as one run, and the next call continues. A call removes only what it wrote to a pack
or verified in one, so two calls at once do no harm. In a folder, a lock keeps the second call out, and a run
disappears by one rename.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from profiler.errors import CompactBusy, RunDamaged, RunUnusable, StoreNotWritable
from profiler.store.packs.layout import PACK_FILE, REPORTS_FOLDER, Pack, is_pack
from profiler.store.packs.write import PackWriter
from profiler.store.remote.objects import ObjectPlace
from profiler.store.remote.places import Place
from profiler.store.runs.commit import Staging, flush, writing_to
from profiler.store.runs.files import read_ahead
from profiler.store.runs.manifest import MANIFEST_FILE, decode_manifest
from profiler.store.runs.run import Run
from profiler.store.runs.run_id import RunId, id_time
from profiler.store.runs.run_store import RunStore
from profiler.store.scratch import try_lock

# Puts finished packs in place and removes what they replace: by renames in a folder, by requests on an
# object store.

# For so long, a reader that listed the folder just before the pack appeared still finds the runs.
_GRACE_S = 0.1
_UNFINISHED_DAYS = 1  # after so long without a `pack.json`, nobody writes a pack any more


class FolderPublisher:
    """Publishes in a folder. `Staging` has removed what a killed call left."""

    def __init__(self, place: Place, staging: Staging) -> None:
        self._root = place.local
        self._staging = staging

    def has(self, name: str) -> bool:
        """Returns whether the place has a file with this name."""
        return (self._root / name).exists()

    def tidy(self, packed: Iterable[str]) -> None:
        pass

    def publish(self, writer: PackWriter) -> str:
        """Puts the pack in place, whole, and returns its name."""
        folder = writer.folder
        if writer.reports:
            (folder / REPORTS_FOLDER).mkdir()
        for name, source in writer.reports.items():
            _link(self._root / source, folder / name)
        if writer.reports:
            flush(folder / REPORTS_FOLDER)
        name = writer.close()
        self._staging.add(folder, name)
        time.sleep(_GRACE_S)
        return name

    def remove(self, folders: Sequence[str]) -> None:
        """Removes runs and packs. Each disappears from listings at once, and from the disk after that."""
        self._staging.take_away(folders)


class ObjectPublisher:
    """Publishes on an object store: `pack.json` goes last when a pack is added, and first when it is removed."""

    def __init__(self, place: ObjectPlace, staging: Staging) -> None:
        self._place = place
        self._staging = staging
        self._files = place.files()

    def has(self, name: str) -> bool:
        return name in self._files

    def tidy(self, packed: Iterable[str]) -> None:
        """Removes what killed calls left: files of `packed` runs without a manifest, and packs never finished."""
        oldest = id_time(datetime.now(UTC) - timedelta(days=_UNFINISHED_DAYS))
        held = set(packed)
        left: list[str] = []
        for folder, names in self._folders().items():
            if is_pack(folder) and f"{folder}/{PACK_FILE}" not in names:
                left += names if folder.split("-")[1] < oldest else []
            elif folder in held and f"{folder}/{MANIFEST_FILE}" not in names:
                left += names
        self._place.remove(left)

    def publish(self, writer: PackWriter) -> str:
        name = writer.close()
        files = [path for path in writer.folder.iterdir() if path.name != PACK_FILE]
        with ThreadPoolExecutor(_AT_ONCE) as threads:
            list(threads.map(lambda path: self._place.put_file(f"{name}/{path.name}", path), files))
            copies = writer.reports.items()
            list(threads.map(lambda copy: self._place.copy(copy[1], f"{name}/{copy[0]}"), copies))
        self._place.put(f"{name}/{PACK_FILE}", (writer.folder / PACK_FILE).read_bytes())
        there = self._place.files(f"{name}/")
        wanted = {f"{name}/{path.name}": path.stat().st_size for path in files}
        wanted |= {f"{name}/{report}": self._files[source] for report, source in copies}
        if any(there.get(one) != size for one, size in wanted.items()):
            raise StoreNotWritable(f"{self._place.shown(name)}: not all of its files are there as written")
        self._staging.discard(writer.folder)
        self._files |= there
        return name

    def remove(self, folders: Sequence[str]) -> None:
        first = [f"{folder}/{PACK_FILE if is_pack(folder) else MANIFEST_FILE}" for folder in folders]
        self._place.remove(first)
        gone, by_folder = set(first), self._folders()
        self._place.remove(
            [name for folder in folders for name in by_folder.get(folder, ()) if name not in gone]
        )

    def _folders(self) -> dict[str, list[str]]:
        folders: dict[str, list[str]] = {}
        for name in self._files:
            folders.setdefault(name.partition("/")[0], []).append(name)
        return folders


PackPublisher = FolderPublisher | ObjectPublisher


def publisher_for(place: Place, staging: Staging) -> PackPublisher:
    return (
        ObjectPublisher(place, staging) if isinstance(place, ObjectPlace) else FolderPublisher(place, staging)
    )


def stored_files(place: Place) -> dict[str, int]:
    """Returns every file of runs and packs, with its size in bytes."""
    if isinstance(place, ObjectPlace):
        return place.files()
    found: dict[str, int] = {}
    for folder in place.names():
        if RunId.parse(folder) is None and not is_pack(folder):
            continue
        for parent, _, names in os.walk(place.local / folder):
            for name in names:
                path = os.path.join(parent, name)
                found[os.path.relpath(path, place.local)] = os.path.getsize(path)
    return found


def _link(source: Path, target: Path) -> None:
    """Gives a file a second name, which costs nothing; copies it where it is a link, or the file system has no such names."""
    try:
        if not source.is_symlink():  # from another folder, a relative one would lead elsewhere
            os.link(source, target)
            return
    except FileExistsError:
        return
    except OSError:
        pass
    shutil.copyfile(source, target)
    flush(target)


_LOCK_FILE = ".compact"
FEWEST_RUNS = 8  # fewer runs are not worth a pack
_AT_ONCE = 16  # how many runs' tables are requested at once from a URL


@dataclass(frozen=True)
class Limits:
    """The size of a full pack: one that has reached either limit gets no more runs and is never rewritten."""

    table_bytes: int = 256 << 20
    runs: int = 2000


@dataclass(frozen=True)
class PackPlan:
    """The work to do: put `runs` into packs in this order, and remove `absorbed` and `redundant`."""

    runs: list[RunId]
    absorbed: list[Pack]  # small packs, whose runs are among `runs`
    redundant: list[str]  # folders of runs that a pack holds, or that another run of the same report replaces


@dataclass
class Compacted:
    """The result of `compact`."""

    packed: int = 0
    packs: list[str] = field(default_factory=list)
    damaged: list[RunUnusable] = field(default_factory=list)  # these runs stay as they are


def plan_packs(store: RunStore, older_than_days: float = 0, limits: Limits | None = None) -> PackPlan:
    """Chooses the runs to pack.

    A small pack is rewritten only with at least as many other runs, so that few are copied often.
    """
    limits = limits or Limits()
    newest = id_time(datetime.now(UTC) - timedelta(days=older_than_days))
    visible = {str(run_id): run_id for run_id in store.ids()}
    index = store.index
    loose = [run_id for name, run_id in visible.items() if index.pack_of(name) is None]
    runs = [run_id for run_id in loose if not older_than_days or run_id.time <= newest]
    redundant = [name for name in index.folders if name not in visible or index.pack_of(name)]
    if len(runs) < FEWEST_RUNS:
        return PackPlan([], [], redundant)
    absorbed, count = [], len(runs)
    for pack in sorted(index.packs, key=lambda pack: len(pack.index.runs)):
        is_small = len(pack.index.runs) < limits.runs // 2 and pack.size_bytes < limits.table_bytes // 2
        if is_small and len(pack.index.runs) <= count:
            absorbed.append(pack)
            count += len(pack.index.runs)
    held = [visible[name] for pack in absorbed for name in pack.index.runs if name in visible]
    return PackPlan(sorted({*runs, *held}, key=str), absorbed, redundant)


def compact(
    store: RunStore, plan: PackPlan, advance: Callable[[], None] = lambda: None, limits: Limits | None = None
) -> Compacted:
    """Carries out the plan; calls `advance` for every run that was written or left alone."""
    done = Compacted()
    store.ids()  # list the runs as they are now
    with writing_to(store.root), alone(store.local), Staging(store.local) as staging:
        publisher = publisher_for(store.place, staging)
        publisher.tidy(name for pack in store.packs for name in pack.index.runs)
        publisher.remove(_safe_to_remove(store, plan.redundant, done))
        _pack(store, plan, staging, publisher, limits or Limits(), done, advance)
    return done


def _pack(
    store: RunStore, plan: PackPlan, staging: Staging, publisher: PackPublisher, limits: Limits, done: Compacted,
    advance: Callable[[], None],
) -> None:  # fmt: skip
    visible, loose, absorbed = set(map(str, store.ids())), set(store.index.folders), list(plan.absorbed)
    for writer in _written(store, plan.runs, staging, publisher, limits, done, advance):
        done.packs.append(publisher.publish(writer))
        done.packed += len(writer.runs)
        publisher.remove([name for name in writer.runs if name in loose])
        visible -= writer.runs.keys()
        replaced = [pack for pack in absorbed if not pack.index.runs.keys() & visible]
        publisher.remove([pack.name for pack in replaced])
        absorbed = [pack for pack in absorbed if pack not in replaced]


def _written(
    store: RunStore, run_ids: Sequence[RunId], staging: Staging, publisher: PackPublisher, limits: Limits,
    done: Compacted, advance: Callable[[], None],
) -> Iterator[PackWriter]:  # fmt: skip
    """Yields each pack when it is full or gets no more runs.

    Several are open at once when the tables' columns differ.
    """
    under_way: list[PackWriter] = []
    for run, manifest in _opened(store, run_ids, publisher, done):
        try:
            for writer in under_way:
                if writer.add(run, manifest):
                    break
            else:
                under_way.append(writer := PackWriter(staging.folder()))
                writer.add(run, manifest)
        except RunUnusable as error:
            done.damaged.append(error)
        advance()
        if len(writer.runs) >= limits.runs or writer.size_bytes >= limits.table_bytes:
            under_way.remove(writer)
            yield writer
    yield from (writer for writer in under_way if writer.runs)


def _opened(
    store: RunStore, run_ids: Sequence[RunId], publisher: PackPublisher, done: Compacted
) -> Iterator[tuple[Run, bytes]]:
    """Opens each run that is whole, and yields it with its manifest as written. Requests several at once from a URL."""
    for start in range(0, len(run_ids), _AT_ONCE):
        some = run_ids[start : start + _AT_ONCE]
        store.read_ahead(some)
        opened: list[tuple[Run, bytes]] = []
        for run_id in some:
            try:
                run, manifest = store.open_raw(run_id)
                _require_reports(run, publisher)
                run.verify_reports(left_elsewhere=False)
                run.forget_reports()
                opened.append((run, manifest))
            except RunUnusable as error:
                done.damaged.append(error)
        read_ahead([run.files for run, _ in opened if run.is_far])
        yield from opened


def _require_reports(run: Run, publisher: PackPublisher) -> None:
    for report in run.manifest.reports:
        if report.file is not None and not publisher.has(run.files.report_name(report)):
            raise RunDamaged(f"{run.files.shown(report.file)}: the run's report is not there")


def _safe_to_remove(store: RunStore, names: Sequence[str], done: Compacted) -> list[str]:
    """Returns the folders whose run is whole elsewhere: in a pack, or as another run of the same report."""
    visible = {(run_id.time, run_id.hash): run_id for run_id in store.ids()}
    safe = []
    for name in names:
        run_id = RunId.parse(name)
        assert run_id is not None
        try:
            kept = store.open(visible[run_id.time, run_id.hash])
            kept.verify()
            file = f"{name}/{MANIFEST_FILE}"
            if (
                decode_manifest(store.place.read(file), store.place.shown(file)).sha256
                == kept.manifest.sha256
            ):
                safe.append(name)
            else:
                done.damaged.append(RunDamaged(f"{store.place.shown(name)}: another run has the same id"))
        except FileNotFoundError:  # another client removes it
            safe.append(name)
        except RunUnusable as error:
            done.damaged.append(error)
    return safe


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Lets one call at a time on this machine compact these runs."""
    folder.mkdir(parents=True, exist_ok=True)
    lock = try_lock(folder / _LOCK_FILE)
    if lock is None:
        raise CompactBusy(f"{folder}: another prof is compacting these runs")
    try:
        yield
    finally:
        os.close(lock)
