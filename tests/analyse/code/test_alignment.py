"""Two pieces of machine code side by side: in order, complete, and blind to addresses and registers."""

import re

import pytest
from hypothesis import given, strategies as st

from profiler.analyse.code.alignment import align, align_blocks, align_counts, align_instructions, blocks_of
from profiler.analyse.code.code import Instruction, read_code
from profiler.analyse.code.hot_loop import OpcodeCount
from profiler.analyse.code.loops import find_hot_loop
from profiler.store.tables.instruction_text import opcode_of


def counted(*lines):
    """Instructions of `(executed, text)`."""
    return [Instruction(16 * at, opcode_of(text), text, count) for at, (count, text) in enumerate(lines)]


def listing(*lines):
    return counted(*((1.0, text) for text in lines))


def counts(**opcodes):
    named = ((name.replace("_", "."), float(count)) for name, count in opcodes.items())
    return [OpcodeCount(name, count, None, [], None) for name, count in named]


def texts(pairs):
    return [tuple(one and one.opcode for one in pair) for pair in pairs]


# The alignment itself


words = st.lists(st.sampled_from("abcdef"), max_size=12)


def alike(one, other):
    return float(one == other)


def count_pairs(pairs):
    return sum(one is not None and other is not None for one, other in pairs)


@given(words, words)
def test_both_sides_are_complete_and_in_order_and_only_similar_code_is_paired(before, after):
    pairs = align(before, after, alike)
    assert [one for one, _ in pairs if one is not None] == before
    assert [other for _, other in pairs if other is not None] == after
    assert all(one == other for one, other in pairs if one is not None and other is not None)
    assert (None, None) not in pairs


@given(words, words)
def test_no_alignment_pairs_more(before, after):
    """As many as the longest common subsequence has, computed the plain way."""
    row = [0] * (len(after) + 1)
    for one in before:
        new = [0]
        for at, other in enumerate(after):
            new.append(row[at] + 1 if one == other else max(row[at + 1], new[-1]))
        row = new
    assert count_pairs(align(before, after, alike)) == row[-1]


@given(words, words)
def test_turning_the_sides_round_pairs_as_much(before, after):
    assert count_pairs(align(before, after, alike)) == count_pairs(align(after, before, alike))


def test_very_long_listings_are_aligned_in_bounded_time_and_stay_complete():
    before, after = list("abcdef" * 700), list("abcdef" * 500)
    pairs = align(before, after, alike)
    assert [one for one, _ in pairs if one is not None] == before
    assert [other for _, other in pairs if other is not None] == after


# Blocks


def lengths(*lines):
    return [len(block) for block in blocks_of(counted(*lines))]


def test_a_barrier_ends_a_block():
    assert lengths((8, "STS [R2], R0"), (8, "BAR.SYNC 0x0"), (8, "LDS R4, [R3]"), (8, "BAR.SYNC 0x0")) == [
        2,
        2,
    ]


def test_a_block_that_is_skipped_at_times_is_one_of_its_own():
    """So are those of a loop and of what is around it."""
    assert lengths(
        (8, "NOP"), (8, "@P0 BRA 0x30"), (5, "LDGSTS.E [R2], [R4]"), (8, "FFMA R0, R1, R2, R0")
    ) == [2, 1, 1]
    assert lengths((8, "NOP"), (80, "FFMA R0, R1, R2, R0"), (80, "@P0 BRA 0x10"), (8, "EXIT")) == [1, 2, 1]


def test_branches_round_what_never_ran_divide_nothing():
    """As round the slow path of a division, and to a place far away where a warp waits."""
    assert lengths(
        (8, "@P0 BRA 0x20"), (0, "CALL.REL.NOINC 0x5000"), (8, "FFMA R0, R1, R2, R0"), (8, "EXIT")
    ) == [3]
    assert lengths(
        (8, "SYNCS.PHASECHK P1, [R1]"), (8, "@!P1 BRA 0x5000"), (8, "HGMMA.64x256x16.F32.BF16 R24")
    ) == [3]


def test_counts_that_differ_without_a_branch_are_noise():
    assert lengths((8, "NOP"), (7.5, "NOP"), (8, "NOP")) == [3]


@given(st.lists(st.sampled_from(["NOP", "BAR.SYNC 0x0", "@P0 BRA 0x20", "@P0 BRA 0x9990", "EXIT"]), max_size=20),
       st.randoms())  # fmt: skip
