"""Finds the loops that, in each iteration, make one value of what the threads of a block hold, step by step with barriers between."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import pairwise

from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.kept import kept
from profiler.analyse.causes.evidence.sites import ACCESSES, GLOBAL, SHARED, VOTES, Kind, Site
from profiler.analyse.causes.flow.addresses.shared_places import is_apart
from profiler.analyse.causes.flow.dataflow import (
    address_registers,
    all_makers,
    choosers_of,
    derived_from,
    makers_of_value,
    makers_since_access,
    sources_of,
)
from profiler.analyse.causes.flow.lane_values import SUMMING
from profiler.analyse.causes.flow.loop_carried import is_carried
from profiler.analyse.causes.flow.memory.staging import TURNS_WORTH_IT
from profiler.analyse.causes.flow.pointers import find_pointers
from profiler.analyse.code.loops import Loop, loops_within
from profiler.catalog.metrics import LANES

# Each step of a tree joins two halves of what is left.
_HALF = 1 / 2
_BETWEEN_COUNTS = 1 / 2  # bounds are between whole counts of threads
# Iterations at once, as for unrolled loops: the values of eight find room in registers and in shared memory.
ASSUMED_TURNS = 8
_FOR_OTHERS: tuple[Kind, ...] = (*ACCESSES, "barrier", "control")  # these do more than compute a value
# Of other instructions, the compiler may merge the copies: what iterations compute alike, or load alike from a tile.
_AS_OFTEN_AS_WRITTEN: tuple[Kind, ...] = ("barrier", "global load", "global store", "shared store")


@dataclass(frozen=True)
class Tree:
    """`parts` says which part of each instruction goes if the block makes one tree after the loop, in place of one in each iteration.

    If an iteration of the machine code makes several `exchanges`, each stands for one of the `turns`.
    """

    loop: Loop
    turns: float
    parts: Mapping[Site, float]
    exchanges: int = 1


@kept
def find_in_trees(evidence: Evidence) -> frozenset[Site]:
    """Returns the instructions of the trees in loops, and of sums for all threads."""
    trees = (*find_trees(evidence), *find_sums_for_all(evidence))
    return frozenset(site for tree in trees for site in tree.parts)


@kept
def find_sums_for_all(evidence: Evidence) -> list[Tree]:
    """Returns the loops in which a block adds up one value of each thread in each iteration, and gives the sum to all threads.

    Each warp adds up its values by shuffles, and stores its sum in shared memory. Behind a barrier, all threads load the sums of the warps.
    No iteration starts from the sum of the one before. So a block can take several iterations at once, eight for example, and exchange all of
    their sums between the same barriers. Where the compiler has unrolled the loop, each exchange in it stands for an iteration, unless
    one iteration makes several sums.
    """
    meeting, trees = _own_barriers(evidence), {tree.loop for tree in find_trees(evidence)}
    found = []
    for loop, barrier in meeting.items():
        # Each exchange needs a barrier: a loop with too few of them need not be looked at closely.
        barriers = sum(site.kind == "barrier" for site in evidence.inside(loop))
        if loop in trees or barriers * evidence.turns(barrier, loop) < TURNS_WORTH_IT:
            continue
        exchanging = _exchanging_sums(evidence, loop, meeting)
        if not exchanging:
            continue
        exchanges = min(_count_exchanges(evidence, loop, exchanging), _most_turns_at_once(evidence, loop))
        turns = exchanges * evidence.turns(barrier, loop)
        if turns >= TURNS_WORTH_IT:
            spared = 1 - 1 / min(turns, ASSUMED_TURNS)
            parts = {site: spared for site in evidence.inside(loop) if site in exchanging}
            found.append(Tree(loop, turns, parts, exchanges))
    return found


def _count_exchanges(evidence: Evidence, loop: Loop, exchanging: Set[Site]) -> int:
    """Returns how often, in an iteration, warps store their own sums and then meet at a barrier, if only at the start of the next iteration."""
    inside = evidence.inside(loop)
    of_others = derived_from(inside, {site for site in exchanging if site.kind == "shared load"})
    own = {
        site
        for site in exchanging
        if site.stores_in_shared and of_others.isdisjoint(sources_of(evidence, site))
    }
    meeting = [site for site in inside if site in own or (site in exchanging and site.kind == "barrier")]
    return sum(before in own and site not in own for before, site in pairwise([*meeting, *meeting[:1]]))


def _most_turns_at_once(evidence: Evidence, loop: Loop) -> int:
    """Returns how many iterations of the source one of the machine code holds at most: as many as it holds copies of an access to global memory."""
    copies = copies_in(evidence, loop)
    return max((count for (kind, _, _), count in copies.items() if kind in GLOBAL), default=1)


def copies_in(evidence: Evidence, loop: Loop) -> Counter[tuple[Kind, str, str | None]]:
    """Counts by kind, opcode and line the instructions that an unrolled loop holds once for each iteration of its source."""
    return Counter(
        (site.kind, site.opcode, site.instruction.place)
        for site in evidence.inside(loop)
        if site.kind in _AS_OFTEN_AS_WRITTEN
    )


def _exchanging_sums(evidence: Evidence, loop: Loop, meeting: Mapping[Loop, Site]) -> Set[Site]:
    """Returns the barriers, the shuffles with the arithmetic between them, and the accesses to shared memory, if these exchange nothing but sums; else nothing."""
    inside = evidence.inside(loop)
    stores = [site for site in inside if site.stores_in_shared]
    shuffles = {site for site in inside if site.opcode.startswith(SUMMING)}
    # One lane stores for its warp.
    is_left_by_few = all(_part_acting(evidence, meeting, site) <= _HALF for site in stores)
    if not (stores and shuffles and is_left_by_few):
        return set()
    if any(site.opcode.startswith(VOTES) or site.kind == "shared atomic" for site in inside):
        return set()
    loads = {site for site in inside if site.kind == "shared load" and not is_apart(evidence, site, stores)}
    if not loads:
        return set()
    of_others = derived_from(inside, loads)
    sums = derived_from(inside, loads | shuffles)
    stored = {one for site in stores for one in _makers_in_turn(evidence, site)}
    own: list[Site] = [one for site in shuffles - of_others for one in sources_of(evidence, site)]
    deciding = [one for site in inside if site.kind == "control" for one in choosers_of(evidence, site)]
    of_turn = all_makers(evidence, [*own, *deciding])
    if not shuffles & stored or not loads.isdisjoint(of_turn) or _stores_where_it_loads(evidence, inside):
        return set()
    barriers = {site for site in inside if site.kind == "barrier"}
    return {*barriers, *stores, *loads, *shuffles, *(stored & sums)}


@kept
def find_trees(evidence: Evidence) -> list[Tree]:
    """Returns the trees that loops make in each iteration."""
    meeting = _own_barriers(evidence)
    found = []
    for loop, barrier in meeting.items():
        turns = evidence.turns(barrier, loop)
        exchanging = _exchanging_in_tree(evidence, loop, meeting) if turns >= TURNS_WORTH_IT else set()
        if exchanging and evidence.shape is not None:
            once = 1 - 1 / min(turns, evidence.shape.threads)
            going = _with_loops_over_steps(evidence, loop, exchanging)
            found.append(Tree(loop, turns, {site: once * _part_going(site, exchanging) for site in going}))
    return found


def _part_going(site: Site, exchanging: Set[Site]) -> float:
    """Returns which part of an instruction goes. The values have to be added up anyway, so that only the idle lanes of that arithmetic go."""
    adds_up = site in exchanging and site.kind not in _FOR_OTHERS and site.instruction.name != "SHFL"
    return site.idle_share if adds_up else 1.0


def _own_barriers(evidence: Evidence) -> dict[Loop, Site]:
    """Returns for each loop a barrier outside of its inner loops, at which a block meets in each iteration: the one that runs most often."""
    found: dict[Loop, Site] = {}
    for site in evidence.of("barrier"):
        loop = evidence.innermost_loop(site)
        if loop and (loop not in found or site.executed > found[loop].executed):
            found[loop] = site
    return found


def _exchanging_in_tree(evidence: Evidence, loop: Loop, meeting: Mapping[Loop, Site]) -> Set[Site]:
    """Returns the barriers, the accesses to shared memory, and the arithmetic between them, if they are a tree; else nothing.

    All threads store a value that the loop does not carry from one iteration to the next. In each step, at most half of the
    threads load such values, and store what they make of them. In the end, one thread is left, or the lanes of one warp, which
    exchange the rest by shuffles. If all threads load the result, it is for all of them, and this is no such tree. Loads from
    places to which nothing in the loop stores are no part of the exchange.
    """
    inside = evidence.inside(loop)
    loads, stores = (
        [site for site in inside if site.kind == kind] for kind in ("shared load", "shared store")
    )
    parts = {site: _part_acting(evidence, meeting, site) for site in (*loads, *stores)}
    leaves = [site for site in stores if parts[site] > _HALF]
    steps = [site for site in stores if parts[site] <= _HALF]
    if not (leaves and steps) or any(site.opcode.startswith(VOTES) for site in inside):
        return set()
    given = {site for site in loads if parts[site] > _HALF and is_apart(evidence, site, stores)}
    loading = {site: parts[site] for site in loads if site not in given}
    if not loading or max(loading.values()) > _HALF:
        return set()
    exchanging = _exchanged_in(inside, given)
    if not _leaves_one(evidence, loading, exchanging):
        return set()
    of_others = [any(one in loading for one in _makers_in_turn(evidence, site)) for site in steps]
    makers = {one for site in leaves for one in _makers_in_turn(evidence, site)}
    exchanged = {one for one in makers if one.kind in SHARED and one.instruction in loop and one not in given}
    if not all(of_others) or exchanged:
        return set()
    if any(_is_of_turn_before(evidence, loop, one) for one in makers) or _stores_where_it_loads(
        evidence, inside
    ):
        return set()
    return exchanging


def _part_acting(evidence: Evidence, meeting: Mapping[Loop, Site], site: Site) -> float:
    """Returns for which part of a block's threads an access acts, each time that the block meets; all of them where lanes were not counted."""
    loop = evidence.innermost_loop(site)
    if site.acting is None or loop is None or loop not in meeting:
        return 1.0
    return site.executed * site.acting / (meeting[loop].executed * LANES)


