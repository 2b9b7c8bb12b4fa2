"""A root that is only compared can be left out, because squares answer the comparison; one that is used as well cannot."""

from __future__ import annotations

import pytest
from made_evidence import evidence_of

from profiler.analyse.causes.detectors.instructions import special_functions
from profiler.analyse.causes.flow.arithmetic.only_compared import (
    find_roots,
    part_root_only_compared,
)


def in_loop(*lines, before=(), after=()):
    """Evidence of a loop of 100 turns for each of 32 warps, between what comes before it and behind it, all on one source line."""
    return evidence_of(
        *[(line, 32.0) for line in before],
        *[(line, 3200.0) for line in (*lines, f"@P0 BRA {16 * len(before):#x}")],
        *[(line, 32.0) for line in (*after, "EXIT")],
        line=9,
    )


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
