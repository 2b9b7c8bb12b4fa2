"""Loads that warps wait for one by one."""

import pytest
from made_evidence import APART, LOAD, TOGETHER, evidence_of, names

from profiler.analyse.causes.detectors.waiting import unoverlapped_loads


def test_loads_that_nobody_waits_for_overlap_well_enough():
    waits = {"long_scoreboard": 9}
    assert names(unoverlapped_loads.detect_unoverlapped_loads, evidence_of(LOAD, "FADD R5, R5, R4", facts={1: {"waits": waits}})) == [
        "loads-not-overlapped"
    ]  # fmt: skip
    assert names(unoverlapped_loads.detect_unoverlapped_loads, evidence_of(LOAD, "FADD R5, R5, R4", facts={1: {"waits": {"wait": 9}}})) == []  # fmt: skip


def lone_saving(loads):
    """The part of the waiting that goes, where a warp has so many loads under way."""
    lines = [f"LDG.E R{10 + number}, [R2.64+{number:#x}]" for number in range(loads)]
    facts = {loads: {"waits": {"long_scoreboard": 9}}}
    (candidate,) = unoverlapped_loads.detect_unoverlapped_loads(
        evidence_of(*lines, "FADD R5, R5, R10", facts=facts)
    )
    return candidate.effect.waits["long_scoreboard"]


def test_four_loads_under_way_are_enough():
    assert lone_saving(1) == lone_saving(3) == 7 / 8
    assert lone_saving(4) == 0.25


@pytest.mark.parametrize(
    ("copies", "elsewhere", "advised"), [(3, 0, False), (4, 0, True), (4, 8, True), (4, 10, False)]
)
def test_loads_of_which_a_thread_has_four_copies_are_to_be_wide(copies, elsewhere, advised):
    """Unless warps wait more for others."""
    loads = [f"LDG.E R{10 + number}, [R2.64+{0x200 * number:#x}]" for number in range(copies)]
    lines = (*loads, "FADD R5, R5, R10", "LDG.E.64 R6, [R8.64]", "FADD R5, R5, R6")
    waits = {copies: {"waits": {"long_scoreboard": 9}}, copies + 2: {"waits": {"long_scoreboard": elsewhere}}}
    (candidate,) = unoverlapped_loads.detect_unoverlapped_loads(evidence_of(*lines, line=7, facts=waits))
    assert candidate.advice.startswith("A thread loads several values already") is advised
    assert candidate.advice.startswith("Let each thread take several elements") is not advised


@pytest.mark.parametrize(("apart", "advised"), [(4, True), (8, False), (0x200, False)])
def test_only_neighbours_are_to_be_loaded_at_once(apart, advised):
    loads = [f"LDG.E R{10 + number}, [R2.64+{apart * number:#x}]" for number in range(4)]
    facts = {4: {"waits": {"long_scoreboard": 9}}}
    evidence = evidence_of(*loads, "FADD R5, R5, R10", line=7, facts=facts)
    (candidate,) = unoverlapped_loads.detect_unoverlapped_loads(evidence)
    assert ("load neighbours at once" in candidate.advice) is advised
    assert ("issue their loads before the first use" in candidate.advice) is not advised


def staging(use):
    """A loop in which a warp loads four times 16 bytes, waits, hands them on by `use`, and waits at a barrier."""
    lines = [f"LDG.E.128 R{8 + 4 * place}, [R2.64+{0x200 * place:#x}]" for place in range(4)]
    lines += [use.format(8 + 4 * place) for place in range(4)]
    lines += ["BAR.SYNC.DEFER_BLOCKING 0x0", "LDS R40, [R5]", "BRA 0x0"]
    facts = {4: {"waits": {"long_scoreboard": 30}}, 9: {"waits": {"barrier": 10}}}
    (candidate,) = unoverlapped_loads.detect_unoverlapped_loads(evidence_of(*lines, facts=facts))
    return candidate


