"""Loops in machine code: where they are, and which one the kernel spends its instructions in."""

import pytest
from hypothesis import given, strategies as st

from profiler.analyse.code.code import read_code
from profiler.analyse.code.loops import find_hot_loop, find_loops, weighted_by_structure
from tests.analyse.code.made_code import code_of, function


def spans(*lines):
    return [(loop.start, loop.end) for loop in find_loops(function(*lines))]


def hot_span(*lines):
    found = find_hot_loop(code_of(function(*lines)))
    return found and (found[1].start, found[1].end)


# Finding them


@pytest.mark.parametrize(
    "branch",
    [
        "@P0 BRA 0x10",
        "@!P0 BRA 0x10",
        "BRA 0x10",
        "BRA P0, 0x10",
        "@!P0 BRA.U !UP2, 0x10",
        "BRA `(.L_x_1) 0x10",
    ],
)
def test_a_branch_that_goes_back_closes_a_loop_however_it_is_predicated(branch):
    assert spans((8, "MOV R0, RZ"), (800, "IADD3 R0, R0, 0x1, RZ"), (800, branch), (8, "EXIT")) == [
        (0x10, 0x20)
    ]


@pytest.mark.parametrize(
    "instruction",
    [
        "@P0 BRA 0x30",  # forward
        "CALL.REL.NOINC 0x10",  # a call comes back by itself
        "BSSY B0, 0x10",
        "BRA f1+0x10",  # another function's
        "BRA 0x18",  # no instruction starts there
        "BRX R2 -0x10",  # nobody can tell
        "BRXU UR2 -0x10",
        "MOV R0, 0x10",
    ],
)
def test_nothing_else_does(instruction):
    assert spans((8, "NOP"), (8, "NOP"), (8, instruction), (8, "EXIT")) == []


WAITING = ((9, "SYNCS.PHASECHK.TRANS64.TRYWAIT P1, [R5+URZ], R4"), (9, "@!P1 BRA 0x50"), (5, "BRA 0x20"))


@pytest.mark.parametrize(
    ("behind", "is_loop"),
    [
        ("EXIT", False),  # whoever waited goes on to the end
        ("@P2 EXIT", False),
        ("BRA 0x40", False),
        ("BRA P3, 0x10", True),  # the next turn may wait as well
        ("@P3 BRA 0x10", True),
        ("BRX R2 -0x10", True),  # nobody can tell
        ("BRXU UR2 -0x10", True),
    ],
)
def test_code_that_waits_out_of_line_is_a_loop_only_where_the_same_turn_may_come_to_it_again(behind, is_loop):
    """It stands behind the end, and goes back to where it was left."""
    lines = ((8, "NOP"), (8, "@P1 BRA 0x50"), (8, "LDS R8, [R2]"), (8, behind), (8, "EXIT"), *WAITING)
    assert ((0x20, 0x70) in spans(*lines)) == is_loop
    assert (0x50, 0x60) in spans(*lines)


def test_a_loop_that_never_ran_is_none_nor_is_the_trap_behind_the_end():
    remainder = [(0, "FFMA R0, R1, R2, R0"), (0, "@P0 BRA 0x10")]
    assert spans((8, "@!P0 BRA 0x30"), *remainder, (8, "EXIT"), (None, "BRA 0x40")) == []
    assert spans((8, "NOP"), (8, "@P1 BRA 0x30"), (0, "@P0 BRA 0x0"), (8, "EXIT")) == []


def test_without_counts_no_loop_is_found():
    assert spans((None, "NOP"), (None, "@P0 BRA 0x0")) == []


def test_iterations_are_those_of_all_warps():
    (loop,) = find_loops(function((8, "NOP"), (800, "NOP"), (800, "@P0 BRA 0x10")))
    assert loop.iterations == 800
    assert [one.offset for one in loop.body] == [0x10, 0x20]
    assert loop.own_work == 1600


