"""Charts: they show what was found, say it in their titles, and can be read by everybody."""

import itertools
import json
import math
import re
import struct
from xml.etree import ElementTree

import msgspec
import pytest
from hypothesis import assume, given, strategies as st
from msgspec.structs import replace

import profiler
from profiler.analyse.findings import Attribution, ComparisonFinding, Factor, Part
from profiler.analyse.ladder.climb import furthest_rung
from profiler.analyse.statistics.differences import Readings
from profiler.catalog.metrics import CATALOGUE
from profiler.errors import MetricsMissing
from profiler.present import charts, style
from profiler.present.charts.render import chart_spec, title_of
from profiler.store.cache import open_pictures
from tests.profiles import profile_in

PAIRS = [("5", "6"), ("6", "5"), ("4", "5"), ("9", "10"), ("textbook-5", "textbook-6")]
OF_A_PAIR = [
    charts.comparison_chart,
    charts.deltas_chart,
    charts.waterfall_chart,
    charts.stalls_chart,
    charts.spent_chart,
    charts.instructions_chart,
    charts.hot_loop_chart,
]
OF_A_LADDER = [charts.reference_chart, charts.ladder_times_chart, charts.profiler_effect_chart]


@pytest.fixture(scope="module")
def compared(recorded):
    found = {}

    def compare(before, after):
        if (before, after) not in found:
            sides = [recorded.find(side, ladder="gemm") for side in (before, after)]
            found[before, after] = profiler.compare(*sides, force=True)
        return found[before, after]

    return compare


@pytest.fixture(scope="module")
def ladder(recorded_ladder):
    return recorded_ladder.ladder


@pytest.fixture(scope="module")
def drawn(compared, ladder):
    """Every kind of chart, of what the repository ships."""
    pictures = {f"{draw.__name__} {pair}": draw(compared(*pair)) for draw in OF_A_PAIR for pair in PAIRS}
    pictures |= {draw.__name__: draw(ladder) for draw in OF_A_LADDER}
    # Each is an error unless it is valid Vega-Lite.
    return {name: chart.to_dict() for name, chart in pictures.items() if chart is not None}


# What is shown is what was found


@pytest.mark.parametrize("pair", PAIRS)
def test_a_dumbbell_reaches_from_before_to_after_with_the_interval_of_the_change(compared, pair, rows_of):
    comparison = compared(*pair)
    found = {one.name: one for one in comparison.metrics}
    rows = {row["metric"]: row for row in rows_of(charts.deltas_chart(comparison))}
    on_tensor_cores = {"tensor_pipe_pct"} if "10" in pair else set()
    assert set(rows) == set(found) & set(charts.comparison.HEADLINE) | on_tensor_cores
    for name, row in rows.items():
        scale = 1e6 if name == "duration_ns" and found[name].before >= 1e6 else None
        scale = scale or found[name].before / row["before"]
        assert row["after"] * scale == pytest.approx(found[name].after)
        low, high = found[name].ci
        assert row["low"] * scale == pytest.approx(found[name].before + low)
        assert row["high"] * scale == pytest.approx(found[name].before + high)
        assert row["label"].endswith(found[name].verdict)


@pytest.mark.parametrize("pair", PAIRS)
def test_the_waterfall_is_without_a_gap_and_ends_where_the_whole_does(compared, pair, rows_of):
    attribution = compared(*pair).attribution
    *steps, whole = [row for row in rows_of(charts.waterfall_chart(compared(*pair))) if "factor" in row]
    assert steps[0]["start"] == whole["start"] == 1
    assert all(left["end"] == right["start"] for left, right in itertools.pairwise(steps))
    assert whole["end"] == attribution.profiled_ratio
    closure = abs(attribution.closure_error_pct) / 100
    assert math.log(steps[-1]["end"]) == pytest.approx(math.log(whole["end"]), abs=closure + 1e-6)


