"""Which loads take elements that lie as far apart for all threads, so that other threads take them, too."""

import pytest
from made_evidence import evidence_of

from profiler.analyse.causes.flow.addresses.shifted import find_shifted_loads

AT = ("S2R R0, SR_TID.X", "LDC R9, c[0x0][0x230]", "IMAD.WIDE R2, R0, 0x4, c[0x0][0x210]")


@pytest.mark.parametrize(
    ("other", "is_shifted"),
    [
        ("IADD3 R4, R2, 0x100, RZ", True),
        ("IMAD.WIDE R4, R9, 0x4, R2", True),  # a stride that the host gives
        ("IADD3 R4, R2, RZ, RZ", False),  # the same element
        ("IMAD.WIDE R4, R0, 0x8, R2", False),  # farther apart for later threads
        ("LDG.E R4, [R2.64]", False),  # where data says
        ("MOV R4, c[0x0][0x210]", False),  # the same place for all threads
    ],
)
def test_elements_that_lie_as_far_apart_for_all_threads(other, is_shifted):
    evidence = evidence_of(*AT, other, "LDG.E R6, [R2.64]", "LDG.E R7, [R4.64]", "EXIT")
    loads = evidence.of("global load")[-2:]
    assert find_shifted_loads(evidence) == ([loads] if is_shifted else [])


def test_one_load_has_no_other_beside_it():
    assert find_shifted_loads(evidence_of(*AT, "LDG.E R6, [R2.64]", "EXIT")) == []
