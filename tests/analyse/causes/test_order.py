"""The order of causes: a fault of the code stands before waiting, unless waiting costs much more."""

from dataclasses import replace
from pathlib import Path

import pytest
from made_evidence import evidence_of

from profiler.analyse.causes import find
from profiler.analyse.causes.cause import IN_A_REGISTER
from profiler.analyse.causes.detectors.candidate import Candidate
from profiler.analyse.causes.detectors.ceilings import detect_ceilings
from profiler.analyse.causes.order import in_order, what_goes_along, why_not_by_saving
from profiler.catalog.causes import BY_NAME, GENERAL
from profiler.present.documents.parts.causes import cause_blocks
from tests.made_causes import cause_of

DOCUMENTATION = Path(__file__).resolve().parents[3] / "docs" / "causes.md"
SAID = "{0} stands first, although {1} may save more: "
OF_MOST = "in tests, causes that most kernels have were right less often."


def names(causes):
    return [one.cause for one in causes]


def first_of(*causes):
    return in_order(causes)[0].cause


@pytest.mark.parametrize(("waiting", "first"), [(49.0, "bank-conflicts"), (51.0, "dependent-chain")])
def test_waiting_comes_first_only_where_it_costs_much_more_than_a_fault_of_the_code(waiting, first):
    assert first_of(cause_of("dependent-chain", waiting), cause_of("bank-conflicts", 30.0)) == first


@pytest.mark.parametrize(
    ("without_a_block", "first"),
    [(0.0, "bank-conflicts"), (74.0, "bank-conflicts"), (76.0, "grid-too-small")],
)
def test_what_sms_without_a_block_cost_counts_in_full(without_a_block, first):
    """The rest is places for warps that stay empty: 0.6 of it counts, beside the 76 % or 74 % that are sure."""
    grid = cause_of("grid-too-small", 90.0, idle_sms_pct=without_a_block)
    assert first_of(cause_of("bank-conflicts", 83.9), grid) == first


@pytest.mark.parametrize(
    ("waiting", "first"), [({}, "bank-conflicts"), ({"waiting_for_tiles_pct": 20.0}, "loads-not-overlapped")]
)
def test_a_loop_that_waits_for_each_tile_before_it_uses_it_counts_in_full(waiting, first):
    assert (
        first_of(cause_of("loads-not-overlapped", 30.0, **waiting), cause_of("bank-conflicts", 20.0)) == first
    )


@pytest.mark.parametrize(
    ("fact", "why"),
    [
        ("waiting_for_tiles_pct", "a loop waits for each tile before it uses it."),
        ("idle_sms_pct", "some SMs have no block at all."),
    ],
)
def test_the_fact_that_puts_a_cause_first_is_said(fact, why):
    first = cause_of("loads-not-overlapped" if "tiles" in fact else "grid-too-small", 40.0, **{fact: 40.0})
    causes = in_order([cause_of("too-little-reuse", 60.0), first])
    assert why_not_by_saving(causes) == [SAID.format(first.cause, "too-little-reuse") + why]


@pytest.mark.parametrize("both", [("bank-conflicts", "idle-lanes"), ("grid-too-small", "dependent-chain")])
def test_of_two_causes_of_one_kind_the_one_that_saves_more_comes_first(both):
    less, more = cause_of(both[0], 20.0), cause_of(both[1], 20.1)
    assert in_order([less, more]) == [more, less]


@pytest.mark.parametrize(
    ("apart", "line", "is_first"), [(40.0, 7, True), (39.9, 7, False), (40.0, 8, False), (50.1, 8, True)]
)
def test_loads_are_put_side_by_side_before_they_are_kept_if_that_saves_nearly_as_much(apart, line, is_first):
    again = cause_of("redundant-global-loads", 50.0, line=7)
    causes = in_order([again, cause_of("uncoalesced-loads", apart, line=line)])
    assert (names(causes)[0] == "uncoalesced-loads") == is_first
    said = "a block has to load side by side what it keeps."
    assert (said in str(cause_blocks(causes, []))) == (is_first and apart < 50)


