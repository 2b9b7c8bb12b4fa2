#!/usr/bin/env python3
"""Runs kernels of Triton that draw random numbers: drawn_numbers.py [NAME ...]

An evaluation of Philox makes four numbers. One kernel takes one of them for each element, and the other one all of them for four. They
draw other numbers, so that what is compared is the mean of many. As scripts.py, it verifies them, prints their times, and launches
each once for ncu.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from scripts import Case, run_sets

# ---- the mean of what is left of many rows when three of ten elements are dropped

ROWS = tl.constexpr(64)


@triton.jit
def drop_by_one(x, out, means, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = row * 4 * BLOCK + tl.arange(0, BLOCK)
    sums = tl.zeros((BLOCK,), tl.float32)
    for part in tl.static_range(4):
        here = i + part * BLOCK
        left = tl.where(tl.rand(7, here) > 0.3, tl.load(x + here), 0.0)  # <- drop_by_one
        tl.store(out + here, left)
        sums += left
    tl.atomic_add(means + row // ROWS, tl.sum(sums) / (4 * BLOCK * ROWS))


@triton.jit
def drop_by_four(x, out, means, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = row * 4 * BLOCK + tl.arange(0, BLOCK)
    first, second, third, fourth = tl.rand4x(7, row * BLOCK + tl.arange(0, BLOCK))
    sums = tl.zeros((BLOCK,), tl.float32)
    for part in tl.static_range(4):
        here = i + part * BLOCK
        number = first if part == 0 else second if part == 1 else third if part == 2 else fourth
        left = tl.where(number > 0.3, tl.load(x + here), 0.0)
        tl.store(out + here, left)
        sums += left
    tl.atomic_add(means + row // ROWS, tl.sum(sums) / (4 * BLOCK * ROWS))


def sets() -> list[list[Case]]:
    """Returns the kernels of each set, whose results are the same: a name, what launches it, and its result."""
    torch.manual_seed(1)
    n, of_row = 1 << 26, 1 << 13
    x = torch.rand(n, device="cuda", dtype=torch.float32).half()
    out = torch.empty_like(x)
    mean = torch.zeros(n // of_row // ROWS.value, device="cuda", dtype=torch.float32)

    def drop(kernel):
        return kernel.__name__, lambda: kernel[(n // of_row,)](x, out, mean, BLOCK=of_row // 4), mean

    return [[drop(drop_by_one), drop(drop_by_four)]]


if __name__ == "__main__":
    run_sets(sets)
