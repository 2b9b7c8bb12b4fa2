"""The suspects as data: what may bind a kernel, how much it weighs, and the sentence that says so.

How they are judged and ranked is in `analyse/causes/suspects.py`; the figures that they speak
of are metrics of the catalogue and those of `analyse/causes/time_shares.py`.
"""

from __future__ import annotations

import operator
import string
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from profiler.analyse.causes.evidence.time_shares import Figures

# Kernels that do nothing else keep a resource at 79 % of its peak (L2), 82 to 90 % (device memory) or
# 95 to 100 % (L1, pipes). Below 60 %, more of that is idle than relieving the resource is likely to win,
# and the stalls say why; Nsight Compute's own rule takes the same line for latency.
_BUSY = 60.0
# Less cannot win more than 5 % of the time, a twentieth.
_WORTH_NAMING = 5.0
# Shorter launches give ratios of counters from different passes, which started differently.
_SHORTEST_NS = 20_000.0
# A warp's 32 accesses of 16 bytes, the widest, are four lines of 128 bytes, and L1 takes one a cycle.
_COALESCED_CYCLES = 4.0

_COMPARE: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


@dataclass(frozen=True)
class FigureCondition:
    """A figure against a number or another figure."""

    figure: str
    comparison: Literal["<", "<=", ">", ">="]
    bound: float | str

    def holds(self, figures: Figures) -> bool:
        bound = figures[self.bound] if isinstance(self.bound, str) else self.bound
        return _COMPARE[self.comparison](figures[self.figure], bound)


@dataclass(frozen=True)
class Pattern:
    """A suspect as data.

    `share` is the figure that it is weighed by, none where it has no weight; named from `at_least`
    on. A `stall` weighs no more than the busiest resource leaves. The figures of its sentence
    become its evidence, with `share`, those of the conditions and, where recorded, `also`.
    Of the patterns that read one `unit`, the first that holds is named.
    """

    name: str
    share: str
    sentence: str
    at_least: float = _WORTH_NAMING
    conditions: tuple[FigureCondition, ...] = ()
    stall: bool = False
    unit: str = ""
    also: tuple[str, ...] = ()

    @property
    def needs(self) -> list[str]:
        printed = [field for _, field, _, _ in string.Formatter().parse(self.sentence) if field]
        bounds = [condition.bound for condition in self.conditions if isinstance(condition.bound, str)]
        compared = [condition.figure for condition in self.conditions]
        left = ["left_pct"] if self.stall else []
        return list(dict.fromkeys([*filter(None, [self.share]), *printed, *compared, *bounds, *left]))


