"""A hot loop in figures, each checked against the counters of the same report."""

import re
from dataclasses import replace

import pytest

from profiler.analyse.code.code import Code, Instruction, read_code
from profiler.analyse.code.hot_loop import derive_loop_sheet
from profiler.analyse.code.regions import find_region, read_counted_code
from profiler.errors import MetricsMissing
from profiler.store.tables.instruction_text import opcode_of
from tests.profiles import profile_of

WARPS, K = 8192, 4096  # of the two matrix products: 128 x 128 tiles of 4096 cubed


def sheet_of(store, name, kernel="", whole=False):
    profile = profile_of(store, name, kernel)
    return derive_loop_sheet(profile, read_counted_code(profile), whole=whole)


def counter(profile, *opcodes):
    """Warp instructions per launch, from the table of opcodes and not of instructions."""
    return sum(profile.opcodes[opcode] for opcode in opcodes)


both = pytest.mark.parametrize("name", ["gemm_5", "gemm_6"])


# Against the counters


@pytest.mark.parametrize(
    ("name", "kernel"),
    [("gemm_5", ""), ("gemm_6", ""), ("several", "scale"), ("several", "offset"), ("several", "calls")],
)
def test_the_executed_instructions_are_those_that_the_opcode_counters_counted(store, name, kernel):
    profile = profile_of(store, name, kernel)
    counted = {}
    for one in read_counted_code(profile).instructions:
        counted[one.opcode] = counted.get(one.opcode, 0.0) + (one.executed or 0.0)
    assert {opcode: count for opcode, count in counted.items() if count} == profile.opcodes
    assert sheet_of(store, name, kernel).cautions == []


@both
def test_the_loop_makes_every_multiplication_of_the_matrix_product(store, name):
    sheet, profile = sheet_of(store, name), profile_of(store, name)
    assert 32 * sheet.fmas * sheet.iterations == 4096**3 == 32 * counter(profile, "FFMA")
    assert (sheet.accumulators, sheet.steps, sheet.iterations) == (64, 1, WARPS * K)


@pytest.mark.parametrize(("name", "opcodes"), [("gemm_5", ("LDS", "LDS.128")), ("gemm_6", ("LDS.128",))])
def test_the_shared_loads_of_the_loop_are_all_that_were_counted(store, name, opcodes):
    sheet, profile = sheet_of(store, name), profile_of(store, name)
    assert sheet.shared.loads * sheet.iterations == counter(profile, *opcodes)
    words = sum(profile.opcodes[opcode] * (4 if opcode == "LDS.128" else 1) for opcode in opcodes)
    assert sheet.shared.words * sheet.iterations == words
    assert sheet.shared.fmas_per_word == counter(profile, "FFMA") / words


def test_a_square_tile_of_eight_makes_four_fmas_for_each_element_however_it_is_loaded(store):
    scalar, wide = (sheet_of(store, name).shared for name in ("gemm_5", "gemm_6"))
    assert (scalar.loads, scalar.fmas_per_load, scalar.bytes_per_load) == (10, 6.4, 6.4)
    assert (wide.loads, wide.fmas_per_load, wide.bytes_per_load) == (4, 16, 16)
    assert scalar.fmas_per_word == wide.fmas_per_word == 8 * 8 / (8 + 8)


@pytest.mark.parametrize(("name", "instructions"), [("gemm_5", 81), ("gemm_6", 76)])
def test_the_sheet_states_how_many_instructions_an_fma_costs(store, name, instructions):
    sheet = sheet_of(store, name)
    assert sheet.instructions == instructions
    assert sheet.instructions_per_fma == instructions / 64
    assert sheet.fma_issue_pct == 100 * 64 / instructions
    assert sheet.executed_pct == pytest.approx(
        100 * instructions * sheet.iterations / sum(profile_of(store, name).opcodes.values())
    )


