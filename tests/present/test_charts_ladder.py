"""Charts of a ladder, its ceilings and its source: they show every figure that was found, each with its unit."""

import itertools
import math
import re
from pathlib import Path
from statistics import median

import pytest
from msgspec.structs import replace

import profiler
from profiler.analyse.ladder.climb import LadderSheet, RungStalls, StepDeltas, derive_ladder_sheet
from profiler.analyse.ladder.roofline import Ceiling, Point, Roofline, Stream
from profiler.analyse.recording.profile import profile_kernel, profile_timings
from profiler.analyse.recording.source_lines import SourceLine, SourceLines
from profiler.ask.ladder import find_climb, find_workloads
from profiler.catalog.ladders.ladder_file import read_ladder
from profiler.catalog.metrics import HEADLINE
from profiler.errors import MetricsMissing
from profiler.present import charts, style
from profiler.present.charts import roof
from profiler.present.charts.render import chart_spec, title_of
from profiler.store.cache import open_pictures
from profiler.text import duration
from tests.profiles import profile_in


@pytest.fixture(scope="module")
def sheet(recorded_ladder):
    return recorded_ladder


@pytest.fixture(scope="module")
def lines(shipped_runs):
    return profiler.source_lines(shipped_runs.find("gemm-6-source", ladder="gemm"))


def ceiling(name, value, unit="GFLOP/s"):
    return Ceiling(name, value, unit, 0.1, "run")


DRAM, FP32 = ceiling("dram", 4000.0, "GB/s"), ceiling("fp32", 60_000.0)


def point(kernel, intensity, gflops, *, pct=50.0, under="fp32", l2=None):
    l2_bytes = 100.0 if l2 else None
    attainable = gflops / pct * 100 if pct else None
    return Point(
        kernel, f"rung_{kernel}", gflops, 0.1, "fp32", 100.0, intensity, l2_bytes, l2, under, attainable, pct, "run"
    )  # fmt: skip


def roofline(ceilings, points=(), streams=(), missing=(), left_out=None):
    return Roofline(
        "made", "NVIDIA H200", {"m": 1}, list(ceilings), list(missing), list(points), list(streams), left_out or {}
    )  # fmt: skip


GEMM = read_ladder(Path(__file__).parents[2] / "kernels" / "gemm" / "ladder.toml")
FULL = roofline([DRAM, FP32], [point(1, 2.0, 500.0), point(2, 40.0, 30_000.0)])


# Time


def test_the_profilers_part_is_the_difference_of_both_times(sheet, rows_of):
    rows = {row["rung"]: row for row in rows_of(charts.profiler_effect_chart(sheet.ladder)) if "rung" in row}
    assert len(rows) == len(sheet.ladder.kernels)
    for rung in sheet.ladder.kernels:
        longer = rung.metrics["duration_ns"] / rung.duration_ns - 1
        assert rows[f"{rung.kernel} {rung.name}"]["pct"] == pytest.approx(100 * longer)


def test_the_time_of_one_kernel_of_several_is_not_held_against_that_of_all(sheet, rows_of):
    first, *others = sheet.ladder.kernels
    partial = replace(sheet.ladder, kernels=[replace(first, is_part_of_step=True), *others])
    rows = {row["rung"] for row in rows_of(charts.profiler_effect_chart(partial)) if "rung" in row}
    assert rows == {f"{rung.kernel} {rung.name}" for rung in others}


def test_timed_only_or_profiled_only_there_is_none(sheet):
    bare = [replace(rung, metrics={}) for rung in sheet.ladder.kernels]
    assert charts.profiler_effect_chart(replace(sheet.ladder, kernels=bare)) is None
    profiled = [replace(rung, basis="profiled") for rung in sheet.ladder.kernels]
    assert charts.profiler_effect_chart(replace(sheet.ladder, kernels=profiled)) is None
    assert "under the profiler" in str(
        charts.ladder_times_chart(replace(sheet.ladder, kernels=profiled)).to_dict()
    )


