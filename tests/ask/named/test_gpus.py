"""`--gpu`: the runs of one GPU, and what a comparison of one kernel on two GPUs says."""

import hashlib
import json
import shutil
from datetime import datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from msgspec.structs import replace

from profiler.store.runs.commit import write_table
from profiler.store.runs.manifest import StoredReport, write_manifest
from profiler.store.runs.run_id import RunId
from profiler.store.runs.run_store import RunStore

ROOT = Path(__file__).resolve().parents[3]
H100, SLOWER = "NVIDIA H100 80GB HBM3", 1.25


def record_on_another(run, root):
    """Stores a recorded run as that of another GPU, on which everything takes a quarter longer; no such GPU was measured."""
    manifest = run.manifest
    recorded = datetime.fromisoformat(manifest.recorded) + timedelta(hours=1)
    sha256 = hashlib.sha256(f"{H100} {manifest.run_id}".encode()).hexdigest()
    run_id = str(RunId.make(recorded, manifest.name, sha256))
    tables = {}
    (root / run_id).mkdir()
    for name in manifest.tables:
        table = run.table(name)
        for column, values in elsewhere(name, table, run_id).items():
            field = table.schema.field(column)
            table = table.set_column(table.column_names.index(column), field, values.cast(field.type))
        tables[name] = write_table(root / run_id, name, table)
    reports = [StoredReport(sha256, 1000, reference="/nowhere/made.ncu-rep")] if manifest.reports else []
    facts = {
        "run_id": run_id,
        "recorded": recorded.isoformat(),
        "gpus": [H100],
        "tables": tables,
        "reports": reports,
    }
    write_manifest(replace(manifest, **facts, content_sha256=sha256), root / run_id)


def elsewhere(name, table, run_id):
    changed = {"run_id": pa.array([run_id] * len(table))} if "run_id" in table.column_names else {}
    if name == "launches":
        changed["gpu"] = pa.array([H100] * len(table))
    if name == "timings":
        changed |= {one: pc.multiply(table[one], SLOWER) for one in ("kernel_ns", "reference_ns", "best_ns")}
    if name == "metrics":
        longer = pc.equal(table["metric"].cast("string"), "gpu__time_duration.sum")
        changed["value"] = pc.if_else(longer, pc.multiply(table["value"], SLOWER), table["value"])
    return changed


@pytest.fixture(scope="module")
def two_gpus(recorded, tmp_path_factory):
    """Rungs 4 to 6 of GEMM on an H200, and rungs 5 and 6 on the other GPU, recorded later."""
    root = tmp_path_factory.mktemp("two") / "runs"
    root.mkdir()
    for run_id in recorded.ids():
        run = recorded.open(run_id)
        manifest = run.manifest
        if (
            manifest.ladder == "gemm"
            and manifest.kernel in (4, 5, 6)
            and manifest.workload["m"] in (1024, 4096)
        ):
            shutil.copytree(run.path, root / str(run_id))
            if manifest.kernel != 4:
                record_on_another(run, root)
    return RunStore(root)


@pytest.fixture
def project(tmp_path):
    """A folder with the ladders, which declares nothing yet."""
    (tmp_path / "kernels").symlink_to(ROOT / "kernels")
    return tmp_path


@pytest.fixture
def ask(prof_here, two_gpus, project):
    return lambda *words: prof_here("--runs", two_gpus.root, *words, cwd=project)


@pytest.fixture
def find(ask):
    def answer(*words):
        done = ask(*words, "--format", "json", *([] if words[0] == "list" else ["--full"]))
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return answer


@pytest.mark.slow
@pytest.mark.parametrize(("file", "table"), [("prof.toml", ""), ("pyproject.toml", "[tool.prof]\n")])
def test_a_project_declares_the_gpu_that_is_meant_where_nobody_asks_for_one(find, ask, project, file, table):
    assert find("show", "6")["run"]["gpus"] == [H100], "the newest run"
    (project / file).write_text(f"{table}gpu = 'h200'\n")
    assert find("show", "6")["run"]["gpus"] == ["NVIDIA H200"]
    assert find("show", "6", "--gpu", "h100")["run"]["gpus"] == [H100]
    assert find("show", "6", "--size", "4096")["run"]["gpus"] == ["NVIDIA H200"]
    assert ask("compare", "4", "6").returncode == 0
    (project / file).write_text(f"{table}gpu = 'h100'\n")
    assert find("ladder")["gpu"] == H100
    assert find("show", "4")["run"]["gpus"] == ["NVIDIA H200"], "there is no other"


