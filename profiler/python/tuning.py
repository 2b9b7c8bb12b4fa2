"""Finds the fastest values of a function's keywords, such as block sizes and `num_warps`, by measuring each combination.

A winner chosen by one measurement has been lucky in it, so the best few are measured once more, and that decides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from inspect import signature
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from profiler.analyse.tuning import TuningStep
from profiler.ask.compare import compare_runs
from profiler.ask.named.settings import Settings
from profiler.errors import DeviceMemoryFull, NoPointWorks, ProgramFailed, ProgramTimedOut, ResultWrong
from profiler.measuring.functions.measure import processes_ahead
from profiler.measuring.functions.plan import function_name
from profiler.present.document import Block, Caution, Cell, Column, Document, Facts, Row, Table, Text
from profiler.present.documents.sweep import step_text
from profiler.python.measuring import OfPoints, measure_one
from profiler.python.recordings import Measurement
from profiler.python.shows_itself import ShowsItself
from profiler.python.status import status
from profiler.store.runs.run_id import NAME_CHARACTERS
from profiler.store.runs.run_store import RunStore
from profiler.text import counted, duration, shortened

if TYPE_CHECKING:
    import pandas as pd

    from profiler.measuring.functions.ahead import Ahead

_WITHIN_PCT = 5.0  # as `prof tune` has it: farther apart than one process differs from another
_MOST_AGAIN = 4
_REASON_WIDTH = 240
_WORK = ("bytes", "flops")  # of one call, which may depend on the values
# A combination may be too much for the GPU, or wrong. Anything else, such as a missing GPU, is no fault of a combination.
_OF_A_POINT = (ProgramFailed, ProgramTimedOut, ResultWrong, DeviceMemoryFull)
_Measure = Callable[..., "TunedPoint"]


@dataclass(frozen=True)
class TunedPoint:
    """One combination: its measurement, or why it has none. `decides` if it was measured again with the best few."""

    settings: dict[str, Any]
    measurement: Measurement | None
    problem: str = ""
    decides: bool = False

    @property
    def ns(self) -> float:
        """Returns the median time, or infinity if there is none."""
        return self.measurement.ns if self.measurement else float("inf")

    def __str__(self) -> str:
        return " ".join(f"{name}={_shown(value)}" for name, value in self.settings.items())


@dataclass(frozen=True, repr=False)
class Tuning(OfPoints[TunedPoint], ShowsItself):
    """This answer ranks every combination of the values, the fastest first.

    settings     the fastest values, as in `partial(function, **tuned.settings)`
    best         the measurement of the fastest combination
    points       each combination: `.settings`, `.ns`, `.measurement`, `.problem` if it was wrong or failed
    second       how far the second is from the fastest
    to_pandas()  one row for each combination
    """

    name: str
    points: tuple[TunedPoint, ...]
    second: TuningStep | None = None

    @property
    def settings(self) -> dict[str, Any]:
        """Returns the fastest values, as in `partial(function, **tuned.settings)`."""
        return dict(self.points[0].settings)

    @property
    def best(self) -> Measurement:
        """Returns the measurement of the fastest combination."""
        found = self.points[0].measurement
        assert found is not None  # or it would not be first
        return found

    def to_pandas(self) -> pd.DataFrame:
        """Returns a row for each combination, the fastest first: its values, its times, and what went wrong."""
        import pandas as pd

        return pd.DataFrame([{**one.settings, **self._figures(one)} for one in self.points])

    def _figures(self, one: TunedPoint) -> dict[str, object]:
        found = one.measurement
        return {
            "median_ns": one.ns if found else None,
            "slower_pct": 100 * (one.ns / self.points[0].ns - 1) if found else None,
            "reference_median_ns": found.reference_ns if found else None,
            "decides": one.decides,
            "problem": one.problem,
            "run_id": found.manifest.run_id if found else None,
        }

    def _cells(self, one: TunedPoint) -> list[Cell]:
        figures: Any = self._figures(one)
        times = [figures[name] for name in ("median_ns", "slower_pct", "reference_median_ns")]
        how = "again, and decides" if one.decides else "once"
        return [*map(_shown, one.settings.values()), *times, how]

    def _document(self, *, full: bool = False) -> Document:  # noqa: ARG002
        names = [Column(name, right=True) for name in self.points[0].settings]
        timed = [(one, one.measurement) for one in self.points if one.measurement]
        rows = [Row(self._cells(one), "plain" if place else "good") for place, (one, _) in enumerate(timed)]
        problems = [(str(one), shortened(one.problem, _REASON_WIDTH)) for one in self.points if one.problem]
        columns = (
            Column("time", "duration"), Column("slower %", "percent"), Column("reference", "duration"),
            Column("measured", stays=1),
        )  # fmt: skip
        best = f"The best of {len(self)} is {self.points[0]}: {duration(self.best.ns)}."
        second = [Text(f"The second, {self.points[1]}, {step_text(self.second)}.")] if self.second else []
        said = dict.fromkeys(one for point, found in timed if point.decides for one in found.cautions)
        answer: list[Block] = [Text(best, strong=True), *second, *map(Caution, said)]
        table = Table((*names, *columns), rows, drops_empty=True)
        return Document(self.name, [answer, [table], [Facts(problems)]], opening=3)


def _shown(value: object) -> str:
    return shortened(str(value), 40)


def tune_function(
    function: Callable[..., Any],
    arguments: Sequence[Any],
    over: Mapping[str, Iterable[Any]],
    namespace: Mapping[str, Any],
    *,
    reference: Callable[..., Any] | None = None,
    runs: RunStore | str | Path = "runs",
    name: str | None = None,
    **options: Any,
) -> Tuning:
    """Measures every combination once, and the best few again; each is a run of times alone unless `profile` is true."""
    combinations = _combinations(function, arguments, over)
    name = name or function_name(function)

    def measure(settings: Mapping[str, Any], **chosen: Any) -> TunedPoint:
        point = TunedPoint(dict(settings), None)
        called = _run_name(name, point)
        work = {what: one(**settings) for what in _WORK if callable(one := options.get(what))}
        try:
            found = measure_one(
                partial(function, **settings), arguments, reference, runs, namespace,
                name=called, **{**options, **work, **chosen},
            )  # fmt: skip
        except _OF_A_POINT as error:
            return replace(point, problem=error.reason or error.message.removeprefix(f"'{called}' "))
        return replace(point, measurement=found)

    with processes_ahead(len(combinations)) as ahead:
        ranked = _measured_once(measure, combinations, ahead)
        again = partial(measure, profile=options.get("profile", False))
        decided, rest, failed = _measured_again(again, ranked, ahead)
    if not decided:
        raise NoPointWorks(
            f"{name}: none of {counted(len(combinations), 'combination')} can be measured",
            details=[f"  {one}: {one.problem}" for one in (*failed, *rest)],
            remedy="Call the function by hand with one of them.",
        )
    return Tuning(name, (*decided, *rest, *failed), _step(decided) if len(decided) > 1 else None)


def _measured_once(
    measure: _Measure, combinations: Sequence[Mapping[str, Any]], ahead: Ahead
) -> list[TunedPoint]:
    """Measures each combination in one process, and returns the points, the fastest first."""
    points: list[TunedPoint] = []
    for one in combinations:
        with status(f"{len(points) + 1} of {len(combinations)}"):
            points.append(measure(one, profile=False, processes=1, ahead=ahead))
    return sorted(points, key=lambda one: one.ns)


def _measured_again(
    measure: _Measure, ranked: Sequence[TunedPoint], ahead: Ahead
) -> tuple[list[TunedPoint], list[TunedPoint], list[TunedPoint]]:
    """Measures the fastest points again, and if none of them can be measured, the next ones.

    Returns the points that decide, the fastest first; those that were not measured again; and those that failed now.
    """
    decided: list[TunedPoint] = []
    failed: list[TunedPoint] = []
    rest = list(ranked)
    while not decided and rest and rest[0].measurement:
        near = [one for one in rest if one.ns <= rest[0].ns * (1 + _WITHIN_PCT / 100)][:_MOST_AGAIN]
        rest = rest[len(near) :]
        ahead.expect(len(near))
        with status("again"):
            again = [measure(one.settings, ahead=ahead) for one in near]
        decided = [replace(one, decides=True) for one in again if one.measurement]
        decided.sort(key=lambda one: one.ns)
        failed += [one for one in again if not one.measurement]
    return decided, rest, failed


def _run_name(function: str, point: TunedPoint) -> str:
    """Returns the name of the point's runs: that of the function with the values, and with the keywords if they fit."""
    values = [f"{name}-{_shown(value)}" for name, value in point.settings.items()]
    named = "-".join([function, *values])
    if len(named) <= NAME_CHARACTERS:
        return named
    return "-".join([function, *map(_shown, point.settings.values())])  # else several would have one name


