"""A diagnosis from counters alone, without instructions, as `ncu` records them by default."""

import csv
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from profiler.analyse.causes.diagnose import diagnose
from profiler.analyse.causes.evidence.evidence import gather
from profiler.analyse.causes.evidence.latency import Effect
from profiler.analyse.causes.evidence.time_model import AtWork
from profiler.analyse.causes.headline import NOTHING_FOUND, NOTHING_RECORDED, headline_of
from profiler.catalog.metrics import CATALOGUE

COUNTERS = Path(__file__).parents[2] / "data" / "counters"
TABLES = {
    path.stem: {row["kernel"]: row for row in csv.DictReader(path.read_text().splitlines())}
    for path in sorted(COUNTERS.glob("*.csv"))
}
RECORDED = [(table, kernel) for table, kernels in TABLES.items() for kernel in kernels]


def counters_of(table, kernel):
    """The recorded means."""
    row = TABLES[table][kernel]
    return {name: float(value) for name, value in row.items() if name != "kernel" and value}


@pytest.fixture
def diagnosis_of(make_profile):
    return lambda counters: diagnose(make_profile({"metrics": counters}))


@pytest.fixture
def headline_with(make_profile):
    """The headline of a kernel of which this was counted, and that it takes a millisecond."""

    def headline(figures):
        profile = make_profile({"ns": 1e6, "metrics": figures})
        return headline_of(profile, diagnose(profile), 1)

    return headline


def causes_in(diagnosis):
    return [cause.cause for cause in diagnosis.causes]


@pytest.mark.parametrize(
    ("table", "kernel", "cause"),
    [
        ("bound", "hbm", "at-memory-bandwidth"),
        ("bound", "fma", "at-fma-rate"),
        ("bound", "tail", "uneven-last-wave"),
        ("bound", "brief", "launch-too-short"),
        ("frameworks", "gelu", "at-memory-bandwidth"),
        ("frameworks", "sum", "at-memory-bandwidth"),
        ("frameworks", "mm", "at-tensor-rate"),
        ("frameworks", "softmax16", "at-memory-bandwidth"),
    ],
)
def test_ceilings_and_the_launch_need_no_instructions(diagnosis_of, table, kernel, cause):
    assert causes_in(diagnosis_of(counters_of(table, kernel)))[0] == cause


def test_a_headline_without_a_cause_says_what_was_not_recorded(headline_with):
    headline = headline_with(counters_of("bound", "shared_loads<8>"))
    assert headline.why.endswith(
        "Most causes cannot be looked for: it is not recorded which instructions ran how often and at which instruction warps wait."
    )
    assert NOTHING_FOUND not in headline.why
    assert headline.next == (
        "Record it with `prof collect --name NAME -- PROGRAM`, or with "
        "`ncu --set full --import-source yes -o NAME PROGRAM` where prof is not installed."
    )


@pytest.mark.parametrize(("table", "kernel"), [one for one in RECORDED if one != ("bound", "brief")])
def test_twice_the_work_in_twice_the_time_has_the_same_causes(diagnosis_of, table, kernel):
    counters = counters_of(table, kernel)
    counted = [one.name for one in CATALOGUE if one.unit in ("ns", "cycle", "inst", "wavefront", "byte")]
    doubled = {name: value * (2 if name in counted else 1) for name, value in counters.items()}
    assert causes_in(diagnosis_of(counters)) == causes_in(diagnosis_of(doubled))


COUNTED = [metric.name for metric in CATALOGUE if metric.ncu]
VALUES = st.floats(allow_nan=True, allow_infinity=True) | st.sampled_from([0.0, 1.0, 100.0])


@given(values=st.lists(VALUES, min_size=len(COUNTED), max_size=len(COUNTED)))
def test_no_value_breaks_the_diagnosis(make_profile, values):
    counters = dict(zip(COUNTED, values, strict=True))
    for cause in diagnose(make_profile({"metrics": counters})).causes:
        assert cause.saves_pct.expected <= cause.saves_pct.at_most


def test_more_warps_than_an_sm_holds_are_no_reason_to_fail(diagnosis_of):
    some = ("dram_throughput_pct", "occupancy_limit_pct", "blocks_by_shared")
    zero = dict.fromkeys(COUNTED, 0.0)
    assert diagnosis_of(zero | dict.fromkeys(some, 1.0) | {"active_warps": 2.0**52}).can_look


@pytest.mark.parametrize(
    ("figures", "warps"),
    [({"active_warps": 3.0, "occupancy_limit_pct": 25.0}, 12.0), ({"occupancy_limit_pct": 25.0}, 16.0)],
)
def test_an_sm_holds_the_warps_that_were_counted_or_else_what_its_limits_allow(make_profile, figures, warps):
    assert gather(make_profile({"metrics": {"waves": 5.0, **figures}})).model.warp_slots.warps == warps


ACTIVE = {"l1tex__cycles_active.avg": 300.0, "l1tex__cycles_active.max": 800.0}