def test_a_project_file_that_is_of_no_use_hinders_nothing_that_does_not_need_it(ask, project):
    (project / "pyproject.toml").write_text("[tool.prof\n")
    assert ask("show", "6").returncode == 0


@pytest.mark.parametrize(("typed", "gpu"), [("h200", "NVIDIA H200"), ("h100", H100), ("H100-80gb", H100)])
def test_a_number_means_the_newest_run_of_the_gpu_asked_for(find, typed, gpu):
    shown = find("show", "6", "--gpu", typed)
    assert shown["run"]["gpus"] == [gpu]
    compared = find("compare", "5", "6", "--gpu", typed)
    assert {compared[side]["gpu"] for side in ("before", "after")} == {gpu}
    assert compared["speedup"]["ratio"] == pytest.approx(1.14, rel=0.01)


@pytest.mark.parametrize("typed", ["a100", "", " - "])
def test_a_gpu_without_stored_runs_is_an_error_that_lists_the_others(ask, two_gpus, typed):
    """So is a text that names none, such as that of a shell variable that is not set."""
    newest = two_gpus.find("6", "gemm").manifest.run_id
    for words in (
        ["show", "6"],
        ["show", newest],
        ["ladder"],
        ["report"],
        ["compare", "5", "6"],
        ["list"],
        ["list", "6"],
        ["export", "6"],
        ["notebook", "-o", "none.ipynb"],
    ):
        refused = ask(*words, "--gpu", typed)
        assert refused.returncode == 21, refused.stderr
        assert f"on a GPU called '{typed}'" in refused.stderr
        assert H100 in refused.stderr


def test_the_size_is_looked_for_on_the_gpu_asked_for(ask, find):
    assert find("show", "6", "--gpu", "h100", "--size", "4096")["run"]["gpus"] == [H100]
    refused = ask("show", "6", "--gpu", "h100", "--size", "2048")
    assert refused.returncode != 0
    assert "of size m=n=k=2048" in refused.stderr


def test_the_list_has_the_runs_of_one_gpu(find):
    for words in ([], ["6"]):
        listed = find("list", *words, "--gpu", "h100")["runs"]
        assert {row["gpu"] for row in listed} == {H100}
    assert {row["name"] for row in find("list", "--gpu", "h100")["runs"]} == {
        "gemm-5", "gemm-5-timed", "gemm-6", "gemm-6-timed",
    }  # fmt: skip


def test_a_ladder_shows_both_gpus_or_the_one_asked_for(ask, find):
    both = find("ladder")
    assert both["gpu"] == "NVIDIA H200"
    assert [one["kernel"] for one in both["kernels"]] == [4, 5, 6]
    (there,) = both["elsewhere"]
    assert there["gpu"] == H100
    here = {one["kernel"]: one for one in both["kernels"]}
    for rung in there["kernels"]:
        assert rung["duration_ns"] == pytest.approx(SLOWER * here[rung["kernel"]]["duration_ns"])
        assert rung["reference_pct"] == pytest.approx(here[rung["kernel"]]["reference_pct"])
    assert f"On {H100}" in ask("ladder").stdout
    alone = find("ladder", "--gpu", "h100")
    assert (alone["gpu"], alone["elsewhere"]) == (H100, [])
    assert [one["kernel"] for one in alone["kernels"]] == [5, 6]


def test_a_ladder_names_its_gpu_where_the_next_command_would_show_another(find, project):
    gpu = "`prof show 6 --gpu 'H100 80GB HBM3'` shows all about it."
    assert find("ladder", "--gpu", "h100")["headline"]["next"].endswith(gpu)
    (project / "prof.toml").write_text("gpu = 'h100'\n")
    assert find("ladder")["headline"]["next"].endswith("`prof show 6` shows all about it.")
    (project / "prof.toml").write_text("gpu = 'h200'\n")
    assert "--gpu" not in find("ladder")["headline"]["next"]


@pytest.mark.slow
def test_the_page_of_a_ladder_shows_both_gpus(ask, drawing, tmp_path):
    page = tmp_path / "page.html"
    assert ask("report", "-o", page).returncode == 0
    assert f"On {H100}" in page.read_text()


def test_a_notebook_over_the_runs_of_one_gpu_asks_for_that_gpu(ask, tmp_path, monkeypatch):
    book = tmp_path / "book.ipynb"
    done = ask("notebook", "-o", book, "--gpu", "h100")
    assert done.returncode == 0, done.stderr
    code = ["".join(cell["source"]) for cell in json.loads(book.read_text())["cells"]]
    (asks,) = (cell for cell in code if "prof.ladder(" in cell)
    names = {}
    monkeypatch.chdir(tmp_path)  # Jupyter runs a notebook in its folder
    exec(asks, names)
    assert names["ladder"].ladder.gpu == H100
    assert ask("notebook", "--gpu", "h100").returncode == 2


