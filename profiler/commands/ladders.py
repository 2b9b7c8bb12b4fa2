"""What the verbs that measure have in common: the ladder, its sizes, its binaries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from profiler.commands.options import Settings
from profiler.commands.output import Progress

if TYPE_CHECKING:
    from profiler.catalog.ladders.ladder import Kernel, Ladder
    from profiler.errors import ProfError
    from profiler.measure.rungs.build import Built
    from profiler.store.runs.manifest import Manifest

KernelOption = Annotated[
    list[str] | None,
    typer.Option("--kernel", metavar="N", help="This kernel, or a range such as 4-6; may be repeated."),
]
JobsOption = Annotated[
    int | None, typer.Option("--jobs", "-j", min=1, help="Compilers at a time [default: one per core].")
]
SizeOption = Annotated[
    list[str] | None,
    typer.Option(
        "--size",
        metavar="S",
        help="Size of the workload, or one for each dimension: 512x4096x1024; may be repeated [default: the ladder's].",
    ),
]
ParameterOption = Annotated[
    list[str] | None,
    typer.Option("--set-param", metavar="NAME=S", help="One parameter of the workload, for example m=1000."),
]
SeedOption = Annotated[
    int | None, typer.Option("--seed", min=0, max=2**64 - 1, help="Seed of the inputs [default: drawn].")
]
TimeoutOption = Annotated[
    float, typer.Option("--timeout", min=0.1, help="Seconds that one program may take.")
]


def open_ladder(settings: Settings, name: str | None = None) -> Ladder:
    """The ladder chosen; or the one of this `name`, unless a file was given."""
    from profiler.catalog.ladders.ladder import find_ladder, is_path
    from profiler.catalog.ladders.ladder_file import read_ladder
    from profiler.errors import LadderNotFound

    if name and is_path(name):  # a run names its ladder; a path there is not to be opened
        raise LadderNotFound(f"'{name}' is not the name of a ladder")
    reference = name if name and not is_path(settings.ladder) else settings.ladder
    return read_ladder(find_ladder(reference, *settings.ladder_places))


def choose_kernels(ladder: Ladder, given: Sequence[str] | None) -> list[Kernel]:
    """Those of these numbers and ranges, in the ladder's order; all where none is given."""
    import re

    numbers: list[int] = []
    for text in given or ():
        match = re.fullmatch(r"([0-9]{1,9})(?:-([0-9]{1,9}))?", text.strip())
        if match is None or int(match[2] or match[1]) < int(match[1]):
            raise typer.BadParameter(f"--kernel {text}: give a number, or a range such as 4-6")
        first, last = int(match[1]), int(match[2] or match[1])
        within = [kernel.number for kernel in ladder.kernels if first <= kernel.number <= last]
        numbers += within if match[2] and within else [first]
    return ladder.choose(numbers or None)


def ladder_name(settings: Settings) -> str:
    """The name that runs are stored under; a ladder given by its file is asked for its name."""
    from profiler.catalog.ladders.ladder import is_path

    return open_ladder(settings).name if is_path(settings.ladder) else settings.ladder


def rung_of(manifest: Manifest, settings: Settings) -> Kernel | None:
    """The rung that a stored run measured, where the ladder found here has it and its workload."""
    from profiler.errors import LadderNotFound, RungNotFound

    if manifest.ladder is None or manifest.kernel is None:
        return None
    try:
        ladder = open_ladder(settings, manifest.ladder)
        kernel = ladder.kernel(manifest.kernel)
    except (LadderNotFound, RungNotFound):
        return None
    same = ladder.name == manifest.ladder and set(ladder.workload.parameters) == set(manifest.workload or ())
    return kernel if same else None


def workloads(
    ladder: Ladder, sizes: Sequence[str | int] | None, given: list[str] | None
) -> list[dict[str, int]]:
    """What to run: one workload for each --size, changed by every --set-param; no workload twice."""
    from profiler.errors import WorkloadInvalid

    parameters = {}
    for text in given or ():
        name, equals, value = text.partition("=")
        try:
            parameters[name.strip()] = int(value)
        except ValueError:
            equals = ""
        if not equals:
            raise WorkloadInvalid(f"--set-param {text}: give a name and a whole number, such as m=4096")
    chosen: Sequence[str | int | None] = sizes or [None]
    shapes = [ladder.workload.values(size, parameters) for size in chosen]
    return [values for place, values in enumerate(shapes) if values not in shapes[:place]]


def build_rungs(
    ladder: Ladder, kernels: Sequence[Kernel], arch: str, settings: Settings, jobs: int | None = None
) -> dict[int, Built]:
    """Every compiled kernel by its number, built if it changed; what did not compile is told at once."""
    from profiler.measure.rungs.build import build_kernels
    from profiler.measure.tools.toolchain import find_toolchain

    compiled = [kernel for kernel in kernels if kernel.is_compiled]
    if not compiled:
        return {}
    toolchain = find_toolchain()
    done = {}
    with Progress("building", len(compiled), settings) as progress:
        for built in build_kernels(ladder, compiled, arch, toolchain, jobs):
            done[built.kernel.number] = built
            progress.advance(built.status if built.error else _said(built, arch), built.error)
    return done


def _said(built: Built, arch: str) -> str:
    """Of one that did not change, only what should never be forgotten."""
    record = built.record
    if record is None or (built.status == "unchanged" and not record.fast_math):
        return ""
    facts = [f"{built.status:<12}{built.kernel}"]
    if built.status == "built":
        facts += [arch, f"{record.seconds:.1f} s"]
    if record.fast_math:
        facts.append("with fast math, as the ladder asks")
    if built.status == "built" and record.without:
        facts.append(f"without {' and '.join(record.without)}")
    return ", ".join(facts)


def raise_failures(errors: Sequence[ProfError], total: int, what: str) -> None:
    """One failure of one step as it is; of several, told one by one before, how many there were."""
    from profiler.errors import ProgramFailed

    if not errors:
        return
    if total == 1:
        raise errors[0]
    message = f"{len(errors)} of {total} {what}"
    if len({type(error) for error in errors}) > 1:
        raise ProgramFailed(message, remedy="Each of them is told above, with its command.")
    raise type(errors[0])(message, remedy=errors[0].remedy)
