"""The answer of `prof collect` has a row for each kernel, and the command that one would type next."""

from pathlib import Path

import pytest

from profiler.analyse.recording.profile import profile_kernel
from profiler.catalog.ladders.ladder import Kernel, Ladder, Workload
from profiler.present.documents.rungs import HEADER, collected_document, collected_row, next_command
from profiler.present.render.cells import table_texts
from profiler.present.render.terminal import Window, document_text

METRICS = {"duration_ns": (4_000_000.0, "ns"), "issue_active_pct": (66.0, "%")}


def row_of(run, kernel="k", status="collected"):
    return dict(zip(HEADER, collected_row(status, run, profile_kernel(run, kernel), None), strict=True))


def table_of(*rows):
    ((table,),) = collected_document([tuple(row.values()) for row in rows]).sections
    return table


def printed(row):
    """The texts of the columns that are filled, by the names that programs give them."""
    _, (texts,), places = table_texts(table_of(row), "")
    return dict(zip([HEADER[place] for place in places], texts, strict=True))


def ladder_of(numbers, name="gemm"):
    rungs = tuple(Kernel(number, f"k{number}", "an idea", "k", {}) for number in numbers)
    return Ladder(name, "A ladder", Path("kernels") / name / "ladder.toml", Workload({"m": 4096}), rungs)


@pytest.fixture
def manifest(make_run):
    """`manifest(6)`: of a collected rung."""

    def make(kernel, name=None, preset="default"):
        run = make_run({"kernel": "k"}, name=name or f"gemm-{kernel}", kernel=kernel, ladder="gemm", preset=preset)  # fmt: skip
        return run.manifest

    return make


# Rows


def test_a_narrow_window_keeps_the_speed_and_leaves_out_the_run_s_id_which_is_long():
    texts = {"status": "collected", "run": "gemm-6", "kernel": "", "size": "m=n=k=4096"}
    texts["run_id"] = "20261123t093038z-gemm-6-dff79ca0222e"
    document = collected_document([tuple(texts.get(name, 1234.5) for name in HEADER)])
    header = document_text(document, Window(width=80)).splitlines()[0]
    assert [
        title for title in ("run", "unprofiled", "GFLOP/s", "% ref", "profiled") if title not in header
    ] == []
    assert "run id" not in header


def test_a_row_has_the_means_over_launches_and_the_median_of_the_timings(make_run):
    launches = [{"kernel": "k", "metrics": METRICS, "process": process} for process in (0, 0, 1)]
    row = row_of(make_run(*launches, name="gemm-6", timings=(3000.0, 5000.0, 3100.0)))

    assert (row["status"], row["run"], row["size"], row["launches"]) == ("collected", "gemm-6", "m=4096", 3)
    assert (row["unprofiled_ns"], row["profiled_ns"], row["issue_active_pct"]) == (3100.0, 4e6, 66.0)
    assert row["kernel"] == ""
    assert row["run_id"] == "20260101t000000z-gemm-6-" + str(row["run_id"])[-12:]


def test_a_row_leaves_figures_empty_that_were_not_measured(make_run):
    row = row_of(make_run({"kernel": "k"}, name="mine", workload=None))
    for name in ("unprofiled_ns", "gflops", "reference_pct", "profiled_ns", "fma_pipe_pct"):
        assert row[name] is None
    assert not {"unprofiled_ns", "size"} & printed(row).keys()


def test_cells_carry_units_and_no_more_digits_than_needed(make_run):
    row = row_of(make_run({"kernel": "k", "metrics": METRICS}, name="gemm-6", timings=(3_100_000.0,)))
    assert (printed(row)["unprofiled_ns"], printed(row)["profiled_ns"]) == ("3.100 ms", "4.000 ms")
    assert printed(row)["launches"] == "1"


def test_the_kernels_of_a_run_of_several_are_distinguished(make_run):
    long = "void gemm<" + "int, " * 50 + "int>"
    run = make_run({"kernel": "softmax"}, {"kernel": long}, name="mine")
    assert row_of(run, "softmax")["kernel"] == "softmax"
    assert row_of(run, long)["kernel"] == long, "programs get it whole"
    assert len(printed(row_of(run, long))["kernel"]) <= 40


def test_figures_are_on_the_right_and_what_names_a_run_is_never_left_out():
    columns = dict(zip(HEADER, table_of().columns, strict=True))
    right = {name for name, column in columns.items() if column.is_right}
    assert right == columns.keys() - {"status", "run", "kernel", "size", "run_id"}
    always = {name for name, column in columns.items() if column.stays is None}
    assert always == {"status", "run", "unprofiled_ns", "reference_pct", "profiled_ns"}


# What one would type next


def test_with_the_rung_below_there_it_is_their_comparison(manifest):
    runs = [manifest(5), manifest(6)]
    assert next_command(runs, ladder_of(range(11)), ["gemm-5", "gemm-6"]) == "prof compare 5 6"


def test_a_rung_that_was_never_collected_is_passed_over(manifest):
    assert next_command([manifest(6)], ladder_of([1, 4, 5, 6]), ["gemm-1", "gemm-4", "gemm-6"]) == "prof compare 4 6"  # fmt: skip


def test_another_ladder_is_named(manifest):
    run = manifest(2, name="softmax-2")
    assert next_command([run], ladder_of([1, 2], "softmax"), ["softmax-1"]) == "prof compare 1 2 --ladder softmax"  # fmt: skip


def test_runs_of_a_preset_are_compared_by_name(manifest):
    run = manifest(6, name="gemm-6-counters", preset="counters")
    ladder = ladder_of(range(11))
    assert next_command([run], ladder, ["gemm-5", "gemm-5-counters"]) == "prof compare gemm-5-counters gemm-6-counters"  # fmt: skip
    assert next_command([run], ladder, ["gemm-5"]) == "prof show gemm-6-counters"


@pytest.mark.parametrize("stored", [[], ["gemm-6"], ["gemm-7", "gemm-6"], ["other-5"]])
def test_with_nothing_below_it_is_shown(manifest, stored):
    assert next_command([manifest(6)], ladder_of(range(11)), stored) == "prof show gemm-6"


def test_any_program_is_shown(manifest):
    assert next_command([manifest(None, name="mine")], None, ["mine"]) == "prof show mine"
