"""Finds which resource limits a kernel now, from its own counters.

A `Profile` in; `Suspect`s out, the most binding first, each with the figures that say so.

The ranking is by `weight_pct`: the share of the kernel's time that relieving this one thing
could at most save.

* A resource (memory, a pipe, the issue slots) weighs what it is used of its peak: it would need
  that share of the time if nothing else held it up.
* A stall weighs the share of the time in which the schedulers have warps and none can issue, for
  that reason. It weighs no more than what the busiest resource leaves, since without the stall
  the kernel would still take as long as that resource needs.

A launch too short to trust comes before all and weighs nothing: it puts the other figures in
doubt. A suspect is named when all its conditions hold, and judged when all its metrics are there.
"""

from __future__ import annotations

from profiler.analyse.causes.evidence.time_shares import Figures, derive_figures, metrics_behind
from profiler.analyse.causes.patterns import PATTERNS, Pattern
from profiler.analyse.findings import Suspect
from profiler.analyse.recording.profile import Profile
from profiler.catalog.metrics import BY_NAME

_MOST_SUSPECTS = 6


def find_suspects(profile: Profile) -> list[Suspect]:
    """Returns the suspects, the most binding first; none where the counters are missing."""
    figures = derive_figures(profile)
    found: dict[str, Pattern] = {}
    for pattern in PATTERNS:
        if _holds(pattern, figures):
            found.setdefault(pattern.unit or pattern.name, pattern)

    def rank(pattern: Pattern) -> tuple[bool, float, float]:
        """Ranks by weight; where the busiest resource caps several stalls alike, the longest comes first."""
        if not pattern.share:
            return (False, 0.0, 0.0)
        return (True, -_weight(pattern, figures), -figures[pattern.share])

    return [_suspect(pattern, figures) for pattern in sorted(found.values(), key=rank)[:_MOST_SUSPECTS]]


def find_missing_metrics(profile: Profile) -> list[str]:
    """Lists the metrics that were not recorded and without which a suspect may be overlooked, by the catalogue's names."""
    needed = metrics_behind(name for pattern in PATTERNS for name in pattern.needs)
    return [name for name in needed if name in BY_NAME and name not in profile.series]


def _weight(pattern: Pattern, figures: Figures) -> float:
    share = figures[pattern.share]
    return min(share, figures["left_pct"]) if pattern.stall else share


def _holds(pattern: Pattern, figures: Figures) -> bool:
    if not all(name in figures for name in pattern.needs):
        return False
    heavy = not pattern.share or _weight(pattern, figures) >= pattern.at_least
    return heavy and all(condition.holds(figures) for condition in pattern.conditions)


def _suspect(pattern: Pattern, figures: Figures) -> Suspect:
    return Suspect(
        name=pattern.name,
        sentence=pattern.sentence.format_map(figures),
        evidence={name: figures[name] for name in (*pattern.needs, *pattern.also) if name in figures},
        weight_pct=_weight(pattern, figures) if pattern.share else None,
    )
