"""The reason that the first screen gives for a kernel's time."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
from made_evidence import MADE_RUN, evidence_of

from profiler.analyse.causes.cause import UNCOUNTED, CodePlace, Diagnosis, Headline
from profiler.analyse.causes.headline import (
    BROUGHT_BY_NVIDIA,
    BROUGHT_BY_PYTORCH,
    NO_LINES,
    WRITTEN_BY_TORCH,
    explained,
    flag_of_lines,
    headline_of,
    hidden_text,
    next_text,
    note_text,
    record_it_text,
    saves_text,
    split_advice,
    unsure_text,
    why_text,
    with_next,
    without_source,
)
from profiler.analyse.compare.compare import compare_profiles
from profiler.catalog.causes import LAST_WAVE
from profiler.catalog.causes.sureness import Sureness
from tests.made_causes import cause_of
from tests.profiles import profiles_in


@pytest.mark.parametrize(("expected", "is_weak"), [(9.4, True), (9.6, False), (10.0, False)])
def test_a_cause_that_is_said_to_save_10_percent_is_not_called_smaller(expected, is_weak):
    """The saving is printed in whole percents, in the next sentence."""
    assert (
        why_text([cause_of(saves=expected)]).startswith("No cause alone would save 10 % of the time")
        == is_weak
    )


@pytest.mark.parametrize(
    ("share_pct", "line", "said"),
    [
        (50.0, 73, "grid-too-small, mostly at kernel.cu:73: "),
        (49.9, 73, "grid-too-small: "),
        (90.0, None, "grid-too-small: "),
        (0.0, 9, "grid-too-small: "),  # the line of the signature
    ],
)
def test_the_line_that_has_half_of_a_cause_of_the_whole_kernel_is_named(share_pct, line, said):
    where = [CodePlace("LDG", 0x150, share_pct, "kernel.cu", line)]
    assert why_text([cause_of("grid-too-small", places=where)]).startswith(said)


@pytest.mark.parametrize(
    ("others", "said"),
    [
        ([], "No cause alone would save 10 % of the time; the largest is register-spills: "),
        ([7.4, 3.0], "No cause alone would save 10 % of the time; the largest is register-spills: "),  # 7 % as well
        ([8.0], "No cause alone would save 10 % of the time; the surest is register-spills: "),
        ([9.6], "register-spills: "),
    ],
)  # fmt: skip
def test_a_first_cause_that_is_not_the_largest_is_not_called_that(others, said):
    """What is true of most kernels counts for less, and so stands behind a cause that saves less."""
    first, *rest = (
        cause_of(name, expected)
        for name, expected in [("register-spills", 7.0), *(("dependent-chain", one) for one in others)]
    )
    assert why_text([first, *rest]).startswith(said)


@pytest.mark.parametrize(
    ("name", "line", "is_said"),
    [("barriers", None, True), ("barriers", 7, False), ("grid-too-small", None, False)],
)
def test_advice_for_code_without_lines_says_what_the_caller_of_a_library_can_change(name, line, is_said):
    """A launch is the caller's own, however its code was compiled."""
    place = CodePlace("BAR.SYNC", 16, 100.0, "kernel.cu" if line else None, line)
    causes = [cause_of(name, places=[place])]
    assert note_text(causes) == (without_source() if is_said else "")
    headline = with_next(explained("It takes 1 ms.", causes), causes)
    assert NO_LINES not in headline.next  # where it would stand between a saving and a doubt
    assert headline.note == note_text(causes)


@pytest.mark.parametrize(
    ("expected", "at_most", "said"),
    [
        (20.4, 30.0, "Likely to save 20 % of the time, and at most 30 %."),
        (23.1, 23.4, "Saves 23 % of the time at most."),
        (23.1, 23.6, "Likely to save 23 % of the time, and at most 24 %."),
        (40.0, 100.0, "Likely to save 40 % of the time."),
        (40.0, 79.9, "Likely to save 40 % of the time, and at most 80 %."),
        (40.0, 80.0, "Likely to save 40 % of the time."),  # twice as much excludes little
        (100.0, 100.0, "Likely to save nearly all of the time."),
    ],
)
def test_a_saving_names_its_bound_only_where_that_says_more(expected, at_most, said):
    assert saves_text(cause_of(saves=expected, at_most=at_most)) == said


