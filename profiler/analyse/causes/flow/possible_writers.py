"""Finds the instructions whose result a register may hold, on all paths that branches open."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence, Set

from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.kept import kept_of_code
from profiler.analyse.causes.evidence.sites import Site
from profiler.analyse.causes.flow.dataflow import place_before, places_written, reach
from profiler.analyse.code.opcodes import JUMPS_BY_REGISTER
from profiler.analyse.code.registers import predicates_in


@kept_of_code
def writers_before(evidence: Evidence, site: Site, register: str) -> Set[Site]:
    """Returns the instructions whose result a register or predicate may hold when an instruction reads it.

    The set is empty if something unknown may have written it. Code that a branch may skip counts. What reads a register under a
    predicate reads what was written under the same one, unless the predicate has changed since.
    """
    function = site.function
    sites, before, starts = (
        evidence.by_function[function],
        _before_each(evidence, function),
        _starts(evidence, function),
    )
    places = places_written(evidence, function)
    predicate = site.instruction.predicate
    asked = [places[name] for name in predicates_in(predicate or "") if name in places]
    writing = places.get(register, ())
    found: set[Site] = set()
    seen: set[tuple[int, bool]] = set()
    # Each place, and whether the predicate is still the same there.
    wanted = [(place, predicate is not None) for place in before[evidence.place(site, sites)]]
    while wanted:
        step = wanted.pop()
        if step in seen:
            continue
        seen.add(step)
        # Straight back to the last writer, or to where another path joins.
        last, is_same = step
        place = max(place_before(last + 1, writing), starts[last])
        changed = max((place_before(last + 1, some) for some in asked), default=-1)
        writer = sites[place]
        if register in writer.use.results:
            found.add(writer)
            under = writer.instruction.predicate
            if under is None or (is_same and changed <= place and under == predicate):
                continue
        if writer.instruction.name == "CALL" or not before[place]:
            return set()
        wanted += [(one, is_same and changed < place) for one in before[place]]
    return found


def writers_of_any(evidence: Evidence, site: Site, registers: Iterable[str]) -> set[Site]:
    """Returns the instructions whose results these registers may hold when an instruction reads them."""
    return {one for register in registers for one in writers_before(evidence, site, register)}


def makers_on_all_paths(
    evidence: Evidence,
    site: Site,
    registers: Iterable[str],
    ends: Callable[[Site], bool] = lambda _: False,
) -> Set[Site]:
    """Returns all instructions that may have led to what these registers hold when an instruction reads them, back to those where it `ends`."""
    return reach(
        writers_of_any(evidence, site, registers),
        lambda one: () if ends(one) else writers_of_any(evidence, one, one.use.inputs),
    )


@kept_of_code
def _before_each(evidence: Evidence, function: int) -> Sequence[Sequence[int]]:
    """Returns for each instruction of a function the places of those that may be executed right before it."""
    sites = evidence.by_function[function]
    places = {site.instruction.offset: place for place, site in enumerate(sites)}
    before: list[list[int]] = [[] for _ in sites]
    if any(site.instruction.name in JUMPS_BY_REGISTER for site in sites):
        return before
    met = [site.instruction.operands for site in sites if site.instruction.name == "BSSY"]
    for place, site in enumerate(sites):
        one = site.instruction
        meeting = met if one.name == "BSYNC" else []
        targets = [int(end, 16) for barrier, end in meeting if barrier == one.operands[0]]
        if place + 1 < len(sites) and sites[place + 1].instruction.offset in targets:
            targets = []  # it meets right here; other meetings use the same register before or after
        for target in (*targets, one.target):
            if target in places:
                before[places[target]].append(place)
        leaves = one.name in ("EXIT", "RET") or (one.target is not None and len(one.operands) == 1)
        if place + 1 < len(sites) and not (leaves and one.predicate is None):
            before[place + 1].append(place)
    return before


@kept_of_code
def _starts(evidence: Evidence, function: int) -> Sequence[int]:
    """Returns for each instruction of a function where the straight path to it begins: no other path joins it, and it holds no call."""
    found: list[int] = []
    before = _before_each(evidence, function)
    for place, site in enumerate(evidence.by_function[function]):
        is_straight = before[place] == [place - 1] and site.instruction.name != "CALL"
        found.append(found[-1] if is_straight else place)
    return found
