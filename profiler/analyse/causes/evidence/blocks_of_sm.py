"""Knows how many blocks an SM has room for, and what is saved where each takes the work of several, so that fewer are launched."""

from __future__ import annotations

import math

from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.measured_time import SOME_WAVES
from profiler.analyse.recording.launch_shapes import LaunchShape
from profiler.catalog.metrics import LANES

# Of one thread, and of an SM; and how many of them a warp gets at a time for each thread (CUDA C++ Programming Guide, "Technical
# Specifications per Compute Capability").
MOST_REGISTERS = 255
_REGISTERS_OF_SM, REGISTERS_AT_ONCE = 65_536, 8
# Bytes of shared memory that any block can have, and any SM has (there).
_SHARED_BYTES = 48 * 1024
WORTH_SAYING = 1.1  # times the warps: of ten blocks of an SM, one more
_FOR_MEMORY = ("long_scoreboard", "lg_throttle", "drain")


def find_occupancy_limits(evidence: Evidence) -> dict[str, float]:
    """Returns how many blocks an SM holds by each limit; of equal limits, the first is the simplest to change."""
    limits = {
        "block-too-small": evidence.find("launch__occupancy_limit_blocks"),
        "block-size-limits-occupancy": evidence.find("launch__occupancy_limit_warps"),
        "registers-limit-occupancy": evidence.find("blocks_by_registers"),
        "shared-memory-limits-occupancy": evidence.find("blocks_by_shared"),
    }
    known = {name: blocks for name, blocks in limits.items() if blocks}
    # An SM divides its memory between L1 and shared memory for each kernel, and Nsight Compute counts the blocks that this division
    # has room for. Where another limit allows no more blocks, a division with room for more would have been of no use.
    shared = known.pop("shared-memory-limits-occupancy", 0.0)
    if shared >= min(known.values(), default=math.inf) and (each := evidence.find("shared_bytes")):
        shared = max(shared, shared_of_sm(evidence) // each)
    return {**known, "shared-memory-limits-occupancy": shared} if shared else known


def shared_of_block(evidence: Evidence) -> float:
    """Returns the bytes of shared memory that a block can have: of this GPU, or else of any."""
    return evidence.find("shared_of_block") or _SHARED_BYTES


def shared_of_sm(evidence: Evidence) -> float:
    """Returns the bytes of shared memory that an SM has: of this GPU, or else of any."""
    return evidence.find("shared_of_sm") or _SHARED_BYTES


def blocks_with(registers: float, shape: LaunchShape) -> int:
    """Returns how many blocks the registers of an SM suffice for, if each thread has so many."""
    each = REGISTERS_AT_ONCE * math.ceil(registers / REGISTERS_AT_ONCE)
    return _REGISTERS_OF_SM // (each * LANES * shape.warps_of_block)


def warps_without(evidence: Evidence, fewer: int) -> float:
    """Returns how many times as many warps an SM holds if each thread has so many registers fewer: none more where other limits hold, or the grid has no more."""
    limits = find_occupancy_limits(evidence)
    blocks, registers = limits.get("registers-limit-occupancy"), evidence.find("registers")
    full = evidence.find("occupancy_limit_pct")
    if not (blocks and registers and full and evidence.shape) or blocks > min(limits.values()):
        return 1.0
    others = [count for name, count in limits.items() if name != "registers-limit-occupancy"]
    fitting = min([blocks_with(max(1.0, registers - fewer), evidence.shape), 100 * blocks / full, *others])
    return max(1.0, min(fitting / blocks, evidence.find("waves") or 1.0))


def left_of_blocks(evidence: Evidence, fewest: float) -> float:
    """Returns the part of the blocks that are left if each takes the work of others: the fewest, or as many as fill the GPU twice."""
    return min(1.0, max(SOME_WAVES / (evidence.find("waves") or SOME_WAVES), fewest))


def spare_launches(evidence: Evidence, left: float) -> float:
    """Returns the part of the time between blocks that is saved if this part of the blocks is left."""
    return _worth_of_places(evidence) * (1 - left)


def _worth_of_places(evidence: Evidence) -> float:
    """Returns the part of the time between blocks that is saved where threads go on instead.

    Warps that fill the places between blocks queue for memory as the others do, and its queue grows with them: in five kernels on an
    H200 that stream, whose warps wait for memory for 38 to 91 % of their time, a loop over many elements a thread saved 10 % at most.
    Its latency they hide. In these kernels, places are empty only for as long as it takes to fill one. Where blocks also queue to be
    launched, memory is not what they wait for, and with fewer blocks that queue is gone.
    """
    model = evidence.model
    latency = model.places.unloaded.get("long_scoreboard", 0.0)
    for_memory = model.life_share(*_FOR_MEMORY) - latency * model.life_share("long_scoreboard")
    worth = max(0.0, 1 - for_memory)
    for_launch = model.places.launching * max(0.0, model.places.empty - model.places.refilling)
    empty = for_launch + model.places.refilling
    return (for_launch + worth * model.places.refilling) / empty if empty else worth
