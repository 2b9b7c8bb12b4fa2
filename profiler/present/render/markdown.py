"""A document as Markdown: tables and lists, with every text in it escaped."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import singledispatch
from itertools import chain, groupby

from profiler.present import document as doc
from profiler.present.render.cells import (
    CHECK_WORDS,
    access_text,
    capital,
    kernel_text,
    table_texts,
    weight_text,
    with_above_text,
)
from profiler.text import CODE_SPAN, printable

_ENTITY = {"<": "&lt;", ">": "&gt;", "&": "&amp;", "@": "&#64;"}
# GitHub looks for people and issues in the text that it shows, whatever was escaped; a space of no width ends them.
_MENTION = re.compile(r"(?<=&#64;)(?=\w)|(?<=\\#)(?=\d)|(?<=\bGH-)(?=\d)", re.IGNORECASE)
# As documents write code in their sentences. Markdown acts on nothing within it, but for what divides the columns of a table.
_ADDRESS = re.compile(r"://|\bwww\.", re.IGNORECASE)


def document_markdown(document: doc.Document) -> str:
    """Returns the title, and every section below it."""
    title = f"### {markdown_text(document.title)}" if document.title else ""
    return "\n\n".join(filter(None, (title, *map(_joined, document.sections))))


def _joined(blocks: doc.Section) -> str:
    return "\n\n".join(filter(None, _parts(blocks)))


def _parts(section: doc.Section) -> Iterator[str]:
    """Yields each block; adjacent cautions become one, and adjacent lines of text become a list."""
    for kind, blocks in groupby(
        section, lambda block: (type(block), isinstance(block, doc.Text) and block.strong)
    ):
        texts = [block_markdown(block) for block in blocks]
        if kind == (doc.Text, False) and len(texts) > 1:
            yield "\n".join(f"* {text}" for text in texts)
        elif kind == (doc.Caution, False):
            yield "  \n".join(texts)
        else:
            yield from texts


def markdown_table(
    header: Sequence[str],
    rows: Iterable[Sequence[doc.Plain]],
    right: Iterable[int] = (),
    sentences: Iterable[int] = (),
) -> str:
    """Returns a pipe table; columns in `right` are aligned right, those in `sentences` may hold code, and None is an empty cell."""
    aligned, prose = set(right), set(sentences)
    texts = [["" if cell is None else str(cell) for cell in line] for line in (header, *rows)]
    cells = [
        [
            markdown_sentence(text, in_table=True) if place in prose else markdown_text(text)
            for place, text in enumerate(line)
        ]
        for line in texts
    ]
    written = ["| " + " | ".join(line) + " |" for line in cells]
    rule = "| " + " | ".join("---:" if place in aligned else "---" for place in range(len(header))) + " |"
    return "\n".join([written[0], rule, *written[1:]])


def markdown_text(text: str) -> str:
    """Returns a text escaped for Markdown, inside or outside of a table."""
    safe = printable(text)
    for character in "&\\`*_{}[]<>|#~$!@":
        safe = safe.replace(character, f"\\{character}" if character not in "<>&@" else _ENTITY[character])
    safe = _MENTION.sub("&#8203;", safe)
    return _ADDRESS.sub(lambda match: match[0].replace(":", "&#58;").replace(".", "&#46;"), safe)  # no links


def markdown_sentence(text: str, *, in_table: bool = False) -> str:
    """Returns a text escaped for Markdown, of which what stands between backticks is code."""
    parts = CODE_SPAN.split(printable(text))  # texts and code take turns
    column = "\\|" if in_table else "|"
    code = [f"`{part.replace('|', column)}`" for part in parts[1::2]]
    return "".join(chain.from_iterable(zip(map(markdown_text, parts[::2]), [*code, ""], strict=True)))


@singledispatch
def block_markdown(block: doc.Block) -> str:
    raise NotImplementedError(type(block))


@block_markdown.register
def _(block: doc.Heading) -> str:
    return f"#### {markdown_text(block.text)}"


@block_markdown.register
def _(block: doc.KernelName) -> str:
    return f"### {markdown_text(kernel_text(block))}"


@block_markdown.register
def _(_: doc.Chart) -> str:
    return ""


@block_markdown.register
def _(block: doc.Folded) -> str:
    if block.instead is not None:
        return markdown_sentence(block.instead)
    return _joined(block.blocks)


@block_markdown.register
def _(block: doc.Text) -> str:
    return _bold(block.text) if block.strong else markdown_sentence(block.text)


@block_markdown.register
def _(block: doc.Caution) -> str:
    return f"> **Caution:** {markdown_sentence(block.text)}"


@block_markdown.register
def _(block: doc.Facts) -> str:
    rows = [
        (name, known if isinstance(known, str) else "; ".join(line.strip() for line in known))
        for name, known in block.rows
    ]
    return markdown_table(("", ""), rows)


@block_markdown.register
def _(block: doc.Table) -> str:
    columns, texts, _ = table_texts(block, indent="· ")
    right = [place for place, column in enumerate(columns) if column.is_right]
    return markdown_table([column.title for column in columns], texts, right)


@block_markdown.register
def _(block: doc.Legend) -> str:
    return markdown_sentence("; ".join(one.shown() for one in block.entries))


@block_markdown.register
def _(block: doc.Checks) -> str:
    if not block.rows:
        return _bold(block.title)
    rows = [(one.subject, one.expected, CHECK_WORDS[one.ok]) for one in block.rows]
    return f"{_bold(block.title)}\n\n{markdown_table(('metric', 'expected', 'holds'), rows)}"


@block_markdown.register
def _(block: doc.Items) -> str:
    rows = [(weight_text(one.weight_pct), with_above_text(one), one.name, one.sentence) for one in block.rows]
    table = markdown_table(block.titles, rows, right=(0, 1), sentences=(3,))
    return f"{_bold(capital(block.title))}\n\n{table}"


@block_markdown.register
def _(block: doc.Accesses) -> str:
    drawn = " -> ".join(" ".join(map(access_text, side)) for side in block.sides)
    return f"* {markdown_sentence(block.sentence)}" + (f"\n\n  {drawn}" if drawn else "")


@block_markdown.register
def _(block: doc.CodeBlock) -> str:
    """Returns one table with each side's columns under its title."""
    filled = block.filled
    names = [block.columns[place] for place in filled]
    several = len(block.titles) > 1
    header = [f"{title}: {one.title}" if several else one.title for title in block.titles for one in names]
    empty = [""] * len(names)
    rows = [
        [text for side in row for text in ([side[place].text for place in filled] if side else empty)]
        for stretch in block.stretches
        for row in stretch
    ]
    right = [place for place, one in enumerate([*names] * len(block.titles)) if one.is_right]
    return markdown_table(header, rows, right)


def _bold(text: str) -> str:
    return f"**{markdown_sentence(text)}**"
