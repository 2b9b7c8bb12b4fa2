"""Verdicts say what the values of metrics allow to say, alone and among many, and no more."""

import pytest
from hypothesis import given, strategies as st

from profiler.analyse.findings import REASONS
from profiler.analyse.recording.profile import Series
from profiler.analyse.statistics.differences import Readings
from profiler.analyse.statistics.verdicts import judge, judge_metrics
from profiler.catalog.metrics import BY_NAME, CATALOGUE, HEADLINE

DURATION = BY_NAME["duration_ns"]  # lower is better
DIVERGENCE = BY_NAME["threads_per_inst"]  # higher is better
UTILISATION = BY_NAME["issue_active_pct"]  # no better direction
FIXED = BY_NAME["registers"]
COUNTED = BY_NAME["inst_executed"]
SECTORS = BY_NAME["l2_sectors"]
SHARED_LOADS = BY_NAME["shared_load_wavefronts"]  # lower is better, of a kernel that uses shared memory
OPPOSITE = {"better": "worse", "worse": "better"}
DIFFERENT = ("better", "worse", "changed")

metrics = st.sampled_from(CATALOGUE)


@st.composite
def readings(draw):
    values = draw(st.lists(st.floats(-1e12, 1e12, allow_subnormal=False), min_size=1, max_size=8))
    processes = st.lists(st.integers(0, 2), min_size=len(values), max_size=len(values))
    return Readings(values, draw(processes))


ALONE = [
    (DURATION, [100, 101, 99], [80, 81, 79], "better", ""),
    (DURATION, [80, 81, 79], [100, 101, 99], "worse", ""),
    (DIVERGENCE, [16, 16.1], [32, 31.9], "better", ""),
    (UTILISATION, [50, 50.2, 49.9], [60, 60.3, 59.8], "changed", ""),
    (DURATION, [100, 101, 99], [99, 100, 101], "same", "identical"),
    (DURATION, [100], [50], "unclear", "too_few_launches"),
    (DURATION, [1e6], [1.07e6], "unclear", "too_few_launches"),
    (DURATION, [1e6], [1.08e6], "unclear", "beyond_launches"),  # no verdict, but hardly noise
    (COUNTED, [1e6], [1.013e6], "unclear", "too_few_launches"),
    (
        COUNTED,
        [1e6],
        [1.015e6],
        "unclear",
        "beyond_launches",
    ),  # launches of one build execute the same instructions
    (
        SECTORS,
        [1e6],
        [5e6],
        "unclear",
        "too_few_launches",
    ),  # how far they lie apart depends on what the L2 held
    (
        UTILISATION,
        [50],
        [90],
        "unclear",
        "too_few_launches",
    ),  # of launches so short that this may be their start
    (DURATION, [100, 101, 99], [50], "unclear", "too_few_launches"),
    (DURATION, [100, 140, 60], [110, 60, 150], "unclear", "interval_spans_zero"),
    (DURATION, [1000, 1001, 999, 1000], [1000.5, 1001, 999, 1000.2], "same", "within_effect_size"),
    (DURATION, [1000, 1000.1, 999.9], [1005, 1005.1, 1004.9], "same", "below_effect_size"),
    (UTILISATION, [0.01, 0.011, 0.012], [0.05, 0.051, 0.052], "same", "below_effect_size"),
    (DURATION, [4000, 4000], [4064, 4064], "unclear", "too_few_launches"),  # two ticks of a timer
    (DURATION, [4000] * 5, [4064] * 5, "worse", ""),
    (COUNTED, [4000, 4000], [4064, 4064], "worse", ""),
    (COUNTED, [4000, 4000], [4004, 4004], "same", "below_effect_size"),  # exactly so, and 0.1 %
    (COUNTED, [4000], [4040], "unclear", "too_few_launches"),
    (FIXED, [64], [128], "changed", ""),
    (FIXED, [64, 64], [64], "same", "identical"),
    (SHARED_LOADS, [2000, 2000], [1000, 1000], "better", ""),
    (SHARED_LOADS, [0, 0], [1000, 1000], "changed", ""),  # a use of what was not used before
    (SHARED_LOADS, [1000, 1000], [0, 0], "changed", ""),
]


