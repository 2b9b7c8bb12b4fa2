"""Says how long a kernel takes without the profiler, as facts, and what such times are."""

from __future__ import annotations

from profiler.analyse.recording.overview import TimingSheet
from profiler.store.runs.manifest import Clocks
from profiler.text import counted, duration, number

# What a time without the profiler is, in a headline or beside a ratio, and in a table of medians.
WHICH_TIME = "the mean over processes of the medians of their repeats"
WHICH_MEDIAN = f"of all repeats; the headline compares {WHICH_TIME}"
USEFUL_BYTES = "counting only the bytes that the task has to move"  # as its ladder or its user declares them
_STEADY_MHZ = 15.0  # one step of the clock


def timing_facts(sheet: TimingSheet) -> list[tuple[str, str]]:
    timing, facts = sheet.timing, sheet.run.facts
    spread = f"spread {number(timing.spread_pct)} % (interquartile range)"
    called = ", as one calls it" if timing.best_pct is not None else ""
    name = f" ({facts.reference}{called})" if facts.reference else ""
    fastest = f" (fastest algorithm of {facts.library or 'its library'})"
    repeats = counted(timing.repeats, "repeat")
    gbytes = timing.gbytes_per_s
    reach = f"{duration(timing.min_ns)} to {duration(timing.max_ns)}"
    rows = [
        ("median", f"{duration(timing.median_ns)}, {spread}, {reach}"),
        ("work", "" if timing.gflops is None else f"{number(timing.gflops)} GFLOP/s"),
        ("useful", "" if gbytes is None else f"{number(gbytes)} GB/s, {USEFUL_BYTES}"),
        ("reference", _reached(timing.reference_median_ns, name, timing.reference_pct)),
        ("at its best", _reached(timing.best_median_ns, fastest, timing.best_pct)),
        ("clock", _clocks_text(facts.clocks) if facts.clocks else ""),
        ("timed", f"{repeats} in {counted(sheet.processes, 'process', 'processes')}, unprofiled"),
    ]
    return [(title, text) for title, text in rows if text]


def _reached(reference_ns: float | None, name: str, pct: float | None) -> str:
    """Returns the time of a reference, and how close it was come to; empty where there is none."""
    if reference_ns is None or pct is None:
        return ""
    return f"{duration(reference_ns)}{name}, {number(pct)} % of its speed reached"


def _clocks_text(clocks: Clocks) -> str:
    """Returns the clock and the power while the kernel and its reference were timed."""
    mhz, power = clocks.sm_mhz, clocks.power_w
    moved = mhz.greatest - mhz.least > _STEADY_MHZ
    range_text = f"{mhz.least:,.0f} to {mhz.greatest:,.0f} MHz, " if moved else ""
    return f"{range_text}median {mhz.median:,.0f} MHz, up to {power.greatest:,.0f} W ({counted(clocks.samples, 'sample')})"