def test_repeats_scatter_as_timed(recorded, rows_of):
    profile = profile_in(recorded, "5")
    rows = [
        row for row in rows_of(charts.repeats_chart(profile.timings_ns, profile.label)) if "number" in row
    ]
    assert [row["value"] * 1e6 for row in rows] == pytest.approx(list(profile.timings_ns))


def test_the_line_through_the_times_is_their_median_and_says_so(recorded, rows_of):
    """As `prof show` has it: of two groups of repeats the mean lies where none is."""
    run = recorded.find("gemm-12-timed", ladder="gemm")  # while its clock fell
    profile = profile_timings(run)
    (line,) = {
        (row["value"], row["label"])
        for row in rows_of(charts.repeats_chart(profile.timings_ns, profile.label))
        if "label" in row
    }
    middle_ms = median(profile.timings_ns) / 1e6
    assert line == (pytest.approx(middle_ms), f"median {duration(1e6 * middle_ms)}")
    assert line[0] != pytest.approx(profile.timings_ns.mean / 1e6, rel=1e-3)


def test_the_line_through_the_launches_is_their_mean_and_says_so(recorded, rows_of):
    profile = profile_in(recorded, "5")
    (line,) = {
        (row["value"], row["label"])
        for row in rows_of(charts.launches_chart(profile.series["duration_ns"].values, profile.label))
        if "label" in row
    }
    mean_ms = profile.series["duration_ns"].values.mean / 1e6
    assert line == (pytest.approx(mean_ms), f"mean {mean_ms:.3f} ms")


def test_times_far_apart_are_drawn_on_a_logarithmic_axis(sheet):
    kernels = sheet.ladder.kernels
    for shown, scale in ((kernels, "log"), (kernels[5:10], None)):
        points = charts.ladder_times_chart(replace(sheet.ladder, kernels=shown)).to_dict()["layer"][0]
        axis = points["encoding"]["x"]
        assert axis["scale"].get("type") == scale
        assert ("log scale" in axis["title"]) == (scale == "log")


def test_a_step_from_another_rung_than_the_one_above_names_that_rung(sheet):
    times, steps = (
        chart.to_dict()["title"]
        for chart in (charts.ladder_times_chart(sheet.ladder), charts.steps_chart(sheet))
    )
    assert times["text"] == "The largest step is to 2 coalesced: 12.3x as fast as 1 naive"
    assert times["subtitle"][0].endswith("as fast as the rung before (14: rung 9)")
    assert "each rung against the one before (14: rung 9), with" in steps["subtitle"][0]
    alone = replace(sheet.ladder, kernels=[one for one in sheet.ladder.kernels if one.kernel in (9, 14)])
    assert charts.ladder_times_chart(alone).to_dict()["title"]["subtitle"][0].endswith("as the rung before")


# Stalls


def test_the_segments_of_a_rung_are_all_of_its_cycles_without_a_gap(sheet, rows_of):
    rows = [row for row in rows_of(charts.rung_stalls_chart(sheet)) if "reason" in row]
    for rung in sheet.rungs:
        own = {row["reason"]: row for row in rows if row["rung"] == f"{rung.kernel} {rung.name}"}
        total = sum(rung.stalls.values())
        assert sum(row["cycles"] for row in own.values()) == pytest.approx(total)
        ends = sorted((row["start"], row["end"]) for row in own.values())
        assert (ends[0][0], ends[-1][1]) == (0, pytest.approx(100))
        assert all(left[1] == pytest.approx(right[0]) for left, right in itertools.pairwise(ends))
        ready = rung.stalls["stall_selected"] + rung.stalls["stall_not_selected"]
        assert own["issuing or ready"]["cycles"] == pytest.approx(ready)


def made_stalls(*cycles):
    return [
        RungStalls(number, "made", {"stall_barrier": one, "stall_selected": 1.0})
        for number, one in enumerate(cycles)
    ]


