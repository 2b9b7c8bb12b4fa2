"""Shows the first view of a page: a whole ladder at a glance, or the recordings that a user named."""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import dataclass

from msgspec.structs import replace

from profiler.analyse.ladder.ladder import LadderFinding
from profiler.present.document import Column, Row, Table, Value
from profiler.present.documents.ladder import ladder_notes, rungs_table
from profiler.present.documents.parts.ladder_columns import counter_legend
from profiler.present.page.contents import Contents, KernelPart, Pictures
from profiler.present.page.kernel_view import profiled_duration_ns
from profiler.present.page.tables import PageTable, page_table
from profiler.text import shortened

_NAME_WIDTH = 80
_RECORDING_COLUMNS = (
    Column("", right=True),
    Column("recording"),
    Column("kernel"),
    Column("GPU"),
    Column("launches", "number"),
    Column("time", "duration"),
    Column("under the profiler", "duration"),
    Column("binding"),
    Column("step", "ratio"),
)
# The marks as the page draws them.
_MARKS = {"better": "● faster beyond the noise", "worse": "■ slower beyond the noise"}


@dataclass(frozen=True)
class LadderView:
    title: str
    table: PageTable | None
    notes: list[str]
    roofline: Future[str] | None
    pictures: Pictures


def ladder_view(contents: Contents) -> LadderView:
    if contents.ladder is None:
        return LadderView("At a glance", _recordings(contents), [], None, {})
    finding = contents.ladder.ladder
    notes = [
        *_marks_notes(finding),
        *ladder_notes(finding),
        *("; ".join(one.shown() for one in legend.entries) for legend in counter_legend(finding)),
        *(f"also stored: {other}" for other in contents.others),
    ]
    return LadderView(
        "The ladder at a glance",
        _rungs(contents, finding),
        notes,
        contents.roofline_text,
        contents.pictures,
    )


def _rungs(contents: Contents, finding: LadderFinding) -> PageTable | None:
    made = rungs_table(finding)
    pairs = {pair.after.anchor: pair.anchor for pair in contents.pairs}
    titles = [column.title for column in made.columns]
    anchors: dict[tuple[int, int], str] = {}
    for place, rung in enumerate(finding.kernels):
        anchor = str(rung.kernel)
        anchors |= {(place, 0): anchor, (place, 1): anchor}
        if anchor in pairs:
            anchors[place, titles.index("step")] = pairs[anchor]
    return page_table(
        "Every rung, and its step from the one it follows",
        replace(made, columns=[replace(made.columns[0], title="rung"), *made.columns[1:]]),
        anchors=anchors,
        marked="step",
        pinned=2,
        sortable=True,
        searchable=True,
    )


def _marks_notes(finding: LadderFinding) -> list[str]:
    """Returns the meaning of the marks in front of the steps, if any."""
    found = {rung.verdict for rung in finding.kernels}
    notes = [text for verdict, text in _MARKS.items() if verdict in found]
    return [f"step: {', '.join(notes)}"] if notes else []


def _recordings(contents: Contents) -> PageTable | None:
    """Returns the recordings that a user named, each with the comparison to the one before, if any."""
    steps = {pair.after.anchor: pair for pair in contents.pairs}
    rows: list[Row] = []
    anchors: dict[tuple[int, int], str] = {}
    for place, part in enumerate(contents.kernels):
        pair = steps.get(part.anchor)
        speedup = pair.comparison.speedup if pair and pair.comparison else pair.speedup if pair else None
        rows.append(Row((part.anchor, *_recording(part), speedup.ratio if speedup else None)))
        anchors |= {(place, 0): part.anchor, (place, 1): part.anchor}
        if pair and speedup:
            anchors[place, len(_RECORDING_COLUMNS) - 1] = pair.anchor
    made = Table(_RECORDING_COLUMNS, rows, drops_empty=True)
    return page_table("What was recorded", made, anchors=anchors, pinned=2, sortable=True, searchable=True)


def _recording(part: KernelPart) -> tuple[Value, ...]:
    sheet = part.sheet
    return (
        shortened(part.name, _NAME_WIDTH),
        shortened(sheet.kernel, _NAME_WIDTH) if sheet and sheet.kernel != part.name else "",
        sheet.gpu if sheet else ", ".join(part.run.manifest.gpus),
        sheet.launches if sheet else None,
        (part.timing.timing.median_ns or None) if part.timing else None,
        profiled_duration_ns(sheet) or None,
        sheet.suspects[0].name.replace("-", " ") if sheet and sheet.suspects else "",
    )
