#!/usr/bin/env python3
"""Runs kernels of Triton whose tiles are longer than the rows they hold, and as long: row_tiles.py [NAME ...]

What lies behind the end of a row is masked off, and computed with all the same. As scripts.py, it verifies the kernels, prints their
times, and launches each once for ncu.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from scripts import Case, run_sets

# ---- rows of 2,048 elements divided by their mean square, in a tile for the longest rows and in one for these


@triton.jit
def norm_body(x, weights, out, length, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * length
    i = tl.arange(0, BLOCK)
    inside = i < length
    values = tl.load(x + row + i, mask=inside, other=0.0).to(tl.float32)  # <- norm_for_longest
    scale = tl.rsqrt(tl.sum(values * values) / length + 1e-6)  # <- norm_for_longest
    weight = tl.load(weights + i, mask=inside, other=0.0).to(tl.float32)  # <- norm_for_longest
    tl.store(out + row + i, (values * scale * weight).to(tl.float16), mask=inside)  # <- norm_for_longest


@triton.jit
def norm_for_longest(x, weights, out, length):
    norm_body(x, weights, out, length, BLOCK=16384)


@triton.jit
def norm_for_these(x, weights, out, length):
    norm_body(x, weights, out, length, BLOCK=2048)


# ---- the softmax of rows of 5,120 elements, in the next power of two and in two pieces that are powers of two


@triton.jit
def softmax_in_one(x, out, LENGTH: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * LENGTH
    i = tl.arange(0, BLOCK)
    inside = i < LENGTH
    values = tl.load(x + row + i, mask=inside, other=-float("inf")).to(tl.float32)  # <- softmax_in_one
    powers = tl.exp(values - tl.max(values))  # <- softmax_in_one
    tl.store(out + row + i, (powers / tl.sum(powers)).to(tl.float16), mask=inside)  # <- softmax_in_one


@triton.jit
def softmax_in_two(x, out, LENGTH: tl.constexpr, LONG: tl.constexpr, SHORT: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * LENGTH
    i, j = tl.arange(0, LONG), LONG + tl.arange(0, SHORT)
    first = tl.load(x + row + i).to(tl.float32)
    second = tl.load(x + row + j).to(tl.float32)
    largest = tl.maximum(tl.max(first), tl.max(second))
    first, second = tl.exp(first - largest), tl.exp(second - largest)
    whole = tl.sum(first) + tl.sum(second)
    tl.store(out + row + i, (first / whole).to(tl.float16))
    tl.store(out + row + j, (second / whole).to(tl.float16))


def sets() -> list[list[Case]]:
    """Returns the kernels of each set, whose results are the same: a name, what launches it, and its result."""
    torch.manual_seed(1)
    rows, short, long = 16384, 2048, 5120
    x = torch.randn(rows, short, device="cuda").half()
    weights = torch.rand(short, device="cuda").half()
    normed = torch.empty_like(x)
    scores = torch.randn(rows, long, device="cuda").half()
    shares = torch.empty_like(scores)

    def norm(kernel):
        return kernel.__name__, lambda: kernel[(rows,)](x, weights, normed, short, num_warps=8), normed

    def softmax(kernel, **sizes):
        return kernel.__name__, lambda: kernel[(rows,)](scores, shares, long, **sizes, num_warps=4), shares

    return [
        [norm(norm_for_longest), norm(norm_for_these)],
        [softmax(softmax_in_one, BLOCK=8192), softmax(softmax_in_two, LONG=4096, SHORT=1024)],
    ]


if __name__ == "__main__":
    run_sets(sets)
