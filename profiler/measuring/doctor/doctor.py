"""Examines everything that prof needs: NVIDIA's reader, folders, the compiler, the GPU, ncu and the counters.

Nothing here needs a GPU: a machine without one can still read and compare, and the result says so.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from profiler.errors import GpuNotFound, NcuTooOld, NotAReport, ProfError, ToolNotFound
from profiler.measuring.doctor.checks import HealthCheck, HealthState, Machine
from profiler.measuring.doctor.counters import check_counters
from profiler.measuring.doctor.folders import check_folders, smallest_report
from profiler.measuring.tools.gpus import Gpu, find_gpus
from profiler.measuring.tools.ncu import Ncu, find_ncu
from profiler.measuring.tools.process import end_all, run
from profiler.measuring.tools.toolchain import NOT_FOUND, find_toolchain
from profiler.store.remote.places import Location
from profiler.store.reports.ncu_command import version_of
from profiler.store.runs.run_id import RunId
from profiler.store.runs.unstored import open_report

READER = "ncu-report"
_COLLECT_WANTS = (2023, 1)  # the oldest ncu that has all options of `prof collect`
_IMPORT_TIMEOUT_S = 60.0
_LATEST_S = 0.25
_GIVE_UP = """
import os
from profiler.store.reports.containment import restrict
os.write(1, b" ".join(name.encode() for name, granted in vars(restrict()).items() if granted))
"""


def examine_machine(
    root: Location, machine: Machine, progress: Callable[[str], None] = lambda _: None
) -> list[HealthCheck]:
    """Returns all checks, those with the fewest needs first. Checks that wait for other programs run in parallel.

    `progress` receives a line about what is still being checked a few times a second, and an empty one at the end.
    """
    parts: dict[str, Callable[[], list[HealthCheck]]] = {
        "NVIDIA's reader": lambda: [check_reader(smallest_report(root)), check_containment()],
        "the folders": lambda: check_folders(root, machine),
        "the compiler": lambda: check_building(machine),
        "the GPU and ncu": lambda: check_measuring(machine),
    }
    executor = ThreadPoolExecutor(len(parts))
    try:
        under_way = {name: executor.submit(part) for name, part in parts.items()}
        while waiting := [name for name, part in under_way.items() if not part.done()]:
            progress(f"checking {', '.join(waiting)}")
            wait(under_way.values(), timeout=_LATEST_S)
        return [check for part in under_way.values() for check in part.result()]
    except BaseException:
        end_all()
        raise
    finally:
        progress("")
        executor.shutdown(cancel_futures=True)


def check_reader(report: Path | None) -> HealthCheck:
    """Checks that NVIDIA's reader works, in a process of its own as always.

    Without a report it opens an empty file, which the reader must refuse.
    """
    check, name = partial(HealthCheck, "reader", "reading"), f"{READER} {reader_version()}".rstrip()
    try:
        launches = open_report(report or Path(os.devnull), fresh=True).manifest.launches
    except ProfError as error:
        if report is None and isinstance(error, NotAReport):
            return check("ok", f"{name} starts; no stored report to try it on")
        return check("failed", error.message, error.remedy)
    run_id = RunId.parse(report.parent.name) if report else None
    what = run_id.name if run_id else str(report)
    return check("ok", f"{name} reads {what}, {launches} launches")


def check_containment() -> HealthCheck:
    """Checks which of a reader's rights this system takes away, by giving them up in a process of its own."""
    granted = run([sys.executable, "-c", _GIVE_UP], timeout_s=_IMPORT_TIMEOUT_S).stdout.split()
    return judge_containment(files="files" in granted, calls="calls" in granted)


def judge_containment(*, files: bool, calls: bool) -> HealthCheck:
    """Returns the check for a system that offers Landlock (`files`), seccomp (`calls`), both or neither."""
    found = {
        (True, True): "may read its report and answer, nothing else",
        (True, False): "may use the network and run programs: this system does not offer seccomp",
        (False, True): "may read all your files: this system does not offer Landlock",
        (False, False): "has all your rights: this system offers neither Landlock nor seccomp",
    }[files, calls]
    check = partial(HealthCheck, "containment", "reading", found=f"NVIDIA's reader {found}")
    if files and calls:
        return check("ok")
    remedy = "Read reports of strangers on Linux 5.13 or newer, where the container's runtime allows both."
    return check("warn", remedy=remedy)


