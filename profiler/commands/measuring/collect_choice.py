"""Makes the targets of `prof collect` of what the user chose: a program, or kernels of a ladder."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from typer import BadParameter, Context

from profiler.ask.named.ladders import open_ladder, workloads
from profiler.catalog.ladders.ladder import Kernel, Ladder
from profiler.commands.shared.ladders import build_errors, build_rungs, choose_rungs, usable_kernels
from profiler.commands.shared.misuse import Misuse
from profiler.commands.shared.options import VerbSettings, typed_options
from profiler.errors import ProfError
from profiler.measuring.collect.target import Target, rung_target
from profiler.measuring.rungs.build import build_folder
from profiler.measuring.rungs.program import RungJob
from profiler.measuring.tools.gpus import Gpu
from profiler.measuring.tools.ncu import LAUNCHES, NcuOptions, Selection

_OF_TIMES = {
    "program", "times_only", "name", "kernel_name", "launch_skip", "launches", "processes", "cwd", "timeout", "runs",
    "ladder", "format",
}  # fmt: skip


def require_options_of_times(context: Context) -> None:
    """Refuses every option that says how to use ncu, or how to measure kernels of a ladder."""
    for name, option in typed_options(context).items():
        if name not in _OF_TIMES:
            raise BadParameter(
                "leave it out with --times-only, which runs a program without ncu; kernels of a ladder have `prof time`",
                param_hint=option,
            )


def profiled_targets(targets: Sequence[Target]) -> list[Target]:
    """Returns the targets that are profiled, for a collection that times nothing; says which are left out."""
    for target in targets:
        if not target.is_profiled:
            left_out = f"left out    {target.label}: it is not profiled, and --repeats 0 times nothing"
            print(left_out, file=sys.stderr)
    left = [target for target in targets if target.is_profiled]
    if targets and not left:
        raise Misuse("--repeats 0 leaves nothing to measure")
    return left


def program_target(
    program: list[str],
    name: str | None,
    regex: str | None,
    skip: int,
    launches: int | None,
    recording: NcuOptions | None = None,
) -> Target:
    """Returns a program as a target; without a `recording` it is not profiled, and all its launches are timed.

    Its kernels are chosen by ncu's regular expression; users of ncu write `regex:` before it.

    Nobody knows how many launches it makes: without --launches, up to five are profiled and one is enough.
    """
    if regex is not None:
        regex = regex.removeprefix("regex:")
    limit = launches if launches is not None or recording is None or recording.of_ranges else LAUNCHES
    return Target(
        name=name or name_of_program(program),
        selection=Selection(regex, skip, limit),
        required_launches=launches or 1,
        program=tuple(program),
    )


def name_of_program(program: Sequence[str]) -> str:
    """Returns what the runs of a program are called unless the user says it: its file, or the script or module that Python runs."""
    name = Path(program[0]).name if program else ""
    if name.startswith("python"):
        script = next((Path(word).stem for word in program[1:] if word.endswith(".py")), "")
        module = next((after for word, after in pairwise(program) if word == "-m"), "")
        return script or module or name
    return name


class ChosenRungs(NamedTuple):
    """The kernels of a ladder to measure, each at every workload; `are_named` says that the user gave their numbers."""

    ladder: Ladder
    kernels: list[Kernel]
    workloads: list[dict[str, int]]
    are_named: bool


def choose_work(
    settings: VerbSettings, kernel: list[str] | None, size: list[str] | None, set_param: list[str] | None
) -> ChosenRungs:
    """Reads the ladder, and needs no GPU for it: a number that is wrong is said before ncu is looked for."""
    ladder = open_ladder(settings)
    return ChosenRungs(ladder, choose_rungs(ladder, kernel), workloads(ladder, size, set_param), bool(kernel))


def rung_targets(
    chosen: ChosenRungs,
    settings: VerbSettings,
    launches: int | None,
    recording: NcuOptions,
    gpu: Gpu,
    jobs: int | None,
    *,
    build: bool,
) -> tuple[list[Target], list[ProfError]]:
    """Returns every kernel at every size, and the errors of the kernels that could not be built."""
    opened, kernels, shapes, are_named = chosen
    built = build_rungs(opened, kernels, gpu.arch, settings, jobs) if build else {}
    missing = build_errors(built, "failed", *(("unavailable",) if are_named else ()))
    folder = build_folder(opened, gpu.arch)
    jobs_of_rungs = [
        RungJob(opened, one, values, folder / one.file_name if one.is_compiled else None)
        for values in shapes
        for one in usable_kernels(kernels, built)
    ]
    many = launches or LAUNCHES
    return [rung_target(one, built.get(one.kernel.number), many, recording) for one in jobs_of_rungs], missing
