"""A document as a terminal prints it: in colour or not, and no wider than the window."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import singledispatchmethod

from profiler.present import document as doc
from profiler.present.render.cells import (
    CHECK_MARKS,
    CHECK_WORDS,
    access_text,
    kernel_text,
    table_texts,
    weight_text,
    with_above_text,
)
from profiler.present.render.terminal_code import render_sides, width_style
from profiler.present.render.terminal_table import (
    BELOW,
    NO_BREAK,
    folded,
    render_table,
    styled,
    wrapped,
)
from profiler.text import printable

_STYLES: dict[doc.Tone, str] = {"plain": "", "good": "green", "bad": "red", "warn": "yellow", "quiet": "dim"}
_ITEM = " " * 8
_WEIGHT_WIDTH = 6
_GAP = 2
_WIDEST_PICTURE = 40


@dataclass(frozen=True)
class Window:
    """The way to print: in colour or not, and how wide. Files have no width, so their lines never fold."""

    colour: bool = False
    width: int | None = None


def wants_colour(is_terminal: bool) -> bool:
    """Returns whether to print in colour.

    NO_COLOR forbids it and FORCE_COLOR demands it; otherwise a terminal gets colour.
    """
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or (is_terminal and os.environ.get("TERM") != "dumb")


def document_text(document: doc.Document, window: Window) -> str:
    """Returns every section, with an empty line between two of them."""
    printer = _Printer(window, _name_width(document.sections))
    title = [doc.Text(document.title, strong=True, wraps=False)] if document.titled else []
    sections = map(printer.lines, (title, *document.sections))
    return "\n\n".join(section for section in sections if section)


def _name_width(sections: Sequence[doc.Section]) -> int:
    """Returns the width of the longest name of a fact, so that all facts of a document are aligned."""
    names = [
        name for one in sections for block in one if isinstance(block, doc.Facts) for name, _ in block.rows
    ]
    return max(map(len, names), default=0) + _GAP


@dataclass
class _Printer:
    window: Window
    name_width: int
    hidden: set[str] = field(default_factory=set)  # titles that had no room in any table so far

    @singledispatchmethod
    def text(self, block: doc.Block) -> str:
        raise NotImplementedError(type(block))

    def lines(self, section: doc.Section) -> str:
        return "\n".join(filter(None, map(self.text, section)))

    @text.register
    def _(self, _: doc.Heading | doc.Chart) -> str:
        return ""

    @text.register
    def _(self, block: doc.Folded) -> str:
        return self.lines(block.blocks) if block.instead is None else self.text(doc.Text(block.instead))

    @text.register
    def _(self, block: doc.KernelName) -> str:
        return self._styled(kernel_text(block, self.window.width), "bold")

    @text.register
    def _(self, block: doc.Text) -> str:
        style = " ".join(filter(None, ("bold" if block.strong else "", _STYLES[block.tone])))
        if not block.wraps:
            return self._line(block.text, style)
        return self._painted(wrapped(printable(block.text), self.window.width), style)

    @text.register
    def _(self, block: doc.Caution) -> str:
        # A path that is wider than the window would leave the word alone on its line.
        caution = f"caution:{NO_BREAK}{printable(block.text)}"
        return self._painted(wrapped(caution, self.window.width), "yellow")

    @text.register
    def _(self, block: doc.Facts) -> str:
        lines = []
        for name, known in block.rows:
            start = f"{name:<{self.name_width}}"
            for line in [known] if isinstance(known, str) else known:
                lines.append(self._line(start + line, "", " " * self.name_width))
                start = " " * self.name_width
        return "\n".join(lines)

    @text.register
    def _(self, block: doc.Table) -> str:
        columns, texts, _ = table_texts(block, indent="  ")
        shown = [place for place, column in enumerate(columns) if not (column.prose or column.wide)]
        prose = [place for place, column in enumerate(columns) if column.prose]
        table = render_table(
            [columns[place] for place in shown],
            [[row[place] for place in shown] for row in texts],
            [_STYLES[row.tone] for row in block.rows],
            self.window.colour,
            self.window.width,
        )
        self.hidden = (self.hidden | {columns[place].title for place in shown}) - set(table.titles)
        rows = []
        for row, cells in zip(table.rows, texts, strict=True):
            below = [BELOW + printable(cells[place]) for place in prose if cells[place]]
            rows.append("\n".join([row, *(wrapped(one, self.window.width, BELOW) for one in below)]))
        return table._replace(rows=rows).text

    @text.register
    def _(self, block: doc.Legend) -> str:
        shown = filter(None, (one.shown(self.hidden) for one in block.entries))
        return wrapped(printable("; ".join(shown)), self.window.width)

    @text.register
    def _(self, block: doc.Checks) -> str:
        lines = [self._styled(block.title, f"{'bold ' if block.rows else ''}{_STYLES[block.tone]}")]
        for one in block.rows:
            why = f" ({CHECK_WORDS[None]})" if one.ok is None else ""
            lines.append(printable(f"  {CHECK_MARKS[one.ok]} {one.subject} {one.expected}{why}"))
        return "\n".join(lines)

    @text.register
    def _(self, block: doc.Items) -> str:
        lines = [wrapped(printable(block.title), self.window.width)]
        alone, with_above = block.titles[:2]
        adds_up = any(one.with_above_pct is not None for one in block.rows)
        if adds_up:  # a single figure is explained by the title
            lines.append(self._styled(f"{alone:>{_WEIGHT_WIDTH}}  {with_above}", "dim"))
        for one in block.rows:
            together = f"{with_above_text(one):>{len(with_above)}}  " if adds_up else ""
            weight = f"{weight_text(one.weight_pct):>{_WEIGHT_WIDTH}}  "
            lines.append(f"{weight}{together}{self._styled(one.name, 'bold')}")
            if one.sentence:  # nothing, where the answer above says it all
                lines.append(wrapped(_ITEM + printable(one.sentence), self.window.width, _ITEM))
        return "\n".join(lines)

    @text.register
    def _(self, block: doc.Accesses) -> str:
        """Returns the sentence, and the drawing if it fits."""
        lines = [self._styled(block.sentence, "bold")]
        fits = all(
            sum(len(access_text(bits)) + 1 for bits in side) <= _WIDEST_PICTURE for side in block.sides
        )
        if block.sides and fits:
            lines.append("  " + "  ->  ".join(map(self._drawn, block.sides)))
        return "\n".join(lines)

    def _drawn(self, side: Sequence[int]) -> str:
        blocks = [styled(access_text(bits), width_style(bits), colour=self.window.colour) for bits in side]
        return " ".join(blocks)

    @text.register
    def _(self, block: doc.CodeBlock) -> str:
        return render_sides(block, self.window.colour, self.window.width)

    def _line(self, text: str, style: str, indent: str = "  ") -> str:
        """Returns a line that stays whole in a file and folds between words in a window."""
        whole, width = printable(text), self.window.width
        return self._painted(whole if width is None else folded(whole, width, indent), style)

    def _painted(self, lines: str, style: str) -> str:
        return "\n".join(styled(line, style, colour=self.window.colour) for line in lines.split("\n"))

    def _styled(self, text: str, style: str) -> str:
        return styled(printable(text), style, colour=self.window.colour)
