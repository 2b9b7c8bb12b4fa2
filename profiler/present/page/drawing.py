"""Draws charts as SVG for a page, in parallel processes.

The name of a chart function and a finding come in; a `Picture` goes out. One picture serves light and dark:
paper, ink and lines become CSS variables of the page. The page's policy forbids style attributes, and Vega
writes none. This process loads Altair and says what a chart shows; the others load Vega alone, and draw it.
Threads would not do: vl-convert has one Vega in a process, which draws one chart at a time and loads its fonts once. If this process
has drawn a chart for a file, its Vega has the fonts of the machine, and would take four times as long for a page.
"""

from __future__ import annotations

import gc
import os
import re
import signal
import threading
from concurrent.futures import Future
from dataclasses import dataclass
from functools import cache, partial
from importlib.metadata import version
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

import msgspec
from pebble import ProcessPool

from profiler.machine import available_cores, leave_with_parent, require_memory
from profiler.present.picture_cache import PictureCache
from profiler.present.render.html import Picture
from profiler.spawned import SpawnedContext

_MOST_PROCESSES = 4
_LEAST_MEMORY_MIB = 64 << 10  # addresses that V8, in which Vega runs, reserves and hardly uses
_ENVIRONMENT_OF_FONTS = "FONTCONFIG_FILE"
_FONTS = Path(__file__).parent / "fonts.conf"
# CSS pixels in a rem at the usual size of type; pictures grow with the type.
_PIXELS_A_REM = 13.5
_INVISIBLE = re.compile(
    r'<path class="(?:background|foreground)"[^>]*(?:pointer-events="none"|aria-hidden="true")[^>]*d="[^"]*"[^>]*/>'
)
_NOISE = re.compile(
    r' (?:class|role|aria-[a-z]+|pointer-events|font-family|xmlns:xlink|version)="[^"]*"'
    r'| (?:opacity="1"|stroke-width="1"|text-anchor="start"|font-weight="normal"|font-size="11px")'  # the usual
)
_TAG = re.compile(r"<[^>]+>")
_LONG_NUMBER = re.compile(r"(\.\d\d)\d+")
_SIZE = re.compile(r'width="([\d.]+)" height="([\d.]+)" ')


@dataclass(frozen=True)
class Look:
    """Colours by the names of their CSS variables: those of each scheme, and those of marks in both."""

    light: dict[str, str]
    dark: dict[str, str]
    marks: dict[str, str]


@dataclass(frozen=True)
class _Sketch:
    """A chart that is not drawn yet, as Vega-Lite for each room of a page; `variables` stand for colours."""

    title: str
    subtitle: str
    desk: dict[str, Any]
    phone: dict[str, Any]
    variables: dict[str, str]


