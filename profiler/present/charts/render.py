"""Charts as files: SVG, PNG, HTML that asks nobody for anything, and the spec itself.

A chart and a scheme in, bytes out. The page chooses its scheme by the reader's own, and its policy
forbids every request; what it holds is drawn by the copy of Vega that comes with vl-convert.
"""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import altair as alt
import vl_convert

from profiler.present.charts.style import Scheme, configuration
from profiler.present.render.markdown import markdown_text

SUFFIXES = (".svg", ".png", ".html", ".json")
# Screens and projectors show two dots where CSS counts one pixel.
_PNG_SCALE = 2


class NotebookChart:
    """A chart as a notebook stores it: an SVG that any page shows, beside the spec that a live one draws."""

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
    """What a notebook shows where there is nothing to draw."""

    def __init__(self, text: str) -> None:
        self._text = text

    def _repr_mimebundle_(self, **_: object) -> dict[str, Any]:
        return {"text/markdown": markdown_text(self._text), "text/plain": self._text}


def show(
    chart: alt.TopLevelMixin | None, otherwise: str = "Nothing was recorded that could be drawn."
) -> NotebookChart | NotebookText:
    """For the last line of a notebook's cell; the words `otherwise` where there is no chart."""
    return NotebookText(otherwise) if chart is None else NotebookChart(chart)


def chart_spec(chart: alt.TopLevelMixin, scheme: Scheme = "light") -> dict[str, Any]:
    """As Vega-Lite reads it, with the look of the house."""
    # With the data where it is drawn; collected in one place, it would be named by a hash of its last digits.
    with alt.data_transformers.enable(consolidate_datasets=False):
        spec: dict[str, Any] = chart.to_dict()
    return {**spec, "config": configuration(scheme)}


def title_of(chart: alt.TopLevelMixin) -> str:
    """The takeaway, for those who see no picture."""
    return str(chart_spec(chart)["title"]["text"])


def render(chart: alt.TopLevelMixin, suffix: str, scheme: Scheme = "light") -> bytes:
    """What a file with that suffix holds."""
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
    raise ValueError(f"{suffix}: one of {', '.join(SUFFIXES)}")


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

# Expressions are interpreted, since the page's policy forbids to compile text into code.
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

    schemes: dict[Scheme, dict[str, Any]] = {one: configuration(one) for one in ("light", "dark")}
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
    """JSON in which no text can end the element that it stands in."""
    return json.dumps(value, sort_keys=True).replace("<", "\\u003c")


@cache
def _vega() -> str:
    bundle: str = vl_convert.javascript_bundle(_DRAW)
    return bundle.replace("</script", "<\\/script")