@given(st.lists(st.floats(0.01, 100), min_size=1, max_size=6))
def test_whatever_the_factors_every_step_is_one_of_them(ratios):
    factors = [Factor(f"f{place}", ratio, 0.0, 1, 1, "x") for place, ratio in enumerate(ratios)]
    attribution = Attribution("bytes", "", {}, math.prod(ratios), factors, 0.0)
    # private: to build all of the chart for every example would take ten times as long
    steps = list(charts.comparison._steps(attribution))
    assert [row["end"] / row["start"] for row in steps[:-1]] == pytest.approx(ratios)
    assert [row["colour"] for row in steps[:-1]] == [
        style.BLUE if ratio >= 1 else style.RED for ratio in ratios
    ]


@pytest.mark.parametrize("pair", PAIRS)
def test_the_segments_of_a_bar_are_all_the_cycles_from_one_instruction_to_the_next(compared, pair, rows_of):
    attribution = compared(*pair).attribution
    if not attribution.stalls:
        assert charts.stalls_chart(compared(*pair)) is None
        return
    chart = charts.stalls_chart(compared(*pair))
    rows = {(row["rung"], row["reason"]): row for row in rows_of(chart) if "reason" in row}
    for side in ("before", "after"):
        own = [row for row in rows.values() if row["rung"] == side]
        parts = [max(0.0, getattr(part, side)) for part in attribution.stalls]
        assert sum(row["cycles"] for row in own) == pytest.approx(sum(parts))
        assert all(left["end"] == right["start"] for left, right in itertools.pairwise(own))
    totals = {row["rung"]: row["total"] for row in rows_of(chart) if "total" in row}
    after, before = re.findall(r"every ([\d.]+)", title_of(chart))
    assert totals == {"before": f"{before} cycles", "after": f"{after} cycles"}, "the title says the same"
    named = re.findall(r"(?:stall_)(\w+) [+−]", str(chart.to_dict()["title"]["subtitle"][0]))
    assert {*named} <= {*style.READY, *(reason for _, reason in rows)}, (
        "the part that a subtitle names is drawn"
    )


def test_the_opcodes_that_changed_most_come_first_with_the_width_of_their_accesses(compared, rows_of):
    rows = rows_of(charts.instructions_chart(compared("5", "6")))
    assert rows[0] == {
        "opcode": "LDS",
        "side": "before",
        "count": 268.435456,
        "label": "268",
        "width": "up to 32 bits",
    }
    assert {row["width"] for row in rows if row["opcode"] == "LDS.128"} == {"128 bits and more"}
    assert {row["width"] for row in rows if row["opcode"] == "IMAD.WIDE"} == {"no memory access"}


def test_the_hot_loop_shows_eight_loads_become_two(compared, rows_of):
    chart = charts.hot_loop_chart(compared("5", "6"))
    counts = {(row["opcode"], row["side"]): row["count"] for row in rows_of(chart)}
    assert (counts["LDS", "before"], counts["LDS", "after"]) == (8, 0)
    assert "8 LDS -> 2 LDS.128" in title_of(chart)


def test_a_ladder_shows_every_rung_that_was_measured(ladder, rows_of):
    rows = rows_of(charts.reference_chart(ladder))
    shown = {row["rung"]: row["pct"] for row in rows if "rung" in row}
    assert shown == {f"{rung.kernel} {rung.name}": rung.reference_pct for rung in ladder.kernels}
    times = {row["rung"]: row["ns"] for row in rows_of(charts.ladder_times_chart(ladder))}
    assert times == {f"{rung.kernel} {rung.name}": rung.duration_ns for rung in ladder.kernels}


def test_launches_scatter_as_measured_and_tell_their_process(recorded, rows_of):
    profile = profile_in(recorded, "5")
    values = profile.series["duration_ns"].values
    rows = [row for row in rows_of(charts.launches_chart(values, profile.label)) if "number" in row]
    assert [row["value"] * 1e6 for row in rows] == pytest.approx(list(values))
    assert [int(row["process"]) for row in rows] == list(values.processes)
    assert charts.launches_chart(Readings(values[:1]), profile.label) is None


