"""Estimates what fewer loads from global memory save: without those that repeat, or without some that L1 serves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from profiler.analyse.causes.evidence.addresses import base_of, offset_of
from profiler.analyse.causes.evidence.charging import find_cost_in_queue
from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.latency import L1_CYCLES, PASSES_AT_RANDOM, SHARED_CYCLES, Effect
from profiler.analyse.causes.evidence.loads_under_way import find_loads_beside
from profiler.analyse.causes.evidence.measured_time import latency_of_hits
from profiler.analyse.causes.evidence.sites import Site
from profiler.analyse.causes.evidence.synchronisation import find_own_part
from profiler.analyse.causes.flow.memory.repeated_loads import find_addresses_gone
from profiler.catalog.metrics import SECTOR_BYTES


def without_loads(evidence: Evidence, fractions: Mapping[Site, float]) -> Effect:
    """Returns the effect of no longer executing these parts of the loads.

    A warp waits once for loads that are issued together. If some of them stay, so does the latency, and only queues get shorter.
    """
    fewer = evidence.without({**find_addresses_gone(evidence, fractions), **fractions})
    alone = {
        site: part
        for site, part in fractions.items()
        if all(one in fractions for one in find_loads_beside(evidence, site))
    }
    return Effect(
        fewer.resources,
        {**fewer.waits, **evidence.waiting_for(alone, "long_scoreboard")},
        evidence.waiting_for(fractions, "long_scoreboard"),
    )


def without_hits(
    evidence: Evidence,
    loads: Sequence[Site],
    part: float,
    fixed: Mapping[Site, float],
    is_moved: bool,
) -> Effect:
    """Returns the effect of no longer executing this part of the loads that hit L1, not counting the hits of `fixed` loads.

    Loads that miss take much longer, and keep their latency: a warp that waits for a hit and a miss together waits no less. Where
    warps wait longer for a load than a hit takes, the rest of that wait is for misses, and stays. But each load moves warps apart,
    so with fewer loads, warps reach a barrier closer together.

    If the hits are only moved to shared memory, as those in a table, there are as many loads as before: what they save is lookups, and the
    little by which shared memory answers sooner.
    """
    looked_up = sum(site.sectors or 0.0 for site in evidence.of("global load")) or 1.0
    held = _part_held_for_same_sector(evidence)
    held += sum(again * (site.sectors or 0.0) for site, again in fixed.items()) / looked_up
    hits = max(0.0, (evidence.find("l1_hit_pct") or 0.0) / 100 - held) / (1 - held) if held < 1 else 0.0
    fractions = dict.fromkeys(loads, hits * part)
    short = {site: gone * _part_of_hits(evidence, site) for site, gone in _part_filled(fractions).items()}
    queued = evidence.waiting_for(short, "long_scoreboard").get("long_scoreboard", 0.0)
    latency = queued * latency_of_hits(evidence.figures) / hits if hits else 0.0
    if is_moved:
        spared = {site: gone * _lookups_spared(site) for site, gone in fractions.items()}
        return Effect(
            {"l1": evidence.part_of_l1(spared)},
            {"long_scoreboard": latency * (1 - SHARED_CYCLES / L1_CYCLES)},
            evidence.waiting_for(spared, "lg_throttle"),
        )
    fewer = without_repeated(evidence, fractions)
    apart = {barrier: hits * part * (1 - own) for barrier, own in find_own_part(evidence).items()}
    return replace(
        fewer,
        waits={
            **fewer.waits,
            "long_scoreboard": latency,
            "barrier": evidence.waiting_for(apart, "barrier").get("barrier", 0.0),
        },
        lighter={"long_scoreboard": queued},
    )


def _lookups_spared(site: Site) -> float:
    """Returns which part of its cycles in L1 a load no longer takes in shared memory: one where its lanes are together, else as many as lanes meet in a bank."""
    each = find_cost_in_queue(site) / site.executed
    return 1 - min(each, PASSES_AT_RANDOM if site.excess_sectors else 1.0) / each


def _part_of_hits(evidence: Evidence, site: Site) -> float:
    """Returns the most that hits can be of the waiting for a load: they take their latency, the lookups of the loads that are issued together, and a queue.

    Without a queue, a unit answers as fast as its latency allows. The busier it is, the longer it takes: 1 / (1 - its load) times as long.
    """
    waited = (evidence.find("stall_long_scoreboard") or 0.0) * evidence.executed
    waited *= evidence.waiting_for({site: 1.0}, "long_scoreboard").get("long_scoreboard", 0.0)
    lookups = sum(
        find_cost_in_queue(one) / one.executed for one in (site, *find_loads_beside(evidence, site))
    )
    idle = 1 - max(evidence.model.busy.get(unit, 0.0) for unit in ("l1", "lsu"))
    longest = (L1_CYCLES + lookups) * site.executed
    return min(1.0, longest / (idle * waited)) if idle * waited else 1.0


def _part_held_for_same_sector(evidence: Evidence) -> float:
    """Returns the part of L1's lookups that hit because the thread loaded another word of the same sector before, such as a member of a struct.

    These hits say nothing about sectors that a thread reaches for the first time. Coalesced loads are left out: what one lane
    loads next, another lane may have loaded.
    """
    loads = evidence.of("global load")
    apart: dict[object, list[Site]] = {}
    for site in loads:
        if site.excess_sectors > site.executed:  # neighbours touch one sector too many at most
            place = base_of(site), evidence.innermost_loop(site), site.executed
            apart.setdefault(place, []).append(site)
    held = 0.0
    for words in apart.values():
        different = len({offset_of(site) // SECTOR_BYTES for site in words})
        touched = sum(site.sectors or 0.0 for site in words)
        unused = sum(site.excess_sectors for site in words)
        held += min(unused, (1 - different / len(words)) * touched)
    looked_up = sum(site.sectors or 0.0 for site in loads)
    return held / looked_up if looked_up else 0.0


def without_repeated(evidence: Evidence, fractions: Mapping[Site, float]) -> Effect:
    """Returns the effect of no longer executing these parts of the loads, which then touch no sectors.

    Only the waiting for sectors that the data would fill counts. Waiting for the other sectors also ends if the access is
    coalesced, which is the smaller change and a cause of its own. The same holds for sectors that were not counted, but estimated
    from the time that L1 was busy.
    """
    addresses = find_addresses_gone(evidence, fractions)
    fewer = evidence.without({**addresses, **fractions})
    of_filled = evidence.without(addresses | _part_filled(fractions))
    looked_up = fewer if evidence.has_costs else of_filled
    return Effect(
        {**fewer.resources, **{unit: looked_up.resources[unit] for unit in ("l1", "l2")}}, of_filled.waits
    )


def _part_filled(fractions: Mapping[Site, float]) -> dict[Site, float]:
    """Returns the parts of the sectors that the data of these loads would fill."""
    return {
        site: part * (site.ideal_sectors or 0.0) / site.sectors if site.sectors else part
        for site, part in fractions.items()
    }