def _combinations(
    function: Callable[..., Any], arguments: Sequence[Any], over: Mapping[str, Iterable[Any]]
) -> list[dict[str, Any]]:
    """Returns the keywords of each combination, which the function has to take."""
    values = {
        name: list(one) if isinstance(one, Iterable) and not isinstance(one, str) else []
        for name, one in (over.items() if isinstance(over, Mapping) else ())
    }
    if not values or not all(values.values()):
        raise TypeError(
            f"over={over!r} must give the values of each keyword, such as over={{'BLOCK': [256, 512]}}"
        )
    found = [dict(zip(values, one, strict=True)) for one in product(*values.values())]
    try:
        takes = signature(function)
    except (TypeError, ValueError):  # of a function in C, or what cannot be called, which measuring it says
        return found
    try:
        takes.bind(*arguments, **found[0])
    except TypeError as error:
        raise TypeError(
            f"{function_name(function)}{takes} cannot be called with these arguments and the keywords "
            f"{', '.join(values)} of over: {error}"
        ) from None
    return found


def _step(decided: Sequence[TunedPoint]) -> TuningStep:
    """Returns how much slower the second is than the best, with the interval of a comparison."""
    best, second = (one.measurement for one in decided[:2])
    assert best is not None
    assert second is not None
    (found,) = compare_runs(second, best, Settings(), every=None, force=True)
    assert found.speedup is not None  # both were timed
    ends = [100 * (one - 1) for one in found.speedup.ci or ()]
    interval = (ends[0], ends[1]) if ends else None
    is_sure = interval is not None and not interval[0] <= 0 <= interval[1]
    return TuningStep(decided[1].settings, 100 * (found.speedup.ratio - 1), interval, is_sure)
