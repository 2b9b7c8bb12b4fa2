"""The turns that sentences name are those of a loop of the source, which an unrolled loop no longer shows."""

import pytest
from made_evidence import evidence_of

from profiler.analyse.causes.detectors.waiting.trees import known_turns, named_turns
from profiler.analyse.causes.flow.memory.reduction_trees import Tree

STORE, MEET, RESULT, LOAD = "STS [R4], R5", "BAR.SYNC 0x0", "STG.E [R2], R6", "LDG.E R5, [R2]"


@pytest.mark.parametrize(
    ("turn", "source", "said"),
    [
        ([STORE, MEET], {"line": 1}, "each of 31 turns of a loop"),
        ([STORE, MEET] * 4, {"line": 1}, "each turn of a loop"),
        ([STORE, MEET] * 4, {"line": None}, "each of 31 turns of a loop"),  # each on a line of its own
        ([STORE, MEET] * 4, {"file": None}, "each turn of a loop"),  # it may be unrolled, or not
        ([*[STORE, MEET] * 4, RESULT], {"line": 1}, "each of 31 turns of a loop"),  # the loop within it is
        ([LOAD, *[STORE, MEET] * 4], {"line": 1}, "each of 31 turns of a loop"),
        (["FADD R5, R5, R6"] * 4, {"line": 1}, "each of 31 turns of a loop"),
    ],
)
def test_turns_are_named_where_something_that_is_not_copied_stands_once_in_the_loop(turn, source, said):
    evidence = evidence_of("NOP", *turn, "@P0 BRA 0x10", "EXIT", **source)
    (loop,) = evidence.loops[0]
    assert named_turns([known_turns(evidence, Tree(loop, 31.0, {}))]) == said


def test_several_exchanges_in_a_loop_may_be_those_of_one_turn():
    evidence = evidence_of("NOP", RESULT, "@P0 BRA 0x10", "EXIT", line=1)
    (loop,) = evidence.loops[0]
    said = [named_turns([known_turns(evidence, Tree(loop, 62.0, {}, exchanges))]) for exchanges in (1, 2)]
    assert said == ["each of 62 turns of a loop", "each turn of a loop"]
