"""Random numbers of a generator that makes four at a time."""

from dataclasses import replace

import pytest
from made_evidence import evidence_of

from profiler.analyse.causes.detectors.instructions.idioms import detect_dropped_numbers

_FACTORS = ("-0x2daee0ad", "-0x326172a9")


def rounds_of_philox(used, wide, factors=_FACTORS):
    """Returns ten rounds as compilers write them: whole products or their halves, and of the last round what is used."""
    lines = []
    words = ["R0", "R1", "R2", "R3"]
    for number in range(10):
        first = 20 + 8 * number
        low_a, high_a, low_b, high_b, mixed_b, mixed_a = (f"R{first + place}" for place in range(6))
        needed = used if number == 9 else 4
        for low, high, word, factor in (
            (low_b, high_b, words[2], factors[1]),
            (low_a, high_a, words[0], factors[0]),
        ):
            if wide:
                lines.append(f"IMAD.WIDE.U32 {low}, {word}, {factor}, RZ")
            else:
                lines += [f"IMAD.HI.U32 {high}, {word}, {factor}, RZ", f"IMAD {low}, {word}, {factor}, RZ"]
        mixing = [
            f"LOP3.LUT {mixed_b}, {high_b}, {words[1]}, UR4, 0x96, !PT",
            f"LOP3.LUT {mixed_a}, {high_a}, {words[3]}, UR5, 0x96, !PT",
        ]
        lines += mixing[:needed]
        words = [mixed_b, low_b, mixed_a, low_a]
    in_order = [words[0], words[2], words[1], words[3]]
    return [*lines, *[f"I2FP.F32.U32 R{4 + place}, {word}" for place, word in enumerate(in_order[:used])]]


@pytest.mark.parametrize("wide", [True, False])
@pytest.mark.parametrize(("used", "found"), [(1, 1), (2, 2), (3, 3), (4, None)])
def test_numbers_are_dropped_where_fewer_than_four_of_a_generator_are_used(used, found, wide):
    candidates = list(detect_dropped_numbers(evidence_of(*rounds_of_philox(used, wide))))
    counted = [round(one.evidence["used_of_four_numbers"]) for one in candidates]
    assert counted == ([found] if found else [])
    for candidate in candidates:
        assert candidate.name == "redundant-instructions"
        part = 1 - candidate.evidence["used_of_four_numbers"] / 4
        assert candidate.effect.resources["fma_heavy"] == pytest.approx(part)


def test_other_products_of_64_bits_make_no_random_numbers():
    assert not list(
        detect_dropped_numbers(evidence_of(*rounds_of_philox(1, True, ("0x2daee0ad", "0x326172a9"))))
    )


def test_the_place_of_dropped_numbers_is_the_line_that_uses_them_where_the_generator_is_of_a_library():
    evidence = evidence_of(*rounds_of_philox(1, True), "FSETP.GT.AND P0, PT, R4, R9, PT")
    (alone,) = detect_dropped_numbers(evidence)
    assert {site.instruction.name for site in alone.weights} == {"IMAD", "LOP3"}
    for site in evidence.sites[:-1]:
        site.instruction = replace(site.instruction, file="random.py")
    (candidate,) = detect_dropped_numbers(evidence)
    assert [site.instruction.name for site in candidate.weights] == ["FSETP"]


@pytest.mark.parametrize(
    "line",
    [
        "LOP3.LUT P0, RZ, R21, 0x1, RZ, 0xc0, !PT",
        "LOP3.LUT P0, R5, R21, 0x1, RZ, 0xc0, !PT",
        "IMAD RZ, R0, 0xd2511f53, RZ",
    ],
)
def test_instructions_that_keep_no_word_are_no_numbers(line):
    lines = ["IMAD.WIDE.U32 R20, R0, -0x2daee0ad, RZ", "IMAD.WIDE.U32 R22, R1, -0x326172a9, RZ", line]
    list(detect_dropped_numbers(evidence_of(*lines)))  # does not raise


def test_a_hash_that_multiplies_by_one_of_the_factors_makes_no_random_numbers():
    assert not list(
        detect_dropped_numbers(evidence_of(*rounds_of_philox(1, True, ("-0x2daee0ad", "0x326172a9"))))
    )
