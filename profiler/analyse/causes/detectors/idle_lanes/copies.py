"""Detects warps in which several lanes compute each result, as for a tile with fewer elements than a warp has lanes."""

from __future__ import annotations

from collections.abc import Iterable

from profiler.analyse.causes.detectors.candidate import Candidate
from profiler.analyse.causes.detectors.idle_lanes.lanes import for_acting_lanes
from profiler.analyse.causes.detectors.sharing_out import use_fewer_warps
from profiler.analyse.causes.evidence.blocks_of_sm import left_of_blocks
from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.sites import executed_parts
from profiler.analyse.causes.flow.copies import count_copies


def detect_copies(evidence: Evidence) -> Iterable[Candidate]:
    """Names lanes that compute the same result as others of their warp, while only one of them stores it.

    A warp has room for several times as many results, so fewer blocks can do all of the work, if they still fill the GPU. If only
    whole warps repeat each other, a block needs fewer warps: that is part of the advice on its loads.
    """
    warps = evidence.shape.warps_of_block if evidence.shape else 1
    copies = count_copies(evidence)
    if copies <= warps:
        return
    repeated = dict.fromkeys(evidence.sites, 1 - left_of_blocks(evidence, 1 / copies))
    yield Candidate(
        "idle-lanes",
        f"{copies} threads of a block compute each of its results, and one of them stores it.",
        "Give each thread a result of its own: let a block compute as many as it has threads.",
        for_acting_lanes(evidence, repeated),
        executed_parts(repeated),
        {"threads_of_a_result": float(copies)},
        in_triton=use_fewer_warps(evidence)
        or f"Give a program {copies} times as many elements (a larger BLOCK): a warp has 32 lanes, and those without an element of their own repeat "
        "what others do.",
    )
