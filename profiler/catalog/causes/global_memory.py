"""Lists the causes that a kernel's accesses to global, local and constant memory have."""

from __future__ import annotations

from functools import partial

from profiler.catalog.causes.kind import LOCAL, WORK, CauseKind

_kind = partial(CauseKind, group="global memory")

GLOBAL_MEMORY: tuple[CauseKind, ...] = (
    _kind(
        name="uncoalesced-loads",
        what="Neighbouring threads load addresses that lie apart, so that one load of a warp touches many sectors of 32 bytes.",
        detected=(
            "Sectors that each load requested, against those that its bytes would fill: more than one too many for each row of the block that a "
            "warp accesses, or more than a run of as many bytes touches."
        ),
        example="x[i * 32 + j] with i the thread: each of 32 lanes reads another sector, and uses 4 of its 32 bytes.",
        remedy="Let neighbouring threads read neighbouring elements: exchange the index roles, change the layout, or stage a tile in shared memory.",
        leaves=WORK,
    ),
    _kind(
        name="uncoalesced-stores",
        what="Neighbouring threads store to addresses that lie apart, or update them atomically.",
        detected=(
            "Sectors that each store requested, against those that its bytes would fill; and those of atomics by which each thread updates a row, "
            "element after element."
        ),
        example="out[x * height + y] with x the thread, as in a naive transpose.",
        remedy="Let neighbouring threads write neighbouring elements: transpose a tile in shared memory before storing it.",
        leaves=WORK,
    ),
    _kind(
        name="narrow-accesses",
        what="Each thread loads or stores 1 to 8 bytes at a time, so that few bytes are under way and many instructions are needed.",
        detected=(
            "The width of the loads and stores that move most bytes, while memory is not busy and warps wait for it; in shared memory, words "
            "that a thread loads one by one in each turn of a loop."
        ),
        example="A copy of floats one by one moves 64 % of what float4 moves.",
        remedy=(
            "Load and store 16 bytes a thread (float4, or a vector of the narrow type), with a scalar tail. Store a tile so that what a thread takes from "
            "it in one step lies side by side."
        ),
        leaves=("dram", "tensor", "fp64"),
    ),
    _kind(
        name="misaligned-accesses",
        what="The addresses of a warp are neighbours, but start inside a sector, so that each request touches one sector more.",
        detected=(
            "At most one sector too many for each row that a request holds, where the lanes are neighbours, and none of the accesses to the "
            "same array is aligned."
        ),
        example="x[i + 1] of a float array, or rows whose length is not a multiple of 8 floats.",
        remedy="Pad rows to 32 bytes, or shift the index so that the first lane starts at a multiple of 32 bytes.",
        leaves=LOCAL,
    ),
    _kind(
        name="redundant-global-loads",
        what="The same data is loaded from global memory many times, and served by the caches.",
        detected=(
            "Loads that hold the kernel up and request many times the bytes that device memory delivers; loads whose address says that they repeat: "
            "in a loop or a later one, in all rows of a block, or for all indices with the same remainder. What many blocks load alike, if device memory "
            "delivers it to each of them, or if L2 does and is as fast as it can be; then also the neighbours of a point, which others load as well. "
            "Where blocks load the same data, the sums that they exchange between threads go with these loads."
        ),
        example="A naive matrix product loads each element of A once for each column of the result.",
        remedy="Keep what is used again in registers or shared memory: tile the loop, or hoist the load out of it (`__restrict__` lets the compiler do it).",
        leaves=("dram", "fma", "tensor", "fp64"),
    ),
    _kind(
        name="redundant-global-stores",
        what="What is stored is overwritten before anyone reads it, or is read by the block alone.",
        detected=(
            "A store whose address is the same in each turn of a loop, or in all threads of the grid, while nothing shows that others read there; "
            "or an array in global memory that a block fills, reads once and overwrites in each turn of a loop."
        ),
        example="out[i] = sum inside the loop that adds up sum.",
        remedy="Store once, after the loop, or in one thread; keep in registers or shared memory what only the block reads.",
        leaves=("tensor",),
    ),
    _kind(
        name="divergent-constants",
        what="The lanes of a warp look at different places of a table in constant memory, which serves one place after the other.",
        detected="Loads of indexed constants whose index depends on the lane, and what waits for them.",
        example="`__constant__ float curve[256]`, with curve[pixel] of another pixel for each lane.",
        remedy="Put the table into shared or global memory.",
        leaves=WORK,
    ),
    _kind(
        name="constant-cache-misses",
        what="Warps wait for constants that are not in their small cache, as where a loop reads more of them than it holds.",
        detected="Share of the waiting for the cache of constants (`imc_miss`).",
        example="`__constant__ float4 atoms[4000]`, of which each thread reads all, one after the other.",
        remedy="Let each thread take several elements, so that a constant serves all of them; or pass the constants through shared memory.",
        leaves=("dram", "tensor", "fp64", "xu"),
    ),
    _kind(
        name="register-spills",
        what="The compiler keeps values in local memory because registers do not suffice, or because an array is indexed at run time.",
        detected="Executed loads and stores of local memory, and what waits for them.",
        example="`__launch_bounds__(1024)` for a kernel that needs 90 registers.",
        remedy="Allow more registers, keep fewer values alive at once, make the indices of local arrays constants (an unrolled loop, a `constexpr` table), or put a table into shared or global memory.",
        leaves=("dram", "fma", "tensor", "fp64"),
    ),
    _kind(
        name="atomic-contention",
        what="Many threads update the same few addresses atomically, and wait for each other; or each waits at the fence of its update.",
        detected="Share of the waiting that atomics and the fences around them are blamed for, and the passes that each needs.",
        example="A histogram in global memory with few bins.",
        remedy="Add up inside the warp or block first (shuffles, a histogram in shared memory, several copies), then update once.",
        leaves=("dram", "tensor"),
    ),
)
