"""The look of every chart: colours, type, and figures in words.

The colours of marks are Okabe and Ito's, which colour-blind readers can distinguish. Their tones stand out
from white and from near black alike, so a scheme changes only paper and ink. No text has such a colour: none
of them could have the contrast that text needs with both papers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import altair as alt
from altair.typing import ChartType

from profiler.catalog.metrics import READY
from profiler.errors import MetricsMissing
from profiler.text import MILLION, unit_for_people

Scheme = Literal["light", "dark"]
Record = dict[str, Any]

BLUE, ORANGE, GREEN, PURPLE, RED, GREY = "#4f64ff", "#d18305", "#0aa970", "#a860c2", "#d23237", "#687084"
VERDICTS = {"better": BLUE, "worse": RED, "changed": GREY, "same": GREY, "unclear": GREY}
# An equals sign for `same`, with one bar above the row's line and one below it.
_EQUALS = "M-1.2,-0.9L1.2,-0.9L1.2,-0.3L-1.2,-0.3ZM-1.2,0.3L1.2,0.3L1.2,0.9L-1.2,0.9Z"
VERDICT_SHAPES = {
    "better": "circle",
    "worse": "cross",
    "changed": "square",
    "same": _EQUALS,
    "unclear": "diamond",
}
# Blue and red stand for verdicts alone, and the colours of stalls for stalls alone.
CATEGORIES = (PURPLE, ORANGE, GREEN)
# A chart of many categories goes on with these.
MORE_CATEGORIES = (*CATEGORIES, GREY, "#00869c", "#857500")
OTHERS = "others"
SIDES = ("before", "after")  # of a comparison
# Each stall reason has one colour in every chart. The first seven are the frequent ones, and differ most.
STALLS = {
    "long_scoreboard": "#8c7dff", "short_scoreboard": "#d76419", "mio_throttle": "#d76ec8", "lg_throttle": "#aa2da5",
    "barrier": "#00aa55", "wait": "#786450", "math_pipe_throttle": "#a09191", "dispatch": "#2396f0",
    "no_instruction": "#8c9b50", "branch_resolving": "#558769", "gmma": "#e64baa", "tex_throttle": "#b45f7d",
    "drain": "#a58c1e", "membar": "#1e8c96", "imc_miss": "#7d7dc8", "sleeping": "#6e8c32", "misc": "#a07850",
}  # fmt: skip
_MOST_STALLS = 6
READY_TITLE = "issuing or ready"
# Room for the names of rows, so that charts above one another are aligned.
LABELS = 165
# A vertical axis has its title above it, where it may be as long as it likes.
TITLE_ABOVE: dict[str, Any] = {"titleAngle": 0, "titleAlign": "left", "titleX": 0, "titleY": -10}
BESIDE = "beside"  # the style of the texts at the right of a plot
BLACK, WHITE = "#000000", "#ffffff"

_PAPER: dict[Scheme, tuple[str, str, str, str]] = {
    # paper, ink, quieter ink, lines
    "light": ("#ffffff", "#1f2328", "#59636e", "#d8dee4"),
    "dark": ("#0d1117", "#f0f6fc", "#9198a1", "#30363d"),
}


def configuration(scheme: Scheme) -> Record:
    """Returns Vega-Lite's configuration, with an opaque paper so that a picture is readable anywhere."""
    paper, ink, quiet, line = _PAPER[scheme]
    text = {"labelColor": quiet, "titleColor": quiet, "labelFontSize": 11, "titleFontSize": 11}
    return {
        "background": paper,
        "font": "sans-serif",
        # Vega measures text in its own font. In a browser's, a label at the right may be a sixth wider: 24 pixels of 150.
        "padding": {"left": 16, "top": 16, "right": 16 + 24, "bottom": 16},
        "view": {"stroke": None},
        "text": {"color": ink, "fontSize": 11},
        "style": {BESIDE: {"align": "left", "baseline": "middle", "dx": 12}},
        "rule": {"color": quiet},
        "tick": {"color": quiet},
        "title": {
            "anchor": "start", "color": ink, "fontSize": 14, "fontWeight": 600, "subtitleColor": quiet,
            "subtitleFontSize": 11, "offset": 10, "subtitlePadding": 5,
        },
        "axis": {
            **text, "titleFontWeight": "normal", "domain": False, "ticks": False, "gridColor": line, "labelLimit": 260,
            "labelFlush": False,
        },
        "axisY": {"grid": False, "labelColor": ink, "labelPadding": 8, "minExtent": LABELS},
        # Vega measures the columns in its own font; the font of a browser may be wider.
        "legend": {**text, "titleFontWeight": "normal", "labelLimit": 260, "symbolType": "square", "columnPadding": 28},
        "header": {"labelColor": ink, "titleColor": quiet},
    }  # fmt: skip


