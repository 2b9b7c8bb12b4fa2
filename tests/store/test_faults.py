"""Whichever call fails, and wherever the power goes out: old runs are intact, and the new one is whole or absent.

The failure is an error of prof, and never damage.

Afterwards the same command, without a fault, completes the work. The suite takes a seeded sample of the calls;
`just campaign` takes every one, and `CALLS=100-200` of the environment these alone: a campaign that was interrupted goes
on where its output ends. What it comes to stays in `tests/data/faults.csv`, from where the documentation takes it.
"""

import csv
import os
import random
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import pytest
from fsspec.implementations.memory import MemoryFileSystem

from profiler.errors import ProfError, RunDamaged
from profiler.store.fsck import Examined, examine_store
from profiler.store.packs.compact import compact, plan_packs
from profiler.store.process_timings import Timing
from profiler.store.repair import repair
from profiler.store.reports.extract import extract_report
from profiler.store.reports.request import Request
from profiler.store.runs.commit import Staging
from profiler.store.runs.manifest import Provenance
from profiler.store.runs.run_store import RunStore
from profiler.store.runs.timed_run import TimedRun, commit_timings
from profiler.store.sweeps import SweepRepeat, SweepStore, Visit
from profiler.store.tables.reading import read_table
from tests.store.faults import KINDS, Faults, injected
from tests.store.flips import flip
from tests.store.test_sweeps import MEASURED as SWEEP

CAMPAIGN = Path(__file__).parent.parent / "data" / "faults.csv"
COMPLETED = "completed in spite of it"
SAMPLE = 1  # call of each operation and kind
OLD = "20261122t012549z"  # when the runs were recorded that are there before
STORED, PACKED = 10, 8  # how many of these are in the store, and how many of them in a pack before a repair

Place = Path | str


@dataclass(frozen=True)
class Operation:
    """A call that changes a store, how many runs it adds, and where. `prepare` makes it necessary in the store of ten runs."""

    run: Callable[[Place, Path], object]
    added: int = 0
    at_url: bool = False
    prepare: Callable[[Path], object] = lambda runs: None


def commit(place, reports):
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    timings = [Timing(0, 0, 1.0, None)]
    commit_timings(
        RunStore(place), [TimedRun("gemm", 3, {"m": 1}, moment, "H200", "", Provenance(), timings)]
    )


def ingest(place, reports):
    with RunStore(place).staging() as staging:
        folder = staging.folder()
        extracted = extract_report(Request((reports / "range.ncu-rep",), folder))
        staging.commit(folder, extracted.run_id)


def pack(place, reports):
    store = RunStore(place)
    compact(store, plan_packs(store))


def sweep(place, reports):
    """Measure one point, be interrupted, go on, and commit."""
    sweeps, visit = SweepStore(place), Visit("code", "correct", repeats=[SweepRepeat("full", 0, 2.0, 1.0)])
    for _ in range(2):
        with sweeps.unfinished("key") as unfinished:
            if unfinished.visit("full", 0, {"TILE": 8}, "code") is None:
                unfinished.keep_visit("full", 0, {"TILE": 8}, visit)
    if not sweeps.find(SWEEP.ladder + "-7-tune", SWEEP.key):
        sweeps.commit(SWEEP)
    with sweeps.unfinished("key") as unfinished:
        unfinished.discard()


def mend(place, reports):
    store = RunStore(place)
    list(repair(store, list(examine_store(store, Examined()))))


def damage(runs):
    """Pack eight of the runs; change a byte of one of them, and of one in a folder of its own; leave a staging folder."""
    loose = sorted(runs.iterdir())[PACKED:]
    for run in loose:
        run.rename(runs.parent / run.name)
    pack(runs, runs)
    for run in loose:
        (runs.parent / run.name).rename(run)
    for file in (next(runs.glob("pack-*")) / "timings.parquet", loose[0] / "timings.parquet"):
        flip(file, 100)
    (runs / ".staging" / "left").mkdir(parents=True)


OPERATIONS = {
    "commit timings to a folder": Operation(commit, 1),
    "measure a sweep, interrupted once": Operation(sweep, 1),
    "ingest a report into a folder": Operation(ingest, 1),
    "pack ten runs in a folder": Operation(pack),
    "pack ten runs at a URL": Operation(pack, at_url=True),
    "upload to an object store": Operation(commit, 1, at_url=True),
    "repair a folder": Operation(mend, prepare=damage),
    "repair at a URL": Operation(mend, at_url=True, prepare=damage),
}


