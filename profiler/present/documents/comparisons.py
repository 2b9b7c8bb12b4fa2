"""The comparison of every kernel that two recordings have: a row each, and what changed most."""

from __future__ import annotations

from collections.abc import Sequence

from profiler.analyse import findings
from profiler.analyse.recording.kernel_names import plain_name
from profiler.present import document as doc
from profiler.present.documents.comparison import comparison_document
from profiler.present.documents.parts.causes import headline_blocks
from profiler.present.documents.parts.verdicts import VERDICT_TONE, verdict_text
from profiler.text import Spoken, change_text, counted, shortened

_NAME_WIDTH = 100
_MOST_ROWS = 40
_COLUMNS = (
    doc.Column("kernel", shrinks=True),
    doc.Column("launches", right=True, stays=0),
    doc.Column("a launch before", "duration"),
    doc.Column("after", "duration"),
    doc.Column("change ± 95 %", right=True),
    doc.Column("verdict", judges=True),
)


def answer_document(
    finding: findings.ComparisonFinding | findings.Comparisons,
    *,
    full: bool = False,
    wanted: Sequence[str] = (),
) -> doc.Document:
    """Returns the document of one comparison, also where one kernel is all that both have, or that of several."""
    if isinstance(finding, findings.Comparisons):
        first, *others = finding.comparisons
        if others:
            return comparisons_document(finding, full=full, wanted=wanted)
        finding = first
    return comparison_document(finding, full=full, wanted=wanted)


def comparisons_document(
    finding: findings.Comparisons, *, full: bool = False, wanted: Sequence[str] = ()
) -> doc.Document:
    """Returns a row for each kernel with the mean time of a launch, and the change of that time with its verdict.

    With `full` or `wanted` metrics, the comparison of each kernel follows.
    """
    rows = [doc.Row(_cells(one), VERDICT_TONE[one.verdict]) for one in finding.index[:_MOST_ROWS]]
    left_out = len(finding.index) - len(rows)
    more = f"{counted(left_out, 'kernel')} with smaller changes: " + Spoken(
        "--format json lists them. ", "`.to_pandas()` lists them. "
    )
    ask = Spoken(
        "`-k PATTERN` shows one kernel, `--full` everything.",
        "`[0]`, `['name']` and `kernel_name='name'` give one kernel.",
    )
    cautions = [set(one.comparable.warnings) for one in finding.comparisons]
    documents = [comparison_document(one, full=full, wanted=wanted) for one in finding.comparisons]
    records = [row for one in documents for row in one.records.rows]
    sections: list[doc.Section] = [
        headline_blocks(finding.headline),
        [doc.Table(_COLUMNS, rows), doc.Text((more if left_out else "") + ask)],
        [doc.Caution(text) for text in sorted(set.intersection(*cautions))],
        *(section for one in documents if full or wanted for section in one.sections),
    ]
    header = documents[0].records.header
    return doc.Document("All kernels that both have", sections, doc.Records(header, records))


def _cells(one: findings.ComparedKernel) -> tuple[doc.Cell, ...]:
    before, after = one.before_launches, one.after_launches
    launches = f"{before:,}" if before == after else f"{before:,} -> {after:,}"
    return (
        shortened(plain_name(one.kernel), _NAME_WIDTH),
        launches,
        one.before_ns / before,
        one.after_ns / after,
        change_text(one.change_pct, one.ci_pct),
        verdict_text(one.verdict, one.reason, one.change_pct),
    )
