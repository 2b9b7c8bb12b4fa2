"""Knows what is saved where each block takes the work of several, so that fewer are launched."""

from __future__ import annotations

from profiler.analyse.causes.evidence.evidence import Evidence

# With two rounds of blocks or more, the blocks of one round could do the work of another, and every SM would still have its
# blocks.
SOME_WAVES = 2.0
_FOR_MEMORY = ("long_scoreboard", "lg_throttle", "drain")


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
