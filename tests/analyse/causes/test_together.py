"""What several changes save together: more than each by itself, and where two units are busy, more than their sum."""

import pytest
import track_record
from hypothesis import given, strategies as st
from made_evidence import evidence_of

from profiler.analyse.causes import find
from profiler.analyse.causes.detectors.candidate import WORTH_A_CHANGE, Candidate
from profiler.analyse.causes.evidence.latency import UNNAMED, Effect, WarpSlots
from profiler.analyse.causes.evidence.time_model import TimeModel
from profiler.analyse.causes.find import find_candidates, look_at
from profiler.analyse.causes.headline import next_text
from profiler.analyse.causes.together import combine, find_hidden, saved_together
from profiler.analyse.recording.profile import profile_kernel
from tests.made_causes import cause_of

UNITS = ("l1", "fp64")
fractions = st.floats(0, 1)


def candidate(effect=None, saves=None):
    return Candidate("barriers", "Why.", "Change.", effect or Effect(), saves=saves)


def saved_by(model, *candidates):
    return {one: model.saved(one.effect) if one.saves is None else one.saves for one in candidates}


def test_of_two_units_that_are_both_busy_each_hides_what_the_other_costs():
    model = TimeModel(dict.fromkeys(UNITS, 0.95), {UNNAMED: 1.0})
    changes = [candidate(Effect({unit: 0.8})) for unit in UNITS]
    each = saved_by(model, *changes)
    assert max(each.values()) <= 0.05
    assert saved_together(model, each) == pytest.approx(0.8, abs=0.05)


def test_two_changes_that_end_the_same_waiting_save_what_one_does():
    model = TimeModel({"l1": 0.1}, {"wait": 1.0})
    one, other = (candidate(Effect(waits={"wait": 1.0})) for _ in range(2))
    each = saved_by(model, one, other)
    assert saved_together(model, each) == pytest.approx(each[one])


def test_each_change_removes_its_part_of_what_the_others_leave():
    both = combine(
        [Effect({"l1": 0.5}, {"wait": 0.2}, warps=2.0), Effect({"l1": 0.5}, lighter={"wait": 0.1})]
    )
    assert both == Effect({"l1": 0.75}, {"wait": pytest.approx(0.2)}, {"wait": pytest.approx(0.1)}, 2.0)


@given(st.lists(fractions, min_size=1, max_size=3), fractions)
def test_what_the_model_does_not_know_of_is_a_part_of_the_time_that_is_left(parts, busy):
    model = TimeModel({"l1": busy}, {"wait": 1.0})
    left = 1.0
    for part in parts:
        left *= 1 - part
    each = saved_by(model, *(candidate(saves=part) for part in parts))
    assert saved_together(model, each) == pytest.approx(1 - left)


@given(
    st.dictionaries(st.sampled_from(UNITS), fractions, min_size=1),
    st.lists(st.tuples(st.sampled_from(UNITS), fractions, fractions), min_size=2, max_size=4),
)
def test_a_further_change_never_saves_less_and_nothing_saves_more_than_all(busy, changes):
    model = TimeModel(busy, {"wait": 0.5, "long_scoreboard": 0.5}, issuing=0.1)
    each = saved_by(model, *(candidate(Effect({unit: part}, {"wait": wait})) for unit, part, wait in changes))
    fewer = dict(list(each.items())[:-1])
    assert max(each.values()) <= saved_together(model, each) <= 1.0
    assert saved_together(model, fewer) <= saved_together(model, each) + 1e-9


# Several elements overlap with each of the other two, which do not overlap with each other.
_OVERLAPPING = ("loads-not-overlapped", "too-little-work-a-thread", "redundant-instructions")


def test_of_changes_that_overlap_the_one_counts_that_saves_more_with_the_others():
    """Several elements save most by themselves, in the unit that another change relieves as well. So the loads that they include count."""
    model = TimeModel({"l1": 0.9, "issue": 0.8}, {UNNAMED: 1.0})
    other = Candidate("bank-conflicts", "Why.", "Change.", Effect({"l1": 0.8}))
    loads = Candidate("loads-not-overlapped", "Why.", "Change.", Effect({"issue": 0.8}))
    elements = Candidate(
        "too-little-work-a-thread", "Why.", "Change.", Effect({"l1": 0.85}), includes=loads.name
    )
    each = saved_by(model, other, loads, elements)
    assert max(each, key=lambda one: each[one]) is elements
    without = {one: saved for one, saved in each.items() if one is not elements}
    assert saved_together(model, each) == saved_together(model, without) > each[elements] + 0.2


