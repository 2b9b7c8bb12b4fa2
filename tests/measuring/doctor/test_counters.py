"""Checks whether counters can be read, with an ncu that replays the real one's output and a driver made of files."""

import fcntl
import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from profiler.errors import CountersBusy, CountersRefused
from profiler.measuring.doctor.counters import (
    check_counters,
    check_lock,
    check_permission,
    describe_setting,
)
from profiler.measuring.tools import probe
from profiler.measuring.tools.ncu import find_ncu

# NVIDIA's words; the machines at hand let everybody read counters, so no call of a real ncu is replayed here.
REFUSED = (
    "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU Performance "
    "Counters on the target device 0. For instructions on enabling permissions and to get more "
    "information see https://developer.nvidia.com/ERR_NVGPUCTRPERM"
)
BUSY = (
    "==ERROR== Profiling failed because a driver resource was unavailable. Ensure that no other tool "
    "(like DCGM) is concurrently collecting profiling data."
)
ADMINISTRATOR, NOBODY = "CapEff:\t000001ffffffffff\n", "CapEff:\t00000000a80425fb\n"


def checks_of(machine):
    return {check.name: check for check in check_counters(find_ncu(machine.environment), machine)}


def write_driver(machine, admin_only, status=NOBODY):
    """Writes the files in which Linux shows the driver's settings and the process's capabilities."""
    for file, text in (
        ("driver/nvidia/params", f'EnableMSI: 1\nRmProfilingAdminOnly: {admin_only}\nRmMsg: ""\n'),
        ("self/status", f"Name:\tpython3\n{status}Threads:\t1\n"),
    ):
        (machine.proc / file).parent.mkdir(parents=True, exist_ok=True)
        (machine.proc / file).write_text(text)


def start_process(machine, name, pid=4242):
    folder = machine.proc / str(pid)
    folder.mkdir()
    (folder / "comm").write_text(f"{name[:15]}\n")  # all that the kernel keeps


def test_an_empty_kernel_is_profiled_and_nothing_is_left(machine, replay_ncu):
    write_driver(machine, admin_only=0)
    log = replay_ncu("probe")

    checks = checks_of(machine)

    assert {name: check.state for name, check in checks.items()} == {
        "counters": "ok", "ncu lock": "ok", "DCGM": "ok", "MPS": "ok",
    }  # fmt: skip
    assert "an empty kernel was profiled" in checks["counters"].found
    assert checks["counters"].found.endswith("the driver lets everybody read them")
    (call,) = map(json.loads, log.read_text().splitlines())
    assert call["words"][-3:] == [sys.executable, "-I", probe.__file__]
    assert call["words"][:4] == ["--config-file", "off", "--clock-control", "none"]
    assert not Path(call["folder"]).exists()
    assert Path(call["folder"]) != Path.cwd()


@pytest.mark.parametrize("exit_code", [0, 1])
def test_a_refusal_fails_with_what_to_do(machine, script, exit_code):
    write_driver(machine, admin_only=1)
    script("ncu", answering(REFUSED, exit_code))

    counters = checks_of(machine)["counters"]

    assert counters.state == "failed"
    assert "ERR_NVGPUCTRPERM" in counters.found
    assert "only the administrator" in counters.found
    assert counters.found.endswith("this process is not")
    assert counters.remedy == CountersRefused.remedy
    assert "NVreg_RestrictProfilingToAdminUsers=0" in counters.remedy
    assert "--cap-add=SYS_ADMIN" in counters.remedy


@pytest.mark.parametrize("daemon", ["nv-hostengine", "dcgm-exporter"])
def test_the_daemon_that_holds_the_counters_is_named(machine, script, daemon):
    start_process(machine, daemon)
    script("ncu", answering(BUSY, 1))

    checks = checks_of(machine)

    assert checks["counters"].state == "failed"
    assert checks["counters"].remedy == CountersBusy.remedy
    assert (checks["DCGM"].state, checks["DCGM"].found.split()[0]) == ("warn", daemon)
    assert "dcgmi profile --pause" in checks["DCGM"].remedy


def test_dcgm_that_leaves_the_counters_alone_is_no_obstacle(machine, replay_ncu):
    start_process(machine, "nv-hostengine")
    replay_ncu("probe")

    assert checks_of(machine)["DCGM"].state == "ok"


@pytest.mark.parametrize("daemon", ["nvidia-cuda-mps-control", "nvidia-cuda-mps-server"])
def test_mps_is_in_the_way(machine, replay_ncu, daemon):
    start_process(machine, daemon)
    replay_ncu("probe")

    mps = checks_of(machine)["MPS"]

    assert mps.state == "warn"
    assert "echo quit | nvidia-cuda-mps-control" in mps.remedy


