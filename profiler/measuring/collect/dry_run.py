"""The commands of a collection as a person would type them, in the order in which they would run.

Kernels that are only timed and tools that are missing become comments, so that a shell can run the output.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from profiler.errors import GpuNotFound, ToolNotFound
from profiler.measuring.collect.collection import CollectPlan, CollectStep, steps_of, timing_job
from profiler.measuring.collect.device import LocalDevice
from profiler.measuring.collect.target import Target, typed_command
from profiler.measuring.rungs.build import build_command
from profiler.measuring.rungs.program import program_command
from profiler.measuring.tools.gpus import Gpu, choose_gpus, find_gpu, find_gpus
from profiler.measuring.tools.ncu import NO_NCU, Ncu, find_ncu
from profiler.measuring.tools.process import shown
from profiler.measuring.tools.toolchain import Toolchain, find_toolchain

_WIDTH = 98  # of a line, without its backslash


def dry_run_lines(plan: CollectPlan, targets: Sequence[Target]) -> Iterator[str]:
    """Yields the commands that a collection would run, in their order; what this machine lacks for them comes first, as comments."""
    jobs = [target.job for target in targets if target.job is not None]
    compiled = [(job.kernel, job.binary) for job in jobs if job.binary is not None]
    toolchain = _toolchain() if compiled else None
    for line in _missing_tools(plan.device.ncu, plan.device.gpu, toolchain):
        yield f"# {line}"
    if toolchain is not None:
        builds = [
            build_command(kernel, plan.device.gpu.arch, toolchain, binary) for kernel, binary in compiled
        ]
        yield from dict.fromkeys(map(_folded, builds))
    for target in targets:
        if not target.is_profiled:
            yield f"# {target.label} is timed, not profiled"
    steps = [(target, step) for target in targets for step in steps_of(plan, target)]
    reports = Counter[str]()
    for target, step in sorted(steps, key=lambda pair: pair[1].turn):
        reports[target.name] += step.what == "profile"
        report = target.report_name(reports[target.name])  # of any size, and of any process
        yield _folded(_words(plan, target, step, report))


def _folded(command: Iterable[str]) -> str:
    """Returns the command as one would type it; a long one on several lines, of which each but the last ends in a backslash.

    A long list goes on at the very start of a line, since a shell takes what stands on both sides for one word.
    """
    text, column = "", 0
    for space, piece in _pieces(command):
        if column + len(space + piece) > _WIDTH:
            text, column = f"{text}{space}\\\n{space}", len(space)
        text += space + piece
        column += len(space + piece)
    return text


def _pieces(command: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yields where a line may break: the space before a word, if any, and the word, or the next entry of its list."""
    for place, word in enumerate(command):
        quoted = shown([word])
        first, *others = re.split(r"(?<=,)", quoted) if quoted == word else [quoted]
        yield " " if place else "", first
        yield from (("", other) for other in others)


def _words(plan: CollectPlan, target: Target, step: CollectStep, report: str) -> list[str]:
    job = target.job
    if job is None or step.what == "profile":
        return typed_command(target, plan.device.ncu, plan.recording, report)
    if step.what == "verify":
        return program_command(job, "check")
    return program_command(timing_job(plan, job), "time")


# Words that stand in the commands for tools and a GPU that are not there; `_missing_tools` says which do.
_NO_NVCC = Toolchain(Path("nvcc"), "", Path())
_NO_GPU = Gpu("", "sm_XX", "", "")


def dry_run_device(gpus: str | None) -> LocalDevice:
    """Returns the GPU that a dry run names. `gpus`, given by `--gpus`, is checked only on a machine with GPUs."""
    try:
        ncu = find_ncu()
    except ToolNotFound:
        ncu = NO_NCU
    try:
        visible = [find_gpu()] if gpus is None else find_gpus()
    except GpuNotFound:
        return LocalDevice(_NO_GPU, ncu)
    return LocalDevice(visible[0] if gpus is None else choose_gpus(gpus, visible)[0], ncu)


def _toolchain() -> Toolchain:
    try:
        return find_toolchain()
    except ToolNotFound:
        return _NO_NVCC


def _missing_tools(ncu: Ncu, gpu: Gpu, toolchain: Toolchain | None) -> Iterator[str]:
    """Yields one line for each stand-in that a command names. `toolchain` is None if no command names nvcc."""
    if ncu is NO_NCU:
        yield "no ncu was found here: `ncu` stands for its path"
    if toolchain is _NO_NVCC:
        yield "no nvcc was found here: `nvcc` stands for its path, and cuBLAS is left out"
    if toolchain is not None and gpu is _NO_GPU:
        yield "no GPU was found here: XX stands for its architecture, 90 on an H100 or H200"
