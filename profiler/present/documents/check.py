"""The result of `prof check` as a document: every limit, and whether it holds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from profiler.analyse.causes.cause import Headline
from profiler.analyse.check import (
    CheckFinding,
    MetricCheck,
    Outcome,
    PairCheck,
    allowed,
    change_of,
    value_text,
)
from profiler.analyse.check_summary import ITSELF, gains, names_of, pair_name
from profiler.analyse.findings import REASONS
from profiler.present import document as doc
from profiler.present.documents.parts.causes import headline_blocks
from profiler.text import counted, first_of

_KERNEL = doc.Column("kernel", shrinks=True)
_RECORDING = doc.Column("recording", stays=0)
_METRIC = doc.Column("metric", stays=2)
_FIGURES = (
    doc.Column("baseline", right=True),
    doc.Column("candidate", right=True),
    doc.Column("change ± 95 %", right=True, kept=True),
    doc.Column("allowed", stays=1, right=True),
    doc.Column("outcome", folds=True),
)
_MOST_NAMED = 6
_TONE: dict[Outcome, doc.Tone] = {
    "passed": "good",
    "regression": "bad",
    "unclear": "warn",
    "not_comparable": "warn",
}
_SIGN: dict[Outcome, str] = {"passed": "✅", "regression": "❌", "unclear": "❔", "not_comparable": "🚫"}
_HEADER = (
    "name", "kernel", "run_before", "run_after", "metric", "unit", "basis", "before", "after", "change_pct",
    "ci_low_pct", "ci_high_pct", "way", "limit_pct", "outcome", "reason", "accepted",
)  # fmt: skip


def check_document(finding: CheckFinding) -> doc.Document:
    """Returns the outcome, why, and a row for each limit; a pair that is not comparable has one row without figures."""
    lines = list(check_lines(finding))
    reasons = _reasons(finding)
    sections: list[doc.Section] = [
        [*reasons, *_gains(finding)],
        _sides(finding),
        [] if _title_has_all(lines, is_explained=bool(reasons)) else _limits(finding, lines),
        [
            *(doc.Text(f"{pair_name(pair)}: {line}") for pair in finding.pairs for line in pair.refused),
            *map(doc.Caution, _cautions(finding)),
            *map(doc.Text, _notes(finding)),
        ],
    ]
    return doc.Document(
        f"{_SIGN[finding.outcome]} {finding.headline.what}",
        sections,
        doc.Records(_HEADER, [*(_record(pair, one) for pair, one in lines), *_unpaired_records(finding)]),
        titled=True,
    )


def check_error_document(lines: Sequence[str]) -> doc.Document:
    """Returns the error that kept anything from being checked; the first line is the message."""
    message, *others = lines
    texts = [doc.Text(line.strip(), wraps=False) for line in others]
    return doc.Document(f"🚫 nothing was checked: {message}", [texts])


def _reasons(finding: CheckFinding) -> doc.Section:
    """Returns how much slower each kernel got, why, and what to change. Of many kernels, these are the first."""
    lines: list[doc.Block] = []
    for pair in [pair for pair in finding.pairs if pair.what and pair.outcome == "regression"][:_MOST_NAMED]:
        name = f"{pair_name(pair)}: " if len(finding.pairs) > 1 else ""
        lines += headline_blocks(Headline(f"{name}{pair.what}", pair.why, pair.next))
    return lines


def _gains(finding: CheckFinding) -> doc.Section:
    """Returns what got faster, where the outcome is another and leaves it out."""
    faster = "" if finding.outcome == "passed" else gains(finding)
    return [doc.Text(faster)] if faster else []


def _sides(finding: CheckFinding) -> doc.Section:
    """Returns the two recordings if there is a single pair."""
    if len(finding.pairs) != 1:
        return []
    (pair,) = finding.pairs
    kernel, _ = names_of(pair, several=False)
    return [doc.Facts([("kernel", kernel), ("baseline", pair.before), ("candidate", pair.after)])]


def _title_has_all(lines: Sequence[tuple[PairCheck, MetricCheck | None]], *, is_explained: bool) -> bool:
    """Returns whether the first lines say all that the table would: of a single pair that cannot be compared, or of a single
    limit that does not hold and `is_explained`, unless its row has a reason to add.
    """
    if len(lines) != 1:
        return False
    limit = lines[0][1]
    return limit is None or (is_explained and not limit.accepted)


def _limits(finding: CheckFinding, lines: Sequence[tuple[PairCheck, MetricCheck | None]]) -> doc.Section:
    """Returns the table of limits. If there is a single pair, the kernel's name stands above the table, not in it.

    A narrow window leaves out what all rows share, and the recordings if the kernels tell the rows apart.
    """
    several = len(finding.pairs) > 1
    rows = []
    for pair, one in lines:
        names = names_of(pair, several) if several else ()
        rows.append(doc.Row((*names, *limit_cells(pair, one)), _TONE[outcome_of(pair, one)]))
    kernels = {names_of(pair, several)[0] for pair in finding.pairs}
    recording, metric = _RECORDING, _METRIC
    if len(kernels) < len(finding.pairs):
        recording = replace(recording, stays=None, kept=True)
    if len({one.metric for _, one in lines if one}) > 1:
        metric = replace(metric, stays=None, kept=True)
    columns = (*((_KERNEL, recording) if several else ()), metric, *_FIGURES)
    return [doc.Table(columns, rows, drops_empty=True)]


def outcome_of(pair: PairCheck, one: MetricCheck | None) -> Outcome:
    """Returns the outcome of a limit: where the kernels may be different ones, none passes."""
    if one is None:
        return pair.outcome
    return "unclear" if one.outcome == "passed" and pair.is_doubted else one.outcome


def unpaired(finding: CheckFinding) -> Iterator[tuple[str, Outcome | None, str]]:
    """Yields what only one side has: its name, the outcome that this alone has, and why; what is new or was accepted has none."""
    for name in (*finding.gone, *finding.missing):
        yield name, "unclear", "only in the baseline, so a regression would not be seen"
    for one in finding.removed:
        yield one.name, None, f"only in the baseline; accepted by {one.accepted}"
    for name in finding.new:
        yield name, None, "only in the candidate, so there is nothing to check it against"


def check_lines(finding: CheckFinding) -> Iterator[tuple[PairCheck, MetricCheck | None]]:
    """Yields every limit with its pair; a pair that is not comparable comes once, without a limit."""
    for pair in finding.pairs:
        yield from ((pair, one) for one in pair.checks or (None,))


def limit_cells(pair: PairCheck, one: MetricCheck | None) -> tuple[str, ...]:
    """Returns the texts of a row after the kernel's name; figures are in the unit of their metric."""
    if one is None:
        return ("", "", "", "", "", "not comparable")
    metric = f"{one.metric} (timed)" if one.basis == "unprofiled" else one.metric
    reason = _reason(pair, one)
    outcome = ITSELF if pair.is_itself else f"{outcome_of(pair, one)}{f' ({reason})' if reason else ''}"
    before, after = (value_text(value, one.unit) for value in (one.before, one.after))
    return (metric, before, after, change_of(one), allowed(one), outcome)


