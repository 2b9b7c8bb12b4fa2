"""How sure the difference of two means is, where launches come in processes.

Two `Readings` in, a `Difference` with its interval and p-value out. Launches of one process share its
memory, clocks and heat, so that the launches of three processes are three witnesses and not fifteen: the
noise of a side is how far the means of its processes lie apart, and the interval is Welch's over those. Welch
estimates the degrees of freedom from the same few means, and loses some by it; here they come from the
launches, of which there are more. A side of one process shows the noise between its launches only.

Student's distribution is computed here because importing SciPy for it would cost more than a
whole comparison; tests check it against SciPy.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import lru_cache
from statistics import NormalDist, fmean
from typing import NamedTuple

CONFIDENCE = 0.95

# Means of processes that agree far better than the launches within them explain do so by accident, as
# readings of a ticking timer will: at least this part of what is explained is noise.
_LEAST_OF_EXPLAINED = 0.1


class Interval(NamedTuple):
    low: float
    high: float


class Readings(tuple[float, ...]):
    """Values as measured, and which process made each; of one process where `processes` is not given."""

    processes: tuple[int, ...]

    def __new__(cls, values: Iterable[float] = (), processes: Iterable[int] = ()) -> Readings:
        readings = super().__new__(cls, values)
        readings.processes = tuple(processes) or (0,) * len(readings)
        if len(readings.processes) != len(readings):
            raise ValueError(f"{len(readings)} values, but {len(readings.processes)} processes")
        return readings

    def by_process(self) -> list[list[float]]:
        groups: dict[int, list[float]] = {}
        for value, process in zip(self, self.processes, strict=True):
            groups.setdefault(process, []).append(value)
        return list(groups.values())

    def mean(self) -> float:
        """Of process means: each process counts alike, however many launches it made."""
        return _mean([_mean(group) for group in self.by_process()])


class Difference(NamedTuple):
    """Of two means: its error is Student's, with so many degrees of freedom."""

    delta: float
    error: float
    freedom: float

    def interval(self) -> Interval:
        if self.error == 0.0:
            return Interval(self.delta, self.delta)
        reach = student_quantile((1 + CONFIDENCE) / 2, self.freedom) * self.error
        return Interval(self.delta - reach, self.delta + reach)

    def p_value(self) -> float:
        """How probable a difference at least as large is where there is none."""
        if self.error == 0.0:
            return float(self.delta == 0.0)
        return student_tails(self.delta / self.error, self.freedom)


class _Variance(NamedTuple):
    """Of a side's mean, as estimated with so many degrees of freedom; unknown with none."""

    value: float
    freedom: int


class _Noise(NamedTuple):
    """Of a side's mean: by how far process means lie apart, and as if all launches were independent."""

    between: _Variance
    within: _Variance

    def known(self) -> _Variance:
        if not self.between.freedom:
            return self.within
        least = _LEAST_OF_EXPLAINED * self.within.value
        return self.between._replace(value=max(self.between.value, least))


def mean_difference(before: Readings, after: Readings) -> Difference | None:
    """Mean of `after` less mean of `before`; None where a side is a single launch."""
    sides = [_noise(before.by_process()), _noise(after.by_process())]
    known = [side.known() for side in sides]
    if not all(variance.freedom for variance in known):
        return None
    delta = after.mean() - before.mean()
    total = sum(variance.value for variance in known)
    if total == 0.0:
        return Difference(delta, 0.0, sum(variance.freedom for variance in known))
    doubts = (
        share**2 / variance.freedom for share, variance in zip(_shares(sides, known), known, strict=True)
    )
    return Difference(delta, math.sqrt(total), 1 / sum(doubts))


def _shares(sides: Sequence[_Noise], known: Sequence[_Variance]) -> list[float]:
    """Which part of the noise is whose: told by the launches, where each side has several processes of them."""
    if all(side.between.freedom and (side.within.value or not side.between.value) for side in sides):
        known = [side.within for side in sides]
    total = sum(variance.value for variance in known)
    return [variance.value / total for variance in known]


def _noise(groups: Sequence[Sequence[float]]) -> _Noise:
    processes = len(groups)
    apart = _squares([_mean(group) for group in groups])
    inside = math.fsum(_squares(group) for group in groups)
    freedom = sum(len(group) - 1 for group in groups)
    of_one_process = inside / max(freedom, 1) * fmean(1 / len(group) for group in groups)
    return _Noise(
        _Variance(apart / max(processes - 1, 1) / processes, processes - 1),
        _Variance(of_one_process / processes, freedom),
    )


def standard_deviation(values: Sequence[float]) -> float:
    """As `statistics.stdev` has it, but for the last bit, which takes it seven times as long."""
    return math.sqrt(_squares(values) / (len(values) - 1))


def _mean(values: Sequence[float]) -> float:
    """Of equal values the value itself, which dividing a sum may miss by a bit."""
    return values[0] if min(values) == max(values) else fmean(values)


def _squares(values: Sequence[float]) -> float:
    mean = _mean(values)
    return math.fsum((value - mean) ** 2 for value in values)


def discoveries(p_values: Sequence[float], rate: float = 1 - CONFIDENCE) -> set[int]:
    """Which of many questions, asked together, are answered: of these at most `rate` are false on average.

    By Benjamini and Hochberg. Where nothing differs at all, that is also how probable any answer is.
    """
    order = sorted(range(len(p_values)), key=lambda index: p_values[index])
    last = max(
        (rank for rank, index in enumerate(order, 1) if p_values[index] <= rank / len(order) * rate),
        default=0,
    )
    return set(order[:last])


@lru_cache(maxsize=4096)
def student_quantile(probability: float, freedom: float) -> float:
    """The inverse of Student's distribution function, for probability above one half."""
    quantile = NormalDist().inv_cdf(probability)
    if freedom > 1e7:
        return quantile
    # Newton's method, from below: the tails are convex, so that no step goes too far.
    for _ in range(100):
        excess = student_tails(quantile, freedom) - 2 * (1 - probability)
        step = excess / (2 * _student_density(quantile, freedom))
        if step <= 1e-14 * quantile:
            break
        quantile += step
    return quantile


def _student_density(t: float, freedom: float) -> float:
    log_scale = math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2) - math.log(freedom * math.pi) / 2
    return math.exp(log_scale - (freedom + 1) / 2 * math.log1p(t * t / freedom))


def student_tails(t: float, freedom: float) -> float:
    """The probability of a value at least as far from zero as `t`, through the incomplete beta function."""
    if freedom > 1e7:
        return math.erfc(abs(t) / math.sqrt(2))
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
    """The continued fraction of the incomplete beta function, by Lentz's method."""
    tiny = 1e-300
    c, d = 1.0, 1.0 / _away_from_zero(1.0 - (a + b) * x / (a + 1), tiny)
    fraction = d
    for m in range(1, 1000):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            d = 1.0 / _away_from_zero(1.0 + term * d, tiny)
            c = _away_from_zero(1.0 + term / c, tiny)
            fraction *= c * d
        if abs(c * d - 1.0) < 1e-15:
            break
    return fraction


def _away_from_zero(value: float, tiny: float) -> float:
    return value if abs(value) > tiny else tiny
