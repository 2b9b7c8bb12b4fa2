"""`import profiler`: what notebooks use, with the answers the commands print."""

import copy
import json
import pickle
import re
import subprocess
import sys
from html import unescape
from numbers import Number
from pathlib import Path
from pydoc import plaintext, render_doc

import numpy as np
import pandas as pd
import pytest
from mypy import api as mypy_api

import profiler
from profiler.cli import VERBS
from profiler.errors import (
    KernelAmbiguous,
    KernelNotFound,
    NotComparable,
    ProfError,
    QueryFailed,
    ReportDamaged,
    ReportNotFound,
    RunNotFound,
)
from profiler.python.did_you_mean import COMMANDS_ALONE

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def runs(recorded):
    return profiler.open_runs(recorded.root)


def test_two_recorded_kernels_compare(runs):
    finding = profiler.compare(runs.find("5", ladder="gemm"), runs.find("6", ladder="gemm"))
    assert finding.speedup.ratio > 1
    assert [check.ok for check in finding.confirmations[0].checks] == [True] * 4


def test_a_comparison_is_a_data_frame_with_interval_and_verdict(runs):
    frame = profiler.compare(runs.find("5", ladder="gemm"), runs.find("6", ladder="gemm")).to_pandas()
    assert frame.loc["duration_ns", "verdict"] == "better"
    low, high = frame.loc["duration_ns", ["ci_low", "ci_high"]]
    assert low < frame.loc["duration_ns", "delta"] < high < 0


def test_a_frame_has_the_percentages_that_the_screen_has(make_run):
    """Of what begins at 0, there is none."""
    lasting, stalled = (
        "gpu__time_duration.sum",
        "smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio",
    )
    sides = [
        make_run({"kernel": "k", "metrics": {lasting: ns, stalled: waited}}, name=name)
        for name, ns, waited in (("before", 80.0, 0.0), ("after", 60.0, 2.0))
    ]
    compared = profiler.compare(*sides)
    for frame in (compared.to_pandas(), compared.metrics.to_pandas()):
        assert frame.loc["duration_ns", "change_pct"] == -25.0
        assert pd.isna(frame.loc["stall_barrier", "change_pct"])
    assert "-25.0 %" in compared.text()


def test_runs_are_a_data_frame_too(runs):
    frame = runs.to_pandas()
    assert list(frame["run_id"]) == [str(run_id) for run_id in runs.ids()]


def test_every_data_frame_has_plain_values_alone(runs, shipped_runs, reports):
    several, ladder = reports / "several.ncu-rep", profiler.ladder("gemm", runs)
    frames = {
        "rungs": ladder.to_pandas(),
        "steps": ladder.steps_to_pandas(),
        "stalls": ladder.stalls_to_pandas(),
        "lines": profiler.source_lines(shipped_runs.find("gemm-6-source", ladder="gemm")).to_pandas(),
        "runs": runs.to_pandas(),
        "kernel": profiler.show(several)[0].to_pandas(),
        "kernels": profiler.show(several).to_pandas(),
        "recordings": profiler.show(several, reports / "gemm_6.ncu-rep").to_pandas(),
        "comparison": profiler.compare(several, several)[0].to_pandas(),
        "comparisons": profiler.compare(several, several).to_pandas(),
    }
    for name, frame in frames.items():
        held = {type(value) for column in frame for value in frame[column]}
        assert all(issubclass(one, (str, bool, Number, type(None))) for one in held), (name, held)
    assert {"speedup", "speedup_low", "speedup_high"} < set(frames["rungs"])
    assert {"ci_low_pct", "ci_high_pct"} < set(frames["comparisons"])
    lines = frames["lines"]
    reasons = [column for column in lines if column.startswith("stall_")]
    assert (lines[reasons].sum(axis="columns") == lines["samples"]).all()


