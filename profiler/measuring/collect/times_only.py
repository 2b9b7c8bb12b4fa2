"""Records the times of any program's kernels as a run, without counters: it runs the program several times and listens.

`listener.c` listens inside the program. It is compiled on the spot, which needs a C compiler and CUPTI.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import cache
from itertools import compress
from pathlib import Path

import msgspec

from profiler.catalog.patterns import search_as_ncu
from profiler.errors import LaunchesMissing, NothingProfiled, ToolNotFound
from profiler.measuring.collect.gpu_turn import gpu_turn
from profiler.measuring.collect.provenance import find_provenance
from profiler.measuring.collect.target import Target
from profiler.measuring.rungs.program import ENVIRONMENT
from profiler.measuring.tools.cuda_libraries import CUPTI, library_paths
from profiler.measuring.tools.exit_codes import profiled_already, program_failure, says_other_listener
from profiler.measuring.tools.gpus import Gpu
from profiler.measuring.tools.mangling import demangled
from profiler.measuring.tools.neutral import neutral_folder
from profiler.measuring.tools.process import run, shown
from profiler.store.runs.run_store import RunStore
from profiler.store.runs.timed_run import TimedLaunch, TimedRun, commit_timings

_SOURCE = Path(__file__).with_name("listener.c")
_COMPILERS = ("cc", "gcc", "clang")
_COMPILE_S = 60.0
_REFUSED = "! "


def collect_times(
    target: Target,
    gpu: Gpu,
    processes: int,
    timeout_s: float,
    cwd: Path | None,
    store: RunStore,
    note: Callable[[str], None],
) -> str:
    """Runs the program in several processes, commits the times of its launches, and returns the id of the run."""
    recorded, started = datetime.now(UTC), time.monotonic()
    folder = cwd or Path.cwd()
    origin = find_provenance(target, gpu, folder, store)
    launches: list[TimedLaunch] = []
    for process in range(processes):
        with gpu_turn(gpu, note):
            began = time.monotonic()
            heard = _listen(target.program, folder, timeout_s, process)
            seconds = time.monotonic() - began
        chosen = _chosen(target, heard)
        launches += chosen
        note(
            f"timed       {target.label}, process {process + 1} of {processes}: {len(chosen)} launches, {seconds:.1f} s"
        )
    timed = TimedRun(
        ladder="",
        kernel=0,
        workload=None,
        recorded=recorded,
        gpu=gpu.name,
        command_line=shown(target.program_text),
        provenance=msgspec.structs.replace(origin, seconds=round(time.monotonic() - started, 3)),
        timings=(),
        function=target.name,
        launches=launches,
    )
    return commit_timings(store, [timed])[0]


def _chosen(target: Target, heard: list[TimedLaunch]) -> list[TimedLaunch]:
    """Returns the launches that were asked for, as ncu would choose them: by their name, then by number."""
    selection = target.selection
    fitting = list(compress(heard, search_as_ncu(selection.regex or "", [one.kernel for one in heard])))
    names = [f"  {name[:200]}" for name in dict.fromkeys(one.kernel for one in heard)]
    if not fitting:
        raise NothingProfiled(
            f"{target.label}: no kernel's name matches '{selection.regex}'; launched were:", details=names
        )
    last = None if selection.launches is None else selection.skip + selection.launches
    chosen = fitting[selection.skip : last]
    if len(chosen) < (target.required_launches or 1):
        raise LaunchesMissing(
            f"{target.label}: {len(fitting)} launches match, and {selection.skip} of them are skipped",
            details=names,
        )
    return chosen


def _listen(program: Sequence[str], folder: Path, timeout_s: float, process: int) -> list[TimedLaunch]:
    """Runs the program once in the folder and returns its launches in the order in which they began."""
    with neutral_folder() as scratch:
        environment = {
            **ENVIRONMENT,
            "CUDA_INJECTION64_PATH": str(_compile(scratch)),
            "PROF_KERNELS": str(scratch),
            "PROF_CUPTI": next((path for path in library_paths(CUPTI) if os.path.exists(path)), CUPTI),
        }
        finished = run(program, timeout_s=timeout_s, folder=folder, environment=environment, leash=True)
        if finished.exit_code:
            raise program_failure(program[0], None, finished.how, finished.details)
        lines = [line for path in scratch.glob("*.kernels") for line in path.read_text().splitlines()]
    if refused := next((line for line in lines if line.startswith(_REFUSED)), None):
        if says_other_listener(refused):
            raise profiled_already(program[0], finished.details)
        raise ToolNotFound(
            f"kernels cannot be recorded: {refused.removeprefix(_REFUSED)}",
            remedy="Install the CUPTI of a CUDA toolkit that is no newer than the driver.",
        )
    if not lines:
        raise NothingProfiled(
            f"{program[0]} launched no kernel",
            details=finished.details,
            remedy="If it does launch kernels, run it without a profiler of its own, such as torch.profiler, which hides them.",
        )
    return sorted((_launch(line, process) for line in lines), key=lambda one: one.start_ns)


def _launch(line: str, process: int) -> TimedLaunch:
    *figures, mangled = line.split(" ", 11)
    start, end, *shape = map(int, figures)
    kernel, function = _names(mangled)
    return TimedLaunch(process, kernel, function, mangled, start, end - start, *shape)


@cache
def _names(mangled: str) -> tuple[str, str]:
    """Returns the kernel's name as its source spells it, and the function's own name."""
    kernel = demangled(mangled)
    qualified = kernel.removeprefix("void ").partition("<")[0].partition("(")[0]
    return kernel, qualified.rpartition("::")[2] or kernel


def _compile(folder: Path) -> Path:
    compiler = next(filter(None, map(shutil.which, (os.environ.get("CC", "cc"), *_COMPILERS))), None)
    if compiler is None:
        raise ToolNotFound(
            "times without counters need a C compiler, and none was found",
            remedy="Install gcc or clang, or set CC.",
        )
    library = folder / "listener.so"
    command = [compiler, "-O1", "-shared", "-fPIC", "-o", str(library), str(_SOURCE), "-ldl"]
    done = run(command, timeout_s=_COMPILE_S)
    if done.exit_code:
        raise ToolNotFound(
            f"{compiler} cannot compile the library that records a program's kernels",
            details=done.details,
            remedy="Check that it compiles C for this machine, or set CC to another compiler.",
        )
    return library
