"""`import profiler`: what notebooks use, with the answers the commands print."""

from __future__ import annotations

import pytest

import profiler
from profiler.errors import KernelAmbiguous


@pytest.fixture(scope="module")
def runs(recorded):
    return profiler.open_runs(recorded.root)


def test_two_recorded_kernels_compare(runs):
    finding = profiler.compare(runs.find("5", ladder="gemm"), runs.find("6", ladder="gemm"))
    assert finding.speedup.ratio > 1
    assert [check.ok for check in finding.confirmations[0].checks] == [True] * 4


def test_a_comparison_is_a_data_frame_with_interval_and_verdict(runs):
    frame = profiler.compare(runs.find("5", ladder="gemm"), runs.find("6", ladder="gemm")).to_pandas()
    assert frame.loc["duration_ns", "verdict"] == "better"
    low, high = frame.loc["duration_ns", ["ci_low", "ci_high"]]
    assert low < frame.loc["duration_ns", "delta"] < high < 0


def test_runs_are_a_data_frame_too(runs):
    frame = runs.to_pandas()
    assert list(frame["run_id"]) == [str(run_id) for run_id in runs.ids()]


def test_a_report_is_read_without_storing_it(reports, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    report = profiler.read(reports / "graph.ncu-rep")
    assert set(report.to_pandas("launches")["workload"]) == {"graph"}
    assert report.table("metrics").num_rows == len(report.to_pandas("metrics"))
    assert list(tmp_path.iterdir()) == []


def test_a_kernel_is_shown_with_its_causes(reports, runs):
    sheet = profiler.show(reports / "triton_add_full.ncu-rep")
    assert [one.cause for one in sheet.causes][:1] == ["at-memory-bandwidth"]
    assert sheet.headline.next.endswith(sheet.causes[0].try_)
    stored = profiler.show(runs.find("5", ladder="gemm"))
    assert stored.causes == profiler.compare(*(runs.find(one, ladder="gemm") for one in ("4", "5"))).causes


def test_of_several_kernels_one_is_chosen(reports):
    with pytest.raises(KernelAmbiguous):
        profiler.show(reports / "several.ncu-rep")
    assert profiler.show(reports / "several.ncu-rep", kernel_name="offset").kernel.startswith("offset")


def test_reports_compare_by_path(reports, runs):
    finding = profiler.compare(reports / "gemm_5.ncu-rep", str(reports / "gemm_6.ncu-rep"))
    stored = profiler.compare(runs.find("textbook-5", ladder="gemm"), runs.find("textbook-6", ladder="gemm"))
    assert finding.metrics == stored.metrics
