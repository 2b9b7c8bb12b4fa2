"""The times of a recording without the profiler as named facts, with the reference that they are held against."""

from __future__ import annotations

from profiler.analyse.recording.overview import TimingSheet
from profiler.store.runs.manifest import Clocks, Provenance
from profiler.text import counted, duration, number

_STEADY_MHZ = 15.0  # one step of the clock


def timing_facts(sheet: TimingSheet) -> list[tuple[str, str]]:
    timing, provenance = sheet.timing, sheet.run.provenance
    rows = [
        (
            "median",
            f"{duration(timing.median_ns)}, spread {number(timing.spread_pct)} % (interquartile range), "
            f"{duration(timing.min_ns)} to {duration(timing.max_ns)}",
        )
    ]
    if timing.gflops is not None:
        rows.append(("work", f"{number(timing.gflops)} GFLOP/s"))
    if timing.gbytes_per_s is not None:
        rows.append(("traffic", f"{number(timing.gbytes_per_s)} GB/s"))
    if timing.reference_median_ns is not None and timing.reference_pct is not None:
        name = f" ({provenance.reference})" if provenance and provenance.reference else ""
        reached = f"{number(timing.reference_pct)} % of its speed reached"
        rows.append(("reference", f"{duration(timing.reference_median_ns)}{name}, {reached}"))
    if timing.best_median_ns is not None and timing.best_pct is not None:
        reached = f"{number(timing.best_pct)} % of its speed reached"
        rows.append(("at its best", f"{duration(timing.best_median_ns)}{_algorithms(provenance)}, {reached}"))
    if provenance and provenance.clocks:
        rows.append(("clock", clocks_text(provenance.clocks)))
    repeats = counted(timing.repeats, "repeat", "repeats")
    rows.append(("timed", f"{repeats} in {counted(sheet.processes, 'process', 'processes')}, unprofiled"))
    return rows


def _algorithms(provenance: Provenance | None) -> str:
    """Returns the library and its fastest algorithm, and what other processes chose."""
    if provenance is None:
        return ""
    known = [
        ", ".join(f"{name} {one[name]}" for name in ("id", "tile", "stages", "split_k") if name in one)
        or "its default"
        for one in provenance.algorithms
    ]
    return f" ({provenance.library or 'its library'}: {'; in another process '.join(dict.fromkeys(known))})"


def clocks_text(clocks: Clocks) -> str:
    """Returns the clock and the power while the kernel and its reference were timed."""
    mhz, power = clocks.sm_mhz, clocks.power_w
    moved = mhz.greatest - mhz.least > _STEADY_MHZ
    range_text = f"{mhz.least:,.0f} to {mhz.greatest:,.0f} MHz, " if moved else ""
    return f"{range_text}median {mhz.median:,.0f} MHz, up to {power.greatest:,.0f} W ({counted(clocks.samples, 'sample', 'samples')})"
