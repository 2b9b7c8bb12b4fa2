"""`prof show`, `prof list` and `prof metrics`: what is there, in every format."""

import csv
import io
import itertools
import json
import re
import shutil
from statistics import fmean, stdev

import pytest
from msgspec.structs import replace

from profiler.catalog.metrics import CATALOGUE, OPCODES
from profiler.store.runs.manifest import write_manifest


def test_a_sheet_says_where_the_recording_comes_from(prof_recorded, recorded):
    page = prof_recorded("show", "textbook-6", "--full").stdout
    manifest = recorded.find("textbook-6", "gemm").manifest
    for fact in (
        manifest.run_id,
        "NVIDIA H200",
        "clock control none",
        manifest.reports[0].sha256,
        "8 launches",
    ):
        assert fact in page
    assert "ingested from a report" in page


def test_the_line_of_the_name_is_left_out_if_headlines_have_all_but_types(prof_here, prof_recorded, reports):
    matmul = reports / "triton_matmul.ncu-rep"
    short, full = prof_here("show", matmul).stdout, prof_here("show", matmul, "--full").stdout
    line = "\nmatmul, 5 launches\n"
    assert (line in short, line in full) == (False, True)
    assert "launched   5 times: 64 x 32 blocks" in short
    assert "launched   64 x 32 blocks" in full
    assert "), 15 launches\n" in prof_recorded("show", "gemm-6").stdout, "a rung goes by another name"


def test_a_sheet_gives_mean_and_spread_over_the_launches(prof_recorded, recorded):
    sheet = json.loads(prof_recorded("show", "textbook-6", "--full", "--format", "json").stdout)["kernels"][0]
    table = recorded.find("textbook-6", "gemm").to_pandas("metrics")
    for name in ("duration_ns", "issue_active_pct", "stall_barrier"):
        (metric,) = [one for one in sheet["metrics"] if one["name"] == name]
        values = table[table.metric == metric["ncu"]].value.tolist()
        assert metric["mean"] == pytest.approx(fmean(values))
        assert metric["spread"] == pytest.approx(stdev(values))
        assert metric["launches"] == len(values) == 8


@pytest.mark.parametrize("format", ["table", "markdown"])
def test_a_sheet_shows_the_five_figures_of_memory_and_the_accesses(prof_recorded, format):
    page = prof_recorded("show", "6", "--format", format).stdout
    for label in ("Memory Throughput", "Max Bandwidth", "L1/TEX Hit Rate", "L2 Hit Rate", "Mem Pipes Busy"):
        assert label in page
    assert "global memory: loads of 128 bits a thread, stores of 128 bits a thread" in page
    assert "instructions of all lanes per useful byte" in page


@pytest.fixture
def sized(make_run, dated, tmp_path):
    """`sized(1024, 8192)`: runs of one kernel at these sizes, one after the other; their ids."""

    def store(*sizes):
        run_ids = []
        for second, size in enumerate(sizes, start=1):
            made = make_run({"kernel": "k"}, name="gemm-9", workload={"m": size}, root=tmp_path)
            run_ids.append(dated(made.path, second))
        return run_ids

    return store


def test_a_rung_is_called_by_its_number_and_its_time_is_the_one_without_the_profiler(prof_recorded, reports):
    rung = prof_recorded("show", "6", "--brief").stdout
    assert re.search(r"^gemm 6 takes 3\.1\d\d ms without the profiler on NVIDIA H200\.", rung, re.M)
    loose = prof_recorded("show", reports / "gemm_6.ncu-rep", "--brief").stdout
    assert re.search(r"^k6<.* takes 4\.047 ms under the profiler on", loose, re.M)


