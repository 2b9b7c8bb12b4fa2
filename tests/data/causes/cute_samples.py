#!/usr/bin/env python3
"""Runs kernels of the CuTe DSL, each beside one that differs by one change: cute_samples.py [NAME ...]

All are compiled with line information, which leaves their machine code as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import cupy
import cutlass
from cutlass import Float16, Float32, Float64, Int32, cute
from cutlass.cute.runtime import from_dlpack
from python_samples import Case, random, run_all

THREADS, EACH = 256, 32
TILE, ROWS = 32, 8
WARPS = THREADS // 32
DEGREE = 96
BINS = 256


# ---- which elements neighbouring threads take


@cute.kernel
def scale_chunks_kernel(x: cute.Tensor, y: cute.Tensor):
    thread, block = cute.arch.thread_idx()[0], cute.arch.block_idx()[0]
    first = (block * THREADS + thread) * EACH
    for i in cutlass.range(EACH):
        y[first + i] = x[first + i] * 2.0  # <- scale_chunks


@cute.kernel
def scale_neighbours_kernel(x: cute.Tensor, y: cute.Tensor):
    thread, block = cute.arch.thread_idx()[0], cute.arch.block_idx()[0]
    first = block * THREADS * EACH + thread
    for i in cutlass.range(EACH):
        y[first + i * THREADS] = x[first + i * THREADS] * 2.0


@cute.jit
def scale_chunks(x: cute.Tensor, y: cute.Tensor):
    scale_chunks_kernel(x, y).launch(grid=[cute.size(x) // (THREADS * EACH), 1, 1], block=[THREADS, 1, 1])


@cute.jit
def scale_neighbours(x: cute.Tensor, y: cute.Tensor):
    scale_neighbours_kernel(x, y).launch(grid=[cute.size(x) // (THREADS * EACH), 1, 1], block=[THREADS, 1, 1])


@cute.kernel
def sums_of_threads_kernel(x: cute.Tensor, y: cute.Tensor):
    row = cute.arch.block_idx()[0] * THREADS + cute.arch.thread_idx()[0]
    total = Float32(0.0)
    for column in cutlass.range(x.shape[1]):
        total += x[row, column]  # <- sums_of_threads
    y[row] = total


@cute.kernel
def sums_of_warps_kernel(x: cute.Tensor, y: cute.Tensor):
    thread, block = cute.arch.thread_idx()[0], cute.arch.block_idx()[0]
    row, lane = block * WARPS + thread // 32, thread % 32
    total = Float32(0.0)
    for step in cutlass.range(x.shape[1] // 32):
        total += x[row, step * 32 + lane]
    total = cute.arch.warp_reduction_sum(total)
    if lane == 0:
        y[row] = total


@cute.jit
def sums_of_threads(x: cute.Tensor, y: cute.Tensor):
    sums_of_threads_kernel(x, y).launch(grid=[x.shape[0] // THREADS, 1, 1], block=[THREADS, 1, 1])


@cute.jit
def sums_of_warps(x: cute.Tensor, y: cute.Tensor):
    sums_of_warps_kernel(x, y).launch(grid=[x.shape[0] // WARPS, 1, 1], block=[THREADS, 1, 1])


# ---- a transpose: straight, and by a tile with a padded row and without


@cute.kernel
def turn_plain_kernel(x: cute.Tensor, y: cute.Tensor):
    tx, ty, _ = cute.arch.thread_idx()
    bx, by, _ = cute.arch.block_idx()
    for step in cutlass.range_constexpr(TILE // ROWS):
        row = by * TILE + ty + step * ROWS
        y[bx * TILE + tx, row] = x[row, bx * TILE + tx]  # <- turn_plain


@cute.kernel
def turn_tile_kernel(x: cute.Tensor, y: cute.Tensor, pitch: cutlass.Constexpr):
    tx, ty, _ = cute.arch.thread_idx()
    bx, by, _ = cute.arch.block_idx()
    tile = cutlass.utils.SmemAllocator().allocate_tensor(
        Float32, cute.make_layout((TILE, TILE), stride=(pitch, 1))
    )
    for step in cutlass.range_constexpr(TILE // ROWS):
        tile[ty + step * ROWS, tx] = x[by * TILE + ty + step * ROWS, bx * TILE + tx]
    cute.arch.sync_threads()
    for step in cutlass.range_constexpr(TILE // ROWS):
        y[bx * TILE + ty + step * ROWS, by * TILE + tx] = tile[tx, ty + step * ROWS]  # <- turn_flat


@cute.jit
def turn_plain(x: cute.Tensor, y: cute.Tensor):
    turn_plain_kernel(x, y).launch(grid=[x.shape[1] // TILE, x.shape[0] // TILE, 1], block=[TILE, ROWS, 1])


@cute.jit
def turn_flat(x: cute.Tensor, y: cute.Tensor):
    turn_tile_kernel(x, y, TILE).launch(
        grid=[x.shape[1] // TILE, x.shape[0] // TILE, 1], block=[TILE, ROWS, 1]
    )


@cute.jit
def turn_padded(x: cute.Tensor, y: cute.Tensor):
    turn_tile_kernel(x, y, TILE + 1).launch(
        grid=[x.shape[1] // TILE, x.shape[0] // TILE, 1], block=[TILE, ROWS, 1]
    )


# ---- a product of matrices: each element for itself, and by tiles


@cute.kernel
def multiply_elements_kernel(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    tx, ty, _ = cute.arch.thread_idx()
    bx, by, _ = cute.arch.block_idx()
    row, column = by * TILE + ty, bx * TILE + tx
    total = Float32(0.0)
    for k in cutlass.range(a.shape[1], unroll=4):
        total += a[row, k] * b[k, column]  # <- multiply_elements
    c[row, column] = total


@cute.kernel
def multiply_tiles_kernel(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    tx, ty, _ = cute.arch.thread_idx()
    bx, by, _ = cute.arch.block_idx()
    memory, layout = cutlass.utils.SmemAllocator(), cute.make_layout((TILE, TILE), stride=(TILE, 1))
    left, right = memory.allocate_tensor(Float32, layout), memory.allocate_tensor(Float32, layout)
    row, column = by * TILE + ty, bx * TILE + tx
    total = Float32(0.0)
    for first in cutlass.range(a.shape[1] // TILE):
        left[ty, tx] = a[row, first * TILE + tx]
        right[ty, tx] = b[first * TILE + ty, column]
        cute.arch.sync_threads()
        for k in cutlass.range_constexpr(TILE):
            total += left[ty, k] * right[k, tx]
        cute.arch.sync_threads()
    c[row, column] = total


@cute.jit
def multiply_elements(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    multiply_elements_kernel(a, b, c).launch(
        grid=[c.shape[1] // TILE, c.shape[0] // TILE, 1], block=[TILE, TILE, 1]
    )


@cute.jit
def multiply_tiles(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    multiply_tiles_kernel(a, b, c).launch(
        grid=[c.shape[1] // TILE, c.shape[0] // TILE, 1], block=[TILE, TILE, 1]
    )


# ---- halves: one a thread, and eight


@cute.kernel
def halve_one_kernel(x: cute.Tensor, y: cute.Tensor):
    i = cute.arch.block_idx()[0] * THREADS + cute.arch.thread_idx()[0]
    y[i] = x[i] * Float16(0.5)  # <- halve_one


@cute.kernel
def halve_eight_kernel(x: cute.Tensor, y: cute.Tensor):
    i = cute.arch.block_idx()[0] * THREADS + cute.arch.thread_idx()[0]
    y[None, i].store(x[None, i].load() * Float16(0.5))


@cute.jit
def halve_one(x: cute.Tensor, y: cute.Tensor):
    halve_one_kernel(x, y).launch(grid=[cute.size(x) // THREADS, 1, 1], block=[THREADS, 1, 1])


@cute.jit
def halve_eight(x: cute.Tensor, y: cute.Tensor):
    halve_eight_kernel(
        cute.logical_divide(x, cute.make_layout(8)), cute.logical_divide(y, cute.make_layout(8))
    ).launch(grid=[cute.size(x) // (8 * THREADS), 1, 1], block=[THREADS, 1, 1])


# ---- a polynomial, in double precision and in single


@cute.kernel
def series_kernel(x: cute.Tensor, y: cute.Tensor, number: cutlass.Constexpr):
    i = cute.arch.block_idx()[0] * THREADS + cute.arch.thread_idx()[0]
    value = number(x[i])
    total = number(1.0)
    for k in cutlass.range_constexpr(DEGREE):
        total = total * value + number(1.0 / (k + 1))  # <- series_of_doubles
    y[i] = Float32(total)


@cute.jit
def series_of_doubles(x: cute.Tensor, y: cute.Tensor):
    series_kernel(x, y, Float64).launch(grid=[cute.size(x) // THREADS, 1, 1], block=[THREADS, 1, 1])


@cute.jit
def series_of_floats(x: cute.Tensor, y: cute.Tensor):
    series_kernel(x, y, Float32).launch(grid=[cute.size(x) // THREADS, 1, 1], block=[THREADS, 1, 1])


# ---- a histogram, counted in device memory and in the block


@cute.kernel
def count_in_memory_kernel(x: cute.Tensor, y: cute.Tensor):
    first = cute.arch.block_idx()[0] * THREADS * EACH + cute.arch.thread_idx()[0]
    for i in cutlass.range(EACH, unroll=4):
        cute.arch.atomic_add(y.iterator + x[first + i * THREADS], Int32(1))  # <- count_in_memory


@cute.kernel
def count_in_block_kernel(x: cute.Tensor, y: cute.Tensor):
    thread = cute.arch.thread_idx()[0]
    first = cute.arch.block_idx()[0] * THREADS * EACH + thread
    counts = cutlass.utils.SmemAllocator().allocate_tensor(Int32, cute.make_layout(BINS))
    counts[thread] = Int32(0)
    cute.arch.sync_threads()
    for i in cutlass.range(EACH, unroll=4):
        cute.arch.atomic_add(counts.iterator + x[first + i * THREADS], Int32(1))
    cute.arch.sync_threads()
    cute.arch.atomic_add(y.iterator + thread, counts[thread])


@cute.jit
def count_in_memory(x: cute.Tensor, y: cute.Tensor):
    count_in_memory_kernel(x, y).launch(grid=[cute.size(x) // (THREADS * EACH), 1, 1], block=[THREADS, 1, 1])


@cute.jit
def count_in_block(x: cute.Tensor, y: cute.Tensor):
    count_in_block_kernel(x, y).launch(grid=[cute.size(x) // (THREADS * EACH), 1, 1], block=[THREADS, 1, 1])


# ---- where an element lies: by quotients and rests, and by the block


@cute.kernel
def swap_by_quotients_kernel(x: cute.Tensor, y: cute.Tensor, height: Int32, width: Int32, depth: Int32):
    i = cute.arch.block_idx()[0] * THREADS + cute.arch.thread_idx()[0]
    layer = i // (width * depth)
    row, column = i // depth % width, i % depth  # <- swap_by_quotients
    y[(row * height + layer) * depth + column] = x[i]


@cute.kernel
def swap_by_blocks_kernel(x: cute.Tensor, y: cute.Tensor, height: Int32, width: Int32, depth: Int32):
    column = cute.arch.block_idx()[0] * THREADS + cute.arch.thread_idx()[0]
    row, layer = cute.arch.block_idx()[1], cute.arch.block_idx()[2]
    y[(row * height + layer) * depth + column] = x[(layer * width + row) * depth + column]


@cute.jit
def swap_by_quotients(x: cute.Tensor, y: cute.Tensor, height: Int32, width: Int32, depth: Int32):
    swap_by_quotients_kernel(x, y, height, width, depth).launch(
        grid=[cute.size(x) // THREADS, 1, 1], block=[THREADS, 1, 1]
    )


@cute.jit
def swap_by_blocks(x: cute.Tensor, y: cute.Tensor, height: Int32, width: Int32, depth: Int32):
    swap_by_blocks_kernel(x, y, height, width, depth).launch(
        grid=[depth // THREADS, width, height], block=[THREADS, 1, 1]
    )


# ---- a sum of each block: by a tree in shared memory, and by shuffles


@cute.kernel
def fold_tree_kernel(x: cute.Tensor, y: cute.Tensor):
    thread, block = cute.arch.thread_idx()[0], cute.arch.block_idx()[0]
    held = cutlass.utils.SmemAllocator().allocate_tensor(Float32, cute.make_layout(THREADS))
    held[thread] = x[block * THREADS + thread]
    cute.arch.sync_threads()
    for level in cutlass.range_constexpr(8):
        half = THREADS >> (level + 1)
        if thread < half:  # <- fold_tree
            held[thread] = held[thread] + held[thread + half]
        cute.arch.sync_threads()  # <- fold_tree
    if thread == 0:
        y[block] = held[0]


@cute.kernel
def fold_shuffles_kernel(x: cute.Tensor, y: cute.Tensor):
    thread, block = cute.arch.thread_idx()[0], cute.arch.block_idx()[0]
    held = cutlass.utils.SmemAllocator().allocate_tensor(Float32, cute.make_layout(WARPS))
    total = cute.arch.warp_reduction_sum(x[block * THREADS + thread])
    if thread % 32 == 0:
        held[thread // 32] = total
    cute.arch.sync_threads()
    if thread == 0:
        sums = held[0]
        for warp in cutlass.range_constexpr(1, WARPS):
            sums += held[warp]
        y[block] = sums


@cute.jit
def fold_tree(x: cute.Tensor, y: cute.Tensor):
    fold_tree_kernel(x, y).launch(grid=[cute.size(y), 1, 1], block=[THREADS, 1, 1])


@cute.jit
def fold_shuffles(x: cute.Tensor, y: cute.Tensor):
    fold_shuffles_kernel(x, y).launch(grid=[cute.size(y), 1, 1], block=[THREADS, 1, 1])


# ---- waves: exact sines, and fast ones


@cute.kernel
def waves_kernel(x: cute.Tensor, y: cute.Tensor, fast: cutlass.Constexpr):
    i = cute.arch.block_idx()[0] * THREADS + cute.arch.thread_idx()[0]
    value = x[i]
    total = Float32(0.0)
    for k in cutlass.range_constexpr(8):
        total += cute.math.sin(value * Float32(k + 1), fastmath=fast)  # <- waves_exact
    y[i] = total


@cute.jit
def waves_exact(x: cute.Tensor, y: cute.Tensor):
    waves_kernel(x, y, False).launch(grid=[cute.size(x) // THREADS, 1, 1], block=[THREADS, 1, 1])


@cute.jit
def waves_fast(x: cute.Tensor, y: cute.Tensor):
    waves_kernel(x, y, True).launch(grid=[cute.size(x) // THREADS, 1, 1], block=[THREADS, 1, 1])


# ---- few threads that each walk far: one load at a time, and eight


@cute.kernel
def pace_kernel(x: cute.Tensor, y: cute.Tensor, at_once: cutlass.Constexpr):
    i = cute.arch.block_idx()[0] * THREADS + cute.arch.thread_idx()[0]
    threads = y.shape[0]
    total = Float32(0.0)
    for step in cutlass.range(cute.size(x) // threads // at_once, unroll=1):
        held = cute.make_rmem_tensor(at_once, Float32)
        for k in cutlass.range_constexpr(at_once):
            held[k] = x[(step * at_once + k) * threads + i]  # <- pace_one
        for k in cutlass.range_constexpr(at_once):
            total += held[k]
    y[i] = total


@cute.jit
def pace_one(x: cute.Tensor, y: cute.Tensor):
    pace_kernel(x, y, 1).launch(grid=[y.shape[0] // THREADS, 1, 1], block=[THREADS, 1, 1])


@cute.jit
def pace_eight(x: cute.Tensor, y: cute.Tensor):
    pace_kernel(x, y, 8).launch(grid=[y.shape[0] // THREADS, 1, 1], block=[THREADS, 1, 1])


def case(launch: Callable[..., None], result: cupy.ndarray, *given: Any) -> Case:
    """Returns a kernel by its name, compiled, with its arguments; arrays come as tensors whose shape is known to the compiler."""
    tensors = [from_dlpack(one, assumed_align=16) if isinstance(one, cupy.ndarray) else one for one in given]
    compiled = cute.compile[cute.GenerateLineInfo(True)](launch, *tensors)
    return launch.__name__, lambda: compiled(*tensors), result


def of_cute() -> Iterator[list[Case]]:
    x = random(1 << 24)
    y = cupy.zeros_like(x)
    for kernels in (
        (scale_chunks, scale_neighbours),
        (series_of_doubles, series_of_floats),
        (waves_exact, waves_fast),
    ):
        yield [case(one, y, x, y) for one in kernels]
    rows, sums = random(16384, 2048), cupy.zeros(16384, "float32")
    yield [case(one, sums, rows, sums) for one in (sums_of_threads, sums_of_warps)]
    square, turned = random(4096, 4096), cupy.zeros((4096, 4096), "float32")
    yield [case(one, turned, square, turned) for one in (turn_plain, turn_flat, turn_padded)]
    a, b, c = random(1024, 1024), random(1024, 1024), cupy.zeros((1024, 1024), "float32")
    yield [case(one, c, a, b, c) for one in (multiply_elements, multiply_tiles)]
    halves, halved = random(1 << 26).astype("float16"), cupy.zeros(1 << 26, "float16")
    yield [case(one, halved, halves, halved) for one in (halve_one, halve_eight)]
    bins, counts = (
        cupy.random.default_rng(2).integers(0, BINS, 1 << 24, dtype="int32"),
        cupy.zeros(BINS, "int32"),
    )
    yield [case(one, counts, bins, counts) for one in (count_in_memory, count_in_block)]
    yield [
        case(one, y, x, y, Int32(32), Int32(512), Int32(1024)) for one in (swap_by_quotients, swap_by_blocks)
    ]
    folded = cupy.zeros((1 << 24) // THREADS, "float32")
    yield [case(one, folded, x, folded) for one in (fold_tree, fold_shuffles)]
    paced = cupy.zeros(132 * 4 * THREADS, "float32")
    long = random(132 * 4 * THREADS * 128)
    yield [case(one, paced, long, paced) for one in (pace_one, pace_eight)]


ALL = {
    of_cute: [
        "scale_chunks", "scale_neighbours", "series_of_doubles", "series_of_floats", "waves_exact", "waves_fast", "sums_of_threads", "sums_of_warps",
        "turn_plain", "turn_flat", "turn_padded", "multiply_elements", "multiply_tiles", "halve_one", "halve_eight", "count_in_memory", "count_in_block",
        "swap_by_quotients", "swap_by_blocks", "fold_tree", "fold_shuffles", "pace_one", "pace_eight",
    ],
}  # fmt: skip


if __name__ == "__main__":
    run_all(ALL)
