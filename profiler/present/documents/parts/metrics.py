"""The metrics of one kernel as tables: those of the headline, the stall reasons, and the others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from profiler.analyse.recording.overview import SheetMetric, busiest_units, longest_stalls
from profiler.catalog.metrics import BY_NAME, STALLS, WAITS, with_working_pipes
from profiler.present.document import Column, Folded, Heading, Row, Section, Table
from profiler.text import Spoken, counted, unit_for_people

_MOST_STALLS, _MOST_UNITS = 5, 2
_GROUPS = tuple(dict.fromkeys(metric.group for metric in BY_NAME.values()))


def metric_sections(
    metrics: Sequence[SheetMetric], headline: Sequence[str], launches: Section, left_out: int, *, full: bool
) -> Iterator[Section]:
    """Yields the headline metrics in their order with the pipe that works, the stall reasons with the longest first, and the others.

    Stalls that cost next to nothing are among the others. Unless `full`, only the longest are shown, and those of the headline.
    """
    headline = with_working_pipes(headline, {one.name: one.mean for one in metrics})
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
