"""Computes how sure the difference of two means is, where launches come in processes.

Two `Readings` in, a `Difference` with its interval and p-value out. Launches of one process share its memory,
clocks and heat, so the fifteen launches of three processes count as three witnesses. The noise of a side is
how far the means of its processes lie apart, and the interval is Welch's over these means. A side of one
process shows the noise between its launches only.

Welch alone is too sure of a few means if one side scatters more: when the noisier side looks quiet by luck,
it counts the degrees of freedom of both. So a difference is never surer here than it would be if all its
noise came from one side and the other side were known exactly. This keeps the 5 %, whichever side scatters
more.

Student's distribution is computed here because importing SciPy for it would cost more than a
whole comparison; tests check it against SciPy.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import cached_property, lru_cache
from statistics import NormalDist, fmean, median
from typing import NamedTuple

_CONFIDENCE = 0.95

# If means of processes agree far better than the scatter of their launches explains, they do so by accident, as
# readings of a ticking timer will: at least this part of what is explained is noise.
_LEAST_OF_EXPLAINED = 0.1


class Interval(NamedTuple):
    low: float
    high: float


class Variance(NamedTuple):
    """The variance of a mean, estimated with so many degrees of freedom; unknown with none."""

    value: float
    freedom: int


class Readings(tuple[float, ...]):
    """Values as measured, and which process made each; of one process where `processes` is not given."""

    processes: tuple[int, ...]

    def __new__(cls, values: Iterable[float] = (), processes: Iterable[int] = ()) -> Readings:
        readings = super().__new__(cls, values)
        readings.processes = tuple(processes) or (0,) * len(readings)
        if len(readings.processes) != len(readings):
            raise ValueError(f"{len(readings)} values, but {len(readings.processes)} processes")
        return readings

    @cached_property
    def by_process(self) -> list[list[float]]:
        groups: dict[int, list[float]] = {}
        for value, process in zip(self, self.processes, strict=True):
            groups.setdefault(process, []).append(value)
        return list(groups.values())

    @cached_property
    def mean(self) -> float:
        """Returns the mean of process means: each process counts the same, however many launches it made."""
        return _mean(self._process_means)

    @cached_property
    def _process_means(self) -> list[float]:
        return [_mean(group) for group in self.by_process]

    @cached_property
    def noise(self) -> Variance:
        """Estimates the variance of the mean from how far process means lie apart; with one process, from its launches."""
        groups = self.by_process
        processes = len(groups)
        inside = math.fsum(map(_squares, groups, self._process_means))
        freedom = sum(len(group) - 1 for group in groups)
        of_one_process = inside / max(freedom, 1) * fmean(1 / len(group) for group in groups)
        within = of_one_process / processes
        if processes == 1:
            return Variance(within, freedom)
        between = _squares(self._process_means, self.mean) / (processes - 1) / processes
        return Variance(max(between, _LEAST_OF_EXPLAINED * within), processes - 1)

    def around_medians(self) -> Readings:
        """Returns the readings with each process moved so that its mean is its median, which a few interrupted repeats do not move."""
        groups = zip(dict.fromkeys(self.processes), self.by_process, strict=True)
        shifts = {process: median(group) - _mean(group) for process, group in groups}
        moved = (value + shifts[of] for value, of in zip(self, self.processes, strict=True))
        return Readings(moved, self.processes)


def are_identical(before: Readings, after: Readings) -> bool:
    """Returns whether both are one value throughout, or the same values, process for process."""
    if len({*before, *after}) == 1:
        return True
    left, right = (sorted(map(sorted, side.by_process)) for side in (before, after))
    return left == right


class StandardError(NamedTuple):
    """A standard error with its degrees of freedom, for Student's distribution."""

    value: float
    freedom: float

    def reach(self) -> float:
        return student_quantile((1 + _CONFIDENCE) / 2, self.freedom) * self.value


class Difference(NamedTuple):
    """A difference of two means with its standard errors, of which the least certain counts; without any it is exact."""

    delta: float
    errors: tuple[StandardError, ...]

    def interval(self) -> Interval:
        reach = max((error.reach() for error in self.errors), default=0.0)
        return Interval(self.delta - reach, self.delta + reach)

    def p_value(self) -> float:
        """Returns how probable a difference at least as large is where there is none."""
        if not self.errors:
            return float(self.delta == 0.0)
        return max(student_tails(self.delta / error.value, error.freedom) for error in self.errors)


