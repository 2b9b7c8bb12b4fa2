"""Random numbers of which a kernel uses fewer than it draws."""

import pytest
from made_evidence import evidence_of

from profiler.analyse.causes.detectors.instructions.random_numbers import detect_unused_numbers

A, B = "-0x2daee0ad", "-0x326172a9"  # the factors of Philox, of 32 bits with a sign
ROUNDS = 10


def evaluate(words, factors=(A, B), start=10):
    """Returns an evaluation of Philox without what its numbers do not need: `words` are those that are stored."""
    lines, state = [], ["R0", "R1", "R2", "R3"]
    for turn in range(ROUNDS):
        upper, lower, other_upper, other_lower, first, third = (f"R{start + 6 * turn + k}" for k in range(6))
        lines += [
            (f"IMAD.HI.U32 {upper}, {state[2]}, {factors[0]}, RZ", upper),
            (f"IMAD {lower}, {state[2]}, {factors[0]}, RZ", lower),
            (f"IMAD.HI.U32 {other_upper}, {state[0]}, {factors[1]}, RZ", other_upper),
            (f"IMAD {other_lower}, {state[0]}, {factors[1]}, RZ", other_lower),
            (f"LOP3.LUT {first}, {upper}, {state[1]}, UR4, 0x96, !PT", first),
            (f"LOP3.LUT {third}, {other_upper}, {state[3]}, UR5, 0x96, !PT", third),
        ]
        state = [first, lower, third, other_lower]
    needed, kept = {state[word] for word in words}, []
    for line, written in reversed(lines):
        if written in needed:
            needed.update(one.strip(",") for one in line.split()[2:])
            kept.append(line)
    return [*reversed(kept), *(f"STG.E [R4.64+{4 * word:#x}], {state[word]}" for word in words)]


@pytest.mark.parametrize("words", [[0], [1], [2], [3], [0, 1], [1, 2], [0, 2]])
def test_numbers_that_were_drawn_and_are_not_used_go(words):
    (candidate,) = detect_unused_numbers(evidence_of(*evaluate(words)))
    assert candidate.evidence["numbers_used"] == len(words)
    fraction = 1 - len(words) / 4
    assert candidate.weights
    assert set(candidate.weights.values()) == {100 * fraction}
    assert f"{len(words)} of the four" in candidate.sentence
    assert ("by `tl.rand4x` in place of `tl.rand`:" in candidate.in_triton) == (len(words) == 1)
    assert ("by `tl.randn4x` in place of `tl.randn`:" in candidate.in_triton) == (len(words) == 2)


@pytest.mark.parametrize("words", [[0, 1, 2], [0, 1, 2, 3]])
def test_who_uses_most_numbers_wastes_none(words):
    assert not list(detect_unused_numbers(evidence_of(*evaluate(words))))


def test_products_with_other_factors_are_no_random_numbers():
    assert not list(detect_unused_numbers(evidence_of(*evaluate([0], factors=("0x9e3779b1", "0x85ebca77")))))


def test_two_evaluations_for_two_numbers_each_waste_three():
    lines = [*evaluate([0]), *evaluate([0], start=100)]
    (candidate,) = detect_unused_numbers(evidence_of(*lines))
    assert candidate.evidence["numbers_used"] == 1
