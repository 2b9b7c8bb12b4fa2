"""Lists the causes that a diagnosis may name: something in the code that can be changed, and what changing it touches.

The list is closed and its names are stable, because scripts and agents rely on them. How each cause is found is in
`analyse/causes/`; `prof causes` and docs/causes.md print this file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from profiler.catalog.ceilings import CEILINGS
from profiler.catalog.metrics import nearest_hint
from profiler.errors import CauseNotFound

# The resources that a kernel needs whatever its code looks like: its arithmetic, and its data once from device memory.
_WORK = ("dram", "fma", "tensor", "fp64", "xu")
# A local change, such as padding an array, leaves the instructions as well.
_LOCAL = (*_WORK, "issue", "alu")

NOTHING_TO_GAIN = "nothing to gain"
GROUPS = ("global memory", "shared memory", "instructions", "waiting", "launch", NOTHING_TO_GAIN)


@dataclass(frozen=True)
class CauseKind:
    """One cause as documentation. `leaves` are the resources whose work a change of this kind does not reduce.

    A kernel cannot take less than the time that those resources need at their peak: the promise of `at_most`.
    """

    name: str
    group: str
    what: str
    detected: str
    example: str
    remedy: str
    leaves: tuple[str, ...] = ()


def _kinds(group: str, *kinds: tuple[Any, ...]) -> list[CauseKind]:
    return [CauseKind(name, group, *rest) for name, *rest in kinds]


CAUSES: tuple[CauseKind, ...] = (
    *_kinds(
        "global memory",
        (
            "uncoalesced-loads",
            "Neighbouring threads load addresses that lie apart, so that one load of a warp touches many sectors of 32 bytes.",
            "Sectors that each load requested, against those that its bytes would fill: over one sector too many for each row of the block that a "
            "warp accesses; or more than a run of as many bytes touches, as short pieces of rows do.",
            "x[i * 32 + j] with i the thread: each of 32 lanes reads another sector, and uses 4 of its 32 bytes.",
            "Let neighbouring threads read neighbouring elements: exchange the index roles, change the layout, or stage a tile in shared memory.",
            _LOCAL,
        ),
        (
            "uncoalesced-stores",
            "Neighbouring threads store to addresses that lie apart.",
            "Sectors that each store requested, against those that its bytes would fill.",
            "out[x * height + y] with x the thread, as in a naive transpose.",
            "Let neighbouring threads write neighbouring elements: transpose a tile in shared memory before storing it.",
            _LOCAL,
        ),
        (
            "narrow-accesses",
            "Each thread loads or stores 1 to 8 bytes at a time, so that few bytes are under way and many instructions are needed.",
            "The width of the loads and stores that move most bytes, while memory is not busy and warps wait for it. In shared memory: words that a "
            "thread loads one by one in each turn of a loop, where no two threads take overlapping sets of them.",
            "A copy of floats one by one moves 64 % of what float4 moves.",
            "Load and store 16 bytes a thread (float4, or a vector of the narrow type), with a scalar tail. Store a tile so that what a thread takes from "
            "it in one step lies side by side.",
            ("dram", "tensor", "fp64"),
        ),
        (
            "misaligned-accesses",
            "The addresses of a warp are neighbours, but start inside a sector, so that each request touches one sector more.",
            "At most one sector too many for each row that a request holds, where the lanes are neighbours. Of neighbours that are loaded beside aligned "
            "elements, as by a stencil, none is named: no shift aligns them all.",
            "x[i + 1] of a float array, or rows whose length is not a multiple of 8 floats.",
            "Pad rows to 32 bytes, or shift the index so that the first lane starts at a multiple of 32 bytes.",
            _LOCAL,
        ),
        (
            "redundant-global-loads",
            "The same data is loaded from global memory many times, and served by the caches.",
            "Bytes that loads request, against bytes that device memory delivers, while loads hold the kernel up; "
            "a load whose address does not change in the loop that repeats it; a loop that reads, from the same address on, what a loop before it has read; addresses that several blocks compute alike; loads that all rows of a block make alike; a block that loads in each turn of a loop what its threads stored before a barrier; or matrices by which cuRAND skips ahead to the sequence of each thread.",
            "A naive matrix product loads each element of A once for each column of the result.",
            "Keep what is used again in registers or shared memory: tile the loop, or hoist the load out of it (`__restrict__` lets the compiler do it).",
            ("dram", "fma", "tensor", "fp64"),
        ),
        (
            "redundant-global-stores",
            "A loop stores its result in each turn, or each thread at the same place, although only the last one stays.",
            "Stores whose address does not change in the loop that repeats them, unless a fence or loads beside them show that others read there; or "
            "stores whose address is the same in all threads of the grid, which one slice of L2 takes.",
            "out[i] = sum inside the loop that adds up sum.",
            "Store once, after the loop, or in one thread.",
            ("tensor",),
        ),
        (
            "divergent-constants",
            "The lanes of a warp look at different places of a table in constant memory, which serves one place after the other.",
            "Loads of indexed constants whose index depends on the lane, and what waits for them.",
            "`__constant__ float curve[256]`, with curve[pixel] of another pixel for each lane.",
            "Put the table into shared or global memory, or let all lanes of a warp look at the same place.",
            _WORK,
        ),
        (
            "register-spills",
            "The compiler keeps values in local memory because registers do not suffice, or because an array is indexed at run time.",
            "Executed loads and stores of local memory, and what waits for them.",
            "`__launch_bounds__(1024)` for a kernel that needs 90 registers.",
            "Allow more registers, keep fewer values alive at once, make the indices of local arrays constants, or put a table into shared or global memory.",
            ("dram", "fma", "tensor", "fp64"),
        ),
        (
            "atomic-contention",
            "Many threads update the same few addresses atomically, and wait for each other.",
            "Share of the waiting that atomics and the fences around them are blamed for, and the passes that each needs.",
            "A histogram in global memory with few bins.",
            "Add up inside the warp or block first (shuffles, a histogram in shared memory, several copies), then update once.",
            ("dram", "tensor"),
        ),
    ),
    *_kinds(
        "shared memory",
        (
            "bank-conflicts",
            "Lanes of a warp access different words of the same bank, and the access takes several passes.",
            "Passes that each shared access made, against those that it needs.",
            "tile[threadIdx.x][k] of a 32 x 32 array of floats: 32 passes for one.",
            "Choose another row length (of 4-byte words, one more), or exchange the index bits (swizzle), so that the lanes fall into different banks.",
            _LOCAL,
        ),
        (
            "too-little-reuse",
            "Each value that is loaded from shared memory takes part in little arithmetic.",
            "Multiply-adds for each shared load whose value they take, in a loop or in one that is unrolled whole, while shared memory or its queue holds the kernel up. Pairs that a "
            "result takes in by other operations count as well, such as the minimum of sums.",
            "A tiled product with one result a thread: two loads for each multiply-add.",
            "Compute a tile of results in each thread's registers (such as 8 x 8), so that each loaded value is used several times.",
            ("dram", "fma", "tensor", "fp64"),
        ),
        (
            "redundant-shared-accesses",
            "Values go through shared memory that a register or a shuffle could carry.",
            "A load or a store whose address does not change in the loop that repeats it; loads repeated without a store between, or of what the same thread stored last; "
            "or a loop that adds up over the threads in each turn, only to add that to a sum, to scale a sum of exponentials, or to find what one of them holds for the turn's number.",
            "An accumulator in shared memory: s[t] += x in a loop.",
            "Keep the value in a register, or exchange it with `__shfl_sync`.",
            ("dram", "fma", "tensor", "fp64"),
        ),
    ),
    *_kinds(
        "instructions",
        (
            "unoptimised-code",
            "The compiler did not optimise the code, as in a debug build.",
            "Moves of a register onto itself, which no optimiser leaves: over 2 % of the instructions. It is named alone, because other "
            "causes of such code say little about the same source with optimisation.",
            "nvcc -G, which is for debuggers.",
            "Compile with optimisation: without -G, with -lineinfo for the source lines.",
        ),
        (
            "integer-overhead",
            "Many instructions compute addresses, quotients and remainders instead of results.",
            "Share of executed integer instructions beyond what the memory accesses need, and the sequences of a division.",
            "i / width and i % width in the inner loop, with a width that the compiler does not know.",
            "Divide once outside of the loop, use constants or powers of two, count up instead of recomputing.",
            ("dram", "tensor", "fp64"),
        ),
        (
            "spelled-out-instructions",
            "Several instructions count the bits of a word, for which there is one.",
            "The masks by which bits are summed in pairs, fours and bytes, or single bits of one word that are added up: eight and more one by one, "
            "or the lowest one in each turn of a loop that shifts the word.",
            "count += x >> k & 1 for each k from 0 to 31.",
            "Use the instruction: `__popc(x)`, or `__popcll(x)` for 64 bits.",
            ("dram", "tensor", "fp64"),
        ),
        (
            "redundant-instructions",
            "The same computation is made again with the same inputs.",
            "Instructions of the hot loop whose inputs do not change in it, or that repeat another one; loops that all blocks along a dimension of "
            "the grid run on the same data; what all of these blocks, or all threads of a block, compute alike in a loop that is their own work otherwise; what all threads of the grid compute alike; or values, such as powers, that an inner loop computes anew in each turn of an outer one.",
            "sin(angle) of a constant angle for every element.",
            "Compute it once, before the loop or on the host, and keep the result.",
            ("dram", "tensor"),
        ),
        (
            "loop-overhead",
            "Counting, comparing and branching take a large part of a loop.",
            "Share of the instructions of hot loops that only keep them going, from an eighth on: the branch back, its test, and counters. Tests of "
            "the data, such as those of bounds, do not count. Around an inner loop that hardly goes back, what prepares it counts too.",
            "A loop of one multiply-add with `#pragma unroll 1`.",
            "Unroll the loop, so that one test and branch serve several elements.",
            ("dram", "fma", "tensor", "fp64"),
        ),
        (
            "type-conversions",
            "Values are converted between types again and again.",
            "Share of executed conversion instructions, which few units execute.",
            "An index converted to float and back for each element.",
            "Convert once and keep the value in one type.",
            ("dram", "tensor", "fp64"),
        ),
        (
            "fp64-arithmetic",
            "Arithmetic runs in double precision.",
            "Executed FP64 instructions and conversions to and from double, and how busy they keep their unit.",
            "x * 0.5 of a float x: the literal is a double, so the product is too.",
            "Write float literals (0.5f) and use float functions, if single precision is enough.",
            ("dram", "tensor"),
        ),
        (
            "special-functions",
            "Divisions, roots, exponentials or trigonometric functions dominate.",
            "Executed instructions of the special-function unit, and those of the source lines that need it.",
            "powf(x, 2.0f), or a precise division in the inner loop.",
            "Use the fast forms (`__expf`, `__fdividef`, `rsqrtf`, multiplication instead of powf), or a table.",
            ("dram", "tensor"),
        ),
        (
            "divergent-branches",
            "Lanes of one warp take different branches, which are executed one after the other.",
            "Lanes that are off while an instruction executes, in code between branches that split warps, or because they left a loop before the others of their warp.",
            "if (threadIdx.x % 2) … else …",
            "Let whole warps take the same branch: sort or regroup the work, or choose by warp.",
            ("dram", "tensor"),
        ),
        (
            "idle-lanes",
            "Lanes have nothing to do while their warp executes.",
            "Lanes that have ended, that do not exist because the block is not a multiple of 32, or that a predicate keeps from an access to memory; loops of which all threads of a block make every turn with the same values, or some warps only turns that others store, or that go on after the end of the data; tiles of which less than half is there, so that nothing is added up or zeros are multiplied; or warps that do not store what they compute from shared memory.",
            "if (tid < s) in a reduction: half of the threads only watch from the first step on.",
            "Give every lane work: let each thread take more elements, and end idle warps early.",
            ("dram", "tensor"),
        ),
    ),
    *_kinds(
        "waiting",
        (
            "loads-not-overlapped",
            "Warps wait for loads, with too few of them under way to keep memory busy.",
            "Waiting for loads from global memory that are coalesced, while memory is not busy.",
            "A loop that loads one value, uses it, and only then loads the next.",
            "Issue several independent loads before the first use: unroll, prefetch into registers, or copy asynchronously into a second buffer.",
            ("dram", "fma", "tensor", "fp64"),
        ),
        (
            "dependent-chain",
            "Each instruction waits for the one before it.",
            "Waiting for the fixed latency of arithmetic, or for a load whose address comes from another load, or from a comparison of what it loaded.",
            "One accumulator in a long sum; a linked list; a search in a sorted table.",
            "Keep several independent accumulators or chains in each thread.",
            ("dram", "fma", "tensor", "fp64", "issue"),
        ),
        (
            "barriers",
            "Warps wait at barriers for others.",
            "Waiting at a barrier that is not explained by the loads before it; or a loop in each turn of which a block makes one value of what its "
            "threads hold, step by step, for a single thread or warp. The idle lanes, the accesses to shared memory and the loop of these steps "
            "count as a part of it.",
            "__syncthreads() after each of many short steps.",
            "Synchronise less often: use warp-level exchange, double buffers, or smaller blocks.",
            ("dram", "fma", "tensor", "fp64"),
        ),
        (
            "register-bank-conflicts",
            "Operands of one instruction lie in the same register bank, so that it is dispatched later.",
            "Dispatch stalls, and instructions that read several even or several odd registers at once.",
            "A hand-written tile whose accumulators and operands share banks.",
            "Let consecutive products share an operand, or change the shape of the tile, so that the compiler can assign other registers.",
            ("dram", "fma", "tensor", "fp64", "issue"),
        ),
        (
            "instruction-cache-misses",
            "Warps wait for instructions, because the code that is executed is larger than the instruction caches.",
            "Waiting for the next instruction, in code that is too large for the cache.",
            "A loop unrolled by 128 with a large body.",
            "Unroll less, and keep rarely executed parts out of the loop.",
            ("dram", "fma", "tensor", "fp64"),
        ),
    ),
    *_kinds(
        "launch",
        (
            "grid-too-small",
            "The grid has too few blocks to keep every SM busy.",
            "Blocks against SMs and against the blocks that fit on them.",
            "64 blocks on 132 SMs.",
            "Split the work into more blocks, such as along the summed dimension.",
            (*_LOCAL, "l1", "l2", "lsu"),
        ),
        (
            "uneven-last-wave",
            "The last round of blocks fills only a part of the GPU.",
            "Blocks modulo those that run at once: the fewer the rounds, the more it costs.",
            "133 blocks of which 132 fit at once: the second round runs one.",
            "Choose the block's work so that the rounds are full, or launch one round of blocks that share the work out.",
            ("dram",),
        ),
        (
            "load-imbalance",
            "Some SMs or warps have much more to do than others.",
            "Cycles in which SMs are active, least against most, and warps missing beside a long one.",
            "Row i takes i steps, and blocks are rows.",
            "Share the work out evenly: sort by length, split long rows, or let blocks fetch work from a counter.",
            (*_LOCAL, "l1", "l2", "lsu"),
        ),
        (
            "too-little-work-a-thread",
            "Each thread does so little that starting it, its block and its addresses is most of the work.",
            "Instructions for each warp, the part that only prepares, warps that store nothing, and how long blocks queue to be launched.",
            "One addition a thread over a large array.",
            "Let each thread take several elements (a grid-stride loop or wider accesses).",
            ("dram", "tensor", "fp64"),
        ),
        (
            "block-too-small",
            "Blocks are so small that the limit on blocks leaves SMs with few warps.",
            "The limit on blocks an SM binds before registers, shared memory or warps.",
            "Blocks of 32 threads: 32 of them fill half of an SM.",
            "Use blocks of 128 to 256 threads, with several rows or tiles each where a block has one.",
            ("dram", "fma", "tensor", "fp64"),
        ),
        (
            "registers-limit-occupancy",
            "A thread's registers limit the warps of an SM, and too few of them hide latency.",
            "The limit by registers binds, and warps wait for results; most of all where a few registers less leave room for half as many warps again.",
            "A kernel with 168 registers a thread that waits for loads.",
            "Use fewer registers (`__launch_bounds__`, smaller tiles), or overlap more work in each thread.",
            ("dram", "fma", "tensor", "fp64", "issue"),
        ),
        (
            "shared-memory-limits-occupancy",
            "A block's shared memory limits the blocks of an SM, and too few warps hide latency.",
            "The limit by shared memory binds, and warps wait for results.",
            "A block of 64 threads that takes 48 KB.",
            "Use smaller tiles or narrower types, or more threads for the same tile.",
            ("dram", "fma", "tensor", "fp64", "issue"),
        ),
        (
            "block-size-limits-occupancy",
            "The size of the blocks leaves places for warps empty.",
            "Warps of the blocks that fit, against the warps that an SM holds.",
            "Blocks of 768 threads: two of them fill 48 of 64 warps.",
            "Choose a block size that divides the warps of an SM, such as 256.",
            ("dram", "fma", "tensor", "fp64", "issue"),
        ),
        (
            "launch-too-short",
            "The kernel ends so soon that starting it is a large part of its time.",
            "A duration below 10 us.",
            "A kernel for 1,000 elements.",
            "Do more in one launch: batch, fuse with its neighbours, or replay a CUDA graph.",
        ),
    ),
    *_kinds(NOTHING_TO_GAIN, *CEILINGS),
)

# Named alone: what else costs time in such code says little about the same source with optimisation.
UNOPTIMISED = "unoptimised-code"
# Holds beside a ceiling: the busiest unit is at its peak while rounds of blocks are full, and the last round costs its time after them.
LAST_WAVE = "uneven-last-wave"
# If several launches are joined, one start stays.
TOO_SHORT = "launch-too-short"
# They say that warps wait, or that too little is under way or done with what is staged, which holds for most kernels, whatever else is wrong.
GENERAL = frozenset({
    "narrow-accesses", "loads-not-overlapped", "dependent-chain", "barriers", "grid-too-small", "too-little-work-a-thread", "too-little-reuse",
    LAST_WAVE,
})  # fmt: skip

# What was measured of a cause: where it is the same for two kernels, both have the cause, though it may limit only one of them.
MEASURED_BY: Mapping[str, tuple[str, ...]] = {
    "narrow-accesses": ("load_width_bits", "store_width_bits"),
    "bank-conflicts": ("shared_conflicts",),
    "register-spills": ("local_spill_inst",),
    "divergent-branches": ("threads_per_inst",),
}

BY_NAME = {kind.name: kind for kind in CAUSES}


def find_cause(name: str) -> CauseKind:
    if name in BY_NAME:
        return BY_NAME[name]
    raise CauseNotFound(f"no cause '{name}'{nearest_hint(name, list(BY_NAME))}")


def causes_meant(name: str) -> list[CauseKind]:
    """Returns the cause with this name, else all with this part in their names."""
    holding = [one for one in CAUSES if name and name in one.name]
    return holding if name not in BY_NAME and holding else [find_cause(name)]
