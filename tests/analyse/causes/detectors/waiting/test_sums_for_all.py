"""A sum over a block in each turn of a loop, with which all threads go on: several turns could share its barriers, but for those that need the sum before."""

import pytest
from made_evidence import evidence_of

from profiler.analyse.causes.detectors.global_memory.layout import detect_uncoalesced
from profiler.analyse.causes.detectors.global_memory.redundant_loads import detect_redundant_loads
from profiler.analyse.causes.detectors.launch.grid import detect_small_grid
from profiler.analyse.causes.detectors.shared_memory.too_little_reuse import detect_too_little_reuse
from profiler.analyse.causes.detectors.waiting import trees
from profiler.analyse.causes.detectors.waiting.trees import detect_sums_for_all
from profiler.analyse.causes.flow.memory.reduction_trees import Tree, find_sums_for_all

BARRIER = "BAR.SYNC.DEFER_BLOCKING 0x0"
ALL, ONE_OF_A_WARP = 32.0, 1.0
# Each turn multiplies a row with what the threads hold in R20, and weighs another row by the exponential of the sum.
TURN = {
    "load": ("LDG.E R8, [R2]", ALL),
    "product": ("FMUL R9, R8, R20", ALL),
    "shuffle": ("SHFL.BFLY PT, R10, R9, 0x1, 0x1f", ALL),
    "add": ("FADD R9, R9, R10", ALL),
    "leave": ("@P1 STS [R12], R9", ONE_OF_A_WARP),
    "meet": (BARRIER, ALL),
    "sums": ("LDS R13, [UR6]", ALL),
    "weight": ("MUFU.EX2 R14, R13", ALL),
    "other": ("LDG.E R15, [R4]", ALL),
    "use": ("FFMA R16, R14, R15, R16", ALL),
    "again": (BARRIER, ALL),
    "next": ("IADD3 R2, R2, 0x80, RZ", ALL),
    "end": ("@P0 BRA 0x10", ALL),
}


def made(turns=64, waits=None, figures=None, grid=1, before="MOV R4, RZ", **changed):
    """`waits` are those of instructions by their name in `TURN`."""
    turn = {name: line for name, line in (TURN | changed).items() if line}
    lines = list(turn.values())
    facts = {
        place: {"acting": acting, "lanes": 32.0, "waits": (waits or {}).get(name, {})}
        for place, (name, (_, acting)) in enumerate(turn.items(), 1)
    }
    executed = [(line, 100.0 * turns) for line, _ in lines]
    return evidence_of(before, *executed, "EXIT", facts=facts, figures=figures, grid=grid, block=128)


def unrolled(copies, turns, *, together=False, loads_once=False, around=None):
    """Returns a loop whose machine code holds several turns of the source, whose sums are exchanged together or one after the other.

    Where it loads once, they are several sums of one turn.
    """
    names = [name for name in TURN if name not in ("meet", "again", "end")]
    before, after = (names[: names.index("sums")], names[names.index("sums") :])
    one = [*before, "meet", *after, "again"]
    body = [*before * copies, "meet", *after * copies, "again"] if together else one * copies
    if loads_once:
        body = ["load", *(name for name in body if name not in ("load", "other"))]
    lines = [*([(around, ALL)] if around else []), *(TURN[name] for name in [*body, "end"])]
    facts = {place: {"acting": acting, "lanes": 32.0} for place, (_, acting) in enumerate(lines, 1)}
    executed = [(line, 100.0 * turns) for line, _ in lines]
    return evidence_of("MOV R4, RZ", *executed, "EXIT", facts=facts, block=128, line=1)


