"""Loads that are under way together: which of them a warp waits for, and what goes when the others are no longer made."""

import pytest
from made_evidence import TOGETHER, evidence_of, executing

from profiler.analyse.causes.detectors.global_memory import redundant_loads
from profiler.analyse.causes.detectors.waiting import unoverlapped_loads
from profiler.analyse.causes.evidence.loads_under_way import count_under_way
from profiler.analyse.causes.evidence.measured_time import hits_of_waits, latency_of_hits

LOAD, ADD = "LDG.E R4, [R2.64]", "FADD R5, R5, R4"


@pytest.mark.parametrize(
    ("l1", "l2", "part"), [(100.0, 0.0, 1.0), (0.0, 50.0, 0.0), (50.0, 0.0, 40 / 738), (50.0, 100.0, 40 / 327)]
)  # fmt: skip
def test_hits_take_a_small_part_of_the_latency_beside_misses(l1, l2, part):
    assert latency_of_hits({"l1_hit_pct": l1, "l2_hit_pct": l2}) == pytest.approx(part)


@pytest.mark.parametrize(
    ("other", "l1", "caches"), [("[R2.64+0x4]", 50.0, 75.0), ("[R6.64]", 25.0, 75.0**2 / 100)]
)
def test_who_waits_for_two_lines_waits_for_the_slower_one(other, l1, caches):
    """Half of the loads hit L1, and half of the others L2. Two words of a line come together."""
    facts = {2: {"waits": {"long_scoreboard": 9}}}
    sites = evidence_of(LOAD, f"LDG.E R8, {other}", ADD, facts=facts).sites
    found = hits_of_waits({"l1_hit_pct": 50.0, "l2_hit_pct": 50.0}, sites)
    assert found == {"waits_in_l1_pct": pytest.approx(l1), "waits_in_caches_pct": pytest.approx(caches)}
    assert latency_of_hits(found) == pytest.approx(
        40 * l1 / (40 * l1 + 287 * (caches - l1) + 698 * (100 - caches))
    )


def test_without_a_load_nobody_waits_for_one():
    assert hits_of_waits({"l1_hit_pct": 50.0}, evidence_of("FADD R5, R5, R4").sites) == {}


@pytest.mark.parametrize(("hits", "latency"), [(100.0, 3 / 4), (50.0, 3 / 4 * 40 / 738)])
def test_a_warp_that_no_longer_makes_the_loads_that_hit_waits_as_long_for_those_that_miss(hits, latency):
    """The queues get shorter by each load that is not made."""
    facts = {0: TOGETHER, 1: {"waits": {"long_scoreboard": 9}}}
    figures = {"l1_hit_pct": hits, "dram_bytes_read": 400 * 32 / 4}
    (candidate,) = redundant_loads.detect_redundant_loads(
        evidence_of(LOAD, ADD, facts=facts, figures=figures)
    )
    assert candidate.effect.waits["long_scoreboard"] == pytest.approx(latency)
    assert candidate.effect.lighter["long_scoreboard"] == pytest.approx(hits / 100 * 3 / 4)


@pytest.mark.parametrize(("delivered", "found"), [(400 * 32 / 4, 2), (400 * 32, 1)])
def test_a_load_that_a_loop_repeats_does_not_hide_that_caches_serve_the_same_again(delivered, found):
    lines = (
        "MOV R1, R2",
        (LOAD, 400.0),
        ("LDG.E R6, [R8]", 400.0),
        ("IADD3 R8, R8, R1, RZ", 400.0),
        ("@P0 BRA 0x10", 400.0),
    )
    facts = {1: {"sectors": 1.0, "ideal_sectors": 1.0}, 2: {"sectors": 399.0, "ideal_sectors": 399.0}}
    figures = {"l1_hit_pct": 100.0, "dram_bytes_read": delivered}
    assert (
        len(list(redundant_loads.detect_redundant_loads(evidence_of(*lines, facts=facts, figures=figures))))
        == found
    )


