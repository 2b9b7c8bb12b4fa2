"""Counts the work of tensor instructions: the multiply-adds that their opcodes name, and the values that take part in them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

from profiler.analyse.causes.evidence.sites import Site
from profiler.catalog.metrics import LANES, SECTOR_BYTES

# The product that one warp computes, as its opcode writes it; four warps execute a `wgmma` together, a quarter of its rows each.
_OF_A_WARP = {
    "884": (8, 8, 4), "8x8x4": (8, 8, 4), "1684": (16, 8, 4), "1688": (16, 8, 8), "16816": (16, 8, 16), "16832": (16, 8, 32), "16864": (16, 8, 64),
}  # fmt: skip
_OF_FOUR_WARPS = re.compile(r"[HQI]GMMA\.\w*?(\d+)x(\d+)x(\d+)")
_SHAPE = re.compile(r"[A-Z]MMA\.(?:\w+\.)*?(\d+(?:x\d+x\d+)?)(?:\.|$)")
_BYTES = (
    (re.compile(r"DMMA"), 8.0),
    (re.compile(r".*TF32"), 4.0),
    (re.compile(r"QGMMA|QMMA|.*\.(E4M3|E5M2|[SU]8)"), 1.0),
    (re.compile(r".*\.[SU]4"), 0.5),
)
_HALF_BYTES = 2.0  # FP16 and BF16
_UNCOUNTED = ("UBLKCP", "UTMALDG")  # one thread copies any size
# Cycles of the tensor pipe of an SM's quarter on compute capability 9.0 for what one `mma.sync` of 16 x 8 x 16 multiplies: the kernel
# `multiply_fragments` in tests/data/causes keeps the pipe full with one every 6.0 cycles. As a `wgmma`, the same takes 4: 512
# multiply-adds a cycle.
_OF_MMA, _OF_WGMMA = 6.0, 4.0
_WITH_WGMMA = "9.0"


def count_multiply_adds(opcode: str) -> float:
    """Returns the multiply-adds of one execution by one warp; 0 where the opcode does not say it."""
    if together := _OF_FOUR_WARPS.match(opcode):
        return math.prod(map(int, together.groups())) / 4
    shape = _SHAPE.match(opcode)
    return float(math.prod(_OF_A_WARP.get(shape.group(1), (0,)))) if shape else 0.0


def operand_bytes(opcode: str) -> float:
    """Returns the size of one value that is multiplied."""
    return next((size for pattern, size in _BYTES if pattern.match(opcode)), _HALF_BYTES)


def count_uses(tensor: Iterable[Site], staged: Iterable[Site]) -> float | None:
    """Returns how often each staged value takes part in a multiply-add; None where the work or the copies are not counted."""
    work = {site: count_multiply_adds(site.opcode) * site.executed for site in tensor}
    staged = list(staged)
    total = sum(work.values())
    if not total or any(site.instruction.name in _UNCOUNTED for site in staged):
        return None
    size = sum(operand_bytes(site.opcode) * part for site, part in work.items()) / total
    loaded = sum(map(_loaded_bytes, staged))
    return total / (loaded / size) if loaded else None


def _loaded_bytes(site: Site) -> float:
    """Returns what a load moves: less than its lanes ask for where a predicate of a copy fills their place with zeros."""
    asked = site.executed * (LANES if site.acting is None else site.acting) * site.width / 8
    return asked if site.ideal_sectors is None else min(asked, site.ideal_sectors * SECTOR_BYTES)


def avoidable_part(tensor: Iterable[Site], capability: str | None) -> float:
    """Returns the part of the tensor pipe's time that `mma.sync` takes longer than `wgmma` would for the same products."""
    executed: dict[bool, float] = {True: 0.0, False: 0.0}
    for site in tensor:
        work = count_multiply_adds(site.opcode) * site.executed
        slow = site.instruction.name == "HMMA"
        executed[slow] += work * (_OF_MMA if slow else _OF_WGMMA)
    total = sum(executed.values())
    return (1 - _OF_WGMMA / _OF_MMA) * executed[True] / total if total and capability == _WITH_WGMMA else 0.0
