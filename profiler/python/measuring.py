"""Measures a function, or a function at every point of a sweep, for the Python interface."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import product
from operator import index
from pathlib import Path
from typing import Any, TypedDict

from profiler.measure.functions.measure import (
    FunctionPlan,
    function_name,
    measure_function,
    profiled_configurations,
    unlike_configurations,
)
from profiler.python.recordings import Measurement
from profiler.python.sweep import Sweep
from profiler.store.runs.run_id import RunId
from profiler.store.runs.run_store import RunStore


class Options(TypedDict, total=False):
    """The options of `profiler.measure`; those after `runs` are what `FunctionPlan` says of them."""

    kernel: str | None
    reference: Callable[..., Any] | None
    bytes: int | Callable[..., int] | None
    flops: int | Callable[..., int] | None
    name: str | None
    runs: str | Path
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
    runs: str | Path,
    namespace: Mapping[str, Any],
    *,
    name: str | None,
    **options: Any,
) -> Measurement:
    """Measures the function once and returns its run."""
    store = RunStore(runs)
    plan = FunctionPlan(name or function_name(function), **options)
    found = measure_function(function, arguments, reference, plan, store, namespace)
    run_id = RunId.parse(found.run_id)
    assert run_id is not None
    run = store.open(run_id)
    cautions = [*found.cautions, *unlike_configurations("profiled", profiled_configurations(run))]
    return Measurement.of(run, launched=found.kernels, cautions=tuple(cautions))


def measure_sweep(
    function: Callable[..., Any],
    arguments: Sequence[Any],
    reference: Callable[..., Any] | None,
    over: Mapping[str, Iterable[int]],
    runs: str | Path,
    namespace: Mapping[str, Any],
    **options: Any,
) -> Sweep:
    """Measures the function at every combination of the whole numbers; arguments and options may be functions of them."""
    points = []
    for chosen in product(*(map(index, values) for values in over.values())):
        values = dict(zip(over, chosen, strict=True))
        made = [one(**values) if callable(one) else one for one in arguments]
        at = {key: one(**values) if callable(one) else one for key, one in options.items()}
        points.append(measure_one(function, made, reference, runs, namespace, values=values, **at))
    return Sweep(tuple(points))
