"""Finds what two programs of different runtimes took for the same reference, so that their times have one denominator."""

from __future__ import annotations

import math
from statistics import median

from profiler.analyse.recording.profile import Profile

_SHOWN_PCT = 0.05  # less is 0.0 % when printed


def reference_shift(before: Profile, after: Profile) -> float:
    """Returns the logarithm of how much longer the same reference took beside `after`, where another runtime timed it.

    On an H200 the same copy took 0.5 to 0.6 % longer in a program of PyTorch than in ours.
    """
    facts = [
        (side.run.times_from or side.run).manifest.provenance if side.run else None
        for side in (before, after)
    ]
    if facts[0] is None or facts[1] is None:
        return 0.0
    if facts[0].runtime == facts[1].runtime or facts[0].reference != facts[1].reference:
        return 0.0
    medians = [_reference_median(side) for side in (before, after)]
    return math.log(medians[1] / medians[0]) if all(medians) else 0.0


def find_shift_cautions(before: Profile, after: Profile) -> list[str]:
    """Says how much longer or shorter the same reference took beside `after`, if the speedup leaves that out."""
    if not (before.timings_ns and after.timings_ns):
        return []
    longer_pct = 100 * math.expm1(reference_shift(before, after))
    if abs(longer_pct) < _SHOWN_PCT:
        return []
    which = "longer" if longer_pct > 0 else "less"
    return [
        f"the reference took {abs(longer_pct):.1f} % {which} beside {after.label}, in another runtime; "
        "the speedup leaves that out, and the times are as measured"
    ]


def _reference_median(side: Profile) -> float:
    timings = side.run.table("timings").column("reference_ns").to_pylist() if side.run else []
    known = [value for value in timings if value]
    return median(known) if known else 0.0
