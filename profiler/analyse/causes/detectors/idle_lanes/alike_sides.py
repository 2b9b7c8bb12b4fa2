"""Detects sides of a branch that do nearly the same, which a warp executes one after the other."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from profiler.analyse.causes.detectors.candidate import Candidate
from profiler.analyse.causes.detectors.idle_lanes.lanes import for_acting_lanes
from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.sites import executed_parts
from profiler.analyse.causes.flow.alike_sides import find_alike_sides
from profiler.text import whole_percent


def detect_alike_sides(evidence: Evidence) -> Iterable[Candidate]:
    """Names branches whose sides are copies of one code for other operands: the lanes of all sides could run one copy together."""
    found = find_alike_sides(evidence)
    if not found:
        return
    spare = {site: part for one in found for site, part in one.spare.items()}
    weights = {
        test: sum(executed_parts({site: spare[site] for site in side}).values())
        for one in found
        for test, side in zip(one.tests, one.sides, strict=True)
    }
    most = max(found, key=lambda one: sum(weights[test] for test in one.tests))
    saved = 100 * sum(weights.values()) / evidence.executed
    without_loads = {site: part for site, part in spare.items() if site.kind != "global load"}
    lengths = " and ".join(f"{len(side):,}" for side in most.sides)
    yield Candidate(
        "divergent-branches",
        f"Sides of a branch do nearly the same (of {lengths} instructions), and a warp executes {most.executed / most.coming:.1f} of them on average, "
        f"one after the other: one copy for the lanes of all sides would take {whole_percent(saved)} % less of the executed instructions.",
        "Let the branch only choose the operands, such as an index, a sign, or which of two values comes first, and run the code once, behind it, for the "
        "lanes of all sides.",
        # What several sides load may arrive together: it is waited for as long if one copy loads it.
        replace(for_acting_lanes(evidence, spare), waits=evidence.waiting_for(without_loads)),
        weights,
        {"alike_sides_pct": saved},
    )
