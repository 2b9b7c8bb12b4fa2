"""A sheet's rules: each finding once, with its place, the largest estimate first, and not without end."""

import pyarrow as pa
import pytest

import profiler
from profiler.analyse.causes.evidence.time_shares import derive_figures
from profiler.analyse.compare.compare import derive_deltas
from profiler.analyse.recording.overview import (
    RecordingOverview,
    SheetFinding,
    SheetMetric,
    summarise_timings,
)
from profiler.analyse.recording.profile import profile_kernel
from profiler.analyse.recording.rules import SheetRule
from profiler.errors import RunDamaged
from profiler.present.documents.parts.metrics import metrics_table
from profiler.present.documents.parts.rules import rule_lines
from profiler.present.documents.recording import recording_document
from profiler.present.render.terminal import Window, document_text
from profiler.store.tables.columns import TableBuilder
from tests.made_causes import cause_of
from tests.profiles import sheets_of


def sheet_of(make_run, *found, launches=1):
    """Launch, rule, message, estimate and source line of each finding."""
    run = make_run(*[{"metrics": {"x": 1.0}}] * launches)
    builder = TableBuilder("rules", run.manifest.run_id)
    for launch, rule, message, estimate, line in found:
        builder.append(
            launch=launch, section="S", rule=rule, kind="optimization", message=message, speedup_pct=estimate,
            file="a.cu" if line else None, line=line,
        )  # fmt: skip
    run._tables["rules"] = builder.finish()  # private: make_run makes rules without lines
    (sheet,) = sheets_of(run)
    recording = RecordingOverview(run, [sheet], None)
    return sheet, *(
        document_text(recording_document(recording, full=full), Window()) for full in (True, False)
    )


def test_every_line_that_a_rule_marks_is_there(make_run):
    sheet, text, _ = sheet_of(
        make_run,
        (0, "A", "small", 1.0, None),
        (0, "B", "large", 9.0, None),
        (0, "B", "this line", None, 18),
        (0, "B", "that line.", None, 19),
        (0, "B", "that line.", None, 19),
    )
    assert [(rule.message, rule.line) for rule in sheet.rules] == [
        ("large", None), ("small", None), ("this line", 18), ("that line.", 19),
    ]  # fmt: skip
    assert "S, a.cu:18: this line" in text


@pytest.mark.parametrize(
    ("lines", "elsewhere"),
    [
        ([18, 12], "1 other line (12)"),
        ([18, *range(30, 24, -1)], "6 other lines (25, 26, 27, 28, 29 and 1 more)"),
    ],
)
def test_what_a_rule_says_of_many_lines_alike_is_said_once(make_run, lines, elsewhere):
    sheet, *_ = sheet_of(make_run, *((0, "B", "This line.", None, line) for line in lines))
    assert [(rule.message, rule.line) for rule in sheet.rules] == [
        (f"This line. The same holds at {elsewhere}.", 18)
    ]


def test_a_rule_speaks_for_one_launch(make_run):
    sheet, *_ = sheet_of(
        make_run, (0, "A", "52.1 %", 5.0, None), (1, "A", "52.3 %", 6.0, None), (1, "B", "b", None, None),
        launches=2,
    )  # fmt: skip
    assert [rule.message for rule in sheet.rules] == ["52.1 %", "b"]


def test_rules_that_are_left_out_are_counted(make_run):
    sheet, _, text = sheet_of(make_run, *[(0, "A", f"finding {n}", float(n), None) for n in range(100)])
    assert len(sheet.rules) + sheet.rules_left_out == 100
    assert sheet.rules[0].message == "finding 99"
    assert "97 more findings of Nsight Compute are left out" in text
    assert "estimated speedup 99 %" in text


def test_the_first_screen_leaves_out_rules_that_say_again_what_a_cause_says():
    """A rule of another cause is news; `--full` has all of them."""
    again = SheetRule("S", "optimization", "3.1 threads are active", 93.6, causes=["divergent-branches"])
    news = SheetRule("S", "optimization", "55% excessive sectors", 48.1, causes=["uncoalesced-loads"])
    cause = cause_of("divergent-branches", 71.0)
    sheet = SheetFinding("k", 1, "GPU", [], [], [again, news], causes=[cause])
    short, whole = (rule_lines(sheet, full=full) for full in (False, True))
    assert short == [
        "S (estimated speedup 48.1 %): 55% excessive sectors",
        "1 more finding of Nsight Compute is left out, which agrees with divergent-branches",
    ]
    assert len(whole) == 2


def test_a_rule_says_which_causes_it_may_mean(reports):
    rules = profiler.show(reports / "several.ncu-rep", kernel_name="offset").rules
    assert ["loads-not-overlapped", "redundant-global-loads"] in [one.causes for one in rules]


@pytest.mark.parametrize(("spread", "has_column"), [(None, False), (0.5, True)])
def test_a_single_launch_has_no_column_of_its_spread(spread, has_column):
    table = metrics_table("metric", [SheetMetric("cycles", "cycle", 5.0, spread, 1 + has_column, "")])
    assert ("spread, %" in [column.title for column in table.columns]) == has_column
    assert {len(row.values) for row in table.rows} == {len(table.columns)}


def test_the_first_screen_keeps_the_sentence_of_a_rule_that_holds_a_figure(make_run):
    message = "A wave is what fits on the GPU at once. This launch has 3.5 waves. Launch whole ones."
    _, whole, short = sheet_of(make_run, (0, "A", message, 25.0, None), (0, "B", "No estimate.", None, None))
    assert f"S (estimated speedup 25 %): {message}" in " ".join(whole.split())
    assert "S (estimated speedup 25 %): This launch has 3.5 waves.\n1 more finding" in short


@pytest.mark.parametrize(("launches", "said"), [(1, "k, 1 launch\n"), (2, "k, 2 launches\n")])
def test_launches_are_counted_as_one_says_it(make_run, launches, said):
    assert said in sheet_of(make_run, launches=launches)[1]


def test_a_run_of_timings_without_any_is_damaged(make_run):
    run = make_run(timings=[5.0, 6.0, 7.0])
    assert summarise_timings(run, None).median_ns == 6.0
    # private: no run is recorded with an empty table of timings
    run._tables["timings"] = pa.Table.from_pylist([], schema=run.table("timings").schema)
    with pytest.raises(RunDamaged):
        summarise_timings(run, None)


def test_the_mean_is_the_one_that_a_comparison_shows_however_launches_come_in_processes(make_run):
    run = make_run(*[{"process": 0, "ns": 10.0}] * 4, {"process": 1, "ns": 40.0})
    profile, (sheet,) = profile_kernel(run, "k"), sheets_of(run)
    (shown,) = (one.mean for one in sheet.metrics if one.name == "duration_ns")
    (compared,) = (one.before for one in derive_deltas(profile, profile) if one.name == "duration_ns")
    assert shown == compared == derive_figures(profile)["duration_ns"] == 25.0
