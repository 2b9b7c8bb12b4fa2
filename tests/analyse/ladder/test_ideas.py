"""For each idea: the step that was claimed, the step measured here, and whether the claim holds."""

from dataclasses import replace

import pytest

from profiler.analyse.ladder.ideas import derive_ideas, find_published_step, judge_story
from profiler.ask.ladder import find_climb
from profiler.catalog.ladders.ladder import Published
from tests.profiles import around


def published(gpu="NVIDIA A100", **figures):
    return Published(gpu, **figures)


@pytest.fixture
def kernels(made_ladder):
    """Two neighbours with these figures published of each."""

    def make(before, after):
        return [
            replace(made_ladder.kernel(number), published=tuple(figures))
            for number, figures in ((1, before), (2, after))
        ]

    return make


# What is claimed


@pytest.mark.parametrize(
    ("before", "after", "ratio", "figure"),
    [
        ({"gbytes_per_s": 1420.0}, {"gbytes_per_s": 1870.0}, 1870 / 1420, "gbytes_per_s"),
        ({"time_us": 288.0}, {"time_us": 218.0}, 288 / 218, "time_us"),
        ({"reference_pct": 50.0}, {"reference_pct": 75.0}, 1.5, "reference_pct"),
        ({"gflops": 300.0, "reference_pct": 1.0}, {"gflops": 600.0, "reference_pct": 3.0}, 2.0, "gflops"),
        ({"gbytes_per_s": 1420.0, "time_us": 10.0}, {"time_us": 8.0}, 1.25, "time_us"),
    ],
)
def test_a_published_step_is_the_ratio_of_the_first_figure_of_both(kernels, before, after, ratio, figure):
    step = find_published_step(*kernels([published(**before)], [published(**after)]))
    assert step.ratio == pytest.approx(ratio)
    assert (step.figure, step.gpu) == (figure, "NVIDIA A100")


def test_figures_of_different_gpus_or_of_different_kinds_make_no_step(kernels):
    a100, rtx = published(gbytes_per_s=1000.0), published("NVIDIA RTX 3050", gbytes_per_s=150.0)
    assert find_published_step(*kernels([a100], [rtx])) is None
    assert find_published_step(*kernels([a100], [published(time_us=8.0)])) is None
    assert find_published_step(*kernels([a100], [])) is None
    assert find_published_step(*kernels([a100, rtx], [rtx])).gpu == "NVIDIA RTX 3050"


# Whether it holds


@pytest.mark.parametrize(
    ("claim", "verdict", "story"),
    [
        ("faster", "better", "holds"),
        ("faster", "same", "does not hold"),
        ("faster", "worse", "does not hold"),
        ("same", "same", "holds"),
        ("same", "worse", "holds"),
        ("same", "better", "does not hold"),
        ("slower", "worse", "holds"),
        ("slower", "same", "does not hold"),
        ("slower", "better", "does not hold"),
        ("faster", "unclear", "unclear"),
        ("slower", None, "unclear"),
        (None, "better", "not published"),
        (None, None, "not published"),
    ],
)
def test_a_claim_holds_where_the_step_goes_its_way_and_none_of_gain_if_there_is_none(claim, verdict, story):
    assert judge_story(claim, verdict) == story


@pytest.mark.parametrize(
    ("ratio", "claimed", "story"),
    [
        (1.42, 1.42, "holds"),
        (1.30, 1.42, "holds"),
        (1.06, 1.46, "direction only"),
        (2.33, 1.53, "direction only"),
        (None, 1.46, "holds"),
        (1.06, None, "holds"),
    ],
)
def test_a_claimed_ratio_holds_within_a_tenth_of_it(ratio, claimed, story):
    assert judge_story("faster", "better", ratio, claimed) == story


def test_no_ratio_makes_a_claim_hold_that_goes_the_other_way():
    assert judge_story("faster", "worse", 0.99, 1.01) == "does not hold"
    assert judge_story("same", "worse", 0.5, 1.0) == "holds"


# From a ladder and its runs


@pytest.fixture
def ideas_of(made, made_ladder):
    """The ideas of rungs that took so long, with what the ladder says of them by number."""

    def derive(durations_ns, said):
        for number, duration_ns in durations_ns.items():
            made.time("made", number, *around(duration_ns))
        kernels = tuple(replace(one, **said.get(one.number, {})) for one in made_ladder.kernels)
        finding = derive_ideas(find_climb(made.store, replace(made_ladder, kernels=kernels)))
        return {one.kernel: one for one in finding.ideas}

    return derive


