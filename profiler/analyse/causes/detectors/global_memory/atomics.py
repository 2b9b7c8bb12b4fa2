"""Detects atomics that warps wait for, with the loops that repeat one until it succeeds (`retries.py`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain

from profiler.analyse.causes.detectors.candidate import Candidate
from profiler.analyse.causes.detectors.global_memory.advice_on_atomics import (
    IN_ORDER,
    OF_FLOATS,
    WITHOUT_FENCES,
    WITHOUT_FENCES_IN_TRITON,
    advise,
    advise_larger_blocks,
)
from profiler.analyse.causes.detectors.global_memory.updated_places import ATOMIC_CONTENTION, MEMORY
from profiler.analyse.causes.detectors.retries import find_in_conflict
from profiler.analyse.causes.evidence.blocks_of_sm import left_of_blocks, spare_launches
from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.latency import LAUNCH, Effect
from profiler.analyse.causes.evidence.sites import Site
from profiler.analyse.causes.evidence.synchronisation import find_ordering
from profiler.analyse.causes.flow.addresses.apart import find_updates_apart
from profiler.analyse.causes.flow.block_sharing import find_updates_of_one_place
from profiler.analyse.causes.flow.dataflow import readers_behind
from profiler.analyse.causes.words_of_triton import IN_TRITON
from profiler.catalog.metrics import LANES
from profiler.text import whole_percent


def detect_atomics(evidence: Evidence) -> Iterable[Candidate]:
    """Names atomics, and the loops that retry them, where the lanes of a warp could add up first."""
    sites = _find_costly(evidence)
    if not sites:
        return
    repeated, evidence = _find_repeated(evidence, sites), replace(evidence, retried=frozenset())
    ordering = find_ordering(evidence)
    fractions = dict.fromkeys([*sites, *repeated, *ordering], 1 - 1 / LANES)
    weights = _weigh_places(evidence, evidence.weigh(fractions))
    waiting = 100 * evidence.time_of(fractions)
    atomics = dict.fromkeys(sites, 1.0)
    of_l1, of_l2 = evidence.part_of_l1(atomics), evidence.part_of_l2(atomics)
    busy = {
        "L1 and shared memory": of_l1 * evidence.model.busy.get("l1", 0.0),
        "L2": of_l2 * evidence.model.busy.get("l2", 0.0),
    }
    busiest = max(busy, key=lambda unit: busy[unit])
    kinds = dict.fromkeys(site.kind for site in sites)
    most = max(kinds, key=lambda kind: sum(weights[site] for site in sites if site.kind == kind))
    larger = advise_larger_blocks(evidence) if most == "atomic" else None
    of_most = [site for site in sites if site.kind == most]
    advice, in_triton = larger or advise(evidence, of_most, weights)
    giving = [site for site in of_most if _gives_places(evidence, site)]
    if not larger and 2 * sum(weights[site] for site in giving) > sum(weights[site] for site in of_most):
        advice, in_triton = IN_ORDER.format("block"), IN_ORDER.format("program")
    # What follows is of all of them: where both memories have some, neither is named.
    memory = f" in {MEMORY[most]} memory" if len(kinds) == 1 else ""
    sentence = f"Warps spend {whole_percent(waiting)} % of their time waiting for atomics{memory}"
    is_retried = 2 * sum(weights[site] for site in {*repeated}) > sum(weights.values())
    if is_retried:
        sentence += ", which are retried in a loop"
    if _is_seen(evidence, ordering):
        sentence += f"{',' if is_retried else ''} and for the fences around them"
        # Atomics that queue at few places take as long without fences: 16M updates of 256 places take 4,341 us with them and 4,336 us
        # without, and those of 4M places 291 and 181 us (Triton on an H200).
        if not repeated and not evidence.atomics_are_contended:
            # Without its fence, nobody waits for an update whose old value is not used. An old value may say that others have stored before.
            are_most = 2 * _waited_at_fences(evidence, ordering) >= evidence.time_of(fractions)
            if are_most and not any(readers_behind(evidence, site) for site in sites):
                sentence = f"Warps spend {whole_percent(waiting)} % of their time at the fences of atomics{memory}: each holds up its warp until the update is done"
                advice, in_triton = (
                    f"{WITHOUT_FENCES} {advice}",
                    f"{WITHOUT_FENCES_IN_TRITON} {in_triton}".rstrip(),
                )
            else:
                advice = f"{advice} {WITHOUT_FENCES}"
                in_triton = f"{in_triton or IN_TRITON[ATOMIC_CONTENTION]} {WITHOUT_FENCES_IN_TRITON}"
    if 100 * busy[busiest] > waiting:
        keep = f"keep {busiest} busy for {whole_percent(100 * busy[busiest])} % of the time"
        # For those that return nothing, warps need not wait.
        sentence = f"{sentence}; the atomics {keep}" if round(waiting) else f"Atomics{memory} {keep}"
    if evidence.atomics_are_contended and 2 * _sampled(evidence, fractions) < waiting:
        sentence += "; the samples at other instructions are of accesses that queue behind these atomics"
    spared = evidence.without(fractions)
    yield Candidate(
        ATOMIC_CONTENTION,
        f"{sentence}.",
        advice,
        _with_larger_blocks(evidence, spared) if larger else spared,
        weights,
        {
            "waiting_pct": waiting,
            "l1_busy_pct": 100 * busy["L1 and shared memory"],
            "l2_busy_pct": 100 * busy["L2"],
        },
        in_triton=in_triton,
    )


def _weigh_places(evidence: Evidence, weights: Mapping[Site, float]) -> dict[Site, float]:
    """Returns the weights of contended atomics that update one place for the whole grid, and none of the others, which queue behind these.

    No place of another one is updated more often than that one is executed.
    """
    of_one_place = find_updates_of_one_place(evidence) if evidence.atomics_are_contended else set()
    most = max(
        (site.lane_executions for site in evidence.of("atomic") if site not in of_one_place), default=0.0
    )
    first = {site for site in of_one_place if site in weights and site.lane_executions >= most}
    return {site: weight if site in first or not first else 0.0 for site, weight in weights.items()}


def _find_costly(evidence: Evidence) -> list[Site]:
    """Returns the atomics, except for those whose lanes lie apart, or fall into the same bank: they are a matter of the layout."""
    by_layout = {
        *find_updates_apart(evidence),
        *chain.from_iterable(map(evidence.inside, find_in_conflict(evidence))),
    }
    return [site for site in evidence.of(*MEMORY) if site not in by_layout]


def _find_repeated(evidence: Evidence, sites: Iterable[Site]) -> list[Site]:
    """Returns what loops repeat until one of these atomics succeeds."""
    swaps = [site for site in sites if ".CAS" in site.opcode or site in evidence.retried]
    return [site for loop in evidence.loops_around(swaps) for site in evidence.inside(loop)]


def _gives_places(evidence: Evidence, site: Site) -> bool:
    """Returns whether a thread computes with the count that was there before, as one does that takes the next place in a queue.

    One that only compares it asks whether it is the last, or too many.
    """
    counts = ".ADD" in site.opcode and not OF_FLOATS.search(site.opcode)
    return counts and any(one.instruction.name != "ISETP" for one in readers_behind(evidence, site))


def _sampled(evidence: Evidence, sites: Iterable[Site]) -> float:
    """Returns the part of the samples that show warps waiting at these instructions, in percent."""
    total = sum(sum(site.waits.values()) for site in evidence.sites)
    return 100 * sum(sum(site.waits.values()) for site in sites) / total if total else 100.0


def _waited_at_fences(evidence: Evidence, ordering: Sequence[Site]) -> float:
    """Returns the part of the time that fences take, also by waiting for the result of the atomic before them, which counts as waiting for that."""
    sampled = sum(sum(site.waits.values()) for site in evidence.sites)
    of_results = sum(site.waits.get("long_scoreboard", 0) for site in ordering)
    return evidence.time_of(ordering) + (of_results / sampled if sampled else 0.0)


def _with_larger_blocks(evidence: Evidence, spared: Effect) -> Effect:
    """Returns the effect of fewer updates where each block has to take more elements for that: fewer blocks are launched, too."""
    launches = spare_launches(evidence, left_of_blocks(evidence, 1 / LANES))
    return replace(spared, resources={**spared.resources, LAUNCH: launches})


def _is_seen(evidence: Evidence, sites: Sequence[Site]) -> bool:
    """Returns whether warps wait there for a part of their time that is shown as more than 0 %."""
    return round(100 * evidence.time_of(sites)) > 0
