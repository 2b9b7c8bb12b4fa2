"""Detects warps without an element: all that they bring to a sum over their block is the zero that sums begin with."""

from __future__ import annotations

from collections.abc import Iterable

from profiler.analyse.causes.detectors.candidate import Candidate
from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.sites import Site
from profiler.analyse.causes.flow.arithmetic.padding import is_constant
from profiler.analyse.causes.flow.dataflow import makers_of_value, reach, readers_in, sources_of
from profiler.analyse.causes.flow.lane_values import SUMMING, find_differing_in_block
from profiler.analyse.causes.flow.loop_carried import is_carried
from profiler.analyse.code.loops import Loop
from profiler.catalog.metrics import LANES
from profiler.text import whole_percent


def detect_zeros_added(evidence: Evidence) -> Iterable[Candidate]:
    """Names warps that skip the loop in which others add up, and bring only a constant to the result of their block.

    The block could do without them: all that they execute goes, with their part of the exchange. There are as many smaller
    blocks, and they are launched as often.
    """
    handing_on = evidence.of("shared store", "mio")
    adding = {site: entering for site in handing_on if (entering := _count_adding(evidence, site))}
    if not adding or (part := min(1 - entering / site.executed for site, entering in adding.items())) <= 0:
        return
    most = max(adding.values())
    gone = {site: part for site in evidence.sites if _count_coming(evidence, site) > most}
    if any(site.kind == "global load" and site in find_differing_in_block(evidence) for site in gone):
        return  # these warps load an element of another kind
    yield Candidate(
        "idle-lanes",
        f"{whole_percent(100 * part)} % of the warps take no element: all that they add to the sum of their block is the value with which a sum begins.",
        "Give a block no more threads than it has elements: use smaller blocks, or let a block take several rows.",
        evidence.without(gone),
        _ends_of_loops(evidence, adding),
        {"warps_without_work_pct": 100 * part},
    )


def _count_adding(evidence: Evidence, exchange: Site) -> float:
    """Returns how many warps enter loops to make the sum that an instruction passes to other threads, if it is a constant for the rest; else 0."""
    makers = _makers_of_sum(evidence, exchange)
    if len(makers) != 1 or (adding := evidence.innermost_loop(makers[0])) is None:
        return 0.0
    if (entering := _count_entering(evidence, exchange.function, adding)) >= exchange.executed:
        return entering  # no warp passes by
    if not is_carried(evidence, makers[0]) or not _reaches_block(evidence, exchange):
        return 0.0
    code, around = evidence.by_function[exchange.function], evidence.innermost_loop(exchange)
    loops: set[Loop] = set()
    for one in reversed(code[: evidence.place(exchange, code)]):
        if set(makers[0].use.written).isdisjoint(one.use.written):
            continue
        if (loop := evidence.innermost_loop(one)) and loop != around:
            loops.add(loop)
            continue
        return (
            sum(_count_entering(evidence, exchange.function, loop) for loop in loops)
            if is_constant(one)
            else 0.0
        )
    return 0.0


def _makers_of_sum(evidence: Evidence, exchange: Site) -> list[Site]:
    if exchange.kind == "shared store":
        return list(makers_of_value(evidence, exchange))
    return list(sources_of(evidence, exchange)) if exchange.opcode.startswith(SUMMING) else []


def _ends_of_loops(evidence: Evidence, exchanges: Iterable[Site]) -> dict[Site, float]:
    """Returns the backward branches of the loops that few warps enter: their source lines say which thread takes which element."""
    makers = (maker for exchange in exchanges for maker in _makers_of_sum(evidence, exchange))
    ends = [evidence.inside(loop)[-1] for maker in makers if (loop := evidence.innermost_loop(maker))]
    return {end: end.executed for end in ends}


def _reaches_block(evidence: Evidence, exchange: Site) -> bool:
    """Returns whether a sum, or what shuffles make of it, goes to other warps through shared memory.

    If not, each warp may keep a sum of its own, as for a row.
    """
    readers = readers_in(evidence, exchange.function)
    made = reach([exchange], lambda one: readers.get(one, ()))
    has_others = evidence.shape is None or evidence.shape.threads > LANES
    return has_others and any(one.kind == "shared store" for one in made)


def _count_entering(evidence: Evidence, function: int, loop: Loop) -> float:
    before = evidence.last_before(function, loop)
    return before.executed if before else 0.0


def _count_coming(evidence: Evidence, site: Site) -> float:
    """Returns how many warps come to an instruction, or to the loop around it."""
    loop = evidence.innermost_loop(site)
    return _count_entering(evidence, site.function, loop) if loop else site.executed
