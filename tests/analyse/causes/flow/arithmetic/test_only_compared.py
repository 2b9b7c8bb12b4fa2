"""A function, or a root, that is only compared can be left out, because its argument answers the comparison; one that is used as well cannot."""

from __future__ import annotations

import pytest
from made_evidence import evidence_of

from profiler.analyse.causes.detectors.instructions import special_functions
from profiler.analyse.causes.flow.arithmetic.only_compared import (
    find_only_compared,
    find_roots,
    part_root_only_compared,
)

# As compiled for sm_90: R0 holds the argument, and R5 the result.
ACOS = (
    "HFMA2.MMA R5, -RZ, RZ, 1.75, 0", "MOV R3, 0x3d10ecef", "FFMA R4, -|R0|.reuse, R5, 0.5", "FSETP.NEU.AND P1, PT, |R0|.reuse, 1, PT",
    "FSETP.GT.AND P2, PT, |R0|, 0.56000000238418579102, PT", "MUFU.RSQ R5, R4", "FMUL R6, R4, R5", "FMUL R5, R5, 0.5", "FFMA R5, -R6, R5, 0.5",
    "FFMA R5, R6, R5, R6", "FSEL R5, R5, RZ, P1", "FSETP.GT.AND P1, PT, R0, 0.56000000238418579102, PT", "FSEL R5, R5, |R0|, P2",
    "LOP3.LUT R5, R5, 0x80000000, R0, 0xb8, !PT", "FMUL R4, R5, R5", "FFMA R3, R4, R3, 0.016980519518256187439",
    "FFMA R3, R4, R3, 0.030762933194637298584", "FFMA R3, R4, R3, 0.044709417968988418579", "FFMA R7, R4.reuse, R3, 0.074989043176174163818",
    "FFMA R7, R4, R7, 0.16666707396507263184", "FMUL R4, R4, R7", "HFMA2.MMA R7, -RZ, RZ, 1.9599609375, 20144", "FFMA R5, R5, R4, R5",
    "FSEL R6, R5, -R5, P2", "@!P1 FFMA R5, R7, 0.93318945169448852539, R6", "@P2 FADD R5, R5, R5",
)  # fmt: skip
EXP = (
    "FFMA.SAT R4, R0, R9, 0.5", "FFMA.RM R4, R4, R7, 12582913", "FADD R6, R4.reuse, -12583039", "SHF.L.U32 R4, R4, 0x17, RZ",
    "FFMA R6, R0, 1.4426950216293334961, -R6", "FFMA R6, R0, 1.925963033500011079e-08, R6", "MUFU.EX2 R6, R6", "FMUL R5, R4, R6",
)  # fmt: skip
ARGUMENT = "LDG.E R0, desc[UR4][R10.64]"
COUNTED = "@P3 IADD3 R12, R12, 0x1, RZ"
STORED = "STG.E desc[UR4][R2.64], R5"
LEAST = "FMNMX R8, R8, R5, PT"


def in_loop(*lines, before=(), after=()):
    """Evidence of a loop of 100 turns for each of 32 warps, between what comes before it and behind it, all on one source line."""
    return evidence_of(
        *[(line, 32.0) for line in before],
        *[(line, 3200.0) for line in (*lines, f"@P0 BRA {16 * len(before):#x}")],
        *[(line, 32.0) for line in (*after, "EXIT")],
        line=9,
    )


def of_argument(*lines, after=()):
    """Such a loop, each turn of which loads the argument of a function. One number is the same in all turns."""
    return in_loop(ARGUMENT, *lines, before=("MOV R20, R21",), after=after)


