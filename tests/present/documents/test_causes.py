"""Causes on a page: what each saves, its name, its place and what to try, and what could not be seen."""

import json
import re

import pytest
from markdown_it import MarkdownIt
from msgspec.structs import replace

from profiler.analyse.causes.cause import CodePlace, Diagnosis, FullerRun, Headline, Savings, where_is
from profiler.analyse.causes.headline import (
    NOTHING_FOUND,
    NOTHING_RECORDED,
    explained,
    next_text,
    why_text,
    with_next,
)
from profiler.analyse.compare.compare import compare_profiles
from profiler.analyse.findings import CauseChange
from profiler.analyse.recording.profile import profile_kernel
from profiler.catalog.causes import CAUSES, find_cause
from profiler.catalog.causes.sureness import Sureness, answers_naming, how_sure, read_record
from profiler.present.document import Caution, Document, Item, Items, Records, Text
from profiler.present.documents.parts.causes import (
    cause_blocks,
    changed_cause_blocks,
    headline_blocks,
    source_notes,
    sureness_blocks,
    why_and_next,
)
from profiler.present.render.markdown import document_markdown
from profiler.present.render.terminal import Window, document_text
from profiler.text import short_place
from tests.made_causes import cause_of

PLACES = [
    CodePlace("LDG.E", 0x150, 80.0, "kernel.cu", 66, "sum += a[k * n];"),
    CodePlace("LDG.E", 0x1A0, 20.0),
]
CAUSES_FOUND = [
    cause_of("uncoalesced-loads", 46.6, 55.5, why="A warp loads 32 sectors. " * 4, change="Exchange the indices.", places=PLACES),
    cause_of("grid-too-small", 9.6, 80.0, together=50.4, why="64 blocks for 132 SMs.", change="Split the work."),
]  # fmt: skip
CEILING = cause_of("at-memory-bandwidth", 0.0, why="Device memory is used to 98 %.")


def document_of(causes, unseen=()):
    return Document("", [cause_blocks(causes, unseen)], Records((), ()))


def text_of(causes=CAUSES_FOUND, unseen=(), width=80, colour=False):
    return document_text(document_of(causes, unseen), Window(colour, width))


def flat(text):
    return " ".join(text.split())


def flat_text(section):
    return flat(document_text(Document("", [section], Records((), ())), Window(False, 200)))


def test_each_cause_has_what_it_saves_its_name_its_place_and_what_to_try():
    lines = text_of().splitlines()
    assert lines[1:3] == [" alone  up to here", "  47 %              uncoalesced-loads"]
    assert "  10 %        50 %  grid-too-small" in lines
    assert "alone" not in text_of(CAUSES_FOUND[:1])
    assert "At kernel.cu:66 `sum += a[k * n];`, offset 0x1a0 (LDG.E). Try: Exchange the indices." in flat(
        text_of()
    )
    assert "Saves 56 % at most." in flat(text_of())


def test_a_bound_of_nearly_all_of_the_time_is_left_out():
    cause = cause_of(saves=20.0, at_most=98.0)
    assert "at most" not in flat(text_of([cause]))
    assert "Likely to save 20 % of the time." in next_text([cause])


def bounded(at_most, limit, *names, expected=30.0):
    return [cause_of(name, expected, at_most, limited_by=limit) for name in names]


@pytest.mark.parametrize(("at_most", "is_said"), [(39.9, True), (40.0, False)])
def test_a_bound_is_said_if_it_is_below_twice_what_is_likely(at_most, is_said):
    alone, both = bounded(at_most, "dram", "barriers", expected=20.0), ("barriers", "idle-lanes")
    assert ("Saves 40 % at most." in flat(text_of(alone))) == is_said
    assert (
        "each save 40 % at most" in flat(text_of(bounded(at_most, "dram", *both, expected=20.0)))
    ) == is_said
    assert ("and at most 40 %." in next_text(alone)) == is_said


