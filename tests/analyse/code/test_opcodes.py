"""Machine code as evidence: access widths, and the story of kernels 5 and 6."""

import pytest

from profiler.analyse.code.code import Instruction
from profiler.analyse.code.opcodes import (
    compare_opcodes,
    derive_from_opcodes,
    factor_bits,
    is_matrix,
    is_of_group,
    is_plumbing,
    is_sum,
    launch_sizes,
    overhead_kind,
    tensor_product,
    width_bits,
    word_of_constants,
)
from profiler.analyse.compare.compare import compare_profiles
from profiler.analyse.recording.profile import profile_kernel
from profiler.catalog.metrics import BY_NAME
from profiler.store.tables.instruction_text import opcode_of
from tests.profiles import profile_in


@pytest.mark.parametrize(
    ("opcode", "bits"),
    [
        ("LDS", 32),
        ("LDS.64", 64),
        ("LDS.128", 128),
        ("LDS.U.128", 128),
        ("LDS.U8", 8),
        ("LDS.S16", 16),
        ("LDG.E", 32),
        ("LDG.E.64", 64),
        ("LDG.E.128.CONSTANT", 128),
        ("LDG.E.U8", 8),
        ("LDG.E.U16.CONSTANT", 16),
        ("LDG.E.LTC128B.128", 128),
        ("LDL.LU", 32),
        ("LDC.64", 64),
        ("LDCU.128", 128),
        ("LDGSTS.E.BYPASS.128", 128),
        ("LDGSTS.E.BYPASS.LTC128B.128", 128),
        ("STS", 32),
        ("STG.E.128", 128),
        ("ST.E.64", 64),
        ("ATOMG.E.ADD", 32),
        ("ATOMG.E.ADD.64.STRONG.GPU", 64),
        ("ATOMS.POPC.INC.32", 32),
        ("RED.E.ADD.F64.RN.STRONG.GPU", 64),
        ("REDG.E.ADD.F16x2.RN", 32),
        ("LDSM.16.M88", 32),
        ("LDSM.16.M88.4", 128),
        ("LDSM.16.MT88.2", 64),
        ("STSM.16.M88.4", 128),
    ],
)
def test_the_width_of_a_memory_access_is_read_from_its_opcode(opcode, bits):
    assert width_bits(opcode) == bits


@pytest.mark.parametrize(
    ("opcode", "products", "bits"),
    [
        ("HMMA.16816.F32", 16 * 8 * 16, 16),
        ("HMMA.1688.F32.TF32", 16 * 8 * 8, 32),
        ("IMMA.16832.S8.S8", 16 * 8 * 32, 8),
        ("DMMA.884", 8 * 8 * 4, 64),
        ("DMMA.8x8x4", 8 * 8 * 4, 64),
        ("HGMMA.64x256x16.F32.BF16", 16 * 256 * 16, 16),
        ("QGMMA.64x256x32.F32.E4M3.E4M3", 16 * 256 * 32, 8),
    ],
)
def test_an_opcode_says_what_a_warp_multiplies(opcode, products, bits):
    assert (tensor_product(opcode).multiply_adds, factor_bits(opcode)) == (products, bits)


@pytest.mark.parametrize(
    ("units", "opcodes"),
    [
        ("four warps", "HGMMA.64x256x16.F32.BF16 QGMMA.64x256x32.F32.E4M3.E4M3 IGMMA.64x256x32.S8.S8"),
        ("tensor cores", "HMMA.16816.F32 IMMA.16832.S8.S8 QMMA.16832.F32.E4M3.E4M3 DMMA.884 BMMA.88128.AND.POPC UTCHMMA"),
        ("other pipes", "FFMA DFMA HFMA2.MMA IMAD WARPGROUP.ARRIVE LDSM.16.M88.4"),
    ],
)  # fmt: skip
def test_an_opcode_says_whether_tensor_cores_execute_it(units, opcodes):
    for opcode in opcodes.split():
        assert (is_matrix(opcode), is_of_group(opcode)) == (units != "other pipes", units == "four warps"), (
            opcode
        )


