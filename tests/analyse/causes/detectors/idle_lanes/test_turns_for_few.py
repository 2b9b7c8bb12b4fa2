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
    return made_of({**LOOP, **changed})


def made_of(loop):
    """A loop that begins at 0x20."""
    lines = list(loop.values())
    facts = {place: {"lanes": ALL, "acting": ALL} for place in range(len(START))}
    facts |= {
        place: {"lanes": ALL, "acting": acting, "sectors": 1600.0, "ideal_sectors": 1600.0}
        for place, (_, acting) in enumerate(lines, len(START))
    }
    return evidence_of(*START, *((line, 800.0) for line, _ in lines), "EXIT", facts=facts)


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
    assert candidate.sentence.startswith("In each turn of a loop, at most half of the lanes have an element")


@pytest.mark.parametrize(("still_there", "found"), [(ALL, True), (HALF, False)])
def test_lanes_that_have_left_a_loop_compute_nothing(still_there, found):
    evidence = made()
    for site in evidence.sites[len(START) : -1]:
        site.lanes = still_there
    assert bool(parts(evidence)) == found


@pytest.mark.parametrize(("others", "found"), [(ALL, True), (HALF, False)])
def test_lanes_that_a_branch_keeps_out_of_a_loop_compute_nothing_in_it(others, found):
    """Half of the lanes have an element: of those that turn, or all of those."""
    evidence = made()
    for site in evidence.sites[len(START) - 1 : -1]:
        site.lanes = others
    assert bool(parts(evidence)) == found


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


@pytest.mark.parametrize(("executed", "part"), [(800.0, 1 / 2), (600.0, 1 / 3), (400.0, 0.0)])
def test_what_a_branch_passes_by_in_some_turns_serves_the_lanes_with_an_element_in_the_others(executed, part):
    evidence = made()
    (scale,) = [site for site in evidence.sites if site.instruction.name == "FMUL"]
    scale.executed = executed
    assert find_turns_for_few(evidence)[scale] == pytest.approx(part)


@pytest.mark.parametrize(("lanes_inside", "found"), [(HALF, True), (ALL, False)])
def test_the_loops_in_a_turn_access_for_lanes_with_an_element_too(lanes_inside, found):
    """An access of the turn itself is for the elements that its loop leaves over."""
    inner = {"inner": ("LDG.E R8, [R2]", lanes_inside), "again": ("@P3 BRA 0x20", ALL)}
    evidence = made_of({**inner, **LOOP})
    assert bool(parts(evidence)) == found


@pytest.mark.parametrize(
    ("computing", "says"),
    [(ONE, "One lane of a warp does all"), (ALL, "In each turn of a loop, at most half")],
)
def test_lanes_past_which_a_branch_leads_do_not_compute(computing, says):
    evidence = made(
        load=("LDG.E R4, [R2]", ONE),
        exchange=("IADD3 R5, R5, 0x1, RZ", ALL),
        largest=("FMNMX R5, R4, R4, !PT", ALL),
    )
    for site in evidence.sites:
        if site.kind in ("fp32", "global load"):
            site.lanes = site.acting = min(site.acting, computing)
    (candidate,) = detect_idle_lanes(evidence)
    assert candidate.sentence.startswith(says)