def test_a_report_is_read_without_storing_it(reports, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    report = profiler.read(reports / "graph.ncu-rep")
    assert set(report.to_pandas("launches")["workload"]) == {"graph"}
    assert report.table("metrics").num_rows == len(report.to_pandas("metrics"))
    assert not {"run_id", "process"} & set(report.to_pandas("launches")), "it is no run"
    assert list(tmp_path.iterdir()) == []


def test_a_kernel_is_shown_with_its_causes(reports, runs):
    sheet = profiler.show(reports / "triton_add_full.ncu-rep")
    assert [one.cause for one in sheet.causes][:1] == ["at-memory-bandwidth"]
    assert sheet.headline.next.startswith(sheet.causes[0].try_)
    stored = profiler.show(runs.find("5", ladder="gemm"))
    assert stored.causes == profiler.compare(*(runs.find(one, ladder="gemm") for one in ("4", "5"))).causes


def test_show_chooses_one_kernel_of_several(reports):
    shown = profiler.show(reports / "several.ncu-rep")
    assert [one.kernel for one in shown.index] == [one.kernel for one in shown.finding.index]
    assert len(shown.sheets) == len(shown.index) == 3
    assert shown.headline.what in " ".join(repr(shown).split())
    assert profiler.show(reports / "several.ncu-rep", kernel_name="offset").kernel.startswith("offset")


def test_of_several_kernels_one_is_chosen_by_its_place_or_by_its_name(reports):
    path = reports / "several.ncu-rep"
    shown, compared = profiler.show(path), profiler.compare(path, path)
    assert [one.kernel for one in shown] == [one.kernel for one in shown.index]
    assert shown[0] == shown[shown[0].kernel]
    assert shown["offset"] == profiler.read(path)["offset"] == profiler.show(path, kernel_name="offset")
    assert compared["offset"].after.kernel_name.startswith("offset")
    assert compared[0] == next(iter(compared))
    assert len(shown) == len(compared) == 3
    for several in (shown, compared, profiler.read(path)):
        with pytest.raises(KernelNotFound, match="3 kernels have 'o' in their names") as caught:
            several["o"]
        assert len(caught.value.details) == 3
        assert several[np.int64(1)] == several[1]
        assert [name in several for name in ("offset", "o", "no such kernel", 0)] == [True, False, False, False]  # fmt: skip
        with pytest.raises(TypeError, match="'slice' object cannot be interpreted as an integer"):
            several[:1]


@pytest.mark.parametrize("stored", [True, False])
def test_a_check_of_a_recording_against_itself_says_which_argument_is_which(reports, recorded, stored):
    (run, *_) = recorded.open_all(recorded.ids())
    side = run if stored else reports / "several.ncu-rep"
    with pytest.raises(RunNotFound) as caught:
        profiler.check(side, baseline=side)
    assert caught.value.remedy == "Give the new recording first, and the older one as `baseline`."


def test_an_answer_about_several_kernels_says_how_to_get_what_only_one_has(reports):
    path = reports / "several.ncu-rep"
    for several, name in ((profiler.show(path), "causes"), (profiler.compare(path, path), "speedup")):
        assert not hasattr(several, name)
        with pytest.raises(
            AttributeError, match=rf"has no '{name}'; it is about 3 kernels: \[0\] or .*kernel_name="
        ):
            getattr(several, name)


def test_one_kernel_and_several_have_the_same_ways_in(reports, runs):
    """So that a loop need not ask which of the two it has got."""
    path = reports / "several.ncu-rep"
    sheet, comparison = profiler.show(runs["gemm-6"]), profiler.compare(runs["gemm-5"], runs["gemm-6"])
    assert sheet.sheets == [sheet]
    assert comparison.comparisons == [comparison]
    assert sheet.to_pandas().loc["duration_ns", "mean"] == sheet.metrics[0].mean
    assert list(profiler.show(path).to_pandas()["kernel_name"]) == [
        one.kernel for one in profiler.show(path).sheets
    ]
    assert len(profiler.compare(path, path).to_pandas()) == 3


def test_times_alone_are_shown_as_the_command_shows_them(runs, prof_here):
    shown = profiler.show(runs["gemm-6-timed"])
    assert shown.headline.what == shown.timing.headline.what
    assert " ".join(repr(shown).split()).startswith(shown.headline.what)
    assert (
        "<table" in shown._repr_html_() or shown.headline.why in shown._repr_html_()
    )  # private: notebooks look for it
    assert (shown.sheets, len(shown), bool(shown)) == ([], 0, True)
    with pytest.raises(AttributeError, match=r"; only times were recorded, .*`\.timing`"):
        shown.causes  # noqa: B018


@pytest.fixture
def folder(reports, tmp_path):
    """Two reports of four kernels, and one that was cut short."""
    for name in ("several", "graph"):
        (tmp_path / f"{name}.ncu-rep").symlink_to(reports / f"{name}.ncu-rep")
    (tmp_path / "cut.ncu-rep").write_bytes((reports / "graph.ncu-rep").read_bytes()[:3000])
    return tmp_path


def test_a_folder_of_reports_is_shown_as_one_index_as_the_command_does(folder):
    found = profiler.show(folder)
    assert found.recordings == 2
    assert [one.kernel_name for one in found.index] == [one.kernel for one in found.sheets]
    assert found["graph"].metrics == profiler.show(folder / "graph.ncu-rep").metrics
    assert list(found.to_pandas()["kernel_name"]) == [one.kernel for one in found]
    assert [type(one) for one in found.errors] == [ReportDamaged]
    assert "left out: " in " ".join(repr(found).split())  # a long path stands on a line of its own
    with pytest.raises(AttributeError, match=r"it is about 4 kernels: \[0\]"):
        _ = found.causes
    with pytest.raises(IndexError, match=r"2 recordings: \[4\] is none of 4 kernels, counted from 0"):
        found[4]
    assert found[-4] is found[0]


def test_a_kernel_of_several_recordings_is_chosen_by_the_name_of_its_recording_too(made):
    kernels = {"first": "gate(float *)", "second": "gate(float *)", "third": "sort(int *)"}
    for name, kernel in kernels.items():
        made.profile(name, 1e6, kernel=kernel)
    runs = profiler.open_runs(made.store.root)
    found = profiler.show(*runs)
    assert found["third"].kernel == "sort(int *)"
    assert ("second" in found, "fourth" in found) == (True, False)
    with pytest.raises(KernelNotFound, match="2 kernels have 'gate' in their names") as caught:
        found["gate"]
    places = [place for place, one in enumerate(found) if one.kernel.startswith("gate")]
    for line, place in zip(
        caught.value.details, places, strict=True
    ):  # of one name, the place is the way out
        assert line.startswith(f"  [{place}] gate(float *), in ")
    assert f"[{places[0]}]" in caught.value.remedy
    with pytest.raises(KernelNotFound, match="no kernel and no recording is called 'fourth'"):
        found["fourth"]


def test_a_recording_of_several_kernels_chooses_none_and_the_error_says_that_it_was_the_one_named(folder):
    found = profiler.show(folder)
    with pytest.raises(KernelNotFound, match="3 kernels are of a recording with 'several' in its name"):
        found["several"]
    assert ("several" in found, "graph" in found) == (False, True)


@pytest.mark.parametrize(("kernel_name", "kernels"), [("k[56]", 2), ("offset", 1)])
def test_many_recordings_are_one_index_however_many_kernels_are_chosen(reports, kernel_name, kernels):
    """So that a script need not ask how many kernels match."""
    paths = [reports / f"{name}.ncu-rep" for name in ("several", "gemm_5", "gemm_6")]
    found = profiler.show(*paths, kernel_name=kernel_name)
    assert len(found) == len(found.index) == kernels


def test_the_whole_text_of_an_answer_has_what_the_first_screen_leaves_out(reports, prof_here):
    path = reports / "gemm_6.ncu-rep"
    sheet = profiler.show(path)
    whole = sheet.text()
    assert "l1_hit_pct" in whole
    assert "l1_hit_pct" not in repr(sheet)
    with pytest.raises(
        TypeError, match=r"show\(\) takes no 'full'; the answer has everything, and its \.text\(\)"
    ):
        profiler.show(path, full=True)


def test_entries_with_names_are_found_by_them(reports):
    sheet = profiler.show(reports / "gemm_5.ncu-rep")
    assert sheet.metrics["duration_ns"] == sheet.metrics[0]
    first = sheet.causes[0]
    assert sheet.causes[first.cause] is first
    assert sheet.metrics["gpu__time_duration.sum"] is sheet.metrics["duration_ns"], (
        "as Nsight Compute calls it"
    )
    with pytest.raises(KeyError, match="'duration' is none of these; there is duration_ns"):
        sheet.metrics["duration"]
    for typed, told in (
        ("dram", "dram_bytes_per_s"),  # holds it
        ("achieved_occupancy", "occupancy_limit_pct"),  # holds its longest word
        ("xyz", "duration_ns"),
    ):
        with pytest.raises(KeyError, match=f"; there is {told}, "):
            sheet.metrics[typed]
    with pytest.raises(AttributeError, match=r"no 'duration_ns'; \['duration_ns'\] is that entry$"):
        sheet.metrics.duration_ns  # noqa: B018 - raises


def test_the_lists_of_an_answer_are_short_tables_and_frames(reports, shipped_runs):
    sheet = profiler.show(shipped_runs.find("gemm-6-source", ladder="gemm"))
    several = profiler.show(reports / "several.ncu-rep")
    compared = profiler.compare(several[0], several[0])
    for entries in (
        sheet.causes,
        sheet.hot_lines,
        sheet.metrics,
        sheet.rules,
        several.index,
        compared.metrics,
    ):
        frame = entries.to_pandas()
        assert len(frame) == len(entries) > 0
        plain = (str, bool, Number, type(None))
        assert all(isinstance(one, plain) for column in frame for one in frame[column])
        assert max(map(len, repr(entries).splitlines())) <= 120
        assert len(repr(entries).splitlines()) <= 14
        assert "<table" in entries._repr_html_()  # private: notebooks look for this name
    first = sheet.causes[0]
    assert list(sheet.causes.to_pandas().loc[first.cause, ["saves_pct", "sentence"]]) == [
        first.saves_pct.expected,
        first.sentence,
    ]
    assert f"{first.cause} " in repr(sheet.causes).splitlines()[1]
    assert "and " in repr(sheet.metrics).splitlines()[-1]
    assert repr(profiler.show(reports / "gemm_5.ncu-rep").causes[:0]) == "[]"


def test_an_empty_list_of_an_answer_is_a_frame_with_the_columns_of_one_that_is_not(reports, shipped_runs):
    """So that a script which puts the frames of many reports together need not ask which of them have any rows."""
    sheet = profiler.show(shipped_runs.find("gemm-6-source", ladder="gemm"))
    several = profiler.show(reports / "several.ncu-rep")
    for entries in (
        sheet.causes,
        sheet.metrics,
        sheet.rules,
        several.index,
        profiler.compare(several[0], several[0]).metrics,
    ):
        whole, empty = entries.to_pandas(), entries[:0].to_pandas()
        assert (list(empty.columns), empty.index.name, len(empty)) == (list(whole.columns), whole.index.name, 0)  # fmt: skip
    of_lines = sheet.hot_lines[:0].to_pandas()
    whole = list(sheet.hot_lines.to_pandas().columns)
    assert list(of_lines.columns) == [one for one in whole if not one.startswith("stall_")]
    without_lines = profiler.show(reports / "range.ncu-rep")[0].hot_lines
    assert len(without_lines) == 0
    assert list(without_lines.to_pandas().columns) == list(of_lines.columns)


def test_a_name_in_a_list_without_names_is_answered_with_what_finds_an_entry(runs):
    rules = profiler.show(runs["gemm-6"]).rules
    with pytest.raises(KeyError, match=rf"these have no names: write a place, from 0 to {len(rules) - 1}"):
        rules["SOLBottleneck"]
    with pytest.raises(KeyError, match="'barriers' is none of these; the list is empty"):
        profiler.show(runs["gemm-6"]).causes[:0]["barriers"]


def test_a_list_of_kernels_takes_the_short_names_that_it_shows(reports):
    index = profiler.show(reports / "several.ncu-rep").index
    assert index["scale"] is index["scale(float *, float)"]
    assert index.to_pandas().loc["scale", "kernel_name"] == index["scale"].kernel_name
    with pytest.raises(KeyError, match="'scal' is none of these"):
        index["scal"]


def test_a_terminal_shows_the_columns_that_say_most(reports):
    """Pandas leaves out those in the middle of a frame that is wider than a terminal."""
    pd.set_option("display.width", 80)
    report = reports / "gemm_5.ncu-rep"
    shown = {
        "top": (profiler.read(report).top(), ("kernel", "top_cause")),
        "metrics": (profiler.show(report).to_pandas(), ("mean", "unit")),
        "comparison": (profiler.compare(report, report).to_pandas(), ("before", "after", "verdict")),
    }
    for name, (frame, columns) in shown.items():
        header = repr(frame).splitlines()[0].split()
        assert set(columns) <= set(header), name


def test_tab_completion_knows_the_names_behind_a_bracket(reports, runs):
    report = reports / "several.ncu-rep"
    assert "duration_ns" in profiler.show(report)[0].metrics._ipython_key_completions_()
    for several in (profiler.show(report), profiler.read(report)):
        assert "offset" in several._ipython_key_completions_()
        assert all(len(one) < 60 for one in several._ipython_key_completions_())
    assert "gemm-6" in runs._ipython_key_completions_()


def test_a_table_that_is_not_named_is_answered_with_those_that_there_are(reports):
    with pytest.raises(TypeError, match="needs the name of a table: launches, metrics, "):
        profiler.read(reports / "gemm_5.ncu-rep").to_pandas()


def test_the_text_of_a_check_has_its_figures_and_every_caution(reports):
    """A log of a CI job has what pytest prints, and nothing to click on."""
    text = repr(profiler.check(reports / "gemm_6.ncu-rep", baseline=reports / "gemm_5.ncu-rep"))
    assert "duration_ns" in text
    assert " ms" in text
    assert " %" in text
    assert "more caution" not in text


def test_several_recordings_are_shown_together_and_one_alone_as_ever(folder, runs, monkeypatch):
    several, graph = folder / "several.ncu-rep", folder / "graph.ncu-rep"
    found = profiler.show(profiler.read(graph), str(several), runs["gemm-6"])
    assert (found.recordings, found.errors) == (3, [])
    assert [one.kernel for one in profiler.show(several, graph, kernel_name="offset")] == [
        "offset(float *, float)"
    ]
    (folder / "cut.ncu-rep").unlink()
    several.unlink()
    assert profiler.show(folder) == profiler.show(graph)
    with pytest.raises(TypeError, match="is no recording"):
        profiler.show(graph, None)


def test_a_list_of_recordings_and_what_a_glob_yields_are_several_recordings(folder):
    (folder / "cut.ncu-rep").unlink()
    paths = sorted(folder.glob("*.ncu-rep"))
    assert profiler.show(paths) == profiler.show(folder.glob("*.ncu-rep")) == profiler.show(*paths)
    assert profiler.show(paths[:1]) == profiler.show(paths[0])
    with pytest.raises(ValueError, match="the list is empty"):
        profiler.show(folder.glob("*.nothing"))


def test_a_range_of_nvtx_leaves_only_its_launches(make_run, tmp_path):
    for name, factor in (("before", 1.0), ("after", 0.5)):
        inside, outside = (
            {"kernel": "k", "ns": ns * factor, "nvtx": names}
            for ns, names in ((10.0, ["step", "forward"]), (30.0, ["step"]))
        )
        make_run(inside, outside, {**outside, "kernel": "other"}, name=name, root=tmp_path)
    stored = profiler.open_runs(tmp_path)
    before, after = stored["before"], stored["after"]
    assert len(profiler.show(before)) == 2
    assert "nvtx='name'</code> those in an NVTX range" in unescape(profiler.show(before)._repr_html_())
    sheet = profiler.show(before, nvtx="forward")
    assert (sheet.kernel, sheet.launches, sheet.total_ns) == ("k", 1, 10.0)
    assert profiler.show(str(before.path), nvtx="forward") == sheet
    assert [one.total_ns for one in profiler.show(before, after, nvtx="forward")] == [10.0, 5.0]
    assert profiler.compare(before, after, nvtx="forward").to_pandas().loc["duration_ns", "before"] == 10.0
    with pytest.raises(KernelNotFound, match="no launch is in an NVTX range that matches 'fowrard'; nearest"):
        profiler.compare(before, after, nvtx="fowrard")
    for ask in (profiler.sass, profiler.source_lines):
        with pytest.raises(KernelNotFound, match="no launch is in an NVTX range"):
            ask(before.path, nvtx="fowrard")


def test_a_launch_is_chosen_by_its_number(make_run, tmp_path):
    launches = [{"kernel": "k", "ns": ns} for ns in (10.0, 20.0, 30.0)]
    make_run(*launches, name="sweep", root=tmp_path)
    run = profiler.open_runs(tmp_path)["sweep"]
    assert (profiler.show(run, launch=1).launches, profiler.show(run, launch=1).total_ns) == (1, 20.0)
    assert profiler.show(str(run.path), launch="1-2").total_ns == 50.0
    table = profiler.compare(run, run, launch=0, other_launch=2).to_pandas()
    assert table.loc["duration_ns", ["before", "after"]].to_list() == [10.0, 30.0]
    for ask in (profiler.show, profiler.sass, profiler.source_lines):
        with pytest.raises(KernelNotFound, match="no launch has the number 3"):
            ask(run.path, launch=3)
    with pytest.raises(KernelNotFound, match="no launch has the number 3"):
        profiler.report(run.path, launch=3, output=tmp_path / "page.html")


SCRIPT = """
import profiler as prof

def scale(x: float) -> float:
    return 2 * x

a = prof.measure(scale, 1.0, reference=scale, bytes=8)
found = prof.compare(a, prof.measure(scale, 2.0))
print(found.speedup.ratio, found.headline.why, [one.cause for one in found.causes], found.to_pandas())
for one in found.comparisons:
    print(one.speedup.ci)
sheet = prof.show("mine.ncu-rep")
print(sheet.headline.next, [(one.cause, one.saves_pct.expected, one.where) for one in sheet.causes])
print([one.headline.why for one in sheet.sheets], prof.read("mine.ncu-rep")[0].metrics)
print(sheet.metrics["duration_ns"].mean, sheet.causes["barriers"].try_, found.metrics["duration_ns"].delta)
print(found.causes["barriers"].where, [one.name for one in sheet.metrics[:3]])
swept = prof.measure(scale, lambda n: float(n), over={"n": [1, 2]})
tuned = prof.tune(scale, over={"x": [0.5, 1.5]}, reference=scale)
print(tuned.best.ns, [point.problem for point in tuned], prof.check(a, baseline="base").passed, prof.sass(a).kernels)
print([point.ns for point in swept], prof.open_runs()["scale"].top())
"""


@pytest.mark.slow
def test_a_script_of_ten_lines_passes_a_strict_type_checker_and_a_wrong_name_does_not(tmp_path, monkeypatch):
    """The answer may be about several kernels, and a duration may be missing, but a script need not ask each time."""
    (tmp_path / "right.py").write_text(SCRIPT)
    (tmp_path / "wrong.py").write_text(
        SCRIPT
        + "found.speedup.ration\nsheet.casues\nsheet.metrics['duration_ns'].man\nprof.measure(scale, repeat=3)\n"
    )
    monkeypatch.setenv("MYPYPATH", str(ROOT))
    monkeypatch.chdir(tmp_path)
    # The checker is not here to read packages that appear in none of these answers, and pandas for half a minute.
    unread = (
        "aiohttp", "altair", "fsspec", "IPython", "markdown_it", "numpy", "pandas", "pebble", "prompt_toolkit",
        "pyarrow", "pydantic", "rich",
    )  # fmt: skip
    skipped = "".join(
        f"[mypy-{name}.*]\nfollow_imports = skip\nfollow_imports_for_stubs = true\n" for name in unread
    )
    (tmp_path / "mypy.ini").write_text(f"[mypy]\nstrict = true\nfollow_imports = silent\n{skipped}")
    options = ["--config-file=mypy.ini", f"--cache-dir={tmp_path}"]
    said = mypy_api.run([*options, "right.py", "wrong.py"])[0].splitlines()[:-1]  # the last counts them
    assert [line for line in said if not line.startswith("wrong.py:")] == []
    names = ("ration", "casues", "man", "repeat")
    assert [name for name in names if any(f'"{name}"' in line for line in said)] == list(names)


def test_reports_compare_by_path(reports, runs):
    finding = profiler.compare(reports / "gemm_5.ncu-rep", str(reports / "gemm_6.ncu-rep"))
    stored = profiler.compare(runs.find("textbook-5", ladder="gemm"), runs.find("textbook-6", ladder="gemm"))
    assert finding.metrics == stored.metrics
    assert finding.instructions == stored.instructions


# The reading side


def test_a_run_is_found_by_name_by_id_and_by_number(runs):
    by_name = runs["gemm-6"]
    assert by_name.manifest.run_id == runs[by_name.manifest.run_id].manifest.run_id
    assert runs.find(6).manifest == runs.find("6", ladder="gemm").manifest == by_name.manifest
    with pytest.raises(RunNotFound, match="did you mean 'gemm-6'"):
        runs["gemm-66"]


def test_runs_have_a_length_and_are_walked_oldest_first(runs):
    assert [run.manifest.run_id for run in runs] == [str(run_id) for run_id in runs.ids()]
    assert len(runs) == len(runs.ids()) > 10


def test_a_folder_without_runs_is_empty_and_still_a_store(tmp_path):
    empty = profiler.open_runs(tmp_path)
    assert (len(empty), list(empty), bool(empty)) == (0, [], True)


def test_a_folder_that_does_not_exist_is_no_empty_one(tmp_path):
    for ask in (
        lambda: profiler.open_runs(tmp_path / "absent"),
        lambda: profiler.ladder("gemm", tmp_path / "absent"),
    ):
        with pytest.raises(RunNotFound, match="absent: no such folder"):
            ask()


@pytest.mark.slow
def test_every_argument_called_runs_takes_a_folder_or_what_open_runs_returned(runs):
    sheets = [profiler.ladder("gemm", given) for given in (runs, runs.root, str(runs.root))]
    assert len({repr(one) for one in sheets}) == 1
    assert profiler.roofline("gemm", runs.root) == profiler.roofline("gemm", runs)


def test_a_returned_object_prints_one_line_or_what_its_command_prints(runs):
    assert repr(profiler.ladder("gemm", runs)).startswith("gemm: Matrix multiplication")
    assert repr(profiler.roofline("gemm", runs)).startswith("<roofline of gemm on NVIDIA H200: ")


def test_source_lines_print_where_most_of_the_time_goes(runs, shipped_runs):
    sampled = profiler.source_lines(shipped_runs.find("gemm-6-source", ladder="gemm"))
    head, first, *others, last = repr(sampled).splitlines()
    assert re.fullmatch(r"<gemm 6: \d+ source lines of gemm_06_vectorized, [\d,]+ samples>", head)
    hot = max(sampled.lines, key=lambda line: line.samples)
    share = f"{100 * hot.samples / sampled.samples:.1f} % of the samples"
    assert f"{share}  {hot.file}:{hot.line}  {hot.text.strip()[:20]}" in first
    assert (len(others), last) == (4, "`.to_pandas()` has all lines.")
    counted = profiler.source_lines(runs["gemm-6"])  # without samples, the executed instructions
    assert "% of the instructions  06_vectorized.cu:" in repr(counted).splitlines()[1]


def test_completion_offers_what_there_is_to_use_and_nothing_else():
    assert dir(profiler) == sorted(["errors", *profiler.__all__])
    assert profiler.errors.RunNotFound is RunNotFound


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ("meassure", r"no 'meassure'; did you mean prof\.measure\?"),
        ("load", r"did you mean prof\.read\?"),
        ("query", r"did you mean prof\.open_runs\(\.\.\.\)\.query\?"),
        ("doctor", "in a terminal, `prof doctor` does that"),
        ("profile", r"did you mean prof\.measure\?"),
        ("zzz", "it has check, compare, ladder, measure"),
        ("__wrapped__", "it has check, compare, ladder, measure"),
    ],
)
def test_a_name_that_is_not_there_is_answered_with_the_one_that_was_meant(typed, told):
    with pytest.raises(AttributeError, match=told):
        getattr(profiler, typed)


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: profiler.compare(5, 6, kernel="x"), r"compare\(\) takes no 'kernel'; did you mean kernel_name=\.\.\.\?"),
        (lambda: profiler.show(5, k="x"), r"show\(\) takes no 'k'; did you mean kernel_name="),
        (lambda: profiler.ladder("gemm", size=1), r"ladder\(\) takes no 'size'; did you mean workload="),
        (lambda: profiler.report(5, out="x"), r"report\(\) takes no 'out'; did you mean output="),
        (lambda: profiler.read(5, zzz=1), r"read\(\) takes no 'zzz'; it takes recording$"),
        (lambda: profiler.check(6, 5), r"1 positional argument but 2 were given; by name it takes baseline, kernel_name, "),
        (lambda: profiler.read(5, 6), r"1 positional argument but 2 were given$"),
        (lambda: profiler.measure(len, [], reps=3), r"measure has no option reps: .*; did you mean repeats="),
    ],
)  # fmt: skip
def test_a_keyword_that_is_not_there_is_answered_with_the_one_that_was_meant(call, told):
    with pytest.raises(TypeError, match=told):
        call()


