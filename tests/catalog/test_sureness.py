"""How sure a first cause and its estimate are: what is said of one blind test from all others holds on it."""

import math
from statistics import mean, stdev

import blind
import pytest

from profiler.catalog.causes.sureness import (
    BANDS,
    Answers,
    Sureness,
    answers_naming,
    band_of,
    how_sure,
    read_record,
)

PAIRS = blind.read_scored()


def is_right(pair):
    return pair["rank"] == "1"


def is_among_three(pair):
    return pair["rank"] in ("1", "2", "3")


def points_off(pair):
    return abs(float(pair["expects_1"] or 0) - float(pair["saved"]))


@pytest.fixture(scope="module")
def predicted():
    """Each pair, with how sure its answer is by the record of all tests but its own."""
    found = []
    for test in {pair["test"] for pair in PAIRS}:
        record = blind.count_answers(pair for pair in PAIRS if pair["test"] != test)
        found += [
            (pair, how_sure(pair["named_1"], float(pair["expects_1"] or 0), record))
            for pair in PAIRS
            if pair["test"] == test
        ]
    return found


def test_the_record_counts_the_pairs_of_the_blind_tests():
    assert read_record() == blind.count_answers(PAIRS, blind.read_all_followed()), "blind.py writes it anew"
    assert sum(count.kernels for count in read_record().values()) == len(PAIRS)


def test_kernels_that_were_followed_are_pairs_whose_author_changed_something_else():
    pairs = {(pair["test"], pair["pair"]): pair for pair in PAIRS}
    for row in blind.read_followed():
        pair = pairs[row["test"], row["pair"]]
        assert row["cause"] not in pair["right"].split(), row
        assert row["authors"] == pair["saved"], row


def test_what_was_followed_before_the_authors_change_was_known_is_what_was_named_first():
    named = {(pair["test"], pair["pair"]): pair["named_1"] for pair in PAIRS}
    for row in blind.read_followed(blind.FOLLOWED_UNSEEN):
        assert row["cause"] == named.get((row["test"], row["pair"]), row["cause"]), row


@pytest.mark.parametrize(
    ("rank", "saved", "counted"), [("2", "25", (1, 1)), ("2", "", (1, 0)), ("1", "25", (0, 0))]
)
def test_where_the_author_changed_the_same_following_it_says_nothing_more(rank, saved, counted):
    pair = {"test": "1", "pair": "a", "named_1": "barriers", "expects_1": "30", "rank": rank, "saved": "40"}
    row = {"test": "1", "pair": "a", "cause": "barriers", "saved": saved}
    (count,) = blind.count_answers([pair], [row]).values()
    assert count[4:] == counted


def test_only_first_causes_that_were_named_before_the_kernel_was_known_count_as_followed():
    pair = {"test": "1", "pair": "a", "named_1": "barriers", "expects_1": "30", "rank": "", "saved": "40"}
    rows = [{"test": "1", "pair": "a", "cause": cause, "saved": "25"} for cause in ("barriers", "idle-lanes")]
    counts = [blind.count_answers([pair], [row]) for row in rows]
    assert [next(iter(one.values()))[4:] for one in counts] == [(1, 1), (0, 0)]


def test_the_answers_that_name_a_cause_are_those_of_all_bands():
    named = [pair for pair in PAIRS if pair["named_1"] == "idle-lanes"]
    right, three = sum(map(is_right, named)), sum(map(is_among_three, named))
    off = sum(points_off(pair) for pair in named if is_right(pair))
    assert answers_naming("idle-lanes")[:4] == (len(named), right, three, pytest.approx(off))


@pytest.mark.parametrize(("least", "most"), [(0, 50), (50, 70), (70, 85), (85, 100)])
def test_answers_are_right_as_often_as_is_said(predicted, least, most):
    """Within three standard errors of so many answers, of which about half are right."""
    some = [(pair, sure.right_first_pct) for pair, sure in predicted if least <= sure.right_first_pct < most]
    said = mean(pct for _, pct in some)
    found = 100 * mean(is_right(pair) for pair, _ in some)
    assert len(some) >= 50
    assert found == pytest.approx(said, abs=3 * 100 * math.sqrt(0.25 / len(some)))


