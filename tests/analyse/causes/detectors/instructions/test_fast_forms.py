"""What fast forms of functions take away, and what they need themselves."""

from __future__ import annotations

import pytest
from made_evidence import change_instruction, evidence_of, executing

from profiler.analyse.causes.detectors.instructions import number_types, special_functions

# In short: the instructions by which a function is known, and as many others as it has.
SINE = ("FMUL R6, R0, 0.63661974668502807617", "F2I.NTZ R7, R6", *["FFMA R7, R6, R7, R8"] * 24)
BOTH = "FFMA R8, R3, -R8, 0.0083327032625675201416"  # the term of a sine that sincosf evaluates beside the cosine
LOG = (
    "FFMA R7, R4, -R7, 0.14084610342979431152",
    *["FFMA R7, R4, R7, R8"] * 22,
    "FFMA R7, R2, 0.69314718246459960938, R7",
)
POWER = (
    "FFMA R13, R11, 1.9251366722983220825e-08, R12", *["FFMA R10, R11, 1.4426950216293334961, R12"] * 3,
    "FFMA R16, R15, R17, 0.0013391353422775864601", "FFMA R16, R15, R16, 0.69314718246459960938", "MUFU.RCP R15, R15", "FRND R14, R11", "F2I.NTZ R17, R11", "FRND.TRUNC R13, R10",
    *["FFMA R13, R13, R10, R16"] * 59,
)  # fmt: skip
DIVISION = (
    "MUFU.RCP R6, R3", "FCHK P1, R0, R3", "FFMA R7, -R3, R6, 1", "FFMA R7, R6, R7, R6", "FFMA R6, R0, R7, RZ", "FFMA R8, -R3, R6, R0",
    "FFMA R7, R7, R8, R6", "@!P1 BRA 0x80",
)  # fmt: skip
ROOT = (
    "VIADD R3, R2, 0xf3000000", "MUFU.RSQ R4, R2", "FMUL.FTZ R5, R2, R4", "FMUL.FTZ R6, R4, 0.5",
    "FFMA R7, -R5, R5, R2", "FFMA R8, R7, R6, R5",
)  # fmt: skip
REDUCED = "DSETP.GE.AND P0, PT, |R10|, 2.14748364800000000000e+09, PT"  # the angle of a sine of doubles
COUNTING = ("VIADD R30, R30, 0x1", "ISETP.NE.AND P0, PT, R30, 0x40, PT", "@P0 BRA 0x0")


def found_in(*lines, of_function):
    """The candidate for instructions of which so many stand on the line of the function first; the others have a line each."""
    evidence = evidence_of(*lines)
    for site in evidence.sites[:of_function]:
        change_instruction(site, line=999)
    (candidate,) = special_functions.detect_special_functions(evidence)
    return candidate


@pytest.mark.parametrize(
    ("function", "removed"),
    [
        (SINE, 0),  # MUFU.SIN takes the place of the conversion that reduces the angle
        (LOG, -1),  # whose precise form is a polynomial
        (POWER, 2),  # of four
    ],
)
def test_a_fast_form_needs_the_special_function_unit_itself(function, removed):
    """Another function on another line needs it as before."""
    candidate = found_in(*function, "MUFU.RCP R20, R20", of_function=len(function))
    on_unit = 1 + sum(line.startswith(("MUFU", "F2I", "FRND")) for line in function)
    assert candidate.effect.resources["xu"] == pytest.approx(removed / on_unit)


@pytest.mark.parametrize(
    ("lines", "named"),
    [
        (SINE, "Use the fast form (`__sinf` or `__cosf`, or `-use_fast_math`). Fast functions of angles lose digits beyond pi."),
        ((*SINE, BOTH), "Use the fast form (`__sincosf`, or `-use_fast_math`)."),
        ((*SINE * 2, BOTH), "Use the fast forms (`__sinf` or `__cosf`, `__sincosf`, or `-use_fast_math`)."),
        (POWER, "Use the fast form (`__powf`, or `-use_fast_math`), and write powers with a small whole exponent as products (`x * x * x`)."),
        ((*DIVISION, *LOG), "Use the fast forms (`__logf` or `__log2f`, `__fdividef`, or `-use_fast_math`)."),
        (["FFMA R7, R6, R7, -0.0013887316", *["FFMA R7, R6, R7, R8"] * 20], "Use the fast forms (`__expf`, `__logf`, `__sinf`,"),  # no name
    ],
)  # fmt: skip
def test_the_fast_forms_that_are_named_are_those_of_what_the_kernel_evaluates(lines, named):
    assert found_in(*lines, of_function=len(lines)).advice.startswith(named)


