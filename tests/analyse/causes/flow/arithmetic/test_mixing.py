"""What mixes the bits of words, as a hash does, and what computes with them and keeps their order."""

import pytest
from made_evidence import evidence_of

from profiler.analyse.causes.flow.arithmetic.mixing import find_mixing

LOAD = "LDG.E R6, [R2.64]"
SEED = "IMAD R6, R0, 0x20, R3"
LOOKUP = ("LOP3.LUT R9, R6, 0xfc, RZ, 0xc0, !PT", "LDG.E R4, [R9]")


def found_in(*lines):
    """Returns the places of the instructions that mix words, or make those that are mixed."""
    evidence = evidence_of(*lines)
    found = find_mixing(evidence)
    return [place for place, site in enumerate(evidence.sites) if site in found]


@pytest.mark.parametrize(
    ("step", "mixes"),
    [
        ("SHF.L.W.U32.HI R7, R6, 0x7, R6", True),
        ("SHF.L.W.U32.HI R7, R6.reuse, 0x7, R6", True),
        ("USHF.L.W.U32.HI UR7, UR6, 0x10, UR6", True),
        ("LEA.HI R7, R6, R8, R6, 0xc", True),  # a rotation and a sum
        ("SHF.L.W.U32.HI R7, R6, 0x7, R8", False),  # of two words, as for a shift by 64 bits
        ("LEA.HI R7, R6, R8, RZ, 0x1", False),  # as before the half of a signed number
        ("SHF.L.U32 R7, RZ, 0x1f, RZ", False),  # the phase of a barrier, which is zero
    ],
)
def test_a_word_that_is_rotated_is_mixed(step, mixes):
    assert found_in(step) == ([0] if mixes else [])


LOWER, UPPER = "SHF.L.W.U32.HI R10, R7, 0xd, R6", "SHF.L.W.U32.HI R11, R6, 0xd, R7"


@pytest.mark.parametrize(
    ("between", "upper", "mixes"),
    [
        ((), UPPER, True),
        ((), UPPER.replace("0xd", "0xe"), False),
        ((), UPPER.replace("R7", "R8"), False),
        (("IADD3 R7, R7, 0x1, RZ",), UPPER, False),  # another word in the same register
        (("IADD3 R8, R8, 0x1, RZ",), UPPER, True),
    ],
)
def test_two_words_are_rotated_as_one_where_each_gives_the_other_what_leaves_it(between, upper, mixes):
    rotated = [0, 1 + len(between)] if mixes else []
    assert found_in(LOWER, *between, upper) == rotated


def fold(by, *, made="R8", of="R6", table="0x3c"):
    """An exclusive or of a word and itself shifted, and the multiplication behind it."""
    return (
        f"SHF.R.U32.HI R7, RZ, {by}, {of}",
        f"LOP3.LUT {made}, R7, {of}, RZ, {table}, !PT",
        f"IMAD R6, {made}, -0x7a143595, RZ",
    )


LEFT = ("IMAD.SHL.U32 R7, R6, 0x2000, RZ", "LOP3.LUT R6, R7, R6, RZ, 0x3c, !PT")


@pytest.mark.parametrize(
    ("folds", "mixing"),
    [
        ((fold("0x10"), fold("0xd")), range(1, 6)),  # all but the multiplication behind the last
        ((fold("0x10"), LEFT), range(1, 6)),
        ((fold("0x10"),), ()),  # as where the places of a tile are swizzled
        ((fold("0x10", table="0x78"), fold("0xd", table="0x78")), ()),  # one is masked as well
        ((fold("0x10", table="0xfc"), fold("0xd", table="0xfc")), ()),  # bits that are spread
        ((fold("0x10", of="R4"), fold("0xd", of="R5")), ()),  # of two words
    ],
)
def test_folds_of_folds_mix_a_word(folds, mixing):
    assert [place for place in found_in(LOAD, *[line for one in folds for line in one]) if place] == [*mixing]


def test_a_round_in_a_loop_folds_what_the_turn_before_has_folded():
    one = fold("0xf")
    lines = ("MOV R6, R3", *one, "IADD3 R9, R9, 0x1, RZ", ("@P0 BRA 0x10", 100.0), "EXIT")
    assert found_in(*lines) == [0, 1, 2, 3]


def test_a_word_and_itself_are_shifted_by_different_places():
    """A round of the cipher TEA, and the next one of the other half."""
    lines = [
        line
        for half, other in (("R3", "R5"), ("R5", "R3"))
        for line in (
            f"VIADD R7, {half}, 0x9e3779b9",
            f"LEA R8, {half}, 0xad90777d, 0x4",
            f"LEA.HI R9, {half}, 0x7e95761e, RZ, 0x1b",
            "LOP3.LUT R7, R9, R8, R7, 0x96, !PT",
            f"IMAD.IADD {other}, {other}, 0x1, R7",
        )
    ]
    assert found_in(*lines) == list(range(9))  # all but the last sum


