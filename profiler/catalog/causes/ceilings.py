"""Lists the ceilings: what a diagnosis says of a kernel that is as fast as a part of the GPU allows."""

from __future__ import annotations

from functools import partial

from profiler.catalog.causes.kind import CauseKind
from profiler.text import without_capital

NOTHING_TO_GAIN = "nothing to gain"
# Where all is multiplied by `wgmma`, or the GPU has none; and where that is what to try first.
LESS_TO_MULTIPLY = "Use a narrower type, or do less arithmetic."
OTHERWISE_LESS = f"Otherwise {without_capital(LESS_TO_MULTIPLY)}"
_kind = partial(CauseKind, group=NOTHING_TO_GAIN)

CEILINGS: tuple[CauseKind, ...] = (
    _kind(
        name="at-memory-bandwidth",
        what="Device memory delivers nearly all that it can.",
        detected="Throughput of device memory within reach of what a plain copy reaches.",
        example="A float4 copy.",
        remedy="Move fewer bytes: fuse with the kernels before and after, store nothing that its reader could compute or find elsewhere, or use narrower types.",
    ),
    _kind(
        name="at-l2-bandwidth",
        what="L2 delivers nearly all that it can.",
        detected="Throughput of L2 near the 88 % of its peak that are within reach, and above that of device memory.",
        example="Reading the same 20 MB again and again.",
        remedy="Keep what is used again in shared memory or registers.",
    ),
    _kind(
        name="at-fma-rate",
        what="The FMA units are nearly always busy.",
        detected="FMA pipe near its peak, or the half of it that multiplies integers.",
        example="A tuned FP32 matrix product.",
        remedy="Do less arithmetic or, in products of matrices, use tensor cores.",
    ),
    _kind(
        name="at-alu-rate",
        what="The ALUs, which add, compare, shift and combine integers, are nearly always busy.",
        detected="ALU pipe near its peak.",
        example="The rounds of a hash, or a network that sorts integers in registers.",
        remedy="Compute less with integers, compare and choose less, or pack several narrow values into one word.",
    ),
    _kind(
        name="at-tensor-rate",
        what="The tensor cores are nearly always busy.",
        detected="Tensor pipe near its peak.",
        example="cuBLAS in BF16.",
        remedy=f"Multiply by `wgmma` where the GPU has it. {OTHERWISE_LESS}",
    ),
    _kind(
        name="at-xu-rate",
        what="The special-function units, which also convert numbers and count bits, are nearly always busy.",
        detected="Instructions of the unit near as many as it executes.",
        example="Distances between fingerprints, by `__popc` of each word.",
        remedy="Evaluate fewer functions, look values up, or let FMAs compute a part of them.",
    ),
)
