"""Copies to shared memory whose lanes load the same data: how often each byte is copied."""

import pytest
from made_evidence import evidence_of

from profiler.analyse.causes.detectors.global_memory.repeated_copies import detect_repeated_copies

COPY, WIDE = "LDGSTS.E [R3], desc[UR20][R20.64]", "LDGSTS.E.BYPASS.128 [R3], desc[UR20][R20.64]"


def times_copied(*lines, sectors, acting=32.0):
    """Returns how often each byte is copied, if each of 100 requests touches so many sectors."""
    facts = {
        0: {"sectors": 100.0 * sectors, "ideal_sectors": 100.0 * sectors, "lanes": 32.0, "acting": acting}
    }
    found = list(detect_repeated_copies(evidence_of(*lines, facts=facts)))
    return found[0].evidence["times_copied"] if found else 1.0


@pytest.mark.parametrize(
    ("lines", "sectors", "acting", "times"),
    [
        ([COPY], 1, 32.0, 4),  # 128 bytes are asked for, and a sector has 32
        ([COPY], 2, 32.0, 2),
        ([COPY], 3, 32.0, 1),  # not all of it twice
        ([COPY], 4, 32.0, 1),  # a row of 32 words
        ([COPY], 1, 8.0, 1),  # of eight words
        ([WIDE], 16, 32.0, 1),
        ([WIDE], 4, 32.0, 4),
        (["LDG.E R4, [R20.64]", "STS [R3], R4"], 1, 32.0, 4),  # through a register
        (["LDG.E R4, [R20.64]", "FADD R5, R4, R5"], 1, 32.0, 1),  # all lanes use what they load alike
        (["UBLKCP [R3], [R20.64], R4"], 1, 32.0, 1),  # one thread copies any size
    ],
)
def test_lanes_that_ask_for_more_than_the_sectors_hold_copy_the_same(lines, sectors, acting, times):
    assert times_copied(*lines, sectors=sectors, acting=acting) == pytest.approx(times)


@pytest.mark.parametrize(
    ("between", "whole", "times"),
    [
        ("MOV R5, R6", 16.0, 4),  # the other copy shows that there is a tile to come in each turn
        ("MOV R5, R6", 4.0, 1),  # in a quarter of them, four sectors a turn may be the sixteen of each copy
        ("ISETP.LT.AND P6, PT, R7, R8, PT", 16.0, 1),  # the other copy is under another test
    ],
)
def test_a_copy_that_fills_its_place_with_zeros_takes_no_data(between, whole, times):
    copies = (
        "LDGSTS.E.BYPASS.128 [R3], desc[UR20][R20.64], P6",
        between,
        "LDGSTS.E.BYPASS.128 [R4], desc[UR20][R22.64], P6",
    )
    facts = {
        place: {"sectors": 100 * sectors, "lanes": 32.0, "acting": 32.0}
        for place, sectors in ((0, 4.0), (2, whole))
    }
    found = list(detect_repeated_copies(evidence_of(*copies, facts=facts)))
    assert [one.evidence["times_copied"] for one in found] == ([pytest.approx(times)] if times > 1 else [])
