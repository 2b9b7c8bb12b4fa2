"""Detects loops that spend much on themselves: counting, testing, branching, and waiting for one turn before the next."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set

from profiler.analyse.causes.detectors.candidate import EIGHTFOLD, FOUR_CHAINS, WIDEST_BITS, Candidate
from profiler.analyse.causes.detectors.instructions import sources_read
from profiler.analyse.causes.evidence.dataflow import (
    address_registers,
    find_address_work,
    is_carried,
    is_chased,
    predicates_in,
)
from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.latency import Effect
from profiler.analyse.causes.evidence.sites import Kind, Site
from profiler.analyse.code.registers import read_registers, written_registers

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
_SUMS = ("IADD3", "VIADD")
_COUNTING = ("IADD3", "UIADD3", "VIADD", "IMAD.IADD")  # and not a product with a number, which is arithmetic
_TESTS = ("ISETP", "UISETP")


def detect_loop_overhead(evidence: Evidence) -> Iterable[Candidate]:
    """Names the innermost loops that execute most, if counting and branching are an eighth of them or more."""
    inside = _hot_loops(evidence)
    if not inside:
        return
    addresses = find_address_work(evidence)
    keeping = [site for loop in inside for site in _keeping(loop)]
    known = set(keeping)
    sites = [site for loop in inside for site in loop]
    keeping += [
        site
        for loop in inside
        for site in loop
        if site.kind == "integer" and site in addresses and site not in known | _of_data(loop)
    ]
    share = 100 * evidence.share_executed(keeping)
    fewer = evidence.without(_joined(sites) | dict.fromkeys(keeping, EIGHTFOLD))
    # The copies of an unrolled loop issue their loads together, and wait once for all.
    loads = [site for site in sites if site.kind == "shared load" and not is_chased(evidence, site)]
    waits = evidence.waiting_for(dict.fromkeys([*keeping, *loads], EIGHTFOLD), "short_scoreboard")
    turns = _beside_each_other(evidence, sites)
    of_turns = evidence.waiting_for(turns | dict.fromkeys(keeping, EIGHTFOLD), "wait", "short_scoreboard")
    waits = {reason: max(of_turns.get(reason, 0.0), waits.get(reason, 0.0)) for reason in of_turns | waits}
    size, longest = min(map(len, inside)), max(map(len, inside))
    yield Candidate(
        "loop-overhead",
        f"{share:.0f} % of the executed instructions only keep {'a loop' if len(inside) == 1 else f'{len(inside)} loops'} of "
        f"{size if size == longest else f'{size} to {longest}'} instructions going: they count, test, branch, or go on to the next address.",
        "Unroll the loop by four or more (`#pragma unroll`), with independent work in its copies.",
        Effect(fewer.resources, {**fewer.waits, **waits}),
        {site: site.executed for site in keeping},
        {"loops": len(inside), "loop_instructions": size, "loop_overhead_pct": share},
    )


def _hot_loops(evidence: Evidence) -> list[list[Site]]:
    """Returns the innermost loops that spend an eighth on themselves, or more than after unrolling them, if together they are more than half of
    what is executed."""
    short = [
        inside
        for inside in find_innermost_loops(evidence)
        if len(_keeping(inside)) >= (1 - EIGHTFOLD) * len(inside)
    ]
    executed = sum(site.executed for inside in short for site in inside)
    return short if executed > evidence.executed / 2 else []


def _joined(sites: Sequence[Site]) -> dict[Site, float]:
    """Returns the part of the loads from shared memory that become one wide load with those of the next turns.

    Their address goes on by their own width in each turn, so that the copies of an unrolled loop load neighbours.
    """
    steps = {
        (site.instruction.operands[0], operand)
        for site in sites
        if site.instruction.name in _SUMS and len(site.instruction.operands) > 1
        for operand in site.instruction.operands[1:]
    }
    return {
        site: 1.0 - site.width / WIDEST_BITS
        for site in sites
        if site.kind == "shared load"
        and any(
            (register, register) in steps and (register, hex(site.width // 8)) in steps
            for register in address_registers(site.instruction)
        )
    }


def _beside_each_other(evidence: Evidence, sites: Sequence[Site]) -> dict[Site, float]:
    """Returns the part of the waiting for results that ends when turns of a loop are computed beside each other.

    Each turn depends on the one before only by what it carries on, such as a sum: the rest of four copies fills the latencies of one.
    """
    return {site: FOUR_CHAINS for site in sites if site.kind in _COMPUTING and not is_carried(evidence, site)}


def find_innermost_loops(evidence: Evidence) -> Iterable[list[Site]]:
    """Yields the instructions of each innermost loop."""
    for loops in evidence.loops.values():
        for loop in loops:
            if not any(
                other is not loop and loop.start <= other.start and other.end <= loop.end for other in loops
            ):
                yield evidence.inside(loop)


def _keeping(inside: Sequence[Site]) -> list[Site]:
    """Returns the branch back, its test, and the counters: integer instructions that add a fixed step to their own register.

    Other tests and branches are of the data, such as those of bounds: each turn makes its own, unrolled or not.
    """
    changed = {register for site in inside for register in written_registers(site.instruction)}
    of_data = _of_data(inside)
    kept = []
    wanted: frozenset[str] = frozenset()
    for site in reversed(inside):
        name, instruction = site.instruction.name, site.instruction
        if name == "BRA" and site is inside[-1]:
            wanted = predicates_in(instruction.text)
            kept.append(site)
        elif name in _TESTS and not wanted.isdisjoint(predicates_in(instruction.operands[0])):
            wanted = wanted - predicates_in(instruction.operands[0])
            kept.append(site)
        elif site.opcode.startswith(_COUNTING) and _steps_on(site, changed) and site not in of_data:
            kept.append(site)
    return kept[::-1]


def _of_data(inside: Sequence[Site]) -> set[Site]:
    """Returns the instructions that compute with what the loop loads: unrolled or not, each turn makes its own."""
    found: set[Site] = set()
    loaded: set[str] = set()
    for site in (*inside, *inside):  # a turn may use what the one before has loaded
        results = set(written_registers(site.instruction))
        is_of_data = not loaded.isdisjoint(sources_read(site))
        if is_of_data:
            found.add(site)
        if is_of_data or site.kind in _LOADING:
            loaded |= results
        elif site.instruction.predicate is None:
            loaded -= results
    return found


def _steps_on(site: Site, changed: Set[str]) -> bool:
    """Returns whether an instruction adds to its own register what does not change in the loop, in each turn: others count what they find."""
    operands = site.instruction.operands
    if len(operands) < 2 or operands[0] not in operands[1:] or site.instruction.predicate:
        return False
    return {operands[0]}.issuperset(read_registers(site.instruction) & changed)
