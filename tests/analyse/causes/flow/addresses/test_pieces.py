"""Whether each block has a piece of work of its own, or as many elements as it has threads."""

import pytest
from made_evidence import LOAD, evidence_of

from profiler.analyse.causes.flow.addresses.pieces import has_own_piece

THREAD, BLOCK = "S2R R0, SR_TID.X", "S2R R1, SR_CTAID.X"


@pytest.mark.parametrize(
    ("index", "is_piece"),
    [
        (["IMAD R2, R1, c[0x0][0x0], R0"], False),  # blockIdx.x * blockDim.x + threadIdx.x
        (["LDC R5, c[0x0][0x360]", "IMAD R2, R1, R5, R0"], False),
        (["IMAD R2, R1, 0x20, R0"], False),  # the size is a constant of the kernel
        (["LEA R2, R1, R0, 0x5"], False),
        (["IMAD.SHL.U32 R5, R1, 0x20, RZ", "LOP3.LUT R2, R5, R0, RZ, 0xfc, !PT"], False),
        (["IMAD R2, R1, c[0x0][0x220], R0"], True),  # rows of a length that is a parameter
        (["IMAD R2, R1, 0x80, R0"], True),  # rows of four times as many
        (["IMAD R2, R1, c[0x0][0x4], R0"], True),  # the size along y
    ],
)
def test_blocks_whose_threads_go_on_where_the_block_before_ends_have_no_piece(index, is_piece):
    assert has_own_piece(evidence_of(THREAD, BLOCK, *index, LOAD, "EXIT", block=32)) is is_piece


def test_threads_that_load_what_others_may_have_stored_work_on_one_piece():
    index = "IMAD R2, R1, c[0x0][0x0], R0"
    assert has_own_piece(evidence_of(THREAD, BLOCK, index, LOAD, "STS [R0], R4", "LDS R5, [R6]", block=32))
    assert not has_own_piece(evidence_of(THREAD, BLOCK, index, LOAD, "STS [R0], R4", block=32))


def test_a_block_that_is_a_row_has_one():
    row = evidence_of(
        BLOCK, "IMAD.WIDE.U32 R10, R1, 0x100, RZ", THREAD, "IADD3 R2, R10, R0, RZ", LOAD, block=32
    )
    assert has_own_piece(row)
