"""Explains in one short line why a step gains what it gains: which cause bound each side, and what became of the work.

Two profiles with their causes in; text out, or nothing where there are no counters. A line states what was found before
and after, and does not claim that one caused the other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from profiler.analyse.causes.evidence.time_shares import Figures, derive_figures
from profiler.analyse.compare.attribution import MEMORY_BINDS_PCT
from profiler.analyse.recording.doubts import is_part_of_step
from profiler.analyse.recording.profile import Profile
from profiler.catalog.metrics import DRAM_BYTES

_CHANGED = 1.05  # times
_MOST_CHANGES = 2


def explain_step(before: Profile, after: Profile, causes: tuple[str | None, str | None]) -> str:
    """Returns the line, or an empty text where nothing was recorded that explains the step; `causes` are the first of each side."""
    sides = (before, after)
    untold = [profile.label for profile in sides if not profile.launches]
    if untold:
        return f"no counters of {' and '.join(untold)}: timed, not profiled"
    parts = [profile.label for profile in sides if is_part_of_step(profile)]
    if parts:
        return f"counters of one kernel alone, where {' and '.join(parts)} runs several"
    figures = [derive_figures(profile) for profile in sides]
    changes = [text for change in _CHANGES if (text := change(*figures))][:_MOST_CHANGES]
    return "; ".join(filter(None, [_causes(*causes), ", ".join(changes)]))


def _causes(before: str | None, after: str | None) -> str:
    if before == after:
        return f"{before} before and after" if before else ""
    return f"{before or 'no cause'}, then {after or 'no cause'}"


# What became of the work, the most important first


def _bytes_moved(before: Figures, after: Figures) -> str:
    """Reports bytes where device memory is busy; elsewhere, how many bytes it moves decides nothing."""
    sides = (before, after)
    binds = any(figures.get("dram_throughput_pct", 0.0) >= MEMORY_BINDS_PCT for figures in sides)
    if not binds or not all(name in figures for name in DRAM_BYTES for figures in sides):
        return ""
    earlier, later = (sum(figures[name] for name in DRAM_BYTES) for figures in (before, after))
    return _times(earlier, later, "DRAM bytes")


def _instructions(before: Figures, after: Figures) -> str:
    name = "inst_executed"
    return _times(before[name], after[name], "instructions") if name in before and name in after else ""


def _blocks(before: Figures, after: Figures) -> str:
    """Reports whether threads stopped, or began, to load and store by bulk copies."""
    name = "bulk_loads"
    if not (name in before and name in after and bool(before[name]) != bool(after[name])):
        return ""
    return f"loads {'by' if after[name] else 'no longer by'} bulk copies"


def _times(before: float, after: float, what: str) -> str:
    if min(before, after) <= 0 or 1 / _CHANGED < after / before < _CHANGED:
        return ""
    ratio = max(before, after) / min(before, after)
    return f"{ratio:{'.2f' if ratio < 10 else '.0f'}}x {'more' if after > before else 'fewer'} {what}"


@dataclass(frozen=True)
class _FromTo:
    """A figure that changed by at least so many points."""

    name: str
    text: str
    points: float

    def __call__(self, before: Figures, after: Figures) -> str:
        if self.name not in before or self.name not in after:
            return ""
        first, second = before[self.name], after[self.name]
        return self.text.format(first, second) if abs(first - second) >= self.points else ""


_CHANGES: tuple[Callable[[Figures, Figures], str], ...] = (
    _bytes_moved,
    _FromTo("load_width_bits", "loads {:.0f} -> {:.0f} bits", 4.0),
    _blocks,
    _instructions,
    _FromTo("store_width_bits", "stores {:.0f} -> {:.0f} bits", 4.0),
    _FromTo("l1_hit_pct", "L1 hit rate {:.0f} -> {:.0f} %", 5.0),
    _FromTo("occupancy_pct", "occupancy {:.0f} -> {:.0f} %", 10.0),
)
