"""The short form of a finding, for agents: what matters most, in at most 8 KB of JSON.

A finding in, the same type out, so that one schema holds for both; `left_out` counts what it
lacks. Every sentence stays with the figures that it speaks of.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from profiler.analyse.code.hot_loop import LoopSheet
from profiler.analyse.code.machine_code import MachineCode
from profiler.analyse.findings import Comparison, Comparisons
from profiler.analyse.ladder.ideas import Idea, IdeasFinding
from profiler.analyse.ladder.ladder import LadderFinding, MissingRung, RungFinding
from profiler.analyse.listing import Listing
from profiler.analyse.recording.sheet import Sheet, SheetMetric, Sheets, TimingSheet
from profiler.catalog.metrics import HEADLINE
from profiler.present.brief_comparison import (
    COMPARISON_PLAN,
    COMPARISONS_PLAN,
    cut_comparison,
    cut_comparisons,
)
from profiler.present.budget import LIMIT_BYTES, Cut, Plan, fit
from profiler.store.runs.manifest import Manifest

Finding = TypeVar("Finding", bound=Struct)


def brief(finding: Finding, wanted: Sequence[str] = (), limit: int = LIMIT_BYTES) -> Finding:
    """`wanted` metrics, by prof's name or ncu's, are as important as the headline."""
    cut, plan = _HOW[type(finding)]
    return fit(finding, lambda whole, room: cut(whole, room, wanted), plan, limit)


# A sheet


def _sheets(whole: Sheets, cut: Cut, _: Sequence[str]) -> Sheets:
    """The kernels that took most time first."""
    kept = cut.first("kernels", sorted(whole.kernels, key=_time_ns, reverse=True))
    return replace(whole, run=_manifest(whole.run, cut), kernels=[_sheet(one, cut) for one in kept])


def _sheet(whole: Sheet, cut: Cut) -> Sheet:
    evidence = {name for suspect in whole.suspects for name in suspect.evidence}
    cautions = " ".join(whole.cautions)

    def rank(metric: SheetMetric) -> int:
        if metric.name in HEADLINE:
            return HEADLINE.index(metric.name)
        return len(HEADLINE) + (metric.name not in evidence and metric.name not in cautions)

    rules = cut.first("rules", whole.rules)
    return replace(
        whole,
        nvtx=cut.first("nvtx", whole.nvtx),
        metrics=cut.first("metrics", sorted(whole.metrics, key=rank)),
        rules=rules,
        rules_left_out=whole.rules_left_out + len(whole.rules) - len(rules),
        cautions=cut.first("cautions", whole.cautions),
        suspects=cut.first("suspects", whole.suspects),
        suspects_missing=cut.first("suspects_missing", whole.suspects_missing),
    )


def _time_ns(sheet: Sheet) -> float:
    return sum(one.mean * sheet.launches for one in sheet.metrics if one.name == "duration_ns")


def _timing_sheet(whole: TimingSheet, cut: Cut, _: Sequence[str]) -> TimingSheet:
    return replace(whole, run=_manifest(whole.run, cut))


def _manifest(whole: Manifest, cut: Cut) -> Manifest:
    """What was measured and how; the files that hold it come last."""
    provenance = next(iter(cut.first("run.provenance", [one for one in [whole.provenance] if one])), None)
    return replace(
        whole,
        reports=cut.first("run.reports", whole.reports),
        kernels=cut.first("run.kernels", whole.kernels),
        tables=dict(cut.first("run.tables", list(whole.tables.items()))),
        metrics=cut.first("run.metrics", whole.metrics),
        provenance=provenance
        and replace(provenance, sources=dict(cut.first("run.sources", list(provenance.sources.items())))),
    )


_SHEETS_PLAN = (
    ("kernels", 1), ("cautions", 3), ("suspects", 1), ("metrics", 3), ("kernels", 4), ("metrics", 7),
    ("suspects", 3), ("suspects_missing", 3), ("nvtx", 2), ("kernels", 8), ("metrics", 12), ("rules", 2),
    ("run.provenance", 1), ("suspects", 6), ("metrics", 16), ("metrics", 20), ("rules", 4), ("metrics", 24),
)  # fmt: skip


# The ladder

_NO_ROOM = "cut from the short form"


def _ladder(whole: LadderFinding, cut: Cut, _: Sequence[str]) -> LadderFinding:
    """The reference, the rung that the climb begins with, and the fastest; of each as many metrics."""
    ranked = sorted(whole.kernels, key=lambda one: (one.before is not None, one.duration_ns or math.inf))
    kept = {one.kernel for one in cut.first("kernels", ranked)}
    return replace(
        whole,
        kernels=[_rung(one, cut) for one in whole.kernels if one.kernel in kept],
        missing=_missing(whole, [one for one in whole.kernels if one.kernel not in kept], cut),
    )


def _missing(
    whole: LadderFinding | IdeasFinding, dropped: Sequence[RungFinding | Idea], cut: Cut
) -> list[MissingRung]:
    """What is not recorded, and what is for want of room, each by its number."""
    rungs = [*whole.missing, *(MissingRung(one.kernel, one.name, _NO_ROOM) for one in dropped)]
    return cut.first("missing", sorted(rungs, key=lambda one: one.kernel))


def _rung(whole: RungFinding, cut: Cut) -> RungFinding:
    return replace(
        whole,
        metrics=dict(cut.first("metrics", sorted(whole.metrics.items(), key=_said_elsewhere))),
        delta=dict(cut.first("delta", sorted(whole.delta.items(), key=_said_elsewhere))),
        refused=cut.first("refused", whole.refused),
        warnings=cut.first("warnings", whole.warnings),
    )


def _said_elsewhere(metric: tuple[str, object]) -> bool:
    """By the rung's own duration and its change, or by the pipe that those instructions go to."""
    return metric[0] in ("duration_ns", "lsu_inst_share_pct")


