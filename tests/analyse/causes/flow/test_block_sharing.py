"""Blocks that load the same data: their addresses do not depend on the whole index of the block."""

import pytest
from made_evidence import evidence_of

from profiler.analyse.causes.flow.block_sharing import count_blocks_alike, find_block_independent


@pytest.mark.parametrize(("axis", "alike"), [("X", 4), ("Y", 64), ("Z", 256)])
def test_blocks_along_the_other_dimensions_load_the_same(axis, alike):
    evidence = evidence_of(f"S2R R2, SR_CTAID.{axis}", "LDG.E R4, [R2]", grid=(64, 4, 1))
    assert count_blocks_alike(evidence, evidence.sites[-1]) == alike


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


@pytest.mark.parametrize(("first", "is_alike"), [("NOP", False), ("LDG.E R4, [R2.64]", True)])
def test_nobody_knows_what_a_function_of_the_compiler_is_called_with(first, is_alike):
    """One that loads is the kernel's own."""
    kernel = ["S2R R0, SR_CTAID.X", "CALL.REL.NOINC 0x30", "EXIT"]
    evidence = evidence_of(*kernel, first, "MUFU.RCP64H R5, R3", "RET.REL.NODEC R20, 0x0", line=7)
    assert (evidence.sites[4] in find_block_independent(evidence, "SR_CTAID.X")) == is_alike