@pytest.mark.parametrize(
    ("name", "unseen", "is_hidden"),
    [
        ("barriers", [UNCOUNTED, "where warps wait"], True),
        ("barriers", ["where warps wait"], False),
        ("at-memory-bandwidth", [UNCOUNTED], False),
        ("unoptimised-code", [UNCOUNTED], False),
    ],
)
def test_a_cause_found_without_instructions_need_not_be_the_main_one(name, unseen, is_hidden):
    said = hidden_text([cause_of(name)], unseen)
    assert said == (
        " Other causes may be hidden: it is not recorded which instructions ran how often and where warps wait."
        if is_hidden
        else ""
    )


@pytest.mark.parametrize(
    ("kernel", "is_said"),
    [("triton_red_fused_mul_sum_0", True), ("triton_poi_fused_add_t_0", True), ("triton_softmax", False)],
)
def test_a_kernel_that_pytorch_wrote_is_changed_by_what_pytorch_is_asked_for(kernel, is_said):
    evidence = evidence_of("LDG.E R4, [R2.64]")
    run = replace(MADE_RUN, manifest=SimpleNamespace(kernel=None, program="", kernels=[]))
    profile = replace(evidence.profile, kernel=kernel, run=run)
    said = headline_of(profile, Diagnosis([cause_of()], []), 1).next
    assert said.startswith("Wait less.")
    assert said.endswith(WRITTEN_BY_TORCH) == is_said


@pytest.mark.parametrize(
    ("kernel", "program", "flag"),
    [
        ("fill(float *)", "/home/one/main", "-lineinfo"),
        ("fill(float *)", "/home/python/reduce", "-lineinfo"),
        ("fill", "/usr/bin/python3.10", "-lineinfo (CuPy: `options=('-lineinfo',)`)"),
        ("fill", r"C:\Python312\python.exe", "-lineinfo (CuPy: `options=('-lineinfo',)`)"),
        ("fill", "", "-lineinfo (CuPy: `options=('-lineinfo',)`)"),  # which program is not known
        ("fill(Array<float, (int)1, C, mutable, aligned>)", "python3", "`@cuda.jit(lineinfo=True)`"),
        ("kernel_cutlass_fill___main__Fill_object_at__0", "python3", "`CUTE_DSL_LINEINFO=1` in the environment"),
        ("julia_fill(CuDeviceArray<Float32, (int)1, (int)1>)", "/usr/bin/julia", "`julia -g1`"),
    ],
)  # fmt: skip
def test_what_keeps_lines_is_said_in_the_language_of_the_kernel_alone(kernel, program, flag):
    assert flag_of_lines(kernel, program) == flag
    assert f"If the kernel is yours, compile it with {flag}. If it comes" in without_source(kernel, program)


@pytest.mark.parametrize("where", [[CodePlace("BAR.SYNC", 16, 100.0)], []])
@pytest.mark.parametrize(
    ("kernel", "said"),
    [
        ("void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>>(int, T2, T3)", BROUGHT_BY_PYTORCH),
        ("ampere_sgemm_128x64_nn", BROUGHT_BY_NVIDIA),
        ("void cutlass::Kernel<cutlass_80_simt_sgemm_128x256_8x4_tt_align1>(T1::Params)", BROUGHT_BY_NVIDIA),
        ("my_ampere_sgemm_128(float *)", ""),
        ("void cutlass::Kernel<MyGemm>(T1::Params)", ""),
    ],
)  # fmt: skip
def test_the_kernel_of_a_library_is_changed_by_what_it_is_asked_for(kernel, said, where):
    run = replace(MADE_RUN, manifest=SimpleNamespace(kernel=None, program="python3", kernels=[]))
    profile = replace(evidence_of("LDG.E R4, [R2.64]").profile, kernel=kernel, run=run)
    cause = cause_of(places=where)
    headline = with_next(explained("It takes 1 ms.", [cause]), [cause], profile)
    text = headline.next
    assert text.startswith("Wait less.")
    assert [one for one in (BROUGHT_BY_NVIDIA, BROUGHT_BY_PYTORCH) if one in text] == ([said] if said else [])
    assert (NO_LINES in headline.note) == (bool(where) and not said)
    assert ("`prof sass made --listing` shows" in headline.note) == (bool(where) and not said)
    assert headline.tells_what_without_lines == (bool(where) or bool(said))