def test_copies_of_the_next_tile_end_the_wait_for_all_loads_of_a_tile():
    """However many loads a warp has under way: it waits for all of them in each turn, and others wait for it at the barrier."""
    staged, used = (staging(use).effect.waits for use in ("STS.128 [R4], R{0}", "FADD R5, R5, R{0}"))
    assert staged["long_scoreboard"] == pytest.approx(7 / 8)
    assert staged["barrier"] == pytest.approx(7 / 8 * 30 / 40)
    assert used == {"long_scoreboard": 0.25, "barrier": 0.0}


@pytest.mark.parametrize(
    ("use", "figures"), [("STS.128 [R4], R{0}", {"waiting_for_tiles_pct": 75.0}), ("FADD R5, R5, R{0}", {})]
)
def test_a_loop_that_waits_for_tiles_says_for_how_long(use, figures):
    found = staging(use).evidence
    assert {name: part for name, part in found.items() if "tiles" in name} == pytest.approx(figures)


@pytest.mark.parametrize(("lanes", "advised"), [(1.0, False), (1.5, False), (2.0, True), (None, True)])
def test_what_one_lane_loads_for_all_is_no_tile_to_copy_ahead(lanes, advised):
    """As the two ends of an edge, whose neighbours a block then searches together. Two lanes share the loads of a tile out already."""
    lines = ("LDG.E R8, [R2.64]", "STS [R4], R8", "BAR.SYNC.DEFER_BLOCKING 0x0", "LDS R40, [R5]", "BRA 0x0")
    facts = {0: {} if lanes is None else {"acting": lanes}, 1: {"waits": {"long_scoreboard": 30}}}
    (candidate,) = unoverlapped_loads.detect_unoverlapped_loads(evidence_of(*lines, facts=facts))
    assert ("cp.async" in candidate.advice) is advised
    assert ("load what the next turns need before this one computes" in candidate.advice) is not advised
    assert ("waiting_for_tiles_pct" in candidate.evidence) is advised


def test_loads_that_are_staged_by_hand_pass_through_l1_once_more_than_copies():
    facts = {0: TOGETHER, 1: {"waits": {"long_scoreboard": 9}}}
    (staged,) = unoverlapped_loads.detect_unoverlapped_loads(evidence_of(LOAD, "STS [R8], R4", facts=facts))
    (used,) = unoverlapped_loads.detect_unoverlapped_loads(evidence_of(LOAD, "FADD R5, R5, R4", facts=facts))
    assert (staged.effect.resources["l1"], used.effect.resources["l1"]) == (1.0, 0.0)
    facts[0] = APART  # looked up apart by copies as well
    (apart,) = unoverlapped_loads.detect_unoverlapped_loads(evidence_of(LOAD, "STS [R8], R4", facts=facts))
    assert apart.effect.resources["l1"] == pytest.approx(1 / 8)


@pytest.mark.parametrize(
    ("load", "said"),
    [
        ("LDG.E.128 R8, [R2.64]", "; a warp has about 1 of them under way at a time, and each scheduler has 4 warps."),
        ("LDGSTS.E.BYPASS.128 [R4], [R2.64]", "; each scheduler has 4 warps."),  # those of the next tiles may be, too
    ],
)  # fmt: skip
def test_how_many_copies_are_under_way_is_not_known(load, said):
    lines = [load, "FADD R12, R8, R8", "DEPBAR.LE SB0, 0x1", "BRA 0x0"]
    facts = {place: {"waits": {"long_scoreboard": 30}} for place in (1, 2)}
    evidence = evidence_of(*lines, facts=facts, figures={"active_warps": 4.0})
    (candidate,) = unoverlapped_loads.detect_unoverlapped_loads(evidence)
    assert candidate.sentence.endswith(f"global memory{said}")
    assert ("loads_under_way" in candidate.evidence) == ("LDGSTS" not in load)