@given(
    st.dictionaries(st.sampled_from(UNITS), fractions, min_size=1),
    st.permutations(_OVERLAPPING),
    st.lists(st.tuples(st.sampled_from(UNITS), fractions, fractions), min_size=3, max_size=3),
)
def test_a_further_change_that_overlaps_with_others_never_saves_less(busy, names, changes):
    site = evidence_of("FADD R5, R5, R4").sites[0]
    model = TimeModel(busy, {"wait": 0.5, "long_scoreboard": 0.5}, issuing=0.1)
    each = saved_by(
        model,
        *(
            Candidate(
                name, "Why.", "Change.", Effect({unit: part}, {"wait": wait}), {site: 1.0},
                includes="loads-not-overlapped" if name == "too-little-work-a-thread" else "",
            )
            for name, (unit, part, wait) in zip(names, changes, strict=True)
        ),
    )  # fmt: skip
    fewer = dict(list(each.items())[:-1])
    assert saved_together(model, fewer) <= saved_together(model, each) + 1e-9


def test_a_change_that_costs_warps_takes_nothing_from_what_those_above_it_save(monkeypatch):
    """Wider accesses wait less, and take registers. Where the loads are under way together already, they only cost warps."""
    loads = Candidate("loads-not-overlapped", "Why.", "Change.", Effect(waits={"long_scoreboard": 0.95}))
    chain = Candidate("dependent-chain", "Why.", "Change.", Effect(waits={"wait": 0.9}))
    wide = Candidate("narrow-accesses", "Why.", "Change.", Effect(waits={"long_scoreboard": 0.8}, warps=0.47))
    waits = {"long_scoreboard": 0.7, "wait": 0.3}
    evidence = evidence_of("EXIT", busy={"issue": 0.2}, waits=waits, warp_slots=WarpSlots(warps=32))
    each = saved_by(evidence.model, loads, chain, wide)
    assert saved_together(evidence.model, each) < saved_together(
        evidence.model, {one: each[one] for one in (loads, chain)}
    )
    monkeypatch.setattr(find, "DETECTORS", (lambda _: each,))
    named, _ = find._find_causes(evidence)  # private: it takes evidence that is made by hand
    together = {one.cause: one.saves_pct.together for one in named}
    assert len(together) == 3
    assert together["narrow-accesses"] == together["dependent-chain"]


@pytest.mark.parametrize(
    ("above", "below", "instead"),
    [
        ("too-little-reuse", "registers-limit-occupancy", "Instead of the larger tile of too-little-reuse, which needs more registers: change."),
        ("registers-limit-occupancy", "too-little-reuse", "Instead of fewer registers"),
        ("bank-conflicts", "registers-limit-occupancy", ""),
    ],
)  # fmt: skip
def test_of_two_changes_that_undo_each_other_one_counts_and_the_second_says_so(
    monkeypatch, above, below, instead
):
    """A larger tile needs registers, so that an SM holds fewer warps, and not more."""
    first = Candidate(above, "Why.", "Change.", Effect(waits={"long_scoreboard": 0.6}))
    second = Candidate(below, "Why.", "Change.", Effect(waits={"wait": 0.9}))
    evidence = evidence_of("EXIT", busy={"issue": 0.2}, waits={"long_scoreboard": 0.6, "wait": 0.4})
    each = saved_by(evidence.model, first, second)
    monkeypatch.setattr(find, "DETECTORS", (lambda _: each,))
    named, _ = find._find_causes(evidence)  # private: it takes evidence that is made by hand
    earlier, later = named
    assert (earlier.cause, earlier.try_) == (above, "Change.")
    assert later.try_.startswith(instead or "Change.")
    most = max(one.saves_pct.expected for one in named)
    assert (later.saves_pct.together == most) == bool(instead)