@pytest.mark.parametrize("function", [ACOS, EXP])
@pytest.mark.parametrize(
    ("lines", "after", "part"),
    [
        (("FSETP.GT.AND P3, PT, R5, 0.5, PT", COUNTED), (), 1.0),
        (("FSETP.GT.AND P3, PT, R5, UR9, PT", COUNTED), (), 1.0),
        (("FSETP.GT.AND P3, PT, R5, R20, PT", COUNTED), (), 1.0),  # which is the same in each turn
        (("FMUL R5, R5, 57.29577951", "FSETP.GT.AND P3, PT, R5, R20, PT", COUNTED), (), 1.0),  # in degrees
        (
            ("LDG.E R22, desc[UR4][R24.64]", "FSETP.GT.AND P3, PT, R5, R22, PT", COUNTED),
            (),
            0.0,
        ),  # another number each time
        (("FMUL R5, R5, R20", "FSETP.GT.AND P3, PT, R5, 0.5, PT", COUNTED), (), 0.0),  # computed with
        (("FSETP.GT.AND P3, PT, |R5|, +INF, PT", STORED), (), 0.0),  # a number, or none
        (("FSETP.GT.AND P3, PT, R5, 0.5, PT", COUNTED, STORED), (), 0.0),
        ((LEAST,), ("STG.E desc[UR4][R2.64], R8",), 1 - 32 / 3200),
        ((LEAST, "FADD R30, R30, R8"), ("STG.E desc[UR4][R2.64], R30",), 0.0),
        (
            ("FSETP.GT.AND P3, PT, R8, R5, PT", "@P3 MOV R8, R5"),
            ("STG.E desc[UR4][R2.64], R8",),
            1 - 32 / 3200,
        ),
    ],
)
def test_what_uses_a_function_says_whether_its_argument_would_do(function, lines, after, part):
    compared = find_only_compared(of_argument(*function, *lines, after=after))
    assert list(compared.values()) == ([pytest.approx(part)] if part else [])


@pytest.mark.parametrize(
    ("function", "use", "spared", "advised"),
    [
        (ACOS, ("FSETP.GT.AND P3, PT, R5, 0.5, PT", COUNTED), 25, True),
        (ACOS, (STORED,), 11 / 2 * 25 / 26, False),  # half of the terms
        (EXP, ("FSETP.GT.AND P3, PT, R5, 0.5, PT", COUNTED), 8, True),
        (EXP, (STORED,), 8 - 5, False),  # a fast form
    ],
)
def test_a_function_that_is_only_compared_is_spared_whole(function, use, spared, advised):
    evidence = of_argument(*function, *use)
    (candidate,) = special_functions.detect_special_functions(evidence)
    assert candidate.advice.startswith("Compare the arguments") == advised
    assert sum(candidate.weights.values()) / 3200 == pytest.approx(spared, abs=0.8)


# As compiled for sm_90: R13 holds the argument, and R0 the root.
ROOT = (
    "BSSY B0, 0xa0", "MUFU.RSQ R10, R13", "IADD3 R0, R13, -0xd000000, RZ", "ISETP.GT.U32.AND P1, PT, R0, 0x727fffff, PT", "@!P1 BRA 0x50",
    "FMUL.FTZ R0, R13, R10", "FMUL.FTZ R10, R10, 0.5", "FFMA R11, -R0, R0, R13", "FFMA R0, R11, R10, R0", "BSYNC B0",
)  # fmt: skip
NORM = (
    "LOP3.LUT R16, R15, 0xfe000000, RZ, 0xc0, !PT", "IADD3 R14, -R16, 0x7e800000, RZ", *ROOT,
    "LOP3.LUT R16, R16, 0x800000, RZ, 0xfc, !PT", "@P3 FMUL R18, R16, R0", "FSEL R18, R18, +INF , P0",
)  # fmt: skip
ROOT_COMPARED = ("FSETP.GEU.AND P1, PT, R0, UR5, PT", "@!P1 IADD3 R7, R7, 0x1, RZ")
ROOT_STORED = "STG.E desc[UR4][R2.64], R0"
LEAST_ROOT = ("FSETP.GEU.AND P1, PT, R0, R8, PT", "FSEL R8, R0, R8, !P1")
RECIPROCAL = (
    "BSSY B0, 0x130", "IADD3 R9, R0, 0x1800000, RZ", "LOP3.LUT R9, R9, 0x7f800000, RZ, 0xc0, !PT",
    "ISETP.GT.U32.AND P0, PT, R9, 0x1ffffff, PT", "@P0 BRA 0xe0", "MUFU.RCP R9, R0", "FFMA R12, R9, R0, -1", "FADD.FTZ R12, -R12, -RZ",
    "FFMA R12, R9, R12, R9", "BSYNC B0",
)  # fmt: skip


