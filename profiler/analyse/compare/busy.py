"""Says how busy what two kernels use most was, each in percent of its own GPU's peak."""

from __future__ import annotations

from profiler.analyse.causes.evidence.time_shares import Figures

# What can be busy, as it is called; device memory is named whenever it is, the busiest of the others else.
MEMORY = "dram_throughput_pct"
_RESOURCES = {
    MEMORY: "DRAM", "memory_pct": "L2 or its links", "l1_pct": "L1", "lsu_pipe_pct": "LSU pipe",
    "issue_active_pct": "issue slots", "fma_pipe_pct": "FMA pipe", "alu_pipe_pct": "ALU pipe",
    "tensor_pipe_pct": "tensor pipe",
}  # fmt: skip
_BUSY = 60.0  # as the suspects draw the line
_SAME_PCT = 1.5  # points


def busiest_of(before: Figures, after: Figures) -> tuple[str, str]:
    """Returns the busiest resource of each side; device memory of both where it is busy on either."""
    sides = (before, after)
    if all(MEMORY in figures for figures in sides) and max(figures[MEMORY] for figures in sides) >= _BUSY:
        return MEMORY, MEMORY
    first, second = (
        max((name for name in _RESOURCES if name in figures), key=lambda name: figures[name], default="")
        for figures in sides
    )
    return first, second


def busy_text(before: Figures, after: Figures, *, both: str = "both before and after") -> str:
    """Returns how busy the busiest resource of each side was, in percent of the peak of the GPU that it ran on."""
    first, second = busiest_of(before, after)
    if not (first and second):
        return ""
    earlier, later = before[first], after[second]
    if first != second:
        return f"{_RESOURCES[first]} {earlier:.0f} % busy, then {_RESOURCES[second]} {later:.0f} %"
    if abs(earlier - later) < _SAME_PCT:
        return f"{_RESOURCES[first]} {later:.0f} % busy {both}"
    return f"{_RESOURCES[first]} {earlier:.0f} -> {later:.0f} % busy"
