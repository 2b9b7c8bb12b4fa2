"""Lists the causes that lie in how a kernel is launched: its grid, its blocks, and what limits the warps on an SM."""

from __future__ import annotations

from functools import partial

from profiler.catalog.causes.kind import LOCAL, CauseKind

_kind = partial(CauseKind, group="launch")

LAUNCH: tuple[CauseKind, ...] = (
    _kind(
        name="grid-too-small",
        what="The grid has too few blocks to keep every SM busy.",
        detected="Blocks against SMs, and against the blocks that fit on them.",
        example="64 blocks on 132 SMs.",
        remedy="Split the work into more blocks, such as along the summed dimension.",
        leaves=(*LOCAL, "l1", "l2", "lsu"),
    ),
    _kind(
        name="uneven-last-wave",
        what="The last round of blocks fills only a part of the GPU.",
        detected="Blocks modulo those that run at once: the fewer the rounds, the more it costs.",
        example="133 blocks of which 132 fit at once: the second round runs one.",
        remedy="Choose the block's work so that the rounds are full, or launch one round of blocks that share the work out.",
        leaves=("dram",),
    ),
    _kind(
        name="load-imbalance",
        what="Some SMs, blocks or warps have much more to do than others.",
        detected="Cycles in which SMs are active, least against most, and warps missing beside a long one; loops in which few warps execute more than a warp of each round does; or launched blocks of which most have no work.",
        example="Row i takes i steps, and blocks are rows.",
        remedy="Share the work out evenly: sort by length, split long rows, or let blocks fetch work from a counter.",
        leaves=(*LOCAL, "l1", "l2", "lsu"),
    ),
    _kind(
        name="too-little-work-a-thread",
        what="Each thread does so little that starting it, its block and its addresses is most of the work, or waits for few results at a time.",
        detected="Instructions for each warp, the part that only prepares, the waiting for results outside of loops, warps whose index keeps them from every store, and how long blocks queue to be launched.",
        example="One addition a thread over a large array.",
        remedy="Let each thread take several elements (four at once, wider accesses, or a grid-stride loop).",
        leaves=("dram", "tensor", "fp64"),
    ),
    _kind(
        name="block-too-small",
        what="Blocks do not fill a warp, or are so small that the limit on blocks leaves SMs with few warps.",
        detected="Blocks of fewer than 32 threads; or the limit on blocks an SM binds before registers, shared memory or warps.",
        example="Blocks of 8 threads: three of four lanes of each warp are empty. Blocks of 32 threads: 32 of them fill half of an SM.",
        remedy="Use blocks of 128 to 256 threads, with several rows or tiles each where a block has one.",
        leaves=("dram", "fma", "tensor", "fp64"),
    ),
    _kind(
        name="registers-limit-occupancy",
        what="A thread's registers limit the warps of an SM, and too few of them hide latency.",
        detected="The limit by registers binds, and warps wait for results; most of all where a few registers less leave room for half as many warps again.",
        example="A kernel with 168 registers a thread that waits for loads.",
        remedy="Use fewer registers (`__launch_bounds__`, smaller tiles), or overlap more work in each thread.",
        leaves=("dram", "fma", "tensor", "fp64", "issue"),
    ),
    _kind(
        name="shared-memory-limits-occupancy",
        what="A block's shared memory limits the blocks of an SM, and too few warps hide latency.",
        detected="The limit by shared memory binds, and warps wait for results.",
        example="A block of 64 threads that takes 48 KB.",
        remedy="Use smaller tiles or narrower types, or more threads for the same tile.",
        leaves=("dram", "fma", "tensor", "fp64", "issue"),
    ),
    _kind(
        name="block-size-limits-occupancy",
        what="The size of the blocks leaves places for warps empty.",
        detected="Warps of the blocks that fit, against the warps that an SM holds.",
        example="Blocks of 768 threads: two of them fill 48 of 64 warps.",
        remedy="Choose a block size that divides the warps of an SM, such as 256.",
        leaves=("dram", "fma", "tensor", "fp64", "issue"),
    ),
    _kind(
        name="launch-too-short",
        what="The kernel ends so soon that starting it is a large part of its time.",
        detected="A duration below 10 us.",
        example="A kernel for 1,000 elements.",
        remedy="Do more in one launch: batch, fuse with its neighbours, or replay a CUDA graph.",
    ),
)
