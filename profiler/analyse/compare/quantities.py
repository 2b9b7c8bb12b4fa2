"""Quantities of two recordings as logarithms, and the share that each has in a speedup.

Quantities are geometric means, over launches and then processes, kept as logarithms: there, factors add up, and
swapping the sides turns every sign and changes nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

from profiler.analyse.findings import Factor, MissingMetric, Part
from profiler.analyse.recording.profile import Profile
from profiler.analyse.statistics.differences import Readings
from profiler.catalog.metrics import DRAM_BYTES

_LARGEST_EXPONENT = 700.0  # the logarithm of what a float can hold

# Where a quantity is read if not under its own name: per scheduler, over all SMs, as a sum.
_SOURCES: Mapping[str, tuple[str, ...]] = {
    "inst_issued": ("smsp__inst_issued.avg",),
    "cycles": ("sm__cycles_elapsed.avg",),
    "dram_bytes": DRAM_BYTES,
}

Means = dict[str, tuple[float, float]]


class Sides(NamedTuple):
    before: Profile
    after: Profile


@dataclass(frozen=True)
class Quantity:
    """The logarithm of a quantity on each side."""

    before: float
    after: float

    def times(self, other: Quantity) -> Quantity:
        return Quantity(self.before + other.before, self.after + other.after)

    def per(self, other: Quantity) -> Quantity:
        return Quantity(self.before - other.before, self.after - other.after)

    def scaled(self, factor: float) -> Quantity:
        return Quantity(self.before + math.log(factor), self.after + math.log(factor))

    @property
    def fall(self) -> float:
        return self.before - self.after


@dataclass(frozen=True)
class Term:
    """A factor of the duration. Less of a cost is faster, and more of a rate."""

    name: str
    unit: str
    quantity: Quantity
    is_rate: bool = False
    factors: tuple[Term, ...] = ()

    @property
    def gain(self) -> float:
        return -self.quantity.fall if self.is_rate else self.quantity.fall


def factor_of(term: Term, whole: float) -> Factor:
    return Factor(
        name=term.name,
        unit=term.unit,
        before=bounded_exp(term.quantity.before),
        after=bounded_exp(term.quantity.after),
        ratio=bounded_exp(term.gain),
        share=_share(term.gain, whole),
        factors=[factor_of(inner, whole) for inner in term.factors],
    )


def parts_of(means: Means, fall: float, whole: float) -> list[Part]:
    """Returns how each addend moved the logarithm of the sum, which fell by `fall`; the largest first.

    Log-mean Divisia weights: an addend's change divided by the logarithmic mean of the two sums.
    The logarithm of an addend does not occur, so any of them may be zero.
    """
    totals = [sum(pair[side] for pair in means.values()) for side in (0, 1)]
    half = fall / 2
    weight = half / math.sinh(half) if half else 1.0
    gains = {
        name: weight * (before / totals[0] * math.exp(half) - after / totals[1] * math.exp(-half))
        for name, (before, after) in means.items()
    }
    return [
        Part(name, *means[name], ratio=bounded_exp(gain), share=_share(gain, whole))
        for name, gain in sorted(gains.items(), key=lambda item: (-abs(item[1]), item[0]))
    ]


def _share(gain: float, whole: float) -> float:
    return gain / whole if whole else 0.0


def bounded_exp(logarithm: float) -> float:
    """Returns the exponential of a logarithm, which is bounded first: damaged counters may give any."""
    return math.exp(max(-_LARGEST_EXPONENT, min(logarithm, _LARGEST_EXPONENT)))


def read(sides: Sides, name: str) -> Quantity | None:
    return quantity(*(readings_of(side, name) for side in sides))


def quantity(before: Readings, after: Readings) -> Quantity | None:
    """Returns None where a side has nothing above zero, since there is no logarithm of it."""
    if not (before and after and min(*before, *after) > 0):
        return None
    return Quantity(*(Readings(map(math.log, side), side.processes).mean for side in (before, after)))


def readings_of(side: Profile, name: str) -> Readings:
    """Returns one value a launch; none where a source is missing."""
    series = [side.find(source) for source in _SOURCES.get(name, (name,))]
    return by_launch(lambda *values: sum(values), *(one.values if one else Readings() for one in series))


def by_launch(combine: Callable[..., float], *series: Readings) -> Readings:
    """Returns what the values of each launch combine to; none where one of them is missing."""
    if not all(series) or len(set(map(len, series))) > 1:
        return Readings()
    return Readings(map(combine, *series), series[0].processes)


def means_of(sides: Sides, names: Iterable[str]) -> Means:
    """Returns the means of what both sides have."""
    pairs = {name: (sides.before.mean(name), sides.after.mean(name)) for name in names}
    return {name: (one, two) for name, (one, two) in pairs.items() if one is not None and two is not None}


def missing_from(sides: Sides, names: Iterable[str]) -> list[MissingMetric]:
    """Lists the metrics that a side has not recorded, or not above zero."""
    which: tuple[Literal["before", "after"], ...] = ("before", "after")
    return [
        MissingMetric(name, one)
        for name in names
        for one, side in zip(which, sides, strict=True)
        if min(readings_of(side, name), default=0.0) <= 0
    ]
