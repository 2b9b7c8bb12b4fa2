"""`prof doctor` on machines of every kind, made of scripts: without a GPU, with one, and with one that fails."""

import shutil
import sys
import time
from dataclasses import replace

import pytest

from profiler.errors import ReportDamaged
from profiler.measuring.doctor.checks import HealthCheck, Machine, Readiness, derive_readiness
from profiler.measuring.doctor.doctor import (
    check_building,
    check_gpus,
    check_ncu,
    check_reader,
    examine_machine,
    judge_containment,
    reader_version,
)
from profiler.store.reports.sandbox import Sandbox

H200 = 'echo "NVIDIA H200, 9.0, 580.159.04, GPU-efbbf28f"'
NVCC = 'case "$*" in *--version*) echo "Cuda compilation tools, release 13.0, V13.0.88";; esac'
NO_DRIVER = (
    'echo "NVIDIA-SMI has failed because it could not communicate with the NVIDIA driver. Make sure that '
    'the latest NVIDIA driver is installed and running."; exit 9'
)


def states(checks):
    return {check.name: check.state for check in checks}


def test_a_machine_without_a_gpu_reads_and_compares(recorded, machine):
    shown = []
    checks = examine_machine(recorded.root, machine, shown.append)

    assert "NVIDIA's reader" in shown[0]
    assert shown[-1] == ""
    assert states(checks) == {
        "reader": "ok", "containment": "ok", "temporary folder": "ok", "runs folder": "ok", "stored runs": "ok", "unfinished": "ok", "private paths": "ok",
        "nvcc": "missing", "GPU": "missing", "ncu": "missing",
    }  # fmt: skip
    assert derive_readiness(checks) == [
        Readiness("reading", "ok"),
        Readiness("storing", "ok"),
        Readiness("building", "missing", ("nvcc",)),
        Readiness("measuring", "missing", ("GPU", "ncu")),
    ]
    assert all(check.remedy for check in checks if check.state != "ok")


def test_a_machine_with_everything_is_ready(tmp_path, machine, script, replay_ncu):
    replay_ncu("probe")
    script("nvidia-smi", H200)
    script("nvcc", NVCC)
    script("g++", "")

    checks = examine_machine(tmp_path / "runs", machine)

    assert states(checks) == {
        "reader": "ok", "containment": "ok", "temporary folder": "ok", "runs folder": "ok", "stored runs": "ok", "unfinished": "ok", "private paths": "ok",
        "nvcc": "ok", "g++": "ok", "cuBLAS": "warn",
        "GPU": "ok", "ncu": "ok", "counters": "ok", "ncu lock": "ok", "DCGM": "ok", "MPS": "ok",
    }  # fmt: skip
    assert {verdict.state for verdict in derive_readiness(checks)} == {"ok"}


def test_a_failed_check_outweighs_a_missing_tool():
    checks = [
        HealthCheck("GPU", "measuring", "ok", ""),
        HealthCheck("ncu", "measuring", "missing", ""),
        HealthCheck("counters", "measuring", "failed", ""),
        HealthCheck("cuBLAS", "building", "warn", ""),
    ]
    verdicts = {verdict.ability: verdict for verdict in derive_readiness(checks)}

    assert verdicts["measuring"] == Readiness("measuring", "failed", ("counters",))
    assert verdicts["building"] == Readiness("building", "ok")


# The GPU


def test_gpus_of_several_kinds_are_counted(machine, script):
    script("nvidia-smi", "\n".join([H200, H200, 'echo "NVIDIA L4, 8.9, 580.159.04, GPU-1"']))

    gpus, check = check_gpus(machine)

    assert len(gpus) == 3
    assert check.found == "2 x NVIDIA H200 (sm_90), NVIDIA L4 (sm_89), driver 580.159.04"


@pytest.mark.parametrize(
    ("body", "loaded", "visible", "state", "reason"),
    [
        (None, True, None, "missing", "nvidia-smi is not on the PATH"),
        (H200, True, "", "missing", "CUDA_VISIBLE_DEVICES hides all of them"),
        (NO_DRIVER, False, None, "missing", "could not communicate with the NVIDIA driver"),
        (NO_DRIVER, True, None, "failed", "could not communicate with the NVIDIA driver"),
        ('echo "No devices were found"; exit 6', True, None, "failed", "exit code 6): No devices were found"),
    ],
)
def test_no_gpu_fails_only_where_a_driver_is_loaded(machine, script, body, loaded, visible, state, reason):
    if body is not None:
        script("nvidia-smi", body)
    if loaded:
        (machine.proc / "driver/nvidia").mkdir(parents=True)
        (machine.proc / "driver/nvidia/version").write_text("NVRM version: 580.159.04\n")
    if visible is not None:
        machine = replace(machine, environment={**machine.environment, "CUDA_VISIBLE_DEVICES": visible})

    gpus, check = check_gpus(machine)

    assert (gpus, check.state) == ([], state)
    assert reason in check.found
    assert check.remedy


# ncu, and the reader against it


