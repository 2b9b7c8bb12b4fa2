"""The Triton kernels of python_samples.py."""

import triton
import triton.language as tl


@triton.jit
def norm_body(x, out, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + at)  # <- norm_one_warp
    v -= tl.sum(v, axis=0) / BLOCK
    v *= tl.rsqrt(tl.sum(v * v, axis=0) / BLOCK + 1e-5)
    tl.store(out + at, v)  # <- norm_one_warp


@triton.jit
def norm_one_warp(x, out, BLOCK: tl.constexpr):
    norm_body(x, out, BLOCK)


@triton.jit
def norm_eight_warps(x, out, BLOCK: tl.constexpr):
    norm_body(x, out, BLOCK)


# ---- rows of 100 elements picked by an index: programs of 1,024 elements with a mask, then without


@triton.jit
def embed_rows(table, index, out, WIDTH: tl.constexpr, BLOCK: tl.constexpr):
    row, j = tl.program_id(0), tl.arange(0, BLOCK)
    v = tl.load(table + tl.load(index + row) * WIDTH + j, mask=j < WIDTH)  # <- embed_rows
    tl.store(out + row * WIDTH + j, v, mask=j < WIDTH)  # <- embed_rows


@triton.jit
def embed_flat(table, index, out, WIDTH: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(table + tl.load(index + i // WIDTH) * WIDTH + i % WIDTH))


# ---- a histogram with an atomic for each element, then one for each bin of a program


@triton.jit
def bins_each(x, bins, BLOCK: tl.constexpr):
    v = tl.load(x + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK))
    tl.atomic_add(bins + v, 1)  # <- bins_each


@triton.jit
def bins_program(x, bins, BLOCK: tl.constexpr):
    v = tl.load(x + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK))
    tl.atomic_add(bins + tl.arange(0, 256), tl.histogram(v, 256))


# ---- a flat product of matrices with a long inner dimension: by 16 programs, then by 16 for each of them


@triton.jit
def product_body(a, b, c, N, DEPTH, K: tl.constexpr):
    each = DEPTH // tl.num_programs(2)
    i, j = tl.program_id(0) * 64 + tl.arange(0, 64), tl.program_id(1) * 64 + tl.arange(0, 64)
    k = tl.program_id(2) * each + tl.arange(0, K)
    left, right = a + i[:, None] * DEPTH + k[None, :], b + k[:, None] * N + j[None, :]
    total = tl.zeros((64, 64), dtype=tl.float32)
    for _ in range(0, each, K):
        total = tl.dot(tl.load(left), tl.load(right), total)
        left += K
        right += K * N
    tl.atomic_add(c + i[:, None] * N + j[None, :], total)


@triton.jit
def product_whole(a, b, c, N, DEPTH, K: tl.constexpr):
    product_body(a, b, c, N, DEPTH, K)


@triton.jit
def product_parts(a, b, c, N, DEPTH, K: tl.constexpr):
    product_body(a, b, c, N, DEPTH, K)


# ---- embed_rows, with sixteen rows for each program


@triton.jit
def embed_rows_sixteen(table, index, out, WIDTH: tl.constexpr, BLOCK: tl.constexpr):
    j = tl.arange(0, BLOCK)
    for k in tl.static_range(16):
        row = tl.program_id(0) * 16 + k
        v = tl.load(table + tl.load(index + row) * WIDTH + j, mask=j < WIDTH)
        tl.store(out + row * WIDTH + j, v, mask=j < WIDTH)
