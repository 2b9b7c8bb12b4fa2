"""Loads in an unrolled loop that the slow paths of functions keep apart: without these, a warp waits once for all of them."""

from __future__ import annotations

import pytest
from made_evidence import change_instruction, evidence_of

from profiler.analyse.causes.detectors.instructions import special_functions
from profiler.analyse.causes.detectors.waiting import unoverlapped_loads
from profiler.analyse.causes.flow.arithmetic.slow_paths import find_loads_between_slow_paths

LOAD = "LDG.E R4, [R2.64+{0:#x}]"
ROOT = (
    "MUFU.RSQ R6, R4", "IADD3 R7, R4, -0xd000000, RZ", "ISETP.GT.U32.AND P1, PT, R7, 0x727fffff, PT", "@!P1 BRA {0:#x}", "FMUL.FTZ R7, R4, R6",
    "FMUL.FTZ R6, R6, 0.5", "FFMA R8, -R7, R7, R4", "FFMA R7, R8, R6, R7", "FADD R9, R9, R7",
)  # fmt: skip
OF_IF = "@P2 BRA {0:#x}"


def unrolled(copies, load=LOAD, function=ROOT, first="MOV R20, R21", of_root=0):
    """A loop with so many copies of a load and a function of its value, each behind `first`, which has a source line of its own."""
    lines: list[str] = []
    for _ in range(copies):
        ends = 16 * (len(lines) + 2 + len(function))
        lines += [first.format(ends), *(line.format(ends) for line in (load, *function))]
    waits = {place: {"waits": {"long_scoreboard": 9}} for place, line in enumerate(lines) if "LDG" in line}
    waits |= {place: {"waits": {"wait": of_root}} for place, line in enumerate(lines) if "MUFU" in line}
    evidence = evidence_of(*lines, "@P0 BRA 0x0", facts=waits, line=9)
    for site in evidence.sites:
        if site.position % (2 + len(function)) == 0:
            change_instruction(site, line=8)
    return evidence


@pytest.mark.parametrize(("copies", "ends"), [(1, 0), (2, 1 / 2), (4, 3 / 4)])
def test_without_slow_paths_a_warp_waits_once_for_the_loads_of_all_copies(copies, ends):
    """Counted is the time until they have come: the fast form alone would leave it as it is."""
    evidence = unrolled(copies)
    (candidate,) = special_functions.detect_special_functions(evidence)
    assert candidate.effect.waits["long_scoreboard"] == pytest.approx(ends)
    (candidate,) = unoverlapped_loads.detect_unoverlapped_loads(evidence)
    assert ("the branches of precise divisions, roots or functions" in candidate.advice) == bool(ends)


@pytest.mark.parametrize(("copies", "of_root", "is_said"), [(2, 8, True), (2, 10, False), (1, 8, False)])
def test_functions_are_said_to_keep_loads_apart_where_warps_wait_longer_for_these(copies, of_root, is_said):
    (candidate,) = special_functions.detect_special_functions(unrolled(copies, of_root=of_root))
    assert ("stand between loads" in candidate.sentence) == is_said


@pytest.mark.parametrize(
    "between",
    [
        {"first": "STG.E [R10.64], R9"},
        {"first": "ATOMG.E.ADD.STRONG.GPU PT, R0, [R10.64], R5"},
        {"first": "BAR.SYNC.DEFER_BLOCKING 0x0"},
        {"first": OF_IF},  # of an `if` in the source
        {"load": "LDG.E R4, [R4.64+{0:#x}]"},  # at the place that the value before names
        {"function": ("MUFU.RSQ R6, R4", "FADD R9, R9, R6")},  # which has no slow path
    ],
)
def test_what_something_else_keeps_apart_stays_apart(between):
    assert not find_loads_between_slow_paths(unrolled(2, **between))


def test_a_slow_path_that_some_numbers_take_keeps_loads_apart_all_the_same():
    taken = ("CALL.REL.NOINC 0x1000", "BRA {0:#x}")
    assert find_loads_between_slow_paths(unrolled(2, function=(*ROOT[:4], *taken, *ROOT[4:])))


def test_a_reciprocal_tests_a_part_of_the_bits_of_its_argument():
    tested = (
        "VIADD R6, R4, 0x1800000",
        "LOP3.LUT R6, R6, 0x7f800000, RZ, 0xc0, !PT",
        "ISETP.GT.U32.AND P1, PT, R6, 0x1ffffff, PT",
    )
    assert find_loads_between_slow_paths(unrolled(2, function=(*tested, *ROOT[3:])))
