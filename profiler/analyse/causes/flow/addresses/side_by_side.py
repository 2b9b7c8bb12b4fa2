"""Counts what accesses need together, in a bound by device memory.

A model of the time counts only one instruction's accesses as needed, since others may access the same. But the bytes of a pixel
that a thread takes one by one are different data, and so are parts of an array that lie apart.
"""

from __future__ import annotations

import math
from dataclasses import replace

from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.measured_time import wasted_dram
from profiler.analyse.causes.evidence.sites import Kind
from profiler.analyse.causes.flow.addresses.apart import MOVING, find_side_by_side
from profiler.analyse.causes.flow.addresses.different_bytes import count_different_sectors
from profiler.catalog.metrics import SECTOR_BYTES, SIZE_OF_L2

# So much of what is loaded has to come from device memory. If L2 had a tenth of it or more, some may have been loaded before.
_NEARLY_ALL = 0.9
_LEAST_BUSY = 0.1


def add_elements(evidence: Evidence) -> Evidence:
    """Returns the evidence with a bound by device memory that counts all that is known to be different data."""
    if "dram" not in evidence.model.avoidable:
        return evidence
    found = (_of_elements(evidence), _of_different_bytes(evidence))
    wasted = [wasted_dram(evidence.figures, needed) for needed in found if needed]
    least = min([evidence.model.avoidable["dram"], *wasted])
    return replace(
        evidence, model=replace(evidence.model, avoidable={**evidence.model.avoidable, "dram": least})
    )


def _of_different_bytes(evidence: Evidence) -> float:
    """Returns the sectors of accesses whose bytes differ; of each kind, at least those of its largest access.

    If device memory is hardly used, they are not counted: nobody looks at its bound then.
    """
    if evidence.model.busy.get("dram", 0.0) < _LEAST_BUSY:
        return 0.0
    return sum(
        max(
            _differing(evidence, kind),
            max((site.ideal_sectors or 0.0 for site in evidence.of(kind)), default=0.0),
        )
        for kind in MOVING
    )


def _differing(evidence: Evidence, kind: Kind) -> float:
    """Returns the sectors of accesses of a kind whose bytes differ, as far as device memory has to move them.

    If caches have some of what is loaded, no load counts: it may have been loaded before. What is stored last may stay in L2.
    """
    if kind == "global store":
        in_l2 = evidence.find(SIZE_OF_L2) or math.inf
        return max(0.0, count_different_sectors(evidence, kind) - in_l2 / SECTOR_BYTES)
    delivered = (evidence.find("dram_bytes_read") or 0.0) / SECTOR_BYTES
    asked = sum(site.ideal_sectors or 0.0 for site in evidence.of(kind))
    return (
        min(delivered, count_different_sectors(evidence, kind)) if delivered >= _NEARLY_ALL * asked else 0.0
    )


def _of_elements(evidence: Evidence) -> float:
    """Returns the sectors that accesses side by side take together, as of the bytes of a pixel: each access touches all of these."""
    if not (together := find_side_by_side(evidence)):
        return 0.0
    return sum(
        max(
            ((site.sectors if site in together else site.ideal_sectors) or 0.0 for site in evidence.of(kind)),
            default=0.0,
        )
        for kind in MOVING
    )