def test_mps_of_another_container_is_found_by_its_pipe(machine, replay_ncu, tmp_path):
    replay_ncu("probe")
    machine = replace(
        machine, environment={**machine.environment, "CUDA_MPS_PIPE_DIRECTORY": str(tmp_path / "pipes")}
    )
    assert checks_of(machine)["MPS"].state == "ok"

    (tmp_path / "pipes").mkdir()
    os.mkfifo(tmp_path / "pipes" / "control")

    assert str(tmp_path / "pipes") in checks_of(machine)["MPS"].found
    assert checks_of(machine)["MPS"].state == "warn"


@pytest.mark.parametrize(
    ("transcript", "reason"),
    [
        ("no-kernel", "found no launch to profile"),
        ("folder-absent", "could not write its report"),
        ("program-segv", "returned an error code (11)"),
    ],
)
def test_whatever_else_ncu_complains_of_fails(machine, replay_ncu, transcript, reason):
    replay_ncu(transcript)

    counters = checks_of(machine)["counters"]

    assert counters.state == "failed"
    assert reason in counters.found
    assert "TMPDIR" in counters.remedy if transcript == "folder-absent" else "by hand: `" in counters.remedy


def test_an_ncu_that_hangs_is_ended(machine, script, monkeypatch):
    monkeypatch.setattr("profiler.measuring.doctor.counters.PROBE_TIMEOUT_S", 0.5)
    script(
        "ncu",
        f'case "$*" in --version) echo "Version 2025.3.1.0";; *) exec {shutil.which("sleep")} 600;; esac',
    )

    counters = check_permission(find_ncu(machine.environment), machine)

    assert counters.state == "failed"
    assert "did not end within 0.5 s" in counters.found


def test_without_ncu_the_setting_is_all_that_can_be_told(machine):
    write_driver(machine, admin_only=1, status=ADMINISTRATOR)

    counters = check_counters(None, machine)[0]

    assert (counters.name, counters.state) == ("counters", "warn")
    assert counters.found == (
        "not tried, there is no ncu; the driver lets only the administrator read them, which this process is"
    )


@pytest.mark.parametrize(
    ("admin_only", "status", "told"),
    [
        (0, NOBODY, "lets everybody read them"),
        (1, ADMINISTRATOR, "which this process is"),
        (1, NOBODY, "which this process is not"),
        (1, "", "which this process is" if os.geteuid() == 0 else "which this process is not"),
    ],
)
def test_the_drivers_setting(machine, admin_only, status, told):
    """Only the capability matters: in a container, root may lack it."""
    write_driver(machine, admin_only, status)
    assert describe_setting(machine.proc).endswith(told)


def test_a_driver_that_reports_nothing(machine):
    assert describe_setting(machine.proc) == "the driver does not report who may read them"


# The lock files: an older ncu has the first, a newer one the other two, the last for one GPU

LOCKS = ["nsight-compute-lock", "nvidia/nsight_compute/lock", "nvidia/nsight_compute/lock.34742c96-76ca"]


@pytest.fixture(params=LOCKS)
def lock(request, machine):
    """The path of one of ncu's lock files."""
    path = machine.temporary_folder / request.param
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def test_an_old_lock_file_that_nobody_holds_is_no_obstacle(machine, lock):
    assert check_lock(machine).state == "ok"
    assert not lock.exists(), "to look is not to leave one"

    lock.touch()
    assert check_lock(machine).state == "ok"


def test_another_ncu_at_work_is_not_disturbed(machine, lock, replay_ncu):
    log = replay_ncu("probe")
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        checks = checks_of(machine)

    assert checks["ncu lock"].state == checks["counters"].state == "warn"
    assert f"another ncu is running: it holds {lock}" in checks["ncu lock"].found
    assert log.read_text() == "", "nothing was profiled"
    assert checks_of(machine)["counters"].state == "ok", "it has ended since"


@pytest.mark.parametrize(("kind", "mode"), [("LOCK_EX", "w"), ("LOCK_SH", "r")])
def test_the_locks_that_ncu_takes_are_seen(machine, lock, kind, mode):
    """ncu 2025.3.1 takes POSIX locks, a shared one on the common file, as Linux showed while it profiled."""
    lock.touch()
    holder = (
        f"import fcntl, sys; lock = open(sys.argv[1], '{mode}'); fcntl.lockf(lock, fcntl.{kind}); "
        "print('held', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", holder, lock], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout.readline() == b"held\n"
        assert check_lock(machine).state == "warn"
        process.communicate()
    assert check_lock(machine).state == "ok"


def test_a_lock_file_that_cannot_be_opened_fails(machine, lock, replay_ncu):
    log = replay_ncu("probe")
    lock.mkdir()  # also root cannot write to that

    checks = checks_of(machine)

    assert checks["ncu lock"].state == "failed"
    assert "TMPDIR" in checks["ncu lock"].remedy
    assert checks["counters"].state == "warn"
    assert log.read_text() == ""


def answering(text, exit_code):
    """Returns the body of an ncu that prints its version, and this text for every other command."""
    return f'case "$*" in --version) echo "Version 2025.3.1.0";; *) echo "{text}"; exit {exit_code};; esac'