class _Chart(alt.Chart):
    """A chart whose copies share its contents.

    Altair copies a chart with all its contents at nearly every step, which takes longer than drawing it.
    Nothing changes the contents here, so sharing is safe.
    """

    def __deepcopy__(self, _: object) -> _Chart:
        return self.copy(deep=False)


def chart_of(records: Sequence[Record], **properties: Any) -> alt.Chart:
    return _Chart(source(records), **properties)


def rows_of(records: Sequence[Record], field: str, width: int, row: int, *shown: str, **y: Any) -> alt.Chart:
    """Returns the base of a chart with a row for each value of a field; a row's tooltip lists the fields `shown`."""
    names = names_in(records, field)
    base: alt.Chart = chart_of(records, width=width, height=row * len(names)).encode(
        y=alt.Y(f"{field}:N", sort=names, title=None, **y), tooltip=tooltips(*shown)
    )
    return base


def names_in(records: Iterable[Record], field: str) -> list[str]:
    """Returns the values of a field, each once, in the order in which they appear."""
    return list(dict.fromkeys(record[field] for record in records))


def coloured(field: str, colours: Mapping[str, str], title: str | None = None, **legend: Any) -> alt.Color:
    """Returns the colour for each value of a field, explained below the chart."""
    scale = alt.Scale(domain=list(colours), range=list(colours.values()))
    return alt.Color(field, scale=scale, legend=legend_below(title, **legend))


def legend_below(title: str | None = None, **properties: Any) -> alt.Legend:
    return alt.Legend(title=title, orient="bottom", **properties)


class _PlainData(alt.InlineData):
    """Records of texts and numbers. Altair would ask of each value whether it is a part of a chart."""

    def to_dict(self, *_: object, **__: object) -> dict[str, Any]:
        return {"values": self["values"]}


def source(records: Sequence[Record]) -> alt.InlineData:
    return _PlainData(values=list(records))


def tooltips(*fields: str) -> list[alt.Tooltip]:
    """Returns tooltip channels; Altair walks its whole schema to find a channel for a plain text."""
    return [alt.Tooltip(field) for field in fields]


def texts_beside(chart: alt.Chart, field: str = "label:N") -> alt.Chart:
    """Returns a text for each row, at the right of the plot; on a phone it stands above the row's mark."""
    right = alt.XValue("width")  # type: ignore[no-untyped-call]
    beside: alt.Chart = chart.mark_text(style=BESIDE).encode(x=right, text=alt.Text(field))
    return beside


def bar_axis(name: str, title: str, largest: float) -> alt.X:
    """Returns an axis with room for a figure behind the longest bar."""
    scale = alt.Scale(domain=[0, largest * 1.25], nice=False)
    return alt.X(f"{name}:Q", title=title, scale=scale, axis=alt.Axis(tickCount=4))


def figures_behind(base: alt.Chart, x: alt.X) -> alt.Chart:
    """Returns the label of each bar, behind its end."""
    text: alt.Chart = base.mark_text(align="left", baseline="middle", dx=4, fontSize=10).encode(
        x=x, text=alt.Text("label:N")
    )
    return text


def dashed_line(field: str, value: float) -> alt.Chart:
    """Returns a vertical line at a value of that field."""
    line: alt.Chart = chart_of([{field: value}]).mark_rule(strokeDash=[3, 3]).encode(x=alt.X(f"{field}:Q"))
    return line


def heading(title: str, *subtitle: str) -> alt.TitleParams:
    return alt.TitleParams(title, subtitle=list(subtitle)) if subtitle else alt.TitleParams(title)


