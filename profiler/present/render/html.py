"""A document as HTML for a page: its texts and lists. Tables and machine code are in `html_table.py`.

Every text is escaped. The style of the page decides how a class looks, because its policy forbids style
attributes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from functools import singledispatchmethod
from itertools import groupby

from markupsafe import Markup
from msgspec import Struct

from profiler.present import document as doc
from profiler.present.render.cells import CHECK_MARKS, CHECK_WORDS, capital, weight_text, with_above_text
from profiler.present.render.html_table import code_html, table_html, text_html
from profiler.store.tables.decoding import decodable
from profiler.text import printable, shortened

_NAME_WIDTH = 160
_LEAD = re.compile(r"^((?:Why|Next):)")
_MOST_BLOCKS = 32  # accesses that the eye can count


@decodable
class Picture(Struct, frozen=True):
    """A drawn chart. `title` is its message, which the page wraps; `phone` is the drawing for one.

    Without a drawing, the title says why there is none.
    """

    title: str
    subtitle: str = ""
    svg: str = ""
    phone: str = ""


def document_html(
    document: doc.Document, title: str, views: Collection[str], picture: Callable[[doc.Chart], Picture | None]
) -> Markup:
    """Returns the sections below the `title`, which the page itself shows. Sections that paper does not get are in a box.

    Links lead to the `views` that the page has, and `picture` returns a drawn chart.
    """
    writer = _Writer(title, views, picture)
    on_paper = len(document.sections) if document.on_paper is None else document.on_paper
    printed, others = (
        writer.joined([block for section in sections for block in (*section, _END)])
        for sections in (document.sections[:on_paper], document.sections[on_paper:])
    )
    return Markup('{}\n<div class="screen">\n{}\n</div>').format(printed, others) if others else printed


_END = doc.Text("")  # between two sections, so that texts of different ones make no list


@dataclass
class _Writer:
    title: str
    views: Collection[str]
    picture: Callable[[doc.Chart], Picture | None]
    heading: str = ""
    said: set[str] = field(default_factory=set)  # sentences that no picture needs to repeat

    def joined(self, blocks: doc.Section) -> Markup:
        """Returns the blocks, with each heading in front of the first block under it that shows anything."""
        parts, waiting = [], Markup("")
        for block, html in self._written(blocks):
            if isinstance(block, doc.Heading):
                waiting = html
            elif html:
                parts += [waiting, html]
                waiting = Markup("")
        return Markup("\n").join(filter(None, parts))

    def _written(self, blocks: doc.Section) -> Iterator[tuple[doc.Block, Markup]]:
        """Yields each block; adjacent lines of text become one list, and so does a line of an answer."""
        for are_notes, group in groupby(blocks, _is_note):
            notes = list(group)
            if are_notes and (len(notes) > 1 or _LEAD.match(_text(notes[0]))):
                items = Markup("\n").join(Markup("<li>{}</li>").format(_led(_text(one))) for one in notes)
                yield notes[0], Markup('<ul class="notes">\n{}\n</ul>').format(items)
            else:
                yield from ((block, self.html(block)) for block in notes)

    @singledispatchmethod
    def html(self, block: doc.Block) -> Markup:
        raise NotImplementedError(type(block))

    @html.register
    def _(self, block: doc.Heading) -> Markup:
        self.heading = block.text
        return _element("h3", block.text)

    @html.register
    def _(self, block: doc.KernelName) -> Markup:
        if block.name == self.title:
            return _element("p", block.about, "kernel")
        short = shortened(block.name, _NAME_WIDTH)
        line = Markup("<code>{}</code>, {}").format(short, block.about)
        if short == printable(block.name):
            return Markup('<p class="kernel">{}</p>').format(line)
        whole = Markup("<summary>{}</summary><code>{}</code>").format(line, printable(block.name))
        return Markup('<details class="kernel">{}</details>').format(whole)

    @html.register
    def _(self, block: doc.Text) -> Markup:
        if not block.text:
            return Markup("")
        if block.strong:
            self.said.add(block.text)
        return _element("p", block.text, "takeaway" if block.strong else "note")

    @html.register
    def _(self, block: doc.Caution) -> Markup:
        return Markup('<p class="caution"><strong>Caution</strong> {}</p>').format(text_html(block.text))

    @html.register
    def _(self, block: doc.Facts) -> Markup:
        return facts_html(block)

    @html.register
    def _(self, block: doc.Table) -> Markup:
        return table_html(block, self.heading or self.title, self.views)

    @html.register
    def _(self, block: doc.CodeBlock) -> Markup:
        return code_html(block, self.heading or self.title)

    @html.register
    def _(self, block: doc.Legend) -> Markup:
        return _element("p", "; ".join(one.shown() for one in block.entries), "note")

    @html.register
    def _(self, block: doc.Checks) -> Markup:
        if not block.rows:
            return _element("p", block.title, "note")
        rows = Markup("\n").join(
            Markup('<li><span aria-hidden="true">{}</span> {} {}: {}</li>').format(
                CHECK_MARKS[one.ok], printable(one.subject), one.expected, CHECK_WORDS[one.ok]
            )
            for one in block.rows
        )
        return Markup('{}\n<ul class="checks">\n{}\n</ul>').format(_element("h3", block.title), rows)

    @html.register
    def _(self, block: doc.Items) -> Markup:
        rows = Markup("\n").join(
            Markup(
                '<li><span class="weight">{}</span><svg class="bar" viewBox="0 0 100 1" preserveAspectRatio="none" '
                'aria-hidden="true"><rect class="together" width="{}" height="1"/><rect width="{}" height="1"/></svg>\n'
                "<p><strong>{}{}</strong> {}</p></li>"
            ).format(
                text_html(weight_text(one.weight_pct)), *map(_of_bar, (one.with_above_pct, one.weight_pct)), one.name, _with_above(one),
                text_html(one.sentence),
            )
            for one in block.rows
        )  # fmt: skip
        return Markup('{}\n<ol class="items">\n{}\n</ol>').format(_element("h3", capital(block.title)), rows)

    @html.register
    def _(self, block: doc.Accesses) -> Markup:
        sentence = _element("p", block.sentence)
        if not block.sides or any(len(side) > _MOST_BLOCKS for side in block.sides):
            return Markup('<div class="loads">{}</div>').format(sentence)
        blocks = [Markup("").join(map(Markup('<i class="b{}"></i>').format, side)) for side in block.sides]
        sides = map(Markup('<span class="blocks">{}</span>').format, blocks)
        drawn = Markup("<span>→</span>").join(sides)
        picture = Markup('<p class="drawn" aria-hidden="true">{}</p>').format(drawn)
        return Markup('<div class="loads">{}\n{}</div>').format(sentence, picture)

    @html.register
    def _(self, block: doc.Chart) -> Markup:
        drawn = self.picture(block)
        if drawn is None or not drawn.svg:
            return _element("p", drawn.title, "note") if drawn else Markup("")
        message = text_html(drawn.title)
        if drawn.subtitle and drawn.subtitle not in self.said:
            message = Markup("{}<span>{}</span>").format(message, text_html(drawn.subtitle))
        images = [
            Markup('<div role="img" class="{}" aria-label="{}">{}</div>').format(
                room, printable(drawn.title), svg
            )
            # Vega escapes texts.
            for room, svg in (("desk", Markup(drawn.svg)), ("phone", Markup(drawn.phone)))
        ]
        return Markup("<figure>\n<figcaption>{}</figcaption>\n{}\n{}\n</figure>").format(message, *images)

    @html.register
    def _(self, block: doc.Folded) -> Markup:
        heading, self.heading = self.heading, block.summary
        inside = self.joined(block.blocks)
        self.heading = heading
        folded = Markup('<details class="more"><summary>{}</summary>\n{}\n</details>')
        return folded.format(text_html(block.summary), inside)


def facts_html(facts: doc.Facts) -> Markup:
    """Returns names with what is known about each."""
    rows = []
    for name, known in facts.rows:
        lines = [_element("dd", line) for line in ([known] if isinstance(known, str) else known)]
        rows.append(Markup("<div><dt>{}</dt>{}</div>").format(name, Markup("").join(lines)))
    return Markup('<dl class="facts">\n{}\n</dl>').format(Markup("\n").join(rows))


def _is_note(block: doc.Block) -> bool:
    return isinstance(block, doc.Text) and not block.strong and block.text != ""


def _led(text: str) -> Markup:
    """Returns a text, with the word that leads an answer made strong."""
    return Markup(_LEAD.sub(r"<strong>\1</strong>", str(text_html(text))))


def _text(block: doc.Block) -> str:
    assert isinstance(block, doc.Text)
    return block.text


def _element(tag: str, text: str, style: str = "") -> Markup:
    start = Markup('<{} class="{}">').format(tag, style) if style else Markup("<{}>").format(tag)
    return Markup("{}{}</{}>").format(start, text_html(text), tag)


def _of_bar(pct: float | None) -> float:
    return min(pct or 0.0, 100.0)


def _with_above(item: doc.Item) -> Markup:
    said = with_above_text(item)
    return Markup(" <small>{}, with those above</small>").format(text_html(said)) if said else Markup("")
