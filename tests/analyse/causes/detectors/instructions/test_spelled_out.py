"""What many instructions spell out: which bits are counted and which values are chosen one by one, and what takes their place."""

import pytest
from made_evidence import evidence_of

from profiler.analyse.causes.detectors.instructions.idioms import (
    detect_chosen_one_by_one,
    detect_spelled_out,
)

LOAD, XOR = "LDG.E R2, [R8.64]", "LOP3.LUT R3, R2, R9, RZ, 0x3c, !PT"
BY_MASKS = (
    "SHF.R.U32.HI R4, RZ, 0x1, R3",
    "LOP3.LUT R4, R4, 0x55555555, RZ, 0xc0, !PT",
    "IMAD.IADD R3, R3, 0x1, -R4",
    "SHF.R.U32.HI R4, RZ, 0x2, R3",
    "LOP3.LUT R3, R3, 0x33333333, RZ, 0xc0, !PT",
    "LOP3.LUT R4, R4, 0x33333333, RZ, 0xc0, !PT",
    "IMAD.IADD R3, R3, 0x1, R4",
    "LEA.HI R3, R3, R3, RZ, 0x1c",
    "LOP3.LUT R3, R3, 0xf0f0f0f, RZ, 0xc0, !PT",
    "IMAD R3, R3, 0x1010101, RZ",
    "SHF.R.U32.HI R3, RZ, 0x18, R3",
)
STORE = "STG.E [R10.64], R3"


def by_shifts(bits, mask="0x1"):
    """Takes so many bits of R3, the first one without a shift, and adds them up in R7."""
    lines = [f"LOP3.LUT R7, R3, {mask}, RZ, 0xc0, !PT"]
    for bit in range(1, bits):
        lines += [
            f"SHF.R.U32.HI R5, RZ, {bit:#x}, R3",
            f"LOP3.LUT R6, R5, {mask}, RZ, 0xc0, !PT",
            "IADD3 R7, R7, R6, RZ",
        ]
    return lines


def find(*lines, **more):
    return list(detect_spelled_out(evidence_of(*lines, **more)))


def test_masks_that_sum_bits_are_the_instructions_from_the_word_to_its_count():
    (candidate,) = find(LOAD, XOR, *BY_MASKS, STORE)
    assert [site.position for site in sorted(candidate.weights, key=lambda one: one.position)] == [
        *range(2, 13)
    ]
    assert candidate.evidence["instructions_per_word"] == len(BY_MASKS)
    assert "by masks and sums" in candidate.sentence


@pytest.mark.parametrize("mask", ["0x55555555", "0x33333333", "0xf0f0f0f"])
def test_without_one_of_the_masks_the_arithmetic_is_another(mask):
    """A number in which bits alternate also serves to interleave bits, and to blend the channels of pixels."""
    assert find(LOAD, XOR, *(one.replace(mask, "0xff00ff") for one in BY_MASKS), STORE) == []


def test_masks_that_reverse_bits_add_nothing_and_count_none():
    reversing = [
        line
        for by, mask in (("0x1", "0x55555555"), ("0x2", "0x33333333"), ("0x4", "0xf0f0f0f"))
        for line in (
            f"SHF.R.U32.HI R4, RZ, {by}, R3",
            f"LOP3.LUT R4, R4, {mask}, RZ, 0xc0, !PT",
            f"LOP3.LUT R3, R3, {mask}, RZ, 0xc0, !PT",
            f"IMAD.SHL.U32 R3, R3, {1 << int(by, 16):#x}, RZ",
            "LOP3.LUT R3, R3, R4, RZ, 0xfc, !PT",
        )
    ]
    assert find(LOAD, XOR, *reversing, STORE) == []
    assert find(LOAD, XOR, *reversing[:-1], "IADD3 R3, R3, R4, RZ", STORE)


@pytest.mark.parametrize(("bits", "found"), [(7, 0), (8, 1), (32, 1)])
def test_a_byte_of_single_bits_is_counted_and_fewer_may_be_flags(bits, found):
    assert len(find(LOAD, XOR, *by_shifts(bits), STORE)) == found


def test_bits_that_are_not_added_up_are_not_counted():
    lines = [one.replace("IADD3 R7, R7, R6, RZ", "STS [R7], R6") for one in by_shifts(32)]
    assert find(LOAD, XOR, *lines, STORE) == []


