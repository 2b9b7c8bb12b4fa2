"""Finds what loops carry from one turn to the next: sums, counters, and loads whose address depends on what the turn before loaded."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from functools import lru_cache

from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.sites import Site
from profiler.analyse.causes.flow.dataflow import (
    has_fixed_address,
    makers_of_value,
    predicates_in,
    predicates_read_by,
    reach,
    results_of,
)
from profiler.analyse.code.code import Instruction
from profiler.analyse.code.loops import Loop
from profiler.analyse.code.registers import inputs_of

_RESULTS = ("fp32", "fp64")
_TIMES_ROUND = 2  # one turn to fill the registers, and the one that counts
_Positions = frozenset[int]
_NOTHING: _Positions = frozenset()


def is_carried(evidence: Evidence, site: Site) -> bool:
    """Returns whether a result depends on itself in the iteration before: a sum, a counter, or a load that follows a list or searches a sorted array."""
    loop = evidence.innermost_loop(site)
    if loop is None:
        return False
    position = bisect_left(loop.body, site.instruction.offset, key=lambda one: one.offset)
    sources = _sources(loop)
    return position in reach(sources[position], sources.__getitem__)


def follows_itself(evidence: Evidence) -> bool:
    """Returns whether warps spend most of the time in a loop that makes each result from the one before, as a filter or a recurrent net does.

    It stores the result of each turn, so that the turns cannot be shared out and added up as those of a sum can: more blocks
    would have no work.
    """
    loops = set()
    for store in evidence.of("global store"):
        loop = evidence.innermost_loop(store)
        if loop and has_fixed_address(evidence, store) == 0:
            makers = [one for one in makers_of_value(evidence, store) if evidence.innermost_loop(one) == loop]
            loops |= {loop for one in makers if one.kind in _RESULTS and is_carried(evidence, one)}
    inside = sum(evidence.charged[site].total for loop in loops for site in evidence.inside(loop))
    return inside > sum(evidence.waits_by_reason.values()) / 2


@lru_cache(maxsize=64)
def _sources(loop: Loop) -> tuple[_Positions, ...]:
    """Returns for each position of a loop the positions whose results it reads, in this iteration or the one before."""
    return find_sources(loop.body)


def find_sources(body: Sequence[Instruction]) -> tuple[_Positions, ...]:
    """Returns for each instruction of a loop's body those whose results it reads, also by the predicates that let it act or choose.

    An instruction that a branch may pass by acts if the branch is not taken. A branch out of the loop ends it, and chooses
    nothing within. An instruction under a predicate reads what was written under the same one; it reads what a register held
    before only where the predicate did not hold.
    """
    held: dict[str, _Positions] = {}
    under: dict[tuple[str, str], _Positions] = {}
    passed_by = _branches_around(body)
    chosen_by = [predicates_in(one.text) if one.name == "BRA" else predicates_read_by(one) for one in body]
    flow = [
        (one.predicate or "", inputs_of(one) | chosen, results_of(one))
        for one, chosen in zip(body, chosen_by, strict=True)
    ]
    found: list[_Positions] = []
    for _ in range(_TIMES_ROUND):
        found = []
        for position, (guard, read, results) in enumerate(flow):
            values = (under.get((guard, name)) or held.get(name, _NOTHING) for name in read)
            found.append(passed_by[position].union(*values))
            for name in results:
                _write(held, under, name, guard, position)
    return tuple(found)


def _branches_around(body: Sequence[Instruction]) -> list[_Positions]:
    """Returns for each instruction the conditional branches that may pass it by, and go on in the same turn."""
    found = [_NOTHING] * len(body)
    places = {one.offset: place for place, one in enumerate(body)}
    for place, one in enumerate(body):
        if one.name != "BRA" or one.target is None or not predicates_in(one.text):
            continue
        for passed in range(place + 1, places.get(one.target, 0)):
            found[passed] |= {place}
    return found


def _write(
    held: dict[str, _Positions],
    under: dict[tuple[str, str], _Positions],
    name: str,
    guard: str,
    position: int,
) -> None:
    """Notes that an instruction writes a register or a predicate, where its guard lets it act."""
    written = frozenset({position})
    held[name] = written | held.get(name, _NOTHING) if guard else written
    opposite = guard.removeprefix("!") if guard.startswith("!") else f"!{guard}"
    for one, register in [*under]:
        # It is another value now, or the predicate is another one.
        if name in predicates_in(one) or (register == name and not (guard and one == opposite)):
            del under[one, register]
    if guard and name not in predicates_in(guard):
        under[guard, name] = written