def test_one_run_has_one_time_whoever_asks_and_it_changes_as_its_ratio_says(made, prof_here):
    """One process of three found a slow GPU. The median of all repeats rises, and the mean over processes, which is judged, falls."""
    size = {"m": 4096, "n": 4096, "k": 4096}
    slow, steady = [1e6] * 6 + [2e6] * 3, [1.1e6] * 9
    before, after = (
        made.time("gemm", number, *times, processes=3, workload=size)
        for number, times in ((5, slow), (6, steady))
    )
    runs = ("--runs", made.store.root)

    def asked(*words, format="json"):
        return prof_here(*runs, *words, "--format", format).stdout

    assert "takes 1.260 ms without the profiler" in json.loads(asked("show", before))["headline"]["what"]
    assert re.search(r"^median +1\.000 ms", prof_here(*runs, "show", before).stdout, re.M)
    compared = json.loads(asked("compare", before, after))
    assert "(1.260 ms -> 1.100 ms without the profiler" in compared["headline"]["what"]
    (pair,) = json.loads(asked("check", "--baseline", before, after))["pairs"]
    (judged,) = pair["checks"]
    assert (judged["before"], judged["after"]) == (pytest.approx(1.26e6, rel=1e-3), pytest.approx(1.1e6))
    assert judged["change_pct"] == pytest.approx(100 * (judged["after"] / judged["before"] - 1), rel=1e-3)
    first, second = csv.DictReader(io.StringIO(asked("ladder", "gemm", format="csv")))
    times = [float(rung["duration_ns"]) for rung in (first, second)]
    assert times == [pytest.approx(judged["before"]), pytest.approx(judged["after"])]
    assert float(second["duration_ns_delta"]) == pytest.approx(times[1] - times[0])
    assert float(second["speedup"]) == pytest.approx(times[0] / times[1])


def test_the_bytes_that_a_ladder_declares_are_not_called_what_memory_moved(prof_recorded):
    """Each element of three matrices once: a third of what device memory moves, on the same sheet."""
    sheet = prof_recorded("show", "6").stdout
    assert re.search(r"^memory +Memory Throughput 20\d\.\d GB/s", sheet, re.M)
    assert re.search(
        r"^useful +63\.\d+ GB/s, counting only the bytes that the task has to move$", sheet, re.M
    )
    assert "traffic" not in sheet


def test_the_numbers_of_an_algorithm_stand_only_in_the_full_answer(prof_here, shipped_runs):
    show = ("--runs", shipped_runs.root, "show", "4")
    short, full = prof_here(*show).stdout, prof_here(*show, "--full").stdout
    for sheet in (short, full):
        assert re.search(r"^at its best +\d.* \(fastest algorithm of cuBLAS [\d.]+\), ", sheet, re.M)
    assert "split_k" not in short
    assert re.search(r"^library +fastest of cuBLAS [\d.]+ when timed: .*split_k", full, re.M)


def test_show_takes_the_newest_of_several_sizes_and_lists_the_others(prof_here, sized, tmp_path):
    _, of_2048, *_ = sized(1024, 2048, 1024, 8192)
    show = ("--runs", tmp_path, "show")
    told = prof_here(*show, "gemm-9")
    assert re.search(r"^workload +m=8192$", told.stdout, re.MULTILINE)
    assert "Other sizes are stored: m=1024, m=2048.\n" in told.stderr
    assert "`prof list gemm-9`" in told.stderr
    assert prof_here(*show, "9").stderr == told.stderr, "a number is a name, too"
    assert prof_here("--quiet", *show, "9").stderr == ""
    assert prof_here(*show, "9", "--format", "json").stderr == "", "a program reads the size itself"
    chosen = prof_here(*show, of_2048)
    assert re.search(r"^workload +m=2048$", chosen.stdout, re.MULTILINE)
    assert chosen.stderr == "", "it was chosen, so there is nothing to tell"