@pytest.mark.parametrize(("metric", "before", "after", "verdict", "reason"), ALONE)
def test_each_verdict_and_its_reason(metric, before, after, verdict, reason):
    assert judge(metric, Readings(before), Readings(after))[1:3] == (verdict, reason)


@pytest.mark.parametrize(
    ("duration_ns", "after", "reason"),
    [
        (8_000.0, 53.9, "too_few_launches"),
        (8_000.0, 54.1, "beyond_launches"),
        (6_000.0, 90.0, "too_few_launches"),  # the time that a launch takes to start may make the difference
    ],
)
def test_a_rate_of_single_launches_is_judged_where_they_are_as_long_as_usual(duration_ns, after, reason):
    found = judge_metrics(
        [
            (Series(metric, "", Readings([one])), Series(metric, "", Readings([other])))
            for metric, one, other in ((DURATION, duration_ns, 9_000.0), (UTILISATION, 50.0, after))
        ],
        (),
    )
    assert found[1].reason == reason


def test_the_table_above_reaches_every_verdict_and_every_reason_of_one_metric_alone():
    """One reason needs many metrics, and one a limit, which a check has."""
    assert {case[3] for case in ALONE} == {"better", "worse", "same", "unclear", "changed"}
    assert {case[4] for case in ALONE} == set(REASONS) - {"among_many", "interval_spans_limit"}


def test_launches_that_agree_within_each_process_do_not_make_processes_agree():
    """As fifteen launches, a clear difference; as three processes, noise."""
    before, after = [100.0, 100.1, 104.0, 104.1, 108.0, 108.1], [105.0, 105.1, 109.0, 109.1, 113.0, 113.1]
    processes = [0, 0, 1, 1, 2, 2]
    assert judge(DURATION, Readings(before), Readings(after)).verdict == "worse"
    apart = judge(DURATION, Readings(before, processes), Readings(after, processes))
    assert (apart.verdict, apart.reason) == ("unclear", "interval_spans_zero")


def test_a_property_of_the_binary_is_decided_by_one_launch_a_side():
    interval, verdict, _, p_value = judge(FIXED, Readings([64]), Readings([128]))
    assert (interval, verdict, p_value) == ((64, 64), "changed", None)


@pytest.mark.parametrize("metric", [FIXED, BY_NAME["local_spill_inst"], DURATION])
def test_equal_values_are_the_same_however_many_launches_each_side_has(metric):
    assert judge(metric, Readings([0, 0, 0]), Readings([0]))[1:3] == ("same", "identical")


def test_a_property_that_varies_between_launches_is_judged_like_any_other():
    assert judge(FIXED, Readings([64, 32]), Readings([128]))[1:3] == ("unclear", "too_few_launches")


@given(metric=metrics, before=readings(), after=readings())
def test_swapping_the_sides_inverts_the_interval_and_the_verdict_and_nothing_else(metric, before, after):
    forth, back = judge(metric, before, after), judge(metric, after, before)
    assert back.verdict == OPPOSITE.get(forth.verdict, forth.verdict)
    assert (back.reason, back.p_value) == (forth.reason, forth.p_value)
    assert (forth.interval is None) == (back.interval is None)
    if forth.interval:
        assert (back.interval.low, back.interval.high) == (-forth.interval.high, -forth.interval.low)


@given(metric=metrics, sample=readings())
def test_anything_against_itself_is_the_same(metric, sample):
    reverse = Readings(reversed(sample), reversed(sample.processes))
    assert judge(metric, sample, reverse)[1:3] == ("same", "identical")


