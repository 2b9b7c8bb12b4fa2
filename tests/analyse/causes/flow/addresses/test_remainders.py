"""Which loads have nothing of a thread in their address but the remainder of its index."""

import pytest
from made_evidence import evidence_of

from profiler.analyse.causes.flow.addresses.remainders import find_loads_of_remainders

INDEX = ("S2R R5, SR_TID.X", "S2UR UR4, SR_CTAID.X", "LDC R0, c[0x0][0x0]", "IMAD R0, R0, UR4, R5")
# By a length that R3 holds, as nvcc 13.0 compiles it, without the steps that correct the quotient.
QUOTIENT = (
    "LDC R3, c[0x0][0x238]", "IABS R7, R3", "I2F.RP R2, R7", "MUFU.RCP R2, R2", "F2I.FTZ.U32.TRUNC.NTZ R5, R2", "IABS R6, R0",
    "IMAD.HI.U32 R5, R5, R6, RZ",
)  # fmt: skip
CORRECTED = ("@P0 IADD3 R5, R5, 0x1, RZ", "@!P2 LOP3.LUT R5, RZ, R3, RZ, 0x33, !PT")
REMAINDER = ("IADD3 R13, -R5, RZ, RZ", "IMAD R13, R3, R13, R0")
ARRAY = "LDC.64 R10, c[0x0][0x210]"


def load_at(index):
    return (ARRAY, f"IMAD.WIDE R8, {index}, 0x4, R10", "LDG.E R14, desc[UR8][R8.64]")


def are_of_remainders(*lines):
    """Returns for each load whether it was found."""
    evidence = evidence_of(*lines)
    found = find_loads_of_remainders(evidence)
    return [site in found for site in evidence.of("global load")]


@pytest.mark.parametrize(
    "remainder",
    [
        (*QUOTIENT, *REMAINDER),
        (*QUOTIENT, *CORRECTED, *REMAINDER),
        (*QUOTIENT, "IADD3 R2, RZ, -R7, RZ", "IMAD R13, R5, R2, R6"),  # of the absolute values
        ("IMAD.HI R5, R0, 0x431bde83, RZ", "SHF.R.S32.HI R5, RZ, 0x12, R5", "IMAD R13, R5, -0xf4243, R0"),  # of a constant length
    ],
)  # fmt: skip
def test_a_load_at_the_remainder_of_the_index_is_found(remainder):
    assert are_of_remainders(*INDEX, *remainder, *load_at("R13"), *load_at("R0")) == [True, False]


@pytest.mark.parametrize(
    "lines",
    [
        (*INDEX, *QUOTIENT, *load_at("R5")),  # the quotient
        (*INDEX, *QUOTIENT, "IMAD R13, R3, R5, R0", *load_at("R13")),  # with a gap behind each row
        (*INDEX, *QUOTIENT, *REMAINDER, "IADD3 R13, R13, R5, RZ", *load_at("R13")),  # the quotient besides
        (*INDEX, "IADD3 R0, R0, 0x1, RZ", *QUOTIENT, *REMAINDER, *load_at("R13")),  # across the edge, to the other one
        ("S2R R0, SR_TID.X", *QUOTIENT, *REMAINDER, *load_at("R13")),  # of the index within a block
        (*INDEX, *QUOTIENT, *REMAINDER, *load_at("R13"), "IADD3 R14, R14, R13, RZ", *load_at("R14")),  # of what was loaded there
    ],
)  # fmt: skip
def test_other_addresses_are_of_a_thread_of_its_own(lines):
    assert not are_of_remainders(*lines)[-1]