@pytest.mark.parametrize(
    ("copies", "turns", "together", "spared"),
    [
        (8, 1, False, 7 / 8),
        (2, 2, False, 3 / 4),
        (3, 1, False, None),  # too few
        (2, 2, True, None),  # whose barriers several sums share already
    ],
)
def test_each_exchange_in_an_unrolled_loop_stands_for_a_turn(copies, turns, together, spared):
    candidates = list(detect_sums_for_all(unrolled(copies, turns, together=together)))
    of_the_sums = [3 * one.effect.resources["fma"] for one in candidates]
    assert of_the_sums == ([] if spared is None else [pytest.approx(spared, abs=0.03)])


@pytest.mark.parametrize(("turns", "count"), [(2, 0), (4, 1)])
def test_two_sums_in_a_turn_that_loads_once_are_no_two_turns(turns, count):
    assert len(list(detect_sums_for_all(unrolled(2, turns, loads_once=True)))) == count


def test_a_loop_around_one_that_is_unrolled_whole_may_load_once():
    assert len(list(detect_sums_for_all(unrolled(8, 1, around="LDG.E.CONSTANT R30, [R32]")))) == 1


@pytest.mark.parametrize(("turns", "count"), [(3, 0), (4, 1)])
def test_a_turn_may_meet_before_it_reads_the_sums_that_the_one_before_has_left(turns, count):
    """The barrier is at the top of the loop, and the store at its bottom."""
    bottom = {name: TURN[name] for name in ("load", "product", "shuffle", "add", "leave", "next", "end")}
    top = {name: TURN[name] for name in ("meet", "sums", "weight", "other", "use")}
    lines = list((top | bottom).values())
    facts = {place: {"acting": acting, "lanes": 32.0} for place, (_, acting) in enumerate(lines, 1)}
    executed = [(line, 100.0 * turns) for line, _ in lines]
    evidence = evidence_of("MOV R4, RZ", *executed, "EXIT", facts=facts, block=128)
    assert len(list(detect_sums_for_all(evidence))) == count


def found(**changed):
    return list(detect_sums_for_all(made(**changed)))


def test_several_turns_can_share_the_barriers_of_one():
    (one,) = found()
    assert one.name == "barriers"
    assert one.sentence.startswith(
        "In each of 64 turns of a loop, a block makes one value of what its threads hold"
    )
    assert [site.instruction.name for site in one.weights] == ["SHFL", "FADD", "STS", "BAR", "LDS", "BAR"]
    assert one.effect.resources["fma"] == pytest.approx(7 / 8 * 1 / 3, abs=0.01)


@pytest.mark.parametrize(("loads", "name"), [(51, "loads-not-overlapped"), (49, "barriers")])
def test_turns_at_once_spare_all_latencies_of_a_turn_and_are_named_by_the_longest(loads, name):
    waits = {"product": {"long_scoreboard": loads}, "add": {"short_scoreboard": 50}, "end": {"wait": 10}}
    both = {one.name: one for one in found(waits=waits)}
    assert both[name].effect.waits == pytest.approx(dict.fromkeys(both[name].effect.waits, 7 / 8))
    assert both[name].effect.waits.keys() == {"long_scoreboard", "short_scoreboard", "wait"}
    if name != "barriers":  # which then has the exchange alone
        assert both["barriers"].effect.waits["short_scoreboard"] == pytest.approx(7 / 8)
        assert not both["barriers"].effect.waits["long_scoreboard"]


@pytest.mark.parametrize(("shuffles", "has_rows"), [(14, False), (15, True)])
def test_a_block_of_rows_in_triton_is_advised_to_reduce_after_the_loop(monkeypatch, shuffles, has_rows):
    """One value of 128 threads takes seven steps. The loads of a turn stay, where it has several rows already."""
    turn = {}
    for name, line in TURN.items():
        turn[name] = line
        if name == "add":
            turn |= {
                f"{what} {step}": TURN[what] for step in range(shuffles - 1) for what in ("shuffle", "add")
            }
    monkeypatch.setitem(globals(), "TURN", turn)
    evidence = made(waits={"product": {"long_scoreboard": 40}, "add": {"short_scoreboard": 50}})
    monkeypatch.setitem(vars(evidence.profile), "language", "Triton")
    (one,) = detect_sums_for_all(evidence)
    assert one.in_triton.startswith("Where a turn only adds to a sum") == has_rows
    assert ("load a block of two dimensions" in one.in_triton) != has_rows
    assert bool(one.effect.waits["long_scoreboard"]) != has_rows


