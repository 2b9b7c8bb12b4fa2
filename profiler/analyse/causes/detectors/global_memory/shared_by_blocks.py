"""Detects loads of the same data by several blocks, where L2 or device memory has no time left to deliver it to each of them."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from profiler.analyse.causes.detectors.candidate import Candidate
from profiler.analyse.causes.detectors.global_memory.device_memory import (
    bytes_left_for,
    part_of_device_memory,
)
from profiler.analyse.causes.detectors.global_memory.fewer_loads import without_repeated
from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.latency import Effect
from profiler.analyse.causes.evidence.sites import Site
from profiler.analyse.causes.flow.addresses.shifted import find_shifted_loads
from profiler.analyse.causes.flow.block_sharing import count_blocks_alike, find_axes_alike
from profiler.catalog.metrics import SIZE_OF_L2
from profiler.text import whole_percent, without_capital

OFTEN = 2.0  # each byte is loaded at least twice
MOST_REUSE = 8.0  # a register tile of eight results uses a value eight times
_MOST_BEYOND_X = 65_535
LARGER_BLOCKS = (
    "Let each program compute more of what the loads serve: larger blocks where programs share rows or columns (BLOCK_M and BLOCK_N of a "
    "matrix product), several results where they share all of it, and a row that is read several times kept as one block."
)
_FOR_SEVERAL = (
    "Let a block take the work of several that load the same, such as more rows, and use what it loads for all of them, from registers or "
    "shared memory"
)


def find_shared_by_blocks(evidence: Evidence, loads: Collection[Site], times: float) -> Iterable[Candidate]:
    """Yields the causes for loads of data that several blocks or threads load.

    `times` says how often loads request each byte that device memory delivers.
    """
    alike = {site: count for site in loads if (count := count_blocks_alike(evidence, site)) > 1}
    if alike:
        yield from _find_delivered_again(evidence, alike)
    if evidence.model.l2_is_full:
        if alike and _come_from_l2(evidence, alike):
            yield _name_alike(evidence, alike)
        yield from _find_shifted(evidence, loads, times)


def _come_from_l2(evidence: Evidence, some: Iterable[Site]) -> bool:
    """Returns whether most of what these loads look up has to come from L2, even if all hits of L1 are theirs."""
    looked_up = sum(site.sectors or 0.0 for site in evidence.of("global load"))
    hits = looked_up * (evidence.find("l1_hit_pct") or 0.0) / 100
    return 2 * hits < sum(site.sectors or 0.0 for site in some)


def _name_alike(evidence: Evidence, alike: Mapping[Site, int]) -> Candidate:
    return Candidate(
        "redundant-global-loads",
        f"Up to {max(alike.values()):,} blocks load the same data, and L2, which delivers it to each of them, is as fast as it can be.",
        f"{_FOR_SEVERAL}.",
        _without_repeated(evidence, alike),
        {site: (site.sectors or 0.0) for site in alike},
        {"blocks_alike": float(max(alike.values()))},
        in_triton=LARGER_BLOCKS,
    )


def _without_repeated(evidence: Evidence, times: Mapping[Site, float]) -> Effect:
    return without_repeated(evidence, {site: 1 - 1 / min(count, MOST_REUSE) for site, count in times.items()})


def _find_delivered_again(evidence: Evidence, alike: Mapping[Site, int]) -> Iterable[Candidate]:
    """Yields the cause for data that several blocks load and device memory delivers again, because L2 lost it before the next block ran.

    L2 loses no data that it can hold as a whole, such as the weights of a layer that blocks look up all the time.
    """
    asked, data, once = (
        sum(site.bytes_asked / min(count, most) for site, count in alike.items())
        for most in (1.0, math.inf, MOST_REUSE)
    )
    again = bytes_left_for(evidence, alike, "global load") - once
    if again <= 0 or data <= (evidence.find(SIZE_OF_L2) or math.inf):
        return
    fewer = _without_repeated(evidence, alike)
    yield Candidate(
        "redundant-global-loads",
        f"Up to {max(alike.values()):,} blocks load the same data, and device memory delivers at least {whole_percent(100 * again / asked)} % of that anew: L2 "
        "no longer holds it when the next of these blocks runs.",
        _in_turn_or(f"{_FOR_SEVERAL}.", evidence, alike, "block"),
        replace(fewer, resources={**fewer.resources, "dram": part_of_device_memory(evidence, again)}),
        {site: (site.sectors or 0.0) for site in alike},
        {"blocks_alike": float(max(alike.values()))},
        in_triton=_in_turn_or(LARGER_BLOCKS, evidence, alike, "program"),
    )


def _in_turn_or(otherwise: str, evidence: Evidence, alike: Mapping[Site, int], block: str) -> str:
    """Returns the advice to let blocks that load the same run one after the other, or `otherwise`, which is all where they do so already.

    Blocks are started along x first, which is axis 0 in Triton. Only this axis has room for more than 65,535 (CUDA C++ Programming Guide,
    "Technical Specifications per Compute Capability").
    """
    axes: dict[int, float] = {}
    for site in alike:
        for axis in find_axes_alike(evidence, site):
            axes[axis] = axes.get(axis, 0.0) + site.bytes_asked
    axis = max(axes, key=lambda one: axes[one])
    if axis == 0 or evidence.shape is None or evidence.shape.grid[0] > _MOST_BEYOND_X:
        return otherwise
    first, second = ("axis 0", f"axis {axis}") if block == "program" else ("x", "xyz"[axis])
    return (
        f"Exchange {second} of the grid with {first}, along which {block}s start one after the other: then {block}s that load the same data run at the same "
        f"time, and L2 still holds it. Or {without_capital(otherwise)}"
    )


def _find_shifted(evidence: Evidence, loads: Collection[Site], times: float) -> Iterable[Candidate]:
    """Yields the cause for loads of elements that other threads load, too, if most of them come from L2, and L2 is full.

    A thread's neighbours load an element no more often than the thread loads elements. What is loaded more often is repeated in
    another way.
    """
    shifted = {
        site: times
        for group in find_shifted_loads(evidence)
        if round(times) <= len(group)
        for site in group
        if site in loads
    }
    if times > OFTEN and shifted and _come_from_l2(evidence, shifted):
        yield Candidate(
            "redundant-global-loads",
            f"Threads load several elements each, as far apart for all of them, such as the neighbours of a point. So they request {times:,.0f} times the "
            "bytes that device memory delivers, and L2, which delivers the rest, is as fast as it can be.",
            "Let each thread go on along one axis and keep in registers what its next results need again; or let a block load a tile into shared memory "
            "once, and compute several results a thread from it.",
            _without_repeated(evidence, shifted),
            {site: (site.sectors or 0.0) for site in shifted},
            {"requested_per_delivered": times},
            in_triton="Let each program go on along one axis, and keep what its next results need again in variables; or compute larger blocks.",
        )
