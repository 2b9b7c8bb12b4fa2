"""The commands of a collection as a person would type them, in the order in which they would run.

Kernels that are only timed and tools that are missing become comments, so that a shell can run the output.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from profiler.measure.collect.collection import CollectPlan, CollectStep, steps_of
from profiler.measure.collect.stand_ins import dry_run_toolchain, missing_tools
from profiler.measure.collect.target import Target, typed_command
from profiler.measure.rungs.build import build_command
from profiler.measure.rungs.program import RungJob, program_command
from profiler.measure.tools.process import shown
from profiler.measure.tools.toolchain import Toolchain


def dry_run_lines(plan: CollectPlan, targets: Sequence[Target]) -> Iterator[str]:
    compiled = [target.job for target in targets if target.job is not None and target.job.binary is not None]
    toolchain = dry_run_toolchain() if compiled else None
    for line in missing_tools(plan.ncu, plan.gpu, toolchain):
        yield f"# {line}"
    if toolchain is not None:
        yield from dict.fromkeys(_build_lines(plan, compiled, toolchain))
    for target in targets:
        if not target.is_profiled:
            yield f"# {target.label} is timed, not profiled"
    steps = [(target, step) for target in targets for step in steps_of(plan, target)]
    order = {"verify": 0, "time": 1, "profile": 2}
    for target, step in sorted(
        steps, key=lambda one: (one[1].what != "verify", one[1].process, order[one[1].what])
    ):
        yield shown(_words(plan, target, step))


def _build_lines(plan: CollectPlan, compiled: Sequence[RungJob], toolchain: Toolchain) -> Iterator[str]:
    for job in compiled:
        if job.binary is not None:
            yield shown(build_command(job.kernel, plan.gpu.arch, toolchain, job.binary))


def _words(plan: CollectPlan, target: Target, step: CollectStep) -> list[str]:
    job = target.job
    if job is None or step.what == "profile":
        return typed_command(target, plan.ncu, plan.recording)
    if step.what == "verify":
        return program_command(job, "check")
    return program_command(replace(job, repeats=plan.repeats, warmup=plan.warmup), "time")
