"""Finds what an instruction writes, and what registers hold while a loop runs."""

import pytest
from made_evidence import code_of

from profiler.analyse.code.code import Instruction
from profiler.analyse.code.registers import (
    follow_loop,
    read_registers,
    register_of,
    use_of,
    uses_in,
    written_registers,
)
from profiler.store.tables.instruction_text import opcode_of


def instruction(text):
    return Instruction(0, opcode_of(text), text)


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("FFMA R0, R1, R2, R3", "R0"),
        ("@!P0 IADD3 R14, P0, R16, UR13, RZ", "R14"),
        ("LDS R8, [R2+0x10]", "R8"),
        ("LDS.64 R8, [R2]", "R8 R9"),
        ("LDS.128 R8, [R2]", "R8 R9 R10 R11"),
        ("LDS.U8 R8, [R2]", "R8"),
        ("LDG.E.128.CONSTANT R4, desc[UR4][R2.64]", "R4 R5 R6 R7"),
        ("LDSM.16.M88.4 R8, [R2]", "R8 R9 R10 R11"),
        ("IMAD.WIDE.U32 R4, R5, 0x4, R12", "R4 R5"),
        ("CS2R R82, SRZ", "R82 R83"),
        ("CS2R.32 R82, SR_CLOCKLO", "R82"),
        ("DFMA R4, R6, R8, R4", "R4 R5"),
        ("F2F.F64.F32 R4, R6", "R4 R5"),
        ("HMMA.16816.F32 R4, R8, R12, R4", "R4 R5 R6 R7"),
        ("HMMA.16816.F16 R4, R8, R12, R4", "R4 R5"),
        ("DMMA.884 R4, R8, R12, R4", "R4 R5 R6 R7"),
        ("IMMA.8816.S8.S8 R4, R8, R12, R4", "R4 R5"),
        ("HGMMA.64x16x16.F32 R24, gdesc[UR8], R24, gsb0", "R24 R25 R26 R27 R28 R29 R30 R31"),
        ("F2I.U64.TRUNC R6, R6", "R6 R7"),
        ("SHFL.BFLY PT, R22, R21, 0x1, 0x1f", "R22"),
        ("ATOMG.E.ADD.STRONG.GPU PT, R2, desc[UR4][R4.64], R5", "R2"),
        ("ATOMS.CAST.SPIN P0, [R10+0x140], R14, R15", ""),
        ("LOP3.LUT P0, R25, R9, 0x3f, RZ, 0xc0, !PT", "R25"),
        ("ULOP3.LUT UP0, UR6, UR6, 0x2, URZ, 0xc0, !UPT", "UR6"),
        ("MATCH.ANY R11, R2", "R11"),
        ("MATCH.ALL P0, R12, R2", "R12"),
        ("ELECT P1, UR4, PT", "UR4"),
        ("QSPC.E.D P0, R4, [R8+0x14]", "R4"),
        ("UTCATOMSWS.FIND_AND_SET UPT, UR4, UR6", "UR4"),
        ("IMNMX.S64 PT, PT, R6, R4, R8, !PT, !PT", "R6 R7"),
        ("VOTE.ANY R3, PT, P4", "R3"),
        ("VOTE.ALL P3, P3", ""),
        ("FCHK P0, R0, R5", ""),
        ("HSETP2.GT.AND P0, P1, R0, R15, PT", ""),
        ("R2P PR, R0, 0x3", ""),
        ("P2R R13, PR, RZ, 0x1", "R13"),
        ("BMOV.32.CLEAR R16, B6", "R16"),
        ("BMOV.32 B6, R16", ""),
        ("B2R.RESULT RZ, P0", ""),
        ("BRA.CONV UR5, 0x120", ""),
        ("SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [R2+URZ], R3", ""),
        ("SYNCS.ARRIVE.TRANS64.A1T0 R4, [UR4], RZ", "R4 R5"),
        ("TEX.LL P0, R26, R24, R24, R26, UR4, 2D", "R26 R27 R24 R25"),
        ("TEX R5, R2, R2, UR4, 2D, 0xe", "R5 R2 R3"),
        ("TEX.SCR.LL RZ, R4, R4, R8, 0x0, 0x58, 2D, 0xa", "R4 R5"),
        ("TLD.LZ RZ, R11, R19, UR4, 1D, 0x2", "R11"),
        ("TLD.LZ R22, R2, R2, UR4, 0x0.1D", "R22 R23 R2 R3"),
        ("FFMA2 R4, R4.F32x2.HI_LO, R6.F32x2.HI_LO, R8.F32x2.HI_LO", "R4 R5"),
        ("FRND.F64.FLOOR R18, R20", "R18 R19"),
        ("LEPC R130", "R130 R131"),
        ("ULDC.64 UR4, c[0x0][0x118]", "UR4 UR5"),
        ("STS [R4], R11", ""),
        ("STG.E.128 desc[UR6][R2.64], R4", ""),
        ("LDGSTS.E.BYPASS.128 [R55+0x1100], desc[UR10][R22.64]", ""),
        ("ISETP.GE.AND P0, PT, R9, UR4, PT", ""),
        ("BAR.SYNC.DEFER_BLOCKING R4, 0x80", ""),
        ("RET.REL.NODEC R6, 0x0", ""),
        ("BRX R4 -0x40", ""),
        ("BRXU UR4 -0x40", ""),
        ("JMXU UR4 -0x40", ""),
        ("UIADD3 UR4, UR4, 0x8, URZ", "UR4"),
        ("R2UR UR12, R8", "UR12"),
        ("@!PT LDS RZ, [RZ]", ""),
        ("@!PT LDS R4, [R5]", ""),
        ("LDS RZ, [R5]", ""),
        ("EXIT", ""),
        ("", ""),
    ],
)
def test_the_registers_that_an_instruction_writes(text, written):
    assert written_registers(instruction(text)) == tuple(written.split())


