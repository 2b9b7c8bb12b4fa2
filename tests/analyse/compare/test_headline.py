"""A comparison begins with one sentence of what changed, why, and what to do next."""

import re
from dataclasses import replace

import msgspec
import pytest
from msgspec import structs

from profiler.analyse.causes.cause import UNCOUNTED, CodePlace, Diagnosis
from profiler.analyse.compare.changed_causes import ChangedCauses, compare_causes
from profiler.analyse.compare.comparable import are_different_kernels
from profiler.analyse.compare.compare import compare_profiles
from profiler.analyse.compare.speedup_sentence import on_condition, ratio_sentence
from profiler.analyse.compare.why import limits_text, main_factors, why_of_pair
from profiler.analyse.findings import (
    Attribution,
    CauseChange,
    Comparability,
    ComparisonFinding,
    Factor,
    HotLoop,
    Instructions,
    LoadChange,
    LoopInstruction,
    MetricDelta,
    Side,
    Speedup,
)
from profiler.present.documents.comparison import comparison_document
from profiler.present.render.terminal import Window, document_text
from tests.made_causes import cause_of
from tests.profiles import profiles_in

TIMES = (4e6, 2e6)
NOT_DIAGNOSED = Diagnosis([], [])


@pytest.mark.parametrize(
    ("ratio", "interval", "said"),
    [
        (2.0, (1.9, 2.1), "b is 2.000x as fast as a (4.000 ms -> 2.000 ms under the profiler, ± 5.0 %)."),
        (0.5, (0.4, 0.6), "b takes 2.000x as long as a (0.5000x as fast; 4.000 ms -> 2.000 ms under the profiler, ± 20.0 %)."),
        (2.0, (1.99996, 2.00004), "b is 2.000x as fast as a (4.000 ms -> 2.000 ms under the profiler, ± < 0.01 %)."),
        (1.02, (0.99, 1.05), "Which of a and b is faster is not certain (4.000 ms -> 2.000 ms under the profiler)."),
        (1.001, (0.997, 1.005), "a and b take the same time, within 0.5 % (4.000 ms -> 2.000 ms under the profiler)."),
        (1.0, (1.0, 1.0), "a and b take the same time (4.000 ms -> 2.000 ms under the profiler)."),
    ],
)  # fmt: skip
def test_a_ratio_is_claimed_only_where_its_interval_leaves_one_side_faster(ratio, interval, said):
    assert ratio_sentence(("a", "b"), TIMES, Speedup(ratio, interval, "profiled")) == said


@pytest.mark.parametrize(
    ("times_ns", "is_beyond"),
    [
        ((4.00e6, 4.27e6), False),
        ((4.29e6, 4.00e6), True),
        ((2000.0, 2450.0), False),  # of short kernels, as many nanoseconds as of those of 7 us
        ((2000.0, 2550.0), True),
    ],
)
def test_single_launches_that_differ_by_more_than_launches_of_one_kernel_do_are_said_to(times_ns, is_beyond):
    said = ratio_sentence(("a", "b"), times_ns, Speedup(times_ns[0] / times_ns[1], None, "profiled"))
    apart = "7.1 %" if min(times_ns) >= 7000 else "497.0 ns"  # 7.1 % of 7 us
    hardly = ", so this is hardly noise." if is_beyond else ": this may be noise."
    assert said.endswith(f". Single launches of one kernel differ by up to {apart}{hardly}")
    assert ("in these launches" in said) != is_beyond


@pytest.mark.parametrize(("times_ns", "is_said"), [((4.00e6, 7.99e6), True), ((8.00e6, 4.00e6), False)])
def test_of_a_time_that_is_twice_as_long_nobody_is_told_that_it_is_no_noise(times_ns, is_said):
    said = ratio_sentence(("a", "b"), times_ns, Speedup(times_ns[0] / times_ns[1], None, "profiled"))
    assert ("noise" in said) == is_said


