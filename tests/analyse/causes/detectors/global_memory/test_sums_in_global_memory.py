"""Sums that a block makes step by step in global memory, where shared memory could hold what is left of them."""

import pytest
from made_evidence import active, evidence_of

from profiler.analyse.causes.detectors.global_memory.redundant_stores import detect_global_trees

# Of 1,000 blocks of 256 threads, 8,000 warps take eight steps each; the threads that act are half of those before.
ALL, TURNS, STEPS = 8_000.0, 64_000.0, 12_000.0
TREE = {
    "thread": "S2R R5, SR_TID.X",
    "array": "LDC.64 R2, c[0x0][0x210]",
    "own place": "IMAD.WIDE R6, R5, 0x4, R2",
    "leaf": ("STG.E [R6.64], R20", ALL),
    "ready": ("BAR.SYNC 0x0", ALL),
    "test": ("ISETP.GE.AND P1, PT, R5, R9, PT", TURNS),
    "pass by": ("@P1 BRA 0xd0", TURNS),
    "place": ("IMAD.WIDE R8, R9, 0x4, R6", STEPS),
    "load own": ("LDG.E R10, [R6.64]", STEPS),
    "load other": ("LDG.E R11, [R8.64]", STEPS),
    "add": ("FADD R10, R10, R11", STEPS),
    "between": ("NOP", STEPS),
    "store": ("STG.E [R6.64], R10", STEPS),
    "barrier": ("BAR.SYNC 0x0", TURNS),
    "halve": ("SHF.R.U32.HI R9, RZ, 0x1, R9", TURNS),
    "next": ("@P0 BRA 0x50", TURNS),
    "result": ("LDG.E R12, [R6.64]", 1_000.0),
    "exit": "EXIT",
}


def found(acting=21.0, **changed):
    tree = TREE | {name.replace("_", " "): line for name, line in changed.items()}
    places = {name: place for place, name in enumerate(tree)}
    facts = {places[name]: active(acting) for name in ("load own", "load other", "store")}
    facts[places["load other"]]["waits"] = {"long_scoreboard": 30}
    facts[places["result"]] = active(1.0)
    return list(detect_global_trees(evidence_of(*tree.values(), facts=facts)))


def test_sums_in_global_memory_are_named_with_the_waiting_for_them():
    (one,) = found()
    assert one.name.startswith("redundant-global")
    assert one.effect.waits["long_scoreboard"] == pytest.approx(1.0)  # the block has stored what it adds up
    assert one.effect.resources.keys() == {"l1", "l2"}  # as many instructions access shared memory


def test_what_the_kernel_did_not_store_each_thread_loads_once():
    (one,) = found(leaf=("NOP", ALL))
    loads = 2 * 12_000 * 21 + 1_000
    assert one.effect.waits["long_scoreboard"] == pytest.approx(1 - 256_000 / loads)


@pytest.mark.parametrize(("steps", "is_tree"), [(TURNS / 2, True), (TURNS / 2 + 100, False)])
def test_where_more_than_half_of_the_threads_act_they_may_leave_results(steps, is_tree):
    assert bool(found(acting=32.0, store=("STG.E [R6.64], R10", steps))) == is_tree


@pytest.mark.parametrize(
    "changed",
    [
        {"barrier": ("NOP", TURNS)},  # no thread waits for what another stores
        {"load_own": ("FADD R10, R10, 1", STEPS)},  # each takes a value of another
        {"load_other": ("LDG.E R11, [R6.64]", STEPS)},  # or adds to its own
        {"load_other": ("LDG.E R11, [R14.64]", STEPS)},  # from another array
        {"between": ("IADD3 R6, R6, 0x4, RZ", STEPS)},  # a place for each turn
        {"store": ("STG.E.STRONG.GPU [R6.64], R10", STEPS)},  # other blocks are to see each
        {"next": ("NOP", TURNS)},  # a single step
    ],
)
def test_what_is_no_sum_of_a_block_stays_in_global_memory(changed):
    assert found(**changed) == []
