"""The words of Numba, whose kernels have the threads, the blocks and the shared memory of CUDA C++ by names of Python.

Its remarks on the compiler describe what Numba 0.68 with numba-cuda 0.30 made of small kernels for sm_90. An access to global
memory is never wider than an element of the array, not even for neighbours or the members of a record, while neighbours in shared
memory are loaded together. A signed index is tested for being negative: a plain matrix product takes 286 instructions with the
indices that `cuda.grid` gives and 200 with `np.uint32`. A quotient with its remainder takes 285 with `np.int32` and 85 with
`np.uint32`. No array is known to lie apart from another, so that no load moves out of a loop that stores. Loops of a constant
number of turns are unrolled.
"""

from __future__ import annotations

from profiler.analyse.causes.words.words import FastForms, Words

NUMBA = Words(
    thread=("`cuda.threadIdx.x`", "`cuda.threadIdx.y`", "`cuda.threadIdx.z`"),
    block="`cuda.blockIdx`", block_in_x="`cuda.blockIdx.x`", threads_in_x="`cuda.blockDim.x`",
    thread_of_grid="`cuda.grid(1)`",
    neighbours_in_x="Let the first index of `cuda.grid`, which counts neighbouring threads, be the last of the array",
    warp_sum="`cuda.shfl_down_sync`", shuffle="`cuda.shfl_sync`", shuffle_down="`cuda.shfl_down_sync`",
    shuffle_xor="`cuda.shfl_xor_sync`", sync_warp="`cuda.syncwarp`", fence_of_block="`cuda.threadfence_block()`",
    wide_access=lambda _: "Let each thread take several elements, and load all of them before the first use. An access is as wide as an element of the "
    "array: where that has fewer than 8 bytes, pass `x.view(np.uint64)`, and the kernel loads 8 bytes at once and takes both elements out with shifts "
    "(and floats with `libdevice.int_as_float`).",
    at_once=lambda _: "as one wider element (`x.view(np.uint64)`, where an element has fewer than 8 bytes)",
    next_tile="Load the next tile into a second `cuda.shared.array` while this one is used. If variables hold the next tile instead, an SM",
    optimised="without `debug=True` and `opt=False` of `@cuda.jit` (`lineinfo=True` keeps the source lines)",
    known_number="a literal, or a global variable, which is a constant for Numba",
    unroll="Do four or more elements in each turn, with independent work: an inner loop over a constant number (`range(4)`) is unrolled whole.",
    unroll_less="give loops a number of turns that is an argument, and no constant",
    choose_each="`for each m: a[m] += x if index == m else 0`",
    limit_registers="`max_registers` of `@cuda.jit`", limit_registers_anyhow="`max_registers` of `@cuda.jit`",
    by_wgmma="by `wgmma` instead of `mma.sync`",
    fuse="Write `cuda.fma(a, b, c)`.",
    count_bits="`cuda.popc(x)`",
    fast=FastForms(
        function=lambda name: f"`libdevice.fast_{name}f`", power="`libdevice.fast_powf`", division="`libdevice.fast_fdividef`", reciprocal_root="`libdevice.rsqrtf`",
        root="`fastmath=True` of `@cuda.jit`",
        also_for_roots=", or `fastmath=True` of `@cuda.jit`, also for roots alone",
        also=", or `fastmath=True` of `@cuda.jit`", sine_and_cosine="`libdevice.fast_sincosf`",
    ),
    rounding_number="`np.float32(12582912)`",
    without_doubles="Compute in `float32`, if single precision is enough: for arrays, for constants (`np.float32(0.5)`; Python's are doubles), and for integers "
    "before they meet floats (`np.float32(i)`; together they make doubles).",
    grid_stride_loop="a loop in steps of `cuda.gridsize(1)`",
    warp_for_row=", or let a warp instead of a thread take each row",
    pass_a_tile="pass a tile through shared memory (`cuda.shared.array`)",
    constant_indices="Index arrays of `cuda.local.array` by constants, or in loops of a constant number of turns, which are unrolled",
    count_up="Use unsigned indices of 32 bits (`np.uint32(i)`, `range(np.uint32(n))`): Numba tests others for being negative. Loops of a constant number of turns are unrolled, so that offsets become constants",
    narrow_indices="use unsigned indices of 32 bits (`np.uint32(i)`): Numba tests others for being negative",
    divide="divide `np.uint32`, which takes a third of the instructions that signed integers take,",
    keep_loaded=": Numba cannot, because the arrays could overlap",
    constant_memory="`cuda.const.array_like`",
)  # fmt: skip
