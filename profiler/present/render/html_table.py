"""Tables and machine code as HTML. The columns and values of a table decide how it behaves on a page."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from markupsafe import Markup, escape

from profiler.present import document as doc
from profiler.present.render.cells import table_texts
from profiler.text import CODE_SPAN, printable

_INDENT = 3 * "\N{NO-BREAK SPACE}"  # no line breaks there
_STYLES: dict[doc.Tone, str] = {
    "plain": "",
    "good": "better",
    "bad": "worse",
    "warn": "unclear",
    "quiet": "same",
}
_MARKS = {"good": "● better beyond the noise", "bad": "■ worse beyond the noise"}
_NAME_FITS = 15
_BAR = Markup(
    '<svg class="bar" viewBox="0 0 100 1" preserveAspectRatio="none" aria-hidden="true"><rect width="{}" height="1"/></svg>'
)
# Between the parts of an opcode or of a name, where a line may end.
_JOINT = re.compile(r"(?<=[a-zA-Z][._])(?=[a-zA-Z])")
# Between the parts of a file's name in a title.
_FILE_JOINT = re.compile(r"(?<=[\w-][._])(?=\w)")
# A word that a line may be too short for, such as a list of counters, and where it may break.
_LONG = re.compile(r"[^\s<>]{40,}")
_WITHIN_LONG = re.compile(r"(?<=[,.])(?=\w)|(?<=_)(?=[a-zA-Z])")
# A change of a count, in which no line may end.
_CHANGE = re.compile("(\\d(?:\N{NO-BREAK SPACE}[^\\s\\d]{1,8})?) → (?=\\d)")
# The space between a figure and its unit, where no line may end.
_BEFORE_UNIT = re.compile(r"(?<=\d) (?=(?:%|[munμ]?s|[kMG]?Hz|[kMGT]?(?:B|FLOP)(?:/s)?)(?!\w))")
_INTERVAL = re.compile("± (?:< )?")

# A browser would break it after each hyphen.
_OPTION = re.compile(r"(?<![\w-])--?[a-z][\w-]{0,24}(?![\w-])")


def text_html(text: str) -> Markup:
    """Returns a text with its `code` marked.

    No line ends between a figure and its unit, within an arrow or from one count to the next, nor within an option. A
    long word breaks only between its parts.
    """
    shown = _BEFORE_UNIT.sub("\N{NO-BREAK SPACE}", printable(text).replace(" -> ", " → "))
    shown = _CHANGE.sub("\\1\N{NO-BREAK SPACE}→\N{NO-BREAK SPACE}", shown)
    shown = _INTERVAL.sub(lambda sign: sign[0].replace(" ", "\N{NO-BREAK SPACE}"), shown)
    marked = CODE_SPAN.sub(r"<code>\1</code>", str(escape(shown)))
    marked = _OPTION.sub(r'<span class="option">\g<0></span>', marked)
    return Markup(_LONG.sub(lambda long: _WITHIN_LONG.sub("<wbr>", long[0]), marked))


def _scroll_box(label: str, inside: Markup) -> Markup:
    """Returns a box that scrolls when its content is wider than the page."""
    return Markup('<div class="scroll" role="region" aria-label="{}" tabindex="0">{}</div>').format(
        printable(label), inside
    )


def table_html(table: doc.Table, heading: str, views: Collection[str]) -> Markup:
    """Returns the table in a box that scrolls, or nothing if it has no rows.

    A reader can sort and search its rows, unless they form a tree. The names of the rows stay in view.
    """
    if not table.rows:
        return Markup("")
    columns, texts, places = values_first(*table_texts(table, _INDENT))
    is_tree = any(isinstance(value, doc.Nested) for row in table.rows for value in row.values)
    # The sides of a comparison stand beside each other on any screen.
    has_sides = len(columns) > 1 and all(column.folds for column in columns[1:])
    is_judged = any(column.judges for column in columns)
    pinned = 2 if columns[0].kind == "number" else 1  # a number and a name
    classes = [_classes(column) for column in columns]
    heads = "".join(
        f'<th scope="col"{names}>{_title(column)}</th>'
        for column, names in zip(columns, classes, strict=True)
    )
    rows = []
    for row, row_texts in zip(table.rows, texts, strict=True):
        style = _STYLES[row.tone] if is_judged else ""
        cells = [
            f"{names}{_cell(row.values[place], text.strip(' '), column, views, number < pinned)}"
            for number, (text, place, column, names) in enumerate(
                zip(row_texts, places, columns, classes, strict=True)
            )
        ]
        first, others = f'<th scope="row"{cells[0]}</th>', [f"<td{cell}" for cell in cells[1:]]
        start = f'<tr class="{style}">' if style else "<tr>"
        rows.append(f"{start}{first}{''.join(others)}")
    caption = f"{heading}: {columns[pinned - 1].title or 'value'}"
    made = Markup(
        '<table class="pinned{}{}"{}>\n<caption>{}</caption>\n<thead><tr>{}</tr></thead>\n<tbody>\n{}\n</tbody>\n</table>'
    ).format(
        pinned,
        " beside" if has_sides else "",
        "" if is_tree else Markup(" data-sortable data-searchable"),
        printable(caption),
        Markup(heads),
        Markup("\n".join(rows)),
    )
    return _scroll_box(caption, made) + _meaning_of_marks(table)


def values_first(
    columns: Sequence[doc.Column], texts: Sequence[Sequence[str]], places: Sequence[int]
) -> tuple[list[doc.Column], list[list[str]], list[int]]:
    """Returns the table with the units behind the figures, which a phone shows first."""
    order = list(range(len(columns)))
    units = [place for place in order if columns[place].title == "unit"]
    figures = [place for place in order if columns[place].kind == "number"]
    if units and figures:
        order.remove(units[0])
        order.insert(order.index(figures[-1]) + 1, units[0])
    moved = [[row[place] for place in order] for row in texts]
    return [columns[place] for place in order], moved, [places[place] for place in order]


def _cell(value: doc.Cell, text: str, column: doc.Column, views: Collection[str], is_pinned: bool) -> str:
    """Returns how a cell is sorted and its content, as everything between its classes and its end."""
    figure = _sorted_by(column, value)
    sorted_by = "" if figure is None else f' data-value="{figure}"'
    if is_pinned:
        shown = _breakable(text)
    elif column.folds or column.prose:
        shown = text_html(text)
    else:
        shown = escape(printable(text))
    if column.bars and text:
        share = value.value if isinstance(value, doc.Linked) else value
        shown = _BAR.format(share) + shown
    if isinstance(value, doc.Linked) and value.view in views and text:
        shown = Markup('<a href="#{}">{}</a>').format(value.view, shown)
    return f"{sorted_by}>{shown}"


def _classes(column: doc.Column) -> str:
    """Returns the attribute for the cells of a column."""
    folds = (column.folds or column.prose or column.wide) and not column.is_right
    names = {"r": column.is_right, "mark": column.judges, "folds": folds, "aside": folds and column.wide}
    shown = " ".join(name for name, holds in names.items() if holds)
    return f' class="{shown}"' if shown else ""


def _title(column: doc.Column) -> Markup:
    """Returns a column's title, in which the name of a file may break behind a point or an underscore."""
    return Markup(_FILE_JOINT.sub("<wbr>", str(escape(printable(column.title or "value")))))


