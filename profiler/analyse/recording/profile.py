"""Gathers one kernel of one recording, its launches side by side, for every analysis to start from.

A `Run` and a kernel name in; a `Profile` out, with the catalogue's metrics under our
names and anything else under ncu's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from profiler.analyse.code.code import Code, read_code
from profiler.analyse.code.opcodes import derive_from_opcodes
from profiler.analyse.recording.launch_shapes import SHAPE_COLUMNS, LaunchShape, launch_shapes
from profiler.analyse.statistics.differences import Readings
from profiler.catalog.metrics import BY_NAME, CATALOGUE, DURATION, OPCODES, TIMED_ALONE, Metric, nearest_hint
from profiler.errors import MetricNotFound
from profiler.store.tables.columns import labels_of

if TYPE_CHECKING:
    import pyarrow as pa

    from profiler.store.runs.manifest import Manifest
    from profiler.store.runs.run import Run

_RECORDED_AS = frozenset(name for metric in CATALOGUE for name in metric.ncu)
# Beyond this is damage, not measurement; its square would overflow.
_LARGEST_VALUE = 1e100

# Units that older versions of ncu wrote for the same quantity, as factors.
_SCALE = {
    "ns": {"us": 1e3, "usecond": 1e3, "ms": 1e6, "msecond": 1e6, "s": 1e9, "second": 1e9},
    "byte": {"Kbyte": 1e3, "Mbyte": 1e6, "Gbyte": 1e9},
    "byte/s": {"Kbyte/s": 1e3, "Mbyte/s": 1e6, "Gbyte/s": 1e9},
    "hz": {"Khz": 1e3, "Mhz": 1e6, "Ghz": 1e9},
}


UNKNOWN_GPU = "unknown GPU"


@dataclass(frozen=True)
class Series:
    """One metric over the launches of a kernel; a launch without it is left out."""

    metric: Metric
    ncu: str
    values: Readings

    @property
    def mean(self) -> float:
        """Returns the mean of the processes' means: each counts alike, however many launches it made."""
        return self.values.mean


@dataclass(frozen=True)
class Profile:
    label: str
    kernel: str
    manifest: Manifest
    stored: bool
    gpu: str
    launches: int
    series: Mapping[str, Series]
    opcodes: Mapping[str, float]
    timings_ns: Readings = field(default_factory=Readings)
    raw: Mapping[str, Series] = field(default_factory=dict, repr=False)
    shapes: list[LaunchShape] = field(default_factory=list)
    run: Run | None = field(default=None, repr=False, compare=False)  # for what few analyses read
    numbers: tuple[int, ...] = ()  # of its launches within the run
    useful_bytes: float | None = None  # what the work has to move, where a ladder says so
    numberless: Mapping[str, int] = field(
        default_factory=dict
    )  # launches by metric of ncu that has no number in any

    def find(self, name: str) -> Series | None:
        return self.series.get(name) or self.raw.get(name)

    @property
    def total_ns(self) -> float | None:
        """The time that the kernel took over all its launches; None where it is not recorded."""
        took = self.series.get(DURATION)
        return took.mean * len(took.values) if took else None

    @cached_property
    def code(self) -> Code | None:
        """Its machine code, read once for all who ask; None where none is recorded."""
        return read_code(self.run, self.kernel, self.numbers) if self.run else None


def profile_kernel(run: Run, kernel: str, among: Collection[int] | None = None) -> Profile:
    """Returns the profile of a kernel, over all its launches or those `among` these numbers."""
    columns = ["launch", "process", "kernel", "gpu", *SHAPE_COLUMNS]
    launches = run.table("launches").select(columns).to_pylist()
    chosen = [
        launch
        for launch in launches
        if launch["kernel"] == kernel and (among is None or launch["launch"] in among)
    ]
    process_of = {launch["launch"]: launch["process"] for launch in chosen}
    if len(chosen) < len(launches):
        run = run.of_launches(process_of)
    gpus = {launch["gpu"] for launch in chosen if launch["gpu"]}
    raw, numberless = _series(run.table("metrics"), process_of)
    opcodes = _opcodes_by_launch(run, process_of)
    return Profile(
        label=run.label,
        kernel=kernel,
        manifest=run.manifest,
        stored=run.stored,
        gpu=_gpus_text(sorted(gpus) or run.manifest.gpus),
        launches=len(process_of),
        series=_catalogued(raw, opcodes, process_of),
        opcodes=_mean_of(opcodes.values()),
        timings_ns=_timings_of_kernel(run, raw),
        raw=raw,
        shapes=launch_shapes(chosen),
        run=run,
        numbers=tuple(process_of),
        numberless=numberless,
    )


def profile_timings(run: Run) -> Profile:
    """Returns a profile of the whole step that was timed, without launches and counters, whatever else the run holds."""
    return Profile(
        label=run.label,
        kernel=run.manifest.name,
        manifest=run.manifest,
        stored=run.stored,
        gpu=_gpus_text(run.manifest.gpus),
        launches=0,
        series={},
        opcodes={},
        timings_ns=timings_of(run),
        run=run,
    )


def _gpus_text(gpus: Sequence[str]) -> str:
    return ", ".join(gpus) or UNKNOWN_GPU


def _timings_of_kernel(run: Run, raw: Mapping[str, Series]) -> Readings:
    """Returns the times without the profiler of one kernel; none if it is not known which of several kernels was timed."""
    if TIMED_ALONE in raw:
        return raw[TIMED_ALONE].values
    return timings_of(run) if len(run.manifest.kernels) < 2 else Readings()