def test_how_far_launches_lie_apart_says_nothing_of_times_without_the_profiler():
    assert ratio_sentence(("a", "b"), TIMES, Speedup(2.0, None, "unprofiled")) == (
        "b is 2.000x as fast as a in these launches (4.000 ms -> 2.000 ms without the profiler), which are too few to decide it."
    )


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        (("/reports/a.ncu-rep", "b.ncu-rep"), "b is"),
        (("old/a.ncu-rep", "new/a.ncu-rep"), "new/a.ncu-rep is"),
        (("gemm 5", "gemm 5"), "gemm 5 is 2.000x as fast as before"),
        (("gemm 5", "/reports/b.ncu-rep"), "b is"),
    ],
)
def test_a_file_is_called_by_its_name_without_folders_unless_both_have_the_same(labels, said):
    assert ratio_sentence(labels, TIMES, Speedup(2.0, None, "unprofiled")).startswith(said)


def why(*factors):
    """The why of a pair whose second side is twice as fast, by these factors: name, ratio, share, before, after."""
    return said_of(2.0, ChangedCauses(), factors)


def test_the_factor_that_explains_most_is_a_main_one_though_no_sentence_has_words_for_it():
    cycles = Factor("mean_cycles", 0.25, 1.1, 1.0, 4.0, unit="cycle")
    clock = Factor("clock", 1.13, -0.1, 1.5, 1.7, unit="GHz")
    attribution = Attribution("cycles", "", {}, 0.28, [clock, cycles], 0.0)
    assert [one.name for one in main_factors(attribution)] == ["mean_cycles", "clock"]


def test_the_headline_names_the_largest_change_before_changes_against_it():
    work, pipe = ("tensor_work", 2.1, 1.1, 200.0, 100.0), ("tensor_pipe_pct", 0.95, -0.1, 92.0, 88.0)
    assert why(work, pipe) == (
        "The work of the tensor pipe takes 50 % fewer cycles, although the tensor pipe is 4 % less busy."
    )
    assert why(("mean_cycles", 2.0, 1.0, 200.0, 100.0)).startswith("No cause that prof knows"), (
        "cycles are the time itself"
    )
    assert why(("instructions", 2.5, 1.2, 5e6, 2e6), ("wait_per_issue", 0.1, -0.2, 1.0, 11.0)) == (
        "60 % fewer instructions run, although waits between instructions are 11 times as long."
    )


def test_a_value_that_is_several_times_what_it_was_is_told_in_times_and_not_in_percent():
    longer = ("wait_per_issue", 0.34, -1.0, 1.0, 2.9)
    assert why(("instructions", 9.0, 2.0, 9e6, 1e6), longer).endswith("are 190 % longer.")
    assert why(("bandwidth", 3.0, 1.0, 1e9, 3e9)) == "The bandwidth is 3 times as high."
    assert why(("warps_in_use", 2_500.0, 1.0, 1.0, 2_500.0)) == "2,500 times as many warps are in use."


def test_nearly_all_is_not_said_to_be_all():
    """Hardly any instruction is left; that is not the same as none."""
    assert why(("instructions", 450.0, 1.0, 5e6, 11_111.0)) == "99.7 % fewer instructions run."
    assert why(("instructions", 50_000.0, 1.0, 5e6, 100.0)) == "99.9 % fewer instructions run."
    assert why(("instructions", 167.0, 1.0, 5e6, 30_000.0)) == "99 % fewer instructions run."


def test_a_small_change_is_explained_by_factors_that_make_up_much_of_it():
    """Each is below 1 %, which says nothing of a large change."""
    small = [("bandwidth", 0.994, 0.5, 3464.0, 3442.0), ("useful_bytes", 0.994, 0.5, 1000.0, 1006.0)]
    said = said_of(0.988, ChangedCauses(), small, ci=(0.985, 0.991))
    assert said == "The bandwidth is 0.6 % lower and there is 0.6 % more data."
    assert said_of(0.9, ChangedCauses(), small, ci=(0.89, 0.91)).startswith("No cause that prof knows")


