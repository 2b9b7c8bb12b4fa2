"""Reads how much worse a metric may get before `prof check` fails.

A project declares these limits.

In `prof.toml`:                          or in `pyproject.toml`:

    [check]                                  [tool.prof.check]
    duration_ns.worse_pct = 3                duration_ns.worse_pct = 3
    l2_hit_pct.fall_pct = 5                  l2_hit_pct.fall_pct = 5

A key is a metric of the catalogue. Its limits are in percent of the baseline's value: `worse_pct`
against the metric's better direction, `rise_pct` or `fall_pct` for one that has none. The duration is
always checked. Any other key is an error, because a misspelt limit checks nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from profiler.catalog.metrics import BY_NAME, DURATION, Metric, nearest_hint
from profiler.catalog.project import find_declared, project_invalid

DEFAULT_SLOWER_PCT = 2.0
_WAYS = ("worse_pct", "rise_pct", "fall_pct")


@dataclass(frozen=True)
class Threshold:
    """A metric may rise or fall by `limit_pct` percent of the baseline's value, and no further."""

    metric: Metric
    way: Literal["rise", "fall"]
    limit_pct: float


@dataclass(frozen=True)
class Thresholds:
    """The limits, the duration's first; `path` is the file that declares them, None if there is none."""

    limits: tuple[Threshold, ...]
    path: Path | None = None


def find_thresholds(start: Path) -> Thresholds:
    """Returns the limits of the nearest project file that declares any, in `start` or a parent; or the default."""
    declared = find_declared(start, "check")
    if declared is None:
        return Thresholds(_complete(()))
    return Thresholds(_complete(_limits(*declared)), declared[0])


def _limits(path: Path, table: dict[str, Any]) -> Iterator[Threshold]:
    for name, ways in table.items():
        metric = BY_NAME.get(name)
        if metric is None:
            project_invalid(
                path, f"'{name}' is not a metric of the catalogue{nearest_hint(name, list(BY_NAME))}"
            )
        if not isinstance(ways, dict) or not ways:
            project_invalid(
                path, f"{name}: say how far it may go: {name}.{_usual(metric)} = {DEFAULT_SLOWER_PCT:g}"
            )
        for way, limit in ways.items():
            if way not in _WAYS:
                project_invalid(path, f"unknown key '{name}.{way}'{nearest_hint(way, _WAYS)}")
            if way == "worse_pct" and metric.better is None:
                project_invalid(
                    path, f"{name}.worse_pct: it has no better direction; give {name}.rise_pct or .fall_pct"
                )
            if isinstance(limit, bool) or not isinstance(limit, (int, float)) or not 0 <= limit < math.inf:
                project_invalid(path, f"{name}.{way}: a limit is a percentage from 0, not {limit!r}")
            yield Threshold(metric, _way(way, metric), float(limit))


def _usual(metric: Metric) -> str:
    return "rise_pct" if metric.better is None else "worse_pct"


def _way(way: str, metric: Metric) -> Literal["rise", "fall"]:
    if way == "worse_pct":
        return "rise" if metric.better == "lower" else "fall"
    return "rise" if way == "rise_pct" else "fall"


def _complete(given: Iterable[Threshold]) -> tuple[Threshold, ...]:
    """Adds the duration's limit if none is given, and puts it first; keeps the stricter of two limits the same way."""
    strictest: dict[tuple[str, str], Threshold] = {}
    for one in given:
        key = (one.metric.name, one.way)
        if key not in strictest or one.limit_pct < strictest[key].limit_pct:
            strictest[key] = one
    usual = Threshold(BY_NAME[DURATION], "rise", DEFAULT_SLOWER_PCT)
    return (strictest.pop((DURATION, "rise"), usual), *strictest.values())
