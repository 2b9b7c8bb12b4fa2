"""Charts of rungs under the ceilings measured on the same GPU: how much of its ceiling each rung reaches."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple

import altair as alt
from altair.typing import ChartType

from profiler.analyse.ladder.roofline import DRAM, L2, Ceiling, Point, Roofline, Stream
from profiler.present import style
from profiler.present.charts.ladder import conditions_text, rung_title

# Draws the roof of a roofline: the work of each rung against its work per byte, under the ceilings.
#
# The axes are fixed here, so that the number of each point can be placed where nothing covers it.

# The colour of each memory whose ceiling is drawn; the ceiling of arithmetic has no colour.
LEVELS = {DRAM: style.PURPLE, L2: style.ORANGE}

_Place = tuple[float, float]  # in pixels, from the left and from the top

_ROOF_WIDTH, _ROOF_HEIGHT = 330, 300  # of the narrowest drawing; in a wider one, everything is farther apart
# Places for a point's number, in pixels from its middle; the first free one is taken.
# They go clockwise from the right, since the ceilings are above.
_OFFSETS = tuple(
    (round(radius * math.cos(math.tau * turn / 12)), round(radius * math.sin(math.tau * turn / 12)))
    for radius in (13, 22, 31, 42)
    for turn in range(12)
)
_APART, _NEARER, _OFF_LINES = 12.0, 2.0, 7.0
_LETTER, _ABOVE = 7, 8  # a letter of a ceiling's name is so wide, and the name is so far above its line
_OFF_NAMES = 14.0  # the pixels from the middle of a name to the middle of a number
_APART_NUMBERS = 15.0  # two numbers of two digits beside each other
# Where the name of a ceiling stands: its alignment, and the pixels from its place on the line.
_NAMES: tuple[tuple[str, Literal["left", "right"], int, int], ...] = (
    ("above", "right", -8, -2),
    ("below", "left", 10, 4),
    ("level", "right", -2, -_ABOVE),
)


def roof_chart(roofline: Roofline) -> ChartType:
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
    edges = list(_edges(roofline, frame))
    base = style.chart_of(edges, width=_ROOF_WIDTH, height=_ROOF_HEIGHT)
    lines = base.mark_line(strokeWidth=2).encode(
        x=x, y=y, detail=alt.Detail("ceiling:N"), color=alt.Color("colour:N", scale=None)
    )
    names = [
        style.chart_of([row for row in edges if row["label"] and row["place"] == place])
        .mark_text(fontSize=11, align=align, dx=dx, dy=dy)
        .encode(x=x, y=y, text=alt.Text("label:N"))
        for place, align, dx, dy in _NAMES
    ]
    levels = [ceiling.name for ceiling in _memory(roofline)]
    legend = style.legend_below("bytes moved by") if len(levels) > 1 else None
    points = (
        style.chart_of(list(_marks(roofline, frame)))
        .mark_point(filled=True, size=55, opacity=1)
        .encode(
            x=x,
            y=y,
            color=alt.Color(
                "level:N", scale=alt.Scale(domain=list(LEVELS), range=list(LEVELS.values())), legend=legend
            ),
            shape=alt.Shape(
                "level:N", scale=alt.Scale(domain=list(LEVELS), range=["circle", "diamond"]), legend=legend
            ),
            tooltip=style.tooltips("rung:N", "level:N", "x:Q", "y:Q", "arithmetic:N"),
        )
    )
    numbers = (
        style.chart_of(_numbers(roofline, frame))
        .mark_text(
            baseline="middle", fontSize=11, fontWeight=600, dx=alt.expr("datum.dx"), dy=alt.expr("datum.dy")
        )
        .encode(x=x, y=y, text=alt.Text("number:N"))
    )
    return alt.layer(lines, *names, points, numbers)


def compute_ceilings(roofline: Roofline) -> list[Ceiling]:
    return [ceiling for ceiling in roofline.ceilings if ceiling.unit == "GFLOP/s"]


def _memory(roofline: Roofline) -> list[Ceiling]:
    """Returns the memory ceilings; that of L2 only if its bytes were counted, or nothing stands under it."""
    shown = {DRAM, L2} if any(point.flops_per_l2_byte for point in roofline.points) else {DRAM}
    return [ceiling for ceiling in roofline.ceilings if ceiling.name in shown]


class _Frame(NamedTuple):
    """The span of the axes, and the conversion from figures to pixels."""

    x_low: float
    x_high: float
    y_low: float
    y_high: float
    divisor: float
    unit: str

    def pixel(self, x: float, y: float) -> _Place:
        across = math.log(x / self.x_low) / math.log(self.x_high / self.x_low)
        up = math.log(y / self.y_low) / math.log(self.y_high / self.y_low)
        return across * _ROOF_WIDTH, (1 - up) * _ROOF_HEIGHT


def frame_of(roofline: Roofline) -> _Frame:
    """Returns where a value of the chart stands on the screen, in its narrowest drawing."""
    highest = max(ceiling.value for ceiling in compute_ceilings(roofline))
    lowest = min(point.gflops for point in roofline.points)
    divisor, unit = style.readable_unit("GFLOP/s", highest)
    ridges = [highest / ceiling.value for ceiling in _memory(roofline)]
    across = [*ridges, *(x for point in roofline.points for x in _intensities(point).values())]
    top = max(highest, *(point.gflops for point in roofline.points))
    # Room for names: those of slopes at the left, those of levels at the right.
    left, right = min(min(across) / 2, min(ridges) / 10), max(across) * 10
    return _Frame(left, right, lowest / 2 / divisor, top * 2 / divisor, divisor, unit)


def _intensities(point: Point) -> dict[str, float]:
    through_l2 = {L2: point.flops_per_l2_byte} if point.flops_per_l2_byte else {}
    return {DRAM: point.flops_per_dram_byte, **through_l2}


def _powers_of_ten(low: float, high: float) -> list[float]:
    return [10.0**power for power in range(math.ceil(math.log10(low)), math.floor(math.log10(high)) + 1)]


def _edges(roofline: Roofline, frame: _Frame) -> Iterator[style.Record]:
    """Yields both ends of every ceiling, and the place of its name: on a slope, or at the end of a level.

    The name of the steepest slope stands above it and those of others below, so that none meet.
    """
    highest = max(ceiling.value for ceiling in compute_ceilings(roofline))
    slopes = _memory(roofline)
    steepest = max(ceiling.value for ceiling in slopes)
    for ceiling in slopes:
        place = "above" if ceiling.value == steepest else "below"
        start = max(frame.x_low, frame.y_low * frame.divisor / ceiling.value)
        ridge = highest / ceiling.value
        for x, label in ((start, ""), (math.sqrt(start * ridge), _label(ceiling)), (ridge, "")):
            yield _edge(ceiling, x, ceiling.value * x / frame.divisor, label, place)
    for ceiling in compute_ceilings(roofline):
        for x, label in ((ceiling.value / steepest, ""), (frame.x_high, _label(ceiling))):
            yield _edge(ceiling, x, ceiling.value / frame.divisor, label, "level")


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


def _numbers(roofline: Roofline, frame: _Frame) -> list[style.Record]:
    """Returns the place of a number beside each point.

    The place is free and, if possible, nearer to its own point than to any other.
    """
    marks = {frame.pixel(row["x"], row["y"]) for row in _marks(roofline, frame)}
    lines = [place for line in _lines(roofline, frame) for place in line]
    names = list(_name_places(roofline, frame))
    ceilings = _ceilings(roofline, frame)
    numbers: list[_Place] = []
    rows = []
    for point in roofline.points:
        x, y = point.flops_per_dram_byte, point.gflops / frame.divisor
        own = frame.pixel(x, y)
        others = marks - {own}
        around = [(own[0] + dx, own[1] + dy) for dx, dy in _OFFSETS]
        places = [at for at in around if not _crosses(own, at, ceilings)] or around
        readable = [
            at for at in places if _apart(at, numbers, _APART_NUMBERS) and _apart(at, names, _OFF_NAMES)
        ]
        free = [at for at in readable if _apart(at, others, _APART) and _apart(at, lines, _OFF_LINES)]
        nearest = [at for at in free if _apart(at, others, math.dist(at, own) + _NEARER)]
        chosen = next(iter(nearest or free or readable), max(places, key=lambda at: _nearest(at, numbers)))
        numbers.append(chosen)
        dx, dy = chosen[0] - own[0], chosen[1] - own[1]
        rows.append({"number": str(point.kernel), "x": x, "y": y, "dx": dx, "dy": dy})
    return rows


def _ceilings(roofline: Roofline, frame: _Frame) -> list[tuple[_Place, _Place]]:
    """Returns both ends of each ceiling."""
    ends: dict[str, list[_Place]] = {}
    for row in _edges(roofline, frame):
        ends.setdefault(row["ceiling"], []).append(frame.pixel(row["x"], row["y"]))
    return [(places[0], places[-1]) for places in ends.values()]


def _crosses(start: _Place, end: _Place, ceilings: Iterable[tuple[_Place, _Place]]) -> bool:
    """Returns whether a ceiling divides the two: a number there would seem to belong to another roof."""
    return any(_is_beyond(start, ceiling) != _is_beyond(end, ceiling) for ceiling in ceilings)


def _is_beyond(at: _Place, ceiling: tuple[_Place, _Place]) -> bool:
    """Returns whether the place is above the endless line through both ends; pixels grow downwards."""
    (left, left_down), (right, right_down) = ceiling
    return at[1] < left_down + (right_down - left_down) * (at[0] - left) / (right - left)


def _nearest(at: _Place, others: Iterable[_Place]) -> float:
    """Returns how far the nearest of the others is."""
    return min((math.dist(at, other) for other in others), default=math.inf)


def _apart(at: _Place, others: Iterable[_Place], pixels: float) -> bool:
    return all(math.dist(at, other) >= pixels for other in others)


def _lines(roofline: Roofline, frame: _Frame) -> Iterator[list[_Place]]:
    """Yields the ceilings as places a few pixels apart."""
    ends: dict[str, list[_Place]] = {}
    for row in _edges(roofline, frame):
        ends.setdefault(row["ceiling"], []).append(frame.pixel(row["x"], row["y"]))
    for places in ends.values():
        (left, top), (right, bottom) = places[0], places[-1]
        count = math.ceil(math.dist(places[0], places[-1]) / _OFF_LINES)
        yield [
            (left + (right - left) * part / count, top + (bottom - top) * part / count)
            for part in range(count + 1)
        ]


def _name_places(roofline: Roofline, frame: _Frame) -> Iterator[_Place]:
    """Yields the places of the letters of each ceiling's name."""
    drawn = {place: (align, dx, dy) for place, align, dx, dy in _NAMES}
    for row in _edges(roofline, frame):
        align, dx, dy = drawn[row["place"]]
        across, down = frame.pixel(row["x"], row["y"])
        towards = -_LETTER if align == "right" else _LETTER
        for letter in range(len(row["label"])):
            yield across + dx + towards * (letter + 0.5), down + dy


