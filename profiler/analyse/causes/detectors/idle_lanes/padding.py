"""Detects tiles that are longer than the rows they hold: warps compute even with elements that no thread has loaded."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from profiler.analyse.causes.detectors.candidate import Candidate
from profiler.analyse.causes.evidence.blocks_of_sm import warps_without
from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.sites import Site, executed_parts
from profiler.analyse.causes.flow.arithmetic.padding import find_padding
from profiler.text import whole_percent


def detect_padding(evidence: Evidence) -> Iterable[Candidate]:
    """Names what whole warps compute with a constant in place of elements that a predicate keeps them from loading."""
    if not (padding := find_padding(evidence)):
        return
    weights = executed_parts(padding)
    wasted = 100 * sum(weights.values()) / evidence.executed
    yield Candidate(
        "idle-lanes",
        f"A tile is longer than the row that it holds: {whole_percent(wasted)} % of the instructions are for elements behind the end of the row, "
        "where warps compute with a constant.",
        "Take no more elements at once than a row has: choose the size of the tile by the length of the row, or go through the row in smaller steps.",
        replace(evidence.without(padding), warps=warps_without(evidence, _count_registers(padding))),
        weights,
        {"padding_pct": wasted},
        in_triton="Choose BLOCK by the length of the row: the next power of two or, where that is much longer, several smaller blocks.",
    )


def _count_registers(padding: Mapping[Site, float]) -> int:
    """Returns how many registers of a thread hold absent elements, or what is made of them."""
    parts: dict[str, float] = {}
    for site, part in padding.items():
        for register in site.use.written:
            parts[register] = min(part, parts.get(register, part))
    return int(sum(parts.values()))