@pytest.mark.parametrize(("cycles", "longest"), [((9.0, 3.0), 10), ((99.0, 1.0), 100)])
def test_rungs_far_apart_are_drawn_as_shares_and_others_as_cycles(sheet, rows_of, cycles, longest):
    chart = charts.rung_stalls_chart(replace(sheet, rungs=made_stalls(*cycles)))
    rows = [row for row in rows_of(chart) if "reason" in row]
    assert max(row["end"] for row in rows) == longest
    unit = "% of the cycles" if longest == 100 else "cycles per issue"
    assert unit in str(chart.to_dict())


def test_a_rung_without_stalls_is_left_out_and_all_without_are_no_chart(sheet, rows_of):
    some = [*made_stalls(3.0), RungStalls(7, "timed", {})]
    assert {row["rung"] for row in rows_of(charts.rung_stalls_chart(replace(sheet, rungs=some)))} == {
        "0 made"
    }
    assert charts.rung_stalls_chart(replace(sheet, rungs=some[1:])) is None


# Steps


@pytest.mark.slow
def test_every_step_of_every_metric_is_shown_with_its_interval_and_verdict(sheet, rows_of):
    chart = charts.steps_chart(sheet)
    rows = [row for row in rows_of(chart) if "verdict" in row]
    panels = [panel["title"]["text"] for panel in chart.to_dict()["concat"]]
    assert panels == ["time", *HEADLINE[1:]]
    names = {rung.kernel: f"{rung.kernel} {rung.name}" for rung in sheet.ladder.kernels}
    for step in sheet.steps:
        for one in step.metrics:
            if one.name in panels:
                shown = (names[step.kernel], one.delta, *one.ci, one.verdict)
                assert shown in {
                    tuple(row[key] for key in ("step", "delta", "low", "high", "verdict")) for row in rows
                }


def test_the_first_panel_is_the_time_without_the_profiler(sheet, rows_of):
    first = charts.steps_chart(sheet).concat[0]
    shown = {row["step"]: row for row in rows_of(first) if "verdict" in row}
    timed = [rung for rung in sheet.ladder.kernels if rung.speedup]
    assert timed
    for rung in timed:
        row = shown[f"{rung.kernel} {rung.name}"]
        assert 1 + row["delta"] / 100 == pytest.approx(1 / rung.speedup.ratio)
        assert row["low"] <= row["delta"] <= row["high"]
        assert row["verdict"] == rung.verdict


def test_the_mark_of_what_is_the_same_leaves_the_line_of_its_row_free(sheet):
    """An equals sign: what lies on that line alone cannot be told from it."""
    (legend,) = {
        tuple(layer["encoding"]["shape"]["scale"]["range"])
        for panel in charts.steps_chart(sheet).to_dict()["concat"]
        for layer in panel["layer"]
        if "shape" in layer["encoding"]
    }
    (path,) = [shape for shape in legend if shape.startswith("M")]
    bars = [{float(y) for y in re.findall(r",(-?[\d.]+)", bar)} for bar in path.split("Z") if bar]
    assert len(bars) == 2
    assert max(bars[0]) < 0 < min(bars[1])


def test_steps_that_may_not_be_compared_make_no_row(sheet, rows_of):
    refused = [StepDeltas(step.before, step.kernel, [], ["another GPU"]) for step in sheet.steps]
    alone = [replace(rung, speedup=None, verdict=None) for rung in sheet.ladder.kernels]
    assert charts.steps_chart(LadderSheet(replace(sheet.ladder, kernels=alone), sheet.rungs, refused)) is None
    only = LadderSheet(replace(sheet.ladder, kernels=alone), sheet.rungs, [*refused[:-1], sheet.steps[-1]])
    last = sheet.ladder.kernels[-1]
    assert {row["step"] for row in rows_of(charts.steps_chart(only)) if "step" in row} == {
        f"{last.kernel} {last.name}"
    }


