"""The short form of every finding: never above 8 KB, nothing silently gone, sentences with their figures."""

import json
import random
import re
from collections import Counter
from itertools import combinations_with_replacement
from typing import Annotated

import jsonschema
import pytest
from hypothesis import given, settings, strategies as st
from msgspec import UNSET, Struct
from msgspec.structs import fields, replace

from profiler.analyse.code.machine_code import MachineCode, view_machine_code
from profiler.analyse.compare.compare import compare_profiles
from profiler.analyse.compare.several import sum_up
from profiler.analyse.compare.timings_alone import compare_timings
from profiler.analyse.findings import ComparisonFinding
from profiler.analyse.importance import Importance
from profiler.analyse.ladder.ladder import MissingRung
from profiler.analyse.recording.kernel_choice import choose_kernel, match_kernels
from profiler.analyse.recording.overview import (
    RecordingOverview,
    SheetFinding,
    SheetMetric,
    Sheets,
    derive_sheet,
    derive_timing_sheet,
)
from profiler.analyse.recording.profile import profile_kernel
from profiler.ask.listing import list_stored
from profiler.ask.named.settings import Settings
from profiler.catalog.metrics import HEADLINE, WAITS
from profiler.present.brief import LIMIT_BYTES, brief, rounded
from profiler.present.render.json import schema_of, to_json

GEMM = [str(number) for number in range(11)]


def printed(finding):
    text = to_json(finding)
    assert len(text) + 1 <= LIMIT_BYTES, "what is printed ends with a newline"
    assert text.isascii()
    return json.loads(text)


@pytest.fixture(scope="module")
def profiles(recorded, shipped_runs):
    runs = [recorded.find(rung, "gemm") for rung in (*GEMM, "textbook-5", "textbook-6")]
    runs.append(shipped_runs.find("gemm-6-source", "gemm"))
    return [profile_kernel(run, choose_kernel(run, None)) for run in runs]


@pytest.fixture(scope="module", params=["a sample", pytest.param("all", marks=pytest.mark.campaign)])
def comparisons(profiles, request):
    """Pairs of the recorded ladder, a rung with itself too: 12 of them, or every one."""
    every = list(combinations_with_replacement(profiles, 2))
    chosen = random.Random(17).sample(every, 12) if request.param == "a sample" else every
    return [compare_profiles(before, after, force=True) for before, after in chosen]


@pytest.fixture(scope="module")
def pairs(comparisons):
    """Each with its short form."""
    assert comparisons
    return [(whole, brief(whole)) for whole in comparisons]


@pytest.fixture(scope="module")
def climb(recorded_ladder):
    return recorded_ladder.ladder


@pytest.fixture(scope="module")
def one_of_each(recorded, comparisons, profiles, climb):
    """A real finding of every kind that has a short form."""
    rung, timed = recorded.find("6", "gemm"), recorded.find("gemm-6-timed", "gemm")
    return [
        comparisons[5],
        sum_up(comparisons[:5]),
        RecordingOverview(rung, [derive_sheet(profiles[6], full=False)], None).finding,
        derive_timing_sheet(timed, None, "prof collect"),
        compare_timings(timed, timed),
        climb,
        view_machine_code(profiles[5:7]).finding,
        list_stored(Settings(runs=recorded.root), None),
    ]


# The bound


@pytest.mark.slow
def test_every_pair_of_the_recorded_ladder_fits_and_obeys_the_schema_that_the_whole_does(pairs):
    validator = jsonschema.Draft202012Validator(schema_of(ComparisonFinding))
    for short in [printed(small) for _, small in pairs]:
        validator.validate(short)
    validator.validate(json.loads(to_json(pairs[5][0])))


@pytest.mark.slow
def test_every_kind_of_finding_fits_and_obeys_its_schema(one_of_each):
    for whole in one_of_each:
        jsonschema.validate(printed(brief(whole)), schema_of(type(whole)))


def test_names_of_any_length_and_kind_fit(hostile_store):
    before, after = (hostile_store.find(name, "gemm") for name in ("before", "after"))
    comparisons = [
        compare_profiles(profile_kernel(before, left), profile_kernel(after, right))
        for left, right in match_kernels(before, after, None, every=True).pairs
    ]
    for one in comparisons:
        assert printed(brief(one))["speedup"]["ratio"] == rounded(one.speedup.ratio)
    every = printed(brief(sum_up(comparisons)))
    assert len(every["comparisons"]) + every["left_out"].get("comparisons", 0) == len(comparisons)
    sheets = [derive_sheet(profile_kernel(before, one.name), True) for one in before.manifest.kernels]
    assert printed(brief(RecordingOverview(before, sheets, None).finding))["index"]
    assert len(printed(brief(list_stored(Settings(runs=hostile_store.root))))["runs"]) == 2


