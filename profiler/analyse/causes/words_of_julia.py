"""Advice in words of CUDA.jl, whose kernels have the threads, the blocks and the shared memory of CUDA C++ by names of Julia.

Julia stores arrays by columns, tests each index unless `@inbounds` says otherwise, and its literals have 64 bits.
"""

from __future__ import annotations

# Causes whose remedy is another one in Julia, whatever the detector says.
IN_JULIA = {
    "narrow-accesses": "Let each thread take several neighbouring elements, and load them as one: `reinterpret` the array to one of "
    "`NTuple{4, VecElement{Float32}}`, whose elements have 16 bytes; or load all of them before the first use.",
    "fp64-arithmetic": "Compute in `Float32`, if single precision is enough: arrays, and literals (`0.5f0`, or `T(0.5)`; 0.5 is a `Float64`, and makes "
    "the whole expression so).",
}  # fmt: skip

# The words of CUDA C++ in advice, and what CUDA.jl has instead.
JULIA_SAYS = {
    " (`cuda::memory_order_relaxed`)": "",
    " (`curand_uniform4`)": "",
    "(`__reduce_add_sync`, shuffles)": "(`shfl_down_sync`)",
    "(`__shfl_down_sync`)": "(`shfl_down_sync`)",
    "(`__launch_bounds__`, `--maxrregcount`)": "(`maxregs`, `maxthreads` and `minblocks` of `@cuda`)",
    "(`__launch_bounds__`, a smaller tile": "(`maxregs` of `@cuda`, a smaller tile",
    "without -G (-lineinfo keeps the source lines), and without -O0 for ptxas": "by `julia -g1`, which keeps the source lines, and not by `-g2`",
    " (`const … * __restrict__`)": " (`CUDA.Const(array)`)",
    "; declare pointers `const … * __restrict__`, so that the compiler may": "; `CUDA.Const(array)` says that nobody stores there",
    **{
        f"at once (up to {size} bytes, a vector type)": "as one wider element (`NTuple{4, VecElement{Float32}}`, by `reinterpret`)"
        for size in (2, 4, 8, 16)
    },
    "`gridDim.x * blockDim.x`": "`gridDim().x * blockDim().x`",
    "`blockIdx.x * blockDim.x + threadIdx.x`": "`(blockIdx().x - 1) * blockDim().x + threadIdx().x`",
    **{f"`threadIdx.{axis}`": f"`threadIdx().{axis}`" for axis in "xyz"},
    "`blockDim.x`": "`blockDim().x`",
    "`blockIdx.x`": "`blockIdx().x`",
    "`blockIdx`": "`blockIdx()`",
    " and `mma_sync`": "",
    # CUDA.jl cannot declare it.
    " Constant memory (`__constant__`, up to 64 KB) serves what all threads look up at one address at a time, such as the weights of a filter.": "",
    "Let `threadIdx.x` count along the dimension of the array whose elements are neighbours in memory": "Let `threadIdx().x` count along the first dimension of the array, whose elements are neighbours in memory",
    "(such as a warp for each row, instead of a thread)": "(such as a warp for each column, instead of a thread)",
    "pass a tile through shared memory": "pass a tile through shared memory (`CuStaticSharedArray`)",
    "`__popc(x)`, or `__popcll(x)` for 64 bits (`std::popcount` in C++20)": "`count_ones(x)`",
    "(a template parameter, or a constant)": "(`Val(n)`, or a constant)",
    "(`#pragma unroll`)": "(`@unroll` of KernelAbstractions.Extras)",
    "(`#pragma unroll 4`)": "(give loops a number of turns that is an argument, and no constant)",
    "Let the compiler fuse them (`-fmad=true`, no `__fmul_rn` or `__dmul_rn`), or write `fma(a, b, c)`": "Write `muladd(a, b, c)` or "
    "`fma(a, b, c)`: Julia fuses nothing by itself without `@fastmath`",
    "`sqrtf` with `-use_fast_math`": "`fastmath=true` of `@cuda`",
    "`-use_fast_math`": "`fastmath=true` of `@cuda`",
    "`__expf`": "`@fastmath exp(x)`",
    "`__logf`": "`@fastmath log(x)`",
    "`__log2f`": "`@fastmath log2(x)`",
    "`__sinf`": "`@fastmath sin(x)`",
    "`__cosf`": "`@fastmath cos(x)`",
    "`__tanf`": "`@fastmath tan(x)`",
    "`__powf`": "`@fastmath x^y`",
    "`__fdividef`": "`@fastmath a / b`",
    "`rsqrtf`": "`CUDA.rsqrt`",
    "of powf": "of powers",
    "Compute addresses once and count them up, use 32-bit indices, and unroll so that offsets become constants": "Use indices of 32 bits (`Int32`, and "
    "`1i32` of CUDA.jl: literals have 64 bits), mark accesses `@inbounds`, and unroll so that offsets become constants",
    "and use 32-bit indices": "and use indices of 32 bits (`Int32`, and `1i32` of CUDA.jl: literals have 64 bits)",
    "12582912.0f": "12582912f0",
    "asynchronously (cp.async)": "asynchronously (`CG.memcpy_async`)",
    "(`__shfl_sync`, `__syncwarp`)": "(`shfl_sync`, `sync_warp`)",
    "(`__shfl_sync`)": "(`shfl_sync`)",
    "(`__syncwarp`, two": "(`sync_warp`, two",
    "`__shfl_xor_sync`": "`shfl_xor_sync`",
    "`__threadfence_block()`": "`threadfence_block()`",
}  # fmt: skip
