"""Measures a function, or a function at every point of a sweep, for the Python interface."""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from inspect import isfunction
from itertools import product
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypedDict, TypeVar

from profiler.measuring.functions.ahead import Ahead
from profiler.measuring.functions.call import Call
from profiler.measuring.functions.collecting import profiled_configurations, unlike_configurations
from profiler.measuring.functions.measure import measure_function, processes_ahead
from profiler.measuring.functions.plan import FunctionPlan, function_name
from profiler.measuring.tools.mangling import demangled
from profiler.python.did_you_mean import keyword_meant
from profiler.python.recordings import Measurement
from profiler.python.status import status
from profiler.python.words import told
from profiler.store.runs.run_id import RunId
from profiler.store.runs.run_store import RunStore

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd


_Point = TypeVar("_Point")


class Options(TypedDict, total=False):
    """The options of `prof.measure`. `FunctionPlan` describes those after `runs`."""

    kernel_name: str | None
    reference: Callable[..., Any] | None
    bytes: int | Callable[..., int] | None
    flops: int | Callable[..., int] | None
    name: str | None
    runs: RunStore | str | Path
    verify: bool
    tolerance: float | None
    profile: bool
    preset: str
    processes: int
    repeats: int
    launches: int
    timeout_s: float


def measure_one(
    function: Callable[..., Any],
    arguments: Sequence[Any],
    reference: Callable[..., Any] | None,
    runs: RunStore | str | Path,
    namespace: Mapping[str, Any],
    *,
    name: str | None,
    ahead: Ahead | None = None,
    **options: Any,
) -> Measurement:
    """Measures the function once and returns its run; `ahead` has the processes of several measurements."""
    if unknown := sorted(set(options) - {"values", *Options.__annotations__}):
        raise TypeError(
            f"measure has no option {', '.join(unknown)}: give the function its own keywords with functools.partial("
            f"{function_name(function)}, {unknown[0]}=...){keyword_meant(unknown[0], [*Options.__annotations__, 'over'])}"
        )
    for what, one in (("function", function), ("reference", reference)):
        if not callable(one) and not (what == "reference" and one is None):
            raise TypeError(
                f"the {what} is {reprlib.repr(one)}, which cannot be called: give it and its arguments separately, as in measure(f, x)"
            )
    store = runs if isinstance(runs, RunStore) else RunStore(runs)
    plan = FunctionPlan(name or function_name(function), **options)
    call = Call(function, tuple(arguments), reference, plan.tolerance)
    with status(plan.name) as say:
        found = measure_function(call, plan, store, namespace, say, ahead)
    run_id = RunId.parse(found.run_id)
    assert run_id is not None
    run = store.open(run_id)
    configurations = unlike_configurations("profiled", profiled_configurations(run))
    cautions = [*run.manifest.facts.cautions, *configurations]
    launched = sorted(found.kernels, key=lambda one: -one.ns)
    named = tuple(replace(one, name=demangled(one.name)) for one in launched)
    return Measurement.of(run, launched=named, cautions=tuple(map(told, cautions)))


def measure_sweep(
    function: Callable[..., Any],
    arguments: Sequence[Any],
    reference: Callable[..., Any] | None,
    over: Mapping[str, Iterable[int]],
    runs: RunStore | str | Path,
    namespace: Mapping[str, Any],
    **options: Any,
) -> Sweep:
    """Measures the function at every combination of the whole numbers; arguments and options may be functions of them."""
    axes = {name: list(values) if isinstance(values, Iterable) else [] for name, values in over.items()}
    if not axes or not all(
        values and all(isinstance(one, Integral) for one in values) for values in axes.values()
    ):
        raise TypeError(
            f"over={over!r} must give whole numbers for each name, such as over={{'n': [1024, 4096]}}"
        )
    if not any(map(isfunction, arguments)) and not any(map(callable, options.values())):
        raise TypeError(
            f"nothing here depends on {', '.join(axes)}: give an argument as a function, such as `lambda "
            f"{', '.join(axes)}: ...`; prof.tune gives such values to the function as keywords"
        )
    points: list[Measurement] = []
    combinations = list(product(*axes.values()))
    with processes_ahead(len(combinations)) as ahead:
        for chosen in combinations:
            values = {name: int(one) for name, one in zip(axes, chosen, strict=True)}
            made = [one(**values) if isfunction(one) else one for one in arguments]
            at = {key: one(**values) if callable(one) else one for key, one in options.items()}
            with status(f"{len(points) + 1} of {len(combinations)}"):
                points.append(
                    measure_one(function, made, reference, runs, namespace, values=values, ahead=ahead, **at)
                )
    return Sweep(tuple(points))


class OfPoints(Generic[_Point]):
    """An answer that is used as the sequence of its points."""

    points: tuple[_Point, ...]

    def __len__(self) -> int:
        return len(self.points)

    def __iter__(self) -> Iterator[_Point]:
        return iter(self.points)

    def __getitem__(self, place: int) -> _Point:
        return self.points[place]


@dataclass(frozen=True, repr=False)
class Sweep(OfPoints[Measurement]):
    """One measurement for each point, in the order of the values."""

    points: tuple[Measurement, ...]

    def to_pandas(self) -> pd.DataFrame:
        """Returns a row for each point: its values, and the median times of the function and of its reference."""
        import pandas as pd

        rows = []
        for one in self.points:
            facts, median_ns = one.manifest.facts, one.ns
            row: dict[str, object] = {**(one.manifest.workload or {}), "median_ns": median_ns}
            row["reference_median_ns"] = one.reference_ns
            if facts.bytes:
                row["gbytes_per_s"] = facts.bytes / median_ns
            if facts.flops:
                row["gflops"] = facts.flops / median_ns
            rows.append({**row, "run_id": one.manifest.run_id})
        return pd.DataFrame(rows)

    def chart(self) -> alt.Chart:
        """Returns the median time over the first value, beside the time of the reference."""
        from profiler.present.charts import sweep_chart

        values = [one.manifest.workload or {} for one in self.points]
        first = next(iter(values[0]))
        times = [(at[first], one.ns, one.reference_ns) for at, one in zip(values, self.points, strict=True)]
        return sweep_chart(self.points[0].manifest.name, first, times)

    def __repr__(self) -> str:
        return str(self.to_pandas().to_string(index=False))

    def _repr_html_(self) -> str:
        return str(self.to_pandas().to_html(index=False))
