"""Puts the causes of a kernel in order: a ceiling first, and then what is the surest to save much."""

from __future__ import annotations

from collections.abc import Iterable

from profiler.analyse.causes.cause import Cause
from profiler.analyse.causes.detectors.candidate import NOT_AT_A_CEILING
from profiler.analyse.causes.detectors.global_memory.redundant_loads import IN_A_REGISTER
from profiler.analyse.causes.detectors.turns import TURNS_AT_ONCE
from profiler.catalog.causes import GENERAL, LAST_WAVE

# How much surer a specific cause is, fitted to four blind tests: the next version of a kernel changed the cause that would save most in
# 86 % of the kernels where that was specific (73 of 85), and in 56 % of those where it was general (28 of 50). In 419 kernels of 21 tests,
# every weight from 0.4 to 0.7 puts as many right causes first, within four.
_WEIGHT_OF_GENERAL = 0.6
# A block that stages what it uses again has to load it side by side first. Where that alone saves nearly as much, it is the change to begin
# with: two estimates that differ by less than a fifth are the same within their error. What a register would hold is not staged.
_STAGING, _ITS_FIRST_STEP = "redundant-global-loads", "uncoalesced-loads"
_NEARLY_AS_MUCH = 0.8
# A kernel that converts none of its doubles to or from floats means them, and without them, results lose digits. Where functions make most of
# the doubles, such as powers with whole exponents, fewer functions are the change to begin with: it costs no digit. They then save about half
# as much at least; where the estimate says less, their doubles are not what costs time.
_FUNCTIONS, _OF_DOUBLES = "special-functions", "fp64-arithmetic"
_MOST_PCT = 50.0
_HALF_AS_MUCH = 0.5
# Several elements in a thread are several loads under way, and wider accesses where they lie side by side. Where that is nearly all that they
# save, it is what to say: it names the accesses, and preparing once for all elements adds little.
_SEVERAL_ELEMENTS, _THEIR_FORMS = "too-little-work-a-thread", ("narrow-accesses", "loads-not-overlapped")


def in_order(causes: Iterable[Cause]) -> list[Cause]:
    """Returns a ceiling first, and then what is the surest to save much; before a ceiling, only a last round that costs a tenth of the time.

    Of two causes that follow each other, the first step comes first.
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
    for place in range(len(ranked) - 1):
        larger, less = ranked[place : place + 2]
        if is_first_step(less, larger):
            ranked[place : place + 2] = less, larger
    return ranked


def is_first_step(one: Cause, other: Cause) -> bool:
    """Returns whether one cause is to be removed before another of the same loads, doubles or elements, although it saves no more."""
    saves, most = one.saves_pct.expected, other.saves_pct.expected
    if saves > most:
        return False
    both = one.cause, other.cause
    if both == (_FUNCTIONS, _OF_DOUBLES):
        means_doubles = not other.evidence.get("float_conversions_pct")
        of_functions = other.evidence.get("in_functions_pct", 0.0)
        return means_doubles and of_functions > _MOST_PCT and saves >= _HALF_AS_MUCH * most
    if saves < _NEARLY_AS_MUCH * most:
        return False
    if other.cause == _SEVERAL_ELEMENTS:
        return one.cause in _THEIR_FORMS
    is_staged = both == (_ITS_FIRST_STEP, _STAGING) and IN_A_REGISTER not in other.evidence
    return is_staged and not _lines_of(one).isdisjoint(_lines_of(other))


def is_general(cause: Cause) -> bool:
    """Returns whether a cause is true of most kernels; a loop several of whose turns a block could take at once is a fact about this code."""
    return cause.cause in GENERAL and TURNS_AT_ONCE not in cause.evidence


def _lines_of(cause: Cause) -> set[tuple[str | None, int]]:
    return {(one.file, one.offset if one.line is None else one.line) for one in cause.where}


def _weighed(cause: Cause) -> float:
    """Returns what a cause is likely to save, of which less counts as far as it is general; SMs without any block are a fact about this launch."""
    saves = cause.saves_pct.expected
    if not is_general(cause):
        return saves
    sure = min(saves, cause.evidence.get("idle_sms_pct", 0.0))
    return sure + _WEIGHT_OF_GENERAL * (saves - sure)


def _is_before_ceiling(cause: Cause) -> bool:
    return cause.cause == LAST_WAVE and cause.saves_pct.expected >= 100 * NOT_AT_A_CEILING
