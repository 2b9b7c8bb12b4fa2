"""A check as JUnit's XML, for CI systems that display it."""

from __future__ import annotations

from xml.etree import ElementTree

from profiler.analyse.check import CheckFinding, MetricCheck, PairCheck
from profiler.present.documents.check import check_lines, is_itself, limit_cells
from profiler.text import printable, shortened

_NAME_WIDTH = 60


def check_junit(finding: CheckFinding, *, allow_unclear: bool) -> str:
    """Returns a test case for each limit; an unclear one is an error, or skipped if that is allowed.

    A recording that is compared with itself is skipped too.
    """
    cases = list(check_lines(finding))
    counts = {"failures": 0, "errors": 0, "skipped": 0}
    suite = ElementTree.Element("testsuite", name="prof check")
    for pair, one in cases:
        case = ElementTree.SubElement(
            suite,
            "testcase",
            classname=shortened(pair.name, _NAME_WIDTH),
            name=one.metric if one else "comparable",
        )
        outcome = one.outcome if one else pair.outcome
        kind = {"regression": "failure", "not_comparable": "error", "unclear": "error"}.get(outcome)
        if kind is None and not is_itself(pair):
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


def _message(pair: PairCheck, one: MetricCheck | None) -> str:
    if one is None:
        return printable("; ".join(pair.refused))
    metric, before, after, change, allowed, outcome = limit_cells(pair, one)
    return printable(f"{metric}: {before} to {after}, {change}; allowed {allowed}: {outcome}")
