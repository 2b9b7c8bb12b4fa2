"""Says what a comparison found in three sentences: how much faster, why, and what to do next.

The why names the causes that went away, appeared, shrank or grew, the change of the hot loop's loads, and the factors
of the time that changed most.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice, takewhile

from profiler.analyse.causes.cause import Cause, Diagnosis, Headline
from profiler.analyse.causes.headline import has_place, name_and_place, next_text, place_text
from profiler.analyse.findings import Attribution, CauseChange, Factor, Instructions, MetricDelta, Speedup
from profiler.analyse.recording.kernel_names import base_name
from profiler.catalog.causes import TOO_SHORT, UNOPTIMISED
from profiler.catalog.metrics import BY_NAME
from profiler.text import duration, number, report_name, unit_for_people

# A smaller change explains nothing that a reader would act on.
_SAME = 0.01
BY_ORDER = ("the first", "the second")  # what the sides are called that have one name
_MOST_FACTORS = 2
_MOST_SUBJECTS = 2
_TOO_FEW = ", which are too few to decide it"
_NO_CAUSE = "No cause that prof knows went, came or changed by 5 % of the time."
# The cost of a cause that depends on the duration alone changes with the duration, and is no reason for it.
_OF_THE_DURATION = frozenset({TOO_SHORT})
# These follow from how the kernel was launched, and are no reason either while the launch is as it was.
_OF_THE_LAUNCH = frozenset((
    "grid-too-small", "uneven-last-wave", "block-too-small", "registers-limit-occupancy", "shared-memory-limits-occupancy",
    "block-size-limits-occupancy",
))  # fmt: skip
_UNOPTIMISED = "The compiler optimised neither side, and of such code prof names no other cause."
_NOT_KNOWN = "Which causes went or came is not known: one side, or both, lack the counters for it."
_ONE_KERNEL = (
    "The counters do not say. They are of one kernel alone, which takes only a part of the time of {}."
)
_UNDECIDED = "Whether {} went or came is not known: the other side's recording could not show it."
_NOTHING_TO_EXPLAIN = "There is nothing to explain: the times are as good as the same."
# A cause that would save less is not missed when it is gone, and one that changed by less has not changed.
_NOTABLE_PCT = 5.0
# The words for a factor that makes the second side faster, and for one that makes it slower. The last ones are for a value that is several
# times what it was: nobody reads "1,023 % longer" as eleven times as long.
_SEVERAL = 3.0
_FACTORS = {
    "instructions": ("{} % fewer instructions run", "{} % more instructions run", "{} times as many instructions run"),
    "wait_per_issue": (
        "waits between instructions are {} % shorter", "waits between instructions are {} % longer", "waits between instructions are {} times as long",
    ),
    "warps_in_use": ("{} % more warps are in use", "{} % fewer warps are in use", "{} times as many warps are in use"),
    "tensor_work": (
        "the tensor pipe has work for {} % fewer cycles", "the tensor pipe has work for {} % more cycles", "the tensor pipe has work for {} times as many cycles",
    ),
    "tensor_pipe_pct": ("the tensor pipe is {} % busier", "the tensor pipe is {} % less busy", "the tensor pipe is {} times as busy"),
    "sm_active": ("SMs are {} % more active", "SMs are {} % less active", "SMs are {} times as active"),
    "clock": ("the clock is {} % faster", "the clock is {} % slower", "the clock is {} times as fast"),
    "bandwidth": ("the bandwidth is {} % higher", "the bandwidth is {} % lower", "the bandwidth is {} times as high"),
    "moved_per_useful_byte": (
        "{} % fewer bytes move for the same data", "{} % more bytes move for the same data", "{} times as many bytes move for the same data",
    ),
    "useful_bytes": ("there is {} % less data", "there is {} % more data", "there is {} times the data"),
    "bytes_moved": ("{} % fewer bytes move", "{} % more bytes move", "{} times as many bytes move"),
}  # fmt: skip


@dataclass(frozen=True)
class ChangedCauses:
    """The causes that only the first side has, those that only the second has, those of both, and those that shrank or grew.

    `undecided` are causes of one side that the other's recording could not show. The causes in `unmoved` follow from
    the launch and the duration alone: they limit a kernel, and do not say why it got faster or slower. Nothing
    `is_known` where a side records nothing from which a cause could be found.
    """

    gone: list[Cause] = field(default_factory=list)
    new: list[Cause] = field(default_factory=list)
    less: list[CauseChange] = field(default_factory=list)
    more: list[CauseChange] = field(default_factory=list)
    kept: list[CauseChange] = field(default_factory=list)
    undecided: list[Cause] = field(default_factory=list)
    unmoved: frozenset[str] = frozenset()
    is_known: bool = True


def compare_causes(before: Diagnosis, after: Diagnosis, same_launch: bool = False) -> ChangedCauses:
    """Returns what became of the causes of the first side, and which the second has besides.

    With the `same_launch`, grid, block, registers and shared memory are those of the first side, on the same GPU.
    """
    if not (before.can_look and after.can_look):
        return ChangedCauses(is_known=False)
    earlier = {one.cause: one.saves_pct.expected for one in before.causes}
    both = [one for one in after.causes if one.cause in earlier]
    kept = [CauseChange(one.cause, earlier[one.cause], one.saves_pct.expected) for one in both]
    unmoved = _OF_THE_DURATION | (_OF_THE_LAUNCH if same_launch else frozenset())
    moved = [one for one in kept if one.cause not in unmoved and _has_moved(one, before, after)]
    moved.sort(key=lambda one: -abs(one.after_pct - one.before_pct))
    return ChangedCauses(
        gone=_only_in(before, after),
        new=_only_in(after, before),
        less=[one for one in moved if one.after_pct < one.before_pct],
        more=[one for one in moved if one.after_pct > one.before_pct],
        kept=kept,
        undecided=[*_undecided(before, after), *_undecided(after, before)],
        unmoved=unmoved,
    )


def _only_in(one: Diagnosis, other: Diagnosis) -> list[Cause]:
    """Returns the notable causes that one side has and the other, for certain, has not."""
    shown = [cause for cause in _unshared(one, other) if other.could_show(cause, one)]
    return [cause for cause in shown if not cause.is_ceiling or _has_left(cause, one, other)]


def _undecided(one: Diagnosis, other: Diagnosis) -> list[Cause]:
    hidden = [cause for cause in _unshared(one, other) if not other.could_show(cause, one)]
    return [cause for cause in hidden if cause.cause not in _OF_THE_DURATION]


def _unshared(one: Diagnosis, other: Diagnosis) -> list[Cause]:
    names = {cause.cause for cause in other.causes}
    notable = [cause for cause in one.causes if cause.is_ceiling or cause.saves_pct.expected >= _NOTABLE_PCT]
    return [cause for cause in notable if cause.cause not in names]


def _has_left(ceiling: Cause, one: Diagnosis, other: Diagnosis) -> bool:
    """Returns whether the resource that is at its ceiling on one side is used notably less on the other."""
    resource = ceiling.saves_pct.limited_by or ""
    return 100 * (one.busy.get(resource, 0.0) - other.busy.get(resource, 0.0)) >= _NOTABLE_PCT


def _has_moved(one: CauseChange, before: Diagnosis, after: Diagnosis) -> bool:
    """Returns whether the share of a cause changed, and its time too.

    When the rest of a kernel gets faster, the share of each cause grows although its time does not.
    """
    was, now = one.before_pct, one.after_pct
    time = now * (after.duration_ns or 0.0) - was * (before.duration_ns or 0.0)
    return abs(now - was) >= _NOTABLE_PCT and time * (now - was) > 0


def headline_of_pair(
    labels: tuple[str, str],
    times_ns: tuple[float, float] | None,
    speedup: Speedup | None,
    attribution: Attribution | None,
    instructions: Instructions,
    causes: Sequence[Cause],
    changed: ChangedCauses,
    peaks: str | None = None,
    steps: Sequence[str] = (),
    metrics: Sequence[MetricDelta] = (),
) -> Headline | None:
    """Returns the headline; None where neither side has a duration.

    The why of a faster side begins with what went away, that of a slower side with what came: what went did not slow it.
    A faster side is limited by what is new only if that comes first among its causes.
    `causes` are those of the second side, and `changed` compares them with those of the first.
    `peaks` says how near two GPUs came to their peaks, and stands in place of what changed in the code.
    `metrics` are the counters of both: conflicts explain a change where they rose or fell notably.
    `steps` names the sides of which more was timed than the kernel that was profiled: its counters do not explain the times.
    """
    if speedup is None or times_ns is None:
        return None
    what, next_change = ratio_sentence(labels, times_ns, speedup), _next(causes)
    if steps:
        return Headline(what, _ONE_KERNEL.format(" and ".join(steps)), next_change)
    is_same, is_faster = _is_same(speedup), speedup.ratio >= 1
    new = {one.cause for one in changed.new}
    limits = list(takewhile(lambda one: one.cause in new, causes)) if is_faster and not is_same else []
    left = [
        _sentence(map(_with_place, _moved_causes(changed.gone, changed)), "{} went away."),
        _sentence(map(_with_change, changed.less), "{} shrank."),
        _conflicts(metrics, changed, rose=False),
    ]
    came = [
        "" if limits else _sentence(map(_with_place, _moved_causes(changed.new, changed)), "{} appeared."),
        _sentence(map(_with_change, changed.more), "{} grew."),
        _conflicts(metrics, changed, rose=True),
    ]
    if is_same:
        even_so = _joined(_present([*left, *came]), "Even so, ")
        return Headline(what, f"{_NOTHING_TO_EXPLAIN} {even_so}".rstrip(), next_change)
    reasons, contrary = map(_present, (left, came) if is_faster else (came, left))
    factors, against = _factors(attribution, is_faster) if peaks is None else (peaks, "")
    if reasons:  # what works against a change does not explain it
        contrary.insert(0, against)
    reached = [one for one in limits if one.is_ceiling]  # its name says what the kernel is: at-fma-rate
    is_limited = "The kernel is {} now." if reached else "The kernel is limited by {} now."
    limited = _sentence(map(_with_place, reached or limits), is_limited)
    reasons = _present([*reasons, _loads(instructions) if peaks is None else "", factors, limited])
    despite = f"Although it is {'faster' if is_faster else 'slower'}, "
    against_it = _joined(_present(contrary), "Against that, " if reasons else despite)
    why = f"{_joined(reasons)} {against_it}".strip() or _without_a_reason(changed)
    return Headline(what, why, next_change)


def _is_same(speedup: Speedup) -> bool:
    """Returns whether the sides take the same time, as near as anybody would act on."""
    return abs(speedup.ratio - 1) < _SAME and (speedup.ci is None or speedup.ci[0] <= 1 <= speedup.ci[1])


def _without_a_reason(changed: ChangedCauses) -> str:
    if changed.undecided:
        return _UNDECIDED.format(", ".join(one.cause for one in changed.undecided[:_MOST_SUBJECTS]))
    if any(one.cause == UNOPTIMISED for one in changed.kept):
        return _UNOPTIMISED
    return _NO_CAUSE if changed.is_known else _NOT_KNOWN


def _conflicts(metrics: Sequence[MetricDelta], changed: ChangedCauses, *, rose: bool) -> str:
    """Returns a sentence if bank conflicts rose, or else fell, by a notable part of all passes; "" where a cause says it."""
    said = {one.cause for one in (*changed.gone, *changed.new)}
    said |= {one.cause for one in (*changed.less, *changed.more)}
    one = next((one for one in metrics if one.name == "shared_conflicts"), None)
    if one is None or "bank-conflicts" in said:
        return ""
    added = one.delta if rose else -one.delta
    if added <= _NOTABLE_PCT / 100 * _whole(one, metrics, after=rose):
        return ""
    divisor, unit = unit_for_people(one.unit, one.before, one.after)
    many = "" if unit == one.unit else f" {unit}"
    before, after = (f"{number(value / divisor)}{many if value else ''}" for value in (one.before, one.after))
    return f"Extra passes for bank conflicts {'rose' if rose else 'fell'} from {before} to {after}."


def _whole(part: MetricDelta, metrics: Sequence[MetricDelta], after: bool) -> float:
    wholes = [one for one in metrics if one.name in BY_NAME[part.name].part_of]
    return sum(one.after if after else one.before for one in wholes)


def names_of_sides(labels: tuple[str, str], kernels: tuple[str, str] = ("", "")) -> tuple[str, str]:
    """Returns a name for each side: a file's without its folders, and of one recording the kernels'.

    Sides of one name are called by their order.
    """
    one, other = map(report_name, labels)
    if one != other:
        return one, other
    first, second = map(base_name, kernels)
    if labels[0] != labels[1]:
        return labels
    return (first, second) if first != second else BY_ORDER


def ratio_sentence(
    labels: tuple[str, str], times_ns: tuple[float, float], speedup: Speedup, *, of_launches: bool = True
) -> str:
    """Returns which side is faster and how surely, with both times and what measured them.

    Of two recordings of one name, the second is compared with what it was before. A speedup `of_launches` without an interval has too few of them; one of several steps has none in any case.
    """
    one, other = names_of_sides(labels)
    is_one_name = (one, other) == BY_ORDER
    if is_one_name:
        one, other = "before", report_name(labels[1])
    where = "without" if speedup.basis == "unprofiled" else "under"
    times = f"{' -> '.join(map(duration, times_ns))} {where} the profiler"
    if speedup.ci and 1 - _SAME <= speedup.ci[0] <= 1 <= speedup.ci[1] <= 1 + _SAME:
        both = (
            f"{other} takes the same time as before"
            if is_one_name
            else f"{one} and {other} take the same time"
        )
        apart_pct = 100 * max(1 - speedup.ci[0], speedup.ci[1] - 1)
        within = f", within {_spread(apart_pct)}" if apart_pct else ""
        return f"{both}{within} ({times})."
    if speedup.ci and speedup.ci[0] <= 1 <= speedup.ci[1]:
        which = (
            f"Whether {other} is faster than before"
            if is_one_name
            else f"Which of {one} and {other} is faster"
        )
        return f"{which} is not certain ({times})."
    spread = ""
    if speedup.ci and speedup.ci[0] < speedup.ci[1]:
        half_pct = 50 * (speedup.ci[1] - speedup.ci[0]) / speedup.ratio
        spread = f", ± {_spread(half_pct)}"
    here, doubt = ("", "") if speedup.ci or not of_launches else (" in these launches", _TOO_FEW)
    if speedup.ratio >= 1:
        return f"{other} is {_ratio(speedup.ratio)} as fast as {one}{here} ({times}{spread}){doubt}."
    as_fast = f"{_ratio(speedup.ratio)} as fast"  # the figure that tables of factors and of steps hold
    return f"{other} takes {_ratio(1 / speedup.ratio)} as long as {one}{here} ({as_fast}; {times}{spread}){doubt}."


def _spread(pct: float) -> str:
    """Returns how far two times may be apart from what is said of them; no interval is zero."""
    return f"{pct:.{1 if pct >= 0.1 else 2}f} %"


def _ratio(ratio: float) -> str:
    """Returns a ratio with four digits, zeros among them: 2.000x."""
    return f"{ratio:.3f}x" if 1 <= ratio < 10 else f"{number(ratio)}x"


def _next(causes: Sequence[Cause]) -> str:
    """Returns the next change, after the name and the place of the cause that it removes."""
    first = next(iter(causes), None)
    if first is None:
        return ""
    return f"{name_and_place(first)}: {next_text(causes)}"


def _present(sentences: Iterable[str]) -> list[str]:
    return list(filter(None, sentences))


def _joined(sentences: Sequence[str], start: str = "") -> str:
    """Returns the sentences one after the other, the first one after the `start`."""
    text = " ".join(sentences)
    return f"{start}{text[0].lower()}{text[1:]}" if start and text else text


def _moved_causes(causes: Iterable[Cause], changed: ChangedCauses) -> list[Cause]:
    return [one for one in causes if one.cause not in changed.unmoved]


def _sentence(subjects: Iterable[str], form: str) -> str:
    """Returns the sentence about the first subjects, or "" without any. Its verb fits names of one thing and of several."""
    some = " and ".join(islice(subjects, _MOST_SUBJECTS))
    return form.format(some) if some else ""


def _with_place(cause: Cause) -> str:
    return f"{cause.cause} ({place_text(cause.where[0])})" if has_place(cause) else cause.cause


def _with_change(change: CauseChange) -> str:
    return f"{change.cause} ({change.before_pct:.0f} % -> {change.after_pct:.0f} %)"


def _factors(attribution: Attribution | None, is_faster: bool) -> tuple[str, str]:
    """Returns a sentence of what changed most, for the change first; or else one of what works against it."""
    moved = [one for one in _moved(attribution) if one.name in _FACTORS][:_MOST_FACTORS]
    for_it = " and ".join(_factor_text(one) for one in moved if (one.ratio > 1) is is_faster)
    against = " and ".join(_factor_text(one) for one in moved if (one.ratio > 1) is not is_faster)
    if not for_it:
        return "", against and f"{against}."
    return f"{for_it[0].upper()}{for_it[1:]}{f', although {against}' if against else ''}.", ""


def main_factors(attribution: Attribution | None) -> list[Factor]:
    """Returns the factors that changed the time most, also such as `cycles`, for which a sentence has no words."""
    return _moved(attribution)[:_MOST_FACTORS]


def _moved(attribution: Attribution | None) -> list[Factor]:
    leaves = list(_leaves(attribution.factors)) if attribution else []
    return sorted((one for one in leaves if abs(one.ratio - 1) >= _SAME), key=lambda one: -abs(one.share))


def _leaves(factors: Iterable[Factor]) -> Iterable[Factor]:
    for one in factors:
        yield from _leaves(one.factors) if one.factors else [one]


def _factor_text(factor: Factor) -> str:
    faster, slower, several = _FACTORS[factor.name]
    if factor.before <= 0:
        return factor.name
    times = factor.after / factor.before
    if times >= _SEVERAL:
        return several.format(f"{times:.3g}" if times < 1000 else f"{times:,.0f}")
    change = 100 * abs(times - 1)
    return (faster if factor.ratio > 1 else slower).format(_whole_percent(change))


def _whole_percent(change: float) -> str:
    """Returns a change in whole percent; of nearly all, with a decimal, because 100 % fewer would be none at all."""
    nearly_all = change < 100 and round(change) == 100
    return f"{math.floor(10 * change) / 10:.1f}" if nearly_all else f"{change:,.0f}"


def _loads(instructions: Instructions) -> str:
    loop = instructions.hot_loop
    changed = [one.sentence for one in loop.changes if one.before != one.after] if loop else []
    return f"The loads of the hot loop changed ({changed[0]})." if changed else ""