def test_a_bound_that_several_causes_share_is_said_once_with_the_resource_that_sets_it():
    page = flat(
        text_of([*bounded(55.4, "dram", "barriers", "idle-lanes"), *bounded(40.0, "dram", "loop-overhead")])
    )
    shared = (
        "barriers and idle-lanes each save 55 % at most: device memory would still need 45 % of the time, "
        "even at the highest rate that kernels reach, and if it moved no data twice."
    )
    assert shared in page
    assert page.count("55 % at most") == 1
    assert page.count("Saves 40 % at most.") == 1


def test_equal_bounds_of_different_resources_are_each_said():
    page = flat(text_of([*bounded(55.0, "dram", "barriers"), *bounded(55.0, "fma", "idle-lanes")]))
    assert page.count("Saves 55 % at most.") == 2


@pytest.mark.parametrize("resource", sorted({one for cause in CAUSES for one in cause.leaves}))
def test_every_resource_that_may_set_a_bound_has_a_name_for_people(resource):
    assert f"at most: {resource} " not in flat(text_of(bounded(55.0, resource, "barriers", "idle-lanes")))


@pytest.mark.parametrize(
    ("cause", "where", "said"),
    [
        ("barriers", PLACES, "line"),
        ("barriers", PLACES[1:], "instruction"),
        ("barriers", [], "unrecorded"),
        ("grid-too-small", PLACES, "kernel"),
        ("at-fma-rate", [], "kernel"),
    ],
)
def test_an_empty_list_of_places_says_if_a_cause_is_of_the_kernel_or_nothing_is_recorded(cause, where, said):
    assert where_is(cause, where) == said


def test_a_cause_of_the_whole_kernel_may_have_a_line_to_blame():
    assert where_is("load-imbalance", PLACES, blames_lines=True) == "line"
    cause = replace(CAUSES_FOUND[1], where=PLACES, where_is="line")
    assert "At kernel.cu:66" in flat(text_of([cause]))


def test_the_call_stands_beside_a_place_in_another_function():
    inside = CodePlace("LDG.E", 0x150, 80.0, "helper.cuh", 66, "sum += a[k];", "kernel.cu:30")
    page = flat(text_of([replace(CAUSES_FOUND[0], where=[inside, *PLACES[1:]])]))
    assert "At helper.cuh:66 `sum += a[k];` (called at kernel.cu:30), offset 0x1a0" in page


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ([CodePlace("MOV", 0x0, 0.0, "kernel.cu", 9, "__global__ void kernel()")], "The kernel begins at kernel.cu:9 `__global__ void kernel()`."),
        ([CodePlace("LDG", 0x0, 100.0, "kernel.cu", 11, "sum += x[i];")], "Mostly at kernel.cu:11 `sum += x[i];`."),
        ([CodePlace("LDG", 0x0, 50.0, "kernel.cu", 11), *PLACES[1:]], "Mostly at kernel.cu:11."),
        ([CodePlace("LDG", 0x0, 49.9, "kernel.cu", 11), *PLACES[1:]], ""),
        ([CodePlace("LDG", 0x150, 90.0)], ""),
    ],
)  # fmt: skip
def test_a_cause_of_the_launch_says_which_line_has_most_of_it_or_where_the_kernel_begins(where, said):
    page = flat(text_of([replace(CAUSES_FOUND[1], where=where)]))
    assert said in page
    assert ("kernel.cu" in page) == bool(said)


def test_a_ceiling_saves_nothing_and_says_no_percentage():
    page = flat(text_of([CEILING]))
    assert "limit at-memory-bandwidth Device" in page
    assert "would save" not in page.split("at-memory-bandwidth")[1]


