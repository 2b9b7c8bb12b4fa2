"""Says in words why the second side of a comparison is faster or slower than the first.

The why names the causes that went away, appeared, shrank or grew, the change of the hot loop's loads, and the factors
of the time that changed most.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, takewhile
from typing import NamedTuple

from profiler.analyse.causes.cause import UNCOUNTED, Cause, Diagnosis, has_place, place_text
from profiler.analyse.causes.headline import WEAK_PCT, are_weak
from profiler.analyse.compare.changed_causes import NOTABLE_PCT, ChangedCauses
from profiler.analyse.findings import (
    Attribution,
    CauseChange,
    ComparisonFinding,
    Factor,
    Instructions,
    LoadChange,
    MetricDelta,
    Speedup,
)
from profiler.catalog.causes import UNOPTIMISED
from profiler.catalog.metrics import BY_NAME, SMALLEST_RELATIVE_EFFECT
from profiler.text import number, saving, unit_for_people

_MOST_FACTORS = 2
# Of the change of the time: nobody acts on a clock that is 1 % slower where the kernel is 11 times as fast. A cause that went or came is not
# named either if it costs less than this part of the time.
_LEAST_PART = NOTABLE_PCT / 100
_LARGE_PART = 1 / 3  # of a small change: a factor that makes up so much of it says where it comes from
_MOST_SUBJECTS = 2
_CONFLICTS = "shared_conflicts"
_NO_CAUSE = "No cause that prof knows went, came or changed by 5 % of the time."
_UNOPTIMISED = "The compiler optimised neither side, and of such code prof names no other cause."
_NOT_KNOWN = "Which causes went or came is not known: one side, or both, lack the counters for it."
_UNDECIDED = "Whether {} went or came is not known: the other side's recording could not show it."
_NOTHING_TO_EXPLAIN = "There is nothing to explain: the times are as good as the same."
# The words for a factor that makes the second side faster, and for one that makes it slower. The last ones are for a value that is several
# times what it was: nobody reads "1,023 % longer" as eleven times as long.
_SEVERAL = 3.0
_FACTORS = {
    "instructions": (
        "{} % fewer instructions run",
        "{} % more instructions run",
        "{} times as many instructions run",
    ),
    "wait_per_issue": (
        "waits between instructions are {} % shorter",
        "waits between instructions are {} % longer",
        "waits between instructions are {} times as long",
    ),
    "warps_in_use": (
        "{} % more warps are in use",
        "{} % fewer warps are in use",
        "{} times as many warps are in use",
    ),
    "tensor_work": (
        "the work of the tensor pipe takes {} % fewer cycles",
        "the work of the tensor pipe takes {} % more cycles",
        "the work of the tensor pipe takes {} times as many cycles",
    ),
    "tensor_pipe_pct": (
        "the tensor pipe is {} % busier",
        "the tensor pipe is {} % less busy",
        "the tensor pipe is {} times as busy",
    ),
    "sm_active": ("SMs are {} % more active", "SMs are {} % less active", "SMs are {} times as active"),
    "clock": ("the clock is {} % faster", "the clock is {} % slower", "the clock is {} times as fast"),
    "bandwidth": (
        "the bandwidth is {} % higher",
        "the bandwidth is {} % lower",
        "the bandwidth is {} times as high",
    ),
    "moved_per_useful_byte": (
        "{} % fewer bytes move for the same data",
        "{} % more bytes move for the same data",
        "{} times as many bytes move for the same data",
    ),
    "useful_bytes": ("there is {} % less data", "there is {} % more data", "there is {} times the data"),
    "bytes_moved": ("{} % fewer bytes move", "{} % more bytes move", "{} times as many bytes move"),
}


def why_of_pair(found: ComparisonFinding, changed: ChangedCauses, peaks: str | None = None) -> str:
    """Returns why the sides of a comparison with a speedup take the times that they take.

    The why of a faster side begins with what went away, that of a slower side with what came: what went did not slow it.
    A new cause limits a faster side only if it comes first among its causes. A ceiling is no fault: to reach or leave one speaks neither
    for nor against a change, but says what the kernel is now. If it left one for another, nothing explains more.
    `changed` compares the causes of the second side with those of the first.
    `peaks` says how near two GPUs came to their peaks, and stands in place of what changed in the code.
    """
    assert found.speedup is not None
    is_same, is_faster = _is_same(found.speedup), found.speedup.ratio >= 1
    exchanged, at_ceiling = _ceilings(changed)
    limits = _limits_now(found.causes, changed) if is_faster and not is_same else []
    conflicts = find_conflicts(found.metrics, changed)
    went = [
        _sentence(map(_with_place, _faults(changed.gone)), "{} went away."),
        _sentence(map(_with_change, changed.less), "{} shrank."),
        _conflicts(conflicts, rose=False),
    ]
    came = [
        "" if limits else _sentence(map(_with_place, _faults(changed.new)), "{} appeared."),
        _sentence(map(_with_change, changed.more), "{} grew."),
        _conflicts(conflicts, rose=True),
    ]
    if is_same:
        even_so = _joined([exchanged, *went, *came, at_ceiling], "Even so, ")
        return f"{_NOTHING_TO_EXPLAIN} {even_so}".rstrip()
    explaining, contrary = (went, came) if is_faster else (came, went)
    factors, against = _factors(found.attribution, is_faster) if peaks is None else (peaks, "")
    if exchanged or any(explaining):  # what works against a change does not explain it
        contrary = [against, *contrary]
    loads = _loads(found.instructions) if peaks is None else ""
    limited = f"{'It' if at_ceiling else 'The kernel'} is limited by {{}} now."
    reasons = _Reasons(
        explaining=_joined([exchanged, *explaining, loads, factors]),
        at_ceiling=at_ceiling,
        limited=_sentence(map(_with_place, limits), limited),
        contrary=contrary,
    )
    return reasons.written(is_faster=is_faster) or _without_a_reason(changed)


class _Reasons(NamedTuple):
    """Sentences on why one side is faster: what explains it, what the kernel is now, and what speaks against it. Each may be ""."""

    explaining: str
    at_ceiling: str
    limited: str
    contrary: Sequence[str]

    def written(self, *, is_faster: bool) -> str:
        if self.explaining or self.limited:
            against = _joined(self.contrary, "Against that, ")
            return _joined([self.explaining, self.at_ceiling, self.limited, against])
        although = f"Although it is {'faster' if is_faster else 'slower'}, "
        return _joined([_joined(self.contrary, although), self.at_ceiling])


def _ceilings(changed: ChangedCauses) -> tuple[str, str]:
    """Returns two sentences, one or both of them "": for a kernel that left one ceiling for another, or else for one that left or reached one."""
    left, reached = (
        [one.cause for one in causes if one.is_ceiling] for causes in (changed.gone, changed.new)
    )
    now, no_longer = _sentence(reached, "{} now"), _sentence(left, "no longer {}")
    said = ", ".join(filter(None, [now, no_longer]))
    sentence = f"The kernel is {said}." if said else ""
    return (sentence, "") if now and no_longer else ("", sentence)


def _faults(causes: Iterable[Cause]) -> Iterator[Cause]:
    return (one for one in causes if not one.is_ceiling)


def _limits_now(causes: Sequence[Cause], changed: ChangedCauses) -> list[Cause]:
    """Returns the first causes, as long as the side before did not name them; none at a new ceiling, which is what limits the kernel."""
    if any(one.is_ceiling for one in changed.new):
        return []
    came = {one.cause for one in (*changed.new, *changed.unmoved)}
    return list(takewhile(lambda one: one.cause in came, causes))


def limits_text(names: tuple[str, str], sides: tuple[Diagnosis, Diagnosis]) -> str:
    """Returns what limits each of two kernels that do not explain each other; "" where no cause is known."""
    clauses = [
        f"{name} {_limit_text(found)}" for name, found in zip(names, sides, strict=True) if found.causes
    ]
    return f"{' and '.join(clauses)}." if clauses else ""


def _limit_text(found: Diagnosis) -> str:
    """Returns what limits a kernel, unless no cause would save much: such a cause limits nothing."""
    if are_weak(found.causes):
        which = ", of those that can be looked for," if UNCOUNTED in found.unseen else ""
        return f"has no cause{which} that alone would save {WEAK_PCT} % of its time"
    first = found.causes[0]
    return f"is {'' if first.is_ceiling else 'limited by '}{_with_place(first)}"


def _is_same(speedup: Speedup) -> bool:
    """Returns whether the sides take the same time, as near as anybody would act on."""
    return abs(speedup.ratio - 1) < SMALLEST_RELATIVE_EFFECT and (
        speedup.ci is None or speedup.ci[0] <= 1 <= speedup.ci[1]
    )


def _without_a_reason(changed: ChangedCauses) -> str:
    if changed.undecided:
        return _sentence((one.cause for one in changed.undecided), _UNDECIDED)
    if any(one.cause == UNOPTIMISED for one in changed.kept):
        return _UNOPTIMISED
    return _NO_CAUSE if changed.is_known else _NOT_KNOWN


def find_conflicts(metrics: Sequence[MetricDelta], changed: ChangedCauses) -> MetricDelta | None:
    """Returns the extra passes for bank conflicts if they rose or fell by a notable part of all passes; None where a cause says it."""
    said = {one.cause for one in (*changed.gone, *changed.new)}
    said |= {one.cause for one in (*changed.less, *changed.more)}
    one = next((one for one in metrics if one.name == _CONFLICTS), None)
    if one is None or "bank-conflicts" in said:
        return None
    is_notable = abs(one.delta) > NOTABLE_PCT / 100 * _whole(one, metrics, after=one.delta > 0)
    return one if is_notable else None


def _conflicts(one: MetricDelta | None, *, rose: bool) -> str:
    if one is None or rose != (one.delta > 0):
        return ""
    before, after = (_counted(value, one.unit) for value in (one.before, one.after))
    return f"Extra passes for bank conflicts {'rose' if rose else 'fell'} from {before} to {after}."


def _counted(value: float, unit: str) -> str:
    """Returns `36,750`, or `52.5 million`: each in its own unit, since one may be a thousand times the other."""
    divisor, larger = unit_for_people(unit, value)
    return number(value / divisor) + ("" if larger == unit else f" {larger}")


def _whole(part: MetricDelta, metrics: Sequence[MetricDelta], after: bool) -> float:
    wholes = [one for one in metrics if one.name in BY_NAME[part.name].part_of]
    return sum(one.after if after else one.before for one in wholes)


def _joined(sentences: Iterable[str], start: str = "") -> str:
    """Returns the sentences that are not empty, one after the other, the first one after the `start`."""
    text = " ".join(filter(None, sentences))
    return f"{start}{text[0].lower()}{text[1:]}" if start and text else text


def _sentence(subjects: Iterable[str], form: str) -> str:
    """Returns the sentence about the first subjects, or "" without any. Its verb fits names of one thing and of several."""
    some = " and ".join(islice(subjects, _MOST_SUBJECTS))
    return form.format(some) if some else ""


def _with_place(cause: Cause) -> str:
    return f"{cause.cause} ({place_text(cause.where[0])})" if has_place(cause) else cause.cause


def _with_change(change: CauseChange) -> str:
    return f"{change.cause} ({saving(change.before_pct)} % -> {saving(change.after_pct)} %)"


def _factors(attribution: Attribution | None, is_faster: bool) -> tuple[str, str]:
    """Returns the sentence of the factors that changed most, and "". If all of these work against the change, returns "" and their sentence."""
    moved = [one for one in _moved(attribution) if one.name in _FACTORS][:_MOST_FACTORS]
    for_it = " and ".join(_factor_text(one) for one in moved if (one.ratio > 1) is is_faster)
    against = " and ".join(_factor_text(one) for one in moved if (one.ratio > 1) is not is_faster)
    if not for_it:
        return "", against and f"{against}."
    return f"{for_it[0].upper()}{for_it[1:]}{f', although {against}' if against else ''}.", ""


def main_factors(attribution: Attribution | None) -> list[Factor]:
    """Returns the factors that changed the time most, also such as `mean_cycles`, for which a sentence has no words."""
    return _moved(attribution)[:_MOST_FACTORS]


def _moved(attribution: Attribution | None) -> list[Factor]:
    if attribution is None:
        return []
    least, change = SMALLEST_RELATIVE_EFFECT, abs(attribution.profiled_ratio - 1)
    least_part = 0.0
    if change >= least:
        least, least_part = min(least, _LARGE_PART * change), _LEAST_PART
    leaves = _leaves(attribution.factors)
    moved = [one for one in leaves if abs(one.ratio - 1) >= least and abs(one.share) >= least_part]
    return sorted(moved, key=lambda one: -abs(one.share))


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
    """Returns a change in whole percent; below 1, and of nearly all, with a decimal, because 100 % fewer would be none at all."""
    nearly_all = change < 100 and round(change) == 100
    if nearly_all:
        return f"{math.floor(10 * change) / 10:.1f}"
    return f"{change:.1f}" if round(change, 1) < 1 else f"{change:,.0f}"


def _loads(instructions: Instructions) -> str:
    loop = instructions.hot_loop
    changed = [one.sentence for one in loop.changes if _is_notable(one)] if loop else []
    return f"The loads of the hot loop changed ({changed[0]})." if changed else ""


def _is_notable(change: LoadChange) -> bool:
    """Returns whether a notable part of the loads came, went, or have another width. Loads for FMAs are counted for as many of these."""
    fmas = change.fmas or (1, 1)
    before, after = (
        {one.opcode: one.count / max(count, 1) for one in loads}
        for loads, count in zip((change.before, change.after), fmas, strict=True)
    )
    moved = sum(abs(after.get(one, 0.0) - before.get(one, 0.0)) for one in before.keys() | after.keys())
    return moved > NOTABLE_PCT / 100 * max(sum(before.values()), sum(after.values()))
