"""Explains why one kernel is faster: the factors of the speedup, and the share of each in it.

Two profiles in; an `Attribution` out, and the metrics that it lacked. A duration is the instructions issued per
scheduler, divided by three factors: the issue rate while the SMs were active, the share of the time in which they
were active, and the clock. The issue rate is the warps in use divided by the cycles that such a warp takes from one
instruction to the next. These cycles are the sum of the stall reasons. A warp that could issue while another was chosen
waits for nothing: it is surplus, and not in use. Where device memory binds, a duration is the bytes moved divided by the
bandwidth. Where few cycles issue an instruction, their number decides nothing: a duration is then the work of the tensor
pipe divided by its use, or the cycles alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from msgspec.structs import replace

from profiler.analyse.compare.quantities import (
    Means,
    Quantity,
    Sides,
    Term,
    bounded_exp,
    by_launch,
    factor_of,
    means_of,
    missing_from,
    parts_of,
    quantity,
    read,
    readings_of,
)
from profiler.analyse.findings import Attribution, AttributionView, MissingMetric
from profiler.analyse.recording.profile import Profile
from profiler.analyse.statistics.differences import Readings
from profiler.catalog.metrics import DRAM_BYTES, STALLS

UNATTRIBUTED = "unattributed"

_SURPLUS = "stall_not_selected"
_WAITS = tuple(name for name in STALLS if name != _SURPLUS)
_SM_ACTIVITY = ("issue_active_pct", "fma_pipe_pct", "alu_pipe_pct", "lsu_pipe_pct", "tensor_pipe_pct")
MEMORY_BINDS_PCT = 50.0
_TENSOR_BINDS_PCT = 50.0
_ISSUE_COUNTS_PCT = 25.0  # of the cycles: below, the number of instructions decides nothing
_NEGLIGIBLE = 1e-6  # of a sum
_NOTABLE_GAIN = 0.05  # a logarithm: about 5 %
_UNDER_WAY = {
    "load_width_bits": "a load brings {} bits instead of {}",
    "active_warps": "a scheduler has {} active warps instead of {}",
}

Attributed = tuple[Attribution | None, list[MissingMetric]]


def attribute(before: Profile, after: Profile) -> Attributed:
    """Attributes the speedup to what binds the slower side: bytes, the tensor pipe, the issue of instructions, or none of them."""
    sides = Sides(before, after)
    bound = _find_bound(sides)
    views = {"bytes": _by_bytes, "issue": _by_issue, "tensor": _by_tensor, "cycles": _by_cycles}
    return views[bound.view](sides, bound)


# Which view applies


class _Bound(NamedTuple):
    view: AttributionView
    why: str
    evidence: dict[str, float]


def _find_bound(sides: Sides) -> _Bound:
    """Returns which view applies. The slower side decides, because the speedup came out of what was slow there."""
    slower = max(sides, key=_slowness)
    memory_pct = slower.mean("dram_throughput_pct")
    if memory_pct is None:
        return _Bound("issue", "whether device memory is the limit is not known", {})
    evidence = {"dram_throughput_pct": memory_pct}
    busiest_pct, busiest = max(_activity(slower), default=(0.0, ""))
    if busiest:
        evidence[busiest] = busiest_pct
    figures = ", ".join(f"{name} {value:.3g} %" for name, value in evidence.items())
    limit = f"the limit of the slower side ({figures})"
    if memory_pct >= MEMORY_BINDS_PCT and memory_pct > busiest_pct:
        return _Bound("bytes", f"device memory is {limit}", evidence)
    why = f"device memory is not {limit}"
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


def _by_issue(sides: Sides, bound: _Bound) -> Attributed:
    duration, issued = read(sides, "duration_ns"), read(sides, "inst_issued")
    elapsed_pct, rate = read(sides, "issue_active_pct"), read(sides, "issue_rate")
    if not (duration and issued and elapsed_pct and rate):
        needed = ("duration_ns", "inst_issued", "issue_active_pct", "issue_rate", "dram_throughput_pct")
        return None, missing_from(sides, needed)
    latency = quantity(*map(_wait_per_issue, sides))
    clock = _measured_clock(sides, duration)
    terms = [
        Term("instructions", "inst/scheduler", issued),
        _issue_rate(sides, rate, latency),
        Term("sm_active", "%", elapsed_pct.per(rate), is_rate=True),
        Term("clock", "GHz", clock or issued.per(elapsed_pct).per(duration).scaled(100), is_rate=True),
    ]
    whole = sum(term.gain for term in terms)
    attribution = replace(
        _attribution(bound, duration, terms),
        stalls=parts_of(_stall_means(sides), latency.fall, whole) if latency else [],
        clock="measured" if clock else "inferred",
    )
    wished = ["dram_throughput_pct", "active_warps", "warp_latency"]
    return attribution, missing_from(sides, wished if clock else [*wished, "sm_frequency_hz"])


def _issue_rate(sides: Sides, rate: Quantity, latency: Quantity | None) -> Term:
    if latency is None:
        return Term("issue_rate", "issue/cycle", rate, is_rate=True)
    warps = quantity(*map(_warps_in_use, sides)) or rate.times(latency)
    factors = (
        Term("warps_in_use", "warp", warps, is_rate=True),
        Term("wait_per_issue", "cycle/issue", latency),
    )
    return Term("issue_rate", "issue/cycle", warps.per(latency), is_rate=True, factors=factors)


def _wait_per_issue(side: Profile) -> Readings:
    """Returns the cycles from one instruction of a warp to its next, without those in which it could issue."""
    latency = readings_of(side, "warp_latency")
    return by_launch(lambda cycles, surplus: cycles - surplus, latency, _surplus(side, latency))


def _warps_in_use(side: Profile) -> Readings:
    """Returns the active warps without those that could issue while another was chosen."""
    active, rate = readings_of(side, "active_warps"), readings_of(side, "issue_rate")
    surplus = _surplus(side, active)
    return by_launch(lambda warps, cycles, each: warps - cycles * each, active, surplus, rate)


def _surplus(side: Profile, others: Readings) -> Readings:
    """Returns the cycles in which a warp could issue while another was chosen, or none for as many launches as the `others`."""
    return readings_of(side, _SURPLUS) or Readings([0.0] * len(others), others.processes)


def _by_tensor(sides: Sides, bound: _Bound) -> Attributed:
    """Splits the speedup into the tensor pipe's work in cycles, how busy the pipe is, and the clock."""
    duration, used_pct = read(sides, "duration_ns"), read(sides, "tensor_pipe_pct")
    clock = _measured_clock(sides, duration) if duration else None
    if not (duration and used_pct and clock):
        return None, missing_from(sides, ("duration_ns", "tensor_pipe_pct", "sm_frequency_hz"))
    terms = [
        Term("tensor_work", "cycle", used_pct.times(clock).times(duration).scaled(0.01)),
        Term("tensor_pipe_pct", "%", used_pct, is_rate=True),
        Term("clock", "GHz", clock, is_rate=True),
    ]
    return _attribution(bound, duration, terms), []


