"""Detects lanes that do nothing while their warp executes: split by branches, or without any work."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from profiler.analyse.causes.detectors.candidate import ENOUGH_THREADS, Candidate
from profiler.analyse.causes.detectors.idle_lanes.by_tests import Form
from profiler.analyse.causes.detectors.idle_lanes.forms import say_what_idles, say_what_splits
from profiler.analyse.causes.detectors.idle_lanes.sides import goes_both_ways
from profiler.analyse.causes.detectors.idle_lanes.steps import (
    find_idle_while_serving,
    find_unconcerned,
    guard_of,
    is_whole,
)
from profiler.analyse.causes.detectors.idle_lanes.turned_off import lanes_of_acting_warps
from profiler.analyse.causes.detectors.sharing_out import say_few_threads, share_out
from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.latency import ISSUE, LAUNCH, Effect
from profiler.analyse.causes.evidence.sites import (
    ACCESSES,
    FENCES,
    LANE_MISSING,
    ONE_LANE,
    Kind,
    Site,
    executed_parts,
)
from profiler.analyse.causes.evidence.synchronisation import find_since_barrier
from profiler.analyse.causes.evidence.time_model import NO_WARP
from profiler.analyse.causes.flow.addresses.strides import find_walking
from profiler.analyse.causes.flow.alike_sides import find_alike_sides
from profiler.analyse.causes.flow.arithmetic.compiler_functions import find_compiler_functions
from profiler.analyse.causes.flow.dataflow import choosers_of, sources_of
from profiler.analyse.causes.flow.lane_values import (
    find_chosen_by_warp,
    find_differing_in_block,
    find_warps_without_work,
)
from profiler.analyse.causes.flow.memory.reduction_trees import find_in_trees
from profiler.analyse.causes.flow.working_blocks import find_lone_warps
from profiler.analyse.causes.places import find_heaviest
from profiler.analyse.code.math_functions.sizes import is_tested
from profiler.catalog.metrics import LANES, SECTOR_BYTES
from profiler.text import whole_percent

# Arithmetic that less than one lane of a warp executes, on average, corrects rare values, such as denormals: whole warps skip it.
_PASSED_BY = 1 - 1 / LANES
_LESS_THAN_A_LANE = 2 / 3  # in each warp: less is nearer to one lane in every second warp
_FOR_EACH_LANE = ("dram", "l2", "l1")  # they work once for each lane, and not for each warp
_LANE_BY_LANE: tuple[Kind, ...] = ("atomic", "shared atomic")
_WARPS_WITHOUT_WORK = (
    "Launch no warps that have no work: use smaller blocks, or let a block take several pieces of work, such as a row for each of its warps.",
    "Launch no warps that have no work: choose BLOCK by the length of the row (the next power of two), use fewer `num_warps`, or let a program take "
    "several rows.",
)
_BLOCKS_WITHOUT_WORK = (
    "Launch no block that has no work: launch as many as have some, or let each test several pieces (rows, tiles, requests), and work on those that "
    "need it.",
    "Start no program that has no work: launch as many as have some, or let each test several pieces (rows, tiles, requests), and work on those that "
    "need it.",
)


def detect_idle_lanes(evidence: Evidence) -> Iterable[Candidate]:
    """Names lanes that do nothing: split by branches that go both ways, or without any work."""
    split, idle = find_idle(evidence)
    if split:
        yield _wasting("divergent-branches", evidence, split, say_what_splits(evidence, split))
    warps = find_warps_without_work(evidence, idle)
    wasted = _wasted(idle)
    without_thread = (1 - _lanes_of_block(evidence) / LANES) * sum(site.executed for site in idle)
    # The advice on warps without work is smaller blocks, which would lack even more threads.
    is_for_threads = 2 * without_thread > wasted
    if not is_for_threads and 2 * sum(part * site.executed for site, (part, _) in warps.items()) > wasted:
        yield _wasting_warps(evidence, idle, warps)
    elif is_for_threads:
        form = Form(*say_few_threads(evidence))
        yield replace(
            found := _wasting(_name_of_few_threads(evidence), evidence, idle, form),
            sentence=form.sentence,
            regrouped=evidence.without_idle_lanes(),
            # Larger blocks concern no source line. If lanes share the work of one thread out, the lines say where it is.
            weights={} if _fill_no_warp(evidence) and not share_out(evidence) else found.weights,
        )
    elif idle:
        yield _wasting("idle-lanes", evidence, idle, say_what_idles(evidence, idle))


def find_idle(evidence: Evidence) -> tuple[dict[Site, float], dict[Site, float]]:
    """Returns by instruction the part of its lanes that a branch sent elsewhere, and the part that is idle for other reasons.

    Idle lanes of a tree go with its barriers, if a block need not make the tree in each iteration of a loop. Those of alike sides of a branch
    have a remedy of their own, if that is worth a third of them.
    """
    split, idle = {}, {}
    # Lanes without a thread did not leave by a branch. If lanes are only known as a mean over all instructions, the first one
    # does not show them.
    of_block = None if evidence.has_costs else _lanes_of_block(evidence)
    guards = {guard_of(site) for site in evidence.of(*ACCESSES)}
    unconcerned = find_unconcerned(evidence)
    # The wait of one lane for a lock is as long, whatever the others do. Warps execute tensor instructions whole.
    trees = find_in_trees(evidence)
    spare = {site: part for one in find_alike_sides(evidence) for site, part in one.spare.items()}
    alike = {site for site, part in spare.items() if 3 * part >= site.idle_share}
    excepted = (
        unconcerned | alike | evidence.retried | trees | {*evidence.of("tensor")} | _find_slow_paths(evidence)
    )
    # A predicate that is the same for all lanes turns none of those off that come to it.
    by_warp = find_chosen_by_warp(evidence) if evidence.has_costs else set()
    for site in evidence.sites:
        if site.lanes is None or site.idle_share < LANE_MISSING or site.instruction.never_acts:
            continue
        is_passed_by = site.idle_share > _PASSED_BY and site.kind not in ACCESSES
        if site in excepted or is_passed_by or _only_chooses(site, guards):
            continue
        entering = of_block or evidence.by_function[site.function][0].lanes or LANES
        off = 1 - site.lanes / entering
        if off >= LANE_MISSING and (of_block or goes_both_ways(evidence, site)):
            split[site] = off
        else:
            idle[site] = 1 - site.lanes / LANES if site in by_warp else site.idle_share
    serving = find_idle_while_serving(evidence).items()
    return split, {site: part for site, part in serving if site not in trees} | idle


def _wasting(name: str, evidence: Evidence, fractions: Mapping[Site, float], form: Form) -> Candidate:
    """Returns the cause for idle lanes of a form, given the part of each instruction's lanes that does nothing.

    Its place is that of the tests that turn lanes off, if the form says which, and else that of the instructions.
    """
    wasted = 100 * _wasted(fractions) / evidence.executed
    weights = executed_parts(_without_serving(fractions))
    if form.turned_off:
        weights = {test: sum(behind.values()) for test, behind in form.turned_off.items()}
    worst = find_heaviest(evidence, weights)
    lacking = [site for test in worst for site in form.turned_off[test]] if form.turned_off else worst
    lanes = _lanes_of(lacking, fractions)
    effect = for_acting_lanes(evidence, fractions, is_by_shuffles=form.is_by_shuffles)
    waited = 100 * evidence.model.life_share("barrier") * effect.waits["barrier"]
    others = (
        f", and warps wait at barriers for what few lanes do, for {whole_percent(waited)} % of their time"
        if waited > wasted
        else ""
    )
    return Candidate(
        name,
        f"{form.sentence}. Where most is lost, {_acting_text(lanes)}; over all instructions, {whole_percent(wasted)} % of the lanes do nothing{others}.",
        form.advice,
        replace(effect, warps=form.warps),
        weights,
        {"acting_lanes": lanes, "wasted_lanes_pct": wasted},
        in_triton=form.in_triton,
    )


def _lanes_of(sites: Collection[Site], fractions: Mapping[Site, float]) -> float:
    """Returns how many lanes act at instructions, on average. Of one lane that came alone, a predicate leaves no part."""
    acting = {site: LANES * (1 - fractions[site]) for site in sites}
    acting |= {site: site.lanes for site in sites if site.lanes and site.lanes <= ONE_LANE}
    return sum(acting[site] * site.executed for site in sites) / sum(site.executed for site in sites)


def _without_serving(fractions: Mapping[Site, float]) -> Mapping[Site, float]:
    """Returns the instructions with idle lanes, if there are any. What whole warps execute for a few lanes stands before these."""
    return {site: part for site, part in fractions.items() if site.idle_share >= LANE_MISSING} or fractions


def _acting_text(lanes: float) -> str:
    if lanes < _LESS_THAN_A_LANE:
        return f"one lane of every {1 / lanes:.0f} warps is active" if lanes else "no lane is active"
    return (
        "one lane of a warp is active"
        if round(lanes, 1) <= 1
        else f"{round(lanes, 1):g} of 32 lanes are active"
    )


def _wasting_warps(
    evidence: Evidence, idle: Mapping[Site, float], warps: Mapping[Site, tuple[float, Site]]
) -> Candidate:
    """Returns the cause for whole warps without work, placed at the tests by which they find that out."""
    without = sum(part * site.executed for site, (part, _) in warps.items())
    without *= 100 / sum(site.executed for site in warps)
    wasted = 100 * _wasted(idle) / evidence.executed
    guards: dict[Site, float] = {}
    for site, (part, guard) in warps.items():
        guards[guard] = guards.get(guard, 0.0) + part * site.executed
    # Only a test that depends on the thread can have different results for the warps of one block.
    differing = find_differing_in_block(evidence)
    of_blocks = 2 * sum(guards[guard] for guard in guards if guard not in differing) > sum(guards.values())
    in_cuda, in_triton = _BLOCKS_WITHOUT_WORK if of_blocks else _WARPS_WITHOUT_WORK
    return Candidate(
        "idle-lanes",
        f"Whole warps have nothing to do: {whole_percent(without)} % of those that test whether they have work find none; over all instructions, "
        f"{whole_percent(wasted)} % of the lanes do nothing.",
        in_cuda,
        replace(for_acting_lanes(evidence, idle), warps=_working_in_places_of_ended(evidence, guards)),
        guards,
        {"warps_without_work_pct": without, "wasted_lanes_pct": wasted},
        in_triton=in_triton,
    )


def _working_in_places_of_ended(evidence: Evidence, guards: Mapping[Site, float]) -> float:
    """Returns how many times as many warps are under way if no warp ends without work while others of its block go on.

    The places of such warps stay empty until the block ends. If a block ends as a whole, the next one takes their places.
    """
    warps = evidence.shape.warps if evidence.shape else math.inf
    differing = find_differing_in_block(evidence)
    ended = sum(
        guard.executed - behind.executed
        for guard, behind in pairwise(evidence.sites)
        if guard in guards and guard.instruction.name == "EXIT" and guard in differing
    )
    slots = evidence.model.warp_slots
    filled = min(ended / warps, slots.empty - slots.refilling)
    return 1 + filled / (1 - slots.empty)


def detect_lanes_without_thread(evidence: Evidence) -> Iterable[Candidate]:
    """Names blocks that leave lanes of their warps without a thread, if no counted instruction shows it."""
    lanes = _lanes_of_block(evidence)
    idle = 1 - lanes / LANES
    if evidence.sites or evidence.shape is None or idle < LANE_MISSING:
        return
    # With full warps, fewer warps execute and wait for as many threads. What memory does for each lane is not known.
    effect = Effect(
        {unit: idle for unit in evidence.model.busy if unit not in _FOR_EACH_LANE},
        {reason: idle for reason in evidence.model.waits if reason != NO_WARP},
    )
    sentence, advice = say_few_threads(evidence)
    yield Candidate(
        _name_of_few_threads(evidence),
        sentence,
        advice,
        Effect({**effect.resources, LAUNCH: _not_launched(evidence, effect)}, effect.waits),
        evidence={"acting_lanes": lanes, "wasted_lanes_pct": 100 * idle},
    )


def _name_of_few_threads(evidence: Evidence) -> str:
    """Returns the name of the cause for lanes without a thread.

    A block that does not fill one warp is too small. In a block of several warps, only the last warp has such lanes.
    """
    return "block-too-small" if _fill_no_warp(evidence) else "idle-lanes"


def _fill_no_warp(evidence: Evidence) -> bool:
    return evidence.shape is not None and evidence.shape.threads < LANES


def _find_slow_paths(evidence: Evidence) -> set[Site]:
    """Returns the functions that divide or take roots where the short form fails, as in a division of zero.

    All lanes of a warp divide, and those whose numbers need it divide once more: no other lane could fill the slots beside them.
    These instructions, and the code that calls the function, go with it, and `special-functions` names it.
    """
    functions = {one.start: one.sites for one in find_compiler_functions(evidence)}
    found: set[Site] = set()
    for sites in evidence.by_function.values() if functions else ():
        passing_by: Site | None = None
        for site in sites:
            if site.instruction.name == "BRA" and site.instruction.predicate:
                passing_by = site
            elif site.instruction.called in functions and passing_by and _tests_numbers(evidence, passing_by):
                found.update(functions[site.instruction.called])
                found.update(_passed_by(sites, passing_by))
    return found


def _passed_by(sites: Sequence[Site], branch: Site) -> list[Site]:
    """Returns the code that a forward branch skips, and the place where the lanes that went through it meet the others again."""
    start, end = branch.instruction.offset, branch.leads_to or 0
    passed = [site for site in sites if start < site.instruction.offset < end]
    meeting = passed[-1].leads_to if passed else None
    behind = (
        site for site in sites if site.instruction.offset == meeting and site.instruction.name == "BSYNC"
    )
    return [*passed, *behind]


def _tests_numbers(evidence: Evidence, branch: Site) -> bool:
    """Returns whether a branch is decided by the test of a precise division, reciprocal or root."""
    return any(
        site.instruction.name == "FCHK"
        or any(is_tested(one.instruction) for one in sources_of(evidence, site))
        for site in choosers_of(evidence, branch)
    )


def _only_chooses(site: Site, of_accesses: Collection[object]) -> bool:
    """Returns whether a predicate only chooses between values: the lanes that are off have their result already.

    A select for all lanes would take the same slot, so no lane could do more in it. If the same lanes also access memory under
    the predicate, the others lack an element.
    """
    return is_whole(site) and bool(site.instruction.predicate) and guard_of(site) not in of_accesses


def for_acting_lanes(
    evidence: Evidence, fractions: Mapping[Site, float], *, is_by_shuffles: bool = False
) -> Effect:
    """Returns the effect of issuing only for lanes that act.

    L1 and L2 work only for the lanes that act, so their work stays, with two exceptions. A shuffle and a pass through shared memory
    are made for any number of lanes, so fewer instructions take fewer of them, unless they have bank conflicts that shuffles do not avoid. And a lane that walks alone
    through neighbours takes a sector for each of them, which lanes side by side would share.
    Atomics are served lane by lane, so idle lanes cost nothing. Fences wait for memory as long for one lane as for all. If lanes
    are not counted for each instruction, a predicate may keep whole warps from it, and these wait for nothing; nor do those that a test
    of the thread's index keeps from a load.
    """
    effect = evidence.without(fractions)
    waiting = {
        site: 1 - lanes_of_acting_warps(evidence, site) / LANES
        if site.kind == "global load" and part == site.idle_share
        else part
        for site, part in fractions.items()
        if site.kind not in _LANE_BY_LANE
        and site.instruction.name not in FENCES
        and (evidence.has_costs or not site.instruction.predicate)
    }
    alone_in_a_pass = {
        site: part * (1.0 if is_by_shuffles else max(0.0, 2 * site.ideal_passes / site.passes - 1))
        for site, part in fractions.items()
        if site.passes and site.ideal_passes
    } | {site: part for site, part in fractions.items() if site.instruction.name == "SHFL"}
    walking = {
        site: 1 - site.bytes_asked / (site.sectors * SECTOR_BYTES)
        for site in find_walking(evidence) & fractions.keys()
        if site.sectors and site.sectors <= site.executed
    }
    # Loads from a sector that L1 holds are no work for L2.
    stored = {site: part for site, part in walking.items() if site.kind == "global store"}
    kept = {"l2": evidence.part_of_l2(stored), "l1": evidence.part_of_l1(alone_in_a_pass | walking)}
    waits = evidence.waiting_for(waiting)
    alone = _waited_for_at_barriers(evidence, fractions)
    ended = sum(part for site, part in find_lone_warps(evidence).items() if site in fractions)
    return Effect(
        {**effect.resources, **kept, LAUNCH: _not_launched(evidence, effect)},
        {**waits, "barrier": max(alone, waits.get("barrier", 0.0)), NO_WARP: ended},
    )


def _not_launched(evidence: Evidence, effect: Effect) -> float:
    """Returns the part of the blocks that need not be launched: a block has room for the work of several small ones."""
    threads = evidence.shape.threads if evidence.shape else LANES
    of_small_blocks = 1 - threads / ENOUGH_THREADS if threads % LANES else 0.0
    return max(effect.resources.get(ISSUE, 0.0), of_small_blocks)


def _waited_for_at_barriers(evidence: Evidence, fractions: Mapping[Site, float]) -> float:
    """Returns the part of the waiting at barriers in which a few lanes work while the rest of the block waits."""
    waited, total = 0.0, evidence.waits_by_reason["barrier"]
    for barrier, since in find_since_barrier(evidence):
        times = {one: part * (one.executed + evidence.charged[one].total) for one, part in since.items()}
        working = (one for one in since if one in fractions)
        lonely = [one for one in working if one.executed * (1.0 - one.idle_share) < barrier.executed / 2]
        if lonely and (everything := sum(times.values())):
            waited += evidence.charged[barrier]["barrier"] * sum(times[one] for one in lonely) / everything
    return waited / total if total else 0.0


def _lanes_of_block(evidence: Evidence) -> float:
    return evidence.shape.lanes_of_warp if evidence.shape else LANES


def _wasted(fractions: Mapping[Site, float]) -> float:
    return sum(executed_parts(fractions).values())
