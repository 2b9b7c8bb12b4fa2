"""A thread that spills with all registers that it can have cannot do with fewer."""

import pytest
from made_evidence import evidence_of

from profiler.analyse.causes.detectors.launch import occupancy

CODE = ("STL [R1+0x8], R7", "LDL R5, [R1+0x8]", "LDG.E R4, [R2.64]", "FADD R9, R9, R4")


def found(registers=255.0, spilled=1.0, code=CODE, more=()):
    """What limits the warps of an SM that has room for two blocks, of eight by other limits."""
    figures = {
        "registers": registers,
        "local_spill_inst": spilled,
        "blocks_by_registers": 2.0,
        "occupancy_limit_pct": 25.0,
        "waves": 100.0,
    }
    facts = {len(code) - 1: {"waits": {"long_scoreboard": 9}}}
    return list(occupancy.detect_occupancy(evidence_of(*code, *more, facts=facts, figures=figures)))


def test_who_spills_with_all_registers_is_not_told_to_use_fewer():
    assert found() == []


@pytest.mark.parametrize(
    "changed",
    [
        {"registers": 128.0},  # it could have more registers
        {"spilled": 0.0},  # an array lies in local memory
        {"code": ("LDG.E R4, [R2.64]", "FADD R9, R9, R4")},
    ],
)
def test_without_spills_or_with_fewer_registers_the_limit_is_a_cause_of_its_own(changed):
    assert [one.name for one in found(**changed)] == ["registers-limit-occupancy"]


def test_a_tile_of_sums_is_worth_its_registers():
    sums = [(f"FFMA R{place}, R2, R3, R{place}", 900.0) for place in range(100, 240)]
    assert found(more=[*sums, ("@P0 BRA 0x40", 900.0)]) == []