@pytest.mark.parametrize(
    ("text", "read", "alone"),
    [
        ("FFMA R0, R1, -R2.reuse, R3", "R0 R1 R2 R3", "R0"),
        ("FFMA R0, R1, R2, R0", "R0 R1 R2", ""),
        ("LDG.E R4, desc[UR4][R2.64+0x10]", "R2 R3 R4 UR4", "R4"),
        ("@P0 STG.E [R2.64], R5", "R2 R3 R5", ""),
        ("LDG.E R3, desc[UR4][R2.64]", "R2 R3 UR4", ""),
        ("R2UR UR12, R3", "R3 UR12", "UR12"),
        ("STS.128 [R20], R24", "R20 R24 R25 R26 R27", ""),
        ("STS.U16 [R20], R24", "R20 R24", ""),
        ("LDS.128 R4, [R21+UR5+0x10]", "R4 R21 UR5", "R4"),
        ("ATOMG.E.CAS.64.STRONG.GPU PT, R4, desc[UR4][R2.64], R6, R8", "R2 R3 R4 R6 R7 R8 R9 UR4", "R4"),
        ("DADD R4, R6, -R8", "R4 R6 R7 R8 R9", "R4"),
        ("DSETP.GTU.AND P1, PT, |R2|, +INF , PT", "R2 R3", ""),
        ("IMAD.WIDE R2, R9, 0x4, R4", "R2 R4 R5 R9", "R2"),
        ("IMAD.HI.U32 R5, R5, R7, R4", "R4 R5 R7", ""),
        ("IMAD R3, R11, UR7, R0", "R0 R3 R11 UR7", "R3"),
        ("F2F.F32.F64 R4, R6", "R4 R6 R7", "R4"),
        ("F2I.F64.TRUNC R4, R6", "R4 R6 R7", "R4"),
        ("I2F.F64 R4, R6", "R4 R6", "R4"),
        ("I2F.U64.RP R7, UR4", "R7 UR4 UR5", "R7"),
        ("HMMA.16816.F32 R4, R8, R12, R4", "R4 R5 R6 R7 R8 R9 R10 R11 R12 R13", ""),
        ("HMMA.16816.F32 R4, R8, R12, RZ", "R4 R8 R9 R10 R11 R12 R13", "R4"),
        ("HGMMA.64x8x16.F32 R24, gdesc[UR8], R24, gsb0", "R24 R25 R26 R27 UR8 UR9 UR10 UR11", ""),
        ("SHFL.BFLY P0, R19, R21, R18, R11", "R11 R18 R19 R21", "R19"),
        ("SHFL.IDX PT, R4, R4, R5, 0x1f", "R4 R5", ""),
        ("MATCH.ALL.U64 P0, R12, R2", "R2 R3 R12", "R12"),
        ("ATOMG.E.ADD.STRONG.GPU PT, R6, desc[UR10][R22.64], R26", "R6 R22 R23 R26 UR10", "R6"),
        ("LOP3.LUT P0, R25, R9, 0x3f, RZ, 0xc0, !PT", "R9 R25", "R25"),
        ("ISETP.GE.AND P0, PT, R9, UR4, PT", "R9 UR4", ""),
        ("ISETP.GE.S64.AND P0, PT, R8, UR4, PT", "R8 R9 UR4 UR5", ""),
        ("IADD.64 R24, P0, R4, R26", "R4 R5 R24 R26 R27", "R24"),
        ("IMNMX.S64 PT, PT, R6, R4, R8, !PT, !PT", "R4 R5 R6 R8 R9", "R6"),
        ("FFMA2 R4, R10.F32, R6.F32x2.HI_LO, R8.F32x2.HI_LO", "R4 R6 R7 R8 R9 R10", "R4"),
        ("FRND.F64 R4, R6", "R4 R6 R7", "R4"),
        ("TEX R26, R28, R8, UR4, 2D", "R8 R9 R26 R28 UR4", "R26 R28"),
        ("TEX RZ, R8, R8, UR4, 2D, 0x3", "R8 R9 UR4", ""),
        ("TEX.LL RZ, R13, R12, R7, UR4, 0x0.ARRAY_2D, 0x1", "R7 R12 R13 R14 UR4", ""),
        ("TEX RZ, R15, R12, UR4, CUBE, 0x1", "R12 R13 R14 R15 UR4", "R15"),
        ("TLD.LZ RZ, R7, R6, UR4, 0x0.1D, 0x1", "R6 R7 UR4", "R7"),
        ("HGMMA.64x8x16.F32 R24, R4, gdesc[UR8], R24, gsb0", "R4 R5 R6 R7 R24 R25 R26 R27 UR10 UR11", ""),
        ("UTCHMMA gdesc[UR4], gdesc[UR6], tmem[UR8]", "UR4 UR6 UR8", ""),
        # Two coordinates follow the places of the tile and of its barrier.
        ("UTMALDG.2D [UR16], [UR28]", "UR16 UR17 UR18 UR19 UR28 UR29", ""),
        ("UTMALDG.3D.MULTICAST [UR16], [UR28], UR6", "UR16 UR17 UR18 UR19 UR20 UR28 UR29 UR6", ""),
        ("UTMASTG.2D [UR12], [UR8]", "UR12 UR13 UR14 UR8 UR9", ""),
    ],
)
def test_the_registers_that_an_instruction_reads_or_names_and_those_that_it_only_writes(text, read, alone):
    assert read_registers(instruction(text)) == set(read.split())
    assert use_of(text).only_written == set(alone.split())


