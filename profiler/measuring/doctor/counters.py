"""Checks whether hardware counters can be read here, and what may hold them: settings, ncu's lock, DCGM, MPS.

The only proof is to read one, so an empty kernel is profiled. The driver's setting and the other processes only
explain the result.
"""

from __future__ import annotations

import fcntl
import os
import re
import sys
from contextlib import suppress
from pathlib import Path

from profiler.errors import (
    CountersBusy,
    CountersRefused,
    DeviceMemoryFull,
    ProfError,
    ReportError,
    ReportNotWritten,
    StoreError,
)
from profiler.measuring.doctor.checks import HealthCheck, HealthState, Machine
from profiler.measuring.tools import probe
from profiler.measuring.tools.ncu import Ncu
from profiler.measuring.tools.neutral import neutral_folder
from profiler.measuring.tools.process import run, shown
from profiler.measuring.tools.transcript import recording_error
from profiler.store.disk import storage_error
from profiler.store.reports.envelope import read_envelope

_LOCK_FILES = ("nsight-compute-lock", "nvidia/nsight_compute/lock*")  # in TMPDIR, of older and newer versions
_PROBE_METRIC = "sm__cycles_elapsed.max"
PROBE_TIMEOUT_S = 60.0
_PROBE_LABEL = "profiling an empty kernel"
_WITH_FITTING_REMEDY = (CountersRefused, CountersBusy, DeviceMemoryFull, ReportNotWritten, StoreError)
_MOST_LINES = 2  # of the program's and ncu's error messages
_CAP_SYS_ADMIN = 21
_DCGM = {"nv-hostengine", "dcgm-exporter"}
_MPS = "nvidia-cuda-mps"  # the daemon and its server: Linux keeps 15 characters of a process's name
_MPS_FOLDER = "/tmp/nvidia-mps"


def _check(name: str, state: HealthState, found: str, remedy: str = "") -> HealthCheck:
    return HealthCheck(name, "measuring", state, found, remedy)


def check_counters(ncu: Ncu | None, machine: Machine) -> list[HealthCheck]:
    """Checks everything between ncu and the counters. Does not try to profile while another ncu is at work."""
    lock = check_lock(machine)
    if ncu is None:
        counters = _untried("there is no ncu", machine)
    elif lock.state == "ok":
        counters = check_permission(ncu, machine)
    else:
        counters = _untried("because of ncu's lock", machine)
    names = _process_names(machine.proc)
    return [counters, lock, _check_dcgm(names, free=counters.state == "ok"), _check_mps(names, machine)]


def check_permission(ncu: Ncu, machine: Machine) -> HealthCheck:
    """Profiles an empty kernel, which takes a second and a half."""
    setting = describe_setting(machine.proc)
    try:
        with neutral_folder() as folder:
            report = folder / "probe.ncu-rep"
            command = _probe_command(ncu, report.name)
            done = run(command, timeout_s=PROBE_TIMEOUT_S, folder=folder, environment=machine.environment)
            error = recording_error(_PROBE_LABEL, done, _results_in(report), wanted=1)
    except ProfError as failure:
        error = failure
    except OSError as failure:
        error = storage_error(failure, machine.temporary_folder)
    if error is None:
        found = f"an empty kernel was profiled in {done.seconds:.1f} s; {setting}"
        return _check("counters", "ok", found)
    lines = [line.strip().rstrip(".") for line in error.details]
    reasons = [line for line in lines if line.startswith(("==ERROR==", "error:"))]
    found = "; ".join([error.message, *reasons[-_MOST_LINES:], setting])
    by_hand = f"Run it by hand: `{shown(_probe_command(ncu, 'probe'))}`."
    return _check(
        "counters", "failed", found, error.remedy if isinstance(error, _WITH_FITTING_REMEDY) else by_hand
    )


def _untried(why: str, machine: Machine) -> HealthCheck:
    return _check("counters", "warn", f"not tried, {why}; {describe_setting(machine.proc)}")


def _probe_command(ncu: Ncu, report: str) -> list[str]:
    """Returns the command that profiles the empty kernel."""
    return [
        str(ncu.path), "--config-file", "off", "--clock-control", "none", "--metrics", _PROBE_METRIC,
        "--force-overwrite", "--export", report, sys.executable, "-I", probe.__file__,
    ]  # fmt: skip