def test_what_an_answer_has_not_is_answered_with_how_to_reach_it(reports, runs):
    report = reports / "gemm_5.ncu-rep"
    sheet, compared = profiler.show(report), profiler.compare(report, report)
    for answer in (sheet, compared):
        with pytest.raises(TypeError, match=r"\['duration_ns'\]; \.metrics\['duration_ns'\] is that"):
            answer["duration_ns"]
        with pytest.raises(AttributeError, match=r"\.metrics\['duration_ns'\] is that metric$"):
            answer.duration_ns  # noqa: B018 - raises
        assert copy.deepcopy(answer) == answer
    with pytest.raises(AttributeError, match=r"Sheet has no 'sass'; prof\.sass\(\.\.\.\) takes this answer$"):
        sheet.sass  # noqa: B018 - raises
    with pytest.raises(AttributeError, match=r"Runs has no 'querry'; did you mean \.query\?$"):
        runs.querry  # noqa: B018 - raises
    with pytest.raises(TypeError, match=r"Comparison has no \['speedup'\]; did you mean \.speedup\?$"):
        compared["speedup"]
    with pytest.raises(AttributeError, match=r"Recording has no 'kernel'; did you mean \.kernels\?$"):
        profiler.read(report).kernel  # noqa: B018 - raises
    with pytest.raises(AttributeError, match=r"Sheet has no 'zzz'; it has \.causes, "):
        sheet.zzz  # noqa: B018 - raises