def test_the_right_cause_is_among_three_as_often_as_is_said(predicted):
    said = 100 * mean(sure.among_three / sure.kernels for _, sure in predicted)
    assert 100 * mean(is_among_three(pair) for pair, _ in predicted) == pytest.approx(said, abs=2)


@pytest.mark.parametrize(("least", "most"), [(0, 10), (10, 20), (20, 40)])
def test_right_estimates_are_as_far_off_as_is_said(predicted, least, most):
    """Within three standard errors: so far off were so many answers that were right first."""
    some = [(pair, sure.points_off) for pair, sure in predicted if is_right(pair)]
    some = [(points_off(pair), said) for pair, said in some if said is not None and least <= said < most]
    found = [off for off, _ in some]
    assert len(some) >= 50
    assert mean(found) == pytest.approx(
        mean(said for _, said in some), abs=3 * stdev(found) / math.sqrt(len(some))
    )


def test_it_says_more_than_the_mean_of_all_answers(predicted):
    def error(said):
        return mean((said - is_right(pair)) ** 2 for (pair, _), said in zip(predicted, said, strict=True))

    alike = [mean(map(is_right, PAIRS))] * len(predicted)
    assert error([sure.right_first_pct / 100 for _, sure in predicted]) < 0.9 * error(alike)


@pytest.mark.parametrize("kernels", [9, 10])
def test_a_cause_counts_alone_if_it_stood_first_often_enough(kernels):
    """If not, so do all that promised as much: none of another band, and no ceiling. Of a ceiling, only ceilings count."""
    record = {
        ("barriers", 20): Answers(kernels, 1, 2, 22.0),
        ("idle-lanes", 20): Answers(30, 20, 25, 188.0),
        ("idle-lanes", 40): Answers(50, 50, 50, 50.0),
        ("at-fma-rate", 20): Answers(3, 0, 0, 0.0),
        ("at-alu-rate", 20): Answers(1, 1, 1, 40.0),
    }
    alone, all_alike = Sureness(10, 1, 2, True, 12.0), Sureness(39, 21, 27, False, 12.0)
    assert how_sure("barriers", 25.0, record) == (alone if kernels == 10 else all_alike)
    assert how_sure("never-first", 25.0, record) == Sureness(30 + kernels, 21, 27, False, 10.0)
    assert (
        how_sure("at-fma-rate", 25.0, record)
        == how_sure("at-xu-rate", 25.0, record)
        == Sureness(4, 1, 1, False, None)
    )


@pytest.mark.parametrize(("right_first", "off"), [(0, 10.0), (5, 15.0), (15, 17.5), (95, 19.5)])
def test_the_estimates_of_a_cause_count_beside_five_typical_ones(right_first, off):
    """Its own are 20 points off, and those of all that promised as much 10. What a wrong cause would have saved, nobody has measured."""
    record = {
        ("barriers", 20): Answers(200, right_first, 200, 20.0 * right_first),
        ("idle-lanes", 20): Answers(100_000, 100_000 - right_first, 100_000, 1_000_000 - 20.0 * right_first),
    }
    assert how_sure("barriers", 25.0, record).points_off == pytest.approx(off, abs=0.1)


def test_few_right_answers_say_nothing_of_estimates():
    assert how_sure("barriers", 25.0, {("barriers", 20): Answers(40, 9, 30, 180.0)}).points_off is None


@pytest.mark.parametrize(("expected", "band"), [(0, 0), (19.9, 0), (20, 20), (60, 60), (100, 60), (-1, 0)])
def test_what_is_likely_to_be_saved_falls_into_a_band(expected, band):
    assert band_of(expected) == band
    assert band in BANDS
