"""Two kernels that are no versions of one, side by side: a few figures, and the causes of each."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from profiler.analyse import findings
from profiler.present import document as doc
from profiler.present.documents.parts.causes import causes_of_each
from profiler.text import Spoken, shortened, unit_for_people

# What tells two kernels apart at a glance: how much each does, and what it keeps busy.
_SHOWN = (
    "duration_ns",
    "inst_executed",
    "issue_active_pct",
    "fma_pipe_pct",
    "alu_pipe_pct",
    "tensor_pipe_pct",
    "lsu_pipe_pct",
    "dram_throughput_pct",
    "occupancy_pct",
    "registers",
)
_NAME_WIDTH = 32
_WHOLE = Spoken(
    "`--full` prints the whole comparison, metric by metric",
    "`.metrics`, `.attribution` and `.instructions` have the whole comparison",
)


def two_kernels_sections(
    comparison: findings.ComparisonFinding,
    describe: Callable[[findings.Side], list[str]],
    wanted: Sequence[str] = (),
) -> list[doc.Section]:
    """Returns a short table with a column for each kernel, the causes of each, and what each side is.

    The `wanted` metrics replace those that are shown otherwise. Differences are left out: neither kernel is a change of the other.
    """
    sides = (comparison.before, comparison.after)
    one, other = (shortened(side.called, _NAME_WIDTH) for side in sides)
    names = (one, other) if one != other else ("before", "after")
    return [
        [_table(comparison, names, wanted), doc.Text(_WHOLE, "quiet")],
        causes_of_each(comparison, names, full=False),
        [doc.Facts([(name, describe(side)) for name, side in zip(names, sides, strict=True)])],
    ]


def _table(
    comparison: findings.ComparisonFinding, names: tuple[str, str], wanted: Sequence[str]
) -> doc.Table:
    if wanted:
        shown = [one for one in comparison.metrics if {one.name, one.ncu} & set(wanted)]
    else:
        by_name = {one.name: one for one in comparison.metrics}
        shown = [by_name[name] for name in _SHOWN if name in by_name]
        shown = [one for one in shown if one.before or one.after]
    columns = (doc.Column("metric"), doc.Column("unit"), *(doc.Column(name, "number") for name in names))
    return doc.Table(columns, list(map(_row, shown)))


def _row(metric: findings.MetricDelta) -> doc.Row:
    divisor, unit = unit_for_people(metric.unit, metric.before, metric.after)
    return doc.Row((metric.name, unit, metric.before / divisor, metric.after / divisor))
