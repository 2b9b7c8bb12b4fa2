"""Detects sums in global memory to which a zero is added: what is loaded is stored again as it was."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from profiler.analyse.causes.detectors.candidate import Candidate
from profiler.analyse.causes.evidence.addresses import address_of
from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.latency import Effect
from profiler.analyse.causes.evidence.sites import Site
from profiler.analyse.causes.flow.dataflow import makers_of_address, makers_of_value, sources_of
from profiler.analyse.causes.flow.possible_writers import writers_before
from profiler.text import whole_percent

_ADDING, _BITS = ("FADD", "IADD3"), 32  # of one sum
_ZEROS = {"RZ", "-RZ", "SRZ", "0", "0x0"}


def detect_added_zeros(evidence: Evidence) -> Iterable[Candidate]:
    """Names loads and stores of sums whose other part stays at zero in some lanes, as a branch passes by what computes it.

    A warp none of whose lanes has something to add needs no access, and a lane without needs no sector of its own.
    """
    requests: dict[Site, float] = {}
    sectors: dict[Site, float] = {}
    added = zeros = 0.0
    for store in evidence.of("global store"):
        for load, adding, other in _find_sums(evidence, store):
            computing = _find_computing(evidence, adding, other)
            if not computing:
                continue
            warps = min(1.0, sum(one.executed for one in computing) / store.executed)
            lanes = min(1.0, sum(one.lane_executions for one in computing) / store.lane_executions)
            added += store.lane_executions
            zeros += store.lane_executions * (1 - lanes)
            for access in (load, store):
                requests[access] = 1 - warps
                apart = access.lane_executions / access.sectors if access.sectors else 1.0
                sectors[access] = 1 - min(warps, lanes * apart)
    if not zeros:
        return
    part = 100 * zeros / added
    fewer, moved = evidence.without(requests), evidence.without(sectors)
    yield Candidate(
        "redundant-global-stores",
        f"{whole_percent(part)} % of what is added to values in global memory is zero: a branch passes by what computes it, and what was loaded "
        "is stored again.",
        "Load, add and store only where there is something to add: in the branch that computes it, or if it is not zero.",
        Effect(
            {**fewer.resources, "l1": moved.resources["l1"], "l2": moved.resources["l2"]},
            fewer.waits,
            evidence.waiting_for(sectors, "long_scoreboard"),
        ),
        {site: site.sectors or site.executed for site in sectors},
        {"zeros_added_pct": part},
        in_triton="Load, add and store only where there is something to add: let a mask leave out zeros.",
    )


def _find_sums(evidence: Evidence, store: Site) -> Iterator[tuple[Site, Site, str]]:
    """Yields the load of the place to which a sum is stored, with the addition, and the register of its other part."""
    makers = makers_of_value(evidence, store)
    if ".STRONG" in store.opcode or store.width > _BITS or not store.lane_executions or len(makers) != 1:
        return
    (adding,) = makers
    if adding.instruction.name not in _ADDING:
        return
    for load in sources_of(evidence, adding):
        others = adding.use.inputs - load.use.results
        if (
            load.kind == "global load"
            and ".STRONG" not in load.opcode
            and len(others) == 1
            and address_of(load) == address_of(store)
            and makers_of_address(evidence, load) == makers_of_address(evidence, store)
        ):
            (other,) = others
            yield load, adding, other


def _find_computing(evidence: Evidence, adding: Site, other: str) -> list[Site]:
    """Returns what may compute the other part of a sum, if it is zero wherever none of that is executed."""
    writers = writers_before(evidence, adding, other)
    computing = [one for one in writers if not _is_zero(one)]
    return computing if len(computing) < len(writers) else []


def _is_zero(site: Site) -> bool:
    """Returns whether an instruction writes a zero, in whichever words the compiler chose."""
    return not site.use.inputs and _ZEROS.issuperset(site.instruction.operands[1:])