def check_building(machine: Machine) -> list[HealthCheck]:
    """Checks nvcc, the host's compiler and cuBLAS."""
    try:
        toolchain = find_toolchain(machine.environment)
    except ToolNotFound as error:
        return [HealthCheck("nvcc", "building", *_absence(error), error.remedy)]
    checks = [HealthCheck("nvcc", "building", "ok", f"{toolchain.version}, {toolchain.nvcc}")]
    host = machine.environment.get("NVCC_CCBIN") or shutil.which("g++", path=machine.environment.get("PATH"))
    if host is None:
        remedy = "nvcc compiles the host's part with it: install g++, or name another in NVCC_CCBIN."
        checks.append(HealthCheck("g++", "building", "missing", "not found on the PATH", remedy))
    else:
        checks.append(HealthCheck("g++", "building", "ok", host))
    if toolchain.cublas is None:
        found = "not found: rungs that need it are left out, and so are percentages of cuBLAS"
        remedy = "`pip install nvidia-cublas`, or install it with the CUDA toolkit."
        checks.append(HealthCheck("cuBLAS", "building", "warn", found, remedy))
    else:
        checks.append(HealthCheck("cuBLAS", "building", "ok", str(toolchain.cublas.file)))
    return checks


def check_measuring(machine: Machine) -> list[HealthCheck]:
    """Checks the GPUs, ncu and the counters."""
    gpus, gpu_check = check_gpus(machine)
    ncu, ncu_check = check_ncu(machine)
    return [gpu_check, ncu_check, *(check_counters(ncu, machine) if gpus else ())]


def check_gpus(machine: Machine) -> tuple[list[Gpu], HealthCheck]:
    """Returns the visible GPUs, and the check of them."""
    try:
        gpus = find_gpus(machine.environment)
    except GpuNotFound as error:
        # nvidia-smi may be installed on a machine without a GPU, but the driver is loaded only if there is one.
        loaded = (machine.proc / "driver/nvidia/version").exists()
        state: HealthState = "failed" if error.details and loaded else "missing"
        said = [line.strip() for line in error.details[1:]]
        found = ": ".join([error.message.removeprefix("no GPU: "), *said[-1:]])
        return [], HealthCheck("GPU", "measuring", state, found, error.remedy)
    kinds = Counter(f"{gpu.name} ({gpu.arch})" for gpu in gpus)
    names = ", ".join(f"{count} x {kind}" if count > 1 else kind for kind, count in kinds.items())
    return gpus, HealthCheck("GPU", "measuring", "ok", f"{names}, driver {gpus[0].driver_version}")


def check_ncu(machine: Machine) -> tuple[Ncu | None, HealthCheck]:
    """Returns ncu, and the check of it: also whether the installed reader knows this ncu's reports."""
    check = partial(HealthCheck, "ncu", "measuring")
    try:
        ncu = find_ncu(machine.environment)
    except NcuTooOld as error:
        return None, check("failed", error.message, error.remedy)
    except ToolNotFound as error:
        return None, check(*_absence(error), error.remedy)
    found, reader = f"{ncu.version}, {ncu.path}", reader_version()
    if version_of(ncu.version)[:2] < _COLLECT_WANTS:
        found += (
            f"; older than {_COLLECT_WANTS[0]}.{_COLLECT_WANTS[1]}, it lacks some options of `prof collect`"
        )
        return ncu, check("warn", found, NcuTooOld.remedy)
    if reader and version_of(reader)[:2] < version_of(ncu.version)[:2]:
        found += f"; the older {READER} {reader} may not know all that its reports hold"
        remedy = f"`pip install --upgrade {READER}`."
        return ncu, check("warn", found, remedy)
    return ncu, check("ok", found)


def reader_version() -> str:
    """Returns the version of NVIDIA's reader; empty if it is not installed."""
    with suppress(PackageNotFoundError):
        return version(READER)
    return ""


def _absence(error: ToolNotFound) -> tuple[HealthState, str]:
    """Returns `missing` for a tool that is not installed, and `failed` for one that does not answer."""
    return ("missing", NOT_FOUND) if error.reason == NOT_FOUND else ("failed", error.message)
