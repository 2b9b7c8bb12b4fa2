"""The speedup as a product: its printed figures agree, fit the window, and say what they rest on."""

import math
import re
from dataclasses import replace as replaced

import msgspec
import pytest
from hypothesis import given, strategies as st
from markdown_it import MarkdownIt

from profiler.analyse.compare.compare import compare_profiles
from profiler.analyse.findings import Attribution, Factor, MissingMetric, Part
from profiler.analyse.statistics.differences import Readings
from profiler.catalog.metrics import BY_NAME, CATALOGUE
from profiler.catalog.presets import find_preset
from profiler.present.document import Document, Records
from profiler.present.documents.parts.attribution import attribution_blocks, speedup_sentence
from profiler.present.render.markdown import document_markdown
from profiler.present.render.terminal import Window, document_text
from tests.profiles import profiles_in

NAMES = ("instructions", "issue_rate", "sm_active", "clock")


def attribution_of(*ratios, closure_error_pct=0.0, names=NAMES, **others):
    """An attribution with these factors, which miss the whole by so much."""
    whole = sum(map(math.log, ratios))
    factors = [
        Factor(name, ratio, share=math.log(ratio) / whole if whole else 0.0, before=1.0, after=2.0, unit="u")
        for name, ratio in zip(names, ratios, strict=False)
    ]
    facts = {"view": "issue", "why": "device memory is not the limit", "evidence": {}, "clock": "measured"}
    return Attribution(
        profiled_ratio=math.exp(whole - closure_error_pct / 100),
        factors=factors,
        closure_error_pct=closure_error_pct,
        **{**facts, **others},
    )


@pytest.fixture(scope="module")
def profiles(store):
    """Two recorded kernels, of whose counters some are missing."""
    return profiles_in(store, "gemm_5", "gemm_6")


@pytest.fixture(scope="module")
def gemm(profiles):
    return compare_profiles(*profiles)


def document_of(comparison, *, full=False):
    return Document("", [attribution_blocks(comparison, full)], Records((), ()))


@pytest.fixture(scope="module")
def page(gemm):
    """The text about an attribution, as part of an otherwise real comparison."""

    def text(attribution, missing=(), *, full=False, width=None, **others):
        comparison = msgspec.structs.replace(
            gemm, attribution=attribution, attribution_missing=list(missing), **others
        )
        return document_text(document_of(comparison, full=full), Window(width=width))

    return text


# The sentence


def test_the_sentence_names_what_became_faster_slower_or_neither():
    assert speedup_sentence(attribution_of(1.14, 1.1078, 1.0, 0.9991)) == (
        "1.26x as fast = 1.140x (fewer instructions) x 1.108x (higher issue rate) x 1.000x (SM activity) x 0.999x (lower clock)"
    )
    assert speedup_sentence(attribution_of(0.5, 0.9, 0.8, 0.7)) == (
        "0.252x as fast = 0.50x (more instructions) x 0.90x (lower issue rate) x 0.80x (lower SM activity) x 0.70x (lower clock)"
    )
    assert speedup_sentence(attribution_of(0.5, 4.0, names=("bytes_moved", "bandwidth"))) == (
        "2.00x as fast = 0.50x (more bytes moved) x 4.00x (higher bandwidth)"
    )


def test_the_speedup_that_no_factor_explains_is_shown_as_a_factor():
    assert speedup_sentence(attribution_of(1.5, 1.2, 1.0, 1.0, closure_error_pct=5.0)).endswith(
        "1.00x (clock) x 0.95x (not accounted for)"
    )


def test_digits_are_added_until_the_product_is_right():
    assert round(1.0447 * 1.0447, 2) != round(1.04 * 1.04, 2)
    assert speedup_sentence(attribution_of(1.0447, 1.0447, 1.0, 1.0)) == (
        "1.09x as fast = 1.045x (fewer instructions) x 1.045x (higher issue rate) x 1.000x (SM activity) x 1.000x (clock)"
    )


@pytest.mark.parametrize("large", [True, False])
def test_large_and_small_ratios_keep_their_digits(large):
    ratios = (526.18, 3.595, 0.95, 0.805)
    sentence = speedup_sentence(attribution_of(*(one if large else 1 / one for one in ratios)))
    assert sentence.startswith("1447x as fast = 526.2x" if large else "0.000691x as fast = 0.001900x")


ratio = st.floats(1e-4, 1e4)


@given(ratios=st.tuples(ratio, ratio, ratio, ratio), missed_pct=st.just(0.0) | st.floats(-50, 50))
def test_the_printed_factors_multiply_to_the_printed_speedup(ratios, missed_pct):
    sentence = speedup_sentence(attribution_of(*ratios, closure_error_pct=missed_pct))
    whole, *factors = re.findall(r"([\d.]+(?:e[+-]\d+)?)x ", sentence)
    assert float(whole) == pytest.approx(math.prod(map(float, factors)), abs=0.51 * last_place(whole))
    true = [*ratios, math.exp(-missed_pct / 100)]
    for figure, value in zip(factors, true, strict=False):
        assert float(figure) == pytest.approx(value, abs=0.51 * last_place(figure)), "rounded, not fudged"


