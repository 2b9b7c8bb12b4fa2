"""Writes charts in file formats: SVG, PNG, self-contained HTML, and the Vega-Lite spec itself.

A chart and a scheme come in, bytes go out. The HTML page follows the reader's own scheme. Its policy forbids
every request; the copy of Vega that comes with vl-convert draws the chart.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, Literal

import altair as alt
import vl_convert

from profiler.present import style
from profiler.present.render.markdown import markdown_text

SUFFIXES = (".svg", ".png", ".html", ".json")
# Most screens and projectors have two dots for each CSS pixel.
_PNG_SCALE = 2


class NotebookChart:
    """A chart as a notebook stores it: an SVG for any page, and the spec for a live one."""

    def __init__(self, chart: alt.TopLevelMixin) -> None:
        self._chart = chart

    def _repr_mimebundle_(self, **_: object) -> dict[str, Any]:
        spec = chart_spec(self._chart)
        return {
            f"application/vnd.vegalite.v{alt.SCHEMA_VERSION[1]}+json": spec,
            "image/svg+xml": render(self._chart, ".svg").decode(),
            "text/plain": title_of(self._chart),
        }


class NotebookText:
    """A text that a notebook shows if there is nothing to draw."""

    def __init__(self, text: str) -> None:
        self._text = text

    def _repr_mimebundle_(self, **_: object) -> dict[str, Any]:
        return {"text/markdown": markdown_text(self._text), "text/plain": self._text}


def show(
    chart: alt.TopLevelMixin | None, otherwise: str = "Nothing was recorded that could be drawn."
) -> NotebookChart | NotebookText:
    """Returns a value for the last line of a notebook's cell: the chart, or the text `otherwise`."""
    return NotebookText(otherwise) if chart is None else NotebookChart(chart)


def chart_spec(chart: alt.TopLevelMixin, scheme: style.Scheme = "light") -> dict[str, Any]:
    """Returns the chart as a Vega-Lite spec, with the style of prof."""
    # The data stays with its mark. Altair would otherwise name it by a hash, which changes with its last digit.
    # The charts' own tests check that specs are valid; a check here would take as long as drawing.
    with alt.data_transformers.enable(consolidate_datasets=False):
        spec: dict[str, Any] = chart.to_dict(validate=False)
    return {**spec, "config": style.configuration(scheme)}


def title_of(chart: alt.TopLevelMixin) -> str:
    """Returns the message of the chart, for readers who see no picture."""
    return str(chart.to_dict(validate=False)["title"]["text"])


def render(chart: alt.TopLevelMixin, suffix: str, scheme: style.Scheme = "light") -> bytes:
    """Returns the content of a file with that suffix."""
    spec = chart_spec(chart, scheme)
    if suffix == ".svg":
        svg: str = vl_convert.vegalite_to_svg(spec, allowed_base_urls=[])
        return svg.encode()
    if suffix == ".png":
        png: bytes = vl_convert.vegalite_to_png(spec, scale=_PNG_SCALE, allowed_base_urls=[])
        return png
    if suffix == ".json":
        return (json.dumps(spec, indent=2, sort_keys=True) + "\n").encode()
    if suffix == ".html":
        return _page(chart).encode()
    raise ValueError(f"{suffix}: the suffix must be one of {', '.join(SUFFIXES)}")


_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>%(title)s</title>
<style>
body { margin: 0; font-family: sans-serif; background: %(light)s }
@media (prefers-color-scheme: dark) { body { background: %(dark)s } }
main { overflow-x: auto }
</style>
</head>
<body>
<main><div id="chart" role="img" aria-label="%(title)s"></div></main>
<script type="application/json" id="spec">%(spec)s</script>
<script type="application/json" id="schemes">%(schemes)s</script>
<script>
%(vega)s
</script>
</body>
</html>
"""

# Vega interprets expressions here, because the page's policy forbids compiling text into code.
_DRAW = """
const read = (id) => JSON.parse(document.getElementById(id).textContent);
const dark = matchMedia("(prefers-color-scheme: dark)");
const draw = () => vegaEmbed("#chart", read("spec"), {
  config: read("schemes")[dark.matches ? "dark" : "light"], renderer: "svg", actions: false, ast: true,
});
dark.addEventListener("change", draw);
draw();
"""


def _page(chart: alt.TopLevelMixin) -> str:
    from html import escape

    schemes: dict[style.Scheme, dict[str, Any]] = {one: style.configuration(one) for one in ("light", "dark")}
    bare = {key: value for key, value in chart_spec(chart).items() if key != "config"}
    return _PAGE % {
        "title": escape(title_of(chart)),
        "light": schemes["light"]["background"],
        "dark": schemes["dark"]["background"],
        "spec": _inert(bare),
        "schemes": _inert(schemes),
        "vega": _vega(),
    }


def _inert(value: object) -> str:
    """Returns JSON in which no text can end the HTML element around it."""
    return json.dumps(value, sort_keys=True).replace("<", "\\u003c")


@cache
def _vega() -> str:
    bundle: str = vl_convert.javascript_bundle(_DRAW)
    return bundle.replace("</script", "<\\/script")


# Fits a chart to the room of a page: as wide as the page's text, or drawn for a phone.
#
# A Vega-Lite spec comes in and goes out. On a phone, panels stand below one another, and the name and the figure
# of a row stand above its mark, so that the mark has the whole width.

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
