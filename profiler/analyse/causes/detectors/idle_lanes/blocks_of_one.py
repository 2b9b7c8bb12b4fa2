"""Detects blocks with one result: each of their threads computes it, and one stores it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from profiler.analyse.causes.detectors.candidate import Candidate
from profiler.analyse.causes.detectors.sharing_out import ALIKE_IN_TRITON, without_repeated_by_threads
from profiler.analyse.causes.evidence.blocks_of_sm import left_of_blocks, spare_launches
from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.latency import LAUNCH
from profiler.analyse.causes.evidence.sites import ACCESSES, ARITHMETIC, STORES, executed_parts
from profiler.analyse.causes.flow.dataflow import sources_of
from profiler.analyse.causes.flow.lane_values import find_differing_in_block
from profiler.catalog.metrics import LANES


def detect_blocks_of_one(evidence: Evidence) -> Iterable[Candidate]:
    """Names blocks whose threads all compute the one result that the block stores. Each thread could have a result of its own."""
    if not (
        evidence.has_costs and evidence.shape and evidence.shape.threads > 1 and _has_one_result(evidence)
    ):
        return
    left = left_of_blocks(evidence, 1 / evidence.shape.threads)
    # What runs with fewer lanes repeats nothing: behind an exit of all other threads, one stores alone.
    repeated = {site: 1 - left for site in evidence.sites if site.lanes in (None, LANES)}
    effect = without_repeated_by_threads(evidence, repeated)
    yield Candidate(
        "idle-lanes",
        f"All {evidence.shape.threads:,} threads of a block compute the same result, and one would do: nothing that is stored depends on the thread.",
        f"Give each thread a result of its own: let it compute what a block computes now, for {evidence.words.thread_of_grid} in place of "
        f"{evidence.words.block_in_x}, and launch as many fewer blocks.",
        replace(effect, resources={**effect.resources, LAUNCH: spare_launches(evidence, left)}),
        executed_parts(repeated),
        {"repeated_instructions_pct": 100 * sum(executed_parts(repeated).values()) / evidence.executed},
        in_triton=f"Let each program compute a block of results (`tl.arange`) instead of one: {ALIKE_IN_TRITON}",
    )


def _has_one_result(evidence: Evidence) -> bool:
    """Returns whether a block stores something, and neither the value, nor the address, nor the way there depends on the thread.

    Only which thread stores may depend on it. If threads meet, or add something up, each of them has a part in the result.
    """
    stores = evidence.of("global store")
    differing = find_differing_in_block(evidence)
    return (
        bool(stores)
        and all(differing.isdisjoint(sources_of(evidence, store)) for store in stores)
        and all(
            site not in differing for site in evidence.of(*ACCESSES, *ARITHMETIC) if site.kind not in STORES
        )
        and not evidence.of("barrier", "tensor", "atomic", "local", "shared store", "shared atomic")
        and not any(site in differing and site.instruction.name == "BRA" for site in evidence.of("control"))
    )
