"""A check as JUnit's XML, for CI systems that display it."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree

from profiler.analyse.check import CheckFinding, MetricCheck, PairCheck
from profiler.present.documents import check
from profiler.text import printable, shortened

_NAME_WIDTH = 60
_KINDS = {"regression": "failure", "not_comparable": "error", "unclear": "error"}


def check_junit(finding: CheckFinding, *, allow_unclear: bool) -> str:
    """Returns a test case for each limit; a failure has the reasons as its text. An unclear one is an error, or skipped if that is allowed.

    A kernel that only the baseline has is unclear, or skipped if its removal was accepted. A recording that is new, or compared
    with itself, is skipped. A regression that was accepted passes, and says so as its output.
    """
    suite = ElementTree.Element("testsuite", name="prof check")
    for pair, one in check.check_lines(finding):
        case = _case(suite, pair.name, one.metric if one else "comparable")
        if one and one.is_accepted:
            ElementTree.SubElement(case, "system-out").text = _message(pair, one)
        outcome = check.outcome_of(pair, one)
        kind = _KINDS.get(outcome, "skipped" if pair.is_itself else None)
        if kind is None:
            continue
        if outcome == "unclear" and allow_unclear:
            kind = "skipped"
        why = "same_recording" if outcome == "passed" else outcome
        element = ElementTree.SubElement(case, kind, message=_message(pair, one), type=why)
        if kind == "failure":
            element.text = _reasons(pair)
    for name, alone, reason in check.unpaired(finding):
        kind = "error" if alone == "unclear" and not allow_unclear else "skipped"
        case = _case(suite, name, "counterpart")
        ElementTree.SubElement(case, kind, message=printable(reason), type="no_counterpart")
    return _xml(suite)


def error_junit(kind: str, lines: Sequence[str]) -> str:
    """Returns one test case with the error that kept anything from being checked."""
    suite = ElementTree.Element("testsuite", name="prof check")
    case = _case(suite, "prof check", "checked")
    message = printable("; ".join(map(str.strip, lines)))
    ElementTree.SubElement(case, "error", message=message, type=kind)
    return _xml(suite)


def _case(suite: ElementTree.Element, recording: str, name: str) -> ElementTree.Element:
    classname = shortened(recording, _NAME_WIDTH)
    return ElementTree.SubElement(suite, "testcase", classname=classname, name=printable(name))


def _xml(suite: ElementTree.Element) -> str:
    """Returns the suite as a file, with the number of its cases and of each outcome."""
    counted = {"failures": "failure", "errors": "error", "skipped": "skipped"}
    counts = {name: str(len(suite.findall(f"testcase/{tag}"))) for name, tag in counted.items()}
    for element in (suite, root := ElementTree.Element("testsuites")):
        element.attrib |= {"tests": str(len(suite)), **counts}
    root.append(suite)
    ElementTree.indent(root)
    xml: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return xml.decode()


def _reasons(pair: PairCheck) -> str | None:
    """Returns how much slower the kernel got, why, and what to change."""
    said = [("", pair.what), ("Why: ", pair.why), ("Next: ", pair.next)]
    return "\n".join(printable(f"{name}{text}") for name, text in said if text) or None


def _message(pair: PairCheck, one: MetricCheck | None) -> str:
    if one is None:
        return printable("; ".join(pair.refused))
    metric, before, after, change, allowed, outcome = check.limit_cells(pair, one)
    return printable(f"{metric}: {before} to {after}, {change}; allowed {allowed}: {outcome}")
