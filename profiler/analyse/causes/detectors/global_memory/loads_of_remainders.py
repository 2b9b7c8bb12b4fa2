"""Detects loads that threads repeat if their indices have the same remainder, as when consecutive planes share what is loaded."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from profiler.analyse.causes.detectors.candidate import Candidate
from profiler.analyse.causes.detectors.global_memory.device_memory import (
    bytes_left_for,
    part_of_device_memory,
)
from profiler.analyse.causes.detectors.global_memory.fewer_loads import without_loads
from profiler.analyse.causes.detectors.global_memory.shared_by_blocks import MOST_REUSE
from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.measured_time import SOME_WAVES
from profiler.analyse.causes.flow.addresses.remainders import find_loads_of_remainders
from profiler.text import whole_percent


def detect_loads_of_remainders(evidence: Evidence) -> Iterable[Candidate]:
    """Names such loads.

    No counter says how many threads have the same remainder. Eight are assumed, and one thread could do the work of all of them.
    That leaves fewer threads, but no fewer than two rounds of blocks, which fill the GPU.
    """
    loads = find_loads_of_remainders(evidence)
    together = min(MOST_REUSE, (evidence.find("waves") or 0.0) / SOME_WAVES)
    if not loads or together <= 1.0:
        return
    again = sum(site.bytes_asked for site in evidence.of("global load") if site in loads)
    share = 100 * again / sum(site.bytes_asked for site in evidence.of("global load"))
    spared = max(0.0, bytes_left_for(evidence, loads, "global load") - again / together)
    fewer = without_loads(evidence, dict.fromkeys(loads, 1 - 1 / together))
    yield Candidate(
        "redundant-global-loads",
        "Threads whose indices have the same remainder load the same, which is "
        f"{whole_percent(share)} % of what loads request.",
        "Let each thread take several elements whose indices have the same remainder (a loop over what the quotient counts), and load once for all of "
        "them what they share.",
        replace(fewer, resources={**fewer.resources, "dram": part_of_device_memory(evidence, spared)}),
        {site: site.sectors or 0.0 for site in evidence.of("global load") if site in loads},
        {"of_remainders_pct": share},
        in_triton="Let each program take several blocks whose offsets have the same remainder (a loop over what the quotient counts), and load once for all "
        "of them what they share.",
    )
