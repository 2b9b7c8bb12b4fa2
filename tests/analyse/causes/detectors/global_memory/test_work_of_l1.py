"""What L1 works for: passes of shared memory, and the lookups of the rest."""

import pytest
from made_evidence import APART, TOGETHER, evidence_of

from profiler.analyse.causes.detectors.global_memory.layout import cheaper_accesses
from profiler.analyse.causes.detectors.shared_memory import bank_conflicts

LOAD, STORE, SHARED = "LDG.E R4, [R2.64]", "STG.E [R6.64], R4", "STS [R8], R4"
SECTORS = {0: {"sectors": 300.0, "ideal_sectors": 0.0}, 1: TOGETHER}


def part_of_load(*lines, facts):
    evidence = evidence_of(*lines, facts=facts, figures={"shared_of_l1_pct": 25.0})
    return evidence.part_of_l1({evidence.sites[0]: 1.0})


def test_without_an_access_to_shared_memory_all_work_is_that_of_lookups():
    assert part_of_load(LOAD, STORE, facts=SECTORS) == pytest.approx(4 / 5)


def test_with_one_the_passes_have_their_part():
    assert part_of_load(LOAD, STORE, SHARED, facts=SECTORS | {2: {"passes": 100.0}}) == pytest.approx(
        0.75 * 4 / 5
    )


@pytest.mark.parametrize(
    ("sectors", "ideal", "part"),
    [
        (100.0, 100.0, 1 / 2),  # one address for all lanes takes L1 a cycle, as neighbours do
        (400.0, 400.0, 1 / 2),
        (3200.0, 400.0, 29 / 30),  # lanes that lie apart take a line each
    ],
)
def test_a_lookup_takes_l1_a_cycle_a_line_however_few_sectors_it_needs(sectors, ideal, part):
    facts = {0: {"sectors": sectors, "ideal_sectors": ideal}, 1: TOGETHER}
    assert part_of_load(LOAD, STORE, facts=facts) == pytest.approx(part)


def test_a_shuffle_takes_the_pipe_of_the_accesses_and_one_pass_of_shared_memory():
    shuffle = "SHFL.BFLY PT, R5, R4, 0x1, 0x1f"
    evidence = evidence_of(
        shuffle, *[SHARED] * 3, facts={1: {"passes": 300.0}}, figures={"shared_of_l1_pct": 100.0}
    )
    alone = evidence.without({evidence.sites[0]: 1.0}).resources
    assert (alone["lsu"], alone["l1"]) == (pytest.approx(1 / 4), pytest.approx(1 / 4))


@pytest.mark.parametrize(("opcode", "part"), [("LDG.E R5, [R4.64]", 0.0), ("STG.E [R4.64], R5", 28 / 36)])
def test_unused_sectors_of_stores_reach_l2_whatever_l1_holds(opcode, part):
    """As many sectors arrive as a load of neighbours and a store whose lanes lie apart need: L1 holds what loads use later, and no store."""
    facts = {0: APART, 1: APART}
    lines = ("LDG.E R9, [R2.64]", opcode, "EXIT")
    evidence = evidence_of(*lines, facts=facts, figures={"l2_sectors": 800.0 if "LDG" in opcode else 3600.0})
    effect = cheaper_accesses(evidence, [evidence.sites[1]])
    assert effect.resources["l2"] == pytest.approx(part)


@pytest.mark.parametrize(("passes", "shorter"), [(1600.0, 1500 / 1700), (100.0, None)])
def test_the_load_behind_a_conflicting_one_waits_for_its_passes(passes, shorter):
    """Warps wait for the second load alone, which is served after the first."""
    facts = {
        0: {"passes": passes, "ideal_passes": 100.0},
        1: {"passes": 100.0, "ideal_passes": 100.0},
        2: {"waits": {"short_scoreboard": 9}},
    }
    evidence = evidence_of("LDS R4, [R2]", "LDS R5, [R3]", "FADD R6, R5, R5", "EXIT", facts=facts)
    found = [one.effect.lighter for one in bank_conflicts.detect_bank_conflicts(evidence)]
    assert found == ([{"short_scoreboard": pytest.approx(shorter)}] if shorter else [])


@pytest.mark.parametrize(("fetches", "part"), [(0, 1.0), (2, 100 / (100 + 2 * 800))])
def test_l1_works_for_texture_fetches_too(fetches, part):
    """Their sectors are not counted, and four texture units serve a lane a cycle each."""
    lines = ("LDG.E R4, [R2.64]", *["TEX RZ, R5, R6, R7, UR4, 0x0.3D, 0x1"] * fetches, "EXIT")
    evidence = evidence_of(*lines, facts={0: TOGETHER})
    assert evidence.part_of_l1({evidence.sites[0]: 1.0}) == pytest.approx(part)


@pytest.mark.parametrize("arrived", [1000.0, 600.0, 500.0])
def test_what_arrives_in_l2_and_no_access_is_counted_for_is_that_of_copies_of_any_size(arrived):
    """The unit that copies tensors has no count of sectors for each of its copies."""
    lines = ("UTMALDG.2D [UR8], [UR4]", "STG.E [R2.64], R4")
    evidence = evidence_of(*lines, facts={1: {"sectors": 600.0}}, figures={"l2_sectors": arrived})
    copy, store = evidence.sites
    assert evidence.part_of_l2({copy: 1.0}) == pytest.approx(max(0.0, 1 - 600 / arrived))
    assert evidence.part_of_l2({copy: 1.0, store: 1.0}) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("arrived", "hit", "part"),
    [
        (400.0 + 3200.0, 0.0, 3200 / 3300),  # each lane of the atomic by itself
        (400.0 + 100.0, 0.0, 1 / 2),  # lanes of a warp together, which take a cycle, as the load does
        # Half of what is loaded is in L1, and nothing of what lanes update.
        (200.0 + 3200.0, 200 / 3600, 3200 / 3300),
    ],
)
def test_lanes_that_update_one_address_take_l1_a_cycle_each_if_they_reach_l2_one_by_one(arrived, hit, part):
    facts = {0: TOGETHER, 1: {"sectors": 100.0, "ideal_sectors": 100.0, "acting": 32.0}}
    figures = {"l2_sectors": arrived, "l1_hit_pct": 100 * hit}
    evidence = evidence_of("LDG.E R4, [R2.64]", "RED.E.ADD.F32 [R6.64], R4", facts=facts, figures=figures)
    assert evidence.part_of_l1({evidence.sites[1]: 1.0}) == pytest.approx(part)
