"""Detects loops that spend much on themselves: counting, testing, branching, and waiting for one turn before the next."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from itertools import chain

from profiler.analyse.causes.detectors.candidate import EIGHTFOLD, FOUR_CHAINS, Candidate
from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.latency import Effect
from profiler.analyse.causes.evidence.sites import ACCESSES, Kind, Site
from profiler.analyse.causes.flow.dataflow import (
    derived_from,
    find_address_work_of,
    written_by_any,
)
from profiler.analyse.causes.flow.loop_carried import is_carried, steps_on
from profiler.analyse.causes.flow.memory.reduction_trees import find_in_trees
from profiler.analyse.code.opcodes import is_sum
from profiler.analyse.code.registers import predicates_in
from profiler.text import whole_percent

_COMPUTING: tuple[Kind, ...] = (
    "fp32",
    "fp64",
    "special",
    "conversion",
    "integer",
    "tensor",
    "shared load",
    "mio",
    "other",
)
_LOADING: tuple[Kind, ...] = ("global load", "shared load", "local", "atomic", "shared atomic")
_COMBINING = "PLOP3"
_TESTS = ("ISETP", "UISETP", _COMBINING)


def detect_loop_overhead(evidence: Evidence) -> Iterable[Candidate]:
    """Names the innermost loops that execute most, if counting and branching are an eighth of them or more."""
    inside = _hot_loops(evidence)
    if not inside:
        return
    sites = [site for loop in inside for site in loop]
    keeping = [site for loop in inside for site in _with_addresses(evidence, loop)]
    share = 100 * evidence.share_executed(keeping)
    size, longest = min(map(len, inside)), max(map(len, inside))
    in_steps = {site for loop in inside if _goes_in_steps(loop) for site in loop}
    half = sum(site.executed for site in sites) / 2
    known_steps = _KNOWN_STEPS.format(evidence.words.known_number)
    yield Candidate(
        "loop-overhead",
        f"{whole_percent(share)} % of the executed instructions only keep {'a loop' if len(inside) == 1 else f'{len(inside)} loops'} of "
        f"{size if size == longest else f'{size} to {longest}'} instructions going: they count, test, branch, or go on to the next address.",
        known_steps if sum(site.executed for site in in_steps) > half else evidence.words.unroll,
        _unrolled(evidence, sites, keeping, in_steps),
        {site: site.executed for site in keeping},
        {"loops": len(inside), "loop_instructions": size, "loop_overhead_pct": share},
    )


_KNOWN_STEPS = (
    "Let the compiler know the number of steps ({}), so that it unrolls the whole loop and needs no "
    "counting and no tests. Unrolling spares instructions and no waiting, because each step needs what the one before stored in shared memory."
)


def _goes_in_steps(inside: Sequence[Site]) -> bool:
    """Returns whether the threads of a block meet in each iteration, and go on from what others stored in shared memory before, as in a tree."""
    loads = {site for site in inside if site.kind == "shared load"}
    meets = any(site.kind == "barrier" for site in inside)
    return meets and any(site.kind == "shared store" for site in derived_from(inside, loads))


def _unrolled(
    evidence: Evidence, sites: Sequence[Site], keeping: Sequence[Site], in_steps: Set[Site]
) -> Effect:
    """Returns the effect of unrolling the loops of these `sites`, of which those `keeping` only keep the loops going.

    For sites `in_steps`, nothing of an iteration overlaps with the next one.
    """
    overhead = dict.fromkeys(keeping, EIGHTFOLD)
    fewer = evidence.without(overhead)
    # The copies of an unrolled loop issue their loads together, and wait once for all.
    free = [site for site in sites if site not in in_steps and not is_carried(evidence, site)]
    loads = [site for site in free if site.kind == "shared load"]
    together = evidence.waiting_for(overhead | dict.fromkeys(loads, EIGHTFOLD), "short_scoreboard")
    # An iteration depends on the one before only by what it carries on, such as a sum. The rest of four copies overlaps, and
    # fills the latencies of one.
    beside = {site: FOUR_CHAINS for site in free if site.kind in _COMPUTING}
    waits = evidence.waiting_for(beside | overhead, "wait", "short_scoreboard")
    for reason, part in together.items():
        waits[reason] = max(part, waits.get(reason, 0.0))
    return Effect(fewer.resources, {**fewer.waits, **waits})


def _hot_loops(evidence: Evidence) -> list[list[Site]]:
    """Returns the innermost loops that spend at least an eighth of their instructions on themselves, if these loops are most of what is executed.

    The steps of a tree go with its barriers.
    """
    in_trees = find_in_trees(evidence)
    short = [
        inside
        for inside in evidence.innermost_loops()
        if in_trees.isdisjoint(inside) and len(_keeping(inside)) >= (1 - EIGHTFOLD) * len(inside)
    ]
    return short if evidence.share_executed(chain.from_iterable(short)) > 1 / 2 else []


def _keeping(inside: Sequence[Site]) -> list[Site]:
    """Returns the branch back, its test, and the counters: integer instructions that add a fixed step to their own register.

    Other tests and branches, such as tests of bounds, depend on the data: each iteration makes its own, unrolled or not. PLOP3
    makes one test of several, or moves one from the uniform datapath, where counters are tested. Tests of data among its inputs
    do not count.
    """
    changed = written_by_any(inside)
    of_data = _of_data(inside)
    kept = []
    wanted: frozenset[str] = frozenset()  # the predicates on which the branch back depends
    taken_in: frozenset[str] = frozenset()  # those from which a PLOP3 makes one of them
    for site in reversed(inside):
        name, instruction = site.instruction.name, site.instruction
        written = predicates_in(instruction.operands[0]) if name in _TESTS else frozenset()
        if name == "BRA" and site is inside[-1]:
            wanted = predicates_in(instruction.text)
            kept.append(site)
        elif written & (wanted if site in of_data else wanted | taken_in):
            wanted, taken_in = wanted - written, taken_in - written
            if ".EX" in site.opcode:  # a test of 64 bits goes on from one of the lower half
                wanted |= predicates_in(instruction.operands[-1])
            elif name == _COMBINING:
                taken_in |= predicates_in(", ".join(instruction.operands[2:]))
            kept.append(site)
        elif written:
            taken_in -= written
        elif is_sum(site.instruction) and steps_on(site, changed) and site not in of_data:
            kept.append(site)
    return kept[::-1]


def _with_addresses(evidence: Evidence, inside: Sequence[Site]) -> list[Site]:
    """Returns what keeps a loop going, and what computes the next address in it.

    If several iterations find one address together, for an access behind the loop, that is their work: each does its part,
    unrolled or not.
    """
    keeping = _keeping(inside)
    addresses = find_address_work_of(evidence, [site for site in inside if site.kind in ACCESSES])
    passed_by = _of_data(inside).union(keeping)
    steps = (site for site in inside if site.kind == "integer" and site in addresses)
    return [*keeping, *(site for site in steps if site not in passed_by)]


def _of_data(inside: Sequence[Site]) -> set[Site]:
    """Returns the instructions that compute with what the loop loads: unrolled or not, each turn makes its own."""
    found: set[Site] = set()
    loaded: set[str] = set()
    for site in (*inside, *inside):  # a turn may use what the one before has loaded
        results = site.use.written
        is_of_data = not loaded.isdisjoint(site.use.inputs)
        if is_of_data:
            found.add(site)
        if is_of_data or site.kind in _LOADING:
            loaded.update(results)
        elif site.instruction.predicate is None:
            loaded.difference_update(results)
    return found
