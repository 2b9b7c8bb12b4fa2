"""Lists the causes that a diagnosis may name: something in the code that can be changed, and what changing it touches.

The list is closed and its names are stable, because scripts and agents rely on them. How each cause is found is in
`analyse/causes/`; `prof causes` and docs/causes.md print this list. Each group has a module.
"""

from __future__ import annotations

from collections.abc import Mapping

from profiler.catalog.causes.ceilings import CEILINGS, NOTHING_TO_GAIN
from profiler.catalog.causes.global_memory import GLOBAL_MEMORY
from profiler.catalog.causes.instructions import INSTRUCTIONS
from profiler.catalog.causes.kind import CauseKind
from profiler.catalog.causes.launch import LAUNCH
from profiler.catalog.causes.shared_memory import SHARED_MEMORY
from profiler.catalog.causes.waiting import WAITING
from profiler.errors import CauseNotFound
from profiler.text import nearest_hint

__all__ = [
    "BY_NAME",
    "CAUSES",
    "GENERAL",
    "GROUPS",
    "LAST_WAVE",
    "MEASURED_BY",
    "NOTHING_TO_GAIN",
    "TOO_SHORT",
    "UNOPTIMISED",
    "CauseKind",
    "causes_meant",
    "find_cause",
]

CAUSES: tuple[CauseKind, ...] = (*GLOBAL_MEMORY, *SHARED_MEMORY, *INSTRUCTIONS, *WAITING, *LAUNCH, *CEILINGS)
GROUPS = tuple(dict.fromkeys(kind.group for kind in CAUSES))

# Named alone: what else costs time in such code says little about the same source with optimisation.
UNOPTIMISED = "unoptimised-code"
# Can hold beside a ceiling: the busiest unit is at its peak while the rounds of blocks are full, and the last round takes its time after them.
LAST_WAVE = "uneven-last-wave"
# If several launches are joined, one start stays.
TOO_SHORT = "launch-too-short"
# Most kernels have these, whatever else is wrong with them: warps wait, too little is under way, or little is done with what is staged.
# Registers count too: they came first for six kernels of the blind tests, and the next version of only one changed them.
GENERAL = frozenset({
    "narrow-accesses", "loads-not-overlapped", "dependent-chain", "barriers", "grid-too-small", "too-little-work-a-thread", "too-little-reuse",
    LAST_WAVE, "registers-limit-occupancy",
})  # fmt: skip

# What was measured of a cause: where it is the same for two kernels, both have the cause, though it may limit only one of them.
MEASURED_BY: Mapping[str, tuple[str, ...]] = {
    "narrow-accesses": ("load_width_bits", "store_width_bits"),
    "bank-conflicts": ("shared_conflicts",),
    "register-spills": ("local_spill_inst",),
    "divergent-branches": ("threads_per_inst",),
}

BY_NAME = {kind.name: kind for kind in CAUSES}


def find_cause(name: str) -> CauseKind:
    if name in BY_NAME:
        return BY_NAME[name]
    raise CauseNotFound(f"no cause '{name}'{nearest_hint(name, list(BY_NAME))}")


def causes_meant(name: str) -> list[CauseKind]:
    """Returns the cause with this name, else all with this part in their names."""
    holding = [one for one in CAUSES if name and name in one.name]
    return holding if name not in BY_NAME and holding else [find_cause(name)]