def test_the_halves_of_an_address_that_change_places_are_not_mixed():
    """Compilers exchange two registers in a loop by three exclusive ors, where they have none to spare."""
    address = ("LEA R7, P0, R6, UR4, 0x2", "LEA.HI.X R6, R6, UR5, R8, 0x2, P0")
    swap = [f"LOP3.LUT R{one}, R7, R6, RZ, 0x3c, !PT" for one in (7, 6, 7)]
    assert found_in(*address, *swap, "LDG.E R4, [R6.64]", "@P1 BRA 0x20", "EXIT") == []


@pytest.mark.parametrize(
    ("product", "mixes"),
    [
        ("IMAD.HI.U32 R7, R{0}, -0x2daee0ad, RZ", True),
        ("IMAD.WIDE.U32 R6, R{0}, -0x2daee0ad, RZ", True),  # R7 is the upper half
        ("IMAD.WIDE.U32 R7, R{0}, -0x2daee0ad, RZ", False),  # R7 is the lower half
        ("IMAD R7, R{0}, -0x2daee0ad, RZ", False),
    ],
)
def test_an_exclusive_or_with_the_upper_half_of_a_product_is_a_fold(product, mixes):
    """Philox draws random numbers by such rounds. Quotients of constants are upper halves too, but nothing is combined with these bit by bit."""
    rounds = [line for one in (4, 8) for line in (product.format(one), "LOP3.LUT R8, R7, R9, R10, 0x96, !PT")]
    assert found_in(*rounds) == ([0, 1, 2, 3] if mixes else [])


def test_the_upper_half_of_a_product_of_64_bits_is_a_sum():
    product = (
        "IMAD R9, R3, 0x27d4eb4f, RZ",
        "IMAD R9, R2, -0x3d4d51c3, R9",
        "IMAD.WIDE.U32 R2, R2, 0x27d4eb4f, RZ",
        "IADD3 R3, R3, R9, RZ",
        "SHF.R.U32.HI R7, RZ, 0x1, R3",
        "LOP3.LUT R2, R7, R2, RZ, 0x3c, !PT",  # h ^= h >> 33
    )
    assert found_in(*product, *product) == list(range(12))


def test_what_makes_the_words_belongs_to_a_hash_and_the_lookup_by_its_digits_does_not():
    step = "SHF.L.W.U32.HI R6, R6, 0x7, R6"
    assert found_in(SEED, step, *LOOKUP) == [0, 1]
    assert found_in("IMAD R2, R2, 0x3, R5", LOAD, step, *LOOKUP) == [1, 2]  # the address of a word is one


def test_what_a_word_is_made_of_is_known_past_a_call_that_leaves_it_alone():
    assert found_in(SEED, "CALL.REL.NOINC 0x40", "SHF.L.W.U32.HI R6, R6, 0x7, R6", "EXIT", "RET") == [0, 2]


def test_the_end_of_a_round_belongs_to_the_next_turn():
    lines = ("MOV R6, R3", "SHF.L.W.U32.HI R7, R6, 0x7, R6", "IADD3 R6, R7, R8, RZ", "@P0 BRA 0x10", *LOOKUP)
    assert found_in(*lines) == [0, 1, 2]


@pytest.mark.parametrize(
    ("joined", "belongs"),
    [
        ("LOP3.LUT R9, R6, R7, RZ, 0x3c, !PT", True),
        ("IADD3 R9, R6, R7, RZ", True),
        ("IADD3 R9, R6, R5, RZ", False),  # the start of an array
        ("IADD3 R9, R6, 0x1, RZ", False),
    ],
)
def test_mixed_words_that_are_joined_end_a_hash(joined, belongs):
    rotated = ("SHF.L.W.U32.HI R6, R6, 0x7, R6", "SHF.L.W.U32.HI R7, R7, 0x9, R7")
    assert found_in(*rotated, joined) == [0, 1, 2][: 3 if belongs else 2]


def test_a_sum_with_a_mixed_word_is_mixed_where_the_next_round_takes_it():
    rounds = ("SHF.L.W.U32.HI R6, R6, 0x7, R6", "IADD3 R7, R6, R5, RZ", "SHF.L.W.U32.HI R8, R7, 0x9, R7")
    assert found_in(*rounds, "LOP3.LUT R9, R7, R8, RZ, 0x3c, !PT") == [0, 1, 2, 3]
