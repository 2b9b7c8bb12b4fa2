"""The first screen: what, why and what next, without a broken number, a lost interval or a sentence said twice."""

import json

import pytest

from profiler.ask.compare import compare
from profiler.ask.named.settings import Settings
from profiler.ask.show import show_recordings
from profiler.present.documents.comparison import comparison_document
from profiler.present.documents.recording import recording_document
from profiler.present.render.terminal import Window, document_text
from profiler.present.render.terminal_table import folded

NARROW = Window(width=80)


@pytest.fixture(scope="module")
def settings(recorded):
    return Settings(runs=recorded.root)


@pytest.fixture(scope="module")
def compared(settings):
    (comparison,) = compare("5", "6", settings)
    return comparison


@pytest.fixture(scope="module")
def recording(settings):
    return show_recordings(["6"], settings).recording


def test_the_answer_fits_24_lines_of_80_columns(compared, recording):
    for document in (comparison_document(compared), recording_document(recording)):
        lines = document_text(document.brief, NARROW).splitlines()
        assert len(lines) <= 24
        assert max(map(len, lines)) <= 80
        assert any(line.startswith("Why: ") for line in lines)
        assert any(line.startswith("Next: ") for line in lines)


def test_a_narrow_window_keeps_the_change_its_interval_and_the_unit(compared):
    lines = document_text(comparison_document(compared), NARROW).splitlines()
    header = next(line for line in lines if line.startswith("metric"))
    assert {"unit", "change", "±", "verdict"} <= set(header.split())
    row = next(line for line in lines if line.startswith("duration_ns"))
    assert row.split()[1] == "ms"
    assert len(row) <= 80


def test_next_names_the_cause_that_it_removes(compared):
    assert compared.headline.next.startswith(compared.causes[0].cause)


def test_no_sentence_of_the_headline_is_said_again(recording):
    (sheet,) = recording.sheets
    text = " ".join(document_text(recording_document(recording), Window()).split())
    assert sheet.causes
    assert text.count(sheet.causes[0].try_) == 1
    assert text.count(sheet.causes[0].sentence) == 1


def test_a_number_stays_with_its_unit_and_a_command_is_whole():
    text = "It takes 12.5 ms, which is 40 % of the time: run `prof show mine.ncu-rep -k softmax` next"
    for width in range(40, 90):
        lines = folded(text, width, "  ").split("\n")
        for whole in ("12.5 ms", "40 %", "`prof show mine.ncu-rep -k softmax`"):
            assert any(whole in line for line in lines), width
        assert "\u00a0" not in "".join(lines)


def test_the_hottest_lines_stand_under_the_causes_with_their_stalls(prof_here, reports):
    text = prof_here("show", reports / "triton_add_full.ncu-rep").stdout
    assert text.index("at-memory-bandwidth") < text.index("hid.py:18    long_scoreboard 96 %")
    assert "tl.load(x+i,mask=m)" in text


def test_rules_of_nsight_compute_come_without_markup_by_their_estimate(prof_here, reports):
    text = prof_here("show", reports / "triton_add_full.ncu-rep", "--full").stdout
    assert "@" not in text.partition("estimated speedup")[2]
    estimates = [float(part.split(" %")[0]) for part in text.split("(estimated speedup ")[1:]]
    assert estimates == sorted(estimates, reverse=True)
    assert "https://" not in text


def test_a_stall_of_less_than_a_hundredth_is_no_row_of_the_first_screen(reports):
    recording = show_recordings([str(reports / "triton_matmul.ncu-rep")], Settings()).recording
    (sheet,) = recording.sheets
    stalls = {one.name: one.mean for one in sheet.metrics if one.name.startswith("stall_")}
    rows = document_text(recording_document(recording), Window()).split("\n")
    shown = {name for name in stalls if any(row.startswith(f"{name} ") for row in rows)}
    small = {name for name, mean in stalls.items() if mean < 0.01 * sum(stalls.values())}
    assert shown
    assert small
    assert not shown & small


def test_a_warp_that_is_ready_does_not_wait(prof_here, reports):
    (sheet,) = json.loads(prof_here("show", reports / "triton_add_full.ncu-rep", "--format", "json").stdout)[
        "kernels"
    ]
    assert sheet["hot_lines"]
    for line in sheet["hot_lines"]:
        assert line["stalls"]
        assert not {"selected", "not_selected"} & line["stalls"].keys()
        assert sum(line["stalls"].values()) + line["ready_pct"] <= 100.1


def test_show_of_one_kernel_fits_80_lines_of_80_columns_and_full_has_the_rest(recorded):
    recording = show_recordings(["6"], Settings(runs=recorded.root)).recording
    short, whole = (document_text(recording_document(recording, full=full), NARROW) for full in (False, True))
    assert short.count("\n") < 80 < whole.count("\n")
    for fact in ("SHA-256", "command ", "stall_selected"):
        assert fact in whole
        assert fact not in short
