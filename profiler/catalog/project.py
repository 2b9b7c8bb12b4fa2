"""Reads what a project declares for prof: in `prof.toml`, or under `[tool.prof]` in `pyproject.toml`.

In `prof.toml`:                          or in `pyproject.toml`:

    gpu = "h200"                             [tool.prof]
                                             gpu = "h200"
    [check]                                  [tool.prof.check]
    duration_ns.worse_pct = 3                duration_ns.worse_pct = 3
    l2_hit_pct.fall_pct = 5                  l2_hit_pct.fall_pct = 5

`gpu` is the GPU that is meant where runs of several are stored and nobody asks for one. Either may stand in another
file than the other: a file that declares no limits hides none.

`check` says how much worse a metric may get before `prof check` fails. A key is a metric of the catalogue. Its limits
are in percent of the baseline's value: `worse_pct` against the metric's better direction, `rise_pct` or `fall_pct` for
one that has none. The duration is always checked. Any other key is an error, because a misspelt limit checks nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from numbers import Real
from pathlib import Path
from typing import Any, Literal, NoReturn

from profiler.catalog.ladders.toml_reader import parse_toml, read_text
from profiler.catalog.metrics import BY_NAME, DURATION, Metric
from profiler.errors import ThresholdsInvalid
from profiler.text import nearest_hint

_PROJECT_FILES = ("prof.toml", "pyproject.toml")
_KEYS = ("check", "gpu")
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
            _invalid(path, f"'{name}' is not a metric of the catalogue{nearest_hint(name, list(BY_NAME))}")
        usual = "rise_pct" if metric.better is None else "worse_pct"
        if not isinstance(ways, dict) or not ways:
            _invalid(path, f"{name}: say how far it may go: {name}.{usual} = {DEFAULT_SLOWER_PCT:g}")
        for way, limit in ways.items():
            yield _limit(path, metric, way, limit)


def _limit(path: Path, metric: Metric, way: str, limit: object) -> Threshold:
    """Returns one limit, such as `worse_pct = 2` of a metric; raises ThresholdsInvalid if it is none."""
    name = metric.name
    if way not in _WAYS:
        _invalid(path, f"unknown key '{name}.{way}'{nearest_hint(way, _WAYS)}")
    if way == "worse_pct" and metric.better is None:
        _invalid(path, f"{name}.worse_pct: it has no better direction; give {name}.rise_pct or .fall_pct")
    try:
        limit_pct = limit_of(limit)
    except (TypeError, ValueError) as error:
        _invalid(path, f"{name}.{way}: {error}")
    rises = metric.better == "lower" if way == "worse_pct" else way == "rise_pct"
    return Threshold(metric, "rise" if rises else "fall", limit_pct)


def limit_of(given: object) -> float:
    """Returns a limit in percent; raises an error if it is no number, or one that no change could exceed or stay within."""
    if isinstance(given, bool) or not isinstance(given, Real):
        raise TypeError(f"a limit is a percentage from 0, not {given!r}")
    try:
        limit_pct = float(given)
    except OverflowError:  # of an integer with hundreds of digits
        limit_pct = math.inf
    if not 0 <= limit_pct < math.inf:
        raise ValueError(f"a limit is a percentage from 0, not {limit_pct:g}")
    return limit_pct


def _complete(given: Iterable[Threshold]) -> tuple[Threshold, ...]:
    """Adds the duration's limit if none is given, and puts it first; keeps the stricter of two limits the same way."""
    strictest: dict[tuple[str, str], Threshold] = {}
    for one in given:
        key = (one.metric.name, one.way)
        if key not in strictest or one.limit_pct < strictest[key].limit_pct:
            strictest[key] = one
    usual = Threshold(BY_NAME[DURATION], "rise", DEFAULT_SLOWER_PCT)
    return (strictest.pop((DURATION, "rise"), usual), *strictest.values())


def find_declared(start: Path, key: Literal["check", "gpu"]) -> tuple[Path, Any] | None:
    """Returns what the nearest project file with this key declares, in `start` or a parent, and the file's path."""
    for folder in (start, *start.parents):
        for name in _PROJECT_FILES:
            path = folder / name
            table = _declared(path) if path.is_file() else {}
            if key in table:
                return path, table[key]
    return None


def _declared(path: Path) -> dict[str, Any]:
    """Returns the file's table for prof, which is empty for a `pyproject.toml` without one."""
    try:
        file = parse_toml(read_text(path))
    except (OSError, UnicodeDecodeError) as error:
        raise ThresholdsInvalid(f"{path}: cannot be read as text: {error}") from None
    except ValueError as error:
        raise ThresholdsInvalid(f"{path}: not TOML: {error}") from None
    table: Any = file
    if path.name != _PROJECT_FILES[0]:
        tools = file.get("tool")
        if not isinstance(tools, dict) or "prof" not in tools:
            return {}
        table = tools["prof"]
    if not isinstance(table, dict):
        _invalid(path, "tool.prof is not a table")
    for key in table:
        if key not in _KEYS:
            _invalid(path, f"unknown key '{key}'; known: {', '.join(_KEYS)}")
    if not isinstance(table.get("check", {}), dict):
        _invalid(path, "check is not a table")
    if not isinstance(table.get("gpu", ""), str):
        _invalid(path, 'gpu is a part of a GPU\'s name, such as "h200"')
    return table


def _invalid(path: Path, reason: str) -> NoReturn:
    raise ThresholdsInvalid(f"{path}: {reason}")
