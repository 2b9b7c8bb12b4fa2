"""Explains why one kernel is faster: the factors of the speedup, and the share of each in it.

Two profiles in; an `Attribution` out, and the metrics that it lacked. A duration is the instructions issued per
scheduler, divided by three factors: the issue rate while the SMs were active, the share of the time in which they
were active, and the clock. The issue rate is the warps in use divided by the cycles that such a warp takes from one
instruction to the next. These cycles are the sum of the stall reasons. A warp that could issue while another was chosen
waits for nothing: it is surplus, and not in use. Where device memory binds, a duration is the bytes moved divided by the
bandwidth. Where few cycles issue an instruction, their number decides nothing: a duration is then the work of the tensor
pipe divided by its use, or the cycles alone.

Quantities are geometric means, over launches and then processes, kept as logarithms: there, factors
add up, and swapping the sides turns every sign and changes nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from msgspec.structs import replace

from profiler.analyse.findings import Attribution, AttributionView, Factor, MissingMetric, Part
from profiler.analyse.recording.profile import Profile
from profiler.analyse.statistics.differences import Readings
from profiler.catalog.metrics import CATALOGUE, DRAM_BYTES

UNATTRIBUTED = "unattributed"

STALLS = tuple(metric.name for metric in CATALOGUE if metric.name.startswith("stall_"))
_SURPLUS = "stall_not_selected"
_WAITS = tuple(name for name in STALLS if name != _SURPLUS)
_SM_ACTIVITY = ("issue_active_pct", "fma_pipe_pct", "alu_pipe_pct", "lsu_pipe_pct", "tensor_pipe_pct")
MEMORY_BINDS_PCT = 50.0
_TENSOR_BINDS_PCT = 50.0
_ISSUE_COUNTS_PCT = 25.0  # of the cycles: below, the number of instructions decides nothing
_LARGEST_EXPONENT = 700.0  # the logarithm of what a float can hold
_NEGLIGIBLE = 1e-6  # of a sum
_NOTABLE_GAIN = 0.05  # a logarithm: about 5 %

# Where a quantity is read if not under its own name: per scheduler, over all SMs, as a sum.
_SOURCES: Mapping[str, tuple[str, ...]] = {
    "inst_issued": ("smsp__inst_issued.avg",),
    "cycles": ("sm__cycles_elapsed.avg",),
    "dram_bytes": DRAM_BYTES,
}

Attributed = tuple[Attribution | None, list[MissingMetric]]
Means = dict[str, tuple[float, float]]


def attribute(before: Profile, after: Profile) -> Attributed:
    """Attributes the speedup to what binds the slower side: bytes, the tensor pipe, the issue of instructions, or none of them."""
    sides = _Sides(before, after)
    bound = _find_bound(sides)
    views = {"bytes": _by_bytes, "issue": _by_issue, "tensor": _by_tensor, "cycles": _by_cycles}
    return views[bound.view](sides, bound)


# Which view applies


class _Bound(NamedTuple):
    view: AttributionView
    why: str
    evidence: dict[str, float]


def _find_bound(sides: _Sides) -> _Bound:
    """Returns which view applies. The slower side decides, because the speedup came out of what was slow there."""
    slower = max(sides, key=_slowness)
    memory_pct = slower.mean("dram_throughput_pct")
    if memory_pct is None:
        return _Bound("issue", "whether device memory is the limit is not known", {})
    busiest_pct, busiest = max(_activity(slower), default=(0.0, ""))
    evidence = {"dram_throughput_pct": memory_pct, **({busiest: busiest_pct} if busiest else {})}
    binds = memory_pct >= MEMORY_BINDS_PCT and memory_pct > busiest_pct
    figures = ", ".join(f"{name} {value:.3g} %" for name, value in evidence.items())
    why = f"device memory is {'' if binds else 'not '}the limit of the slower side ({figures})"
    if binds:
        return _Bound("bytes", why, evidence)
    issue_pct = slower.mean("issue_active_pct")
    if issue_pct is None or issue_pct >= _ISSUE_COUNTS_PCT:
        return _Bound("issue", why, evidence)
    few = f"it issues in {issue_pct:.3g} % of the cycles, so the number of instructions does not decide its time"
    is_tensor = (slower.mean("tensor_pipe_pct") or 0.0) >= _TENSOR_BINDS_PCT
    evidence |= {"issue_active_pct": issue_pct}
    return _Bound("tensor" if is_tensor else "cycles", f"{why}; {few}", evidence)


def _slowness(side: Profile) -> tuple[float, float, list[tuple[float, str]]]:
    """Ranks by duration; the rest keeps a tie from depending on which side comes first."""
    return side.mean("duration_ns") or 0.0, side.mean("dram_throughput_pct") or 0.0, _activity(side)


def _activity(side: Profile) -> list[tuple[float, str]]:
    return [(mean, name) for name in _SM_ACTIVITY if (mean := side.mean(name)) is not None]


# The views: what a duration is the product of


def _by_issue(sides: _Sides, bound: _Bound) -> Attributed:
    duration, issued = _read(sides, "duration_ns"), _read(sides, "inst_issued")
    elapsed_pct, rate = _read(sides, "issue_active_pct"), _read(sides, "issue_rate")
    if not (duration and issued and elapsed_pct and rate):
        needed = ("duration_ns", "inst_issued", "issue_active_pct", "issue_rate", "dram_throughput_pct")
        return None, _missing(sides, needed)
    latency = _quantity(*map(_wait_per_issue, sides))
    clock = _measured_clock(sides, duration)
    terms = [
        _Term("instructions", "inst/scheduler", issued),
        _issue_rate(sides, rate, latency),
        _Term("sm_active", "%", elapsed_pct.per(rate), is_rate=True),
        _Term("clock", "GHz", clock or issued.per(elapsed_pct).per(duration).scaled(100), is_rate=True),
    ]
    whole = sum(term.gain for term in terms)
    attribution = replace(
        _attribution(bound, duration, terms),
        stalls=_parts(_stall_means(sides), latency.fall, whole) if latency else [],
        clock="measured" if clock else "inferred",
    )
    wished = ["dram_throughput_pct", "active_warps", "warp_latency"]
    return attribution, _missing(sides, wished if clock else [*wished, "sm_frequency_hz"])


def _issue_rate(sides: _Sides, rate: _Quantity, latency: _Quantity | None) -> _Term:
    if latency is None:
        return _Term("issue_rate", "issue/cycle", rate, is_rate=True)
    warps = _quantity(*map(_warps_in_use, sides)) or rate.times(latency)
    factors = (
        _Term("warps_in_use", "warp", warps, is_rate=True),
        _Term("wait_per_issue", "cycle/issue", latency),
    )
    return _Term("issue_rate", "issue/cycle", warps.per(latency), is_rate=True, factors=factors)


def _wait_per_issue(side: Profile) -> Readings:
    """Returns the cycles from one instruction of a warp to its next, without those in which it could issue."""
    return _combined(side, ("warp_latency", _SURPLUS), lambda latency, surplus: latency - surplus)


def _warps_in_use(side: Profile) -> Readings:
    """Returns the active warps without those that could issue while another was chosen."""
    names = ("active_warps", _SURPLUS, "issue_rate")
    return _combined(side, names, lambda active, surplus, rate: active - surplus * rate)


def _combined(side: Profile, names: Sequence[str], combine: Callable[..., float]) -> Readings:
    """Returns one value a launch; a stall that was not recorded counts as none, anything else as missing."""
    known = [name for name in names if name != _SURPLUS or _readings(side, name)]
    series = [_readings(side, name) for name in known]
    if not all(series) or len({len(one) for one in series}) > 1:
        return Readings()
    rows = (dict(zip(known, row, strict=True)) for row in zip(*series, strict=True))
    return Readings((combine(*(row.get(name, 0.0) for name in names)) for row in rows), series[0].processes)


def _by_tensor(sides: _Sides, bound: _Bound) -> Attributed:
    """Splits the speedup into the tensor pipe's work in cycles, how busy the pipe is, and the clock."""
    duration, used_pct = _read(sides, "duration_ns"), _read(sides, "tensor_pipe_pct")
    clock = _measured_clock(sides, duration) if duration else None
    if not (duration and used_pct and clock):
        return None, _missing(sides, ("duration_ns", "tensor_pipe_pct", "sm_frequency_hz"))
    terms = [
        _Term("tensor_work", "cycle", used_pct.times(clock).times(duration).scaled(0.01)),
        _Term("tensor_pipe_pct", "%", used_pct, is_rate=True),
        _Term("clock", "GHz", clock, is_rate=True),
    ]
    return _attribution(bound, duration, terms), []