def test_a_ceiling_is_not_listed_again_below_the_headline_that_says_all_of_it():
    said = with_next(explained("It takes 1 ms.", [CEILING]), [CEILING])
    assert cause_blocks([CEILING], [], said) == []
    listed, *_ = cause_blocks([CEILING, *CAUSES_FOUND], [], said)
    assert [one.name for one in listed.rows] == ["uncoalesced-loads", "grid-too-small"]
    assert cause_blocks([CEILING], [], None) != []


@pytest.mark.parametrize(
    ("before_pct", "expected"), [(60.0, "remain    47 %  uncoalesced-loads at kernel.cu:66 (before: 60 %)"),
                                 (46.6, "remain    47 %  uncoalesced-loads at kernel.cu:66")],
)  # fmt: skip
def test_the_cost_before_stands_behind_a_causes_name_and_ceilings_are_limits(recorded, before_pct, expected):
    sides = [
        profile_kernel(run, run.manifest.kernels[0].name)
        for run in (recorded.find("5", "gemm"), recorded.find("6", "gemm"))
    ]
    comparison = replace(
        compare_profiles(*sides),
        causes=[*CAUSES_FOUND, CEILING],
        causes_gone=[],
        causes_kept=[CauseChange("uncoalesced-loads", before_pct, 46.6)],
    )
    document = Document("", [changed_cause_blocks(comparison, "b", full=False)], Records((), ()))
    lines = document_text(document, Window(width=80)).splitlines()
    assert lines[1:4] == ["new       10 %  grid-too-small", "         limit  at-memory-bandwidth", expected]


def test_no_cause_is_said_in_the_headline_alone():
    assert why_text([]) == NOTHING_FOUND
    assert NOTHING_FOUND not in flat(text_of([]))


def test_the_smaller_causes_are_only_named_without_full():
    small = [cause_of(name, pct) for name, pct in (("barriers", 4.0), ("idle-lanes", 3.0))]
    document = Document("", [cause_blocks([*CAUSES_FOUND, *small], [], full=False)], Records((), ()))
    page = document_text(document, Window(width=80))
    assert "   4 %              barriers" in page
    assert page.endswith("1 more: idle-lanes (3 %)")


def shown(causes):
    """The causes on the first screen, and the text about the others."""
    items, *others = cause_blocks(causes, [], full=False)
    return [one.name for one in items.rows], str(others)


def test_the_first_screen_hides_no_cause_that_saves_more_than_one_that_it_shows():
    three = [cause_of("bank-conflicts", 16.0), cause_of("idle-lanes", 14.0), cause_of("loop-overhead", 13.0)]
    more, less = cause_of("narrow-accesses", 21.0), cause_of("special-functions", 9.0)
    names, others = shown([*three, cause_of("type-conversions", 12.0), more, less])
    assert names == [one.cause for one in three] + ["type-conversions", "narrow-accesses"]
    assert "1 more: special-functions (9 %)" in others
    assert shown([*three, less])[0] == [one.cause for one in three]
    weak = [replace(one, saves_pct=Savings(one.saves_pct.expected / 10, 100.0)) for one in [*three, more]]
    assert shown(weak)[0] == [one.cause for one in three], (
        "2.1 % is more than 1.3 %, and hardly worth the lines"
    )


def test_the_first_screen_shows_every_cause_that_the_next_step_adds_up():
    hidden = [
        cause_of("bank-conflicts", 16.0),
        cause_of("idle-lanes", 14.0, together=28.0),
        cause_of("loop-overhead", 13.0, together=37.0),
        cause_of("type-conversions", 12.0, together=61.0),
        cause_of("special-functions", 9.0, together=65.0),
    ]
    assert "With the next 3 causes removed as well, likely to save 61 %" in next_text(hidden)
    assert shown(hidden)[0] == [one.cause for one in hidden[:4]]
    assert shown([CEILING, *hidden])[0] == [CEILING.cause, *(one.cause for one in hidden[:4])]


