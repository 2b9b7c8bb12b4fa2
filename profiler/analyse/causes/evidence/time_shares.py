"""Derives where the time of a kernel went, in shares, from the catalogue's metrics.

A `Profile` in; its figures out: the mean of each metric over the launches, and what follows from these means.
Figures are in percent of the elapsed time unless a name says otherwise. A figure whose metrics were not
recorded is left out. Nothing is clamped: impossible figures, such as a negative share, show that the counters
do not fit together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from profiler.analyse.recording.profile import Profile

Figures = Mapping[str, float]


def _busiest_of_memory(figures: Figures) -> float:
    return max(
        (figures[name] for name in ("mem_busy_pct", "max_bandwidth_pct") if name in figures), default=100.0
    )


def _active_part(figures: Figures) -> float:
    """Returns the part of the time in which an SM has a warp; if that is not recorded, the part in which one of its schedulers has one."""
    if "sm_active_cycles" in figures:
        return figures["sm_active_cycles"] / figures["cycles"]
    return figures["active_pct"] / 100


# The figures that say how busy a unit is, as a part of its peak, and the start of a sentence about each.
UNITS: Mapping[str, str] = {
    "dram_throughput_pct": "Device memory is", "l2_pct": "L2 is", "l1_pct": "L1 is", "lsu_pipe_pct": "The LSU pipe is",
    "issue_active_pct": "Issue slots are", "fma_pipe_pct": "The FMA pipe is", "alu_pipe_pct": "The ALU pipe is",
    "fp64_pipe_pct": "The FP64 pipe is", "xu_pipe_pct": "The special-function unit is", "tensor_pipe_pct": "The tensor pipe is",
}  # fmt: skip
# What the catalogue lacks: the GPU's properties, which older versions of ncu record only as attributes of the device, and the cycles in
# which an SM has a warp.
_UNCATALOGUED: Mapping[str, tuple[str, ...]] = {
    "sms": ("launch__sm_count", "device__attribute_multiprocessor_count"),
    "warps_of_sm": ("device__attribute_max_warps_per_multiprocessor",),  # that it holds
    "shared_of_sm": ("device__attribute_max_shared_memory_per_multiprocessor",),  # bytes
    "shared_of_block": ("device__attribute_max_shared_memory_per_block_optin",),  # bytes
    "sm_active_cycles": ("l1tex__cycles_active.avg", "sm__cycles_active.avg"),
}
# In this order: each may use those above it. A scheduler issues in `issue_active_pct` of the time, has no warp at all in
# `empty_pct`, and in the rest, `stalled_pct`, has warps of which none can issue.
_DERIVED: tuple[tuple[str, Callable[[Figures], float]], ...] = (
    # One metric counts issues per elapsed cycle, the other per cycle in which the scheduler has a warp.
    ("active_pct", lambda figures: figures["issue_active_pct"] / figures["issue_rate"]),
    ("empty_pct", lambda figures: 100 - figures["active_pct"]),
    ("stalled_pct", lambda figures: figures["active_pct"] - figures["issue_active_pct"]),
    ("sm_cycles", lambda figures: figures["cycles"] * figures["sms"]),
    # L1, with shared memory as a part of it, is measured over the cycles in which its SM has a warp.
    ("l1_pct", lambda figures: figures["l1_throughput_pct"] * _active_part(figures)),
    # Cycles over all SMs: the executed instructions, divided by how many an SM executes a cycle.
    ("l1_cycles", lambda figures: figures["l1_pct"] / 100 * figures["inst_executed"] / figures["inst_per_cycle"]),
    ("l1_cycles_per_access", lambda figures: figures["l1_pct"] / figures["lsu_pipe_pct"]),
    # Shared memory makes one pass a cycle at most. The cycles of all SMs are found as above.
    ("shared_pct", lambda figures: 100 * figures["shared_wavefronts"] * figures["inst_per_cycle"] / figures["inst_executed"]),
    ("shared_of_l1_pct", lambda figures: 100 * figures["shared_pct"] / figures["l1_pct"]),
    # L2's throughput also counts an activity that none of its own counters shows: on kernels that stream through device memory it
    # reads 92 % where the busiest of those reads 59 %. So it counts up to the load of the busiest unit of memory at most.
    ("l2_pct", lambda figures: min(figures["l2_throughput_pct"], _busiest_of_memory(figures))),
)  # fmt: skip


def derive_figures(profile: Profile) -> dict[str, float]:
    figures = {name: series.mean for name, series in profile.series.items()}
    for name, recorded_as in _UNCATALOGUED.items():
        found = next(filter(None, map(profile.find, recorded_as)), None)
        if found is not None:
            figures[name] = found.mean
    for name, derive in _DERIVED:
        try:
            figures[name] = derive(figures)
        except (KeyError, ZeroDivisionError):  # not recorded, or nothing of the kind happened
            continue
    return figures
