"""Detects warps whose results nothing stores, although all warps of a block compute theirs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from profiler.analyse.causes.detectors.candidate import Candidate
from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.latency import LAUNCH, Effect
from profiler.analyse.causes.evidence.sites import Kind, Site
from profiler.analyse.causes.flow.dataflow import makers_of_value, reach, sources_of
from profiler.analyse.causes.flow.trees import find_in_trees
from profiler.analyse.causes.flow.who_stores import is_chosen_by_data
from profiler.analyse.causes.flow.working_blocks import find_part_acting
from profiler.catalog.metrics import LANES
from profiler.text import whole_percent

_FLOATS: tuple[Kind, ...] = ("fp32", "fp64", "special")
_HALF = 0.5  # sizes of blocks are powers of two: a block half of which has no work could be half as large


def detect_results_not_stored(evidence: Evidence) -> Iterable[Candidate]:
    """Names what at least half of the warps compute from shared memory without storing it.

    Their rows or columns lie past the end of the data, or others store the same. What these warps bring to shared memory may be for
    others. What they compute from it is for nobody. The values of a tree go with its barriers.
    """
    stores = evidence.of("global store")
    if not evidence.has_costs or not stores or evidence.of("atomic") or not evidence.of("shared load"):
        return
    part = find_part_acting(evidence, stores)
    if part > _HALF or is_chosen_by_data(evidence, stores):
        return
    idle = dict.fromkeys(_find_only_stored(evidence, stores) - find_in_trees(evidence), 1 - part)
    if not idle:
        return
    gone = {site: share * site.executed for site, share in idle.items()}
    share = 100 * sum(gone.values()) / evidence.executed
    effect = evidence.without(idle)
    yield Candidate(
        "idle-lanes",
        f"{whole_percent(100 * (1 - part))} % of the warps do not store what they compute from shared memory, because others store it, or because the data has "
        f"no such rows or columns. That is {whole_percent(share)} % of the executed instructions.",
        "Make the block as small in this dimension as the data is, and let each of its threads bring several elements to shared memory.",
        Effect({**effect.resources, "l2": 0.0, LAUNCH: 0.0}, effect.waits),
        gone,
        {"idle_warps_pct": 100 * (1 - part), "idle_instructions_pct": share},
        in_triton="Use fewer `num_warps`, or blocks as small as the data in this dimension.",
    )


def _find_only_stored(evidence: Evidence, stores: Sequence[Site]) -> set[Site]:
    """Returns the arithmetic by which all warps compute what is stored, with the loads from shared memory for it and for nothing else."""

    def computed(sites: Iterable[Site]) -> list[Site]:
        return [one for one in sites if one.kind in _FLOATS or one.kind == "shared load"]

    values = reach(
        computed(one for store in stores for one in makers_of_value(evidence, store)),
        lambda one: [] if one.kind == "shared load" else computed(sources_of(evidence, one)),
    )
    readers: dict[Site, set[Site]] = {one: set() for one in values}
    for site in evidence.sites if values else ():
        for source in sources_of(evidence, site):
            if source in readers:
                readers[source].add(site)
    launched = evidence.sites[0].executed * (1 - 1 / LANES)
    found = {one for one in values if _entering(evidence, one) >= launched}
    while dropped := {one for one in found if not readers[one] <= found.union(stores)}:
        found -= dropped
    return found


def _entering(evidence: Evidence, site: Site) -> float:
    """Returns how many warps come to an instruction, or to the outermost loop around it."""
    outermost = next(
        (loop for loop in evidence.loops.get(site.function, ()) if site.instruction in loop), None
    )
    before = evidence.last_before(site.function, outermost) if outermost else site
    return before.executed if before else evidence.sites[0].executed