# Lists that are short by their nature, whatever is recorded.
_SHORT_LISTS = {"factors", "operands", "checks"}


def bloated(value, text, times):
    """The same finding with that text wherever a report may bring one, and every list so many times as long."""
    if isinstance(value, list):
        return [bloated(one, text, times) for one in value]
    if not isinstance(value, Struct):
        return value
    members = {}
    for member in fields(value):
        name, one = member.name, getattr(value, member.name)
        if isinstance(one, str) and member.type in (str, str | None):
            members[name] = text
        elif isinstance(one, list) and one and isinstance(one[0], str):
            members[name] = [text] * times
        elif isinstance(one, list):
            several = name not in _SHORT_LISTS and not isinstance(value, MachineCode)
            members[name] = bloated(one, text, times) * (times if several else 1)
        elif isinstance(one, dict) and name == "workload":
            members[name] = {f"{number} {text}": number for number in range(times)}
        else:
            members[name] = bloated(one, text, times)
    return replace(value, **members)


@pytest.mark.slow
@given(
    which=st.integers(0, 5),
    text=st.text(st.characters(codec=None, exclude_categories=())),
    longer=st.integers(1, 500),
    times=st.integers(0, 20),
)
def test_whatever_is_recorded_and_however_much_the_short_form_fits(one_of_each, which, text, longer, times):
    whole = bloated(one_of_each[which], text * longer, times)
    small = brief(whole)
    jsonschema.validate(printed(small), schema_of(type(whole)))


def test_with_one_launch_a_side_nothing_is_certain_and_possible_changes_are_still_listed(make_run):
    launches = [
        {"gpu__time_duration.sum": 1000.0 * slower, "lts__t_sector_hit_rate.pct": 40.0 * slower}
        for slower in (1, 2)
    ]
    before, after = (
        profile_kernel(make_run({"kernel": "k", "metrics": metrics}), "k") for metrics in launches
    )
    small = brief(compare_profiles(before, after))
    assert {delta.name: delta.reason for delta in small.metrics} == {
        "duration_ns": "beyond_launches",
        "l2_hit_pct": "too_few_launches",
    }


# Nothing is silently gone


def test_the_short_form_counts_what_it_leaves_out(pairs):
    for whole, small in pairs:
        missing = {
            "opcodes": (whole.instructions.opcodes, small.instructions.opcodes),
            "causes": (whole.causes, small.causes),
            "warnings": (whole.comparable.warnings, small.comparable.warnings),
        }
        for name, (all_of_them, kept) in missing.items():
            assert small.left_out.get(name, 0) == len(all_of_them) - (0 if kept is UNSET else len(kept))
        told = sum(count for name, count in small.left_out.items() if name.startswith("metrics_"))
        assert len(small.metrics) + told == len(whole.metrics)


def test_the_short_form_keeps_the_verdicts_and_figures_of_the_whole(pairs):
    for whole, small in pairs:
        deltas = {delta.name: delta for delta in whole.metrics}
        assert small.metrics
        for delta in small.metrics:
            theirs = deltas[delta.name]
            assert (delta.verdict, delta.reason) == (theirs.verdict, theirs.reason)
            assert (delta.before, delta.after) == (rounded(theirs.before), rounded(theirs.after))
        assert [one.cause for one in small.causes] == [one.cause for one in whole.causes][: len(small.causes)]


def test_the_short_form_of_every_pair_holds_the_duration_what_tells_most_and_the_first_causes(pairs):
    for whole, small in pairs:
        kept = [one.name for one in small.metrics if one.name != "sm_frequency_hz"]
        told = [one.name for one in whole.metrics if one.name != "sm_frequency_hz" and one.has_moved]
        assert kept[0] == "duration_ns"
        most = min(4, len(told))
        assert set(told[:most]) <= set(kept)
        assert small.speedup.ratio == rounded(whole.speedup.ratio)
        assert len(small.confirmations) == len(whole.confirmations)
        assert (small.attribution is None) == (whole.attribution is None)
        assert len(small.causes) >= min(2, len(whole.causes))