@pytest.fixture
def beside(make_run, shipped_runs, dated, tmp_path):
    """Stores runs of rung 5 that do the same work: `beside.lacking(...)` has no evidence, `beside.full(...)` all of it."""
    source = shipped_runs.find("gemm-5-source", "gemm")
    manifest = source.manifest
    same_work = {"ladder": "gemm", "kernel": 5, "workload": manifest.workload, "gpus": manifest.gpus}

    class Beside:
        root = tmp_path

        def lacking(self, name, second, **facts):
            launch = {"kernel": manifest.kernels[0].name, "instructions": [("FFMA", 7)]}
            return dated(make_run(launch, name=name, root=tmp_path, **{**same_work, **facts}).path, second)

        def full(self, name, second, **facts):
            copy = shutil.copytree(source.path, tmp_path / f"{second}-{name}")
            run_id = manifest.run_id.replace(manifest.name, name)
            write_manifest(replace(manifest, run_id=run_id, name=name, **facts), copy)
            return dated(copy, second)

    return Beside()


def fuller_run_of(reference, prof_here, root):
    shown = prof_here("--runs", root, "show", reference, "--format", "json")
    (sheet,) = json.loads(shown.stdout)["kernels"]
    assert sheet["causes_unseen"]
    return sheet["fuller_run"] and sheet["fuller_run"]["name"]


def test_a_run_of_the_same_kernel_that_has_the_evidence_is_named(beside, prof_here):
    """Whatever is newer, or of another kernel, size or GPU, or has a part of the evidence alone."""
    beside.lacking("gemm-5", 9)
    beside.lacking("gemm-5-memory", 3)
    beside.lacking("gemm-5-full", 4, sections=["SourceCounters"])
    beside.full("gemm-51-source", 2, kernel=51)
    beside.full("gemm-5-source", 7, gpus=["NVIDIA A100"])
    beside.full("gemm-5-source", 6, workload={"m": 64, "n": 64, "k": 64})
    assert fuller_run_of("5", prof_here, beside.root) is None
    older = beside.full("gemm-5-source", 5)
    assert fuller_run_of("5", prof_here, beside.root) == older, "the name means others, too"


def test_the_only_run_of_its_name_is_named_by_it(beside, prof_here):
    beside.lacking("gemm-5", 9)
    beside.full("gemm-5-source", 2)
    assert fuller_run_of("5", prof_here, beside.root) == "gemm-5-source"


def test_a_run_that_has_the_samples_itself_is_sent_to_no_other_for_the_rest(beside, prof_here):
    beside.lacking("gemm-5", 9, sections=["SourceCounters"])
    beside.full("gemm-5-source", 2)
    assert fuller_run_of("5", prof_here, beside.root) is None


def test_with_one_size_no_hint_is_printed_even_if_a_run_beside_it_is_damaged(prof_here, sized, tmp_path):
    older, _ = sized(1024, 1024)
    assert prof_here("--runs", tmp_path, "show", "9").stderr == ""
    (tmp_path / older / "run.json").write_text("{")
    done = prof_here("--runs", tmp_path, "show", "9")
    assert (done.returncode, done.stderr) == (0, "")


def test_full_adds_what_the_catalogue_does_not_know(prof_recorded):
    short, full = (
        list(
            csv.DictReader(io.StringIO(prof_recorded("show", "textbook-6", "--format", "csv", *more).stdout))
        )
        for more in ([], ["--full"])
    )
    assert full[: len(short)] == short
    assert len(full) > 2 * len(short)
    counted = [one["ncu"] for one in full if one["ncu"] != OPCODES]  # of which several are made
    assert len(set(counted)) == len(counted)


def test_every_kernel_of_a_report_has_a_sheet_and_a_pattern_chooses(prof_here, store):
    run = ["--runs", store.root, "show", "several", "--format", "csv"]
    kernels = [row["kernel"] for row in csv.DictReader(io.StringIO(prof_here(*run).stdout))]
    assert set(kernels) == {"scale(float *, float)", "offset(float *, float)", "calls_a_function(float *)"}
    chosen = csv.DictReader(io.StringIO(prof_here(*run, "-k", "offset").stdout))
    assert {row["kernel"] for row in chosen} == {"offset(float *, float)"}
    assert prof_here(*run, "-k", "nothing").returncode == 33


