"""Detects atomics that warps wait for, with the loops that repeat one until it succeeds (`retries.py`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Literal

from profiler.analyse.causes.detectors.candidate import Candidate, are_most
from profiler.analyse.causes.detectors.global_memory.advice_on_atomics import (
    advise,
    advise_larger_blocks,
    find_spared_by_sorting,
    leave_out_fences,
)
from profiler.analyse.causes.detectors.global_memory.updated_places import ATOMIC_CONTENTION, MEMORY
from profiler.analyse.causes.evidence.blocks_of_sm import left_of_blocks, spare_launches
from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.latency import LAUNCH, Effect
from profiler.analyse.causes.evidence.sites import Site
from profiler.analyse.causes.evidence.synchronisation import find_ordering
from profiler.analyse.causes.flow.addresses.apart import find_updates_apart
from profiler.analyse.causes.flow.block_sharing import find_updates_of_one_place
from profiler.analyse.causes.flow.dataflow import readers_behind
from profiler.analyse.causes.flow.memory.retries import find_in_conflict
from profiler.catalog.metrics import LANES
from profiler.text import whole_percent

_L1, _L2 = "L1 and shared memory", "L2"
_Fences = Literal[
    "unseen",  # warps wait at them for a part of their time that is shown as 0 %
    "kept",  # without them, the updates would take as long
    "part",  # of what the atomics cost is waiting at fences
    "most",  # of it is, and warps have nothing else to wait for
]


@dataclass(frozen=True)
class _Facts:
    """How long warps wait for the atomics, how long these keep units busy, both in percent of the time, and what makes them slow."""

    spared: Mapping[
        Site, float
    ]  # the part of each instruction that goes if one lane updates for a whole warp, or if updates are sorted
    weights: Mapping[Site, float]
    waiting: float
    busy: Mapping[str, float]  # by unit
    are_retried: bool
    fences: _Fences
    delay_others: bool  # most samples are of accesses that queue behind the atomics


def detect_atomics(evidence: Evidence) -> Iterable[Candidate]:
    """Names atomics, and the loops that retry them, where the lanes of a warp could add up first."""
    sites = _find_costly(evidence)
    if not sites:
        return
    repeated = _find_repeated(evidence, sites)
    evidence = replace(evidence, retried=frozenset())  # what is retried goes with the updates
    facts = _gather_facts(evidence, sites, repeated)
    kinds = dict.fromkeys(site.kind for site in sites)
    most = max(kinds, key=lambda kind: sum(facts.weights[site] for site in sites if site.kind == kind))
    larger = advise_larger_blocks(evidence) if most == "atomic" else None
    advice = larger or advise(evidence, [site for site in sites if site.kind == most], facts.weights)
    if facts.fences in ("part", "most"):
        advice = leave_out_fences(evidence, advice, first=facts.fences == "most")
    effect = evidence.without(facts.spared)
    yield Candidate(
        ATOMIC_CONTENTION,
        # The figures are of all atomics: where both memories have some, neither is named.
        _describe(facts, f"atomics in {MEMORY[most]} memory" if len(kinds) == 1 else "atomics"),
        advice[0],
        _with_larger_blocks(evidence, effect) if larger else effect,
        facts.weights,
        {"waiting_pct": facts.waiting, "l1_busy_pct": facts.busy[_L1], "l2_busy_pct": facts.busy[_L2]},
        in_triton=advice[1],
    )


def _gather_facts(evidence: Evidence, sites: Sequence[Site], repeated: Sequence[Site]) -> _Facts:
    ordering = find_ordering(evidence)
    spared = dict.fromkeys([*sites, *repeated, *ordering], 1 - 1 / LANES) | find_spared_by_sorting(
        evidence, sites
    )
    weights = _weigh_places(evidence, evidence.weigh(spared))
    waiting = 100 * evidence.time_of(spared)
    updates = dict.fromkeys(sites, 1.0)
    busy = {
        _L1: evidence.part_of_l1(updates) * evidence.model.busy.get("l1", 0.0),
        _L2: evidence.part_of_l2(updates) * evidence.model.busy.get("l2", 0.0),
    }
    return _Facts(
        spared,
        weights,
        waiting,
        {unit: 100 * part for unit, part in busy.items()},
        are_retried=are_most(weights, {*repeated}),
        fences=_judge_fences(evidence, sites, repeated, ordering),
        delay_others=evidence.atomics_are_contended and 2 * _sampled(evidence, spared) < waiting,
    )


def _judge_fences(
    evidence: Evidence, sites: Sequence[Site], repeated: Sequence[Site], ordering: Sequence[Site]
) -> _Fences:
    """Returns whether it would help to leave out the fences around these atomics."""
    if not round(100 * evidence.time_of(ordering)):
        return "unseen"
    # Atomics that queue at few places take as long without fences: 16M updates of 256 places take 4,341 us with them and 4,336 us
    # without, and those of 4M places 291 and 181 us (Triton on an H200).
    if repeated or evidence.atomics_are_contended:
        return "kept"
    # Without its fence, nobody waits for an update whose old value is not used. An old value may say that others have stored before.
    if any(readers_behind(evidence, site) for site in sites):
        return "part"
    is_half = 2 * _waited_at_fences(evidence, ordering) >= evidence.time_of([*sites, *ordering])
    return "most" if is_half else "part"


def _describe(facts: _Facts, atomics: str) -> str:
    parts = [_describe_waiting(facts, atomics)]
    busiest = max(facts.busy, key=lambda unit: facts.busy[unit])
    if facts.busy[busiest] > facts.waiting:
        keep = f"keep {busiest} busy for {whole_percent(facts.busy[busiest])} % of the time"
        # Warps need not wait for atomics that return nothing.
        parts = (
            [*parts, f"the atomics {keep}"] if round(facts.waiting) else [f"{atomics.capitalize()} {keep}"]
        )
    if facts.delay_others:
        parts.append("the samples at other instructions are of accesses that queue behind these atomics")
    return f"{'; '.join(parts)}."


def _describe_waiting(facts: _Facts, atomics: str) -> str:
    spend = f"Warps spend {whole_percent(facts.waiting)} % of their time"
    if facts.fences == "most":
        return f"{spend} at the fences of {atomics}: each holds up its warp until the update is done"
    fenced = "" if facts.fences == "unseen" else " and for the fences around them"
    if facts.are_retried:
        return f"{spend} waiting for {atomics}, which are retried in a loop{fenced and ','}{fenced}"
    return f"{spend} waiting for {atomics}{fenced}"


def _weigh_places(evidence: Evidence, weights: Mapping[Site, float]) -> dict[Site, float]:
    """Returns the weights of contended atomics that update one place for the whole grid, and 0 for the others, which queue behind these.

    The others update none of their places more often than lanes execute them: an atomic of one place that lanes execute as often is updated most.
    """
    of_one_place = find_updates_of_one_place(evidence) if evidence.atomics_are_contended else set()
    most = max(
        (site.lane_executions for site in evidence.of("atomic") if site not in of_one_place), default=0.0
    )
    first = {site for site in of_one_place if site in weights and site.lane_executions >= most}
    return {site: weight if site in first or not first else 0.0 for site, weight in weights.items()}


def _find_costly(evidence: Evidence) -> list[Site]:
    """Returns the atomics, without those whose lanes lie apart or meet in a bank: these need another layout."""
    by_layout = {
        *find_updates_apart(evidence),
        *chain.from_iterable(map(evidence.inside, find_in_conflict(evidence))),
    }
    return [site for site in evidence.of(*MEMORY) if site not in by_layout]


def _find_repeated(evidence: Evidence, sites: Iterable[Site]) -> list[Site]:
    """Returns what loops repeat until one of these atomics succeeds."""
    swaps = [site for site in sites if ".CAS" in site.opcode or site in evidence.retried]
    return [site for loop in evidence.loops_around(swaps) for site in evidence.inside(loop)]


def _sampled(evidence: Evidence, sites: Iterable[Site]) -> float:
    """Returns which percentage of the samples shows warps waiting at these instructions."""
    total = sum(sum(site.waits.values()) for site in evidence.sites)
    return 100 * sum(sum(site.waits.values()) for site in sites) / total if total else 100.0


def _waited_at_fences(evidence: Evidence, ordering: Sequence[Site]) -> float:
    """Returns the part of the time that warps wait at fences, with the waiting there for the result of the atomic, which is charged to the atomic."""
    sampled = sum(sum(site.waits.values()) for site in evidence.sites)
    of_results = sum(site.waits.get("long_scoreboard", 0) for site in ordering)
    return evidence.time_of(ordering) + (of_results / sampled if sampled else 0.0)


def _with_larger_blocks(evidence: Evidence, spared: Effect) -> Effect:
    """Returns the effect of fewer updates by larger blocks, of which fewer are launched, too."""
    launches = spare_launches(evidence, left_of_blocks(evidence, 1 / LANES))
    return replace(spared, resources={**spared.resources, LAUNCH: launches})
