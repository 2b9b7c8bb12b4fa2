"""Checks whether machine code changed: that of files, of reports and of runs."""

from __future__ import annotations

from pathlib import Path

from profiler.analyse.code.code import Instruction, read_code
from profiler.analyse.code.sameness import CodeCheck, Functions, check_code
from profiler.ask.named.references import open_named
from profiler.ask.named.settings import Settings
from profiler.errors import MetricsMissing
from profiler.measure.tools.disassembly import disassemble, is_code_path
from profiler.store.runs.run_store import Run
from profiler.store.tables.columns import labels_of
from profiler.store.tables.instruction_text import opcode_of


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
