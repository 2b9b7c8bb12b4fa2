"""Counts what accesses side by side take together, in a bound by device memory.

A model of the time counts one instruction's accesses as needed, since others may access the same. The bytes of a pixel, which a thread takes one by one,
are different data.
"""

from __future__ import annotations

from dataclasses import replace

from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.measured_time import wasted_dram
from profiler.analyse.causes.flow.addresses.apart import MOVING, find_side_by_side


def add_elements(evidence: Evidence) -> Evidence:
    """Returns the evidence with a bound by device memory that counts all elements of accesses side by side."""
    if "dram" not in evidence.model.avoidable or not (needed := _of_elements(evidence)):
        return evidence
    wasted = min(evidence.model.avoidable["dram"], wasted_dram(evidence.figures, needed))
    return replace(
        evidence, model=replace(evidence.model, avoidable={**evidence.model.avoidable, "dram": wasted})
    )


def _of_elements(evidence: Evidence) -> float:
    """Returns the sectors of the data that accesses side by side take together, as of the bytes of a pixel: all that each of them touches."""
    if not (together := find_side_by_side(evidence)):
        return 0.0
    return sum(
        max(
            ((site.sectors if site in together else site.ideal_sectors) or 0.0 for site in evidence.of(kind)),
            default=0.0,
        )
        for kind in MOVING
    )