@pytest.mark.parametrize(
    ("of_doubles", "saves", "is_first"),
    [
        ({"in_any_functions_pct": 51.0, "float_conversions_pct": 1.0}, 30.0, True),
        ({"in_any_functions_pct": 51.0, "float_conversions_pct": 1.0}, 29.9, False),
        ({"in_any_functions_pct": 50.0, "float_conversions_pct": 1.0}, 30.0, False),
        ({"in_any_functions_pct": 51.0, "float_conversions_pct": 0.0}, 30.0, False),
        (
            {
                "in_any_functions_pct": 51.0,
                "float_conversions_pct": 1.0,
                "differences_of_loaded_doubles": 2.0,
            },
            30.0,
            False,
        ),
    ],
)
def test_floats_come_before_fewer_functions_if_the_doubles_are_made_of_floats(of_doubles, saves, is_first):
    """Its functions are shorter, and nobody asked for doubles: a literal may have made them."""
    causes = in_order([cause_of("special-functions", 60.0), cause_of("fp64-arithmetic", saves, **of_doubles)])
    assert (names(causes)[0] == "fp64-arithmetic") == is_first
    said = SAID.format(*names(causes)) + "functions make most of the doubles, and have short forms"
    assert (said in str(cause_blocks(causes, []))) == is_first


def test_a_value_that_a_register_would_hold_needs_no_neighbours():
    apart = cause_of("uncoalesced-loads", 49.0, line=7)
    again = cause_of("redundant-global-loads", 50.0, line=7, **{IN_A_REGISTER: 90.0})
    assert in_order([again, apart]) == [again, apart]


def test_the_first_step_passes_what_stands_between_it_and_the_other():
    """Nothing is said against a list such as 59, 51 and 49 %, where the last is what the first begins with."""
    again, apart = (
        cause_of("redundant-global-loads", 50.0, line=7),
        cause_of("uncoalesced-loads", 40.0, line=7),
    )
    between = cause_of("bank-conflicts", 45.0)
    assert in_order([again, between, apart]) == [apart, again, between]


@pytest.mark.parametrize(("fact", "remain"), [("rows alike", 2), ("", 3)])
def test_what_two_causes_state_alike_is_told_by_the_first_of_them(fact, remain):
    causes = [cause_of("redundant-instructions", 40.0), cause_of("barriers", 30.0), cause_of("grid-too-small", 20.0)]  # fmt: skip
    best = {one.cause: Candidate(one.cause, "", "", fact=fact) for one in causes}
    best["barriers"] = Candidate("barriers", "", "", fact="another")
    told = list(find._tell_once(causes, best))  # private: it takes candidates that are made by hand
    assert told == causes[:remain]


def test_a_ceiling_comes_before_all_causes():
    ceiling, fault = cause_of("at-memory-bandwidth", 0.0), cause_of("uncoalesced-loads", 5.0)
    assert in_order([fault, ceiling]) == [ceiling, fault]


@pytest.mark.parametrize(
    ("saves", "expected"),
    [
        (9.9, ["at-fma-rate", "bank-conflicts", "uneven-last-wave"]),
        (10.0, ["uneven-last-wave", "at-fma-rate", "bank-conflicts"]),
    ],
)
def test_a_last_round_that_costs_a_tenth_of_the_time_comes_before_the_ceiling_of_full_ones(saves, expected):
    causes = [cause_of("bank-conflicts", 5.95), cause_of("at-fma-rate", 0.0), cause_of("uneven-last-wave", saves)]  # fmt: skip
    assert names(in_order(causes)) == expected
    first = "uneven-last-wave" if 0.6 * saves > 5.95 else "bank-conflicts"
    assert names(in_order(causes[::2]))[0] == first  # without a ceiling, the last round is a general cause


def rounds(busy, occupancy):
    """One and a half rounds of blocks: places are empty for a quarter of the time where the last one keeps its places for as long."""
    figures = {"waves": 1.5, "occupancy_pct": occupancy, "occupancy_limit_pct": 100.0}
    return evidence_of("FFMA R1, R2, R3, R1", figures=figures, busy={"fma": busy, "issue": busy})


