"""Estimates how much of device memory's work is for some accesses. No counter says that for single accesses."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.sites import SIZE_IS_UNKNOWN, Kind, Site
from profiler.analyse.causes.flow.block_sharing import count_blocks_alike

_MOVED: Mapping[Kind, str] = {"global load": "dram_bytes_read", "global store": "dram_bytes_written"}


def bytes_left_for(evidence: Evidence, sites: Collection[Site], kind: Kind) -> float:
    """Returns how many bytes device memory moves for these accesses of a kind, if all others of that kind go there as well.

    Data that blocks access alike, such as the weights of a layer, goes there once. If others copy an unknown number of bytes,
    nothing is left for certain.
    """
    others = [one for one in evidence.of(kind) if one not in sites]
    if any(one.instruction.name in SIZE_IS_UNKNOWN for one in others):
        return 0.0
    need = sum(one.bytes_asked / count_blocks_alike(evidence, one) for one in others)
    asked = sum(one.bytes_asked for one in evidence.of(kind) if one in sites)
    return min(asked, max(0.0, (evidence.find(_MOVED[kind]) or 0.0) - need))


def part_of_device_memory(evidence: Evidence, spared: float) -> float:
    """Returns these bytes as a part of all bytes that device memory moves."""
    moved = sum(evidence.find(name) or 0.0 for name in _MOVED.values())
    return spared / moved if moved else 0.0
