"""Divisions and roots of doubles that the compiler puts in line, as nvcc 13.0 compiles them for sm_90."""

import pytest
from made_evidence import evidence_of

from profiler.analyse.causes.detectors.instructions import number_types, special_functions
from profiler.analyse.causes.detectors.instructions.double_functions import (
    find_divisions_of_doubles,
    find_inlined_doubles,
)

RECIPROCAL = [
    "BSSY B0, 0x140", "MUFU.RCP64H R7, R5", "VIADD R6, R5, 0x300402",
    "FSETP.GEU.AND P0, PT, |R6|, 5.8789094863358348022e-39, PT",
    "DFMA R8, -R4, R6, 1", "DFMA R8, R8, R8, R8", "DFMA R8, R6, R8, R6", "DFMA R10, -R4, R8, 1", "DFMA R8, R8, R10, R8",
    "@P0 BRA 0x140", "BSYNC B0",
]  # fmt: skip
OF_A_RECIPROCAL_ROOT = [
    "MUFU.RSQ64H R5, R3", "VIADD R10, R3, 0xfff00000", "ISETP.GE.U32.AND P0, PT, R10, 0x7fe00000, PT",
    "MOV R9, 0x3fd80000", "IMAD.MOV.U32 R8, RZ, RZ, 0x0", "BSSY B0, 0x150",
    "DMUL R6, R4, R4", "DFMA R6, R2, -R6, 1", "DFMA R8, R6, R8, 0.5", "DMUL R6, R4, R6", "DFMA R4, R8, R6, R4", "@!P0 BRA 0x150",
]  # fmt: skip
OF_A_DIVISION = [
    "IMAD.MOV.U32 R2, RZ, RZ, 0x1", "BSSY B0, 0x1f0", "MUFU.RCP64H R3, R5", "FSETP.GEU.AND P1, PT, |R7|, 6.5827683646048100446e-37, PT",
    "DFMA R8, -R4, R2, 1", "DFMA R8, R8, R8, R8", "DFMA R8, R2, R8, R2", "DFMA R2, -R4, R8, 1", "DFMA R2, R8, R2, R8", "DMUL R8, R6, R2",
    "DFMA R10, -R4, R8, R6", "DFMA R2, R2, R10, R8", "FFMA R8, RZ, R5, R3", "FSETP.GT.AND P0, PT, |R8|, 1.469367938527859385e-39, PT",
    "@P0 BRA P1, 0x1f0",
]  # fmt: skip
OF_A_NORM = [  # hypot
    "DADD R12, -RZ, |R8|", "DADD R14, -RZ, |R10|", "ISETP.GT.U32.AND P0, PT, R14, R12, PT", "ISETP.LT.U32.AND P1, PT, R14, R12, PT",
    "ISETP.GT.U32.AND.EX P0, PT, R15, R13, PT, P0", "ISETP.LT.U32.AND.EX P1, PT, R15, R13, PT, P1", "SEL R3, R15, R13, P0", "SEL R4, R14, R12, P1",
    "LOP3.LUT R6, R3, 0xffc00000, RZ, 0xc0, !PT", "SEL R5, R15, R13, P1", "IADD3 R9, -R6, 0x7fd00000, RZ", "SEL R2, R14, R12, P0",
    "DMUL R10, R8, R4", "DMUL R8, R8, R2", "DMUL R10, R10, R10", "DFMA R8, R8, R8, R10", "DSETP.MIN.AND P0, P1, R8, UR4, PT", "FSEL R11, R7, UR6, P0",
    "SEL R10, R7, UR4, P0", "DSETP.NEU.AND P0, PT, R4, RZ, PT", "LOP3.LUT R7, R6, 0x100000, RZ, 0xfc, !PT", "MUFU.RSQ64H R13, R11",
    "ISETP.GE.U32.AND P1, PT, R5, 0x7ff00000, PT", "DMUL R14, R12, R12", "DFMA R14, R10, -R14, 1", "DFMA R16, R14, R16, 0.5", "DMUL R14, R12, R14",
    "DFMA R14, R16, R14, R12", "DMUL R14, R8, R14", "DMUL R14, R14, R6", "@!P1 FSEL R4, R2, R14, !P0", "@!P1 FSEL R5, R3, R15, !P0",
    "@P1 LOP3.LUT R11, R12, 0x80000, RZ, 0xfc, !PT",
]  # fmt: skip
OF_AN_EXPONENTIAL = [
    "BSSY B0, 0x400", "DFMA R4, R2, R4, 6.75539944105574400000e+15", "FSETP.GEU.AND P0, PT, |R3|, 4.1917929649353027344, PT",
    "DADD R6, R4, -6.75539944105574400000e+15", "DFMA R8, R6, -UR6, R2", "DFMA R6, R6, -UR6, R8", *["DFMA R8, R6, R8, UR6"] * 9, "DFMA R8, R6, R8, 1",
    "DFMA R8, R6, R8, 1", "IMAD R7, R4, 0x100000, R9", "IMAD.MOV.U32 R6, RZ, RZ, R8", "@!P0 BRA 0x400", "BSYNC B0",
]  # fmt: skip
SUM = "DADD R20, R20, R8"


