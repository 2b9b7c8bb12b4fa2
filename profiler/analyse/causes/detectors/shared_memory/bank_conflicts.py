"""Detects bank conflicts: accesses to shared memory whose lanes need words of the same bank, one pass after another."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from profiler.analyse.causes.detectors.candidate import Candidate
from profiler.analyse.causes.evidence.charging import find_cost_in_queue
from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.latency import FOR_SHARED_MEMORY, Effect
from profiler.analyse.causes.evidence.sites import Site
from profiler.analyse.causes.flow.addresses.made_up import first_addresses
from profiler.analyse.causes.flow.addresses.threads import bytes_between_lanes
from profiler.analyse.causes.flow.arithmetic.dots_of_floats import find_dots_of_floats
from profiler.analyse.causes.flow.dataflow import makers_of_address
from profiler.analyse.causes.flow.lane_values import is_of_loaded_data
from profiler.analyse.causes.flow.memory.retries import find_in_conflict
from profiler.analyse.causes.words.triton import FOR_TENSOR_CORES
from profiler.catalog.metrics import LANES

_BANK_BYTES = 4
_FRAGMENT_BYTES = 16  # `load_matrix_sync` needs leading dimensions that are multiples of it, and LDSM needs rows that start at one
_AT_PLACES_OF_DATA = (
    f"Give each lane a bank of its own: where each thread has an array, put word k of lane l at k * {LANES} + l; where threads share a table, keep "
    "several copies of it, whose words alternate, for as many groups of lanes. Loaded data say which words the lanes access, so that padding "
    "only moves the conflicts."
)
_OF_SWAPS = " Each update there is a loop: of the lanes that meet in a bank, one succeeds in each turn, and the others try again."


def detect_bank_conflicts(evidence: Evidence) -> Iterable[Candidate]:
    """Names accesses to shared memory that take more passes than their bytes need.

    Asynchronous copies (LDGSTS) are left out, although their passes are counted: that count also follows what arrives from L2. In
    the recording of `matmul_stages` in tests/data/causes, two copies whose lanes have the same banks make 4 and 8 passes, and
    neither of them has a conflict.
    """
    sites = {site: ways for site in evidence.of("shared load", "shared store") if (ways := _ways(site)) > 1.0}
    fractions = {site: 1 - 1 / ways for site, ways in sites.items()}
    if not fractions:
        return
    weights = {site: part * (site.passes or 0.0) for site, part in fractions.items()}
    worst = _worst(weights)
    # If a predicate keeps whole warps from the access, those that make it still need at least one pass.
    needed = max(1.0, (worst.ideal_passes or 0.0) / worst.executed)
    # Requests are served in order: each waits for the passes of all requests before it. The load that warps wait for is often a
    # later one.
    behind = _part_of_queue(evidence, fractions)
    waits = {
        reason: max(part, behind)
        for reason, part in evidence.waiting_for(fractions, *FOR_SHARED_MEMORY).items()
    }
    apart = bytes_between_lanes(evidence, [worst])
    lanes = f"its lanes are {apart:,} bytes apart and" if apart else "its lanes"
    repeated = _find_repeated(evidence)
    passes = {
        site: 1 - (1 - fractions.get(site, 0.0)) * (1 - repeated.get(site, 0.0))
        for site in {**fractions, **repeated}
    }
    spared = replace(evidence, retried=frozenset()).without(repeated) if repeated else Effect()
    # Nobody can choose where Triton keeps what single multiply-adds of `tl.dot` take. Tensor cores take it from other places.
    is_of_dot = any(worst in loads for loads in find_dots_of_floats(evidence).values())
    yield Candidate(
        "bank-conflicts",
        f"{worst.opcode} makes {needed * sites[worst]:.3g} passes through shared memory where {_passes_text(needed)} would do: {lanes} "
        f"meet in the same banks.{_OF_SWAPS if worst in repeated else ''}",
        _AT_PLACES_OF_DATA
        if apart is None and _is_at_place_of_data(evidence, worst) and not _is_in_one_bank(evidence, worst)
        else f"{_row_length(evidence, worst)}; or let neighbouring lanes access neighbouring words, or exchange bits of the index (swizzle), so that the "
        "lanes of a warp fall into different banks.",
        Effect({**spared.resources, "l1": evidence.part_of_l1(passes)}, spared.waits, lighter=waits),
        weights,
        {"passes_per_needed": sites[worst]} | ({"bytes_apart": apart} if apart else {}),
        regrouped=evidence.without_idle_lanes(),
        in_triton=FOR_TENSOR_CORES if is_of_dot else "",
        fact=FOR_TENSOR_CORES if is_of_dot else "",
    )


def _find_repeated(evidence: Evidence) -> dict[Site, float]:
    """Returns the part of loops with repeated swaps that goes with the conflicts: without them, an iteration swaps for more lanes at once."""
    return {
        site: 1 - 1 / _ways(load)
        for loop, load in find_in_conflict(evidence).items()
        for site in evidence.inside(loop)
    }


def _is_at_place_of_data(evidence: Evidence, site: Site) -> bool:
    """Returns whether data that each thread has loaded decide where an access to shared memory goes."""
    return is_of_loaded_data(evidence, makers_of_address(evidence, site))


def _is_in_one_bank(evidence: Evidence, site: Site) -> bool:
    """Returns whether the lanes of a warp meet in one bank whatever was loaded, as where an index is multiplied by rows of 32 words.

    With rows of another length, different indices have different banks.
    """
    code = evidence.by_function[site.function]
    places = [first_addresses(code, index=lane, kinds=(site.kind,)).get(site) for lane in range(LANES)]
    return (
        len({place // _BANK_BYTES % LANES for place in places if place is not None}) == 1
        and None not in places
    )


def _part_of_queue(evidence: Evidence, fractions: Mapping[Site, float]) -> float:
    """Returns the part of the work of the queue to shared memory that goes with these parts of the sites."""
    whole = sum(map(find_cost_in_queue, evidence.sites))
    return sum(part * find_cost_in_queue(site) for site, part in fractions.items()) / whole if whole else 0.0


def _passes_text(passes: float) -> str:
    return "one" if passes == 1 else f"{passes:.3g}"


def _worst(weights: Mapping[Site, float]) -> Site:
    """Returns the costliest access of the costliest line, which is named first."""
    lines: dict[object, float] = {}
    for site, weight in weights.items():
        line = site.instruction.place or site
        lines[line] = lines.get(line, 0.0) + weight
    return max(weights, key=lambda site: (lines[site.instruction.place or site], weights[site]))


def _row_length(evidence: Evidence, worst: Site) -> str:
    """Returns the advice on a row length that keeps the lanes of the worst access in different banks, and every access aligned.

    Eight lanes of 16 bytes, or sixteen of 8, use all banks once: they do not collide if rows are odd multiples of that width. If
    a warp covers several rows, these can share the banks out, as long as only different rows collide. With more passes than rows,
    threads of one row collide, too.
    """
    accesses = evidence.of("shared load", "shared store")
    fragments = evidence.of("tensor") or any(site.opcode.startswith(("LDSM", "STSM")) for site in accesses)
    width = _FRAGMENT_BYTES if fragments else worst.width // 8
    if width > _BANK_BYTES:
        return f"Choose a row length that is an odd multiple of {width} bytes, which keeps accesses of this width aligned"
    threads = evidence.shape.block[0] if evidence.shape else LANES
    if threads < LANES and LANES % threads == 0 and _ways(worst) <= LANES / threads:
        return (
            f"Choose a row length for which the {LANES // threads} rows of {threads} threads in a warp start {threads} banks apart "
            f"(an odd multiple of {threads} words, where neighbours access neighbouring words)"
        )
    widest = max(site.width // 8 for site in accesses)
    aligned = (
        f", or by {widest} bytes where accesses of that width have to stay aligned"
        if widest > _BANK_BYTES
        else ""
    )
    return f"Pad the rows of the array by one word, or by as many as neighbouring lanes access side by side (without rows, after every {LANES} words){aligned}"


def _ways(site: Site) -> float:
    """Returns the number of passes for each pass that is needed."""
    return site.passes / site.ideal_passes if site.passes and site.ideal_passes else 1.0
