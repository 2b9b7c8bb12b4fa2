"""Finds loads that read again what was loaded before, and the work on addresses that goes with loads.

A loop may read again what a loop before it has read, as when a row is summed in one pass and normalised in the next. Compilers
write the same address in many ways. So addresses are computed: with made-up numbers for parameters and indices, in one iteration
of each loop. Two loads whose addresses begin at the same number read from the same place on.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence, Set

from profiler.analyse.causes.evidence.addresses import address_of
from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.kept import kept
from profiler.analyse.causes.evidence.sites import Kind, Site
from profiler.analyse.causes.flow.addresses.made_up import first_addresses
from profiler.analyse.causes.flow.addresses.operations import WORDS
from profiler.analyse.causes.flow.dataflow import (
    CHANGED_BY_OTHERS,
    COMPUTED,
    address_registers,
    find_address_work_of,
    place_before,
    places_written,
    readers_in,
    sources_of,
    uses_of,
)
from profiler.analyse.causes.flow.depending import find_depending
from profiler.analyse.causes.flow.loop_carried import is_carried_by
from profiler.analyse.code.loops import Loop, loops_within

# Loads that begin fewer bytes apart than this read the same array: those of an unrolled loop, or of the parts that one thread takes.
_NEAR_BYTES = 2**16
_OFTEN = 2.0  # iterations on average, so that at least half of what is read was read before
NEARLY_ALIKE = 1.1  # counts of loops over the same data: the last iteration of one may do less
# What a block can keep, to read it only once: half of the 256 KiB of registers of an SM (CUDA C++ Programming Guide, "Technical
# Specifications per Compute Capability").
_MOST_KEPT_BYTES = 128 * 1024
_CHANGING: tuple[Kind, ...] = ("global store", "atomic")


@kept
def find_repeated_loads(evidence: Evidence) -> list[Site]:
    """Returns the loads from global memory whose address an earlier load had, too, as in unrolled loops."""
    return _repeated(evidence, "global load")


def find_loads_kept_apart(evidence: Evidence) -> list[Site]:
    """Returns the loads from shared memory that repeat an earlier one, without a store between them.

    The compiler keeps what is loaded in a register; but past a barrier, others may have stored there, and it loads again.
    """
    return _repeated(evidence, "shared load", unless_stored=True)


def _repeated(evidence: Evidence, kind: Kind, unless_stored: bool = False) -> list[Site]:
    repeated = []
    for function, sites in evidence.by_function.items() if evidence.of(kind) else ():
        written = places_written(evidence, function)
        seen: set[object] = set()
        for here, site in enumerate(sites):
            if unless_stored and site.stores_in_shared:
                seen.clear()
            registers = sorted(address_registers(site.instruction)) if site.kind == kind else []
            if registers and ".STRONG" not in site.opcode:
                # What wrote them in this pass through the code.
                writers = [place_before(here, written.get(name, ())) for name in registers]
                # A place that was loaded before a loop may have been stored to in an earlier iteration.
                loop = evidence.innermost_loop(site) if unless_stored else None
                place = (address_of(site), *writers, loop)
                predicate = site.instruction.predicate
                if not seen.isdisjoint({(place, None), (place, predicate)}):
                    repeated.append(site)
                # Where lanes were counted and none is left out, each has the value, whatever predicate the load repeats.
                is_whole = evidence.has_costs and site.acting is not None and site.acting == site.lanes
                seen.add((place, None if is_whole else predicate))
    return repeated


def find_later_passes(evidence: Evidence) -> dict[Site, bool]:
    """Returns the loads by which a loop reads again what an earlier loop has read, if nothing changed it, with whether a block could have kept it.

    If a block could not, a load counts only where the earlier loop could have done what the later one does.
    """
    found: dict[Site, bool] = {}
    for sites in evidence.by_function.values():
        counted = (site for site in sites if site.kind == "global load" and site.ideal_sectors)
        around = evidence.loops_around(counted)
        if not around or min(loop.end for loop in around) >= max(loop.start for loop in around):
            continue  # addresses take long to find, and there is no second pass
        end = max(loop.end for loop in around)
        addresses = first_addresses([site for site in sites if site.instruction.offset <= end])
        loops = _loads_by_loop(evidence, sites, addresses)
        for place, (loop, loads) in enumerate(loops):
            passes = (
                dict.fromkeys(again, fits)
                for before, loaded in loops[:place]
                if before.end < loop.start
                and (again := _again(addresses, loaded, loads))
                and not _is_stored(addresses, _between(sites, before, loop), again, loop)
                and (
                    (fits := fits_in_block(evidence, before, loop, again)) or _adds_up(evidence, before, loop)
                )
            )
            found |= next(passes, {})
    return found


def find_same_in_outer_turns(evidence: Evidence) -> dict[Site, float]:
    """Returns the loads of inner loops that read the same in each iteration of an outer loop, if a block can keep that, with the part that repeats."""
    found: dict[Site, float] = {}
    for function, sites in evidence.by_function.items():
        loops = evidence.loops.get(function, [])
        if any(site.kind in _CHANGING and evidence.innermost_loop(site) for site in sites):
            continue
        for outer in loops:
            if loops_within(outer, loops):
                turns = evidence.turns(evidence.inside(outer)[0], outer)
                same = _same_in_turns(evidence, outer) if turns >= _OFTEN else []
                if same and _bytes_of_block(evidence, same, outer) / turns <= _MOST_KEPT_BYTES:
                    found |= {site: max(found.get(site, 0.0), 1 - 1 / turns) for site in same}
    return found


def _same_in_turns(evidence: Evidence, outer: Loop) -> list[Site]:
    """Returns the loads in a loop's inner loops whose addresses depend on nothing that the loop carries, or that it loads outside of these.

    Nor do they depend on what others may change, wherever it is read: each iteration may stage other indices in shared memory.
    How far an inner loop comes depends on what decides whether it goes on.
    """
    inside = evidence.inside(outer)
    loops = loops_within(outer, evidence.loops[inside[0].function])
    inner = {site for loop in loops for site in evidence.inside(loop)}
    first = {
        site
        for site in inside
        if is_carried_by(evidence, outer, site)
        or site.kind in CHANGED_BY_OTHERS
        or (site not in inner and site.kind == "global load")
    }
    depending = find_depending(evidence, inside, [outer, *loops], first)
    for loop in loops:
        turn = evidence.inside(loop)
        if any(site.kind == "control" and site in depending for site in turn):
            first.update(site for site in turn if is_carried_by(evidence, loop, site))
    depending = find_depending(evidence, inside, [outer, *loops], first)
    return [
        site
        for site in inside
        if site.kind == "global load"
        and site in inner
        and site not in depending
        and ".STRONG" not in site.opcode
    ]


def _between(sites: Iterable[Site], first: Loop, last: Loop) -> list[Site]:
    """Returns the instructions of two loops, and those that stand between them."""
    return [site for site in sites if first.start <= site.instruction.offset <= last.end]


def _loads_by_loop(
    evidence: Evidence, sites: Iterable[Site], addresses: Collection[Site]
) -> list[tuple[Loop, list[Site]]]:
    found: dict[Loop, list[Site]] = {}
    for site in sites:
        loop = evidence.innermost_loop(site)
        if site.kind == "global load" and site in addresses and loop is not None and site.ideal_sectors:
            found.setdefault(loop, []).append(site)
    return sorted(found.items(), key=lambda one: one[0].start)


def _again(addresses: Mapping[Site, int], loaded: Sequence[Site], loads: Sequence[Site]) -> list[Site]:
    """Returns those of the `loads` that read again what some of the `loaded` read: from the same place on, and as much."""
    again = [one for one in loads if is_near(addresses, one, loaded)]
    first = [one for one in loaded if is_near(addresses, one, again)]
    if {addresses[one] for one in first}.isdisjoint(addresses[one] for one in again):
        return []
    before, after = (sum(one.ideal_sectors or 0.0 for one in some) for some in (first, again))
    return again if max(before, after) <= NEARLY_ALIKE * min(before, after) else []


def is_near(addresses: Mapping[Site, int], site: Site, others: Iterable[Site]) -> bool:
    return any(
        min((addresses[site] - addresses[one]) % WORDS, (addresses[one] - addresses[site]) % WORDS)
        < _NEAR_BYTES
        for one in others
    )


def _is_stored(
    addresses: Mapping[Site, int], between: Iterable[Site], loads: Sequence[Site], loop: Loop
) -> bool:
    """Returns whether the kernel stores where it loads, or at an unknown place, before it loads there.

    A loop may put back just the elements that the same iteration has loaded: that changes nothing that later iterations load.
    """
    stores = [one for one in between if one.kind in _CHANGING]
    near = [one for one in stores if one not in addresses or is_near(addresses, one, loads)]
    puts_back = {addresses.get(one) for one in near} == {addresses[one] for one in loads}
    return bool(near) and not (
        puts_back and all(one.kind == "global store" and one.instruction in loop for one in near)
    )


def fits_in_block(evidence: Evidence, before: Loop, loop: Loop | None, loads: Sequence[Site]) -> bool:
    """Returns whether a block could keep, in registers or shared memory, what these loads bring from the loop `before` until they run again.

    A loop around theirs that does not hold the one before reads anew in all of its iterations. Without a loop, each warp loads
    once.
    """
    first = min(_loops_since(evidence, before, loop), key=lambda one: one.start) if loop else None
    return _bytes_of_block(evidence, loads, first) <= _MOST_KEPT_BYTES


def _adds_up(evidence: Evidence, before: Loop, loop: Loop) -> bool:
    """Returns whether a loop that runs once after the one `before` it stores nothing, so that both could run as one.

    Sums and maxima can be corrected when what they depend on changes, as in a softmax of one pass. A result for each element has
    to wait for the end of the loop before.
    """
    stores = any(site.kind in _CHANGING for site in evidence.inside(loop))
    return not stores and _loops_since(evidence, before, loop) == [loop]


def _loops_since(evidence: Evidence, before: Loop, loop: Loop) -> list[Loop]:
    """Returns the loop, and those around it that do not hold the one `before`."""
    return [
        one
        for one in evidence.loops.get(evidence.inside(loop)[0].function, [])
        if before.end < one.start <= loop.start and loop.end <= one.end
    ]


def _bytes_of_block(evidence: Evidence, loads: Sequence[Site], loop: Loop | None) -> float:
    """Returns how many bytes these loads bring to a block each time that it enters the loop, or in all without a loop."""
    sites = evidence.by_function[loads[0].function]
    entering = evidence.last_before(loads[0].function, loop) if loop else sites[0]
    if entering is None or evidence.shape is None:
        return math.inf
    return sum(one.bytes_asked for one in loads) * evidence.shape.warps_of_block / entering.executed


def find_addresses_gone(evidence: Evidence, fractions: Mapping[Site, float]) -> dict[Site, float]:
    """Returns which part of the work on addresses goes with these parts of the loads.

    Which executions of a load stay is not known, but each of them needs as much work on its address as today. What is computed
    outside of the innermost loop around a load is computed once for many of them, and stays.
    """
    served: dict[Site, float] = {}
    gone: dict[Site, float] = {}
    outside: set[Site] = set()
    for load, part in fractions.items():
        loop = evidence.innermost_loop(load)
        for site in find_address_work_of(evidence, [load]):
            served[site] = served.get(site, 0.0) + load.executed
            gone[site] = gone.get(site, 0.0) + part * load.executed
            if evidence.innermost_loop(site) != loop:
                outside.add(site)
    serving = (site for site in _serving_only(evidence, fractions) if site not in outside and served[site])
    return {site: gone[site] / served[site] for site in serving}


def _serving_only(evidence: Evidence, loads: Collection[Site]) -> list[Site]:
    """Returns the work on addresses whose results reach nothing but these loads, if only by a step to the next iteration's address.

    It is in the order of the code. The step itself stays: a loop over what is kept takes such steps, too. An index that is also
    counted, compared or stored stays, and so does all that it is computed from.
    """
    work = set(find_address_work_of(evidence, loads))
    read_by = {function: readers_in(evidence, function) for function in {site.function for site in work}}
    readers = {site: read_by[site.function].get(site, ()) for site in work}
    served = {*work, *loads}
    others = {one for site in work for one in readers[site] if one not in served}
    served.update([one for one in others if _is_step(evidence, one, served)])
    shared = [site for site in work if any(one not in served for one in readers[site])]
    while shared:
        site = shared.pop()
        if site in work:
            work.remove(site)
            shared += [one for one in sources_of(evidence, site) if one in work]
    return [site for site in evidence.sites if site in work]


def _is_step(evidence: Evidence, site: Site, served: Set[Site]) -> bool:
    """Returns whether an instruction of a loop computes the address of the next iteration, and only what is `served` reads it."""
    if site.kind not in COMPUTED or evidence.innermost_loop(site) is None:
        return False
    uses = set(uses_of(evidence, site))
    return bool(uses) and uses <= {site, *served}