def test_the_rest_of_long_advice_stands_at_the_cause_of_which_the_headline_has_the_start():
    start, further = f"Exchange {'the indices ' * 12}so.", f"Where that is {'not ' * 30}possible, wait."
    causes = [replace(CAUSES_FOUND[0], try_=f"{start} {further}")]
    said = with_next(explained("It takes 1 ms.", causes), causes)
    assert (start in said.next, further in said.next) == (True, False)
    page = flat_text(cause_blocks(causes, [], said))
    assert f"Try: as above. {further}" in page
    assert start not in page


def test_nearly_all_of_the_time_is_not_all_of_it():
    causes = [cause_of("bank-conflicts", 60.0), cause_of("idle-lanes", 99.6, together=100.0)]
    page = text_of(causes)
    assert "> 99 %      > 99 %  idle-lanes" in page
    assert "100 %" not in page


def test_that_no_lines_are_recorded_is_said_once_with_how_to_record_them():
    nowhere = [cause_of(name, places=PLACES[1:]) for name in ("barriers", "idle-lanes")]
    page = flat(text_of(nowhere))
    assert page.count("no source lines are recorded") == page.count("compile with -lineinfo") == 1
    assert "no source lines" not in text_of()
    said = with_next(explained("It takes 1 ms.", nowhere), nowhere)
    assert "compile it with -lineinfo" in said.note
    assert [one.text for one in headline_blocks(said)][-1] == said.note
    blocks = cause_blocks(nowhere, [], said)
    assert not any(isinstance(one, Text) and "no source lines" in one.text for one in blocks)


def test_a_cause_of_which_the_answer_has_said_all_leaves_no_empty_line():
    items = Items(
        "causes", [Item(94.0, "grid-too-small", ""), Item(20.0, "barriers", "Warps wait.")], ("", "", "", "")
    )
    text = document_text(Document("", [[items]]), Window(width=80))
    assert text.splitlines()[1:] == ["  94 %  grid-too-small", "  20 %  barriers", "        Warps wait."]


CUPY = f"{40 * 'a'}.cubin.cu"


@pytest.mark.parametrize(("file", "said"), [(CUPY, True), ("kernel.cu", False), ("my.cubin.cu", False)])
def test_code_that_is_no_file_is_explained_before_its_lines_are_listed(file, said):
    """CuPy compiles the text of a RawKernel, and names it by a hash."""
    places = [CodePlace("LDG.E", 0x1A0, 20.0, file, 19)]
    causes = [cause_of("barriers", places=places)]
    headline = with_next(explained("It takes 1 ms.", causes), causes)
    sections = [headline_blocks(headline), cause_blocks([*causes, CAUSES_FOUND[0]], [], headline)]
    page = flat(document_text(Document("", sections), Window(width=80)))
    assert ("code that CuPy compiled" in page) == said
    assert file not in page or not said
    if said:
        assert "barriers at <CuPy source>:19" in page
        assert page.index("code that CuPy compiled") < page.index("what causes its time")


def test_code_that_is_no_file_is_explained_in_a_list_of_kernels_and_in_a_comparison_that_name_it():
    said = Headline("It takes 1 ms.", f"uncoalesced-loads ({short_place(f'{CUPY}:45')}) went away.", "")
    assert len(why_and_next(said)) == 2
    assert [one.text[:13] for one in source_notes([None, f"{CUPY}:12"], None)] == ["<CuPy source>"]
    assert source_notes([None, f"{CUPY}:12"], said) == []  # it is explained there
    assert source_notes([None, "kernel.cu:12"], None) == []


def test_an_answer_that_names_no_line_of_cupy_explains_it_where_a_cause_below_does():
    launch = cause_of("grid-too-small")
    at_line = cause_of("barriers", 9.0, places=[CodePlace("BAR", 16, 9.0, CUPY, 19)])
    headline = with_next(explained("It takes 1 ms.", [launch]), [launch])
    assert "CuPy" not in str(headline_blocks(headline))
    assert "code that CuPy compiled" in flat_text(cause_blocks([launch, at_line], [], headline))


