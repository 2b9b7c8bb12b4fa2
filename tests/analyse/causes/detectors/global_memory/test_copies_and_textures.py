"""Accesses that do more than their opcode's kind says: copies that store in shared memory, and fetches of textures."""

import pytest
from made_evidence import TOGETHER, evidence_of

from profiler.analyse.causes.detectors.global_memory import narrow_accesses
from profiler.analyse.causes.detectors.shared_memory import redundant_accesses
from profiler.analyse.causes.evidence.charging import count_waits
from profiler.analyse.causes.flow.block_sharing import count_blocks_alike
from profiler.analyse.causes.flow.dataflow import address_registers
from profiler.analyse.causes.flow.memory.repeated_loads import find_loads_kept_apart

COPY = "LDGSTS.E [R8], [R2.64]"


@pytest.mark.parametrize(("filled_by", "found"), [(COPY, 0), ("UBLKCP [UR8], [UR2], UR4", 0), ("NOP", 1)])
def test_a_place_in_shared_memory_that_copies_fill_again_is_loaded_again(filled_by, found):
    tile = evidence_of(
        "MOV R1, R2", (filled_by, 800.0), ("LDS R4, [R9]", 800.0), ("FADD R5, R5, R4", 800.0), ("@P0 BRA 0x10", 800.0)
    )  # fmt: skip
    assert len(list(redundant_accesses.detect_redundant_shared(tile))) == found


@pytest.mark.parametrize(("between", "repeats"), [(COPY, 0), ("STS [R8], R2", 0), ("LDG.E R6, [R2.64]", 1)])
def test_a_load_from_shared_memory_after_a_copy_to_it_is_no_repetition(between, repeats):
    evidence = evidence_of("LDS R4, [R9]", between, "BAR.SYNC 0x0", "LDS R5, [R9]", "FADD R6, R5, R4")
    assert len(find_loads_kept_apart(evidence)) == repeats


def test_the_coordinates_of_a_texture_may_depend_on_any_block():
    """They stand in no brackets, so that they are not known to be the same for all blocks."""
    fetch = "TEX.LL RZ, R9, R8, R10, UR4, 0x0.2D, 0x1"
    evidence = evidence_of("S2R R8, SR_CTAID.Y", fetch, "FADD R5, R5, R9", grid=100)
    assert count_blocks_alike(evidence, evidence.sites[1]) == 1
    load = evidence_of("S2R R8, SR_CTAID.Y", "LDG.E R9, [R8]", "FADD R5, R5, R9", grid=100)
    assert count_blocks_alike(load, load.sites[1]) == 100


@pytest.mark.parametrize(
    ("fetched", "fewer_blocks"), [("TLD.LZ RZ, R7, R7, UR4, 0x0.1D, 0x1", False), ("LDG.E R7, [R6.64]", True)]
)
def test_a_fetch_of_a_texture_is_made_for_each_element_however_wide_the_stores_are(fetched, fewer_blocks):
    contiguous = TOGETHER
    lines = ("IADD3 R6, R6, 0x1, RZ", fetched, "STG.E [R2.64], R7", "EXIT")
    known = {1: contiguous, 2: contiguous} if fewer_blocks else {2: contiguous}
    (candidate,) = narrow_accesses.detect_narrow(evidence_of(*lines, facts=known))
    assert ("launch" in candidate.effect.resources) == fewer_blocks
    assert candidate.effect.resources["lsu"] == pytest.approx(3 / 4 if fewer_blocks else 3 / 8)


def test_warps_wait_for_copies_to_shared_memory_where_they_say_so():
    """A sample at an instruction between two copies is of a register that the first has not read yet."""
    copies = ("LDGSTS.E [R30], [R12.64]", "IADD3 R30, R30, 0x10, RZ", "LDGSTS.E [R30], [R12.64]")
    facts = {1: {"waits": {"long_scoreboard": 1}}}
    assert _waits(evidence_of(*copies, "DEPBAR.LE SB0, 0x0", "EXIT", facts=facts)) == 100
    loads = [line.replace("LDGSTS.E [R30]", "LDG.E R31") for line in copies]
    assert _waits(evidence_of(*loads, "DEPBAR.LE SB0, 0x0", "EXIT", facts=facts)) == 200
    assert _waits(evidence_of(*copies, "EXIT", facts=facts)) == 200  # they are waited for in another way


def _waits(evidence):
    return sum(count_waits(evidence.sites, "long_scoreboard", ("global load",)).values())


def test_of_a_copy_only_the_address_in_global_memory_has_64_bits():
    copy = evidence_of("LDGSTS.E [R30+0x10], desc[UR4][R12.64+0x80]").sites[0].instruction
    assert address_registers(copy) == {"R30", "R12", "R13", "UR4"}