def test_a_kernel_whose_two_causes_hide_each_other_says_so():
    """By itself, neither saves a tenth of the time; the version without both takes 38 % of it."""
    run = track_record.open_kernels({"samples_both"})["samples_both"]
    evidence = look_at(profile_kernel(run, track_record.kernel_of(run)))
    first, second, *_ = track_record.causes_of(run)
    assert {first.cause, second.cause} == {"uncoalesced-loads", "fp64-arithmetic"}
    assert max(first.saves_pct.expected, second.saves_pct.expected) < 10
    assert (first.saves_pct.together, second.saves_pct.together) == (None, pytest.approx(62, abs=3))
    named = {
        one: saved
        for one, saved in find_candidates(evidence).items()
        if one.name in (first.cause, second.cause)
    }
    assert second.saves_pct.together == pytest.approx(100 * saved_together(evidence.model, named), abs=0.1)


@pytest.mark.parametrize(("together", "is_said"), [(51.1, False), (51.3, True)])
def test_the_next_step_names_what_hides_it_only_if_both_save_a_tenth_more_than_in_turn(together, is_said):
    """30 % of the 84 % that are left after 16 % leave 58.8 %: one after the other, 41.2 %."""
    causes = [cause_of("bank-conflicts", 16.0), cause_of("fp64-arithmetic", 30.0, together=together, line=7)]
    said = "With fp64-arithmetic at kernel.cu:7 removed as well, likely to save 51 %: they hide each other."
    assert (said in next_text(causes)) == is_said


@pytest.mark.parametrize(
    ("others", "said"),
    [
        (["idle-lanes", "fp64-arithmetic"], "idle-lanes and fp64-arithmetic"),
        (["idle-lanes", "barriers", "fp64-arithmetic"], "the next 3 causes"),
    ],
)
def test_where_more_than_two_hide_each_other_the_next_step_names_few_and_counts_many(others, said):
    causes = [cause_of("bank-conflicts", 5.0), *(cause_of(name, 5.0, together=11.0) for name in others[:-1])]
    causes.append(cause_of(others[-1], 5.0, together=60.0))
    assert f"With {said} removed as well, likely to save 60 %: the others hide fp64-arithmetic." in next_text(
        causes
    )


@pytest.mark.parametrize(
    ("second", "third", "said"),
    [
        (24.0, 50.0, "the others hide uncoalesced-loads."),  # the second saves 5 % of the 80 % that are left
        (26.9, 50.0, "the others hide uncoalesced-loads."),
        (27.1, 50.0, "they hide each other."),
        (32.0, 41.7, "the others hide barriers."),  # the third adds hardly more than its 10 %
    ],
)
def test_only_a_cause_that_saves_more_with_those_before_it_is_said_to_be_hidden(second, third, said):
    causes = [
        cause_of("bank-conflicts", 20.0),
        cause_of("barriers", 5.0, together=second),
        cause_of("uncoalesced-loads", 10.0, together=third),
    ]
    removed = f"With barriers and uncoalesced-loads removed as well, likely to save {third:.0f} %: "
    assert (removed + said) in next_text(causes)


@pytest.mark.parametrize(
    ("part", "other", "is_named"),
    [
        (0.8, 0.8, True),
        (0.05, 0.8, False),  # L2 is left with nearly all of its work
        (0.8, 0.0, False),  # nothing spares the other unit
    ],
)
def test_needless_work_at_a_ceiling_that_another_unit_hides_is_named(monkeypatch, part, other, is_named):
    """L1 is busier than L2, so that sparing L2 saves less than 3 % by itself, and most of the time where L1 is spared too."""
    ceiling = Candidate("at-l2-bandwidth", "Why.", "Change.", saves=0.0, at_most=0.05, resource="l2")
    in_l1 = Candidate("bank-conflicts", "Why.", "Change.", Effect({"l1": other}))
    in_l2 = Candidate("uncoalesced-stores", "Why.", "Change.", Effect({"l2": part}))
    evidence = evidence_of("EXIT", busy={"l1": 0.99, "l2": 0.95}, waits={"lg_throttle": 1.0})
    assert evidence.model.saved(in_l2.effect) < WORTH_A_CHANGE
    monkeypatch.setattr(find, "DETECTORS", (lambda _: [ceiling, in_l1, in_l2],))
    assert (in_l2 in find_candidates(evidence)) == is_named


