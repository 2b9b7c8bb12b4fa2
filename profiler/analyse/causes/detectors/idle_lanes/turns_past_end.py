"""Detects loops that go on after the end of the data: a test of the counter keeps the loads of these turns from acting."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from itertools import chain

from profiler.analyse.causes.detectors.candidate import Candidate
from profiler.analyse.causes.detectors.idle_lanes.masked_tiles import smaller
from profiler.analyse.causes.evidence.addresses import is_of_one_place
from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.sites import Site
from profiler.analyse.causes.flow.dataflow import (
    choosers_of,
    sources_of,
    written_by_any,
)
from profiler.analyse.causes.flow.lane_values import find_differing_in_block
from profiler.analyse.causes.flow.loop_carried import steps_on
from profiler.analyse.code.registers import REGISTER
from profiler.catalog.metrics import LANES
from profiler.text import whole_percent

# Of the last tile that is there, half is missing on average: its turn is made all the same.
_OF_LAST_TURN = 0.5
_ORDERED = (".LT", ".LE", ".GT", ".GE")
# What keeps a counter growing, if all else that it takes in stays: sums, products, shifts and copies. OR joins what has no bit in common.
_GROWING = ("IADD3", "UIADD3", "VIADD", "IMAD", "UIMAD", "LEA", "ULEA", "MOV", "UMOV", "R2UR", "SHF")
_NO_END = ("-0x", "RZ", "URZ")  # with which an index is compared that may lie before the first element
_OR = "0xfc"  # its table of LOP3
_UPPER_HALF = ".HI.U32"  # of a product with a reciprocal: a quotient, whose remainder begins again and again


def detect_turns_past_end(evidence: Evidence) -> Iterable[Candidate]:
    """Names loops whose turns go on where nothing is left to load, as where each list is read up to the length of the longest."""
    if not evidence.has_costs:
        return
    idle: dict[Site, float] = {}
    past = made = 0.0
    for inside in evidence.innermost_loops():
        loads = [site for site in inside if site.kind == "global load" and not is_of_one_place(site)]
        part, turns = _part_there(inside, loads), _turns(evidence, loads)
        left = 1 - part - _OF_LAST_TURN / turns
        if left > 0 and turns > 1 and _end_before(evidence, loads, inside):
            idle |= {site: left for site in inside if site.executed == loads[0].executed}
            past, made = past + left * loads[0].executed, made + loads[0].executed
    if not idle:
        return
    percent = 100 * past / made
    yield Candidate(
        "idle-lanes",
        f"A loop goes on after the end of what it reads: in about {whole_percent(percent)} % of its turns, a test of the index keeps the loads from acting.",
        "Let the loop end where the data of the block ends, and not where the longest could: take the bound of the test as the bound of the loop.",
        smaller(evidence, idle),
        {site: part * site.executed for site, part in idle.items()},
        {"turns_past_end_pct": percent},
    )


def _part_there(inside: Sequence[Site], loads: Sequence[Site]) -> float:
    """Returns the part of a loop's accesses to global memory that act, of those of which most do; all, if one has no predicate."""
    others = [site for site in inside if site.kind in ("global store", "atomic")]
    if not loads or any(
        site.instruction.predicate is None or site.acting is None for site in (*loads, *others)
    ):
        return 1.0
    return max((site.acting or 0.0) / LANES for site in (*loads, *others))


def _turns(evidence: Evidence, loads: Sequence[Site]) -> float:
    loop = evidence.innermost_loop(loads[0]) if loads else None
    return evidence.turns(loads[0], loop) if loop else 1.0


def _end_before(evidence: Evidence, loads: Sequence[Site], inside: Sequence[Site]) -> bool:
    """Returns whether each load acts under a test of what grows from turn to turn, against what stays and is one value for the block."""
    changed = written_by_any(inside)
    growing = written_by_any(_growing(inside, changed))
    bounds = [_bound_of(evidence, load, growing, changed) for load in loads]
    if None in bounds:
        return False
    return find_differing_in_block(evidence).isdisjoint(chain.from_iterable(filter(None, bounds)))


def _bound_of(evidence: Evidence, load: Site, growing: Set[str], changed: Set[str]) -> list[Site] | None:
    """Returns what makes the bound with which a test compares the index; None if there is no such test, or one of where the data begins, or of who loads.

    Threads that begin one after the other, as along a diagonal, also end one after the other: for most of the turns, some of them work.
    """
    found: list[Site] | None = None
    for test in _tests_of(evidence, load):
        compared = test.instruction.operands[2:4]
        registers = [set(REGISTER.findall(one)) for one in compared]
        if not any(one in test.opcode for one in _ORDERED):
            if _chooses_threads(evidence, test, set().union(*registers), changed):
                return None
            continue
        for place, index in enumerate(registers):
            if not index or not index <= growing:
                continue
            if compared[1 - place].startswith(_NO_END):
                return None
            if registers[1 - place].isdisjoint(changed):
                found = [*(found or []), *sources_of(evidence, test, registers[1 - place])]
    return found


def _tests_of(evidence: Evidence, load: Site) -> Iterator[Site]:
    """Yields the comparisons in the loop on which the predicate of a load depends."""
    seen: set[Site] = set()
    wanted = [load]
    while wanted:
        for site in choosers_of(evidence, wanted.pop()):
            if site not in seen:
                seen.add(site)
                wanted.append(site)
    yield from (site for site in seen if "ISETP" in site.opcode)


def _chooses_threads(evidence: Evidence, test: Site, compared: Set[str], changed: Set[str]) -> bool:
    """Returns whether a test asks for one index of a thread, such as the first row of a block, which loads for the others in each turn."""
    differing = find_differing_in_block(evidence)
    return compared.isdisjoint(changed) and not differing.isdisjoint(sources_of(evidence, test, compared))


def _growing(inside: Sequence[Site], changed: Set[str]) -> Iterator[Site]:
    """Yields the counters of a loop, and what is made of them and of what stays."""
    counters = {site for site in inside if site.kind == "integer" and steps_on(site, changed)}
    growing = written_by_any(counters)
    held: set[str] = set()  # the registers and predicates with what was found
    for site in (*inside, *inside):
        grows = (
            not held.isdisjoint(site.taken)
            and _keeps_growing(site)
            and (site.use.inputs & changed) <= growing
        )
        if grows or site in counters:
            growing.update(site.use.written)
            held |= site.use.results
            yield site
        elif site.instruction.predicate is None:
            held -= site.use.results


def _keeps_growing(site: Site) -> bool:
    if site.instruction.name == "LOP3":
        return site.instruction.operands[-2:-1] == (_OR,)
    return site.instruction.name in _GROWING and not site.opcode.startswith(f"IMAD{_UPPER_HALF}")
