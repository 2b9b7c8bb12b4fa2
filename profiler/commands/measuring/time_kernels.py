"""`prof time` measures how long kernels take without the profiler."""

from __future__ import annotations

from typing import Annotated

from typer import Option

from profiler.ask.collect import summarise_just_timed
from profiler.ask.named.ladders import open_ladder, workloads
from profiler.catalog.presets import find_preset
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
from profiler.measuring.collect.collection import CollectPlan
from profiler.measuring.collect.device import LocalDevice
from profiler.measuring.collect.target import timed_target
from profiler.measuring.collect.turns import time_here
from profiler.measuring.rungs.program import RungJob
from profiler.measuring.tools.gpus import find_gpu
from profiler.measuring.tools.ncu import NO_NCU, NcuOptions
from profiler.present.documents.rungs import time_row, timed_document


def time_kernels(
    *,
    kernel: options.KernelOption = None,
    size: options.SizeOption = None,
    set_param: options.ParameterOption = None,
    repeats: Annotated[int, Option(metavar="N", min=1, help="Timed launches in each process.")] = 20,
    warmup: Annotated[int, Option(metavar="N", min=0, help="Untimed launches before them.")] = 5,
    processes: options.ProcessesOption = 3,
    seed: options.SeedOption = None,
    jobs: options.JobsOption = None,
    timeout: options.TimeoutOption = 600.0,
    settings: options.RungSettings,
) -> None:
    """Time every kernel without the profiler; store the timings.

    `prof` first builds what changed. It times the reference along with the kernels, and stores each kernel at each
    size as a run of its own.

    Examples:
      prof time --size 4096
      prof time --kernel 5 --kernel 6 --repeats 50 --processes 3
    """
    opened = open_ladder(settings)
    kernels = choose_rungs(opened, kernel)
    shapes, gpu = workloads(opened, size, set_param), find_gpu()
    plan = CollectPlan(
        LocalDevice(gpu, NO_NCU),
        NcuOptions(find_preset("default")),  # which timing does not need
        processes=processes,
        repeats=repeats,
        warmup=warmup,
        seed=seed,
        verify=False,
        timeout_s=timeout,
        again=True,
    )
    built = build_rungs(opened, kernels, gpu.arch, settings, jobs)
    errors, missing = build_errors(built, "failed"), build_errors(built, "unavailable")
    usable = usable_kernels(kernels, built)
    rows, store = [], settings.open_store(settings.runs_folder)
    with Progress("timing", len(shapes) * len(usable) * processes, settings) as progress:
        for values in shapes:
            targets = [timed_target(RungJob(opened, one, values), built.get(one.number)) for one in usable]
            for outcome in time_here(plan, targets, store, progress.advance, progress.note):
                if outcome.error is not None:
                    errors.append(outcome.error)
                elif (job := outcome.target.job) is not None:
                    summary = summarise_just_timed(job.kernel, values, outcome.timings)
                    rows.append(time_row(job.kernel, values, summary, outcome.run_id))
    if rows:
        print_document(timed_document(rows), settings.format)
    if not errors and missing and (kernel or not rows):
        errors = missing
    raise_failures(errors, len(shapes) * len(kernels), "kernels were not timed")
