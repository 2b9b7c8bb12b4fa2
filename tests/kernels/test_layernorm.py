"""What the compiler made of the rungs of `layernorm`: how wide their accesses are, and how often a row is read."""

from __future__ import annotations

import re

REGISTERS_AT_4096 = (
    "float4Li256ELi4E"  # rung 3's variant for the default width: 256 threads with four vectors each
)
BULK_AT_4096 = "ILi2E"  # rung 4's: 512 threads with two


def test_rung_1_moves_32_bits_at_a_time(machine_code) -> None:
    code = machine_code("layernorm", 1)
    assert code.widths("LDG") == code.widths("STG") == {32}


def test_rung_2_moves_128_bits_at_a_time(machine_code) -> None:
    code = machine_code("layernorm", 2)
    assert code.widths("LDG") == code.widths("STG") == {128}


def test_rung_3_reads_a_row_once(machine_code) -> None:
    code = machine_code("layernorm", 3).only(REGISTERS_AT_4096)
    assert code.widths("LDG") == code.widths("STG") == {128}
    of_x = {
        one: count for one, count in code.opcodes.items() if one.startswith("LDG") and "CONSTANT" not in one
    }
    assert sum(of_x.values()) == 4, "the row's four vectors, besides gamma's and beta's"


def test_rung_3_moves_elements_where_vectors_do_not_suit(machine_code) -> None:
    code = machine_code("layernorm", 3).only("registersIf")
    assert code.widths("LDG") == code.widths("STG") == {32}


def test_rung_4_receives_rows_by_bulk_copies(machine_code) -> None:
    code = machine_code("layernorm", 4).only(BULK_AT_4096)
    assert [one for one in code.opcodes if re.match(r"UBLKCP\.S\.G", one)]
    loads = sum(count for one, count in code.opcodes.items() if one.startswith("LDG"))
    assert loads == 4, "gamma and beta alone, two vectors each, before the first row"
    assert code.widths("LDG") == code.widths("STG") == {128}
