"""Names values that no sound recording holds, or that do not fit together. They stay as they are.

A `Profile` in; one line for each kind of doubt out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from statistics import median

from msgspec import Struct

from profiler.analyse.code.code import is_undecoded
from profiler.analyse.recording.launch_shapes import mixed_shapes_text
from profiler.analyse.recording.profile import Profile, Series
from profiler.analyse.statistics.differences import standard_deviation
from profiler.catalog.metrics import CATALOGUE, DURATION, SIZE_OF_L2
from profiler.text import duration, first_of, size, whole_percent

# Numerator and denominator of a percentage may come from different passes, and each pass runs the kernel anew, so a share that is
# nearly all can pass 100 %. Of 790 recordings, 11 have a share between 100.05 and 103.1 %; four others are at 115 % or more.
_LARGEST_PCT = 104.0
_MOST_NAMED = 5
# A kernel by itself takes as long every time, under a profiler or without one, to a few percent. If the timed step takes over
# a tenth longer than the profiled kernel, it is more than that kernel. Launches that scatter by more differ. A kernel that is slower
# by more under the profiler lacks what the profiler takes away: 160 recordings of runs/ are 3 % slower at most.
_WHOLE_STEP = 0.9
_MOSTLY_READS = 1.5  # times as many bytes as it writes
_PASSED_PCT = 101.0
CLOCK_TOLERANCE = 0.05  # more of a difference between two clocks matters to times
_STEADY_CLOCK = 0.98  # the least clock by the greatest
# If the samples cover more than so many times the time of the repeats, most of them show something else: a
# program in PyTorch imports and compiles for seconds, while the clock rises from that of an idle GPU. The
# reference, its fastest algorithm and the emptying of caches between them take a few times as long.
_MOSTLY_TIMED = 10
# Options of ncu that end a recording after some launches, and options that choose the launches.
_STOPS_AFTER = frozenset({"-c", "--launch-count"})
_CHOOSES = frozenset({"-k", "--kernel-name", "--kernel-id", "-s", "--launch-skip", "--nvtx-include"})
PYTORCH = "at::native::"
_CLOCK_LIMITS_KHZ = ("device__attribute_max_gpu_frequency_khz", "device__attribute_clock_rate")


class SmClock(Struct, frozen=True):
    """The clock at which the SMs ran, and the highest at which the GPU runs them; null where that is not recorded."""

    mean_hz: float
    limit_hz: float | None

    @property
    def is_low(self) -> bool:
        return self.limit_hz is not None and self.limit_hz > (1 + CLOCK_TOLERANCE) * self.mean_hz

    @property
    def text(self) -> str:
        """Returns `1.55 GHz of 1.98 GHz`. In launches of a few microseconds, clocks above the limit are measured; then that is left out."""
        clock = f"{self.mean_hz / 1e9:.2f} GHz"
        if self.limit_hz is None:
            return clock
        limit = f"{self.limit_hz / 1e9:.2f} GHz"
        if clock == limit:
            return f"{clock}, its highest"
        return f"{clock} of {limit}" if self.mean_hz < self.limit_hz else clock


def find_doubts(profile: Profile) -> list[str]:
    """Lists what to doubt, each after the recording's label. A low clock is among it; a comparison weighs it against the other side's."""
    return [f"{profile.label}: {doubt}" for doubt in (*doubts_of(profile), *_low_clock(profile))]


def doubts_of(profile: Profile) -> Iterator[str]:
    """Yields what to doubt: impossible values, launches that differ or lack a number, code left out, a moving clock, a part of a step.

    The doubts that the measurement itself noted come first, such as that nothing verified the result.
    """
    yield from profile.manifest.facts.cautions
    suspicious = [_worst_of(one, bad) for one in profile.series.values() if (bad := _impossible(one))]
    if suspicious:
        yield f"suspicious, and shown as recorded: {first_of(suspicious, _MOST_NAMED)}"
    if gaps := _gaps(profile):
        version = profile.manifest.ncu_version
        yield f"ncu {version} recorded launches without a number: {first_of(gaps, _MOST_NAMED)}"
    if len(profile.shapes) > 1:
        yield mixed_shapes_text(profile.shapes)
    if (unread := profile.manifest.unread) and profile.code is None:
        yield f"{unread} are left out, because NVIDIA's reader crashed on them"
    if profile.numbers and is_undecoded(profile.run, profile.kernel, profile.numbers):
        yield (
            "NVIDIA's reader no longer disassembles the code of this GPU, so causes that show in instructions are left out"
        )
    if profile.run.reports_gone:
        gone = first_of(profile.run.reports_gone, _MOST_NAMED)
        yield f"the stored report is missing ({gone}); its tables are as recorded"
    for doubts in (_uneven_launches, _moved_clock, _only_of_pytorch, _slowed_down, _partial):
        yield from doubts(profile)


def _gaps(profile: Profile) -> list[str]:
    """Returns each metric without a number in some of the launches, or in all, for which ncu recorded it."""
    series = profile.series
    missing = {f"{name} ({one.ncu})": profile.launches - len(one.values) for name, one in series.items()}
    names = {ncu: metric.name for metric in CATALOGUE for ncu in metric.ncu if metric.name not in series}
    missing |= {f"{names[ncu]} ({ncu})": count for ncu, count in profile.numberless.items() if ncu in names}
    return [f"{name} in {count} of {profile.launches}" for name, count in missing.items() if count]


def find_passed_copy(profile: Profile, reference: str, reference_pct: float | None) -> list[str]:
    """Returns the caution that a kernel faster than a copy mostly reads: memory reads faster than it copies."""
    passes = reference.startswith("cudaMemcpy") and (reference_pct or 0.0) > _PASSED_PCT
    said = f"it mostly reads, so it can pass {reference}, which writes half of them"
    return [said] if passes and mostly_reads(profile) else []


def mostly_reads(profile: Profile) -> bool:
    """Returns whether a kernel reads well over as many bytes of device memory as it writes."""
    read, written = profile.mean("dram_bytes_read"), profile.mean("dram_bytes_written")
    return read is not None and written is not None and read > _MOSTLY_READS * written


def _uneven_launches(profile: Profile) -> Iterator[str]:
    """Cautions that a mean stands for launches of very different times."""
    took = profile.series.get(DURATION)
    values = took.values if took else ()
    if len(values) < 2 or min(values) <= 0 or len(profile.shapes) > 1:  # unlike shapes are another caution
        return
    if standard_deviation(values) > (1 - _WHOLE_STEP) * values.mean:
        yield (
            f"its {len(values)} launches take from {_with_launch(profile, values, min(values))} to {_with_launch(profile, values, max(values))}; "
            "`prof show` gives their mean, and `prof compare` their geometric mean; `--launch N` chooses one"
        )


def _with_launch(profile: Profile, times_ns: Sequence[float], time_ns: float) -> str:
    """Returns the time with the number of the launch that took it, where each launch has a time."""
    known = len(times_ns) == len(profile.numbers)
    which = f" (launch {profile.numbers[times_ns.index(time_ns)]})" if known else ""
    return f"{duration(time_ns)}{which}"


def _moved_clock(profile: Profile) -> Iterator[str]:
    clocks = profile.manifest.facts.clocks
    if clocks is None or clocks.sampled_s > _MOSTLY_TIMED * sum(profile.timings_ns) / 1e9:
        return
    least, greatest = clocks.sm_mhz.least, clocks.sm_mhz.greatest
    if least < _STEADY_CLOCK * greatest:
        yield f"the SM clock moved between {least:,.0f} and {greatest:,.0f} MHz while it was timed"


def find_sm_clock(profile: Profile) -> SmClock | None:
    clock_hz = profile.mean("sm_frequency_hz")
    limits = (profile.find(name) for name in _CLOCK_LIMITS_KHZ)
    limit_hz = next((1e3 * one.mean for one in limits if one is not None and one.mean > 0), None)
    return SmClock(clock_hz, limit_hz) if clock_hz else None


def _low_clock(profile: Profile) -> Iterator[str]:
    """Cautions that the SMs ran well below their highest clock, if the given time was taken at that clock."""
    clock = find_sm_clock(profile)
    if profile.timings_ns or clock is None or not clock.is_low:
        return
    if profile.manifest.clock_control == "base":
        yield (
            f"ncu held the SM clock at its base, {clock.text} (`--clock-control none` does not), so without it the kernel may take less time"
        )
        return
    yield (
        f"the SM clock was {clock.text}, which power, heat or a set limit can cause; compare the time only with times at this clock"
    )


def _only_of_pytorch(profile: Profile) -> Iterator[str]:
    """Cautions that ncu had stopped before the program came to a kernel of its own: PyTorch first fills its tensors."""
    manifest = profile.manifest
    words = manifest.command_line.split()
    stops = any(one in _STOPS_AFTER and other.isdecimal() for one, other in pairwise(words))
    if not stops or not _CHOOSES.isdisjoint(words):
        return
    if all(PYTORCH in kernel.name for kernel in manifest.kernels):
        launches = "launch" if manifest.launches == 1 else f"{manifest.launches} launches"
        yield (
            f"ncu stopped after the first {launches} of the program, of PyTorch's own kernels alone; "
            "`ncu -k regex:NAME` records those of your own"
        )


def is_part_of_step(profile: Profile) -> bool:
    """Returns whether the step timed without the profiler took much longer than the profiled kernel."""
    profiled_ns = profile.mean(DURATION)
    if profiled_ns is None or not profile.timings_ns:
        return False
    timed_ns = median(profile.timings_ns)  # a few repeats may be disturbed
    return 0 < profiled_ns < _WHOLE_STEP * timed_ns


def _slowed_down(profile: Profile) -> Iterator[str]:
    """Cautions that the kernel takes much longer under the profiler: its counters describe that slower launch."""
    profiled_ns, manifest = profile.mean(DURATION), profile.manifest
    if profiled_ns is None or not profile.timings_ns or len(profile.shapes) > 1:
        return
    timed_ns = median(profile.timings_ns)
    if not 0 < timed_ns < _WHOLE_STEP * profiled_ns:
        return
    reasons = []
    if manifest.cache_control == "all" and (held := _held_in_l2(profile)) is not None:
        reasons.append(
            f"empties the caches before each launch{held} (`prof collect --cache-control none` leaves them, to check)"
        )
    if manifest.clock_control == "base":
        reasons.append("holds the clock at its base (`--clock-control none` does not)")
    yield (
        f"the kernel takes {duration(profiled_ns)} under the profiler, and {duration(timed_ns)} without it"
        + (f": ncu {' and '.join(reasons)}" if reasons else "")
        + "; counters and causes are of the slower one"
    )


def _held_in_l2(profile: Profile) -> str | None:
    """Returns what a kernel may find in L2 if nothing empties it; None if that is too little to make it faster by as much.

    Without the profiler, its reads from device memory are not counted. With L2 emptied, it reads all that it needs from there.
    """
    read, cache = profile.mean("dram_bytes_read"), profile.find(SIZE_OF_L2)
    if not read or cache is None:
        return ""
    part = cache.mean / read
    if part < 1 - _WHOLE_STEP:
        return None
    held = "all" if part >= 1 else f"{whole_percent(100 * part)} %"
    return f", and L2 can hold {held} of the {size(read)} that it then reads from device memory"


def _partial(profile: Profile) -> Iterator[str]:
    if is_part_of_step(profile):
        kernel_ns, step_ns = profile.series[DURATION].mean, median(profile.timings_ns)
        yield (
            f"the profiled kernel takes {duration(kernel_ns)}, the step that was timed without the profiler "
            f"{duration(step_ns)}: a step runs other kernels too, or waits for its launch; counters are of this kernel alone"
        )


def _impossible(series: Series) -> list[float]:
    metric = series.metric
    lowest = 1e-9 if metric.unit == "ns" else 0.0  # no launch takes no time
    highest = _LARGEST_PCT if metric.unit == "%" else float("inf")
    return [value for value in series.values if not lowest <= value <= highest]


def _worst_of(series: Series, bad: list[float]) -> str:
    worst = max(bad, key=abs)
    return f"{series.metric.name} {worst:,.6g} {series.metric.unit} in {len(bad)} of {len(series.values)} launches"
