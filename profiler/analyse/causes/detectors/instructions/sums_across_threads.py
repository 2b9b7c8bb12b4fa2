"""Detects loops in whose turns the threads of a block add up what they hold, where each of them could add up on its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set

from profiler.analyse.causes.detectors.candidate import Candidate
from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.sites import ACCESSES, SHARED, Site
from profiler.analyse.causes.flow.carried import is_carried
from profiler.analyse.causes.flow.dataflow import (
    address_registers,
    makers_of_value,
    reach,
    sources_of,
)
from profiler.analyse.causes.flow.staging import stored_registers
from profiler.analyse.code.loops import Loop
from profiler.catalog.metrics import LANES

# Their results do not depend on the order of what they add up, except for rounding.
_ADDING = ("FADD", "DADD", "HADD2", "IADD3", "FMNMX", "VIMNMX", "IMNMX")
# With fewer turns, the exchange that stays after the loop is a large part of all.
_TURNS_WORTH_IT = 4
# Each step of a tree joins two halves of what is left.
_HALF = 1 / 2


def detect_sums_across_threads(evidence: Evidence) -> Iterable[Candidate]:
    """Names loops that add up what the threads of a block hold in each turn, only to add that to a sum.

    Each thread can add up its own values instead, and the threads exchange their sums once, after the loop. The same holds for a
    maximum.
    """
    for loop in sorted(evidence.loops_around(evidence.of("barrier")), key=lambda one: one.start):
        inside = evidence.inside(loop)
        barrier = next(site for site in inside if site.kind == "barrier")
        turns = evidence.turns(barrier, loop)
        if turns < _TURNS_WORTH_IT or not (exchanging := _exchanges_sums(inside)):
            continue
        fractions = dict.fromkeys(exchanging, 1 - 1 / turns)
        yield Candidate(
            "redundant-shared-accesses",
            f"In each of {turns:.0f} turns of a loop, threads exchange values through shared memory and meet at barriers to add them up, and only "
            "add the result to what they have.",
            "Let each thread add up its own values in the loop, and add up over the threads once, after it.",
            evidence.without(fractions),
            {site: evidence.charged[site].total or site.executed for site in exchanging},
            {"turns": turns},
            in_triton="Add up whole blocks in the loop (`acc += x`, with `acc` of the shape of the block), and call `tl.sum` once, after it.",
        )


def _exchanges_sums(inside: Sequence[Site]) -> list[Site]:
    """Returns what exchanges values in a turn of a loop, if these are only added up, and added to sums that nothing else in the loop reads."""
    exchanging: list[Site] = []
    sums: list[Site] = []
    exchanged: set[str] = set()  # the registers that hold what other threads had
    for site in inside:
        one = site.instruction
        written = set(site.use.written)
        if site.kind == "barrier":
            exchanging.append(site)
        elif one.name == "SHFL" or site.kind == "shared load":
            exchanging.append(site)
            exchanged |= written
        elif site.kind == "shared store":
            # What is stored without having been added up over lanes may be meant for others.
            if exchanged.isdisjoint(stored_registers(one)):
                return []
            exchanging.append(site)
        elif exchanged.isdisjoint(site.use.inputs):
            exchanged -= written
        elif one.name not in _ADDING:
            return []
        elif written <= site.use.inputs - exchanged and _is_a_sum(inside, site):
            sums.append(site)
        else:
            exchanging.append(site)
            exchanged |= written
    used = {site.instruction.name for site in (*exchanging, *sums)}
    adds_in_one_way = len(used.intersection(_ADDING)) == 1
    through_memory = any(site.kind == "shared load" for site in exchanging)
    is_sum = sums and adds_in_one_way and through_memory and "SHFL" in used
    return exchanging if is_sum and not _are_read_next_turn(exchanged, inside) else []


def _are_read_next_turn(registers: Set[str], inside: Sequence[Site]) -> bool:
    """Returns whether the next turn of a loop reads what a turn leaves in one of these registers."""
    left = set(registers)
    for site in inside:
        if left & site.use.inputs:
            return True
        left -= set(site.use.written)
    return False


def _is_a_sum(inside: Sequence[Site], site: Site) -> bool:
    """Returns whether nothing else in the loop reads or writes what the instruction adds to."""
    total = set(site.use.written)
    return all(one is site or total.isdisjoint({*one.use.named, *one.use.written}) for one in inside)


def detect_trees_in_turns(evidence: Evidence) -> Iterable[Candidate]:
    """Names loops in each turn of which the threads of a block make one value of what they hold, step by step, for a single thread.

    No turn needs the result of the one before, so that each thread can take turns of its own, and make their values in its
    registers: the block runs as many turns at once as it has threads.
    """
    meeting = _own_barriers(evidence)
    for loop, barrier in meeting.items():
        turns = evidence.turns(barrier, loop)
        exchanging = _exchanging_in_tree(evidence, loop, meeting) if turns >= _TURNS_WORTH_IT else []
        if not exchanging or evidence.shape is None:
            continue
        at_once = min(turns, evidence.shape.threads)
        yield Candidate(
            "redundant-shared-accesses",
            f"In each of {turns:.0f} turns of a loop, a block adds up what its threads hold through shared memory, step by step with barriers "
            "between, and a single thread uses the result.",
            "Let each thread take turns of its own and add up their values in its registers, so that the block meets once, after the loop; or "
            "let a warp take each turn, and add up by `__shfl_xor_sync`.",
            evidence.without(dict.fromkeys(exchanging, 1 - 1 / at_once)),
            {site: evidence.charged[site].total or site.executed for site in exchanging},
            {"turns": turns},
        )


def _own_barriers(evidence: Evidence) -> dict[Loop, Site]:
    """Returns for each loop a barrier that is in no loop within it, at which a block meets in each turn."""
    found: dict[Loop, Site] = {}
    for site in evidence.of("barrier"):
        loop = evidence.innermost_loop(site)
        if loop and (loop not in found or site.executed > found[loop].executed):
            found[loop] = site
    return found


def _exchanging_in_tree(evidence: Evidence, loop: Loop, meeting: Mapping[Loop, Site]) -> list[Site]:
    """Returns the barriers, the accesses to shared memory, and the arithmetic between them, if they are a tree; else nothing.

    All threads store a value that nothing in the loop carries from turn to turn. Half of them load some at most, and store what they make of
    these, until one is left: where a result is for all, all load it.
    """
    inside = evidence.inside(loop)
    loads, stores = (
        [site for site in inside if site.kind == kind] for kind in ("shared load", "shared store")
    )
    parts = {site: _part_acting(evidence, meeting, site) for site in (*loads, *stores)}
    leaves = [site for site in stores if parts[site] > _HALF]
    steps = [site for site in stores if parts[site] <= _HALF]
    alone = 1 / evidence.shape.threads if evidence.shape else 0.0
    loading = {parts[site] for site in loads}
    if not (leaves and steps and loading) or min(loading) > alone or max(loading) > _HALF:
        return []
    of_others = [any(one.kind in SHARED for one in _makers_in_turn(evidence, site)) for site in steps]
    makers = {one for site in leaves for one in _makers_in_turn(evidence, site)}
    if not all(of_others) or any(one.kind in SHARED for one in makers):
        return []
    if any(_is_of_turn_before(evidence, loop, one) for one in makers) or _hands_on(inside):
        return []
    return _exchanged_in(inside)


def _part_acting(evidence: Evidence, meeting: Mapping[Loop, Site], site: Site) -> float:
    """Returns the part of a block's threads for which an access acts at each execution; all of them where lanes were not counted."""
    loop = evidence.innermost_loop(site)
    if site.acting is None or loop is None or loop not in meeting:
        return 1.0
    return site.executed * site.acting / (meeting[loop].executed * LANES)