# Roofline


def test_points_stand_at_their_work_and_work_per_byte(rows_of):
    marks = [row for row in rows_of(charts.roofline_chart(FULL)) if "level" in row]
    assert [(row["x"], row["y"]) for row in marks] == [(2.0, 0.5), (40.0, 30.0)]


def test_the_roof_rises_with_memory_and_ends_at_the_arithmetic(rows_of):
    """4,000 GB/s meet 60,000 GFLOP/s at 15 operations a byte."""
    ends = {}
    for row in rows_of(charts.roofline_chart(FULL)):
        if "ceiling" in row:
            ends.setdefault(row["ceiling"], set()).add((row["x"], round(row["y"], 6)))
    assert all(y == pytest.approx(4 * x) for x, y in ends["dram"])
    assert max(ends["dram"]) == (15.0, 60.0)
    assert min(ends["fp32"]) == (15.0, 60.0)


def test_the_ceiling_of_l2_is_drawn_only_where_bytes_through_it_were_counted(rows_of):
    l2 = ceiling("l2", 9000.0, "GB/s")
    without = replace(FULL, ceilings=[DRAM, FP32, l2])
    assert {row["ceiling"] for row in rows_of(charts.roofline_chart(without)) if "ceiling" in row} == {
        "dram",
        "fp32",
    }
    subtitle = charts.roofline_chart(without).to_dict()["title"]["subtitle"]
    assert subtitle[-1] == "without l2: its bytes were not counted"
    counted = replace(without, points=[point(1, 20.0, 500.0, l2=4.0)])
    rows = rows_of(charts.roofline_chart(counted))
    assert "l2" in {row.get("ceiling") for row in rows}
    assert {(row["level"], row["x"]) for row in rows if "level" in row} == {("dram", 20.0), ("l2", 4.0)}


def place_of(row, frame):
    """Returns where the number of a point stands, in pixels."""
    x, y = frame.pixel(row["x"], row["y"])
    return x + row["dx"], y + row["dy"]


def named(rows, frame):
    """Returns the place of each label by the numbers in it, and that of each point by its number."""
    labels = {tuple(row["number"].split(", ")): place_of(row, frame) for row in rows if "number" in row}
    points = {
        row["rung"].split()[0]: frame.pixel(row["x"], row["y"]) for row in rows if row.get("level") == "dram"
    }
    return labels, points


def test_every_point_has_its_number_beside_it_and_apart_from_the_others(rows_of):
    crowd = replace(
        FULL, points=[point(number, 100.0 + number, 40_000.0 + 500 * number) for number in range(6)]
    )
    labels, points = named(rows_of(charts.roofline_chart(crowd)), roof.frame_of(crowd))
    assert set(labels) == {(number,) for number in "012345"}
    assert all(math.dist(one, other) >= 10 for one, other in itertools.combinations(labels.values(), 2))
    assert all(math.dist(at, points[number]) <= 32 for (number,), at in labels.items())


def test_points_on_one_another_share_a_label(rows_of):
    pair = replace(FULL, points=[point(1, 50.0, 500.0), point(2, 50.2, 501.0), point(3, 9.0, 500.0)])
    labels, points = named(rows_of(charts.roofline_chart(pair)), roof.frame_of(pair))
    assert set(labels) == {("1", "2"), ("3",)}
    assert math.dist(points["1"], points["2"]) < 2.5


@pytest.mark.parametrize("width", [330, 735])
def test_a_number_is_nearest_to_its_own_point_or_a_line_leads_there(measured, rows_of, width):
    """In the narrowest drawing and in the widest."""
    frame = roof.frame_of(measured, width)
    rows = rows_of(charts.roofline_chart(measured))
    labels, points = named(rows, frame)
    led = {tuple(row["number"].split(", ")): "line_dx" in row for row in rows if "number" in row}
    assert any(led.values())
    for numbers, at in labels.items():
        own = math.dist(at, points[numbers[0]])
        others = [math.dist(at, place) for number, place in points.items() if number not in numbers]
        assert led[numbers] or own < min(others), numbers
        assert own < 55, numbers


