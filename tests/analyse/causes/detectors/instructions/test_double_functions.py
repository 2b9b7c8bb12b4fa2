"""Divisions and roots of doubles that the compiler puts in line, as nvcc 13.0 compiles them for sm_90."""

import pytest
from made_evidence import evidence_of

from profiler.analyse.causes.detectors.instructions import number_types, special_functions
from profiler.analyse.causes.detectors.instructions.double_functions import find_inlined_doubles

RECIPROCAL = [
    "BSSY B0, 0x140", "MUFU.RCP64H R7, R5", "VIADD R6, R5, 0x300402",
    "FSETP.GEU.AND P0, PT, |R6|, 5.8789094863358348022e-39, PT",
    "DFMA R8, -R4, R6, 1", "DFMA R8, R8, R8, R8", "DFMA R8, R6, R8, R6", "DFMA R10, -R4, R8, 1", "DFMA R8, R8, R10, R8",
    "@P0 BRA 0x140", "BSYNC B0",
]  # fmt: skip
OF_A_ROOT = [
    "MUFU.RSQ64H R5, R3", "VIADD R10, R3, 0xfff00000", "ISETP.GE.U32.AND P0, PT, R10, 0x7fe00000, PT",
    "MOV R9, 0x3fd80000", "IMAD.MOV.U32 R8, RZ, RZ, 0x0", "BSSY B0, 0x150",
    "DMUL R6, R4, R4", "DFMA R6, R2, -R6, 1", "DFMA R8, R6, R8, 0.5", "DMUL R6, R4, R6", "DFMA R4, R8, R6, R4", "@!P0 BRA 0x150",
]  # fmt: skip
SUM = "DADD R20, R20, R8"


@pytest.mark.parametrize("function", [RECIPROCAL, OF_A_ROOT])
@pytest.mark.parametrize("sums", [0, 4, 11])
def test_as_many_instructions_of_a_line_belong_to_a_function_as_it_has(function, sums):
    found = find_inlined_doubles(evidence_of(*function, *[SUM] * sums, line=7))
    whole = len(function) + sums
    assert len(found) == whole
    assert sum(found.values()) == pytest.approx(len(function))


def test_other_lines_and_other_doubles_belong_to_none():
    assert not find_inlined_doubles(evidence_of(SUM, "DFMA R8, R6, R8, R6", line=7))
    evidence = evidence_of(SUM, *RECIPROCAL)  # each instruction is on a line of its own
    assert [site.opcode for site in find_inlined_doubles(evidence)] == ["MUFU.RCP64H"]


def test_a_kernel_that_divides_doubles_is_told_to_divide_less_often():
    (candidate,) = special_functions.detect_special_functions(evidence_of(*RECIPROCAL, *[SUM] * 4, line=7))
    assert candidate.evidence["special_pct"] == pytest.approx(100 * 11 / 15)
    assert "most of them of doubles" in candidate.sentence
    assert "multiply by a reciprocal that is taken once" in candidate.advice


@pytest.mark.parametrize(("sums", "in_functions"), [(0, 100), (5, 69), (20, 36)])
def test_doubles_say_which_part_of_them_divides(sums, in_functions):
    (candidate,) = number_types.detect_fp64(evidence_of(*RECIPROCAL, *[SUM] * sums, line=7))
    assert candidate.evidence["in_functions_pct"] == pytest.approx(in_functions, abs=1)