def test_blocks_hold_everything_that_was_executed_once_and_in_order(lines, random):
    body = counted(*((random.choice([0.0, 5.0]), text) for text in lines))
    blocks = blocks_of(body)
    assert [one for block in blocks for one in block] == [one for one in body if one.executed]
    assert all(block for block in blocks)


def test_the_block_that_multiplies_stands_beside_the_one_that_multiplies():
    load, multiply = ["LDG.E R0, [R2]", "BAR.SYNC 0x0"], ["FFMA R6, R4, R5, R6"] * 9 + ["BAR.SYNC 0x0"]
    pairs = align_blocks(blocks_of(listing(*load, *multiply)), blocks_of(listing(*multiply)))
    assert [(one and len(one), other and len(other)) for one, other in pairs] == [(2, None), (10, 10)]


# Counts


def test_the_same_opcode_stands_beside_itself_and_a_wider_one_beside_its_family():
    pairs = align_counts(counts(LDG_E=16, LDS=8, LDS_128=2, FFMA=64), counts(LDG_E_128=4, LDS_128=4, FFMA=64))
    assert texts(pairs) == [("LDG.E", "LDG.E.128"), ("LDS", None), ("LDS.128", "LDS.128"), ("FFMA", "FFMA")]


def test_another_route_to_the_same_end_counts_as_one_family():
    assert texts(align_counts(counts(FFMA=64, LDG_E=4), counts(LDGSTS_E=4, HMMA_16816_F32=2))) == [
        ("FFMA", "HMMA.16816.F32"),
        ("LDG.E", "LDGSTS.E"),
    ]


@pytest.mark.parametrize(
    "other",
    [
        "QGMMA_64x256x32_F32_E4M3_E4M3",
        "IGMMA_64x256x32_S8_S8",
        "HMMA_16816_F32",
        "DMMA_884",
        "UTCHMMA",
        "FFMA",
    ],
)
def test_products_of_tensor_cores_stand_beside_each_other_whatever_they_multiply(other):
    pairs = align_counts(counts(HGMMA_64x256x16_F32_BF16=4), counts(**{other: 4}))
    assert texts(pairs) == [("HGMMA.64x256x16.F32.BF16", other.replace("_", "."))]


def test_an_opcode_that_one_side_lacks_keeps_its_place():
    assert texts(align_counts(counts(LDS=1, FFMA=1), counts(MUFU_EX2=1, LDS=1, SHFL_BFLY=1, FFMA=1))) == [
        (None, "MUFU.EX2"),
        ("LDS", "LDS"),
        (None, "SHFL.BFLY"),
        ("FFMA", "FFMA"),
    ]


opcodes = st.lists(
    st.sampled_from(["LDS", "LDS.64", "LDS.128", "LDG.E", "LDGSTS.E", "FFMA", "MOV"]), unique=True
)


@given(opcodes, opcodes)
def test_every_count_is_shown_once(before, after):
    sides = [[OpcodeCount(opcode, 1.0, None, [], None) for opcode in side] for side in (before, after)]
    pairs = align_counts(*sides)
    for index, side in enumerate(sides):
        shown = [pair[index] for pair in pairs if pair[index] is not None]
        assert sorted(one.opcode for one in shown) == sorted(one.opcode for one in side)
    assert {pair for pair in texts(pairs) if pair[0] == pair[1]} == {
        (one, one) for one in {*before} & {*after}
    }


# Instructions


def test_two_wide_loads_stand_beside_the_first_of_eight():
    before = listing(*[f"LDS R{n}, [R2+{4 * n:#x}]" for n in range(8)], "FFMA R9, R0, R1, R9")
    after = listing("LDS.128 R0, [R2]", "LDS.128 R4, [R2+0x10]", "FFMA R9, R0, R1, R9")
    rows = [(one and one.opcode, other and other.opcode) for one, other in align_instructions(before, after)]
    assert rows == [("LDS", "LDS.128")] * 2 + [("LDS", None)] * 6 + [("FFMA", "FFMA")]


@pytest.mark.parametrize("name", ["gemm_5", "gemm_6"])
def test_code_at_other_addresses_with_other_registers_is_the_same_code(store, name):
    run = store.find(name, "gemm")
    body = find_hot_loop(read_code(run, run.manifest.kernels[0].name))[1].body
    moved = [
        Instruction(one.offset + 0x40, one.opcode, re.sub(r"(?<=\bR)\d+", lambda m: str(int(m[0]) + 7), one.text), 9.0)
        for one in body
    ]  # fmt: skip
    assert any(one.text != other.text for one, other in zip(body, moved, strict=True))
    assert align_instructions(body, moved) == list(zip(body, moved, strict=True))