@pytest.mark.parametrize(
    ("lines", "named"),
    [
        (SINE, "Use the fast form (`libdevice.fast_sinf` or `libdevice.fast_cosf`). Fast functions of angles lose digits beyond pi."),
        ((*SINE * 2, BOTH), "Use the fast form (`libdevice.fast_sinf` or `libdevice.fast_cosf`). Fast functions of angles lose digits beyond pi."),
        (POWER, "Use the fast form (`libdevice.fast_powf`), and write powers with a small whole exponent as products (`x * x * x`)."),
        (["FFMA R7, R6, R7, -0.0013887316", *["FFMA R7, R6, R7, R8"] * 20], ""),  # no name: what is said of all functions
    ],
)  # fmt: skip
def test_triton_has_other_names_for_the_fast_forms(lines, named):
    assert found_in(*lines, of_function=len(lines)).in_triton == named


def test_the_reciprocal_of_a_root_is_one_fast_form():
    def advice(divisor):
        lines = [*ROOT, f"IADD3 R10, {divisor}, 0x1800000, RZ", *["FFMA R11, R11, R12, R13"] * 16]
        return found_in(*lines, of_function=len(lines)).advice

    assert advice("R8").startswith("Use the fast form (`rsqrtf`, or")
    assert advice("R9") == "Use the fast form (`__fdividef`, or `-use_fast_math`, also for roots alone)."


@pytest.mark.parametrize(("others", "alone"), [(1, False), (2, True)])
def test_a_root_alone_has_no_fast_form_of_its_own(others, alone):
    """One root has its reciprocal taken, and one or two others have not."""
    reciprocal = ("IADD3 R10, R8, 0x1800000, RZ", *["FFMA R11, R11, R12, R13"] * 16)
    lines = [*ROOT * (others + 1), *reciprocal]
    candidate = found_in(*lines, of_function=len(lines))
    said = "(`rsqrtf` to divide by a root, or `-use_fast_math`, also for roots alone)."
    assert candidate.advice.endswith(said) == alone
    in_triton = "(`tl.rsqrt` to divide by a root, or `tl.sqrt` for a root alone)."
    assert candidate.in_triton.endswith(in_triton) == alone


@pytest.mark.parametrize("executed", [100.0, 0.7, 33.3, 123_456.7])
def test_what_is_left_as_it_was_is_not_spared_by_a_rounding(executed):
    """At the ceiling of the unit, a change that spares any of its work would be named, however little."""
    lines = executing(executed, *SINE, "MUFU.RCP R20, R20")
    assert found_in(*lines, of_function=len(SINE)).effect.resources["xu"] == 0


@pytest.mark.parametrize(
    ("move", "belongs"),
    [
        ("MOV R16, 0x391fcb8e", True),
        ("IMAD.MOV.U32 R11, RZ, RZ, -0x46b2bead", True),
        ("HFMA2.MMA R7, -RZ, RZ, 1.9599609375, 20144", True),
        ("MOV R12, R13", False),
        ("IMAD.MOV.U32 R18, RZ, RZ, R0", False),
    ],
)
def test_a_constant_that_is_moved_for_a_precise_function_is_a_part_of_it(move, belongs):
    lines = (*SINE, move)
    candidate = found_in(*lines, of_function=len(lines))
    assert candidate.effect.resources["issue"] == pytest.approx((26 + belongs - 2) / 27)


@pytest.mark.parametrize(
    ("function", "rounding", "tests"),
    [
        (POWER, "FRND.TRUNC R13, R10", 8),
        (POWER, "FRND R13, R10", 0),  # the exponent is a constant
        (SINE, "FRND.TRUNC R13, R10", 0),  # no power: the kernel itself rounds
    ],
)
def test_a_power_tests_an_exponent_that_the_compiler_does_not_know(function, rounding, tests):
    """Beside the function stands enough on the line that could be those tests."""
    own = [line for line in function if not line.startswith("FRND.TRUNC")]
    lines = [*own, *["FSETP.NEU.AND P0, PT, R12, RZ, PT"] * 20]
    without, with_one = (
        found_in(*lines, last, of_function=len(lines) + 1).effect.resources["issue"] * (len(lines) + 1)
        for last in ("FADD R13, R10, R10", rounding)
    )
    assert with_one - without == pytest.approx(tests)


