"""Gathers one kernel of one recording, its launches side by side, for every analysis to start from.

A `Run` and a kernel name in; a `Profile` out, with the catalogue's metrics under our
names and anything else under ncu's.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from profiler.analyse.code.code import Code, read_code
from profiler.analyse.code.opcodes import derive_from_opcodes
from profiler.analyse.recording.languages import Language, language_of
from profiler.analyse.recording.launch_shapes import SHAPE_COLUMNS, LaunchShape, group_launches
from profiler.analyse.statistics.differences import Readings
from profiler.catalog.metrics import BY_NAME, CATALOGUE, DURATION, OPCODES, TIMED_ALONE, Metric
from profiler.errors import MetricNotFound
from profiler.store.tables.columns import find_stretches, labels_of, rows_labelled
from profiler.text import nearest_hint

if TYPE_CHECKING:
    import pyarrow as pa

    from profiler.store.runs.manifest import Manifest
    from profiler.store.runs.run import Run

_RECORDED_AS = frozenset(name for metric in CATALOGUE for name in metric.ncu)
# Beyond this is damage, not measurement; its square would overflow.
_LARGEST_VALUE = 1e100

# All that any analysis of one kernel asks for: to read some of them now and the others later takes longer.
_OF_LAUNCH = ("launch", "process", "kernel", "mangled", "gpu", "compute_capability", "workload")
_LAUNCH_COLUMNS = (*_OF_LAUNCH, *SHAPE_COLUMNS)
_INSTANCE_COLUMNS = ("launch", "metric", "id_kind", "id_name", "id_number", "function_index", "value")

# Units that older versions of ncu wrote for the same quantity, as factors.
_SCALE = {
    "ns": {"us": 1e3, "usecond": 1e3, "ms": 1e6, "msecond": 1e6, "s": 1e9, "second": 1e9},
    "byte": {"Kbyte": 1e3, "Mbyte": 1e6, "Gbyte": 1e9},
    "byte/s": {"Kbyte/s": 1e3, "Mbyte/s": 1e6, "Gbyte/s": 1e9},
    "hz": {"Khz": 1e3, "Mhz": 1e6, "Ghz": 1e9},
}


UNKNOWN_GPU = "unknown GPU"
TimedColumn = Literal["kernel_ns", "reference_ns", "best_ns"]


@dataclass(frozen=True)
class Series:
    """One metric over the launches of a kernel; a launch without it is left out."""

    metric: Metric
    ncu: str
    values: Readings

    @property
    def mean(self) -> float:
        """Returns the mean of the processes' means: each process counts the same, however many launches it made."""
        return self.values.mean


@dataclass(frozen=True)
class Profile:
    label: str
    kernel: str
    run: Run = field(repr=False, compare=False)
    gpu: str
    series: Mapping[str, Series]
    opcodes: Mapping[str, float]
    timings_ns: Readings = field(default_factory=Readings)
    raw: Mapping[str, Series] = field(default_factory=dict, repr=False)
    shapes: list[LaunchShape] = field(default_factory=list)  # those that take most of the time first
    groups: tuple[tuple[int, ...], ...] = ()  # the numbers of the launches of each of `shapes`
    numbers: tuple[int, ...] = ()  # of its launches within the run
    launch_ns: Mapping[int, float] = field(
        default_factory=dict, repr=False
    )  # by these numbers, where a time is recorded
    useful_bytes: float | None = None  # what the work has to move, where a ladder says so
    # For each metric of ncu that has no number in any launch, in how many launches it was recorded.
    numberless: Mapping[str, int] = field(default_factory=dict)

    @property
    def manifest(self) -> Manifest:
        return self.run.manifest

    @property
    def stored(self) -> bool:
        return self.run.stored

    @property
    def launches(self) -> int:
        return len(self.numbers)

    def find(self, name: str) -> Series | None:
        return self.series.get(name) or self.raw.get(name)

    def mean(self, name: str) -> float | None:
        """Returns the mean of a metric of the catalogue; None where it is not recorded."""
        return self.series[name].mean if name in self.series else None

    @property
    def total_ns(self) -> float | None:
        """Returns the time that the kernel took over all its launches; None where it is not recorded."""
        took = self.series.get(DURATION)
        return took.mean * len(took.values) if took else None

    @cached_property
    def compute_capability(self) -> str | None:
        """Returns the compute capability of the GPU, such as 9.0; None where it is not recorded."""
        rows = self.run.columns("launches", "launch", "compute_capability").to_pylist()
        return next((row["compute_capability"] for row in rows if row["launch"] in self.numbers), None)

    @cached_property
    def language(self) -> Language:
        """The language of its source, by its name as it is shown and as the compiler mangled it, and by the files of its lines."""
        files = {one.file or "" for one in self.code.instructions} if self.code else set[str]()
        mangled = labels_of(self.run.columns("launches", "mangled"), "mangled")
        return language_of({self.kernel, *filter(None, mangled)}, files)

    @cached_property
    def code(self) -> Code | None:
        """Its machine code, read once for all who ask; None where none is recorded."""
        return read_code(self.run, self.kernel, self.numbers)

    @cached_property
    def computing(self) -> Mapping[str, float]:
        """Its executed instructions by opcode, without those that only move a constant, as far as its machine code shows them."""
        moved: dict[str, float] = {}
        for one in self.code.instructions if self.code else ():
            if one.moves_a_constant:
                moved[one.opcode] = moved.get(one.opcode, 0.0) + (one.executed or 0.0)
        return {opcode: max(0.0, count - moved.get(opcode, 0.0)) for opcode, count in self.opcodes.items()}