@pytest.mark.parametrize(
    "function", [RECIPROCAL, OF_A_DIVISION, OF_A_RECIPROCAL_ROOT, OF_A_NORM, OF_AN_EXPONENTIAL]
)
@pytest.mark.parametrize("sums", [0, 4, 11])
def test_as_many_instructions_of_a_line_belong_to_a_function_as_it_has(function, sums):
    found = find_inlined_doubles(evidence_of(*function, *[SUM] * sums, line=7))
    whole = len(function) + sums
    assert len(found) == whole
    assert sum(found.values()) == pytest.approx(len(function))


@pytest.mark.parametrize("others", [6, 13])
def test_where_no_line_is_known_a_function_has_no_more_of_the_instructions_near_it(others):
    """Integers stand between those of a function, which are no arithmetic of doubles, and loads are never its own."""
    code = [*RECIPROCAL, *["VIADD R30, R30, 0x1"] * others, "LDG.E.64 R8, [R2.64]"]
    found = find_inlined_doubles(evidence_of(*code, file=None))
    assert sum(found.values()) == pytest.approx(len(RECIPROCAL))
    assert {site.kind for site in found} == {"control", "fp64", "fp32", "integer"}
    doubles = sum(part for site, part in found.items() if site.kind == "fp64")
    assert doubles == pytest.approx(6 * 11 / len(found))


def test_other_lines_and_other_doubles_belong_to_none():
    assert not find_inlined_doubles(evidence_of(SUM, "DFMA R8, R6, R8, R6", line=7))
    evidence = evidence_of(*RECIPROCAL, line=7)
    assert find_inlined_doubles(evidence).keys() == set(evidence.sites)
    evidence = evidence_of(*RECIPROCAL)  # each instruction is on a line of its own
    assert not find_inlined_doubles(evidence)


@pytest.mark.parametrize("guess", ["MUFU.RCP64H R7, R5", "MUFU.RSQ64H R7, R5"])
def test_a_guess_without_its_test_is_of_another_function(guess):
    """As in atan and cbrt, asin and acos, which have no name here and divide nothing."""
    for where in ({"line": 7}, {"file": None}):
        evidence = evidence_of("DADD R4, R4, R4", guess, *["DFMA R8, R6, R8, UR6"] * 40, **where)
        assert not find_inlined_doubles(evidence)
        assert not find_divisions_of_doubles(evidence)


@pytest.mark.parametrize(
    ("function", "advises"),
    [
        (RECIPROCAL, "divide once at the end"),
        (OF_AN_EXPONENTIAL, "once for all elements that share its arguments"),
    ],
)
def test_a_kernel_that_evaluates_functions_of_doubles_is_told_to_do_so_less_often(function, advises):
    (candidate,) = special_functions.detect_special_functions(evidence_of(*function, *[SUM] * 4, line=7))
    whole = len(function) + 4
    assert candidate.evidence["special_pct"] == pytest.approx(100 * len(function) / whole)
    assert "most of them of doubles" in candidate.sentence
    assert advises in candidate.advice


@pytest.mark.parametrize(
    ("function", "sums", "evaluates"),
    [
        (RECIPROCAL, 0, 100),
        (RECIPROCAL, 5, 69),
        (RECIPROCAL, 20, 36),
        (OF_AN_EXPONENTIAL, 0, 100),
        (OF_AN_EXPONENTIAL, 20, 51),
    ],
)
def test_doubles_say_which_part_of_them_evaluates_functions(function, sums, evaluates):
    (candidate,) = number_types.detect_fp64(evidence_of(*function, *[SUM] * sums, line=7))
    assert candidate.evidence["in_any_functions_pct"] == pytest.approx(evaluates, abs=1)


@pytest.mark.parametrize(
    ("sign", "guesses", "size"),
    [
        ("LOP3.LUT R4, R3, 0x800fffff, RZ, 0xc0, !PT", 1, 52),  # a logarithm
        ("ISETP.GT.U32.AND P1, PT, R0, 0x7feffffe, PT", 1, 52),  # for sm_100
        ("ISETP.GT.U32.AND P0, PT, R7, 0x40330fc1, PT", 1, 39),  # tanh
        ("ISETP.GT.U32.AND P0, PT, R7, 0x403b4000, PT", 2, 84),  # erfc
    ],
)
def test_the_reciprocal_inside_another_function_is_no_division(sign, guesses, size):
    signs = [sign, *["MUFU.RCP64H R7, R13"] * guesses]
    evidence = evidence_of(*signs, *["DFMA R8, R6, R8, UR6"] * (size - len(signs)), line=7)
    assert sum(find_inlined_doubles(evidence).values()) == pytest.approx(size)
    assert not find_divisions_of_doubles(evidence)
