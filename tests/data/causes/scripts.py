#!/usr/bin/env python3
"""Runs kernels of Triton and CuPy, each beside one that differs by one change: scripts.py [NAME ...]

Verifies that the kernels of a set give the same result, prints each kernel's time in us without the profiler (the best of five),
and launches it once between cudaProfilerStart and Stop, for ncu. With names, it runs these alone.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import cupy
import torch
import triton
import triton.language as tl

# ---- pixels of 16 channels of which four are used, then the four as planes


@triton.jit
def gray_interleaved(pixels, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    keep = i < n
    gray = (
        tl.load(pixels + i * 16, mask=keep) * 0.3 + tl.load(pixels + i * 16 + 5, mask=keep) * 0.4
    )  # <- gray_interleaved
    gray += tl.load(pixels + i * 16 + 10, mask=keep) * 0.3  # <- gray_interleaved
    tl.store(out + i, gray, mask=keep)


@triton.jit
def gray_planes(planes, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    keep = i < n
    gray = tl.load(planes + i, mask=keep) * 0.3 + tl.load(planes + 5 * n + i, mask=keep) * 0.4
    gray += tl.load(planes + 10 * n + i, mask=keep) * 0.3
    tl.store(out + i, gray, mask=keep)


# ---- softmax of the rows of a matrix that is stored by columns, then by rows


@triton.jit
def softmax_apart(x, out, row_stride, column_stride, columns, BLOCK: tl.constexpr):
    row, j = tl.program_id(0), tl.arange(0, BLOCK)
    at = x + row * row_stride + j * column_stride
    v = tl.load(at, mask=j < columns, other=-float("inf"))  # <- softmax_apart
    v = tl.exp(v - tl.max(v, axis=0))
    tl.store(out + row * columns + j, v / tl.sum(v, axis=0), mask=j < columns)


@triton.jit
def softmax_beside(x, out, columns, BLOCK: tl.constexpr):
    row, j = tl.program_id(0), tl.arange(0, BLOCK)
    v = tl.load(x + row * columns + j, mask=j < columns, other=-float("inf"))
    v = tl.exp(v - tl.max(v, axis=0))
    tl.store(out + row * columns + j, v / tl.sum(v, axis=0), mask=j < columns)


# ---- a series evaluated in double precision, then in single


@triton.jit
def series_double(x, out, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i).to(tl.float64)  # <- series_double
    total = v
    for _ in range(64):
        total = total * v * 0.5 + 1.0  # <- series_double
    tl.store(out + i, total.to(tl.float32))  # <- series_double


@triton.jit
def series_single(x, out, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i)
    total = v
    for _ in range(64):
        total = total * v * 0.5 + 1.0
    tl.store(out + i, total)


# ---- a sum of vectors by programs of 128 elements, then of 1,024


@triton.jit
def add_few(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n) + tl.load(y + i, mask=i < n), mask=i < n)  # <- add_few


@triton.jit
def add_many(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n) + tl.load(y + i, mask=i < n), mask=i < n)


# ---- products of matrices: 64 x 64 tiles without and with stages; 128 x 256 tiles by four warps, whose registers do not suffice, then by eight


@triton.jit
def matmul_body(a, b, c, N, M: tl.constexpr, L: tl.constexpr, K: tl.constexpr):
    i, j, k = tl.program_id(0) * M + tl.arange(0, M), tl.program_id(1) * L + tl.arange(0, L), tl.arange(0, K)
    left, right = a + i[:, None] * N + k[None, :], b + k[:, None] * N + j[None, :]
    total = tl.zeros((M, L), dtype=tl.float32)
    for _ in range(0, N, K):
        total = tl.dot(tl.load(left), tl.load(right), total)  # <- matmul
        left += K
        right += K * N
    tl.store(c + i[:, None] * N + j[None, :], total)


@triton.jit
def matmul_one_stage(a, b, c, N, M: tl.constexpr, L: tl.constexpr, K: tl.constexpr):
    matmul_body(a, b, c, N, M, L, K)


@triton.jit
def matmul_stages(a, b, c, N, M: tl.constexpr, L: tl.constexpr, K: tl.constexpr):
    matmul_body(a, b, c, N, M, L, K)


@triton.jit
def matmul_four_warps(a, b, c, N, M: tl.constexpr, L: tl.constexpr, K: tl.constexpr):
    matmul_body(a, b, c, N, M, L, K)


@triton.jit
def matmul_eight_warps(a, b, c, N, M: tl.constexpr, L: tl.constexpr, K: tl.constexpr):
    matmul_body(a, b, c, N, M, L, K)


# ---- sums of the columns of a matrix: by few programs that walk down all rows, then by many that share the rows


@triton.jit
def columns_few(x, out, rows, columns, BLOCK: tl.constexpr):
    j = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for row in range(rows):
        total += tl.load(x + row * columns + j)  # <- columns_few
    tl.store(out + j, total)


@triton.jit
def columns_shared(x, out, rows, columns, BLOCK: tl.constexpr):
    j = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for row in range(tl.program_id(1), rows, tl.num_programs(1)):
        total += tl.load(x + row * columns + j)
    tl.atomic_add(out + j, total)


# ---- a total with one atomic for each element, then one for each program


@triton.jit
def total_each(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(out + i * 0, tl.load(x + i))  # <- total_each


@triton.jit
def total_program(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(out, tl.sum(tl.load(x + i), axis=0))


@triton.jit
def matmul_large_tiles(a, b, c, N, M: tl.constexpr, L: tl.constexpr, K: tl.constexpr):
    matmul_body(a, b, c, N, M, L, K)


# ---- CuPy: an array and another's transpose, then both in the same order; literals in double precision, then in single

add_transposed, add_alike = (
    cupy.ElementwiseKernel("float32 x, float32 y", "float32 z", "z = x * 2 + y", name)
    for name in ("add_transposed", "add_alike")
)
curve_of_doubles = cupy.ElementwiseKernel(
    "float32 x", "float32 z", "z = exp(-0.5 * x * x) / (1.0 + x) + log(2.0 + x)", "curve_of_doubles"
)
curve_of_floats = cupy.ElementwiseKernel(
    "float32 x", "float32 z", "z = expf(-0.5f * x * x) / (1.0f + x) + logf(2.0f + x)", "curve_of_floats"
)

Case = tuple[str, Callable[[], object], torch.Tensor]


def sets() -> list[list[Case]]:
    """Returns the kernels of each set, whose results are the same: a name, what launches it, and its result."""
    torch.manual_seed(1)
    n = 1 << 24
    x, y, out = (torch.rand(n, device="cuda") for _ in range(3))
    pixels = torch.rand(n // 4, 16, device="cuda")
    planes = pixels.t().contiguous()
    gray = torch.empty(n // 4, device="cuda")
    rows = torch.rand(8192, 2048, device="cuda")
    apart = rows.t().contiguous()
    a, b = (torch.rand(4096, 4096, device="cuda").half() - 0.5 for _ in range(2))
    c = torch.empty(4096, 4096, device="cuda")
    sums = torch.zeros(2048, device="cuda")
    u, v = cupy.random.rand(4096, 4096, dtype="float32"), cupy.random.rand(4096, 4096, dtype="float32")
    w, z = cupy.ascontiguousarray(v.T), cupy.empty_like(u)

    def launch(kernel, grid, result, *arguments, **options):
        return kernel.__name__, lambda: kernel[grid](*arguments, **options), result

    def again(case):
        name, *rest = case
        return f"{name}-again", *rest

    def product(kernel, tile, depth, warps, stages):
        grid = (4096 // tile[0], 4096 // tile[1])
        options = {"M": tile[0], "L": tile[1], "K": depth, "num_warps": warps, "num_stages": stages}
        return launch(kernel, grid, c, a, b, c, 4096, **options)

    def elementwise(kernel, *arguments):
        return kernel.name, lambda: kernel(*arguments, z), torch.as_tensor(z)

    return [
        [
            launch(gray_interleaved, (n // 4 // 1024,), gray, pixels, gray, n // 4, BLOCK=1024),
            launch(gray_planes, (n // 4 // 1024,), gray, planes, gray, n // 4, BLOCK=1024),
        ],
        [
            launch(softmax_apart, (8192,), out, apart, out, 1, 8192, 2048, BLOCK=2048),
            launch(softmax_beside, (8192,), out, rows, out, 2048, BLOCK=2048),
        ],
        [
            launch(series_double, (n // 1024,), out, x, out, BLOCK=1024),
            launch(series_single, (n // 1024,), out, x, out, BLOCK=1024),
        ],
        [
            launch(add_few, (n // 128,), out, x, y, out, n, BLOCK=128),
            launch(add_many, (n // 1024,), out, x, y, out, n, BLOCK=1024),
        ],
        [
            product(matmul_one_stage, (64, 64), 32, 4, 1),
            product(matmul_stages, (64, 64), 32, 4, 4),
        ],
        [
            product(matmul_four_warps, (128, 256), 64, 4, 3),
            product(matmul_eight_warps, (128, 256), 64, 8, 3),
        ],
        [
            launch(columns_few, (8,), sums, rows, sums, 8192, 2048, BLOCK=256),
            launch(columns_shared, (8, 128), sums, rows, sums, 8192, 2048, BLOCK=256),
        ],
        [
            launch(total_each, (n // 4096,), sums, x, sums, n, BLOCK=1024),
            launch(total_program, (n // 4096,), sums, x, sums, n, BLOCK=1024),
        ],
        [
            elementwise(add_transposed, u, v.T),
            elementwise(add_alike, u, w),
        ],
        [
            elementwise(curve_of_doubles, u),
            elementwise(curve_of_floats, u),
        ],
        [
            again(product(matmul_one_stage, (64, 64), 32, 4, 1)),
            again(product(matmul_stages, (64, 64), 32, 4, 4)),
            product(matmul_large_tiles, (128, 128), 32, 4, 1),
        ],
    ]


def best_of_five(launch: Callable[[], object]) -> float:
    """Returns the shortest time of a launch in microseconds."""
    times = []
    for _ in range(5):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        launch()
        end.record()
        torch.cuda.synchronize()
        times.append(1000 * begin.elapsed_time(end))
    return min(times)


def run_sets(sets: Callable[[], list[list[Case]]]) -> None:
    """Runs the kernels of all sets, or those that the command names."""
    wanted, failed = sys.argv[1:], False
    torch.cuda.set_device(0)
    # CuPy launches on the stream on which PyTorch's events are recorded.
    with cupy.cuda.ExternalStream(torch.cuda.current_stream().cuda_stream):
        for cases in sets():
            first = None
            for name, launch, result in cases:
                if wanted and name not in wanted:
                    continue
                try:
                    result.zero_()
                    launch()
                    found = result.double().clone()
                except Exception as error:  # the others are still to be recorded
                    print(f"{name}: {error}"[:300], file=sys.stderr)
                    failed = True
                    continue
                first = found if first is None else first
                if not torch.allclose(found, first, rtol=1e-2, atol=1e-2) or not found.any():
                    print(f"{name}: the result is wrong", file=sys.stderr)
                    failed = True
                print(f"{name},{best_of_five(launch):.2f}", flush=True)
                torch.cuda.cudart().cudaProfilerStart()
                launch()
                torch.cuda.synchronize()
                torch.cuda.cudart().cudaProfilerStop()
    sys.exit(failed)


if __name__ == "__main__":
    run_sets(sets)