@pytest.mark.parametrize(("outside", "scope"), [(8, "loop"), (100, "function")])
def test_a_loop_that_few_warps_go_round_is_not_hot(outside, scope):
    """As where a warp in thousands waits for a flag: almost all that runs is straight code."""
    lines = [(100.0, "FADD R1, R1, R2")] * outside + [(50.0, "LDG.E R4, [R2.64]")]
    lines += [(50.0, f"@P0 BRA {16 * outside:#x}"), (100.0, "EXIT")]
    assert find_region(Code((made(*lines),), launches=1, like=1)).scope == scope


@pytest.mark.parametrize(
    ("comes", "turns", "scope"),
    [
        (100.0, 100.0, "function"),  # what remains of an unrolled loop
        (100.0, 101.0, "loop"),
        (10.0, 80.0, "loop"),  # of a few warps
    ],
)
def test_a_loop_of_one_turn_is_no_hot_loop(comes, turns, scope):
    lines = [(100.0, "S2R R0, SR_TID.X"), (comes, "MOV R1, R0"), (turns, "FADD R1, R1, R2"), (turns, "@P0 BRA 0x20"), (100.0, "EXIT")]  # fmt: skip
    assert find_region(Code((made(*lines),), launches=1, like=1)).scope == scope


@pytest.mark.parametrize(("turns", "as_hot"), [(60.0, [(0x30, 0x50)]), (40.0, [])])
def test_another_loop_that_does_half_as_much_work_is_told_beside_the_hot_one(store, turns, as_hot):
    lines = [(100.0, "FADD R1, R1, R2"), (100.0, "FADD R3, R1, R2"), (100.0, "@P0 BRA 0x0")]
    lines += [(turns, "FADD R1, R1, R2"), (turns, "FADD R3, R1, R2"), (turns, "@P0 BRA 0x30")]
    sheet = sheet_of_code(store, *lines, (2.0, "EXIT"))
    assert (sheet.start, sheet.end, sheet.loops) == (0, 0x20, 2)
    assert [(one.start, one.end) for one in sheet.as_hot] == as_hot
    for one in sheet.as_hot:
        assert one.executed_pct == pytest.approx(100 * 180 / 482)
    assert sheet_of_code(store, *lines, (2.0, "EXIT"), whole=True).as_hot == []


# The ladder, against its counters and the published accounting


@pytest.mark.parametrize("number", range(11))
def test_the_hot_loop_of_every_rung_makes_all_of_its_multiplications(recorded, number):
    sheet = sheet_of(recorded, str(number))
    assert 32 * sheet.fmas * sheet.iterations == 4096**3
    assert sheet.cautions == []


def test_an_iteration_of_every_rung_begins_with_the_first_instruction_of_its_loop(shipped_runs):
    """So it does in rungs that go from tile to tile in one loop, which holds the many instructions that store a tile."""
    rungs = {one.name: one for one in shipped_runs.ids() if re.match(r"(gemm|epilogue)-\d+$", one.name)}
    codes = [read_code(run, run.manifest.kernels[0].name) for run in shipped_runs.open_all(rungs.values())]
    loops = {name: find_region(code) for name, code in zip(rungs, codes, strict=True)}
    assert {"gemm-16", "gemm-17", "gemm-19", "gemm-21", "gemm-22", "epilogue-2"} <= loops.keys()
    for name, loop in loops.items():
        assert loop.passes == loop.body[0].executed, name


@pytest.mark.parametrize("number", [10, 11, 12])
def test_the_sheet_of_a_rung_on_tensor_cores_accounts_for_all_that_they_compute(recorded, number):
    sheet, opcodes = sheet_of(recorded, str(number)), profile_of(recorded, str(number)).opcodes
    matrix = sheet.matrix
    (counted,) = (count for opcode, count in opcodes.items() if opcode.startswith("HGMMA"))
    assert matrix.mmas * sheet.iterations == counted
    assert matrix.operations_per_mma * counted == 2 * 4096**3
    assert matrix.instructions_per_mma == sheet.instructions / matrix.mmas


