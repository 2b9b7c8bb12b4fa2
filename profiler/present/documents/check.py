"""The result of `prof check` as a document: every limit, and whether it holds; with --sass, every function."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from profiler.analyse.causes.cause import Headline
from profiler.analyse.check import CheckFinding, MetricCheck, Outcome, PairCheck
from profiler.analyse.code.alignment import CodeCheck, FunctionState
from profiler.analyse.findings import REASONS
from profiler.analyse.recording.kernel_names import plain_name
from profiler.catalog.metrics import DURATION
from profiler.present import document as doc
from profiler.present.documents.parts.causes import headline_blocks
from profiler.text import change_text, counted, duration, first_of, number, relative, shortened

_COLUMNS = (
    doc.Column("kernel", shrinks=True),
    doc.Column("recording", stays=3),
    doc.Column("metric"),
    doc.Column("baseline", stays=0, right=True),
    doc.Column("candidate", stays=1, right=True),
    doc.Column("change ± 95 %", right=True),
    doc.Column("allowed", stays=2, right=True),
    doc.Column("outcome", folds=True),
)
_NAME_WIDTH = 60
_MOST_NAMED = 6
_MOST_IN_LINE = 3
_ITSELF = "the same recording on both sides"
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
    """Returns a row for each limit; a pair that is not comparable has one row without figures."""
    lines = list(check_lines(finding))
    several = len(finding.pairs) > 1
    rows = [
        doc.Row(
            (*_names(pair, several), *limit_cells(pair, one)),
            _TONE[outcome_of(pair, one)],
        )
        for pair, one in lines
    ]
    reasons = _reasons(finding)
    sections: list[doc.Section] = [
        reasons,
        _sides(finding),
        [doc.Table(_COLUMNS, rows, drops_empty=True)],
        [doc.Text(note, wraps=False) for note in _notes(finding)],
    ]
    verdict = sentence(finding)
    return doc.Document(
        f"{_SIGN[finding.outcome]} {verdict}",
        sections,
        doc.Records(_HEADER, [*(_record(pair, one) for pair, one in lines), *_unpaired_records(finding)]),
        closing=doc.Text(verdict, _TONE[finding.outcome], strong=True, wraps=False) if reasons else None,
        titled=not reasons,
    )


def check_error_document(lines: Sequence[str]) -> doc.Document:
    """Returns the error because of which nothing was checked; the first line is the message."""
    message, *others = lines
    return doc.Document(
        f"🚫 nothing was checked: {message}", [[doc.Text(line.strip(), wraps=False) for line in others]]
    )


def sentence(finding: CheckFinding) -> str:
    """Returns the outcome in one line, with the kernels that got faster and what only one side has."""
    outcome, lost = _outcome(finding), _lost(finding)
    if lost and finding.outcome == "unclear" and not any(pair.outcome == "unclear" for pair in finding.pairs):
        outcome, lost = f"unclear: {lost}, so a regression there would not be seen; {outcome}", ""
    new = (
        f"; {counted(len(finding.new), 'recording is', 'recordings are')} new: {first_of(finding.new, _MOST_IN_LINE)}"
        if finding.new
        else ""
    )
    removed = [one.name for one in finding.removed]
    accepted = (
        f"; {counted(len(removed), 'removal', 'removals')} accepted: {first_of(removed, _MOST_IN_LINE)}"
        if removed
        else ""
    )
    return f"{outcome}{_gains(finding)}{f'; {lost}' if lost else ''}{accepted}{new}"


def _lost(finding: CheckFinding) -> str:
    """Returns what the baseline has and the candidate lacks, in words; "" for nothing."""
    what = (
        (finding.gone, "kernel of the baseline is gone", "kernels of the baseline are gone"),
        (
            finding.missing,
            "recording of the baseline has no counterpart",
            "recordings of the baseline have no counterpart",
        ),
    )
    return " and ".join(
        f"{counted(len(names), one, many)} ({first_of(names, _MOST_IN_LINE)})"
        for names, one, many in what
        if names
    )


def _gains(finding: CheckFinding) -> str:
    """Returns how much faster the kernels are whose time fell beyond noise, the largest gains first."""
    faster = [
        (pair, one, one.change_pct)
        for pair in finding.pairs
        for one in pair.checks[:1]
        if one.metric == DURATION and one.verdict == "better" and one.change_pct is not None
    ]
    faster.sort(key=lambda gain: gain[2])
    texts = [
        f"{pair_name(pair)} takes {change_text(pct, one.ci_pct).removeprefix('-')} less time"
        for pair, one, pct in faster
    ]
    return f"; faster: {first_of(texts, _MOST_IN_LINE)}" if texts else ""


def _outcome(finding: CheckFinding) -> str:
    pairs = finding.pairs
    worst = [pair for pair in pairs if pair.outcome == finding.outcome]
    bad = [pair_name(pair) for pair in worst]
    named = f": {first_of(bad, _MOST_IN_LINE)}"
    if not bad or finding.outcome == "passed":
        return f"{'passed: ' if finding.outcome == 'passed' else ''}{_no_regression(pairs)}"
    kernels = f"{len(bad)} of {counted(len(pairs), 'kernel', 'kernels')}"
    if finding.outcome == "regression":
        return f"regression in {kernels}{named}"
    if finding.outcome == "unclear":
        undecided = any(one.outcome == "unclear" for pair in worst for one in pair.checks)
        why = [
            *(["the launches do not decide it"] if undecided else []),
            *(["the baseline's kernel has another name"] if any(map(is_doubted, worst)) else []),
        ]
        return f"unclear in {kernels}, {' or '.join(why)}{named}"
    return f"not comparable with its baseline: {kernels}{named}"


def _no_regression(pairs: Sequence[PairCheck]) -> str:
    """Returns in how many kernels there is no regression, which were accepted, and how many were not checked."""
    if not pairs:
        return "nothing was checked, because no kernel of one side has a counterpart in the other"
    alike = sum(is_itself(pair) for pair in pairs)
    if alike == len(pairs):  # a change that records no new run is no regression
        kernels = counted(alike, "kernel", "kernels")
        return f"nothing was checked, because both sides hold the same recordings of {kernels}"
    accepted = [
        pair_name(pair)
        for pair in pairs
        if pair.doubt_accepted or any(is_accepted(one) for one in pair.checks)
    ]
    but = (
        f", except {len(accepted)} that {'was' if len(accepted) == 1 else 'were'} accepted: {first_of(accepted, _MOST_IN_LINE)}"
        if accepted
        else ""
    )
    left_out = f"; {alike} of {len(pairs)} not checked, {_ITSELF}" if alike else ""
    return f"no regression in {counted(len(pairs) - alike, 'kernel', 'kernels')}{but}{left_out}"


def _reasons(finding: CheckFinding) -> doc.Section:
    """Returns how much slower each kernel got, why, and what to change; the rest of many are only in the JSON."""
    lines: list[doc.Block] = []
    for pair in [pair for pair in finding.pairs if pair.what and pair.outcome == "regression"][:_MOST_NAMED]:
        name = f"{pair_name(pair)}: " if len(finding.pairs) > 1 else ""
        lines += headline_blocks(Headline(f"{name}{pair.what}", pair.why, pair.next))
    return lines


def _sides(finding: CheckFinding) -> doc.Section:
    """Returns the two recordings if there is a single pair."""
    if len(finding.pairs) != 1:
        return []
    (pair,) = finding.pairs
    return [doc.Facts([("baseline", pair.before), ("candidate", pair.after)])]


def is_itself(pair: PairCheck) -> bool:
    """Returns whether both sides are the same recording, which proves nothing about the code."""
    return pair.before == pair.after


def is_accepted(one: MetricCheck) -> bool:
    """Returns whether a regression passes because somebody accepted it."""
    return bool(one.accepted) and one.outcome == "passed"


def is_doubted(pair: PairCheck) -> bool:
    """Returns whether the two may be different kernels, which nobody accepted."""
    return bool(pair.doubt) and not pair.doubt_accepted


def outcome_of(pair: PairCheck, one: MetricCheck | None) -> Outcome:
    """Returns the outcome of a limit: where the kernels may be different ones, none passes."""
    if one is None or (one.outcome == "passed" and is_doubted(pair)):
        return pair.outcome if one is None else "unclear"
    return one.outcome


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
        if pair.checks:
            yield from ((pair, one) for one in pair.checks)
        else:
            yield pair, None


def pair_name(pair: PairCheck) -> str:
    """Returns the kernel's name as people call it, and the recording in which it is, unless that has the same name."""
    kernel, recording = _names(pair, several=True)
    return f"{kernel} ({recording})" if recording else kernel


