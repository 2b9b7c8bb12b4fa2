"""`prof doctor` prints what works, for people and for programs, and its exit code says so too."""

import csv
import io
import json

import pytest
from terminal import write_tool

from profiler.errors import NotReady
from profiler.measuring.doctor.checks import ABILITIES, Readiness
from profiler.present.documents.doctor import doctor_document
from profiler.present.render.terminal import Window, document_text

REFUSED = (
    "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU Performance "
    "Counters on the target device 0."
)


@pytest.fixture
def tools(tmp_path, monkeypatch):
    """`tools(ncu="exit 1")`: a machine on which these scripts are all that is installed."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setattr("profiler.measuring.tools.toolchain.nvcc_candidates", lambda environment: iter([]))
    monkeypatch.setattr(
        "profiler.measuring.tools.ncu.ncu_candidates", lambda environment: iter([folder / "ncu"])
    )
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setenv("TMPDIR", str(tmp_path))

    def make(**scripts):
        for name, body in scripts.items():
            write_tool(folder / name.replace("_", "-"), body)

    return make


def test_without_a_gpu_it_is_useful_and_no_failure(prof_recorded, tools):
    tools()

    shown = prof_recorded("doctor")

    assert shown.returncode == 0
    assert shown.stderr == ""
    table, verdicts = shown.stdout.split("\n\n")
    rows = {line.split("  ")[0]: line for line in table.splitlines()[1:]}
    assert " missing " in rows["GPU"]
    assert "Install Nsight Compute" in rows["ncu"], "what to do stands behind what is wrong"
    assert "pip install nvidia-cuda-nvcc" in rows["nvcc"]
    assert verdicts.splitlines() == [
        "reading, comparing  ready",
        "storing             ready",
        "building            not here, because there is no nvcc",
        "measuring           not here, because there is no GPU and no ncu",
    ]


def test_what_a_job_requires_of_its_machine_is_a_failure_if_it_is_missing(prof_recorded, tools):
    tools()

    shown = prof_recorded("doctor", "--require", "building", "--require", "measuring")

    assert shown.returncode == NotReady.exit_code
    assert "building is not possible here, because there is no nvcc; measuring is" in shown.stderr
    assert "Install Nsight Compute" in shown.stdout, "the table says what to do"
    assert prof_recorded("doctor", "--require", "reading").returncode == 0
    assert prof_recorded("doctor", "--require", "mesuring").returncode == 2


def test_a_runs_folder_that_is_not_there_may_be_new_or_misspelt_and_is_no_failure(prof_here, tools, tmp_path):
    tools()

    shown = prof_here("--runs", tmp_path / "rusn", "doctor")

    assert shown.returncode == 0
    (line,) = [line for line in shown.stdout.splitlines() if line.startswith("runs folder")]
    assert f"{tmp_path / 'rusn'}: not there yet, " in line
    assert line.endswith("check --runs, or PROF_RUNS if that is set.")


def test_refused_counters_are_a_failure(prof_here, tools, tmp_path):
    tools(
        nvidia_smi='echo "NVIDIA H200, 9.0, 580.159.04, GPU-0"',
        ncu=f'case "$*" in --version) echo "Version 2025.3.1.0";; *) echo "{REFUSED}"; exit 1;; esac',
    )

    shown = prof_here("--runs", tmp_path / "runs", "doctor")

    assert shown.returncode == NotReady.exit_code == 85
    assert shown.stdout.endswith("measuring           not ready: counters\n")
    assert "NVreg_RestrictProfilingToAdminUsers=0" in shown.stdout
    assert shown.stderr.splitlines()[0] == "prof: not as it should be: counters"


def test_programs_get_a_row_per_check_and_per_ability(prof_here, tools, tmp_path):
    tools()
    (tmp_path / "runs").touch()  # no folder

    shown = prof_here("--runs", tmp_path / "runs", "doctor", "--format", "json")

    assert shown.returncode == NotReady.exit_code, "the rows are printed all the same"
    rows = json.loads(shown.stdout)
    assert {tuple(row) for row in rows} == {("check", "ability", "state", "found", "remedy")}
    assert {row["state"] for row in rows} <= {"ok", "warn", "missing", "failed"}
    verdicts = {row["check"]: row["state"] for row in rows if row["check"] == row["ability"]}
    assert verdicts == {"reading": "ok", "storing": "failed", "building": "missing", "measuring": "missing"}
    assert tuple(verdicts) == ABILITIES
    (failed,) = (row for row in rows if row["state"] == "failed" and row["check"] != row["ability"])
    assert failed["check"] == "runs folder"
    assert failed["remedy"]

    rows_of_csv = list(
        csv.DictReader(
            io.StringIO(prof_here("--runs", tmp_path / "runs", "doctor", "--format", "csv").stdout)
        )
    )
    assert [row["check"] for row in rows_of_csv] == [row["check"] for row in rows]


def test_names_of_others_cannot_act_on_the_terminal(prof_here, tools, tmp_path, hostile_names):
    tools()
    for key, name in enumerate(hostile_names[:8]):
        folder = tmp_path / "runs" / ".pending" / str(key)
        folder.mkdir(parents=True)
        (folder / "plan.json").write_text(json.dumps({"name": name, "seed": 1}))

    shown = prof_here("--runs", tmp_path / "runs", "doctor")

    (line,) = [line for line in shown.stdout.splitlines() if line.startswith("unfinished")]
    assert "not complete: " in line
    assert "and 5 more" in line
    assert line.isprintable()


def test_a_verdict_names_all_that_stands_in_its_way():
    document = doctor_document([], [Readiness("measuring", "failed", ("counters", "ncu lock"))])
    assert document_text(document, Window()).endswith("measuring  not ready: counters, ncu lock")
