"""Kinds of instructions, and what a site's counts amount to."""

from pathlib import Path

import pytest
from made_evidence import active, code_of, evidence_of, sites_of

from profiler.analyse.causes.evidence.sites import kind_of, place_on_pipes, read_sites
from profiler.analyse.recording.profile import profile_kernel
from profiler.store.runs.unstored import open_report

DATA = Path(__file__).parents[3] / "data"


@pytest.mark.parametrize(
    ("opcodes", "kind"),
    [
        ("LDG.E LDG.E.128.CONSTANT LD.E LDGSTS.E.BYPASS.128 UBLKCP UTMALDG.2D TEX.SCR.LL", "global load"),
        ("STG.E STG.E.64 ST.E UTMASTG.2D", "global store"),
        ("LDS LDS.U8 LDS.128 LDSM.16.M88.4", "shared load"),
        ("STS STS.128 STSM.16.M88.4", "shared store"),
        ("LDL LDL.LU STL STL.128", "local"),
        ("ATOMG.E.ADD.STRONG.GPU ATOM.E.CAS RED.E.ADD.F32.FTZ.RN.STRONG.GPU", "atomic"),
        ("ATOMS.POPC.INC.32 ATOMS.CAST.SPIN ATOMS.ADD", "shared atomic"),
        ("HMMA.16816.F32 IMMA.16832.S8.S8 HGMMA.64x256x16.F32 DMMA.884 WARPGROUP.ARRIVE", "tensor"),
        ("DADD DFMA DSETP.GT.AND MUFU.RCP64H F2F.F64.F32 F2F.F32.F64 I2F.F64 F2I.F64.TRUNC", "fp64"),
        ("MUFU.RCP MUFU.EX2 MUFU.SIN", "special"),
        ("F2I.FTZ.U32.TRUNC.NTZ I2F.U32.RP F2FP.BF16.F32.PACK_AB I2FP.F32.S32 FRND.FLOOR", "conversion"),
        ("FFMA FADD.FTZ FSETP.GT.AND FMNMX HFMA2 HADD2.F32 FCHK", "fp32"),
        ("IMAD.WIDE IADD3 LEA.HI.X ISETP.GE.AND LOP3.LUT SHF.R.U32.HI UIADD3 VIMNMX VHMNMX PRMT SEL", "integer"),
        ("BRA EXIT CALL.REL.NOINC RET.REL.NODEC BSSY BSYNC", "control"),
        ("BAR.SYNC.DEFER_BLOCKING MEMBAR.SC.GPU", "barrier"),
        ("SHFL.BFLY MATCH.ANY REDUX.SUM S2R S2UR LDC.64", "mio"),
        ("MOV IMAD.MOV.U32 ULDC R2UR VOTE.ANY NOP LDGDEPBAR DEPBAR.LE", "other"),
    ],
)  # fmt: skip
def test_every_opcode_has_the_kind_of_its_unit(opcodes, kind):
    assert {kind_of(opcode) for opcode in opcodes.split()} == {kind}


@pytest.mark.parametrize(
    ("opcodes", "units"),
    [
        ("DADD DFMA", ("issue", "fp64")),
        ("F2F.F64.F32 I2F.F64 MUFU.RCP64H MUFU.EX2 I2F.S8 F2I.NTZ", ("issue", "xu")),
        ("F2IP.U8.F32.NTZ I2I.U8.S32.SAT", ("issue",)),
        ("F2FP.BF16.F32.PACK_AB I2FP.F32.S32 I2IP.S8.S32.SAT MOV R2P P2R.B1", ("issue", "alu")),
        ("IADD3 ISETP.GE.AND FSETP.GT.AND FSEL FMNMX", ("issue", "alu")),
        ("FADD FFMA", ("issue", "fma")),
        ("IMAD IMAD.MOV.U32 VIADD IDP.4A.S8.S8", ("issue", "fma", "fma_heavy")),
        ("IMAD.WIDE.U32 IMAD.HI.U32", ("issue", "fma", "fma_heavy", "fma", "fma_heavy")),
        ("POPC FLO.U32 BREV FCHK", ("issue", "xu")),
        ("UIADD3 UISETP.NE.AND ULEA UIMAD UMOV", ("issue",)),
    ],
)
def test_conversions_take_the_pipe_of_special_functions_unless_they_pack_or_stay_in_32_bits(opcodes, units):
    assert {sites_of(code_of(one))[0].units for one in opcodes.split()} == {units}


@pytest.mark.parametrize(
    ("capability", "pipe"), [("9.0", "xu"), ("8.0", "xu"), ("7.5", "fp64"), ("12.0", "fp64")]
)
def test_gpus_with_few_lanes_for_doubles_convert_them_there(capability, pipe):
    sites = sites_of(code_of("F2F.F64.F32", "F2F.F32.F64"))
    place_on_pipes(sites, capability)
    assert {site.units for site in sites} == {("issue", pipe)}


@pytest.mark.parametrize(
    ("capability", "units"), [("8.9", ("issue",)), ("9.0", ("issue", "alu")), ("12.0", ("issue", "alu"))]
)
def test_pairs_of_registers_are_cleared_by_the_alu_since_hopper(capability, units):
    (site,) = sites_of(code_of("CS2R R4, SRZ"))
    place_on_pipes([site], capability)
    assert site.units == units


def test_lanes_that_are_predicated_off_are_idle():
    (site,) = sites_of(code_of("@P0 FADD R1, R1, R2"), {0: active(8.0, of=32.0)})
    assert site.idle_share == 0.75


def test_an_access_never_has_fewer_sectors_than_its_ideal():
    (site,) = sites_of(code_of("LDG.E R1, [R2.64]"), {0: {"sectors": 3.0, "ideal_sectors": 4.0}})
    assert site.excess_sectors == 0


@pytest.mark.parametrize(("opcode", "width"), [("LDG.E", 32), ("LDG.E.64", 64), ("STG.E.128", 128), ("LDG.E.U8", 8)])  # fmt: skip
def test_the_width_is_what_one_lane_accesses(opcode, width):
    (site,) = sites_of(code_of(f"{opcode} R4, [R2.64]"))
    assert site.width == width


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("HFMA2.MMA R22, -RZ, RZ, 0, 0", "other"),
        ("HFMA2 R22, -RZ, RZ, 1.875, 0", "other"),
        ("HFMA2.MMA R22, R4, R6, R22", "fp32"),
        ("HFMA2 R22, -RZ, R6, R22", "fp32"),
    ],
)
def test_a_constant_that_is_added_to_zero_is_moved_and_not_computed(text, kind):
    (site,) = sites_of(code_of(text))
    assert site.kind == kind


def test_the_calls_that_code_replaced_are_known_also_where_neither_text_nor_samples_are_recorded():
    (report,) = DATA.glob("runs/*-gemm-5-*/report-0.ncu-rep.zst")
    run = open_report(report)
    sites = read_sites(profile_kernel(run, run.table("launches").column("kernel")[0].as_py()))
    assert not any(site.text or site.waits for site in sites)
    assert any(site.inlined_at for site in sites)


@pytest.mark.parametrize(("predicate", "counted"), [("@!PT", 0), ("@P0", 1), ("", 1)])
def test_what_a_compiler_pads_asynchronous_copies_with_accesses_nothing(predicate, counted):
    evidence = evidence_of(f"{predicate} LDS RZ, [RZ]".strip(), "LDGSTS.E.BYPASS.128 [R18], [R10.64]")
    assert len(evidence.of("shared load")) == counted