_LADDER_PLAN = (
    ("kernels", 4), ("missing", 8), ("missing", 16), ("kernels", 8), ("kernels", 12), ("refused", 2), ("warnings", 2), ("metrics", 3),
    ("metrics", 5), ("delta", 3), ("metrics", 7), ("delta", 5), ("kernels", 16), ("delta", 7),
    ("refused", 6), ("warnings", 6), ("metrics", 9), ("delta", 9), ("metrics", 12), ("delta", 12), ("kernels", 32), ("missing", 64),
)  # fmt: skip


# What ideas were worth


def _ideas(whole: IdeasFinding, cut: Cut, _: Sequence[str]) -> IdeasFinding:
    """Those of which something is claimed first."""
    ranked = sorted(whole.ideas, key=lambda idea: idea.claim is None)
    kept = {one.kernel for one in cut.first("ideas", ranked)}
    return replace(
        whole,
        ideas=[
            replace(
                one,
                refused=cut.first("refused", one.refused),
                warnings=cut.first("warnings", one.warnings),
            )
            for one in whole.ideas
            if one.kernel in kept
        ],
        missing=_missing(whole, [one for one in whole.ideas if one.kernel not in kept], cut),
    )


_IDEAS_PLAN = (
    ("ideas", 8), ("missing", 16), ("refused", 2), ("warnings", 2), ("ideas", 16), ("refused", 6), ("warnings", 6),
    ("ideas", 32), ("missing", 64),
)  # fmt: skip


# Machine code


def _machine_code(whole: MachineCode, cut: Cut, _: Sequence[str]) -> MachineCode:
    return replace(
        whole,
        kernels=[_loop_sheet(one, cut) for one in whole.kernels],
        changes=cut.first("changes", whole.changes),
    )


def _loop_sheet(whole: LoopSheet, cut: Cut) -> LoopSheet:
    opcodes = cut.first("opcodes", whole.opcodes)
    return replace(
        whole,
        operands=[
            replace(one, loads=cut.first("loads", one.loads), places=cut.first("places", one.places))
            for one in whole.operands
        ],
        opcodes=[replace(one, places=cut.first("places", one.places)) for one in opcodes],
        opcodes_left_out=whole.opcodes_left_out + len(whole.opcodes) - len(opcodes),
        cautions=cut.first("cautions", whole.cautions),
    )


_MACHINE_CODE_PLAN = (
    ("changes", 2), ("cautions", 3), ("loads", 4), ("opcodes", 4), ("opcodes", 8), ("places", 1),
    ("opcodes", 16), ("places", 3), ("opcodes", 100),
)  # fmt: skip


# What is stored


def _listing(whole: Listing, cut: Cut, _: Sequence[str]) -> Listing:
    """The newest runs, in the order they stood in."""
    newest = sorted(
        range(len(whole.runs)), key=lambda place: str(whole.runs[place]["recorded"]), reverse=True
    )
    kept = sorted(cut.first("runs", newest))
    return replace(
        whole,
        kernels=cut.first("kernels", whole.kernels),
        runs=[whole.runs[place] for place in kept],
    )


_LISTING_PLAN = (
    ("runs", 4), ("kernels", 4), ("runs", 8), ("kernels", 16), ("runs", 16), ("runs", 24), ("runs", 32),
    ("kernels", 32),
)  # fmt: skip


_HOW: dict[type[Struct], tuple[Callable[[Any, Cut, Sequence[str]], Any], Plan]] = {
    Comparison: (cut_comparison, COMPARISON_PLAN),
    Comparisons: (cut_comparisons, COMPARISONS_PLAN),
    Sheets: (_sheets, _SHEETS_PLAN),
    TimingSheet: (_timing_sheet, (("run.provenance", 1),)),
    LadderFinding: (_ladder, _LADDER_PLAN),
    IdeasFinding: (_ideas, _IDEAS_PLAN),
    MachineCode: (_machine_code, _MACHINE_CODE_PLAN),
    Listing: (_listing, _LISTING_PLAN),
}
