"""Charts of one recording: all of it as one picture, the scatter of its launches and repeats, and its hottest lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from statistics import median

import altair as alt
from altair.typing import ChartType

from profiler.analyse.recording.profile import Profile
from profiler.analyse.recording.source_lines import SourceLine, SourceLines
from profiler.analyse.statistics.differences import Readings
from profiler.catalog.metrics import DURATION
from profiler.present import style
from profiler.present.charts.rungs import stalls_heading, stalls_of
from profiler.text import counted, report_name, short_place, shortened

_CODE = 330
_PANEL = 190
_ROW = 21
_FEWEST_ROWS, _MOST = 5, 12
# The smallest share of instructions or samples that makes a row, unless there are very few rows.
_WORTH_A_ROW = 0.01
_CODE_CHARACTERS = 48
_WHERE_WIDTH = 90


def source_lines_chart(lines: SourceLines) -> ChartType | None:
    """Returns executed instructions and, if recorded, stall samples; None if nothing was counted."""
    shown = _hottest(lines)
    if not shown:
        return None
    panels = [_executed(lines, shown)] if lines.executed else []
    if lines.samples:
        panels.append(_samples(lines, shown, named=not panels))
    left = len(lines.lines) - len(shown)
    notes = [f"{counted(left, 'line')} with less left out"] if left else []
    notes += [f"outlined: {style.READY_TITLE}"] if lines.samples else []
    where = ", ".join(shortened(part, _WHERE_WIDTH) for part in (report_name(lines.label), lines.gpu))
    title = style.heading(_lines_title(lines), "; ".join([where, *notes]))
    chart: ChartType = (
        alt.hconcat(*panels, spacing=18).resolve_scale(color="independent").properties(title=title)
    )
    return chart


def _hottest(lines: SourceLines) -> list[SourceLine]:
    """Returns the lines with the largest share of instructions or samples, whichever is larger."""

    def heat(line: SourceLine) -> float:
        executed = line.executed / lines.executed if lines.executed else 0.0
        return max(executed, line.samples / lines.samples if lines.samples else 0.0)

    hottest = sorted(lines.lines, key=lambda line: (-heat(line), line.file, line.line))[:_MOST]
    shown = [
        line
        for rank, line in enumerate(hottest)
        if heat(line) >= (_WORTH_A_ROW if rank >= _FEWEST_ROWS else 1e-9)
    ]
    return sorted(shown, key=lambda line: (line.file, line.line))


def _rows_axis(shown: Sequence[SourceLine], *, named: bool) -> alt.Y:
    code = alt.Axis(
        labelAlign="left", labelPadding=_CODE, labelLimit=_CODE, labelFont="monospace", labelFontSize=10,
        minExtent=_CODE,
    )  # fmt: skip
    axis = code if any(line.text for line in shown) else alt.Axis()
    names = [_place(line, shown) for line in shown]
    return alt.Y(
        "line:N", sort=names, title=None, axis=axis if named else alt.Axis(labels=False, minExtent=0)
    )


def _place(line: SourceLine, shown: Sequence[SourceLine]) -> str:
    """Returns the number and the text of the line, with its file if there are several or there is no text."""
    several = len({one.file for one in shown}) > 1
    where = (
        f"{shortened(short_place(line.file), 20)}:{line.line}" if several or not line.text else str(line.line)
    )
    return f"{where}: {shortened(line.text.strip(), _CODE_CHARACTERS)}" if line.text else where


def _executed(lines: SourceLines, shown: Sequence[SourceLine]) -> ChartType:
    divisor, unit = style.readable_unit("inst", max(line.executed for line in shown))
    rows: list[style.Record] = [
        {
            "line": _place(line, shown), "executed": line.executed / divisor,
            "label": f"{style.figure(100 * line.executed / lines.executed, 2)} %",
        }
        for line in shown
    ]  # fmt: skip
    base = style.chart_of(rows, width=_PANEL, height=_ROW * len(rows)).encode(
        y=_rows_axis(shown, named=True), tooltip=style.tooltips("line:N", "executed:Q", "label:N")
    )
    x = style.bar_axis("executed", f"executed, {unit} per launch", max(row["executed"] for row in rows))
    return alt.layer(base.mark_bar(height=14, color=style.PURPLE).encode(x=x), style.figures_behind(base, x))


def _samples(lines: SourceLines, shown: Sequence[SourceLine], *, named: bool) -> ChartType:
    """Returns the stall samples of each line, as a share of all samples of the kernel."""
    colours = _colours(shown)
    rows = [row for line in shown for row in _segments(line, lines, shown, colours)]
    totals: list[style.Record] = [
        {"line": _place(line, shown), "end": 100 * line.samples / lines.samples,
         "label": f"{style.figure(100 * line.samples / lines.samples, 2)} %"}
        for line in shown
    ]  # fmt: skip
    y = _rows_axis(shown, named=named)
    base = style.chart_of(rows, width=_PANEL, height=_ROW * len(shown)).encode(
        y=y, tooltip=style.tooltips("line:N", "reason:N", "samples:Q")
    )
    x = style.bar_axis("start", "stall samples, % of the kernel's", max(row["end"] for row in totals))
    bars = style.stall_bars(base, x, colours, 14, columns=3)
    text = style.figures_behind(style.chart_of(totals).encode(y=y), alt.X("end:Q"))
    return alt.layer(*bars, text)


def _colours(shown: Sequence[SourceLine]) -> dict[str, str]:
    """Returns the colours of the reasons with the most samples on these lines."""
    samples = Counter[str]()
    for line in shown:
        samples.update(line.stalls)
    return style.stall_colours(samples)


def _segments(
    line: SourceLine, lines: SourceLines, shown: Sequence[SourceLine], colours: Mapping[str, str]
) -> Iterator[style.Record]:
    start = 0.0
    for reason, count in style.grouped_stalls(line.stalls, colours).items():
        end = start + 100 * count / lines.samples
        if count:
            yield {
                "line": _place(line, shown), "reason": reason, "samples": count, "start": start, "end": end,
            }  # fmt: skip
        start = end


def _lines_title(lines: SourceLines) -> str:
    """Returns the line that executes most, and the line that has the most samples."""
    busiest = max(lines.lines, key=lambda line: line.executed)
    waiting = max(lines.lines, key=lambda line: line.samples)
    said = []
    if lines.executed:
        share = style.figure(100 * busiest.executed / lines.executed, 2)
        said.append(f"line {busiest.line} executes {share} % of the instructions")
    if lines.samples:
        share = style.figure(100 * waiting.samples / lines.samples, 2)
        same = said and (busiest.file, busiest.line) == (waiting.file, waiting.line)
        said.append(f"{'' if same else f'line {waiting.line} '}has {share} % of the stall samples")
    return " and ".join(said).capitalize()


_WIDTH, _HEIGHT = 460, 180
_NAME_WIDTH, _TITLE_WIDTH, _LABEL_WIDTH = 60, 90, 40
_MANY = 60
_FEWEST = 2  # points that scatter


def recording_chart(profile: Profile, stalls: Mapping[str, float], lines: SourceLines | None) -> ChartType:
    """Returns the launches and times of one kernel, its stall reasons, and its hottest source lines."""
    where = {shortened(profile.label, _LABEL_WIDTH): stalls}
    took = profile.find(DURATION)
    columns = [
        [
            launches_chart(took.values, profile.label) if took else None,
            repeats_chart(profile.timings_ns, profile.label),
        ],
        [
            stalls_of(where, stalls_heading(where, shortened(profile.gpu, _TITLE_WIDTH))),
            source_lines_chart(lines) if lines else None,
        ],
    ]
    return style.side_by_side(
        columns, shortened(profile.label, _TITLE_WIDTH), [shortened(profile.kernel, _TITLE_WIDTH)]
    )


def launches_chart(times: Readings, label: str) -> ChartType | None:
    """Returns a point for the time of each launch, and their mean as a line; processes differ in colour and shape.

    The result is None for a single launch, which scatters around nothing. The recording is called by its `label`.
    """
    if len(times) < _FEWEST:
        return None
    return _scatter(label, times, "launch", "time under the profiler", ("mean", times.mean))


def repeats_chart(times: Readings, label: str) -> ChartType | None:
    """Returns a point for each time without the profiler, and their median; None if there are none."""
    if len(times) < _FEWEST:
        return None
    return _scatter(label, times, "repeat", "time without the profiler", ("median", median(times)))


def _scatter(label: str, values: Readings, what: str, name: str, middle: tuple[str, float]) -> ChartType:
    divisor, unit = style.readable_unit("ns", max(values))
    rows: list[style.Record] = [
        {"number": number, "value": value / divisor, "process": str(process)}
        for number, (value, process) in enumerate(zip(values, values.processes, strict=True), start=1)
    ]
    processes = style.names_in(rows, "process")
    colours = [style.CATEGORIES[place % len(style.CATEGORIES)] for place in range(len(processes))]
    legend = style.legend_below("process") if len(processes) > 1 else None
    points = (
        style.chart_of(rows, width=_WIDTH, height=_HEIGHT)
        .mark_point(filled=True, size=60 if len(rows) <= _MANY else 20, opacity=0.9)
        .encode(
            x=alt.X(
                "number:Q",
                title=f"{what}, number",
                scale=alt.Scale(domain=[0.5, len(rows) + 0.5], nice=False),
                axis=alt.Axis(tickMinStep=1, format="d", grid=False),
            ),
            y=alt.Y(
                "value:Q",
                title=f"{name}, {unit}",
                scale=alt.Scale(zero=False, padding=8),
                axis=alt.Axis(grid=True, minExtent=0, **style.TITLE_ABOVE),
            ),
            color=alt.Color("process:N", scale=alt.Scale(domain=processes, range=colours), legend=legend),
            shape=alt.Shape("process:N", scale=alt.Scale(domain=processes), legend=legend),
            tooltip=style.tooltips("number:Q", *(["process:N"] if legend else []), "value:Q"),
        )
    )
    which, value = middle
    shown = [{"value": value / divisor, "label": f"{which} {style.figure(value / divisor, 4)} {unit}"}]
    line = style.chart_of(shown).mark_rule(strokeDash=[4, 3]).encode(y=alt.Y("value:Q"))
    text = style.texts_beside(style.chart_of(shown).encode(y=alt.Y("value:Q")))
    return alt.layer(line, points, text).properties(title=style.heading(_title(label, name, values, what)))


def _title(label: str, name: str, values: Readings, what: str) -> str:
    where = f"{shortened(report_name(label), _NAME_WIDTH)}: {name}"
    mean = sum(values) / len(values)
    if not mean:
        return where
    spread = 100 * (max(values) - min(values)) / mean
    many = "launches" if what == "launch" else "repeats"
    return f"{where} of {len(values)} {many} within {style.figure(spread, 2)} % of each other"
