"""The document: views through templates, with style and script inside and a policy that names their hashes."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from profiler.present.page.contents import Contents
from profiler.present.page.drawing import Drawing, palette
from profiler.present.page.figures import kernel_pictures, ladder_pictures, pair_pictures
from profiler.present.page.kernel_view import kernel_view
from profiler.present.page.ladder_view import ladder_view
from profiler.present.page.pair_view import pair_view
from profiler.present.text import printable, shortened

_TEMPLATES = Path(__file__).parent / "templates"
_NAME_WIDTH = 160
_DAY = len("2026-01-31")


def render_page(contents: Contents, drawing: Drawing) -> str:
    """All of it; charts are drawn meanwhile."""
    overview = ladder_pictures(contents, drawing)
    pairs = [(pair, pair_pictures(pair, contents.headline, drawing)) for pair in contents.pairs]
    kernels = [(part, kernel_pictures(part, drawing)) for part in contents.kernels]
    environment = _environment()
    style = environment.get_template("page.css.j2").render(
        light=palette("light"), dark=palette("dark"), marks=_marks()
    )
    script = (_TEMPLATES / "page.js").read_text()
    return environment.get_template("page.html.j2").render(
        contents=contents,
        facts=_facts(contents),
        style=Markup(style),
        script=Markup(script),
        policy=_policy(style, script),
        ladder=ladder_view(contents, overview) if len(contents.kernels) > 1 else None,
        kernels=[kernel_view(part, contents.headline, pictures) for part, pictures in kernels],
        pairs=[pair_view(pair, pictures) for pair, pictures in pairs],
    )


def _environment() -> Environment:
    """Every text is escaped, and no character in it acts on the text around it."""
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        finalize=_harmless,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["brief"] = lambda text: shortened(text, _NAME_WIDTH)
    environment.filters["svg"] = Markup  # drawn by Vega, which escapes what it writes
    return environment


def _harmless(value: Any) -> Any:
    return printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value


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


def _marks() -> dict[str, str]:
    from profiler.present.charts import style

    return {
        "accent": style.BLUE, "better": style.VERDICTS["better"], "worse": style.VERDICTS["worse"],
        "neutral": style.GREY, "narrow": style.ORANGE, "double": style.GREEN, "wide": style.BLUE,
    }  # fmt: skip


def _facts(contents: Contents) -> list[tuple[str, str]]:
    """What holds for all of it."""
    from profiler.catalog.ladder import size_text

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
