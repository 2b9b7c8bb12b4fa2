"""The Numba kernels of python_samples.py."""

import math

import numpy as np
from numba import cuda, float32

# ---- options: Python's literals make doubles, then floats

A1, A2, A3, A4, A5 = 0.31938153, -0.356563782, 1.781477937, -1.821255978, 1.330274429
ONE, HALF, RATE, SPREAD = np.float32(1), np.float32(0.5), np.float32(0.02), np.float32(0.3)
K, SCALE = np.float32(0.2316419), np.float32(0.39894228)
B1, B2, B3, B4, B5 = np.float32(A1), np.float32(A2), np.float32(A3), np.float32(A4), np.float32(A5)


@cuda.jit(device=True, lineinfo=True)
def normal_literals(d):
    k = 1.0 / (1.0 + 0.2316419 * abs(d))
    tail = (
        0.39894228 * math.exp(-0.5 * d * d) * (k * (A1 + k * (A2 + k * (A3 + k * (A4 + k * A5)))))
    )  # <- options_literals
    return 1.0 - tail if d > 0 else tail


@cuda.jit(lineinfo=True)
def options_literals(spot, strike, call):
    i = cuda.grid(1)
    if i < spot.size:
        s, x = spot[i], strike[i]
        d = (math.log(s / x) + (0.02 + 0.5 * 0.3 * 0.3)) / 0.3
        call[i] = s * normal_literals(d) - x * math.exp(-0.02) * normal_literals(
            d - 0.3
        )  # <- options_literals


@cuda.jit(device=True, lineinfo=True)
def normal_floats(d):
    k = ONE / (ONE + K * abs(d))
    tail = SCALE * math.exp(-HALF * d * d) * (k * (B1 + k * (B2 + k * (B3 + k * (B4 + k * B5)))))
    return ONE - tail if d > np.float32(0) else tail


@cuda.jit(lineinfo=True)
def options_floats(spot, strike, call):
    i = cuda.grid(1)
    if i < spot.size:
        s, x = spot[i], strike[i]
        d = (math.log(s / x) + (RATE + HALF * SPREAD * SPREAD)) / SPREAD
        call[i] = s * normal_floats(d) - x * math.exp(-RATE) * normal_floats(d - SPREAD)


# ---- a picture blurred: neighbouring threads on rows, as the order of cuda.grid suggests, then on columns


@cuda.jit(lineinfo=True)
def blur_rows_first(picture, out):
    i, j = cuda.grid(2)
    if 1 <= i < picture.shape[0] - 1 and 1 <= j < picture.shape[1] - 1:
        total = (
            picture[i - 1, j] + picture[i + 1, j] + picture[i, j - 1] + picture[i, j + 1]
        )  # <- blur_rows_first
        out[i, j] = total * float32(0.125) + picture[i, j] * float32(0.5)  # <- blur_rows_first


@cuda.jit(lineinfo=True)
def blur_columns_first(picture, out):
    j, i = cuda.grid(2)
    if 1 <= i < picture.shape[0] - 1 and 1 <= j < picture.shape[1] - 1:
        total = picture[i - 1, j] + picture[i + 1, j] + picture[i, j - 1] + picture[i, j + 1]
        out[i, j] = total * float32(0.125) + picture[i, j] * float32(0.5)


# ---- a product of matrices: straight from global memory, then through tiles of 32 x 32


@cuda.jit(lineinfo=True)
def matmul_naive(a, b, c):
    j, i = cuda.grid(2)
    total = float32(0)
    for k in range(a.shape[1]):
        total += a[i, k] * b[k, j]  # <- matmul_naive
    c[i, j] = total


@cuda.jit(lineinfo=True)
def matmul_tiled(a, b, c):
    left, right = cuda.shared.array((32, 32), float32), cuda.shared.array((32, 32), float32)
    j, i = cuda.grid(2)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    total = float32(0)
    for first in range(0, a.shape[1], 32):
        left[y, x] = a[i, first + x]
        right[y, x] = b[first + y, j]
        cuda.syncthreads()
        for k in range(32):
            total += left[y, k] * right[k, x]
        cuda.syncthreads()
    c[i, j] = total
