"""Whether indices and sizes decide which threads store, or what they have worked out."""

import pytest
from made_evidence import evidence_of

from profiler.analyse.causes.flow.who_stores import is_chosen_by_data
from profiler.analyse.causes.flow.working_blocks import find_idle_warps

STORE = ("STG.E [R6.64], R8", 25.0)
OWN, ALIKE = "LDG.E R5, [R4.64]", "LDG.E R5, [R2.64]"
LESS = "ISETP.GE.AND P0, PT, R5, R9, PT"


@pytest.mark.parametrize(
    ("lines", "is_data"),
    [
        ((OWN, LESS, "@P0 EXIT", STORE), True),  # a search: few of the values that are looked at are stored
        ((ALIKE, LESS, "@P0 EXIT", STORE), False),  # the length of a row, which all threads of a block load
        ((OWN, "ISETP.GE.AND P0, PT, R4, R9, PT", "@P0 EXIT", STORE), False),  # the index
        ((OWN, LESS, "@!P0 STG.E [R6.64], R8"), True),
        ((OWN, LESS, "ISETP.LT.AND P1, PT, R4, R9, !P0", "@P1 STG.E [R6.64], R8"), True),
        ((OWN, LESS, "@P0 BRA 0x50", STORE), True),  # behind the store
        (
            (OWN, LESS, "@P0 BRA 0x50", "FADD R8, R8, R5", STORE),
            False,
        ),  # to the store, as if past a slow path
        ((OWN, LESS, "@P0 BRA 0x50", "EXIT", STORE), True),  # to the store, which the others miss
        (("LDS R5, [R2]", LESS, "@P0 EXIT", STORE), True),  # threads have left it there
        ((OWN, "@P0 EXIT", STORE), False),
    ],
)
def test_what_threads_have_loaded_decides_unless_all_of_them_load_it(lines, is_data):
    evidence = evidence_of("S2R R4, SR_TID.X", *lines, ("EXIT", 25.0))
    assert is_chosen_by_data(evidence, evidence.of("global store")) == is_data


COUNTED = "IADD3 R5, R5, 0x1, RZ"


@pytest.mark.parametrize(
    ("lines", "is_data"),
    [
        ((COUNTED,), False),
        (("LOP3.LUT R5, R5, R10, RZ, 0x3c, !PT",), True),  # a hash
        (("FFMA R5, R5, R10, R11",), True),
        (("LOP3.LUT R5, R4, R10, RZ, 0x3c, !PT",), False),  # the same in each turn
        (("IMAD R5, R11, 0x4, R5",), False),  # a step as wide as the grid
        (("ULDC UR4, c[0x0][0xc]", "IMAD R5, R11, UR4, R5"), False),  # which each turn looks up
        (("LEA R5, R11, R5, 0x2",), False),
        (("IADD3 R6, R5, 0x1, RZ", "MOV R5, R6"), False),
        (("IMAD R5, R5, R11, R10",), True),  # random numbers
        (("IMAD R6, R5, R11, RZ", "IMAD R5, R6, R11, R5"), True),
        (("LEA.HI R5, R5, R10, R5, 0x7",), True),  # turned by seven bits
        (("VIADDMNMX R5, R5, R10, R11, PT",), True),
    ],
)
def test_what_a_loop_works_out_decides_as_what_is_read_does(lines, is_data):
    turns = [(line, 400.0) for line in (*lines, "IADD3 R12, R12, 0x1, RZ", "@P2 BRA 0x10")]
    evidence = evidence_of("S2R R4, SR_TID.X", *turns, LESS, "@P0 EXIT", STORE, ("EXIT", 25.0))
    assert is_chosen_by_data(evidence, evidence.of("global store")) == is_data


@pytest.mark.parametrize(
    ("spilled", "is_data"),
    [
        (("STL [R1+0x8], R4", "LDL R5, [R1+0x8]"), False),  # the index
        ((OWN, "STL [R1+0x8], R5", "LDL R5, [R1+0x8]"), True),  # what was loaded
        (("STL [R1+0x8], R4", "LDL R5, [R12]"), True),  # of an array, of which nobody knows the place
        (("STL [R1+0x8], R4", "STL [R12], R9", "LDL R5, [R1+0x8]"), True),
        (("LDL R5, [R1+0x8]", "LOP3.LUT R5, R5, R10, RZ, 0x3c, !PT", "STL [R1+0x8], R5"), True),  # a hash
    ],
)
def test_a_spilled_register_decides_as_it_did_before(spilled, is_data):
    evidence = evidence_of("S2R R4, SR_TID.X", *spilled, LESS, "@P0 EXIT", STORE, ("EXIT", 25.0))
    assert is_chosen_by_data(evidence, evidence.of("global store")) == is_data


@pytest.mark.parametrize(("rounds", "is_data"), [(20, False), (200, True)])
def test_an_index_takes_fewer_instructions_than_a_hash_whose_rounds_are_unrolled(rounds, is_data):
    hashed = ["SHF.L.W.U32.HI R6, R5, 0x7, R5", "LOP3.LUT R5, R6, R5, RZ, 0x3c, !PT"] * rounds
    evidence = evidence_of("S2R R5, SR_TID.X", *hashed, LESS, "@P0 EXIT", STORE, ("EXIT", 25.0))
    assert is_chosen_by_data(evidence, evidence.of("global store")) == is_data


@pytest.mark.parametrize(("load", "idle"), [(OWN, 0.0), (ALIKE, 0.75)])
def test_warps_that_look_for_what_they_store_repeat_nothing(load, idle):
    """Of 100 warps 25 store: those of which a thread has found something, or whose index is below a size."""
    lines = ("S2R R4, SR_TID.X", load, LESS, "@P0 EXIT", STORE, ("EXIT", 25.0))
    evidence = evidence_of(*lines, facts={4: {"acting": 32.0, "lanes": 32.0}}, block=128)
    assert find_idle_warps(evidence) == pytest.approx(idle)
