"""The outer product in a loop: accumulators, steps and operands, whatever the compiler made of it."""

from collections import Counter
from random import Random

import pytest
from hypothesis import given, strategies as st

from profiler.analyse.code.code import Instruction
from profiler.analyse.code.product import trace_product
from profiler.store.tables.instruction_text import opcode_of

SUFFIX = {1: "", 2: ".64", 4: ".128"}
A_BASE, B_BASE = "R2", "R3"


def listing(lines):
    return [Instruction(16 * at, opcode_of(text), text, executed=100.0) for at, text in enumerate(lines)]


def outer_product(rows, columns, steps=1, wide=(1, 1), accumulator=100, random=None):
    """A loop that multiplies `rows` elements of A with `columns` of B in each of `steps`.

    Loads are `wide` elements each; with `random`, factors are swapped and FMAs shuffled.
    """
    lines = []
    for step in range(steps):
        for base, register, count, width in ((A_BASE, 8, rows, wide[0]), (B_BASE, 40, columns, wide[1])):
            for at in range(0, count, width):
                address = f"{base}+{4 * (step * count + at):#x}"
                lines.append(f"LDS{SUFFIX[width]} R{register + at}, [{address}]")
        fmas = []
        for i in range(rows):
            for j in range(columns):
                factors, number = [f"R{8 + i}", f"R{40 + j}"], accumulator + i * columns + j
                if random:
                    random.shuffle(factors)
                fmas.append(f"FFMA R{number}, {', '.join(factors)}, R{number}")
        if random:
            random.shuffle(fmas)
        lines += fmas
    return [*lines, "IADD3 R1, R1, 0x1, RZ", "ISETP.NE.AND P0, PT, R1, R4, PT", "@P0 BRA 0x0"]


def loads_of(product):
    """Each operand as its opcodes and base registers."""
    return [
        (
            Counter(load.opcode for load in operand.loads),
            {load.text.split("[")[1][:2] for load in operand.loads},
        )
        for operand in product.operands
    ]


# The law


shapes = st.tuples(st.sampled_from([1, 2, 4, 8]), st.sampled_from([1, 2, 4, 8]))


