"""Warps wait at a barrier for what the others do since the barrier before, whichever turn of a loop that is in."""

import pytest
from made_evidence import LOAD, evidence_of, executing

from profiler.analyse.causes.evidence.synchronisation import find_own_part, find_since_barrier

BARRIER, ADD, USE = "BAR.SYNC.DEFER_BLOCKING 0x0", "FADD R6, R6, R7", "FADD R5, R5, R4"


def _own_parts(*lines, facts):
    return list(find_own_part(evidence_of(*lines, facts=facts)).values())


def _waiting(**waits):
    return {"waits": waits}


def test_loads_at_the_bottom_of_a_loop_are_waited_for_at_the_barrier_at_its_top():
    """In the last turn of ten, they are waited for at the barrier behind the loop."""
    turn = executing(1000.0, BARRIER, ADD, LOAD, USE, "@P0 BRA 0x10")
    facts = {2: _waiting(barrier=100), 4: _waiting(long_scoreboard=900), 8: _waiting(barrier=10)}
    at_top, behind = _own_parts(ADD, *turn, ADD, BARRIER, "EXIT", facts=facts)
    assert at_top == pytest.approx(100 / (100 + 0.9 * 900))
    assert behind == pytest.approx(10 / (10 + 0.1 * 900))


def test_loads_before_a_loop_and_in_a_loop_without_a_barrier_come_before_the_next_one():
    facts = {1: _waiting(long_scoreboard=30), 3: _waiting(long_scoreboard=60), 6: _waiting(barrier=10)}
    inner = executing(1000.0, LOAD, USE, "@P0 BRA 0x20")
    (own,) = _own_parts(LOAD, USE, *inner, BARRIER, "EXIT", facts=facts)
    assert own == pytest.approx(10 / 100)


def test_a_loop_of_two_barriers_leads_from_the_last_one_to_the_first_one():
    turn = executing(1000.0, BARRIER, LOAD, USE, BARRIER, ADD, "@P0 BRA 0x10")
    evidence = evidence_of(ADD, *turn, "EXIT")
    top, last = (
        {one.position: part for one, part in since.items()} for _, since in find_since_barrier(evidence)
    )
    assert top == pytest.approx({0: 1.0, 5: 0.9, 6: 0.9})
    assert last == {2: 1.0, 3: 1.0}


def test_an_inner_loop_ends_before_warps_come_to_the_top_of_the_outer_one():
    inner = executing(1000.0, BARRIER, ADD, "@P0 BRA 0x30")
    outer = (*executing(200.0, BARRIER, ADD), *inner, *executing(200.0, "@P1 BRA 0x10"))
    evidence = evidence_of(ADD, *outer, "EXIT")
    top, of_inner = (
        {one.position: part for one, part in since.items()} for _, since in find_since_barrier(evidence)
    )
    assert top == pytest.approx({0: 1.0, 4: 0.5 * 0.2, 5: 0.5 * 0.2, 6: 0.5})
    assert of_inner == pytest.approx({2: 1.0, 4: 0.8, 5: 0.8})


def test_no_barrier_waits_for_loads_of_another_function():
    evidence = evidence_of(
        LOAD,
        USE,
        "RET",
        ADD,
        BARRIER,
        "EXIT",
        facts={1: _waiting(long_scoreboard=90), 5: _waiting(barrier=10)},
    )
    for site in evidence.sites[3:]:
        site.function = 1
    assert list(find_own_part(evidence).values()) == [1.0]