def test_a_loose_report_is_shown_like_a_stored_one(prof_here, prof_recorded, reports):
    loose = json.loads(prof_here("show", reports / "gemm_6.ncu-rep", "--full", "--format", "json").stdout)
    stored = json.loads(prof_recorded("show", "textbook-6", "--full", "--format", "json").stdout)
    assert loose["kernels"] == stored["kernels"]


def test_a_report_that_is_not_stored_has_no_run_id_to_be_found_by(prof_here, prof_recorded, reports):
    def run_of(shown):
        return json.loads(shown.stdout)["run"]

    loose = run_of(prof_here("show", reports / "gemm_6.ncu-rep", "--format", "json"))
    stored = run_of(prof_recorded("show", "textbook-6", "--format", "json"))
    assert (loose["run_id"], loose["origin"]) == (None, "report")
    assert stored["run_id"].endswith("-textbook-6-bde6b39f1b7d")
    assert stored["origin"] == "ingested"


def test_the_list_names_what_can_be_compared(prof_recorded, recorded):
    rows = json.loads(prof_recorded("list", "--full", "--format", "json").stdout)["runs"]
    stored = {row["name"]: row for row in rows}
    assert (stored["gemm-5"]["launches"], stored["textbook-6"]["launches"]) == (15, 8)
    assert stored["textbook-6"]["run_id"] == str(recorded.find("textbook-6", "gemm").manifest.run_id)


def test_the_list_of_a_name_has_a_row_for_each_of_its_runs(prof_here, make_run, tmp_path):
    for name in ("gemm-2", "gemm-10", "gemm-9", "sum"):
        make_run({"kernel": "k"}, name=name, root=tmp_path)
    listed = prof_here("--runs", tmp_path, "list", "--format", "csv").stdout.splitlines()[1:]
    assert [line.split(",")[0] for line in listed] == ["gemm-2", "gemm-9", "gemm-10", "sum"]
    listed = prof_here("--runs", tmp_path, "list", "gemm-*", "--format", "csv").stdout.splitlines()[1:]
    assert {line.split(",")[0] for line in listed} == {"gemm-2", "gemm-9", "gemm-10"}


