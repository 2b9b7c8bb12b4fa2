"""Decides the verdict that the readings of metrics allow: better, worse, changed, same, or unclear and why.

Pairs of `Series` in, one `MetricDelta` each out. A difference must be certain and large enough to matter: as a
part of the metric, and of the whole that it belongs to, as bank conflicts belong to all wavefronts. Certainty
allows for how many metrics were asked about, in three questions that do not dilute each other. Did the
duration change, which decides? Did what the comparison leads with, or what was asked for by name? Did any
other metric? Of the differences that answer a question, at most 5 % on average are there by chance. Where
nothing differs, that is also how often a question is answered wrongly at all.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from profiler.analyse.findings import SETTLED, MetricDelta, Reason, VerdictName
from profiler.analyse.recording.profile import Series
from profiler.analyse.statistics.differences import (
    Interval,
    Readings,
    are_identical,
    discoveries,
    mean_difference,
)
from profiler.analyse.statistics.single_launches import is_metric_beyond_launches
from profiler.catalog.metrics import (
    DURATION,
    HEADLINE,
    SMALLEST_RELATIVE_EFFECT,
    SMALLEST_SHARE_OF_WHOLE,
    Metric,
)

# Timers tick: a few equal readings do not mean that there is no noise.
_FEWEST_EQUAL_LAUNCHES = 5


class Judgement(NamedTuple):
    """The verdict of one metric alone; `p_value` is None where chance has no part in the verdict."""

    interval: Interval | None
    verdict: VerdictName
    reason: Reason
    p_value: float | None = None


def judge_metrics(pairs: Sequence[tuple[Series, Series]], wanted: Collection[str]) -> list[MetricDelta]:
    """Returns each metric's change, in the order given; `wanted` are the names of those asked for."""
    recorded = {before.metric.name: (before, after) for before, after in pairs}
    wholes = [_whole(before.metric, recorded) for before, _ in pairs]
    shortest_ns = min((one.mean for one in recorded.get(DURATION, ())), default=None)
    alone = [
        judge(a.metric, a.values, b.values, whole, shortest_ns)
        for (a, b), whole in zip(pairs, wholes, strict=True)
    ]
    together = list(alone)
    questions: dict[str, list[int]] = {}
    for index, (before, _) in enumerate(pairs):
        if alone[index].p_value is not None:
            questions.setdefault(_question(before.metric.name, wanted), []).append(index)
    for asked in questions.values():
        answered = discoveries([alone[index].p_value or 0.0 for index in asked])
        for position, index in enumerate(asked):
            if position not in answered and alone[index].verdict not in SETTLED:
                together[index] = alone[index]._replace(verdict="unclear", reason="among_many")
    return [_delta(*pair, judgement) for pair, judgement in zip(pairs, together, strict=True)]


def _whole(metric: Metric, recorded: Mapping[str, tuple[Series, Series]]) -> float:
    """Returns the whole that the metric counts a part of, on the side where this whole is smaller.

    Returns 0 if there is no whole or it is not recorded: then no change is too small a part of it.
    """
    if not metric.part_of or not recorded.keys() >= set(metric.part_of):
        return 0.0
    befores, afters = zip(*(recorded[name] for name in metric.part_of), strict=True)
    return min(math.fsum(one.mean for one in side) for side in (befores, afters))


def _question(name: str, wanted: Collection[str]) -> str:
    if name == DURATION:
        return DURATION
    return "leading" if name in HEADLINE or name in wanted else "other"


def _delta(before: Series, after: Series, judgement: Judgement) -> MetricDelta:
    left, right = before.mean, after.mean
    return MetricDelta(
        name=before.metric.name,
        ncu=after.ncu,
        unit=before.metric.unit,
        before=left,
        after=right,
        delta=right - left,
        ci=judgement.interval,
        verdict=judgement.verdict,
        reason=judgement.reason,
    )


def judge(
    metric: Metric,
    before: Readings,
    after: Readings,
    whole: float = 0.0,
    shortest_ns: float | None = None,
) -> Judgement:
    """Returns the interval of the change, and the verdict that it allows if no other metric is asked about.

    The metric counts a part of the `whole`. `shortest_ns` is how long launches of the shorter side took, if that is known.
    """
    found = mean_difference(before, after)
    interval = found.interval() if found else None
    if are_identical(before, after):
        return Judgement(interval, "same", "identical")
    launches = min(len(before), len(after))
    largest = max(abs(before.mean), abs(after.mean))
    effect = max(metric.smallest_effect, SMALLEST_RELATIVE_EFFECT * largest, SMALLEST_SHARE_OF_WHOLE * whole)
    is_constant = len(set(before)) == len(set(after)) == 1
    if is_constant and (metric.fixed or (metric.is_counted and launches > 1)):
        return _judge_exact(metric, before[0], after[0], effect)
    if found is None or interval is None or (is_constant and launches < _FEWEST_EQUAL_LAUNCHES):
        return _too_few(metric, before, after, effect, shortest_ns)
    p_value = found.p_value() if found.errors else None
    if interval.low <= 0 <= interval.high:
        if max(-interval.low, interval.high) <= effect:
            return Judgement(interval, "same", "within_effect_size", p_value)
        return Judgement(interval, "unclear", "interval_spans_zero", p_value)
    if abs(found.delta) < effect:
        return Judgement(interval, "same", "below_effect_size", p_value)
    return Judgement(interval, _direction(metric, before.mean, after.mean), "", p_value)


def _judge_exact(metric: Metric, before: float, after: float, effect: float) -> Judgement:
    """Returns the verdict on a count that no launch changes, so that it has no noise."""
    delta = after - before
    if abs(delta) < effect and not metric.fixed:
        return Judgement(Interval(delta, delta), "same", "below_effect_size")
    return Judgement(Interval(delta, delta), _direction(metric, before, after), "")


def _too_few(
    metric: Metric, before: Readings, after: Readings, effect: float, shortest_ns: float | None
) -> Judgement:
    """Returns that nothing is certain, and whether the two differ by more than launches of one kernel do, and enough to matter."""
    is_beyond = abs(after.mean - before.mean) >= effect and is_metric_beyond_launches(
        metric.name, before.mean, after.mean, shortest_ns
    )
    return Judgement(None, "unclear", "beyond_launches" if is_beyond else "too_few_launches")


def _direction(metric: Metric, before: float, after: float) -> VerdictName:
    better = metric.better_between(before, after)
    if better is None:
        return "changed"
    return "better" if (after < before) == (better == "lower") else "worse"