_WIDTH = 460
_ROW = 24
_STREAM_KEY = "bar: useful bytes; tick: all bytes that device memory moved, counted under the profiler"


def roofline_chart(roofline: Roofline) -> ChartType | None:
    """Returns the roof above bars that show how much of its ceiling each rung reaches.

    For a ladder that counts no operations, the bars compare the bytes moved with the ceiling of device
    memory. The result is None if a required ceiling was not measured; `roofline_sentence` names it.
    """
    if not _can_draw(roofline):
        return None
    drawn = [_reached(roofline)] if roofline.streams else [roof_chart(roofline), _reached(roofline)]
    notes = [_STREAM_KEY] if roofline.streams else []
    notes += [f"not measured: {', '.join(roofline.missing)}"] if roofline.missing else []
    if roofline.find(L2) and roofline.points and not any(point.l2_bytes for point in roofline.points):
        notes.append("without l2: its bytes were not counted")
    notes += [f"without {number}: {why}" for number, why in roofline.left_out.items()]
    title = style.heading(roofline_sentence(roofline), conditions_text(roofline), *notes)
    return style.apart(alt.vconcat(*drawn, spacing=24)).properties(title=title)


def roofline_sentence(roofline: Roofline) -> str:
    """Returns the message of the chart; if a ceiling is missing, says how to measure it."""
    missing = ", ".join(roofline.missing)
    if not _can_draw(roofline):
        if not (roofline.points or roofline.streams):
            return "No rung can be placed, because each was left out"
        measured = "Not every ceiling that is needed" if roofline.ceilings else "No ceiling"
        return f"{measured} was measured on {roofline.gpu} (missing: {missing}); `prof collect --ladder ceilings` measures them"
    candidates: list[tuple[float | None, str, str | None]] = [
        *((one.ceiling_pct, rung_title(one), one.ceiling) for one in roofline.points),
        *((_stream_pct(one), rung_title(one), DRAM) for one in roofline.streams),
    ]
    reached = [(pct, name, ceiling) for pct, name, ceiling in candidates if pct is not None]
    if not reached:
        return f"The ceilings of the rungs are not known (missing: {missing})"
    pct, name, ceiling = max(reached, key=lambda one: one[0])
    return f"{name} comes closest: it reaches {style.figure(pct)} % of its ceiling, {ceiling}"


