#!/usr/bin/env python3
"""Runs kernels of Triton whose updates keep their order with all other accesses, as they do by default: ordered_updates.py [NAME ...]

Each stands beside one whose updates keep none. As scripts.py, it verifies them, prints their times, and launches each once for ncu.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from scripts import Case, run_sets

# ---- how often each of many values occurs, so that hardly any two updates meet


@triton.jit
def count_in_order(x, counts, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(counts + tl.load(x + i), 1)  # <- count_in_order


@triton.jit
def count_in_any_order(x, counts, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(counts + tl.load(x + i), 1, sem="relaxed")


def sets() -> list[list[Case]]:
    """Returns the kernels of each set, whose results are the same: a name, what launches it, and its result."""
    torch.manual_seed(1)
    n = 1 << 24
    many = torch.randint(1 << 22, (n,), device="cuda", dtype=torch.int32)
    counts = torch.zeros(1 << 22, device="cuda", dtype=torch.int32)

    def count(kernel):
        return kernel.__name__, lambda: kernel[(n // 1024,)](many, counts, BLOCK=1024), counts

    return [[count(count_in_order), count(count_in_any_order)]]


if __name__ == "__main__":
    run_sets(sets)