def test_an_empty_folder_says_how_to_begin_and_prints_no_empty_table(prof_here, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # far from any ladder, whose kernels would be listed
    result = prof_here("--runs", tmp_path, "list")
    assert (result.returncode, result.stdout) == (0, "")
    assert "prof ingest" in result.stderr
    assert json.loads(prof_here("--runs", tmp_path, "list", "--format", "json").stdout)["runs"] == []


def test_the_catalogue_is_printed_whole_and_one_by_one(prof_here):
    rows = json.loads(prof_here("metrics", "--format", "json").stdout)
    assert [row["name"] for row in rows] == [metric.name for metric in CATALOGUE]
    for metric in CATALOGUE[::9]:
        page = prof_here("metrics", metric.name).stdout
        assert metric.doc in page
        assert all(name in page for name in metric.ncu)
    assert prof_here("metrics", CATALOGUE[0].ncu[0]).stdout == prof_here("metrics", CATALOGUE[0].name).stdout


def test_a_part_of_a_name_prints_all_metrics_or_causes_that_have_it(prof_here):
    stalls = prof_here("metrics", "stall").stdout.splitlines()[1:]
    assert {line.split()[0] for line in stalls if line[0] != " "} == {
        one.name for one in CATALOGUE if one.name.startswith("stall_")
    }
    one = prof_here("metrics", "sm__inst_executed_pipe_lsu").stdout
    assert one == prof_here("metrics", "lsu_pipe_pct").stdout, "a single one is printed with everything"
    uncoalesced = json.loads(prof_here("causes", "uncoalesced", "--format", "json").stdout)
    assert [row["cause"] for row in uncoalesced] == ["uncoalesced-loads", "uncoalesced-stores"]
    assert prof_here("metrics", "").returncode == 40
    assert "prof show a.ncu-rep --full" in prof_here("metrics", "a.ncu-rep").stderr


def test_an_unknown_metric_names_the_nearest(prof_here):
    result = prof_here("metrics", "ocupancy_pct")
    assert (result.returncode, result.stdout) == (40, "")
    assert "occupancy_pct" in result.stderr


def test_a_missing_report_keeps_nobody_from_its_tables_and_is_a_caution(prof_here, store, tmp_path):
    copy = tmp_path / "runs"
    shutil.copytree(store.root, copy)
    run_id = store.ids()[0]
    (report,) = (copy / str(run_id)).glob("*.ncu-rep*")
    before = prof_here("--runs", copy, "show", run_id)
    report.unlink()
    after = prof_here("--runs", copy, "show", run_id)
    assert (before.returncode, after.returncode) == (0, 0)
    assert f"the stored report is missing ({report})" in " ".join(after.stdout.split())
    assert set(before.stdout.splitlines()) <= set(after.stdout.splitlines())
    report.write_bytes(b"another")
    assert prof_here("--runs", copy, "show", run_id).returncode == 22


def test_a_place_in_a_file_named_by_hash_is_short_for_people_and_whole_for_programs(prof_here, shipped_runs):
    """PyTorch's compiler names its sources so, and CuPy too."""
    compiled = ("sass", "7", "--ladder", "layernorm", "--runs", shipped_runs.root)
    whole = prof_here(*compiled, "--format", "json", "--full").stdout
    (name,) = set(re.findall(r"\b\w{40,}\.py(?=:)", whole))
    assert f"{name}:" in prof_here(*compiled, "--format", "csv", "--full").stdout
    for format in ("table", "markdown"):
        code = prof_here(*compiled, "--format", format).stdout
        assert f"{name[:8]}….py:" in code
        assert name not in code


def test_full_shows_the_metrics_of_the_catalogue_by_group_and_counts_the_raw_counters(prof_here, reports):
    report = reports / "gemm_6.ncu-rep"
    page = prof_here("show", report, "--full").stdout
    rows = page.split("\nother metric ")[1].split("\n\n")[0].splitlines()[1:]
    groups = [row.split("  ")[-1] for row in rows if "counters" not in row]
    assert {"memory", "occupancy", "instructions"} <= set(groups)
    assert len(set(groups)) == len(list(itertools.groupby(groups))), "each stands together"
    (counted,) = re.findall(
        r"(\d+) counters by the names of Nsight Compute: --full --format csv lists them", page
    )
    assert len(page.splitlines()) < 130
    assert "dram__bytes_read.sum" not in page
    table = list(csv.DictReader(io.StringIO(prof_here("show", report, "--full", "--format", "csv").stdout)))
    raw = [row for row in table if row["metric"] == row["ncu"]]
    assert len(raw) == int(counted)
    everything = json.loads(prof_here("show", report, "--full", "--format", "json").stdout)
    assert len(everything["kernels"][0]["metrics"]) == len(table)


@pytest.mark.parametrize(
    ("version", "said"), [("", "of unknown version, CUDA 11.2"), ("2021.1", "2021.1, CUDA 11.2")]
)
def test_the_version_of_ncu_is_unknown_where_a_report_has_none(prof_here, make_run, tmp_path, version, said):
    make_run({"kernel": "k"}, name="old", root=tmp_path, ncu_version=version, cuda_version="11.2")
    assert re.search(rf"^ncu +{said}$", prof_here("--runs", tmp_path, "show", "old").stdout, re.MULTILINE)


def test_the_full_answer_shows_kernels_in_the_order_of_their_times(prof_here, make_run, tmp_path):
    launches = [
        {"kernel": kernel, "ns": ns} for kernel, ns in (("fill", 9.0), ("gemm", 90.0), ("scale", 30.0))
    ]
    make_run(*launches, name="three", root=tmp_path)
    show = ("--runs", tmp_path, "show", "three", "--full")
    page = prof_here(*show).stdout
    assert re.findall(r"^(\w+) takes", page, re.M) == ["gemm", "scale", "fill"]
    kernels = json.loads(prof_here(*show, "--format", "json").stdout)["kernels"]
    assert [one["kernel"] for one in kernels] == ["gemm", "scale", "fill"]