def test_an_opcode_that_names_no_shape_multiplies_nothing():
    assert tensor_product("WARPGROUP.ARRIVE") is None


@pytest.mark.parametrize(
    "opcode",
    [
        "FFMA",
        "HMMA.16816.F32",
        "IMAD.WIDE.U32",
        "SHF.R.U32.HI",
        "LOP3.LUT",
        "BAR.SYNC.DEFER_BLOCKING",
        "LDGDEPBAR",
        "REDUX.SUM.S32",
        "UTMALDG.2D",
        "UBLKCP.S.G",
        "I2F.U32.RP",
        "LEA",
        "STACK",
        "",
    ],
)
def test_an_instruction_that_moves_no_register_to_or_from_memory_has_no_width(opcode):
    assert width_bits(opcode) is None


@pytest.mark.parametrize(
    ("telling", "opcodes"),
    [
        (True, "LDS.128 LDG.E STG.E.128 LDGSTS.E ATOMG.E.ADD FFMA FADD MUFU.EX2 HGMMA.64x128x16.F32 BAR.SYNC SHFL.BFLY"),
        (True, "UTMALDG.2D SYNCS.ARRIVE.TRANS64 WARPGROUP.ARRIVE DEPBAR.LE LDGDEPBAR F2FP.BF16.F32.PACK_AB FSETP.GT.AND"),
        (False, "IMAD.WIDE.U32 IADD3.X UIADD3.64 MOV UMOV IMAD.MOV.U32 LEA.HI.X.SX32 ULEA LOP3.LUT SHF.R.U32.HI USEL"),
        (False, "ISETP.GE.AND UISETP.NE.AND PLOP3.LUT LDC.64 ULDC S2R CS2R R2UR BRA BRA.U.ANY EXIT BSSY CALL.REL.NOINC NOP"),
    ],
)  # fmt: skip
def test_plumbing_is_what_a_loop_costs_and_not_what_it_is_for(telling, opcodes):
    assert {opcode: is_plumbing(opcode) for opcode in opcodes.split()} == dict.fromkeys(
        opcodes.split(), not telling
    )


@pytest.mark.parametrize(
    ("kind", "opcodes"),
    [
        ("moves", "MOV UMOV IMAD.MOV.U32 CS2R S2R LDC.64 R2UR"),
        ("address and integer arithmetic", "IMAD.WIDE.U32 IADD3.X UIADD3.64 LEA.HI.X LOP3.LUT SHF.R.U32.HI"),
        ("comparisons and selects", "ISETP.GE.AND USEL PLOP3.LUT VIMNMX"),
        ("conversions", "I2F.U32.RP F2I.FTZ I2FP.F32.S32 F2FP.BF16.F32.PACK_AB FRND.FLOOR"),
        ("branches", "BRA BRA.U.ANY EXIT BSSY NOP"),
        (None, "LDS.128 FFMA MUFU.EX2 BAR.SYNC IDP.4A FADD"),
    ],
)
def test_overhead_is_named_by_its_kind(kind, opcodes):
    assert {opcode: overhead_kind(opcode) for opcode in opcodes.split()} == dict.fromkeys(
        opcodes.split(), kind
    )


def test_the_largest_change_leads_and_what_one_side_lacks_counts_as_zero():
    both = {"FFMA": 64.0, "EXIT": 1.0}
    changes = compare_opcodes({"LDS": 800.0, **both}, {"LDS.128": 200.0, **both})
    assert [(one.opcode, one.before, one.after) for one in changes] == [
        ("LDS", 800.0, 0.0),
        ("LDS.128", 0.0, 200.0),
        ("FFMA", 64.0, 64.0),
        ("EXIT", 1.0, 1.0),
    ]


