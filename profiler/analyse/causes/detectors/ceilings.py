"""Detects kernels that are as fast as a resource allows: nothing is to be gained but by needing less of it."""

from __future__ import annotations

from collections.abc import Iterable

from profiler.analyse.causes.detectors.candidate import Candidate
from profiler.analyse.causes.evidence.evidence import Evidence

# Of what is within reach (`time_model.py`). The recorded copies lie between 0.94 and 1.0 of it: what is left beyond 0.9 is
# what sizes and the order of the accesses change.
_AT_MEMORY = 0.9
# A kernel that does nothing but read from L2 keeps it at 79 % of its peak (`l2` in tests/data/counters/bound.cu, on an H200). Its
# reading is no lower than that of device memory, whose traffic passes through it: L2 is full by itself where it reads more.
_REACHABLE_OF_L2 = 0.79
# A scheduler issues one instruction a cycle, so that a pipe at 75 % leaves at most a quarter for everything else.
_AT_PIPE = 0.75
_CEILINGS = (
    ("at-memory-bandwidth", "dram", 1.0, _AT_MEMORY, "Device memory", "Move fewer bytes: fuse with the kernels before and after, or use narrower types."),
    ("at-tensor-rate", "tensor", 1.0, _AT_PIPE, "The tensor pipe", "Use a narrower type, or do less arithmetic."),
    ("at-fma-rate", "fma", 1.0, _AT_PIPE, "The FMA pipe", "Do less arithmetic, or use tensor cores."),
    ("at-l2-bandwidth", "l2", _REACHABLE_OF_L2, _AT_MEMORY, "L2", "Keep what is used again in shared memory or registers."),
)  # fmt: skip


def detect_ceilings(evidence: Evidence) -> Iterable[Candidate]:
    """Names the resource that is used as far as it can be; of several, the first of the list."""
    used = evidence.model.busy
    for name, resource, reachable, enough, what, advice in _CEILINGS:
        busy = min(1.0, used.get(resource, 0.0) / reachable)
        if busy >= enough and (resource != "l2" or used["l2"] > used.get("dram", 0.0)):
            yield Candidate(
                name,
                f"{what} is used to {100 * busy:.0f} % of what is within reach: {100 * (1 - busy):.0f} % of the time is left to win.",
                advice,
                evidence={f"{resource}_of_reachable_pct": 100 * busy},
                saves=0.0,
                resource=resource,
            )
            return
