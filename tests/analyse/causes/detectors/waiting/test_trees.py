"""A tree by which a block makes one value in each turn of a loop, which need not be there, and loops that look like it."""

from dataclasses import replace

import pytest
from made_evidence import evidence_of

from profiler.analyse.causes.detectors.every import DETECTORS
from profiler.analyse.causes.detectors.idle_lanes import lanes
from profiler.analyse.causes.detectors.instructions.redundant_instructions import detect_same_in_all_blocks
from profiler.analyse.causes.detectors.waiting import barriers, trees, unoverlapped_loads
from profiler.analyse.causes.flow.memory.reduction_trees import find_in_trees, find_trees

BARRIER = "BAR.SYNC.DEFER_BLOCKING 0x0"
ALL, HALF, ONE = 32.0, 16.0, 0.5  # lanes of a warp that act on average, in a block of two warps
ADDRESSES = ("S2R R5, SR_TID.X", "UMOV UR4, 0x400", "LEA R23, R5, UR4, 0x2")  # of four bytes a thread
TREE = {
    "load": ("LDG.E R8, [R2]", ALL),
    "leaf": ("STS [R23], R8", ALL),
    "meet": (BARRIER, ALL),
    "test": ("ISETP.GT.AND P2, PT, R5, 0x1f, PT", ALL),
    "other": ("@!P2 LDS R10, [R24]", HALF),
    "own": ("@!P2 LDS R11, [R23]", HALF),
    "add": ("@!P2 FADD R10, R10, R11", HALF),
    "step": ("@!P2 STS [R23], R10", HALF),
    "again": (BARRIER, ALL),
    "result": ("@P3 LDS R12, [UR4]", ONE),
    "use": ("@P3 STG.E [R6], R12", ONE),
    "next": ("IADD3 R2, R2, 0x80, RZ", ALL),
    "end": ("@P0 BRA 0x40", ALL),
}


def made(turns=64, block=64, before=ADDRESSES, copies=1, line=None, **changed):
    """A loop of trees, or of `copies` of one, of which some instructions were changed, or left out."""
    tree = {**TREE, **changed}
    end = tree.pop("end")
    lines = [
        one
        for value in [*list(tree.values()) * copies, end]
        if value
        for one in ([value] if isinstance(value, tuple) else value)
    ]
    facts = {
        place: {"acting": acting, "lanes": 32.0} for place, (_, acting) in enumerate(lines, len(before) + 1)
    }
    executed = [(line, 100.0 * turns) for line, _ in lines]
    return evidence_of("MOV R4, RZ", *before, *executed, "EXIT", facts=facts, block=block, line=line)


def found(**changed):
    return list(trees.detect_trees_in_turns(made(**changed)))


@pytest.mark.parametrize(
    ("copies", "said", "turns"),
    [(1, "In each of 31 turns of a loop, a block", 31.0), (4, "In each turn of a loop, a block", None)],
)
def test_an_unrolled_loop_has_no_number_of_turns(copies, said, turns):
    """Of 128 turns of the source, as the compiler unrolls them by four with a few left over, 31 are those of the machine code."""
    (one,) = found(turns=31, copies=copies, line=7)
    assert one.sentence.startswith(said)
    assert one.evidence.get("turns") == turns


def names(candidate, evidence):
    return [site.instruction.name for site in evidence.sites if site in candidate]


def test_threads_could_take_turns_of_their_own_where_one_uses_what_all_make_in_each():
    (one,) = found()
    assert one.name == "barriers"
    assert one.effect.resources["lsu"] == pytest.approx(
        (1 - 1 / 64) * 5 / 7
    )  # all but the load and what is made of the result
    (few,) = found(turns=8)
    assert few.effect.resources["lsu"] == pytest.approx((1 - 1 / 8) * 5 / 7)


def test_a_thread_may_hold_what_it_loaded_from_shared_memory_before_the_loop():
    before = (*ADDRESSES, "LDS R8, [R23]")
    scaled = [("LDG.E R9, [R2]", ALL), ("FMUL R7, R8, R9", ALL)]
    leaf, end = ("STS [R23], R7", ALL), ("@P0 BRA 0x50", ALL)
    (tree,) = find_trees(made(before=before, load=scaled, leaf=leaf, end=end))
    assert tree.turns == 64


def test_the_steps_of_a_tree_go():
    evidence = made()
    (tree,) = find_trees(evidence)
    assert names(tree.parts, evidence) == ["STS", "BAR", "LDS", "LDS", "FADD", "STS", "BAR", "LDS"]


def test_a_loop_over_the_steps_goes_with_them():
    evidence = made(
        test=("ISETP.GE.AND P2, PT, R5, R9, PT", ALL),
        again=[(BARRIER, ALL), ("SHF.R.S32.HI R9, RZ, 0x1, R9", ALL), ("ISETP.NE.AND P1, PT, R9, RZ, PT", ALL), ("@P1 BRA 0x70", ALL)],
    )  # fmt: skip
    (tree,) = find_trees(evidence)
    assert names(tree.parts, evidence).count("BRA") == 1  # and not the one that goes on to the next turn
    assert names(tree.parts, evidence).count("SHF") == 1


def test_what_lanes_that_act_add_up_is_added_up_all_the_same():
    (tree,) = find_trees(made())
    (add,) = (part for site, part in tree.parts.items() if site.instruction.name == "FADD")
    assert add == pytest.approx((1 - 1 / 64) * HALF / ALL)


WARP = [
    ("@!P4 LDS R12, [R23]", HALF),
    ("@!P4 SHFL.BFLY PT, R13, R12, 0x10, 0x1f", HALF),
    ("@!P4 FADD R12, R12, R13", HALF),
]


