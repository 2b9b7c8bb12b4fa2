"""Says what a change saves that gives the work of several blocks to one, because these share sectors of memory."""

from __future__ import annotations

from collections.abc import Sequence

from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.latency import LAUNCH, Effect
from profiler.analyse.causes.evidence.sites import SHARED, Site

# The traffic of device memory beyond one trip for each sector, and the sectors that a block finds in L1: of blocks that share their
# sectors with others, both are small.
_FEW = 0.5
# What is left when blocks are merged: no arithmetic is sure to be, because what a block computes once serves all of its elements.
_STAYS = ("dram", "tensor")


def count_sharing_blocks(evidence: Evidence, sites: Sequence[Site]) -> float:
    """Returns among how many blocks the sectors of these accesses are shared out; 1 if each block uses its own, or if any could take them.

    A block whose threads exchange values, as to add up a column, keeps its elements together. If it touches each sector once, L1 has not
    held it, and device memory has delivered it for others too, the neighbours of its elements belong to other blocks.
    """
    exchanging = bool(_exchanges(evidence))
    loads = [site for site in sites if site.kind == "global load"]
    touched = sum(site.sectors or 0.0 for site in loads)
    needed = sum(site.ideal_sectors or 0.0 for site in loads)
    in_loops = any(evidence.innermost_loop(site) for site in loads)
    if not exchanging or not needed or in_loops:
        return 1.0
    if evidence.missing_l1 < 1 - _FEW or evidence.wasted_dram > _FEW:
        return 1.0
    return max(1.0, touched / needed)


def merge_blocks(evidence: Evidence, effect: Effect, blocks: float) -> tuple[Effect, float]:
    """Returns the effect where one block takes the work of so many as well, and the most that this saves.

    What is done once for each block is done less often: launching it, and the exchange between its threads.
    """
    fewer = evidence.without(dict.fromkeys(_exchanges(evidence), 1 - 1 / blocks))
    merged = Effect(
        {**fewer.resources, LAUNCH: 1 - 1 / blocks, **effect.resources},
        fewer.waits,
        effect.lighter,
    )
    return merged, evidence.model.bound(merged, _STAYS)[0]


def _exchanges(evidence: Evidence) -> list[Site]:
    """Returns the instructions by which the threads of a block exchange values, if they wait for each other at barriers."""
    barriers = evidence.of("barrier")
    shuffles = [site for site in evidence.of("mio") if site.instruction.name == "SHFL"]
    return [*barriers, *shuffles, *evidence.of(*SHARED)] if barriers else []