def diagnosed(duration_ns, **saves_pct):
    """A kernel of this duration, with the causes whose removal saves so many percent of it."""
    causes = [cause_of(name.replace("_", "-"), expected) for name, expected in saves_pct.items()]
    return Diagnosis(causes, [], duration_ns)


@pytest.mark.parametrize(
    ("before", "after", "less", "more"),
    [
        (diagnosed(100.0, barriers=30), diagnosed(80.0, barriers=10), [("barriers", 30, 10)], []),
        (diagnosed(100.0, barriers=10), diagnosed(120.0, barriers=30), [], [("barriers", 10, 30)]),
        (diagnosed(100.0, barriers=30), diagnosed(100.0, barriers=26), [], []),  # by less than matters
        (diagnosed(300.0, barriers=10), diagnosed(100.0, barriers=28), [], []),  # only the rest got faster
        (diagnosed(100.0, barriers=28), diagnosed(300.0, barriers=10), [], []),  # only the rest got slower
    ],
)
def test_a_cause_of_both_sides_shrank_or_grew_if_its_share_and_its_time_did(before, after, less, more):
    found = compare_causes(before, after)
    assert [(one.cause, one.before_pct, one.after_pct) for one in found.less] == less
    assert [(one.cause, one.before_pct, one.after_pct) for one in found.more] == more
    assert (found.gone, found.new) == ([], [])


@pytest.mark.parametrize(
    ("ratio", "said"),
    [
        (2.0, "narrow-accesses went away. barriers (20 % -> 8 %) shrank."),
        (0.5, "Although it is slower, narrow-accesses went away. barriers (20 % -> 8 %) shrank."),
    ],
)
def test_a_cause_that_went_away_explains_a_faster_side_and_is_only_mentioned_for_a_slower_one(ratio, said):
    narrow = cause_of("narrow-accesses")
    changed = ChangedCauses(gone=[narrow], less=[CauseChange("barriers", 20.0, 8.0)])
    assert said_of(ratio, changed) == said


def ceiling(busy, sees):
    """A kernel at the bandwidth of device memory, of which it uses so much."""
    cause = cause_of("at-memory-bandwidth", 0.0, limited_by="dram")
    return Diagnosis([cause], [], 100.0, sees=sees, busy={"dram": busy})


def test_a_cause_that_totals_suggest_has_not_gone_where_more_was_recorded():
    guessed = msgspec.structs.replace(diagnosed(100.0, barriers=30), sees=["resources"])
    counted = Diagnosis([], [], 100.0, sees=["resources", "instructions"])
    found = compare_causes(guessed, counted)
    assert (found.gone, [one.cause for one in found.undecided]) == ([], ["barriers"])


def test_a_cause_is_gone_only_if_the_other_recording_could_have_shown_it():
    full, half = ["resources", "instructions", "waits"], ["resources"]
    seen, blind = diagnosed(100.0, barriers=30), Diagnosis([], [], 100.0)
    seen, blind = msgspec.structs.replace(seen, sees=full), msgspec.structs.replace(blind, sees=half)
    found = compare_causes(seen, blind)
    assert (found.gone, [one.cause for one in found.undecided]) == ([], ["barriers"])
    found = compare_causes(blind, seen)
    assert (found.new, [one.cause for one in found.undecided]) == ([], ["barriers"])
    assert compare_causes(seen, msgspec.structs.replace(blind, sees=full)).gone == seen.causes
    assert "Whether barriers went or came is not known" in said_of(2.0, found)
    found = compare_causes(
        blind, msgspec.structs.replace(diagnosed(100.0, barriers=30, bank_conflicts=20), sees=full)
    )
    assert "Whether barriers and bank-conflicts went or came is not known" in said_of(2.0, found)


