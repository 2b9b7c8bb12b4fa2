"""Loops within the work of a block that other blocks run on the same data, and loops that look like them."""

import pytest
from made_evidence import evidence_of

from profiler.analyse.causes.detectors.instructions.redundant_instructions import detect_repeated_by_blocks

OWN = {
    "shared": "IMAD R4, R1, 0x100, RZ",
    "own": "IMAD R6, R2, 0x100, RZ",
    "begin": "MOV R10, RZ",
}
TURN = {
    "load": "LDG.E R8, [R4]",
    "more": "",
    "add": "FFMA R10, R8, R8, R10",
    "next": "IADD3 R4, R4, 0x4, RZ",
    "end": "@P0 BRA 0x50",
}
AFTER = {"mine": "LDG.E R12, [R6]", "use": "FFMA R14, R12, R10, R14", "again": "@P1 BRA 0x40"}


def found(grid=(8, 16, 1), read=0.0, sectors=0.0, **changed):
    """The causes of blocks that each multiply elements of their own by a sum, of which blocks along y have the same."""
    lines = ["S2R R1, SR_CTAID.X", "S2R R2, SR_CTAID.Y"]
    for part, times in ((OWN, 100.0), (TURN, 6400.0), (AFTER, 100.0)):
        for one in (changed.get(name, line) for name, line in part.items()):
            lines += [(line, times) for line in one.split("; ") if line]
    evidence = evidence_of(
        *lines,
        "EXIT",
        grid=grid,
        facts={5: {"sectors": sectors, "ideal_sectors": sectors}},
        figures={"dram_bytes_read": read, "dram_bytes_written": 0.0},
        busy={"dram": 0.5},
    )
    return list(detect_repeated_by_blocks(evidence))


def test_a_sum_that_sixteen_blocks_add_up_alike_could_be_computed_once():
    (one,) = found()
    assert one.sentence.startswith("The 16 blocks along y run a loop on the same data")
    assert [site.instruction.name for site in one.weights] == ["LDG", "FFMA", "IADD3", "BRA"]
    assert one.effect.resources["lsu"] == pytest.approx(15 / 16 * 6400 / 6500)


def test_device_memory_delivers_once_what_all_of_them_load():
    (one,) = found(read=800 * 32, sectors=800.0)
    assert one.effect.resources["dram"] == pytest.approx(15 / 16)
    assert one.regrouped["dram"] == pytest.approx(1.0)  # another kernel may have the sum already
    (held,) = found(read=50 * 32, sectors=800.0)
    assert held.effect.resources["dram"] == 0.0  # L2 serves all blocks but one


def test_a_loop_within_such_a_loop_is_a_part_of_it_and_not_counted_again():
    (one,) = found(next="IADD3 R4, R4, 0x4, RZ; @P2 BRA 0x50")
    assert one.evidence["same_in_every_block_pct"] == pytest.approx(100 * 5 * 6400 / (5 * 6400 + 9 * 100))


BROUGHT = "STS [R30], R8; BAR.SYNC.DEFER_BLOCKING 0x0; LDS R8, [R31]"
COPIED = {"load": "LDGSTS.E.BYPASS.128 [R30], [R4]", "next": "IADD3 R4, R4, 0x80, RZ"}


@pytest.mark.parametrize(
    "changed",
    [
        {"more": BROUGHT},  # reads what the loop itself has brought to shared memory
        {**COPIED, "add": "HGMMA.64x16x8.F32.BF16 R24, gdesc[UR12], R24"},  # 320 of 512 bytes
        {**COPIED, "add": "HGMMA.64x64x16.F32.BF16 R24, R8, gdesc[UR12], R24"},  # 512 bytes, and registers
    ],
)
def test_what_a_loop_brings_to_shared_memory_is_the_same_for_all(changed):
    assert found(**changed)


@pytest.mark.parametrize(
    "changed",
    [
        {"grid": (8, 1, 1)},
        {"shared": "IMAD R4, R2, 0x100, RZ"},  # each block has its own data
        {"begin": "MOV R10, R6"},  # or begins with a number of its own
        {"next": "IADD3 R4, R4, R14, RZ"},  # or goes its own way
        {"add": "FFMA R10, R8, R12, R10"},
        {"add": "IADD3 R10, R8, 0x1, RZ"},  # computes nothing
        {"more": f"{BROUGHT}; LDS R9, [R32]"},  # reads what was there before, too
        {**COPIED, "add": "HGMMA.64x64x16.F32.BF16 R24, gdesc[UR12], R24"},  # of 1,024 bytes, 512 were copied
        {"again": "NOP"},  # a thread that goes on along y adds up once: too little work a thread
    ],
)
def test_what_a_block_computes_of_its_own_is_no_repetition(changed):
    assert found(**changed) == []