def check_lock(machine: Machine) -> HealthCheck:
    """Checks whether ncu's lock files can be opened and are free.

    ncu never removes them, and in a shared folder other users may not open those of the first user.
    """
    folder = machine.temporary_folder
    for path in _lock_files(folder):
        try:
            # ncu opens it with O_CREAT too, which Linux refuses in a shared folder.
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        except OSError as error:
            remedy = "Give ncu a temporary folder of your own: `export TMPDIR=/tmp/$USER; mkdir -p $TMPDIR`."
            return _check("ncu lock", "failed", f"{path} cannot be opened: {error.strerror}", remedy)
        try:
            free = _is_free(descriptor)
        finally:
            os.close(descriptor)
        if not free:
            remedy = "Wait until it has finished: two at once wait for each other and disturb each other's figures."
            return _check("ncu lock", "warn", f"another ncu is running: it holds {path}", remedy)
    return _check("ncu lock", "ok", f"no other ncu is running in {folder}")


def _lock_files(folder: Path) -> list[Path]:
    """Returns the lock files that exist: newer versions of ncu have one for each GPU."""
    return [path for pattern in _LOCK_FILES for path in sorted(folder.glob(pattern))]


def describe_setting(proc: Path) -> str:
    """Returns which users may read counters, according to the driver's settings."""
    with suppress(OSError):
        setting = re.search(r"^RmProfilingAdminOnly: (\d)", (proc / "driver/nvidia/params").read_text(), re.M)
        if setting and setting[1] == "0":
            return "the driver lets everybody read them"
        if setting:
            which = "is" if _is_administrator(proc) else "is not"
            return f"the driver lets only the administrator read them, which this process {which}"
    return "the driver does not report who may read them"


def _is_administrator(proc: Path) -> bool:
    """Returns whether this process has CAP_SYS_ADMIN: in a container it is not enough to be root."""
    with suppress(OSError):
        mask = re.search(r"^CapEff:\s*([0-9a-f]+)", (proc / "self/status").read_text(), re.M)
        if mask:
            return bool(int(mask[1], 16) >> _CAP_SYS_ADMIN & 1)
    return os.geteuid() == 0


def _check_dcgm(names: set[str], *, free: bool) -> HealthCheck:
    running = ", ".join(sorted(names & _DCGM))
    if not running:
        return _check("DCGM", "ok", "not running")
    if free:
        return _check("DCGM", "ok", f"{running} is running, and the counters were free just now")
    remedy = (
        "Let it pause while you measure: `dcgmi profile --pause`, and `dcgmi profile --resume` afterwards."
    )
    return _check("DCGM", "warn", f"{running} is running and may hold the counters", remedy)


def _check_mps(names: set[str], machine: Machine) -> HealthCheck:
    pipes = Path(machine.environment.get("CUDA_MPS_PIPE_DIRECTORY") or _MPS_FOLDER)
    if not any(name.startswith(_MPS) for name in names) and not (pipes / "control").exists():
        return _check("MPS", "ok", "not running")
    found = f"it is running, with its pipes in {pipes}; ncu does not profile its clients"
    return _check("MPS", "warn", found, "Stop it while you measure: `echo quit | nvidia-cuda-mps-control`.")


def _process_names(proc: Path) -> set[str]:
    """Returns the names of the visible processes, as Linux keeps them."""
    names = set()
    with suppress(OSError):
        for entry in proc.iterdir():
            with suppress(OSError):
                if entry.name.isdecimal():
                    names.add((entry / "comm").read_text().strip())
    return names


def _is_free(descriptor: int) -> bool:
    """Returns whether nobody holds either kind of lock on the file; releases its own at once."""
    try:
        for lock in (fcntl.flock, fcntl.lockf):
            lock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            lock(descriptor, fcntl.LOCK_UN)
    except OSError:
        return False
    return True


def _results_in(report: Path) -> int | None:
    """Returns the number of launches in the report; None if it is missing or damaged."""
    try:
        return read_envelope(report.read_bytes(), report.name).results
    except (OSError, ReportError):
        return None