def test_a_loop_entered_in_its_middle_or_left_from_there_has_as_many_as_most_of_it():
    entered = [(8, "BRA 0x20"), (792, "NOP"), (800, "NOP"), (800, "NOP"), (800, "@P0 BRA 0x10")]
    tested_first = [(8, "NOP"), (808, "@P1 BRA 0x50"), (800, "NOP"), (800, "NOP"), (800, "BRA 0x10")]
    assert [find_loops(function(*lines))[0].iterations for lines in (entered, tested_first)] == [800, 800]


def test_instructions_that_most_iterations_skip_do_not_count_them_however_many_they_are():
    """A matrix product that goes from tile to tile in one loop stores each tile behind a branch in it."""
    main = [(800, "HGMMA.64x256x16.F32.BF16 R24, gdesc[UR4], R24")] * 4
    stores = [(8, "STG.E desc[UR4][R2.64], R0")] * 100
    (loop,) = find_loops(function(*main, (800, "@P0 BRA 0x690"), *stores, (800, "@P1 BRA 0x0")))
    assert loop.iterations == 800


# The hot one


NESTED = [
    (8, "NOP"),
    (80, "LDG.E R0, [R2]"),  # the outer loop's own: this, ...
    (6400, "LDS R4, [R3]"),
    (6400, "FFMA R5, R4, R4, R5"),
    (6400, "@P0 BRA 0x20"),
    (80, "BAR.SYNC 0x0"),  # ... this ...
    (80, "@P1 BRA 0x10"),  # ... and this
    (8, "EXIT"),
]


def test_each_nested_loop_owns_the_work_that_no_loop_inside_it_owns():
    outer, inner = find_loops(function(*NESTED))
    assert (outer.own_work, inner.own_work) == (3 * 80, 3 * 6400)
    assert hot_span(*NESTED) == (inner.start, inner.end)


def test_the_loop_around_two_overlapping_loops_leaves_out_their_common_part_once():
    targets = [None, None, None, "0x10", "0x20", "0x0"]
    outer, *overlapping = find_loops(
        function(*((8, f"@P0 BRA {target}" if target else "IADD3 R0, R0, 0x1, RZ") for target in targets))
    )
    assert [(loop.start, loop.end) for loop in overlapping] == [(0x10, 0x30), (0x20, 0x40)]
    assert outer.own_work == 8 + 8, "its first instruction and its branch"


def test_an_outer_loop_is_the_hot_one_where_most_is_done_there():
    work = [(80, "FFMA R5, R4, R4, R5")] * 300
    inner = [(160, "NOP"), (160, "@P0 BRA 0x10")]
    last = 16 * (1 + len(inner) + len(work))
    assert hot_span((8, "NOP"), *inner, *work, (80, "@P1 BRA 0x10")) == (0x10, last)


def test_a_wait_behind_the_main_loop_that_returns_into_it_does_not_own_it():
    """Its span holds more executed instructions than the loop has, and a jump back three times."""
    main = [(1000, "@!P1 BRA 0x110"), *[(1000, "FFMA R0, R1, R2, R0")] * 3, (1000, "@P0 BRA 0x0")]
    epilogue = [(900, "STG.E desc[UR4][R2.64], R0")] * 12
    wait = [(3, "SYNCS.PHASECHK P1, [R1]"), (3, "BRA 0x10")]
    assert spans(*main, *epilogue, *wait) == [(0, 0x40), (0x10, 0x120)]
    assert hot_span(*main, *epilogue, *wait) == (0, 0x40)


def test_a_kernel_without_a_loop_has_no_hot_one():
    assert hot_span((8, "FFMA R0, R1, R2, R0"), (8, "EXIT")) is None


def test_the_hot_loop_may_be_in_any_of_several_functions():
    cold, hot = (function((8, "NOP"), (count, "NOP"), (count, "@P0 BRA 0x10")) for count in (80, 800))
    number, loop = find_hot_loop(code_of(cold, hot))
    assert (number, loop.iterations) == (1, 800)