def side_by_side(
    columns: Iterable[Iterable[ChartType | None]], title: str, subtitle: Sequence[str], about: str = ""
) -> ChartType:
    """Joins the charts that could be drawn into one picture; raises an error if there are none."""
    drawn = [[chart for chart in column if chart is not None] for column in columns]
    filled = [apart(alt.vconcat(*column, spacing=32)) for column in drawn if column]
    if not filled:
        raise MetricsMissing(
            f"{about or title}: nothing was recorded that could be drawn",
            remedy="Record it with `prof collect`, or with one of the presets that `prof presets` lists.",
        )
    return apart(alt.hconcat(*filled, spacing=40)).properties(
        title=alt.TitleParams(title, subtitle=list(subtitle), fontSize=18, offset=24)
    )


def apart(charts: alt.HConcatChart | alt.VConcatChart) -> ChartType:
    """Gives each chart its own colours, shapes and legends."""
    own: ChartType = charts.resolve_scale(color="independent", shape="independent").resolve_legend(
        color="independent", shape="independent"
    )
    return own


def ink_on(colour: str) -> str:
    """Returns black or white, whichever is easier to read on a colour (WCAG's contrast)."""
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return BLACK if (luminance + 0.05) ** 2 > 0.05 * 1.05 else WHITE


def stall_colours(weights: Mapping[str, float]) -> dict[str, str]:
    """Returns the colours of the stall reasons that weigh most, and one for all others together.

    The `READY` reasons get none, as they are no stalls.
    """
    waits = [reason for reason in weights if reason in STALLS]
    ranked = sorted(waits, key=lambda reason: (-weights[reason], reason))[:_MOST_STALLS]
    has_others = any(reason not in (*ranked, *READY) and weights[reason] for reason in weights)
    return {reason: STALLS[reason] for reason in ranked} | ({OTHERS: GREY} if has_others else {})


def grouped_stalls(stalls: Mapping[str, float], colours: Mapping[str, str]) -> dict[str, float]:
    """Adds up the stalls by colour, in the order of `colours`; `READY_TITLE` comes last."""
    groups: dict[str, float] = dict.fromkeys([*colours, READY_TITLE], 0)
    for reason, value in stalls.items():
        groups[READY_TITLE if reason in READY else reason if reason in colours else OTHERS] += value
    return groups


def stall_bars(
    base: alt.Chart, x: alt.X, colours: Mapping[str, str], height: int, columns: int
) -> list[alt.Chart]:
    """Returns the bars of stalls in their colours, and the outlined ones of the time when no warp waits."""
    reach = {"x": x, "x2": alt.X2("end:Q")}
    waits = base.transform_filter(alt.datum.reason != READY_TITLE).mark_bar(height=height)
    ready = base.transform_filter(alt.datum.reason == READY_TITLE).mark_bar(
        height=height - 1, filled=False, stroke=GREY, strokeWidth=1
    )
    colour = coloured("reason:N", colours, "waiting for", columns=columns)
    return [waits.encode(**reach, color=colour), ready.encode(**reach)]


def figure(value: float, digits: int = 3) -> str:
    """Formats a value with some significant digits, without an exponent unless it is very large or small."""
    if not math.isfinite(value):
        return str(value)
    if value.is_integer() and abs(value) < 10**digits:
        return f"{value:.0f}"
    magnitude = math.floor(math.log10(abs(value)))
    if not -5 < magnitude < 12:
        return f"{value:.{digits - 1}e}"
    rounded = round(value, digits - 1 - magnitude)
    return f"{rounded:,.{max(0, digits - 1 - magnitude)}f}"


def signed_figure(value: float, digits: int = 3) -> str:
    return f"+{figure(value, digits)}" if value > 0 else figure(value, digits).replace("-", "\N{MINUS SIGN}")


def readable_unit(unit: str, largest: float) -> tuple[float, str]:
    """Returns the divisor for the values of an axis, and its unit: the unit of the tables, with what it counts."""
    divisor, shown = unit_for_people(unit, largest)
    return divisor, f"{shown} {unit}" if shown == MILLION else shown