@pytest.mark.parametrize(("hits", "spared"), [(100.0, 7 / 8), (50.0, 0.01 * 7 / 8), (40.0, 0.0)])
def test_what_needs_a_register_only_is_no_part_of_what_a_tile_saves(hits, spared):
    """Half of what is looked up is loaded from one address in 100 turns, and hits in all but the first: 49.5 points are not the tile's."""
    lines = (
        ("MOV R1, R2", 1.0),
        (LOAD, 100.0),
        ("LDG.E R6, [R8]", 100.0),
        ("IADD3 R8, R8, R1, RZ", 100.0),
        ("@P0 BRA 0x10", 100.0),
    )
    facts = dict.fromkeys((1, 2), TOGETHER)
    figures = {"l1_hit_pct": hits, "dram_bytes_read": 800 * 32 / 8}
    evidence = evidence_of(*lines, facts=facts, figures=figures)
    register, tile = redundant_loads.detect_redundant_loads(evidence)
    assert "register is enough" in tile.advice
    assert "register is enough" not in register.advice
    assert list(register.weights) == [evidence.sites[1]]
    assert list(tile.weights) == [evidence.sites[2]]
    assert 2 * tile.effect.resources["lsu"] == pytest.approx(spared, abs=0.01)


@pytest.mark.parametrize(("passing", "under_way"), [(0, 5), (5, 5), (6, 3.4)])
def test_a_place_that_most_warps_pass_without_waiting_does_not_part_the_loads_around_it(passing, under_way):
    """A wait of 6 % of the longest is as long as for a load that hits L1; four loads, and the one behind the place."""
    lines = [LOAD.replace("R4", f"R{register}") for register in (4, 6, 8, 10)]
    lines += ["FADD R5, R5, R4", "LDG.E R12, [R2.64]", "FADD R5, R5, R12"]
    waits = {4: {"waits": {"long_scoreboard": passing}}, 6: {"waits": {"long_scoreboard": 100}}}
    evidence = evidence_of(*lines, facts=waits)
    together = [count_under_way(evidence, site) for site in evidence.of("global load")]
    assert sum(together) / len(together) == pytest.approx(under_way)


@pytest.mark.parametrize(
    ("width", "arrived", "added"),
    [
        (".128", 400.0, 1200 / 400),  # three in four sectors hit L1, and as copies they do not
        (".128", 1600.0, 0.0),
        ("", 400.0, 0.0),  # copies of 4 bytes look in L1
    ],
)
def test_asynchronous_copies_of_16_bytes_find_nothing_in_l1(width, arrived, added):
    loop = (f"LDG.E{width} R4, [R2.64]", "STS [R8], R4", "BAR.SYNC 0x0", "@P0 BRA 0x10")
    facts = {1: {"sectors": 1600.0, "ideal_sectors": 1600.0}, 2: {"waits": {"long_scoreboard": 9}}}
    lines = ("MOV R1, R2", *executing(100.0, *loop), "EXIT")
    (candidate,) = unoverlapped_loads.detect_unoverlapped_loads(
        evidence_of(*lines, facts=facts, figures={"l2_sectors": arrived})
    )
    assert candidate.effect.resources["l2"] == pytest.approx(-added)


FINDING = ("IMAD R2, R0, R1, RZ", "IADD3 R2, R2, R9, RZ", "SHF.L.U32 R2, R2, 0x2, RZ", "IADD3 R2, R2, R8, RZ")


def part_of_issue(*lines, hits=100.0):
    """The part of the instructions that goes with loads of which caches serve three quarters again."""
    place = next(place for place, line in enumerate(lines) if line.startswith("LDG"))
    facts = {place: TOGETHER}
    figures = {"l1_hit_pct": hits, "dram_bytes_read": 400 * 32 / 4}
    (candidate,) = redundant_loads.detect_redundant_loads(evidence_of(*lines, facts=facts, figures=figures))
    assert [site.instruction.name for site in candidate.weights] == ["LDG"]  # which the answer points at
    return candidate.effect.resources["issue"]


