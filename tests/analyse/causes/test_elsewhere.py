"""`prof sass` says so if the first cause is not in the loop that it shows."""

import pytest
from msgspec.structs import replace

from profiler.analyse.causes.cause import CodePlace
from profiler.analyse.causes.elsewhere import find_elsewhere
from profiler.analyse.code.regions import Region
from tests.analyse.code.made_code import function
from tests.made_causes import cause_of

STORE, LOAD = CodePlace("STG.E", 0x40, 60.0), CodePlace("LDG.E", 0x10, 30.0)


@pytest.mark.parametrize(
    ("name", "places", "is_elsewhere"),
    [
        ("uncoalesced-stores", [STORE], True),
        ("uncoalesced-stores", [LOAD], False),
        ("uncoalesced-stores", [STORE, LOAD], False),
        ("grid-too-small", [STORE], False),  # the whole kernel is to blame
        ("uncoalesced-stores", [], False),
    ],
)
def test_a_cause_is_elsewhere_if_none_of_its_places_is_in_the_loop(name, places, is_elsewhere):
    loop = [(8.0, "LDG.E R4, [R2.64]"), (8.0, "FADD R1, R1, R4"), (8.0, "@P0 BRA 0x10")]
    code = function((1.0, "MOV R0, R1"), *loop, (1.0, "STG.E [R2.64], R1"))
    found = find_elsewhere(cause_of(name, places=places), Region("loop", code[1:4], code[4:], 8.0, 1.0))
    assert (found is not None) == is_elsewhere
    assert found is None or (found.cause, found.opcode, found.offset) == (name, "STG.E", 0x40)


@pytest.mark.parametrize(("line", "is_elsewhere"), [(7, False), (9, True)])
def test_a_cause_at_a_line_is_not_elsewhere_if_the_loop_has_a_part_of_that_line(line, is_elsewhere):
    code = [
        replace(one, file="/home/me/made.cu", line=7)
        for one in function((8.0, "FADD R1, R1, R4"), (8.0, "BRA 0x0"))
    ]
    cause = cause_of("uncoalesced-stores", places=[CodePlace("STG.E", 0x40, 60.0, "made.cu", line)])
    found = find_elsewhere(cause, Region("loop", tuple(code), (), 8.0, 1.0))
    assert (found is not None) == is_elsewhere
    assert found is None or found.place == "made.cu:9"


@pytest.mark.parametrize(("opcode", "is_elsewhere"), [("LDG.E", False), ("STG.E", True)])
def test_code_of_another_function_is_elsewhere_though_its_offset_is_in_the_loop(opcode, is_elsewhere):
    """The functions of a range each begin at offset 0."""
    code = function((8.0, "LDG.E R4, [R2.64]"), (8.0, "FADD R1, R1, R4"), (8.0, "@P0 BRA 0x0"))
    cause = cause_of("uncoalesced-stores", places=[CodePlace(opcode, 0x0, 60.0)])
    assert (find_elsewhere(cause, Region("loop", code, (), 8.0, 1.0)) is not None) == is_elsewhere
