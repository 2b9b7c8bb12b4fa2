"""Whichever call fails, and wherever the power goes out: old runs are intact, and the new one is whole or absent.

The failure is an error of prof, and never damage.

Afterwards the same command, without a fault, completes the work. The suite takes a seeded sample of the calls;
`just campaign` takes every one.
"""

from __future__ import annotations

import random
import shutil
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from fsspec.implementations.memory import MemoryFileSystem

from profiler.errors import ProfError, RunDamaged
from profiler.store.packs.plan import compact, plan_packs
from profiler.store.reports.extract import extract_report
from profiler.store.reports.request import Request, Timing
from profiler.store.runs.commit import Staging
from profiler.store.runs.manifest import Provenance
from profiler.store.runs.run_store import RunStore
from profiler.store.runs.timed_run import TimedRun, commit_timings
from tests.store.faults import KINDS, Faults, injected

SAMPLE = 4  # calls of each operation and kind
OLD = "20261122t012549z"  # when the fourteen runs were recorded that are there before

Place = Path | str
Operation = Callable[[Place, Path], None]


def commit(place: Place, reports: Path) -> None:
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    timings = [Timing(0, 0, 1.0, None)]
    commit_timings(
        RunStore(place), [TimedRun("gemm", 3, {"m": 1}, moment, "H200", "", Provenance(), timings)]
    )


def ingest(place: Place, reports: Path) -> None:
    with RunStore(place).staging() as staging:
        folder = staging.folder()
        extracted = extract_report(Request((reports / "triton_add_full.ncu-rep",), folder))
        staging.commit(folder, extracted.run_id)  # type: ignore[union-attr]


def pack(place: Place, reports: Path) -> None:
    store = RunStore(place)
    compact(store, plan_packs(store))


OPERATIONS: dict[
    str, tuple[Operation, int, bool]
] = {  # with the number of runs that it adds, and whether at a URL
    "commit": (commit, 1, False),
    "ingest": (ingest, 1, False),
    "compact": (pack, 0, False),
    "upload": (commit, 1, True),
    "compact at a URL": (pack, 0, True),
}


@pytest.fixture
def world(recorded: RunStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[bool], Place]:
    """`world(at_url)`: a fresh store of fourteen runs below `tmp_path`, or at a URL with its state there."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    # private: each compaction would wait so long
    monkeypatch.setattr("profiler.store.packs.publish._GRACE_S", 0.0)

    def make(at_url: bool) -> Place:
        for folder in ("runs", "state"):
            shutil.rmtree(tmp_path / folder, ignore_errors=True)
        MemoryFileSystem.store.clear()
        for run_id in (str(one) for one in recorded.ids() if one.time == OLD):
            shutil.copytree(recorded.root / run_id, tmp_path / "runs" / run_id)
        if not at_url:
            return tmp_path / "runs"
        MemoryFileSystem().put(f"{tmp_path}/runs/", "/runs/", recursive=True)
        return "memory://runs"

    return make


def runs_of(place: Place) -> set[str]:
    """The runs of a store, each of which is read to its last byte."""
    store = RunStore(place)
    runs = store.open_all(store.ids())
    store.require_whole()
    for run in runs:
        run.verify()
    return {run.manifest.run_id for run in runs}


def fail_each(
    operation: str,
    kind: str,
    world: Callable[[bool], Place],
    tmp_path: Path,
    reports: Path,
    sample: int | None,
) -> Counter[str]:
    run, added, at_url = OPERATIONS[operation]
    place = world(at_url)
    before = runs_of(place)
    with injected(Faults(tmp_path)) as counting:
        run(place, reports)
    whole = runs_of(place)
    assert len(whole - before) == added
    calls = range(1, counting.count + 1)
    chosen = sorted(random.Random(18).sample(calls, min(sample, len(calls)))) if sample else calls
    outcomes: Counter[str] = Counter()
    for at in chosen:
        place = world(at_url)
        faults = Faults(tmp_path, kind, at)
        outcome = "completed in spite of it"
        try:
            with injected(faults):
                run(place, reports)
        except (ProfError, MemoryError) as error:
            outcome = type(error).__name__
        if faults.dead:
            outcome = "power lost"
        assert outcome != RunDamaged.__name__, at  # every byte is as it was written
        left = runs_of(place)
        assert before <= left <= whole, (at, outcome)
        run(place, reports)
        assert runs_of(place) == whole, (at, outcome)
        outcomes[outcome] += 1
    if kind == "power loss":
        place = world(at_url)
        with injected(Faults(tmp_path)) as afterwards:
            run(place, reports)
        afterwards.lose_power()
        assert runs_of(place) == whole, "what was acknowledged is there after the power went out"
    return outcomes


def test_the_first_run_of_a_new_folder_is_there_after_a_power_loss(tmp_path, reports):
    place = tmp_path / "new" / "runs"
    with injected(Faults(tmp_path)) as faults:
        commit(place, reports)
    faults.lose_power()
    assert len(runs_of(place)) == 1


def test_a_run_that_was_set_aside_is_there_after_a_power_loss(world, tmp_path):
    """Also in a folder of its own, because one of the same name was set aside before."""
    place = Path(world(False))
    run_id = str(RunStore(place).ids()[0])
    (place / "damaged" / run_id).mkdir(parents=True)
    with injected(Faults(tmp_path)) as faults, Staging(place) as staging:
        aside = staging.set_aside(run_id, "damaged again")
    faults.lose_power()
    assert aside == place / "damaged" / "2" / run_id
    assert (aside / "run.json").exists()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_sample_of_the_calls_may_fail(operation, kind, world, tmp_path, reports):
    fail_each(operation, kind, world, tmp_path, reports, SAMPLE)


@pytest.mark.campaign
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("operation", OPERATIONS)
def test_every_call_may_fail(operation, kind, world, tmp_path, reports):
    outcomes = fail_each(operation, kind, world, tmp_path, reports, None)
    print(f"{operation}, {kind}: {sum(outcomes.values())} calls: {dict(outcomes)}")
