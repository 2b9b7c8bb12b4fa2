"""Fits a chart to the room of a page: as wide as the page's text, or drawn for a phone.

A Vega-Lite spec comes in and goes out. On a phone, panels stand below one another, and the name and the figure
of a row stand above its mark, so that the mark has the whole width.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal

from profiler.present import style

Room = Literal["desk", "phone"]

_WIDTHS: dict[Room, int] = {"desk": 900, "phone": 340}
_LETTER, _GAP = 6.2, 14  # pixels of a letter at the usual size, and between a plot and the texts beside it
_FIGURES = 44  # room for the figures of a vertical axis
_NARROWEST = 60
_HIGHER = 1.6  # rows on a phone, with their names above the marks
_ABOVE = -14
_LONGEST_OF_TWO = 18  # letters of a legend's name that stands beside another on a phone
_KEPT = ("grid", "title", "labelFont", "labelFontSize")  # of the axis of names, on a phone


def fitted(spec: style.Record, room: Room) -> style.Record:
    """Returns the spec with plots that take the width of the room."""
    return _fitted(spec, _WIDTHS[room], room)


def room_configuration(room: Room, look: style.Record) -> style.Record:
    """Returns the configuration of the charts, with names and figures above their marks on a phone."""
    if room == "desk":
        return look
    names = {"labelAlign": "left", "labelPadding": 0, "labelOffset": _ABOVE, "minExtent": 0, "maxExtent": 0}
    return look | {
        "style": {style.BESIDE: {"align": "right", "baseline": "middle", "dx": 0, "dy": _ABOVE}},
        "axisY": {**look["axisY"], "minExtent": 0},
        "axisYBand": names,
        "axisYPoint": names,
        "legend": {**look["legend"], "columns": 2, "columnPadding": 12},
    }


def _fitted(spec: style.Record, width: float, room: Room) -> style.Record:
    for join in ("vconcat", "concat", "hconcat"):
        if join in spec:
            return _joined(spec, join, width, room)
    return _sized(spec, width - _outside(spec, room), room)


def _joined(spec: style.Record, join: str, width: float, room: Room) -> style.Record:
    """Returns panels that share the width; those of a row have plots of the same width."""
    parts: Sequence[style.Record] = spec[join]
    columns = {"vconcat": 1, "concat": spec.get("columns", len(parts)), "hconcat": len(parts)}[join]
    if room == "phone" or columns == 1:
        rest = {name: value for name, value in spec.items() if name not in (join, "columns", "spacing")}
        return {
            **rest,
            "vconcat": [_fitted(part, width, room) for part in parts],
            "spacing": _between(spec, "row"),
        }
    taken = _between(spec, "column") * (columns - 1) + sum(_outside(part, room) for part in parts[:columns])
    return {**spec, join: [_sized(part, (width - taken) / columns, room) for part in parts]}


def _between(spec: style.Record, which: str) -> float:
    spacing = spec.get("spacing", 20)
    gap: float = spacing.get(which, 0) if isinstance(spacing, dict) else spacing
    return gap


def _outside(plot: style.Record, room: Room) -> float:
    """Returns the pixels that the names at the left of a plot and the texts at its right need."""
    if room == "phone":
        return 0 if _is_named(plot) else _FIGURES
    left = style.LABELS if _is_named(plot) else _FIGURES
    axis = next(_vertical(plot), {}).get("axis", {})
    if axis is None or axis.get("labels") is False:
        left = 0
    elif axis.get("minExtent"):
        left = axis["minExtent"]
    return left + max((_GAP + _LETTER * len(text) for text in _beside(plot)), default=0)


def _beside(plot: style.Record) -> Iterator[str]:
    """Yields the texts at the right of a plot."""
    for layer in plot.get("layer", [plot]):
        mark = layer.get("mark")
        if isinstance(mark, dict) and mark.get("style") == style.BESIDE:
            field = layer["encoding"]["text"]["field"].replace("\\", "")
            yield from (str(row[field]) for row in layer.get("data", plot.get("data"))["values"])


def _vertical(plot: style.Record) -> Iterator[style.Record]:
    """Yields how the layers of a plot encode what stands along its vertical axis."""
    encodings = (layer.get("encoding", {}) for layer in plot.get("layer", [plot]))
    return (one["y"] for one in encodings if "y" in one)


def _is_named(plot: style.Record) -> bool:
    """Returns whether the rows of a plot have names."""
    return any(y.get("type") == "nominal" for y in _vertical(plot))


def _sized(plot: style.Record, width: float, room: Room) -> style.Record:
    sized = {**plot, "width": round(max(width, _NARROWEST))}
    if room == "desk":
        return sized
    if _is_named(plot):
        sized["height"] = round(plot["height"] * _HIGHER)
    narrow: style.Record = _without_columns(sized)
    return narrow


def _without_columns(part: Any) -> Any:
    """Returns the part with its legends in the columns of the room, and with every row named above its mark."""
    if isinstance(part, list):
        return [_without_columns(one) for one in part]
    if not isinstance(part, dict):
        return part
    changed = {name: _without_columns(value) for name, value in part.items() if name != "values"}
    if isinstance(part.get("legend"), dict):
        legend = {name: value for name, value in part["legend"].items() if name != "columns"}
        names = part.get("scale", {}).get("domain", ())
        is_long = any(len(str(name)) > _LONGEST_OF_TWO for name in names)
        changed["legend"] = legend | {"columns": 1} if is_long else legend
    if part.get("type") == "nominal" and "axis" in part:
        changed["axis"] = {name: value for name, value in (part["axis"] or {}).items() if name in _KEPT}
    return {**changed, **({"values": part["values"]} if "values" in part else {})}