def test_a_sweep_has_the_times_of_the_function_and_of_a_reference_that_was_timed(rows_of):
    drawn = charts.sweep_chart("scale", "n", [(1024, 2e3, 4e3), (4096, 8e3, None)])
    assert title_of(drawn) == "scale takes at most 8.000 us, with n=4096"
    assert rows_of(drawn) == [
        {"at": 1024, "what": "function", "time": 2.0},
        {"at": 1024, "what": "reference", "time": 4.0},
        {"at": 4096, "what": "function", "time": 8.0},
    ]


# What the titles say


def test_the_titles_are_computed(compared):
    faster, slower = compared("5", "6"), compared("6", "5")
    assert title_of(charts.comparison_chart(faster)).startswith(
        f"gemm 6 is {faster.speedup.ratio:.3f}x as fast as gemm 5"
    )
    assert title_of(charts.comparison_chart(slower)).startswith(
        f"gemm 5 takes {1 / slower.speedup.ratio:.3f}x as long as gemm 6"
    )
    assert title_of(charts.deltas_chart(faster)).startswith("four-way confirmed: issue_active ↑")
    assert title_of(charts.deltas_chart(slower)) == "7 of 7 metrics differ beyond the noise"
    assert title_of(charts.waterfall_chart(faster)).startswith("Largest share of the speedup")
    assert title_of(charts.waterfall_chart(slower)).startswith("Largest share of the slowdown")
    assert title_of(charts.instructions_chart(faster)) == "9.2 % fewer instructions executed"
    assert title_of(charts.instructions_chart(slower)) == "10 % more instructions executed"


@pytest.mark.parametrize("pair", PAIRS)
def test_the_time_of_each_side_is_as_long_as_its_duration_and_nothing_is_in_it_twice(compared, pair, rows_of):
    comparison = compared(*pair)
    duration = next(one for one in comparison.metrics if one.name == "duration_ns")
    rows = [row for row in rows_of(charts.spent_chart(comparison)) if "reason" in row]
    for side in ("before", "after"):
        parts = [row for row in rows if row["rung"] == side and "cycles" in row]
        ends = sorted({(row["start"], row["end"]) for row in parts})  # a figure stands on its bar
        assert all(end == pytest.approx(start) for (_, end), (start, _) in itertools.pairwise(ends))
        assert ends[0][0] == 0
        assert ends[-1][1] * 1e6 == pytest.approx(getattr(duration, side), rel=1e-9)


def test_the_title_of_the_time_names_what_changed_most(compared, rows_of):
    chart = charts.spent_chart(compared("5", "6"))
    spent = {(row["rung"], row["reason"]): row["cycles"] for row in rows_of(chart) if "reason" in row}
    reasons = {reason for _, reason in spent}
    changes = {
        one: spent.get(("after", one), 0) - spent.get(("before", one), 0) for one in reasons - {style.OTHERS}
    }
    first, second = sorted(changes, key=lambda one: -abs(changes[one]))[:2]
    title = chart.to_dict()["title"]["text"]
    assert title.startswith(f"Where the time went: {first} {style.signed_figure(changes[first], 2)} ms")
    assert f" and {second} {style.signed_figure(changes[second], 2)} ms" in title


def test_without_what_warps_wait_for_nobody_knows_where_the_time_went(compared):
    without = [one for one in compared("5", "6").metrics if not one.name.startswith("stall_")]
    assert charts.spent_chart(replace(compared("5", "6"), metrics=without)) is None


@pytest.mark.parametrize(
    ("pair", "largest"),
    [
        (("5", "6"), ["instructions"]),
        (("2", "3"), ["instructions"]),
        (("1", "2"), ["mean_cycles"]),
        (("textbook-5", "textbook-6"), ["warps_in_use"]),
        (("9", "14"), ["sm_active"]),  # stall_barrier does more, which stall_short_scoreboard undoes
        (("10", "11"), ["tensor_pipe_pct"]),
    ],
)
def test_the_title_of_a_waterfall_names_what_the_speedup_is_from(compared, pair, largest):
    told = ", against ".join(rf"{name}, −?\d+ %" for name in largest)
    assert re.fullmatch(
        rf"Largest share .* under the profiler: {told}", title_of(charts.waterfall_chart(compared(*pair)))
    )