def test_evidence_that_was_not_recorded_is_named_with_the_preset_that_records_it():
    page = flat(text_of(unseen=["where warps wait"]))
    assert page.endswith(
        "not recorded: where warps wait. `prof collect` records it, and so does `ncu --set full --import-source yes`."
    )
    assert "not recorded" not in text_of()


def test_a_run_of_prof_that_lacks_evidence_says_which_version_or_preset_has_it(prof_recorded):
    page = flat(prof_recorded("show", "5").stdout)
    assert "made this recording; `prof collect` of this version records it." in page
    assert "How sure: not known: the tests were of recordings that show" in page


def test_a_run_that_has_the_evidence_is_named_instead_of_how_to_record_it():
    fuller = FullerRun("gemm-5-source", "2026-11-21T09:55:58Z")
    page = flat_text(cause_blocks(CAUSES_FOUND, ["where warps wait"], fuller=fuller))
    assert page.endswith(
        "not recorded: where warps wait. `prof show gemm-5-source`, recorded 2026-11-21, has it."
    )


def test_how_to_record_it_is_not_said_below_a_headline_that_says_it():
    said = Headline("It takes 1 ms.", NOTHING_RECORDED, "Record more.", tells_how_to_record=True)
    assert cause_blocks([], ["where warps wait"], said) == [Caution("not recorded: where warps wait")]


def test_the_brief_answer_keeps_the_cautions_of_the_evidence_and_counts_those_beyond_three():
    answer, cautions = [Text("It is slow.")], [Caution(f"doubt {place}") for place in range(5)]
    evidence = [Text("Everything else."), *cautions]
    page = document_text(Document("", [answer, evidence]).brief, Window())
    assert page.startswith("It is slow.")
    assert page.endswith("caution: doubt 2\n2 more cautions without --brief")
    assert "Everything else" not in page
    four = Document("", [answer, evidence[:-1]]).brief
    assert document_text(four, Window()).endswith("caution: doubt 2\ncaution: doubt 3"), (
        "a count takes a line too"
    )


@pytest.mark.parametrize("asked", [("show", "6"), ("compare", "5", "6")])
def test_a_brief_answer_says_that_its_causes_are_estimated(prof_recorded, asked):
    lines = prof_recorded(*asked, "--brief").stdout.splitlines()
    assert max(map(len, lines)) <= 100
    page = flat(" ".join(lines))
    assert "caution: not recorded: " in page
    assert "estimated from totals" in page


@pytest.mark.parametrize("width", [40, 80, 200, None])
def test_the_page_fits_the_window_and_stays_readable(width):
    assert max(map(len, text_of(width=width).splitlines())) <= min(width or 100, 100)


def test_colour_changes_nothing_but_colour():
    coloured = text_of(colour=True)
    assert "\x1b[1muncoalesced-loads\x1b[0m" in coloured
    assert re.sub(r"\x1b\[[012]m", "", coloured) == text_of()


def test_markdown_has_a_row_for_each_cause():
    tokens = MarkdownIt().enable("table").parse(document_markdown(document_of(CAUSES_FOUND)))
    assert [token.type for token in tokens].count("tr_open") == 1 + len(CAUSES_FOUND)


def test_show_and_compare_name_the_same_causes_of_the_same_kernel(prof_recorded):
    in_full = ("--full", "--format", "json")
    (shown,) = json.loads(prof_recorded("show", "6", *in_full).stdout)["kernels"]
    compared = json.loads(prof_recorded("compare", "5", "6", *in_full).stdout)
    assert shown["causes"] == compared["causes"] != []
    for page in (
        prof_recorded("show", "6", "--full").stdout,
        prof_recorded("compare", "5", "6", "--full").stdout,
    ):
        for cause in shown["causes"]:
            assert re.search(rf"{cause['saves_pct']['expected']:.0f} %(  .{{10}})?  {cause['cause']}", page)
            assert cause["sentence"] in " ".join(page.split())


