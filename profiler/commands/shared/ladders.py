"""Chooses and builds kernels for the verbs that run a ladder's kernels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from profiler.catalog.ladders.ladder import Kernel, Ladder
from profiler.commands.shared.misuse import Misuse
from profiler.commands.shared.options import VerbSettings
from profiler.commands.shared.progress import Progress
from profiler.errors import ProfError, ProgramFailed
from profiler.measuring.rungs.build import BuildStatus, Built, build_kernels
from profiler.measuring.tools.toolchain import find_toolchain
from profiler.text import ends_of_range


def choose_rungs(ladder: Ladder, given: Sequence[str] | None) -> list[Kernel]:
    """Returns the kernels with these numbers and ranges in the ladder's order, or all when none is given."""
    numbers: list[int] = []
    for text in given or ():
        ends = ends_of_range(text)
        if ends is None:
            raise Misuse(f"--kernel {text}: give a number, or a range such as 4-6")
        within = [kernel.number for kernel in ladder.kernels if ends[0] <= kernel.number <= ends[1]]
        numbers += within or [ends[0]]
    return ladder.choose(numbers or None)


def build_rungs(
    ladder: Ladder, kernels: Sequence[Kernel], arch: str, settings: VerbSettings, jobs: int | None
) -> dict[int, Built]:
    """Compiles the kernels that changed and returns every compiled one by its number; prints failures at once."""
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


def usable_kernels(kernels: Sequence[Kernel], built: Mapping[int, Built]) -> list[Kernel]:
    """Returns the kernels that were built, or need no build."""
    return [one for one in kernels if one.number not in built or built[one.number].error is None]


def build_errors(built: Mapping[int, Built], *statuses: BuildStatus) -> list[ProfError]:
    """Returns the errors of the kernels whose build has one of these statuses."""
    return [one.error for one in built.values() if one.error is not None and one.status in statuses]


def _said(built: Built, arch: str) -> str:
    """Returns the line for a built kernel; an unchanged kernel gets one only if it uses fast math."""
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
    """Raises the error of a single step as it is, or the number of failures when they were printed one by one."""
    if not errors:
        return
    if total == 1:
        raise errors[0]
    message = f"{len(errors)} of {total} {what}"
    if len({type(error) for error in errors}) > 1:
        raise ProgramFailed(message, remedy="Each of them is printed above, with its command.")
    raise errors[0].changed(message, details=())