PATTERNS = (
    Pattern(
        "launch-too-short-to-trust",
        "",
        "The launch took {duration_ns:,.0f} ns: below 20,000, counters of different passes do not fit together.",
        conditions=(FigureCondition("duration_ns", "<", _SHORTEST_NS),),
    ),
    Pattern(
        "hbm-bound",
        "dram_throughput_pct",
        "Device memory moves {dram_gbytes_per_s:,.0f} GB/s, {dram_throughput_pct:.0f} % of its peak.",
        _BUSY,
        also=("stall_long_scoreboard",),
    ),
    Pattern(
        "l2-bound",
        "l2_pct",
        "L2, or its link to the SMs, is used to {l2_pct:.0f} % of its peak.",
        _BUSY,
        unit="memory",
        also=("l2_throughput_pct", "l2_hit_pct", "dram_throughput_pct"),
    ),
    Pattern(
        "memory-bound",
        "memory_pct",
        "The busiest unit or link of caches and memory is used to {memory_pct:.0f} % of its peak, and none of the "
        "recorded counters says which it is.",
        _BUSY,
        unit="memory",
        also=("mem_busy_pct", "max_bandwidth_pct"),
    ),
    Pattern(
        "shared-memory-throughput-bound",
        "l1_pct",
        "L1 is used to {l1_pct:.0f} % of its peak, {shared_of_l1_pct:.0f} % of it for shared memory. Of the "
        "{warp_latency:.1f} cycles from one instruction of a warp to the next, {stall_short_scoreboard:.1f} are for "
        "results of shared memory (short scoreboard) and {stall_mio_throttle:.1f} for room in its queue (MIO throttle).",
        _BUSY,
        conditions=(FigureCondition("shared_of_l1_pct", ">=", 50.0),),  # the greater part
        unit="l1",
        also=("shared_pct",),
    ),
    Pattern(
        "uncoalesced",
        "l1_pct",
        "L1 is used to {l1_pct:.0f} % of its peak, and works {l1_cycles_per_access:.1f} cycles for each load or "
        "store: lanes side by side need at most 4.",
        _BUSY,
        conditions=(
            FigureCondition("l1_cycles_per_access", ">", _COALESCED_CYCLES),
            # More than a line for each lane: not loads and stores, but textures or copies keep it busy.
            FigureCondition("l1_cycles_per_access", "<=", 32.0),
            FigureCondition("shared_of_l1_pct", "<", 50.0),
        ),
        unit="l1",
        also=("lsu_pipe_pct", "stall_lg_throttle"),
    ),
    Pattern(
        "l1-bound",
        "l1_pct",
        "L1 is used to {l1_pct:.0f} % of its peak, {l1_cycles_per_access:.1f} cycles for each load or store.",
        _BUSY,
        # At one cycle each, it is the instructions that are too many: lsu-bound says so.
        conditions=(FigureCondition("l1_cycles_per_access", ">", 1.1),),
        unit="l1",
        also=("l1_hit_pct",),
    ),
    Pattern(
        "lsu-bound",
        "lsu_pipe_pct",
        "The load/store pipe takes {lsu_pipe_pct:.0f} % of the instructions that it could.",
        _BUSY,
        unit="l1",
        also=("lsu_inst_share_pct", "l1_pct"),
    ),
    Pattern(
        "issue-bound",
        "issue_active_pct",
        "The schedulers issue in {issue_active_pct:.0f} % of the cycles: {fma_pipe_pct:.0f} % for the FMA pipe, "
        "{other_slots_pct:.0f} % for everything else.",
        _BUSY,
        # Otherwise saving every other instruction wins less than is worth naming: the pipe binds.
        conditions=(FigureCondition("other_slots_pct", ">=", _WORTH_NAMING),),
        also=("eligible_warps",),
    ),
    Pattern(
        "compute-bound-fma",
        "fma_pipe_pct",
        "The FMA pipe works in {fma_pipe_pct:.0f} % of the cycles.",
        _BUSY,
        also=("issue_active_pct",),
    ),
    Pattern(
        "compute-bound-tensor",
        "tensor_pipe_pct",
        "The tensor pipe works in {tensor_pipe_pct:.0f} % of the cycles.",
        _BUSY,
        also=("stall_gmma",),
    ),
    Pattern(
        "compute-bound-alu",
        "alu_pipe_pct",
        "The ALU pipe takes {alu_pipe_pct:.0f} % of the integer and logic instructions that it could.",
        _BUSY,
        also=("issue_active_pct",),
    ),
    Pattern(
        "bank-conflicted",
        "conflict_pct",
        "{conflict_share_pct:.0f} % of the passes through shared memory are wasted on bank conflicts: on average, loads "
        "are {load_ways:.1f}-way, stores {store_ways:.1f}-way, copies and atomics {copy_ways:.1f}-way.",
        also=("shared_conflicts", "shared_wavefronts"),
    ),
    Pattern(
        "latency-bound",
        "latency_pct",
        "For {latency_pct:.0f} % of the time no warp can issue, waiting for results: {global_wait_pct:.0f} % of global "
        "memory, {shared_wait_pct:.0f} % of shared memory, {math_wait_pct:.0f} % of the instruction before.",
        stall=True,
        also=("active_warps", "eligible_warps"),
    ),
    Pattern(
        "occupancy-limited-by-registers",
        "occupancy_cost_pct",
        "With {registers:.0f} registers a thread, an SM holds {occupancy_limit_pct:.0f} % of the warps that it could "
        "(blocks: {blocks_by_registers:.0f}, by shared memory {blocks_by_shared:.0f}); more would hide part of the "
        "{latency_pct:.0f} % of the time that is latency.",
        conditions=(
            FigureCondition("blocks_by_registers", "<=", "blocks_by_shared"),
            FigureCondition("blocks_by_registers", "<", "blocks_by_size"),
        ),
        stall=True,
    ),
    Pattern(
        "occupancy-limited-by-shared-memory",
        "occupancy_cost_pct",
        "With {shared_bytes:,.0f} bytes of shared memory a block, an SM holds {occupancy_limit_pct:.0f} % of the "
        "warps that it could (blocks: {blocks_by_shared:.0f}, by registers {blocks_by_registers:.0f}); more would "
        "hide part of the {latency_pct:.0f} % of the time that is latency.",
        conditions=(
            FigureCondition("blocks_by_shared", "<", "blocks_by_registers"),
            FigureCondition("blocks_by_shared", "<", "blocks_by_size"),
        ),
        stall=True,
    ),
    Pattern(
        "mio-flooded",
        "mio_pct",
        "For {mio_pct:.0f} % of the time no warp can issue, waiting for room in the queue of shared memory and special "
        "instructions (MIO throttle).",
        stall=True,
        also=("stall_mio_throttle", "warp_latency"),
    ),
    Pattern(
        "lg-flooded",
        "lg_pct",
        "For {lg_pct:.0f} % of the time no warp can issue, waiting for room in the queue of global and local memory "
        "(LG throttle).",
        stall=True,
        also=("stall_lg_throttle", "warp_latency"),
    ),
    Pattern(
        "barrier-bound",
        "barrier_pct",
        "For {barrier_pct:.0f} % of the time no warp can issue, waiting at a barrier.",
        stall=True,
        also=("stall_barrier", "stall_membar", "warp_latency"),
    ),
    Pattern(
        "dispatch-bound",
        "dispatch_pct",
        "For {dispatch_pct:.0f} % of the time no warp can issue, held back by the dispatcher: operands that share a "
        "register bank, for one.",
        stall=True,
        also=("stall_dispatch", "warp_latency"),
    ),
    Pattern(
        "math-pipe-bound",
        "math_pipe_pct",
        "For {math_pipe_pct:.0f} % of the time no warp can issue, waiting for an arithmetic pipe to be free.",
        stall=True,
        also=("stall_math_pipe_throttle", "warp_latency"),
    ),
    Pattern(
        "fetch-bound",
        "fetch_pct",
        "For {fetch_pct:.0f} % of the time no warp can issue, waiting for its next instruction: a branch, or a miss "
        "of the instruction cache.",
        stall=True,
        also=("stall_no_instruction", "stall_branch_resolving", "stall_imc_miss", "warp_latency"),
    ),
    Pattern(
        "idle-schedulers",
        "empty_pct",
        "For {empty_pct:.0f} % of the time a scheduler has no warp at all: small blocks, few blocks or an uneven end. "
        "The grid fills the GPU {waves:.2f} times.",
        stall=True,
        also=("issue_active_pct", "issue_rate"),
    ),
    Pattern(
        "divergent",
        "divergent_pct",
        "An instruction works for {threads_per_inst:.1f} of 32 lanes on average: {divergent_pct:.0f} % of the time is "
        "spent on issuing for the others.",
        also=("issue_active_pct",),
    ),
    Pattern(
        "spilling",
        "spilling_pct",
        "{spilling_pct:.0f} % of the time is spent on issuing {local_spill_inst:,.0f} instructions that spill registers.",
        also=("issue_active_pct", "inst_executed"),
    ),
)
