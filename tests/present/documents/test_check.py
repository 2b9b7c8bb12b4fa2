"""The check's page, summary and JUnit XML: the same outcome in each, whatever the names hold."""

import csv
import io
from xml.etree import ElementTree

import pytest
from hypothesis import given, strategies as st
from markdown_it import MarkdownIt

from profiler.analyse.check import AcceptedRemoval, MetricCheck, PairCheck
from profiler.analyse.check_summary import derive_finding, sentence
from profiler.present.document import Caution
from profiler.present.documents.check import check_document
from profiler.present.render.csv import records_csv
from profiler.present.render.junit import check_junit
from profiler.present.render.markdown import document_markdown
from profiler.present.render.terminal import Window, document_text
from profiler.text import printable, shortened

markdown = MarkdownIt("commonmark").enable("table")


def metric(outcome="passed", **fields):
    facts = {
        "metric": "duration_ns", "unit": "ns", "basis": "profiled", "before": 3_000_000.0, "after": 3_300_000.0,
        "change_pct": 10.0, "ci_pct": (9.5, 10.5), "way": "rise", "limit_pct": 2.0, "outcome": outcome, "reason": "",
    }  # fmt: skip
    return MetricCheck(**{**facts, **fields})


def pair(outcome="passed", name="gemm-6", **fields):
    facts = {
        "name": name, "kernel": name, "before": "run-before", "after": "run-after", "outcome": outcome,
        "refused": [], "warnings": [], "checks": [metric(outcome)],
    }  # fmt: skip
    return PairCheck(**{**facts, **fields})


REFUSED = pair(
    "not_comparable", "gemm-9", checks=[], refused=["the GPU differs: NVIDIA H200 against NVIDIA A100"]
)
EVERY = [
    pair(),
    pair("regression", "gemm-7"),
    pair("unclear", "gemm-8", checks=[metric("unclear", ci_pct=None, reason="too_few_launches")]),
    REFUSED,
]


def text(finding, width=None):
    return document_text(check_document(finding), Window(width=width))


def summary(finding):
    return document_markdown(check_document(finding))


def table(finding):
    return records_csv(check_document(finding).records)


# For people


def test_the_line_counts_each_outcome_and_refused_recordings_apart():
    refused = pair("not_comparable", "broken", kernel="", checks=[], refused=["the run is damaged"])
    finding = derive_finding([*EVERY, pair("unclear", "gemm-5"), refused], [])
    assert finding.headline.what == (
        "regression in 1 of 5 kernels: gemm-7: duration_ns +10.00 ± 0.50 %; "
        "1 of 5 kernels and 1 recording not comparable; 2 of 5 kernels unclear"
    )
    (row,) = [line for line in text(finding).splitlines() if line.startswith(" ") and "broken" in line]
    assert row.split() == ["broken", "not", "comparable"], "a recording is no kernel"


def test_the_headline_names_the_check_that_failed_before_the_time():
    registers = metric("regression", metric="registers", unit="register", before=40.0, after=122.0, change_pct=205.0, ci_pct=(205.0, 205.0), limit_pct=0.0)  # fmt: skip
    one = pair("regression", checks=[metric("passed", verdict="better"), registers])
    assert derive_finding([one], []).headline.what.startswith(
        "regression: registers 40 -> 122 (+205.00 %, allowed 0 %) in gemm-6"
    )


def test_a_pair_says_what_was_compared_by_how_much_it_changed_and_what_is_allowed():
    page = text(derive_finding([pair("regression")], []))
    assert "kernel     gemm-6\nbaseline   run-before\ncandidate  run-after" in page
    row = page.splitlines()[-1]
    for part in ("duration_ns", "3.000 ms", "3.300 ms", "+10.00 ± 0.50 %", "+2 %", "regression"):
        assert part in row
    assert page.splitlines()[0] == (
        "❌ regression: duration_ns 3.000 ms -> 3.300 ms (+10.00 ± 0.50 %, allowed +2 %) in gemm-6"
    )


@pytest.mark.parametrize(
    ("outcome", "sign"), [("passed", "✅"), ("regression", "❌"), ("unclear", "❔"), ("not_comparable", "🚫")]
)
def test_every_outcome_stands_first_with_its_mark_and_once(outcome, sign):
    one = pair(outcome, what="gemm-6 takes 1.100x as long.", why="More spills.", next="Fewer registers.")
    finding = derive_finding([one], [])
    told = f"{sign} {finding.headline.what}"
    for width in (None, 80):
        assert " ".join(text(finding, width).split()).startswith(told)
        assert text(finding).count(finding.headline.what) == 1
    assert markdown.parse(summary(finding))[1].content.replace("\\", "").replace("&gt;", ">") == told
    assert ("Why: More spills." in text(finding)) == (outcome == "regression")