@pytest.mark.parametrize(("after", "gone"), [(0.89, 0), (0.5, 1)])
def test_a_resource_that_is_hardly_less_busy_has_not_left_its_ceiling(after, gone):
    below = Diagnosis([], [], 100.0, sees=["resources"], busy={"dram": after})
    found = compare_causes(ceiling(0.91, ["resources"]), below)
    assert (len(found.gone), found.undecided) == (gone, [])


def test_a_ceiling_of_what_the_other_side_did_not_record_is_undecided():
    lacking = Diagnosis([], [], 100.0, sees=["resources"], busy={"fma": 0.2})
    found = compare_causes(ceiling(0.91, ["resources"]), lacking)
    assert (found.gone, len(found.undecided)) == ([], 1)


def causes_named(*names):
    return [cause_of(name) for name in names]


@pytest.mark.parametrize(
    ("new", "said"),
    [
        (("at-fma-rate", "barriers"), "The kernel is at-fma-rate now."),
        (("barriers", "narrow-accesses"), "The kernel is limited by barriers and narrow-accesses now."),
    ],
)
def test_a_ceiling_that_was_reached_limits_nothing_but_is_what_the_kernel_is(new, said):
    causes = causes_named(*new)
    assert said in said_of(2.0, ChangedCauses(new=causes), causes=causes)


@pytest.mark.parametrize("ratio", [0.5, 2.0])
@pytest.mark.parametrize(
    ("gone", "new", "said"),
    [
        (["at-tensor-rate"], ["at-fma-rate"], "The kernel is at-fma-rate now, no longer at-tensor-rate."),
        ([], ["at-memory-bandwidth"], "The kernel is at-memory-bandwidth now."),
        (["at-memory-bandwidth"], [], "The kernel is no longer at-memory-bandwidth."),
    ],
)
def test_a_ceiling_that_was_left_or_reached_speaks_for_or_against_nothing(ratio, gone, new, said):
    changed = ChangedCauses(gone=causes_named(*gone), new=causes_named(*new))
    assert said_of(ratio, changed) == said


CEILING = "at-memory-bandwidth"


@pytest.mark.parametrize(
    ("ratio", "gone", "new", "said"),
    [
        (0.5, [CEILING, "barriers"], [], "Although it is slower, barriers went away. The kernel is no longer at-memory-bandwidth."),
        (2.0, [], [CEILING, "barriers"], "Although it is faster, barriers appeared. The kernel is at-memory-bandwidth now."),
        (2.0, [CEILING], ["barriers"], "The kernel is no longer at-memory-bandwidth. It is limited by barriers now."),
        # The ceiling limits the kernel now, but what came beside it has not gone unseen.
        (2.0, ["narrow-accesses"], [CEILING, "barriers"], "narrow-accesses went away. The kernel is at-memory-bandwidth now. Against that, barriers appeared."),
    ],
)  # fmt: skip
def test_nothing_is_held_against_a_ceiling_and_what_came_or_went_with_it_is_named(ratio, gone, new, said):
    new = causes_named(*new)
    assert said_of(ratio, ChangedCauses(gone=causes_named(*gone), new=new), causes=new) == said


def test_a_kernel_that_left_one_ceiling_for_another_is_explained_by_that_first():
    changed = ChangedCauses(gone=causes_named("at-tensor-rate"), new=causes_named("at-fma-rate", "barriers"))
    assert said_of(0.4, changed, [("instructions", 0.1, 1.0, 1.0, 8.5)]) == (
        "The kernel is at-fma-rate now, no longer at-tensor-rate. barriers appeared. 8.5 times as many instructions run."
    )


def test_a_rung_without_tensor_cores_is_not_told_that_it_lost_them_as_good_news(recorded):
    why = compare_profiles(*profiles_in(recorded, "13", "14")).headline.why
    assert why.startswith("The kernel is at-fma-rate now, no longer at-tensor-rate.")
    assert "Against that" not in why