class World:
    """A store below `folder`, or at a URL with its state there, that is made anew for each fault."""

    def __init__(self, recorded, folder, operation):
        self.folder, self._operation, self._master = folder, operation, folder / "master" / "runs"
        for run_id in [str(one) for one in recorded.ids() if one.time == OLD][:STORED]:
            shutil.copytree(recorded.root / run_id, self._master / run_id)
        operation.prepare(self._master)

    def make(self):
        for name in ("runs", "state"):
            shutil.rmtree(self.folder / name, ignore_errors=True)
        MemoryFileSystem.store.clear()
        if not self._operation.at_url:
            shutil.copytree(self._master, self.folder / "runs")
            return self.folder / "runs"
        MemoryFileSystem().put(f"{self._master}/", "/runs/", recursive=True)
        return "memory://runs"


@pytest.fixture
def world(recorded, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))  # a repair sweeps it
    # The same bytes are the same table: to decode each of them once takes half the time.
    decoded = cache(lambda data, schema, rows, whole: read_table(data, schema, rows, "a table", whole=whole))
    monkeypatch.setattr(
        "profiler.store.runs.run.read_table",
        lambda data, schema, rows, where, *, whole: decoded(data, schema, rows, whole),
    )
    # private: each compaction would wait so long
    monkeypatch.setattr("profiler.store.packs.publish._GRACE_S", 0.0)
    return lambda operation: World(recorded, tmp_path, operation)


def runs_of(place):
    """The runs and sweeps that are whole, each of which is read to its last byte."""
    store, whole = RunStore(place), set()
    for run in store.open_all(store.ids()):
        with suppress(RunDamaged):
            run.verify()
            whole.add(run.manifest.run_id)
    if isinstance(place, Path):
        sweeps = SweepStore(place)
        whole |= {sweeps.open(str(run_id)).manifest.run_id for run_id in store.sweep_ids()}
    return whole


def damaged_in(place):
    """Returns the names of what `prof fsck` finds damaged."""
    return {
        fault.name
        for fault in examine_store(RunStore(place), Examined())
        if fault.is_wrong and fault.kind != "left"
    }


def contents(place):
    """The bytes of every file of a run or a pack, wherever it lies."""
    if isinstance(place, str):
        return {file.getvalue() for name, file in MemoryFileSystem.store.items() if name.startswith("/runs/")}
    return {path.read_bytes() for path in place.rglob("*") if path.is_file()}


@dataclass(frozen=True)
class Undisturbed:
    """An operation without a fault: what is there before it and after it, and how many calls it makes."""

    before: set[str]
    damaged: set[str]
    data: set[bytes]
    whole: set[str]
    calls: int


def undisturbed(operation, world, reports):
    place = world.make()
    before, damaged, data = runs_of(place), damaged_in(place), contents(place)
    with injected(Faults(world.folder)) as counting:
        operation.run(place, reports)
    whole = runs_of(place)
    assert len(whole - before) == operation.added
    assert damaged_in(place) == set()
    return Undisturbed(before, damaged, data, whole, counting.count)


def fail_each(operation, kind, world, reports, known, calls):
    tmp_path, run = world.folder, operation.run
    before, damaged, data, whole = known.before, known.damaged, known.data, known.whole
    outcomes = Counter()
    for at in calls:
        place = world.make()
        faults = Faults(tmp_path, kind, at)
        outcome = COMPLETED
        try:
            with injected(faults):
                run(place, reports)
        except (ProfError, MemoryError) as error:
            outcome = type(error).__name__
        if faults.dead:
            outcome = "power lost"
        # What was damaged is one line; all else is as it was written.
        assert outcome != RunDamaged.__name__, at
        assert before <= runs_of(place) <= whole, (at, outcome)
        assert damaged_in(place) <= damaged, (at, outcome)
        if damaged:
            assert data - contents(place) <= {b""}, (at, outcome)
        run(place, reports)
        assert runs_of(place) == whole, (at, outcome)
        assert damaged_in(place) == set(), (at, outcome)
        outcomes[outcome] += 1
    if kind == "power loss":
        place = world.make()
        with injected(Faults(tmp_path)) as afterwards:
            run(place, reports)
        afterwards.lose_power()
        assert runs_of(place) == whole, "what was acknowledged is there after the power went out"
        assert damaged_in(place) == set()
    return outcomes


