"""Estimates what several changes save together, which is seldom the sum of what each saves by itself.

Changes that shorten the same waiting save less than their sum. Changes that relieve different units, where both are busy, save
more: after one of them, the other unit still needs its time.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from math import prod

from profiler.analyse.causes.detectors.candidate import Candidate
from profiler.analyse.causes.evidence.latency import Effect
from profiler.analyse.causes.evidence.time_model import TimeModel


def saved_together(model: TimeModel, expected: Mapping[Candidate, float]) -> float:
    """Estimates the fraction of the time that the changes of all these candidates save; `expected` says what each saves by itself.

    A change that includes another stands for both. What the model does not know of is the part of the time that the others leave.
    """
    modelled = [one for one in expected if one.saves is None]
    for one in tuple(modelled):
        if any(other.includes == one.name for other in modelled):
            modelled.remove(one)
    left = 1.0 - model.saved(combine([one.effect for one in modelled]))
    left *= prod(1.0 - saved for one, saved in expected.items() if one.saves is not None)
    return max(1.0 - left, *expected.values())


def combine(effects: Collection[Effect]) -> Effect:
    """Returns the effect of several changes, each of which removes its part of what the others leave.

    In four blind tests, adding up the parts, or counting only the largest, changes the error of what is expected of the right
    causes by 0.2 points.
    """
    return Effect(
        _combined([one.resources for one in effects]),
        _combined([one.waits for one in effects]),
        _combined([one.lighter for one in effects]),
        prod(one.warps for one in effects),
    )


def _combined(parts: Collection[Mapping[str, float]]) -> dict[str, float]:
    names = {name for one in parts for name in one}
    return {name: 1.0 - prod(1.0 - one.get(name, 0.0) for one in parts) for name in names}
