"""Finds the machine code of one kernel or of two, and checks whether that of files, reports and runs changed."""

from __future__ import annotations

from pathlib import Path

from profiler.analyse.code.alignment import CodeCheck, Functions, check_code
from profiler.analyse.code.code import Instruction, read_code
from profiler.analyse.code.machine_code import CodeView, view_machine_code
from profiler.ask.named.references import open_named
from profiler.ask.named.settings import Settings
from profiler.ask.profiles import profile_one, profile_pairs
from profiler.errors import MetricsMissing
from profiler.measure.tools.disassembly import disassemble, is_code_path
from profiler.store.runs.run_store import Run
from profiler.store.tables.columns import labels_of
from profiler.store.tables.instruction_text import opcode_of


def find_machine_code(
    before: str,
    after: str | None,
    settings: Settings,
    *,
    kernel_name: str | None = None,
    nvtx: str | None = None,
    whole: bool = False,
    size: str | int | None = None,
) -> CodeView:
    """Returns the hot loop, or the `whole` function, of one kernel or of two."""
    references = [before] if after is None else [before, after]
    runs = open_named(references, settings, size=size, nvtx=nvtx, code=True)
    if len(runs) == 1:
        return view_machine_code([profile_one(runs[0], settings, kernel_name)], whole=whole)
    (pair,) = profile_pairs(runs[0], runs[1], settings, kernel_name, every=False)
    return view_machine_code(pair, whole=whole)


def check_machine_code(baseline: str, candidate: str, settings: Settings) -> CodeCheck:
    """Returns which functions have other machine code than in the baseline, and where each begins to differ."""
    return check_code(*(_functions(one, settings) for one in (baseline, candidate)))


def _functions(reference: str, settings: Settings) -> Functions:
    if settings.reach is None and is_code_path(reference):
        listing = disassemble(Path(reference))
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
