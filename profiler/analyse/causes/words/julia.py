"""The words of CUDA.jl, whose kernels have the threads, the blocks and the shared memory of CUDA C++ by names of Julia.

Julia stores arrays by columns, tests each index unless `@inbounds` says otherwise, and its literals have 64 bits. CUDA.jl cannot
declare constant memory.
"""

from __future__ import annotations

from profiler.analyse.causes.words.words import FastForms, Words

JULIA = Words(
    thread=("`threadIdx().x`", "`threadIdx().y`", "`threadIdx().z`"),
    block="`blockIdx()`", block_in_x="`blockIdx().x`", threads_in_x="`blockDim().x`",
    thread_of_grid="`(blockIdx().x - 1) * blockDim().x + threadIdx().x`",
    neighbours_in_x="Let `threadIdx().x` count along the first dimension of the array, whose elements are neighbours in memory",
    warp_sum="`shfl_down_sync`", shuffle="`shfl_sync`", shuffle_down="`shfl_down_sync`",
    shuffle_xor="`shfl_xor_sync`", sync_warp="`sync_warp`", fence_of_block="`threadfence_block()`",
    wide_access=lambda _: "Let each thread take several neighbouring elements, and load them as one: `reinterpret` the array to one of "
    "`NTuple{4, VecElement{Float32}}`, whose elements have 16 bytes; or load all of them before the first use.",
    at_once=lambda _: "as one wider element (`NTuple{4, VecElement{Float32}}`, by `reinterpret`)",
    next_tile="Copy the next tile asynchronously (`CG.memcpy_async`) into a second buffer in shared memory while this one is used. If registers hold the next tile instead, an SM",
    optimised="by `julia -g1`, which keeps the source lines, and not by `-g2`",
    known_number="`Val(n)`, or a constant",
    unroll="Unroll the loop by four or more, or four times as far as now (`@unroll` of KernelAbstractions.Extras), with independent work in its copies.",
    unroll_less="give loops a number of turns that is an argument, and no constant",
    choose_each="`for each m: a[m] += index == m ? x : 0`",
    limit_registers="`maxregs` of `@cuda`", limit_registers_anyhow="`maxregs`, `maxthreads` and `minblocks` of `@cuda`",
    by_wgmma="by `wgmma` instead of `mma.sync`",
    fuse="Write `muladd(a, b, c)` or `fma(a, b, c)`: Julia fuses nothing by itself without `@fastmath`.",
    count_bits="`count_ones(x)`",
    fast=FastForms(
        function=lambda name: f"`@fastmath {name}(x)`", power="`@fastmath x^y`", division="`@fastmath a / b`", reciprocal_root="`CUDA.rsqrt`",
        root="`fastmath=true` of `@cuda`", also_for_roots=", or `fastmath=true` of `@cuda`, also for roots alone", also=", or `fastmath=true` of `@cuda`",
    ),
    rounding_number="12582912f0",
    without_doubles="Compute in `Float32`, if single precision is enough: arrays, and literals (`0.5f0`, or `T(0.5)`; 0.5 is a `Float64`, and makes the whole expression so).",
    warp_for_row=" (such as a warp for each column, instead of a thread)",
    pass_a_tile="pass a tile through shared memory (`CuStaticSharedArray`)",
    count_up="Use indices of 32 bits (`Int32`, and `1i32` of CUDA.jl: literals have 64 bits), mark accesses `@inbounds`, and unroll so that offsets become constants",
    count_up_narrow="Compute addresses once and count them up, mark accesses `@inbounds`, and unroll so that offsets become constants",
    narrow_indices="use indices of 32 bits (`Int32`, and `1i32` of CUDA.jl: literals have 64 bits)",
    widen_first="Let each thread load 4 bytes or more at once (elements of an array that `reinterpret` makes wider): an asynchronous copy takes 4, 8 or 16. ",
    read_only=" (`CUDA.Const(array)`)",
    keep_loaded="; `CUDA.Const(array)` says that nobody stores there",
)  # fmt: skip
