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
from typing import Any, Literal, NoReturn

from profiler.catalog.ladders.toml_reader import parse_toml
from profiler.catalog.metrics import BY_NAME, DURATION, Metric, nearest_hint
from profiler.errors import ThresholdsInvalid

DEFAULT_SLOWER_PCT = 2.0
PROJECT_FILES = ("prof.toml", "pyproject.toml")
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
    for folder in (start, *start.parents):
        for name in PROJECT_FILES:
            path = folder / name
            table = _declared(path) if path.is_file() else None
            if table is not None:
                return Thresholds(_complete(_limits(path, table)), path)
    return Thresholds(_complete(()))


def _declared(path: Path) -> dict[str, Any] | None:
    """Returns the table of limits, or None for a `pyproject.toml` without a part for prof."""
    try:
        file = parse_toml(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise ThresholdsInvalid(f"{path}: cannot be read as text: {error}") from None
    except ValueError as error:
        raise ThresholdsInvalid(f"{path}: not TOML: {error}") from None
    table: Any = file
    if path.name != PROJECT_FILES[0]:
        tools = file.get("tool")
        if not isinstance(tools, dict) or "prof" not in tools:
            return None
        table = tools["prof"]
    if not isinstance(table, dict):
        _fail(path, "tool.prof is not a table")
    for key in table:
        if key != "check":
            _fail(path, f"unknown key '{key}'; known: check")
    check = table.get("check", {})
    if not isinstance(check, dict):
        _fail(path, "check is not a table")
    return check


def _limits(path: Path, table: dict[str, Any]) -> Iterator[Threshold]:
    for name, ways in table.items():
        metric = BY_NAME.get(name)
        if metric is None:
            _fail(path, f"'{name}' is not a metric of the catalogue{nearest_hint(name, list(BY_NAME))}")
        if not isinstance(ways, dict) or not ways:
            _fail(path, f"{name}: say how far it may go: {name}.{_usual(metric)} = {DEFAULT_SLOWER_PCT:g}")
        for way, limit in ways.items():
            if way not in _WAYS:
                _fail(path, f"unknown key '{name}.{way}'{nearest_hint(way, _WAYS)}")
            if way == "worse_pct" and metric.better is None:
                _fail(
                    path, f"{name}.worse_pct: it has no better direction; give {name}.rise_pct or .fall_pct"
                )
            if isinstance(limit, bool) or not isinstance(limit, (int, float)) or not _sensible(limit):
                _fail(path, f"{name}.{way}: a limit is a percentage from 0, not {limit!r}")
            yield Threshold(metric, _way(way, metric), float(limit))


def _usual(metric: Metric) -> str:
    return "rise_pct" if metric.better is None else "worse_pct"


def _way(way: str, metric: Metric) -> Literal["rise", "fall"]:
    if way == "worse_pct":
        return "rise" if metric.better == "lower" else "fall"
    return "rise" if way == "rise_pct" else "fall"


def _sensible(limit: float) -> bool:
    return math.isfinite(limit) and limit >= 0


def _complete(given: Iterable[Threshold]) -> tuple[Threshold, ...]:
    """Adds the duration's limit if none is given, and puts it first; keeps the stricter of two limits the same way."""
    strictest: dict[tuple[str, str], Threshold] = {}
    for one in given:
        key = (one.metric.name, one.way)
        if key not in strictest or one.limit_pct < strictest[key].limit_pct:
            strictest[key] = one
    usual = Threshold(BY_NAME[DURATION], "rise", DEFAULT_SLOWER_PCT)
    return (strictest.pop((DURATION, "rise"), usual), *strictest.values())


def _fail(path: Path, reason: str) -> NoReturn:
    raise ThresholdsInvalid(f"{path}: {reason}")
