"""Finds arrays in global memory that a block fills and then reads in each iteration of a loop: the next iteration overwrites them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.kept import kept
from profiler.analyse.causes.evidence.sites import Site
from profiler.analyse.causes.flow.dataflow import address_registers, reach
from profiler.analyse.causes.flow.loop_carried import find_carried, find_sources
from profiler.analyse.causes.flow.memory.repeated_loads import NEARLY_ALIKE
from profiler.analyse.causes.flow.pointers import find_pointers
from profiler.analyse.code.loops import Loop
from profiler.analyse.code.registers import written_registers


class Scratch(NamedTuple):
    """The stores that fill such an array, the loads that read it, and the bytes of it that a block uses in an iteration."""

    stores: Sequence[Site]
    loads: Sequence[Site]
    bytes_of_block: float


@kept
def find_scratch(evidence: Evidence) -> list[Scratch]:
    """Returns the arrays in which each iteration of a loop stores to the same places and loads as much behind a barrier.

    Nothing loads from them before that in the iteration: it could be what another iteration has left there.
    """
    found: list[Scratch] = []
    for loops in evidence.loops.values():
        for loop in loops:
            kinds = {one.kind for one in evidence.inside(loop)}
            if kinds.issuperset(("barrier", "global load", "global store")) and evidence.goes_back(loop):
                found += _find_in(evidence, loop)
    return found


def _find_in(evidence: Evidence, loop: Loop) -> Iterator[Scratch]:
    inside = evidence.inside(loop)
    arrays: dict[frozenset[str], tuple[list[Site], list[Site]]] = {}
    for site in inside:
        if site.kind in ("global store", "global load") and ".STRONG" not in site.opcode:
            stores, loads = arrays.setdefault(find_pointers(evidence, site), ([], []))
            (stores if site.kind == "global store" else loads).append(site)
    for array, (stores, loads) in arrays.items():
        others = frozenset[str]().union(*(one for one in arrays if one != array))
        if (
            array
            and stores
            and loads
            and array.isdisjoint(others)
            and _is_scratch(evidence, loop, stores, loads)
        ):
            turns = evidence.turns(inside[0], loop)
            blocks = evidence.shape.blocks if evidence.shape else 1
            yield Scratch(stores, loads, sum(one.bytes_of_lanes for one in stores) / turns / blocks)


def _is_scratch(evidence: Evidence, loop: Loop, stores: Sequence[Site], loads: Sequence[Site]) -> bool:
    stored, loaded = (sum(one.bytes_of_lanes for one in sites) for sites in (stores, loads))
    if not 0 < max(stored, loaded) <= NEARLY_ALIKE * min(stored, loaded):
        return False
    last = max(one.instruction.offset for one in stores)
    first = min(one.instruction.offset for one in loads)
    meets = any(
        one.kind == "barrier" and last < one.instruction.offset < first for one in evidence.inside(loop)
    )
    return meets and all(_comes_to_the_same(evidence, loop, one) for one in stores)


def _comes_to_the_same(evidence: Evidence, loop: Loop, store: Site) -> bool:
    """Returns whether each iteration stores to the same address: it is made of nothing that the loop carries, such as its counter."""
    body, sources = loop.body, find_sources(evidence, loop)
    here = next(place for place, one in enumerate(body) if one.offset == store.instruction.offset)
    address = address_registers(store.instruction)
    made_of = reach(
        (place for place in sources[here] if not address.isdisjoint(written_registers(body[place]))),
        lambda place: sources[place],
    )
    return find_carried(evidence, loop).isdisjoint(body[place].offset for place in made_of)