class OpcodeCounts(Struct, frozen=True):
    """How many warp instructions a launch executed by opcode with modifiers, by its number; launches without any are left out."""

    by_launch: dict[int, dict[str, float]]


def count_opcodes(run: Run, launches: Collection[int]) -> OpcodeCounts:
    instances = run.columns("instances", *_INSTANCE_COLUMNS)
    counted = _summed(rows_labelled(instances, "metric", {OPCODES}), "id_name", "value", launches)
    if not counted:
        instructions = run.columns("instructions", "launch", "opcode", "executed")
        counted = _summed(instructions, "opcode", "executed", launches)
    return OpcodeCounts(counted)


def profile_kernel(
    run: Run,
    kernel: str,
    among: Collection[int] | None = None,
    *,
    count: Callable[[Run, Collection[int]], OpcodeCounts] = count_opcodes,
) -> Profile:
    """Returns the profile of a kernel, over all its launches or those `among` these numbers, whose opcodes `count` counts."""
    launches = run.columns("launches", *_LAUNCH_COLUMNS).to_pylist()
    alike = [launch for launch in launches if launch["kernel"] == kernel]
    chosen = [launch for launch in alike if among is None or launch["launch"] in among]
    process_of = {launch["launch"]: launch["process"] for launch in chosen}
    if len(chosen) < len(launches):
        run = run.of_launches(process_of)
    gpus = {launch["gpu"] for launch in chosen if launch["gpu"]}
    raw = RecordedMetrics(run.columns("metrics", "launch", "metric", "value", "unit"), process_of)
    opcodes = count(run, process_of).by_launch
    launch_ns = raw.by_launch(BY_NAME[DURATION].ncu)
    groups = group_launches(chosen, launch_ns)
    return Profile(
        label=run.label,
        kernel=kernel,
        run=run,
        gpu=gpus_text(sorted(gpus) or run.manifest.gpus),
        series=_catalogued(raw, opcodes, process_of),
        opcodes=_mean_of(opcodes.values()),
        timings_ns=_timings_of_kernel(run, raw),
        raw=raw,
        shapes=[shape for shape, _ in groups],
        groups=tuple(numbers for _, numbers in groups),
        numbers=tuple(process_of),
        launch_ns=launch_ns,
        numberless=raw.numberless(),
    )


def profile_timings(run: Run) -> Profile:
    """Returns a profile of the whole step that was timed, without launches and counters, whatever else the run holds."""
    return Profile(
        label=run.label,
        kernel=run.manifest.name,
        run=run,
        gpu=gpus_text(run.manifest.gpus),
        series={},
        opcodes={},
        timings_ns=timings_of(run),
    )


def gpus_text(gpus: Sequence[str]) -> str:
    return ", ".join(gpus) or UNKNOWN_GPU


def _timings_of_kernel(run: Run, raw: Mapping[str, Series]) -> Readings:
    """Returns the times without the profiler of one kernel; none if it is not known which of several kernels was timed."""
    if TIMED_ALONE in raw:
        return raw[TIMED_ALONE].values
    return timings_of(run) if len(run.manifest.kernels) < 2 else Readings()


def timings_of(run: Run, column: TimedColumn = "kernel_ns") -> Readings:
    """Returns the times without the profiler that are known, by default of the program's whole step, which may be more than one kernel."""
    timings = run.table("timings")
    rows = zip(timings.column(column).to_pylist(), timings.column("process").to_pylist(), strict=True)
    return Readings(*zip(*(row for row in rows if row[0] is not None), strict=True))