def _leaves_one(evidence: Evidence, loading: Mapping[Site, float], exchanging: Set[Site]) -> bool:
    """Returns whether a tree ends in one thread, or in the lanes of one warp that exchange what is left."""
    threads = evidence.shape.threads if evidence.shape else 1
    last = min(loading.values())
    shuffles = any(site.instruction.name == "SHFL" for site in exchanging)
    return last * threads < (LANES if shuffles else 1) + _BETWEEN_COUNTS


def _makers_in_turn(evidence: Evidence, store: Site) -> Set[Site]:
    """Returns what makes the value that is stored, back to what was loaded."""
    return makers_since_access(evidence, makers_of_value(evidence, store))


def _is_of_turn_before(evidence: Evidence, loop: Loop, site: Site) -> bool:
    """Returns whether an instruction starts from what it made in the iteration before."""
    return site.kind not in ACCESSES and evidence.innermost_loop(site) == loop and is_carried(evidence, site)


def _stores_where_it_loads(evidence: Evidence, inside: Sequence[Site]) -> bool:
    """Returns whether a loop may load from global memory where it stores, so that an iteration may need what the one before has left.

    Different parameters count as different arrays. If they were not, the compiler could not keep in registers what it loads of
    them either.
    """
    stores = [site for site in inside if site.kind in GLOBAL and site.kind != "global load"]
    loads = [site for site in inside if site.kind == "global load" and ".CONSTANT" not in site.opcode]
    return any(_may_be_same(evidence, load, store) for load in loads for store in stores)


