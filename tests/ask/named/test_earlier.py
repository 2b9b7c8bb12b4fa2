"""A run that is named alone is compared with the last one before it that measured the same."""

import pyarrow as pa
import pytest

import profiler
from profiler.ask.compare import compare
from profiler.ask.named.earlier import open_with_the_one_before, run_before
from profiler.ask.named.settings import Settings
from profiler.errors import RunNotFound
from profiler.store.runs.manifest import Provenance


def ids_of(reference, store):
    runs = open_with_the_one_before(reference, Settings(runs=store.root), timed=True)
    return tuple(run.manifest.run_id for run in runs)


def test_a_name_means_its_newest_run_and_a_run_id_that_run(made):
    first, second, third = (made.profile("mine", time, time) for time in (100.0, 90.0, 80.0))
    assert ids_of("mine", made.store) == (second, third)
    assert ids_of(second, made.store) == (first, second)
    assert ids_of(f"{made.store.root}/{second}", made.store) == (first, second)


def test_runs_of_another_name_workload_or_gpu_are_passed_over(made):
    before = made.profile("mine", 100.0, workload={"m": 1}, gpus=["A"])
    made.profile("mine", 100.0, workload={"m": 2}, gpus=["A"])
    made.profile("mine", 100.0, workload={"m": 1}, gpus=["B"])
    made.profile("other", 100.0, workload={"m": 1}, gpus=["A"])
    now = made.profile("mine", 100.0, workload={"m": 1}, gpus=["A"])
    assert ids_of("mine", made.store) == (before, now)


def test_runs_with_other_arguments_are_passed_over_unless_all_are(made):
    """Such as the other input of a program, between two measurements of a change."""
    calls = [
        {"command_line": f"/opt/ncu -o r ./mine --rows {rows}", "workload": None} for rows in (1, 2, 1, 3)
    ]
    first, _, third, last = (made.profile("mine", 100.0, **call) for call in calls)
    assert ids_of(third, made.store) == (first, third)
    assert ids_of(last, made.store) == (third, last)
    functions = [
        {"provenance": Provenance(arguments=text, runtime="Python 3.12")} for text in ("(1)", "(2)", "(1)")
    ]
    first, _, third = (made.profile("called", 100.0, **call) for call in functions)
    assert ids_of(third, made.store) == (first, third)


def test_the_answer_says_as_before_and_which_runs_these_are(made, prof_here):
    runs = [made.profile("mine", *times, gpus=["A"]) for times in ((100.0, 101.0), (50.0, 51.0))]
    (found,) = compare("mine", None, Settings(runs=made.store.root))
    assert found.headline.what.startswith("mine is 1.990x as fast as before (")
    page = prof_here("--runs", made.store.root, "compare", "mine").stdout
    assert all(f"run {run_id}" in page for run_id in runs)
    assert "the second" not in page


def test_without_a_run_before_it_the_error_says_what_there_is_to_name(made):
    made.profile("mine", 100.0, workload={"m": 1}, gpus=["NVIDIA H200"])
    now = made.profile("mine", 100.0, workload={"m": 2}, gpus=["NVIDIA H200"])
    with pytest.raises(RunNotFound, match=f"no run of mine at m=2 on H200 before {now}") as raised:
        compare("mine", None, Settings(runs=made.store.root))
    assert raised.value.remedy == "Name both sides; `prof list mine` shows the runs of that name."


def test_a_report_has_no_run_before_it_and_the_example_is_no_stranger_of_its_folder(reports):
    for report, other in (
        ("several.ncu-rep", "other.ncu-rep"),
        ("gemm_5.ncu-rep", str(reports / "gemm_6.ncu-rep")),
    ):
        with pytest.raises(RunNotFound, match="is not a stored run, so it has none before it") as raised:
            profiler.compare(reports / report)
        pair = f"{str(reports / report)!r}, {other!r}"
        assert raised.value.remedy == f"Name both sides, as in `prof.compare({pair})`."


def test_a_damaged_run_is_passed_over(made):
    before = made.profile("mine", 100.0)
    damaged = made.profile("mine", 90.0)
    (made.store.root / damaged / "run.json").write_text("{")
    now = made.profile("mine", 80.0)
    assert ids_of("mine", made.store) == (before, now)
    assert str(run_before(made.store, profiler.open_runs(made.store.root)[now].manifest)) == before


def test_python_compares_what_was_measured_with_the_time_before(made):
    made.profile("mine", 100.0, 101.0)
    made.profile("mine", 50.0, 51.0)
    now = profiler.open_runs(made.store.root)["mine"]
    assert "as before" in str(profiler.compare(now))


def test_that_two_reports_are_compressed_makes_none_of_them_a_version(reports, tmp_path):
    compressed = bytes(pa.Codec("zstd").compress((reports / "gemm_5.ncu-rep").read_bytes()))
    (report := tmp_path / "softmax.ncu-rep.zst").write_bytes(compressed)

    def remedy():
        with pytest.raises(RunNotFound) as raised:
            profiler.compare(report)
        return raised.value.remedy

    (tmp_path / "scan.ncu-rep.zst").touch()
    assert "'other.ncu-rep'" in remedy()
    (version := tmp_path / "softmax_2.ncu-rep.zst").touch()
    assert repr(str(version)) in remedy()