@pytest.mark.parametrize(
    ("after", "processes"),
    [([60.0, 140.0, 100.0, 100.0], [0] * 4), ([90.0, 110.0, 100.0, 100.0], [0, 1, 1, 1])],
)
def test_equal_means_or_equal_values_of_other_processes_are_not_identical(after, processes):
    before = Readings([90.0, 110.0, 100.0, 100.0])
    assert judge(DURATION, before, Readings(after, processes)).reason != "identical"


@pytest.mark.parametrize(("before", "verdict"), [(1.01e3, "worse"), (0.99e3, "changed")])
def test_a_thousandth_of_the_use_of_the_other_side_is_no_use(before, verdict):
    """A kernel without shared memory has a pass for each warp all the same."""
    assert judge(BY_NAME["shared_wavefronts"], Readings([before] * 2), Readings([1e6] * 2)).verdict == verdict


def test_what_costs_time_is_worse_also_from_nothing():
    for name in ("stall_barrier", "shared_load_conflicts", "local_spill_inst"):
        assert judge(BY_NAME[name], Readings([0.0] * 5), Readings([10.0] * 5)).verdict == "worse", name


@given(before=readings(), after=readings())
def test_a_utilisation_is_never_called_better(before, after):
    for metric in CATALOGUE:
        if metric.unit == "%" and not metric.fixed:
            assert judge(metric, before, after).verdict not in ("better", "worse")


# Among many


def test_a_change_is_unclear_when_many_metrics_were_compared_and_the_others_did_not_change():
    verdicts = judged({"stall_wait": A_CHANGE_OF_P_2_PCT, **dict.fromkeys(OTHERS, NO_CHANGE)})
    assert verdicts["stall_wait"] == ("unclear", "among_many")


def test_among_many_that_changed_too_it_is_as_sure_as_alone():
    verdicts = judged(dict.fromkeys(["stall_wait", *OTHERS], A_CHANGE_OF_P_2_PCT))
    assert {verdict for verdict, _ in verdicts.values()} <= set(DIFFERENT)


def test_the_duration_is_not_drowned_by_any_number_of_other_metrics():
    silent = dict.fromkeys([*HEADLINE[1:], *OTHERS], NO_CHANGE)
    assert judged({"duration_ns": A_CHANGE_OF_P_2_PCT, **silent})["duration_ns"] == ("worse", "")


def test_neither_is_the_headline_by_what_was_not_asked_for():
    changed = dict.fromkeys(HEADLINE[1:], A_CHANGE_OF_P_2_PCT)
    verdicts = judged({**changed, **dict.fromkeys(OTHERS, NO_CHANGE)})
    assert {verdicts[name][0] for name in changed} <= set(DIFFERENT)


def test_a_metric_that_was_asked_for_is_judged_with_the_headline_metrics():
    recorded = {"stall_wait": A_CHANGE_OF_P_2_PCT, **dict.fromkeys(OTHERS, NO_CHANGE)}
    assert judged(recorded, wanted=["stall_wait"])["stall_wait"] == ("worse", "")


def test_exact_changes_do_not_make_an_uncertain_change_significant():
    """Counts that differ exactly were not found by chance: they excuse no false discovery."""
    exact = {name: ([1000] * 5, [2000] * 5) for name in OTHERS[:20]}
    noise = dict.fromkeys(OTHERS[20:], NO_CHANGE)
    verdicts = judged({"stall_wait": A_CHANGE_OF_P_2_PCT, **exact, **noise})
    assert verdicts["stall_wait"] == ("unclear", "among_many")
    assert {verdicts[name][0] for name in exact} <= set(DIFFERENT)


def test_the_interval_shown_is_that_of_the_metric_alone():
    pairs = pairs_of({"stall_wait": A_CHANGE_OF_P_2_PCT, **dict.fromkeys(OTHERS, NO_CHANGE)})
    first, *_ = judge_metrics(pairs, ())
    assert first.verdict == "unclear"
    assert first.ci == judge(*[pairs[0][0].metric, *(side.values for side in pairs[0])]).interval
    assert first.ci[0] > 0


