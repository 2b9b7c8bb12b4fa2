"""All kernels that two recordings share, as one document: a line for each, and in full all about each."""

from __future__ import annotations

from collections.abc import Sequence

from profiler.analyse.findings import Comparisons
from profiler.analyse.recording.kernel_names import plain_name
from profiler.present.document import Caution, Column, Document, Records, Row, Table, Text
from profiler.present.documents.comparison import VERDICT_TONE, comparison_document
from profiler.present.documents.parts.causes import headline_blocks
from profiler.text import change_text, counted, shortened

_MOST_ROWS = 40
_NAME_WIDTH = 100
_COLUMNS = (
    Column("kernel", shrinks=True),
    Column("before", "duration"),
    Column("after", "duration"),
    Column("change ± 95 %", right=True),
    Column("verdict", judges=True),
)


def comparisons_document(finding: Comparisons, *, full: bool = False, wanted: Sequence[str] = ()) -> Document:
    """Returns a row for each kernel with the time of all its launches.

    With `full` or `wanted` metrics, the comparison of each kernel follows.
    """
    rows = [
        Row(
            (
                shortened(plain_name(one.kernel), _NAME_WIDTH),
                one.before_ns,
                one.after_ns,
                change_text(one.change_pct, one.ci_pct),
                one.verdict,
            ),
            VERDICT_TONE[one.verdict],
        )
        for one in finding.index[:_MOST_ROWS]
    ]
    left_out = len(finding.index) - len(rows)
    more = (
        f"{counted(left_out, 'kernel', 'kernels')} with smaller changes: --format json lists them. "
        if left_out
        else ""
    )
    cautions = [set(one.comparable.warnings) for one in finding.comparisons]
    documents = [comparison_document(one, full=full, wanted=wanted) for one in finding.comparisons]
    records = [row for one in documents for row in one.records.rows]
    return Document(
        "All kernels that both have",
        [
            headline_blocks(finding.headline),
            [
                Table(_COLUMNS, rows),
                Text(f"{more}Ask next: `-k PATTERN` shows one kernel, `--full` everything."),
            ],
            [Caution(text) for text in sorted(set.intersection(*cautions))],
            *(section for one in documents if full or wanted for section in one.sections),
        ],
        Records(documents[0].records.header, records),
    )