def last_place(figure):
    """Returns what one unit of the last printed digit is worth."""
    mantissa, _, exponent = figure.partition("e")
    return 10.0 ** (int(exponent or 0) - len(mantissa.partition(".")[2]))


# The page


def test_the_page_leads_with_the_sentence_and_ends_with_how_far_to_believe_it(gemm, page):
    title, product, table = page(gemm.attribution).partition("1.88x as fast = ")
    assert title.startswith("the speedup, split by the number of instructions and how fast they issue: ")
    assert product
    _, header, *lines = table.splitlines()
    assert header.split() == ["factor", "of", "the", "duration", "unit", "before", "after", "speedup", "share"]  # fmt: skip
    names = [line.split()[0] for line in lines if not line.startswith("    ")]
    assert names[:6] == ["instructions", "issue_rate", "warps_in_use", "wait_per_issue", "sm_active", "clock"]
    assert next(line for line in lines if line.startswith("all ")).split()[1:] == ["1.879x", "100.0", "%"]


def test_the_rest_of_the_stalls_is_summed_and_full_shows_each(gemm, page):
    stalls = gemm.attribution.stalls
    short, full = page(gemm.attribution), page(gemm.attribution, full=True)
    assert f"    {len(stalls) - 5} others" in short
    assert [name for name in (one.name for one in stalls) if name in short] == [
        one.name for one in stalls[:5]
    ]
    assert all(f"    {one.name} " in full for one in stalls)
    assert "others" not in full


def test_instructions_are_said_to_be_those_of_one_scheduler(gemm, page):
    """The table of metrics, on the same screen, counts those of the whole GPU."""
    said = "instructions: of one scheduler, on average"
    assert said in page(gemm.attribution).splitlines()
    bytes_alone = attribution_of(2.0, 1.0, names=("bytes_moved", "bandwidth"), clock=None, view="bytes")
    assert said not in page(bytes_alone)


@pytest.mark.slow
def test_no_two_figures_of_a_comparison_have_one_name(prof_here, recorded):
    """Rungs 1 and 2 issue so rarely that their times are split by cycles, of which there is a metric as well."""
    text = prof_here("compare", "1", "2", "--full", "--runs", recorded.root).stdout
    named = [line.split()[0] for line in text.splitlines() if "cycles" in line.split("  ")[0]]
    assert {"cycles", "mean_cycles"} <= set(named)
    assert named.count("cycles") == 1
    assert "mean_cycles: of all SMs, on average; `cycles` is the highest of any SM" in text


@pytest.mark.slow
def test_a_dispatch_stall_that_counts_is_explained(recorded, page):
    found = compare_profiles(*profiles_in(recorded, "5", "6")).attribution
    assert found.stalls[0].name == "stall_dispatch"
    said = "stall_dispatch: held back at dispatch, since operands of arithmetic share a register bank"
    assert said in page(found)
    same = [
        msgspec.structs.replace(one, ratio=1.005) if one.name == "stall_dispatch" else one
        for one in found.stalls
    ]
    assert said not in page(msgspec.structs.replace(found, stalls=same))


def test_printed_parts_multiply_to_their_factor(gemm, page):
    rows = [line.split() for line in page(gemm.attribution).splitlines() if line.startswith("    ")]
    latency = next(one for one in gemm.attribution.factors[1].factors if one.name == "wait_per_issue")
    assert math.prod(float(row[-3].rstrip("x")) for row in rows) == pytest.approx(latency.ratio, rel=0.005)
    assert sum(float(row[-2]) for row in rows) == pytest.approx(100 * latency.share, abs=0.5)


@pytest.mark.parametrize("width", [80, 100])
def test_the_page_fits_the_window(gemm, page, width):
    lines = page(gemm.attribution, gemm.attribution_missing, width=width).splitlines()
    options = [line for line in lines if "__" in line]
    assert len(options) == 1, "a list to copy is one word"
    assert max(len(line) for line in lines if line not in options) <= width


def test_the_clock_and_the_closure_error_are_printed(page):
    assert "clock: measured; closure error against the measured durations: less than 0.01 %" in page(
        attribution_of(1.2, 1.1)
    )
    assert "closure error against the measured durations: 0.40 %" in page(
        attribution_of(1.2, 1.1, closure_error_pct=-0.4)
    )
    assert "clock: inferred, because no cycles were recorded" in page(
        attribution_of(1.2, 1.1, clock="inferred")
    )
    assert "caution" not in page(attribution_of(1.2, 1.1, closure_error_pct=0.9))
    assert "caution: clock: measured; closure error" in page(attribution_of(1.2, 1.1, closure_error_pct=1.1))