def _may_be_same(evidence: Evidence, load: Site, store: Site) -> bool:
    read, stored = find_pointers(evidence, load), find_pointers(evidence, store)
    if read and stored:
        return not read.isdisjoint(stored)
    return address_registers(load.instruction) == address_registers(store.instruction)


def _exchanged_in(inside: Sequence[Site], given: Set[Site]) -> Set[Site]:
    """Returns the barriers, the accesses to shared memory, and the instructions that compute with values of other threads."""
    found: set[Site] = set()
    exchanged: set[str] = set()
    for site in inside:
        written = set(site.use.written)
        if site.kind == "barrier" or (site.kind in SHARED and site not in given):
            found.add(site)
        if site.kind == "shared load" and site not in given:
            exchanged |= written
        elif site.kind not in ACCESSES and not exchanged.isdisjoint(site.use.inputs):
            found.add(site)
            exchanged |= written
        else:
            exchanged -= written
    return found


def _with_loops_over_steps(evidence: Evidence, loop: Loop, exchanging: Set[Site]) -> Set[Site]:
    """Returns the instructions that exchange values, with the inner loops over the steps of the exchange."""
    inside = evidence.inside(loop)
    going = set(exchanging)
    for one in loops_within(loop, evidence.loops[inside[0].function]):
        within = evidence.inside(one)
        if not exchanging.isdisjoint(within) and not any(site.kind in GLOBAL for site in within):
            going.update(within)
    return going