def said_of(ratio, changed, factors=(), metrics=(), ci=None, causes=(), loop=None):
    """What is said of a pair with these changes, of which nothing else was recorded."""
    side = Side("", "", "", None, 0)
    found = ComparisonFinding(
        schema_version=1,
        before=side,
        after=side,
        comparable=Comparability(True, []),
        speedup=Speedup(ratio, ci, "profiled"),
        metrics=[*metrics],
        missing=[],
        confirmations=[],
        attribution=Attribution("cycles", "", {}, ratio, [Factor(*one, unit="") for one in factors], 0.0),
        instructions=Instructions([], loop),
        causes=[*causes],
    )
    return why_of_pair(found, changed)


def test_a_cause_that_follows_from_the_launch_says_nothing_while_the_launch_is_the_same():
    before, after = diagnosed(100.0, grid_too_small=20), diagnosed(150.0, grid_too_small=40)
    assert [one.cause for one in compare_causes(before, after).more] == ["grid-too-small"]
    found = compare_causes(before, after, {"grid-too-small"})
    assert (found.more, [one.cause for one in found.kept]) == ([], ["grid-too-small"])
    came = compare_causes(diagnosed(100.0), diagnosed(150.0, grid_too_small=40), {"grid-too-small"})
    assert "grid-too-small" not in said_of(0.67, came)


def loads(**counts):
    return [LoopInstruction(name.replace("_", "."), count) for name, count in counts.items()]


@pytest.mark.parametrize(
    ("before", "after", "fmas", "is_said"),
    [
        (loads(LDS=15.88), loads(LDS=16.0), None, False),
        (loads(LDS=20.0), loads(LDS=21.0), None, False),
        (loads(LDS=20.0), loads(LDS=21.2), None, True),
        (loads(LDS=8.0), loads(LDS_128=8.0), None, True),  # as many, of another width
        (loads(LDS=16.0), loads(LDS=16.0, LDS_128=0.1), None, False),
        ([], loads(LDS=16.0), None, True),
        (loads(LDS=2.0), loads(LDS=16.0), (8, 64), False),  # as many for each FMA
        (loads(LDS=2.0), loads(LDS=16.0), (1, 64), True),
    ],
)
def test_the_loads_of_the_hot_loop_changed_if_a_notable_part_of_them_did(before, after, fmas, is_said):
    change = LoadChange("shared", before, after, "so and so", fmas)
    said = said_of(0.5, ChangedCauses(), loop=HotLoop(before, after, changes=[change]))
    assert said.startswith("The loads of the hot loop changed (so and so).") == is_said


PASSES = MetricDelta("shared_wavefronts", "", "wavefront", 300.0, 2300.0, 2000.0, None, "unclear", "")


@pytest.mark.parametrize(
    ("ratio", "before", "after", "said"),
    [
        (0.7, 0.0, 2000.0, "Extra passes for bank conflicts rose from 0 to 2,000."),
        (1.4, 200.0, 0.0, "Extra passes for bank conflicts fell from 200 to 0."),
        (0.7, 0.0, 3.0, "No cause that prof knows went, came or changed by 5 % of the time."),
        (0.7, 1000.0, 1100.0, "No cause that prof knows went, came or changed by 5 % of the time."),
        (0.7, 1000.0, 2000.0, "Extra passes for bank conflicts rose from 1,000 to 2,000."),
        (1.4, 1000.0, 2000.0, "Although it is faster, extra passes for bank conflicts rose from 1,000 to 2,000."),
        (0.7, 0.0, 3.5e6, "Extra passes for bank conflicts rose from 0 to 3.500 million."),
        (0.7, 36_750.0, 3.5e6, "Extra passes for bank conflicts rose from 36,750 to 3.500 million."),
    ],
)  # fmt: skip
def test_bank_conflicts_that_came_or_went_are_a_reason_though_no_cause_is(ratio, before, after, said):
    conflicts = MetricDelta(
        "shared_conflicts", "", "wavefront", before, after, after - before, None, "unclear", ""
    )
    assert said_of(ratio, ChangedCauses(), metrics=[PASSES, conflicts]) == said


