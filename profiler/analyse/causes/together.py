"""Estimates what several changes save together, which is seldom the sum of what each saves by itself.

Changes that shorten the same waiting save less than their sum. Changes that relieve different units, where both are busy, save
more: after one of them, the other unit still needs its time. Where each saves little by itself, they hide each other.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from math import prod

from profiler.analyse.causes.cause import HIDING_EACH_OTHER, Cause
from profiler.analyse.causes.detectors.candidate import WORTH_A_CHANGE, Candidate
from profiler.analyse.causes.evidence.latency import combine
from profiler.analyse.causes.evidence.time_model import TimeModel
from profiler.text import without_capital

# Groups of causes of which one change removes several, if they name the same instructions: it does once what is done again, or
# accesses at once what lies together.
_ONE_CHANGE = (
    {"redundant-instructions", "redundant-global-loads", "too-little-work-a-thread"},
    {"uncoalesced-loads", "uncoalesced-stores", "narrow-accesses"},
)
# Causes whose changes undo each other, with what the one that comes later says of the other: a larger tile takes more registers for its
# results.
_INSTEAD = {
    (
        "registers-limit-occupancy",
        "too-little-reuse",
    ): "Instead of the larger tile of too-little-reuse, which needs more registers",
    (
        "too-little-reuse",
        "registers-limit-occupancy",
    ): "Instead of fewer registers (registers-limit-occupancy), of which a larger tile needs more",
}


def saved_together(model: TimeModel, expected: Mapping[Candidate, float]) -> float:
    """Estimates the fraction of the time that the changes of all these candidates save; `expected` says what each saves by itself.

    Of two overlapping changes, only one counts: the one that saves more with the others. So a further change never reduces what is
    saved. A saving that the model does not know is a part of the time that the others leave.
    """
    modelled = [one for one in expected if one.saves is None]
    most = max(model.saved(combine([one.effect for one in apart])) for apart in _without_overlap(modelled))
    left = (1.0 - most) * prod(1.0 - saved for one, saved in expected.items() if one.saves is not None)
    return max(1.0 - left, *expected.values())


def advise_after(cause: Cause, before: Collection[str]) -> str:
    """Returns what to try against a cause, and says so if that is instead of the change for a cause `before` it."""
    instead = next(
        (said for (one, other), said in _INSTEAD.items() if one == cause.cause and other in before), ""
    )
    return f"{instead}: {without_capital(cause.try_)}" if instead else cause.try_


def _without_overlap(candidates: Sequence[Candidate]) -> Iterator[Sequence[Candidate]]:
    """Yields each choice of candidates without two that one change would remove, or whose changes undo each other."""
    overlap = next((both for both in combinations(candidates, 2) if _overlap(*both)), None)
    if overlap is None:
        yield candidates
        return
    for left_out in overlap:
        yield from _without_overlap([one for one in candidates if one is not left_out])


def _overlap(one: Candidate, other: Candidate) -> bool:
    undo_each_other = (one.name, other.name) in _INSTEAD
    return (
        undo_each_other
        or one.includes == other.name
        or other.includes == one.name
        or _do_the_same(one, other)
    )


def find_hidden(
    model: TimeModel,
    best: Collection[Candidate],
    expected: Mapping[Candidate, float],
    among: Iterable[Candidate],
) -> Iterator[Candidate]:
    """Yields those `among` the candidates that one of the `best` hides: each spares a unit that needs nearly all of the time.

    A candidate that adds nothing to the others, such as more loads under way beside wider ones, is not hidden by them. Only one candidate
    of each cause is named.
    """
    changes = [one for one in best if not one.is_ceiling]
    if not changes:
        return
    named = {one: expected[one] for one in changes}
    together = saved_together(model, named)
    causes = {one.name for one in best}
    for candidate in among:
        if candidate.name in causes:
            continue
        with_it = {**named, candidate: expected[candidate]}
        saved = saved_together(model, with_it)
        adds = saved - together >= WORTH_A_CHANGE
        if adds and any(_hide_each_other(model, one, candidate, expected) for one in changes):
            named, together = with_it, saved
            causes.add(candidate.name)
            yield candidate


def _hide_each_other(
    model: TimeModel, one: Candidate, other: Candidate, expected: Mapping[Candidate, float]
) -> bool:
    """Returns whether two changes save far more together than one after the other: each spares a unit that needs nearly all of the time."""
    both = {one: expected[one], other: expected[other]}
    left = prod(1 - part for part in both.values())
    return saved_together(model, both) - (1 - left) >= HIDING_EACH_OTHER


def _do_the_same(one: Candidate, other: Candidate) -> bool:
    """Returns whether two causes ask for the same change of the same instructions: most of one is at instructions of the other."""
    if not any({one.name, other.name} <= names for names in _ONE_CHANGE):
        return False
    shared = one.weights.keys() & other.weights.keys()
    return any(
        2 * sum(each.weights[site] for site in shared) > sum(each.weights.values()) for each in (one, other)
    )