def _by_cycles(sides: Sides, bound: _Bound) -> Attributed:
    duration = read(sides, "duration_ns")
    clock = _measured_clock(sides, duration) if duration else None
    if not (duration and clock):
        return None, missing_from(sides, ("duration_ns", "sm_frequency_hz"))
    terms = [Term("mean_cycles", "cycle", clock.times(duration)), Term("clock", "GHz", clock, is_rate=True)]
    return _attribution(bound, duration, terms), []


def _attribution(bound: _Bound, duration: Quantity, terms: Sequence[Term]) -> Attribution:
    whole = sum(term.gain for term in terms)
    return Attribution(
        view=bound.view,
        why=bound.why,
        evidence=bound.evidence,
        profiled_ratio=bounded_exp(duration.fall),
        factors=[factor_of(term, whole) for term in terms],
        closure_error_pct=100 * (whole - duration.fall),
    )


def _measured_clock(sides: Sides, duration: Quantity) -> Quantity | None:
    """Returns the clock in cycles per nanosecond."""
    frequency, cycles = read(sides, "sm_frequency_hz"), read(sides, "cycles")
    if frequency:
        return frequency.scaled(1e-9)
    return cycles.per(duration) if cycles else None


def _stall_means(sides: Sides) -> Means:
    """Returns the means of the stall reasons, which were not all counted in one pass, and what they leave of the latency.

    None where they cannot be its parts: one is below zero, or their sum is further from the latency than zero is.
    """
    stalls = {name: pair for name, pair in means_of(sides, _WAITS).items() if any(pair)}
    before, after = (_wait_per_issue(side).mean for side in sides)
    rest = (before - sum(one for one, _ in stalls.values()), after - sum(one for _, one in stalls.values()))
    relative = max(abs(rest[0]) / before, abs(rest[1]) / after)
    if relative > 1 or any(min(pair) < 0 for pair in stalls.values()):
        return {}
    return stalls | {UNATTRIBUTED: rest} if relative > _NEGLIGIBLE else stalls


def _by_bytes(sides: Sides, bound: _Bound) -> Attributed:
    duration, moved = read(sides, "duration_ns"), read(sides, "dram_bytes")
    bandwidth = read(sides, "dram_bytes_per_s")
    if not (duration and moved and bandwidth):
        return None, missing_from(sides, ("duration_ns", *DRAM_BYTES, "dram_bytes_per_s"))
    useful = quantity(*(Readings([side.useful_bytes or 0.0]) for side in sides))
    overhead = moved.per(useful) if useful else moved
    factors: tuple[Term, ...] = ()
    if useful:
        factors = (
            Term("useful_bytes", "byte", useful),
            Term("moved_per_useful_byte", "byte/byte", overhead),
        )
    rate = Term("bandwidth", "GB/s", bandwidth.scaled(1e-9), is_rate=True)
    terms = [Term("bytes_moved", "byte", moved, factors=factors), rate]
    traffic = parts_of(means_of(sides, DRAM_BYTES), overhead.fall, sum(term.gain for term in terms))
    because = _under_way(sides, bandwidth.fall)
    return replace(_attribution(bound, duration, terms), traffic=traffic, bandwidth_from=because), []


def _under_way(sides: Sides, fall: float) -> str:
    """Returns why the bandwidth changed, if the width of a thread's accesses or the number of warps explains it.

    The rate at which bytes arrive is the number under way divided by the time that one takes (Little's law).
    Where a copy engine brings them, the width of the threads' loads says nothing of that.
    """
    means = means_of(sides, [*_UNDER_WAY, "bulk_loads"])
    if any(means.pop("bulk_loads", ())) or len(means) < len(_UNDER_WAY) or min(map(min, means.values())) <= 0:
        return ""
    gain = math.log(math.prod(after / before for before, after in means.values()))
    if gain * -fall <= 0 or min(abs(gain), abs(fall)) < _NOTABLE_GAIN:
        return ""
    shown = {name: [f"{value:.3g}" for value in pair] for name, pair in means.items()}
    said = [_UNDER_WAY[name].format(now, was) for name, (was, now) in shown.items() if was != now]
    return f"bytes under way: {', and '.join(said)}"
