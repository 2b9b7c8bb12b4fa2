"""Writes charts in file formats: SVG, PNG, self-contained HTML, and the Vega-Lite spec itself.

A chart and a scheme come in, bytes go out. The HTML page follows the reader's own scheme. Its policy forbids
every request; the copy of Vega that comes with vl-convert draws the chart. Bundling it takes two seconds, so it can be kept.
"""

from __future__ import annotations

import json
from functools import cache
from html import escape
from importlib.metadata import version
from typing import Any

import altair as alt
import vl_convert

from profiler.present import style
from profiler.present.picture_cache import PictureCache
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
    return {**spec, "description": _description_of(spec), "config": style.configuration(scheme)}


def title_of(chart: alt.TopLevelMixin) -> str:
    """Returns the message of the chart."""
    return str(chart.to_dict(validate=False)["title"]["text"])


def _description_of(spec: dict[str, Any]) -> str:
    """Returns the text for readers who cannot see the picture: the message of the chart, and the line below it."""
    title = spec["title"]
    below = title.get("subtitle") or []
    lines = [str(line).rstrip(";") for line in ([below] if isinstance(below, str) else below)]
    return ". ".join(filter(None, [str(title["text"]), "; ".join(lines)]))


def render(
    chart: alt.TopLevelMixin, suffix: str, scheme: style.Scheme = "light", kept: PictureCache | None = None
) -> bytes:
    """Returns the content of a file with that suffix. A copy of Vega that is `kept` is not bundled again."""
    spec = chart_spec(chart, scheme)
    if suffix == ".svg":
        svg: str = vl_convert.vegalite_to_svg(spec, allowed_base_urls=[])
        told = f'<svg role="img" aria-label="{escape(spec["description"])}" '
        return svg.replace("<svg ", told, 1).encode()
    if suffix == ".png":
        png: bytes = vl_convert.vegalite_to_png(spec, scale=_PNG_SCALE, allowed_base_urls=[])
        return png
    if suffix == ".json":
        return (json.dumps(spec, indent=2, sort_keys=True) + "\n").encode()
    if suffix == ".html":
        return _page(chart, kept).encode()
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


def _page(chart: alt.TopLevelMixin, kept: PictureCache | None) -> str:
    schemes: dict[style.Scheme, dict[str, Any]] = {one: style.configuration(one) for one in ("light", "dark")}
    bare = {key: value for key, value in chart_spec(chart).items() if key != "config"}
    return _PAGE % {
        "title": escape(title_of(chart)),
        "light": schemes["light"]["background"],
        "dark": schemes["dark"]["background"],
        "spec": _inert(bare),
        "schemes": _inert(schemes),
        "vega": _vega(kept),
    }


def _inert(value: object) -> str:
    """Returns JSON in which no text can end the HTML element around it."""
    return json.dumps(value, sort_keys=True).replace("<", "\\u003c")


def _vega(kept: PictureCache | None) -> str:
    key = repr(("vega", version("vl-convert-python"), _DRAW))
    found = None if kept is None else kept.get(key)
    bundle = found.decode() if found else _bundled()
    if kept is not None and not found:
        kept.put(key, bundle.encode())
    return bundle.replace("</script", "<\\/script")


@cache
def _bundled() -> str:
    bundle: str = vl_convert.javascript_bundle(_DRAW)
    return bundle
