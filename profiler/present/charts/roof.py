"""The roof of a roofline: the work of each rung against its work per byte, under the ceilings measured on the same GPU."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Literal, NamedTuple

import altair as alt
from altair.typing import ChartType

from profiler.analyse.ladder.roofline import DRAM, L2, Ceiling, Point, Roofline
from profiler.present import style
from profiler.present.charts.ladder import rung_title
from profiler.present.charts.placing import Ground, Label, Spot, leader, place_labels

# The colour of each memory whose ceiling is drawn; the ceiling of arithmetic has no colour.
LEVELS = {DRAM: style.PURPLE, L2: style.ORANGE}

_ROOF_WIDTH, _ROOF_HEIGHT = 330, 400  # of the narrowest drawing
_WIDEST = 735  # in the widest, everything is farther apart
_ON_ONE_ANOTHER = 2.5  # pixels between points of the narrowest that nobody can tell apart
_LETTER, _ABOVE = 7, 8  # a letter of a ceiling's name is so wide, and the name is so far above its line
_ALONG = (0.5, 0.4, 0.3, 0.2, 0.6, 0.7)  # the parts of a slope where its name may stand, the best first
# Where the name of a ceiling stands: its alignment, and the pixels from its place on the line.
_NAMES: dict[str, tuple[Literal["left", "right"], int, int]] = {
    "above": ("right", -8, -2),
    "below": ("left", 10, 4),
    "level": ("right", -2, -_ABOVE),
}


def roof_chart(roofline: Roofline) -> ChartType:
    """Returns the roof: ceilings, a point for each rung, and its number beside it. The axes are fixed, so that numbers can be placed."""
    frame = frame_of(roofline)
    x = alt.X(
        "x:Q",
        title="operations per byte moved, FLOP/byte (log scale)",
        scale=alt.Scale(type="log", domain=[frame.x_low, frame.x_high], nice=False),
        axis=alt.Axis(values=_powers_of_ten(frame.x_low, frame.x_high), grid=False),
    )
    y = alt.Y(
        "y:Q",
        title=f"{frame.unit} (log scale)",
        scale=alt.Scale(type="log", domain=[frame.y_low, frame.y_high], nice=False),
        axis=alt.Axis(values=_powers_of_ten(frame.y_low, frame.y_high), grid=True, **style.TITLE_ABOVE),
    )
    lines, *names = _ceilings(roofline, frame)
    leaders, numbers = _numbers(roofline, frame)
    layers = (lines, *names, leaders, _points(roofline, frame), numbers)
    return alt.layer(*(one.encode(x=x, y=y) for one in layers))


def _ceilings(roofline: Roofline, frame: _Frame) -> list[alt.Chart]:
    """Returns the lines of all ceilings, and their names for each place beside a line."""
    edges = list(_edges(roofline, frame))
    lines = style.chart_of(edges, width=_ROOF_WIDTH, height=_ROOF_HEIGHT).mark_line(strokeWidth=2)
    names = [
        style.chart_of([row for row in edges if row["label"] and row["place"] == place])
        .mark_text(fontSize=11, align=align, dx=dx, dy=dy)
        .encode(text=alt.Text("label:N"))
        for place, (align, dx, dy) in _NAMES.items()
    ]
    return [lines.encode(detail=alt.Detail("ceiling:N"), color=alt.Color("colour:N", scale=None)), *names]


def _points(roofline: Roofline, frame: _Frame) -> alt.Chart:
    legend = style.legend_below("bytes moved by") if len(memory_ceilings(roofline)) > 1 else None
    colours = alt.Scale(domain=list(LEVELS), range=list(LEVELS.values()))
    shapes = alt.Scale(domain=list(LEVELS), range=["circle", "diamond"])
    points: alt.Chart = (
        style.chart_of(list(_marks(roofline, frame)))
        .mark_point(filled=True, size=55, opacity=1)
        .encode(
            color=alt.Color("level:N", scale=colours, legend=legend),
            shape=alt.Shape("level:N", scale=shapes, legend=legend),
            tooltip=style.tooltips("rung:N", "level:N", "x:Q", "y:Q", "arithmetic:N"),
        )
    )
    return points


def _numbers(roofline: Roofline, frame: _Frame) -> tuple[alt.Chart, alt.Chart]:
    """Returns the lines from points to numbers that stand farther away, and the numbers."""
    rows = _number_rows(roofline, frame)
    leaders = (
        style.chart_of([row for row in rows if "line_dx" in row])
        .mark_rule(x2Offset=alt.expr("datum.line_dx"), y2Offset=alt.expr("datum.line_dy"))
        .encode(x2=alt.X2("x:Q"), y2=alt.Y2("y:Q"))
    )
    numbers = style.chart_of(rows).mark_text(
        baseline="middle", fontSize=11, fontWeight=600, dx=alt.expr("datum.dx"), dy=alt.expr("datum.dy")
    )
    return leaders, numbers.encode(text=alt.Text("number:N"))


def compute_ceilings(roofline: Roofline) -> list[Ceiling]:
    return [ceiling for ceiling in roofline.ceilings if ceiling.unit == "GFLOP/s"]


def memory_ceilings(roofline: Roofline) -> list[Ceiling]:
    """Returns the memory ceilings; that of L2 only if its bytes were counted, or nothing stands under it."""
    shown = {DRAM, L2} if any(point.flops_per_l2_byte for point in roofline.points) else {DRAM}
    return [ceiling for ceiling in roofline.ceilings if ceiling.name in shown]


class _Frame(NamedTuple):
    """The span of the axes, and the conversion from figures to pixels in a drawing of that width."""

    x_low: float
    x_high: float
    y_low: float
    y_high: float
    divisor: float
    unit: str
    width: float

    def pixel(self, x: float, y: float) -> Spot:
        across = math.log(x / self.x_low) / math.log(self.x_high / self.x_low)
        up = math.log(y / self.y_low) / math.log(self.y_high / self.y_low)
        return across * self.width, (1 - up) * _ROOF_HEIGHT


def frame_of(roofline: Roofline, width: float = _ROOF_WIDTH) -> _Frame:
    """Returns where a value of the chart stands in a drawing of that width."""
    highest = max(ceiling.value for ceiling in compute_ceilings(roofline))
    lowest = min(point.gflops for point in roofline.points)
    divisor, unit = style.readable_unit("GFLOP/s", highest)
    ridges = [highest / ceiling.value for ceiling in memory_ceilings(roofline)]
    across = [*ridges, *(x for point in roofline.points for x in _intensities(point).values())]
    top = max(highest, *(point.gflops for point in roofline.points))
    # Room for names: those of slopes at the left, those of levels at the right.
    return _Frame(
        x_low=min(min(across) / 2, min(ridges) / 10),
        x_high=max(across) * 10,
        y_low=lowest / 2 / divisor,
        y_high=top * 2 / divisor,
        divisor=divisor,
        unit=unit,
        width=width,
    )


def _intensities(point: Point) -> dict[str, float]:
    through_l2 = {L2: point.flops_per_l2_byte} if point.flops_per_l2_byte else {}
    return {DRAM: point.flops_per_dram_byte, **through_l2}


def _powers_of_ten(low: float, high: float) -> list[float]:
    return [10.0**power for power in range(math.ceil(math.log10(low)), math.floor(math.log10(high)) + 1)]


def _edges(roofline: Roofline, frame: _Frame) -> Iterator[style.Record]:
    """Yields both ends of every ceiling, and the place of its name: along a slope, or at the end of a level.

    The name of the steepest slope stands above it and those of others below, so that none meet. It stands in
    the middle, unless points lie there.
    """
    highest = max(ceiling.value for ceiling in compute_ceilings(roofline))
    slopes = memory_ceilings(roofline)
    steepest = max(ceiling.value for ceiling in slopes)
    for ceiling in slopes:
        place = "above" if ceiling.value == steepest else "below"
        start = max(frame.x_low, frame.y_low * frame.divisor / ceiling.value)
        ridge = highest / ceiling.value
        named = [
            _edge(ceiling, x, ceiling.value * x / frame.divisor, _label(ceiling), place)
            for x in (start * (ridge / start) ** part for part in _ALONG)
        ]
        yield _edge(ceiling, start, ceiling.value * start / frame.divisor, "", place)
        yield min(named, key=lambda edge: _covered(edge, roofline, frame))
        yield _edge(ceiling, ridge, highest / frame.divisor, "", place)
    for ceiling in compute_ceilings(roofline):
        for x, label in ((ceiling.value / steepest, ""), (frame.x_high, _label(ceiling))):
            yield _edge(ceiling, x, ceiling.value / frame.divisor, label, "level")


def _covered(edge: style.Record, roofline: Roofline, frame: _Frame) -> int:
    """Returns how many letters of a ceiling's name lie on points."""
    marks = [frame.pixel(row["x"], row["y"]) for row in _marks(roofline, frame)]
    return sum(any(math.dist(place, mark) < _ABOVE for mark in marks) for place in _letters(edge, frame))


