"""Adds to the evidence what lookups in constant memory cost if their index differs between the lanes of a warp.

The cache of indexed constants serves one address after the other, and no counter of the presets shows how busy it is. So its load
follows from how long the lookups take. Requests of all kinds wait behind them in the queue of shared memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from profiler.analyse.causes.evidence.blame import Waits
from profiler.analyse.causes.evidence.charging import find_cost_in_queue, share_queue
from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.latency import CONSTANTS, SHARED_CYCLES
from profiler.analyse.causes.evidence.sites import Site
from profiler.analyse.causes.flow.dataflow import address_registers, sources_of
from profiler.analyse.causes.flow.lane_values import find_differing
from profiler.analyse.code.opcodes import JUMPS_BY_REGISTER

# Cycles of an SM for each address: `tone_constant` of tables.cu in tests/data/causes looks at 30 addresses in each lookup, and
# keeps the unit for it 98 % busy with 0.49 of them a cycle (an H200).
_CYCLES_AN_ADDRESS = 2.0
# A lookup that waits for no other takes as long as a load from shared memory.
_UNLOADED_CYCLES = SHARED_CYCLES
_QUEUED = ("mio_throttle", "short_scoreboard")


def add_lookups(evidence: Evidence) -> Evidence:
    """Returns the evidence with the lookups whose index differs between lanes, the waiting that they cause, and the load of their cache."""
    apart = _find_lookups_apart(evidence)
    if not apart:
        return evidence
    costs = {site: find_cost_in_queue(site) for site in evidence.sites} | {
        site: _most_cycles(site) for site in apart
    }
    charged = {site: Waits(waits) for site, waits in evidence.charged.items()}
    share_queue(charged, "mio_throttle", {site: cost for site, cost in costs.items() if cost})
    evidence = replace(evidence, charged=charged, lookups_apart=tuple(apart))
    load = _find_load(evidence, apart)
    busy = evidence.model.busy if load is None else {**evidence.model.busy, CONSTANTS: load}
    return replace(evidence, model=replace(evidence.model, busy=busy))


def _find_lookups_apart(evidence: Evidence) -> list[Site]:
    """Returns the loads of indexed constants whose index may differ between the lanes of a warp.

    A switch looks up where to jump, in a table of the compiler's. Such lookups are left out: lanes that jump apart are a cause of
    their own.
    """
    indexed = [site for site in evidence.of("mio") if _is_indexed(site)]
    if not indexed:
        return []
    differing = find_differing(evidence)
    jumps = (site for site in evidence.of("control") if site.instruction.name in JUMPS_BY_REGISTER)
    targets = {one for site in jumps for one in sources_of(evidence, site)}
    return [
        site
        for site in indexed
        if site not in targets and not differing.isdisjoint(sources_of(evidence, site))
    ]


def _is_indexed(site: Site) -> bool:
    """Returns whether a constant is loaded by a register of each lane; uniform registers hold one value for the warp."""
    return site.instruction.name == "LDC" and any(
        name.startswith("R") for name in address_registers(site.instruction)
    )


def _most_cycles(site: Site) -> float:
    """Returns for how long the cache serves a lookup, if each lane looks at another address."""
    return site.lane_executions * _CYCLES_AN_ADDRESS


def _find_load(evidence: Evidence, apart: Sequence[Site]) -> float | None:
    """Returns for which share of the time the cache of constants is busy with these lookups: at most 1, and at most as if no two lanes agreed.

    Lanes may agree, so that a lookup takes fewer cycles than there are lanes. A warp that comes to the cache at random finds
    other lookups before it: as many as arrive while one of them waits and is served (Little's law). So the time until a lookup is
    answered says how long the cache works for it alone.
    """
    cycles = evidence.find("sm_cycles")
    if not cycles:
        return None
    lookups = sum(site.executed for site in apart)
    parts = evidence.waiting_for(dict.fromkeys(apart, 1.0), *_QUEUED)
    waited = sum(
        evidence.figures.get(f"stall_{reason}", 0.0) * evidence.executed * part
        for reason, part in parts.items()
    )
    answered = max(0.0, waited / lookups - _UNLOADED_CYCLES)
    before = lookups / cycles * answered
    return min(1.0, before / (1.0 + before), sum(map(_most_cycles, apart)) / cycles)