def test_the_first_run_of_a_new_folder_is_there_after_a_power_loss(tmp_path, reports):
    place = tmp_path / "new" / "runs"
    with injected(Faults(tmp_path)) as faults:
        commit(place, reports)
    faults.lose_power()
    assert len(runs_of(place)) == 1


def test_a_run_that_was_set_aside_is_there_after_a_power_loss(world, tmp_path):
    """Also in a folder of its own, because one of the same name was set aside before."""
    place = Path(world(Operation(commit)).make())
    run_id = str(RunStore(place).ids()[0])
    (place / "damaged" / run_id).mkdir(parents=True)
    with injected(Faults(tmp_path)) as faults, Staging(place) as staging:
        aside = staging.set_aside(run_id, "damaged again")
    faults.lose_power()
    assert aside == place / "damaged" / "2" / run_id
    assert (aside / "run.json").exists()


@pytest.mark.slow
def test_a_run_that_is_set_aside_is_somewhere_whenever_the_power_goes_out(world, tmp_path):
    made = world(Operation(commit))
    for at in range(1, 100):
        place = Path(made.make())
        run_id, data = str(RunStore(place).ids()[0]), contents(place)
        faults = Faults(tmp_path, "power loss", at)
        with injected(faults), Staging(place) as staging:
            staging.set_aside(run_id, "damaged")
        assert data - contents(place) <= {b""}, at
        if not faults.dead:
            break
    else:
        pytest.fail("it has fewer calls")


def test_examining_a_store_ends_with_no_error_of_the_system_whichever_call_fails(world, tmp_path):
    place = Path(world(Operation(commit)).make())
    for run in sorted(place.iterdir())[1:]:
        shutil.rmtree(run)
    (place / ".staging" / "left").mkdir(parents=True)
    with injected(Faults(tmp_path)) as counting:
        assert [fault.kind for fault in examine_store(RunStore(place), Examined())] == ["left"]
    for at in range(1, counting.count + 1):
        with injected(Faults(tmp_path, "EIO", at)), suppress(ProfError):
            list(examine_store(RunStore(place), Examined()))


@pytest.mark.slow
@pytest.mark.parametrize("name", OPERATIONS)
def test_a_sample_of_the_calls_may_fail(name, world, reports):
    operation = OPERATIONS[name]
    here = world(operation)
    known = undisturbed(operation, here, reports)
    for kind in KINDS:
        calls = random.Random(f"18 {kind}").sample(range(1, known.calls + 1), SAMPLE)
        fail_each(operation, kind, here, reports, known, sorted(calls))


@pytest.mark.campaign
# The power went out in a finalizer.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", OPERATIONS)
def test_every_call_may_fail(name, kind, world, reports):
    operation, here = OPERATIONS[name], world(OPERATIONS[name])
    known = undisturbed(operation, here, reports)
    first, last = (int(number) for number in os.environ.get("CALLS", f"1-{known.calls}").split("-"))
    outcomes = Counter()
    for at in range(first, min(last, known.calls) + 1):
        outcomes += fail_each(operation, kind, here, reports, known, [at])
        print(f"{name}, {kind}: {first} to {at} of {known.calls} calls: {dict(outcomes)}", flush=True)
    if outcomes.total() == known.calls:
        keep(name, kind, outcomes)


def keep(name, kind, outcomes):
    """Replaces the row of this operation and kind of fault: how many faults there were, and how the command ended.

    It rewrites the table, so of several workers each would lose the rows of the others: those keep nothing.
    """
    if "PYTEST_XDIST_WORKER" in os.environ:
        return
    with CAMPAIGN.open() as before:
        rows = {(row["operation"], row["fault"]): row for row in csv.DictReader(before)}
    commit = subprocess.check_output(["git", "rev-parse", "--short", "HEAD"], cwd=CAMPAIGN.parent, text=True)
    lost, completed = outcomes["power lost"], outcomes[COMPLETED]
    rows[name, kind] = {
        "operation": name, "fault": kind, "faults": outcomes.total(), "completed": completed, "power_lost": lost,
        "error": outcomes.total() - completed - lost, "commit": commit.strip(),
    }  # fmt: skip
    with CAMPAIGN.open("w", newline="") as after:
        writer = csv.DictWriter(after, list(rows[name, kind]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows[one, of] for one in OPERATIONS for of in KINDS if (one, of) in rows)