def test_every_command_has_a_function_or_is_said_to_be_for_a_terminal():
    assert set(VERBS) == COMMANDS_ALONE | (set(VERBS) & {*dir(profiler), "list", "query"})
    assert not COMMANDS_ALONE & set(dir(profiler))


def test_type_checkers_learn_that_there_are_types():
    """Without the marker of PEP 561 they take every answer of an installed package for Any."""
    assert Path(profiler.__file__).with_name("py.typed").exists()


@pytest.mark.parametrize(("given", "what"), [((3,), "function"), ((len, []), "reference")])
def test_an_object_that_cannot_be_called_is_refused_before_anything_else(given, what):
    function, *arguments = given
    with pytest.raises(TypeError, match=f"the {what} is .*cannot be called"):
        profiler.measure(function, *arguments, reference=None if what == "function" else 3)


def test_every_argument_that_names_a_recording_means_the_same(reports, recorded, monkeypatch):
    monkeypatch.chdir(recorded.root.parent)
    path = reports / "gemm_6.ncu-rep"
    named = [6, "6", "gemm-6", recorded.find("6", "gemm"), profiler.open_runs("runs")["gemm-6"]]
    assert len({profiler.read(one).manifest.run_id for one in named}) == 1
    assert profiler.compare(5, 6).speedup == profiler.compare("gemm-5", "gemm-6").speedup
    assert (
        profiler.show(str(path)).metrics
        == profiler.show(path).metrics
        == profiler.show(profiler.read(path)).metrics
    )


