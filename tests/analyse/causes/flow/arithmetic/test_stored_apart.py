"""Blocks that compute the same, and of which an index says only where they store it."""

import pytest
from made_evidence import evidence_of

from profiler.analyse.causes.detectors.instructions.redundant_instructions import detect_computed_by_blocks
from profiler.analyse.causes.evidence.sites import count_descriptors_as_stores
from profiler.analyse.causes.flow.arithmetic.stored_apart import find_stored_apart

# Blocks along y have rows of their own; those along z all add up the same row, and store the sum at places of their own.
SUM_OF_ROW = {
    "row": "S2R R1, SR_CTAID.Y",
    "part": "S2R R2, SR_CTAID.Z",
    "start": "IMAD.WIDE R4, R1, 0x4, R30",
    "before": "",
    "load": "LDG.E R8, [R4.64]",
    "sum": "FADD R9, R9, R8",
    "next": "IADD3 R4, R4, 0x4, RZ",
    "end": "@P0 BRA {load}",
    "place": "IMAD.WIDE R6, R2, 0x4, R32",
    "store": "STG.E [R6.64], R9",
}
# A tile of a tensor whose descriptor each block makes for itself, at a place of its own.
OF_TENSORS = {
    "before": "IMAD R20, R2, 0x80, RZ; LDS R21, [R22]; ATOMG.E.EXCH.STRONG.GPU PT, RZ, [R20], R21; UTMACCTL.IV [UR28]; R2UR UR28, R20; R2UR UR16, R1",
    "load": "UTMALDG.2D [UR16], [UR28]",
    "sum": "LDS R8, [R23]; FADD R9, R9, R8",
}


def evidence(grid=(1, 8, 4), **changed):
    lines, places = [], {}
    for name, text in (SUM_OF_ROW | changed).items():
        places[name] = hex(16 * len(lines))
        lines += [(one.format(**places), 100.0) for one in text.split("; ") if one]
    found = evidence_of(*lines, "EXIT", grid=grid)
    count_descriptors_as_stores(found.sites)
    return found


@pytest.mark.parametrize("changed", [{}, OF_TENSORS, {"store": "STG.E [R6.64], R9; STG.E [R6.64+0x4], R1"}])
def test_an_index_that_only_says_where_blocks_store_leaves_their_work_alike(changed):
    made = evidence(**changed)
    assert "STG.E" in {site.opcode for site in find_stored_apart(made, "SR_CTAID.Z")}
    one = next(one for one in detect_computed_by_blocks(made) if "only in where" in one.sentence)
    assert one.sentence.startswith("The 4 blocks along z compute the same")
    assert {"FADD", "STG.E"} & {site.opcode for site in one.weights} == {"FADD"}


def test_one_of_the_blocks_has_to_do_the_work():
    one = next(one for one in detect_computed_by_blocks(evidence()) if "only in where" in one.sentence)
    sum_and_place, all_on_pipe = (
        1 + 2,
        1 + 2 + 2,
    )  # the second product of 64 bits finds the place to store at, and stays
    assert one.effect.resources["fma"] == pytest.approx(3 / 4 * sum_and_place / all_on_pipe)


@pytest.mark.parametrize(
    "changed",
    [
        {"start": "IMAD.WIDE R4, R2, 0x4, R30"},  # each loads a row of its own
        {"sum": "FFMA R9, R8, R2, R9"},  # or computes with its index
        {"store": "STG.E [R6.64], R2"},  # or stores it
        {"next": "ISETP.LT.AND P0, PT, R4, R2, PT"},  # or makes turns of its own
        {"before": "STS [R22], R2"},  # or puts it where others may read it
        {"load": "LDG.E.STRONG.GPU R8, [R4.64]"},  # others may change what is loaded
        {"before": "ATOMG.E.ADD.STRONG.GPU PT, R10, [R30], R31"},  # a counter gives each block other work
        {"row": "MOV R1, RZ"},  # nothing tells blocks apart: they measure something
        {"end": "NOP"},  # no loop computes anything
        {"part": "MOV R2, RZ"},  # the index is not read
        OF_TENSORS | {"sum": "R2UR UR18, R2; LDS R8, [R23]; FADD R9, R9, R8"},  # a coordinate of the tile
        OF_TENSORS | {"start": "STS [R22], R2"},  # each describes another tensor
    ],
)
def test_blocks_that_compute_something_of_their_own_are_not_alike(changed):
    assert not find_stored_apart(evidence(**changed), "SR_CTAID.Z")
