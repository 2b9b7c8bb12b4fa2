"""Threads that take several elements in a row, and treat each by itself, in the same way, could take any others as well."""

import pytest
from made_evidence import evidence_of

from profiler.analyse.causes.detectors.global_memory import layout
from profiler.analyse.causes.flow.addresses.alike_elements import count_elements_alike

APART = {"sectors": 3200.0, "ideal_sectors": 400.0}
PLACES = (
    "S2R R0, SR_TID.X",
    "IMAD.WIDE R2, R0, 0x20, c[0x0][0x210]",
    "IMAD.WIDE R6, R0, 0x20, c[0x0][0x218]",
)


def each_by(*made):
    """Returns the code of a thread that loads eight elements, makes something of each, and stores it."""
    return [
        line
        for place in range(8)
        for line in (
            f"LDG.E R{10 + place}, [R2.64+{4 * place:#x}]",
            *(line.format(own=10 + place, next=10 + (place + 1) % 8, place=place) for line in made),
            f"STG.E [R6.64+{4 * place:#x}], R{10 + place}",
        )
    ]


@pytest.mark.parametrize(
    ("made", "count"),
    [
        (["FFMA R{own}, R{own}, 2, R4"], 8),
        (["@!P{place} FFMA.FTZ R{own}, R{own}, 2, R4"], 8),  # only where there is an element
        (
            ["FMUL R{own}, R{own}, c[0x0][0x{place}00]"],
            0,
        ),  # members of a structure, each with a factor of its own
        (["FADD R{own}, R{own}, R{next}"], 0),  # what other elements have left
        (["SHFL.BFLY PT, R5, R{own}, 0x1, 0x1f", "FADD R{own}, R{own}, R5"], 0),  # of another lane
        (["I2FP.F32.S32 R5, R0", "FADD R{own}, R{own}, R5"], 0),  # with the index of the thread
        (["LDS R5, [R4]", "FADD R{own}, R{own}, R5"], 0),  # from a table
    ],
)
def test_elements_are_alike_if_each_result_is_made_of_one_in_the_same_way(made, count):
    lines = [*PLACES, *each_by(*made), "EXIT"]
    facts = {place: APART for place, line in enumerate(lines) if "G.E " in line}
    evidence = evidence_of(*lines, facts=facts)
    assert count_elements_alike(evidence) == count
    loads, _ = layout.detect_uncoalesced(evidence)
    assert ("instead of 8 in a row" in loads.advice) == bool(count)
    assert ("piece k of thread t" in loads.advice) != bool(count)
