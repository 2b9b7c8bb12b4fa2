"""How sure the difference of two means is.

Two samples in, the interval of the difference of their means out. It is Welch's, which
does not ask for equal spread. Student's quantile is computed here because importing SciPy for it
would cost more than a whole comparison; a test checks it against SciPy.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from statistics import NormalDist, fmean, variance
from typing import NamedTuple

CONFIDENCE = 0.95


class Interval(NamedTuple):
    low: float
    high: float


def welch_interval(before: Sequence[float], after: Sequence[float]) -> Interval | None:
    """The 95 % interval of mean(after) - mean(before); None with fewer than two launches a side."""
    if min(len(before), len(after)) < 2:
        return None
    delta = fmean(after) - fmean(before)
    share_before = variance(before) / len(before)
    share_after = variance(after) / len(after)
    squared_error = share_before + share_after
    if squared_error == 0.0:
        return Interval(delta, delta)
    # Welch and Satterthwaite's degrees of freedom, from shares so that no square can overflow.
    part_before, part_after = share_before / squared_error, share_after / squared_error
    freedom = 1 / (part_before**2 / (len(before) - 1) + part_after**2 / (len(after) - 1))
    reach = student_quantile((1 + CONFIDENCE) / 2, freedom) * math.sqrt(squared_error)
    return Interval(delta - reach, delta + reach)


@lru_cache(maxsize=4096)
def student_quantile(probability: float, freedom: float) -> float:
    """The inverse of Student's distribution function, for probability above one half."""
    if freedom > 1e7:
        return NormalDist().inv_cdf(probability)
    low, high = 0.0, 2.0
    while _student_cdf(high, freedom) < probability:
        low, high = high, high * 2
    for _ in range(200):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        if _student_cdf(middle, freedom) < probability:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _student_cdf(t: float, freedom: float) -> float:
    """Through the regularised incomplete beta function, for t at or above zero."""
    x = freedom / (freedom + t * t)
    return 1.0 - 0.5 * _incomplete_beta(freedom / 2, 0.5, x)


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