def test_the_short_form_of_a_kernel_holds_what_its_warps_wait_for_and_stalls_that_cost_nothing_last(profiles):
    for profile in profiles:
        sheet = derive_sheet(profile, False)
        stalls = {one.name: one.mean for one in sheet.metrics if one.name in WAITS}
        kept = [one.name for one in brief(Sheets(None, [], None, [sheet])).kernels[0].metrics]
        assert kept[0] == "duration_ns"
        if stalls:
            assert max(stalls, key=stalls.get) in kept
            nothing = {name for name, mean in stalls.items() if mean < 0.01 * sum(stalls.values())}
            costs_something = [name not in nothing for name in kept if name not in stalls or name in nothing]
            assert costs_something == sorted(costs_something, reverse=True), profile.label


def test_a_stall_that_a_caution_names_stands_before_what_nothing_names():
    """Though others are longer; one that costs next to nothing is last, whatever names it."""
    means = {"duration_ns": 1e6, "stall_sleeping": 9.0, "stall_membar": 8.0, "stall_barrier": 7.0,
             "stall_wait": 6.0, "l2_hit_pct": 50.0, "stall_drain": 0.01}  # fmt: skip
    metrics = [SheetMetric(name, "", mean, None, 1, name) for name, mean in reversed(means.items())]
    cautions = ["stall_wait and stall_drain come from another pass"]
    sheet = SheetFinding("k", 1, "GPU", [], metrics, [], cautions=cautions)
    kept = brief(Sheets(None, [], None, [sheet])).kernels[0].metrics
    assert [one.name for one in kept] == list(means)


def test_a_ladder_of_ten_rungs_stands_whole_in_the_short_form(climb):
    climb = replace(climb, kernels=climb.kernels[:10])
    small = brief(climb)
    assert [one.kernel for one in small.kernels] == [one.kernel for one in climb.kernels]
    counters = set(HEADLINE) - {"duration_ns", "lsu_inst_share_pct"}
    for rung, whole in zip(small.kernels, climb.kernels, strict=True):
        assert counters <= set(rung.metrics)
        assert rung.duration_ns == rounded(whole.duration_ns)
        assert (rung.verdict, rung.binding) == (whole.verdict, whole.binding)


def test_the_short_form_of_many_rungs_keeps_their_order_and_counts_the_others(climb):
    many = replace(
        climb,
        kernels=[replace(one, kernel=100 * turn + one.kernel) for turn in range(9) for one in climb.kernels],
    )
    small = brief(many)
    kept = [one.kernel for one in small.kernels]
    assert kept == sorted(kept)
    assert small.left_out["kernels"] == len(many.kernels) - len(kept)


def test_rungs_cut_from_the_short_form_are_listed_by_number_beside_those_not_recorded(climb):
    absent = MissingRung(3, "absent", "no run is stored")
    kernels = [one for one in climb.kernels if one.kernel != absent.kernel]
    small = brief(replace(climb, kernels=kernels, missing=[absent]))
    cut = {one.kernel for one in kernels} - {one.kernel for one in small.kernels}
    assert cut, "all of them fit, so nothing is tested"
    assert [one.kernel for one in small.missing] == sorted({absent.kernel, *cut})
    assert {one.why for one in small.missing if one != absent} == {"cut from the short form"}


def test_a_short_ladder_keeps_the_reference_the_first_rung_and_the_fastest_first(climb):
    """Whatever their steps: "which is fastest?" and "does it reach the reference?" are asked first."""
    small = brief(climb, limit=3000)
    told = [one.kernel for one in small.kernels]
    assert 3 <= len(told) < len(climb.kernels)
    by_time = sorted(climb.kernels, key=lambda one: one.duration_ns)
    assert set(told) == {0, 1, *(one.kernel for one in by_time[: len(told) - 2])}


def test_the_short_form_of_many_kernels_lists_the_slowest_first(store):
    run = store.find("several", "gemm")
    sheets = [derive_sheet(profile_kernel(run, one.name), False) for one in run.manifest.kernels]
    small = brief(RecordingOverview(run, sheets, None).finding)
    times = [
        metric.mean * one.launches
        for one in small.kernels
        for metric in one.metrics
        if metric.name == "duration_ns"
    ]
    assert times == sorted(times, reverse=True)
    assert len(times) == 3


