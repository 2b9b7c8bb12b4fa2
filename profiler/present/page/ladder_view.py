"""The first view: a whole ladder at a glance, or the recordings that were named."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass

from profiler.analyse.ladder.ladder import LadderFinding
from profiler.present.ladder import ladder_header, ladder_notes, rung_cells
from profiler.present.page.contents import Contents, KernelPart, Pictures
from profiler.present.page.kernel_view import profiled_duration_ns
from profiler.present.page.tables import Cell, Table, table, without_empty_columns
from profiler.present.rungs import duration
from profiler.text import number, shortened

_NAME_WIDTH = 80
_TEXT_COLUMNS = ("name", "binding")
# As the page draws them.
_MARKS = {"better": "● faster beyond the noise", "worse": "■ slower beyond the noise"}


@dataclass(frozen=True)
class LadderView:
    title: str
    table: Table | None
    notes: list[str]
    roofline: Future[str] | None
    pictures: Pictures


def ladder_view(contents: Contents) -> LadderView:
    if contents.ladder is None:
        return LadderView("At a glance", _recordings(contents), [], None, {})
    finding = contents.ladder.ladder
    header = ladder_header(finding)
    notes = [
        *_marks_notes(finding),
        *ladder_notes(finding, header),
        *(f"also stored: {other}" for other in contents.others),
    ]
    return LadderView(
        "The ladder at a glance",
        _rungs(contents, finding, header),
        notes,
        contents.roofline_text,
        contents.pictures,
    )


def _rungs(contents: Contents, finding: LadderFinding, header: Sequence[str]) -> Table | None:
    pairs = {pair.after.anchor: pair.anchor for pair in contents.pairs}
    rows = []
    for rung in finding.kernels:
        cells = [Cell(text.strip()) for text in rung_cells(rung, finding)]
        anchor = str(rung.kernel)
        cells[0] = Cell(cells[0].text, anchor=anchor)
        cells[1] = Cell(cells[1].text, anchor=anchor)
        _replace(cells, header, "time", value=rung.duration_ns)
        if anchor in pairs:
            _replace(cells, header, "step", anchor=pairs[anchor])
        rows.append(cells)
    return table(
        "Every rung, and its step from the one it follows",
        ["rung", *header[1:]],
        rows,
        right=[place for place, title in enumerate(header) if title not in _TEXT_COLUMNS],
        styles=[rung.verdict or "" for rung in finding.kernels],
        marked=header.index("step"),
        pinned=2,
        sortable=True,
        searchable=True,
    )


def _replace(
    cells: list[Cell], header: Sequence[str], title: str, value: float | None = None, anchor: str = ""
) -> None:
    place = header.index(title)
    if cells[place].text:
        cells[place] = Cell(cells[place].text, value, anchor)


def _marks_notes(finding: LadderFinding) -> list[str]:
    """Of the marks before the steps, those that are there."""
    found = {rung.verdict for rung in finding.kernels}
    told = [text for verdict, text in _MARKS.items() if verdict in found]
    return [f"step: {', '.join(told)}"] if told else []


def _recordings(contents: Contents) -> Table | None:
    """What was named, with the comparison to the one before where there is one."""
    steps = {pair.after.anchor: pair for pair in contents.pairs}
    rows = []
    for part in contents.kernels:
        pair = steps.get(part.anchor)
        ratio = pair.comparison.speedup if pair and pair.comparison else pair.speedup if pair else None
        step = Cell(f"{number(ratio.ratio)}x", anchor=pair.anchor) if pair and ratio else Cell("")
        rows.append([Cell(part.anchor, anchor=part.anchor), *_recording(part), step])
    return without_empty_columns(
        table(
            "What was recorded",
            ("", "recording", "kernel", "GPU", "launches", "time", "under the profiler", "binding", "step"),
            rows,
            right=(0, 4, 5, 6, 8),
            pinned=2,
            sortable=True,
            searchable=True,
        )
    )


def _recording(part: KernelPart) -> list[Cell]:
    sheet = part.sheet
    timed_ns = part.timing.timing.median_ns if part.timing else None
    profiled_ns = profiled_duration_ns(sheet)
    return [
        Cell(shortened(part.name, _NAME_WIDTH), anchor=part.anchor),
        Cell(shortened(sheet.kernel, _NAME_WIDTH) if sheet and sheet.kernel != part.name else ""),
        Cell(sheet.gpu if sheet else ", ".join(part.run.manifest.gpus)),
        Cell(number(sheet.launches) if sheet else ""),
        Cell(duration(timed_ns) if timed_ns else "", timed_ns),
        Cell(duration(profiled_ns) if profiled_ns else "", profiled_ns),
        Cell(sheet.suspects[0].name.replace("-", " ") if sheet and sheet.suspects else ""),
    ]
