"""Threads that walk through neighbouring elements, however the machine code goes on to the next one."""

import pytest
from made_evidence import evidence_of

from profiler.analyse.causes.flow.addresses.strides import find_walking

FIRST, SECOND = "LDG.E R4, [R2.64]", "LDG.E R5, [R2.64+0x4]"
UPPER = "IADD3.X R3, RZ, R3, RZ, P1, !PT"
# The next address is made in other registers, and moved at the end of the turn.
MOVED = ("IADD3 R6, P1, R2, 0x4, RZ", "IMAD.X R7, RZ, RZ, R3, P1", "MOV R2, R6", "IMAD.MOV.U32 R3, RZ, RZ, R7")  # fmt: skip


@pytest.mark.parametrize(
    ("loads", "further", "walks"),
    [
        ([FIRST], ["IADD3 R2, P1, R2, 0x4, RZ", UPPER], True),
        ([FIRST], ["IADD3 R2, P1, R2, -0x4, RZ", "IADD3.X R3, R3, -0x1, RZ, P1, !PT"], False),  # not followed
        ([FIRST], ["IADD3 R2, P1, R2, 0x4, RZ", "IMAD.X R3, RZ, RZ, R3, P1"], True),
        ([FIRST], MOVED, True),
        ([FIRST], ["IADD3 R2, P1, R2, 0x8, RZ", UPPER], False),  # every other element
        ([FIRST, SECOND], ["IADD3 R2, P1, R2, 0x8, RZ", UPPER], True),  # two turns of an unrolled loop
        ([FIRST, SECOND], ["IADD3 R2, P1, R2, 0x4, RZ", UPPER], False),  # a neighbour beside each
        ([FIRST], ["IADD3 R2, P1, R2, R8, RZ", UPPER], False),  # a row further
        ([FIRST], [], False),
    ],
)
def test_a_turn_that_goes_on_behind_what_the_last_one_took_walks_through_neighbours(loads, further, walks):
    assert bool(find_walking(evidence_of("NOP", *loads, *further, "@P0 BRA 0x10", "EXIT"))) == walks


def test_without_a_loop_nobody_walks():
    assert not find_walking(evidence_of(FIRST, "EXIT"))
