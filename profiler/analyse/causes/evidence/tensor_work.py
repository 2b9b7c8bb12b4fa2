"""Counts the work of tensor instructions: the multiply-adds that their opcodes name, and the values that take part in them."""

from __future__ import annotations

from collections.abc import Iterable

from profiler.analyse.causes.evidence.sites import SIZE_IS_UNKNOWN, Site
from profiler.analyse.code.opcodes import factor_bits, tensor_product

# Cycles of the tensor pipe in a quarter of an SM of compute capability 9.0 for a product of 16 x 8 x 16. The kernel
# `multiply_fragments` in tests/data/causes keeps the pipe full with one such `mma.sync` every 6.0 cycles. As a `wgmma`, the same takes
# 4: 512 multiply-adds a cycle.
_OF_MMA, _OF_WGMMA = 6.0, 4.0
_WITH_WGMMA = "9.0"


def _count_multiply_adds(site: Site) -> float:
    product = tensor_product(site.opcode)
    return product.multiply_adds * site.executed if product else 0.0


def count_uses(tensor: Iterable[Site], staged: Iterable[Site]) -> float | None:
    """Returns how many multiply-adds, of two values each, use each staged value; None where the work or the copies are not counted."""
    work = {site: _count_multiply_adds(site) for site in tensor}
    staged = list(staged)
    total = sum(work.values())
    if not total or any(site.instruction.name in SIZE_IS_UNKNOWN for site in staged):
        return None
    size = sum(factor_bits(site.opcode) / 8 * part for site, part in work.items()) / total
    # Less than the lanes ask for, where the predicate of a copy fills in zeros instead.
    loaded = sum(site.bytes_asked for site in staged)
    return total / (loaded / size) if loaded else None


def avoidable_part(tensor: Iterable[Site], capability: str | None) -> float:
    """Returns the part of the tensor pipe's time that `mma.sync` takes longer than `wgmma` would for the same products."""
    executed: dict[bool, float] = {True: 0.0, False: 0.0}
    for site in tensor:
        work = _count_multiply_adds(site)
        slow = site.instruction.name == "HMMA"
        executed[slow] += work * (_OF_MMA if slow else _OF_WGMMA)
    total = sum(executed.values())
    return (1 - _OF_WGMMA / _OF_MMA) * executed[True] / total if total and capability == _WITH_WGMMA else 0.0