def test_bits_that_go_into_sums_of_their_own_are_not_counted():
    """As those of the eight cells in a byte, each with its neighbours."""
    lines = by_shifts(8)
    sums = [place for place, one in enumerate(lines) if one.startswith("IADD3 R7")]
    for number, place in enumerate(sums):
        lines[place] = f"IADD3 R{20 + number}, R{30 + number}, R6, RZ"
    assert sums
    assert find(LOAD, XOR, *lines, STORE) == []


def test_bytes_of_a_word_are_no_single_bits():
    assert find(LOAD, XOR, *by_shifts(32, "0xff"), STORE) == []


def test_single_bits_of_other_words_are_other_words():
    """Each bit comes from a word that was loaded anew."""
    lines = [line for bit in range(1, 9) for line in (f"LDG.E R3, [R8.64+{bit:#x}]", *by_shifts(2)[1:])]
    assert find(*lines, STORE) == []


def test_a_shift_for_each_bit_spells_one_instruction_out():
    (candidate,) = find(LOAD, XOR, *by_shifts(32), STORE)
    assert candidate.evidence["instructions_per_word"] == 94
    assert "by a shift for each bit" in candidate.sentence
    # One instruction takes the place of 94 of the 97.
    assert candidate.effect.resources["issue"] == pytest.approx(93 / 97)


@pytest.mark.parametrize(("cycles", "saved"), [(1_000.0, 0.8), (220.0, 1 - 200 / 220)])
def test_the_unit_that_counts_bits_takes_two_cycles_for_each_word(cycles, saved):
    """100 warps of one SM count one word each."""
    figures = {"sm_cycles": cycles}
    (candidate,) = find(
        LOAD, XOR, *by_shifts(32), STORE, figures=figures, busy={"alu": 0.9}, waits={"math_pipe_throttle": 1.0},
        facts={3: {"waits": {"math_pipe_throttle": 100}}},
    )  # fmt: skip
    assert candidate.saves == pytest.approx(saved, abs=0.06)


# Values that are chosen by one comparison after another


def choices(count, number="R2", test="ISETP.NE.U32.AND P0, PT, {}, {:#x}, PT", select="FSEL R5, R5, {}, P0"):
    """Compares a number with so many constants, and selects another value for each."""
    lines = ["FADD R5, RZ, RZ"]
    for one in range(1, count + 1):
        lines += [test.format(number, one), select.format(one / 2)]
    return [*lines, "STG.E [R10.64], R5"]


def find_choices(*lines):
    return list(detect_chosen_one_by_one(evidence_of(LOAD, *lines)))


def test_a_value_chosen_by_one_comparison_after_another_is_looked_up_instead():
    (candidate,) = find_choices(*choices(15))
    assert sorted(site.position for site in candidate.weights) == [*range(4, 32)]
    assert candidate.evidence["choices"] == 14
    assert "28 instructions for each, where a lookup takes about 5" in candidate.sentence
    assert candidate.effect.resources["alu"] == pytest.approx(
        (28 - 5) / 30
    )  # the first two instructions stay


@pytest.mark.parametrize(("count", "is_named"), [(8, False), (9, True)])
def test_few_choices_take_hardly_more_than_a_lookup(count, is_named):
    """The first selection is between two constants, and not of the chain."""
    assert bool(find_choices(*choices(count))) == is_named


@pytest.mark.parametrize(
    "what",
    [
        {"test": "ISETP.GT.AND P0, PT, {}, {:#x}, PT"},  # limits of classes: a table does not have them
        {"test": "ISETP.NE.AND P0, PT, {}, {:#x}, P1"},  # another condition counts too
        {"test": "ISETP.NE.AND P0, PT, {}, R9, PT"},  # with what another lane has, perhaps
        {"select": "FSEL R5, R5, R7, P0"},  # values that are computed are in no table
        {"select": "FSEL R5, 1, {}, P0"},  # each of a value of its own
    ],
)
def test_other_comparisons_and_selections_are_no_table(what):
    assert find_choices(*choices(15, **what)) == []


def test_comparisons_of_different_numbers_are_no_table():
    lines = [line for one in range(15) for line in (f"IADD3 R2, R2, {one:#x}, RZ", *choices(1)[1:3])]
    assert find_choices("FADD R5, RZ, RZ", *lines, STORE) == []
