"""`prof sass` says so if the first cause is not in the loop that it shows."""

from dataclasses import replace

import pytest

from profiler.analyse.causes.cause import Cause, CodePlace, Savings
from profiler.analyse.causes.elsewhere import find_elsewhere
from profiler.analyse.code.regions import Region
from tests.analyse.code.made_code import function


@pytest.mark.parametrize(
    ("where", "where_is", "is_elsewhere"),
    [
        ([CodePlace("STG.E", 0x40, 60.0)], "instruction", True),
        ([CodePlace("LDG.E", 0x10, 60.0)], "instruction", False),
        ([CodePlace("STG.E", 0x40, 60.0), CodePlace("LDG.E", 0x10, 30.0)], "instruction", False),
        ([CodePlace("STG.E", 0x40, 60.0)], "kernel", False),  # the whole kernel is to blame
        ([], "unrecorded", False),
    ],
)
def test_a_cause_is_elsewhere_if_none_of_its_places_is_in_the_loop(where, where_is, is_elsewhere):
    code = function(
        (1.0, "MOV R0, R1"),
        (8.0, "LDG.E R4, [R2.64]"),
        (8.0, "FADD R1, R1, R4"),
        (8.0, "@P0 BRA 0x10"),
        (1.0, "STG.E [R2.64], R1"),
    )
    cause = Cause("uncoalesced-stores", "", "", Savings(40.0, 60.0), where, {}, where_is=where_is)
    found = find_elsewhere(cause, Region("loop", code[1:4], code[4:], 8.0, 1.0))
    assert (found is not None) == is_elsewhere
    assert found is None or (found.cause, found.opcode, found.offset) == ("uncoalesced-stores", "STG.E", 0x40)


@pytest.mark.parametrize(("line", "is_elsewhere"), [(7, False), (9, True)])
def test_a_cause_at_a_line_is_not_elsewhere_if_the_loop_has_a_part_of_that_line(line, is_elsewhere):
    code = [
        replace(one, file="/home/me/made.cu", line=7)
        for one in function((8.0, "FADD R1, R1, R4"), (8.0, "BRA 0x0"))
    ]
    cause = Cause(
        "uncoalesced-stores", "", "", Savings(40.0, 60.0), [CodePlace("STG.E", 0x40, 60.0, "made.cu", line)], {}, where_is="line"
    )  # fmt: skip
    found = find_elsewhere(cause, Region("loop", tuple(code), (), 8.0, 1.0))
    assert (found is not None) == is_elsewhere
    assert found is None or found.place == "made.cu:9"


@pytest.mark.parametrize(("opcode", "is_elsewhere"), [("LDG.E", False), ("STG.E", True)])
def test_code_of_another_function_is_elsewhere_though_its_offset_is_in_the_loop(opcode, is_elsewhere):
    """The functions of a range each begin at offset 0."""
    code = function((8.0, "LDG.E R4, [R2.64]"), (8.0, "FADD R1, R1, R4"), (8.0, "@P0 BRA 0x0"))
    cause = Cause(
        "uncoalesced-stores", "", "", Savings(40.0, 60.0), [CodePlace(opcode, 0x0, 60.0)], {}, where_is="instruction"
    )  # fmt: skip
    found = find_elsewhere(cause, Region("loop", code, (), 8.0, 1.0))
    assert (found is not None) == is_elsewhere
