"""Finds sides of a branch that do nearly the same, each for some lanes of a warp: one copy of the code could serve all of these lanes."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain, groupby, pairwise
from operator import attrgetter
from typing import NamedTuple

from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.kept import kept
from profiler.analyse.causes.evidence.sites import Site

# One copy needs a select for each operand that the sides take from different places, which a few instructions are not worth.
_LONG = 32
_ALIKE = 0.9  # of their instructions, which have the same opcodes

_LED_TO = attrgetter("leads_to")
_OFFSET = attrgetter("instruction.offset")


class AlikeSides(NamedTuple):
    """Sides of a branch, the test before each, how often warps come to the first test, and how often to a side."""

    sides: Sequence[Sequence[Site]]
    tests: Sequence[Site]
    coming: float
    executed: float

    @property
    def spare(self) -> Mapping[Site, float]:
        """Returns the part of the instructions that goes with one copy, which a warp executes at most once each time that it comes."""
        return dict.fromkeys(chain.from_iterable(self.sides), 1 - self.coming / self.executed)


@kept
def find_alike_sides(evidence: Evidence) -> list[AlikeSides]:
    """Returns alike sides that are executed more often, together, than warps come to them: some warps execute several, one after the other."""
    found: list[AlikeSides] = []
    for sites in evidence.by_function.values():
        ends = [site for site in sites if site.leads_to and not site.instruction.predicate]
        for _, of_one in groupby(sorted(ends, key=_LED_TO), _LED_TO):
            if one := _find_alike(sites, [*of_one]):
                found.append(one)
    return found


def _find_alike(sites: Sequence[Site], ends: Sequence[Site]) -> AlikeSides | None:
    """Returns the alike sides of a branch, if warps execute several: each of these `ends` leads from the end of one to that of the last."""
    places = [bisect_right(sites, _OFFSET(end), key=_OFFSET) for end in ends]
    second = sites[places[0]].instruction.offset if places[0] < len(sites) else None
    choosing = (place for place in reversed(range(places[0])) if sites[place].leads_to == second)
    meeting = ends[0].leads_to or 0
    if (begin := next(choosing, None)) is None or not (first := sites[begin]).instruction.predicate:
        return None
    last = bisect_left(sites, meeting, key=_OFFSET)
    if any(
        _OFFSET(first) < (site.instruction.target or 0) < meeting
        for site in chain(sites[:begin], sites[last:])
    ):
        return None  # warps come on other ways, too
    tests: list[Site] = []
    found: list[Sequence[Site]] = []
    for start, end in pairwise([begin + 1, *places, last]):
        past = [place for place in range(start, end) if _leads_past(sites[place], sites[end - 1])]
        side = sites[max(past, default=start - 1) + 1 : end]
        if len(side) >= _LONG and (not found or _are_alike(found[0], side)):
            tests.append(sites[past[-1]] if past else first)
            found.append(side)
    executed = sum(min(side[0].executed, side[-1].executed) for side in found)
    if len(found) < 2 or executed <= first.executed:
        return None
    return AlikeSides(found, tests, first.executed, executed)


def _leads_past(branch: Site, last: Site) -> bool:
    return bool(branch.instruction.predicate) and (branch.leads_to or 0) > last.instruction.offset


def _are_alike(one: Sequence[Site], other: Sequence[Site]) -> bool:
    counts = [Counter(site.instruction.name for site in side) for side in (one, other)]
    return 2 * (counts[0] & counts[1]).total() >= _ALIKE * (len(one) + len(other))