# prof causes


def test_prof_causes_lists_every_cause(prof_here):
    page = prof_here("causes").stdout
    assert [line.split()[0] for line in page.splitlines()[1:] if not line.startswith(" ")] == [
        one.name for one in CAUSES
    ]


@pytest.mark.parametrize("format", ["json", "csv", "markdown"])
def test_prof_causes_holds_everything_in_every_format(prof_here, format):
    text = prof_here("causes", "--format", format).stdout
    for one in CAUSES:
        assert one.name.replace("-", "\\-") in text or one.name in text
    if format == "json":
        rows = json.loads(text)
        rows = rows if isinstance(rows, list) else next(v for v in rows.values() if isinstance(v, list))
        assert set(rows[0]) == {
            "cause", "group", "what", "detected", "example", "remedy", "stood_first", "right_first", "among_three", "points_off"
        }  # fmt: skip


def test_prof_causes_says_everything_about_one(prof_here):
    kind = find_cause("bank-conflicts")
    page = flat(prof_here("causes", "bank-conflicts").stdout)
    assert all(flat(text) in page for text in (kind.what, kind.detected, kind.example, kind.remedy))
    kernels, right, _, off, *_ = answers_naming("bank-conflicts")
    assert (
        f"stood first for {kernels} kernels that prof had not seen. It was what the author then changed for {right}"
        in page
    )
    assert f"Where it was, its estimates were {off / right:.0f} points off on average." in page


def test_prof_causes_says_nothing_of_the_estimates_of_a_cause_that_was_seldom_right(prof_here):
    assert answers_naming("at-l2-bandwidth").right_first < 10
    assert "points off" not in prof_here("causes", "at-l2-bandwidth").stdout


def test_prof_causes_says_of_a_cause_that_no_test_named_that_none_did(prof_here):
    (untried,) = {"unoptimised-code"} - {first for first, _ in read_record()}
    assert "first for none of the kernels" in flat(prof_here("causes", untried).stdout)


def test_a_cause_that_does_not_exist_is_an_error_with_the_nearest_name(prof_here):
    done = prof_here("causes", "bank-conflicst")
    assert done.returncode != 0
    assert "no cause 'bank-conflicst'; nearest: bank-conflicts" in done.stderr


@pytest.mark.parametrize(
    ("text", "is_quoted"),
    [
        ("x_ptrs,", False),
        ("x.data,", False),
        ("*args,", False),
        ("x_ptr=x,", False),
        ("load(x_ptrs),", True),
        ("mask=x < n,", True),
        ("x += y", True),
    ],
)
def test_an_argument_on_a_line_of_its_own_is_not_quoted(text, is_quoted):
    cause = replace(CAUSES_FOUND[0], where=[CodePlace("LDG.E", 0x150, 80.0, "kernel.py", 66, text)])
    page = flat_text(cause_blocks([cause], []))
    assert "At kernel.py:66" in page
    assert (f"`{text}`" in page) == is_quoted


def test_the_full_answer_says_which_causes_it_leaves_out():
    def text(**more):
        return flat_text(cause_blocks(CAUSES_FOUND, [], **more))

    left_out = {"dependent-chain": 22.3, "divergent-branches": 3.1}
    said = "2 further causes are left out, with what each is likely to save by itself: dependent-chain (22 %), divergent-branches (3 %)."
    assert said in text(left_out=left_out)
    said_of_one = "1 further cause is left out: dependent-chain, which is likely to save 22 % by itself."
    assert said_of_one in text(left_out={"dependent-chain": 22.3})
    assert "left out" not in text(left_out=left_out, full=False)
    assert "left out" not in text()


