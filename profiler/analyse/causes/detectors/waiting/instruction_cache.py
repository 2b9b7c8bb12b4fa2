"""Detects code that is larger than the instruction cache, and makes warps wait for it."""

from __future__ import annotations

from collections.abc import Iterable

from profiler.analyse.causes.detectors.candidate import EIGHTFOLD, Candidate
from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.latency import NO_INSTRUCTION, Effect
from profiler.analyse.code.opcodes import INSTRUCTION_BYTES
from profiler.text import whole_percent

# The innermost instruction cache of an SM's quarter holds 12 KiB on Volta and later (Jia et al., "Dissecting the NVIDIA Volta GPU
# Architecture via Microbenchmarking", 2018).
_CACHE_BYTES = 12 * 1024


def fits_instruction_cache(evidence: Evidence) -> bool:
    return INSTRUCTION_BYTES * len(evidence.sites) <= _CACHE_BYTES


def detect_instruction_cache(evidence: Evidence) -> Iterable[Candidate]:
    """Names code that is larger than the innermost instruction cache, where warps wait for instructions."""
    if fits_instruction_cache(evidence):
        return
    size = INSTRUCTION_BYTES * len(evidence.sites)
    if waiting := 100 * evidence.time_of(evidence.sites, NO_INSTRUCTION):
        yield Candidate(
            "instruction-cache-misses",
            f"Warps spend {whole_percent(waiting)} % of their time waiting for instructions: {size / 1024:.0f} KiB of code are executed.",
            f"Unroll less ({evidence.words.unroll_less}), share code between branches, and keep rare cases out of the loop.",
            Effect(waits=evidence.waiting_for(dict.fromkeys(evidence.sites, EIGHTFOLD), NO_INSTRUCTION)),
            {site: evidence.charged[site][NO_INSTRUCTION] for site in evidence.sites},
            {"waiting_pct": waiting, "code_bytes": size},
        )