NARROW = cause_of("narrow-accesses")
CLOCK = ("clock", 0.95, -0.1, 1.5, 1.43)


def test_a_change_that_works_against_the_speedup_does_not_explain_it():
    assert "clock" not in said_of(2.0, ChangedCauses(), [CLOCK])
    said = said_of(2.0, ChangedCauses(gone=[NARROW]), [CLOCK])
    assert said == "narrow-accesses went away. Against that, the clock is 5 % slower."


@pytest.mark.parametrize(("share", "is_said"), [(-0.049, False), (-0.051, True)])
def test_what_is_a_trifle_beside_the_change_is_not_held_against_it(share, is_said):
    said = said_of(11.0, ChangedCauses(gone=[NARROW]), [("clock", 0.95, share, 1.5, 1.43)])
    assert ("clock" in said) == is_said


@pytest.fixture
def two_runs(make_profile):
    """The profiles of `run_0` and `run_1`, whose kernels have these names, times and opcodes."""

    def profiles(kernels, times_ns, opcodes=({}, {}), workload=None):
        for number, (kernel, ns, executed) in enumerate(zip(kernels, times_ns, opcodes, strict=True)):
            profile = make_profile({"kernel": kernel, "ns": ns}, name=f"run_{number}", workload=workload)
            yield replace(profile, opcodes=executed)

    return profiles


@pytest.mark.parametrize(
    ("kernels", "opcodes", "workload", "are_different"),
    [
        (("bfs_level", "lab_4k"), ({}, {}), None, True),
        (("bfs_level", "lab_4k"), ({}, {}), {"n": 4}, False),  # the same work, as recorded
        (("transpose_naive", "transpose_tiled"), ({}, {}), None, False),  # versions share a word
        (("naive", "tiled"), ({"FFMA": 100.0}, {"FFMA": 100.0}), None, False),  # as much arithmetic
        (("naive", "tiled"), ({"FFMA": 100.0}, {"FFMA": 900.0}), None, True),
        (("add<float>", "add<double>"), ({}, {}), None, False),
    ],
)
def test_the_first_sentence_says_if_two_kernels_differ(two_runs, kernels, opcodes, workload, are_different):
    said = compare_profiles(*two_runs(kernels, (1e6, 9e6), opcodes, workload)).headline
    different = "run_0 and run_1 are two different kernels, which take 1.000 ms and 9.000 ms"
    assert said.what.startswith(different) == are_different
    assert (" takes 9.000x as long as " in said.what) != are_different
    assert bool(said.why) != are_different  # neither explains the other
    assert ("`--force`" in said.next) == are_different


@pytest.mark.parametrize(
    ("kernels", "opcodes", "workload", "condition"),
    [
        (("flip_rows", "flip_columns"), ({}, {}), None, "If flip_rows and flip_columns are versions of one kernel, "),
        (("flip_rows", "flip_columns"), ({"FFMA": 100.0}, {"FFMA": 900.0}), None, "If flip_rows and flip_columns are versions of one kernel, "),
        (("flip_rows", "flip_columns"), ({"FFMA": 100.0}, {"FFMA": 100.0}), None, ""),  # as much arithmetic
        (("flip_rows", "flip_columns"), ({}, {}), {"n": 4}, ""),  # the same work, as recorded
        (("flip<float>", "flip<double>"), ({}, {}), None, ""),
        (("flip_rows_v1", "flip_rows_v3"), ({}, {}), None, ""),
        (("flip_rows", "flip_rows_tiled"), ({}, {}), None, ""),  # all words of the other
    ],
)  # fmt: skip
@pytest.mark.parametrize(("took_ns", "said"), [(9e6, "run_1 takes 9.000x as long as run_0"), (1e6, "run_0 and run_1 take the same time")])  # fmt: skip
def test_where_only_a_word_of_their_names_suggests_versions_the_first_sentence_says_if(
    two_runs, kernels, opcodes, workload, condition, took_ns, said
):
    sides = list(two_runs(kernels, (1e6, took_ns), opcodes, workload))
    assert compare_profiles(*sides).headline.what.startswith(condition + said)
    assert compare_profiles(*sides, does_same_work=True).headline.what.startswith(said)