@pytest.mark.parametrize(("issuing", "is_named"), [(0.6, True), (0.2, False)])
def test_a_full_unit_hides_what_needs_much_of_the_time_once_it_is_spared(issuing, is_named):
    """Without its unused sectors, L2 leaves the time to the instructions."""
    apart = Candidate("uncoalesced-loads", "Why.", "Change.", Effect({"l2": 0.8}))
    fewer = Candidate("integer-overhead", "Why.", "Change.", Effect({"issue": 0.5}))
    evidence = evidence_of("EXIT", busy={"l2": 0.99, "issue": issuing}, waits={"long_scoreboard": 1.0})
    each = saved_by(evidence.model, apart, fewer)
    assert each[fewer] < WORTH_A_CHANGE
    assert list(find_hidden(evidence.model, [apart], each, [fewer])) == [fewer] * is_named


@pytest.mark.parametrize(
    ("launching", "launches", "is_named"),
    [
        (0.99, 0.8, True),
        (0.99, 0.05, False),  # as many blocks are launched
        (0.1, 0.8, False),  # the GPU could launch ten times as many
    ],
)
def test_what_is_full_of_launching_blocks_hides_what_else_is_nearly_full(launching, launches, is_named):
    fewer_blocks = Candidate("too-little-work-a-thread", "Why.", "Change.", Effect({"launch": launches}))
    wide = Candidate("narrow-accesses", "Why.", "Change.", Effect({"l1": 0.8}))
    slots = WarpSlots(empty=0.3, launching=launching)
    evidence = evidence_of("EXIT", busy={"l1": 0.97}, waits={"lg_throttle": 1.0}, warp_slots=slots)
    more = Candidate("loads-not-overlapped", "Why.", "Change.", Effect({"l1": 0.05}, {"lg_throttle": 0.9}))
    each = saved_by(evidence.model, fewer_blocks, wide, more)
    assert (each[wide] < WORTH_A_CHANGE) == (launching == 0.99)
    found = find_hidden(evidence.model, [fewer_blocks], each, [wide, more])
    assert list(found) == [wide] * is_named  # to which the other change adds nothing


@pytest.mark.parametrize(
    ("second", "hidden"),
    [("narrow-accesses", "narrow-accesses"), ("too-little-work-a-thread", "bank-conflicts")],
)
def test_only_what_is_named_takes_from_what_another_change_would_add(second, hidden):
    """Both spare as much of L1, so that either adds nothing to the other. Of a cause that is named already, the second is not named."""
    fewer_blocks = Candidate("too-little-work-a-thread", "Why.", "Change.", Effect({"launch": 0.8}))
    other = Candidate(second, "Why.", "Change.", Effect({"l1": 0.8}))
    wide = Candidate("bank-conflicts", "Why.", "Change.", Effect({"l1": 0.8}))
    slots = WarpSlots(empty=0.3, launching=0.99)
    evidence = evidence_of("EXIT", busy={"l1": 0.97}, waits={"lg_throttle": 1.0}, warp_slots=slots)
    each = saved_by(evidence.model, fewer_blocks, other, wide)
    found = find_hidden(evidence.model, [fewer_blocks], each, [other, wide])
    assert [one.name for one in found] == [hidden]


@pytest.mark.parametrize(
    ("names", "places", "is_one"),
    [
        (("redundant-instructions", "too-little-work-a-thread"), (0, 1, 2), True),
        (("narrow-accesses", "uncoalesced-loads"), (0, 1, 2), True),
        (("redundant-instructions", "too-little-work-a-thread"), (0, 3, 4, 5), False),  # half of two others
        (("redundant-instructions", "special-functions"), (0, 1, 2), False),  # which can be computed faster, too
    ],
)  # fmt: skip
def test_two_causes_that_ask_for_one_change_of_the_same_code_save_what_the_larger_does(names, places, is_one):
    sites = evidence_of(*["FADD R5, R5, R4"] * 6).sites
    model = TimeModel({"issue": 0.9}, {UNNAMED: 1.0})
    small, large = (
        Candidate(name, "Why.", "Change.", Effect({"issue": part}), dict.fromkeys((sites[place] for place in taken), 1.0))
        for name, part, taken in zip(names, (0.3, 0.4), ((0, 1), places), strict=True)
    )  # fmt: skip
    each = saved_by(model, small, large)
    assert (saved_together(model, each) == pytest.approx(each[large])) == is_one