@pytest.mark.parametrize(
    ("blocks", "counters", "each", "all_of_them"),
    [
        (1000, ACTIVE, 0.3, 0.375),  # some SMs go on when most have ended
        (66, ACTIVE, 0.3, 0.75),  # half of the SMs have no block
        (1000, {}, 1.0, 1.0),  # not recorded
    ],
)
def test_the_time_at_work_is_that_in_which_sms_have_a_warp(make_profile, blocks, counters, each, all_of_them):
    metrics = {"gpc__cycles_elapsed.max": 1000.0, "launch__sm_count": 132.0, **counters}
    profile = make_profile({"metrics": metrics, "grid": blocks, "block": 256})
    assert gather(profile).model.at_work == AtWork(each, pytest.approx(all_of_them))


@given(data=st.data())
def test_whatever_is_missing_the_rest_is_judged(make_profile, data):
    counters = counters_of(*data.draw(st.sampled_from(RECORDED)))
    kept = data.draw(st.sets(st.sampled_from(sorted(counters))))
    profile = make_profile({"metrics": {name: counters[name] for name in kept}})
    diagnosis = diagnose(profile)
    assert diagnosis.can_look or not diagnosis.causes
    assert gather(profile).model.saved(Effect()) == pytest.approx(0, abs=1e-9)


# A block for each SM fits, and for two there are warps; what else an `ncu` with its default sections records.
HALF_FULL = {"duration_ns": 1e6, "issue_active_pct": 5.0, "occupancy_pct": 50.0, "occupancy_limit_pct": 50.0, "sms": 132.0,
             "launch__occupancy_limit_warps": 2.0, "blocks_by_shared": 1.0}  # fmt: skip


@pytest.mark.parametrize(
    ("figures", "expected"),
    [
        ({"waves": 20.0}, [("shared-memory-limits-occupancy", 50)]),
        ({"waves": 20.0, "issue_active_pct": 90.0}, [("shared-memory-limits-occupancy", 10)]),
        ({"waves": 20.0, "l1_throughput_pct": 90.0, "sm__cycles_active.avg": 100.0, "cycles": 100.0}, [("shared-memory-limits-occupancy", 10)]),
        ({"waves": 0.95}, []),  # no SM has a second block to hold
        ({"waves": 0.0}, []),
    ],
)  # fmt: skip
def test_without_stall_reasons_more_warps_save_no_more_than_their_part(diagnosis_of, figures, expected):
    found = diagnosis_of(HALF_FULL | figures).causes
    assert [(one.cause, round(one.saves_pct.expected)) for one in found] == expected


@pytest.mark.parametrize(("waves", "found"), [(9.75, []), (9.6, ["uneven-last-wave"])])
def test_a_cause_that_would_save_less_than_three_percent_is_not_named(diagnosis_of, waves, found):
    """The last of ten rounds leaves a quarter of its places empty, or two fifths."""
    half_full = {"occupancy_pct": 50.0, "occupancy_limit_pct": 100.0, "issue_active_pct": 50.0}
    assert causes_in(diagnosis_of({"duration_ns": 1e6, "waves": waves, **half_full})) == found


@pytest.mark.parametrize(("duration_ns", "found"), [(1952.0, ["launch-too-short"]), (1e6, [])])
def test_a_launch_that_is_too_short_is_known_from_its_duration_alone(diagnosis_of, duration_ns, found):
    diagnosis = diagnosis_of({"duration_ns": duration_ns})
    assert causes_in(diagnosis) == found
    assert diagnosis.can_look == bool(found)


@pytest.mark.parametrize(
    ("duration_ns", "found"), [(5_900.0, []), (6_100.0, ["shared-memory-limits-occupancy"])]
)
def test_where_starting_takes_over_half_of_a_launch_nothing_else_is_named(diagnosis_of, duration_ns, found):
    figures = {**HALF_FULL, "waves": 20.0, "duration_ns": duration_ns}
    assert causes_in(diagnosis_of(figures)) == ["launch-too-short", *found]


@pytest.mark.parametrize(
    ("busy", "other", "found"), [(85.0, 3.0, True), (40.0, 3.0, False), (60.0, 85.0, False)]
)
def test_doubles_are_named_where_their_pipe_is_busiest_and_most_of_the_time(diagnosis_of, busy, other, found):
    """GPUs for games have two lanes for it in an SM, so that one literal without an `f` may fill them."""
    units = {"fp64_pipe_pct": busy, "dram_throughput_pct": other, "issue_active_pct": 3.0}
    diagnosis = diagnosis_of({"duration_ns": 1e6, **units})
    assert ("fp64-arithmetic" in causes_in(diagnosis)) == found


