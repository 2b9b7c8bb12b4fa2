"""Tiles for the tensor cores are small if their values are seldom used; `mma.sync` keeps the pipe longer than `wgmma`."""

from dataclasses import replace

import pytest
from made_evidence import evidence_of, executing

from profiler.analyse.causes.detectors.shared_memory import too_little_reuse
from profiler.analyse.causes.evidence.latency import Effect
from profiler.analyse.causes.evidence.measured_time import model_time
from profiler.analyse.causes.evidence.tensor_work import avoidable_part, count_uses

COPY = "LDGSTS.E.BYPASS.128 [R4], [R2.64]"
FRAGMENT = "LDSM.16.M88.4 R8, [R5]"
MMA = "HMMA.16816.F32 R12, R8, R10, R12"
WGMMA = "HGMMA.64x128x16.F32 R24, gdesc[UR8], R24"
LOOP = "BRA 0x0"


def tile(copies, products, after=(LOOP,), **others):
    """A loop in which 100 warps copy 512 bytes with each of `copies` instructions, and multiply."""
    lines = [COPY] * copies + [FRAGMENT] + [MMA] * products + [*after]
    facts = {copies: {"waits": {"long_scoreboard": 50}}, copies + 1: {"waits": {"short_scoreboard": 30}}}
    return evidence_of(*lines, facts=facts, **others)