@pytest.mark.parametrize(
    ("text", "written", "read"),
    [
        ("IADD3 R12, P0, P1, R18, UR7, R13", "P0 P1", ""),  # a sum of three has two carries
        ("UIADD3 UR4, UP0, UP1, UR6, UR7, UR8", "UP0 UP1", ""),
        ("IADD3.X R13, RZ, UR10, R6, P0, P1", "", "P0 P1"),
        ("@P2 IADD3 R14, P0, R16, UR13, RZ", "P0", "P2"),
        ("PLOP3.LUT P1, PT, P3, PT, UP0, 0x80, 0x0", "P1", "P3 UP0"),
        ("ISETP.NE.AND P0, P1, R9, RZ, P2", "P0 P1", "P2"),
        ("SEL R3, R4, R5, P0", "", "P0"),
    ],
)
def test_the_predicates_that_an_instruction_writes_and_reads(text, written, read):
    use = use_of(text)
    assert (use.predicates_written, use.predicates_read) == (set(written.split()), set(read.split()))


@pytest.mark.parametrize(
    ("follows", "is_read"),
    [
        ("ISETP.GE.AND P0, PT, R9, UR4, PT; @P0 LDG.E.U16 R4, desc[UR4][R2.64]", False),
        ("@P0 LDS.U8 R4, [R2]", False),
        ("@P0 LDG.E R4, desc[UR4][R2.64]", True),  # a whole register, of which the compiler would clear all
        ("HFMA2 R4, R4, R6, R8; @P0 LDG.E.U16 R4, desc[UR4][R2.64]", True),  # two values, of which one was cleared
        ("@P0 STG.E.U16 [R2.64], R4", True),
        ("@P1 BRA 0x80; @P0 LDG.E.U16 R4, desc[UR4][R2.64]", True),  # the other side of the branch may read it
    ],
)  # fmt: skip
def test_what_is_cleared_before_a_load_of_a_half_is_not_read(follows, is_read):
    code = [instruction(text) for text in ("PRMT R4, RZ, 0x7610, R4", *follows.split("; "))]
    clearing, *_ = uses_in(code)
    assert clearing.written == ("R4",)
    assert ("R4" in clearing.inputs) == is_read


def test_a_call_takes_and_gives_what_the_function_does_that_it_leads_to():
    """The function writes R4 before it reads that, and reads R2 of its caller."""
    code = code_of("CALL.REL.NOINC 0x20", "EXIT", "FADD R4, R2, R2", "@P1 FMUL R5, R4, R4").functions[0]
    call = uses_in(code)[0]
    assert (call.inputs, call.written, call.predicates_read) == ({"R2"}, ("R4", "R5"), {"P1"})


