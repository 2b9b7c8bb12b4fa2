"""Waiting for constants that all lanes read alike: named by how long it takes, and blamed on the loops that read more than their cache holds."""

import pytest
from made_evidence import evidence_of

from profiler.analyse.causes.detectors.global_memory.constants import detect_constant_misses

FIRST = "ULDC.64 UR6, c[0x3][0x0]"
TURN = (("ULDC.64 UR8, c[0x3][UR5]", 800.0), ("FFMA R4, R5, R6, -UR8", 800.0), ("@P0 BRA 0x10", 800.0))


def found(first=0, turn=0, result=100):
    """Samples that wait for the first constant, for those of the loop, and for a result in it."""
    facts = {
        0: {"waits": {"imc_miss": first}},
        1: {"waits": {"imc_miss": turn}},
        2: {"waits": {"wait": result}},
    }
    return list(detect_constant_misses(evidence_of(FIRST, *TURN, "EXIT", facts=facts)))


@pytest.mark.parametrize(("turn", "waiting"), [(300, 75), (100, 50), (0, None)])
def test_constants_are_named_by_how_long_warps_wait_for_them(turn, waiting):
    candidates = found(turn=turn)
    assert [one.evidence["waiting_pct"] for one in candidates] == (
        [] if waiting is None else [pytest.approx(waiting)]
    )
    for one in candidates:
        assert one.sentence.startswith(f"Warps spend {waiting} % of their time waiting for constants")


@pytest.mark.parametrize(("turn", "spared"), [(101, 7 / 8 * 1600 / 2600), (99, 0.0)])
def test_eight_elements_a_thread_wait_an_eighth_as_long_and_may_share_what_else_the_loop_does(turn, spared):
    """Where a loop mostly waits for constants, it loads them, counts and branches an eighth as often."""
    (candidate,) = found(turn=turn)
    assert candidate.effect.waits == {"imc_miss": pytest.approx(7 / 8)}
    assert candidate.effect.resources["issue"] == pytest.approx(spared)
    assert candidate.regrouped["issue"] == pytest.approx(7 / 8 * 2400 / 2600)


@pytest.mark.parametrize(("first", "turn", "line"), [(900, 100, 2), (900, 0, 1)])
def test_what_waits_before_a_loop_waits_behind_its_constants(first, turn, line):
    """Without a loop that waits, the constants are blamed where they are read."""
    (candidate,) = found(first=first, turn=turn)
    worst = max(candidate.weights, key=candidate.weights.__getitem__)
    assert worst.instruction.line == line