@pytest.mark.parametrize(
    ("number", "accumulators", "fmas_per_element", "fmas_per_load"),
    [
        (3, 1, 1 / 2, 1 / 1.25),
        (4, 8, 8 / 9, 8 / 3),  # published: 0.9 for each shared load, when a load was an element
        (5, 64, 64 / 16, 64 / 10),  # published: 4.0
        (6, 64, 64 / 16, 64 / 4),
        (7, 64, 64 / 16, 64 / 4),
        (8, 64, 64 / 16, 64 / 4),
        (9, 64, 64 / 16, 64 / 4),
    ],
)
def test_the_sheet_counts_the_fmas_for_each_element_and_load_of_shared_memory(
    recorded, number, accumulators, fmas_per_element, fmas_per_load
):
    sheet, profile = sheet_of(recorded, str(number)), profile_of(recorded, str(number))
    assert sheet.accumulators == accumulators
    assert sheet.shared.fmas_per_word == pytest.approx(fmas_per_element)
    assert sheet.shared.fmas_per_load == pytest.approx(fmas_per_load)
    loads = sheet.shared.loads * sheet.iterations
    off = sum(one.count for one in sheet.opcodes if one.opcode == "@!PT LDS") * sheet.iterations
    counted = profile.opcodes.get("LDS", 0) + profile.opcodes["LDS.128"]
    assert loads + off == pytest.approx(counted, rel=1e-3)  # rung 9 loads its first elements before the loop


@pytest.mark.parametrize("number", [5, 6, 7, 8, 9])
def test_every_tiled_rung_names_its_operands(recorded, number):
    places = {one.name: set(one.places) for one in sheet_of(recorded, str(number)).operands}
    assert places.keys() == {"A", "B"}
    if number < 9:  # which loads both through one function
        (a,), (b,) = places["A"], places["B"]
        assert int(b.split(":")[1]) == int(a.split(":")[1]) + 2  # the source reads A, then B


# Operands


def operands(sheet):
    return {one.name: [(load.opcode, load.count) for load in one.loads] for one in sheet.operands}


def test_the_operands_are_named_and_their_loads_counted(store):
    assert operands(sheet_of(store, "gemm_5")) == {"A": [("LDS", 8)], "B": [("LDS.128", 2)]}
    assert operands(sheet_of(store, "gemm_6")) == {"A": [("LDS.128", 2)], "B": [("LDS.128", 2)]}


@both
def test_the_source_agrees_about_which_operand_is_which(store, name):
    """The report imported its source, in which the tiles are called As and Bs."""
    rows = store.find(name, "gemm").to_pandas("instructions")
    text = {f"sgemm.cu:{row.line}": row.source for row in rows.itertuples()}
    found = sheet_of(store, name).operands
    assert found
    for one in found:
        assert one.places
        assert all(f"]={one.name}s[" in text[place] for place in one.places)


# Other shapes of code


def made(*lines):
    """A function of `(executed, text)`."""
    return tuple(Instruction(16 * at, opcode_of(text), text, count) for at, (count, text) in enumerate(lines))


def sheet_of_code(store, *lines, whole=False):
    profile = replace(profile_of(store, "gemm_5"), opcodes={})
    return derive_loop_sheet(profile, Code((made(*lines),), 1, 1), whole=whole)


def test_a_column_of_eight_makes_0_9_fmas_for_each_element_though_2_7_for_each_load(store):
    """Four k at a time from eight rows of A: what a compiler makes of a one-dimensional tile."""
    lines = [(64, f"LDS.128 R{8 + 4 * row}, [R2+{128 * row:#x}]") for row in range(8)]
    for k in range(4):
        lines.append((64, f"LDS R{60 + k}, [R3+{256 * k:#x}]"))
        lines += [(64, f"FFMA R{100 + row}, R{60 + k}, R{8 + 4 * row + k}, R{100 + row}") for row in range(8)]
    sheet = sheet_of_code(store, *lines, (64, "@P0 BRA 0x0"))
    assert sheet.shared.fmas_per_word == 8 / (8 + 1)
    assert sheet.shared.fmas_per_load == pytest.approx(8 / 3)
    assert operands(sheet) == {"": [("LDS", 4)]} or operands(sheet) == {"": [("LDS.128", 8)]}


