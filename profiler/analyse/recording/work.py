"""Derives the metrics that need the bytes that a ladder says the work has to move.

A `Profile` and those bytes in; the profile with the metrics that need them out. Where the profiled kernel is
only a part of a step, its instructions and the bytes of the whole step do not go together.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from profiler.analyse.recording.doubts import is_part_of_step
from profiler.analyse.recording.profile import Profile, Series
from profiler.analyse.statistics.differences import Readings
from profiler.catalog.metrics import CATALOGUE, LANES

if TYPE_CHECKING:
    from profiler.catalog.ladders.expressions import Expression
    from profiler.catalog.ladders.ladder import Kernel


def declared_work(work: Expression | None, workload: Mapping[str, int] | None) -> float | None:
    """Returns the bytes or the operations of one launch, or None if the ladder or the run does not say it."""
    known = workload or {}
    return work.evaluate(known) if work is not None and set(work.names) <= set(known) else None


def find_useful_bytes(profile: Profile, kernel: Kernel | None) -> float | None:
    """Returns the bytes that one launch of the profiled kernel has to move, or None if several kernels move them together."""
    if len(profile.manifest.kernels) > 1 or is_part_of_step(profile):
        return None
    return declared_work(kernel.bytes if kernel else None, profile.manifest.workload)


def with_work(profile: Profile, bytes: float | None) -> Profile:
    """Returns the profile with those bytes, and with the metrics that are counts per byte."""
    if not bytes:
        return profile
    series = dict(profile.series)
    for metric in CATALOGUE:
        counted = profile.series.get(metric.per_useful_byte or "")
        if counted is not None:
            readings = (LANES * count / bytes for count in counted.values)
            series[metric.name] = Series(metric, counted.ncu, Readings(readings, counted.values.processes))
    return replace(profile, series=series, useful_bytes=bytes)
