"""Finds the instructions whose results may differ between the lanes of a warp, or between the threads of a block."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.kept import kept, kept_of_code
from profiler.analyse.causes.evidence.sites import ACCESSES, ARITHMETIC, Kind, Site
from profiler.analyse.causes.flow.branch_conditions import is_decided_by_loads
from profiler.analyse.causes.flow.dataflow import OF_BLOCK, choosers_of, makers_since_access, sources_of
from profiler.analyse.causes.flow.depending import depending_on
from profiler.analyse.causes.flow.loop_carried import is_carried
from profiler.analyse.code.loops import Loop
from profiler.analyse.code.opcodes import LOADS_OF_CONSTANTS_OF_WARP
from profiler.analyse.code.registers import predicates_in
from profiler.catalog.metrics import LANES

_IN_X, _IN_YZ = "SR_TID.X", ("SR_TID.Y", "SR_TID.Z")
_OF_LANES = ("SR_LANEID", "SR_EQMASK", "SR_LTMASK", "SR_LEMASK", "SR_GTMASK", "SR_GEMASK")
# One value for the warp, from those of all lanes.
_OF_A_WARP = ("VOTE", "VOTEU", "R2UR", "REDUX", "CREDUX", "S2UR", "ELECT", *LOADS_OF_CONSTANTS_OF_WARP)
# The special registers that all threads of a block read alike.
_OF_A_BLOCK = (OF_BLOCK, "SR_CgaCtaId", "SRZ")
# These read values that others may have stored, or a spilled register.
NOT_REPEATED = ("local", "atomic", "shared atomic")
# Units of arithmetic, each with the kinds that a bound counts there. Integers are left out: they may be multiplied for addresses.
_COUNTED: Mapping[str, tuple[Kind, ...]] = {"fma": ("fp32",), "fp64": ("fp64",), "xu": ("special",)}
# Shuffles that bring a lane a value to add up with its own, and not just that of a neighbour.
SUMMING = ("SHFL.BFLY", "SHFL.DOWN")


@kept_of_code
def find_differing(evidence: Evidence) -> set[Site]:
    """Returns the instructions whose results depend on the lane. What memory holds at one address is one value, however it is loaded."""
    columns = evidence.shape.block[0] if evidence.shape else 1
    own = [*_OF_LANES, *([_IN_X] if columns > 1 else []), *(_IN_YZ if columns % LANES else ())]

    def differs(site: Site) -> bool | None:
        name = site.instruction.name
        if name == "S2R":
            return any(one in site.instruction.text for one in own)
        if name in _OF_A_WARP:
            return False
        return True if site.kind in NOT_REPEATED else None

    return _follow(evidence, differs)


@kept_of_code
def find_differing_in_block(evidence: Evidence) -> set[Site]:
    """Returns the instructions whose results depend on the thread: its lane, its warp, or what these lead to."""

    def differs(site: Site) -> bool | None:
        name = site.instruction.name
        if name in ("S2R", "S2UR", "CS2R"):
            return not any(one in site.instruction.text for one in _OF_A_BLOCK)
        return True if name == "ELECT" or site.kind in NOT_REPEATED else None

    return _follow(evidence, differs)


def is_of_loaded_data(evidence: Evidence, makers: Iterable[Site]) -> bool:
    """Returns whether one of these instructions, or what led to it, is a load of data that depends on the thread."""
    found = makers_since_access(evidence, makers)
    loads = (site for site in found if site.kind in ("global load", "shared load"))
    return not find_differing_in_block(evidence).isdisjoint(loads)


def _follow(evidence: Evidence, differs: Callable[[Site], bool | None]) -> set[Site]:
    """Returns the instructions that differ, and what reads their results.

    `differs` returns None for an instruction that differs only if something that it reads does.
    """
    found: set[Site] = set()
    for function, sites in evidence.by_function.items():
        known = {site: does for site in sites if (does := differs(site)) is not None}
        first = frozenset(site for site, does in known.items() if does)
        found |= depending_on(evidence, function, first, frozenset(known.keys() - first))
    return found


def find_chosen_by_warp(evidence: Evidence) -> set[Site]:
    """Returns the instructions under a predicate that is the same for all lanes: whole warps execute them, or none of their lanes."""
    differing = find_differing(evidence)
    found: set[Site] = set()
    for sites in evidence.by_function.values():
        setting: dict[str, Site] = {}
        for site in sites:
            for predicate in predicates_in(site.instruction.predicate or ""):
                setter = setting.get(predicate)
                if setter and setter not in differing and sources_of(evidence, setter):
                    found.add(site)
            setting |= dict.fromkeys(site.use.predicates_written, site)
    return found


def find_warps_without_work(evidence: Evidence, idle: Collection[Site]) -> dict[Site, tuple[float, Site]]:
    """Returns the instructions before a branch past all accesses and arithmetic, with the part of their warps that take it, and the branch.

    The end of a loop is no such branch, whether it stands at the top or at the bottom: a warp that leaves a loop has made its
    iterations. A warp that has stored has had work so far, and so has one that tests what it has put into an array of its own. If
    data ends an iteration, the next one may have work.
    """
    found: dict[Site, tuple[float, Site]] = {}
    for sites in evidence.by_function.values():
        behind = _most_often_behind(sites)
        stored: dict[float, int] = {}  # by how often it ran, the place of the last store before
        by_count: dict[float, list[Site]] = {}
        for site in sites:
            if site in idle:
                by_count.setdefault(site.executed, []).append(site)
        for guard, following in pairwise(sites):
            if guard.kind in ("global store", "atomic") and not guard.instruction.predicate:
                stored[guard.executed] = guard.position
            if guard.kind != "control" or not guard.instruction.predicate or guard not in idle:
                continue
            going_on = max(following.executed, behind[guard])
            if (
                going_on < guard.executed
                and not ends_turns(evidence, guard)
                and not _skips_by_data(evidence, guard)
                and not _tests_own_array(evidence, guard)
            ):
                since = stored.get(guard.executed, -1)
                step = (
                    site
                    for site in by_count[guard.executed]
                    if since < site.position <= guard.position and site not in found
                )
                found |= dict.fromkeys(step, (1 - going_on / guard.executed, guard))
    return found


def is_left_early(evidence: Evidence, site: Site) -> bool:
    """Returns whether, on average, at least one lane of a warp leaves the loop around an instruction before the others."""
    loop = evidence.innermost_loop(site)
    before = evidence.last_before(site.function, loop) if loop else None
    if not loop or not before:
        return False
    entering = (before.lanes or 0.0) * (1 - 1 / LANES)
    return max(site.lanes or 0.0, evidence.inside(loop)[-1].lanes or 0.0) < entering


def _most_often_behind(sites: Sequence[Site]) -> Mapping[Site, float]:
    """Returns for each instruction how often the most executed access or arithmetic behind it ran."""
    found, most = {}, 0.0
    for site in reversed(sites):
        found[site] = most
        if site.kind in (*ACCESSES, *ARITHMETIC, "tensor"):
            most = max(most, site.executed)
    return found


def _skips_by_data(evidence: Evidence, guard: Site) -> bool:
    """Returns whether a branch skips the rest of an iteration because of what that iteration has loaded."""
    return evidence.innermost_loop(guard) is not None and is_decided_by_loads(evidence, guard)


def _tests_own_array(evidence: Evidence, guard: Site) -> bool:
    tested = makers_since_access(evidence, choosers_of(evidence, guard))
    return any(one.kind == "local" for one in tested)


def ends_turns(evidence: Evidence, branch: Site) -> bool:
    """Returns whether a branch leads to the next iteration of a loop, or out of the loop that it stands in."""
    target, loop = branch.instruction.target, evidence.innermost_loop(branch)
    if target is not None and target <= branch.instruction.offset:
        return True
    return loop is not None and (target is None or not loop.start <= target <= loop.end)


@kept
def find_alike_in_lanes(evidence: Evidence) -> Mapping[Site, float]:
    """Returns the code of loops that all lanes of a warp run on the same data, with the part that goes if each lane takes its share of the iterations.

    Such a loop computes with loaded values, and nothing in it depends on the lane: an example is the sum over a whole row, made
    anew for each of its elements. Iterations that follow one another through memory, as along a list, cannot be shared out.
    """
    working = [
        (loop, sites)
        for function, loops in evidence.loops.items()
        for loop in loops
        if _works_on_loads(sites := evidence.inside(loop)) and evidence.last_before(function, loop)
    ]
    differing = find_differing(evidence) if working else set()
    found: dict[Site, float] = {}
    for loop, sites in working:
        follow_memory = any(site.kind == "global load" and is_carried(evidence, site) for site in sites)
        if not differing.isdisjoint(sites) or follow_memory:
            continue
        for site in sites:
            shares = min(site.acting or site.lanes or LANES, evidence.turns(site, loop))
            found[site] = max(found.get(site, 0.0), 1 - 1 / max(1.0, shares))
    return found


def _works_on_loads(sites: Iterable[Site]) -> bool:
    """Returns whether a loop computes with floats that it loads, and leaves nothing in memory for others."""
    kinds = {site.kind for site in sites}
    return (
        not kinds.isdisjoint(("global load", "shared load"))
        and kinds.isdisjoint(("global store", "shared store", "barrier", *NOT_REPEATED))
        and not kinds.isdisjoint(ARITHMETIC)
    )


def find_made_by_all(evidence: Evidence) -> Mapping[Site, float]:
    """Returns the arithmetic of loops by which a block makes one value of what its threads hold, with the part that goes if each makes its own.

    Some of it adds up over lanes. All threads then compute the rest alike, from the sum. If a block takes as many rows at once as
    it has threads, each thread adds up a row in its registers, and goes on with the sum of that row.
    """
    threads = evidence.shape.threads if evidence.shape else 1
    meeting = {loop for site in evidence.of("barrier") if (loop := evidence.innermost_loop(site))}
    if not meeting or threads <= LANES:
        return {}
    arithmetic = {site for loop in meeting for site in evidence.inside(loop) if site.kind in ARITHMETIC}
    alike = arithmetic - find_differing_in_block(evidence)
    over_lanes = (site for loop in meeting for site in _adding_over_lanes(evidence, loop))
    return dict.fromkeys(alike, 1 - 1 / threads) | dict.fromkeys(over_lanes, 1.0)


def _adding_over_lanes(evidence: Evidence, loop: Loop) -> Iterator[Site]:
    """Yields the arithmetic that adds another lane's value to a lane's own: it reads both the value that SHFL reads and its result."""
    held: dict[str, str] = {}  # by the register of SHFL's result, that of the lane's own value
    for site in evidence.inside(loop):
        one = site.instruction
        if held:
            read, written = site.use.inputs, site.use.written
            if site.kind in ARITHMETIC and any(held.get(name) in read for name in read):
                yield site
            held = {name: own for name, own in held.items() if name not in written and own not in written}
        if one.opcode.startswith(SUMMING):
            held[one.operands[1]] = one.operands[2]


def add_shares(evidence: Evidence) -> Evidence:
    """Returns the evidence with bounds that leave out arithmetic which the lanes of a warp, or the threads of a block, could share out."""
    alike = {**find_made_by_all(evidence), **find_alike_in_lanes(evidence)}
    if not any(site.kind in ARITHMETIC for site in alike):
        return evidence
    avoidable = dict(evidence.model.avoidable)
    for unit, kinds in _COUNTED.items():
        whole = sum(site.executed * site.units.count(unit) for site in evidence.sites)
        needed = sum(
            site.executed * (1 - alike.get(site, 0.0))
            for site in evidence.sites
            if site.kind in kinds and unit in site.units
        )
        if whole:
            avoidable[unit] = max(avoidable.get(unit, 0.0), 1 - needed / whole)
    return replace(evidence, model=replace(evidence.model, avoidable=avoidable))