@given(st.lists(st.floats(-3, 3), min_size=2, max_size=4), st.lists(st.floats(-3, 3), min_size=2, max_size=4))
def test_a_waterfall_does_not_contradict_its_title_without_saying_so(outer, inner):
    """`f0` is made of parts, the others of nothing; the shares are of whatever speedup there is."""
    whole = sum(inner) + sum(outer)
    assume(abs(whole) > 0.1)
    parts = [Part(f"p{at}", 1, 2, math.exp(log), log / whole) for at, log in enumerate(inner)]
    logs = [sum(inner), *outer]
    factors = [Factor(f"f{at}", math.exp(log), log / whole, 1, 2, "x") for at, log in enumerate(logs)]
    attribution = Attribution("bytes", "", {}, math.exp(whole), factors, 0.0, stalls=parts)
    # private: to build all of the chart for every example would take ten times as long
    (name, *against) = re.findall(r"([fp]\d), ", charts.comparison._waterfall_title(attribution))
    beside = {one.name: one.share for one in (parts if name.startswith("p") else factors)}
    undone = -sum(share for share in beside.values() if share < 0)
    assert beside[name] == max(beside.values())
    assert bool(against) == (undone > beside[name] / 2)
    assert against in ([], [min(beside, key=beside.get)])
    if name.startswith("p"):
        assert beside[name] >= factors[0].share / 2
        assert factors[0].share == pytest.approx(max(factor.share for factor in factors))


def test_the_same_twice_is_neither_faster_nor_different(compared):
    same = compared("5", "5")
    assert title_of(charts.waterfall_chart(same)) == "Under the profiler, neither is faster"
    assert title_of(charts.deltas_chart(same)) == "0 of 7 metrics differ beyond the noise"
    assert charts.instructions_chart(same) is None
    assert chart_spec(charts.comparison_chart(same))


@pytest.mark.parametrize(
    ("after_ns", "title"),
    [
        (1.05e6, "Too few launches to tell which metrics differ"),
        (5e4, "1 of 1 metrics differ by more than launches of one kernel do"),
    ],
)
def test_of_single_launches_no_chart_says_that_nothing_differs(make_run, after_ns, title):
    times = [{"kernel": "k", "ns": ns} for ns in (1e6, after_ns)]
    assert title_of(charts.deltas_chart(profiler.compare(*(make_run(one) for one in times)))) == title


def test_the_title_is_about_the_rung_that_the_headline_names(ladder):
    """Rung 13 comes further against the same reference, by way of rungs in another precision."""
    best = furthest_rung(ladder.kernels)
    assert any(
        rung.reference == best.reference and rung.strongest > best.strongest for rung in ladder.kernels
    )
    title = title_of(charts.reference_chart(ladder))
    assert title == f"{best.kernel} {best.name} reaches {best.reference_pct:.1f} % of {best.reference}"


# Who can read them


@pytest.mark.slow
def test_every_axis_of_figures_has_a_unit(drawn, parts_of):
    units = re.compile("%|ms|cycle|inst|times as fast|launch")
    for name, spec in drawn.items():
        plots = [part for part in parts_of(spec) if "layer" in part]
        for plot, axis in itertools.product(plots, ("x", "y")):
            encodings = [layer["encoding"][axis] for layer in plot["layer"] if axis in layer["encoding"]]
            measured = [one for one in encodings if one.get("type") == "quantitative"]
            titles = {one.get("title") or one.get("axis", {}).get("title") for one in measured} - {None}
            assert len(titles) == bool(measured), name
            assert all(units.search(title) for title in titles), titles


MARKS = (*style.CATEGORIES, style.BLUE, style.RED)
FREQUENT_STALLS = [*style.STALLS.values()][:7]
COLOURS = (*MARKS, *style.STALLS.values(), style.GREY)


def test_each_stall_reason_has_a_colour_that_means_nothing_else():
    reasons = {one.name.removeprefix("stall_") for one in CATALOGUE if one.name.startswith("stall_")}
    assert {*style.STALLS} == reasons - {*style.READY}
    assert len({*style.STALLS.values()} - {*MARKS, style.GREY}) == len(style.STALLS)