def _edge(ceiling: Ceiling, x: float, y: float, label: str, place: str) -> style.Record:
    colour = LEVELS.get(ceiling.name, style.GREY)
    return {"ceiling": ceiling.name, "x": x, "y": y, "label": label, "place": place, "colour": colour}


def _label(ceiling: Ceiling) -> str:
    divisor, unit = style.readable_unit(ceiling.unit, ceiling.value)
    return f"{ceiling.name} {style.figure(ceiling.value / divisor)} {unit}"


def _marks(roofline: Roofline, frame: _Frame) -> Iterator[style.Record]:
    for point in roofline.points:
        for level, x in _intensities(point).items():
            yield {
                "rung": rung_title(point), "level": level, "x": x, "y": point.gflops / frame.divisor,
                "arithmetic": point.arithmetic,
            }  # fmt: skip


def _number_rows(roofline: Roofline, frame: _Frame) -> list[style.Record]:
    """Returns the numbers beside the points, each with the end of the line that leads to it."""
    labels = _labels(roofline, frame)
    grounds = [_ground(roofline, frame_of(roofline, width)) for width in (_ROOF_WIDTH, _WIDEST)]
    rows = []
    for label, (dx, dy) in zip(labels, place_labels(labels, grounds), strict=True):
        point = roofline.points[label.named[0]]
        end = leader(label, (dx, dy), grounds)
        line = {"line_dx": end[0], "line_dy": end[1]} if end else {}
        place = {"x": point.flops_per_dram_byte, "y": point.gflops / frame.divisor}
        rows.append({"number": label.text, **place, "dx": dx, "dy": dy, **line})
    return rows