def test_a_headline_says_which_cause_its_sentences_hold_whole():
    causes = [cause_of("barriers"), cause_of("idle-lanes", 9.0, why="Lanes idle.", change="Use all lanes.")]
    said = with_next(explained("It takes 1 ms.", causes), causes)
    assert (said.explains, said.advises_on) == ("barriers", "barriers")
    assert "Warps wait." in said.why
    assert "Wait less." in said.next
    assert "Lanes idle." not in said.why
    of_two_kernels = with_next(Headline("It takes 1 ms.", "Barriers went away.", ""), causes, at_place=True)
    assert (of_two_kernels.explains, of_two_kernels.advises_on) == (None, "barriers")
    without = explained("It takes 1 ms.", [])
    assert (without.explains, with_next(without, []).advises_on) == (None, None)


@pytest.mark.parametrize(
    ("lengths", "in_headline"),
    [
        ([240, 20], 1),
        ([119, 300, 20], 2),  # a short sentence seldom says all that matters
        ([120, 300], 1),
        ([150, 89, 20], 2),
        ([150, 90], 1),
    ],
)
def test_the_next_step_has_as_much_of_long_advice_as_is_read_at_a_glance(lengths, in_headline):
    sentences = [f"{'Wait less' * length}"[: length - 1] + "." for length in lengths]
    cause = cause_of(change=" ".join(sentences))
    start, further = split_advice(cause)
    assert start == " ".join(sentences[:in_headline])
    assert further == " ".join(sentences[in_headline:])
    assert next_text([cause]) == f"{start} Likely to save 20 % of the time."


@pytest.mark.parametrize(("expected", "is_advised"), [(9.4, False), (9.6, True)])
def test_a_kernel_at_a_ceiling_is_told_what_saves_10_percent_beside_it(expected, is_advised):
    """The list prints whole percents: where it says 10 % of a cause, the headline cannot know nothing that saves much."""
    ceiling = cause_of("at-memory-bandwidth", 0.0, why="Memory is busy.", change="Move less.")
    stores = cause_of("uncoalesced-stores", expected, change="Store side by side.", line=28)
    causes = [ceiling, cause_of("barriers", 4.0), stores]
    said = with_next(explained("It takes 1 ms.", causes), causes)
    assert said.why.startswith("at-memory-bandwidth: Memory is busy.")
    assert (said.explains, said.advises_on) == (
        "at-memory-bandwidth",
        "uncoalesced-stores" if is_advised else "at-memory-bandwidth",
    )
    assert said.next == (
        "Beside this ceiling, uncoalesced-stores at kernel.cu:28 can be removed: Store side by side. "
        "Likely to save 10 % of the time."
        if is_advised
        else "Move less. Begin with barriers. prof knows nothing else that saves much."
    )


@pytest.mark.parametrize(("beside", "begins"), [("uncoalesced-stores", " Begin with uncoalesced-stores."), (LAST_WAVE, ""), (None, "")])  # fmt: skip
def test_at_a_ceiling_less_work_begins_with_the_cause_beside_it_that_spares_some(beside, begins):
    """The last round of blocks does the same work for the ceiling, however full it is."""
    ceiling = cause_of("at-l2-bandwidth", 0.0, change="Keep more.")
    small = [cause_of(beside, 6.0)] if beside else []
    said = with_next(explained("It takes 1 ms.", [ceiling, *small]), [ceiling, *small])
    assert said.next == f"Keep more.{begins} prof knows nothing else that saves much."
    assert said.advises_on == "at-l2-bandwidth"


