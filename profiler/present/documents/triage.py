"""The kernels of several recordings as a document: a row for each, the one in which one change is likely to save most first."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from msgspec.structs import asdict

from profiler.analyse.recording.kernel_names import plain_name
from profiler.analyse.recording.triage import Triage, TriagedKernel
from profiler.present import document as doc
from profiler.present.documents.parts.causes import headline_blocks, source_notes
from profiler.present.documents.recording import share_cell, top_cause_cell
from profiler.text import (
    Spoken,
    counted,
    report_name,
    share_of_whole,
    short_gpu,
    shortened,
)

_NAME_WIDTH, _RECORDING_WIDTH = 60, 30
_MOST_ROWS = 28  # as of the kernels of one recording
SHARES_MEANING = (
    "Shares are of the launches that were recorded, which may be few of those that a program makes."
)
_COLUMNS = (
    doc.Column("share", right=True),
    doc.Column("total", "duration", stays=1),
    doc.Column("likely saves", "duration"),
    doc.Column("launches", "number", stays=0),
    doc.Column("recording", kept=True),
    doc.Column("kernel", shrinks=True),
    doc.Column("top cause", kept=True),
    doc.Column("GPU", stays=2),
)


def triage_document(found: Triage, *, full: bool = False) -> doc.Document:
    """Returns the sentences, a row for each kernel in which a change saves much, or `full` for all, and what to ask next."""
    rows, rest = (found.index, []) if full else (found.index[:_MOST_ROWS], found.index[_MOST_ROWS:])
    names = _names(found.index)
    gpus = {one.gpu for one in found.index}
    share = sum(one.share_pct or 0.0 for one in rest)
    more = (
        f"{counted(len(rest), 'more kernel takes', 'more kernels take')} {share_of_whole(share)} % of the time; "
        + Spoken("--full lists all.", "`.to_pandas()` lists all.")
    )
    cells = [doc.Row(_cells(one, names[one.source], len(gpus) > 1)) for one in rows]
    notes = [*([more] if rest else []), SHARES_MEANING, _next(found.index)]
    return doc.Document(
        counted(found.recordings, "recording"),
        [
            headline_blocks(found.headline),
            [
                doc.Table(_COLUMNS, cells, drops_empty=True),
                *source_notes((one.where for one in rows), found.headline),
                *map(doc.Text, notes),
            ],
            [doc.Caution(text) for text in found.cautions],
        ],
        doc.Records(TriagedKernel.__struct_fields__, [tuple(asdict(one).values()) for one in found.index]),
    )


def _names(index: Sequence[TriagedKernel]) -> dict[str, str]:
    """Returns what to call each recording: its name alone, unless two in different folders share it."""
    sources = dict.fromkeys(one.source for one in index)
    names = [report_name(source) for source in sources]
    return {
        source: shortened(name if names.count(name) == 1 else source, _RECORDING_WIDTH)
        for source, name in zip(sources, names, strict=True)
    }


def _cells(one: TriagedKernel, recording: str, many_gpus: bool) -> tuple[doc.Value, ...]:
    return (
        share_cell(one),
        one.total_ns,
        one.likely_saves_ns,
        one.launches,
        recording,
        shortened(plain_name(one.kernel_name), _NAME_WIDTH),
        top_cause_cell(one),
        short_gpu(one.gpu) if many_gpus else "",
    )


def _comparable(index: Sequence[TriagedKernel]) -> Sequence[str]:
    """Returns both recordings if there are two that `prof compare` takes as they are: of one GPU, and it is clear which kernels it pairs."""
    kernels: dict[str, set[str]] = {}
    for one in index:
        kernels.setdefault(one.source, set()).add(one.kernel_name)
    sides = list(kernels.values())
    if len(sides) != 2 or len({one.gpu for one in index}) > 1:
        return ()
    return tuple(kernels) if sides[0] & sides[1] or all(len(side) == 1 for side in sides) else ()


def _next(index: Sequence[TriagedKernel]) -> str:
    pair = shlex.join(_comparable(index)) or "BEFORE AFTER"
    return Spoken(
        f"`prof show RECORDING` shows all about one, and `prof compare {pair}` what changed between two.",
        "`[0]`, `['name']` and `.sheets` give all about one kernel.",
    )
