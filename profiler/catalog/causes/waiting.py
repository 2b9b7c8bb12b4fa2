"""Lists the causes for which warps wait although no unit is busy."""

from __future__ import annotations

from functools import partial

from profiler.catalog.causes.kind import CauseKind

_kind = partial(CauseKind, group="waiting")

WAITING: tuple[CauseKind, ...] = (
    _kind(
        name="loads-not-overlapped",
        what="Warps wait for loads, with too few of them under way to keep memory busy.",
        detected=(
            "Waiting for loads from global memory that are coalesced, while memory is not busy; or a loop in each turn of which a block loads, waits, and "
            "makes one value of what was loaded, if warps wait longer for these loads than for that."
        ),
        example="A loop that loads one value, uses it, and only then loads the next.",
        remedy="Issue several independent loads before the first use: unroll, prefetch into registers, or copy asynchronously into a second buffer.",
        leaves=("dram", "fma", "tensor", "fp64"),
    ),
    _kind(
        name="dependent-chain",
        what="Each instruction waits for the one before it.",
        detected="Waiting for the fixed latency of arithmetic, or for a load whose address comes from another load, or from a comparison of what it loaded.",
        example="One accumulator in a long sum; a linked list; a search in a sorted table.",
        remedy="Keep several independent accumulators or chains in each thread.",
        leaves=("dram", "fma", "tensor", "fp64", "issue"),
    ),
    _kind(
        name="barriers",
        what="Warps wait at barriers for others.",
        detected=(
            "Waiting at a barrier that is not explained by the loads before it; or a loop in each turn of which a block makes one value of what "
            "its threads hold, with the instructions of these steps."
        ),
        example="__syncthreads() after each of many short steps.",
        remedy="Synchronise less often: use warp-level exchange, double buffers, or smaller blocks.",
        leaves=("dram", "fma", "tensor", "fp64"),
    ),
    _kind(
        name="register-bank-conflicts",
        what="Operands of one instruction lie in the same register bank, so that it is dispatched later.",
        detected="Dispatch stalls, and instructions that read several even or several odd registers at once.",
        example="A hand-written tile whose accumulators and operands share banks.",
        remedy="Let consecutive products share an operand, or change the shape of the tile, so that the compiler can assign other registers.",
        leaves=("dram", "fma", "tensor", "fp64", "issue"),
    ),
    _kind(
        name="instruction-cache-misses",
        what="Warps wait for instructions, because the code that is executed is larger than the instruction caches.",
        detected="Waiting for the next instruction, in code that is too large for the cache.",
        example="A loop unrolled by 128 with a large body.",
        remedy="Unroll less, and keep rarely executed parts out of the loop.",
        leaves=("dram", "fma", "tensor", "fp64"),
    ),
)