def test_durations_that_are_equal_have_no_shares(page):
    text = page(attribution_of(1.5, 0.667))
    assert "share" not in text.splitlines()[2]
    assert "1.500x" in text
    assert "too close for shares" in text


def test_durations_that_may_be_equal_are_called_so(gemm, page):
    unclear = [msgspec.structs.replace(gemm.metrics[0], name="duration_ns", verdict="unclear")]
    assert "these factors may be noise" in page(attribution_of(1.2, 1.1), metrics=unclear)
    assert "these factors may be noise" not in page(attribution_of(1.2, 1.1))
    far = [msgspec.structs.replace(unclear[0], reason="beyond_launches")]
    assert "these factors may be noise" not in page(attribution_of(1.2, 1.1), metrics=far)


def test_a_speedup_without_the_profiler_is_marked_as_such(profiles):
    timed = [replaced(profile, timings_ns=Readings([4e6, 4.1e6])) for profile in profiles]
    note = "not of the one without it"
    assert note in document_text(document_of(compare_profiles(*timed)), Window())
    assert note not in document_text(document_of(compare_profiles(*profiles)), Window())


def test_bytes_are_split_by_use_or_their_use_is_unknown(page):
    traffic = [Part("dram_bytes_read", 3e8, 1e8, 2.0, 1.0)]
    names = ("bytes_moved", "bandwidth")
    found = attribution_of(2.0, 1.0, names=names, clock=None, traffic=traffic, view="bytes")
    assert "the useful share of the bytes is unknown" in page(found)
    assert "clock" not in page(found)
    assert "\n  dram_bytes_read " in page(found)
    use = Factor("moved_per_useful_byte", 2.0, 1.0, 2.0, 1.0, "byte/byte")
    known = msgspec.structs.replace(
        found, factors=[msgspec.structs.replace(found.factors[0], factors=[use]), found.factors[1]]
    )
    assert "is unknown" not in page(known)
    assert "\n    dram_bytes_read " in page(known), "what is left once useful bytes are taken out"


def test_stalls_that_are_left_out_are_named(gemm, page):
    without = msgspec.structs.replace(gemm.attribution, stalls=[])
    assert "their sum is far from wait_per_issue" in page(without)
    assert "left out" not in page(gemm.attribution)


def test_missing_metrics_are_named_with_the_command_and_the_options_that_record_them(page):
    missing = [
        MissingMetric("issue_rate", "before"),
        MissingMetric("issue_rate", "after"),
        MissingMetric("inst_issued", "after"),
    ]
    text = page(None, missing)
    assert "zero or not recorded: issue_rate, inst_issued (not after)" in text
    assert f"--metrics {BY_NAME['issue_rate'].ncu[0]},{BY_NAME['inst_issued'].ncu[0]}" in text.replace(
        "\n  ", " "
    )
    assert "`prof collect`, or by `ncu" in text
    assert page(None) == ""


def test_a_missing_metric_is_recorded_by_the_default_or_by_its_name(page):
    named = {metric.name: metric.ncu[0] for metric in CATALOGUE if metric.ncu}
    advice = {name: page(None, [MissingMetric(name, "before")]) for name in named}
    asked = set(find_preset("default").metrics)
    assert [
        name for name in named if f"ncu --metrics {named[name]}" not in " ".join(advice[name].split())
    ] == []
    assert [name for name in named if ("prof collect" in advice[name]) != (named[name] in asked)] == []


def test_markdown_says_the_same(gemm, page):
    html = MarkdownIt("commonmark").enable("table").render(document_markdown(document_of(gemm)))
    text = " ".join(re.sub(r"<[^>]+>", " ", re.sub("</?code>", "`", html)).split())
    assert f"<strong>{speedup_sentence(gemm.attribution)}</strong>" in html
    assert html.count("<table>") == 1
    for line in page(gemm.attribution).splitlines()[3:12]:
        assert " ".join(line.split()) in text.replace("· ", "")
    assert text.endswith(f"ncu --metrics {gemm_options(gemm)}`")


def gemm_options(comparison):
    names = dict.fromkeys(one.name for one in comparison.attribution_missing)
    return ",".join(BY_NAME[name].ncu[0] for name in names)


def test_markdown_without_an_attribution_names_what_is_missing(gemm):
    missing = [MissingMetric("issue_rate", "before")]
    bare = msgspec.structs.replace(gemm, attribution=None, attribution_missing=missing)
    assert "issue\\_rate (not before)" in document_markdown(document_of(bare))
    assert document_markdown(document_of(msgspec.structs.replace(bare, attribution_missing=[]))) == ""
