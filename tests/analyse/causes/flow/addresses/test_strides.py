"""Threads that walk through neighbouring elements, however the machine code goes on to the next one."""

import pytest
from made_evidence import evidence_of

from profiler.analyse.causes.flow.addresses.strides import find_in_runs, find_walking

FIRST, SECOND = "LDG.E R4, [R2.64]", "LDG.E R5, [R2.64+0x4]"
UPPER = "IADD3.X R3, RZ, R3, RZ, P1, !PT"
# The next address is made in other registers, and moved at the end of the turn.
MOVED = ("IADD3 R6, P1, R2, 0x4, RZ", "IMAD.X R7, RZ, RZ, R3, P1", "MOV R2, R6", "IMAD.MOV.U32 R3, RZ, RZ, R7")  # fmt: skip


@pytest.mark.parametrize(
    ("loads", "further", "walks"),
    [
        ([FIRST], ["IADD3 R2, P1, R2, 0x4, RZ", UPPER], True),
        ([FIRST], ["IADD3 R2, P1, R2, -0x4, RZ", "IADD3.X R3, R3, -0x1, RZ, P1, !PT"], True),  # backwards
        ([FIRST], ["VIADD R2, R2, 0xfffffffc"], True),
        ([FIRST], ["VIADD R2, R2, 0xfffffff8"], False),
        ([FIRST], ["IADD3 R2, P1, R2, 0x4, RZ", "IMAD.X R3, RZ, RZ, R3, P1"], True),
        ([FIRST], MOVED, True),
        (
            [FIRST],
            ["MOV R3, R8", "LDG.E R3, [R10.64]", "IADD3 R2, P1, R2, 0x4, RZ", "IMAD.X R3, RZ, RZ, R8, P1"],
            True,
        ),
        ([FIRST], ["IADD3 R2, P1, R2, 0x8, RZ", UPPER], False),  # every other element
        ([FIRST, SECOND], ["IADD3 R2, P1, R2, 0x8, RZ", UPPER], True),  # two turns of an unrolled loop
        ([FIRST, SECOND], ["IADD3 R2, P1, R2, 0x4, RZ", UPPER], False),  # a neighbour beside each
        ([FIRST], ["IADD3 R2, P1, R2, R8, RZ", UPPER], False),  # a row further
        ([FIRST], [], False),
    ],
)
def test_a_turn_that_goes_on_behind_what_the_last_one_took_walks_through_neighbours(loads, further, walks):
    assert bool(find_walking(evidence_of("NOP", *loads, *further, "@P0 BRA 0x10", "EXIT"))) == walks


def test_the_next_address_may_be_moved_where_a_turn_begins():
    """The registers hold other values until then; before the first turn, another instruction has made the address."""
    turn = ("MOV R2, R6", FIRST, "LDG.E R3, [R10.64]", "IADD3 R6, P1, R2, 0x4, RZ")
    evidence = evidence_of("IMAD.WIDE R6, R5, R9, R8", *turn, "@P0 BRA 0x10", "EXIT")
    assert [site.instruction.text for site in find_walking(evidence)] == [FIRST]


@pytest.mark.parametrize(
    ("further", "in_runs"), [("0x4", True), ("0x8", True), ("0xc", False), ("0x0", False)]
)
def test_a_turn_may_take_elements_of_the_one_before_again_but_leaves_none_out(further, in_runs):
    turn = (FIRST, SECOND, f"IADD3 R2, P1, R2, {further}, RZ", UPPER)
    evidence = evidence_of("NOP", *turn, "@P0 BRA 0x10", "EXIT")
    assert len(find_in_runs(evidence)) == (2 if in_runs else 0)


def test_without_a_loop_nobody_walks():
    assert not find_walking(evidence_of(FIRST, "EXIT"))
