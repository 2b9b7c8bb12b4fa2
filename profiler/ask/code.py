"""Finds the machine code of one kernel or of two, and checks whether that of files, reports and runs changed."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from profiler.analyse.causes.elsewhere import find_elsewhere
from profiler.analyse.code.code import Instruction, read_code
from profiler.analyse.code.hot_loop import LoopSheet
from profiler.analyse.code.machine_code import CodeView, view_machine_code
from profiler.analyse.code.regions import Region
from profiler.analyse.code.sameness import CodeCheck, Functions, check_code
from profiler.analyse.recording.main_shape import of_main_shape
from profiler.analyse.recording.profile import Profile
from profiler.ask.named.meaning import CodePath, find_meaning
from profiler.ask.named.references import open_named
from profiler.ask.named.settings import Settings
from profiler.ask.profiles import diagnose_once, profile_longest, profile_one
from profiler.errors import MetricsMissing
from profiler.measuring.tools.disassembly import disassemble
from profiler.store.runs.run import Run
from profiler.store.tables.columns import labels_of
from profiler.store.tables.instruction_text import opcode_of
from profiler.text import counted


def find_machine_code(
    before: str,
    after: str | None,
    settings: Settings,
    *,
    kernel_name: str | None = None,
    other_kernel: str | None = None,
    whole: bool = False,
) -> CodeView:
    """Returns the hot loop, or the `whole` function, of one kernel or of two: those that take most of the time.

    With `other_kernel`, `kernel_name` chooses only the kernel of the first side.
    """
    references = [before] if after is None else [before, after]
    runs = open_named(references, settings, code=True)
    if other_kernel is None:
        sides, others = profile_longest(runs, settings, kernel_name)
    else:
        chosen_names = zip(runs, (kernel_name, other_kernel), strict=True)
        sides, others = tuple(profile_one(run, settings, name) for run, name in chosen_names), 0
    view = view_machine_code(sides, whole=whole)
    first, *rest = map(_with_first_cause, view.finding.kernels, view.regions, sides)
    if others:
        chosen = f"this kernel takes most of the time; `-k PATTERN` chooses {counted(others, 'other')}"
        first = replace(first, cautions=[chosen, *first.cautions])
    return CodeView(replace(view.finding, kernels=[first, *rest]), view.regions)


def _with_first_cause(sheet: LoopSheet, region: Region, profile: Profile) -> LoopSheet:
    """Returns the figures of a loop, with the first cause of the diagnosis if that is elsewhere in the code."""
    if sheet.scope == "function" or not profile.launches:
        return sheet
    cause = next(iter(diagnose_once(of_main_shape(profile)).causes), None)
    return replace(sheet, first_cause=find_elsewhere(cause, region) if cause else None)


def check_machine_code(baseline: str, candidate: str, settings: Settings) -> CodeCheck:
    """Returns which functions have other machine code than in the baseline, and where each begins to differ."""
    return check_code(*(_functions(one, settings) for one in (baseline, candidate)))


def _functions(reference: str, settings: Settings) -> Functions:
    meant = find_meaning(reference, settings, code=True)
    if isinstance(meant, CodePath):
        listing = disassemble(Path(meant.path))
        return {
            name: [Instruction(offset, opcode_of(text), text) for offset, text in lines]
            for name, lines in listing.items()
        }
    (run,) = open_named([reference], settings, timed=True)
    return _recorded(run)


def _recorded(run: Run) -> Functions:
    """Returns the code of each kernel of a recording by its mangled name."""
    launches = run.table("launches")
    names = dict(zip(labels_of(launches, "kernel"), labels_of(launches, "mangled"), strict=True))
    found = {}
    for kernel, mangled in names.items():
        code = read_code(run, kernel or "")
        if code is not None and mangled:
            found[mangled] = code.instructions
    if not found:
        raise MetricsMissing(
            f"{run.label}: no machine code is recorded",
            remedy="Record with `ncu --section SourceCounters`, or give the cubin.",
        )
    return found
