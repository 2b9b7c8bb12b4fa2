"""Advice in words of Numba, whose kernels have the threads, the blocks and the shared memory of CUDA C++ by names of Python.

Its remarks on the compiler describe what Numba 0.68 with numba-cuda 0.30 made of small kernels for sm_90. An access to global
memory is never wider than an element of the array, not even for neighbours or the members of a record, while neighbours in shared
memory are loaded together. A signed index is tested for being negative: a plain matrix product takes 286 instructions with the
indices that `cuda.grid` gives and 200 with `np.uint32`. A quotient with its remainder takes 285 with `np.int32` and 85 with
`np.uint32`. No array is known to lie apart from another, so that no load moves out of a loop that stores. Loops of a constant
number of turns are unrolled.
"""

from __future__ import annotations

# Causes whose remedy is another one in Numba, whatever the detector says.
IN_NUMBA = {
    "narrow-accesses": "Let each thread take several elements, and load all of them before the first use. An access is as wide as an element of "
    "the array: where that has fewer than 8 bytes, pass `x.view(np.uint64)`, and the kernel loads 8 bytes at once and takes both elements out with shifts (and floats with `libdevice.int_as_float`).",
    "fp64-arithmetic": "Compute in `float32`, if single precision is enough: for arrays, for constants (`np.float32(0.5)`; Python's are doubles), and "
    "for integers before they meet floats (`np.float32(i)`; together they make doubles).",
}  # fmt: skip

# The words of CUDA C++ in advice, and what Numba has instead.
NUMBA_SAYS = {
    " (`cuda::memory_order_relaxed`)": "",
    " (`curand_uniform4`)": "",
    "(`__reduce_add_sync`, shuffles)": "(`cuda.shfl_down_sync`)",
    "(`__shfl_down_sync`)": "(`cuda.shfl_down_sync`)",
    "(`__launch_bounds__`, `--maxrregcount`)": "(`max_registers` of `@cuda.jit`)",
    "(`__launch_bounds__`, a smaller tile": "(`max_registers` of `@cuda.jit`, a smaller tile",
    "without -G (-lineinfo keeps the source lines), and without -O0 for ptxas": "without `debug=True` and `opt=False` of `@cuda.jit` (`lineinfo=True` "
    "keeps the source lines)",
    "Index local arrays by constants (unroll the loop around them)": "Index arrays of `cuda.local.array` by constants, or in loops of a constant number "
    "of turns, which are unrolled",
    " (`const … * __restrict__`)": "",
    "; declare pointers `const … * __restrict__`, so that the compiler may": " before the loop: Numba may not, because the arrays could overlap",
    **{
        f"at once (up to {size} bytes, a vector type)": "as one wider element (`x.view(np.uint64)`, where an element has fewer than 8 bytes)"
        for size in (2, 4, 8, 16)
    },
    "Let `threadIdx.x` count along the dimension of the array whose elements are neighbours in memory": "Let the first index of `cuda.grid`, which counts neighbouring threads, be the last of the array",
    " (such as a warp for each row, instead of a thread)": ", or let a warp instead of a thread take each row",
    "pass a tile through shared memory": "pass a tile through shared memory (`cuda.shared.array`)",
    "`gridDim.x * blockDim.x`": "`cuda.gridsize(1)`",
    "`blockIdx.x * blockDim.x + threadIdx.x`": "`cuda.grid(1)`",
    **{f"`threadIdx.{axis}`": f"`cuda.threadIdx.{axis}`" for axis in "xyz"},
    "`blockDim.x`": "`cuda.blockDim.x`",
    "`blockIdx.x`": "`cuda.blockIdx.x`",
    "`blockIdx`": "`cuda.blockIdx`",
    "`for each m: a[m] += index == m ? x : 0`": "`for each m: a[m] += x if index == m else 0`",
    " and `mma_sync`": "",
    "(`__constant__`, up to 64 KB)": "(`cuda.const.array_like`, up to 64 KB)",
    "a grid-stride loop": "a loop in steps of `cuda.gridsize(1)`",
    "`__popc(x)`, or `__popcll(x)` for 64 bits (`std::popcount` in C++20)": "`cuda.popc(x)`",
    "(a template parameter, or a constant)": "(a literal, or a global variable, which is a constant for Numba)",
    "Unroll the loop by four or more, or four times as far as now (`#pragma unroll`), with independent work in its copies": "Do four or more elements in each turn, with independent "
    "work: an inner loop over a constant number (`range(4)`) is unrolled whole",
    "Let the compiler fuse them (`-fmad=true`, no `__fmul_rn` or `__dmul_rn`), or write `fma(a, b, c)`": "Write `cuda.fma(a, b, c)`",
    "`sqrtf` with `-use_fast_math`": "`fastmath=True` of `@cuda.jit`",
    "`-use_fast_math`": "`fastmath=True` of `@cuda.jit`",
    "`__expf`": "`libdevice.fast_expf`",
    "`__logf`": "`libdevice.fast_logf`",
    "`__log2f`": "`libdevice.fast_log2f`",
    "`__sinf`": "`libdevice.fast_sinf`",
    "`__cosf`": "`libdevice.fast_cosf`",
    "`__tanf`": "`libdevice.fast_tanf`",
    "`__powf`": "`libdevice.fast_powf`",
    "`__fdividef`": "`libdevice.fast_fdividef`",
    "`rsqrtf`": "`libdevice.rsqrtf`",
    "of powf": "of powers",
    "Compute addresses once and count them up, use 32-bit indices, and unroll so that offsets become constants": "Use unsigned indices of 32 bits "
    "(`np.uint32(i)`, `range(np.uint32(n))`): Numba tests others for being negative. Loops of a constant number of turns are unrolled, so that offsets "
    "become constants",
    "and use 32-bit indices": "and use unsigned indices of 32 bits (`np.uint32(i)`): Numba tests others for being negative",
    "divide by constants and powers of two (shifts and masks)": "divide `np.uint32`, which takes a third of the instructions that signed integers take, "
    "by constants and powers of two (shifts and masks)",
    "12582912.0f": "`np.float32(12582912)`",
    "Copy the next tile asynchronously (cp.async) into a second buffer in shared memory while this one is used. If registers": "Load the next tile "
    "into a second `cuda.shared.array` while this one is used. If variables",
    "(`__shfl_sync`, `__syncwarp`)": "(`cuda.shfl_sync`, `cuda.syncwarp`)",
    "(`__shfl_sync`)": "(`cuda.shfl_sync`)",
    "(`__syncwarp`, two": "(`cuda.syncwarp`, two",
    "`__shfl_xor_sync`": "`cuda.shfl_xor_sync`",
    "`__threadfence_block()`": "`cuda.threadfence_block()`",
    "Unroll less (`#pragma unroll 4`)": "Unroll less (give loops a number of turns that is an argument, and no constant)",
}  # fmt: skip
