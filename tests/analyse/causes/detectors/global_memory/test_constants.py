"""Tables in constant memory: named where lanes index them apart and warps wait for it, and nowhere else."""

import pytest
from made_evidence import evidence_of

from profiler.analyse.causes.detectors.global_memory.constants import detect_divergent_constants
from profiler.analyse.causes.detectors.global_memory.narrow_accesses import detect_narrow
from profiler.analyse.causes.flow.memory.constant_lookups import add_lookups

PIXEL = ["S2R R0, SR_TID.X", "LDG.E R4, [R0.64]"]
WAITING = "FADD R6, R6, R5"


def evidence_with_lookups(*lines, waiting=50, **more):
    """Warps wait at the last instruction for what is looked up."""
    facts = {len(lines) - 1: {"waits": {"short_scoreboard": waiting, "wait": 50}}}
    return add_lookups(evidence_of(*lines, facts=facts, **more))


def find(*lines, **more):
    return list(detect_divergent_constants(evidence_with_lookups(*lines, **more)))


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        ([*PIXEL, "LDC R5, c[0x3][R4]"], 1),  # each lane has a pixel of its own
        (["S2R R0, SR_TID.X", "LDC R5, c[0x3][R0+0x400]"], 1),
        (["S2R R1, SR_CTAID.X", "LDG.E R4, [R1.64]", "LDC R5, c[0x3][R4]"], 0),  # one pixel for the block
        ([*PIXEL, "LDC R5, c[0x3][RZ]"], 0),
        ([*PIXEL, "LDC R5, c[0x0][0x28]"], 0),  # a parameter of the kernel
        ([*PIXEL, "ULDC UR4, c[0x3][UR5]", "LDC R5, c[0x3][UR4]"], 0),
        ([*PIXEL, "LDS R5, [R4]"], 0),
        ([*PIXEL, "LDC R8, c[0x2][R4]", "BRX R8, -0x320"], 0),  # the table of a switch
    ],
)
def test_lanes_index_a_table_apart_where_the_index_depends_on_the_lane(lines, found):
    assert len(find(*lines, WAITING)) == found


def test_what_nobody_waits_for_is_no_cause():
    assert find(*PIXEL, "LDC R5, c[0x3][R4]", WAITING, waiting=0) == []


# One SM, whose 100 warps each look something up once, in 10,000 cycles.
FIGURES = {"sm_cycles": 10_000.0}
LOOKUP = [*PIXEL, "LDC R5, c[0x3][R4]", WAITING]


@pytest.mark.parametrize(
    ("answered", "busy"),
    [
        (29.0, 0.0),  # nobody waits for another one
        (129.0, 0.5),  # one is served while another one comes
        (100_000.0, 0.64),  # each lane has an address of its own, which takes two cycles
    ],
)
def test_how_busy_the_cache_of_constants_is_follows_from_how_long_lookups_take(answered, busy):
    figures = FIGURES | {"stall_short_scoreboard": answered / len(LOOKUP)}
    model = evidence_with_lookups(*LOOKUP, figures=figures).model
    assert model.busy["constants"] == pytest.approx(busy)


@pytest.mark.parametrize(("lanes", "busy"), [(32.0, 0.64), (2.0, 0.04)])
def test_lanes_that_are_off_look_nothing_up(lanes, busy):
    figures = FIGURES | {"stall_short_scoreboard": 100_000.0}
    facts = {2: {"acting": lanes}, 3: {"waits": {"short_scoreboard": 50}}}
    model = add_lookups(evidence_of(*LOOKUP, facts=facts, figures=figures)).model
    assert model.busy["constants"] == pytest.approx(busy)


def test_others_in_the_queue_wait_for_lookups_that_take_up_to_64_cycles():
    facts = {1: {"waits": {"mio_throttle": 130}}}
    apart = evidence_of("S2R R0, SR_TID.X", "LDS R3, [R0]", "LDC R5, c[0x3][R0]", facts=facts)
    evidence = add_lookups(apart)
    charged = [evidence.charged[site]["mio_throttle"] for site in evidence.sites]
    assert charged == pytest.approx([130 / 66, 130 / 66, 130 * 64 / 66])


def test_where_no_lane_looks_elsewhere_the_evidence_stays():
    evidence = evidence_of(*PIXEL, "LDC R5, c[0x0][0x28]", WAITING)
    assert add_lookups(evidence) is evidence


def test_wider_accesses_look_as_much_up():
    """A thread that takes the place of four loads once instead of four times, and looks four values up."""
    facts = {1: {"sectors": 400.0, "ideal_sectors": 400.0, "waits": {"long_scoreboard": 1}}}
    for lookup, shrinking in (("LDC R5, c[0x3][R0]", 3 / 5), ("LDC R5, c[0x3][R8]", 3 / 4)):
        lines = ["S2R R0, SR_TID.X", "LDG.E R4, [R0.64]", "S2R R8, SR_CTAID.X", "IADD3 R9, R8, 0x1, RZ", lookup]  # fmt: skip
        (candidate,) = detect_narrow(add_lookups(evidence_of(*lines, facts=facts)))
        assert candidate.effect.resources["issue"] == pytest.approx(shrinking)


@pytest.mark.parametrize(("lookups", "memory"), [(4, "global"), (5, "shared")])
def test_a_table_is_copied_for_threads_that_look_up_more_than_the_copy_takes(lookups, memory):
    """L2 delivers the table after 287 cycles, in which a warp makes four lookups and a half of 64 cycles each."""
    (candidate,) = find(*PIXEL, *["LDC R5, c[0x3][R4]"] * lookups, WAITING, grid=100, block=32)
    assert candidate.advice.startswith(f"Put the table into {memory} memory")