def test_the_kernels_of_a_report_are_sorted_by_their_time(reports):
    report = profiler.read(reports / "several.ncu-rep")
    top = report.top()
    assert list(top.columns) == [
        "kernel",
        "share_pct",
        "total_ns",
        "launches",
        "nvtx",
        "kernel_name",
        "likely_saves_ns",
        "where",
        "top_cause",
    ]
    assert sorted(top["kernel_name"]) == sorted(report.kernels)
    assert "offset" in set(top["kernel"]), "without its parameters, to be read"
    assert list(top["total_ns"]) == sorted(top["total_ns"], reverse=True)
    assert top["share_pct"].sum() == pytest.approx(100)
    assert len(report) == len(list(report)) == len(top) > 1
    assert list(report.top(1)["kernel"]) == list(top["kernel"][:1])


def test_a_name_in_a_frame_or_in_json_chooses_its_kernel_however_long_it_is(make_run, tmp_path, prof_here):
    names = [f"void k<View<float *, (int){one}>, {'std::tuple<int>, ' * 40}>(float *)" for one in (1, 2)]
    launches = [{"kernel": name, "ns": 1e6} for name in names]
    run = make_run(*launches, name="long", root=tmp_path / "runs")
    top = profiler.read(run).top()
    assert sorted(top["kernel_name"]) == sorted(profiler.show(run).to_pandas()["kernel_name"]) == names
    assert set(top["kernel"]) == {"k"}
    assert profiler.show(run, kernel_name=top["kernel_name"][0]).kernel == top["kernel_name"][0]
    show = ("--runs", tmp_path / "runs", "show", "long", "--format", "json")
    for entry in json.loads(prof_here(*show).stdout)["index"]:
        (found,) = json.loads(prof_here(*show, "-k", entry["kernel_name"]).stdout)["index"]
        assert found["kernel_name"] == entry["kernel_name"]


def test_a_run_of_times_alone_has_no_kernels_to_list(runs):
    top = runs["gemm-6-timed"].top()
    assert list(top.columns) == list(runs["gemm-6"].top().columns)
    assert len(top) == 0


