"""Blocks that load the same data through L2: their index is divided, or tables say where the data is."""

import pytest
from made_evidence import evidence_of

from profiler.analyse.causes.flow.block_sharing import count_blocks_alike

BARRIER = "BAR.SYNC.DEFER_BLOCKING 0x0"


@pytest.mark.parametrize(
    ("lines", "alike"),
    [
        (("SHF.R.U32.HI R2, RZ, 0x3, R8",), 8),  # a head of keys for eight heads of queries
        (("SHF.R.U32.HI R2, RZ, 0x7, R8",), 64),  # there are no more blocks
        (("LOP3.LUT R2, R8, 0x7, RZ, 0xc0, !PT",), 1),  # the rest of the division
        (("SHF.R.U32.HI R2, RZ, 0x3, R8", "IADD3 R2, R2, R8, RZ"), 1),  # both
        (("SHF.L.U32 R2, R8, 0x3, RZ",), 1),
    ],
)
def test_blocks_whose_index_is_divided_load_the_same(lines, alike):
    evidence = evidence_of("S2R R8, SR_CTAID.X", *lines, "LDG.E R4, [R2]", grid=64)
    assert count_blocks_alike(evidence, evidence.sites[-1]) == alike


@pytest.mark.parametrize(("index", "alike"), [("MOV R9, 0x100", 64), ("MOV R9, R8", 1)])
@pytest.mark.parametrize("table", [("LDG.E R2, [R9]",), ("LDG.E R5, [R9]", BARRIER, "STS [R6], R5", BARRIER, "LDS R2, [R7]")])  # fmt: skip
def test_a_table_holds_one_entry_for_all_blocks_that_look_at_one_place(index, alike, table):
    evidence = evidence_of("S2R R8, SR_CTAID.X", index, *table, "LDG.E R4, [R2]", grid=64)
    assert count_blocks_alike(evidence, evidence.sites[-1], through_memory=True) == alike
    assert count_blocks_alike(evidence, evidence.sites[-1]) == 1


@pytest.mark.parametrize(
    ("stores", "alike"),
    [
        (("STS [R6], R5", BARRIER, "STS [R6], R9", BARRIER), 64),  # the block's own number is gone
        (("STS [R6], R9", BARRIER, "STS [R6], R5", BARRIER), 1),
        (("STS [R6], R9",), 1),  # nobody has stored before a barrier
    ],
)
def test_shared_memory_holds_what_was_stored_before_the_last_barrier(stores, alike):
    lines = ("S2R R5, SR_CTAID.X", "MOV R9, 0x100", BARRIER, *stores, "LDS R2, [R7]", "LDG.E R4, [R2]")
    evidence = evidence_of(*lines, grid=64)
    assert count_blocks_alike(evidence, evidence.sites[-1], through_memory=True) == alike


def test_an_address_that_was_loaded_may_be_any():
    evidence = evidence_of("MOV R8, 0x100", "LDG.E R2, [R8]", "LDG.E R4, [R2]", "LDG.E R4, [R30]", grid=4)
    alike = [count_blocks_alike(evidence, site) for site in evidence.of("global load")]
    assert alike == [4, 1, 1]  # the last one's address was written where nothing is known of


@pytest.mark.parametrize(
    ("lines", "alike"),
    [
        (["S2R R2, SR_CTAID.X", "MOV R2, 0x100"], 4),  # what was written before is gone
        (["S2R R2, SR_CTAID.X", "@P0 MOV R2, 0x100"], 1),  # and stays where the predicate does not hold
    ],
)
def test_the_last_writers_of_an_address_decide(lines, alike):
    evidence = evidence_of(*lines, "LDG.E R4, [R2]", grid=4)
    assert count_blocks_alike(evidence, evidence.sites[-1]) == alike


@pytest.mark.parametrize(("counter", "alike"), [("IADD3 R2, R2, R6, RZ", 1), ("MOV R2, R7", 4)])
def test_in_a_loop_the_turn_before_writes_the_address_too(counter, alike):
    """R6 is of the block, and R7 is not; the load comes before both."""
    lines = ["S2R R6, SR_CTAID.X", "MOV R7, 0x100", "MOV R2, R7", ("LDG.E R4, [R2]", 800.0), (counter, 800.0), ("@P0 BRA 0x30", 800.0)]  # fmt: skip
    evidence = evidence_of(*lines, grid=4)
    assert count_blocks_alike(evidence, evidence.sites[3]) == alike
