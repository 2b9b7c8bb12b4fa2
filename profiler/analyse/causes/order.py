"""Puts the causes of a kernel in order: a ceiling first, and then what is the surest to save much."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from profiler.analyse.causes.cause import (
    CONVERTING_FLOATS,
    IN_A_REGISTER,
    IN_ANY_FUNCTIONS,
    LOADED_DIFFERENCES,
    NOT_AT_A_CEILING,
    WAITING_FOR_TILES,
    Cause,
)
from profiler.catalog.causes import GENERAL, LAST_WAVE
from profiler.text import listed

# How much a general cause counts beside a specific one, fitted to four blind tests. The next version of a kernel changed the cause that
# would save most in 86 % of the kernels where it was specific (73 of 85), and in 56 % where it was general (28 of 50). In 419 kernels of
# 21 tests, the number of right first causes differs by at most four between the weights from 0.4 to 0.7.
_WEIGHT_OF_GENERAL = 0.6
_MOST_PCT = 50.0
# Points. What the first causes of blind tests were expected to save was off by nearly 8 points or more on average, whatever the cause
# (docs/track-record.md). A difference of less than about half of that needs no explanation.
_WORTH_A_REASON = 5
# What would save a tenth of the time looks like a change of its own. What saves less than 3 % is not named as a cause.
_LOOKS_LIKE_MUCH, _LITTLE = 10, 3  # percent
# Why a cause stands behind a first step that only passed it on the way to another cause.
_TOWARDS = "it is the first step towards {}"
_IDLE_SMS = "idle_sms_pct"
# Facts about this code or this launch, for which a cause counts in full although it is true of most kernels.
_FACTS = {
    WAITING_FOR_TILES: "a loop waits for each tile before it uses it",
    _IDLE_SMS: "some SMs have no block at all",
}


@dataclass(frozen=True)
class _FirstStep:
    """Says `why` a cause is to be removed before another of the same loads, doubles or elements, although it saves no more.

    It has to save `at_least` this part of what the other saves. `holds` tells whether the two are of the same loads, doubles or elements.
    """

    why: str
    at_least: float
    holds: Callable[[Cause, Cause], bool]


def _are_same_loads(apart: Cause, repeated: Cause) -> bool:
    """Returns whether a block would stage these loads. What a register would hold is not staged."""
    return IN_A_REGISTER not in repeated.evidence and not _lines_of(apart).isdisjoint(_lines_of(repeated))


def _are_made_of_floats(doubles: Cause, _: Cause) -> bool:
    """Returns whether functions make most of the doubles, and floats are converted: then some are there by mistake, such as a literal."""
    is_by_mistake = (
        bool(doubles.evidence.get(CONVERTING_FLOATS)) and LOADED_DIFFERENCES not in doubles.evidence
    )
    return doubles.evidence.get(IN_ANY_FUNCTIONS, 0.0) > _MOST_PCT and is_by_mistake


# Two estimates that differ by less than a fifth are the same within their error. The estimate for functions is all of their time, but short
# forms leave up to half of it.
_FIRST_STEPS = {
    ("uncoalesced-loads", "redundant-global-loads"): _FirstStep(
        "a block has to load side by side what it keeps", 0.8, _are_same_loads
    ),
    ("fp64-arithmetic", "special-functions"): _FirstStep(
        "functions make most of the doubles, and have short forms for the floats that these are made of",
        0.5,
        _are_made_of_floats,
    ),
}


def in_order(causes: Iterable[Cause]) -> list[Cause]:
    """Returns a ceiling first, and then the causes that are surest to save much.

    Only a last round of blocks that costs a tenth of the time may come before a ceiling. The first step towards a cause moves directly
    before it, past others.
    """
    found = list(causes)
    has_ceiling = any(one.is_ceiling for one in found)
    ranked = sorted(
        found,
        key=lambda one: (
            not (has_ceiling and _is_before_ceiling(one)),
            not one.is_ceiling,
            -_weighed(one),
        ),
    )
    for step in list(ranked):
        here = ranked.index(step)
        place = next((one for one in range(here) if why_first(step, ranked[one])), here)
        ranked.insert(place, ranked.pop(here))
    return ranked


def why_not_by_saving(causes: Sequence[Cause]) -> list[str]:
    """Returns why the first of these causes stands before causes that would save clearly more: a sentence for each reason."""
    open_ones = [one for one in causes if not one.is_ceiling]
    if not open_ones:
        return []
    first, *others = open_ones
    least = round(first.saves_pct.expected) + _WORTH_A_REASON
    towards = next((one for one in others if why_first(first, one)), None)
    behind: dict[str, list[str]] = {}
    for other in others:
        why = (
            why_first(first, other)
            or _why_surer(first, other)
            or (towards and _TOWARDS.format(towards.cause))
        )
        if why and round(other.saves_pct.expected) >= least:
            behind.setdefault(why, []).append(other.cause)
    return [_behind_text(first.cause, names, why) for why, names in behind.items()]


def _behind_text(first: str, others: Sequence[str], why: str) -> str:
    return f"{first} stands first, although {listed(others)} may save more: {why}."


def what_goes_along(causes: Iterable[Cause]) -> list[str]:
    """Returns which of these causes would save much by themselves, and little once those above them are removed: one change may remove both."""
    along: list[str] = []
    before: float | None = None
    for one in (one for one in causes if not one.is_ceiling):
        together = one.saves_pct.together or one.saves_pct.expected
        if before is not None and one.saves_pct.expected >= _LOOKS_LIKE_MUCH and together - before < _LITTLE:
            along.append(one.cause)
        before = together
    if not along:
        return []
    verb, them = ("each save", "them") if len(along) > 1 else ("saves", "it")
    return [f"{listed(along)} {verb} less than {_LITTLE} % more once what stands above {them} is removed."]


def _why_surer(first: Cause, other: Cause) -> str | None:
    """Returns why the first counts for more than a cause that is true of most kernels; None if it does not."""
    if not is_general(other):
        return None
    if first.cause not in GENERAL:
        return "in tests, causes that most kernels have were right less often"
    return next((why for fact, why in _FACTS.items() if first.evidence.get(fact)), None)


def why_first(one: Cause, other: Cause) -> str | None:
    """Returns why one cause is to be removed before another, although it saves no more; None if it is not."""
    step = _FIRST_STEPS.get((one.cause, other.cause))
    saves, most = one.saves_pct.expected, other.saves_pct.expected
    is_first = step and step.at_least * most <= saves <= most and step.holds(one, other)
    return step.why if step and is_first else None


def is_general(cause: Cause) -> bool:
    """Returns whether a cause is true of most kernels, and is no fact about this code, such as a loop that waits for each tile before it uses it."""
    return cause.cause in GENERAL and WAITING_FOR_TILES not in cause.evidence


def _lines_of(cause: Cause) -> set[tuple[str | None, int]]:
    return {(one.file, one.offset if one.line is None else one.line) for one in cause.where}


def _weighed(cause: Cause) -> float:
    """Returns what a cause is likely to save; less for a general one, except what SMs without any block cost, as a fact about this launch."""
    saves = cause.saves_pct.expected
    if not is_general(cause):
        return saves
    sure = min(saves, cause.evidence.get(_IDLE_SMS, 0.0))
    return sure + _WEIGHT_OF_GENERAL * (saves - sure)


def _is_before_ceiling(cause: Cause) -> bool:
    return cause.cause == LAST_WAVE and cause.saves_pct.expected >= 100 * NOT_AT_A_CEILING
