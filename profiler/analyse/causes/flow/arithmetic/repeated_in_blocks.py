"""Finds what the blocks along a dimension of the grid compute alike within code that is otherwise each block's own work.

Blocks that compare their own elements with the same table all load the table, and have to. What they compute of the table alone, such
as the sums of the squares of its rows, each of them computes again.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from typing import NamedTuple

from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.kept import kept
from profiler.analyse.causes.evidence.sites import (
    ARITHMETIC,
    COPIES_TO_SHARED,
    LOADS,
    SIZE_IS_UNKNOWN,
    Kind,
    Site,
)
from profiler.analyse.causes.flow.arithmetic.compiler_functions import (
    find_calls,
    find_evaluating,
    with_called,
)
from profiler.analyse.causes.flow.block_sharing import find_grid_independent
from profiler.analyse.causes.flow.dataflow import (
    find_going_with,
    find_processing,
    predicates_read,
    reach,
    readers_in,
    sources_of,
)
from profiler.analyse.causes.flow.depending import find_depending
from profiler.catalog.metrics import LANES

_CONVERSIONS = ("F2F", "F2I", "I2F")
_UNKNOWN: tuple[Kind, ...] = ("local", "atomic", "shared atomic")  # what others may change
# These stay, whatever another kernel computes before.
_STAYS: tuple[Kind, ...] = (*_UNKNOWN, "barrier", "control", "global store", "tensor")
# How the divisor of integers becomes a float, for its reciprocal: `integer-overhead` names divisions.
_DIVISOR = re.compile(r"I2F(\.\w+)*\.RP")


class Repeated(NamedTuple):
    """`spared` says which part of each instruction goes if its results are computed before and loaded.

    Results that are larger than the data of which they are made, such as unpacked data, take longer to load. `unpacking` holds
    all that makes such results, from the loads on. A block can do that once for the work of several.
    """

    spared: Mapping[Site, float]
    unpacking: Set[Site]


_NOTHING = Repeated({}, frozenset())


def find_repeated_in_blocks(evidence: Evidence, index: str, in_loops: bool) -> Repeated:
    """Returns the arithmetic that every block along an index repeats on the same data, in loops or outside of them, with what serves it alone.

    Each result that a block's own work reads still has to be loaded. This replaces a load that goes, if there is one, or else the
    arithmetic. If nothing in a loop is a block's own, other causes name the loop. Outside of loops, what is the same for all
    threads of the grid is left out: the host can compute it, without a kernel before this one.
    """
    if not evidence.sites:
        return _NOTHING
    function = evidence.sites[0].function  # the kernel
    calls = {call for one in find_evaluating(evidence) for call in one.calls}
    loops = evidence.loops.get(function, [])
    of_all = set() if in_loops else set(find_grid_independent(evidence))
    arithmetic = [
        site
        for site in _find_arithmetic(evidence)
        if bool(evidence.innermost_loop(site)) == in_loops and site not in of_all
    ]
    if not arithmetic:
        return _NOTHING
    sites, depending = _code_of_kernel(evidence), _find_depending(evidence, index)
    outside = [site for site in sites if not evidence.innermost_loop(site)]
    areas = [evidence.inside(loop) for loop in loops] if in_loops else [outside]
    alike = {
        site
        for inside in areas
        if not depending.isdisjoint(inside)
        for site in inside
        if site not in depending
        and (site in calls or site.kind not in _STAYS)
        and site.instruction.name not in COPIES_TO_SHARED
    }
    repeated = [site for site in arithmetic if site in alike]
    if not repeated:
        return _NOTHING
    readers = _find_readers(evidence)
    made = reach(repeated, lambda site: [one for one in readers.get(site, ()) if one in alike])
    serving = find_going_with(sites, made, readers, alike)
    results = {site for site in made if _is_read_beside(evidence, site, made, readers)}
    loads = {site for site in (*made, *serving) if site.kind in LOADS}
    loaded, needed = (sum(site.executed for site in some) for some in (loads, results))
    # The results are loaded in place of what is loaded now.
    of_loads = max(0.0, 1 - needed / loaded) if loaded else 0.0
    of_results = min(1.0, loaded / needed) if needed else 1.0
    parts = {site: of_results if site in results else 1.0 for site in (*made, *serving)}
    parts |= dict.fromkeys(loads, of_loads)
    # A called function goes whole, even if a load takes the place of the call.
    parts = with_called(evidence, dict.fromkeys(calls & parts.keys(), 1.0)) | parts
    spared = {site: part for site in evidence.by_function[function] if (part := parts.get(site, 0.0)) > 0}
    return Repeated(spared, frozenset(parts) if needed > loaded > 0 else frozenset())


@kept
def _code_of_kernel(evidence: Evidence) -> Sequence[Site]:
    """Returns the code of the kernel without the functions of the compiler behind it, which have no data of their own."""
    called = find_calls(evidence)
    return [site for site in evidence.by_function[evidence.sites[0].function] if site not in called]


@kept
def _find_arithmetic(evidence: Evidence) -> Sequence[Site]:
    """Returns what the kernel computes: arithmetic, calls of functions, and numbers that it unpacks."""
    calls = {call for one in find_evaluating(evidence) for call in one.calls}
    return [
        site
        for site in _code_of_kernel(evidence)
        if site in calls or _computes(evidence, site) or _decodes(evidence, site)
    ]


def _computes(evidence: Evidence, site: Site) -> bool:
    """Returns whether an instruction is arithmetic on floats.

    Tests do not count, nor do conversions, which may add zero, nor the reciprocal by which integers are divided.
    """
    if site.kind not in ARITHMETIC or not site.use.written or site.instruction.name in _CONVERSIONS:
        return False
    if "-RZ" in site.instruction.operands[1:2]:
        return False
    return not any(_DIVISOR.match(one.opcode) for one in sources_of(evidence, site))


def _decodes(evidence: Evidence, site: Site) -> bool:
    """Returns whether an instruction makes a number of bits that were taken out of loaded data: the last step of unpacking it.

    A number that was loaded whole does not count: once converted, it would only take longer to load.
    """
    if not site.instruction.name.startswith("I2F") or _DIVISOR.match(site.opcode):
        return False
    processing = find_processing(evidence)
    return any(one.kind == "integer" and one in processing for one in sources_of(evidence, site))


def _is_read_beside(
    evidence: Evidence, site: Site, made: Collection[Site], readers: Mapping[Site, Collection[Site]]
) -> bool:
    """Returns whether a block's own work reads a result in the loop in which it is made, if any. Behind the loop, it would read one value only."""
    loop = evidence.innermost_loop(site)
    inside = evidence.inside(loop) if loop else evidence.by_function[site.function]
    return any(one not in made and one in inside for one in readers.get(site, ()))


