#!/usr/bin/env python3
"""Runs kernels of Triton, CuPy and Numba, each beside one that differs by one change: python_samples.py [NAME ...]

Like scripts.py, but written and labelled before the diagnosis had seen any of them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping

import cupy
import numpy as np

Case = tuple[str, Callable[[], object], cupy.ndarray]
FLOAT = np.float32


def random(*shape: int) -> cupy.ndarray:
    return cupy.random.default_rng(1).random(shape, dtype="float32")


# ---- CuPy: powers of floats, then roots and products

powers_of_floats = cupy.ElementwiseKernel(
    "float32 x",
    "float32 z",
    "z = powf(x, 1.5f) + powf(x, 2.5f) + powf(x, 3.5f) + powf(x, 4.5f)",
    "powers_of_floats",
)
roots_of_floats = cupy.ElementwiseKernel(
    "float32 x",
    "float32 z",
    "float r = x * sqrtf(x); z = r + r * x + r * x * x + r * x * x * x",
    "roots_of_floats",
)

# ---- CuPy: the variance along columns with sums in double precision, then in single

VARIANCE = r"""
extern "C" __global__ void NAME(const float* __restrict__ x, float* __restrict__ out, int rows, int columns) {
  int j = blockIdx.x * blockDim.x + threadIdx.x;
  TYPE sum = 0, square = 0, cube = 0, fourth = 0;
  for (int i = blockIdx.y; i < rows; i += gridDim.y) {
    TYPE v = x[(size_t)i * columns + j];
    sum += v;
    square += v * v;
    cube += v * v * v;
    fourth += v * v * v * v;
  }
  atomicAdd(&out[j], (float)(square - sum * sum / rows + cube * (TYPE)0.001 + fourth * (TYPE)0.002));
}
"""

# ---- CuPy: pixels above a threshold, byte by byte, then 16 at once

THRESHOLD = r"""
extern "C" __global__ void threshold_bytes(const unsigned char* __restrict__ x, unsigned char* __restrict__ out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = x[i] > 127 ? 255 : 0;
}
extern "C" __global__ void threshold_vectors(const uint4* __restrict__ x, uint4* __restrict__ out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  uint4 v = x[i];
  unsigned* w = &v.x;
#pragma unroll
  for (int k = 0; k < 4; ++k) w[k] = ((w[k] >> 7) & 0x01010101u) * 255u;
  out[i] = v;
}
"""

# ---- CuPy: charges of particles deposited on 512 cells: in global memory, then in shared memory

DEPOSIT = r"""
extern "C" __global__ void deposit_global(const float* __restrict__ x, float* __restrict__ out, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    float at = x[i] * 511.0f;
    int cell = (int)at;
    atomicAdd(&out[cell], 1.0f - (at - cell));
    atomicAdd(&out[cell + 1], at - cell);
  }
}
extern "C" __global__ void deposit_shared(const float* __restrict__ x, float* __restrict__ out, int n) {
  __shared__ float mine[513];
  for (int i = threadIdx.x; i < 513; i += blockDim.x) mine[i] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    float at = x[i] * 511.0f;
    int cell = (int)at;
    atomicAdd(&mine[cell], 1.0f - (at - cell));
    atomicAdd(&mine[cell + 1], at - cell);
  }
  __syncthreads();
  for (int i = threadIdx.x; i < 513; i += blockDim.x) atomicAdd(&out[i], mine[i]);
}
"""


def of_cupy() -> Iterator[list[Case]]:
    n = 1 << 24
    u, z = random(1 << 26), cupy.empty(1 << 26, "float32")
    yield [
        (kernel.name, lambda kernel=kernel: kernel(u, z), z) for kernel in (powers_of_floats, roots_of_floats)
    ]
    columns = cupy.zeros(8192, "float32")
    yield [
        (
            name,
            lambda kernel=kernel: kernel((32, 32), (256,), (u, columns, np.int32(8192), np.int32(8192))),
            columns,
        )
        for name, type_ in (("variance_double", "double"), ("variance_single", "float"))
        for kernel in [cupy.RawKernel(VARIANCE.replace("NAME", name).replace("TYPE", type_), name)]
    ]
    pixels = (random(1 << 26) * 255).astype("uint8")
    bright = cupy.empty(1 << 26, "uint8")
    code = cupy.RawModule(code=THRESHOLD)
    few, many = code.get_function("threshold_bytes"), code.get_function("threshold_vectors")
    yield [
        ("threshold_bytes", lambda: few((1 << 18,), (256,), (pixels, bright, np.int32(1 << 26))), bright),
        ("threshold_vectors", lambda: many((1 << 14,), (256,), (pixels, bright, np.int32(1 << 22))), bright),
    ]
    cells = cupy.zeros(520, "float32")
    code = cupy.RawModule(code=DEPOSIT)
    yield [
        (name, lambda kernel=kernel: kernel((528,), (256,), (u, cells, np.int32(n))), cells)
        for name in ("deposit_global", "deposit_shared")
        for kernel in [code.get_function(name)]
    ]


def of_triton() -> Iterator[list[Case]]:
    import python_samples_triton as kernels
    import torch

    def case(kernel, grid, result, *arguments, **options):
        return kernel.__name__, lambda: kernel[grid](*arguments, **options), cupy.from_dlpack(result)

    def again(case):
        name, *rest = case
        return f"{name}-again", *rest

    torch.manual_seed(1)
    n = 1 << 24
    x, out = torch.rand(n, device="cuda"), torch.empty(n, device="cuda")
    # rows of 8,192 normalised by one warp, whose registers do not suffice, then by eight
    yield [
        case(kernels.norm_one_warp, (n // 8192,), out, x, out, BLOCK=8192, num_warps=1),
        case(kernels.norm_eight_warps, (n // 8192,), out, x, out, BLOCK=8192, num_warps=8),
    ]
    table, index = (
        torch.rand(20000, 100, device="cuda"),
        torch.randint(0, 20000, (1 << 17,), device="cuda", dtype=torch.int32),
    )
    found = torch.empty(1 << 17, 100, device="cuda")
    embedding = (table, index, found)
    rows = case(kernels.embed_rows, (1 << 17,), found, *embedding, WIDTH=100, BLOCK=1024)
    flat = case(kernels.embed_flat, ((1 << 17) * 100 // 1024,), found, *embedding, WIDTH=100, BLOCK=1024)
    yield [rows, flat]
    yield [
        again(rows),
        again(flat),
        case(kernels.embed_rows_sixteen, (1 << 13,), found, *embedding, WIDTH=100, BLOCK=1024),
    ]
    bins, values = (
        torch.zeros(256, device="cuda", dtype=torch.int32),
        torch.randint(0, 256, (n,), device="cuda", dtype=torch.int32),
    )
    yield [
        case(kernels.bins_each, (n // 4096,), bins, values, bins, BLOCK=4096),
        case(kernels.bins_program, (n // 4096,), bins, values, bins, BLOCK=4096),
    ]
    a, b = (
        torch.rand(128, 16384, device="cuda").half() - 0.5,
        torch.rand(16384, 512, device="cuda").half() - 0.5,
    )
    c = torch.zeros(128, 512, device="cuda")
    yield [
        case(kernels.product_whole, (2, 8, 1), c, a, b, c, 512, 16384, K=64, num_stages=4),
        case(kernels.product_parts, (2, 8, 16), c, a, b, c, 512, 16384, K=64, num_stages=4),
    ]


def of_numba() -> Iterator[list[Case]]:
    import python_samples_numba

    kernels, n = vars(python_samples_numba), 1 << 22
    spot, strike, call = (
        random(n) * FLOAT(100) + FLOAT(1),
        random(n) * FLOAT(100) + FLOAT(1),
        cupy.empty(n, "float32"),
    )
    yield [
        (name, lambda kernel=kernels[name]: kernel[n // 256, 256](spot, strike, call), call)
        for name in ("options_literals", "options_floats")
    ]
    picture, blurred = random(4096, 4096), cupy.zeros((4096, 4096), "float32")
    yield [
        (name, lambda kernel=kernels[name]: kernel[(256, 256), (16, 16)](picture, blurred), blurred)
        for name in ("blur_rows_first", "blur_columns_first")
    ]
    left, right, product = random(1024, 1024), random(1024, 1024), cupy.empty((1024, 1024), "float32")
    yield [
        (
            name,
            lambda kernel=kernels[name]: kernel[(32, 32), (32, 32)](left, right, product),
            product,
        )
        for name in ("matmul_naive", "matmul_tiled")
    ]


ALL = {
    of_cupy: ["powers_of_floats", "roots_of_floats", "variance_double", "variance_single", "threshold_bytes", "threshold_vectors", "deposit_global", "deposit_shared"],
    of_triton: ["norm_one_warp", "norm_eight_warps", "embed_rows", "embed_flat", "embed_rows-again", "embed_flat-again", "embed_rows_sixteen", "bins_each", "bins_program", "product_whole", "product_parts"],
    of_numba: ["options_literals", "options_floats", "blur_rows_first", "blur_columns_first", "matmul_naive", "matmul_tiled"],
}  # fmt: skip


def best_of_five(launch: Callable[[], object]) -> float:
    """Returns the shortest time of a launch in microseconds."""
    times = []
    for _ in range(5):
        begin, end = cupy.cuda.Event(), cupy.cuda.Event()
        begin.record()
        launch()
        end.record()
        end.synchronize()
        times.append(1000 * cupy.cuda.get_elapsed_time(begin, end))
    return min(times)


def run(cases: list[Case], wanted: list[str]) -> bool:
    """Runs the kernels of one set; returns whether all were right."""
    first, right = None, True
    for name, launch, result in cases:
        if wanted and name not in wanted:
            continue
        try:
            result.fill(0)
            launch()
            found = result.astype("float64")
        except Exception as error:  # the others are still to be recorded
            print(f"{name}: {error}"[:300], file=sys.stderr)
            right = False
            continue
        first = found if first is None else first
        if not cupy.allclose(found, first, rtol=1e-2, atol=1e-2) or not found.any():
            print(f"{name}: the result is wrong", file=sys.stderr)
            right = False
        print(f"{name},{best_of_five(launch):.2f}", flush=True)
        cupy.cuda.runtime.profilerStart()
        launch()
        cupy.cuda.Device().synchronize()
        cupy.cuda.runtime.profilerStop()
    return right


def run_all(kinds: Mapping[Callable[[], Iterator[list[Case]]], list[str]]) -> None:
    """Runs the kernels of these kinds, or those that the command line names."""
    wanted, right = sys.argv[1:], True
    for kind, names in kinds.items():
        if wanted and not set(wanted) & set(names):
            continue
        try:
            for cases in kind():
                if not wanted or set(wanted) & {name for name, *_ in cases}:
                    right &= run(cases, wanted)
        except Exception as error:  # a library that is missing
            print(f"{kind.__name__}: {error}"[:300], file=sys.stderr)
            right = False
    sys.exit(not right)


if __name__ == "__main__":
    run_all(ALL)