OTHERS = [metric.name for metric in CATALOGUE if metric.name not in ("stall_wait", *HEADLINE)]
A_CHANGE_OF_P_2_PCT = ([100.0, 101.0, 102.0], [104.0, 105.0, 105.8])
NO_CHANGE = ([100.0, 103.0, 97.0], [101.0, 96.0, 104.0])


def pairs_of(recorded):
    """Series under the names given, each with the values before and after."""
    return [
        tuple(Series(BY_NAME[name], name, Readings(values)) for values in sides)
        for name, sides in recorded.items()
    ]


def judged(recorded, wanted=()):
    return {delta.name: (delta.verdict, delta.reason) for delta in judge_metrics(pairs_of(recorded), wanted)}


def test_the_change_used_above_is_sure_alone_and_not_very_sure():
    assert 0.01 < judge(DURATION, *map(Readings, A_CHANGE_OF_P_2_PCT)).p_value < 0.03


@given(samples=st.lists(st.tuples(readings(), readings()), min_size=1, max_size=len(CATALOGUE)))
def test_asking_about_more_metrics_at_once_never_makes_a_verdict_bolder(samples):
    pairs = [
        (Series(metric, metric.name, before), Series(metric, metric.name, after))
        for metric, (before, after) in zip(CATALOGUE, samples, strict=False)
    ]
    for (before, after), delta in zip(pairs, judge_metrics(pairs, ()), strict=True):
        alone = judge(before.metric, before.values, after.values)
        assert delta.ci == alone.interval
        is_part = before.metric.part_of and delta.verdict == "same"
        bolder = delta.verdict != alone.verdict and not is_part
        assert not bolder or (alone.verdict in DIFFERENT and delta.verdict == "unclear")


# Parts of a whole

LOADS, CONFLICTS = "shared_load_wavefronts", "shared_load_conflicts"


@pytest.mark.parametrize(
    ("wavefronts", "verdict"),
    [
        ((500e6, 500e6), "same"),  # 2,000 fewer are a trifle of 500 million
        ((500e6, 1e6), "better"),  # but not of a million, which is all that the other side has left
        ((1e6, 500e6), "better"),
        ((500e6, 0.0), "better"),
        (None, "better"),  # what is not recorded excuses nothing
    ],
)
def test_bank_conflicts_are_weighed_against_the_wavefronts_that_they_delay(wavefronts, verdict):
    recorded = {CONFLICTS: ([16e3, 16e3], [14e3, 14e3])}
    if wavefronts:
        recorded[LOADS] = tuple([count, count] for count in wavefronts)
    assert judged(recorded)[CONFLICTS][0] == verdict


def test_a_few_bytes_written_are_weighed_against_all_that_device_memory_moved():
    """A sum writes one number, and what it is told to have written is everybody's."""
    written = ([2.60e6, 2.61e6, 2.59e6], [2.36e6, 2.37e6, 2.35e6])
    assert judged({"dram_bytes_written": written})["dram_bytes_written"] == ("better", "")
    read = ([1e10, 1e10 + 1, 1e10 + 2], [1e10, 1e10 + 1, 1e10 + 3])
    both = judged({"dram_bytes_written": written, "dram_bytes_read": read})
    assert both["dram_bytes_written"] == ("same", "below_effect_size")


@given(metric=metrics, before=readings(), after=readings(), whole=st.floats(0, 1e15))
def test_a_whole_can_only_make_a_change_matter_less(metric, before, after, whole):
    alone, part = judge(metric, before, after), judge(metric, before, after, whole)
    assert (part.interval, part.p_value) == (alone.interval, alone.p_value)
    assert part.verdict in (alone.verdict, "same")
    if part.verdict in ("better", "worse", "changed") and not metric.fixed:
        assert abs(after.mean - before.mean) >= 0.001 * whole * (1 - 1e-9)


def test_a_whole_is_of_the_unit_of_its_parts_and_recorded_where_they_are():
    for metric in CATALOGUE:
        for name in metric.part_of:
            assert (BY_NAME[name].unit, BY_NAME[name].group) == (metric.unit, metric.group)