def test_the_line_to_a_number_ends_before_it_and_begins_at_its_point(measured, rows_of):
    lines = [row for row in rows_of(charts.roofline_chart(measured)) if "line_dx" in row]
    assert lines
    for row in lines:
        assert math.hypot(row["line_dx"], row["line_dy"]) < math.hypot(row["dx"], row["dy"])
        assert row["line_dx"] * row["dy"] == pytest.approx(row["line_dy"] * row["dx"])


def test_the_name_of_a_ceiling_covers_no_point(measured):
    frame = roof.frame_of(measured)
    marks = [
        frame.pixel(x, one.gflops / frame.divisor)
        for one in measured.points
        for x in (one.flops_per_dram_byte, one.flops_per_l2_byte)
        if x
    ]
    edges = roof._edges(measured, frame)  # private: a drawing does not say where letters stand
    letters = [
        spot
        for edge in edges
        if edge["place"] != "level"
        for spot in roof._letters(edge, frame)  # private: as above
    ]
    assert len(letters) > 20
    assert min(math.dist(letter, mark) for letter in letters for mark in marks) > 5


def test_no_number_of_a_crowded_roofline_stands_on_another_or_on_the_name_of_a_ceiling(measured, rows_of):
    """Numbers and names are 11 pixels high, and their letters about 7 wide."""
    frame = roof.frame_of(measured)
    rows = rows_of(charts.roofline_chart(measured))
    numbers = {row["number"]: place_of(row, frame) for row in rows if "number" in row}
    names = [
        (row["label"], frame.pixel(row["x"], row["y"]))
        for row in rows
        if row.get("place") == "level" and row["label"]
    ]
    on_names = [
        (number, name)
        for number, (across, down) in numbers.items()
        for name, (right, line) in names
        if right - 6.5 * len(name) < across < right and abs(down - (line - 8)) < 9
    ]
    on_others = [
        (one, other)
        for (one, at), (other, place) in itertools.combinations(numbers.items(), 2)
        if abs(at[0] - place[0]) < 3.5 * (len(one) + len(other)) and abs(at[1] - place[1]) < 9
    ]
    assert (on_names, on_others) == ([], [])


def test_each_reference_of_a_ladder_has_a_colour_of_its_own(sheet):
    rungs = [
        replace(rung, reference=f"library {place}") for place, rung in enumerate(sheet.ladder.kernels[:6])
    ]
    chart = charts.reference_chart(replace(sheet.ladder, kernels=rungs)).to_dict()
    scale = next(
        layer["encoding"]["color"]["scale"]
        for layer in chart["layer"]
        if "color" in layer.get("encoding", {})
    )
    assert len(scale["domain"]) == len({*scale["range"]}) == len(rungs)


@pytest.fixture(scope="module")
def measured(recorded):
    return profiler.roofline("gemm", recorded)


def test_no_number_stands_beyond_a_roof_that_its_point_is_under(measured, rows_of):
    """The fp32 roof at 65.8 TFLOP/s has most rungs just below it; those of tensor cores stand above."""
    rows = rows_of(charts.roofline_chart(measured))
    roofs = [one.value / 1000 for one in measured.ceilings if one.unit == "GFLOP/s"]
    height = {row["rung"].split()[0]: row["y"] for row in rows if row.get("level") == "dram"}
    frame = roof.frame_of(measured)
    labels, _ = named(rows, frame)
    numbers = {number: at for together, at in labels.items() for number in together}
    assert set(numbers) == set(height) == {str(one.kernel) for one in measured.points}
    slope = measured.find("dram").value / 1000
    for number, (across, down) in numbers.items():
        for one in roofs:
            assert (down < frame.pixel(1, one)[1]) == (height[number] > one), number
        x = frame.x_low * (frame.x_high / frame.x_low) ** (across / frame.pixel(frame.x_high, 1)[0])
        assert down > frame.pixel(x, slope * x)[1], number