def _by_cycles(sides: _Sides, bound: _Bound) -> Attributed:
    duration = _read(sides, "duration_ns")
    clock = _measured_clock(sides, duration) if duration else None
    if not (duration and clock):
        return None, _missing(sides, ("duration_ns", "sm_frequency_hz"))
    terms = [_Term("mean_cycles", "cycle", clock.times(duration)), _Term("clock", "GHz", clock, is_rate=True)]
    return _attribution(bound, duration, terms), []


def _attribution(bound: _Bound, duration: _Quantity, terms: Sequence[_Term]) -> Attribution:
    whole = sum(term.gain for term in terms)
    return Attribution(
        view=bound.view,
        why=bound.why,
        evidence=bound.evidence,
        profiled_ratio=bounded_exp(duration.fall),
        factors=[_factor(term, whole) for term in terms],
        closure_error_pct=100 * (whole - duration.fall),
    )


def _measured_clock(sides: _Sides, duration: _Quantity) -> _Quantity | None:
    """Returns the clock in cycles per nanosecond."""
    frequency, cycles = _read(sides, "sm_frequency_hz"), _read(sides, "cycles")
    if frequency:
        return frequency.scaled(1e-9)
    return cycles.per(duration) if cycles else None


def _stall_means(sides: _Sides) -> Means:
    """Returns the means of the stall reasons, which were not all counted in one pass, and what they leave of the latency.

    None where they cannot be its parts: below zero, or further from it than zero is.
    """
    means = {name: pair for name, pair in _means(sides, _WAITS).items() if any(pair)}
    latencies = [_wait_per_issue(side).mean for side in sides]
    stalled = [sum(side) for side in zip(*means.values(), strict=True)] or [0.0, 0.0]
    before, after = (latency - stall for latency, stall in zip(latencies, stalled, strict=True))
    relative = max(abs(before) / latencies[0], abs(after) / latencies[1])
    if relative > 1 or any(min(pair) < 0 for pair in means.values()):
        return {}
    return means | {UNATTRIBUTED: (before, after)} if relative > _NEGLIGIBLE else means


