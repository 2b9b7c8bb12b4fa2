"""Lists the causes that a kernel's use of shared memory has."""

from __future__ import annotations

from functools import partial

from profiler.catalog.causes.kind import LOCAL, CauseKind

_kind = partial(CauseKind, group="shared memory")

SHARED_MEMORY: tuple[CauseKind, ...] = (
    _kind(
        name="bank-conflicts",
        what="Lanes of a warp access different words of the same bank, and the access takes several passes.",
        detected="Passes that each shared access made, against those that it needs; and the turns in which atomics are tried again because of them.",
        example="tile[threadIdx.x][k] of a 32 x 32 array of floats: 32 passes for one.",
        remedy="Choose another row length (of 4-byte words, one more), or exchange the index bits (swizzle), so that the lanes fall into different banks.",
        leaves=LOCAL,
    ),
    _kind(
        name="too-little-reuse",
        what="Each value that is loaded from shared memory takes part in little arithmetic.",
        detected=(
            "Multiply-adds for each shared load whose value they take, while shared memory or its queue holds the kernel up; and for each value "
            "that is staged for tensor cores."
        ),
        example="A tiled product with one result a thread: two loads for each multiply-add.",
        remedy="Compute a tile of results in each thread's registers (such as 8 x 8), so that each loaded value is used several times.",
        leaves=("dram", "fma", "tensor", "fp64"),
    ),
    _kind(
        name="redundant-shared-accesses",
        what="Values go through shared memory again and again, where a register could keep them, or a shuffle carry them.",
        detected="Accesses whose address does not change in the loop that repeats them.",
        example="An accumulator in shared memory: s[t] += x in a loop.",
        remedy="Keep the value in a register, or exchange it with `__shfl_sync`.",
        leaves=("dram", "fma", "tensor", "fp64"),
    ),
)