def test_the_key_of_the_points_stands_with_them_and_a_bar_has_the_colour_of_its_ceiling(measured, rows_of):
    chart = charts.roofline_chart(measured)
    roof_panel, reached = chart.to_dict()["vconcat"]
    assert "bytes moved by" in str(roof_panel)
    assert "legend" not in str(reached)
    assert chart.to_dict()["resolve"]["legend"] == {"color": "independent", "shape": "independent"}
    colours = {
        row["label"].split()[-1]: row["colour"] for row in rows_of(chart) if {"pct", "label"} <= row.keys()
    }
    assert colours == {"l2": style.ORANGE, "fp32": style.GREY, "bf16": style.GREY, "tf32": style.GREY}


def test_the_title_says_who_comes_closest_and_the_subtitle_what_is_missing():
    close = replace(
        FULL, points=[point(1, 2.0, 500.0, pct=20.0), point(2, 9.0, 900.0, pct=81.0, under="dram")]
    )
    assert (
        title_of(charts.roofline_chart(close))
        == "2 rung_2 comes closest: it reaches 81 % of its ceiling, dram"
    )
    partly = replace(FULL, missing=["l2"], left_out={3: "not timed without the profiler"})
    subtitle = charts.roofline_chart(partly).to_dict()["title"]["subtitle"]
    assert subtitle[1:] == ["not measured: l2", "without 3: not timed without the profiler"]


def test_the_roofline_says_that_a_points_ceiling_is_not_known(rows_of):
    unknown = replace(FULL, points=[point(1, 2.0, 500.0, pct=None, under=None)], missing=["bf16"])
    assert "not known" in {row.get("label") for row in rows_of(charts.roofline_chart(unknown))}
    assert "missing: bf16" in title_of(charts.roofline_chart(unknown))


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (roofline([], [point(1, 2.0, 5.0)], missing=["dram", "fp32"]), "No ceiling was measured on NVIDIA H200 (missing: dram, fp32)"),
        (roofline([FP32], [point(1, 2.0, 5.0)], missing=["dram"]), "Not every ceiling that is needed"),
        (roofline([DRAM], [point(1, 2.0, 5.0)], missing=["fp32"]), "Not every ceiling that is needed"),
        (roofline([DRAM, FP32], left_out={1: "x"}), "No rung can be placed"),
    ],
    ids=["none", "no memory", "no arithmetic", "no rung"],
)  # fmt: skip
def test_without_what_it_takes_there_are_words_and_no_chart(found, words):
    assert charts.roofline_chart(found) is None
    assert charts.roofline_sentence(found).startswith(words)
    shown = charts.show(charts.roofline_chart(found), charts.roofline_sentence(found))
    assert shown._repr_mimebundle_()["text/plain"].startswith(words)


def test_a_ladder_that_moves_bytes_is_held_against_device_memory(rows_of):
    streams = [
        Stream(1, "copy", 3600.0, 3700.0, 0.1, 90.0, 92.5, "run"),
        Stream(2, "timed", 2000.0, None, 0.1, 50.0, None, "run"),
    ]
    chart = charts.roofline_chart(roofline([DRAM], streams=streams))
    rows = {row["rung"]: row for row in rows_of(chart) if "rung" in row}
    assert (rows["1 copy"]["pct"], rows["1 copy"]["moved"]) == (90.0, 92.5)
    assert rows["2 timed"]["label"] == "2,000 GB/s useful"
    assert title_of(chart) == "1 copy comes closest: it reaches 90 % of its ceiling, dram"


# Source lines