def _reason(pair: PairCheck, one: MetricCheck) -> str:
    """Returns why a limit has its outcome; "" if the figures beside it say that."""
    accepted = f"accepted by {one.accepted}" if one.accepted else ""
    if one.outcome == "regression" and one.accepted and one.accepted_after is not None:
        way = "up" if one.way == "rise" else "down"
        limit, now = value_text(one.accepted_after, one.unit), value_text(one.after, one.unit)
        return f"{accepted}, {way} to {limit}; now {now}"
    if one.outcome != "passed":
        return REASONS[one.reason]
    if pair.is_doubted:
        return "another kernel?"
    if accepted:
        return accepted
    if one.reason == "beyond_launches":
        return REASONS[one.reason]
    return one.verdict if one.verdict == "better" else ""


def _cautions(finding: CheckFinding) -> list[str]:
    """Returns what to doubt in the table: which pairs it leaves out, that others are of two kernels, and then all else.

    A caution that many pairs share appears once.
    """
    notes = []
    if alike := [pair_name(pair) for pair in finding.pairs if pair.is_itself]:
        notes.append(
            f"{len(alike)} of {counted(len(finding.pairs), 'kernel')} not checked, "
            f"{ITSELF}: {first_of(alike, _MOST_NAMED, '; ')}"
        )
    cautions: dict[str, dict[str, None]] = {}
    doubts = [(one, _doubt(one)) for one in finding.pairs if one.doubt]
    others = [(one, warning) for one in finding.pairs for warning in one.warnings]
    for pair, caution in [*doubts, *others]:
        cautions.setdefault(caution, {})[pair_name(pair)] = None
    everyone = {pair_name(pair) for pair in finding.pairs}
    for warning, names in cautions.items():
        which = "" if names.keys() == everyone else f"{', '.join(names)}: "
        notes.append(f"{which}{warning}")
    return notes


def _notes(finding: CheckFinding) -> list[str]:
    """Returns what the table leaves unsaid."""
    gone = [f"in the baseline only, so not checked: {one}" for one in finding.gone]
    removed = [f"in the baseline only: {one.name}; accepted by {one.accepted}" for one in finding.removed]
    return [*gone, *removed, *finding.notes]


def _doubt(pair: PairCheck) -> str:
    if pair.doubt_accepted:
        return f"{pair.doubt}; accepted by {pair.doubt_accepted}"
    return f"{pair.doubt}; nothing recorded says that they do the same work"


def _record(pair: PairCheck, one: MetricCheck | None) -> Sequence[doc.Plain]:
    head = (pair.name, pair.kernel, pair.before, pair.after)
    if one is None:
        return (*head, *[None] * 10, pair.outcome, "; ".join(pair.refused), "")
    return (
        *head, one.metric, one.unit, one.basis, one.before, one.after, one.change_pct,
        *(one.ci_pct or (None, None)), one.way, one.limit_pct, outcome_of(pair, one),
        one.reason or (pair.doubt if pair.is_doubted else ""), one.accepted or pair.doubt_accepted,
    )  # fmt: skip


def _unpaired_records(finding: CheckFinding) -> Iterator[Sequence[doc.Plain]]:
    for name, outcome, why in unpaired(finding):
        yield (name, *[None] * 13, outcome, why, "")