@pytest.mark.parametrize(
    ("version", "state", "found", "remedy"),
    [
        ("2022.2.1.0", "failed", "is older than 2022.3", "newer Nsight Compute"),
        ("2022.4.1.0", "warn", "older than 2023.1", "newer Nsight Compute"),
        ("2025.3.1.0", "ok", "2025.3.1.0, ", ""),
        ("2099.1.0.0", "warn", f"the older ncu-report {reader_version()}", "pip install --upgrade ncu-report"),
    ],
)  # fmt: skip
def test_versions_of_ncu(machine, script, version, state, found, remedy):
    script("ncu", f"echo 'Version {version} (build 36398880) (public-release)'")

    _, check = check_ncu(machine)

    assert check.state == state
    assert found in check.found
    assert remedy in check.remedy


@pytest.mark.parametrize("tool", ["ncu", "nvcc"])
def test_a_tool_that_does_not_answer_should_work(machine, script, tool):
    script(tool, "echo cannot execute >&2; exit 126")

    check = check_ncu(machine)[1] if tool == "ncu" else check_building(machine)[0]

    assert (check.name, check.state) == (tool, "failed")
    assert "does not report its version" in check.found
    assert check.remedy


# Building


def test_nvcc_needs_a_host_compiler(machine, script):
    script("nvcc", NVCC)
    assert states(check_building(machine)) == {"nvcc": "ok", "g++": "missing", "cuBLAS": "warn"}

    other = replace(machine, environment={**machine.environment, "NVCC_CCBIN": "/opt/gcc/bin/g++"})
    assert states(check_building(other))["g++"] == "ok"


def test_cublas_beside_nvcc_is_found(machine, script, tmp_path):
    script("nvcc", NVCC)
    (tmp_path / "include").mkdir()
    (tmp_path / "include/cublas_v2.h").touch()
    (tmp_path / "lib64").mkdir()
    (tmp_path / "lib64/libcublas.so.13").touch()

    cublas = check_building(machine)[-1]

    assert (cublas.state, cublas.found) == ("ok", str(tmp_path / "lib64/libcublas.so.13"))


# The reader


def test_the_reader_reads_a_report(reports):
    check = check_reader(reports / "graph.ncu-rep")

    assert check.state == "ok"
    assert check.found == f"ncu-report {reader_version()} reads {reports / 'graph.ncu-rep'}, 2 launches"


def test_without_a_report_it_only_starts():
    assert check_reader(None) == HealthCheck(
        "reader", "reading", "ok", f"ncu-report {reader_version()} starts; no stored report to try it on"
    )


def test_a_report_that_cannot_be_read_is_the_reports_fault(reports, tmp_path):
    (tmp_path / "cut.ncu-rep").write_bytes((reports / "graph.ncu-rep").read_bytes()[:20_000])

    check = check_reader(tmp_path / "cut.ncu-rep")

    assert check.state == "failed"
    assert "cut.ncu-rep: damaged" in check.found
    assert check.remedy == ReportDamaged.remedy


@pytest.mark.parametrize("with_report", [True, False])
def test_a_library_that_does_not_load_is_told_in_its_own_words(with_report, reports, tmp_path, monkeypatch):
    (tmp_path / "ncu_report.py").write_text("raise ImportError('GLIBC_2.38 not found')\n")
    monkeypatch.syspath_prepend(tmp_path)  # of the process that reads
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr("profiler.store.reports.sandbox.Sandbox", Sandbox)

    check = check_reader(reports / "graph.ncu-rep" if with_report else None)

    assert check.state == "failed"
    assert check.found.endswith("does not start: ImportError: GLIBC_2.38 not found")
    assert "pip install --force-reinstall ncu-report" in check.remedy


@pytest.mark.parametrize(
    ("files", "calls", "found"),
    [
        (False, True, "NVIDIA's reader may read all your files: this system does not offer Landlock"),
        (True, False, "NVIDIA's reader may use the network and run programs: this system does not offer seccomp"),
        (False, False, "NVIDIA's reader has all your rights: this system offers neither Landlock nor seccomp"),
    ],
)  # fmt: skip
def test_the_rights_that_the_reader_cannot_be_denied_are_named(files, calls, found):
    check = judge_containment(files=files, calls=calls)

    assert (check.state, check.found) == ("warn", found)
    assert "Linux 5.13 or newer" in check.remedy


# All together


def test_an_interrupt_ends_the_programs_that_are_asked(machine, script, tmp_path):
    started = tmp_path / "started"
    script("nvidia-smi", f'echo > "{started}"; exec {shutil.which("sleep")} 600')

    def interrupted(line):
        if line and started.exists():
            raise KeyboardInterrupt

    begun = time.monotonic()

    with pytest.raises(KeyboardInterrupt):
        examine_machine(tmp_path / "runs", machine, interrupted)

    assert time.monotonic() - begun < 30


@pytest.mark.gpu
def test_a_real_machine_is_ready_to_measure(tmp_path):
    checks = {check.name: check for check in examine_machine(tmp_path / "runs", Machine())}

    assert checks["GPU"].state == "ok"
    assert checks["ncu"].state in ("ok", "warn")
    assert checks["counters"].state == "ok", checks["counters"]
    assert sys.executable not in checks["counters"].found