@pytest.mark.parametrize(
    ("busy", "occupancy", "found"),
    [
        (0.57, 75.0, ["uneven-last-wave", "at-fma-rate"]),
        (0.56, 75.0, ["uneven-last-wave"]),
        (0.57, 100.0, []),  # others took the places at once
        (0.75, 75.0, ["uneven-last-wave", "at-fma-rate"]),
    ],
)
def test_a_pipe_is_at_its_rate_if_it_is_while_rounds_are_full(busy, occupancy, found):
    evidence = rounds(busy, occupancy)
    named, _ = find._find_causes(evidence)  # private: it takes evidence that is made by hand
    assert names(named) == found
    for ceiling in detect_ceilings(evidence):
        assert f"would still take {100 * busy:.0f} %" in ceiling.sentence
        assert ("it is at 76 %" in ceiling.sentence) == (busy < 0.75)


@pytest.mark.parametrize(
    ("reason", "found"),
    [
        ("no_instruction", ["instruction-cache-misses"]),  # nobody waits for the pipe meanwhile
        ("wait", ["at-alu-rate"]),  # for a result, and then for the pipe
    ],
)
def test_a_pipe_may_idle_because_instructions_are_missing(reason, found):
    lines = [f"LOP3.LUT R{place % 8}, R9, R10, RZ, 0xc0, !PT" for place in range(900)]
    facts = {place: {"waits": {reason: 9}} for place in range(900)}
    evidence = evidence_of(*lines, facts=facts, busy={"alu": 0.83, "issue": 0.42})
    named, _ = find._find_causes(evidence)  # private: it takes evidence that is made by hand
    assert names(named) == found


def test_the_documentation_names_the_general_causes():
    lines = DOCUMENTATION.read_text().splitlines()
    (said,) = [line for line in lines if "General causes are true of most kernels" in line]
    assert {name for name in BY_NAME if f"`{name}`" in said} == GENERAL


@pytest.mark.parametrize(("waiting", "is_said"), [(40.0, True), (60.0, False), (34.6, True), (34.4, False)])
def test_the_answer_says_why_a_cause_that_saves_clearly_less_stands_first(waiting, is_said):
    """Where it saves less by under 5 points, the two are alike within the error of an estimate."""
    causes = in_order([cause_of("dependent-chain", waiting), cause_of("bank-conflicts", 30.0)])
    said = SAID.format("bank-conflicts", "dependent-chain") + OF_MOST
    assert (said in str(cause_blocks(causes, []))) == is_said


def test_what_a_first_step_passes_on_its_way_is_explained_by_where_it_goes():
    again, step = (
        cause_of("redundant-global-loads", 50.0, line=7),
        cause_of("uncoalesced-loads", 42.0, line=7),
    )
    passed = cause_of("bank-conflicts", 48.0)
    causes = in_order([again, passed, step])
    assert causes == [step, again, passed]
    assert why_not_by_saving(causes) == [
        SAID.format(step.cause, again.cause) + "a block has to load side by side what it keeps.",
        SAID.format(step.cause, passed.cause) + f"it is the first step towards {again.cause}.",
    ]


def test_a_ceiling_that_stands_first_needs_no_reason():
    """A fault below it may be the surest to help, and yet saves more than a ceiling, which saves nothing. The first below needs one."""
    ceiling, fault = cause_of("at-memory-bandwidth", 0.0), cause_of("uncoalesced-stores", 10.0)
    waiting = cause_of("dependent-chain", 15.0)
    assert ceiling.is_ceiling
    assert why_not_by_saving([ceiling]) == why_not_by_saving([ceiling, fault]) == []
    assert why_not_by_saving([ceiling, fault, waiting]) == [SAID.format(fault.cause, waiting.cause) + OF_MOST]


def test_the_order_is_explained_by_all_causes_that_it_put_behind():
    """What another stands behind needs no reason: only the first is advised."""
    faults = [cause_of("bank-conflicts", 20.0), cause_of("type-conversions", 19.0), cause_of("loop-overhead", 8.0)]  # fmt: skip
    causes = in_order(
        [
            *faults,
            cause_of("barriers", 27.0),
            cause_of("grid-too-small", 25.0),
            cause_of("dependent-chain", 24.0),
        ]
    )
    said = str(cause_blocks(causes, [], full=False))
    assert (
        f"bank-conflicts stands first, although barriers and grid-too-small may save more: {OF_MOST}" in said
    )