def require_metrics(names: Iterable[str], profiles: Iterable[Profile]) -> list[str]:
    """Returns each name once, ours if ncu's was given; raises MetricNotFound, which names the nearest recorded metric."""
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
    """Returns the catalogue's name for ncu's name if the catalogue resolved to that name."""
    for metric in CATALOGUE:
        if name in metric.ncu:
            found = [profile.series.get(metric.name) for profile in profiles]
            return metric.name if all(one and one.ncu == name for one in found) else name
    return name


class RecordedMetrics(Mapping[str, Series]):
    """The metrics by ncu's name. A recording has hundreds and few are needed, so each is gathered when it is asked for."""

    def __init__(self, metrics: pa.Table, process_of: Mapping[int, int]) -> None:
        numbers = metrics.column("launch").to_pylist()
        names = labels_of(metrics, "metric")
        values = metrics.column("value").to_pylist()
        self._unit_of = dict(zip(names, labels_of(metrics, "unit"), strict=True))
        self._process_of = process_of
        self._launches: list[tuple[int, dict[str, float | None]]] = []
        for number, start, length in find_stretches(numbers):
            if number in process_of:
                of_launch = slice(start, start + length)
                recorded = dict(zip(names[of_launch], values[of_launch], strict=True))
                self._launches.append((number, recorded))
        self._found: dict[str, Series | None] = {}

    def __getitem__(self, name: str) -> Series:
        if name not in self._found:
            self._found[name] = self._gathered(name)
        if (found := self._found[name]) is None:
            raise KeyError(name)
        return found

    def __iter__(self) -> Iterator[str]:
        names = dict.fromkeys(name for _, recorded in self._launches for name in recorded)
        return (name for name in names if name in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def numberless(self) -> dict[str, int]:
        """Returns the metrics in the catalogue that have no number in any launch, each with how many launches have it."""
        unknown = [name for name in sorted(_RECORDED_AS) if name not in self]
        without = {name: sum(name in recorded for _, recorded in self._launches) for name in unknown}
        return {name: launches for name, launches in without.items() if launches}

    def by_launch(self, names: Sequence[str]) -> dict[int, float]:
        """Returns the first of these metrics that a launch has, by the launch's number; what is not positive, or damaged, is left out."""
        return {
            number: value
            for number, recorded in self._launches
            for name in reversed(names)
            if (value := recorded.get(name)) and 0 < value < _LARGEST_VALUE
        }

    def _gathered(self, name: str) -> Series | None:
        """Returns the metric over the launches that have a number for it."""
        readings = [
            (value, self._process_of[number])
            for number, recorded in self._launches
            if (value := recorded.get(name)) is not None and abs(value) < _LARGEST_VALUE
        ]
        if not readings:
            return None
        metric = Metric(name, (name,), self._unit_of[name], "report", "")
        return Series(metric, name, Readings(*zip(*readings, strict=True)))


def _catalogued(
    raw: Mapping[str, Series], opcodes: Mapping[int, Mapping[str, float]], process_of: Mapping[int, int]
) -> dict[str, Series]:
    found: dict[str, Series] = {}
    alike = list(find_stretches(opcodes.values()))  # most launches execute the same
    processes = [process_of[launch] for launch in opcodes]
    for metric in CATALOGUE:
        if (how := metric.from_opcodes) is not None:
            counted: list[float | None] = []
            for executed, _, launches in alike:
                counted += [derive_from_opcodes(how, executed)] * launches
            known = [one for one in zip(counted, processes, strict=True) if one[0] is not None]
            if known:
                found[metric.name] = Series(metric, OPCODES, Readings(*zip(*known, strict=True)))
            continue
        name = next((name for name in metric.ncu if name in raw), None)
        if name is not None:
            found[metric.name] = as_catalogued(metric, raw[name])
    return found


def as_catalogued(metric: Metric, raw: Series) -> Series:
    """Returns the same values in the catalogue's unit; the very same object if they have it already, with all that was computed of it."""
    factor = _SCALE.get(metric.unit, {}).get(raw.metric.unit)
    if factor is None:
        return Series(metric, raw.ncu, raw.values)
    values = Readings((value * factor for value in raw.values), raw.values.processes)
    return Series(metric, raw.ncu, values)


def _summed(
    table: pa.Table, opcodes: str, counts: str, launches: Collection[int]
) -> dict[int, dict[str, float]]:
    by_launch: dict[int, dict[str, float]] = {}
    columns = [table.column(name).to_pylist() for name in ("launch", counts)]
    for launch, count, opcode in zip(*columns, labels_of(table, opcodes), strict=True):
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