def test_whoever_asks_times_alone_for_a_kernel_learns_what_to_ask_instead(runs):
    timed = runs["gemm-6-timed"]
    instead = r"`prof\.show\(recording\)` has the times in `\.timing`"
    for answer in (timed, profiler.show(timed)):
        with pytest.raises(IndexError, match=instead):
            answer[0]
        with pytest.raises(KernelNotFound, match="only times were recorded") as caught:
            answer["gemm"]
        assert re.match(instead, str(caught.value.remedy))
        assert "gemm" not in answer
    assert profiler.show(timed).timing.headline.next.startswith("Record its counters with ")


def test_a_kernel_of_a_report_is_its_sheet(reports):
    report = profiler.read(reports / "several.ncu-rep")
    name = report.kernels[0]
    assert report[name].kernel == name
    with pytest.raises(KernelNotFound, match="no kernel is called 'absent'"):
        report["absent"]


def test_findings_show_themselves_as_the_page_does(reports, runs):
    comparison = profiler.compare(runs["gemm-5"], runs["gemm-6"])
    html = comparison._repr_html_()  # private: notebooks look for this name
    assert comparison.headline.why.partition(" (")[0] in unescape(html)
    assert "<table" in html
    for shown in (profiler.show(runs["gemm-6"]), runs["gemm-6"], profiler.read(reports / "several.ncu-rep")):
        text = shown._repr_html_()  # private: notebooks look for this name
        assert "takeaway" in text
        assert "<table" in text


def test_a_cell_of_one_kernel_keeps_nothing_back_for_an_option_that_it_does_not_have(runs):
    assert "--full" not in runs["gemm-6"]._repr_html_()  # private: notebooks look for this name


def test_an_answer_in_a_cell_brings_the_style_of_its_bars(runs):
    """Without one a notebook draws them black, and as wide as the window."""
    html = profiler.show(runs["gemm-6"])._repr_html_()  # private: notebooks look for this name
    style, _, rest = html.partition("</style>")
    assert ".prof .bar rect" in style
    assert 'class="bar"' in rest


def test_a_finding_prints_its_answer_and_not_its_fields(runs):
    comparison, sheet = profiler.compare(runs["gemm-5"], runs["gemm-6"]), profiler.show(runs["gemm-6"])
    assert str(comparison).startswith(comparison.headline.what)
    assert sheet.headline.what in str(sheet)
    assert max(len(str(one).splitlines()) for one in (comparison, sheet)) < 15


def test_a_run_is_in_a_store_by_the_names_that_find_it(runs):
    assert "gemm-6" in runs
    assert "gemm-66" not in runs


@pytest.mark.parametrize("ask", [profiler.show, profiler.read, lambda one: profiler.compare(one, one)])
@pytest.mark.parametrize("given", [len, None, [["gemm-5"]]])
def test_an_object_that_is_no_recording_is_refused_with_what_would_be_one(ask, given):
    with pytest.raises(
        TypeError, match=r"is no recording: give the path of a report, the name.*`prof\.measure`"
    ):
        ask(given)


def test_a_sheet_stands_for_its_kernel_wherever_a_recording_is_taken(reports, runs, tmp_path):
    """Whoever has seen an answer looks closer at its kernel next."""
    path = reports / "several.ncu-rep"
    for sheet in (
        profiler.show(path)["offset"],
        profiler.read(path)["offset"],
        profiler.show(path, path.with_name("graph.ncu-rep"))["offset"],
    ):
        assert profiler.show(sheet) == sheet
        assert profiler.read(sheet).kernels == profiler.read(path).kernels
        assert profiler.source_lines(sheet) == profiler.source_lines(path, kernel_name="offset")
        assert str(profiler.sass(sheet)) == str(profiler.sass(path, kernel_name="offset"))
        assert profiler.compare(sheet, sheet) == profiler.compare(path, path, kernel_name="offset")
        assert (
            profiler.compare(path, sheet) == profiler.compare(sheet, path) == profiler.compare(sheet, sheet)
        )
        assert "offset" in profiler.report(sheet, output=tmp_path / "of.html").read_text()
    other = next(one for one in profiler.show(path) if one != sheet)
    compared = profiler.compare(sheet, other)
    assert (compared.before.kernel_name, compared.after.kernel_name) == (sheet.kernel, other.kernel)
    sides = str(profiler.sass(sheet, other)).splitlines()
    assert [line.rpartition(": ")[2] for line in sides if ".ncu-rep: " in line] == [
        sheet.kernel,
        other.kernel,
    ]
    stored = profiler.show(runs["gemm-6"])
    assert profiler.check(stored, baseline=profiler.show(runs["gemm-5"]))
    with pytest.raises(TypeError, match=r"^a Sheet is no recording: give the path"):
        profiler.show(sheet, other)


def test_a_sheet_that_another_process_sends_still_stands_for_its_kernel(reports):
    path = reports / "several.ncu-rep"
    sheet = profiler.show(path)["offset"]
    for sent in (pickle.loads(pickle.dumps(sheet)), copy.copy(sheet), copy.deepcopy(sheet)):
        assert sent == sheet
        assert str(profiler.sass(sent)) == str(profiler.sass(sheet))
        assert sent.causes[:0].to_pandas().columns.equals(sheet.causes[:0].to_pandas().columns)


def test_a_sheet_keeps_the_launches_that_were_chosen(make_run, tmp_path):
    launches = [{"kernel": "k", "ns": ns} for ns in (10.0, 30.0)]
    run = make_run(*launches, name="two", root=tmp_path)
    second = profiler.show(run, launch=1)
    assert profiler.show(second).metrics["duration_ns"].mean == 30.0
    assert profiler.compare(profiler.show(run, launch=0), second).speedup.ratio == pytest.approx(1 / 3)


def test_the_launches_of_a_sheet_hold_for_both_sides_of_a_check_and_not_for_what_is_read(
    make_run, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)  # where no file declares limits

    def run_of(name, *times_ns):
        launches = [{"kernel": "k", "ns": ns} for ns in times_ns]
        return make_run(*launches, name=name, root=tmp_path / name)

    before, after = run_of("before", 10.0, 30.0), run_of("after", 30.0, 31.0)
    (pair,) = profiler.check(after, baseline=profiler.show(before, launch=1)).pairs
    assert (pair.checks[0].before, pair.checks[0].after) == pytest.approx((30.0, 31.0))
    with pytest.raises(ValueError, match=r"different launches, which only `prof\.compare` takes"):
        profiler.check(profiler.show(after, launch=0), baseline=profiler.show(before, launch=1))
    whole = profiler.read(profiler.show(before, launch=1))
    assert (whole[0].launches, profiler.show(whole[0]).launches) == (2, 2)


def test_a_name_for_the_second_side_alone_leaves_the_first_its_only_kernel(reports):
    sides = reports / "gemm_5.ncu-rep", reports / "several.ncu-rep"
    assert profiler.compare(*sides, other_kernel="offset").after.kernel_name == "offset(float *, float)"
    with pytest.raises(KernelAmbiguous, match="holds 3 kernels"):
        profiler.compare(sides[1], other_kernel="offset")