def test_a_sentence_on_a_condition_goes_on_in_small_letters():
    undecided = ratio_sentence(("one", "other"), (1e6, 1.05e6), Speedup(0.95, (0.85, 1.05), "profiled"))
    assert on_condition("If so, ", undecided).startswith(
        "If so, which of one and other is faster is not certain"
    )
    assert on_condition("", undecided) == undecided


def test_of_two_different_kernels_the_answer_says_what_limits_each():
    spills, narrow = diagnosed(1e6, register_spills=40.0), diagnosed(1e6, narrow_accesses=20.0)
    said = limits_text(("bfs", "lab"), (spills, narrow))
    assert said == "bfs is limited by register-spills and lab is limited by narrow-accesses."
    assert limits_text(("bfs", "lab"), (NOT_DIAGNOSED, narrow)) == "lab is limited by narrow-accesses."
    assert limits_text(("bfs", "lab"), (NOT_DIAGNOSED, NOT_DIAGNOSED)) == ""


@pytest.mark.parametrize(
    ("saves_pct", "unseen", "said"),
    [
        (9.6, [], "lab is limited by narrow-accesses."),  # which is printed as 10 %
        (9.4, [], "lab has no cause that alone would save 10 % of its time."),
        (9.4, [UNCOUNTED], "lab has no cause, of those that can be looked for, that alone would save 10 % of its time."),
    ],
)  # fmt: skip
def test_a_kernel_is_not_said_to_be_limited_by_a_cause_that_would_save_little(saves_pct, unseen, said):
    found = structs.replace(diagnosed(1e6, narrow_accesses=saves_pct), unseen=unseen)
    assert limits_text(("bfs", "lab"), (NOT_DIAGNOSED, found)) == said


@pytest.fixture
def two_kernels(two_runs):
    """Kernels of different names and different work."""
    return list(two_runs(("bfs_level", "lab_4k"), (1e6, 9e6)))


def test_of_two_different_kernels_each_has_its_causes_and_none_went_or_came(two_kernels):
    causes = {"bfs_level": {"register_spills": 40.0}, "lab_4k": {"narrow_accesses": 20.0}}
    found = compare_profiles(*two_kernels, diagnose=lambda one: diagnosed(1e6, **causes[one.kernel]))
    assert found.different_kernels
    assert {one.verdict for one in found.metrics} <= {"changed", "same", "unclear"}  # neither is better
    assert [one.cause for one in found.causes_before] == ["register-spills"]
    assert [one.cause for one in found.causes] == ["narrow-accesses"]
    assert found.causes_gone == found.causes_new == found.causes_undecided == found.causes_unmoved == []
    lines = document_text(comparison_document(found), Window(width=100)).splitlines()
    assert "run_0    40 %  register-spills" in lines
    assert "run_1    20 %  narrow-accesses" in lines
    assert not [line for line in lines if line.startswith(("gone", "new", "unknown")) or "Try:" in line]
    in_full = document_text(comparison_document(found, full=True), Window(width=100))
    assert "before    40 %  register-spills" in in_full.splitlines()
    assert in_full.count("Try:") == 2
    assert "what causes the time of the first kernel" in in_full


def test_a_kernel_of_several_is_called_alike_above_its_table_and_in_it(two_kernels, make_profile):
    launches = [{"kernel": name, "ns": 1e6} for name in ("bfs_level", "k")]
    one_of_two = make_profile(*launches, name="two", workload=None)
    found = compare_profiles(one_of_two, two_kernels[1])
    called = ("bfs_level of two", "run_1")
    assert (found.before.called, found.after.called) == called
    assert found.headline.what.startswith(f"{called[0]} and {called[1]} are two different kernels")
    lines = document_text(comparison_document(found), Window(width=100)).splitlines()
    (head,) = [line for line in lines if line.startswith("metric ")]
    assert re.split(r"  +", head.strip()) == ["metric", "unit", *called]