def _short_sheet(run, **members):
    """The sheet of the one kernel of a run in the short form, beside the whole one with these members."""
    whole = derive_sheet(profile_kernel(run, run.manifest.kernels[0].name), False)
    whole = replace(whole, **members)
    (short,) = brief(RecordingOverview(run, [whole], None).finding).kernels
    return whole, short


def test_a_cause_without_room_is_named_with_what_it_saves(shipped_runs):
    run = shipped_runs.find("gemm-5-source", "gemm")
    sheet, _ = _short_sheet(run)
    causes = [replace(sheet.causes[0], cause=f"cause-{number}") for number in range(12)]
    whole, short = _short_sheet(run, causes=causes, further_causes={"further": 3.0})
    told = [one.cause for one in short.causes]
    assert 1 <= len(told) < 12
    assert set(told).isdisjoint(short.further_causes)
    assert {*told, *short.further_causes} == {"further", *(one.cause for one in whole.causes)}
    assert short.further_causes["cause-11"] == rounded(sheet.causes[0].saves_pct.expected)


def test_a_sheet_without_room_gives_up_what_the_answer_begins_with_before_its_hottest_lines(shipped_runs):
    run = shipped_runs.find("gemm-5-source", "gemm")
    sheet, _ = _short_sheet(run)
    whole, short = _short_sheet(run, causes=sheet.causes[:2])
    assert len(short.hot_lines) == len(whole.hot_lines) == 5
    assert whole.headline is not None
    assert short.headline is UNSET


def test_a_sheet_with_room_has_its_own_headline(store):
    whole, short = _short_sheet(store.find("gemm_5", "gemm"), causes=[], hot_lines=[])
    assert short.headline.what == whole.headline.what


def test_the_short_form_of_many_runs_keeps_the_newest(recorded):
    whole = list_stored(Settings(runs=recorded.root), "gemm*")
    small = brief(replace(whole, runs=whole.runs * 5))
    assert max(run["recorded"] for run in whole.runs) in {run["recorded"] for run in small.runs}
    assert small.left_out["runs"] == 5 * len(whole.runs) - len(small.runs)


# Importance


def initial(title):
    return title[:1]


class Shelf(Struct, frozen=True):
    """A book is among the `lost` by its first letter while there is no room for it."""

    books: Annotated[list[str], Importance(100, each=2, instead=("lost", initial))]
    prices: Annotated[dict[str, float], Importance(99, each=1, by=lambda price, *_: price[1])] = {}
    lost: Annotated[list[str], Importance(50, each=1)] = []
    notes: Annotated[list[str], Importance(30, by=lambda note, *_: None if note == "idle" else 0)] = []
    notes_left_out: int = 0
    scraps: Annotated[list[str], Importance(0)] = []
    left_out: dict[str, int] = {}


TITLES = [f"title {number}" for number in range(16)]


@settings(deadline=None)
@given(st.integers(200, 1500))
def test_the_most_important_is_there_first_and_the_rest_is_counted(limit):
    whole = Shelf(TITLES, {f"book {number}": 100.5 - number for number in range(100)})
    small = brief(whole, limit=limit)
    assert len(to_json(small)) < limit
    assert small.books == TITLES[: len(small.books)]
    assert list(small.prices) == [f"book {99 - rank}" for rank in range(len(small.prices))]
    assert small.left_out.get("books", 0) == 16 - len(small.books)
    assert small.left_out.get("prices", 0) == 100 - len(small.prices)


def test_entries_are_ranked_once_however_many_cuts_are_tried():
    """Else an answer about thousands of kernels takes seconds."""
    ranked = Counter()

    def count_and_rank(number, *_):
        ranked[number] += 1
        return number

    class Numbers(Struct, frozen=True):
        numbers: Annotated[list[int], Importance(100, each=0.01, by=count_and_rank)]
        left_out: dict[str, int] = {}

    small = brief(Numbers(list(range(4000))))
    assert 100 < len(small.numbers) < 4000
    assert set(ranked.values()) == {1}


def test_an_entry_that_does_not_fit_is_no_reason_to_stop():
    small = brief(Shelf(["x" * 150], {"short": 0.5}), limit=200)
    assert (small.books, small.prices) == ([], {"short": 0.5})