@pytest.mark.parametrize(
    ("copies", "products", "uses"),
    # A warp's share of a step of 64 in K: in a tile of 32 x 32, 2,048 values are loaded by four warps; in one of 128 x 128, 16,384.
    [(4, 8, 16.0), (8, 32, 32.0), (16, 128, 64.0)],
)
def test_a_larger_tile_uses_each_value_more_often(copies, products, uses):
    evidence = tile(copies // 2, products // 2)
    staged = [site for site in evidence.sites if site.instruction.name == "LDGSTS"]
    assert count_uses(evidence.of("tensor"), staged) == uses
    found = list(too_little_reuse.detect_too_little_reuse(evidence))
    assert [one.evidence.get("uses_per_staged_value") for one in found] == ([uses] if uses < 64 else [])


@pytest.mark.parametrize(("sectors", "uses"), [(None, 16.0), (200.0, 16.0), (100.0, 32.0)])
def test_copies_whose_predicate_fills_their_place_with_zeros_load_nothing(sectors, uses):
    """Before the first turn of a loop that is too short, and in its last turns, there is no tile left to copy."""
    evidence = tile(2, 4)
    staged = [site for site in evidence.sites if site.instruction.name == "LDGSTS"]
    for site in staged:
        site.sectors = site.ideal_sectors = None if sectors is None else 8 * sectors
    assert count_uses(evidence.of("tensor"), staged) == uses


@pytest.mark.parametrize("counted", [True, False])
def test_copies_before_the_loop_are_those_of_its_first_turns(counted):
    """Of three turns, the last one has no tile left to copy: two tiles are copied in them, and one before. It shows where sectors are counted."""
    turn = [COPY, COPY, FRAGMENT, *[MMA] * 4, "@P0 BRA 0x20"]
    facts = {place: {"ideal_sectors": 16.0 * executed} for place, executed in enumerate((100, 100, 200, 200))}
    lines = [*[(COPY, 100.0)] * 2, *executing(300.0, *turn)]
    evidence = replace(evidence_of(*lines, facts=facts if counted else {}), has_costs=counted)
    (found,) = too_little_reuse.detect_too_little_reuse(evidence)
    assert found.evidence["uses_per_staged_value"] == 16.0


def test_a_small_tile_gains_more_than_a_middling_one():
    small, middling = (
        next(iter(too_little_reuse.detect_too_little_reuse(one))).effect for one in (tile(2, 4), tile(4, 16))
    )
    assert small.waits["long_scoreboard"] == pytest.approx(1 - 16 / 64)
    assert middling.waits["long_scoreboard"] == pytest.approx(1 - 32 / 64)
    assert small.waits["short_scoreboard"] == pytest.approx(1 - 16 / 64)  # the fragments
    assert small.resources["tensor"] == 0.0


@pytest.mark.parametrize(
    ("blocks", "after", "gone"),
    [
        (16 * 132, (LOOP, "STG.E [R2], R12"), 1 - 16 / 64),  # tiles four times as high and wide leave each SM one
        (4 * 132, (LOOP, "STG.E [R2], R12"), 1 / 2),  # only of those twice as high and wide is there one for each
        (64, (LOOP, "STG.E [R2], R12"), None),  # SMs are idle already
        (64, ("STG.E [R2], R12", LOOP), 1 - 16 / 64),  # each block computes several tiles
    ],
)  # fmt: skip
def test_tiles_do_not_become_so_large_that_there_is_none_for_some_sms(blocks, after, gone):
    evidence = tile(2, 4, after=after, grid=blocks, figures={"sms": 132})
    found = list(too_little_reuse.detect_too_little_reuse(evidence))
    assert [one.effect.waits["long_scoreboard"] for one in found] == (
        [] if gone is None else [pytest.approx(gone)]
    )


@pytest.mark.parametrize(("with_what", "gone"), [("R21", 1 - 16 / 64), ("R12", 0.0)])
def test_with_larger_tiles_turns_are_fewer_with_all_that_each_does_besides_multiplying(with_what, gone):
    """What is computed with results, such as R12, is as much for any tile."""
    lines = (COPY, COPY, FRAGMENT, *[MMA] * 4, f"IMAD R30, R20, {with_what}, R22", LOOP)
    (found,) = too_little_reuse.detect_too_little_reuse(evidence_of(*lines))
    assert found.effect.resources["fma_heavy"] == pytest.approx(gone)


@pytest.mark.parametrize(("inside", "gone"), [(True, 1 - 16 / 64), (False, 0.0)])
def test_with_larger_tiles_the_block_meets_less_often_in_the_loop_and_as_often_around_it(inside, gone):
    barrier, wait = "BAR.SYNC 0x0", {"waits": {"barrier": 50}}
    lines = [COPY, COPY, FRAGMENT, *[MMA] * 4]
    lines = [*lines, barrier, "NOP", LOOP] if inside else [*lines, LOOP, barrier, "NOP"]
    (found,) = too_little_reuse.detect_too_little_reuse(evidence_of(*lines, facts={lines.index("NOP"): wait}))
    assert found.effect.waits["barrier"] == pytest.approx(gone)


def test_copies_of_unknown_size_leave_the_tile_unknown():
    (found,) = too_little_reuse.detect_too_little_reuse(evidence_of("UTMALDG.2D [UR8], [UR4]", WGMMA, LOOP))
    assert "uses_per_staged_value" not in found.evidence


@pytest.mark.parametrize(
    ("opcode", "capability", "part"),
    [(MMA, "9.0", 1 / 3), (WGMMA, "9.0", 0.0), (MMA, "8.0", 0.0), (MMA, None, 0.0), ("FFMA R0, R1, R2, R0", "9.0", 0.0)],
)  # fmt: skip
def test_on_hopper_the_same_products_may_take_the_pipe_for_less_time(opcode, capability, part):
    tensor = evidence_of(opcode).of("tensor")
    assert avoidable_part(tensor, capability) == pytest.approx(part)


MOVED = "HFMA2.MMA R5, -RZ, RZ, 0, 5.9604644775390625e-08"  # a constant


@pytest.mark.parametrize(
    ("lines", "most"),
    [
        ((MOVED, "FADD R1, R1, R5"), 1.0),
        ((MOVED, WGMMA), 0.97),
        ((MOVED, "HFMA2.MMA R5, R4, R6, R5"), 0.97),  # products of halves, which take the same way
        ((), 0.97),
    ],
)
def test_a_bound_does_not_count_constants_that_pass_the_tensor_pipe(lines, most):
    """Where nothing is multiplied there, no code needs the pipe. Without instructions, nobody knows what is."""
    evidence = evidence_of(*lines)
    figures = {"tensor_pipe_pct": 3.0}
    model = model_time(evidence.profile, figures, evidence.sites, {"wait": 1.0}, evidence.charged)
    assert model.bound(Effect(), ["tensor"])[0] == pytest.approx(most)
