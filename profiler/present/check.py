"""A `CheckFinding` as a terminal page, a Markdown summary, CSV or JUnit XML."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from xml.etree import ElementTree

from profiler.analyse.check import CheckFinding, MetricCheck, Outcome, PairCheck
from profiler.analyse.findings import REASONS
from profiler.present.encode import Cell, markdown_text, to_csv, to_markdown
from profiler.present.rungs import duration
from profiler.present.terminal import render_table, styled
from profiler.text import counted, number, printable, relative, shortened

_HEADER = ("kernel", "metric", "baseline", "candidate", "change", "95 % interval", "allowed", "outcome")
_RIGHT = (2, 3, 4, 5, 6)
_NAME_WIDTH = 60
_MOST_NAMED = 6
_ITSELF = "the same recording on both sides"
_STYLE: dict[Outcome, str] = {
    "passed": "green",
    "regression": "red",
    "unclear": "yellow",
    "not_comparable": "yellow",
}
_SIGN: dict[Outcome, str] = {"passed": "✅", "regression": "❌", "unclear": "❔", "not_comparable": "🚫"}
_CSV_HEADER = (
    "name", "kernel", "run_before", "run_after", "metric", "unit", "basis", "before", "after", "change_pct",
    "ci_low_pct", "ci_high_pct", "way", "limit_pct", "outcome", "reason",
)  # fmt: skip


def check_text(finding: CheckFinding, *, colour: bool, width: int | None) -> str:
    lines = [
        (pair.outcome if one is None else one.outcome, _cells(pair, one)) for pair, one in _lines(finding)
    ]
    table = render_table(
        _HEADER,
        [cells for _, cells in lines],
        right=_RIGHT,
        styles=[_STYLE[outcome] if colour else "" for outcome, _ in lines],
        fold=7,
        optional=(5, 2, 3),
        colour=colour,
        width=width,
    )
    notes = "\n".join(printable(note) for note in _notes(finding))
    verdict = styled(sentence(finding), f"bold {_STYLE[finding.outcome]}", colour=colour)
    return "\n\n".join(part for part in (_sides(finding), table, notes, verdict) if part)


def check_markdown(finding: CheckFinding) -> str:
    """What GitHub shows below a job."""
    table = to_markdown(_HEADER, [_cells(pair, one) for pair, one in _lines(finding)], numeric=_RIGHT)
    notes = "\n".join(f"* {markdown_text(note)}" for note in _notes(finding))
    head = f"### {_SIGN[finding.outcome]} {markdown_text(sentence(finding))}"
    return "\n\n".join(part for part in (head, table, notes) if part)


def check_csv(finding: CheckFinding) -> str:
    """One row a limit; a pair that is not comparable has one without figures."""
    return to_csv(_CSV_HEADER, [_csv_row(pair, one) for pair, one in _lines(finding)])


def check_junit(finding: CheckFinding, *, allow_unclear: bool) -> str:
    """JUnit's XML: a test case for each limit; what cannot be told is an error, or skipped where allowed.

    A recording held against itself is skipped too.
    """
    cases = list(_lines(finding))
    counts = {"failures": 0, "errors": 0, "skipped": 0}
    suite = ElementTree.Element("testsuite", name="prof check")
    for pair, one in cases:
        case = ElementTree.SubElement(
            suite, "testcase", classname=_name(pair), name=one.metric if one else "comparable"
        )
        outcome = one.outcome if one else pair.outcome
        kind = {"regression": "failure", "not_comparable": "error", "unclear": "error"}.get(outcome)
        if kind is None and not _is_itself(pair):
            continue
        if kind is None or (outcome == "unclear" and allow_unclear):
            kind = "skipped"
        counts["skipped" if kind == "skipped" else f"{kind}s"] += 1
        why = "same_recording" if outcome == "passed" else outcome
        ElementTree.SubElement(case, kind, message=_message(pair, one), type=why)
    for element in (suite, root := ElementTree.Element("testsuites")):
        element.attrib |= {"tests": str(len(cases)), **{name: str(count) for name, count in counts.items()}}
    root.append(suite)
    ElementTree.indent(root)
    xml: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return xml.decode()


def sentence(finding: CheckFinding) -> str:
    """The outcome in one line."""
    pairs = finding.pairs
    bad = [shortened(pair.name, _NAME_WIDTH) for pair in pairs if pair.outcome == finding.outcome]
    named = f": {', '.join(bad[:3])}{f' and {len(bad) - 3} more' if len(bad) > 3 else ''}"
    if finding.outcome == "passed":
        alike = sum(_is_itself(pair) for pair in pairs)
        if alike == len(pairs):  # a change that records nothing is no regression
            return "passed: nothing was recorded anew, so nothing was checked"
        left_out = f"; {alike} of {len(pairs)} not checked, {_ITSELF}" if alike else ""
        return f"passed: no regression in {counted(len(pairs) - alike, 'kernel', 'kernels')}{left_out}"
    kernels = f"{len(bad)} of {counted(len(pairs), 'kernel', 'kernels')}"
    if finding.outcome == "regression":
        return f"regression in {kernels}{named}"
    if finding.outcome == "unclear":
        return f"unclear in {kernels}, the launches cannot tell{named}"
    return f"not comparable with its baseline: {kernels}{named}"


def _sides(finding: CheckFinding) -> str:
    """Of a single pair, which recordings it is made of."""
    if len(finding.pairs) != 1:
        return ""
    (pair,) = finding.pairs
    return f"baseline   {printable(pair.before)}\ncandidate  {printable(pair.after)}"


def _is_itself(pair: PairCheck) -> bool:
    """Whatever became of the code, a recording is as fast as itself."""
    return pair.before == pair.after


def _lines(finding: CheckFinding) -> Iterator[tuple[PairCheck, MetricCheck | None]]:
    """Every limit with its pair; a pair that is not comparable alone."""
    for pair in finding.pairs:
        if pair.checks:
            yield from ((pair, one) for one in pair.checks)
        else:
            yield pair, None


def _name(pair: PairCheck) -> str:
    return shortened(pair.name, _NAME_WIDTH)


def _cells(pair: PairCheck, one: MetricCheck | None) -> tuple[str, ...]:
    if one is None:
        return (_name(pair), "", "", "", "", "", "", "not comparable")
    metric = f"{one.metric} (unprofiled)" if one.basis == "unprofiled" else one.metric
    reason = "" if one.outcome == "passed" else REASONS[one.reason]
    return (
        _name(pair),
        metric,
        _value(one.before, one.unit),
        _value(one.after, one.unit),
        relative(one.before, one.after) if one.change_pct is None else _percent(one.change_pct),
        "" if one.ci_pct is None else f"{_percent(one.ci_pct[0])} to {_percent(one.ci_pct[1])}",
        f"{'+' if one.way == 'rise' else '-'}{one.limit_pct:g} %",
        _ITSELF if _is_itself(pair) else f"{one.outcome} ({reason})" if reason else one.outcome,
    )


def _value(value: float, unit: str) -> str:
    return duration(value) if unit == "ns" else number(value)


def _percent(value: float) -> str:
    if value == 0:
        return "0 %"
    return f"{value:+.2f} %" if abs(value) < 1000 else f"{value:+.3g} %"


def _message(pair: PairCheck, one: MetricCheck | None) -> str:
    if one is None:
        return printable("; ".join(pair.refused))
    _, metric, before, after, change, interval, allowed, outcome = _cells(pair, one)
    bounds = f", 95 % interval {interval}" if interval else ""
    return printable(f"{metric}: {before} to {after}, {change}{bounds}; allowed {allowed}: {outcome}")


def _notes(finding: CheckFinding) -> list[str]:
    """What the table does not say; the same caution of many pairs once."""
    notes = [f"{_name(pair)}: {line}" for pair in finding.pairs for line in pair.refused]
    if alike := [_name(pair) for pair in finding.pairs if _is_itself(pair)]:
        more = f" and {len(alike) - _MOST_NAMED} more" if len(alike) > _MOST_NAMED else ""
        notes.append(
            f"caution: {len(alike)} of {counted(len(finding.pairs), 'kernel', 'kernels')} not checked, "
            f"{_ITSELF}: {'; '.join(alike[:_MOST_NAMED])}{more}"
        )
    told: dict[str, list[str]] = {}
    for pair in finding.pairs:
        for warning in pair.warnings:
            told.setdefault(warning, []).append(_name(pair))
    for warning, names in told.items():
        which = "" if len(names) == len(finding.pairs) else f"{', '.join(names)}: "
        notes.append(f"caution: {which}{warning}")
    return [*notes, *finding.notes]


def _csv_row(pair: PairCheck, one: MetricCheck | None) -> Sequence[Cell]:
    head = (pair.name, pair.kernel, pair.before, pair.after)
    if one is None:
        return (*head, *[None] * 10, pair.outcome, "; ".join(pair.refused))
    return (
        *head, one.metric, one.unit, one.basis, one.before, one.after, one.change_pct,
        *(one.ci_pct or (None, None)), one.way, one.limit_pct, one.outcome, one.reason,
    )  # fmt: skip
