"""Knows how many blocks an SM has room for, and what is saved if fewer blocks are launched, each with the work of several."""

from __future__ import annotations

import math

from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.latency import SCHEDULERS
from profiler.analyse.causes.evidence.measured_time import SOME_WAVES
from profiler.analyse.recording.launch_shapes import LaunchShape
from profiler.catalog.metrics import LANES

# The most registers of one thread, and those of an SM, of which each scheduler has a part for its own warps (CUDA C++ Programming Guide,
# "Technical Specifications per Compute Capability"). The threads of a warp get so many at a time.
MOST_REGISTERS, REGISTERS_AT_ONCE = 255, 8
_REGISTERS_OF_SCHEDULER = 65_536 // SCHEDULERS
# Bytes of shared memory that any block can have, and any SM has (there).
_SHARED_BYTES = 48 * 1024
WORTH_SAYING = 1.1  # times as many warps, as with one more block beside ten
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
    return SCHEDULERS * (_REGISTERS_OF_SCHEDULER // (each * LANES)) // shape.warps_of_block


def most_registers(evidence: Evidence) -> int:
    """Returns how many registers a thread can have before an SM has room for fewer blocks than now; 0 if that is not recorded."""
    blocks = min(find_occupancy_limits(evidence).values(), default=0.0)
    if not blocks or evidence.shape is None:
        return 0
    warps = math.ceil(blocks * evidence.shape.warps_of_block / SCHEDULERS)
    most = _REGISTERS_OF_SCHEDULER // (warps * LANES)
    return min(MOST_REGISTERS, most // REGISTERS_AT_ONCE * REGISTERS_AT_ONCE)


def warps_without(evidence: Evidence, fewer: int) -> float:
    """Returns how many times as many warps an SM holds with `fewer` registers a thread: 1 where other limits hold, or the grid has no more."""
    limits = find_occupancy_limits(evidence)
    blocks, registers = limits.get("registers-limit-occupancy"), evidence.find("registers")
    full = evidence.find("occupancy_limit_pct")
    if not (blocks and registers and full and evidence.shape) or blocks > min(limits.values()):
        return 1.0
    others = [count for name, count in limits.items() if name != "registers-limit-occupancy"]
    fitting = min([blocks_with(max(1.0, registers - fewer), evidence.shape), 100 * blocks / full, *others])
    return max(1.0, min(fitting / blocks, evidence.find("waves") or 1.0))


def left_of_blocks(evidence: Evidence, fewest: float) -> float:
    """Returns the part of the blocks that is left if each takes the work of others: `fewest`, or as many as fill the GPU twice."""
    return min(1.0, max(SOME_WAVES / (evidence.find("waves") or SOME_WAVES), fewest))


def spare_launches(evidence: Evidence, left: float) -> float:
    """Returns the part of the time between blocks that is saved if this part of the blocks is left."""
    return _worth_of_slots(evidence) * (1 - left)


def _worth_of_slots(evidence: Evidence) -> float:
    """Returns the part of the time between blocks that is saved if threads go on instead.

    Warps that fill the empty slots hide the latency of memory, but queue for it like the others, and lengthen its queue. In five
    kernels on an H200 that stream, warps wait for memory for 38 to 91 % of their time: a loop over many elements a thread saved 10 %
    at most. Their slots are empty only for as long as it takes to fill one. Where blocks also queue to be launched, they do not wait
    for memory, and with fewer blocks that queue is gone.
    """
    model = evidence.model
    latency = model.warp_slots.unloaded.get("long_scoreboard", 0.0)
    for_memory = model.life_share(*_FOR_MEMORY) - latency * model.life_share("long_scoreboard")
    worth = max(0.0, 1 - for_memory)
    for_launch = model.warp_slots.launching * max(0.0, model.warp_slots.empty - model.warp_slots.refilling)
    empty = for_launch + model.warp_slots.refilling
    return (for_launch + worth * model.warp_slots.refilling) / empty if empty else worth