def _names(pair: PairCheck, several: bool) -> tuple[str, str]:
    """Returns the kernel's name, and that of its recording where there are `several`; a recording without a known kernel has only one."""
    title = recording_name(pair)
    kernel = shortened(plain_name(pair.kernel), _NAME_WIDTH)
    if not kernel or kernel == title:
        return title, ""
    return kernel, title if several else ""


def recording_name(pair: PairCheck) -> str:
    """Returns the name of the recording that holds the kernel: a report's file name, or a run's name and workload."""
    return shortened(pair.name.removesuffix(f": {pair.kernel}"), _NAME_WIDTH)


def limit_cells(pair: PairCheck, one: MetricCheck | None) -> tuple[str, ...]:
    """Returns the texts of a row behind the kernel's name; figures are in the unit of their metric."""
    if one is None:
        return ("", "", "", "", "", "not comparable")
    metric = f"{one.metric} (timed)" if one.basis == "unprofiled" else one.metric
    reason = f"accepted by {one.accepted}" if one.accepted else one.verdict if one.verdict == "better" else ""
    if one.outcome == "regression" and one.accepted and one.accepted_after is not None:
        way = "up" if one.way == "rise" else "down"
        limit, now = _value(one.accepted_after, one.unit), _value(one.after, one.unit)
        reason = f"accepted by {one.accepted}, {way} to {limit}; now {now}"
    elif one.outcome != "passed":
        reason = REASONS[one.reason]
    elif is_doubted(pair):
        reason = "another kernel?"
    return (
        metric,
        _value(one.before, one.unit),
        _value(one.after, one.unit),
        relative(one.before, one.after)
        if one.change_pct is None
        else change_text(one.change_pct, one.ci_pct),
        f"{'+' if one.way == 'rise' else '-'}{one.limit_pct:g} %",
        _ITSELF if is_itself(pair) else f"{outcome_of(pair, one)}{f' ({reason})' if reason else ''}",
    )