def _can_draw(roofline: Roofline) -> bool:
    if roofline.find(DRAM) is None:
        return False
    return bool(roofline.streams) or (bool(roofline.points) and bool(compute_ceilings(roofline)))


def _reached(roofline: Roofline) -> ChartType:
    rows = [_point_row(point) for point in roofline.points] + [_stream_row(one) for one in roofline.streams]
    highest = max(100.0, *(row[name] or 0.0 for row in rows for name in ("pct", "moved")))
    x = alt.X(
        "pct:Q",
        title="% of device memory's ceiling" if roofline.streams else "% of the ceiling that it stands under",
        scale=alt.Scale(domain=[0, highest]),
        axis=alt.Axis(tickCount=5),
    )
    base = style.rows_of(rows, "rung", _WIDTH, _ROW, "rung:N", "label:N")
    bars = base.mark_bar(height=14).encode(x=x, color=alt.Color("colour:N", scale=None))
    moved = base.mark_tick(color=style.ORANGE, thickness=3, height=20, opacity=1).encode(x=alt.X("moved:Q"))
    text = style.texts_beside(base)
    return alt.layer(style.dashed_line("pct", 100.0), bars, *([moved] if roofline.streams else []), text)


def _point_row(point: Point) -> style.Record:
    label = (
        "not known"
        if point.ceiling_pct is None
        else f"{style.figure(point.ceiling_pct)} % of {point.ceiling}"
    )
    return {
        "rung": rung_title(point), "pct": point.ceiling_pct, "moved": None, "label": label,
        "colour": LEVELS.get(point.ceiling or "", style.GREY),
    }  # fmt: skip


def _stream_row(stream: Stream) -> style.Record:
    parts = [
        f"{style.figure(rate)} GB/s {what}"
        for rate, what in ((stream.useful_gbytes_per_s, "useful"), (stream.dram_gbytes_per_s, "moved"))
        if rate is not None
    ]
    return {
        "rung": rung_title(stream), "pct": stream.useful_pct, "moved": stream.dram_pct, "label": ", ".join(parts),
        "colour": LEVELS[DRAM],
    }  # fmt: skip


def _stream_pct(stream: Stream) -> float | None:
    return stream.useful_pct if stream.useful_pct is not None else stream.dram_pct