def test_what_is_cut_to_nothing_is_absent_and_what_is_empty_is_there():
    """An empty list would say that there is none. Only those that make the answer what it is stay, with `left_out` at the top."""
    told = json.loads(to_json(brief(Shelf([], {"x" * 200: 0.5}, notes=["y" * 200]), limit=200)))
    assert list(told)[:2] == ["left_out", "books"]
    assert (told["books"], told["lost"]) == ([], [])
    assert not {"prices", "notes"} & set(told)
    assert told["left_out"] == {"notes": 1, "prices": 1}
    jsonschema.validate(told, schema_of(Shelf))


def test_a_short_answer_about_a_run_says_nothing_of_the_files_that_it_leaves_out(one_of_each):
    (whole,) = (one for one in one_of_each if isinstance(one, Sheets))
    assert whole.run.reports
    run = printed(brief(whole))["run"]
    assert "reports" not in run
    assert run["name"] == "gemm-6"


def test_a_schema_requires_what_every_form_of_an_answer_has():
    run = schema_of(Sheets)["$defs"]["RunOfAnswer"]
    assert not {"reports", "kernels", "tables"} & set(run["required"])
    assert {"name", "origin", "recorded"} <= set(run["required"])
    assert {"headline", "index", "run", "kernels"} <= set(schema_of(Sheets)["$defs"]["Sheets"]["required"])


def test_a_finding_that_fits_stays_whole_and_counts_nothing_as_left_out():
    whole = Shelf(TITLES, {"title 0": 1.5}, notes=["a", "b"])
    assert brief(whole) == whole


def test_unimportant_and_unranked_items_are_left_out_even_where_there_is_room():
    small = brief(Shelf([], notes=["idle", "telling"], scraps=["a", "b"]))
    assert (small.notes, small.scraps) == (["telling"], UNSET)
    assert small.left_out == {"notes": 1, "scraps": 2}
    assert small.notes_left_out == 1


def test_an_entry_is_named_elsewhere_only_while_it_is_left_out():
    whole = Shelf(["x" * 150, *TITLES, "y" * 150])
    small = brief(whole, limit=500)
    assert small.lost == [title[0] for title in whole.books if title not in small.books]
    assert small.lost


def test_names_that_are_equal_when_short_are_counted():
    whole = Shelf([], {f"{'x' * 200}{number}{'x' * 200}": 1.5 for number in range(3)})
    small = brief(whole)
    assert (len(small.prices), small.left_out["prices"]) == (1, 2)


@given(st.text(st.characters(codec=None, exclude_categories=())), st.integers(0, 400))
def test_shortened_texts_are_counted(text, times):
    small = brief(Shelf(["short", text * times]))
    assert small.left_out.get("texts", 0) == (small.books[1] != text * times)


# Sentences


NUMBER = re.compile(r"(?<![\w.,])\d+(?:,\d{3})*(?:\.\d+)?(?![\w.]*\w)")


def value_of(number):
    return float(number.replace(",", ""))


def figures_of(value):
    """Every number of a finding, whatever holds it."""
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return []
    if isinstance(value, (int, float)):
        return [abs(value)]
    members = value.values() if isinstance(value, dict) else value
    return [figure for one in members for figure in figures_of(one)]


def unbacked(sentence, holder):
    """The numbers of a sentence that its holder has no figure for."""
    numbers = NUMBER.findall(sentence)
    figures = figures_of(holder)
    return [
        number
        for number in numbers
        if not any(
            abs(figure - value_of(number)) <= 0.51 * 10 ** -len(number.partition(".")[2])
            for figure in figures
        )
    ]


def test_every_sentence_stands_beside_its_figures(pairs):
    told = 0
    for _, small in pairs:
        found = printed(small)
        holders = (found["instructions"]["hot_loop"] or {}).get("changes", [])
        for holder in holders:
            assert unbacked(holder["sentence"], holder) == [], holder["sentence"]
        if found["attribution"]:
            assert unbacked(found["attribution"]["why"], found["attribution"]) == []
        told += len(holders)
        if any("SM clock" in caution for caution in found["comparable"]["warnings"]):
            assert "sm_frequency_hz" in {delta["name"] for delta in found["metrics"]}
    assert told


def test_the_check_above_would_notice_a_figure_that_is_not_there():
    change = {"sentence": "It works in 66 % of the 5.1 cycles.", "evidence": {"a": 65.6}}
    assert unbacked(change["sentence"], change) == ["5.1"]