def _by_bytes(sides: _Sides, bound: _Bound) -> Attributed:
    duration, moved = _read(sides, "duration_ns"), _read(sides, "dram_bytes")
    bandwidth = _read(sides, "dram_bytes_per_s")
    if not (duration and moved and bandwidth):
        return None, _missing(sides, ("duration_ns", *DRAM_BYTES, "dram_bytes_per_s"))
    useful = _quantity(*(Readings([side.useful_bytes or 0.0]) for side in sides))
    overhead = moved.per(useful) if useful else moved
    factors: tuple[_Term, ...] = ()
    if useful:
        factors = (
            _Term("useful_bytes", "byte", useful),
            _Term("moved_per_useful_byte", "byte/byte", overhead),
        )
    rate = _Term("bandwidth", "GB/s", bandwidth.scaled(1e-9), is_rate=True)
    terms = [_Term("bytes_moved", "byte", moved, factors=factors), rate]
    traffic = _parts(_means(sides, DRAM_BYTES), overhead.fall, sum(term.gain for term in terms))
    because = _under_way(sides, bandwidth.fall)
    return replace(_attribution(bound, duration, terms), traffic=traffic, bandwidth_from=because), []


def _under_way(sides: _Sides, fall: float) -> str:
    """Returns why the bandwidth changed, if the width of a thread's accesses or the number of warps explains it.

    The rate at which bytes arrive is the number under way divided by the time that one takes (Little's law).
    Where a copy engine brings them, the width of the threads' loads says nothing of that.
    """
    if any(_means(sides, ("bulk_loads",)).get("bulk_loads", ())):
        return ""
    names = ("load_width_bits", "active_warps")
    (width, wider), (warps, more) = (_means(sides, names).get(name, (0.0, 0.0)) for name in names)
    if not min(width, wider, warps, more) > 0:
        return ""
    gain = math.log(wider * more / (width * warps))
    if gain * -fall <= 0 or abs(gain) < _NOTABLE_GAIN or abs(fall) < _NOTABLE_GAIN:
        return ""
    sides_of = {"a load brings {} bits": (width, wider), "a scheduler has {} active warps": (warps, more)}
    told = {text: [f"{value:.3g}" for value in pair] for text, pair in sides_of.items()}
    said = [f"{text.format(now)} instead of {was}" for text, (was, now) in told.items() if was != now]
    return f"bytes under way: {', and '.join(said)}"


