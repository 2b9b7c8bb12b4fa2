"""The words of the CuTe DSL, where vectors are parts of a divided layout, and there is no constant memory."""

from __future__ import annotations

from profiler.analyse.causes.words.words import FastForms, Words

CUTE = Words(
    thread=("`cute.arch.thread_idx()[0]`", "`cute.arch.thread_idx()[1]`", "`cute.arch.thread_idx()[2]`"),
    block="`cute.arch.block_idx()`", block_in_x="`cute.arch.block_idx()[0]`", threads_in_x="`cute.arch.block_dim()[0]`",
    thread_of_grid="`cute.arch.block_idx()[0] * cute.arch.block_dim()[0] + cute.arch.thread_idx()[0]`",
    neighbours_in_x="Let `cute.arch.thread_idx()[0]` count along the dimension of the array whose elements are neighbours in memory",
    warp_sum="`cute.arch.warp_reduction_sum`", shuffle="`cute.arch.shuffle_sync`", shuffle_down="`cute.arch.shuffle_sync_down`",
    shuffle_xor="`cute.arch.shuffle_sync_bfly`", sync_warp="`cute.arch.sync_warp`", fence_of_block="`cute.arch.fence_acq_rel_cta()`",
    wide_access=lambda elements: f"Access 16 bytes a thread ({elements} neighbouring elements at once) where the address is a multiple of 16, and single "
    "elements elsewhere, such as at the ends of rows.",
    at_once=lambda size: f"at once (up to {size} bytes: divide the layout, and `load()` and `store()` whole parts of it)",
    next_tile="Copy the next tile asynchronously (`cute.nvgpu.cpasync`) into a second buffer in shared memory while this one is used. If registers hold the next tile instead, an SM",
    optimised="without options for debugging",
    known_number="`cutlass.Constexpr`",
    unroll="Unroll the loop by four or more, or four times as far as now (`cutlass.range(…, unroll=4)`), with independent work in its copies.",
    unroll_less="`cutlass.range` instead of `cutlass.range_constexpr`",
    choose_each="`for each m: a[m] += x if index == m else 0`",
    limit_registers="`min_blocks_per_mp` of `launch`", limit_registers_anyhow="`min_blocks_per_mp` of `launch`",
    by_wgmma="by `cute.nvgpu.warpgroup` instead of `cute.nvgpu.warp`",
    fuse="Let the compiler fuse them (write both in one expression).",
    count_bits="`cute.arch.popc(x)`",
    fast=FastForms(
        function=lambda name: f"`cute.math.{name}(x, fastmath=True)`",
        power="`cute.math.exp2(y * cute.math.log2(x))`",
        division="`x * cute.arch.rcp_approx(y)`",
        reciprocal_root="`cute.math.rsqrt(x, fastmath=True)`",
        root="`cute.math.sqrt(x, fastmath=True)`", also_for_roots=", or `cute.math.sqrt(x, fastmath=True)` for a root alone",
    ),
    rounding_number="`Float32(12582912)`",
    without_doubles="Compute in float instead of double, if single precision is enough: data and literals (`Float32(0.5)`).",
    find_doubles="If single precision is enough, find what is double here: a value or a tensor of `Float64`.",
    widen_first="Let each thread load 4 bytes or more at once (parts of a divided layout): an asynchronous copy takes 4, 8 or 16. ",
    look_for_doubles="Look for values and tensors of `Float64`, and compute in `Float32` instead, if single precision is enough.",
)  # fmt: skip
