"""Detects accesses to shared memory that nothing needs: of a thread's own value, or of one that never changes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from profiler.analyse.causes.detectors.candidate import Candidate
from profiler.analyse.causes.detectors.global_memory.redundant_stores import loads_held_apart
from profiler.analyse.causes.evidence.addresses import address_of
from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.sites import MEETINGS, VOTES, Site
from profiler.analyse.causes.flow.addresses.shared_places import find_owned
from profiler.analyse.causes.flow.addresses.strides import step_in_loop
from profiler.analyse.causes.flow.memory.reduction_trees import find_in_trees
from profiler.analyse.causes.flow.memory.repeated_stores import part_overwritten
from profiler.analyse.causes.flow.same_in_turns import has_fixed_address
from profiler.analyse.code.loops import Loop

# The steps of a tree over the 1,024 threads of the largest block; warps of old code take some of them without a barrier.
_MOST_OF_A_TREE = 10
_IN_REGISTER = "Keep the value in a register while the loop runs, and store it in each turn only if other threads load it."
_WITHOUT_BARRIER = (
    "Keep the value in a register while the loop runs, without a barrier, and store it once, after the loop, with a barrier behind it if other threads "
    "load it. Loads of several turns can then be under way together."
)


def detect_redundant_shared(evidence: Evidence) -> Iterable[Candidate]:
    """Names loads whose address does not change in the loop: they read the thread's own value, or one that never changes.

    Other threads may load the thread's own value as well. The loads of a tree go with its barriers.
    """
    in_trees = find_in_trees(evidence)
    fixed = {
        site: part
        for site in evidence.of("shared load")
        if site not in in_trees and (part := has_fixed_address(evidence, site)) > 0
    }
    stores = {site: (evidence.innermost_loop(site), address_of(site)) for site in evidence.of("shared store")}
    # A thread that stores in several places also writes to those of other threads, and they write to its own.
    alone = {
        loop for loop, _ in stores.values() if len({at for one, at in stores.values() if one is loop}) == 1
    }
    owned = {site for loop in evidence.loops_around(stores) for site in find_owned(evidence, loop)}
    own = {
        site: part
        for site, part in fixed.items()
        if site in owned
        or ((loop := evidence.innermost_loop(site)) in alone and (loop, address_of(site)) in stores.values())
    }
    # Asynchronous copies store in shared memory too, although their kind is a load.
    writing = evidence.loops_around(site for site in evidence.sites if site.stores_in_shared)
    same = {site: part for site, part in fixed.items() if evidence.innermost_loop(site) not in writing}
    if loads := own or same:
        unseen = {site: has_fixed_address(evidence, site) for site in stores if site in owned}
        needless, barriers = _find_needless(evidence, own)
        together = evidence.waiting_for(loads_held_apart(evidence, barriers), "long_scoreboard")
        fewer = evidence.without(loads | unseen | needless if own else loads)
        yield Candidate(
            "redundant-shared-accesses",
            "In every iteration, a loop loads from shared memory what the same thread stored there"
            f"{', and threads wait for each other at a barrier although none reads what others store.' if barriers else '.'}"
            if own
            else "A loop loads the same place in shared memory in every iteration.",
            (_WITHOUT_BARRIER if barriers else _IN_REGISTER)
            if own
            else "Keep the value in a register while the loop runs.",
            replace(fewer, waits={**fewer.waits, **together}),
            {site: site.executed for site in loads},
        )


def detect_redundant_shared_stores(evidence: Evidence) -> Iterable[Candidate]:
    """Names stores that their own loop overwrites, in more iterations than a tree has steps, if nobody can read the overwritten values.

    If the loop also loads the value, the stores are named with its loads.
    """
    stores = {
        site: part
        for site in evidence.of("shared store")
        if (part := part_overwritten(evidence, site)) > 0
        and (loop := evidence.innermost_loop(site))
        and evidence.turns(site, loop) > _MOST_OF_A_TREE
        and _is_read_by_nobody(evidence, loop)
    }
    if stores:
        yield Candidate(
            "redundant-shared-accesses",
            "A loop stores again and again to the same place in shared memory, where nobody can read it meanwhile: only what it stores last remains.",
            "Keep the value in a register while the loop runs, and store it once, after the loop.",
            evidence.without(stores),
            {site: site.executed for site in stores},
        )


def _is_read_by_nobody(evidence: Evidence, loop: Loop) -> bool:
    """Returns whether threads do not meet in the loop, and all that it loads from shared memory is at another address in each iteration.

    Threads of one warp may meet without an instruction for it, and then exchange values at an address that does not change.
    """
    inside = evidence.inside(loop)
    meets = any(site.kind == "barrier" or site.instruction.name in MEETINGS for site in inside)
    loads = [site for site in inside if site.kind == "shared load" or site.multiplies_from_shared]
    return not meets and all(step_in_loop(evidence, loop, site) for site in loads)


def _find_needless(evidence: Evidence, own: Mapping[Site, float]) -> tuple[dict[Site, float], list[Site]]:
    """Returns the needless stores of loops, and the barriers of these loops.

    In such a loop, threads load nothing but their own value from shared memory, and pass nothing on to others in global memory,
    by atomics or by a vote at a barrier. Others may load the value after the loop, for which it is stored once. The waiting at
    the barriers is what `barriers` names.
    """
    found: dict[Site, float] = {}
    barriers: list[Site] = []
    for loop in evidence.loops_around(own):
        inside = evidence.inside(loop)
        loads = [site for site in inside if site.kind == "shared load"]
        stores = [site for site in inside if site.stores_in_shared]
        places = {address_of(site) for site in (*loads, *stores)}
        leaves = any(site.kind in ("global store", "atomic", "shared atomic") for site in inside)
        met = [site for site in inside if site.instruction.name == "BAR"]
        votes = any(site.opcode.startswith(VOTES) for site in met)
        if met and not (leaves or votes) and len(places) == 1 and own.keys() >= {*loads}:
            found |= dict.fromkeys(stores, max(own[site] for site in loads))
            barriers += met
    return found, barriers