def test_what_took_the_place_of_an_instruction_stands_behind_it_however_few_suffice():
    before = {"LEA": 900.0, "HGMMA.64x64x16.F32": 400.0, "LDG.E.128": 300.0, "IMAD": 200.0, "FADD": 90.0}
    after = {"LEA": 100.0, "HGMMA.64x256x16.F32": 100.0, "LDGSTS.E.BYPASS.128": 40.0, "SEL": 350.0, "IMAD.X": 5.0}  # fmt: skip
    assert [one.opcode for one in compare_opcodes(before, after)] == [
        "LEA",
        "HGMMA.64x64x16.F32",
        "HGMMA.64x256x16.F32",
        "SEL",
        "LDG.E.128",
        "LDGSTS.E.BYPASS.128",
        "IMAD",  # of which an address or a count may need any other form
        "FADD",
        "IMAD.X",
    ]


def test_forms_that_both_sides_have_stay_in_the_order_of_their_changes():
    before = {"LDS": 800.0, "FADD": 600.0, "LDS.128": 100.0}
    assert [
        one.opcode for one in compare_opcodes(before, {"LDS": 100.0, "LDS.128": 200.0, "FADD": 200.0})
    ] == ["LDS", "FADD", "LDS.128"]


def executed(run, opcode):
    """Straight from the instances of the report, without any of the code under test."""
    rows = run.to_pandas("instances")
    rows = rows[
        (rows.metric == "sass__inst_executed_per_opcode_with_modifier_all") & (rows.id_name == opcode)
    ]
    return rows.value.sum() / len(run.table("launches"))


@pytest.fixture(scope="module")
def gemm(recorded):
    return [recorded.find(number, "gemm") for number in "56"]


@pytest.fixture(scope="module")
def story(gemm):
    comparison = compare_profiles(*(profile_kernel(run, run.manifest.kernels[0].name) for run in gemm))
    return {one.opcode: one for one in comparison.instructions.opcodes}


