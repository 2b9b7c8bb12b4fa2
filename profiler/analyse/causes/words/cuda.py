"""The words of CUDA C++."""

from __future__ import annotations

from profiler.analyse.causes.words.words import FastForms, Words

CUDA = Words(
    thread=("`threadIdx.x`", "`threadIdx.y`", "`threadIdx.z`"),
    block="`blockIdx`", block_in_x="`blockIdx.x`", threads_in_x="`blockDim.x`",
    thread_of_grid="`blockIdx.x * blockDim.x + threadIdx.x`",
    neighbours_in_x="Let `threadIdx.x` count along the dimension of the array whose elements are neighbours in memory",
    warp_sum="`__reduce_add_sync`, shuffles", shuffle="`__shfl_sync`", shuffle_down="`__shfl_down_sync`",
    shuffle_xor="`__shfl_xor_sync`", sync_warp="`__syncwarp`", fence_of_block="`__threadfence_block()`",
    wide_access=lambda elements: f"Access 16 bytes a thread ({elements} neighbouring elements at once) where the address is a multiple of 16, and single "
    "elements elsewhere, such as at the ends of rows.",
    at_once=lambda size: f"at once (up to {size} bytes, a vector type)",
    next_tile="Copy the next tile asynchronously (cp.async) into a second buffer in shared memory while this one is used. If registers hold the next tile instead, an SM",
    optimised="without -G (-lineinfo keeps the source lines), and without -O0 for ptxas",
    known_number="a template parameter, or a constant",
    unroll="Unroll the loop by four or more, or four times as far as now (`#pragma unroll`), with independent work in its copies.",
    unroll_less="`#pragma unroll 4`",
    choose_each="`for each m: a[m] += index == m ? x : 0`",
    limit_registers="`__launch_bounds__`", limit_registers_anyhow="`__launch_bounds__`, `--maxrregcount`",
    by_wgmma="by `wgmma` instead of `mma.sync` and `mma_sync`",
    fuse="Let the compiler fuse them (`-fmad=true`, no `__fmul_rn` or `__dmul_rn`), or write `fma(a, b, c)`.",
    count_bits="`__popc(x)`, or `__popcll(x)` for 64 bits (`std::popcount` in C++20)",
    fast=FastForms(
        function=lambda name: f"`__{name}f`", power="`__powf`", division="`__fdividef`", reciprocal_root="`rsqrtf`",
        # No intrinsic takes a root alone fast. -prec-sqrt=false, a part of -use_fast_math, does, and avoids the NaN of x * rsqrtf(x) at 0.
        root="`sqrtf` with `-use_fast_math`", also_for_roots=", or `-use_fast_math`, also for roots alone", also=", or `-use_fast_math`",
        sine_and_cosine="`__sincosf`", powers="powf",
    ),
    rounding_number="12582912.0f",
    without_doubles="Compute in float instead of double, if single precision is enough: data, literals (0.5f) and functions (sqrtf, expf).",
    find_doubles="If single precision is enough, find what is double here: literals (write 0.5f), powers with an integer exponent (C++ computes "
    "`pow(x, n)` in double: write `x * x`, or `powf`), or a type, such as a template argument or a typedef.",
    find_named_doubles="If single precision is enough, find what is double here, such as {}: literals (write 0.5f), functions of them (write `x * x` for a square, `sqrtf` for a root, or `powf`), or a "
    "type, such as a template argument or a typedef.",
    look_for_doubles="Look for doubles, such as literals without an f (0.5), and compute in float instead, if single precision is enough.",
    widen_first="Let each thread load 4 bytes or more at once (such as `half2`, `uchar4` or `float4`): an asynchronous copy takes 4, 8 or 16. ",
    relaxed=" (`cuda::memory_order_relaxed`)", four_numbers=" (`curand_uniform4`)", read_only=" (`const … * __restrict__`)",
    keep_loaded="; declare pointers `const … * __restrict__`, so that the compiler may",
    constant_memory="`__constant__`",
)  # fmt: skip