def test_a_kernel_is_called_by_its_own_name_with_its_recording_beside_it():
    one = pair("regression", "gemm_6.ncu-rep", kernel="void k6<(int)128>(float *, int)")
    finding = derive_finding([one], [])
    assert sentence(finding) == (
        "regression: duration_ns 3.000 ms -> 3.300 ms (+10.00 ± 0.50 %, allowed +2 %) "
        "in k6<128> (gemm_6.ncu-rep)"
    )
    assert "kernel     k6<128>" in text(finding).splitlines()
    assert "k6&lt;128&gt; (gemm\\_6.ncu-rep)" in summary(finding).splitlines()[0]
    several = text(derive_finding([one, pair(name="two: k7()", kernel="k7()")], []))
    assert "k6<128>  gemm_6.ncu-rep  duration_ns" in several
    assert "k7       two             duration_ns" in several


def test_the_line_says_how_much_faster_and_how_surely():
    def gain(name, percent):
        found = metric(change_pct=-percent, ci_pct=(-percent - 0.1, -percent + 0.1), verdict="better")
        return pair(name=name, checks=[found])

    one = derive_finding([gain("gemm-6", 12.5), pair()], [])
    told = "passed: no regression in 2 kernels; faster: gemm-6 takes 12.50 ± 0.10 % less time"
    assert sentence(one) == told
    assert text(one).splitlines()[0] == f"✅ {told}"
    assert summary(one).splitlines()[0] == f"### ✅ {told}"
    assert "passed (better)" in text(one)
    many = [pair("regression", "x"), *(gain(f"k{percent}", percent) for percent in (5, 8, 6, 7))]
    assert sentence(derive_finding(many, [])) == (
        "regression in 1 of 5 kernels: x: duration_ns +10.00 ± 0.50 %"
    ), "a line has one outcome"
    assert (
        "faster: k8 takes 8.00 ± 0.10 % less time, k7 takes 7.00 ± 0.10 % less time, k6 takes 6.00 ± 0.10 % less "
        "time and 1 more" in " ".join(text(derive_finding(many, [])).split())
    )
    unclear = derive_finding(
        [pair("unclear", "x", checks=[metric("unclear", verdict="better", change_pct=-10.0)])], []
    )
    assert text(unclear).splitlines()[0] == (
        "❔ unclear: duration_ns 3.000 ms -> 3.300 ms (-10.00 ± 0.50 %, allowed +2 %) in x, "
        "because the launches do not decide it"
    )
    assert "faster: x takes 10.00 ± 0.50 % less time" in text(unclear).splitlines()
    assert "\n\nfaster: x takes 10.00 ± 0.50 % less time\n" in summary(unclear)


def test_a_gain_of_another_metric_than_the_time_makes_nothing_faster():
    spills = metric(metric="local_spill_inst", change_pct=-50.0, verdict="better")
    assert "faster" not in sentence(derive_finding([pair(checks=[metric(), spills])], []))


def test_a_limit_against_falling_is_a_negative_one():
    page = text(
        derive_finding([pair(checks=[metric(metric="l2_hit_pct", unit="%", way="fall", limit_pct=5.0)])], [])
    )
    assert "-5 %" in page


def test_a_change_from_zero_has_no_percentage():
    one = metric("regression", metric="local_spill_inst", unit="inst", before=0.0, after=64.0, change_pct=None, ci_pct=None)  # fmt: skip
    assert "from 0" in text(derive_finding([pair("regression", checks=[one])], []))


def test_why_it_is_unclear_stands_beside_it():
    assert "unclear (too few launches to tell)" in text(derive_finding(EVERY, []))


def test_why_two_are_not_comparable_stands_below():
    assert "gemm-9: the GPU differs: NVIDIA H200 against NVIDIA A100" in text(derive_finding(EVERY, []))
    alone = text(derive_finding([REFUSED], []))
    assert "gemm-9: the GPU differs" in alone
    assert "outcome" not in alone, "a table with this word alone would say what the first line says"


def test_a_caution_of_every_pair_is_printed_once_and_one_of_some_pairs_with_their_names():
    pairs = [pair(name=name, warnings=["of all", *(["of one"] if name == "b" else [])]) for name in "abc"]
    lines = text(derive_finding(pairs, [])).splitlines()
    assert lines.count("caution: of all") == 1
    assert "caution: b: of one" in lines