class Drawing:
    """A pool of drawing processes, which start when the first picture is drawn.

    A picture that is `kept` is not drawn again: of a ladder, most rungs are as they were when it was last drawn.
    """

    def __init__(self, kept: PictureCache | None = None) -> None:
        self._kept = kept
        require_memory("drawing charts", _LEAST_MEMORY_MIB)
        processes = min(available_cores(), _MOST_PROCESSES)
        self._pool = ProcessPool(processes, initializer=_warm_up, context=SpawnedContext())

    def ask(self, chart: str, finding: Any, otherwise: str = "", **options: Any) -> Future[Picture | None]:
        """Starts to draw the chart of that name in `present/charts`; without one, its picture is the sentence of `otherwise`, or None."""
        sketch = _sketch(chart, finding, otherwise, **options)
        if not isinstance(sketch, _Sketch):
            return _ready(sketch)
        if picture := self._picture_kept(sketch):
            return _ready(picture)
        drawn: Future[Picture | None] = self._pool.schedule(_draw, args=[sketch])
        drawn.add_done_callback(partial(self._keep, sketch))
        return drawn

    def _picture_kept(self, sketch: _Sketch) -> Picture | None:
        kept = self._kept.get(_key(sketch)) if self._kept else None
        try:
            return msgspec.json.decode(kept, type=Picture) if kept else None
        except msgspec.MsgspecError:  # whole, and yet none of ours
            return None

    def _keep(self, sketch: _Sketch, drawn: Future[Picture | None]) -> None:
        if self._kept and not drawn.cancelled() and not drawn.exception():
            self._kept.put(_key(sketch), msgspec.json.encode(drawn.result()))

    def __enter__(self) -> Drawing:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stops the processes; by now all pictures are drawn or no longer needed."""
        self._pool.stop()  # type: ignore[no-untyped-call]
        self._pool.join()


def _sketch(chart_name: str, finding: Any, otherwise: str, **options: Any) -> _Sketch | Picture | None:
    import altair as alt
    from altair.utils.schemapi import debug_mode

    from profiler.present import charts
    from profiler.present.charts.fitting import fitted, room_configuration
    from profiler.present.style import configuration

    # The charts' own tests check that specs are valid; a check here would take as long as drawing.
    with debug_mode(False), alt.data_transformers.enable(consolidate_datasets=False):
        chart = getattr(charts, chart_name)(finding, **options)
        if chart is None:
            return Picture(getattr(charts, otherwise)(finding)) if otherwise else None
        spec: dict[str, Any] = chart.to_dict(validate=False)
    heading = spec.pop("title", {})
    spec = _without_tooltips(spec)
    # The page labels its pictures itself.
    look = configuration("light") | {"aria": False, "background": None, "padding": 2}
    return _Sketch(
        title=heading["text"],
        subtitle=", ".join(heading.get("subtitle", ())),
        desk=fitted(spec, "desk") | {"config": room_configuration("desk", look)},
        phone=fitted(spec, "phone") | {"config": room_configuration("phone", look)},
        variables=_variables(),
    )


def _ready(picture: Picture | None) -> Future[Picture | None]:
    ready = Future[Picture | None]()
    ready.set_result(picture)
    return ready


def _key(sketch: _Sketch) -> str:
    """Returns everything that a picture depends on: what draws it, and what is drawn."""
    return repr((_drawn_by(), msgspec.json.encode(sketch)))


@cache
def _drawn_by() -> tuple[bytes, bytes, str]:
    return Path(__file__).read_bytes(), _FONTS.read_bytes(), version("vl-convert-python")


def _draw(sketch: _Sketch) -> Picture:
    import vl_convert

    desk, phone = (
        _inlined(vl_convert.vegalite_to_svg(spec, allowed_base_urls=[]), sketch.variables)
        for spec in (sketch.desk, sketch.phone)
    )
    return Picture(sketch.title, sketch.subtitle, desk, phone)


def _without_tooltips(spec: Any) -> Any:
    """Returns the spec without tooltips: nobody can point at a picture, and Vega makes one for every mark."""
    if isinstance(spec, dict):
        return {name: _without_tooltips(part) for name, part in spec.items() if name != "tooltip"}
    return [_without_tooltips(part) for part in spec] if isinstance(spec, list) else spec


def derive_look() -> Look:
    from profiler.present import style

    marks = {
        "accent": style.BLUE, "better": style.VERDICTS["better"], "worse": style.VERDICTS["worse"],
        "narrow": style.ORANGE, "double": style.GREEN, "wide": style.PURPLE,
    }  # fmt: skip
    return Look(_palette("light"), _palette("dark"), marks)


def _palette(scheme: Literal["light", "dark"]) -> dict[str, str]:
    from profiler.present.style import configuration

    look = configuration(scheme)
    return {
        "paper": look["background"],
        "ink": look["title"]["color"],
        "quiet": look["axis"]["labelColor"],
        "line": look["axis"]["gridColor"],
    }


def _inlined(svg: str, variables: dict[str, str]) -> str:
    """Returns the SVG in the page's colours, without invisible parts and as wide as the page's type makes it."""
    svg = _TAG.sub(lambda tag: _LONG_NUMBER.sub(r"\1", _NOISE.sub("", tag[0])), _INVISIBLE.sub("", svg))
    for colour, variable in variables.items():
        svg = svg.replace(f'"{colour}"', f'"{variable}"')
    return _SIZE.sub(lambda size: f'width="{float(size[1]) / _PIXELS_A_REM:.2f}rem" ', svg, count=1)


@cache
def _variables() -> dict[str, str]:
    # Paper stays out: the picture has no background, and white letters on a bar stay white.
    return {colour: f"var(--{name})" for name, colour in _palette("light").items() if name != "paper"}


def _warm_up() -> None:
    """Prepares a drawing process.

    The parent handles interrupts, and the process is too short-lived to collect garbage.
    """
    threading.Thread(target=leave_with_parent, daemon=True).start()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.disable()
    # Vega asks how wide each text is. The converter has a font in memory; one of the machine it opens anew for every letter,
    # a thousand times a chart, and pages would differ between machines.
    os.environ[_ENVIRONMENT_OF_FONTS] = str(_FONTS)
    import vl_convert

    vl_convert.vegalite_to_svg({"mark": "point", "data": {"values": []}}, allowed_base_urls=[])