@pytest.mark.parametrize(
    ("expected", "unseen", "tells"),
    [
        (None, ["where warps wait"], True),
        (None, [], False),
        (5.0, [UNCOUNTED], True),
        (5.0, [], False),
        (20.0, [UNCOUNTED], False),
    ],
)
def test_a_headline_says_whether_it_tells_how_to_record_more(expected, unseen, tells):
    """Where a cause saves a tenth of the time, its change comes first."""
    run = replace(MADE_RUN, manifest=SimpleNamespace(kernel=None, program="", kernels=[]))
    profile = replace(evidence_of("LDG.E R4, [R2.64]").profile, run=run)
    causes = [cause_of(saves=expected)] if expected else []
    said = headline_of(profile, Diagnosis(causes, unseen), 1)
    assert said.tells_how_to_record == tells
    assert (record_it_text() in said.next) == tells


def causes_saving(**each):
    return [cause_of(name.replace("_", "-"), saves, line=83) for name, saves in each.items()]


@pytest.mark.parametrize(("right_first", "is_said"), [(49, True), (50, False)])
def test_where_most_such_answers_were_wrong_the_headline_names_the_next_cause(right_first, is_said):
    causes = causes_saving(loads_not_overlapped=21.0, too_little_reuse=25.0)
    sureness = Sureness(100, right_first, 90, True, 9.0)
    said = "Unsure: most authors of such kernels changed something else first; look at too-little-reuse at kernel.cu:83 (25 %) as well."
    assert unsure_text(causes, sureness) == (said if is_said else "")
    headline = with_next(explained("It takes 1 ms.", causes), causes, sureness=sureness)
    assert headline.next.endswith(said) == is_said


def test_nothing_more_is_said_of_an_unsure_answer_that_is_not_known_to_be_or_says_so_itself():
    unsure = Sureness(100, 0, 90, True, 9.0)
    two = causes_saving(loads_not_overlapped=21.0, too_little_reuse=25.0)
    assert unsure_text(two, unsure)
    assert unsure_text(two, None) == ""  # where it is not known how many were right
    assert unsure_text(two[:1], unsure) == ""  # where no other cause is known
    weak = causes_saving(loads_not_overlapped=9.0, too_little_reuse=9.0)
    assert "No cause alone would save 10 %" in why_text(weak)
    assert unsure_text(weak, unsure) == ""
    hiding = [two[0], cause_of("too-little-reuse", 25.0, together=60.0, line=83)]
    assert "With too-little-reuse at kernel.cu:83 removed as well" in next_text(hiding)
    assert unsure_text(hiding, unsure) == ""
    at_ceiling = [cause_of("at-l2-bandwidth", 0.0), two[1]]
    assert unsure_text(at_ceiling, unsure) == ""


@pytest.mark.parametrize(
    ("sees", "is_said"),
    [(["resources", "instructions", "accesses", "waits"], True), (["resources", "instructions"], False)],
)
def test_the_headlines_of_a_recording_and_of_a_comparison_say_that_they_are_unsure(recorded, sees, is_said):
    """Of 14 kernels of which loads that wait were said to cost so much, the next version changed these in 4."""
    before, after = profiles_in(recorded, "5", "6")
    diagnosis = Diagnosis(causes_saving(loads_not_overlapped=21.0, too_little_reuse=25.0), [], sees=sees)
    shown = headline_of(after, diagnosis, 1)
    compared = compare_profiles(before, after, diagnose=lambda _: diagnosis).headline
    assert [("Unsure: " in one.next) for one in (shown, compared)] == [is_said, is_said]
