"""Detects what all threads of a block compute alike in each turn of a loop, before each goes on with something of its own."""

from __future__ import annotations

from collections.abc import Iterable, Set

from profiler.analyse.causes.detectors.candidate import Candidate
from profiler.analyse.causes.detectors.sharing_out import ALIKE_IN_TRITON, without_repeated_by_threads
from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.sites import (
    ARITHMETIC,
    COPIES_TO_SHARED,
    LOADS,
    Kind,
    Site,
    executed_parts,
)
from profiler.analyse.causes.flow.dataflow import makers_of_address, reach, sources_of
from profiler.analyse.causes.flow.depending import NOTHING, find_depending
from profiler.analyse.causes.flow.lane_values import find_differing_in_block
from profiler.analyse.causes.flow.loop_carried import find_carried, find_passed_on
from profiler.analyse.code.loops import Loop, loops_within
from profiler.text import whole_percent

# Threads meet there, or leave something for each other.
_TOGETHER: tuple[Kind, ...] = ("barrier", "tensor", "shared atomic", "shared store")


def detect_computed_by_threads(evidence: Evidence) -> Iterable[Candidate]:
    """Names what all threads of a block compute alike in every iteration: each could compute it for an iteration of its own, and pass it on."""
    if not evidence.has_costs or evidence.shape is None:
        return
    repeated: dict[Site, float] = {}
    for loop in (loop for loops in evidence.loops.values() for loop in loops):
        if (sharing := _count_sharing(evidence, loop)) > 1:
            for site in _find_alike(evidence, loop):
                repeated[site] = max(repeated.get(site, 0.0), 1 - 1 / sharing)
    if repeated:
        repeating = executed_parts(repeated)
        share = 100 * sum(repeating.values()) / evidence.executed
        yield Candidate(
            "redundant-instructions",
            "In each turn of a loop, all threads of a block compute the same values, and then each goes on with something of its own: "
            f"{whole_percent(share)} % of the executed instructions repeat what another thread does.",
            "Let each thread compute these values for other turns, as many at a time as shared memory holds, and leave them there. Then let all threads "
            "make these turns with them.",
            without_repeated_by_threads(evidence, repeated),
            repeating,
            {"repeated_instructions_pct": share},
            in_triton="Compute these values for a block of turns at once (`tl.arange`), and let `tl.dot` or `tl.sum` make what all of them lead to: "
            f"{ALIKE_IN_TRITON}",
        )


def _count_sharing(evidence: Evidence, loop: Loop) -> float:
    """Returns how many threads of a block come to a loop, or how many iterations they make there, if these are fewer."""
    inside = evidence.inside(loop)
    if not inside or evidence.shape is None:
        return 0.0
    before = evidence.last_before(inside[0].function, loop)
    first = evidence.by_function[inside[0].function][0]
    coming = min(1.0, before.executed / first.executed) if before else 1.0
    threads = evidence.shape.warps_of_block * (inside[0].lanes or evidence.shape.lanes_of_warp)
    return min(coming * threads, evidence.turns(inside[-1], loop))


def _find_alike(evidence: Evidence, loop: Loop) -> Set[Site]:
    """Returns the arithmetic, its loads and the inner loops that make the same for all threads, but something else in each iteration.

    No iteration needs those before it, except for the loop counter and what that leads to. What makes a value last is left out,
    because a thread looks the value up instead; an inner loop is not left out.
    """
    inside = evidence.inside(loop)
    function, differing = inside[0].function, find_differing_in_block(evidence)
    if differing.isdisjoint(inside) or any(_ties_turns(evidence, site) for site in inside):
        return NOTHING
    loops = evidence.loops[function]
    inner = loops_within(loop, loops)
    carried, passed_on = find_carried(evidence, loop), find_passed_on(evidence, loop)
    first = {site for site in inside if site in differing or site.instruction.offset in passed_on}
    own = find_depending(evidence, inside, [loop, *inner], first)
    counters = {site for site in inside if site.instruction.offset in carried}
    changing = find_depending(evidence, inside, [loop, *inner], counters)
    alike = {site for site in inside if site not in own and site.executed >= inside[0].executed}
    whole = [
        sites
        for sites in map(evidence.inside, inner)
        if alike.issuperset(sites) and not changing.isdisjoint(sites)
    ]
    read = {source for site in inside if site in own for source in sources_of(evidence, site)}
    made = reach(read & alike, lambda site: [one for one in sources_of(evidence, site) if one in alike])
    found = {
        site
        for site in made - read
        if site.kind in (*ARITHMETIC, *LOADS) and site in changing and evidence.innermost_loop(site) == loop
    }
    if not any(site.kind in ARITHMETIC for site in found):
        found.clear()  # no more than addresses, such as those of a list's elements
    found.update(*whole)
    of_each = find_depending(evidence, inside, [loop, *inner], found)
    return NOTHING if differing.isdisjoint(of_each) else found


def _ties_turns(evidence: Evidence, site: Site) -> bool:
    """Returns whether threads may load what others, or all of them at one place, stored in the iteration before."""
    if site.kind in _TOGETHER or site.instruction.name in COPIES_TO_SHARED:
        return True
    if site.kind == "global store":
        return find_differing_in_block(evidence).isdisjoint(makers_of_address(evidence, site))
    return site.kind == "global load" and ".STRONG" in site.opcode
