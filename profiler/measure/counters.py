"""Whether this user may measure here: the GPU, ncu, and what stands between ncu and the counters.

The only proof that counters can be read is to read one, so an empty kernel is profiled; the
driver's setting and the processes that may hold the counters only explain what happens then.
"""

from __future__ import annotations

import fcntl
import os
import re
import sys
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from profiler.errors import (
    CountersBusy,
    GpuNotFound,
    NcuTooOld,
    ProfError,
    ReportError,
    ReportNotWritten,
    ToolNotFound,
)
from profiler.measure import probe
from profiler.measure.health import Check, Machine, State
from profiler.measure.ncu import Ncu, find_ncu
from profiler.measure.neutral import neutral_folder
from profiler.measure.process import run
from profiler.measure.toolchain import Gpu, find_gpus
from profiler.measure.transcript import judge
from profiler.store.envelope import read_envelope

READER_PACKAGE = "ncu-report"
COLLECT_WANTS = (2023, 1)  # older ones lack options that `prof collect` knows
LOCK_FILE = "nsight-compute-lock"
_PROBE_TIMEOUT_S = 60.0
_PROBE_METRIC = "sm__cycles_elapsed.max"
_CAP_SYS_ADMIN = 21
_DCGM = ("nv-hostengine", "dcgm-exporter")
_MPS = "nvidia-cuda-mps"  # the kernel keeps 15 characters: of the daemon and of its server
_MPS_FOLDER = "/tmp/nvidia-mps"


def check_measuring(machine: Machine) -> list[Check]:
    gpus, gpu_check = check_gpus(machine)
    ncu, ncu_check = check_ncu(machine)
    checks = [gpu_check, ncu_check]
    if not gpus:
        return checks
    lock = check_lock(machine)
    counters = check_counters(ncu, machine, at_work=lock.state == "warn")
    names = _process_names(machine.proc)
    return [*checks, counters, lock, _dcgm(names, counters), _mps(names, machine)]


def check_gpus(machine: Machine) -> tuple[list[Gpu], Check]:
    try:
        gpus = find_gpus(machine.environment)
    except GpuNotFound as error:
        # nvidia-smi may well be installed where there is no GPU, but not the driver's module.
        driven = (machine.proc / "driver/nvidia/version").exists()
        said = error.details[-1].strip() if len(error.details) > 1 else ""
        found = f"{error.message.removeprefix('no GPU: ')}{said and f': {said}'}"
        state: State = "failed" if error.details and driven else "missing"
        return [], Check("GPU", "measuring", state, found, error.remedy)
    kinds = Counter(f"{gpu.name} ({gpu.arch})" for gpu in gpus)
    found = ", ".join(f"{count} x {kind}" if count > 1 else kind for kind, count in kinds.items())
    return gpus, Check("GPU", "measuring", "ok", f"{found}, driver {gpus[0].driver_version}")


def check_ncu(machine: Machine) -> tuple[Ncu | None, Check]:
    """Also against the reader, which knows the reports of its own version and of older ones."""
    try:
        ncu = find_ncu(machine.environment)
    except NcuTooOld as error:
        return None, Check("ncu", "measuring", "failed", error.message, error.remedy)
    except ToolNotFound as error:
        return None, Check("ncu", "measuring", *describe_absence(error), error.remedy)
    found = f"{ncu.version} ({ncu.path})"
    if _major_minor(ncu.version) < COLLECT_WANTS:
        wanted = ".".join(map(str, COLLECT_WANTS))
        return ncu, Check(
            "ncu", "measuring", "warn", f"{found} is older than {wanted}, and lacks options that `prof collect` uses",
            "Install a newer Nsight Compute; it works beside an older CUDA toolkit.",
        )  # fmt: skip
    reader = reader_version()
    if reader and _major_minor(reader) < _major_minor(ncu.version):
        return ncu, Check(
            "ncu", "measuring", "warn", f"{found} is newer than the reader, {READER_PACKAGE} {reader}",
            f"Its reports may hold what the reader does not know: `pip install --upgrade {READER_PACKAGE}`.",
        )  # fmt: skip
    return ncu, Check("ncu", "measuring", "ok", found)


def check_counters(ncu: Ncu | None, machine: Machine, *, at_work: bool) -> Check:
    """`at_work`: another ncu is, and must not be disturbed."""
    setting = _describe_setting(machine.proc)
    if ncu is None or at_work:
        why = "another ncu is at work" if at_work else "there is no ncu"
        return Check("counters", "measuring", "warn", f"not tried, because {why}; {setting}")
    error, seconds = profile_probe(ncu, machine)
    if error is None:
        return Check("counters", "measuring", "ok", f"an empty kernel was profiled in {seconds:.1f} s; {setting}")
    found = f"{error.message.removeprefix(_LABEL)}; {setting}"
    said = [line.strip() for line in error.details[1:] if "==ERROR==" in line or "error:" in line]
    return Check("counters", "measuring", "failed", " ".join([found, *said[:1]]), error.remedy)


_LABEL = "ncu: "


