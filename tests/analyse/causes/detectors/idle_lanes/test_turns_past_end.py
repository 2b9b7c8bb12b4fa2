"""Loops that go on after the end of what they read, because their bound is that of the longest list."""

import pytest
from made_evidence import evidence_of

from profiler.analyse.causes.detectors.idle_lanes.turns_past_end import detect_turns_past_end

# The bound of a block's list is loaded; each of 4,000 turns of 100 warps tests its index against it.
LIST = (
    ("S2R R1, SR_TID.X", 100.0),
    ("S2UR UR4, SR_CTAID.X", 100.0),
    ("LDG.E R2, [UR4]", 100.0),
    ("MOV R7, RZ", 100.0),
    ("IADD3 R8, R7, R1, RZ", 4000.0),
    ("ISETP.GE.AND P0, PT, R8, R2, PT", 4000.0),
    ("ISETP.LT.AND P0, PT, R1, 0x40, !P0", 4000.0),
    ("LEA R10, R8, R4, 0x2", 4000.0),
    ("@P0 LDG.E R12, [R10.64]", 4000.0),
    ("FADD R14, R14, R12", 4000.0),
    ("VIADD R7, R7, 0x8", 4000.0),
    ("ISETP.GE.AND P1, PT, R7, UR8, PT", 4000.0),
    ("@!P1 BRA 0x40", 4000.0),
    ("STG.E [R16.64], R14", 100.0),
)
LOAD, ADDING = 8, 9


def part_past_end(acting=8.0, replaced=None):
    """Returns the part of the loop's turns that is named, if its load acts for so many of 32 lanes."""
    lines = [((replaced or {}).get(place, line), executed) for place, (line, executed) in enumerate(LIST)]
    stores = [place for place, (line, _) in enumerate(lines) if place == ADDING and "STG" in line]
    facts = {place: {"acting": acting, "lanes": 32.0, "sectors": 4000.0} for place in (LOAD, *stores)}
    evidence = evidence_of(*lines, facts=facts)
    found = list(detect_turns_past_end(evidence))
    assert all(site.executed == 4000.0 for one in found for site in one.weights)
    return found[0].evidence["turns_past_end_pct"] / 100 if found else 0.0


def test_turns_in_which_nothing_is_there_are_named_less_half_of_one_turn():
    """The last tile of each list is half there, on average: that turn is needed."""
    assert part_past_end(8.0) == pytest.approx(1 - 8 / 32 - 0.5 / 40)
    assert part_past_end(31.9) == 0.0


@pytest.mark.parametrize(
    "replaced",
    [
        {2: "LDC R2, c[0x0][0x210]"},  # a bound that the host passes
        {4: "LOP3.LUT R8, R7, R1, RZ, 0xfc, !PT"},  # an index that is joined instead of added
        {ADDING: "@P0 STG.E [R18.64], R12"},  # which stores nothing where it loads nothing
    ],
)
def test_a_loop_that_does_nothing_past_the_end_is_named_however_it_is_written(replaced):
    assert part_past_end(replaced=replaced) > 0.7


@pytest.mark.parametrize(
    "replaced",
    [
        {2: "LDG.E R2, [R1.64]"},  # each thread has a list of its own, and some lists are long
        {4: "LOP3.LUT R8, R7, R1, RZ, 0xc0, !PT"},  # an index that begins again
        {4: "LOP3.LUT R8, R7, 0xfc, RZ, 0xc0, !PT"},
        {4: "LDS R8, [R7]"},  # one that is looked up
        {5: "ISETP.EQ.AND P0, PT, R8, R2, PT"},  # one place of many
        {5: "ISETP.GE.AND P0, PT, R8, R12, PT"},  # a bound that the loop finds out
        {6: "ISETP.GT.AND P0, PT, R8, -0x1, !P0"},  # threads that begin one after the other
        {6: "ISETP.GE.AND P0, PT, R8, RZ, !P0"},
        {6: "ISETP.EQ.AND P0, PT, R1, RZ, !P0"},  # one thread, which loads for the others
        {LOAD: "LDG.E R12, [R10.64]"},
        {ADDING: "STG.E [R18.64], R12"},  # what is not there is filled up with zeros
    ],
)
def test_loads_that_act_seldom_for_other_reasons_are_no_end(replaced):
    assert part_past_end(replaced=replaced) == 0.0
