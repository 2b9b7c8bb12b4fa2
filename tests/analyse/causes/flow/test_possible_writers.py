"""Which results a register may hold where an instruction reads it, on all paths that lead there."""

import pytest
from made_evidence import evidence_of

from profiler.analyse.causes.flow.possible_writers import writers_before

FIRST, SECOND, READ = "MOV R4, R5", "MOV R4, R6", "FADD R7, R4, R4"


@pytest.mark.parametrize(
    ("lines", "written"),
    [
        ((FIRST, SECOND, READ), [SECOND]),
        ((FIRST, f"@P0 {SECOND}", READ), [FIRST, f"@P0 {SECOND}"]),
        ((FIRST, "@P0 BRA 0x30", SECOND, READ), [FIRST, SECOND]),
        (("@P0 BRA 0x30", FIRST, "BRA 0x40", SECOND, READ), [FIRST, SECOND]),
        ((FIRST, READ, SECOND, "@P0 BRA 0x10"), [FIRST, SECOND]),  # from the turn before
    ],
)
def test_a_register_holds_what_was_written_last_on_each_path(lines, written):
    assert written_before_read(*lines) == written


@pytest.mark.parametrize(
    ("between", "written"),
    [((), [f"@P0 {SECOND}"]), (("ISETP.LT.AND P0, PT, R8, R9, PT",), [FIRST, f"@P0 {SECOND}"])],
)
def test_what_reads_under_a_predicate_reads_what_was_written_under_it_until_it_changes(between, written):
    assert written_before_read(FIRST, f"@P0 {SECOND}", *between, read=f"@P0 {READ}") == written


@pytest.mark.parametrize(
    "lines",
    [
        # Two branches meet in one register, one after the other. The first does not lead to the end of the second.
        ("BSSY B0, 0x40", "@P0 BRA 0x30", FIRST, "BSYNC B0", SECOND, "BSSY B0, 0x80", "NOP", "BSYNC B0", READ),
        # Elsewhere, the code does not say which one ends.
        (FIRST, "BSSY B0, 0x60", "@P0 BRA 0x50", SECOND, "BSYNC B0", "EXIT", READ),
    ],
)  # fmt: skip
def test_branches_that_meet_go_on_at_their_end(lines):
    assert written_before_read(*lines) == [SECOND]


@pytest.mark.parametrize(
    "lines",
    [
        ("MOV R8, R9", READ),  # from before the function
        (f"@P0 {FIRST}", READ),
        (FIRST, "CALL.REL.NOINC 0x40", READ),  # the function may write it
        (FIRST, "BRX R10 -0x20", READ),  # to anywhere
        (FIRST, "BRXU UR10 -0x20", READ),
    ],
)
def test_where_another_result_may_be_there_none_is_known(lines):
    assert written_before_read(*lines) == []


def written_before_read(*lines, read=READ):
    """Returns the instructions whose result R4 may hold at `read`, in the order of the code."""
    evidence = evidence_of(*(lines if read in lines else (*lines, read)), "EXIT")
    reader = next(site for site in evidence.sites if site.instruction.text == read)
    writers = writers_before(evidence, reader, "R4")
    return [site.instruction.text for site in evidence.sites if site in writers]