def test_source_lines_and_machine_code_are_of_the_longest_of_several_kernels(reports, make_run, tmp_path):
    path = reports / "several.ncu-rep"
    longest = profiler.show(path).index[0].kernel_name
    assert profiler.source_lines(path) == profiler.source_lines(path, kernel_name=longest)
    assert "source lines of offset, " in repr(profiler.source_lines(path))
    assert profiler.sass(path).kernels[0].place == profiler.sass(path, kernel_name=longest).kernels[0].place
    assert profiler.source_lines(path, kernel_name="scale").kernel == "scale(float *, float)"
    without_times = make_run({"kernel": "one"}, {"kernel": "other"}, root=tmp_path)
    for ask in (profiler.source_lines, profiler.sass):
        with pytest.raises(KernelAmbiguous, match="holds 2 kernels"):
            ask(without_times)


def test_a_sheet_is_compared_with_its_kernel_under_another_name(reports, make_run, tmp_path, monkeypatch):
    """Template arguments and parameters are a change of the same kernel."""
    monkeypatch.chdir(tmp_path)  # where no file declares limits
    one, other = reports / "gemm_5.ncu-rep", reports / "gemm_6.ncu-rep"
    sheet = profiler.show(one)
    for ask in (
        profiler.sass,
        lambda before, after: profiler.check(after, baseline=before, max_slower_pct=900),
    ):
        assert str(ask(sheet, other)) == str(ask(one, other))
        assert str(ask(other, sheet)) == str(ask(other, one))
    compared = profiler.compare(one, other)
    assert (
        profiler.compare(profiler.show(one), other) == profiler.compare(one, profiler.show(other)) == compared
    )

    def run_of(name, *kernels):
        launches = [{"kernel": one, "ns": 10.0} for one in kernels]
        return make_run(*launches, name=name, root=tmp_path / name)

    before, after = run_of("before", "k<128>", "j"), run_of("after", "k<256>", "j")
    found = profiler.compare(profiler.show(before)["k"], after)
    assert (found.before.kernel_name, found.after.kernel_name) == ("k<128>", "k<256>")
    (checked,) = profiler.check(after, baseline=profiler.show(before)["k"]).pairs
    assert checked.kernel == "k<256>"
    with pytest.raises(KernelNotFound, match="no kernel name matches"):
        profiler.compare(before, after, kernel_name="k<128>")


def test_two_kernels_or_launches_of_one_report_compare_without_naming_it_twice(reports):
    path = reports / "several.ncu-rep"
    names = {"kernel_name": "offset", "other_kernel": "scale"}
    assert profiler.compare(path, **names) == profiler.compare(path, path, **names)
    launches = {"kernel_name": "scale", "launch": 0, "other_launch": 2}
    assert profiler.compare(path, **launches) == profiler.compare(path, path, **launches)


def test_an_answer_about_one_kernel_may_be_treated_as_one_about_several(reports):
    path = reports / "gemm_5.ncu-rep"
    for answer in (profiler.show(path), profiler.compare(path, path)):
        assert answer[0] is answer["k5"] is next(iter(answer))
        assert (len(answer), "k5" in answer, "offset" in answer) == (1, True, False)
        with pytest.raises(IndexError, match=r"\[1\] is none of 1 kernel"):
            answer[1]


def test_a_comparison_is_no_condition_and_says_which_answer_is_one(reports):
    for path in (reports / "gemm_5.ncu-rep", reports / "several.ncu-rep"):
        with pytest.raises(
            TypeError, match=r"neither true nor false.*`prof\.check\(after, baseline=before\)`"
        ):
            bool(profiler.compare(path, path))


@pytest.mark.parametrize("ask", [profiler.ladder, profiler.roofline])
def test_a_ladder_is_named_by_its_file_and_a_folder_of_its_name_hides_none(ask, runs, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "gemm").mkdir()
    (tmp_path / "gemm/mine.ncu-rep").touch()
    file = ROOT / "kernels/gemm/ladder.toml"
    assert repr(ask("gemm", runs)) == repr(ask(file, runs)) == repr(ask(str(file), runs))


@pytest.mark.parametrize("given", [5, "mine.ncu-rep"])
@pytest.mark.parametrize("ask", [profiler.ladder, profiler.roofline])
def test_what_is_no_ladder_is_refused_with_what_would_be_one(ask, given, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # without a folder of runs, which is not what is wrong
    with pytest.raises(
        TypeError, match=f"{given}.* is no ladder: give its name, such as 'gemm', or its file"
    ):
        ask(given)


def test_one_line_asserts_that_a_recording_is_no_slower_than_a_baseline(reports, runs, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # where no file declares limits
    assert profiler.check(runs["gemm-6"], baseline=runs["gemm-5"])
    slower = profiler.check(reports / "gemm_5.ncu-rep", baseline=str(reports / "gemm_6.ncu-rep"))
    assert (bool(slower), slower.passed, slower.outcome) == (False, False, "regression")
    assert slower.headline.what in " ".join(repr(slower).split())
    cell = slower._repr_html_()  # private: notebooks look for this name
    assert "(+87.95 ± 0.40 %, allowed +2 %)" in " ".join(cell.split())
    assert profiler.check(runs["gemm-5"], baseline=runs["gemm-6"], max_slower_pct=900).passed
    unclear = profiler.check(reports / "gemm_6.ncu-rep", baseline=reports / "gemm_5.ncu-rep")
    assert (bool(unclear), unclear.outcome) == (False, "unclear"), "what is unclear has not passed"
    for said in (str(unclear), unclear.text()):
        assert "Next: If they do the same work, give `kernel_name=PATTERN` that matches both" in " ".join(
            said.split()
        )
    assert str(slower).count("Next: ") == 1
    with pytest.raises(RunNotFound, match="the same recording on both sides") as caught:
        profiler.check(runs["gemm-6"], baseline=runs)
    assert caught.value.remedy == "Give the new recording first, and the older one as `baseline`."
    with pytest.raises(RunNotFound, match="nowhere"):
        profiler.check(runs["gemm-6"], baseline="nowhere")


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        (float("nan"), ValueError),
        (10**400, ValueError),
        (-1, ValueError),
        (float("inf"), ValueError),
        ("5", TypeError),
        (True, TypeError),
    ],
)
def test_a_limit_that_limits_nothing_is_refused(runs, given, kind):
    with pytest.raises(kind, match=r"^max_slower_pct: a limit is a percentage from 0, not"):
        profiler.check(runs["gemm-5"], baseline=runs["gemm-6"], max_slower_pct=given)


