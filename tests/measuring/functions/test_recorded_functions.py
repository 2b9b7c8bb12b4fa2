"""Functions that were measured on an H200: autotuned ones, one twice, and two that were collected as programs too."""

from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

import profiler
from profiler.analyse.compare.changes import judge_speedup
from profiler.catalog.metrics import DURATION
from profiler.measuring.functions.collecting import profiled_configurations, unlike_configurations
from profiler.store.process_timings import Timing
from profiler.store.runs.manifest import Provenance
from profiler.store.runs.run_id import RunId
from profiler.store.runs.run_store import RunStore
from profiler.store.runs.timed_run import TimedRun, commit_timings

RUNS = Path(__file__).parents[2] / "data" / "functions"


@pytest.fixture(scope="module")
def runs():
    return profiler.open_runs(RUNS)


def test_one_of_a_hundred_configurations_was_profiled_in_each_process(runs):
    launches = runs["scale"].to_pandas("launches")
    shapes = launches.groupby("process")[["grid_x", "block_x", "registers"]].nunique()
    assert list(launches.groupby("process").size()) == [5, 5]
    assert shapes.to_numpy().tolist() == [[1, 1, 1], [1, 1, 1]]


def test_no_configuration_was_timed_but_the_one_chosen(runs):
    times = runs["scale"].to_pandas("timings")
    assert len(times) == 40
    assert times["kernel_ns"].max() < 1.2 * times["kernel_ns"].min()


def test_a_measured_function_is_read_like_any_run(runs):
    run = runs["scale"]
    facts = run.manifest.provenance
    assert (run.kernels, run.manifest.ladder) == (["scale_kernel"], None)
    assert (facts.bytes, facts.relative_error) == (2 * 4 << 20, 0.0)
    assert facts.runtime.startswith("Python 3.12.3, PyTorch 2.11")
    assert profiler.show(run).headline.what
    assert "GB/s" in run._repr_html_()  # private: notebooks look for this name


def test_a_run_says_if_it_is_of_a_function(runs):
    """The runs whose names begin with c are those of `prof collect`."""
    of_functions = {run.manifest.name for run in runs if run.manifest.is_of_function}
    assert of_functions == {"add", "m-coalesced", "m-strided", "matmul", "scale", "small_tiles"}


def test_two_identical_functions_are_the_same_within_their_noise(runs):
    one, other = (run for run in runs if run.manifest.name == "add")
    found = profiler.compare(one, other)
    low, high = found.speedup.ci
    assert low < 1 < high
    assert DURATION not in [delta.name for delta in found.metrics if delta.verdict in ("better", "worse")]


@pytest.mark.slow
def test_none_of_fifty_comparisons_of_one_function_finds_a_difference(tmp_path):
    """Each side is what `measure` times: twenty calls in each of three processes, one after the other on an H200."""
    processes = msgspec.json.decode((RUNS.parent / "identical_functions.json").read_bytes())
    sides = [processes[place : place + 3] for place in range(0, len(processes), 3)]
    runs = [timed(f"side-{place}", side) for place, side in enumerate(sides)]
    store = RunStore(tmp_path)
    opened = list(store.open_all(map(RunId.parse, commit_timings(store, runs))))
    found = [
        judge_speedup(profiler.compare(one, other).speedup)
        for one, other in zip(opened[::2], opened[1::2], strict=True)
    ]
    assert len(found) == 51
    assert set(found) == {"same", "unclear"}


def test_a_function_that_was_timed_alone_is_profiled_by_the_call_that_timed_it(tmp_path, prof_here):
    commit_timings(RunStore(tmp_path), [timed("mine", [[20_000, 21_000]])])
    said = " ".join(prof_here("show", "mine", "--runs", tmp_path).stdout.split())
    assert "Next: Record its counters with `prof.measure(..., profile=True)`, then ask again." in said


def timed(name, processes):
    timings = [
        Timing(process, repeat, ns, None)
        for process, times in enumerate(processes)
        for repeat, ns in enumerate(times)
    ]
    return TimedRun(
        ladder="", kernel=0, workload=None, recorded=datetime(2026, 11, 23, tzinfo=UTC), gpu="NVIDIA H200",
        command_line=name, provenance=Provenance(), timings=tuple(timings), function=name,
    )  # fmt: skip


def test_two_versions_of_a_matmul_are_compared(runs):
    found = profiler.compare(runs["small_tiles"], runs["matmul"])
    assert found.speedup.basis == "unprofiled"
    assert found.speedup.ci[0] > 2.5
    why = found.headline.why
    assert why.startswith("too-little-reuse (matmul.py:29)")
    assert "went away" in why
    assert "The loads of the hot loop changed (shared loads: " in why
    # `barriers` is named of the second alone, but warps wait there for less time in all than those of the first.
    assert "Against that" not in why
    assert "too-little-reuse" in found.causes_gone
    assert profiler.show(runs["small_tiles"]).headline.why.startswith("too-little-reuse at matmul.py:29")


def test_another_configuration_in_another_process_is_a_caution(runs):
    (caution,) = unlike_configurations("profiled", profiled_configurations(runs["matmul"]))
    assert caution.count("matmul_kernel (grid ") == 2
    assert not list(unlike_configurations("profiled", profiled_configurations(runs["small_tiles"])))


@pytest.mark.parametrize(("before", "after"), [("strided", "coalesced"), ("coalesced", "strided")])
def test_a_function_gets_the_verdicts_of_the_program_that_launches_its_kernel(runs, before, after):
    measured, collected = (profiler.compare(runs[f"{how}-{before}"], runs[f"{how}-{after}"]) for how in "mc")
    assert judge_speedup(measured.speedup) == judge_speedup(collected.speedup) != "unclear"
    verdicts, others = ({one.name: one.verdict for one in side.metrics} for side in (measured, collected))
    assert len(verdicts) > 50
    assert verdicts == others
    assert [one.cause for one in measured.causes] == [one.cause for one in collected.causes]