def timings_of(run: Run) -> Readings:
    """Returns the times without the profiler, of the program's whole step, which may be more than one kernel."""
    timings = run.table("timings")
    return Readings(timings.column("kernel_ns").to_pylist(), timings.column("process").to_pylist())


def require_metrics(names: Iterable[str], profiles: Iterable[Profile]) -> list[str]:
    """Returns each name once, ours where ncu's was given; or raises MetricNotFound, which names the nearest recorded."""
    profiles = list(profiles)
    names = list(dict.fromkeys(_our_name(name, profiles) for name in names))
    for name in names:
        for profile in profiles:
            if profile.find(name) is None:
                raise MetricNotFound(
                    f"{profile.label}: metric '{name}' is not in this recording{_near(name, profile)}"
                )
    return names


def _our_name(name: str, profiles: Iterable[Profile]) -> str:
    """Returns the catalogue's name where ncu's was given and is what the catalogue resolved to."""
    for metric in CATALOGUE:
        if name in metric.ncu:
            found = [profile.series.get(metric.name) for profile in profiles]
            return metric.name if all(one and one.ncu == name for one in found) else name
    return name


def _series(metrics: pa.Table, process_of: Mapping[int, int]) -> tuple[dict[str, Series], Mapping[str, int]]:
    """Returns the metrics by ncu's name, and of those in the catalogue that have no number at all, the launches."""
    numbers = metrics.column("launch").to_pylist()
    names = labels_of(metrics, "metric")
    values = metrics.column("value").to_pylist()
    units = labels_of(metrics, "unit")
    collected: dict[str, tuple[list[float], list[int]]] = {}
    unit_of: dict[str, str] = {}
    without: Counter[str] = Counter()
    for number, name, value, unit in zip(numbers, names, values, units, strict=True):
        if number not in process_of:
            continue
        if value is None or not abs(value) < _LARGEST_VALUE:
            without[name] += 1
        else:
            values_of, processes = collected.setdefault(name, ([], []))
            values_of.append(value)
            processes.append(process_of[number])
            unit_of[name] = unit
    series = {
        name: Series(Metric(name, (name,), unit_of[name], "report", ""), name, Readings(*readings))
        for name, readings in collected.items()
    }
    return series, {name: without[name] for name in sorted(without.keys() & _RECORDED_AS - series.keys())}


def _catalogued(
    raw: Mapping[str, Series], opcodes: Mapping[int, Mapping[str, float]], process_of: Mapping[int, int]
) -> dict[str, Series]:
    found: dict[str, Series] = {}
    for metric in CATALOGUE:
        if metric.from_opcodes is not None:
            how = metric.from_opcodes
            counted = {launch: derive_from_opcodes(how, executed) for launch, executed in opcodes.items()}
            known = {launch: value for launch, value in counted.items() if value is not None}
            if known:
                readings = Readings(known.values(), [process_of[launch] for launch in known])
                found[metric.name] = Series(metric, how.source, readings)
            continue
        name = next((name for name in metric.ncu if name in raw), None)
        if name is not None:
            found[metric.name] = as_catalogued(metric, raw[name])
    return found


def as_catalogued(metric: Metric, raw: Series) -> Series:
    """Returns the same values in the catalogue's unit."""
    factor = _SCALE.get(metric.unit, {}).get(raw.metric.unit, 1.0)
    values = Readings((value * factor for value in raw.values), raw.values.processes)
    return Series(metric, raw.ncu, values)


def _opcodes_by_launch(run: Run, launches: Collection[int]) -> dict[int, dict[str, float]]:
    """Counts executed warp instructions by opcode with modifiers; launches without any are left out."""
    instances = run.table("instances")
    rows = zip(
        instances.column("launch").to_pylist(),
        labels_of(instances, "metric"),
        labels_of(instances, "id_name"),
        instances.column("value").to_pylist(),
        strict=True,
    )
    counts = ((launch, opcode, value) for launch, metric, opcode, value in rows if metric == OPCODES)
    return _summed(counts, launches) or _summed(_counts_of_instructions(run), launches)


def _counts_of_instructions(run: Run) -> Iterable[tuple[int, str | None, float | None]]:
    instructions = run.table("instructions")
    return zip(
        instructions.column("launch").to_pylist(),
        labels_of(instructions, "opcode"),
        instructions.column("executed").to_pylist(),
        strict=True,
    )


def _summed(
    counts: Iterable[tuple[int, str | None, float | None]], launches: Collection[int]
) -> dict[int, dict[str, float]]:
    by_launch: dict[int, dict[str, float]] = {}
    for launch, opcode, count in counts:
        if opcode is not None and count and launch in launches:
            executed = by_launch.setdefault(launch, {})
            executed[opcode] = executed.get(opcode, 0.0) + count
    return {launch: by_launch[launch] for launch in sorted(by_launch)}


def _mean_of(opcodes: Collection[Mapping[str, float]]) -> dict[str, float]:
    totals: dict[str, float] = {}
    for launch in opcodes:
        for opcode, count in launch.items():
            totals[opcode] = totals.get(opcode, 0.0) + count
    return {opcode: total / len(opcodes) for opcode, total in totals.items()}


def _near(name: str, profile: Profile) -> str:
    if name in BY_NAME and BY_NAME[name].ncu:
        return f"; record it with ncu --metrics {BY_NAME[name].ncu[0]}"
    return nearest_hint(name, [*profile.series, *profile.raw])
