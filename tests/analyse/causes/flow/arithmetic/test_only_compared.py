"""A function that is only compared can be left out, because its argument answers the comparison."""

from __future__ import annotations

import pytest
from made_evidence import evidence_of

from profiler.analyse.causes.detectors.instructions import special_functions
from profiler.analyse.causes.flow.arithmetic.only_compared import find_only_compared

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


def in_loop(*lines, after=()):
    """Evidence of a loop of 100 turns for each of 32 warps, between what comes before it and behind it, all on one source line."""
    return evidence_of(
        ("MOV R20, R21", 32.0),
        *[(line, 3200.0) for line in (ARGUMENT, *lines, "@P0 BRA 0x10")],
        *[(line, 32.0) for line in (*after, "EXIT")],
        line=9,
    )


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
    compared = find_only_compared(in_loop(*function, *lines, after=after))
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
    evidence = in_loop(*function, *use)
    (candidate,) = special_functions.detect_special_functions(evidence)
    assert candidate.advice.startswith("Compare the arguments") == advised
    assert sum(candidate.weights.values()) / 3200 == pytest.approx(spared, abs=0.8)
