"""Detects causes in the accesses to shared memory: passes that collide, and trips that nothing needs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from profiler.analyse.causes.detectors.candidate import Candidate
from profiler.analyse.causes.detectors.global_memory.redundant_stores import part_overwritten
from profiler.analyse.causes.detectors.waiting.trees import find_in_trees
from profiler.analyse.causes.evidence.addresses import address_of
from profiler.analyse.causes.evidence.charging import find_cost_in_queue
from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.latency import Effect
from profiler.analyse.causes.evidence.sites import FENCES, Site
from profiler.analyse.causes.flow.dataflow import (
    address_registers,
    has_fixed_address,
)
from profiler.analyse.code.loops import Loop
from profiler.catalog.metrics import LANES

_BANK_BYTES = 4
_FRAGMENT_BYTES = 16  # `load_matrix_sync` needs leading dimensions that are multiples of it, and LDSM needs rows that start at one
_WAITS = ("short_scoreboard", "mio_throttle")
_MEETINGS = ("WARPSYNC", *FENCES, "CALL")  # after which other threads may read what was stored


def detect_bank_conflicts(evidence: Evidence) -> Iterable[Candidate]:
    """Names accesses to shared memory that take more passes than their bytes need."""
    sites = {site: ways for site in evidence.of("shared load", "shared store") if (ways := _ways(site)) > 1.0}
    fractions = {site: 1 - 1 / ways for site, ways in sites.items()}
    if not fractions:
        return
    weights = {site: part * (site.passes or 0.0) for site, part in fractions.items()}
    worst = _worst(weights)
    # Where whole warps are kept from the access, those that make it need one pass at least.
    needed = max(1.0, (worst.ideal_passes or 0.0) / worst.executed)
    # Requests are served in order, so that whatever waits in the queue waits for the passes of all before it. The load that is waited
    # for is often a later one.
    behind = _part_of_queue(evidence, fractions)
    waits = {reason: max(part, behind) for reason, part in evidence.waiting_for(fractions, *_WAITS).items()}
    yield Candidate(
        "bank-conflicts",
        f"{worst.opcode} makes {needed * sites[worst]:.3g} passes through shared memory where {_passes_text(needed)} would do: its lanes "
        "meet in the same banks.",
        f"{_row_length(evidence, worst)}; or let neighbouring lanes access neighbouring words, or exchange bits of the index (swizzle), so that the "
        "lanes of a warp fall into different banks.",
        Effect({"l1": evidence.part_of_l1(fractions)}, lighter=waits),
        weights,
        {"passes_per_needed": sites[worst]},
        regrouped=evidence.without_idle_lanes(),
    )


def _part_of_queue(evidence: Evidence, fractions: Mapping[Site, float]) -> float:
    """Returns the part of the work of the queue to shared memory that goes with these parts of the sites."""
    whole = sum(map(find_cost_in_queue, evidence.sites))
    return sum(part * find_cost_in_queue(site) for site, part in fractions.items()) / whole if whole else 0.0


def _passes_text(passes: float) -> str:
    return "one" if passes == 1 else f"{passes:.3g}"


def _worst(weights: Mapping[Site, float]) -> Site:
    """Returns the access that costs most among those of the line that costs most, which is the first that is named."""
    lines: dict[object, float] = {}
    for site, weight in weights.items():
        line = site.instruction.place or site
        lines[line] = lines.get(line, 0.0) + weight
    return max(weights, key=lambda site: (lines[site.instruction.place or site], weights[site]))


def _row_length(evidence: Evidence, worst: Site) -> str:
    """Returns the advice on a row length that keeps the lanes of the worst access in different banks, and every access aligned.

    Eight lanes of 16 bytes, or sixteen of 8, use all banks once: they do not collide if rows are odd
    multiples of that width. Rows of fewer threads than a warp has share the banks out, if it is only rows that collide:
    with more passes than rows, the threads of one row do.
    """
    accesses = evidence.of("shared load", "shared store")
    fragments = evidence.of("tensor") or any(site.opcode.startswith(("LDSM", "STSM")) for site in accesses)
    width = _FRAGMENT_BYTES if fragments else worst.width // 8
    if width > _BANK_BYTES:
        return (
            f"Choose a row length that is an odd multiple of {width} bytes, which keeps accesses of this width aligned"
            + ("" if fragments else " (one word more is enough where the code asks for single words)")
        )
    threads = evidence.shape.block[0] if evidence.shape else LANES
    if threads < LANES and LANES % threads == 0 and _ways(worst) <= LANES / threads:
        return (
            f"Choose a row length for which the {LANES // threads} rows of {threads} threads in a warp start {threads} banks apart "
            f"({threads} words more than a multiple of {LANES}, where neighbours access neighbouring words)"
        )
    widest = max(site.width // 8 for site in accesses)
    aligned = (
        f", or by {widest} bytes where accesses of that width have to stay aligned"
        if widest > _BANK_BYTES
        else ""
    )
    return f"Pad the rows of the array by one word (an array without rows by a word after every {LANES}){aligned}"


def detect_redundant_shared(evidence: Evidence) -> Iterable[Candidate]:
    """Names loads whose address does not change in the loop: of the thread's own value, or of one that never changes.

    Those of a tree go with its barriers.
    """
    in_trees = find_in_trees(evidence)
    fixed = {
        site: part
        for site in evidence.of("shared load")
        if site not in in_trees and (part := has_fixed_address(evidence, site)) > 0
    }
    stores = {site: (evidence.innermost_loop(site), address_of(site)) for site in evidence.of("shared store")}
    private = [loop for loop in evidence.loops_around(stores) if _is_private(evidence, loop)]
    # A thread that stores in several places writes those of others too, and they write its own.
    alone = {
        loop for loop, _ in stores.values() if len({at for one, at in stores.values() if one is loop}) == 1
    }
    own = {
        site: part
        for site, part in fixed.items()
        if (loop := evidence.innermost_loop(site)) in (*alone, *private)
        and (loop, address_of(site)) in stores.values()
    }
    # Copies that need no registers store in shared memory too, although their kind is a load.
    writing = evidence.loops_around(site for site in evidence.sites if site.stores_in_shared)
    same = {site: part for site, part in fixed.items() if evidence.innermost_loop(site) not in writing}
    carried = bool(own)
    if loads := own or same:
        unseen = {
            site: has_fixed_address(evidence, site) for site, (loop, _) in stores.items() if loop in private
        }
        yield Candidate(
            "redundant-shared-accesses",
            "In every iteration, a loop loads what the same thread stored in shared memory in the iteration before."
            if carried
            else "A loop loads the same place in shared memory in every iteration.",
            "Keep the value in a register while the loop runs.",
            evidence.without(loads | unseen if carried else loads),
            {site: site.executed for site in loads},
        )
    yield from _find_overwritten(evidence)


def _is_private(evidence: Evidence, loop: Loop) -> bool:
    """Returns whether no other thread has a part in what a loop stores in shared memory: it loads each of these places again, and no others beside them.

    Without a barrier, what a thread loads where others store would depend on who comes first.
    """
    inside = evidence.inside(loop)
    stores = [site for site in inside if site.stores_in_shared]
    bases = {address_registers(site.instruction) for site in stores}
    loaded = {
        address_of(site)
        for site in inside
        if site.kind == "shared load" and address_registers(site.instruction) in bases
    }
    return (
        loaded == {address_of(site) for site in stores}
        and all(site.kind == "shared store" and has_fixed_address(evidence, site) > 0 for site in stores)
        and not any(map(_meets_others, inside))
    )


def _meets_others(site: Site) -> bool:
    return site.kind == "barrier" or site.instruction.name in _MEETINGS


def _find_overwritten(evidence: Evidence) -> Iterable[Candidate]:
    """Yields stores that a loop repeats to the same place, if it neither meets other threads nor loads from places that do not change."""
    alone = [
        loop
        for loop in evidence.loops_around(evidence.of("shared store"))
        if not any(
            _meets_others(one) or (one.kind == "shared load" and has_fixed_address(evidence, one) > 0)
            for one in evidence.inside(loop)
        )
    ]
    repeated = {
        site: part
        for site in evidence.of("shared store")
        if evidence.innermost_loop(site) in alone and (part := part_overwritten(evidence, site)) > 0
    }
    if repeated:
        yield Candidate(
            "redundant-shared-accesses",
            "A loop stores to the same place in shared memory in each of its turns: only what the last one stores remains.",
            "Keep the value in a register while the loop runs, and store it once, after the loop.",
            evidence.without(repeated),
            {site: site.executed for site in repeated},
        )


def _ways(site: Site) -> float:
    """Returns the number of passes for each pass that is needed."""
    return site.passes / site.ideal_passes if site.passes and site.ideal_passes else 1.0