def test_a_run_held_against_itself_is_not_called_checked():
    page = text(derive_finding([pair(before="run-after"), pair(name="gemm-7")], []))
    rows = {line.split()[0]: line for line in page.splitlines() if line}
    assert rows["gemm-6"].endswith("the same recording on both sides")
    assert rows["gemm-7"].endswith("passed")
    assert (
        "caution: 1 of 2 kernels not checked, the same recording on both sides: gemm-6" in page.splitlines()
    )
    assert page.splitlines()[0] == (
        "✅ passed: no regression in 1 kernel; 1 of 2 not checked, the same recording on both sides"
    )


def test_many_recordings_compared_with_themselves_are_counted_and_some_named():
    pairs = [pair(name=f"gemm-{number}", before="run-after") for number in range(9)]
    page = text(derive_finding([*pairs, pair(name="new")], []))
    lines = page[page.index("caution: 9 of 10 kernels not checked") :].splitlines()
    assert " ".join("".join(lines[:2]).split()).endswith("gemm-4; gemm-5; and 3 more")
    assert max(map(len, lines)) <= 100


def test_the_brief_answer_keeps_what_to_doubt():
    page = check_document(derive_finding([pair(warnings=["measured on another day"])], [])).brief
    assert [block for block in page.sections[-1] if isinstance(block, Caution)] == [
        Caution("measured on another day")
    ]


def test_that_kernels_may_do_other_work_stands_before_what_widens_an_interval():
    """Also where other pairs come before, so that a short answer, which has room for few, does not lose it."""
    others = pair(warnings=["measured on another day"], doubt="the kernels have different names: add and mul")
    first, second = cautions_of(others)
    assert first.startswith("the kernels have different names")
    assert second == "measured on another day"
    before = pair(name="first", warnings=["measured on another day", "one launch", "one process"])
    assert cautions_of(before, others)[0].startswith("gemm-6: the kernels have different names")


def cautions_of(*pairs):
    sections = check_document(derive_finding([*pairs], [])).brief.sections
    return [block.text for block in sections[-1] if isinstance(block, Caution)]


@pytest.mark.parametrize("width", [80, 100])
def test_it_fits_the_window_and_keeps_the_outcome(width):
    page = text(derive_finding(EVERY, []), width)
    table = page.split("\n\n")[0].splitlines()
    assert max(map(len, table)) <= width
    assert "+10.00 %" in page
    assert "regression" in page


def test_of_several_kernels_a_narrow_window_keeps_both_times():
    """Which recording a kernel is of says no more than its name, unless two recordings have it."""
    kernels = [pair(name=f"of_{name}s: {name}", kernel=name) for name in ("load", "store")]
    lines = text(derive_finding(kernels, []), 80).splitlines()
    assert "3.000 ms   3.300 ms  +10.00" in next(line for line in lines if line.startswith("load"))
    alike = [pair(name=f"{name}: kernel", kernel="kernel") for name in ("first", "second")]
    lines = text(derive_finding(alike, []), 80).splitlines()
    assert [line.split()[1] for line in lines if line.startswith("kernel")] == ["recording", "first", "second"]  # fmt: skip


@pytest.mark.parametrize(
    ("outcome", "told"),
    [
        ("passed", "passed: no regression in 2 kernels"),
        ("regression", "regression in 1 of 2 kernels: x: duration_ns +10.00 ± 0.50 %"),
        ("unclear", "unclear in 1 of 2 kernels, because the launches do not decide it: x"),
        ("not_comparable", "not comparable with its baseline: 1 of 2 kernels: x"),
    ],
)
def test_the_outcome_is_one_sentence(outcome, told):
    assert sentence(derive_finding([pair(), pair(outcome, "x")], [])) == told


def test_of_one_kernel_no_count_is_told():
    told = sentence(derive_finding([pair("unclear", "x")], []))
    figures = "duration_ns 3.000 ms -> 3.300 ms (+10.00 ± 0.50 %, allowed +2 %)"
    assert told == f"unclear: {figures} in x, because the launches do not decide it"


def test_the_first_of_many_are_named_and_the_rest_counted():
    pairs = [pair("regression", f"gemm-{number}") for number in range(5)]
    assert sentence(derive_finding(pairs, [])) == (
        "regression in 5 of 5 kernels: gemm-0: duration_ns +10.00 ± 0.50 %, gemm-1: duration_ns +10.00 ± 0.50 %, "
        "gemm-2: duration_ns +10.00 ± 0.50 % and 2 more"
    )


# For GitHub


def test_the_summary_is_a_heading_a_table_and_notes():
    tokens = markdown.parse(summary(derive_finding(EVERY, ["no baseline in x"])))
    types = [token.type for token in tokens]
    assert types[0] == "heading_open"
    assert types.count("tr_open") == 1 + 4
    assert types.count("list_item_open") == 2