def test_the_reports_of_the_run_on_the_gpu_asked_for_are_exported(ask, tmp_path):
    folder = tmp_path / "reports"
    done = ask("export", "6", "--gpu", "h200", "-o", folder)
    assert done.returncode == 0, done.stderr
    assert [path.suffix for path in folder.iterdir()] == [".ncu-rep"] * len(list(folder.iterdir()))
    assert list(folder.iterdir())


def test_one_kernel_on_two_gpus_is_a_question_of_its_own(find):
    found = find("compare", "6", "--gpu", "h200", "--gpu", "h100")
    assert (found["before"]["gpu"], found["after"]["gpu"]) == ("NVIDIA H200", H100)
    assert found["comparable"]["ok"]
    assert found["speedup"]["ratio"] == pytest.approx(1 / SLOWER)
    headline = found["headline"]
    assert headline["what"].startswith("gemm 6 on H100 80GB HBM3 takes 1.250x as long as gemm 6 on H200 (")
    assert headline["why"].endswith("Issue slots are 72 % busy on both, of each GPU's own peak.")
    assert (found["causes_gone"], found["causes_new"]) == ([], [])
    assert find("compare", "6", "6", "--gpu", "h200", "--gpu", "h100") == found


def test_times_alone_on_two_gpus_are_compared_too(find):
    found = find("compare", "gemm-6-timed", "--gpu", "h200", "--gpu", "h100")
    assert found["comparable"]["ok"]
    assert found["speedup"]["ratio"] == pytest.approx(1 / SLOWER)
    shares = [found[side]["timing"]["reference_pct"] for side in ("before", "after")]
    assert found["headline"]["why"] == (
        f"It reaches {shares[0]:.1f} % of cuBLAS fp32 on H200, and {shares[1]:.1f} % of it on H100 80GB HBM3."
    )
    (caution,) = found["comparable"]["warnings"]
    assert caution == "no counters were recorded for either side: only the times are compared"


def test_two_kernels_on_two_gpus_are_not_comparable(ask):
    refused = ask("compare", "5", "6", "--gpu", "h200", "--gpu", "h100")
    assert refused.returncode != 0
    assert f"the GPU differs: NVIDIA H200 against {H100}" in refused.stderr
    assert ask("compare", "6", "--gpu", "h200").returncode == 21
    assert ask("compare", "6", *["--gpu", "h200"] * 3).returncode == 2


def test_neighbours_whose_newest_runs_are_of_two_gpus_get_the_hint_to_choose_one(ask):
    refused = ask("compare", "4", "6")
    assert refused.returncode != 0
    assert "Choose runs of one GPU with --gpu" in refused.stderr
    assert ask("compare", "4", "6", "--gpu", "h200").returncode == 0


def test_a_check_of_one_gpu_against_another_is_refused(ask, two_gpus):
    ids = [str(run_id) for run_id in two_gpus.ids() if run_id.name == "gemm-6"]
    refused = ask("check", "--baseline", *ids)
    assert refused.returncode != 0
    assert f"the GPU differs: NVIDIA H200 against {H100}" in " ".join(refused.stdout.split())


def test_a_check_takes_the_runs_of_one_gpu(prof_here, two_gpus, tmp_path):
    shutil.copytree(two_gpus.root, tmp_path / "runs")
    refused = prof_here(
        "--runs", tmp_path / "runs", "check", "--baseline", two_gpus.root, "--gpu", "a100", cwd=ROOT
    )
    assert refused.returncode == 21
    assert "on a GPU called 'a100'" in refused.stderr
    for gpu, names in (("h200", {"gemm-4", "gemm-5", "gemm-6"}), ("h100", {"gemm-5", "gemm-6"})):
        words = ("check", "--baseline", two_gpus.root, "--gpu", gpu, "--format", "json")
        pairs = json.loads(prof_here("--runs", tmp_path / "runs", *words, cwd=ROOT).stdout)["pairs"]
        assert {pair["name"].split(",")[0].removesuffix("-timed") for pair in pairs} == names
        for pair in pairs:
            (on,) = two_gpus.open(RunId.parse(pair["before"])).manifest.gpus
            assert on == {"h200": "NVIDIA H200", "h100": H100}[gpu]
