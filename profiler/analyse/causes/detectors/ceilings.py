"""Detects kernels that are as fast as a resource allows: nothing is to be gained but by needing less of it."""

from __future__ import annotations

from collections.abc import Iterable

from profiler.analyse.causes.detectors.candidate import Candidate
from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.time_model import AT_MEMORY

# A scheduler issues one instruction a cycle, so that a pipe at 75 % leaves at most a quarter for everything else.
_AT_PIPE = 0.75
_CEILINGS = (
    ("at-memory-bandwidth", "dram", AT_MEMORY, "Device memory", "Move fewer bytes: fuse with the kernels before and after, or use narrower types."),
    ("at-tensor-rate", "tensor", _AT_PIPE, "The tensor pipe", "Use a narrower type, or do less arithmetic."),
    ("at-fma-rate", "fma", _AT_PIPE, "The FMA pipe", "Do less arithmetic, or use tensor cores."),
    ("at-l2-bandwidth", "l2", AT_MEMORY, "L2", "Keep what is used again in shared memory or registers."),
)  # fmt: skip


def detect_ceilings(evidence: Evidence) -> Iterable[Candidate]:
    """Names the resource that is used as far as it can be; of several, the first of the list."""
    used = evidence.model.busy
    for name, resource, enough, what, advice in _CEILINGS:
        busy = used.get(resource, 0.0)
        if busy >= enough and (resource != "l2" or busy > used.get("dram", 0.0)):
            yield Candidate(
                name,
                f"{what} is used to {100 * busy:.0f} % of what is within reach: {100 * (1 - busy):.0f} % of the time is left to win.",
                advice,
                evidence={f"{resource}_of_reachable_pct": 100 * busy},
                saves=0.0,
                resource=resource,
            )
            return
