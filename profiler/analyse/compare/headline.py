"""Says what a comparison found in three sentences: how much faster, why, and what to do next.

The why is what changed most of what the time is a product of, the change of the hot loop's loads, and the causes that
went away or came.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from profiler.analyse.causes.cause import Cause, Headline
from profiler.analyse.causes.headline import has_place, name_and_place, next_text, place_text
from profiler.analyse.findings import Attribution, Factor, Instructions, Speedup
from profiler.text import duration

# A smaller change explains nothing that a reader would act on.
_SAME = 0.01
_MOST_FACTORS = 2
# A cause that would save less is not missed when it is gone.
_NOTABLE_PCT = 5.0
# What a factor is called when it makes the second side faster, and slower.
_FACTORS = {
    "instructions": ("{:.0f} % fewer instructions", "{:,.0f} % more instructions"),
    "wait_per_issue": ("{:,.0f} % shorter waits between instructions", "{:,.0f} % longer waits between instructions"),
    "warps_in_use": ("{:.0f} % more warps in use", "{:.0f} % fewer warps in use"),
    "tensor_work": ("{:.0f} % fewer cycles of work for the tensor pipe", "{:,.0f} % more cycles of work for the tensor pipe"),
    "tensor_pipe_pct": ("the tensor pipe {:.0f} % busier", "the tensor pipe {:.0f} % less busy"),
    "cycles": ("{:.0f} % fewer cycles", "{:,.0f} % more cycles"),
    "sm_active": ("SMs {:.0f} % more active", "SMs {:.0f} % less active"),
    "clock": ("a {:.0f} % faster clock", "a {:.0f} % slower clock"),
    "bandwidth": ("{:.0f} % more bandwidth", "{:.0f} % less bandwidth"),
    "moved_per_useful_byte": ("{:.0f} % fewer bytes for the same data", "{:.0f} % more bytes for the same data"),
    "useful_bytes": ("{:.0f} % less data", "{:.0f} % more data"),
    "bytes_moved": ("{:.0f} % fewer bytes", "{:.0f} % more bytes"),
}  # fmt: skip


def compare_causes(before: Sequence[Cause], after: Sequence[Cause]) -> tuple[list[str], list[str]]:
    """Returns the names of the causes that went away, and of those that came."""
    return _only_in(before, after), _only_in(after, before)


def _only_in(these: Sequence[Cause], others: Sequence[Cause]) -> list[str]:
    names = {one.cause for one in others}
    return [
        one.cause
        for one in these
        if one.cause not in names and (one.saves_pct.expected >= _NOTABLE_PCT or one.is_ceiling)
    ]


def headline_of_pair(
    labels: tuple[str, str],
    times_ns: tuple[float, float] | None,
    speedup: Speedup | None,
    attribution: Attribution | None,
    instructions: Instructions,
    causes: tuple[Sequence[Cause], Sequence[Cause]],
    peaks: str | None = None,
) -> Headline | None:
    """Returns the headline; None where neither side has a duration.

    `peaks` says how near two GPUs came to their peaks, and stands in place of what changed in the code.
    """
    if speedup is None or times_ns is None:
        return None
    factors = _factors(attribution, is_faster=speedup.ratio >= 1)
    changes = [_loads(instructions), factors] if peaks is None else [peaks]
    why = "; ".join(filter(None, [*_changed_causes(*causes), *changes]))
    return Headline(ratio_sentence(labels, times_ns, speedup), why, _next(causes[1]))


def names_of_sides(labels: tuple[str, str]) -> tuple[str, str]:
    """Returns a name for each side: a file's without its folders. Sides of one name are called by their order."""
    one, other = (
        label.rpartition("/")[2].split(".ncu-rep")[0] if ".ncu-rep" in label else label for label in labels
    )
    if one != other:
        return one, other
    return labels if labels[0] != labels[1] else ("the first", "the second")


def ratio_sentence(labels: tuple[str, str], times_ns: tuple[float, float], speedup: Speedup) -> str:
    """Returns which side is faster and how surely, with both times and what measured them."""
    one, other = names_of_sides(labels)
    where = "without" if speedup.basis == "unprofiled" else "under"
    times = f"{' -> '.join(map(duration, times_ns))} {where} the profiler"
    if speedup.ci == (1, 1):
        return f"{one} and {other} take the same time ({times})."
    if speedup.ci and speedup.ci[0] <= 1 <= speedup.ci[1]:
        return f"Which of {one} and {other} is faster is not certain ({times})."
    spread = ""
    if speedup.ci and speedup.ci[0] < speedup.ci[1]:
        spread = f", ± {50 * (speedup.ci[1] - speedup.ci[0]) / speedup.ratio:.1f} %"
    if speedup.ratio >= 1:
        return f"{other} is {speedup.ratio:.3f}x as fast as {one} ({times}{spread})."
    return f"{other} takes {1 / speedup.ratio:.3f}x as long as {one} ({times}{spread})."


def _next(causes: Sequence[Cause]) -> str:
    """Returns the next change, after the name and the place of the cause that it removes."""
    first = next(iter(causes), None)
    if first is None:
        return ""
    return f"{name_and_place(first)}: {next_text(causes)}"


def _changed_causes(before: Sequence[Cause], after: Sequence[Cause]) -> list[str]:
    gone, come = compare_causes(before, after)
    parts = []
    by_name = {one.cause: one for one in (*after, *before)}
    for names, what in ((gone, "gone"), (come, "new")):
        if names:
            causes = [by_name[name] for name in names[:_MOST_FACTORS]]
            places = [f" ({place_text(one.where[0])})" if has_place(one) else "" for one in causes]
            listed = ", ".join(f"{one.cause}{place}" for one, place in zip(causes, places, strict=True))
            parts.append(f"{what}: {listed}")
    return parts


def _factors(attribution: Attribution | None, is_faster: bool) -> str:
    """Returns what changed most; what works against the change comes last, after `despite`."""
    leaves = list(_leaves(attribution.factors)) if attribution else []
    moved = [one for one in leaves if abs(one.ratio - 1) >= _SAME and one.name in _FACTORS]
    moved = sorted(moved, key=lambda one: -abs(one.share))[:_MOST_FACTORS]
    for_it = [_factor_text(one) for one in moved if (one.ratio > 1) is is_faster]
    against = [_factor_text(one) for one in moved if (one.ratio > 1) is not is_faster]
    return ", ".join([*for_it, *([f"despite {' and '.join(against)}"] if against else [])])


def _leaves(factors: Iterable[Factor]) -> Iterable[Factor]:
    for one in factors:
        yield from _leaves(one.factors) if one.factors else [one]


def _factor_text(factor: Factor) -> str:
    faster, slower = _FACTORS[factor.name]
    if factor.before <= 0:
        return factor.name
    change = 100 * abs(factor.after / factor.before - 1)
    return (faster if factor.ratio > 1 else slower).format(change)


def _loads(instructions: Instructions) -> str:
    loop = instructions.hot_loop
    changed = [one.sentence for one in loop.changes if one.before != one.after] if loop else []
    return f"in the hot loop, {changed[0]}" if changed else ""
