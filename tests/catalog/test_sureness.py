"""How sure a first cause is: what is said of one blind test from all others holds on it."""

import math
from statistics import mean

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
    assert read_record() == blind.count_answers(PAIRS), "blind.py writes it anew"
    assert sum(count.kernels for count in read_record().values()) == len(PAIRS)


def test_the_answers_that_name_a_cause_are_those_of_all_bands():
    named = [pair for pair in PAIRS if pair["named_1"] == "idle-lanes"]
    right, three = sum(map(is_right, named)), sum(map(is_among_three, named))
    assert answers_naming("idle-lanes") == (len(named), right, three)


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


def test_it_says_more_than_the_mean_of_all_answers(predicted):
    def error(said):
        return mean((said - is_right(pair)) ** 2 for (pair, _), said in zip(predicted, said, strict=True))

    alike = [mean(map(is_right, PAIRS))] * len(predicted)
    assert error([sure.right_first_pct / 100 for _, sure in predicted]) < 0.9 * error(alike)


@pytest.mark.parametrize("kernels", [9, 10])
def test_a_cause_counts_alone_if_it_stood_first_often_enough(kernels):
    """If not, so do all that promised as much: none of another band, and no ceiling. Of a ceiling, only ceilings count."""
    record = {
        ("barriers", 20): Answers(kernels, 1, 2),
        ("idle-lanes", 20): Answers(30, 20, 25),
        ("idle-lanes", 40): Answers(50, 50, 50),
        ("at-fma-rate", 20): Answers(3, 0, 0),
        ("at-alu-rate", 20): Answers(1, 1, 1),
    }
    alone, all_alike = Sureness(10, 1, 2, True), Sureness(39, 21, 27, False)
    assert how_sure("barriers", 25.0, record) == (alone if kernels == 10 else all_alike)
    assert how_sure("never-first", 25.0, record) == Sureness(30 + kernels, 21, 27, False)
    assert (
        how_sure("at-fma-rate", 25.0, record)
        == how_sure("at-xu-rate", 25.0, record)
        == Sureness(4, 1, 1, False)
    )


@pytest.mark.parametrize(("expected", "band"), [(0, 0), (19.9, 0), (20, 20), (60, 60), (100, 60), (-1, 0)])
def test_what_is_likely_to_be_saved_falls_into_a_band(expected, band):
    assert band_of(expected) == band
    assert band in BANDS