def test_a_block_that_some_iterations_skip_counts_by_how_often_it_ran(store):
    lines = [(100, "@P0 BRA 0x20"), (50, "LDG.E R0, [R2]"), (100, "FFMA R1, R2, R3, R1"), (100, "@P1 BRA 0x0")]  # fmt: skip
    sheet = sheet_of_code(store, *lines)
    assert {one.opcode: one.count for one in sheet.opcodes} == {"BRA": 2, "LDG.E": 0.5, "FFMA": 1}
    assert sheet.instructions == 3.5


def test_loads_that_never_act_are_shown_as_such_and_load_nothing(store):
    lines = [(10, "LDS.128 R4, [R2]"), (10, "@!PT LDS RZ, [RZ]"), (10, "FFMA R0, R4, R5, R0"), (10, "@P0 BRA 0x0")]  # fmt: skip
    sheet = sheet_of_code(store, *lines)
    assert [one.opcode for one in sheet.opcodes] == ["LDS.128", "@!PT LDS", "FFMA", "BRA"]
    assert (sheet.shared.loads, sheet.shared.words) == (1, 4)


def test_one_load_of_unknown_width_makes_the_bytes_of_all_loads_unknown(store):
    lines = [
        (10, "LDSM.8.MT1616.2 R4, [R2]"),
        (10, "LDS R8, [R3]"),
        (10, "FFMA R0, R4, R5, R0"),
        (10, "@P0 BRA 0x0"),
    ]
    shared = sheet_of_code(store, *lines).shared
    assert (shared.loads, shared.fmas_per_load) == (2, 0.5)
    assert (shared.words, shared.bytes_per_load, shared.fmas_per_word) == (None, None, None)


@pytest.mark.parametrize(
    ("instruction", "fmas"),
    [
        ("HGMMA.64x256x16.F32.BF16 R24, gdesc[UR4], R24", 64 * 256 * 16 / 128),
        ("HMMA.16816.F32 R4, R8, R12, R4", 16 * 8 * 16 / 32),
        ("HMMA.1688.F32.TF32 R4, R8, R12, R4", 16 * 8 * 8 / 32),
        ("DMMA.884 R4, R8, R12, R4", 8 * 8 * 4 / 32),
        ("HFMA2 R4, R8, R12, R4", 2),
        ("FFMA R4, R8, R12, R4", 1),
        ("FFMA R4, RZ, R12, R4", 0),
        ("@!PT FFMA R4, R8, R12, R4", 0),
    ],
)
def test_the_fmas_of_a_thread(store, instruction, fmas):
    assert sheet_of_code(store, (10, instruction), (10, "@P0 BRA 0x0")).fmas == fmas


def test_the_operations_of_an_mma_are_the_mean_over_its_shapes(store):
    loop = [
        (10, "HMMA.16816.F32 R4, R8, R12, R4"),
        (10, "HMMA.1688.F32 R4, R8, R12, R4"),
        (10, "LDS R8, [R2]"),
        (10, "@P0 BRA 0x0"),
    ]
    matrix = sheet_of_code(store, *loop).matrix
    assert (matrix.mmas, matrix.instructions_per_mma, matrix.others_issue_pct) == (2, 2, 50)
    assert matrix.operations_per_mma == (2 * 16 * 8 * 16 + 2 * 16 * 8 * 8) / 2


def test_a_matrix_instruction_without_a_shape_is_counted_and_its_operations_are_unknown(store):
    matrix = sheet_of_code(
        store, (10, "UTCHMMA gdesc[UR4], gdesc[UR6], tmem[UR8]"), (10, "@P0 BRA 0x0")
    ).matrix
    assert (matrix.mmas, matrix.operations_per_mma) == (1, None)