@pytest.mark.parametrize(
    ("lines", "taken"),
    [
        (["@P0 MOV R4, R8", "FADD R6, R4, R4"], {"R4", "R8", "P0"}),  # other lanes read the caller's
        (["@P0 MOV R4, R8", "@P0 FADD R6, R4, R4"], {"R8", "P0"}),
        (["@P0 MOV R4, R8", "@!P0 FADD R6, R4, R4"], {"R4", "R8", "P0"}),
        (["@P0 MOV R4, R8", "@!P0 MOV R4, R9", "FADD R6, R4, R4"], {"R8", "R9", "P0"}),
        (
            ["@P0 MOV R4, R8", "FSETP.GT.AND P0, PT, R8, R9, PT", "@!P0 MOV R4, R9", "FADD R6, R4, R4"],
            {"R4", "R8", "R9", "P0"},  # of another test
        ),
    ],
)
def test_a_function_takes_what_it_writes_in_some_lanes_alone(lines, taken):
    code = code_of(f"CALL.REL.NOINC {16 * 2:#x}", "EXIT", *lines).functions[0]
    assert uses_in(code)[0].taken == taken


@pytest.mark.parametrize(
    ("behind", "is_slow"),
    [
        ("BRA 0x40", True),
        ("BRA 0x10", False),  # the next turn of a loop
        ("@P0 BRA 0x40", False),
        ("BSYNC B0", False),
    ],
)
def test_a_call_on_the_slow_path_hides_nothing_from_the_fast_one(behind, is_slow):
    """There, the call stands between the registers that the fast path reads and what wrote these."""
    lines = ("NOP", "CALL.REL.NOINC 0x50", "MOV R7, R4", behind, "EXIT", "FADD R4, R2, R2")
    code = code_of(*lines).functions[0]
    assert (uses_in(code)[1] == use_of("CALL.REL.NOINC 0x50")) == is_slow


def test_of_a_function_that_calls_another_a_call_says_nothing():
    """What the other one writes is not in its code."""
    code = code_of("CALL.REL.NOINC 0x20", "EXIT", "CALL.REL.NOINC 0x40", "RET.REL.NODEC R20, 0x0", "FADD R4, R2, R2").functions[0]  # fmt: skip
    assert uses_in(code)[0] == use_of("CALL.REL.NOINC 0x20")


@pytest.mark.parametrize("line", ["LDG.E R4, [R2.64]", "STS [R2], R5"])
def test_of_a_function_that_accesses_memory_a_call_says_nothing(line):
    """What it gives does not follow from registers."""
    code = code_of("CALL.REL.NOINC 0x20", "EXIT", line).functions[0]
    assert uses_in(code)[0] == use_of("CALL.REL.NOINC 0x20")


@pytest.mark.parametrize("clearing", ["@P1 PRMT R4, RZ, 0x7610, R4", "PRMT R4, RZ, 0x7610, R5"])
def test_a_half_that_is_kept_at_times_or_comes_from_elsewhere_is_read(clearing):
    code = [instruction(text) for text in (clearing, "@P0 LDG.E.U16 R4, desc[UR4][R2.64]")]
    assert uses_in(code)[0] == use_of(clearing)


@pytest.mark.parametrize(
    ("operand", "register"),
    [
        ("R12", "R12"),
        ("-R12.reuse", "R12"),
        ("|R12|", "R12"),
        ("R12.64", "R12"),
        ("RZ", None),
        ("-RZ", None),
        ("UR5", None),
        ("0x3f800000", None),
        ("c[0x0][R3]", None),
        ("[R2+0x4]", None),
    ],
)
def test_the_register_that_an_operand_names(operand, register):
    assert register_of(operand) == register


def values_at_the_end(*lines):
    for _, state in follow_loop([instruction(line) for line in lines]):
        last = state
    return {register: set(values) for register, values in last.items()}


def test_a_register_holds_what_was_written_last_and_remembers_from_where():
    held = values_at_the_end("LDS.64 R8, [R2]", "LDS R9, [R3]", "MOV R10, R8")
    assert held == {"R8": {(0, 0)}, "R9": {(1, 0)}, "R10": {(0, 0)}}


def test_a_register_may_keep_its_old_value_after_a_predicated_write():
    assert values_at_the_end("LDS R8, [R2]", "@P0 LDS R8, [R3]")["R8"] == {(0, 0), (1, 0)}


def test_copies_of_copies_arrive_however_many_iterations_late():
    """A pipeline of registers: loaded, handed on, handed on again."""
    assert values_at_the_end("MOV R8, R9", "MOV R9, R10", "LDS R10, [R2]")["R8"] == {(2, 0)}


def test_a_copy_of_what_no_register_holds_is_a_value_of_its_own():
    assert values_at_the_end("LDS R5, [R2]", "MOV R9, UR5")["R9"] == {(1, 0)}
