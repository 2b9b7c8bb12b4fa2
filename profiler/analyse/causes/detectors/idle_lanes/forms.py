"""Tells apart why lanes of a warp have nothing to do, as far as that is known: each reason has a remedy of its own."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Set
from itertools import pairwise

from profiler.analyse.causes.detectors.candidate import are_most
from profiler.analyse.causes.detectors.idle_lanes.by_tests import (
    BY_DATA,
    LEAVING,
    ONE_ALONE,
    Form,
    is_decided_by_data,
    is_decided_by_lane,
    say_by_tests,
    say_of_turns,
)
from profiler.analyse.causes.detectors.idle_lanes.steps import find_unconcerned, is_broadcast
from profiler.analyse.causes.detectors.idle_lanes.turned_off import (
    TurnedOff,
    ends_of_sides,
    find_turned_off,
    lanes_of_acting_warps,
)
from profiler.analyse.causes.detectors.sharing_out import add_up_once
from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.sites import ACCESSES, ONE_LANE, SHARED, Kind, Site, executed_parts
from profiler.analyse.causes.flow.arithmetic.divisions import find_dividing
from profiler.analyse.causes.flow.branch_conditions import find_feeding, is_decided_by_thread
from profiler.analyse.causes.flow.dataflow import (
    all_makers,
    choosers_of,
    find_address_work,
    find_processing,
    makers_of_value,
    makers_since_access,
    sources_of,
)
from profiler.analyse.causes.flow.depending import NOTHING, depending_on
from profiler.analyse.causes.flow.lane_values import is_left_early
from profiler.analyse.causes.flow.loop_carried import is_carried
from profiler.analyse.causes.flow.pointers import find_pointers
from profiler.analyse.causes.words.triton import LESS_EXCHANGE
from profiler.catalog.metrics import LANES

_WORK: tuple[Kind, ...] = (*ACCESSES, "fp32", "fp64", "special", "conversion")
# If at most so many lanes of a warp take elements, rows are short: the warp has room for a third of another row. If more do, the
# idle lanes are the end of a long row.
_SHORT = 3 / 4
_IN_SHARED_SECTORS = (
    3 / 4
)  # sectors for a lane: one that walks through a row of its own needs one, as each turn is another access
_OF_ONE_NUMBER = ("ISETP.EQ", "ISETP.NE", "UISETP.EQ", "UISETP.NE")

_SHORT_ROWS = (
    "Loads of elements act for {:.0f} of 32 lanes on average, as where rows or lists are shorter than a warp",
    "Let a warp take several rows at once, and give each fewer lanes (for example 8 for a row of 7 elements), or one thread.",
    "Let a program take several short rows at once (a block of two dimensions). Where a loop masks off more and more elements, use fewer `num_warps`, "
    "so that a program ends with the last of its own.",
)
_ONE_FOR_ALL = (
    "One lane works on what all have left in shared memory",
    "Let all lanes take part: share out steps that do not depend on each other, such as the turns of a loop, or combine the values of a warp by "
    "shuffles ({}), and pass only one value a warp through shared memory.",
)
_ONE_FILLS = (
    "One lane fills shared memory for all",
    "Let all lanes take part: share out what it copies, so that neighbouring lanes take neighbouring elements.",
)
_ONE_FOR_WARP = (
    "One lane of each warp takes part where values pass between warps",
    "Let values pass less often: let each thread take several elements before its warp combines them, or give a warp a row of its "
    "own, for which warps exchange nothing.",
    LESS_EXCHANGE,
)
_STEPS = "Values pass through shared memory in steps in which few lanes take part"
_IN_ONE_WARP = "The block is one warp, whose lanes need neither shared memory nor barriers: exchange their values by shuffles ({shuffle})."
_BETWEEN_WARPS = (
    "Exchange values within a warp by shuffles ({shuffle}), and use shared memory between warps only."
)
_HALF_AS_MANY = "Every second thread is idle from the first step on: launch half as many, and let each combine two elements before it."
_WITHOUT_REMAINDERS = "Exchange values within a warp by shuffles ({shuffle}), which need no remainder, and use shared memory between warps only."
# A new index alone, as in `sdata[2 * s * tid]`, lets the lanes of a warp meet in the same banks.
_NEIGHBOURS = (
    "A smaller step: let the threads that take part be neighbours without bank conflicts. Thread `t` of the first `s` adds `x[t + s]` to `x[t]`, "
    "where `s` begins with half of the block and is halved in each step."
)
_SIDES = (
    "Branches split warps, which execute one side after the other",
    "Let whole warps take the same branch: choose by warp or block instead of by thread, or sort the work by what it needs. "
    "Where both sides are short, let all lanes compute both, and select a result.",
)
_SPLIT_OR_IDLE = (
    "Branches split warps, or leave some of their lanes without work",
    "Let whole warps take the same branch: choose by warp or block instead of by thread, or sort the work by what it needs. Where only some lanes have "
    "work, share it out among all of them.",
)


def say_what_idles(evidence: Evidence, idle: Mapping[Site, float]) -> Form:
    """Returns the form of lanes that are `idle` in these parts of the instructions: that of the code where most is lost."""
    loads = _find_element_loads(evidence)
    loading = _lanes_of_elements(evidence, loads)
    by_fewer = (site for site, part in idle.items() if LANES * (1 - part) < loading / 2)
    is_short = loading <= _SHORT * LANES and _is_shared_by_lanes(evidence, loads)
    if is_short and not are_most(executed_parts(idle), by_fewer):
        return Form(_SHORT_ROWS[0].format(loading), *_SHORT_ROWS[1:])
    processing = find_processing(evidence) - find_address_work(evidence)
    work = {site: part for site, part in idle.items() if site.kind in _WORK or site in processing}
    exchanging = _with_loaded_from_shared(evidence) & work.keys()
    of_one = {site for site, part in work.items() if LANES * (1 - part) <= ONE_LANE}
    if are_most(executed_parts(work), exchanging) and any(site.kind in SHARED for site in exchanging):
        by_few = any(site.kind == "shared load" and 2 * idle[site] >= 1 for site in exchanging - of_one)
        if by_few and _passes_in_steps(evidence):
            steps = _find_steps(evidence, {site: idle[site] for site in exchanging - of_one})
            advice = _advise_on_steps(evidence, exchanging)
            return Form(_STEPS, advice, LESS_EXCHANGE, steps, is_by_shuffles=True)
        if are_most(executed_parts(work), of_one & exchanging):
            return _say_of_one_lane(
                evidence, {site: part for site, part in work.items() if site in of_one & exchanging}
            )
    return say_by_tests(evidence, idle, of_one, are_passed_by=_are_passed_by(evidence, idle))


def _find_steps(evidence: Evidence, exchanging: Mapping[Site, float]) -> TurnedOff:
    """Returns the branches by which an index lets few lanes take part, or what stands under a predicate instead, with what lacks lanes there.

    A predicate may have been set far from there. Where data decides, lanes are no longer in a step.
    """
    found: dict[Site, dict[Site, float]] = {}
    for test, behind in find_turned_off(evidence, exchanging).items():
        deciding = find_feeding(evidence, choosers_of(evidence, test) if test.kind == "control" else [test])
        if any(one.kind in ACCESSES for one in deciding):
            continue
        for site, lost in behind.items():
            found.setdefault(test if test.kind == "control" else site, {})[site] = lost
    return found


def _say_of_one_lane(evidence: Evidence, of_one: Mapping[Site, float]) -> Form:
    """Returns the form of one lane that passes values through shared memory. If it works for all, the place is the test that lets it."""
    if any(site.instruction.name == "SHFL" for site in evidence.of("mio")):
        return Form(*_ONE_FOR_WARP)
    tests = {
        test: behind
        for test, behind in find_turned_off(evidence, of_one).items()
        if is_decided_by_thread(evidence, test)
    }
    filled = sum(site.executed for site in of_one if _fills_shared(evidence, site))
    if filled > sum(site.executed for site in of_one if site.kind == "shared load"):
        return Form(*_ONE_FILLS, turned_off=tests)
    left_by_all = any(
        site.stores_in_shared and site.lane_executions > ONE_LANE * site.executed for site in evidence.sites
    )
    sentence, advice = _ONE_FOR_ALL if left_by_all else ONE_ALONE
    return Form(sentence, advice.format(evidence.words.shuffle_down), turned_off=tests)


def say_what_splits(evidence: Evidence, split: Mapping[Site, float]) -> Form:
    """Returns the form of branches that send lanes elsewhere. If data decides, no warp or block can choose.

    If lanes were only counted for all instructions together, it is not known whether the rest of them run another side of a
    branch.
    """
    left = executed_parts({site: part for site, part in split.items() if is_left_early(evidence, site)})
    if are_most(executed_parts(split), left):
        behind: dict[Site, dict[Site, float]] = {}
        for site, lost in left.items():
            behind.setdefault(evidence.around(site)[-1], {})[site] = lost
        by_lane = (
            end
            for end in behind
            if _take_neighbours(evidence.around(end)) and is_decided_by_lane(evidence, end)
        )
        of_rows = are_most({end: sum(off.values()) for end, off in behind.items()}, by_lane)
        return Form(LEAVING, *_SHORT_ROWS[1:], behind) if of_rows else say_of_turns(evidence, behind)
    if not evidence.has_costs:
        return Form(*_SPLIT_OR_IDLE)
    return Form(*(BY_DATA if _are_passed_by(evidence, split) else _SIDES))


def _fills_shared(evidence: Evidence, site: Site) -> bool:
    """Returns whether an instruction stores in shared memory what was loaded from global memory."""
    return site.stores_in_shared and any(one.kind == "global load" for one in makers_of_value(evidence, site))


def _advise_on_steps(evidence: Evidence, exchanging: Set[Site]) -> str:
    """Returns how to exchange values without steps, by the size of the block.

    If a loop that loads may take the same steps in each iteration, the advice is also to do so only once.
    """
    shape = evidence.shape
    if shape and shape.warps_of_block == 1:
        advice = [_IN_ONE_WARP]
    elif _are_chosen_by_remainders(evidence, exchanging):
        advice = [_WITHOUT_REMAINDERS, _NEIGHBOURS]
    else:
        # Half of a smaller block would not fill its warp.
        is_large = shape is None or shape.threads >= 2 * LANES
        advice = [_BETWEEN_WARPS, *([_HALF_AS_MANY] if is_large and _bring_one_each(evidence) else [])]
    loops = (evidence.inside(loop) for loops in evidence.loops.values() for loop in loops)
    turns = [
        inside
        for inside in loops
        if exchanging <= {*inside} and any(site.kind == "global load" for site in inside)
    ]
    shortest = min(turns, key=len, default=None)
    once = add_up_once(evidence, shortest) if shortest else ""
    return f"{' '.join(advice)}{once}".format(shuffle=evidence.words.shuffle_xor)


def _bring_one_each(evidence: Evidence) -> bool:
    """Returns whether each thread brings one element to steps that join two values each: half of the threads then never add anything.

    Such steps store fewer values than the threads bring. A prefix sum stores more, because nearly all threads take part in each
    of its steps. A thread has combined several elements before if it loaded them in a loop, loaded several from one array, or
    loaded several at once.
    """
    made = {
        store: makers_since_access(evidence, makers_of_value(evidence, store))
        for store in evidence.of("shared store")
    }
    leaves = [
        store
        for store, makers in made.items()
        if makers and not any(one.kind == "shared load" for one in makers)
    ]
    if len(leaves) != 1:
        return False
    leaf, makers = leaves[0], made[leaves[0]]
    loads = [one for one in makers if one.kind == "global load"]
    arrays = [find_pointers(evidence, load) for load in loads]
    return (
        sum(store.lane_executions for store in made if store is not leaf) < leaf.lane_executions
        and (len(loads) <= 1 or (all(arrays) and len({*arrays}) == len(arrays)))
        and all(load.width <= leaf.width for load in loads)
        and not any(is_carried(evidence, one) for one in makers)
    )


def _are_passed_by(evidence: Evidence, idle: Mapping[Site, float]) -> bool:
    return are_most(executed_parts(idle), _find_passed_by(evidence) & idle.keys())


def _passes_in_steps(evidence: Evidence) -> bool:
    """Returns whether threads store in shared memory what they have made of values from there, for the next step."""
    return any(
        one.kind == "shared load"
        for store in evidence.of("shared store")
        for one in all_makers(evidence, makers_of_value(evidence, store))
    )


def _are_chosen_by_remainders(evidence: Evidence, sites: Set[Site]) -> bool:
    """Returns whether a remainder chooses the lanes that act, as in `thread % (2 * width) == 0`: they lie ever farther apart.

    A quotient that is compared by size, such as a row of the data, sends neighbours away instead.
    """
    tests = {test for site in sites for test in choosers_of(evidence, site)}
    of_one_number = (test for test in tests if test.opcode.startswith(_OF_ONE_NUMBER))
    compared = {source for test in of_one_number for source in sources_of(evidence, test)}
    return not compared.isdisjoint(find_dividing(evidence))


def _find_passed_by(evidence: Evidence) -> set[Site]:
    """Returns the code that some lanes of a warp skip because of what each of them has loaded, and the other side of that branch.

    The first side ends in a branch past the other one.
    """
    ends = {function: ends_of_sides(sites) for function, sites in evidence.by_function.items()}
    return {
        site
        for sites in evidence.by_function.values()
        for branch, behind in pairwise(sites)
        if branch.kind == "control"
        and branch.leads_to
        and branch.instruction.predicate
        and (behind.lanes or 0.0) < (branch.lanes or 0.0)  # it sends no whole warps past the code
        and is_decided_by_data(evidence, branch)
        for site in sites
        if branch.instruction.offset
        < site.instruction.offset
        < (ends[branch.function].get(branch.leads_to) or branch.leads_to)
        and (site.lanes or 0.0) < (branch.lanes or 0.0)
    }


def _find_element_loads(evidence: Evidence) -> Collection[Site]:
    """Returns for each loop the load from global memory that acts for most lanes: after it, tests of what was loaded may have sent lanes elsewhere."""
    unconcerned = find_unconcerned(evidence)
    most: dict[object, Site] = {}
    for site in evidence.of("global load"):
        if site in unconcerned or is_broadcast(site) or site.acting_lanes <= ONE_LANE:
            continue
        around = evidence.innermost_loop(site) or site.function
        if around not in most or site.lane_executions > most[around].lane_executions:
            most[around] = site
    return most.values()


def _lanes_of_elements(evidence: Evidence, loads: Collection[Site]) -> float:
    """Returns how many lanes of a warp load elements, on average; all of them if there is no such load."""
    executed = sum(site.executed for site in loads)
    lanes = sum(site.executed * lanes_of_acting_warps(evidence, site) for site in loads)
    return lanes / executed if executed else LANES


def _is_shared_by_lanes(evidence: Evidence, loads: Collection[Site]) -> bool:
    """Returns whether lanes do not load because their index lies behind the end of a row that their warp shares out.

    If each lane has an item of its own, it is data of that item that keeps it from loading.
    """
    off = {site: site.idle_share for site in loads}
    lost = [
        (is_decided_by_lane(evidence, test) and _take_neighbours(evidence.around(load)), many)
        for test, behind in find_turned_off(evidence, off).items()
        for load, many in behind.items()
    ]
    return 2 * sum(many for of_row, many in lost if of_row) > sum(many for _, many in lost)


def _take_neighbours(sites: Iterable[Site]) -> bool:
    """Returns whether lanes load elements side by side there, in sectors that they share, as lanes of one row do."""
    return any(
        site.kind == "global load"
        and not is_broadcast(site)
        and (site.sectors or 0.0) <= max(site.ideal_sectors or 0.0, _IN_SHARED_SECTORS * site.lane_executions)
        for site in sites
    )


def _with_loaded_from_shared(evidence: Evidence) -> set[Site]:
    """Returns the accesses to shared memory, and what is computed from their results."""
    found = set(evidence.of(*SHARED))
    for function, sites in evidence.by_function.items():
        if loads := frozenset(site for site in sites if site.kind == "shared load"):
            found |= depending_on(evidence, function, loads, NOTHING)
    return found
