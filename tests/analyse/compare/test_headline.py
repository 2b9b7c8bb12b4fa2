"""A comparison begins with one sentence of what changed, why, and what to do next."""

from __future__ import annotations

import pytest

from profiler.analyse.causes.cause import Cause, Diagnosis, Savings
from profiler.analyse.compare.headline import (
    ChangedCauses,
    compare_causes,
    headline_of_pair,
    main_factors,
    ratio_sentence,
)
from profiler.analyse.findings import Attribution, CauseChange, Factor, Instructions, Speedup

TIMES = (4e6, 2e6)


@pytest.mark.parametrize(
    ("ratio", "interval", "said"),
    [
        (2.0, (1.9, 2.1), "b is 2.000x as fast as a (4.000 ms -> 2.000 ms under the profiler, ± 5.0 %)."),
        (0.5, (0.4, 0.6), "b takes 2.000x as long as a (0.5000x as fast; 4.000 ms -> 2.000 ms under the profiler, ± 20.0 %)."),
        (1.02, (0.99, 1.05), "Which of a and b is faster is not certain (4.000 ms -> 2.000 ms under the profiler)."),
        (1.0, (1.0, 1.0), "a and b take the same time (4.000 ms -> 2.000 ms under the profiler)."),
        (14.72, None, "b is 14.72x as fast as a (4.000 ms -> 2.000 ms under the profiler)."),
        (1.02, None, "b is 1.020x as fast as a (4.000 ms -> 2.000 ms under the profiler)."),
    ],
)  # fmt: skip
def test_a_ratio_is_claimed_only_where_its_interval_leaves_one_side_faster(ratio, interval, said):
    assert ratio_sentence(("a", "b"), TIMES, Speedup(ratio, interval, "profiled")) == said


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        (("/reports/a.ncu-rep", "b.ncu-rep"), "b is"),
        (("old/a.ncu-rep", "new/a.ncu-rep"), "new/a.ncu-rep is"),
        (("gemm 5", "gemm 5"), "the second is"),
        (("gemm 5", "/reports/b.ncu-rep"), "b is"),
    ],
)
def test_a_file_is_called_by_its_name_without_folders_unless_both_have_the_same(labels, said):
    assert ratio_sentence(labels, TIMES, Speedup(2.0, None, "unprofiled")).startswith(said)


def why(*factors):
    """The why of a pair whose second side is twice as fast, by these factors: name, ratio, share, before, after."""
    leaves = [Factor(*one, unit="") for one in factors]
    attribution = Attribution("tensor", "", {}, 2.0, leaves, 0.0)
    found = headline_of_pair(
        ("a", "b"), TIMES, Speedup(2.0, None, "profiled"), attribution, Instructions([]), [], ChangedCauses()
    )
    return found.why


def test_the_factor_that_explains_most_is_a_main_one_though_no_sentence_has_words_for_it():
    cycles = Factor("cycles", 0.25, 1.1, 1.0, 4.0, unit="cycle")
    clock = Factor("clock", 1.13, -0.1, 1.5, 1.7, unit="GHz")
    attribution = Attribution("cycles", "", {}, 0.28, [clock, cycles], 0.0)
    assert [one.name for one in main_factors(attribution)] == ["cycles", "clock"]


def test_what_changed_most_is_said_before_what_works_against_it():
    work, pipe = ("tensor_work", 2.1, 1.1, 200.0, 100.0), ("tensor_pipe_pct", 0.95, -0.1, 92.0, 88.0)
    assert why(work, pipe) == (
        "50 % fewer cycles of work for the tensor pipe, despite the tensor pipe 4 % less busy"
    )
    assert why(("cycles", 2.0, 1.0, 200.0, 100.0)).startswith("No cause that prof knows"), (
        "cycles are the time itself"
    )
    assert why(("instructions", 2.5, 1.2, 5e6, 2e6), ("wait_per_issue", 0.1, -0.2, 1.0, 11.0)) == (
        "60 % fewer instructions, despite 1,000 % longer waits between instructions"
    )


def diagnosed(duration_ns: float, **saves_pct: float) -> Diagnosis:
    """A kernel of this duration, with the causes whose removal saves so many percent of it."""
    causes = [
        Cause(name.replace("_", "-"), "", "", Savings(expected, expected), [], {})
        for name, expected in saves_pct.items()
    ]
    return Diagnosis(causes, [], duration_ns)


@pytest.mark.parametrize(
    ("before", "after", "less", "more"),
    [
        (diagnosed(100.0, barriers=30), diagnosed(80.0, barriers=10), [("barriers", 30, 10)], []),
        (diagnosed(100.0, barriers=10), diagnosed(120.0, barriers=30), [], [("barriers", 10, 30)]),
        pytest.param(
            diagnosed(100.0, barriers=30), diagnosed(100.0, barriers=26), [], [], id="by less than matters"
        ),
        pytest.param(
            diagnosed(300.0, barriers=10),
            diagnosed(100.0, barriers=28),
            [],
            [],
            id="only the rest got faster",
        ),
        pytest.param(
            diagnosed(100.0, barriers=28),
            diagnosed(300.0, barriers=10),
            [],
            [],
            id="only the rest got slower",
        ),
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
        (2.0, "gone: narrow-accesses; less: barriers (20 % -> 8 %)"),
        (0.5, "no longer a cause: narrow-accesses; a smaller cause than before: barriers (20 % -> 8 %)"),
    ],
)
def test_what_went_explains_a_faster_side_and_is_only_mentioned_of_a_slower_one(ratio, said):
    narrow = Cause("narrow-accesses", "", "", Savings(9.0, 9.0), [], {})
    changed = ChangedCauses(gone=[narrow], less=[CauseChange("barriers", 20.0, 8.0)])
    speedup = Speedup(ratio, None, "profiled")
    found = headline_of_pair(("a", "b"), TIMES, speedup, None, Instructions([]), [], changed)
    assert found.why == said


def test_what_no_counter_shows_is_neither_gone_nor_new_nor_unchanged():
    seen, unseen = diagnosed(100.0, barriers=30), Diagnosis([], [], 100.0, can_look=False)
    for sides in ((seen, unseen), (unseen, seen), (unseen, unseen)):
        changed = compare_causes(*sides)
        assert (changed.gone, changed.new) == ([], [])
        said = headline_of_pair(
            ("a", "b"), TIMES, Speedup(2.0, None, "profiled"), None, Instructions([]), [], changed
        )
        assert (
            said.why == "Which causes went or came is not known: one side, or both, lack the counters for it."
        )