def test_the_eight_scalar_shared_loads_of_kernel_5_become_two_of_128_bits(story):
    """Per thread and k-step, kernel 5 makes 8 LDS and 2 LDS.128; kernel 6 makes 4 LDS.128."""
    k_steps = 4096 * (4096 // 128) ** 2 * 8  # per block column and row, 8 warps a block
    assert (story["LDS"].before / k_steps, story["LDS"].after / k_steps) == (8, 0)
    assert (story["LDS.128"].before / k_steps, story["LDS.128"].after / k_steps) == (2, 4)


def test_global_loads_become_128_bits_wide(story):
    loads = [one for one in story.values() if one.opcode.startswith("LDG")]
    assert {one.width_bits for one in loads if one.before} == {32}
    assert {one.width_bits for one in loads if one.after} == {128}
    assert sum(one.before for one in loads) == 4 * sum(one.after for one in loads)


def test_every_count_is_the_reports_own(gemm, story):
    assert {"LDS", "LDS.128", "STS", "FFMA"} <= set(story)
    for opcode, change in story.items():
        assert change.before == executed(gemm[0], opcode)
        assert change.after == executed(gemm[1], opcode)


# Metrics made of executed instructions by opcode


TENSOR_LOADS = ("UTMALDG.2D", "UTMALDG.2D.MULTICAST")


def derived(name, executed):
    return derive_from_opcodes(BY_NAME[name].from_opcodes, executed)


@pytest.mark.parametrize(
    ("executed", "load_bits", "store_bits"),
    [
        ({"LDG.E": 8, "STG.E": 8}, 32, 32),
        ({"LDG.E.128.CONSTANT": 2, "STG.E.EF.64": 4}, 128, 64),
        ({"LDG.E.128": 3, "LDG.E.CONSTANT": 1, "STG.E.U16": 1}, 104, 16),  # a tail of single elements
        ({"LDGSTS.E.BYPASS.128": 1, "LDGSTS.E.LTC128B": 1}, 80, None),
        ({"LD.E.64": 1, "ST.E.U8": 1}, 64, 8),
        ({"LDG.E.ENL2.256": 1}, 256, None),
        ({"LDS.128": 9, "STS": 9, "LDL": 9, "LDC.64": 9, "LDGDEPBAR": 9, "ATOMG.E.ADD": 9, "RED.E.ADD": 9}, None, None),
        ({"UTMALDG.2D.MULTICAST": 4, "STG.E.64": 4}, None, 64),
    ],
)  # fmt: skip
def test_a_width_is_the_mean_over_accesses_to_global_memory(executed, load_bits, store_bits):
    assert derived("load_width_bits", executed) == load_bits
    assert derived("store_width_bits", executed) == store_bits


def test_copies_of_blocks_are_counted_since_their_instructions_tell_no_width():
    executed = {"UBLKCP.S.G": 5, "UTMALDG.2D": 3, "UBLKCP.G.S": 2, "UTMASTG.2D": 1, "UBLKPF.L2": 7, "FFMA": 9}
    assert (derived("bulk_loads", executed), derived("bulk_stores", executed)) == (8, 3)


@pytest.mark.parametrize(("number", "bits"), [("5", 32), ("6", 128)])
def test_the_recorded_kernels_widths_are_what_their_sources_say(recorded, number, bits):
    series = profile_in(recorded, number).series
    assert {series[name].values.mean for name in ("load_width_bits", "store_width_bits")} == {bits}
    assert {series[name].values.mean for name in ("bulk_loads", "bulk_stores")} == {0}


def test_the_recorded_tensor_core_kernel_has_no_thread_load_anything(recorded):
    run = recorded.find("10", "gemm")
    series = profile_kernel(run, run.manifest.kernels[0].name).series
    assert "load_width_bits" not in series
    assert series["bulk_loads"].values.mean == sum(executed(run, opcode) for opcode in TENSOR_LOADS) > 0


def test_opcodes_that_one_side_did_not_record_are_not_compared_with_zero():
    assert compare_opcodes({"FFMA": 8.0}, {}) == compare_opcodes({}, {"FFMA": 8.0}) == []


@pytest.mark.parametrize(
    ("does", "texts"),
    [
        (True, ["IADD R1, R2, R3", "IADD3.X R1, R2, R3, RZ, P0, !PT", "UIADD3 UR4, UR4, 0x1, URZ", "VIADD R1, R1, 0x1", "IMAD.IADD R1, R2, 0x1, R3"]),
        (False, ["IMAD R1, R2, R3, R4", "LEA R1, R2, R3, 0x2", "MOV R1, R2", "IMAD.MOV.U32 R1, RZ, RZ, R2", "FADD R1, R2, R3"]),
    ],
)  # fmt: skip
def test_sums_of_integers_are_told_from_what_multiplies_or_moves(does, texts):
    assert {is_sum(Instruction(0, opcode_of(text), text)) for text in texts} == {does}


@pytest.mark.parametrize(
    ("capability", "first"), [(None, 0x0), ("7.5", 0x0), ("9.0", 0x0), ("10.0", 0x360), ("12.1", 0x360)]
)
def test_the_sizes_of_a_launch_lie_elsewhere_since_blackwell(capability, first):
    sizes = launch_sizes(capability)
    of_grid = first + (0x10 if first else 0xC)
    places = [first, first + 4, first + 8, of_grid, of_grid + 4, of_grid + 8]
    assert [*sizes.block, *sizes.grid] == [f"c[0x0][{place:#x}]" for place in places]


@pytest.mark.parametrize(
    ("operand", "word"),
    [
        ("c[0x0][0x370]", "c[0x0][0x374]"),
        ("c[0x0][RZ]", "c[0x0][0x4]"),
        ("c[0x3][0xfc]", "c[0x3][0x100]"),
        ("c[0x0][R6+0x218]", None),
        ("UR4", None),
    ],
)
def test_a_word_of_constants_stands_behind_the_one_that_is_named(operand, word):
    assert word_of_constants(operand, 1) == word
