"""Renders the page from its views, with style and script inside and a policy that names their hashes."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from profiler.present.page.contents import Contents
from profiler.present.page.drawing import Look
from profiler.present.page.kernel_view import kernel_view
from profiler.present.page.ladder_view import ladder_view
from profiler.present.page.pair_view import pair_view
from profiler.text import printable, shortened

_TEMPLATES = Path(__file__).parent / "templates"
_NAME_WIDTH = 160
_NAME_FITS = 20
# The space between a figure and its unit, where no line may end.
_BEFORE_UNIT = re.compile(r"(?<=\d) (?=(?:%|[munμ]?s|[kMG]?Hz|[kMGT]?(?:B|FLOP)(?:/s)?)(?!\w))")
_DAY = len("2026-01-31")


def render_page(contents: Contents, look: Look) -> str:
    views = {
        "ladder": ladder_view(contents) if len(contents.kernels) > 1 else None,
        "kernels": [kernel_view(part, contents.headline) for part in contents.kernels],
        "pairs": [pair_view(pair) for pair in contents.pairs],
    }
    environment = _environment()
    style = environment.get_template("page.css.j2").render(look=look)
    script = (_TEMPLATES / "page.js").read_text()
    return environment.get_template("page.html.j2").render(
        contents=contents,
        facts=_facts(contents),
        style=Markup(style),
        script=Markup(script),
        policy=_policy(style, script),
        **views,
    )


def _environment() -> Environment:
    """Returns an environment that escapes every text, so that none can act on the text around it."""
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        finalize=_harmless,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["brief"] = lambda text: shortened(text, _NAME_WIDTH)
    environment.filters["prose"] = lambda text: _BEFORE_UNIT.sub("\N{NO-BREAK SPACE}", text)
    environment.filters["breakable"] = _breakable
    environment.filters["svg"] = Markup  # drawn by Vega, which escapes what it writes
    return environment


def _harmless(value: Any) -> Any:
    return printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _breakable(name: str) -> str | Markup:
    """Returns a long name with breaks between its words, so that it fits a phone's column.

    The metric names of Nsight Compute contain `__`. There are very many of them, and the style lets them
    break anywhere.
    """
    if len(name) <= _NAME_FITS or "__" in name:
        return name
    return Markup("_<wbr>").join(printable(name).split("_"))


def _policy(style: str, script: str) -> str:
    return "; ".join(
        (
            "default-src 'none'",
            f"style-src {_hash(style)}",
            f"script-src {_hash(script)}",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _facts(contents: Contents) -> list[tuple[str, str]]:
    """Returns the facts that hold for the whole page."""
    from profiler.catalog.ladders.ladder import size_text

    manifests = [part.run.manifest for part in contents.kernels]
    days = sorted({one.recorded[:_DAY] for one in manifests})
    facts = [
        ("ladder", _shared([one.ladder or "" for one in manifests])),
        ("GPU", _shared([", ".join(one.gpus) for one in manifests])),
        ("workload", _shared([size_text(one.workload or {}) for one in manifests])),
        ("recorded", " to ".join(dict.fromkeys((days[0], days[-1])))),
    ]
    return [(name, value) for name, value in facts if value]


def _shared(values: Sequence[str]) -> str:
    return "; ".join(dict.fromkeys(value for value in values if value))
