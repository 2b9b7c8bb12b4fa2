"""Gathers one kernel of one recording, its launches side by side, for every analysis to start from.

A `Run` and a kernel name in; a `Profile` out, with the catalogue's metrics under our
names and anything else under ncu's.
"""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from profiler.analyse.code.code import Code, read_code
from profiler.analyse.code.opcodes import derive_from_opcodes
from profiler.analyse.recording.launch_shapes import SHAPE_COLUMNS, LaunchShape, launch_shapes
from profiler.analyse.statistics.differences import Readings
from profiler.catalog.metrics import BY_NAME, CATALOGUE, OPCODES, TIMED_ALONE, Metric, nearest_hint
from profiler.catalog.patterns import search_typed
from profiler.errors import KernelAmbiguous, KernelNotFound, MetricNotFound
from profiler.store.tables.columns import labels_of

if TYPE_CHECKING:
    import pyarrow as pa

    from profiler.store.runs.manifest import KernelCount, Manifest
    from profiler.store.runs.run import Run

_RECORDED_AS = frozenset(name for metric in CATALOGUE for name in metric.ncu)
# Beyond this is damage, not measurement; its square would overflow.
_LARGEST_VALUE = 1e100
_NAME_WIDTH = 200
# Of a file of machine code, which no other command reads.
_ONE_OF_A_FILE = "Choose one with -k PATTERN; `prof check --sass` compares all of two files."
_PART_OF_WORD = re.compile(r"[^\W_]{4,}|(?:[A-Z][a-z]+){2}|[A-Z]?[a-z]{3,}")

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
        """Each process counts alike, however many launches it made."""
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

    @cached_property
    def code(self) -> Code | None:
        """Its machine code, read once for all who ask; None where none is recorded."""
        return read_code(self.run, self.kernel, self.numbers) if self.run else None


def choose_kernels(runs: Iterable[Run], pattern: str | None) -> list[list[str]]:
    """Returns the kernel names of each run that the pattern leaves, in order of first launch."""
    chosen = []
    for run in runs:
        names = [kernel.name for kernel in matching_kernels(run, pattern)]
        if not names:
            near = nearest_words(pattern or "", [kernel.name for kernel in run.manifest.kernels])
            raise KernelNotFound(
                f"{run.label}: no kernel name matches '{pattern}'{near}", details=_listing(run)
            )
        chosen.append(names)
    return chosen


def nearest_words(pattern: str, names: Iterable[str]) -> str:
    """Returns an ending for an error message: the words in these names that look most like the pattern."""
    words = dict.fromkeys(word for name in names for word in re.findall(r"[^\W\d]\w{2,}", name))
    whole_of = {part.lower(): word for word in words for part in (*_PART_OF_WORD.findall(word), word)}
    near = difflib.get_close_matches(pattern.lower(), whole_of, n=3, cutoff=0.6)
    found = dict.fromkeys(whole_of[part] for part in near)
    return f"; nearest: {', '.join(found)}" if found else ""


def choose_kernel(run: Run, pattern: str | None) -> str:
    """Returns the one kernel meant, or raises an error that lists the candidates."""
    ((name, *others),) = choose_kernels([run], pattern)
    if others:
        raise KernelAmbiguous(
            f"{run.label}: holds {1 + len(others)} kernels",
            details=_listing(run, pattern),
            remedy="Choose one with -k PATTERN; `prof show` lists them by their share of the time."
            if run.manifest.reports
            else _ONE_OF_A_FILE,
        )
    return name


def match_kernels(before: Run, after: Run, pattern: str | None, every: bool) -> list[tuple[str, str]]:
    """Returns which kernel of one run is compared with which of the other.

    One kernel a side is a pair whatever the names, since a rung renames its kernel;
    otherwise launches are matched by kernel name.
    """
    left, right = choose_kernels([before, after], pattern)
    common = [name for name in left if name in right]
    if every:
        if not common:
            alone = len(left) == len(right) == 1
            raise KernelNotFound(
                "no kernel name is common to both sides",
                details=_both(before, after, pattern),
                remedy="Leave --all out: one kernel a side is a pair whatever the names."
                if alone
                else "--all pairs kernels of the same name. Choose one of each side with --kernel-name REGEX instead.",
            )
        return [(name, name) for name in common]
    if len(left) == len(right) == 1:
        return [(left[0], right[0])]
    if len(common) == 1:
        return [(common[0], common[0])]
    raise KernelAmbiguous(
        "which kernel to compare is not clear",
        details=_both(before, after, pattern),
        remedy=None if before.manifest.reports and after.manifest.reports else _ONE_OF_A_FILE,
    )


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


def _both(before: Run, after: Run, pattern: str | None) -> list[str]:
    return [before.label, *_listing(before, pattern), after.label, *_listing(after, pattern)]


def matching_kernels(run: Run, pattern: str | None) -> list[KernelCount]:
    """Returns the kernels of a run in whose names the pattern is found; all of them without one."""
    kernels = run.manifest.kernels
    try:
        found = search_typed(pattern or "", [kernel.name for kernel in kernels])
    except ValueError as error:
        raise KernelNotFound(str(error)) from None
    return [kernel for kernel, fits in zip(kernels, found, strict=True) if fits]


def _listing(run: Run, pattern: str | None = None) -> list[str]:
    """Lists the kernels of a run with their launch counts, one a line."""
    kernels = matching_kernels(run, pattern)
    lines = [f"  {kernel.launches:>5} x {brief_name(kernel.name)}" for kernel in kernels[:20]]
    if len(kernels) > 20:
        lines.append(f"  and {len(kernels) - 20} more")
    return lines


def brief_name(name: str, width: int = _NAME_WIDTH) -> str:
    """Cuts a template of thousands of characters, since an error is read on a terminal."""
    return name if len(name) <= width else f"{name[: width - 1]}…"
