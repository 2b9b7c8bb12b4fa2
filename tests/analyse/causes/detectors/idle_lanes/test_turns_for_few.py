"""Loops in whose turns few lanes have an element, and loops that look like it."""

import pytest
from made_evidence import evidence_of

from profiler.analyse.causes.detectors.idle_lanes.lanes import detect_idle_lanes
from profiler.analyse.causes.detectors.idle_lanes.turns_for_few import find_turns_for_few

ALL, HALF, ONE = 32.0, 16.0, 1.0
LOOP = {
    "other": ("MOV R4, RZ", ALL),
    "load": ("@P0 LDG.E R4, [R2]", HALF),
    "exchange": ("SHFL.BFLY PT, R5, R4, 0x1, 0x1f", ALL),
    "largest": ("FMNMX R5, R4, R5, !PT", ALL),
    "scale": ("FMUL R6, R4, R5", ALL),
    "store": ("@P1 STG.E [R10], R6", ONE),
    "next": ("IADD3 R2, R2, 0x40, RZ", ALL),
    "end": ("@P2 BRA 0x20", ALL),
}
START = ("S2R R20, SR_TID.X", "IMAD.WIDE R2, R20, 0x4, R8")


def made(**changed):
    """The loop, of which some instructions were changed."""
    lines = list({**LOOP, **changed}.values())
    facts = {place: {"lanes": ALL, "acting": ALL} for place in (0, 1)}
    facts |= {
        place: {"lanes": ALL, "acting": acting, "sectors": 200.0, "ideal_sectors": 200.0}
        for place, (_, acting) in enumerate(lines, len(START))
    }
    return evidence_of(*START, *((line, 800.0) for line, _ in lines), ("EXIT", 100.0), facts=facts)


def parts(evidence):
    return {
        (site.instruction.name, part)
        for site, part in find_turns_for_few(evidence).items()
        if site.kind in ("fp32", "mio")
    }


def test_lanes_without_an_element_compute_for_nothing():
    assert parts(made()) == {("SHFL", 0.5), ("FMNMX", 0.5), ("FMUL", 0.5)}
    (candidate,) = detect_idle_lanes(made())
    assert candidate.name == "idle-lanes"
    assert candidate.sentence.startswith("In each turn of a loop, half of the lanes have an element at most")


@pytest.mark.parametrize(
    "changed",
    [
        {"load": ("@P0 LDG.E R4, [R2]", 24.0)},
        {"store": ("STG.E [R10], R6", ALL)},  # each lane stores a result
        {"scale": ("FFMA R6, R4, R5, R6", ALL), "largest": ("I2FP.F32.S32 R5, R20", ALL)},  # of its own index
        {"scale": ("FMUL R6, R6, R7", ALL)},  # of nothing that was loaded, as random numbers are
    ],
)
def test_lanes_may_have_work_that_needs_no_load(changed):
    assert not parts(made(**changed))