@pytest.mark.parametrize(
    ("signs", "of_doubles", "of_floats"),
    [
        (("MUFU.RCP64H R9, R7", "VIADD R8, R7, 0x300402"), 11, 10),  # a reciprocal
        (("MUFU.RCP64H R9, R7", "FSETP.GT.AND P0, PT, |R8|, 1.469367938527859385e-39, PT"), 15, 10),  # a quotient
        (("MUFU.RSQ64H R9, R7", "ISETP.GE.U32.AND P0, PT, R8, 0x7fe00000, PT"), 12, 4),  # the reciprocal of a root, as rsqrtf computes it
        (("MUFU.RSQ64H R9, R7", "IADD3 R8, R7, -0x3500000, RZ"), 17, 10),  # a root
        (("MUFU.RSQ64H R9, R7", "IADD3 R8, -R6, 0x7fd00000, RZ"), 33, 17),  # of numbers that hypotf scales as well
        (("FSETP.GEU.AND P0, PT, |R3|, 4.1917929649353027344, PT",), 21, 8),  # an exponential
        (("FSETP.GEU.AND P0, PT, |R5|, 4.498046875, PT",), 22, 4),  # exp2
        (("FSETP.GEU.AND P0, PT, |R5|, 3.8004419803619384766, PT",), 23, 8),  # exp10
        (("FSETP.LT.AND P1, PT, R7, 4.1931471824645996094, PT",), 37, 27),  # expm1
        (("LOP3.LUT R4, R3, 0x800fffff, RZ, 0xc0, !PT", "MUFU.RCP64H R7, R13"), 52, 24),  # a logarithm
        (("ISETP.GT.U32.AND P1, PT, R0, 0x7feffffe, PT", "MUFU.RCP64H R9, R15"), 52, 24),  # for sm_100
        (("ISETP.GT.U32.AND P0, PT, R7, 0x40330fc1, PT", "MUFU.RCP64H R9, R13"), 39, 15),  # tanh
        (("ISETP.GT.U32.AND P0, PT, R7, 0x403b4000, PT", *["MUFU.RCP64H R13, R11"] * 2), 84, 47),  # erfc
        (("UMOV UR8, 0x2a1abef8",), 51, 29),  # erf
        ((REDUCED, "FSEL R23, R0, -0.082518599927425384521, !P0"), 28, 26),  # a sine
        ((REDUCED, "FSEL R25, -R25, 0.11223486810922622681, !P0"), 28, 26),  # for sm_100
    ],
)  # fmt: skip
@pytest.mark.parametrize("beside", [0, 20])
def test_a_function_of_doubles_becomes_the_precise_one_of_floats(signs, of_doubles, of_floats, beside):
    """What else stands on the line has as many instructions in single precision."""
    whole = of_doubles + beside
    evidence = evidence_of(*signs, *["DFMA R8, R8, R10, R8"] * (whole - len(signs)), line=9)
    (candidate,) = number_types.detect_fp64(evidence)
    assert candidate.effect.resources["issue"] == pytest.approx((of_doubles - of_floats) / whole)


@pytest.mark.parametrize(
    ("turn", "spared"),
    [
        (COUNTING, 7),  # of the eight, a product with the reciprocal is left
        (("FADD R3, R3, 1", *COUNTING), 3),  # a fast division of five, with a reciprocal for each
        ((), 3),  # made once
    ],
)
def test_a_division_by_what_its_loop_does_not_change_is_a_product_with_the_reciprocal(turn, spared):
    lines = (*DIVISION, *turn)
    candidate = found_in(*lines, of_function=len(DIVISION))
    assert candidate.effect.resources["issue"] * len(lines) == pytest.approx(spared)


@pytest.mark.parametrize(("scaling", "said"), [("0x7e800000", True), ("0x7f800000", False)])
def test_a_norm_whose_squares_do_not_overflow_is_the_root_of_a_sum(scaling, said):
    """hypotf scales its numbers first, which `-use_fast_math` leaves as it is."""
    norm = (f"IADD3 R14, -R16, {scaling}, RZ", *ROOT, "FMUL R9, R16, R8", "STG.E [R10.64], R9")
    candidate = found_in(*norm, of_function=len(norm))
    assert ("write hypot and norm3d as the root of the sum" in candidate.advice) == said


@pytest.mark.parametrize(
    ("text", "is_advised"),
    [
        ("y = powf(x, 3.0f);", True),
        ("y = pow(x + 1, -2) / z;", True),
        ("y = powf(x, 2.4f);", False),
        ("y = powf(x, n);", False),
        (None, True),
    ],
)
def test_a_power_is_a_product_where_its_exponent_is_a_whole_number(text, is_advised):
    evidence = evidence_of(*POWER, line=999, each={"text": text})
    (candidate,) = special_functions.detect_special_functions(evidence)
    assert ("as products (`x * x * x`)" in candidate.advice) == is_advised


def test_a_root_that_nothing_is_divided_by_has_no_form_but_one_with_fewer_digits():
    (candidate,) = special_functions.detect_special_functions(evidence_of(*ROOT, line=999))
    assert candidate.advice == "Take roots with fewer digits (`sqrtf` with `-use_fast_math`)."
    assert candidate.in_triton == "Take roots with fewer digits (`tl.sqrt`)."
