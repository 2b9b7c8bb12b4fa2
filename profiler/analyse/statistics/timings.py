"""Summarises unprofiled repeats: the typical time, the median, its spread, work per second, % of the reference."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median, quantiles

from msgspec import Struct

from profiler.analyse.statistics.differences import Readings


class TimingSummary(Struct, frozen=True):
    """`typical_ns` is the time that headlines say and comparisons judge: the `typical_time`.

    All else is of the median. The spread is the interquartile range; without a reference its figures are null.
    `reference` is the default call of the reference, `best` the fastest algorithm that its library offers.
    """

    repeats: int
    typical_ns: float
    median_ns: float
    min_ns: float
    max_ns: float
    spread_pct: float
    gflops: float | None
    gbytes_per_s: float | None
    reference_median_ns: float | None
    reference_pct: float | None
    best_median_ns: float | None = None
    best_pct: float | None = None


def summarise(
    kernel_ns: Sequence[float],
    reference_ns: Sequence[float | None] = (),
    best_ns: Sequence[float | None] = (),
    *,
    flops: float | None = None,
    bytes: float | None = None,
) -> TimingSummary:
    """Summarises repeats; `flops` and `bytes` are the work of one of them, if it is known."""
    middle = median(kernel_ns)
    reference, best = _median(reference_ns), _median(best_ns)
    low, high = _quartiles(kernel_ns)
    return TimingSummary(
        repeats=len(kernel_ns),
        typical_ns=typical_time(kernel_ns if isinstance(kernel_ns, Readings) else Readings(kernel_ns)),
        median_ns=middle,
        min_ns=min(kernel_ns),
        max_ns=max(kernel_ns),
        spread_pct=100 * (high - low) / middle,
        # Operations, or bytes, per nanosecond are giga-operations per second.
        gflops=flops / middle if flops is not None else None,
        gbytes_per_s=bytes / middle if bytes is not None else None,
        reference_median_ns=reference,
        reference_pct=100 * reference / middle if reference is not None else None,
        best_median_ns=best,
        best_pct=100 * best / middle if best is not None else None,
    )


def logarithms(times: Readings) -> Readings:
    """Returns the logarithms of times, whose means differ by the logarithm of a ratio."""
    return Readings(map(math.log, times), times.processes)


def has_several_processes(times: Readings) -> bool:
    return len(set(times.processes)) > 1


def typical_time(times: Readings) -> float:
    """Returns the geometric mean of the medians of the processes, which a few interrupted repeats do not move; of one process, that of its repeats.

    A time that is not above zero, as a damaged recording may hold, has no logarithm: then it is the median of all.
    """
    if len(set(times)) == 1 or not all(0 < value < math.inf for value in times):
        return median(times)
    values = logarithms(times)
    return math.exp((values.around_medians() if has_several_processes(times) else values).mean)


def _median(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None


def _quartiles(values: Sequence[float]) -> tuple[float, float]:
    if len(values) < 2:
        return values[0], values[0]
    low, _, high = quantiles(values, n=4, method="inclusive")
    return low, high
