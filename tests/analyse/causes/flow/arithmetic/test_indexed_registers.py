"""Arrays in registers whose index is known only at run time: which comparisons and moves look for an element, and which do not."""

import pytest
from made_evidence import evidence_of

from profiler.analyse.causes.flow.arithmetic.indexed_registers import find_indexed_registers

INDEX = "SHF.L.U32 R9, R8, 0x2, RZ"
COMPARE = "ISETP.EQ.AND P{0}, PT, R9, {1}, PT"
STORE = "@P{0} IMAD.MOV.U32 R{1}, RZ, RZ, R20"
PLACES = ("RZ", "0x4", "0x8")


def found_in(*lines):
    """Returns the places of the instructions that look for an element."""
    evidence = evidence_of(*lines, "EXIT")
    found = find_indexed_registers(evidence)
    return [place for place, site in enumerate(evidence.sites) if site in found]


def array(places=PLACES, index=(INDEX,) * 3, move=STORE):
    """An array of three registers: for each element, a comparison of its place with the index, and a move."""
    lines = [index[0]]
    for number, place in enumerate(places):
        lines += [] if index[number] == index[0] else [index[number]]
        lines += [COMPARE.format(number, place), move.format(number, 10 + number)]
    return lines


def test_each_element_is_compared_and_moved():
    assert found_in(*array()) == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize(
    "move",
    [
        "@P{0} MOV R20, R{1}",
        "SEL R20, R20, R{1}, P{0}",
        "@P{0} IMAD.U32 R20, RZ, RZ, UR{1}",  # an element that all threads have alike
        "@P{0} HFMA2.MMA R20, -RZ, RZ, 0, 0",  # a constant one
    ],
)
def test_an_element_is_read_as_it_is_written(move):
    assert len(found_in(*array(move=move))) == 6


def test_a_warp_looks_for_what_all_its_threads_have_alike_once():
    lines = array(index=("USHF.L.U32 UR9, UR8, 0x2, URZ",) * 3, move="@UP{0} UMOV UR20, UR{1}")
    uniform = [line.replace("ISETP", "UISETP").replace(" P", " UP").replace(" R", " UR") for line in lines]
    assert found_in(*[line.replace(" RZ", " URZ") for line in uniform]) == [1, 2, 3, 4, 5, 6]


def test_predicates_are_joined_before_they_choose():
    lines = array()
    lines[-1:] = ["PLOP3.LUT P5, PT, P2, P6, PT, 0x80, 0x0", "@P5 MOV R12, R20"]
    assert found_in(*lines) == list(range(1, 8))


@pytest.mark.parametrize(
    "other",
    [
        array(places=("RZ", "0x4", "0x10")),  # values that are no neighbours, as of a `switch`
        array(places=("RZ", "0x1", "0x2")),  # numbers, and no places of elements
        array(index=(INDEX, "IADD3 R9, R7, R6, RZ", "LDG.E R9, [R2.64]")),  # three values in one register
        array(move="@P{0} IADD3 R{1}, R20, 0x1, RZ"),  # more than a move
        array(move="@P{0} IMAD.U32 R{1}, RZ, 0x4, UR7"),
        array(places=PLACES[:2]),
    ],
)
def test_other_choices_look_for_no_element(other):
    assert found_in(*other) == []


def test_a_predicate_that_was_written_again_chooses_something_else():
    lines = array()
    lines[-1:] = ["FSETP.GT.AND P2, PT, R4, R5, PT", "@P2 MOV R12, R20"]
    assert found_in(*lines) == []