def test_a_warp_may_add_up_what_is_left_by_shuffles():
    (one,) = found(result=WARP, use=("@!P4 FADD R4, R4, R12", HALF))
    assert one.effect.resources["lsu"] == pytest.approx((1 - 1 / 64) * 6 / 7)


GIVEN = ("LDS R8, [UR5]", ALL)
BEFORE_TREE, IN_TREE = (*ADDRESSES, "UMOV UR5, 0x300"), (*ADDRESSES, "UMOV UR5, 0x404")


def test_what_all_threads_load_from_where_the_loop_stores_nothing_is_no_result():
    end = ("@P0 BRA 0x50", ALL)
    assert found(before=BEFORE_TREE, load=GIVEN, end=end)
    assert not found(before=IN_TREE, load=GIVEN, end=end)  # one of the values that were left there


@pytest.mark.parametrize(
    "changed",
    [
        {"result": ("LDS R12, [UR4]", ALL)},  # all need the result, as where each point is the farthest from those before it
        {"result": ("@P3 LDS R12, [R24]", HALF), "use": ("@P3 STG.E [R6], R12", HALF)},  # each turn has several
        {"leaf": ("@!P4 STS [R23], R8", HALF)},  # half of the threads hold a value of the turn
        {"step": None},  # some only look at what others hold
        {"step": ("@!P2 STS [R23], R13", HALF)},  # or store something else
        {"load": ("FADD R8, R8, R9", ALL)},  # a turn starts from the one before
        {"use": ("@P3 STG.E [R2], R12", ONE)},  # and so it may in memory
        {"again": ("BAR.RED.OR.DEFER_BLOCKING 0x0, P2", ALL)},  # all learn something
        {"turns": 3},
    ],
)  # fmt: skip
def test_a_tree_of_which_a_turn_needs_more_than_one_value_stays(changed):
    assert found(**changed) == []


def test_what_is_stored_in_another_array_is_not_what_the_next_turn_loads():
    array = (*ADDRESSES, "LDC.64 R2, c[0x0][0x210]")
    other = [("@P3 LDC.64 R2, c[0x0][{}]", ONE), ("@P3 STG.E [R2.64], R12", ONE)]
    load, end = ("LDG.E R8, [R2.64]", ALL), ("@P0 BRA 0x50", ALL)

    def stored_in(parameter):
        return found(
            before=array,
            load=load,
            use=[(line.format(parameter), lanes_) for line, lanes_ in other],
            next=None,
            end=end,
        )

    assert stored_in("0x218")
    assert not stored_in("0x210")


def two_loops():
    """The loop of trees twice, the second one for half as many turns; warps wait at all barriers, and at one behind them."""
    first = [(line, 6400.0) for line, _ in TREE.values()]
    second = [(line.replace("0x40", "0x120"), 3200.0) for line, _ in TREE.values()]
    acting = [lanes_ for _, lanes_ in TREE.values()]
    lines = ["MOV R4, RZ", *ADDRESSES, *first, "MOV R4, RZ", *second, BARRIER, "EXIT"]
    facts = {place: {"acting": one, "lanes": 32.0} for place, one in enumerate((*acting, ALL, *acting), 4)}
    for place, line in enumerate(lines):
        if BARRIER in line:
            facts.setdefault(place + 1, {})["waits"] = {"barrier": 10}
    return evidence_of(*lines, facts=facts, block=64)


def test_all_trees_are_one_cause():
    evidence = two_loops()
    assert len(find_trees(evidence)) == 2
    (one,) = trees.detect_trees_in_turns(evidence)
    assert set(one.weights) <= find_in_trees(evidence)
    assert len(one.weights) == 2 * 7  # the barriers of both, and what they load and store
    assert one.effect.resources["lsu"] == pytest.approx(((1 - 1 / 64) * 2 + (1 - 1 / 32)) / 3 * 5 / 7)
    assert "In each turn of 2 loops, which make up to 64, a block" in one.sentence


@pytest.mark.parametrize("evidence", [made(), two_loops()])
def test_the_parts_of_a_tree_are_no_causes_beside_it(evidence):
    # These made blocks read no index, so all of them do the same.
    apart = (trees.detect_trees_in_turns, detect_same_in_all_blocks)
    others = [one for detect in DETECTORS if detect not in apart for one in detect(evidence)]
    assert not any(find_in_trees(evidence) & set(one.weights) for one in others)


def test_barriers_beside_trees_are_a_cause_of_their_own():
    (one,) = barriers.detect_barriers(two_loops())
    assert one.evidence["waiting_pct"] == pytest.approx(100 / 5)
    assert one.effect.waits["barrier"] == pytest.approx(7 / 8 / 5)


def test_idle_lanes_of_a_tree_that_a_turn_needs_are_a_cause():
    (one,) = lanes.detect_idle_lanes(made(result=("LDS R12, [UR4]", ALL)))
    assert one.name == "idle-lanes"


# Each thread adds up what others have loaded for it: a tile.
USED_BY_OTHERS = {
    **dict.fromkeys(("test", "own", "step", "result", "use")),
    "other": ("LDS R10, [R24]", ALL),
    "add": ("FADD R13, R13, R10", ALL),
}


@pytest.mark.parametrize(("changed", "is_tile"), [({}, False), (USED_BY_OTHERS, True)])
def test_what_a_tree_adds_up_is_no_tile_that_could_be_copied_ahead(changed, is_tile):
    evidence = made(**changed)
    evidence = replace(evidence, model=replace(evidence.model, waits={"long_scoreboard": 1.0}))
    (load,) = evidence.of("global load")
    evidence.charged[load]["long_scoreboard"] = 90
    (candidate,) = unoverlapped_loads.detect_unoverlapped_loads(evidence)
    assert ("next tile" in candidate.advice) == is_tile
