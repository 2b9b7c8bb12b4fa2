"""Writes the page: a frame with navigation, style and script around a document for each view."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from msgspec.structs import replace

from profiler.analyse.report import KernelFindings, PageFindings, PairFindings
from profiler.catalog.ladders.ladder import size_text
from profiler.present.document import Chart, Document, Facts, charts_of
from profiler.present.documents.catalogue import names_document
from profiler.present.documents.parts.causes import headline_blocks
from profiler.present.documents.report import (
    kernel_document,
    overview_document,
    pair_document,
    recordings_document,
)
from profiler.present.render.html import Picture, document_html, facts_html
from profiler.store.runs.manifest import Manifest
from profiler.text import date_of, printable, shortened

if TYPE_CHECKING:
    from profiler.present.page.drawing import Drawing, Look

SIGNATURE = '<meta name="generator" content="prof">'  # at the start of each page
_TEMPLATES = Path(__file__).parent / "templates"
_NAME_WIDTH = 160
_NAVIGATED_WIDTH, _MOST_NAMED = 20, 24


@dataclass(frozen=True)
class View:
    """One view of the page. `anchor` is the part of its address after the `#`; a pair names its two kernels."""

    anchor: str
    kind: Literal["ladder", "kernel", "pair", "names"]
    document: Document
    idea: str = ""
    before: str = ""
    after: str = ""
    called: str = ""  # a kernel whose title's ends are a namespace and a type, which others share

    @property
    def name(self) -> str:
        """Returns the name that stands beside the number in the navigation. Related functions differ in their last words."""
        half = _NAVIGATED_WIDTH // 2
        if len(self.called) > _NAVIGATED_WIDTH:
            return f"{self.called[: half - 1]}…{self.called[-half:]}"
        title = self.called or self.document.title.removeprefix(self.anchor).strip()
        return shortened(title.removesuffix(".ncu-rep"), _NAVIGATED_WIDTH)


@dataclass(frozen=True)
class Page:
    """The views of a page, whose charts may still be being drawn."""

    title: str
    facts: Facts
    views: Sequence[View]
    overview: str  # the name of the first view in the navigation
    charts: Mapping[Chart, Future[Picture | None]] = field(default_factory=dict)

    @property
    def first(self) -> View:
        """Returns the view that the page opens on: of two recordings, their comparison is the answer."""
        pairs = self.of_kind("pair")
        return pairs[0] if len(pairs) == 1 and len(self.of_kind("kernel")) == 2 else self.views[0]

    @property
    def names_its_links(self) -> bool:
        """Returns whether the navigation has room for the names of its kernels."""
        return len(self.of_kind("kernel")) <= _MOST_NAMED

    @property
    def is_abridged_on_paper(self) -> bool:
        """Returns whether paper gets the verdicts and sheets alone: the machine code and counters of many kernels fill a book."""
        return self.first.kind == "ladder"

    def of_kind(self, kind: str) -> list[View]:
        return [view for view in self.views if view.kind == kind]


def draw_page(report: PageFindings, drawing: Drawing) -> Page:
    """Returns the views of a report. Each chart is drawn in the background while the rest is found."""
    charts: dict[Chart, Future[Picture | None]] = {}

    def drawn(view: View) -> View:
        for chart in charts_of([block for section in view.document.sections for block in section]):
            charts[chart] = drawing.ask(chart.name, chart.finding, chart.otherwise, **chart.options)
        return view

    overview = None
    if report.ladder is not None:
        document = overview_document(report.ladder, report.roofline, report.others)
        overview = drawn(View("ladder", "ladder", document))
    found, kernels = {}, []
    for one in report.kernels:
        found[one.anchor] = one
        document = kernel_document(one, report.headline)
        kernels.append(drawn(View(one.anchor, "kernel", document, one.idea, called=one.called)))
    compared, pairs = [], []
    for pair in report.pairs:
        compared.append(pair)
        before, after = found[pair.before], found[pair.after]
        document = pair_document(pair, before, after, report.headline)
        anchor = f"{pair.before}-{pair.after}"
        pairs.append(drawn(View(anchor, "pair", document, after.idea, before=pair.before, after=pair.after)))
    if overview is None:
        document = recordings_document(list(found.values()), compared, report.unrelated, report.left_out)
        overview = drawn(View("ladder", "ladder", document))
    elif compared:
        overview = _with_last_step(overview, compared[-1])
    opening = [overview] if len(kernels) > 1 or report.left_out else []
    facts = _facts([one.run.manifest for one in found.values()])
    views = [*opening, *pairs, *kernels, *_names(found.values())]
    return Page(report.title, facts, views, "Ladder" if report.ladder else "Overview", charts)


def _with_last_step(overview: View, pair: PairFindings) -> View:
    """Returns a ladder's overview with what its last step changed, below its own answer, which says what comes next."""
    step = replace(pair.answer, what=f"The last step: {pair.answer.what}", next="") if pair.answer else None
    answer, *rest = overview.document.sections
    sections = [answer, headline_blocks(step), *rest]
    return dataclasses.replace(overview, document=replace(overview.document, sections=sections))


def _names(kernels: Iterable[KernelFindings]) -> Iterator[View]:
    """Yields the view that explains the metrics and the causes of the others, if they have any."""
    sheets = [one.sheet for one in kernels if one.sheet]
    metrics = {metric.name for sheet in sheets for metric in sheet.metrics}
    causes = {cause.cause for sheet in sheets for cause in sheet.causes}
    if metrics or causes:
        yield View("names", "names", names_document(metrics, causes))


def _facts(manifests: Sequence[Manifest]) -> Facts:
    """Returns the facts that hold for the whole page."""
    days = sorted({date_of(one.recorded) for one in manifests})
    facts = [
        ("ladder", _shared([one.ladder or "" for one in manifests])),
        ("GPU", _shared([", ".join(one.gpus) for one in manifests])),
        ("workload", _shared([size_text(one.workload or {}) for one in manifests])),
        ("recorded", " to ".join(dict.fromkeys((days[0], days[-1])))),
    ]
    return Facts([(name, value) for name, value in facts if value])


def _shared(values: Sequence[str]) -> str:
    return "; ".join(dict.fromkeys(value for value in values if value))


def page_html(page: Page, look: Look) -> str:
    """Returns the whole file, with style and script inside and a policy that names their hashes."""
    # The environment escapes every text, so that none can act on the text around it.
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"brief": lambda text: shortened(text, _NAME_WIDTH), "safe_to_print": printable}
    style = environment.get_template("page.css.j2").render(look=look)
    script = (_TEMPLATES / "page.js").read_text()
    return environment.get_template("page.html.j2").render(
        page=page,
        facts=facts_html(page.facts),
        views=list(_rendered(page)),
        style=Markup(style),
        script=Markup(script),
        policy=_policy(style, script),
        signature=Markup(SIGNATURE),
    )


def _rendered(page: Page) -> Iterator[tuple[View, Markup]]:
    anchors = {view.anchor for view in page.views}
    for view in page.views:
        title = view.document.title
        yield view, document_html(view.document, title, anchors, lambda chart: page.charts[chart].result())


def _policy(style: str, script: str) -> str:
    own = f"style-src {_hash(style)}; script-src {_hash(script)}"
    return f"default-src 'none'; {own}; img-src data:; base-uri 'none'; form-action 'none'"


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