@pytest.mark.parametrize(
    ("load", "waited", "included"),
    [
        (TURN["load"], 49, "loads-not-overlapped"),
        (TURN["load"], 51, ""),  # the loads are named for themselves
        (("MUFU.EX2 R8, R22", ALL), 49, ""),
    ],
)
def test_what_a_turn_loads_goes_with_its_barriers_where_it_loads(load, waited, included):
    waits = {"product": {"long_scoreboard": waited}, "add": {"short_scoreboard": 50}}
    changed = {"load": load, "other": None, "use": ("FADD R16, R14, R16", ALL)}
    barriers = found(waits=waits, **changed)[0]
    assert barriers.name == "barriers"
    assert barriers.includes == included
    assert ("% waiting for what a turn loads." in barriers.sentence) == bool(included)


@pytest.mark.parametrize(("waited", "is_said"), [(1, False), (2, True)])
def test_loads_that_a_turn_hardly_waits_for_are_not_spoken_of(waited, is_said):
    """Less than 3 % of the warps' time is not worth a change."""
    waits = {"product": {"long_scoreboard": waited}, "add": {"short_scoreboard": 48}}
    (barriers,) = found(waits=waits)
    assert barriers.includes == "loads-not-overlapped"
    assert ("waiting for what a turn loads" in barriers.sentence) == is_said


@pytest.mark.parametrize(
    "changed",
    [
        {"product": ("FMUL R9, R8, R14", ALL)},  # the row is multiplied with what was made of the sum before
        {"use": ("FFMA R20, R14, R15, R20", ALL)},  # or what is held is changed by it
        {"next": ("IMAD R2, R13, 0x80, R2", ALL)},  # or it says where the next row lies
        {"next": ("FSETP.GT.AND P0, PT, R13, R21, PT", ALL)},  # or whether there is one
        {"leave": ("STS [R12], R9", ALL)},  # all threads share what they hold
        {"shuffle": ("SHFL.IDX PT, R10, R9, 0x1, 0x1f", ALL)},  # no sum
        {"meet": ("BAR.RED.POPC.DEFER_BLOCKING 0x0, P3", ALL)},
        {"leave": ("@P1 ATOMS.ADD RZ, [R12], R9", ONE_OF_A_WARP)},
        {"other": ("STG.E [R2], R14", ALL)},  # the next turn may load it
        {"turns": 1},
    ],
)
def test_a_turn_that_needs_the_one_before_cannot_share(changed):
    assert found(**changed) == []


def test_the_sums_of_others_are_no_operands_of_a_tile():
    assert list(detect_too_little_reuse(made())) == []
    loaded = list(detect_too_little_reuse(made(shuffle=("SHFL.IDX PT, R10, R9, 0x1, 0x1f", ALL))))
    assert [one.name for one in loaded] == ["too-little-reuse"]


@pytest.mark.parametrize(("shuffle", "exchanging"), [("SHFL.BFLY", 6 / 13), ("SHFL.IDX", 0.0)])
def test_no_bound_counts_sums_over_lanes_where_each_lane_could_add_up_its_own_result(shuffle, exchanging):
    evidence = made(shuffle=(f"{shuffle} PT, R10, R9, 0x1, 0x1f", ALL))
    load = evidence.sites[1]
    load.sectors, load.ideal_sectors = 32 * load.executed, 4 * load.executed
    (one,) = detect_uncoalesced(evidence)
    assert one.regrouped["issue"] == pytest.approx(exchanging, abs=0.01)