def test_a_loop_without_matrix_instructions_has_no_figures_of_them(store):
    assert sheet_of(store, "gemm_5").matrix is None


def test_the_whole_function_is_counted_per_warp(store):
    sheet = sheet_of(store, "gemm_5", whole=True)
    assert (sheet.scope, sheet.iterations, sheet.executed_pct) == ("function", WARPS, 100)
    assert sheet.fmas == 64 * K
    assert (sheet.steps, sheet.operands) == (None, [])


def test_multiplications_have_steps_only_where_their_operands_are_found(store):
    """A sum of what a loop scales is no product, although each turn adds to one sum."""
    lines = [(100.0, "LDG.E R4, [R2.64]"), (100.0, "FFMA R1, R4, R9, R1"), (100.0, "@P0 BRA 0x0"), (2.0, "EXIT")]  # fmt: skip
    assert (sheet_of_code(store, *lines).fmas, sheet_of_code(store, *lines).steps) == (1, None)
    lines.insert(1, (100.0, "LDG.E R9, [R6.64]"))
    assert sheet_of_code(store, *lines).steps == 1


def test_a_kernel_without_a_loop_is_shown_whole(store):
    sheet = sheet_of(store, "several", "scale")
    assert (sheet.scope, sheet.executed_pct, sheet.accumulators) == ("function", 100, None)
    assert sheet.shared is None
    assert {one.opcode for one in sheet.opcodes} >= {"LDG.E", "STG.E"}


def test_launches_that_ran_other_code_are_not_averaged(store):
    """The Triton report holds one kernel name, compiled for three block sizes."""
    sheet, profile = sheet_of(store, "triton_add_full"), profile_of(store, "triton_add_full")
    code = read_code(profile.run, profile.kernel)
    assert (code.like, code.launches) == (1, 3)
    assert sheet.cautions == ["the launches ran different machine code: this is that of 1 of 3"]
    assert all(one.executed is None or one.executed == int(one.executed) for one in code.instructions)


def test_samples_are_shares_of_what_is_shown(store):
    sheet = sheet_of(store, "triton_add_full")
    assert sum(one.samples_pct for one in sheet.opcodes) == pytest.approx(100)


def test_counts_that_contradict_the_opcode_counters_are_reported(store):
    profile = profile_of(store, "gemm_5")
    off = replace(profile, opcodes={**profile.opcodes, "FFMA": 2 * profile.opcodes["FFMA"]})
    (caution,) = derive_loop_sheet(off, read_counted_code(profile)).cautions
    assert "different passes" in caution


@pytest.mark.parametrize(("name", "kernel"), [("graph", ""), ("hostile", "scale")])
def test_a_recording_without_counts_is_weighted_by_its_structure(store, name, kernel):
    profile = profile_of(store, name, kernel)
    sheet = derive_loop_sheet(profile, read_counted_code(profile))
    assert (sheet.iterations, sheet.iterations_per_warp, sheet.executed_pct) == (None, None, None)
    assert sheet.cautions[0].startswith("nothing was counted")
    whole = derive_loop_sheet(profile, read_counted_code(profile), whole=True)
    for one in (sheet, whole):
        assert ("the loop is the deepest one" in one.cautions[0]) == (one.scope == "loop")
    assert "of the function" in whole.cautions[0]


def test_a_recording_without_machine_code_is_an_error_that_says_how_to_get_it(make_profile):
    with pytest.raises(MetricsMissing, match="no machine code"):
        read_counted_code(make_profile({}))


def test_the_function_with_the_most_work_is_shown():
    small, large = made((8, "NOP"), (8, "EXIT")), made((8, "NOP"), (8, "NOP"), (8, "EXIT"))
    assert find_region(Code((small, large), 1, 1)).body == large