@pytest.mark.parametrize(
    ("sureness", "counts"),
    [
        (
            Sureness(86, 76, 85, True, None),
            "very. Of 86 such answers on unseen kernels, 76 named first what the author then changed, and 85 among the first three.",
        ),
        (
            Sureness(86, 60, 86, True, None),
            "fairly. Of 86 such answers on unseen kernels, 60 named first what the author then changed, and all among the first three.",
        ),
        (
            Sureness(54, 54, 54, True, 17.6),
            "very. All 54 such answers on unseen kernels named first what the author then changed; estimates were 18 points off.",
        ),
        (
            Sureness(377, 321, 368, False, None),
            "very. Of 377 answers on unseen kernels that expected to save about as much, 321 named first what the author then changed, "
            "and 368 among the first three.",
        ),
    ],
)  # fmt: skip
def test_how_sure_the_first_cause_is_stands_below_the_causes_as_a_word_and_a_count(sureness, counts):
    assert flat_text(sureness_blocks(CAUSES_FOUND, sureness)) == f"How sure: {counts}"


@pytest.mark.parametrize(("right_first", "is_sure"), [(59, False), (60, True)])
def test_where_two_of_five_first_causes_were_wrong_the_first_three_are_to_be_looked_at(right_first, is_sure):
    said = flat_text(sureness_blocks(CAUSES_FOUND, Sureness(100, right_first, 90, True, 9.0)))
    assert said.endswith("Look at the first three before you change anything.") != is_sure
    assert said.startswith("How sure: fairly." if is_sure else "How sure: not very.")


@pytest.mark.parametrize(("faster", "said"), [(8, "all 8"), (5, "5 of 8")])
def test_an_unsure_answer_says_what_following_such_ones_did(faster, said):
    unsure, sure = (Sureness(100, right, 90, True, 9.0, 8, faster) for right in (50, 70))
    told = (
        f"Where that was something else, following the first cause still made {said} faster by 10 % or more."
    )
    assert told in flat_text(sureness_blocks(CAUSES_FOUND, unsure))
    assert told not in flat_text(sureness_blocks(CAUSES_FOUND, sure))


def test_where_it_is_not_known_how_sure_the_first_cause_is_the_reason_is_said():
    first = CAUSES_FOUND[0]
    unseen = ["the sectors of each access (estimated from totals)", "where warps wait (estimated)"]
    reasons = {
        first.cause: "the tests were of recordings that show the sectors of each access and where warps wait, and this one does not",
        "unoptimised-code": "too few kernels that were compiled for debugging were tested",
    }
    for cause, reason in reasons.items():
        said = flat_text(sureness_blocks([replace(first, cause=cause)], None, unseen))
        assert said == f"How sure: not known: {reason}."
    assert sureness_blocks([], None) == []


@pytest.mark.parametrize(
    ("ceiling", "of_own"), [("at-l2-bandwidth", "; at this one, 4 of 5"), ("at-tensor-rate", "")]
)  # fmt: skip
def test_of_a_ceiling_it_says_how_many_kernels_got_faster_by_another_change(ceiling, of_own):
    assert answers_naming("at-l2-bandwidth")[:2] == (5, 1)
    said = flat_text(sureness_blocks([replace(CEILING, cause=ceiling)], Sureness(10, 3, 4, False, None)))
    assert said == (
        "How sure: only kernels with a faster next version were tested. Of 10 that prof put at a ceiling, 7 got faster by another "
        f"change{of_own}."
    )


def all_seen(*causes):
    return Diagnosis(list(causes), [], sees=["resources", "instructions", "accesses", "waits"])


def test_only_answers_of_the_kind_that_was_tried_say_how_sure_they_are():
    cause = CAUSES_FOUND[0]
    assert all_seen(cause).sureness == how_sure("uncoalesced-loads", 46.6)
    assert all_seen().sureness is None
    assert replace(all_seen(cause), sees=["resources", "instructions"]).sureness is None
    assert all_seen(replace(cause, cause="unoptimised-code")).sureness is None