def _labels(roofline: Roofline, frame: _Frame) -> list[Label]:
    """Returns a label for each point; points on one another share one."""
    groups: list[list[int]] = []
    places = [frame.pixel(one.flops_per_dram_byte, one.gflops / frame.divisor) for one in roofline.points]
    for which, place in enumerate(places):
        on = next((group for group in groups if math.dist(place, places[group[0]]) < _ON_ONE_ANOTHER), None)
        if on is None:
            groups.append([which])
        else:
            on.append(which)
    return [
        Label(", ".join(str(roofline.points[which].kernel) for which in group), tuple(group))
        for group in groups
    ]


def _ground(roofline: Roofline, frame: _Frame) -> Ground:
    """Returns what a drawing holds; the points that have numbers come first."""
    marks = sorted(_marks(roofline, frame), key=lambda mark: mark["level"] != DRAM)
    edges = list(_edges(roofline, frame))
    ends: dict[str, list[Spot]] = {}
    for edge in edges:
        ends.setdefault(edge["ceiling"], []).append(frame.pixel(edge["x"], edge["y"]))
    return Ground(
        [frame.pixel(mark["x"], mark["y"]) for mark in marks],
        [(places[0], places[-1]) for places in ends.values()],
        [place for edge in edges for place in _letters(edge, frame)],
    )


def _letters(edge: style.Record, frame: _Frame) -> Iterator[Spot]:
    """Yields the places of the letters of a ceiling's name."""
    align, dx, dy = _NAMES[edge["place"]]
    across, down = frame.pixel(edge["x"], edge["y"])
    towards = -_LETTER if align == "right" else _LETTER
    for letter in range(len(edge["label"])):
        yield across + dx + towards * (letter + 0.5), down + dy
