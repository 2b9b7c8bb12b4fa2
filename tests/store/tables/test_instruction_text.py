"""One SASS instruction: its opcode, its addresses made comparable, and the calls that it was inlined from."""

import pytest
from hypothesis import given, strategies as st

from profiler.store.tables.instruction_text import CalledAt, calls_in, inlined_text, opcode_of, rebase

START, OTHER = 0x7F84637A3100, 0x7F84637A4000
STARTS = [START, OTHER]
LAST = START + 0x7F0
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n\t"), min_size=1)


@pytest.mark.parametrize(
    ("sass", "opcode"),
    [
        ("LDS.128 R4, [R2]", "LDS.128"),
        ("@!P0 LDG.E.128 R4, desc[UR4][R2.64]", "LDG.E.128"),
        ("@P1 EXIT", "EXIT"),
        ("@UP0 UIADD3 UR4, UR4, 0x1, URZ", "UIADD3"),
        ("@!UPT UIADD3 URZ, URZ, URZ, URZ", "UIADD3"),
        ("  FFMA R0, R1, R2, R0 ", "FFMA"),
        ("NOP", "NOP"),
        ("", ""),
        ("?", ""),
    ],
)
def test_the_opcode_has_its_modifiers_and_not_its_predicate(sass, opcode):
    assert opcode_of(sass) == opcode


@pytest.mark.parametrize(
    ("sass", "rebased"),
    [
        (f"BRA {START + 0x40:#x}", "BRA 0x40"),
        (f"BRA `(.L_x_0) {LAST:#x}", "BRA `(.L_x_0) 0x7f0"),
        (f"BSSY B0, {LAST + 16:#x}", "BSSY B0, 0x800"),  # just behind the last instruction
        (f"CALL.REL.NOINC {OTHER + 0x20:#x}", "CALL.REL.NOINC f1+0x20"),
        (f"RET.REL.NODEC R8,   {START:#x} ", "RET.REL.NODEC R8, 0x0"),
        ("IMAD R1, R2, 0x3f800000, R4", "IMAD R1, R2, 0x3f800000, R4"),  # a constant: 1.0f
        ("MOV R1, 0x40", "MOV R1, 0x40"),
        ("LDC R1, c[0x0][0x210]", "LDC R1, c[0x0][0x210]"),
    ],
)
def test_code_addresses_become_offsets_and_nothing_else_does(sass, rebased):
    assert rebase(sass, STARTS, START, LAST) == rebased


def test_two_recordings_of_one_instruction_read_the_same():
    moved = 0x10_0000_0000
    here = rebase(f"@!P0 BRA {START + 0x40:#x}", STARTS, START, LAST)
    there = rebase(
        f"@!P0 BRA {START + moved + 0x40:#x}",
        [start + moved for start in STARTS],
        START + moved,
        LAST + moved,
    )
    assert here == there


@given(st.lists(st.builds(CalledAt, TEXTS, st.integers(1, 2**31 - 1), st.none() | TEXTS)))
def test_calls_are_read_as_they_were_written(calls):
    assert calls_in(inlined_text(calls)) == tuple(calls)


def test_a_line_of_code_may_hold_tabs():
    call = CalledAt("kernel.cu", 7, "\tsum += x;\t// of all")
    assert calls_in(inlined_text([call])) == (call,)


@pytest.mark.parametrize("file", ["a\tb.cu", "a\nb.cu"])
def test_a_file_whose_name_cannot_be_written_is_left_out(file):
    others = [CalledAt("mine.cu", 7), CalledAt("mine.cu", 9)]
    assert calls_in(inlined_text([others[0], CalledAt(file, 8), others[1]])) == tuple(others)


def test_no_call_is_no_text():
    assert inlined_text([]) is None
    assert calls_in(None) == ()
