"""Functions that were measured on an H200: one with a hundred configurations, and one twice."""

from __future__ import annotations

from pathlib import Path

import pytest

import profiler
from profiler.catalog.metrics import DURATION

RUNS = Path(__file__).parents[2] / "data" / "functions"


@pytest.fixture(scope="module")
def runs():
    return profiler.open_runs(RUNS)


def test_of_a_hundred_configurations_one_was_profiled_in_each_process(runs):
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


def test_two_identical_functions_are_the_same_within_their_noise(runs):
    one, other = (run for run in runs if run.manifest.name == "add")
    found = profiler.compare(one, other)
    low, high = found.speedup.ci
    assert low < 1 < high
    assert DURATION not in [delta.name for delta in found.metrics if delta.verdict in ("better", "worse")]
