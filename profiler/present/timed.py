"""A `Comparison` of times alone as a terminal page, Markdown or CSV."""

from __future__ import annotations

from msgspec.structs import asdict

from profiler.analyse.compare.changes import judge_speedup
from profiler.analyse.findings import Comparison, Side
from profiler.catalog.ladders.ladder import size_text
from profiler.present.comparison import CSV_HEADER, Layout, heading, speedup_text
from profiler.present.encode import Cell, markdown_text, to_csv, to_markdown
from profiler.present.terminal import render_table
from profiler.text import number, printable, relative, signed

_HEADER = ("without the profiler", "unit", "before", "after", "change", "relative")
_RIGHT = (2, 3, 4, 5)
_SPEEDUP = "speedup_ratio"
# Of a `TimingSummary`, with their units; what neither side has is not shown.
_FIGURES = {
    "median_ns": "ns",
    "spread_pct": "%",
    "gflops": "GFLOP/s",
    "gbytes_per_s": "GB/s",
    "reference_median_ns": "ns",
    "reference_pct": "%",
    "repeats": "repeat",
}


def timed_text(comparison: Comparison, layout: Layout) -> str:
    table = render_table(
        _HEADER, _rows(comparison), right=_RIGHT, optional=(4, 1), colour=layout.colour, width=layout.width
    )
    head = heading(comparison, layout, _side)
    return "\n\n".join([head, "\n".join([table, *map(printable, _references(comparison))])])


def timed_markdown(comparison: Comparison) -> str:
    sides = (comparison.before, comparison.after)
    parts = [
        f"### {' → '.join(markdown_text(side.label) for side in sides)}",
        f"{markdown_text(speedup_text(comparison.speedup))}.",
        "\n".join(f"> **Caution:** {markdown_text(text)}  " for text in comparison.comparable.warnings),
        to_markdown(_HEADER, _rows(comparison), numeric=_RIGHT),
        *map(markdown_text, _references(comparison)),
    ]
    return "\n\n".join(parts)


def timed_csv(comparison: Comparison) -> str:
    """A row for each figure; of the speedup, as how many times as fast as the first, also the interval."""
    kernels = (comparison.before.kernel_name, comparison.after.kernel_name)
    rows: list[list[Cell]] = []
    if speedup := comparison.speedup:
        bounds = [bound - 1 for bound in speedup.ci] if speedup.ci else [None, None]
        verdict = judge_speedup(speedup)
        rows.append(
            [*kernels, "timing", _SPEEDUP, None, "ratio", 1.0, speedup.ratio, speedup.ratio - 1, *bounds, verdict, None]
        )  # fmt: skip
    for name, before, after in _figures(comparison):
        delta = None if before is None or after is None else after - before
        rows.append(
            [*kernels, "timing", name, None, _FIGURES[name], before, after, delta, None, None, None, None]
        )
    return to_csv(CSV_HEADER, rows)


def _side(side: Side) -> str:
    workload = f", {size_text(side.workload)}" if side.workload else ""
    return (
        f"{printable(side.label)}: {side.run_id}\n        timed on {printable(side.gpu)}{printable(workload)}"
    )


def _figures(comparison: Comparison) -> list[tuple[str, float | None, float | None]]:
    before, after = (asdict(side.timing) for side in (comparison.before, comparison.after) if side.timing)
    figures = [(name, before[name], after[name]) for name in _FIGURES]
    return [one for one in figures if one[1:] != (None, None)]


def _rows(comparison: Comparison) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for name, before, after in _figures(comparison):
        change = ("", "")
        if before is not None and after is not None and name != "repeats":
            change = (signed(after - before), relative(before, after))
        rows.append((name, _FIGURES[name], number(before), number(after), *change))
    return rows


def _references(comparison: Comparison) -> list[str]:
    """What the percentages are of; once where it is the same for both."""
    names = dict.fromkeys(side.reference for side in (comparison.before, comparison.after) if side.reference)
    return [f"reference_pct: speed in percent of {' and of '.join(names)}"] if names else []
