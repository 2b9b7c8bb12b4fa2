"""Functions of floats without a fast form save what a shorter polynomial saves, and not what other functions do."""

import pytest
from made_evidence import change_instruction, evidence_of

from profiler.analyse.causes.detectors.instructions import special_functions
from profiler.analyse.code.code import Instruction
from profiler.analyse.code.math_functions.lasting import lasting_function
from profiler.store.tables.instruction_text import opcode_of

# As compiled for sm_90.
ASIN = (
    "HFMA2.MMA R7, -RZ, RZ, 1.75, 0", "MOV R3, 0x3d4dd2f7", "FFMA R4, -|R0|.reuse, R7, 0.5", "FSETP.NEU.AND P1, PT, |R0|.reuse, 1, PT",
    "FSETP.GT.AND P0, PT, |R0|, 0.56000000238418579102, PT", "MUFU.RSQ R7, R4", "FMUL R6, R4, R7", "FMUL R7, R7, 0.5", "FFMA R7, -R6, R7, 0.5",
    "FFMA R7, R6, R7, R6", "FSEL R7, R7, RZ, P1", "FSEL R7, R7, |R0|, P0", "FMUL R6, R7, R7", "FFMA R3, R6, R3, 0.018773360177874565125",
    "FFMA R3, R6, R3, 0.046769052743911743164", "FFMA R3, R6, R3, 0.074823014438152313232", "FFMA R9, R6.reuse, R3, 0.16667181253433227539",
    "FMUL R6, R6, R9", "HFMA2.MMA R9, -RZ, RZ, 1.9599609375, 20144", "FFMA R7, R7, R6, R7", "FMUL R4, R7, -2",
    "@P0 FFMA R7, R9, 0.93318945169448852539, R4", "FSETP.GTU.AND P0, PT, R7.reuse, +INF , PT", "FSEL R7, R0, R7, !P0",
)  # fmt: skip
ERF = (
    "FMUL R5, R2.reuse, R2", "FSETP.GE.AND P0, PT, |R2|, 1.0029599666595458984, PT", "FSEL R5, |R2|, R5.reuse, P0",
    "FSEL R4, R4, 8.4834944573231041431e-05, P0", "FSEL R6, -R6, -0.00082130916416645050049, P0", "FSEL R7, R7, 0.0052134888246655464172, P0",
    "FSEL R3, -R8, -0.026868773624300956726, P0", "FFMA R4, R5, R4, R6", "FFMA R4, R5.reuse, R4, R7", "FSEL R7, R6, 0.11284004896879196167, P0",
    "FFMA R4, R5, R4, R3", "FSEL R3, R8, -0.37612664699554443359, P0", "FFMA R4, R5, R4, R7", "FSEL R7, R6, 0.12837915122509002686, P0",
    "FFMA R4, R5, R4, R3", "FSEL R3, -|R2|, R2, P0", "FFMA R4, R5, R4, R7", "FFMA R3, R4, R3, R3", "@P0 MUFU.EX2 R5, R3", "@P0 FADD R7, -R5, 1",
    "@P0 LOP3.LUT R3, R7, 0x80000000, R2, 0xb8, !PT",
)  # fmt: skip
DIVISION = (
    "MUFU.RCP R6, R2", "FCHK P0, R0, R2", "FFMA R7, -R2, R6, 1", "FFMA R7, R6, R7, R6", "FFMA R6, R0, R7, RZ", "FFMA R8, -R2, R6, R0",
    "FFMA R7, R7, R8, R6", "@!P0 BRA 0x300",
)  # fmt: skip
SINE = ("FMUL R6, R0, 0.63661974668502807617", *["FFMA R7, R6, R7, R8"] * 19)


def found_on_one_line(*lines):
    """The candidate for a kernel of these instructions alone."""
    (candidate,) = special_functions.detect_special_functions(evidence_of(*lines, line=9))
    return candidate


@pytest.mark.parametrize(
    ("lines", "spared"),
    [
        (ASIN, 9 / 2 / 24),  # half of its multiply-adds
        (ASIN * 3, 9 / 2 / 24),
        (ERF, (7 + 7) / 2 / 21),  # and of the choices between the coefficients of its two polynomials
        (SINE, 18 / 20),  # two instructions take its place
        (DIVISION, 3 / 8),  # and five that of a division
        # of 14 multiply-adds, as many are those of the arc sine as it has of the instructions
        ((*ASIN, *DIVISION), (14 * 24 / 32 / 2 + 3) / 32),
    ],
)
def test_of_a_function_without_a_fast_form_half_of_the_terms_are_spared(lines, spared):
    assert found_on_one_line(*lines).effect.resources["issue"] == pytest.approx(spared)