# Quantities and their shares


@dataclass(frozen=True)
class _Quantity:
    """The logarithm of a quantity on each side."""

    before: float
    after: float

    def times(self, other: _Quantity) -> _Quantity:
        return _Quantity(self.before + other.before, self.after + other.after)

    def per(self, other: _Quantity) -> _Quantity:
        return _Quantity(self.before - other.before, self.after - other.after)

    def scaled(self, factor: float) -> _Quantity:
        return _Quantity(self.before + math.log(factor), self.after + math.log(factor))

    @property
    def fall(self) -> float:
        return self.before - self.after


@dataclass(frozen=True)
class _Term:
    """A factor of the duration: of a cost, less is faster; of a rate, more is."""

    name: str
    unit: str
    quantity: _Quantity
    is_rate: bool = False
    factors: tuple[_Term, ...] = ()

    @property
    def gain(self) -> float:
        return -self.quantity.fall if self.is_rate else self.quantity.fall


def _factor(term: _Term, whole: float) -> Factor:
    return Factor(
        name=term.name,
        unit=term.unit,
        before=bounded_exp(term.quantity.before),
        after=bounded_exp(term.quantity.after),
        ratio=bounded_exp(term.gain),
        share=_share(term.gain, whole),
        factors=[_factor(inner, whole) for inner in term.factors],
    )


def _parts(means: Means, fall: float, whole: float) -> list[Part]:
    """Returns how each addend moved the logarithm of the sum, which fell by `fall`; the largest first.

    Log-mean Divisia weights: an addend's change divided by the logarithmic mean of the two sums.
    The logarithm of an addend does not occur, so any of them may be zero.
    """
    totals = [sum(pair[side] for pair in means.values()) for side in (0, 1)]
    half = fall / 2
    weight = half / math.sinh(half) if half else 1.0
    gains = {
        name: weight * (before / totals[0] * math.exp(half) - after / totals[1] * math.exp(-half))
        for name, (before, after) in means.items()
    }
    return [
        Part(name, *means[name], ratio=bounded_exp(gain), share=_share(gain, whole))
        for name, gain in sorted(gains.items(), key=lambda item: (-abs(item[1]), item[0]))
    ]


def _share(gain: float, whole: float) -> float:
    return gain / whole if whole else 0.0


def bounded_exp(logarithm: float) -> float:
    """Returns the exponential of a logarithm; one that only damaged counters give is bounded first."""
    return math.exp(max(-_LARGEST_EXPONENT, min(logarithm, _LARGEST_EXPONENT)))


# Readings


class _Sides(NamedTuple):
    before: Profile
    after: Profile


def _read(sides: _Sides, name: str) -> _Quantity | None:
    return _quantity(*(_readings(side, name) for side in sides))


def _quantity(before: Readings, after: Readings) -> _Quantity | None:
    """Returns None where a side has nothing above zero, since there is no logarithm of it."""
    if not (before and after and min(*before, *after) > 0):
        return None
    return _Quantity(*(Readings(map(math.log, side), side.processes).mean for side in (before, after)))


def _readings(side: Profile, name: str) -> Readings:
    """Returns one value a launch; none where a source is missing."""
    series = [side.find(source) for source in _SOURCES.get(name, (name,))]
    values = [one.values for one in series if one]
    if len(values) < len(series) or len({len(one) for one in values}) > 1:
        return Readings()
    return Readings(map(sum, zip(*values, strict=True)), values[0].processes)


def _means(sides: _Sides, names: Iterable[str]) -> Means:
    pairs = {name: (sides.before.mean(name), sides.after.mean(name)) for name in names}
    known = ((name, *pair) for name, pair in pairs.items())
    return {name: (one, two) for name, one, two in known if one is not None and two is not None}


def _missing(sides: _Sides, names: Iterable[str]) -> list[MissingMetric]:
    """Lists the metrics that a side has not recorded, or not above zero."""
    which: tuple[Literal["before", "after"], ...] = ("before", "after")
    return [
        MissingMetric(name, one)
        for name in names
        for one, side in zip(which, sides, strict=True)
        if min(_readings(side, name), default=0.0) <= 0
    ]