@kept
def _find_readers(evidence: Evidence) -> dict[Site, set[Site]]:
    """Returns for each instruction those that read its result, also from shared memory, if it is stored there."""
    sites = _code_of_kernel(evidence)
    among = set(sites)
    found = readers_in(evidence, sites[0].function).items()
    readers = {site: among.intersection(some) for site, some in found if site in among}
    setting: dict[str, Site] = {}
    for site in sites:
        for name in predicates_read(site):
            if name in setting:
                readers.setdefault(setting[name], set()).add(site)
        setting |= dict.fromkeys(site.use.predicates_written, site)
    stores = [site for site in sites if site.stores_in_shared]
    for load in sites:
        if load.kind == "shared load":
            for store in _stores_at(load, stores):
                readers.setdefault(store, set()).add(load)
    return readers


@kept
def _find_depending(evidence: Evidence, index: str) -> set[Site]:
    """Returns the instructions whose results depend on an index of the block."""
    sites, loops = _code_of_kernel(evidence), evidence.loops.get(evidence.sites[0].function, [])
    first = {site for site in sites if index in site.instruction.text or _is_unknown(site)}
    while True:
        depending = find_depending(evidence, sites, loops, first)
        new = _passed_by(sites, depending) | _loading_from(evidence, sites, depending)
        if new <= depending:
            return depending
        first |= new


def _is_unknown(site: Site) -> bool:
    """Returns whether an instruction reads memory that may hold anything: others change it, or the tensor cores read it themselves."""
    return site.kind in _UNKNOWN or ".STRONG" in site.opcode or site.multiplies_from_shared


def _passed_by(sites: Sequence[Site], depending: Collection[Site]) -> set[Site]:
    """Returns the code that a branch which depends on the block may skip."""
    found: set[Site] = set()
    end = 0
    for site in sites:
        if site.instruction.offset < end:
            found.add(site)
        elif site in depending and site.instruction.predicate and (target := site.leads_to):
            end = target
    return found


def _loading_from(evidence: Evidence, sites: Sequence[Site], depending: Collection[Site]) -> set[Site]:
    """Returns the loads from shared memory that may read what depends on the block.

    The registers of an address may hold the start of any array. So the offsets decide: a load reads what is the same for all
    blocks only if a store of that has its offset, and if no store of what depends on the block reaches there.
    """
    loads = {site for site in sites if site.kind == "shared load"}
    stores = [site for site in sites if site.stores_in_shared]
    own = [site for site in stores if site in depending]
    if not own or any(site.instruction.name in SIZE_IS_UNKNOWN for site in own):
        return loads if own else set()
    reached = _find_reached(own, evidence.shape.threads if evidence.shape else LANES)
    known = {_place_in_shared(site)[1] for site in stores if site not in depending}
    return {
        site
        for site in loads
        if (offset := _place_in_shared(site)[1]) not in known
        or any(first <= offset < last for first, last in reached)
    }


def _find_reached(stores: Iterable[Site], threads: int) -> list[tuple[int, float]]:
    """Returns from where to where the threads of a block store. Stores whose addresses have the same registers lie side by side."""
    pieces: dict[str, list[tuple[int, float]]] = {}
    for site in stores:
        base, start = _place_in_shared(site)
        pieces.setdefault(base, []).append((start, threads * site.width / 8))
    reached = []
    for some in pieces.values():
        first, together = min(some)[0], sum(size for _, size in some)
        reached.append((first, max(first + together, *(start + size for start, size in some))))
    return reached


def _stores_at(load: Site, stores: Iterable[Site]) -> list[Site]:
    """Returns the stores whose values a load from shared memory may find: those with the same offset, or else all."""
    place = _place_in_shared(load)[1]
    return [one for one in stores if _place_in_shared(one)[1] == place] or list(stores)


def _place_in_shared(site: Site) -> tuple[str, int]:
    """Returns the registers of an address in shared memory, which a copy names first, and the offset that is added to them."""
    address = site.instruction.text.partition("[")[2].partition("]")[0]
    registers, _, offset = address.rpartition("+") if "x" in address else (address, "", "0")
    return registers, int(offset, 16)