def test_a_limit_may_be_a_number_of_numpy(runs, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # where no file declares limits
    assert profiler.check(runs["gemm-5"], baseline=runs["gemm-6"], max_slower_pct=np.float32(900)).passed


def test_machine_code_is_shown_as_the_command_shows_it(reports, runs, prof_here):
    code = profiler.sass(runs["gemm-5"], runs["gemm-6"])
    assert [one.sentence for one in code.changes] == [
        one.sentence for one in profiler.compare(runs["gemm-5"], runs["gemm-6"]).instructions.hot_loop.changes
    ]
    printed = prof_here("sass", reports / "gemm_5.ncu-rep", reports / "gemm_6.ncu-rep").stdout
    assert "--full shows the whole function" in printed
    printed = printed.replace("--full", "`full=True`")
    text = repr(profiler.sass(reports / "gemm_5.ncu-rep", reports / "gemm_6.ncu-rep"))
    assert re.sub(r"\S*gemm_", "gemm_", text).split() == re.sub(r"\S*gemm_", "gemm_", printed).split()
    assert len(profiler.sass(runs["gemm-6"]).kernels) == 1
    assert "LDS.128" in code._repr_html_()  # private: notebooks look for this name


def test_all_runs_are_asked_in_sql(runs):
    found = runs.query("select name, count(*) as number from runs group by all order by name")
    assert list(found.columns) == ["name", "number"]
    assert found["number"].sum() == len(runs)
    with pytest.raises(QueryFailed, match="one SELECT statement is allowed"):
        runs.query("drop table runs")


def test_a_check_of_several_kernels_asks_for_the_one_that_is_meant(reports):
    with pytest.raises(KernelAmbiguous) as caught:
        profiler.check(reports / "several.ncu-rep", baseline=reports / "processes.ncu-rep", kernel_name="o")
    assert "kernel_name=PATTERN" in caught.value.remedy
    assert "--all" not in caught.value.remedy


def test_the_help_of_the_package_lists_each_function_with_its_first_sentence():
    shown = render_doc(profiler, renderer=plaintext)
    for name in profiler.__all__:
        first = getattr(profiler, name).__doc__.partition("\n")[0]
        assert re.search(rf"^    +{name} +{re.escape(first)}$", shown, re.MULTILINE), name
        assert name in dir(profiler)


def test_the_help_of_an_answer_lists_what_it_has_and_nothing_that_the_commands_or_msgspec_need(runs, reports):
    path = reports / "gemm_5.ncu-rep"
    answers = [
        profiler.show(path),
        profiler.show(reports / "several.ncu-rep"),
        profiler.show(path, reports / "gemm_6.ncu-rep"),
        profiler.compare(path, reports / "gemm_6.ncu-rep"),
        profiler.compare(reports / "several.ncu-rep", reports / "several.ncu-rep"),
        profiler.check(path, baseline=reports / "gemm_6.ncu-rep", kernel_name="k"),
        profiler.ladder("gemm", runs),
        profiler.sass(path),
        profiler.read(path),
        runs,
    ]
    for answer in answers:
        shown = render_doc(answer, renderer=plaintext)
        assert not re.search(r"typing|Importance|__|Method resolution", shown)
        listed = re.findall(r"^    ([a-z_]+)(?:\(\w*\))?  ", shown, re.MULTILINE)
        assert "to_pandas" in listed or "text" in listed
        assert [name for name in listed if not hasattr(answer, name)] == []
        explained, _, _ = shown.partition("Besides: ")
        methods = [name for name in dir(answer) if callable(getattr(answer, name))]
        assert [name for name in methods if not re.search(rf"\b{name}\(", explained)] == []


def test_importing_the_package_imports_nothing_heavy():
    code = "import sys, profiler; print([one for one in ('pandas', 'pyarrow', 'msgspec', 'pathlib') if one in sys.modules])"
    found = subprocess.run(
        [sys.executable, "-S", "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert found.stdout == "[]\n"


def test_the_help_of_measure_shows_what_it_takes_also_after_its_room_was_imported():
    import profiler.measuring.functions.measure

    shown = render_doc(profiler.measure, renderer=plaintext)
    assert "function measure in module profiler" in shown
    assert "measure(function: " in shown
    assert "PACKAGE CONTENTS" not in shown
    assert "\n    measure(function: " in render_doc(profiler, renderer=plaintext)


def test_completion_offers_only_attributes_that_exist_and_are_for_users(runs):
    recording = runs["gemm-6"]
    for one in (runs, recording):
        assert all(hasattr(one, name) for name in dir(one))
        assert not {"forget_reports", "read_ahead", "staging"} & set(dir(one))
    with pytest.raises(QueryFailed, match="'foo' is no table") as caught:
        recording.to_pandas("foo")
    assert caught.value.remedy.startswith("There are launches, metrics, ")
    for read in (recording.to_pandas, recording.table):
        with pytest.raises(QueryFailed) as caught:
            read("metric")
        assert caught.value.remedy == "Did you mean 'metrics'?"


def test_what_a_recording_or_a_folder_of_runs_refuses_ends_with_what_to_do_in_python(runs):
    recording = runs["gemm-6"]
    for ask in (
        lambda: runs["gemm6"],
        lambda: runs.query("select nme from runs"),
        lambda: recording["nosuch"],
        lambda: recording.to_pandas("metric"),
    ):
        with pytest.raises(ProfError) as caught:
            ask()
        assert caught.value.__notes__ == [caught.value.remedy]
        assert "`prof list`" not in caught.value.remedy


def test_the_time_of_a_stored_run_without_the_profiler_is_there_as_when_it_was_measured(runs, reports):
    run = runs["gemm-6"]
    timings = run.to_pandas("timings")
    assert run.ns == timings["kernel_ns"].median() == pytest.approx(3.18e6, rel=0.01)
    assert run.reference_ns == timings["reference_ns"].median()
    report = profiler.read(reports / "gemm_6.ncu-rep")
    assert (report.ns, report.reference_ns) == (None, None)


def test_of_a_report_that_is_not_there_the_path_is_doubted_and_no_stored_run_offered(tmp_path):
    with pytest.raises(ReportNotFound) as caught:
        profiler.show(tmp_path / "gone.ncu-rep")
    assert caught.value.remedy == "Check the path."


def test_an_error_says_what_to_do_with_the_arguments_of_the_function_and_in_the_traceback(made):
    names = [made.profile(f"m-{clocks}", 5.0, clock_control=clocks) for clocks in ("base", "none")]
    runs = profiler.open_runs(made.store.root)
    with pytest.raises(NotComparable) as caught:
        profiler.compare(*(runs[name] for name in names))
    assert "compare anyway with `force=True`" in caught.value.remedy
    assert caught.value.__notes__ == [caught.value.remedy]
    assert "--force" in NotComparable.remedy, "a command has the option"


def test_a_cause_and_its_saving_are_printed_as_sentences(reports):
    causes = profiler.show(reports / "gemm_5.ncu-rep").causes
    for cause in causes:
        text = str(cause)
        assert text.startswith(cause.cause)
        assert text.endswith(f": {cause.sentence}")
        assert "Cause(" not in text
        assert f"likely to save {cause.saves_pct.expected:.0f} % of the time" in text
        assert str(cause.saves_pct) in text
        assert ("at most" in text) == (cause.saves_pct.at_most < 99.5)
    ceiling = profiler.show(reports / "triton_add_full.ncu-rep").causes[0]
    assert ceiling.is_ceiling
    assert "save" not in str(ceiling)
