"""The metrics of one kernel: those of the headline, the stalls, the others of the catalogue, and raw counters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from profiler.analyse.compare.attribution import STALLS
from profiler.analyse.recording.overview import SheetMetric
from profiler.catalog.metrics import BY_NAME, READY
from profiler.present.document import Column, Folded, Heading, Row, Section, Table, Value
from profiler.text import counted, unit_for_people

_MOST_STALLS = 5
_OF_UNITS = ("_pipe_pct", "_throughput_pct")
_BUSY_PCT, _MOST_UNITS = 10.0, 2
_GROUPS = tuple(dict.fromkeys(metric.group for metric in BY_NAME.values()))


def metric_sections(
    metrics: Sequence[SheetMetric], headline: Sequence[str], launches: Section, left_out: int, *, full: bool
) -> Iterator[Section]:
    """Yields the headline metrics in their order, the stall reasons with the longest first, and the others.

    Unless `full`, only the longest stalls are shown, and those that belong to the headline.
    """
    first = [one for one in metrics if one.name in headline and one.name not in STALLS]
    first.sort(key=lambda one: headline.index(one.name))
    stalls = sorted(
        (one for one in metrics if one.name in STALLS and one.mean > 0), key=lambda one: -one.mean
    )
    if not full:
        first = [one for one in first if one.mean] + _busiest(metrics, headline)
        stalls = [one for one in stalls if one.name.removeprefix("stall_") not in READY]
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
    known = sorted(
        (one for one in others if one.name != one.ncu), key=lambda one: _GROUPS.index(BY_NAME[one.name].group)
    )
    more = f"; {left_out} more in `prof show --full`" if left_out else ""
    if known:
        number_of = counted(len(known), "other metric", "other metrics")
        summary = f"{number_of}, mean and standard deviation over launches{'' if counters else more}"
        table = metrics_table("other metric", known, grouped=True)
        yield Folded(summary, [table], None if full else f"{number_of} with --full")
    if counters:
        summary = counted(len(counters), "counter", "counters") + " by the names of Nsight Compute"
        instead = f"{summary}: --full --format csv lists them"
        yield Folded(f"{summary}{more}", [metrics_table("counter", counters)], instead)


def _busiest(metrics: Sequence[SheetMetric], headline: Sequence[str]) -> list[SheetMetric]:
    """Returns the units of the GPU that work most, of those that the headline metrics leave out."""
    units = [one for one in metrics if one.name.endswith(_OF_UNITS) and one.name not in headline]
    return sorted((one for one in units if one.mean >= _BUSY_PCT), key=lambda one: -one.mean)[:_MOST_UNITS]


def metrics_table(title: str, metrics: Sequence[SheetMetric], *, grouped: bool = False) -> Table:
    """Returns a row for each metric, with its group in the catalogue if they are `grouped`."""
    group = [Column("group", stays=0)] if grouped else []
    columns = (
        Column(title, folds=True),
        Column("unit"),
        Column("mean", "number"),
        Column("spread, %", "percent", missing="-"),
        *group,
        Column("ncu", wide=True),
    )
    groups = [(BY_NAME[one.name].group,) if grouped else () for one in metrics]
    cells = [
        (*values, *group, ncu)
        for group, (*values, ncu) in zip(groups, map(_metric_cells, metrics), strict=True)
    ]
    return Table(columns, [Row(one) for one in cells])


def _metric_cells(metric: SheetMetric) -> tuple[Value, ...]:
    divisor, unit = unit_for_people(metric.unit, metric.mean)
    spread_pct = 100 * metric.spread / abs(metric.mean) if metric.spread is not None and metric.mean else None
    return (metric.name, unit, metric.mean / divisor, spread_pct, metric.ncu)
