"""Blocks whose index is divided, so that those with one quotient load the same, and copies to shared memory."""

import pytest
from made_evidence import evidence_of

from profiler.analyse.causes.evidence.charging import count_waits
from profiler.analyse.causes.flow.block_sharing import count_blocks_alike
from profiler.analyse.causes.flow.dataflow import address_registers

# What compilers make of `R8 / R4` and `R8 % R4`, both of 32 bits and not negative: R3 holds the quotient, and R10 the rest.
DIVISION = (
    "S2R R8, SR_CTAID.X",
    "I2F.RP R0, R4",
    "MUFU.RCP R0, R0",
    "VIADD R2, R0, 0xffffffe",
    "F2I.FTZ.U32.TRUNC.NTZ R3, R2",
    "IMAD.MOV.U32 R2, RZ, RZ, RZ",
    "IMAD.MOV R6, RZ, RZ, -R3",
    "IMAD R9, R6, R4, RZ",
    "IMAD.HI.U32 R3, R3, R9, R2",
    "IABS R6, R8",
    "IMAD.HI.U32 R3, R3, R6, RZ",
    "IMAD.MOV R5, RZ, RZ, -R3",
    "IMAD R0, R4, R5, R6",
    "ISETP.GT.U32.AND P1, PT, R4, R0, PT",
    "@!P1 IMAD.IADD R0, R0, 0x1, -R4",
    "@!P1 VIADD R3, R3, 0x1",
    "@!P2 LOP3.LUT R3, RZ, R8, RZ, 0x33, !PT",  # where the divisor is zero; of R8, to show that it is not followed
    "IMAD.MOV R5, RZ, RZ, -R3",
    "IMAD R10, R4, R5, R8",
)
CORRECTION, OF_ZERO = 15, 16
BLOCKS = 4096
# One for each row but the first, of 64 blocks each.
IN_64_ROWS = {"lanes": 32.0, "acting": 32.0 * 63 / BLOCKS}
NEVER = {"lanes": 32.0, "acting": 0.0}


def divided(*lines, facts=None, **others):
    known = {CORRECTION: IN_64_ROWS, OF_ZERO: NEVER} | (facts or {})
    return evidence_of(*DIVISION, *lines, facts=known, grid=BLOCKS, **others)


@pytest.mark.parametrize(
    ("lines", "alike"),
    [
        (["IMAD.WIDE R12, R3, 0x80, R20"], 64),  # a row of tiles for each quotient
        (["IMAD.WIDE R12, R10, 0x80, R20"], 64),  # and a column for each rest
        (["IADD3 R3, R3, R10, RZ", "IMAD.WIDE R12, R3, 0x80, R20"], 1),  # each tile has its own
        (["IADD3 R3, R3, R8, RZ", "IMAD.WIDE R12, R3, 0x80, R20"], 1),
    ],
)
def test_blocks_with_the_same_quotient_or_the_same_rest_load_the_same(lines, alike):
    evidence = divided("MOV R20, 0x100", "MOV R21, 0x100", *lines, "LDG.E R14, [R12.64]")
    assert count_blocks_alike(evidence, evidence.sites[-1]) == alike


@pytest.mark.parametrize(
    ("facts", "alike"),
    [
        ({CORRECTION: {"lanes": 32.0, "acting": 32.0 / BLOCKS}}, BLOCKS // 2),  # two rows
        ({CORRECTION: NEVER}, BLOCKS),  # one row: the index is always smaller than the divisor
        ({CORRECTION: {}}, 1),  # nobody knows how many
        ({OF_ZERO: {"lanes": 32.0, "acting": 1.0}}, 1),  # acts, and so decides what the register holds
    ],
)
def test_how_often_a_quotient_is_corrected_says_how_many_there_are(facts, alike):
    lines = ("MOV R20, 0x100", "MOV R21, 0x100", "IMAD.WIDE R12, R3, 0x80, R20", "LDG.E R14, [R12.64]")
    evidence = divided(*lines, facts=facts)
    assert count_blocks_alike(evidence, evidence.sites[-1]) == alike


def test_warps_wait_for_copies_to_shared_memory_where_they_say_so():
    """A sample at an instruction between two copies is of a register that the first has not read yet."""
    copies = ("LDGSTS.E [R30], [R12.64]", "IADD3 R30, R30, 0x10, RZ", "LDGSTS.E [R30], [R12.64]")
    facts = {1: {"waits": {"long_scoreboard": 1}}}
    assert _waits(evidence_of(*copies, "DEPBAR.LE SB0, 0x0", "EXIT", facts=facts)) == 100
    loads = [line.replace("LDGSTS.E [R30]", "LDG.E R31") for line in copies]
    assert _waits(evidence_of(*loads, "DEPBAR.LE SB0, 0x0", "EXIT", facts=facts)) == 200
    assert _waits(evidence_of(*copies, "EXIT", facts=facts)) == 200  # they are waited for in another way


def _waits(evidence):
    return count_waits(evidence.sites, "long_scoreboard", ("global load",))


def test_of_a_copy_only_the_address_in_global_memory_has_64_bits():
    copy = evidence_of("LDGSTS.E [R30+0x10], desc[UR4][R12.64+0x80]").sites[0].instruction
    assert address_registers(copy) == {"R30", "R12", "R13", "UR4"}
