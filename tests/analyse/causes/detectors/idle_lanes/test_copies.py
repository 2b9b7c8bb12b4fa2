"""Tiles with fewer elements than a block has threads, which Triton gives to several threads each."""

import pytest
from made_evidence import evidence_of

from profiler.analyse.causes.detectors.idle_lanes.copies import detect_copies

ELEMENT, STORES = "LOP3.LUT R9, R9, 0x7, R0, 0xf8, !PT", "LOP3.LUT P0, RZ, R0, 0x18, RZ, 0xc0, !PT"


def found(block=32, element=ELEMENT, stores=STORES):
    """The causes that are named for a tile of eight elements."""
    evidence = evidence_of(
        "S2R R0, SR_TID.X",
        "S2R R9, SR_CTAID.X",
        element,
        "IMAD.WIDE R2, R9, 0x2, R2",
        "LDG.E.U16 R4, [R2.64]",
        stores,
        "@P0 EXIT",
        "STG.E.U16 [R2.64], R4",
        "EXIT",
        block=block,
        facts={4: {"sectors": 100.0}},
    )
    return list(detect_copies(evidence))


def test_threads_with_the_element_of_another_could_be_left_out():
    (one,) = found()
    assert "32 threads has 8 elements" in one.sentence
    assert one.effect.resources["issue"] == pytest.approx(3 / 4)
    assert one.effect.resources["l1"] == 0.0  # the lanes of a warp ask together


def test_warps_with_the_elements_of_others_ask_again():
    (one,) = found(block=128)
    assert one.effect.resources["issue"] == pytest.approx(1 - 8 / 128)
    assert one.effect.resources["l1"] == pytest.approx(3 / 4)


@pytest.mark.parametrize(
    "replaced",
    [
        {"block": 8},
        {"element": ELEMENT.replace("0x7", "0x1f")},
        {"element": "LOP3.LUT R9, R0, 0x7, R9, 0xf8, !PT"},  # what is cut off is where the block begins
        {"element": "IADD3 R9, R9, R0, RZ"},  # each thread has its own
        {"element": "LOP3.LUT R9, R9, 0x7, R0, 0xfc, !PT"},  # what is left is the rest of the index
        {"stores": "LOP3.LUT P0, RZ, R0, 0x1c, RZ, 0xc0, !PT"},  # which threads store is a matter of the element
        {"stores": "SHF.R.U32.HI R5, RZ, 0x3, R0"},  # the rest of the index is of use, too
    ],
)  # fmt: skip
def test_threads_with_elements_of_their_own_are_needed(replaced):
    assert found(**replaced) == []