def test_a_published_gain_that_is_another_here_holds_in_direction_only(ideas_of):
    said = {1: {"published": (published(time_us=142.0),)}, 2: {"published": (published(time_us=108.0),)}}
    one = ideas_of({1: 100.0, 2: 97.0}, said)[2]
    assert one.published.ratio == pytest.approx(142 / 108)
    assert (one.before, one.claim, one.verdict, one.story) == (1, "faster", "better", "direction only")
    assert one.speedup.ratio == pytest.approx(100 / 97)


@pytest.mark.parametrize(("time_us", "claim"), [(100.4, "same"), (99.6, "same"), (102.0, "slower")])
def test_a_published_difference_of_less_than_a_percent_is_none(ideas_of, time_us, claim):
    story = "holds" if claim == "same" else "does not hold"
    said = {1: {"published": (published(time_us=100.0),)}, 2: {"published": (published(time_us=time_us),)}}
    one = ideas_of({1: 100.0, 2: 100.0}, said)[2]
    assert (one.claim, one.verdict, one.story) == (claim, "same", story)


def test_the_claim_is_what_the_ladder_expects_and_the_published_ratio_stands_beside_it(ideas_of):
    figures = ({"published": (published(gbytes_per_s=rate),)} for rate in (178.0, 180.0))
    before, after = figures
    one = ideas_of({1: 100.0, 2: 80.0}, {1: before, 2: {**after, "expects": "same"}})[2]
    assert (one.claim, one.story) == ("same", "does not hold")
    assert one.published.ratio == pytest.approx(180 / 178)


def test_an_expectation_applies_only_to_the_step_from_the_rung_right_before(ideas_of):
    """Rung 2 has no runs: of the step from 1 to 3 nothing was claimed."""
    said = {3: {"expects": "slower"}}
    assert ideas_of({1: 100.0, 3: 90.0}, said)[3].story == "not published"
    assert ideas_of({2: 90.0}, said)[3].claim == "slower"


def test_an_idea_may_be_added_to_another_rung_than_the_one_before(ideas_of):
    """Rung 2 made rung 1 slower, and rung 3 is a change of rung 1: as fast, where nothing else was claimed."""
    one = ideas_of({1: 100.0, 2: 150.0, 3: 100.0}, {3: {"against": 1, "expects": "same"}})[3]
    assert (one.before, one.verdict, one.story) == (1, "same", "holds")
    assert one.speedup.ratio == pytest.approx(1.0)


def test_without_runs_of_a_rung_its_idea_has_no_result(ideas_of):
    assert ideas_of({2: 150.0, 3: 100.0}, {3: {"against": 1, "expects": "same"}}) == {}


def test_steps_whose_recordings_do_not_compare_are_unclear_and_say_why(made, made_ladder):
    made.profile("made-1", *around(1e5))
    made.profile("made-2", *around(5e4), clock_control="base")
    kernels = tuple(replace(one, expects="faster") for one in made_ladder.kernels)
    (one,) = derive_ideas(find_climb(made.store, replace(made_ladder, kernels=kernels))).ideas
    assert (one.speedup, one.verdict, one.story) == (None, None, "unclear")
    assert one.refused == ["clock control differs: none against base"]


def test_the_profiled_time_of_one_kernel_of_several_is_not_the_time_of_the_step(made, made_ladder):
    """Rung 1 runs two kernels and one was profiled; rung 2, never timed, is twice as fast as the two."""
    made.profile("made-1", *around(5e4), timings=around(1e5), workload={"m": 4096})
    made.profile("made-2", *around(5e4), workload={"m": 4096})
    (one,) = derive_ideas(find_climb(made.store, made_ladder)).ideas
    assert one.speedup is None
    assert one.reason == "counters of one kernel alone, where made-1 runs several"


def test_the_reason_is_what_the_counters_read(made, made_ladder):
    for number, executed in ((1, 4e6), (2, 1e6)):
        counters = {"dram_throughput_pct": 92.0, "inst_executed": executed}
        made.profile(f"made-{number}", *around(1e5), counters=counters)
    (one,) = derive_ideas(find_climb(made.store, made_ladder)).ideas
    assert one.reason == "at-memory-bandwidth before and after; 4.00x fewer instructions"


def test_the_published_story_of_the_recorded_ladder_holds(recorded):
    from profiler.catalog.ladders.ladder import find_ladder
    from profiler.catalog.ladders.ladder_file import read_ladder

    climb = find_climb(recorded, read_ladder(find_ladder("gemm", recorded.root)))
    ideas = {one.kernel: one for one in derive_ideas(climb).ideas}
    direction, holds = "direction only", "holds"
    stories = [direction, holds, direction, holds, holds, holds, holds]
    assert [ideas[number].story for number in range(2, 9)] == stories
    assert ideas[9].story == "not published"
    assert all(one.reason for one in ideas.values())
