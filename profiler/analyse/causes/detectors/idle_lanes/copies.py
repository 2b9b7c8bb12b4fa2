"""Detects blocks with more threads than elements, as of a small tile in Triton: the others compute the same once more."""

from __future__ import annotations

import re
from collections.abc import Iterable

from profiler.analyse.causes.detectors.candidate import Candidate
from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.latency import ISSUE, LAUNCH, Effect
from profiler.analyse.causes.flow.dataflow import readers_behind
from profiler.analyse.causes.flow.lane_values import find_registers_of_threads
from profiler.catalog.metrics import LANES

# `index & bits` alone, or added to where the block begins: the first operand, or the last.
_CUT_OFF = re.compile(r"LOP3\.LUT R\d+, (R\d+), 0x(\w+), (?:RZ, 0xc0|(R\d+), 0xf8),")
# Whether a thread is beyond the tile: its element is another one's.
_BEYOND = re.compile(r"LOP3\.LUT P\d, RZ, R\d+, 0x(\w+), RZ, 0xc0,")


def detect_copies(evidence: Evidence) -> Iterable[Candidate]:
    """Names threads that hold the elements of others: all that they compute goes, in a block with an element for each thread.

    Lanes of one warp that load the same are one request of one sector, so that L1 has as much to do as before; a warp that loads what
    another one does is one more. L2 and device memory have seen neither.
    """
    threads = evidence.shape.threads if evidence.shape else 1
    elements = _count_elements(evidence)
    if not 1 < elements < threads:
        return
    copies = dict.fromkeys(evidence.sites, 1 - elements / threads)
    warps = dict.fromkeys(evidence.of("global load"), max(0.0, 1 - max(elements, LANES) / threads))
    effect = evidence.without(copies)
    kept = {"l1": evidence.part_of_l1(warps), "l2": 0.0, LAUNCH: effect.resources.get(ISSUE, 0.0)}
    yield Candidate(
        "idle-lanes",
        f"A block of {threads} threads has {elements} elements: {threads - elements} threads load and compute once more what others do.",
        "Give each block an element for each of its threads, or use smaller blocks.",
        Effect({**effect.resources, **kept}, effect.waits),
        {site: site.executed + evidence.charged[site].total for site in evidence.sites},
        {"copied_elements_pct": 100 * (1 - elements / threads)},
    )


def _count_elements(evidence: Evidence) -> int:
    """Returns how many values of the thread's index lead to different results; 0 where that is not known.

    Triton cuts the index off at the size of a smaller tile, and lets the first threads of those with the same element store.
    """
    within, beyond = 0, 0
    for site in find_registers_of_threads(evidence):
        for reader in readers_behind(evidence, site):
            kept, tested = (form.match(reader.instruction.text) for form in (_CUT_OFF, _BEYOND))
            is_cut = kept and (kept[3] or kept[1]) in site.use.written
            if "SR_TID.X" not in site.instruction.text or not (is_cut or tested):
                return 0
            within |= int(kept[2], 16) if kept else 0
            beyond |= int(tested[1], 16) if tested else 0
    return 0 if within & beyond else 1 << within.bit_count()
