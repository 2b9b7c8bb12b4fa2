#!/usr/bin/env python3
"""Runs kernels of Triton whose tensor cores multiply floats, and the halves that these were made of: tensor_types.py [NAME ...]

As scripts.py, it verifies the kernels, prints their times, and launches each once for ncu.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from scripts import Case, run_sets

# ---- the best score of each query: products with all keys, whose scales are applied to the keys or to the scores


@triton.jit
def best_scaled_keys(
    queries, keys, scales, best, KEYS: tl.constexpr, BLOCK: tl.constexpr, DEPTH: tl.constexpr
):
    i, d, j = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), tl.arange(0, DEPTH), tl.arange(0, BLOCK)
    query = tl.load(queries + i[:, None] * DEPTH + d[None, :]).to(tl.float32)
    found = tl.full([BLOCK], -float("inf"), tl.float32)
    for start in range(0, KEYS, BLOCK):
        key = tl.load(keys + (start + j)[:, None] * DEPTH + d[None, :])
        scaled = key * tl.load(scales + start + j)[:, None]  # <- best_scaled_keys
        score = tl.dot(query, tl.trans(scaled))  # <- best_scaled_keys
        found = tl.maximum(found, tl.max(score, 1))
    tl.store(best + i, found)


@triton.jit
def best_scaled_scores(
    queries, keys, scales, best, KEYS: tl.constexpr, BLOCK: tl.constexpr, DEPTH: tl.constexpr
):
    i, d, j = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), tl.arange(0, DEPTH), tl.arange(0, BLOCK)
    query = tl.load(queries + i[:, None] * DEPTH + d[None, :])
    found = tl.full([BLOCK], -float("inf"), tl.float32)
    for start in range(0, KEYS, BLOCK):
        key = tl.load(keys + (start + j)[:, None] * DEPTH + d[None, :])
        score = tl.dot(query, tl.trans(key)) * tl.load(scales + start + j)[None, :]
        found = tl.maximum(found, tl.max(score, 1))
    tl.store(best + i, found)


# ---- the largest product of each row with the first rows: of floats, which no tensor core takes whole, and of the halves that they were


@triton.jit
def largest_of_floats(rows, largest, COUNT: tl.constexpr, BLOCK: tl.constexpr, DEPTH: tl.constexpr):
    i, d, j = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), tl.arange(0, DEPTH), tl.arange(0, BLOCK)
    row = tl.load(rows + i[:, None] * DEPTH + d[None, :]).to(tl.float32)
    found = tl.full([BLOCK], -float("inf"), tl.float32)
    for start in range(0, COUNT, BLOCK):
        other = tl.load(rows + (start + j)[:, None] * DEPTH + d[None, :]).to(tl.float32)
        product = tl.dot(row, tl.trans(other), input_precision="ieee")  # <- largest_of_floats
        found = tl.maximum(found, tl.max(product, 1))
    tl.store(largest + i, found)


@triton.jit
def largest_of_halves(rows, largest, COUNT: tl.constexpr, BLOCK: tl.constexpr, DEPTH: tl.constexpr):
    i, d, j = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), tl.arange(0, DEPTH), tl.arange(0, BLOCK)
    row = tl.load(rows + i[:, None] * DEPTH + d[None, :])
    found = tl.full([BLOCK], -float("inf"), tl.float32)
    for start in range(0, COUNT, BLOCK):
        other = tl.load(rows + (start + j)[:, None] * DEPTH + d[None, :])
        found = tl.maximum(found, tl.max(tl.dot(row, tl.trans(other)), 1))
    tl.store(largest + i, found)


def sets() -> list[list[Case]]:
    """Returns the kernels of each set, whose results are the same: a name, what launches it, and its result."""
    torch.manual_seed(1)
    rows, count, depth, block = 16384, 8192, 64, 128
    queries = torch.randn(rows, depth, device="cuda").half()
    keys = torch.randn(count, depth, device="cuda").half()
    scales = torch.rand(count, device="cuda") + 0.5
    best = torch.empty(rows, device="cuda")

    def find(kernel):
        given = (queries, keys, scales, best)
        sizes = {"KEYS": count, "BLOCK": block, "DEPTH": depth}
        return kernel.__name__, lambda: kernel[(rows // block,)](*given, **sizes, num_warps=8), best

    largest = torch.empty(rows, device="cuda")

    def find_largest(kernel):
        sizes = {"COUNT": 4096, "BLOCK": 64, "DEPTH": 32}  # with a depth of 64, registers are spilled
        return kernel.__name__, lambda: kernel[(rows // 64,)](queries, largest, **sizes, num_warps=8), largest

    return [
        [find(best_scaled_keys), find(best_scaled_scores)],
        [find_largest(largest_of_floats), find_largest(largest_of_halves)],
    ]


if __name__ == "__main__":
    run_sets(sets)