def luminance(colour):
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    return [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]


def contrast(one, other):
    low, high = sorted(0.2126 * r + 0.7152 * g + 0.0722 * b for r, g, b in map(luminance, (one, other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_marks_and_text_stand_out_from_their_paper(scheme):
    look = style.configuration(scheme)
    paper = look["background"]
    assert all(contrast(colour, paper) >= 3 for colour in COLOURS)
    inks = [
        look["text"]["color"], look["title"]["color"], look["title"]["subtitleColor"],
        look["axis"]["labelColor"], look["axis"]["titleColor"], look["legend"]["labelColor"],
    ]  # fmt: skip
    assert all(contrast(ink, paper) >= 4.5 for ink in inks)


def test_a_verdict_and_what_is_neither_stand_out_from_both_papers():
    """On white and near black alike, no colour has more than 4.3."""
    papers = [style.configuration(scheme)["background"] for scheme in ("light", "dark")]
    for colour in (style.BLUE, style.RED, style.GREY):
        assert min(contrast(colour, paper) for paper in papers) > 3.7


def test_figures_on_marks_can_be_read():
    assert all(contrast(style.ink_on(colour), colour) >= 4.5 for colour in COLOURS)


# Linear RGB as seen with full protanopia, deuteranopia and tritanopia (Machado and others, 2009).
_VISIONS = {
    "full": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": ((0.152, 1.053, -0.205), (0.115, 0.786, 0.099), (-0.004, -0.048, 1.052)),
    "deuteranopia": ((0.367, 0.861, -0.228), (0.280, 0.673, 0.047), (-0.012, 0.043, 0.969)),
    "tritanopia": ((1.256, -0.077, -0.179), (-0.078, 0.931, 0.148), (0.005, 0.691, 0.304)),
}


def lab(rgb):
    to_xyz = ((0.4125, 0.3576, 0.1804), (0.2127, 0.7152, 0.0722), (0.0193, 0.1192, 0.9503))
    rgb = [min(1, max(0, channel)) for channel in rgb]
    xyz = [sum(a * b for a, b in zip(row, rgb, strict=True)) for row in to_xyz]
    x, y, z = (
        (v / white) ** (1 / 3) if v / white > 0.008856 else 7.787 * v / white + 16 / 116
        for v, white in zip(xyz, (0.9505, 1, 1.089), strict=True)
    )
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


@pytest.mark.parametrize(
    ("colours", "apart"),
    [((*MARKS, style.GREY), 25), ((*FREQUENT_STALLS, style.GREY), 18)],
    ids=["marks", "stalls"],
)
@pytest.mark.parametrize("vision", _VISIONS)
def test_everybody_can_distinguish_the_colours(vision, colours, apart):
    """A distance of 2.3 in CIE Lab is just noticeable; neighbours in a legend need many times that."""
    seen = [
        lab([sum(a * b for a, b in zip(row, luminance(colour), strict=True)) for row in _VISIONS[vision]])
        for colour in colours
    ]
    assert min(math.dist(one, other) for one, other in itertools.combinations(seen, 2)) > apart


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (2.0, "2"), (0.0, "0"), (1.14159, "1.14"), (0.0186, "0.0186"), (999.6, "1,000"), (123456, "123,000"),
     (-0.5, "-0.500"), (1e-9, "1.00e-09"), (math.inf, "inf"), (64.0, "64")],
)  # fmt: skip
def test_figures_are_as_short_as_people_write_them(value, text):
    assert style.figure(float(value)) == text


# As files


def test_the_same_finding_makes_the_same_spec(compared):
    comparison = compared("5", "6")
    copy = msgspec.json.decode(msgspec.json.encode(comparison), type=ComparisonFinding)
    first, second = (charts.render(charts.comparison_chart(one), ".json") for one in (comparison, copy))
    assert first == second


def test_the_pictures_are_what_their_suffix_says(compared):
    chart = charts.waterfall_chart(compared("5", "6"))
    svg = charts.render(chart, ".svg")
    assert svg.startswith(b"<svg")
    assert "Largest share of the speedup" in svg.decode()
    png = charts.render(chart, ".png", "dark")
    assert png.startswith(b"\x89PNG")
    width, _ = struct.unpack(">II", png[16:24])
    assert width > 1000
    assert json.loads(charts.render(chart, ".json"))["$schema"].startswith("https://vega.github.io/schema/")
    with pytest.raises(ValueError, match="svg"):
        charts.render(chart, ".gif")


def test_the_page_asks_nobody_for_anything(compared):
    page = charts.render(charts.comparison_chart(compared("5", "6")), ".html", kept=open_pictures()).decode()
    assert "default-src 'none'" in page
    assert "unsafe-eval" not in page
    assert (
        re.findall(r"<(?:link|iframe|img)\b[^>]*>|<script[^>]+\bsrc=[^>]*>", page.split("<script>")[0]) == []
    )
    assert page.count("</script>") == 3
    assert len(page) < 3_000_000


class Shelf(dict):
    put = dict.__setitem__


def test_vega_is_bundled_once_for_all_pages_where_it_is_kept(compared):
    chart, shelf = charts.comparison_chart(compared("5", "6")), Shelf()
    page = charts.render(chart, ".html", kept=shelf).decode()
    ((key, bundle),) = shelf.items()
    assert len(bundle) > len(page) / 2
    shelf[key] = b"/* kept */"
    assert "\n/* kept */\n" in charts.render(chart, ".html", kept=shelf).decode()


def test_names_from_reports_are_text_wherever_they_stand(hostile_store, rows_of):
    before, after = (hostile_store.find(name, ladder="gemm") for name in ("before", "after"))
    name = before.manifest.kernels[0].name
    comparison = profiler.compare(before, after, kernel_name=re.escape(name), force=True)
    chart = charts.comparison_chart(comparison)
    page = charts.render(chart, ".html", kept=open_pictures()).decode()
    assert "<script>alert" not in page
    assert page.count("</script>") == 3
    assert "<script>alert" not in charts.render(chart, ".svg").decode()
    assert max(len(row.get("opcode", "")) for row in rows_of(charts.instructions_chart(comparison))) <= 28


def test_a_notebook_stores_a_picture_beside_the_spec(compared):
    bundle = charts.show(charts.stalls_chart(compared("5", "6")))._repr_mimebundle_()
    assert bundle["image/svg+xml"].startswith("<svg")
    assert bundle["text/plain"].startswith("A warp issues every")
    assert [kind for kind in bundle if re.fullmatch(r"application/vnd\.vegalite\.v\d\+json", kind)]


def test_whoever_sees_no_picture_is_told_what_it_says_and_how_it_is_drawn(compared):
    chart = charts.deltas_chart(compared("5", "6"))
    message = (
        "four-way confirmed: issue_active ↑ fma_pipe ↑ lsu_pipe ↓ mio_throttle ↓. ring: before; dot: after"
    )
    root = ElementTree.fromstring(charts.render(chart, ".svg"))
    assert root.get("role") == "img", "or each of its marks would be read out"
    assert root.get("aria-label").startswith(message)
    bundle = charts.show(chart)._repr_mimebundle_()
    (live,) = (spec for kind, spec in bundle.items() if kind.startswith("application/vnd.vegalite"))
    assert live["description"] == root.get("aria-label"), "Vega makes the label of a live chart of it"
    assert 'role="img" aria-label="four-way confirmed' in bundle["image/svg+xml"]


def test_a_message_about_a_hostile_name_stays_within_its_label(compared):
    hostile = '<b a="b">&amp;'
    chart = charts.deltas_chart(compared("5", "6")).properties(title=style.heading(hostile))
    assert ElementTree.fromstring(charts.render(chart, ".svg")).get("aria-label") == hostile


def test_nothing_in_common_is_an_error_and_not_an_empty_picture(make_run):
    runs = [make_run({"kernel": "k", "metrics": {"some__metric.sum": 1.0}}, name=name) for name in "ab"]
    with pytest.raises(MetricsMissing) as refused:
        charts.comparison_chart(profiler.compare(*runs))
    assert "prof presets" in refused.value.remedy