def _breakable(name: str) -> Markup:
    """Returns a long name with breaks between its words, so that it fits a phone's column.

    The metric names of Nsight Compute contain `__`. There are very many of them, and the style lets them
    break anywhere.
    """
    text = printable(name)
    if len(text) <= _NAME_FITS or "__" in text:
        return escape(text)
    return Markup("_<wbr>").join(text.split("_"))


def _sorted_by(column: doc.Column, value: doc.Cell) -> float | None:
    """Returns the number that sorts a cell whose unit varies, or that is in percent or a factor."""
    if isinstance(value, doc.Linked | doc.Marked):
        return _sorted_by(column, value.value)
    if column.kind == "duration" and isinstance(value, float | int):
        return value
    if column.kind == "relative" and isinstance(value, tuple):
        before, after = value
        return float(f"{(after - before) / abs(before):.6g}") if before else None
    return None


def _meaning_of_marks(table: doc.Table) -> Markup:
    """Returns the meaning of the marks in a column of figures; a column of words says it itself."""
    judged = next((column for column in table.columns if column.judges and column.is_right), None)
    tones = {row.tone for row in table.rows}
    marks = [text for tone, text in _MARKS.items() if tone in tones]
    if judged is None or not marks:
        return Markup("")
    return Markup('\n<p class="note">{}: {}</p>').format(judged.title, ", ".join(marks))


def code_html(code: doc.CodeBlock, heading: str) -> Markup:
    """Returns machine code, one side or two side by side, with a line between two stretches."""
    places = code.filled
    columns = [code.columns[place] for place in places]
    span = Markup(' colspan="{}"').format(len(columns))
    titles = Markup("").join(
        Markup('<th scope="colgroup"{}>{}</th>').format(span, printable(title)) for title in code.titles
    )
    names = Markup("").join(
        Markup('<th scope="col"{}>{}</th>').format(
            Markup(' class="r"') if column.is_right else "", column.title or "count"
        )
        for column in columns
    )
    stretches = Markup("\n").join(
        Markup("<tbody>\n{}\n</tbody>").format(
            Markup("\n").join(_code_row(row, columns, places, span) for row in rows)
        )
        for rows in code.stretches
    )
    sides = Markup("<tr>{}</tr>\n").format(titles) if len(code.titles) > 1 else ""
    caption = f"{heading}: by opcode"
    made = Markup(
        '<table class="sides{}">\n<caption>{}</caption>\n<thead>{}<tr>{}</tr></thead>\n{}\n</table>'
    ).format(" two" if len(code.titles) > 1 else "", caption, sides, names * len(code.titles), stretches)
    return _scroll_box(caption, made)


def _code_row(
    row: doc.CodeRow, columns: Sequence[doc.CodeColumn], places: Sequence[int], span: Markup
) -> Markup:
    cells = Markup("").join(
        _code_cell(side[place], column) if side else Markup("<td{}>").format(span)
        for side in row
        for place, column in (zip(places, columns, strict=True) if side else [(0, columns[0])])
    )
    return Markup("<tr>{}").format(cells)


def _code_cell(cell: doc.CodeCell, column: doc.CodeColumn) -> Markup:
    style = "quiet" if cell.quiet else ""
    if cell.width_bits is not None and not column.is_right:
        style = _width_class(cell.width_bits)
    names = " ".join(filter(None, ("r" if column.is_right else "", style)))
    shown = _JOINT.sub("<wbr>", str(escape(printable(cell.text))))
    return Markup("<td{}>{}").format(Markup(' class="{}"').format(names) if names else "", Markup(shown))


def _width_class(bits: int) -> str:
    """Returns the CSS class of an access of this width, in the colours that the charts use."""
    return "narrow" if bits <= 32 else "double" if bits <= 64 else "wide"
