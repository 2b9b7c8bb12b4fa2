"""The ladder of the mean of neighbours in machine code: what is wide on the way in, through the tile, and on the way out.

Each kernel holds a second path for the first and the last tile, whose elements may not exist; it is element by element.
"""

GUARDED = {32}  # bits: accesses of the path that asks whether an element exists


def test_rung_1_is_scalar_throughout(machine_code):
    code = machine_code("tile", 1)
    for opcode in ("LDG", "STS", "LDS", "STG"):
        assert code.widths(opcode) == {32}


def test_rung_2_is_wide_into_the_tile_alone(machine_code):
    code = machine_code("tile", 2)
    assert code.widths("LDG") == {128} | GUARDED
    assert code.widths("STS") == {128}
    assert code.widths("LDS") == code.widths("STG") == {32}


def test_rung_3_is_wide_throughout(machine_code):
    code = machine_code("tile", 3)
    assert code.moved == {128} | GUARDED
    assert code.widths("STS") == code.widths("LDS") == {128}


def test_rung_4_has_neither_tile_nor_barrier(machine_code):
    code = machine_code("tile", 4)
    assert not {"LDS", "STS", "BAR"} & code.names
    assert code.moved == {128} | GUARDED