def test_hot_lines_are_shown_with_their_code_and_their_share(lines, rows_of):
    rows = rows_of(charts.source_lines_chart(lines))
    (multiply,) = [row for row in rows if "executed" in row and row["line"].startswith("67: ")]
    assert multiply["line"].endswith("… b_part[j]; });"), "whole words"
    assert multiply["executed"] == pytest.approx(max(line.executed for line in lines.lines) / 1e6)
    for line in lines.lines:
        own = [row for row in rows if "reason" in row and row["line"].startswith(f"{line.line}: ")]
        assert sum(row["samples"] for row in own) in (0, line.samples)


def test_the_title_names_the_line_that_executes_and_waits_most(lines):
    assert title_of(charts.source_lines_chart(lines)) == (
        "Line 67 executes 91 % of the instructions and has 55 % of the stall samples"
    )


def made_lines(*executed, samples=0, text=None, files=("a.cu",)):
    shown = [
        SourceLine(
            files[number % len(files)],
            number + 1,
            text,
            one,
            samples,
            {"barrier": samples} if samples else {},
        )
        for number, one in enumerate(executed)
    ]
    return SourceLines("made", "k", "GPU", 1, sum(executed), samples * len(shown), shown)


def test_lines_without_their_text_are_shown_by_file_and_number(rows_of):
    rows = rows_of(charts.source_lines_chart(made_lines(9.0, 1.0)))
    assert [row["line"] for row in rows] == ["a.cu:1", "a.cu:2"]
    both = made_lines(9.0, 1.0, text="x = 1;", files=("a.cu", "b.cu"))
    assert [row["line"] for row in rows_of(charts.source_lines_chart(both))] == [
        "a.cu:1: x = 1;",
        "b.cu:2: x = 1;",
    ]


def test_the_chart_counts_the_source_lines_that_are_too_small_for_a_row():
    chart = charts.source_lines_chart(made_lines(*[100.0] * 14, *[0.001] * 6))
    assert "8 lines with less left out" in chart.to_dict()["title"]["subtitle"][0]


def test_nothing_executed_and_nothing_sampled_is_no_chart():
    assert charts.source_lines_chart(made_lines(0.0, 0.0)) is None


# The climb under every workload


@pytest.fixture(scope="module")
def climbed(recorded):
    climb = find_climb(recorded, GEMM)
    return find_workloads(recorded, climb)


def test_every_rung_stands_once_for_each_workload_that_it_was_timed_at(climbed, rows_of):
    rows = rows_of(charts.climb_chart(climbed, {}))
    points = {(row["rung"], row["workload"]): row["pct"] for row in rows if "workload" in row}
    sizes = [finding.workload["m"] for finding in climbed]
    assert sizes == [1024, 2048, 4096, 8192]
    timed = [rung for finding in climbed for rung in finding.kernels]
    assert len(points) == len(timed) == 7 + 3 + 15 + 15
    (nine,) = [rung for rung in climbed[2].kernels if rung.kernel == 9]
    assert points["9 double_buffered", "m=n=k=4096"] == nine.reference_pct


def test_beside_them_stands_what_was_published_and_on_which_gpu(climbed, rows_of):
    chart = charts.climb_chart(climbed, GEMM.published)
    ticks = [row for row in rows_of(chart) if "gpu" in row]
    assert {"rung": "5 tile_2d", "pct": 68.7, "gpu": "NVIDIA RTX A6000"} in ticks
    assert "as published, on NVIDIA RTX A6000" in chart.to_dict()["title"]["subtitle"][1]


def test_its_title_is_of_the_largest_workload(climbed):
    title = title_of(charts.climb_chart(climbed, {}))
    assert title.endswith("% of cuBLAS fp32 at m=n=k=8192")


def test_asked_for_one_workload_the_title_is_of_that(climbed):
    for finding in climbed:
        title = title_of(charts.climb_chart(climbed, {}, finding.workload))
        assert title.endswith(f"% of cuBLAS fp32 at m=n=k={finding.workload['m']}")


