"""A cause went or came only if the other side has clearly less of it, and explains a change only if it changed itself."""

import pytest
from msgspec.structs import replace

from profiler.analyse.causes.cause import Diagnosis
from profiler.analyse.causes.find import find_all
from profiler.analyse.compare.changed_causes import compare_causes, find_alike
from profiler.analyse.compare.compare import compare_profiles
from profiler.catalog.causes import BY_NAME, MEASURED_BY
from profiler.catalog.metrics import BY_NAME as METRICS
from profiler.present.document import Document, Records
from profiler.present.documents.parts.causes import changed_cause_blocks
from profiler.present.render.terminal import Window, document_text
from tests.made_causes import cause_of
from tests.profiles import profiles_in


def diagnosed(named, others=()):
    """A diagnosis that names these causes, and knows what others would save in percent."""
    causes = [cause_of(name, saves) for name, saves in named.items()]
    return Diagnosis(causes, [], 100.0, others=dict(others))


def names(causes):
    return [one.cause for one in causes]


# What removing barriers saves on the side that names them, and on the side that does not.
FOUND = pytest.mark.parametrize(
    ("named", "other", "remains"), [(3.7, 2.9, True), (9.0, 2.9, False), (8.4, 2.8, True), (8.5, 0.0, False)]
)


@FOUND
def test_a_cause_is_new_only_if_the_first_side_has_less_than_a_third_of_it(named, other, remains):
    found = compare_causes(diagnosed({}, {"barriers": other}), diagnosed({"barriers": named}))
    kept = [(one.cause, one.before_pct, one.after_pct) for one in found.kept]
    assert kept == ([("barriers", other, named)] if remains else [])
    assert names(found.new) == ([] if remains else ["barriers"])


@FOUND
def test_a_cause_of_note_is_gone_only_if_less_than_a_third_of_it_is_left(named, other, remains):
    found = compare_causes(diagnosed({"barriers": named}), diagnosed({}, {"barriers": other}))
    kept = [(one.cause, one.before_pct, one.after_pct) for one in found.kept]
    is_of_note = named >= 5
    assert kept == ([("barriers", named, other)] if remains and is_of_note else [])
    assert names(found.gone) == ([] if remains or not is_of_note else ["barriers"])


def test_a_diagnosis_knows_what_the_causes_would_save_that_it_does_not_name(recorded):
    """Of gemm 5, removing the conflicts of register banks saves 2.99 %; only 3 % is worth a change."""
    before, after = (find_all(one) for one in profiles_in(recorded, "5", "6"))
    name = "register-bank-conflicts"
    assert 0 < before.others[name] <= 3
    assert before.saves(name) == before.others[name]
    assert before.others.keys().isdisjoint(names(before.causes))
    (cause,) = [one for one in after.causes if one.cause == name]
    assert after.saves(name) == cause.saves_pct.expected
    assert after.saves("no-such-cause") == 0


def test_a_smaller_cause_of_both_sides_remains_with_both_figures(recorded):
    sides = profiles_in(recorded, "5", "6")
    text = shown(compare_profiles(*sides))
    assert "register-bank-conflicts at 06_vectorized.cu:67 (before: 3 %)" in text
    assert "new" not in text


def shown(comparison, *, full=False):
    document = Document("", [changed_cause_blocks(comparison, "b", full=full)], Records((), ()))
    return document_text(document, Window(width=100))


# Kernels that have a cause alike


@pytest.fixture
def side(make_profile):
    """A kernel that loads so many bits at once, and has so many bank conflicts."""

    def profile(loads, conflicts=None):
        metrics = {} if conflicts is None else {"shared_conflicts": conflicts}
        code = [(f"LDG.E{'' if loads == 32 else f'.{loads}'}", 100), ("STG.E", 100)]
        return make_profile({"metrics": metrics, "instructions": code})

    return profile


@pytest.mark.parametrize(
    ("before", "after", "alike"),
    [
        ((32,), (32,), {"narrow-accesses"}),
        ((32,), (128,), set()),
        ((128, 1000.0), (32, 1005.0), {"bank-conflicts"}),
        ((128, 1000.0), (32, 1011.0), set()),
        ((128, 0.0), (32, 0.0), set()),  # neither has any
        ((128, 1000.0), (32,), set()),  # one of them recorded none
    ],
)
def test_two_kernels_have_a_cause_alike_if_what_was_measured_of_it_is_the_same(side, before, after, alike):
    assert find_alike(side(*before), side(*after)) & set(MEASURED_BY) == alike


def test_a_cause_that_both_sides_have_alike_limits_one_of_them_and_neither_came_nor_went():
    without, narrow = diagnosed({}), diagnosed({"narrow-accesses": 17.0})
    for sides in ((without, narrow), (narrow, without)):
        found = compare_causes(*sides, alike={"narrow-accesses"})
        assert (found.gone, found.new, names(found.unmoved)) == ([], [], ["narrow-accesses"])
    grown = compare_causes(narrow, diagnosed({"narrow-accesses": 30.0}), alike={"narrow-accesses"})
    assert (grown.more, len(grown.kept)) == ([], 1)


