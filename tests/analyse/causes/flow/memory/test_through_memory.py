"""A thread that stores a result and loads it again in the next turn of a loop could have kept it in a register."""

import pytest
from hypothesis import given, strategies as st
from made_evidence import active, evidence_of, executing, names

from profiler.analyse.causes.detectors.global_memory.redundant_loads import detect_redundant_loads
from profiler.analyse.causes.flow.loop_carried import follows_itself
from profiler.analyse.causes.flow.memory.through_memory import find_passed_through_memory

# `y[t] = y[t - 1] + x[t]`, whose arrays may overlap for all that the compiler knows.
LOADED, OTHER, ADDED, STORED, FORWARD = (
    "LDG.E R10, [R4.64]",
    "LDG.E R11, [R2.64]",
    "FADD R12, R10, R11",
    "STG.E [R4.64+0x100], R12",
    "IADD3 R4, R4, 0x100, RZ",
)
RECURRENCE = (LOADED, OTHER, ADDED, STORED, FORWARD, "IADD3 R2, R2, 0x100, RZ")
START = ("LDC.64 R2, c[0x0][0x210]", "LDC.64 R4, c[0x0][0x218]")


def loop_of(*lines, start=START, turns=10.0, facts=None):
    """A loop that 100 warps enter, whose warps wait for the first load."""
    turn = 100.0 * turns
    back = f"@P0 BRA {16 * len(start):#x}"
    waiting = {len(start) + lines.index(ADDED): {"waits": {"long_scoreboard": 90}}} if ADDED in lines else {}
    return evidence_of(
        *executing(100.0, *start),
        *executing(turn, *lines, back),
        "EXIT",
        each=active(32),
        facts=waiting | (facts or {}),
    )


def passed(*lines, start=START, **options):
    """Returns for each load that takes what the loop stored how many turns lie between, by the place of the load in the loop."""
    found = find_passed_through_memory(loop_of(*lines, start=start, **options))
    return {load.position - len(start): turns for load, (_, turns) in found.items()}


def test_a_turn_that_starts_from_what_the_one_before_stored_loads_it_for_nothing():
    assert passed(*RECURRENCE) == {0: 1}
    (candidate,) = [one for one in detect_redundant_loads(loop_of(*RECURRENCE)) if "moment" in one.sentence]
    assert candidate.name == "redundant-global-loads"
    assert "Keep the result in a register until the next turn" in candidate.advice
    assert [site.instruction.text for site in candidate.weights] == [LOADED]


def test_such_turns_cannot_be_shared_out_among_blocks():
    assert follows_itself(loop_of(*RECURRENCE))
    of_others = [OTHER.replace("R11", "R10") if line == LOADED else line for line in RECURRENCE]
    assert not follows_itself(loop_of(*of_others))


def test_what_the_loop_did_not_store_first_is_no_result_of_its_own():
    assert passed(*[line.replace("+0x100]", "+0x200]") for line in RECURRENCE]) == {0: 2}
    assert passed(*[line.replace("+0x100]", "-0x100]") for line in RECURRENCE]) == {}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("[R4.64+0x100]", "[R2.64+0x80]"),  # another array
        ("STG.E [", "STG.E.64 ["),  # two elements at once
        ("STG.E", "REDG.E.ADD.F32.FTZ.RN.STRONG.GPU"),  # others add to it, too
        ("LDG.E R10", "LDG.E.STRONG.GPU R10"),  # it is polled
        ("IADD3 R4, R4, 0x100, RZ", "IADD3 R4, R4, R11, RZ"),  # data says where
        ("IADD3 R2, R2, 0x100, RZ", "BAR.SYNC.DEFER_BLOCKING 0x0"),  # others may have stored there since
    ],
)
def test_a_load_that_may_bring_something_else_is_needed(old, new):
    changed = [line.replace(old, new) for line in RECURRENCE]
    assert changed != list(RECURRENCE)
    assert passed(*changed) == {}


def test_what_the_first_turn_stored_is_loaded_once_and_not_passed_on():
    fixed = [line.replace("R10, [R4.64]", "R10, [R6.64+0x100]") for line in RECURRENCE]
    assert passed(*fixed, start=(*START, START[1].replace("R4", "R6"))) == {}


def test_a_store_of_few_lanes_leaves_most_loads_needed():
    store = len(START) + RECURRENCE.index(STORED)
    assert passed(*RECURRENCE, facts={store: active(4, of=32)}) == {}


def test_an_unrolled_loop_takes_results_of_the_same_turn():
    second = [
        line.replace("R4.64]", "R4.64+0x100]").replace("R4.64+0x100], R12", "R4.64+0x200], R12")
        for line in RECURRENCE[:4]
    ]
    lines = [*RECURRENCE[:4], *second, FORWARD.replace("0x100", "0x200")]
    assert passed(*lines) == {0: 1, 4: 0}


@given(load=st.integers(-8, 8), store=st.integers(-8, 8), step=st.integers(-3, 3))
def test_addresses_say_how_many_turns_a_result_stays_in_memory(load, store, step):
    lines = (
        f"LDG.E R10, [R4.64+{4 * load:#x}]",
        f"STG.E [R4.64+{4 * store:#x}], R10",
        f"IADD3 R4, R4, {4 * step:#x}, RZ",
    )
    # A load runs before the store of its own turn, and takes what the latest turn before has put there.
    since = [turns for turns in (1, 2, 3) if load + turns * step == store]
    assert passed(*lines) == ({0: since[0]} if since else {})


def test_few_turns_leave_few_loads_to_spare():
    for turns, spared in ((4.0, True), (1.0, False)):
        named = names(detect_redundant_loads, loop_of(*RECURRENCE, turns=turns))
        assert ("redundant-global-loads" in named) == spared