@pytest.mark.parametrize("hits", [100.0, 40.0])
def test_a_load_that_is_not_made_takes_the_computing_of_its_address_along(hits):
    repeated = hits / 100 * 3 / 4
    assert part_of_issue(*FINDING, LOAD, ADD, hits=hits) == pytest.approx(repeated * (1 + 4) / 6)
    assert part_of_issue(*FINDING[:2], LOAD, ADD, hits=hits) == pytest.approx(repeated * (1 + 2) / 4)


@pytest.mark.parametrize(
    ("finding", "gone"),
    [
        ((), 1),  # the address is computed before the loop
        (("IADD3 R2, R2, R1, RZ",), 2),  # in each turn
        (("IADD3 R2, R2, R1, RZ", "ISETP.LT.AND P1, PT, R2, R7, PT"), 1),  # which is compared as well
    ],
)
def test_only_what_is_computed_as_often_as_the_load_goes_with_it(finding, gone):
    turn = (*finding, LOAD, ADD, "IADD3 R3, R3, 0x1, RZ", "ISETP.NE.AND P0, PT, R3, R4, PT", "@P0 BRA 0x20")
    lines = ("IMAD R2, R0, R1, RZ", "MOV R3, RZ", *turn)
    assert part_of_issue(*lines) == pytest.approx(gone * 3 / 4 / len(lines))


@pytest.mark.parametrize(
    "others",
    [
        ("STG.E [R2.64], R5",),  # the same address, where a result goes
        ("IADD3 R6, R2, 0x40, RZ", "STG.E [R6.64], R5"),  # or one that follows from it
    ],
)
def test_the_address_of_an_access_that_stays_is_still_computed(others):
    lines = (*FINDING, *FINDING[1:], LOAD, ADD, *others)
    assert part_of_issue(*lines) == pytest.approx(3 / 4 / len(lines))


def said_under_way(*lines, facts):
    (candidate,) = unoverlapped_loads.detect_unoverlapped_loads(evidence_of(*lines, facts=facts))
    return candidate.evidence["loads_under_way"]


def test_what_was_used_is_under_way_no_more():
    """Each load is used before the next but one is issued: two are under way at each use, but for the last."""
    lines = [LOAD]
    for register in (6, 8, 10):
        lines += [f"LDG.E R{register}, [R2.64]", f"FADD R5, R5, R{register - 2}"]
    waits = {place: {"waits": {"long_scoreboard": 9}} for place in (2, 4, 6)}
    assert said_under_way(*lines, facts=waits) == 2


def test_loads_of_one_turn_are_under_way_while_the_one_before_is_used():
    lines = (
        "MOV R9, RZ",
        ("FADD R5, R5, R4", 800.0),
        ("LDG.E R4, [R2.64]", 800.0),
        ("LDG.E R6, [R2.64]", 800.0),
        ("@P0 BRA 0x10", 800.0),
    )
    assert said_under_way(*lines, "EXIT", facts={1: {"waits": {"long_scoreboard": 9}}}) == 2


@pytest.mark.parametrize(("in_loop", "before_it", "count"), [(90, 10, 1), (10, 90, 8)])
def test_the_number_of_loads_is_one_that_a_place_has(in_loop, before_it, count):
    """Eight loads are issued before a loop, and one in each of its turns."""
    lines = [f"LDG.E R{4 + place}, [R2.64]" for place in range(8)]
    lines += [
        "FADD R20, R20, R4",
        ("LDG.E R13, [R14.64]", 800.0),
        ("FADD R20, R20, R13", 800.0),
        ("@P0 BRA 0x90", 800.0),
    ]
    waits = {8: {"waits": {"long_scoreboard": before_it}}, 10: {"waits": {"long_scoreboard": in_loop}}}
    assert said_under_way(*lines, "EXIT", facts=waits) == count