def _value(value: float, unit: str) -> str:
    return duration(value) if unit == "ns" else number(value)


def _notes(finding: CheckFinding) -> list[str]:
    """Returns what the table leaves unsaid; a caution that many pairs share appears once."""
    notes = [f"{pair_name(pair)}: {line}" for pair in finding.pairs for line in pair.refused]
    if alike := [pair_name(pair) for pair in finding.pairs if is_itself(pair)]:
        notes.append(
            f"caution: {len(alike)} of {counted(len(finding.pairs), 'kernel', 'kernels')} not checked, "
            f"{_ITSELF}: {first_of(alike, _MOST_NAMED, '; ')}"
        )
    cautions: dict[str, dict[str, None]] = {}
    for pair in finding.pairs:
        for warning in [*pair.warnings, *([_doubt(pair)] if pair.doubt else [])]:
            cautions.setdefault(warning, {})[pair_name(pair)] = None
    everyone = {pair_name(pair) for pair in finding.pairs}
    for warning, names in cautions.items():
        which = "" if names.keys() == everyone else f"{', '.join(names)}: "
        notes.append(f"caution: {which}{warning}")
    gone = [f"in the baseline only, so not checked: {one}" for one in finding.gone]
    removed = [f"in the baseline only: {one.name}; accepted by {one.accepted}" for one in finding.removed]
    return [*notes, *gone, *removed, *finding.notes]


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
        one.reason or (pair.doubt if is_doubted(pair) else ""), one.accepted or pair.doubt_accepted,
    )  # fmt: skip


def _unpaired_records(finding: CheckFinding) -> Iterator[Sequence[doc.Plain]]:
    for name, outcome, why in unpaired(finding):
        yield (name, *[None] * 13, outcome, why, "")


_NAME_WIDTH = 60
_CODE_HEADER = (
    "function",
    "state",
    "instructions_before",
    "instructions_after",
    "index",
    "before",
    "after",
    "place",
)
_CODE_TONE: dict[FunctionState, doc.Tone] = {"same": "good", "changed": "bad", "missing": "bad", "new": "bad"}


def code_check_document(finding: CodeCheck) -> doc.Document:
    """Returns a row for each function; a changed one has the first instructions that differ."""
    columns = (
        doc.Column("function", folds=True),
        doc.Column("code"),
        doc.Column("instructions", right=True),
        doc.Column("baseline", folds=True),
        doc.Column("candidate", folds=True),
        doc.Column("line"),
    )
    rows = []
    for one in finding.functions:
        counts = f"{one.instructions_before} → {one.instructions_after}"
        if one.instructions_before == one.instructions_after:
            counts = str(one.instructions_before)
        name = shortened(one.function, _NAME_WIDTH)
        values = (name, one.state, counts, one.before, one.after, one.place or "")
        rows.append(doc.Row(values, _CODE_TONE[one.state]))
    records = [
        [one.function, one.state, one.instructions_before, one.instructions_after, one.index, one.before, one.after, one.place]
        for one in finding.functions
    ]  # fmt: skip
    verdict = _code_sentence(finding)
    closing = doc.Text(verdict, "bad" if finding.changed else "good", strong=True, wraps=False)
    return doc.Document(
        verdict, [[doc.Table(columns, rows)]], doc.Records(_CODE_HEADER, records), closing=closing
    )


def _code_sentence(finding: CodeCheck) -> str:
    """Returns the outcome in one line."""
    other = [one for one in finding.functions if one.state != "same"]
    whole = counted(len(finding.functions), "function", "functions")
    if not other:
        return f"the machine code is the same in {whole}"
    first = other[0]
    name = shortened(first.function, _NAME_WIDTH)
    where = {
        "changed": f"{name}, from instruction {first.index} on",
        "missing": f"{name} is gone",
        "new": f"{name} is new",
        "same": "",
    }[first.state]
    return f"the machine code differs in {len(other)} of {whole}: {where}"
