"""Parts of a recording's sheet: where it comes from, its times without the profiler, and the metrics of one kernel."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import PurePath

from profiler.analyse.recording.index import IndexEntry
from profiler.analyse.recording.overview import SheetMetric, TimingSheet, busiest_units, longest_stalls
from profiler.analyse.recording.triage import TriagedKernel
from profiler.catalog.ladders.ladder import size_text
from profiler.catalog.metrics import BY_NAME, STALLS, WAITS
from profiler.present.document import Column, Folded, Heading, Row, Section, Table
from profiler.store.runs.manifest import Clocks, Manifest, Provenance, StoredReport
from profiler.text import (
    Spoken,
    brief_word,
    counted,
    duration,
    number,
    share_of_whole,
    short_place,
    shortened,
    size,
    unit_for_people,
)

_PLACE_WIDTH = 30
_HASH_CHARACTERS = 12
_COMMAND_WIDTH = 300
_BRIEF = ("run", "origin", "part", "recorded", "workload", "verified", "ncu", "measured")


def provenance_facts(manifest: Manifest, report: str | None, *, full: bool) -> list[tuple[str, str]]:
    """Returns the known facts, the most interesting first: all if `full`, or only what was recorded, when, where and how.

    `report` is the name of a report that was never stored. Its folder is left out, because pages are sent to others.
    """
    facts = manifest.facts
    is_ingested = report is None and manifest.origin == "ingested"
    ncu = f"{manifest.ncu_version or 'of unknown version'}, CUDA {manifest.cuda_version}"
    rows = [
        ("run", f"not stored: {report}" if report is not None else manifest.run_id),
        ("origin", "ingested from a report, not collected by prof" if is_ingested else ""),
        ("part", manifest.part),
        ("recorded", f"{manifest.recorded} on {', '.join(manifest.gpus) or 'an unknown GPU'}"),
        ("kernel", f"{manifest.ladder} {manifest.kernel}" if manifest.kernel is not None else ""),
        ("workload", size_text(manifest.workload or {})),
        ("verified", "" if facts.relative_error is None else f"relative error {facts.relative_error:.1e}"),
        ("library", _algorithms(facts)),
        ("ncu", ncu if manifest.has_counters else ""),
        ("measured", _measured(manifest)),
        ("preset", _preset(manifest)),
        ("sections", ", ".join(manifest.sections)),
        ("program", manifest.program),
        ("command", _brief(manifest.command_line)),
        ("seed", str(facts.seed) if facts.seed is not None else ""),
        ("compiler", _compiler(facts)),
        ("runtime", facts.runtime or ""),
        ("binary", f"SHA-256 {facts.binary_sha256}" if facts.binary_sha256 else ""),
        ("driver", facts.driver_version),
        ("commit", _commit(facts)),
        ("report", _reports(manifest.reports)),
    ]
    return [(name, value) for name, value in rows if value and (full or name in _BRIEF)]


def _measured(manifest: Manifest) -> str:
    controls = f"clock control {manifest.clock_control}, cache control {manifest.cache_control}"
    return f"{controls}, {manifest.replay_mode} replay" if manifest.has_counters else ""


def _preset(manifest: Manifest) -> str:
    names = ", ".join(manifest.missing_metrics)
    missing = f"; nothing recorded for {names}" if names else ""
    return f"{manifest.preset}{missing}" if manifest.preset else ""


def _brief(command_line: str) -> str:
    """Returns the start and the end of the command, without its long list of metrics; `--format json` has all of it."""
    with suppress(ValueError):
        program, *words = shlex.split(command_line)
        command_line = shlex.join(map(brief_word, [PurePath(program).name, *words]))
    return shortened(command_line, _COMMAND_WIDTH)


def _compiler(facts: Provenance) -> str:
    flags = " ".join([*facts.build_flags, *(f"(without {name})" for name in facts.without)])
    return f"nvcc {facts.nvcc_version} {flags}" if facts.nvcc_version else ""


def _commit(facts: Provenance) -> str:
    return f"{facts.git_commit}{', with changes' if facts.git_dirty else ''}" if facts.git_commit else ""


def _reports(reports: Sequence[StoredReport]) -> str:
    if len(reports) == 1:
        return f"{size(reports[0].bytes)}, SHA-256 {reports[0].sha256}"
    if not reports:
        return ""
    hashes = ", ".join(f"{report.sha256[:_HASH_CHARACTERS]}..." for report in reports)
    whole = size(sum(report.bytes for report in reports))
    return f"{len(reports)}, one per process, {whole}, SHA-256 {hashes}"


_MOST_STALLS, _MOST_UNITS = 5, 2
_GROUPS = tuple(dict.fromkeys(metric.group for metric in BY_NAME.values()))


def metric_sections(
    metrics: Sequence[SheetMetric], headline: Sequence[str], launches: Section, left_out: int, *, full: bool
) -> Iterator[Section]:
    """Yields the headline metrics in their order, the stall reasons with the longest first, and the others.

    Stalls that cost next to nothing are among the others. Unless `full`, only the longest are shown, and those of the headline.
    """
    first = [one for one in metrics if one.name in headline and one.name not in STALLS]
    first.sort(key=lambda one: headline.index(one.name))
    stalls = longest_stalls(metrics)
    if not full:
        others = [one for one in metrics if one.name not in headline]
        first = [one for one in first if one.mean] + busiest_units(others, _MOST_UNITS)
        stalls = [one for one in stalls if one.name in WAITS]
        stalls = [*stalls[:_MOST_STALLS], *(one for one in stalls[_MOST_STALLS:] if one.name in headline)]
    shown = {one.name for one in (*first, *stalls)}
    others = [one for one in metrics if one.name not in shown]
    if first:
        yield [Heading("Headline metrics"), metrics_table("metric", first), *launches]
    if stalls:
        yield [Heading("Stalls"), metrics_table("why a warp waits", stalls)]
    if others:
        yield [Heading("Other metrics"), *_other_metrics(others, left_out, full=full)]


def _other_metrics(others: Sequence[SheetMetric], left_out: int, *, full: bool) -> Iterator[Folded]:
    """Yields the metrics of the catalogue by their groups, and the counters that only Nsight Compute has a name for."""
    counters = [one for one in others if one.name == one.ncu]
    known = [one for one in others if one.name != one.ncu]
    known.sort(key=lambda one: _GROUPS.index(BY_NAME[one.name].group))
    more = f"; {left_out} more in `prof show --full`" if left_out else ""
    if known:
        number_of = counted(len(known), "other metric")
        summary = f"{number_of}, mean and standard deviation over launches{'' if counters else more}"
        table = metrics_table("other metric", known, grouped=True)
        left = f"{number_of} {'is' if len(known) == 1 else 'are'} left out"
        yield Folded(summary, [table], None if full else left)
    if counters:
        summary = counted(len(counters), "counter") + " by the names of Nsight Compute"
        instead = f"{summary}: " + Spoken("--full --format csv lists them", "`.to_pandas()` lists them")
        yield Folded(f"{summary}{more}", [metrics_table("counter", counters, named=False)], instead)


def metrics_table(
    title: str, metrics: Sequence[SheetMetric], *, grouped: bool = False, named: bool = True
) -> Table:
    """Returns a row for each metric, with its group in the catalogue if they are `grouped`, and its spread if there are several launches.

    If they are `named` by us, the table also has the names of Nsight Compute.
    """
    is_repeated = any(one.spread is not None for one in metrics)
    columns = [
        Column(title, folds=True),
        Column("unit"),
        Column("mean", "number"),
        *([Column("spread, %", "percent", missing="-")] if is_repeated else []),
        *([Column("group", stays=0)] if grouped else []),
        *([Column("ncu", wide=True)] if named else []),
    ]
    rows = []
    for one in metrics:
        divisor, unit = unit_for_people(one.unit, one.mean)
        spread_pct = 100 * one.spread / abs(one.mean) if one.spread is not None and one.mean else None
        more = [*([BY_NAME[one.name].group] if grouped else []), *([one.ncu] if named else [])]
        rows.append(Row((one.name, unit, one.mean / divisor, *([spread_pct] if is_repeated else []), *more)))
    return Table(columns, rows)


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


def _algorithms(facts: Provenance) -> str:
    """Returns the fastest algorithm of the reference's library, and what other processes chose."""
    known = [
        ", ".join(f"{name} {one[name]}" for name in ("id", "tile", "stages", "split_k") if name in one)
        or "its default"
        for one in facts.algorithms
    ]
    chosen = "; in another process ".join(dict.fromkeys(known))
    return f"fastest of {facts.library or 'its library'} when timed: {chosen}" if known else ""


def _clocks_text(clocks: Clocks) -> str:
    """Returns the clock and the power while the kernel and its reference were timed."""
    mhz, power = clocks.sm_mhz, clocks.power_w
    moved = mhz.greatest - mhz.least > _STEADY_MHZ
    range_text = f"{mhz.least:,.0f} to {mhz.greatest:,.0f} MHz, " if moved else ""
    return f"{range_text}median {mhz.median:,.0f} MHz, up to {power.greatest:,.0f} W ({counted(clocks.samples, 'sample')})"


def share_cell(entry: IndexEntry | TriagedKernel) -> str | None:
    """Returns the part of the time that a kernel takes, as a table of several shows it."""
    return None if entry.share_pct is None else f"{share_of_whole(entry.share_pct)} %"


def top_cause_cell(entry: IndexEntry | TriagedKernel) -> str | None:
    """Returns the cause that limits a kernel most, and where."""
    where = f" at {shortened(short_place(entry.where), _PLACE_WIDTH)}" if entry.where else ""
    return f"{entry.top_cause}{where}" if entry.top_cause else None