def test_csv_has_one_row_a_limit_and_one_for_a_pair_without_any():
    rows = list(csv.DictReader(io.StringIO(table(derive_finding(EVERY, [])))))
    assert [row["outcome"] for row in rows] == ["passed", "regression", "unclear", "not_comparable"]
    assert float(rows[1]["ci_low_pct"]) == 9.5
    assert (rows[3]["metric"], rows[3]["reason"]) == ("", REFUSED.refused[0])


# JUnit


def junit(finding, allow_unclear=False):
    return ElementTree.fromstring(check_junit(finding, allow_unclear=allow_unclear))


def test_junit_counts_what_it_holds():
    root = junit(derive_finding(EVERY, []))
    for element in (root, root.find("testsuite")):
        assert element.attrib["tests"] == "4"
        for name in ("failures", "errors", "skipped"):
            tag = {"failures": "failure", "errors": "error"}.get(name, name)
            assert int(element.attrib[name]) == len(root.findall(f".//{tag}"))
    assert [case.attrib["classname"] for case in root.iter("testcase")] == ["gemm-6", "gemm-7", "gemm-8", "gemm-9"]  # fmt: skip


def test_a_run_held_against_itself_is_skipped():
    itself, other = junit(derive_finding([pair(before="run-after"), pair(name="gemm-7")], [])).iter(
        "testcase"
    )
    assert [child.tag for child in itself] == ["skipped"]
    assert "the same recording on both sides" in itself.find("skipped").attrib["message"]
    assert len(other) == 0


def test_a_recording_that_only_one_side_has_is_a_case_of_its_own():
    finding = derive_finding([pair()], [], gone=["x: k"], missing=["lost"], new=["added"])
    assert finding.outcome == "unclear"
    tags = {
        case.attrib["classname"]: [child.tag for child in case] for case in junit(finding).iter("testcase")
    }
    assert tags == {"gemm-6": [], "x: k": ["error"], "lost": ["error"], "added": ["skipped"]}
    assert not list(junit(finding, allow_unclear=True).iter("error"))
    rows = list(csv.DictReader(io.StringIO(table(finding))))
    assert [(row["name"], row["outcome"]) for row in rows[1:]] == [
        ("x: k", "unclear"), ("lost", "unclear"), ("added", ""),
    ]  # fmt: skip


def test_a_regression_is_a_failure_with_the_figures():
    (failure,) = junit(derive_finding(EVERY, [])).iter("failure")
    assert failure.attrib["type"] == "regression"
    assert failure.attrib["message"] == (
        "duration_ns: 3.000 ms to 3.300 ms, +10.00 ± 0.50 %; allowed +2 %: regression"
    )


def test_an_unclear_result_is_an_error_and_skipped_if_that_is_allowed():
    finding = derive_finding(EVERY, [])
    assert {one.attrib["type"] for one in junit(finding).iter("error")} == {"unclear", "not_comparable"}
    assert {one.attrib["type"] for one in junit(finding, allow_unclear=True).iter("error")} == {
        "not_comparable"
    }
    assert [one.attrib["type"] for one in junit(finding, allow_unclear=True).iter("skipped")] == ["unclear"]


any_text = st.text(st.characters(codec=None, exclude_categories=()) | st.sampled_from("<>&\"'\x00\x1b]]>\n"))


@given(any_text)
def test_any_name_is_well_formed_xml_and_reads_back_as_printable_text(name):
    refused = pair(name=name[:60], refused=[name], checks=[], outcome="not_comparable")
    limited = pair(checks=[metric(metric=name)])
    root = junit(derive_finding([refused, limited], [], removed=[AcceptedRemoval("gone", name)]))
    case, other, gone = root.iter("testcase")
    assert case.attrib["classname"] == shortened(name[:60], 60)
    assert case.find("error").attrib["message"] == printable(name)
    assert other.attrib["name"] == printable(name)
    assert gone.find("skipped").attrib["message"].endswith(printable(name))


def test_names_from_anywhere_stay_text(hostile_names):
    for name in hostile_names:
        finding = derive_finding([pair(name=name, warnings=[name]), pair("not_comparable", name, checks=[], refused=[name])], [f"left out: {name}"])  # fmt: skip
        for page in (text(finding), summary(finding), table(finding)):
            assert all(character == "\n" or character.isprintable() for character in page)
        types = [token.type for token in markdown.parse(summary(finding))]
        assert not {*types} & {"html_block", "fence", "code_block", "hr"}
        assert types.count("blockquote_open") == 1, "of the caution"