@pytest.mark.parametrize(
    ("l1", "said"),
    [
        (100.0, "L1 is the busiest unit, at 100 % of the peak: without less of that work, no change saves any time."),
        (99.7, "L1 is the busiest unit, at > 99 % of the peak: without less of that work, no change saves more than 1 % of the time."),
        (98.0, "L1 is the busiest unit, at 98 % of the peak: without less of that work, no change saves more than 2 % of the time."),
        (50.0, "L1 is the busiest unit, at 50 % of the peak: without less of that work, no change saves more than 50 % of the time."),
        (49.0, "L1 is the busiest unit, at 49 % of the peak: for most of the time, warps wait or are missing."),
        (2.0, "Issue slots are the busiest unit, at 3 % of the peak: for most of the time, warps wait or are missing."),
    ],
)  # fmt: skip
def test_where_nothing_was_found_the_headline_names_the_busiest_unit(headline_with, l1, said):
    assert said in headline_with({"issue_active_pct": 3.0, "l1_throughput_pct": l1}).why


LIMITS = {"launch__occupancy_limit_blocks": 16.0, "launch__occupancy_limit_warps": 16.0,
          "blocks_by_registers": 16.0, "blocks_by_shared": 16.0}  # fmt: skip


@pytest.mark.parametrize(
    ("figures", "said"),
    [
        ({"occupancy_pct": 99.9, "occupancy_limit_pct": 100.0}, "SMs hold > 99 % of the warps that they could: hardly any more fit."),
        ({"occupancy_pct": 89.0, "occupancy_limit_pct": 100.0}, "SMs hold 89 % of the warps that they could, and have room for 100 %."),
        ({"occupancy_pct": 46.0, "occupancy_limit_pct": 50.0, **LIMITS, "blocks_by_registers": 8.0},
         "SMs hold 46 % of the warps that they could, about as many as the registers of a thread allow."),
        ({"occupancy_pct": 46.0, "occupancy_limit_pct": 50.0, **LIMITS, "blocks_by_shared": 8.0},
         "SMs hold 46 % of the warps that they could, about as many as the shared memory of a block allows."),
        ({"occupancy_pct": 46.0, "occupancy_limit_pct": 50.0}, "SMs hold 46 % of the warps that they could, about as many as their limits allow."),
    ],
)  # fmt: skip
def test_if_nothing_was_found_the_headline_says_how_many_warps_sms_hold_and_why(headline_with, figures, said):
    assert f" {said} " in headline_with({"issue_active_pct": 3.0, "waves": 0.9, **figures}).why


@pytest.mark.parametrize(
    ("figures", "why"),
    [
        ({"occupancy_pct": 99.9, "occupancy_limit_pct": 100.0},
         "SMs hold > 99 % of the warps that they could: hardly any more fit. Causes cannot be looked for: it is not recorded how busy "
         "memory and pipes are, which instructions ran how often and where warps wait."),
        ({}, NOTHING_RECORDED),
    ],
)  # fmt: skip
def test_what_is_recorded_is_said_where_no_cause_could_be_found_from_it(headline_with, figures, why):
    assert headline_with(figures).why == why


@pytest.mark.parametrize(("waves", "is_weak"), [(9.2, True), (7.2, False)])
def test_a_small_cause_is_no_answer_where_most_cannot_be_looked_for(headline_with, waves, is_weak):
    """The last of ten rounds leaves four fifths of its places empty, or the last of eight does."""
    figures = {"issue_active_pct": 50.0, "occupancy_pct": 50.0, "occupancy_limit_pct": 100.0, "waves": waves}
    headline = headline_with(figures)
    assert (
        headline.why.startswith("Of the causes that can be looked for, none alone would save 10 %") == is_weak
    )
    assert ("Issue slots are the busiest unit" in headline.why) == is_weak
    assert headline.next.startswith("Record it with") == is_weak
    assert "Choose the work of a block so that the rounds are full" in headline.next


@pytest.mark.parametrize(
    ("stalls", "said"),
    [
        ({"long_scoreboard": 28.0, "barrier": 12.0, "wait": 2.0, "not_selected": 1.0, "selected": 1.0},
         "Of their time, warps spend 64 % waiting for a result of global, local or texture memory and 27 % waiting for the other warps at a "
         "barrier of the block. Causes cannot be looked for: it is not recorded how busy memory and pipes are, which instructions ran how "
         "often and at which instruction warps wait."),
        ({"wait": 40.0, "sleeping": 3.9, "selected": 1.0},
         "Of their time, warps spend 89 % waiting on a fixed latency of the previous instruction. Causes cannot be looked for: it is not "
         "recorded how busy memory and pipes are, which instructions ran how often and at which instruction warps wait."),
        ({}, NOTHING_RECORDED),
    ],
)  # fmt: skip
def test_counters_say_for_what_warps_wait_where_no_samples_say_where(headline_with, stalls, said):
    """Of all waiting, what is less than a tenth is left out."""
    figures = {f"stall_{reason}": value for reason, value in stalls.items()}
    assert headline_with(figures | {"warp_latency": sum(stalls.values())}).why == said