def mean_difference(before: Readings, after: Readings) -> Difference | None:
    """Returns the mean of `after` less the mean of `before`; None where a side is a single launch."""
    sides = [before.noise, after.noise]
    if not all(side.freedom for side in sides):
        return None
    alone = tuple(StandardError(math.sqrt(side.value), side.freedom) for side in sides if side.value)
    return Difference(after.mean - before.mean, (*alone, _welch(sides)) if len(alone) > 1 else alone)


def _welch(sides: Sequence[Variance]) -> StandardError:
    total = sum(side.value for side in sides)
    doubts = ((side.value / total) ** 2 / side.freedom for side in sides)
    return StandardError(math.sqrt(total), 1 / sum(doubts))


def standard_deviation(values: Sequence[float]) -> float:
    """Returns what `statistics.stdev` does except for the last bit, in a seventh of the time."""
    return math.sqrt(_squares(values, _mean(values)) / (len(values) - 1))


def _mean(values: Sequence[float]) -> float:
    """Returns the mean; for equal values, the value itself, because dividing a sum may be off by a bit."""
    return values[0] if min(values) == max(values) else math.fsum(values) / len(values)


def _squares(values: Sequence[float], mean: float) -> float:
    return math.fsum([(value - mean) ** 2 for value in values])


def discoveries(p_values: Sequence[float]) -> set[int]:
    """Returns which of many differences, tested together, are discoveries: at most `1 - _CONFIDENCE` of these are false on average.

    By Benjamini and Hochberg. If nothing differs at all, that is also the probability of any discovery.
    """
    order = sorted(range(len(p_values)), key=lambda index: p_values[index])
    ranked = [(rank, p_values[index]) for rank, index in enumerate(order, 1)]
    last = max(
        (rank for rank, p_value in ranked if p_value <= rank / len(order) * (1 - _CONFIDENCE)), default=0
    )
    return set(order[:last])


@lru_cache(maxsize=4096)
def student_quantile(probability: float, freedom: float) -> float:
    """Returns the inverse of Student's distribution function, for probability above one half."""
    normal = NormalDist().inv_cdf(probability)
    if freedom > 1e7:
        return normal
    # Newton's method: the tails are convex, so that every step but the first comes from below and goes not too far.
    quantile = _expanded_quantile(normal, freedom)
    for done in range(100):
        excess = student_tails(quantile, freedom) - 2 * (1 - probability)
        step = excess / (2 * _student_density(quantile, freedom))
        quantile += step
        if done and step <= 1e-10 * quantile:  # the next would be its square; a step back is rounding
            break
    return quantile


def _expanded_quantile(z: float, freedom: float) -> float:
    """Returns Student's quantile to a few digits, from the normal one: a series of Cornish and Fisher (Abramowitz and Stegun, 26.7.5)."""
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + first / freedom + second / freedom**2 + third / freedom**3


def _student_density(t: float, freedom: float) -> float:
    log_scale = math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2) - math.log(freedom * math.pi) / 2
    return math.exp(log_scale - (freedom + 1) / 2 * math.log1p(t * t / freedom))


def student_tails(t: float, freedom: float) -> float:
    """Returns the probability of a value at least as far from zero as `t`, through the incomplete beta function."""
    if freedom > 1e7:
        return math.erfc(abs(t) / math.sqrt(2))
    if freedom == 2:  # of three processes, as most recordings have
        cosine = math.sqrt(2 + t * t)
        return 2 / (cosine * (cosine + abs(t)))
    return _incomplete_beta(freedom / 2, 0.5, freedom / (freedom + t * t))


def _incomplete_beta(a: float, b: float, x: float) -> float:
    if x <= 0.0 or x >= 1.0:
        return min(max(x, 0.0), 1.0)
    log_front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    # The continued fraction converges fast only below the mean; above it, use the symmetry.
    if x < (a + 1) / (a + b + 2):
        return math.exp(log_front) * _beta_fraction(a, b, x) / a
    return 1.0 - math.exp(log_front) * _beta_fraction(b, a, 1 - x) / b


def _beta_fraction(a: float, b: float, x: float) -> float:
    """Computes the continued fraction of the incomplete beta function, by Lentz's method."""
    tiny = 1e-300  # in place of an exact zero, by which nothing can be divided
    c, d = 1.0, 1.0 / ((1.0 - (a + b) * x / (a + 1)) or tiny)
    fraction = d
    for m in range(1, 1000):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            d = 1.0 / ((1.0 + term * d) or tiny)
            c = (1.0 + term / c) or tiny
            fraction *= c * d
        if abs(c * d - 1.0) < 1e-15:
            break
    return fraction
