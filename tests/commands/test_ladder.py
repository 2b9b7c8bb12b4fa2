"""`prof ladder`: its formats, its published schema, the workload it takes, the deltas it stores."""

import csv
import io
import json

import duckdb
import jsonschema
import pytest

from profiler.store.tables.schema import TABLES


@pytest.fixture
def ladder(prof_recorded):
    """`prof ladder` over the runs that the repository ships."""
    return lambda *arguments: prof_recorded("ladder", *arguments)


@pytest.fixture
def two_rungs(make_run, tmp_path):
    """Kernels 5 and 6 as profiled at 4096 cubed, the second a tenth faster; returns the folder."""
    workload = dict.fromkeys("mnk", 4096)
    for number, middle in ((5, 3.6e6), (6, 3.2e6)):
        launches = [{"kernel": "k", "ns": middle + 1000 * repeat} for repeat in range(5)]
        made = {"ladder": "gemm", "kernel": number, "workload": workload}
        make_run(*launches, name=f"gemm-{number}", root=tmp_path / "runs", **made)
    return tmp_path / "runs"


def test_the_json_has_every_name_of_the_contract(prof_here, two_rungs):
    found = json.loads(prof_here("--runs", two_rungs, "ladder", "--full", "--format", "json").stdout)
    assert {"schema_version", "ladder", "gpu", "workload", "kernels"} <= set(found)
    assert (found["ladder"], found["gpu"]) == ("gemm", "NVIDIA H200")
    assert found["workload"] == {"m": 4096, "n": 4096, "k": 4096}
    first, second = found["kernels"]
    for rung in (first, second):
        assert {
            "kernel",
            "name",
            "duration_ns",
            "gflops",
            "reference_pct",
            "metrics",
            "delta",
            "binding",
        } <= set(rung)
    assert first["delta"] == {}
    assert set(second["delta"]["duration_ns"]) == {"delta", "verdict"}
    assert second["delta"]["duration_ns"] == {"delta": pytest.approx(-0.4e6), "verdict": "better"}
    assert second["gflops"] == pytest.approx(2 * 4096**3 / second["duration_ns"])


def test_a_ladder_is_named_with_or_without_the_option(ladder):
    named = ladder("copy", "--brief").stdout
    assert named.startswith("copy: ")
    for words in (["--ladder", "copy"], ["kernels/copy/ladder.toml"], ["--ladder", "copy", "copy"]):
        assert ladder(*words, "--brief").stdout == named
    mistyped = ladder("copyy")
    assert mistyped.returncode != 0
    assert "nearest: copy" in mistyped.stderr


@pytest.mark.slow
def test_the_recorded_ladder_in_every_format_has_a_row_for_every_rung(ladder):
    rungs = [one["kernel"] for one in json.loads(ladder("--format", "json", "--full").stdout)["kernels"]]
    assert len(rungs) > 1
    blocks = ladder().stdout.split("\n\n")
    table = next(block for block in blocks if block.startswith("rung")).splitlines()[1:]
    assert [int(row.split()[0]) for row in table] == rungs
    rows = csv.DictReader(io.StringIO(ladder("--format", "csv").stdout))
    assert [int(row["kernel"]) for row in rows] == rungs
    assert ladder("--format", "markdown").stdout.count("\n| ") == len(rungs) + 2  # a header and a rule


@pytest.mark.parametrize("view", ["compute", "memory"])
def test_the_view_is_the_ladders_own_or_the_one_asked_for_and_obeys_the_schema(ladder, view):
    asked = ladder("--view", view, "--format", "json").stdout
    found = json.loads(asked)
    assert found["view"] == view
    assert len(asked) <= 8000
    columns = [
        one["metrics"] for one in found["kernels"] if "metrics" in one
    ]  # room may end before the last of them
    assert len(columns) >= len(found["kernels"]) - 1
    assert all(("fma_pipe_pct" in one) == (view == "compute") for one in columns)
    jsonschema.validate(found, json.loads(ladder("--schema").stdout))
    assert ("max bw" in ladder("--view", view).stdout) == (view == "memory")
    assert json.loads(ladder("--format", "json").stdout)["view"] == "compute"


def test_the_workload_taken_is_named_and_the_others_too(ladder):
    page = ladder("--size", "1024").stdout
    assert "m=n=k=1024)" in page.splitlines()[0]
    (others,) = [
        line for line in page.splitlines() if line.startswith("also stored (--size and --gpu choose): ")
    ]
    assert "m=n=k=8192" in others


def test_whoever_chose_no_ladder_is_offered_the_others(ladder):
    offer = "other ladders (--ladder chooses): "
    (line,) = [line for line in ladder().stdout.splitlines() if line.startswith(offer)]
    assert {"copy", "relu"} <= set(line.removeprefix(offer).split(", "))
    assert "gemm" not in line.removeprefix(offer).split(", ")
    assert offer not in ladder("--ladder", "copy").stdout


def test_a_parameter_may_be_set_by_itself(ladder):
    assert "m=1 n=4096 k=4096" in ladder("--set-param", "m=1").stderr
    assert ladder("--set-param", "q=1").returncode == 47


# What ideas were worth


def test_the_ideas_of_the_recorded_ladder_in_every_format(ladder):
    asked = ladder("--ideas", "--format", "json").stdout
    found = json.loads(asked)
    assert len(asked) <= 8000
    jsonschema.validate(found, json.loads(ladder("--ideas", "--schema").stdout))
    steps = {one["kernel"]: one for one in found["ideas"]}
    assert steps[6]["published"]["ratio"] == pytest.approx(18237.3 / 15971.7, rel=1e-5)
    assert steps[6]["story"] == "holds"
    page = ladder("--ideas").stdout
    assert all(one["idea"] in page for one in found["ideas"])
    rows = csv.DictReader(io.StringIO(ladder("--ideas", "--format", "csv").stdout))
    assert [int(row["kernel"]) for row in rows] == list(steps)
    assert ladder("--ideas", "--format", "markdown").stdout.count("\n| ") == len(steps) + 2


# Parquet


def test_the_deltas_are_stored_where_asked_and_a_line_says_so(prof_here, two_rungs, tmp_path):
    path = tmp_path / "deltas.parquet"
    before = sorted(two_rungs.rglob("*"))
    result = prof_here("--runs", two_rungs, "ladder", "--output", path)
    assert result.returncode == 0
    assert str(path) in result.stderr
    (row,) = duckdb.sql(f"select kernel_before, kernel, metric, delta, verdict from '{path}'").fetchall()
    assert row == (5, 6, "duration_ns", pytest.approx(-0.4e6), "better")
    assert sorted(two_rungs.rglob("*")) == before, "no run is touched"
    assert "deltas" not in TABLES


def test_a_table_is_not_written_into_a_file_that_says_it_is_something_else(prof_here, two_rungs, tmp_path):
    result = prof_here("--runs", two_rungs, "ladder", "-o", tmp_path / "deltas.csv")
    assert (result.returncode, result.stdout) == (2, "")
    assert "'deltas.csv' should end in .parquet" in result.stderr
    assert list(tmp_path.glob("deltas*")) == []


def test_quiet_keeps_quiet_about_the_file(prof_here, two_rungs, tmp_path):
    result = prof_here("--runs", two_rungs, "--quiet", "ladder", "-o", tmp_path / "d.parquet")
    assert result.stderr == ""


def test_a_file_that_cannot_be_written_is_an_error(prof_here, two_rungs, tmp_path):
    result = prof_here("--runs", two_rungs, "ladder", "-o", tmp_path / "missing" / "d.parquet")
    assert (result.returncode, result.stdout) == (82, "")
