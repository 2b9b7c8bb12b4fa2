"""The sizes of functions of single precision, by what nvcc compiles for sm_90."""

import pytest

from profiler.analyse.code.code import Instruction
from profiler.analyse.code.math_functions.sizes import NONE, Size, size_of
from profiler.store.tables.instruction_text import opcode_of

# Without what loads the argument and stores the result, and without the moves of constants.
EXP = (
    "FFMA.SAT R0, R2, R5, 0.5", "FFMA.RM R0, R0, R7, 12582913", "FADD R7, R0.reuse, -12583039", "SHF.L.U32 R0, R0, 0x17, RZ",
    "FFMA R7, R2, 1.4426950216293334961, -R7", "FFMA R7, R2, 1.925963033500011079e-08, R7", "MUFU.EX2 R7, R7", "FMUL R5, R0, R7",
)  # fmt: skip
FAST_EXP = (
    "FMUL R0, R2, 1.4426950216293334961", "FSETP.GEU.AND P0, PT, R0, -126, PT", "@!P0 FMUL R0, R0, 0.5", "MUFU.EX2 R7, R0",
    "@!P0 FMUL R7, R7, R7",
)  # fmt: skip
LOG = (
    "FSETP.GEU.AND P1, PT, R0, 1.175494350822287508e-38, PT", "FSEL R2, RZ, -23, P1", "@!P1 FMUL R0, R0, 8388608",
    "IADD3 R4, R0.reuse, -0x3f2aaaab, RZ", "ISETP.GE.U32.AND P0, PT, R0, 0x7f800000, PT", "LOP3.LUT R5, R4, 0xff800000, RZ, 0xc0, !PT",
    "IADD3 R4, R0, -R5.reuse, RZ", "I2FP.F32.S32 R5, R5", "FADD R4, R4, -1", "FFMA R2, R5, 1.1920928955078125e-07, R2",
    "FFMA R7, R4, -R7, 0.14084610342979431152", "FFMA R7, R4, R7, -0.12148627638816833496", "FFMA R7, R4, R7, 0.13980610668659210205",
    "FFMA R7, R4, R7, -0.16684235632419586182", "FFMA R7, R4, R7, 0.20012299716472625732", "FFMA R7, R4, R7, -0.24999669194221496582",
    "FFMA R7, R4, R7, 0.33333182334899902344", "FFMA R7, R4, R7, -0.5", "FMUL R7, R4, R7", "FFMA R7, R4, R7, R4",
    "FFMA R7, R2, 0.69314718246459960938, R7", "@P0 FFMA R7, R0.reuse, R3, +INF", "FSETP.NEU.AND P0, PT, R0, RZ, PT", "FSEL R7, R7, -INF , P0",
)  # fmt: skip
FAST_LOG = (
    "FSETP.GEU.AND P0, PT, |R2|, 1.175494350822287508e-38, PT", "@!P0 FMUL R2, R2, 16777216", "MUFU.LG2 R0, R2", "@!P0 FADD R0, R0, -24",
    "FMUL R7, R0, 0.69314718246459960938",
)  # fmt: skip
DIVISION = (
    "BSSY B0, 0x160", "MUFU.RCP R8, R3", "FCHK P0, R0, R3", "FFMA R9, -R3, R8, 1", "FFMA R9, R8, R9, R8", "FFMA R8, R0, R9, RZ",
    "FFMA R10, -R3, R8, R0", "FFMA R9, R9, R10, R8", "@!P0 BRA 0x150", "BSYNC B0",
)  # fmt: skip
ROOT = (
    "BSSY B0, 0x130", "MUFU.RSQ R5, R0", "IADD3 R2, R0, -0xd000000, RZ", "ISETP.GT.U32.AND P0, PT, R2, 0x727fffff, PT", "@!P0 BRA 0xe0",
    "FMUL.FTZ R3, R0, R5", "FMUL.FTZ R5, R5, 0.5", "FFMA R0, -R3, R3, R0", "FFMA R5, R0, R5, R3", "BSYNC B0",
)  # fmt: skip
RECIPROCAL = (
    "BSSY B0, 0x130", "VIADD R2, R0, 0x1800000", "LOP3.LUT R2, R2, 0x7f800000, RZ, 0xc0, !PT", "ISETP.GT.U32.AND P0, PT, R2, 0x1ffffff, PT",
    "@P0 BRA 0xe0", "MUFU.RCP R7, R0", "FFMA R2, R0, R7, -1", "FADD.FTZ R2, -R2, -RZ", "FFMA R7, R7, R2, R7", "BSYNC B0",
)  # fmt: skip


def size_of_all(*texts):
    return sum((size_of(Instruction(0, opcode_of(text), text)) or NONE for text in texts), NONE)


@pytest.mark.parametrize(
    ("texts", "fast", "special"),
    [
        (EXP, 5, 1),
        (LOG, 5, 1),
        (DIVISION, 5, 1),
        (ROOT, 4, 1),
        (RECIPROCAL, 5, 1),
        ((*EXP, *DIVISION), 10, 2),
        (EXP * 3, 15, 3),
    ],
)
def test_a_function_has_the_size_that_its_instructions_add_up_to(texts, fast, special):
    assert size_of_all(*texts) == Size(len(texts), fast, special)


@pytest.mark.parametrize(
    "scaling", ["IADD3 R14, -R16, 0x7e800000, RZ", "LOP3.LUT R14, R16, 0x7e800000, RZ, 0x3c, !PT"]
)
def test_a_norm_scales_around_its_root(scaling):
    assert size_of_all(scaling, *ROOT) == Size(23, 4, 1)


@pytest.mark.parametrize("texts", [FAST_EXP, FAST_LOG])
def test_a_fast_form_has_the_size_of_itself(texts):
    assert size_of_all(*texts) == Size(len(texts), len(texts), 1)


@pytest.mark.parametrize(
    "text",
    ["FFMA R2, R4, R5, R2", "FADD R2, R4, 0.69314718246459960938", "MUFU.RCP R4, R5", "IADD3 R2, R3, 0x1, RZ", "LDG.E R4, [R2.64]"],
)  # fmt: skip
def test_other_instructions_belong_to_no_function(text):
    assert size_of_all(text) == NONE
