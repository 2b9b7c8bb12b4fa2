"""Lists the metrics of prof, one entry each.

An entry has prof's name, ncu's names for the same metric, the unit, the better direction if there is one, and one
line of documentation. ncu's newest name comes first; the others let reports of older versions resolve too.
A utilisation has no better direction: a busier pipe may be progress or waste, and duration decides.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from profiler.errors import MetricNotFound
from profiler.text import nearest_hint

Direction = Literal["lower", "higher"]

OPCODES = "sass__inst_executed_per_opcode_with_modifier_all"

LANES = 32  # threads of a warp
SECTOR_BYTES = 32  # what memory moves at least
# The reasons for which a warp stalls that NVIDIA's sampler calls otherwise than its counters do, and so than we do.
STALLS_AS_SAMPLED = {
    "dispatch_stall": "dispatch", "no_instructions": "no_instruction", "warpgroup_arrive": "gmma",
}  # fmt: skip
READY = ("selected", "not_selected")  # sampled as one of these, a warp waits for nothing

SIZE_OF_L2 = "device__attribute_l2_cache_size"
TIMED_ALONE = "cupti__kernel_duration"  # of a launch that was timed without the profiler

ELAPSED = ".avg.pct_of_peak_sustained_elapsed"

# Opcodes that issue to the load/store unit: memory through L1, shared memory, shuffles.
LSU_OPCODES = frozenset([
    "LD", "LDG", "LDL", "LDS", "LDSM", "LDGSTS", "LDGDEPBAR", "ST", "STG", "STL", "STS", "STSM", "STAS",
    "ATOM", "ATOMG", "ATOMS", "RED", "REDAS", "REDG", "MATCH", "SHFL", "SUATOM", "SULD", "SURED", "SUST",
    "CCTL", "CCTLL",
])  # fmt: skip


# Each thread moves its own data. Generic accesses count as global; atomics are neither loads nor stores.
GLOBAL_LOADS = frozenset(["LDG", "LD", "LDGSTS"])
GLOBAL_STORES = frozenset(["STG", "ST"])
SHARED_LOADS = frozenset(["LDS", "LDSM"])
# Opcodes that may touch shared memory; the generic ones may, and need not.
SHARED_OPCODES = SHARED_LOADS | {
    "STS", "STSM", "ATOMS", "REDS", "STAS", "LDGSTS", "UBLKCP", "UTMALDG", "UTMASTG", "HGMMA", "QGMMA", "IGMMA", "LD", "ST",
    "ATOM", "RED",
}  # fmt: skip
# One instruction copies a block of unknown size: by address, or as a tile of a tensor.
BULK_LOADS = frozenset(["UBLKCP.S.G", "UTMALDG"])
BULK_STORES = frozenset(["UBLKCP.G.S", "UTMASTG"])


@dataclass(frozen=True)
class FromOpcodes:
    """Describes a metric that is computed from the executed instructions with one of `opcodes`, modifiers aside:
    their share of all instructions in %, their mean width in bits, or their count."""

    what: Literal["share", "width", "count"]
    opcodes: frozenset[str]


@dataclass(frozen=True)
class Metric:
    name: str
    ncu: tuple[str, ...]
    unit: str
    group: str
    doc: str
    better: Direction | None = None
    fixed: bool = False  # the same in every launch of a binary, so one launch decides
    from_opcodes: FromOpcodes | None = None
    per_useful_byte: str | None = None  # this metric, divided by the bytes that a ladder declares
    part_of: tuple[str, ...] = ()  # this counts a part of the sum of these metrics
    # This often changes because one of these does. Where it changes as they do, it says nothing new.
    follows: tuple[str, ...] = ()
    # This counts how much of something is used. To begin using it is a choice, whose price and gain other metrics have.
    of_use: bool = False

    def better_between(self, before: float, after: float) -> Direction | None:
        """Returns the better direction of a change between these two; None also where one side hardly uses what this counts."""
        least, most = sorted((abs(before), abs(after)))
        return None if self.of_use and least < SMALLEST_SHARE_OF_WHOLE * most else self.better

    @property
    def is_counted(self) -> bool:
        """Returns whether it is a count, and not a time or a rate: equal launches have exactly equal counts."""
        return self.fixed or not self.ncu or self.unit in ("inst", "wavefront", "sector", "byte")

    @property
    def smallest_effect(self) -> float:
        """Returns the smallest absolute difference that matters; a smaller one is ignored, however certain it is."""
        return {"%": 0.1, "cycle/issue": 0.005}.get(self.unit, 0.0)


# A relative change below 1 % counts as no change, unless the metric is a fixed property.
SMALLEST_RELATIVE_EFFECT = 0.01
# So does a change of a part below 0.1 % of its whole, and a change of a percentage below 0.1 points.
SMALLEST_SHARE_OF_WHOLE = 0.001

DURATION = "duration_ns"
DRAM_BYTES = ("dram_bytes_read", "dram_bytes_written")


def _stall(reason: str, doc: str, better: Direction | None = "lower") -> Metric:
    in_ncu = "dispatch_stall" if reason == "dispatch" else reason
    names = (f"smsp__average_warps_issue_stalled_{in_ncu}_per_issue_active.ratio",)
    return Metric(f"stall_{reason}", names, "cycle/issue", "stalls", doc, better)


_TIME = [
    Metric("duration_ns", ("gpu__time_duration.sum", "gpu__time_duration.avg", TIMED_ALONE), "ns", "time",
           "Duration of the launch under the profiler, or without it if the run holds times alone.", "lower"),
    Metric("cycles", ("sm__cycles_elapsed.max", "gpc__cycles_elapsed.max"), "cycle", "time",
           "SM cycles from start to end of the launch.", "lower", follows=(DURATION,)),
    Metric("sm_frequency_hz", ("sm__cycles_elapsed.avg.per_second", "smsp__cycles_elapsed.avg.per_second",
                               "gpc__cycles_elapsed.avg.per_second"), "hz", "time",
           "SM clock during the launch; two recordings at different clocks are not comparable."),
]  # fmt: skip

_PIPES = [
    Metric("issue_active_pct", ("sm__issue_active" + ELAPSED, "sm__inst_issued" + ELAPSED), "%", "pipes",
           "Cycles in which a scheduler issued an instruction, of all its cycles."),
    Metric("fma_pipe_pct", ("sm__pipe_fma_cycles_active" + ELAPSED,), "%", "pipes",
           "Cycles in which the FMA pipe worked: on GEMM, the share of the peak that is useful."),
    Metric("lsu_pipe_pct", ("sm__inst_executed_pipe_lsu" + ELAPSED,), "%", "pipes",
           "Load/store instructions, of the most that the LSU pipe can take."),
    Metric("lsu_inst_share_pct", (), "%", "pipes",
           "Load/store instructions, as a share of all executed instructions.",
           from_opcodes=FromOpcodes("share", LSU_OPCODES)),
    Metric("alu_pipe_pct", ("sm__inst_executed_pipe_alu" + ELAPSED, "sm__pipe_alu_cycles_active" + ELAPSED), "%", "pipes",
           "Integer and logic instructions, of the peak of the ALU pipe."),
    Metric("fp64_pipe_pct", ("sm__pipe_fp64_cycles_active" + ELAPSED,), "%", "pipes",
           "Cycles in which the pipe for double precision worked."),
    Metric("xu_pipe_pct", ("sm__inst_executed_pipe_xu" + ELAPSED,), "%", "pipes",
           "Instructions of the special-function unit, which also converts numbers, of its peak."),
    Metric("tensor_pipe_pct", ("sm__pipe_tensor_cycles_active" + ELAPSED,), "%", "pipes",
           "Cycles in which the tensor pipe worked."),
]  # fmt: skip

_STALLS = [
    _stall("mio_throttle", "Waiting for room in the memory input/output queue: too many shared-memory or special instructions."),
    _stall("short_scoreboard", "Waiting for a result of shared memory or another MIO operation."),
    _stall("long_scoreboard", "Waiting for a result of global, local or texture memory."),
    _stall("lg_throttle", "Waiting for room in the queue of local and global memory operations."),
    _stall("tex_throttle", "Waiting for room in the texture queue."),
    _stall("math_pipe_throttle", "Waiting for the execution pipe to be free."),
    _stall("barrier", "Waiting for the other warps at a barrier of the block."),
    _stall("membar", "Waiting on a memory barrier."),
    _stall("branch_resolving", "Waiting for a branch target to be known."),
    _stall("dispatch", "Waiting because the dispatcher held the warp back: of arithmetic, since operands share a register bank."),
    _stall("drain", "Waiting after EXIT for stores to finish."),
    _stall("imc_miss", "Waiting for a miss in the immediate constant cache."),
    _stall("no_instruction", "Waiting for the instruction cache, or for a fetch."),
    _stall("gmma", "Waiting for a warpgroup matrix operation."),
    _stall("misc", "Waiting for another reason of the hardware."),
    _stall("sleeping", "All threads of the warp asleep or yielded."),
    _stall("wait", "Waiting on a fixed latency of the previous instruction."),
    _stall("not_selected", "Ready, but another warp was chosen: more warps than needed.", None),
    _stall("selected", "Issuing: 1 by definition.", None),
    Metric("warp_latency", ("smsp__average_warp_latency_per_inst_issued.ratio",), "cycle/issue", "stalls",
           "Cycles between two instructions of a warp: the sum of all stall reasons."),
]  # fmt: skip

_MEMORY = [
    Metric("dram_bytes_per_s", ("dram__bytes.sum.per_second",), "byte/s", "memory",
           "Memory Throughput: bytes moved to and from device memory per second."),
    Metric("dram_bytes_read", ("dram__bytes_read.sum",), "byte", "memory",
           "Bytes read from device memory.", "lower", part_of=DRAM_BYTES),
    Metric("dram_bytes_written", ("dram__bytes_write.sum",), "byte", "memory",
           "Bytes written to device memory.", "lower", part_of=DRAM_BYTES),
    Metric("dram_throughput_pct", ("gpu__dram_throughput" + ELAPSED, "dram__throughput" + ELAPSED), "%", "memory",
           "Device memory throughput, of its peak.", follows=("dram_bytes_per_s",)),
    Metric("mem_busy_pct", ("gpu__compute_memory_access_throughput" + ELAPSED,), "%", "memory",
           "Mem Busy: how busy the busiest unit inside the cache and memory hierarchy is.",
           follows=("l1_throughput_pct", "l2_throughput_pct")),
    Metric("max_bandwidth_pct", ("gpu__compute_memory_request_throughput" + ELAPSED,), "%", "memory",
           "Max Bandwidth: how full the busiest link between SMs, caches and memory is.",
           follows=("lsu_pipe_pct", "dram_throughput_pct", "l2_throughput_pct")),
    Metric("mem_pipes_busy_pct", ("sm__memory_throughput" + ELAPSED,), "%", "memory",
           "Mem Pipes Busy: how busy the SM's memory instruction pipes are.", follows=("lsu_pipe_pct", "max_bandwidth_pct")),
    Metric("l1_hit_pct", ("l1tex__t_sector_hit_rate.pct",), "%", "memory",
           "Sectors that hit in L1."),
    Metric("l2_hit_pct", ("lts__t_sector_hit_rate.pct",), "%", "memory",
           "Sectors that hit in L2."),
    Metric("l2_sectors", ("lts__t_sectors_srcunit_tex.sum",), "sector", "memory",
           "Sectors of 32 bytes that went between the SMs and the L2.", "lower"),
    Metric("l1_throughput_pct", ("l1tex__throughput.avg.pct_of_peak_sustained_active",), "%", "memory",
           "L1 throughput, of its peak while it was active."),
    Metric("l2_throughput_pct", ("lts__throughput" + ELAPSED,), "%", "memory",
           "L2 throughput, of its peak."),
    Metric("load_width_bits", (), "bit/access", "memory",
           "Mean width of a thread's loads from global memory, over the executed warp instructions.",
           from_opcodes=FromOpcodes("width", GLOBAL_LOADS)),
    Metric("store_width_bits", (), "bit/access", "memory",
           "Mean width of a thread's stores to global memory, over the executed warp instructions.",
           from_opcodes=FromOpcodes("width", GLOBAL_STORES)),
    Metric("bulk_loads", (), "inst", "memory",
           "Bulk and tensor copies from global memory; the size of a copy is not in its instruction.",
           from_opcodes=FromOpcodes("count", BULK_LOADS)),
    Metric("bulk_stores", (), "inst", "memory",
           "Bulk and tensor copies to global memory; the size of a copy is not in its instruction.",
           from_opcodes=FromOpcodes("count", BULK_STORES)),
]  # fmt: skip

_SHARED = [
    Metric("shared_wavefronts", ("l1tex__data_pipe_lsu_wavefronts_mem_shared.sum",), "wavefront", "shared memory",
           "Passes for shared memory: of loads, stores, atomics, copies, HGMMA, and of what ncu calls Misc.", "lower",
           follows=("shared_conflicts", "shared_load_wavefronts", "shared_store_wavefronts"), of_use=True),
    Metric("shared_load_wavefronts", ("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",), "wavefront", "shared memory",
           "Passes through shared memory made by loads.", "lower",
           follows=("shared_load_conflicts",), of_use=True),
    Metric("shared_store_wavefronts", ("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",), "wavefront", "shared memory",
           "Passes through shared memory made by stores.", "lower",
           follows=("shared_store_conflicts",), of_use=True),
    Metric("shared_load_conflicts", ("l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",), "wavefront", "shared memory",
           "Extra passes of shared-memory loads because of bank conflicts.", "lower",
           part_of=("shared_load_wavefronts",)),
    Metric("shared_store_conflicts", ("l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum",), "wavefront", "shared memory",
           "Extra passes of shared-memory stores because of bank conflicts.", "lower",
           part_of=("shared_store_wavefronts",)),
    Metric("shared_conflicts", ("l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum",), "wavefront", "shared memory",
           "Extra passes of shared-memory accesses because of bank conflicts.", "lower",
           part_of=("shared_wavefronts",), follows=("shared_load_conflicts", "shared_store_conflicts")),
]  # fmt: skip

_OCCUPANCY = [
    Metric("occupancy_pct", ("sm__warps_active.avg.pct_of_peak_sustained_active",), "%", "occupancy",
           "Achieved occupancy: active warps, of the most an SM can hold.", follows=("active_warps",)),
    Metric("occupancy_limit_pct", ("sm__maximum_warps_per_active_cycle_pct",), "%", "occupancy",
           "Theoretical occupancy: what registers, shared memory and block size allow.", fixed=True),
    Metric("active_warps", ("smsp__warps_active.avg.per_cycle_active",), "warp", "occupancy",
           "Warps resident per scheduler, on average."),
    Metric("eligible_warps", ("smsp__warps_eligible.avg.per_cycle_active",), "warp", "occupancy",
           "Warps per scheduler that could issue, on average."),
    Metric("registers", ("launch__registers_per_thread",), "register/thread", "occupancy",
           "Registers per thread.", fixed=True),
    Metric("shared_bytes", ("launch__shared_mem_per_block_allocated",), "byte/block", "occupancy",
           "Shared memory allocated per block: its own, what CUDA reserves, and rounding.", fixed=True),
    Metric("blocks_by_registers", ("launch__occupancy_limit_registers",), "block", "occupancy",
           "Blocks per SM that the registers allow.", fixed=True),
    Metric("blocks_by_shared", ("launch__occupancy_limit_shared_mem",), "block", "occupancy",
           "Blocks per SM that the shared memory allows.", fixed=True),
    Metric("waves", ("launch__waves_per_multiprocessor",), "wave", "occupancy",
           "How many times the grid fills the GPU.", fixed=True),
]  # fmt: skip

_INSTRUCTIONS = [
    Metric("inst_executed", ("smsp__inst_executed.sum", "sm__inst_executed.sum", "inst_executed"), "inst", "instructions",
           "Warp instructions executed.", "lower"),
    Metric("inst_per_byte", (), "inst/byte", "instructions",
           "Lane instructions, 32 for each warp instruction, per byte of work that the ladder declares.", "lower",
           per_useful_byte="inst_executed", follows=("inst_executed",)),
    Metric("inst_issued", ("smsp__inst_issued.sum", "sm__inst_issued.sum"), "inst", "instructions",
           "Warp instructions issued, replays included.", "lower", follows=("inst_executed",)),
    Metric("inst_per_cycle", ("sm__inst_executed.avg.per_cycle_elapsed",), "inst/cycle", "instructions",
           "Warp instructions executed per SM and cycle.", follows=("issue_active_pct",)),
    Metric("issue_rate", ("smsp__issue_active.avg.per_cycle_active",), "issue/cycle", "instructions",
           "Instructions issued per scheduler and active cycle; 1 is the limit.", follows=("issue_active_pct",)),
    Metric("threads_per_inst", ("smsp__thread_inst_executed_per_inst_executed.ratio",), "thread", "instructions",
           "Threads active per warp instruction: 32 without divergence.", "higher"),
    Metric("local_spill_inst", ("sass__inst_executed_register_spilling",), "inst", "instructions",
           "Instructions that spill registers.", "lower", fixed=True),
]  # fmt: skip

CATALOGUE: tuple[Metric, ...] = tuple(
    _TIME + _PIPES + _STALLS + _MEMORY + _SHARED + _OCCUPANCY + _INSTRUCTIONS
)
BY_NAME: dict[str, Metric] = {metric.name: metric for metric in CATALOGUE}
STALLS = tuple(metric.name for metric in _STALLS if metric.name.startswith("stall_"))
WAITS = tuple(name for name in STALLS if name.removeprefix("stall_") not in READY)

# A ladder shows these, in this order. A comparison judges them by themselves, since few metrics share an error.
HEADLINE = (
    "duration_ns",
    "issue_active_pct",
    "fma_pipe_pct",
    "lsu_pipe_pct",
    "lsu_inst_share_pct",
    "stall_mio_throttle",
    "stall_short_scoreboard",
)

# A ladder of memory-bound kernels shows these instead. Among them are the five figures that Nsight Compute prints
# first in its section MemoryWorkloadAnalysis: Memory Throughput, Max Bandwidth, both hit rates, Mem Pipes Busy.
MEMORY_HEADLINE = (
    "duration_ns",
    "dram_bytes_per_s",
    "max_bandwidth_pct",
    "l1_hit_pct",
    "l2_hit_pct",
    "mem_pipes_busy_pct",
    "load_width_bits",
    "store_width_bits",
    "dram_throughput_pct",
    "inst_per_byte",
    "bulk_loads",
    "bulk_stores",
)


_TENSOR_PIPE = "tensor_pipe_pct"
_ARITHMETIC_PIPES = ("fma_pipe_pct", "alu_pipe_pct", "fp64_pipe_pct", "xu_pipe_pct", _TENSOR_PIPE)
# Compilers move constants through the tensor pipe, too. Of 157 kernels of others that multiply no matrices, one keeps it busy for 2.3 % of
# the time, and all others for less than 2 %.
_MULTIPLYING_PCT = 3.0
BUSY_PCT = 10.0  # of its peak: what a unit does that works less decides little


def with_working_pipes(headline: Sequence[str], *kernels: Mapping[str, float]) -> list[str]:
    """Returns the names of the headline, with the pipe that does the arithmetic of each of the kernels before the other pipes.

    A kernel is given by its figures.
    """
    working = dict.fromkeys(pipe for one in kernels if (pipe := _working_pipe(one)) and pipe not in headline)
    place = next((at for at, name in enumerate(headline) if name in _ARITHMETIC_PIPES), len(headline))
    return [*headline[:place], *working, *headline[place:]]


def _working_pipe(figures: Mapping[str, float]) -> str | None:
    """Returns the tensor pipe if it multiplies matrices, for which all else in the kernel prepares, and otherwise the busiest pipe, if that is busy."""
    if figures.get(_TENSOR_PIPE, 0.0) >= _MULTIPLYING_PCT:
        return _TENSOR_PIPE
    busy = [name for name in _ARITHMETIC_PIPES if figures.get(name, 0.0) >= BUSY_PCT]
    return max(busy, key=lambda name: figures[name], default=None)


def find_metric(name: str) -> Metric:
    """Returns the metric with this name of prof or of ncu; the error for an unknown name lists the nearest ones."""
    if name in BY_NAME:
        return BY_NAME[name]
    for metric in CATALOGUE:
        if name in metric.ncu:
            return metric
    known = [*BY_NAME, *(ncu for metric in CATALOGUE for ncu in metric.ncu)]
    raise MetricNotFound(f"no metric '{name}' in the catalogue{nearest_hint(name, known)}")


def metrics_meant(name: str) -> Sequence[Metric]:
    """Returns the metric with this name, else all with this part in their names of prof or of ncu; `find_metric`'s error for none."""
    part = name.lower()
    holding = [one for one in CATALOGUE if any(part in known.lower() for known in (one.name, *one.ncu))]
    is_whole = any(name in (one.name, *one.ncu) for one in holding)
    return holding if holding and part and not is_whole else [find_metric(name)]


def derivation(metric: Metric) -> str:
    """Returns the source of a metric that ncu has no name for, as text."""
    if metric.from_opcodes:
        return f"{metric.from_opcodes.what} of {OPCODES}"
    return f"{metric.per_useful_byte} and the `bytes` of a ladder" if metric.per_useful_byte else ""
