"""Returns the targets of `prof collect`: rungs of a ladder, or a program of the user's own."""

from __future__ import annotations

from profiler.ask.named.ladders import open_ladder, workloads
from profiler.commands.shared.ladders import build_errors, build_rungs, choose_kernels, usable_kernels
from profiler.commands.shared.options import VerbSettings
from profiler.errors import ProfError
from profiler.measure.collect.target import Target, rung_target
from profiler.measure.rungs.build import build_folder
from profiler.measure.rungs.program import RungJob
from profiler.measure.tools.ncu import LAUNCHES, NcuOptions, Selection
from profiler.measure.tools.toolchain import Gpu


def program_target(
    program: list[str],
    name: str,
    regex: str | None,
    skip: int,
    launches: int | None,
    recording: NcuOptions | None = None,
) -> Target:
    """Returns a program as a target; without a `recording` it is not profiled, and all its launches are timed.

    Nobody knows how many launches it makes: without --launches, up to five are profiled and one is enough.
    """
    limit = launches if launches is not None or recording is None or recording.of_ranges else LAUNCHES
    return Target(
        name=name,
        selection=Selection(regex, skip, limit),
        required_launches=launches or 1,
        program=tuple(program),
    )


def rung_targets(
    settings: VerbSettings,
    kernel: list[str] | None,
    size: list[str] | None,
    set_param: list[str] | None,
    launches: int | None,
    recording: NcuOptions,
    gpu: Gpu,
    jobs: int | None,
    *,
    build: bool,
) -> tuple[list[Target], list[ProfError]]:
    """Returns every kernel at every size, and the errors of the kernels that could not be built."""
    opened = open_ladder(settings)
    kernels = choose_kernels(opened, kernel)
    shapes = workloads(opened, size, set_param)
    built = build_rungs(opened, kernels, gpu.arch, settings, jobs) if build else {}
    missing = build_errors(built, "failed", *(("unavailable",) if kernel else ()))
    targets = []
    for values in shapes:
        for one in usable_kernels(kernels, built):
            binary = build_folder(opened, gpu.arch) / one.file_name if one.is_compiled else None
            job = RungJob(opened, one, values, binary)
            targets.append(rung_target(job, built.get(one.number), launches or LAUNCHES, recording))
    return targets, missing
