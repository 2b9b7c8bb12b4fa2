"""`prof time` measures how long kernels take without the profiler."""

from __future__ import annotations

from typing import Annotated

from typer import Option

from profiler.ask.collect import summarise_just_timed
from profiler.ask.named.ladders import open_ladder, workloads
from profiler.commands.shared import options
from profiler.commands.shared.ladders import (
    build_errors,
    build_rungs,
    choose_rungs,
    raise_failures,
    usable_kernels,
)
from profiler.commands.shared.output import print_document
from profiler.commands.shared.progress import Progress
from profiler.measure.rungs.timing import TimingPlan, time_ladder
from profiler.measure.tools.toolchain import find_gpu
from profiler.present.documents.rungs import time_row, timed_document


def time_kernels(
    *,
    kernel: options.KernelOption = None,
    size: options.SizeOption = None,
    set_param: options.ParameterOption = None,
    repeats: Annotated[int, Option(min=1, help="Timed launches in each process.")] = 20,
    warmup: Annotated[int, Option(min=0, help="Untimed launches before them.")] = 5,
    processes: options.ProcessesOption = 3,
    seed: options.SeedOption = None,
    jobs: options.JobsOption = None,
    timeout: options.TimeoutOption = 600.0,
    settings: options.RungSettings,
) -> None:
    """Time every kernel without the profiler; store the timings.

    Builds what changed first. The reference is timed along with the kernels. Each kernel at each size is stored as
    a run of its own.

    Examples:

      prof time --size 4096

      prof time --kernel 5 --kernel 6 --repeats 50 --processes 3
    """
    opened = open_ladder(settings)
    kernels = choose_rungs(opened, kernel)
    plan = TimingPlan(
        ladder=opened,
        shapes=workloads(opened, size, set_param),
        gpu=find_gpu(),
        repeats=repeats,
        warmup=warmup,
        processes=processes,
        seed=seed,
        timeout_s=timeout,
    )
    built = build_rungs(opened, kernels, plan.gpu.arch, settings, jobs)
    errors, missing = build_errors(built, "failed"), build_errors(built, "unavailable")
    usable = usable_kernels(kernels, built)
    rows = []
    with Progress("timing", len(plan.shapes) * len(usable) * processes, settings) as progress:
        for outcome in time_ladder(
            plan, usable, built, settings.open_store(settings.runs_folder), progress.advance
        ):
            if outcome.error is not None:
                errors.append(outcome.error)
            else:
                summary = summarise_just_timed(outcome.kernel, outcome.values, outcome.timings)
                rows.append(time_row(outcome.kernel, outcome.values, summary, outcome.run_id))
    if rows:
        print_document(timed_document(rows), settings.format)
    if not errors and missing and (kernel or not rows):
        errors = missing
    raise_failures(errors, len(plan.shapes) * len(kernels), "kernels were not timed")
