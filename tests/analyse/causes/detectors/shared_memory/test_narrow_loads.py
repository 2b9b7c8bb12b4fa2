"""Words of shared memory that a thread loads one by one, and that another order in the tile would bring together."""

import pytest
from made_evidence import evidence_of, executing

from profiler.analyse.causes.detectors.shared_memory.narrow_loads import detect_narrow_shared

THREADS = 64


def found(loads, *, address="IMAD R9, R5, 0x4, R1", step="NOP", stores=1, opcode="LDS", turns=100):
    """The candidate for a loop that loads from these distances behind an address, after so many stores."""
    made = (address,) if isinstance(address, str) else address
    before = ("LDC R1, c[0x0][0x28]", "S2R R5, SR_TID.X", *made, *["STS [R1], R5"] * stores)
    body = (*(f"{opcode} R{20 + place}, [R9+0x{at:x}]" for place, at in enumerate(loads)), step)
    lines = executing(1.0, *before) + executing(float(turns), *body)
    again = (f"@P0 BRA 0x{16 * len(before):x}", float(turns))
    evidence = evidence_of(*lines, again, ("EXIT", 1.0), block=THREADS, figures={"shared_of_l1_pct": 100.0})
    for site in evidence.of("shared load", "shared store"):
        site.passes = site.ideal_passes = site.executed
    return next(iter(detect_narrow_shared(evidence)), None)


ROWS = [0, 0x100, 0x200, 0x300]  # of 64 words, so that each thread takes a column of the tile


def test_a_column_of_a_tile_could_be_a_row():
    candidate = found(ROWS)
    assert candidate.name == "narrow-accesses"
    assert candidate.evidence == {"shared_loads": 4, "wide_shared_loads": 1}
    assert candidate.effect.resources["lsu"] == pytest.approx(3 * 100 / (4 * 100 + 1))


def test_as_many_different_words_come_in_as_many_passes():
    """32 lanes of four bytes fill a pass, and of 16 bytes four; where all lanes take the same words, each half of the warp needs one pass."""
    assert found(ROWS).effect.resources["l1"] == 0
    assert found(ROWS, address="MOV R9, R1").effect.resources["l1"] == pytest.approx(2 * 100 / (4 * 100 + 1))
    eight = ("SHF.R.U32.HI R9, RZ, 0x2, R5", "IMAD.SHL.U32 R9, R9, 0x4, RZ")
    assert found(ROWS, address=eight).effect.resources["l1"] == pytest.approx(2 * 100 / (4 * 100 + 1))


@pytest.mark.parametrize(("address", "apart"), [("IMAD R9, R5, 0x4, R1", True), ("MOV R9, R1", False)])
def test_only_lanes_that_load_different_rows_could_meet_in_a_bank(address, apart):
    assert ("an odd multiple of 16 bytes" in found(ROWS, address=address).advice) == apart


def test_windows_that_overlap_have_no_order_that_serves_all():
    """As those of a filter: each thread starts a word further, and takes the words of its neighbours too."""
    assert found([0, 4, 8, 12]) is None
    assert found([0, 4, 8, 12], address="IMAD R9, R5, 0x10, R1") is not None


def test_windows_of_several_warps_overlap_too():
    """Each row of a block is a warp, and takes the rows of the next warps too."""
    made = "S2R R6, SR_TID.Y", "IMAD R9, R6, 0x80, RZ"
    rows = [0, 0x80, 0x100, 0x180]
    lines = ("LDC R1, c[0x0][0x28]", *made, *[f"LDS R{20 + place}, [R9+0x{at:x}]" for place, at in enumerate(rows)])  # fmt: skip
    loop = [(one, 1.0 if place < 3 else 100.0) for place, one in enumerate(lines)] + [("@P0 BRA 0x30", 100.0)]
    assert list(detect_narrow_shared(evidence_of(*loop, block=(32, 4, 1)))) == []
    assert list(detect_narrow_shared(evidence_of(*loop, block=(32, 1, 1)))) != []


@pytest.mark.parametrize(
    ("step", "is_named"),
    [
        ("IADD3 R9, R9, 0x400, RZ", True),  # the next four rows
        ("IADD3 R9, R9, 0x100, RZ", False),  # the next row, with three that this turn takes too
        ("VIADD R9, R9, 0xfffffc00", True),  # the four rows before
        ("VIADD R9, R9, 0xffffff00", False),
        ("IADD3 R9, R9, R4, RZ", False),  # nobody knows
        ("@P1 IADD3 R9, R9, 0x400, RZ", False),
    ],
)  # fmt: skip
def test_the_next_turn_must_take_other_words(step, is_named):
    assert (found(ROWS, step=step) is not None) is is_named


def test_a_row_ends_with_the_last_turn():
    """All threads take a column of four rows, a word further in each turn, until the next row would begin."""
    rows = [0, 0x104, 0x208, 0x30C]  # of 65 words
    step = "IADD3 R9, R9, 0x4, RZ"
    assert found(rows, address="MOV R9, R1", step=step, turns=65) is not None
    assert found(rows, address="MOV R9, R1", step=step, turns=66) is None


@pytest.mark.parametrize(("stores", "is_named"), [(100, True), (101, False)])
def test_loads_must_be_so_many_that_storing_word_by_word_pays(stores, is_named):
    assert (found(ROWS, stores=stores) is not None) is is_named


def test_a_wide_load_may_bring_less_than_it_could():
    """Five words need two."""
    candidate = found([*ROWS, 0x400])
    assert candidate.evidence == {"shared_loads": 5, "wide_shared_loads": 2}
    assert candidate.effect.resources["lsu"] == pytest.approx(3 * 100 / (5 * 100 + 1))


def test_three_words_and_wide_loads_are_left_alone():
    assert found(ROWS[:3]) is None
    assert found(ROWS, opcode="LDS.128") is None
    assert found([0, 0x200], address="IMAD R9, R5, 0x8, R1", opcode="LDS.64") is not None