# Causes that others hide


def hiding(duration_ns, idle_lanes, taken):
    """A kernel whose idle lanes would save so much, and take so much of its time behind other work, in percent."""
    causes = [cause_of("idle-lanes", idle_lanes)] if idle_lanes else []
    return Diagnosis(causes, [], duration_ns, taken={"idle-lanes": taken})


@pytest.mark.parametrize(
    ("before", "after", "grew"),
    [
        (45.0, 50.0, False),  # 90 ns before and after: something that went hid it
        (15.0, 49.0, False),  # 88 ns after 30: what hid it made it wait for longer, or for less long
        (15.0, 51.0, True),  # 92 ns: over three times as long
        (1.0, 6.0, False),  # 9 ns more, which are below 5 % of the longer time
        (1.0, 7.0, True),
    ],
)
def test_a_cause_of_a_faster_side_grew_only_if_what_it_adds_clearly_takes_longer(before, after, grew):
    found = compare_causes(hiding(200.0, 11.0, before), hiding(180.0, 47.0, after))
    assert names(found.more) == (["idle-lanes"] if grew else [])
    assert [(one.before_pct, one.after_pct) for one in found.kept] == [(11.0, 47.0)]


@pytest.mark.parametrize(("taken", "appeared"), [(16.0, False), (14.0, True)])
def test_a_cause_that_only_came_to_light_did_not_appear_but_limits_now(taken, appeared):
    """Of a side that is 10 % faster, 50 % of the time are 45 % of that before."""
    found = compare_causes(hiding(200.0, 0.0, taken), hiding(180.0, 47.0, 50.0))
    assert (names(found.new), names(found.unmoved)) == (
        (["idle-lanes"], []) if appeared else ([], ["idle-lanes"])
    )


def test_a_cause_that_is_hidden_now_neither_shrank_nor_went_away():
    shrank = compare_causes(hiding(180.0, 47.0, 50.0), hiding(200.0, 11.0, 45.0))
    gone = compare_causes(hiding(180.0, 47.0, 50.0), hiding(200.0, 0.0, 45.0))
    assert (shrank.less, gone.gone, names(gone.unmoved)) == ([], [], ["idle-lanes"])


def test_what_costs_a_slower_side_time_appeared_whatever_hid_it_before():
    found = compare_causes(hiding(200.0, 0.0, 50.0), hiding(220.0, 30.0, 45.0))
    assert (names(found.new), found.unmoved) == (["idle-lanes"], [])


def test_of_rungs_that_got_faster_what_was_hidden_before_did_not_grow(recorded):
    found = compare_profiles(*profiles_in(recorded, "1", "2"))
    (kept,) = [one for one in found.causes_kept if one.cause == "redundant-global-loads"]
    assert (kept.before_pct, kept.after_pct) == pytest.approx((11.8, 75.1), abs=1)
    assert found.causes_more == []
    assert "Against that" not in found.headline.why


def test_such_a_cause_is_said_to_limit_now_or_to_have_limited_before(recorded):
    found = compare_profiles(*profiles_in(recorded, "5", "6"))
    cause = replace(found.causes[0], cause="narrow-accesses", where=[])
    lists = {one: [] for one in found.__struct_fields__ if one.startswith("causes")}
    unmoved = replace(found, **{**lists, "causes_unmoved": ["narrow-accesses"]})
    meaning = (
        "Both kernels have the causes at `limits now` and `limited before`, which cost only one of them time."
    )
    assert meaning in " ".join(shown(unmoved).split())
    assert meaning not in " ".join(shown(replace(unmoved, causes_unmoved=[], causes_gone=["x"])).split())
    assert "limited before  narrow-accesses" in shown(unmoved)
    assert f"limits now  {cause.saves_pct.expected:>4.0f} %  narrow-accesses" in shown(
        replace(unmoved, causes=[cause])
    )


@pytest.mark.parametrize(("waiting", "is_said"), [(20.0, True), (12.0, False)])
def test_why_the_next_step_is_not_the_largest_saving_is_said_once_and_not_folded(recorded, waiting, is_said):
    found = compare_profiles(*profiles_in(recorded, "5", "6"))
    causes = [
        cause_of(name, saves, why=f"Why {name}.")
        for name, saves in (("bank-conflicts", 15.0), ("dependent-chain", waiting))
    ]
    for full in (False, True):
        page = shown(replace(found, causes=causes, causes_unmoved=["dependent-chain"]), full=full)
        assert ("Why dependent-chain." in page) == full
        assert page.count("bank-conflicts stands first, although dependent-chain may save more") == is_said


def test_every_quantity_of_a_cause_is_a_metric():
    for cause, metrics in MEASURED_BY.items():
        assert cause in BY_NAME
        assert set(metrics) <= METRICS.keys()