def test_sums_that_are_only_added_up_can_share_their_barriers_too():
    (one,) = found(weight=None, other=None, use=("FADD R16, R13, R16", ALL))
    assert "add up over the threads once, after the loop" in one.advice


@pytest.mark.parametrize(
    ("row_of", "is_alike"), [("S2R R2, SR_CTAID.Y", True), ("S2R R2, SR_CTAID.X", False)]
)
def test_a_tile_of_what_blocks_load_alike_needs_no_sums_over_threads_and_says_so(row_of, is_alike):
    """All 50 blocks are along x. Where each has a row of its own, it would add up as many values as before."""
    evidence = made(
        before=row_of, other=None, use=("FADD R16, R14, R16", ALL), grid=50,
        figures={"dram_bytes_read": 6400 * 128 / 10, "l1_hit_pct": 90.0},
    )  # fmt: skip
    load = evidence.sites[1]
    load.sectors = load.ideal_sectors = 4 * load.executed
    (tile,) = detect_redundant_loads(evidence)
    said = "so that the block no longer exchanges sums: this estimate includes that."
    assert (said in tile.advice, said in tile.in_triton) == (is_alike, is_alike)
    assert tile.includes == ("barriers" if is_alike else "")


@pytest.mark.parametrize(
    ("stored", "is_advised"),
    [
        ("STG.E [R2.64], R13", False),  # each turn has a result of its own
        ("RED.E.ADD.F32.FTZ.RN.STRONG.GPU [R2.64], R13", False),
        ("STG.E [R24.64], R13", True),  # at one address
        ("STG.E [R2.64], R8", True),  # what a thread has loaded
    ],
)
def test_what_each_turn_stores_elsewhere_is_no_sum_of_all_turns(stored, is_advised):
    (one,) = found(weight=None, other=None, use=("FADD R16, R13, R16", ALL), again=(stored, ONE_OF_A_WARP))
    assert ("add up over the threads once, after the loop" in one.advice) == is_advised


@pytest.mark.parametrize(
    ("changed", "waits", "is_named"),
    [
        ({}, {"product": {"long_scoreboard": 60}}, True),
        ({}, {"product": {"long_scoreboard": 40}}, False),  # warps are elsewhere for most of the time
        ({"other": ("FADD R16, R13, R16", ALL)}, {"product": {"long_scoreboard": 60}}, False),  # the next turn goes on with it
        ({"again": ("STG.E [R24.64], R13", ONE_OF_A_WARP)}, {"product": {"long_scoreboard": 60}}, False),  # the last one remains
    ],
)  # fmt: skip
def test_more_blocks_can_share_the_turns_whose_sums_are_results_of_their_own(changed, waits, is_named):
    turn = {"weight": None, "other": None, "use": None, "again": ("STG.E [R2.64], R13", ONE_OF_A_WARP)}
    figures = {"waves": 0.5, "sms": 132.0}
    evidence = made(waits=waits, figures=figures, grid=64, before="MOV R4, RZ", **(turn | changed))
    evidence.charged[evidence.sites[0]]["long_scoreboard"] += 50
    (one,) = detect_small_grid(evidence)
    assert ("for what the loop at made.cu:11 counts: none of its turns needs" in one.advice) == is_named


def test_of_sums_in_loops_around_each_other_the_larger_part_goes_whichever_is_first(monkeypatch):
    evidence = made(waits={"product": {"long_scoreboard": 60}, "sums": {"short_scoreboard": 40}})
    (one,) = find_sums_for_all(evidence)
    less = Tree(one.loop, 2.0, dict.fromkeys(one.parts, 1 / 2))
    effects = []
    for sums in ([one, less], [less, one]):
        monkeypatch.setattr(trees, "find_sums_for_all", lambda _, sums=sums: sums)
        effects.append([candidate.effect for candidate in detect_sums_for_all(evidence)])
    assert effects[0] == effects[1]
    assert effects[0][-1].waits["long_scoreboard"] == pytest.approx(7 / 8)
