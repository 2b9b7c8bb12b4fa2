"""The transpose ladder in machine code: what passes through shared memory, how wide, and by whom."""

import pytest


def test_rung_1_uses_no_shared_memory(machine_code):
    code = machine_code("transpose", 1)
    assert not {"LDS", "STS"} & code.names
    assert code.moved == {32}


@pytest.mark.parametrize(("number", "floats"), [(2, 32 * 32), (3, 32 * 33), (4, 32 * 32)])
def test_a_tile_passes_through_shared_memory(machine_code, number, floats):
    code = machine_code("transpose", number)
    assert code.widths("LDS") == code.widths("STS") == {32}
    assert [one.shared_bytes for one in code.resources] == [4 * floats]


@pytest.mark.parametrize("number", [5, 10, 11])
def test_squares_in_registers_move_by_128_bits_everywhere(machine_code, number):
    code = machine_code("transpose", number)
    for name in ("LDG", "STG", "LDS", "STS"):
        assert code.widths(name) == {128}


def test_threads_of_rung_6_touch_no_global_memory(machine_code):
    code = machine_code("transpose", 6)
    assert not {"LDG", "STG"} & code.names
    assert {"UTMALDG", "UTMASTG"} <= code.names
    assert code.widths("LDS") == code.widths("STS") == {128}