@pytest.mark.parametrize(("contended", "saves", "most"), [(True, 0.25, 0.25), (False, 0.6, 1.0)])
def test_no_other_change_saves_the_time_that_atomics_of_one_place_need_in_turn(contended, saves, most):
    """Warps wait for the atomic for three quarters of their time, and SMs are at work for 40 % of it on average."""
    facts = {0: {"waits": {"long_scoreboard": 75}, "acting": 32.0}, 2: {"waits": {"wait": 25}}}
    evidence = evidence_of(
        "RED.E.ADD.STRONG.GPU [R2.64], R4", "FADD R4, R4, R6", "FADD R5, R5, R6", "EXIT", facts=facts,
        figures={f"l1tex__cycles_active.{which}": 40.0 for which in ("min", "avg")} | {"l1tex__cycles_active.max": 100.0, "waves": 20.0}, busy=dict.fromkeys(("issue", "dram", "l1", "l2", "lsu", "fma", "alu"), 0.0),
    )  # fmt: skip
    evidence = replace(evidence, atomics_are_contended=contended)
    expected = find.expect_of_each(evidence)
    (candidate,) = (one for one in expected if one.name == "load-imbalance")
    assert evidence.time_of(evidence.of("atomic")) == pytest.approx(0.75)
    assert expected[candidate] == pytest.approx(saves)
    assert find.bound_of(evidence, candidate)[0] == pytest.approx(most)


@pytest.mark.parametrize(("contended", "most"), [(True, 0.6), (False, 0.9)])
def test_a_change_that_spares_waiting_for_loads_leaves_what_atomics_of_one_place_need(contended, most):
    """Warps wait for both for the same reason, and issue for 10 % of the time."""
    facts = {1: {"waits": {"long_scoreboard": 60}}, 3: {"waits": {"long_scoreboard": 40}}}
    lines = ("LDG.E R4, [R2.64]", "FADD R4, R4, R6", "ATOMG.E.ADD PT, R5, [R8.64], R7", "FADD R9, R5, R5")
    evidence = evidence_of(*lines, facts=facts, busy={"issue": 0.1})
    evidence = replace(evidence, atomics_are_contended=contended)
    assert evidence.time_of(evidence.of("atomic")) == pytest.approx(0.4)
    effect = evidence.without(dict.fromkeys(evidence.of("global load"), 1.0))
    bound, _ = find.bound_of(evidence, Candidate("redundant-global-loads", "", "", effect))
    assert bound == pytest.approx(most)


def added_up(*causes):
    return [cause_of(name, saves, together=together) for name, saves, together in causes]


STORES, WAITING, FEW = ("uncoalesced-stores", 50.0, None), "loads-not-overlapped", "narrow-accesses"


@pytest.mark.parametrize(
    ("others", "said"),
    [
        ([(WAITING, 40.0, 52.9)], [f"{WAITING} saves less than 3 % more once what stands above it is removed."]),
        ([(WAITING, 40.0, 53.1)], []),
        ([(WAITING, 9.9, 50.0)], []),  # which nobody takes for much
        (
            [(FEW, 30.0, 51.0), (WAITING, 40.0, 52.0)],
            [f"{FEW} and {WAITING} each save less than 3 % more once what stands above them is removed."],
        ),
        ([(FEW, 30.0, 60.0), (WAITING, 40.0, 62.0)], [f"{WAITING} saves less than 3 % more once what stands above it is removed."]),
    ],
)  # fmt: skip
def test_the_answer_says_what_one_change_takes_along(others, said):
    causes = added_up(STORES, *others)
    assert what_goes_along(causes) == said
    assert all(text in str(cause_blocks(causes, [])) for text in said)


def test_a_ceiling_takes_nothing_along():
    assert what_goes_along([cause_of("at-memory-bandwidth", 0.0), *added_up((WAITING, 40.0, None))]) == []