def _makers_in_turn(evidence: Evidence, store: Site) -> Set[Site]:
    """Returns what makes the value that is stored, back to what was loaded."""
    return reach(
        makers_of_value(evidence, store),
        lambda one: () if one.kind in ACCESSES else sources_of(evidence, one),
    )


def _is_of_turn_before(evidence: Evidence, loop: Loop, site: Site) -> bool:
    """Returns whether an instruction starts from what it made in the turn before."""
    return site.kind not in ACCESSES and evidence.innermost_loop(site) == loop and is_carried(evidence, site)


def _hands_on(inside: Sequence[Site]) -> bool:
    """Returns whether a loop loads from global memory where it stores, so that a turn may need what the one before has left."""
    stored = {address_registers(site.instruction) for site in inside if site.kind == "global store"}
    return any(address_registers(site.instruction) in stored for site in inside if site.kind == "global load")


def _exchanged_in(inside: Sequence[Site]) -> list[Site]:
    """Returns the barriers, the accesses to shared memory, and what computes with the values of others."""
    found: list[Site] = []
    exchanged: set[str] = set()
    for site in inside:
        written = set(site.use.written)
        if site.kind == "barrier" or site.kind in SHARED:
            found.append(site)
        if site.kind == "shared load":
            exchanged |= written
        elif site.kind not in ACCESSES and not exchanged.isdisjoint(site.use.inputs):
            found.append(site)
            exchanged |= written
        else:
            exchanged -= written
    return found