def test_two_kernels_that_are_known_to_do_the_same_work_explain_each_other(two_kernels):
    causes = {"bfs_level": {}, "lab_4k": {"narrow_accesses": 20.0}}
    found = compare_profiles(
        *two_kernels, diagnose=lambda one: diagnosed(1e6, **causes[one.kernel]), does_same_work=True
    )
    assert (found.different_kernels, found.causes_before, found.causes_new) == (False, [], ["narrow-accesses"])  # fmt: skip
    assert "two different kernels" not in found.headline.what
    assert found.headline.why == "narrow-accesses appeared."


def test_code_of_cupy_that_the_first_sentence_names_is_explained(two_kernels):
    place = CodePlace("LDG", 0x0, 100.0, "<CuPy source>", 45)
    spills = structs.replace(diagnosed(1e6, register_spills=40.0).causes[0], where=[place], where_is="line")
    of_each = {"bfs_level": Diagnosis([spills], []), "lab_4k": Diagnosis([], [])}
    found = compare_profiles(*two_kernels, diagnose=lambda one: of_each[one.kernel])
    assert "register-spills (<CuPy source>:45)" in found.headline.what
    text = document_text(comparison_document(found), Window(width=100))
    assert "<CuPy source>: code that CuPy compiled" in text


@pytest.mark.parametrize(
    ("more", "are_different"),
    [
        ("HFMA2.MMA R9, -RZ, RZ, 14.1875, -0.0015869140625", False),  # moves a constant of 32 bits
        ("HFMA2.MMA R9, R4, R5, R9", True),
    ],
)
def test_constants_that_are_moved_as_halves_make_no_two_kernels_different(make_profile, more, are_different):
    sums = [("HADD2 R1, R2, R3", 5)]
    sides = [
        make_profile({"kernel": kernel, "instructions": code}, workload=None)
        for kernel, code in (("naive", sums), ("tiled", [*sums, (more, 5)]))
    ]
    assert are_different_kernels(*sides) == are_different


def test_a_cause_that_grew_is_named_after_the_cause_that_made_the_side_faster():
    grew = CauseChange("barriers", 6.0, 13.0)
    said = said_of(2.0, ChangedCauses(gone=[NARROW], more=[grew]))
    assert said == "narrow-accesses went away. Against that, barriers (6 % -> 13 %) grew."
    said = said_of(0.5, ChangedCauses(gone=[NARROW], more=[grew]))
    assert said == "barriers (6 % -> 13 %) grew. Against that, narrow-accesses went away."


def test_equal_times_are_not_explained_but_changed_causes_are_still_named():
    same = said_of(1.0, ChangedCauses(), [CLOCK], ci=(1.0, 1.0))
    assert same == "There is nothing to explain: the times are as good as the same."
    said = said_of(0.999, ChangedCauses(gone=[NARROW]), [CLOCK], ci=(0.99, 1.01))
    assert said == f"{same} Even so, narrow-accesses went away."


def test_a_cause_without_counters_is_neither_gone_nor_new_nor_unchanged():
    seen, unseen = diagnosed(100.0, barriers=30), Diagnosis([], [], 100.0, can_look=False)
    for sides in ((seen, unseen), (unseen, seen), (unseen, unseen)):
        changed = compare_causes(*sides)
        assert (changed.gone, changed.new) == ([], [])
        said = "Which causes went or came is not known: one side, or both, lack the counters for it."
        assert said_of(2.0, changed) == said


def test_two_sides_that_no_compiler_optimised_are_not_said_to_have_the_same_causes():
    found = compare_causes(diagnosed(100.0, unoptimised_code=20), diagnosed(80.0, unoptimised_code=21))
    assert (
        said_of(1.25, found)
        == "The compiler optimised neither side, and of such code prof names no other cause."
    )
