"""What all threads of a grid compute alike, which the host could compute for them."""

import pytest
from made_evidence import evidence_of, executing

from profiler.analyse.causes.detectors.instructions.redundant_instructions import detect_computed_by_all

# A key that all threads load from one place is mixed twice; then each thread mixes it into a word of its own.
KEY = {"key": "LDG.E R4, [R2.64]", "first": "IADD3 R5, R4, 0x7, RZ", "result": "LOP3.LUT R6, R5, 0x9, RZ, 0x3c, !PT"}  # fmt: skip
OWN = {"thread": "S2R R0, SR_TID.X", "word": "IADD3 R8, R0, 0x1, RZ", "use": "IADD3 R9, R8, R6, RZ"}


def found(warps=800.0, **changed):
    lines = [{**KEY, **OWN, **changed}[name] for name in (*KEY, *OWN)]
    return list(detect_computed_by_all(evidence_of(*executing(warps, *lines), ("EXIT", warps))))


def test_what_depends_on_no_thread_is_computed_once_but_each_thread_looks_up_the_result():
    (one,) = found()
    assert [site.instruction.operands[0] for site in one.weights] == ["R5"]
    assert one.effect.resources["issue"] == pytest.approx(1 / 7 * (1 - 1 / 800))
    assert one.sentence.startswith("All threads of the grid compute the same values: 14 % of the executed")


@pytest.mark.parametrize(
    "changed",
    [
        {"key": "S2R R4, SR_CTAID.X"},  # the block's own
        {"key": "S2R R4, SR_TID.X"},  # the thread's own
        {"key": "LDS R4, [R2]"},  # what its block has stored
        {"use": "IADD3 R9, R8, R5, RZ", "result": "NOP"},  # the only result, which is looked up instead
        {"warps": 1.0},  # nobody else computes it
    ],
)
def test_what_is_a_threads_own_or_needed_once_is_not_repeated(changed):
    assert found(**changed) == []


def test_a_loop_whose_turns_are_the_same_for_all_threads_has_one_result():
    before = [("IADD3 R2, RZ, RZ, RZ", 800.0)]
    chosen = ("@P1 MOV R4, R7", "@!P1 MOV R4, R8")
    texts = ("LDG.E R4, [R2.64]", *chosen, "FADD R5, R5, R4", "IADD3 R2, R2, 0x4, RZ")
    turn = executing(6400.0, *texts)
    behind = [("S2R R0, SR_TID.X", 800.0), ("IADD3 R9, R0, R5, RZ", 800.0), ("EXIT", 800.0)]
    (one,) = detect_computed_by_all(evidence_of(*before, *turn, ("@P0 BRA 0x10", 6400.0), *behind))
    assert sorted(site.instruction.name for site in one.weights) == [
        "BRA",
        "FADD",
        "IADD3",
        "LDG",
        "MOV",
        "MOV",
    ]
    assert one.effect.resources["fma"] == pytest.approx(1 - 1 / 8)  # of a sum in eight turns, one addition


@pytest.mark.parametrize(("warps", "is_named"), [(800.0, True), (730.0, True), (400.0, False)])
def test_what_a_branch_keeps_warps_from_is_not_computed_by_all(warps, is_named):
    """The last blocks of a grid lie past the end of the data."""
    code = [("S2R R0, SR_TID.X", 800.0), *executing(warps, *KEY.values())]
    code += [("IADD3 R9, R0, R6, RZ", warps), ("EXIT", warps)]
    assert bool(list(detect_computed_by_all(evidence_of(*code)))) == is_named


@pytest.mark.parametrize("load", ["LDG.E.STRONG.SYS R4, [R2.64]", "B2R.RESULT R4"])
def test_a_flag_that_is_waited_for_and_a_vote_are_no_values_that_the_host_could_compute(load):
    assert found(key=load) == []


def test_what_leads_to_no_result_of_a_thread_is_left_alone():
    chain = {"key": "LDG.E R4, [R2.64]", "first": "IADD3 R5, R4, 0x7, RZ", "result": "IADD3 R7, R5, 0x1, RZ"}
    assert found(**chain, use="IADD3 R9, R8, 0x1, RZ") == []
