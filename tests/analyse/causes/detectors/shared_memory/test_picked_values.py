"""A loop in each turn of which a block finds what one of its threads holds for the turn's number, and loops that look like it."""

import pytest
from made_evidence import evidence_of

from profiler.analyse.causes.detectors.shared_memory import picked_values

BARRIER = "BAR.SYNC.DEFER_BLOCKING 0x0"
TURN = {
    "test": "ISETP.NE.AND P4, PT, R2, R5, PT",
    "pick": "FSEL R8, R20, RZ, !P4",
    "shuffle": "SHFL.BFLY PT, R10, R8, 0x10, 0x1f",
    "add": "FADD R10, R8, R10",
    "store": "@!P2 STS [R23], R10",
    "meet": BARRIER,
    "again": "@!P3 LDS R0, [R14]; SHFL.BFLY PT, R13, R0, 0x2, 0x1f; FADD R13, R0, R13; @P1 STS [R14], R13; "
    + BARRIER,
    "fetch": "LDS R12, [R24]",
    "use": "FFMA R4, R12, R9, R4",
    "next": "IADD3 R5, R5, 0x1, RZ",
    "end": "@P0 BRA 0x10",
}


def found(turns=64, line=None, **changed):
    """The causes that are named in a loop of which some instructions were changed, or left out."""
    turn = [one for each in {**TURN, **changed}.values() if each for one in each.split("; ")]
    executed = [
        (one.removeprefix("rarely "), 100.0 if one.startswith("rarely ") else 100.0 * turns) for one in turn
    ]
    evidence = evidence_of("S2R R2, SR_TID.X", *executed, "EXIT", line=line)
    return list(picked_values.detect_picked_values(evidence))


@pytest.mark.parametrize(
    ("line", "said"), [(None, "In each of 64 turns of a loop, "), (1, "In each turn of a loop, ")]
)
def test_the_turns_are_not_counted_where_the_loop_may_be_unrolled(line, said):
    """Each store and each barrier of a line stands in it twice."""
    (one,) = found(line=line)
    assert one.sentence.startswith(said)
    assert ("turns" in one.evidence) == ("64" in said)


def test_a_table_would_hold_what_each_thread_has_for_its_number():
    (one,) = found()
    names = [site.instruction.name for site in one.weights]
    # The last load stays, and so does what is computed of it.
    assert names == ["FSEL", "SHFL", "FADD", "STS", "BAR", "LDS", "SHFL", "FADD", "STS", "BAR"]
    assert one.effect.resources["lsu"] == pytest.approx((1 - 1 / 64) * 5 / 6)  # two of its six are shuffles


@pytest.mark.parametrize(
    "changed",
    [
        {"test": "ISETP.EQ.AND P4, PT, R2, R5, PT", "pick": "FSEL R8, R20, RZ, P4"},
        {"pick": "FSEL R8, RZ, R20, P4"},
        {"pick": "SEL R8, RZ, 0x1, P4"},  # how many threads have the number
        {"pick": "FSEL R8, R20, -INF , !P4", "add": "FMNMX R10, R8, R10, !PT"},
        {"test": "ISETP.NE.AND P4, PT, R2, RZ, PT", "next": "IADD3 R2, R2, -0x1, RZ"},  # counted down to zero
        {
            "next": "IADD3 R6, R5, 0x1, RZ; LDG.E R5, [R16]; MOV R5, R6"
        },  # a register that holds something else for a while
        {"shuffle": "REDUX.SUM.S32 UR9, R8", "add": "MOV R10, UR9"},
        {
            "use": "FFMA R4, R12, R9, R4; FSEL R12, R21, RZ, !P4; SHFL.BFLY PT, R13, R12, 0x1, 0x1f"
        },  # a register of the result holds the next value
        {
            "use": "FSETP.NEU.AND P5, PT, R12, RZ, PT; rarely STS [R30], R31"
        },  # behind a branch that few turns take
    ],
)
def test_other_ways_to_write_it(changed):
    assert len(found(**changed)) == 1


@pytest.mark.parametrize(
    "changed",
    [
        {"pick": "FSEL R8, R20, RZ, P4"},  # all but one thread give something
        {"test": "ISETP.LT.AND P4, PT, R2, R5, PT", "pick": "FSEL R8, R20, RZ, P4"},
        {"test": "ISETP.NE.AND P4, PT, R6, R5, PT"},  # no thread has a number of its own
        {"test": "ISETP.NE.AND P4, PT, R2, R6, PT"},  # the same one in each turn
        {"next": "IADD3 R5, R5, 0x1, RZ; LDG.E R5, [R16]"},  # a number that no thread can know before
        {"pick": "LDG.E R20, [R16]; FSEL R8, R20, RZ, !P4"},  # nor what it will hold
        {"pick": "FADD R8, R20, R21"},
        {"pick": "FSEL R8, R20, R21, !P4"},  # every thread gives something
        {"add": "FADD R10, R8, R21"},
        {"use": "STS [R30], R31"},  # threads meet for other values, too
        {"use": "LDS R4, [R30]; STS [R23], R4; ATOMS.ADD R4, [R30], R31"},
        {"meet": "", "again": "", "store": "", "fetch": "", "use": ""},  # inside of a warp
        {"turns": 3},
    ],
)
def test_an_exchange_of_other_values_stays(changed):
    assert found(**changed) == []