@pytest.mark.parametrize(
    ("lines", "named", "advice"),
    [(ASIN, True, "as many terms"), ((*ASIN, *SINE * 2), True, "fast form"), (SINE, False, "fast form")],
)
def test_it_is_named_and_advised_on_where_it_is_most_of_what_is_saved(lines, named, advice):
    """A sine on another line counts for itself."""
    evidence = evidence_of(*lines)
    for place, site in enumerate(evidence.sites):
        change_instruction(site, line=9 if place < len(ASIN) or not named else 10)
    (candidate,) = special_functions.detect_special_functions(evidence)
    assert ("There is no fast form of asin." in candidate.sentence) == named
    assert advice in candidate.advice


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("FFMA R3, R6, R3, 0.074989043176174163818", "acos"),
        ("FFMA R9, R4, R9, 0.19988775253295898438", "atan"),
        ("FFMA R9, R4, R9, 0.19988867640495300293", None),  # another one of log1p
        ("FFMA R9, R0, R9, -0.074792981147766113281", "atan2"),
        ("FSEL R7, R6, 0.11284004896879196167, P0", "erf"),
        ("FFMA R4, R5, R4, 0.0070457882247865200043", "erfc"),
        ("FFMA R4, R5, R4, 9.4274286155382469587e-09", "erfinv"),
        ("FADD R4, R5, -259.2509765625", "lgamma"),
        ("FFMA R10, R9, R10, 0.0083333496004343032837", "sinh"),
        ("FFMA R10, R9, R10, 0.0083333337679505348206", None),  # 1 / 120, as anybody may write it
        ("FADD R4, R5, 0.91893851757049560547", None),  # a logarithm, as of a normal distribution
        ("FFMA R3, R6, R3, 0.0083824126049876213074", "expm1"),
        ("FFMA R7, R4, R7, 0.14491446316242218018", "log1p"),
        ("FFMA R20, R19, R20, -4.9348020553588867188", "sinpi"),
        ("FFMA R23, R0, 3.1415927410125732422, R23", None),
        ("FMUL R7, |R5|.reuse, 8388608", "fmod"),
        ("FMUL R4, R4, 8388608", None),  # of a logarithm
        ("FSETP.GT.AND P0, PT, |R2|, 8388608, PT", None),
        ("FFMA R4, R5, R4, 0.00099214143119752407074", "tgamma"),
        ("FMUL R6, R0, 0.63661974668502807617", None),
        ("FFMA R4, R5, R4, 0.5", None),
        ("STG.E desc[UR4][R2.64], R7", None),
    ],
)
def test_such_a_function_is_known_by_one_term(text, name):
    found = lasting_function(Instruction(0, opcode_of(text), text))
    assert (found and found.name) == name


@pytest.mark.parametrize(
    ("sign", "remaining", "words", "in_triton"),
    [
        ("FMUL R7, |R5|, 8388608", 7, "fmod as `x - y * trunc(x / y)`", "fmod as `x - y * libdevice.trunc(x / y)`"),
        ("FFMA R3, R6, R3, 0.0083824126049876213074", 1, "expm1 as `exp(x) - 1`", "expm1 as `tl.exp(x) - 1`"),
    ],
)  # fmt: skip
def test_what_can_be_written_with_fast_forms_saves_as_much_as_they_do(sign, remaining, words, in_triton):
    """An exponential of four instructions remains, and what the formula needs beside it."""
    candidate = found_on_one_line(sign, "MUFU.EX2 R4, R4", *["FADD R4, R4, R5"] * 18)
    assert candidate.effect.resources["issue"] == pytest.approx(1 - (4 + remaining) / 20)
    assert "There is no fast form of" in candidate.sentence
    assert words in candidate.advice
    assert in_triton in candidate.in_triton


def test_a_function_that_takes_one_of_several_branches_has_all_of_its_line():
    """Its exponentials and logarithms are its own."""
    stirling = ("FFMA R4, R5, R4, 0.0027776553761214017868", "FMUL R4, R4, 1.44269502162933349609", "MUFU.EX2 R4, R4", *["FADD R4, R4, R5"] * 7)  # fmt: skip
    assert found_on_one_line(*stirling).effect.resources["issue"] == pytest.approx(1 / 2 / 10)
    with_remainder = found_on_one_line(*stirling, "FMUL R5, |R2|.reuse, 8388608")
    assert with_remainder.sentence.endswith("There is no fast form of lgamma.")
