"""Did a kernel get worse than a baseline, beyond noise and beyond what a project allows?

Two profiles and thresholds in; a `PairCheck` out. The duration decides; another metric fails only
where a threshold is declared for it. Where the launches cannot decide, the outcome is unclear, never passed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Annotated, Literal

from msgspec import Meta, Struct
from msgspec.structs import replace

from profiler.analyse import findings
from profiler.analyse.agreed_names import WithAgreedNames
from profiler.analyse.causes.cause import Cause, Headline
from profiler.analyse.causes.diagnose import Diagnose, diagnose
from profiler.analyse.causes.headline import headline_of
from profiler.analyse.compare.changes import PairChange, compare_pair, judge_speedup
from profiler.analyse.compare.comparable import may_be_others
from profiler.analyse.compare.compare import compare_profiles, durations_of, measured_ns
from profiler.analyse.compare.timings_alone import headline_of_times
from profiler.analyse.compare.why import main_factors
from profiler.analyse.importance import Importance
from profiler.analyse.recording.kernel_names import plain_name
from profiler.analyse.recording.main_shape import pair_of_main_shapes
from profiler.analyse.recording.profile import Profile, require_metrics
from profiler.analyse.statistics.differences import are_identical
from profiler.catalog.metrics import DURATION, SMALLEST_RELATIVE_EFFECT
from profiler.catalog.project import Threshold
from profiler.errors import NotComparable
from profiler.text import change_text, duration, number, relative, shortened

_NAME_WIDTH = 40

Outcome = Literal["passed", "regression", "unclear", "not_comparable"]
_IDENTICAL: tuple[Outcome, findings.Reason] = ("passed", "identical")
NOT_PASSED: tuple[Outcome, ...] = ("regression", "not_comparable", "unclear")
_WORST_FIRST: tuple[Outcome, ...] = (*NOT_PASSED, "passed")


def _worst_first(one: MetricCheck | PairCheck, *_: object) -> int:
    return _WORST_FIRST.index(one.outcome)


class MetricCheck(Struct, frozen=True):
    """One limit. `change_pct` is null where the baseline is zero, its interval also where there is none.

    `accepted` says who accepted a change beyond the limit, when and why, and `accepted_after` up to which figure. The
    outcome is then `passed`, or `regression` if it is worse by now. `verdict` judges the change without the limit, as
    `prof compare` does: a certain gain is `better`. A single launch that passes with the reason `beyond_launches` got better by more
    than launches of one kernel differ.
    """

    metric: str
    unit: str
    basis: findings.Basis
    before: float
    after: float
    change_pct: float | None
    ci_pct: findings.CI | None
    way: Annotated[Literal["rise", "fall"], Meta(description="The direction that `limit_pct` limits.")]
    limit_pct: float
    outcome: Outcome
    reason: findings.Reason
    accepted: str = ""
    verdict: findings.VerdictName | None = None
    accepted_after: float | None = None

    @property
    def is_accepted(self) -> bool:
        """Returns whether a regression passes because somebody accepted it."""
        return bool(self.accepted) and self.outcome == "passed"

    @property
    def is_faster(self) -> bool:
        """Returns whether the time fell beyond noise, or in single launches by more than launches of one kernel differ."""
        if self.metric != DURATION or not (self.change_pct or 0.0) < 0.0:
            return False
        return self.verdict == "better" or self.reason == "beyond_launches"


class PairCheck(WithAgreedNames, Struct, frozen=True):
    """One kernel against its baseline; `refused` says why the two are not comparable.

    `what` says which limits were exceeded, or how much faster it got. For a regression of the time, `why` says what
    caused it, and `next` what to change. If the two are different kernels and `-k` does not choose them, `why` says what
    limits the second.
    `factors` are the two that changed the time most, as the attribution of `prof compare` has them, and `cause` is the
    first of its causes. `doubt` says why the two may be different kernels: the outcome is then `unclear` at best, unless
    `doubt_accepted` says who accepted that.
    """

    name: str
    kernel: str
    before: str
    after: str
    outcome: Outcome
    refused: list[str]
    warnings: Annotated[list[str], Importance(80, each=4)]
    checks: Annotated[list[MetricCheck], Importance(95, each=2, by=_worst_first)]
    why: str = ""
    next: str = ""
    what: str = ""
    factors: list[findings.Factor] = []
    cause: Cause | None = None
    doubt: str = ""
    doubt_accepted: str = ""
    kernel_name: str = ""
    cautions: Annotated[list[str], Importance(80, each=4)] = []

    @property
    def is_itself(self) -> bool:
        """Returns whether both sides are the same recording, which proves nothing about the code."""
        return self.before == self.after

    @property
    def is_doubted(self) -> bool:
        """Returns whether the two may be different kernels that were not chosen as a pair."""
        return bool(self.doubt) and not self.doubt_accepted


class AcceptedRemoval(Struct, frozen=True):
    """A kernel or a recording that only the baseline has; `accepted` says who accepted that, when and why."""

    name: str
    accepted: str


class CheckFinding(Struct, frozen=True):
    """`headline` says what failed and counts the rest; `outcome` is the worst of all; `notes` list what was left out.

    `gone` are the kernels, and `missing` the recordings, that only the baseline has. Whether they got worse is not known, so with
    any of them the outcome is `unclear` at best. Kernels and recordings whose removal was accepted are in `removed` instead.
    `new` are the recordings that only the candidate has.
    """

    headline: Headline
    schema_version: int
    outcome: Outcome
    pairs: Annotated[list[PairCheck], Importance(100, each=0.5, by=_worst_first)]
    notes: Annotated[list[str], Importance(70, each=2)]
    gone: Annotated[list[str], Importance(99, each=2)] = []
    missing: Annotated[list[str], Importance(99, each=2)] = []
    new: Annotated[list[str], Importance(85, each=2)] = []
    removed: Annotated[list[AcceptedRemoval], Importance(85, each=2)] = []
    left_out: findings.LeftOut = {}


def check_pair(
    name: str,
    before: Profile,
    after: Profile,
    limits: Iterable[Threshold],
    diagnose: Diagnose = diagnose,
    *,
    chosen: bool = False,
) -> PairCheck:
    """Checks one pair; `diagnose` finds the causes of a regression, and `chosen` says that a person chose both kernels.

    A pair that must not be compared is an outcome too, so that the others are still checked.
    """
    on_duration, *others = limits
    has_counters = bool(before.launches and after.launches)
    before, after, narrowed = pair_of_main_shapes(before, after) if has_counters else (before, after, [])
    named = [one.metric.name for one in others if has_counters]
    try:
        change = compare_pair(before, after, named, names_are_said=True)
        checks = [_duration_check(before, after, change, on_duration)]
    except NotComparable as error:
        refused = [line.strip() for line in error.details] or [error.message]
        return _pair(name, before, after, "not_comparable", refused=refused)
    if has_counters:
        checks += [_metric_check(change, limit) for limit in others]
    unchecked = ["timings alone: only the duration was checked"] if others and not has_counters else []
    different = _different_names(before, after) if has_counters else ""
    # Different names are a doubt if these may be other kernels, and else a caution.
    doubt = different if different and not chosen and may_be_others(before, after) else ""
    renamed = [different] if different and not doubt else []
    warnings = [*renamed, *narrowed, *change.warnings, *unchecked]
    outcome = worst([*(one.outcome for one in checks), "unclear" if doubt else "passed"])
    pair = replace(_pair(name, before, after, outcome), warnings=warnings, checks=checks, doubt=doubt)
    if outcome == "regression" and has_counters:
        return _explained(pair, before, after, diagnose, does_same_work=chosen)
    if checks[0].is_faster and (faster := headline_of_times(before, after, change.speedup)):
        return replace(pair, what=faster.what)
    return pair


def _different_names(before: Profile, after: Profile) -> str:
    """Returns that the kernels have different names; "" where they have not."""
    if before.kernel == after.kernel:
        return ""
    names = [shortened(plain_name(side.kernel), _NAME_WIDTH) for side in (before, after)]
    return f"the kernels have different names: {' and '.join(names)}"


def _explained(
    pair: PairCheck, before: Profile, after: Profile, diagnose: Diagnose, *, does_same_work: bool
) -> PairCheck:
    """Returns a regression with what failed; only for the time does it say why, and what to change."""
    found = compare_profiles(before, after, diagnose=diagnose, does_same_work=does_same_work)
    said = found.headline or Headline("", "", "")
    pair = replace(pair, factors=main_factors(found.attribution), cause=next(iter(found.causes), None))
    failed = [one for one in pair.checks if one.outcome == "regression"]
    others = ", ".join(failure_text(one) for one in failed if one.metric != DURATION)
    if failed[0].metric != DURATION:
        return replace(pair, what=f"{others}. {said.what}".strip())
    what = f"{said.what} Besides: {others}." if others else said.what
    # No comparison of different kernels says why the second takes longer: its own first cause does.
    reason = headline_of(after, diagnose(after), after.launches) if found.different_kernels else said
    return replace(pair, what=what, why=reason.why, next=f"{reason.next} {reason.note}".rstrip())


def failure_text(one: MetricCheck) -> str:
    """Returns what went beyond a limit: registers 40 -> 122 (+205.00 %, allowed 0 %)."""
    before, after = (value_text(value, one.unit) for value in (one.before, one.after))
    return f"{one.metric} {before} -> {after} ({change_of(one)}, allowed {allowed(one)})"


def change_of(one: MetricCheck) -> str:
    """Returns the change in percent, with its interval."""
    if one.change_pct is None:
        return relative(one.before, one.after)
    return change_text(one.change_pct, one.ci_pct)


def allowed(one: MetricCheck) -> str:
    sign = "" if one.limit_pct == 0 else "+" if one.way == "rise" else "-"
    return f"{sign}{one.limit_pct:g} %"


def value_text(value: float, unit: str) -> str:
    return duration(value) if unit == "ns" else number(value)


def _pair(
    name: str, before: Profile, after: Profile, outcome: Outcome, refused: Sequence[str] = ()
) -> PairCheck:
    left, right = (side.manifest.run_id if side.stored else side.label for side in (before, after))
    return PairCheck(
        name=name,
        kernel=after.kernel,
        before=left,
        after=right,
        outcome=outcome,
        refused=list(refused),
        warnings=[],
        checks=[],
    )


def worst(outcomes: Collection[Outcome]) -> Outcome:
    """Returns the worst outcome; of none, `passed`."""
    return min(outcomes, key=_WORST_FIRST.index, default="passed")


def _duration_check(before: Profile, after: Profile, change: PairChange, limit: Threshold) -> MetricCheck:
    """Checks the duration, without the profiler where both sides were timed so."""
    speedup = change.speedup
    if speedup is None:
        require_metrics([DURATION], (before, after))
        raise NotComparable(
            f"{before.label} and {after.label}: a duration that is not above zero",
            remedy="Such a recording is damaged or empty: record it again.",
        )
    left_ns, right_ns = measured_ns(before, after, speedup.basis)
    worse = 1.0 / speedup.ratio - 1.0
    interval = speedup.ci and (1.0 / speedup.ci[1] - 1.0, 1.0 / speedup.ci[0] - 1.0)
    if are_identical(*(durations_of(profile, speedup.basis) for profile in (before, after))):
        outcome, reason = _IDENTICAL
    elif interval:
        outcome, reason = _decide(worse, interval, limit.limit_pct / 100.0, SMALLEST_RELATIVE_EFFECT)
    else:
        outcome, reason = _without_interval(change.reason_of_time, worse, limit.limit_pct / 100.0)
    return MetricCheck(
        metric=DURATION,
        unit="ns",
        basis=speedup.basis,
        before=left_ns,
        after=right_ns,
        change_pct=100.0 * worse,
        ci_pct=None if interval is None else (100.0 * interval[0], 100.0 * interval[1]),
        way="rise",
        limit_pct=limit.limit_pct,
        outcome=outcome,
        reason=reason,
        verdict=judge_speedup(speedup),
    )


def _metric_check(change: PairChange, limit: Threshold) -> MetricCheck:
    delta = next(one for one in change.metrics if one.name == limit.metric.name)
    percent = 100.0 / abs(delta.before) if delta.before else None
    outcome, reason = _judge_metric(delta, limit)
    return MetricCheck(
        metric=delta.name,
        unit=delta.unit,
        basis="profiled",
        before=delta.before,
        after=delta.after,
        change_pct=delta.delta * percent if percent else None,
        ci_pct=(delta.ci[0] * percent, delta.ci[1] * percent) if percent and delta.ci else None,
        way=limit.way,
        limit_pct=limit.limit_pct,
        outcome=outcome,
        reason=reason,
        verdict=delta.verdict,
    )


def _judge_metric(delta: findings.MetricDelta, limit: Threshold) -> tuple[Outcome, findings.Reason]:
    """Judges in the metric's own unit, so that a baseline of zero works as well."""
    if delta.reason == "identical":
        return _IDENTICAL
    sign = 1.0 if limit.way == "rise" else -1.0
    allowed = limit.limit_pct / 100.0 * abs(delta.before)
    if delta.ci is None:
        return _without_interval(delta.reason, sign * delta.delta, allowed)
    interval = sorted(sign * end for end in delta.ci)
    trifle = SMALLEST_RELATIVE_EFFECT * max(abs(delta.before), abs(delta.after))
    negligible = max(limit.metric.smallest_effect, trifle)
    outcome, reason = _decide(sign * delta.delta, interval, allowed, negligible)
    if outcome == "regression" and delta.verdict == "unclear":  # whatever the interval alone would say
        return "unclear", delta.reason
    if outcome == "unclear" and delta.reason == "within_effect_size":  # of the whole that it counts a part of
        return "passed", ""
    return outcome, delta.reason if outcome == delta.verdict == "unclear" else reason


def _without_interval(
    reason: findings.Reason, worse: float, allowed: float
) -> tuple[Outcome, findings.Reason]:
    """Returns the outcome of single launches. Only a difference beyond that between launches of one kernel decides anything.

    What got better by so much passes. What got worse by so much is a regression if that is more than is allowed. Otherwise it is
    unclear, because the next launch may be that much worse again.
    """
    if reason != "beyond_launches":
        return "unclear", reason
    if worse < 0.0:
        return "passed", reason
    return "regression" if worse > allowed else "unclear", reason


def _decide(
    worse: float, interval: Sequence[float], allowed: float, negligible: float
) -> tuple[Outcome, findings.Reason]:
    """Returns the outcome and why; `worse` above zero is a loss, and `negligible` is what `prof compare` calls the same.

    Certainly worse, and by more than is allowed: a regression. An interval that contains both a regression and a change that passes:
    unclear. A limit below `negligible` applies only to what is certain.
    """
    low, high = interval
    if low > 0.0 and worse > allowed:
        return "regression", ""
    if high > max(allowed, negligible):
        return "unclear", "interval_spans_limit" if low > 0.0 else "interval_spans_zero"
    return "passed", ""