@given(shapes, st.integers(1, 6), st.sampled_from([1, 2, 4]), st.sampled_from([1, 2, 4]), st.randoms())
def test_a_tile_is_found_whatever_its_shape_its_widths_and_its_order(shape, steps, wide_a, wide_b, random):
    rows, columns = shape
    wide = (min(wide_a, rows), min(wide_b, columns))
    lines = outer_product(rows, columns, steps, wide, random=random)
    cut = random.randrange(len(lines))  # compilers load for the next round while they multiply for this one
    product = trace_product(listing([*lines[cut:], *lines[:cut]]))
    assert (product.accumulators, product.steps) == (rows * columns, steps)
    expected = [
        (Counter({f"LDS{SUFFIX[wide[0]]}": steps * rows // wide[0]}), {A_BASE}),
        (Counter({f"LDS{SUFFIX[wide[1]]}": steps * columns // wide[1]}), {B_BASE}),
    ]
    assert loads_of(product) in (expected, expected[::-1])


def test_one_load_may_serve_several_steps():
    """A column of eight results, four k to a load: how a compiler reads the rows of A."""
    lines = []
    for row in range(8):
        lines.append(f"LDS.128 R{8 + 4 * row}, [R2+{128 * row:#x}]")
    for k in range(4):
        lines.append(f"LDS R{60 + k}, [R3+{256 * k:#x}]")
        lines += [f"FFMA R{100 + row}, R{60 + k}, R{8 + 4 * row + k}, R{100 + row}" for row in range(8)]
    product = trace_product(listing([*lines, "@P0 BRA 0x0"]))
    assert (product.accumulators, product.steps) == (8, 4)
    assert loads_of(product) == [(Counter({"LDS.128": 8}), {"R2"}), (Counter({"LDS": 4}), {"R3"})]


def test_an_accumulator_may_wander_through_registers():
    lines = ["LDS R8, [R2]", "LDS R9, [R3]", "FFMA R20, R8, R9, R21", "LDS R8, [R2+0x4]", "LDS R9, [R3+0x4]",
             "FFMA R21, R8, R9, R20", "@P0 BRA 0x0"]  # fmt: skip
    product = trace_product(listing(lines))
    assert (product.accumulators, product.steps) == (1, 2)


@pytest.mark.parametrize("move", ["MOV R9, R8", "IMAD.MOV.U32 R9, RZ, RZ, R8"])
def test_an_element_is_followed_through_moves(move):
    lines = ["LDS R8, [R2]", move, "LDS R10, [R3]", "FFMA R20, R9, R10, R20", "@P0 BRA 0x0"]
    assert loads_of(trace_product(listing(lines))) == [
        (Counter({"LDS": 1}), {"R2"}),
        (Counter({"LDS": 1}), {"R3"}),
    ]


def test_matrix_instructions_are_traced_like_scalar_ones():
    lines = [
        "LDSM.16.M88.4 R8, [R2]",
        "LDSM.16.MT88.2 R12, [R3]",
        "HMMA.16816.F32.BF16 R20, R8, R12, R20",
        "@P0 BRA 0x0",
    ]
    product = trace_product(listing(lines))
    assert (product.accumulators, product.steps) == (1, 1)
    assert [operand.loads[0].opcode for operand in product.operands] == ["LDSM.16.M88.4", "LDSM.16.MT88.2"]


# What is none, or not told apart


@pytest.mark.parametrize(
    "lines",
    [
        ["FADD R0, R1, R2", "@P0 BRA 0x0"],  # no multiplication
        ["FFMA R0, R1, R2, R3", "@P0 BRA 0x0"],  # nothing is summed up
        ["FFMA R0, R1, R2, R0", "FFMA R5, R1, R2, R3", "@P0 BRA 0x0"],  # one of the two is not
        ["FFMA R0, R1, R2, R0", "FFMA R0, R1, R2, R0", "FFMA R3, R1, R2, R3", "@P0 BRA 0x0"],  # not alike
        ["HFMA2.MMA R0, -RZ, RZ, 0, 0", "@P0 BRA 0x0"],  # a move in disguise
    ],
)
def test_multiplications_that_accumulate_in_different_ways_are_no_product(lines):
    assert trace_product(listing(lines)) is None


@pytest.mark.parametrize(
    "loads",
    [
        ["LDS R8, [R2]", "MOV R9, R8"],  # a square: both factors are one load
        ["LDS R8, [R2]", "MUFU.EX2 R9, R7"],  # one factor is computed
        ["LDS R8, [R2]"],  # one comes from before the loop
        ["LDS R8, [R2]", "@P1 LDS R8, [R3]", "LDS R9, [R4]"],  # one is either of two
    ],
)
def test_operands_are_distinguished_for_certain_or_not_at_all(loads):
    product = trace_product(listing([*loads, "FFMA R20, R8, R9, R20", "@P0 BRA 0x0"]))
    assert (product.accumulators, product.steps) == (1, 1)
    assert product.operands is None


def test_steps_whose_addresses_have_all_in_common_are_not_brought_together():
    """One base for both operands, and one accumulator: nothing says which load of a step is which."""
    lines = ["LDS R8, [R2]", "LDS R9, [R2+0x100]", "FFMA R20, R8, R9, R20", "LDS R8, [R2+0x4]", "LDS R9, [R2+0x104]",
             "FFMA R20, R8, R9, R20", "@P0 BRA 0x0"]  # fmt: skip
    product = trace_product(listing(lines))
    assert (product.accumulators, product.steps, product.operands) == (1, 2, None)


def test_a_load_that_never_acts_writes_nothing():
    lines = ["LDS R8, [R2]", "LDS R9, [R3]", "@!PT LDS R8, [R9]", "FFMA R20, R8, R9, R20", "@P0 BRA 0x0"]
    assert sum(len(operand.loads) for operand in trace_product(listing(lines)).operands) == 2


# A and B


def stored(rows, columns, wide=1, across_rows=True):
    """Each row of the result, or each column if not `across_rows`, to consecutive addresses."""
    lines = []
    for outer in range(rows if across_rows else columns):
        lines.append("IADD3 R6, P0, R6, R7, RZ")  # the next row begins elsewhere
        for inner in range(0, columns if across_rows else rows, wide):
            number = outer * columns + inner if across_rows else inner * columns + outer
            offset = f"+{4 * inner:#x}" if inner else ""
            lines.append(f"STG.E{SUFFIX[wide]} desc[UR4][R6.64{offset}], R{100 + number}")
    return listing(lines)


@pytest.mark.parametrize("wide", [1, 4])
def test_a_serves_the_neighbours_in_a_row_of_the_result(wide):
    product = trace_product(listing(outer_product(4, 4, random=Random(1))))
    a = product.operands[product.find_a(stored(4, 4, wide))]
    assert {load.text.split("[")[1][:2] for load in a.loads} == {A_BASE}


def test_a_result_stored_by_columns_has_the_names_of_its_rows_in_memory():
    product = trace_product(listing(outer_product(4, 4)))
    straight, crossed = (product.find_a(stored(4, 4, across_rows=way)) for way in (True, False))
    assert {straight, crossed} == {0, 1}


def test_scaling_the_result_does_not_hide_it():
    product = trace_product(listing(outer_product(2, 2)))
    scaled = listing([f"FMUL R{number}, R{number}, R5" for number in range(100, 104)])
    assert product.find_a([*scaled, *stored(2, 2)]) == product.find_a(stored(2, 2))


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (8, 1)])
def test_no_operand_is_named_when_no_two_neighbours_are_stored(rows, columns):
    product = trace_product(listing(outer_product(rows, columns)))
    assert product.operands
    assert product.find_a(stored(rows, columns)) is None


def test_offsets_from_a_base_that_has_moved_are_no_neighbours():
    product = trace_product(listing(outer_product(2, 2)))
    lines = ["STG.E desc[UR4][R6.64], R100", "IADD3 R6, P0, R6, R7, RZ", "STG.E desc[UR4][R6.64+0x4], R102"]
    assert product.find_a(listing(lines)) is None
    assert product.find_a(listing(lines[::2])) is not None


def test_overwritten_registers_are_no_result():
    product = trace_product(listing(outer_product(2, 2)))
    zeroed = listing([f"MOV R{number}, RZ" for number in range(100, 104)])
    assert product.find_a([*zeroed, *stored(2, 2)]) is None
