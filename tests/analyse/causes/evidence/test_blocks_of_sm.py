"""How many blocks an SM has room for."""

import pytest
from hypothesis import given, strategies as st
from made_evidence import LOAD, evidence_of

from profiler.analyse.causes.evidence.blocks_of_sm import MOST_REGISTERS, blocks_with, most_registers

WARPS_OF_BLOCK = st.integers(1, 32)


def with_blocks(blocks, warps_of_block):
    """A kernel of which an SM holds so many blocks, of whole warps."""
    figures = {"launch__occupancy_limit_blocks": float(blocks)}
    return evidence_of(LOAD, block=32 * warps_of_block, figures=figures)


@pytest.mark.parametrize(
    ("registers", "warps_of_block", "blocks"),
    [
        (32, 1, 64),
        (32, 4, 16),
        (39, 1, 48),  # 51 warps would fit in one pool: a scheduler has room for 12
        (40, 2, 24),
        (86, 1, 20),
        (168, 4, 3),  # a block has a warp of each scheduler
        (255, 1, 8),
        (169, 4, 2),
    ],
)
def test_each_scheduler_has_registers_for_its_own_warps(registers, warps_of_block, blocks):
    """Nsight Compute counted as many on an H200."""
    assert blocks_with(registers, with_blocks(1, warps_of_block).shape) == blocks


@given(st.integers(1, 64), WARPS_OF_BLOCK)
def test_with_one_register_more_than_the_most_fewer_blocks_fit(blocks, warps_of_block):
    evidence = with_blocks(blocks, warps_of_block)
    most = most_registers(evidence)
    assert most == 0 or blocks_with(most, evidence.shape) >= blocks
    assert most == MOST_REGISTERS or blocks_with(most + 1, evidence.shape) < blocks


@given(st.integers(1, MOST_REGISTERS), WARPS_OF_BLOCK)
def test_as_many_blocks_as_registers_suffice_for_leave_each_thread_its_registers(registers, warps_of_block):
    evidence = with_blocks(1, warps_of_block)
    blocks = blocks_with(registers, evidence.shape)
    assert blocks == 0 or most_registers(with_blocks(blocks, warps_of_block)) >= registers
