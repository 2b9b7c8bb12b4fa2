"""Lists the ceilings: what a diagnosis says of a kernel that is as fast as a part of the GPU allows.

Each has a name, a description, how it is detected, an example, and what would help nevertheless, like every cause in `causes.py`.
"""

from __future__ import annotations

CEILINGS: tuple[tuple[str, str, str, str, str], ...] = (
    (
        "at-memory-bandwidth",
        "Device memory delivers nearly all that it can.",
        "Throughput of device memory within reach of what a plain copy reaches.",
        "A float4 copy.",
        "Move fewer bytes: fuse with the kernels before and after, or use narrower types.",
    ),
    (
        "at-l2-bandwidth",
        "L2 delivers nearly all that it can, without requests that could be saved.",
        "Throughput of L2 near the 88 % of its peak that are within reach, and above that of device memory.",
        "Reading the same 20 MB again and again.",
        "Keep what is used again in shared memory or registers.",
    ),
    (
        "at-fma-rate",
        "The FMA units are nearly always busy.",
        "FMA pipe near its peak, or the half of it that multiplies integers.",
        "A tuned FP32 matrix product.",
        "Do less arithmetic, or use tensor cores.",
    ),
    (
        "at-alu-rate",
        "The ALUs, which add, compare, shift and combine integers, are nearly always busy.",
        "ALU pipe near its peak.",
        "The rounds of a hash, or a network that sorts integers in registers.",
        "Do less of this arithmetic, or pack several narrow values into one word.",
    ),
    (
        "at-tensor-rate",
        "The tensor cores are nearly always busy.",
        "Tensor pipe near its peak.",
        "cuBLAS in BF16.",
        "Use a narrower type, or do less arithmetic.",
    ),
    (
        "at-xu-rate",
        "The special-function units, which also convert numbers and count bits, are nearly always busy.",
        "Instructions of the unit near as many as it executes.",
        "Distances between fingerprints, by `__popc` of each word.",
        "Evaluate fewer functions, look values up, or let FMAs compute a part of them.",
    ),
)