@given(st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9)), min_size=1, max_size=5))
def test_whatever_the_nesting_the_work_of_all_loops_is_everything_inside_of_the_outermost(levels):
    """Each level adds instructions before the loop inside of it and repeats the whole."""
    lines, trips = [], 1
    for size, repeats in levels:
        trips *= repeats
        lines += [(trips, "NOP")] * size
    starts = [sum(size for size, _ in levels[:level]) for level in range(len(levels))]
    for level in reversed(range(len(levels))):
        lines.append((lines[starts[level]][0], f"@P0 BRA {16 * starts[level]:#x}"))
    loops = find_loops(function(*lines))
    assert len(loops) == len(levels)
    assert sum(loop.own_work for loop in loops) == sum(count for count, _ in lines)
    hot = max(loops, key=lambda loop: loop.own_work)
    assert find_hot_loop(code_of(function(*lines)))[1] == hot


# In real reports


def code_in(store, name, kernel=None):
    run = store.find(name, "gemm")
    names = [one.name for one in run.manifest.kernels if kernel is None or kernel in one.name]
    return read_code(run, names[0])


@pytest.mark.parametrize(
    ("name", "lines", "instructions"), [("gemm_5", (47, 43), 81), ("gemm_6", (67, 62), 76)]
)
def test_the_k_loop_of_a_matrix_product_is_inside_the_loop_over_slabs(store, name, lines, instructions):
    code = code_in(store, name)
    outer, inner = find_loops(code.functions[0])
    assert (inner.body[-1].line, outer.body[-1].line) == lines
    assert find_hot_loop(code) == (0, inner)
    assert len(inner.body) == instructions
    assert inner.iterations == 8 * outer.iterations == 4096 * (4096 // 128) ** 2 * 8


@pytest.mark.parametrize("kernel", ["scale", "offset", "calls_a_function"])
def test_a_kernel_that_only_calls_has_no_loop(store, kernel):
    assert find_hot_loop(code_in(store, "several", kernel)) is None


# Where nothing was counted


def test_the_loop_found_by_structure_is_the_one_that_the_counts_show(shipped_runs):
    """So it is in every rung of the GEMM ladder; other kernels may have a loop that is rarely entered."""
    rungs = [f"gemm-{number}" for number in range(1, 15)]
    stored = {one.name for one in shipped_runs.ids()}
    runs = [shipped_runs.find(name, "gemm") for name in rungs if name in stored]
    assert len(runs) > 10
    for run in runs:
        code = read_code(run, run.manifest.kernels[0].name)
        counted, found = find_hot_loop(code), find_hot_loop(weighted_by_structure(code))
        assert [one and (one[1].start, one[1].end) for one in (found,)] == [
            (counted[1].start, counted[1].end)
        ], run.label


def test_a_loop_that_waits_out_of_line_is_no_nest():
    lines = ["MOV R0, RZ", "FFMA R1, R1, R1, R1", "SYNCS P0, [R2]", "@!P0 BRA 0x70", "FFMA R1, R1, R1, R1", "BRA 0x10",
             "EXIT", "SYNCS P0, [R2]", "BRA 0x40", "BRA 0x90"]  # fmt: skip
    code = weighted_by_structure(code_of(function(*((None, line) for line in lines))))
    assert [one.executed for one in code.functions[0]] == [1, 10, 10, 10, 10, 10, 1, 1, 1, 0]


def test_tensor_cores_decide_which_loop_counts():
    lines = ["HGMMA R0, R1, R2", "BRA 0x0", *["FADD R3, R3, R3"] * 15, "BRA 0x20", "EXIT"]
    _, loop = find_hot_loop(weighted_by_structure(code_of(function(*((None, line) for line in lines)))))
    assert (loop.start, loop.end) == (0x0, 0x10)
