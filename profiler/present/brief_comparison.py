"""The short form of a comparison: what changed, what it confirms, why, and what binds now."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from profiler.analyse.findings import (
    SETTLED,
    Attribution,
    Comparison,
    Comparisons,
    HotLoop,
    Instructions,
    MetricDelta,
)
from profiler.catalog.metrics import DURATION, HEADLINE
from profiler.present.budget import Cut

_CLOCK = "sm_frequency_hz"
_NOT_TELLING = 4


def cut_comparison(whole: Comparison, cut: Cut, wanted: Sequence[str]) -> Comparison:
    return replace(
        whole,
        comparable=replace(whole.comparable, warnings=cut.first("warnings", whole.comparable.warnings)),
        metrics=_deltas(whole, cut, {*wanted, *HEADLINE}),
        missing=cut.first("missing", whole.missing),
        confirmations=cut.first("confirmations", whole.confirmations),
        attribution=_attribution(whole, cut),
        attribution_missing=cut.first("attribution_missing", whole.attribution_missing),
        instructions=_instructions(whole.instructions, cut),
        suspects=cut.first("suspects", whole.suspects),
        suspects_missing=cut.first("suspects_missing", whole.suspects_missing),
    )


def _deltas(whole: Comparison, cut: Cut, first: set[str]) -> list[MetricDelta]:
    """The headline, what the cautions are about, what changed most, and what too few launches cannot tell."""
    cautions = " ".join(whole.comparable.warnings)

    def rank(delta: MetricDelta) -> int:
        moved = delta.verdict not in SETTLED
        if {delta.name, delta.ncu} & first:
            return 0
        if delta.name in cautions or (delta.name == _CLOCK and moved):
            return 1
        if moved:
            return 2
        return 3 if delta.reason == "too_few_launches" else _NOT_TELLING

    def counted_as(delta: MetricDelta) -> str:
        return f"metrics_{delta.verdict}"

    ranked = sorted(whole.metrics, key=rank)
    telling = [delta for delta in ranked if rank(delta) < _NOT_TELLING]
    cut.leave_out(ranked[len(telling) :], counted_as)
    return cut.first("metrics", telling, counted_as)


def _attribution(whole: Comparison, cut: Cut) -> Attribution | None:
    for one in cut.first("attribution", [one for one in [whole.attribution] if one]):
        return replace(one, stalls=cut.first("stalls", one.stalls), traffic=cut.first("traffic", one.traffic))
    return None


def _instructions(whole: Instructions, cut: Cut) -> Instructions:
    changed = [one for one in whole.opcodes if one.before != one.after]
    cut.leave_out([one for one in whole.opcodes if one.before == one.after], lambda _: "opcodes")
    loop = whole.hot_loop
    return Instructions(
        cut.first("opcodes", changed),
        loop
        and HotLoop(
            cut.first("hot_loop", loop.before),
            cut.first("hot_loop", loop.after),
            loop.per,
            cut.first("changes", loop.changes),
        ),
    )


def cut_comparisons(whole: Comparisons, cut: Cut, wanted: Sequence[str]) -> Comparisons:
    """The kernels that gained or lost most time first."""
    ranked = sorted(whole.comparisons, key=_time_changed_ns, reverse=True)
    kept = cut.first("comparisons", ranked)
    return replace(whole, comparisons=[cut_comparison(one, cut, wanted) for one in kept])


def _time_changed_ns(comparison: Comparison) -> float:
    """Over all launches; nothing where the duration is not known."""
    durations = [one for one in comparison.metrics if one.name == DURATION]
    return sum(
        abs(one.after * comparison.after.launches - one.before * comparison.before.launches)
        for one in durations
    )


COMPARISON_PLAN = (
    ("warnings", 2), ("metrics", 1), ("confirmations", 1), ("attribution", 1), ("attribution_missing", 3),
    ("suspects", 1), ("suspects_missing", 3), ("metrics", 7), ("warnings", 6), ("stalls", 3), ("traffic", 3),
    ("changes", 2), ("opcodes", 4), ("suspects", 3), ("metrics", 10), ("stalls", 5), ("opcodes", 8),
    ("confirmations", 4), ("metrics", 13), ("suspects", 4), ("hot_loop", 4), ("missing", 6), ("hot_loop", 8),
    ("suspects", 6), ("opcodes", 12), ("metrics", 16),
)  # fmt: skip
COMPARISONS_PLAN = (
    ("comparisons", 1), ("warnings", 2), ("metrics", 1), ("comparisons", 4), ("comparisons", 8),
    ("confirmations", 1), ("suspects", 1), *COMPARISON_PLAN, ("comparisons", 16),
)  # fmt: skip