def profile_probe(ncu: Ncu, machine: Machine) -> tuple[ProfError | None, float]:
    """What is wrong with profiling the smallest program there is, and how long it took."""
    report = "probe.ncu-rep"
    command = [
        str(ncu.path), "--config-file", "off", "--clock-control", "none", "--metrics", _PROBE_METRIC,
        "--force-overwrite", "--export", report, sys.executable, "-I", probe.__file__,
    ]  # fmt: skip
    try:
        with neutral_folder() as folder:
            finished = run(
                command, timeout_s=_PROBE_TIMEOUT_S, folder=folder, environment=machine.environment
            )
            error = judge(_LABEL.rstrip(": "), finished, _results(folder / report), wanted=1)
    except ProfError as failure:
        return failure, _PROBE_TIMEOUT_S
    except OSError as failure:
        return ReportNotWritten(f"{_LABEL}no temporary folder: {failure.strerror}"), 0.0
    return error, finished.seconds


def check_lock(machine: Machine) -> Check:
    """ncu never removes the file, and in a shared folder the next user may not open the first one's."""
    path = machine.temporary_folder / LOCK_FILE
    try:
        # To create is what ncu asks for, and what the kernel refuses for another's file in a shared folder.
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC) if path.exists() else None
    except OSError as error:
        return Check(
            "ncu lock", "measuring", "failed", f"{path} cannot be opened: {error.strerror}; ncu needs it",
            "Give ncu a temporary folder of your own: `mkdir -p /tmp/$USER; export TMPDIR=/tmp/$USER`.",
        )  # fmt: skip
    if descriptor is None:
        return Check("ncu lock", "measuring", "ok", f"no other ncu has left one in {machine.temporary_folder}")
    try:
        held = not (_can_lock(descriptor, fcntl.flock) and _can_lock(descriptor, fcntl.lockf))
    finally:
        os.close(descriptor)
    if held:
        return Check(
            "ncu lock", "measuring", "warn", f"another ncu is at work: it holds {path}",
            "Wait until it has finished: two at once wait for each other and spoil each other's figures.",
        )  # fmt: skip
    return Check("ncu lock", "measuring", "ok", f"{path} is free")


def describe_absence(error: ToolNotFound) -> tuple[State, str]:
    """A tool that is nowhere is missing; one that is there and says nothing should work."""
    return ("missing", "not found") if "not found" in error.message else ("failed", error.message)


def reader_version() -> str:
    """Empty where NVIDIA's reader is not installed."""
    with suppress(PackageNotFoundError):
        return version(READER_PACKAGE)
    return ""


def _describe_setting(proc: Path) -> str:
    """Who may read counters, as the driver was loaded."""
    with suppress(OSError):
        setting = re.search(r"^RmProfilingAdminOnly: (\d)", (proc / "driver/nvidia/params").read_text(), re.M)
        if setting and setting[1] == "0":
            return "the driver lets everybody read them"
        if setting:
            who = "which this process is" if _is_administrator(proc) else "which this process is not"
            return f"the driver lets only the administrator read them, {who}"
    return "the driver does not tell who may read them"


def _is_administrator(proc: Path) -> bool:
    """In a container root alone is not: it takes CAP_SYS_ADMIN."""
    with suppress(OSError):
        mask = re.search(r"^CapEff:\s*([0-9a-f]+)", (proc / "self/status").read_text(), re.M)
        if mask:
            return bool(int(mask[1], 16) >> _CAP_SYS_ADMIN & 1)
    return os.geteuid() == 0


def _dcgm(names: set[str], counters: Check) -> Check:
    running = sorted(names & set(_DCGM))
    if not running:
        return Check("DCGM", "measuring", "ok", "not running")
    found = Check("DCGM", "measuring", "ok", f"{', '.join(running)} runs, and left the counters free just now")
    if counters.state == "ok":
        return found
    return replace(
        found, state="warn", found=f"{', '.join(running)} runs, and may hold the counters",
        remedy=f"{CountersBusy.remedy.split('. ')[0]}; `dcgmi profile --resume` afterwards.",
    )  # fmt: skip


def _mps(names: set[str], machine: Machine) -> Check:
    pipes = Path(machine.environment.get("CUDA_MPS_PIPE_DIRECTORY") or _MPS_FOLDER)
    if not any(name.startswith(_MPS) for name in names) and not (pipes / "control").exists():
        return Check("MPS", "measuring", "ok", "not running")
    return Check(
        "MPS", "measuring", "warn", f"the multi-process service runs ({pipes}); ncu does not profile its clients",
        "Stop it while measuring: `echo quit | nvidia-cuda-mps-control`.",
    )  # fmt: skip


def _process_names(proc: Path) -> set[str]:
    """Of those that can be seen from here, as the kernel keeps them."""
    names = set()
    for folder in _numbered(proc):
        with suppress(OSError):
            names.add((folder / "comm").read_text().strip())
    return names


def _numbered(proc: Path) -> Iterable[Path]:
    with suppress(OSError):
        return [entry for entry in proc.iterdir() if entry.name.isdecimal()]
    return []


def _can_lock(descriptor: int, lock: object) -> bool:
    raise NotImplementedError


def _results(report: Path) -> int | None:
    try:
        return read_envelope(report.read_bytes(), report.name).results
    except (OSError, ReportError):
        return None


def _major_minor(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:2])
