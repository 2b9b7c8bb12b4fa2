"""Says which changes of a comparison tell most: their order, and which of them only repeat another."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Literal, get_args

from profiler.analyse.findings import MetricDelta
from profiler.catalog.metrics import (
    BY_NAME,
    DURATION,
    HEADLINE,
    SMALLEST_RELATIVE_EFFECT,
    STALLS,
    WAITS,
    with_working_pipes,
)

Way = Literal["better", "worse", "changed"]
_MOST_WAITS = 3
_OF_EACH_WAY = 3
# The values of a unit that count as large; other units are weighed by relative change.
_FULL_SCALE = {"%": 100.0, "cycle/issue": 10.0}


def in_telling_order(deltas: Sequence[MetricDelta], wanted: Sequence[str] = ()) -> list[MetricDelta]:
    """Sorts by what was asked for, the duration, what moved, and what did not.

    Of what moved, the headline comes first, in an order of its own, so that a reader finds each of these figures at its place. The
    pipes that do the arithmetic of the two sides are part of it, and so are notable waits. Then come the waits that changed most, since
    they are parts of a warp's time. Then the largest changes for the better, for the worse, and in neither direction take turns, so
    that none of these hides another. All others follow, and last what only repeats one of them. Of what did not move, the headline
    comes first, too.
    """
    first = [*wanted, DURATION]
    asked = sorted((one for one in deltas if one.name in first), key=lambda one: first.index(one.name))
    known = {one.name: one for one in deltas}
    others = [one for one in deltas if one.name not in first]
    others.sort(key=lambda one: (-_weight(one, known), one.name))
    repeats = repeated(deltas)
    moved = [one for one in others if one.has_moved]
    sides = ({one.name: one.before for one in deltas}, {one.name: one.after for one in deltas})
    leading = with_working_pipes(HEADLINE, *sides)
    notable = {one.name for one in _notable_waits(moved, deltas)}
    first_moved = [
        one for one in moved if one.name in leading and (one.name not in STALLS or one.name in notable)
    ]
    rest = [one for one in moved if one not in first_moved]
    still = [one for one in others if not one.has_moved]
    return [
        *asked,
        *_in_order_of(leading, first_moved),
        *_most_telling([one for one in rest if one.name not in repeats], deltas),
        *(one for one in rest if one.name in repeats),
        *_in_order_of(leading, still),
        *(one for one in still if one.name not in leading),
    ]


def _in_order_of(names: Sequence[str], deltas: Sequence[MetricDelta]) -> list[MetricDelta]:
    return sorted((one for one in deltas if one.name in names), key=lambda one: names.index(one.name))


def repeated(deltas: Sequence[MetricDelta]) -> set[str]:
    """Returns the names of what moved just like another metric that it often follows: it says nothing new."""
    moved = {one.name: one for one in deltas if one.has_moved}
    return {
        name
        for name, one in moved.items()
        if name in BY_NAME
        and any(other in moved and _are_alike(one, moved[other]) for other in BY_NAME[name].follows)
    }


def way_of(delta: MetricDelta) -> Way:
    """Returns the direction of a change, certain or not; "changed" if neither direction is good by itself."""
    better = delta.better
    if better is None:
        return "changed"
    return "better" if (delta.delta < 0) == (better == "lower") else "worse"


def _most_telling(moved: Sequence[MetricDelta], deltas: Sequence[MetricDelta]) -> list[MetricDelta]:
    """Takes what moved, with the largest change first."""
    waits = sorted(_notable_waits(moved, deltas), key=lambda one: -abs(one.delta))[:_MOST_WAITS]
    rest = [one for one in moved if one not in waits]
    # Any other wait changed less than those above, even if it changed by a large part of itself.
    others = [one for one in rest if one.name not in STALLS]
    ways = ([one for one in others if way_of(one) == way][:_OF_EACH_WAY] for way in get_args(Way))
    in_turns = [one for turn in zip_longest(*ways) for one in turn if one is not None]
    return [*waits, *in_turns, *(one for one in rest if one not in in_turns)]


def _notable_waits(moved: Sequence[MetricDelta], deltas: Sequence[MetricDelta]) -> list[MetricDelta]:
    """Returns the waits that changed so much that the time of a warp changed with them."""
    stalls = [one for one in deltas if one.name in STALLS]
    a_warp_takes = max(math.fsum(one.before for one in stalls), math.fsum(one.after for one in stalls))
    least = SMALLEST_RELATIVE_EFFECT * a_warp_takes
    return [one for one in moved if one.name in WAITS and abs(one.delta) >= least]


def _are_alike(one: MetricDelta, other: MetricDelta) -> bool:
    """Returns whether the other changed as much, in its unit or as a part of itself, but for less than matters."""
    expected = [one.before + other.delta] if one.unit == other.unit else []
    if other.before:
        expected.append(one.before * other.after / other.before)
    least = SMALLEST_RELATIVE_EFFECT * max(abs(one.before), abs(one.after))
    return any(abs(one.after - value) <= least for value in expected)


def _weight(delta: MetricDelta, known: Mapping[str, MetricDelta]) -> float:
    """Returns how much a change matters: tiny stalls that double are still tiny, and so is all of a tiny part."""
    if scale := _FULL_SCALE.get(delta.unit):
        return abs(delta.delta) / scale
    parts = BY_NAME[delta.name].part_of if delta.name in BY_NAME else ()
    wholes = [known[name] for name in parts if name in known] or [delta]
    whole = max(math.fsum(one.before for one in wholes), math.fsum(one.after for one in wholes))
    return abs(delta.delta) / (whole or 1.0)