def test_nothing_published_of_these_rungs_is_not_spoken_of(climbed, rows_of):
    """Nine and those after it have no published figure."""
    ours = [replace(finding, kernels=finding.kernels[9:]) for finding in climbed]
    chart = charts.climb_chart(ours, GEMM.published)
    assert not any("gpu" in row for row in rows_of(chart))
    assert "published" not in str(chart.to_dict())


def test_one_workload_is_no_climb_nor_are_others_than_the_one_asked_for(climbed):
    assert charts.climb_chart(climbed[:1], GEMM.published) is None
    assert charts.climb_chart(climbed[1:], {}, climbed[0].workload) is None


def test_a_ladders_picture_shows_everything_about_the_workload_asked_for(recorded):
    climb = find_climb(recorded, GEMM, dict.fromkeys("mnk", 2048))
    sheet = derive_ladder_sheet(climb)
    whole = str(charts.ladder_chart(sheet, FULL, find_workloads(recorded, climb)).to_dict())
    assert "% of cuBLAS fp32 at m=n=k=2048'" in whole
    assert "% of cuBLAS fp32 at m=n=k=8192'" not in whole


# All in one


def test_a_ladder_and_a_recording_are_one_picture_each(sheet, lines, shipped_runs):
    whole = chart_spec(charts.ladder_chart(sheet, FULL), "dark")
    assert whole["title"]["text"].startswith("gemm: Matrix multiplication")
    profile = profile_in(shipped_runs, "gemm-6-source")
    one = charts.recording_chart(profile, sheet.rungs[6].stalls, lines).to_dict()
    assert one["title"]["text"] == "gemm 6"
    titles = re.findall(r"'text': '([^']+)'", str(one))
    launches, repeats = profile.launches, len(profile.timings_ns)
    for words in (f"under the profiler of {launches} launches", f"without the profiler of {repeats} repeats"):
        assert any(title.startswith(f"gemm 6: time {words} within") for title in titles)


def test_names_from_reports_and_sources_are_text_wherever_they_stand(hostile_store, hostile_names):
    profile = profile_in(hostile_store, "before")
    source = [
        SourceLine(name, number, name, 10.0, 3, {"barrier": 3})
        for number, name in enumerate(hostile_names, start=1)
    ]
    lines = SourceLines(
        hostile_names[0], "k", hostile_names[0], 1, 10.0 * len(source), 3 * len(source), source
    )
    chart = charts.recording_chart(profile, {"stall_barrier": 1.0}, lines)
    page = charts.render(chart, ".html", kept=open_pictures()).decode()
    assert "<script>alert" not in page
    assert page.count("</script>") == 3
    assert "<script>alert" not in charts.render(chart, ".svg").decode()


def test_a_recording_of_nothing_that_can_be_drawn_is_an_error(make_run):
    run = make_run({"kernel": "k"})
    with pytest.raises(MetricsMissing, match="could be drawn"):
        charts.recording_chart(profile_kernel(run, "k"), {}, None)


@pytest.mark.slow
def test_every_axis_of_figures_has_a_unit(sheet, lines, parts_of):
    units = re.compile("%|ms|cycle|inst|percentage|FLOP|launch|repeat")
    drawn = [
        charts.profiler_effect_chart(sheet.ladder), charts.ladder_times_chart(sheet.ladder), charts.steps_chart(sheet),
        charts.rung_stalls_chart(sheet), charts.roofline_chart(FULL), charts.source_lines_chart(lines),
    ]  # fmt: skip
    for chart in drawn:
        for plot in (part for part in parts_of(chart.to_dict()) if "layer" in part):
            for axis in ("x", "y"):
                encodings = [layer["encoding"][axis] for layer in plot["layer"] if axis in layer["encoding"]]
                titles = {one.get("title") for one in encodings if one.get("type") == "quantitative"} - {None}
                assert all(units.search(title) for title in titles), titles
                assert titles or all(one.get("type") != "quantitative" for one in encodings)
