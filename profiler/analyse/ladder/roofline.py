"""Says how close the rungs of a ladder come to the most that the same GPU was measured to do.

A ladder's climb and the ceilings in; a `Roofline` out. A rung of the ceilings that declares `flops` is a ceiling
of its arithmetic, one that declares `bytes` of its memory, and both have the name of their rung. Work is what a
ladder declares, time is without the profiler, and bytes moved are counted under it. A ceiling that was not
measured is named as missing and never looked up: a data sheet says what a GPU should do.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from msgspec import Struct, to_builtins

from profiler.analyse.findings import SCHEMA_VERSION
from profiler.analyse.ladder.climb import Climb
from profiler.analyse.ladder.rungs import Conditions, Rung
from profiler.analyse.recording.arithmetic import find_arithmetic
from profiler.analyse.recording.doubts import is_part_of_step
from profiler.analyse.recording.overview import summarise_rung
from profiler.analyse.recording.profile import Profile
from profiler.analyse.statistics.timings import TimingSummary
from profiler.catalog.metrics import SECTOR_BYTES

if TYPE_CHECKING:
    import pandas as pd

DRAM, L2 = "dram", "l2"


class Ceiling(Struct, frozen=True):
    """The most that was measured; the spread is the interquartile range of its repeats."""

    name: str
    value: float
    unit: Literal["GFLOP/s", "GB/s"]
    spread_pct: float
    run_id: str


class Point(Struct, frozen=True):
    """One rung under the ceilings. `ceiling` is the lowest that it could reach, which is at `attainable_gflops`.

    `arithmetic` is what most of its executed operations are. Without counters of the L2 cache its
    figures are null, and without a ceiling so is what follows from it.
    """

    kernel: int
    name: str
    gflops: float
    spread_pct: float
    arithmetic: str
    dram_bytes: float
    flops_per_dram_byte: float
    l2_bytes: float | None
    flops_per_l2_byte: float | None
    ceiling: str | None
    attainable_gflops: float | None
    ceiling_pct: float | None
    run_id: str


class Stream(Struct, frozen=True):
    """One rung of a ladder that declares no operations: its useful bytes, and those that memory moved, per second."""

    kernel: int
    name: str
    useful_gbytes_per_s: float | None
    dram_gbytes_per_s: float | None
    spread_pct: float
    useful_pct: float | None
    dram_pct: float | None
    run_id: str


class Roofline(Struct, frozen=True):
    """`points` where the ladder declares `flops`, else `streams`; `left_out` says why a rung is in neither."""

    ladder: str
    gpu: str
    workload: dict[str, int] | None
    ceilings: list[Ceiling]
    missing: list[str]
    points: list[Point]
    streams: list[Stream]
    left_out: dict[int, str]
    schema_version: int = SCHEMA_VERSION

    def __repr__(self) -> str:
        rungs = len(self.points or self.streams)
        ceilings = len(self.ceilings)
        return f"<roofline of {self.ladder} on {self.gpu}: {rungs} rungs, {ceilings} ceilings; `.to_pandas()` has the rungs>"

    def find(self, name: str) -> Ceiling | None:
        return next((ceiling for ceiling in self.ceilings if ceiling.name == name), None)

    def to_pandas(self) -> pd.DataFrame:
        """Returns one row for each rung, indexed by its number."""
        import pandas as pd

        kind = Point if self.points else Stream
        rows = [to_builtins(one) for one in (self.points or self.streams)]
        return pd.DataFrame(rows, columns=list(kind.__struct_fields__)).set_index("kernel")


def derive_roofline(climb: Climb, ceilings: Iterable[Ceiling], expected: Iterable[str] = ()) -> Roofline:
    """Returns the rungs under the measured ceilings. `expected` ceilings that were not measured are named as missing."""
    by_name = {ceiling.name: ceiling for ceiling in ceilings}
    computes = any(rung.kernel.flops for rung in climb.rungs)
    points, streams, left_out = [], [], {}
    for rung in climb.rungs:
        summary = _summary(rung, climb.conditions)
        if summary is None:
            left_out[rung.kernel.number] = "not timed without the profiler"
        elif not computes:
            streams.append(_stream(rung, summary, by_name.get(DRAM)))
        elif why := _why_no_point(rung, summary):
            left_out[rung.kernel.number] = why
        else:
            points.append(_point(rung, summary, by_name))
    needed = [DRAM, L2, *(point.arithmetic for point in points), *expected] if computes else [DRAM]
    return Roofline(
        ladder=climb.ladder.name,
        gpu=climb.conditions.gpu,
        workload=climb.finding.workload,
        ceilings=list(by_name.values()),
        missing=[name for name in dict.fromkeys(needed) if name and name not in by_name],
        points=points,
        streams=streams,
        left_out=left_out,
    )


def _summary(rung: Rung, conditions: Conditions) -> TimingSummary | None:
    times_ns = rung.profile.timings_ns
    return summarise_rung(rung.kernel, dict(conditions.workload or ()), times_ns) if times_ns else None


def highest_ceilings(groups: Iterable[tuple[Conditions, Sequence[Rung]]]) -> list[Ceiling]:
    """Returns the most that each rung of the ladder of ceilings reached, whatever its workload."""
    best: dict[str, Ceiling] = {}
    for conditions, rungs in groups:
        for rung in rungs:
            found = _ceiling(rung, conditions)
            if found and (found.name not in best or found.value > best[found.name].value):
                best[found.name] = found
    return sorted(best.values(), key=lambda one: (one.unit, one.value, one.name))


def _ceiling(rung: Rung, conditions: Conditions) -> Ceiling | None:
    summary = _summary(rung, conditions)
    value = summary and (summary.gflops or summary.gbytes_per_s)
    if not summary or not value or rung.timed is None:
        return None
    return Ceiling(
        name=rung.kernel.name,
        value=value,
        unit="GFLOP/s" if summary.gflops else "GB/s",
        spread_pct=summary.spread_pct,
        run_id=rung.timed.manifest.run_id,
    )


# A rung under the ceilings


def _why_no_point(rung: Rung, summary: TimingSummary) -> str:
    if not summary.gflops:
        return "its number of operations is not known"
    if is_part_of_step(rung.profile):
        return "one kernel of several was profiled"
    return "" if _dram_bytes(rung.profile) else "bytes of device memory were not counted"


def _point(rung: Rung, summary: TimingSummary, ceilings: Mapping[str, Ceiling]) -> Point:
    gflops, dram_bytes = summary.gflops or 0.0, _dram_bytes(rung.profile) or 0.0
    flops = gflops * summary.median_ns  # as giga-operations per second are operations per nanosecond
    l2_sectors = rung.profile.mean("l2_sectors")
    l2_bytes = l2_sectors * SECTOR_BYTES if l2_sectors else None
    arithmetic = find_arithmetic(rung.profile.computing)
    limits = {
        name: ceilings[name].value * (flops / moved if moved else 1.0)
        for name, moved in ((arithmetic, None), (DRAM, dram_bytes), (L2, l2_bytes))
        if name in ceilings and (moved or name == arithmetic)
    }
    # The lowest of some ceilings is no limit while arithmetic or memory is unknown; the L2 counts where its bytes were counted.
    lowest = min(limits, key=limits.__getitem__) if {arithmetic, DRAM} <= set(limits) else None
    return Point(
        kernel=rung.kernel.number,
        name=rung.kernel.name,
        gflops=gflops,
        spread_pct=summary.spread_pct,
        arithmetic=arithmetic,
        dram_bytes=dram_bytes,
        flops_per_dram_byte=flops / dram_bytes,
        l2_bytes=l2_bytes,
        flops_per_l2_byte=flops / l2_bytes if l2_bytes else None,
        ceiling=lowest,
        attainable_gflops=limits[lowest] if lowest else None,
        ceiling_pct=100 * gflops / limits[lowest] if lowest else None,
        run_id=rung.profile.manifest.run_id,
    )


def _stream(rung: Rung, summary: TimingSummary, dram: Ceiling | None) -> Stream:
    dram_bytes = _dram_bytes(rung.profile)
    moved = dram_bytes / summary.median_ns if dram_bytes else None
    return Stream(
        kernel=rung.kernel.number,
        name=rung.kernel.name,
        useful_gbytes_per_s=summary.gbytes_per_s,
        dram_gbytes_per_s=moved,
        spread_pct=summary.spread_pct,
        useful_pct=100 * summary.gbytes_per_s / dram.value if dram and summary.gbytes_per_s else None,
        dram_pct=100 * moved / dram.value if dram and moved else None,
        run_id=rung.profile.manifest.run_id,
    )


def _dram_bytes(profile: Profile) -> float | None:
    """Returns the bytes that were counted, or the rate times the duration; None for one kernel of several."""
    if is_part_of_step(profile):
        return None
    read, written = profile.mean("dram_bytes_read"), profile.mean("dram_bytes_written")
    if read is not None and written is not None:
        return read + written
    rate, duration_ns = profile.mean("dram_bytes_per_s"), profile.mean("duration_ns")
    return rate * duration_ns * 1e-9 if rate and duration_ns else None
