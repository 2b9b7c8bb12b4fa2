"""Detects tiles of which most elements are masked off: threads prepare, test and add up what is not there."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence

from profiler.analyse.causes.detectors.candidate import WIDEST_BITS, Candidate
from profiler.analyse.causes.evidence.addresses import is_of_one_place
from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.latency import LAUNCH, Effect
from profiler.analyse.causes.evidence.sites import ACCESSES, Kind, Site
from profiler.analyse.causes.flow.dataflow import find_address_work, find_depending
from profiler.analyse.code.registers import predicates_in
from profiler.catalog.metrics import LANES, SECTOR_BYTES

# Sizes of tiles are powers of two: a tile of which less than half is there could be half as large.
_HALF = 0.5
_COPY = "LDGSTS"
_PREDICATE = re.compile(r"!?U?P\d")
_TESTS = ("ISETP", "UISETP")
_COMPARED = 3  # operands of a test: two results, and what is compared with the bound
_ADDING: tuple[Kind, ...] = ("fp32", "fp64")
# What passes values to other threads, for as many as there are.
_EXCHANGING: tuple[Kind, ...] = ("mio", "shared load", "shared store", "barrier")


def detect_masked_tiles(evidence: Evidence) -> Iterable[Candidate]:
    """Names tiles of which less than half is there, if what is not there is computed with."""
    if not evidence.has_costs:
        return
    idle: dict[Site, float] = {}
    there = of_tiles = 0.0
    for sites in _passages(evidence):
        loads = _masked_loads(sites)
        part = _part_there(loads)
        if part < _HALF and _have_one_bound(evidence, loads):
            found = _work_on(sites, loads, part)
            idle |= found
            if found:
                there += sum(site.executed * (site.acting or 0.0) for site in loads)
                of_tiles += LANES * sum(site.executed for site in loads)
    if not idle:
        return
    part = there / of_tiles
    yield Candidate(
        "idle-lanes",
        f"Only {100 * part:.2g} % of the elements of a tile are there: a test keeps the rest from being loaded, but the instructions for them "
        "are executed.",
        "Make the tile as small as the data mostly is, give a block less threads, or let it take several lists at once, and skip what a whole "
        "warp has no element of.",
        smaller(evidence, idle),
        {site: part * site.executed for site, part in idle.items()},
        {"elements_there_pct": 100 * part},
        in_triton="Make the block as small as the data mostly is, with fewer `num_warps`, or let a program take several lists at once: what "
        "`mask` leaves out costs as much as what is there.",
    )


def detect_tiles_of_zeros(evidence: Evidence) -> Iterable[Candidate]:
    """Names tiles that a loop copies to shared memory, of which less than half is there: the copy fills in zeros, which are multiplied as all else.

    Rows that have an element for the same turn fit into tiles of half the size. These take half of the copies, of their addresses and of the
    products; what they are multiplied with is loaded as before.
    """
    if not evidence.has_costs:
        return
    spared: dict[Site, float] = {}
    there: dict[Site, float] = {}
    for loop in evidence.loops_around(evidence.of("tensor")):
        inside = evidence.inside(loop)
        if not (copied := _copies_with_zeros(inside)):
            continue
        addresses = find_address_work(evidence, copied)
        others = [site for site in inside if site.kind in ACCESSES and site not in copied]
        work = {*copied, *(addresses - find_address_work(evidence, others))} & {*inside}
        part = max(sum(copied.values()) / len(copied), 1 / LANES)
        halved = 1 - 2.0 ** math.ceil(math.log2(part))
        spared |= {site: halved for site in inside if site in work or site.kind == "tensor"}
        there |= copied
    if not there:
        return
    part = sum(site.executed * one for site, one in there.items()) / sum(site.executed for site in there)
    yield Candidate(
        "idle-lanes",
        f"Only {100 * part:.2g} % of the elements of a tile are there: copies to shared memory fill in zeros for the rest, which are multiplied as "
        "all others are.",
        "Sort or group the rows by what they have, so that whole tiles without an element are left out, or make the tile smaller.",
        smaller(evidence, spared),
        {site: (1 - one) * site.executed for site, one in there.items()},
        {"elements_there_pct": 100 * part},
        regrouped={"tensor": 1 - part},
        in_triton="Sort or group the rows by what they have, and let a program go through a list of those turns for which its tile has an element; or "
        "make the tile smaller (BLOCK_M).",
    )


def _copies_with_zeros(inside: Iterable[Site]) -> dict[Site, float]:
    """Returns the copies to shared memory that bring less than half of their elements, and the part that they bring.

    The copies of 16 bytes of two lanes share a sector; those that bring nothing touch none. Compilers let all copies bring nothing in turns
    past the end, as where tiles are copied several turns ahead: the fullest copy of the loop says how many turns that leaves.
    """
    parts = {
        site: site.sectors * SECTOR_BYTES / (site.executed * LANES * site.width / 8)
        for site in inside
        if site.instruction.name == _COPY and site.width == WIDEST_BITS and site.sectors is not None
    }
    most = max(parts.values(), default=0.0)
    return {
        site: part / most
        for site, part in parts.items()
        if part < _HALF * most and _PREDICATE.fullmatch(site.instruction.operands[-1])
    }


def _passages(evidence: Evidence) -> Iterable[list[Site]]:
    """Yields what is executed as often: each innermost loop, and each function outside of its loops."""
    for sites in evidence.by_function.values():
        passages: dict[object, list[Site]] = {}
        for site in sites:
            passages.setdefault(evidence.innermost_loop(site), []).append(site)
        yield from passages.values()


def _masked_loads(sites: Sequence[Site]) -> list[Site]:
    """Returns the loads of a tile: several, all of one width, each under a predicate. No load, if others bring elements beside them."""
    loads = [site for site in sites if site.kind == "global load" and not is_of_one_place(site)]
    masked = [site for site in loads if site.instruction.predicate and site.acting is not None]
    alike = len({(site.width, site.executed) for site in masked}) == 1
    return masked if alike and len(masked) == len(loads) > 1 else []


def _part_there(loads: Sequence[Site]) -> float:
    whole = LANES * sum(site.executed for site in loads)
    return sum(site.executed * (site.acting or 0.0) for site in loads) / whole if whole else 1.0


def _have_one_bound(evidence: Evidence, loads: Sequence[Site]) -> bool:
    """Returns whether the tests of all these loads compare with one value: the rows of a tile with how many there are."""
    bounds = [_bounds_of(evidence, load) for load in loads]
    return bool(frozenset.intersection(*bounds))


def _bounds_of(evidence: Evidence, load: Site) -> frozenset[str]:
    """Returns the registers and parameters with which the tests of an access compare."""
    sites = evidence.by_function[load.function]
    wanted = predicates_in(load.instruction.predicate or "")
    found: set[str] = set()
    for site in reversed(sites[: evidence.place(load, sites)]):
        if wanted.isdisjoint(site.use.predicates_written) or site.instruction.name not in _TESTS:
            continue
        operands = site.instruction.operands
        wanted = (wanted - site.use.predicates_written) | predicates_in(", ".join(operands[4:]))
        if not operands[_COMPARED].startswith(("0x", "RZ", "URZ")):
            found.add(operands[_COMPARED])
        if not wanted:
            break
    return frozenset(found)


def _work_on(sites: Sequence[Site], loads: Sequence[Site], part: float) -> Mapping[Site, float]:
    """Returns the part of the work on a tile that is for what is not there; nothing, if no arithmetic for all lanes uses it.

    Addresses and tests of the loads, and the sums of what they bring, are for each element. A load that brings something is waited
    for as long, but by as many lanes as it acts for. What is exchanged afterwards is for each thread: it ends for the lanes that
    none of the loads has an element for.
    """
    acting = {load: (load.acting or 0.0) / LANES for load in loads}
    most = max(acting.values())
    loading = set(loads)
    fed = set(find_depending(sites, [], loading))
    first = min(map(sites.index, loads))
    exchange = next(
        (
            place
            for place, site in enumerate(sites)
            if place > first and site.kind in _EXCHANGING and site in fed
        ),
        len(sites),
    )
    adding = [site for site in sites[:exchange] if site in fed and site.kind in _ADDING]
    if not adding or any(site.instruction.predicate for site in adding):
        return {}
    executed = loads[0].executed
    of_elements = _computed_for([*loads, *adding], sites[:exchange])
    after = [
        site
        for site in sites[exchange:]
        if site.kind in _EXCHANGING or (site in fed and site.kind in _ADDING)
    ]
    idle = {site: 1 - part for site in sites if site in of_elements}
    idle |= dict.fromkeys(after, 1 - most) | {load: 1 - acting[load] for load in loads}
    return {site: part for site, part in idle.items() if part > 0 and site.executed == executed}


def _computed_for(elements: Sequence[Site], before: Sequence[Site]) -> set[Site]:
    """Returns these instructions, and those whose results only they read, in the passage that ends here."""
    found = set(elements)
    readers: dict[Site, set[Site]] = {}
    written: dict[str, Site] = {}
    for site in before:
        for name in site.taken:
            if name in written:
                readers.setdefault(written[name], set()).add(site)
        written |= dict.fromkeys(site.use.results, site)
    for site in reversed(before):
        if site in readers and readers[site] <= found and site.kind in ("integer", "other"):
            found.add(site)
    return found


def smaller(evidence: Evidence, idle: Mapping[Site, float]) -> Effect:
    """Returns the effect of smaller tiles: memory worked only for what is there, but shared memory made its passes for all threads."""
    effect = evidence.without(idle)
    in_shared = {site: part for site, part in idle.items() if site.passes}
    return Effect(
        {**effect.resources, "l1": evidence.part_of_l1(in_shared), "l2": 0.0, LAUNCH: 0.0}, effect.waits
    )