@pytest.mark.parametrize(
    ("lines", "after", "part"),
    [
        ((*ROOT, *ROOT_COMPARED), (), 1.0),
        ((*ROOT_COMPARED, *ROOT), (), 1.0),  # in the next turn of the loop
        ((*ROOT, *ROOT_COMPARED, ROOT_STORED), (), 0.0),
        ((*ROOT, *ROOT_COMPARED, "FADD R6, -R0, UR5"), (), 0.0),
        ((*ROOT, "FADD R6, R6, R0"), ("STG.E desc[UR4][R2.64], R6",), 0.0),  # summed, and not compared
        ((*ROOT, *LEAST_ROOT), ("STG.E desc[UR4][R2.64], R8",), 1 - 32 / 3200),  # the least is stored once
        ((*ROOT, *LEAST_ROOT, "FADD R6, R6, R8"), (), 0.0),  # the least so far is used in each turn
        ((*ROOT, "FMNMX R8, R8, R0, PT"), ("STG.E desc[UR4][R2.64], R8",), 1 - 32 / 3200),
        ((*ROOT, "MOV R0, R13", *ROOT_COMPARED), (), 0.0),  # another value is compared
        ((*NORM, "FSETP.GEU.AND P1, PT, R18, UR5, PT"), (), 1.0),
        ((*NORM, "FADD R6, R18, R6"), (), 0.0),
    ],
)
def test_what_uses_a_root_says_whether_squares_would_do(lines, after, part):
    evidence = in_loop(*lines, after=after)
    (root,) = find_roots(evidence)
    assert root.result.instruction.text == "FFMA R0, R11, R10, R0"
    assert part_root_only_compared(evidence, root) == pytest.approx(part)


@pytest.mark.parametrize(
    ("use", "spared", "advised"), [(ROOT_COMPARED, 10, True), ((ROOT_STORED,), 6, False)]
)
def test_a_root_that_is_only_compared_is_spared_whole_and_others_for_a_fast_form(use, spared, advised):
    evidence = in_loop(*ROOT, *use)
    (candidate,) = special_functions.detect_special_functions(evidence)
    assert sum(candidate.weights.values()) == pytest.approx(spared * 3200)
    assert candidate.advice.startswith("Compare the squares") == advised
    assert (candidate.in_triton == candidate.advice) == advised


def test_the_reciprocal_of_a_root_is_one_function_of_four_instructions():
    """Of another number, the reciprocal has a fast form of its own."""
    (candidate,) = special_functions.detect_special_functions(in_loop(*ROOT, *RECIPROCAL, ROOT_STORED))
    assert sum(candidate.weights.values()) == pytest.approx((20 - 4) * 3200)
    apart = [line.replace("R0", "R20") for line in RECIPROCAL]
    (candidate,) = special_functions.detect_special_functions(in_loop(*ROOT, *apart, ROOT_STORED))
    assert sum(candidate.weights.values()) == pytest.approx((20 - 4 - 5) * 3200)


@pytest.mark.parametrize(
    "changed",
    [
        ("MUFU.RSQ R10, R13", "MUFU.RSQ R10, R14"),
        ("FFMA R11, -R0, R0, R13", "FMUL R11, R0, R13"),
        ("FFMA R0, R11, R10, R0", "FFMA R0, R12, R10, R0"),
    ],
)
def test_a_root_is_found_by_its_guess_and_what_refines_it(changed):
    lines = [changed[1] if line == changed[0] else line for line in ROOT]
    assert lines != list(ROOT)
    assert find_roots(in_loop(*lines, *ROOT_COMPARED)) == []
