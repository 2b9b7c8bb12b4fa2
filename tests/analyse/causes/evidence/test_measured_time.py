"""The model of a kernel's time as it was measured: which units are busy, and what waits where."""

from dataclasses import replace
from types import SimpleNamespace

import pyarrow as pa
import pytest
from made_evidence import LOAD, evidence_of

from profiler.analyse.causes.evidence.latency import Effect
from profiler.analyse.causes.evidence.measured_time import model_time
from profiler.catalog.causes import BY_NAME as CAUSES

ADD, ATOMIC = "FADD R5, R5, R4", "RED.E.ADD.F32.FTZ.RN.STRONG.GPU [R8.64], R5"


def model_of(evidence, figures=None, profile=None, contended=False):
    """The model of a kernel whose warps wait for memory alone."""
    waits = {"long_scoreboard": 1.0}
    return model_time(
        profile or evidence.profile, figures or {}, evidence.sites, waits, evidence.charged, contended
    )


@pytest.mark.parametrize(("needed", "kept"), [(400.0, 0.6), (100.0, 0.15)])
def test_a_grid_of_more_blocks_may_also_bring_lanes_together(needed, kept):
    """L1 is busy for 60 % of the time; only the sectors that hold data are sure to keep it busy afterwards."""
    facts = {0: {"sectors": 400.0, "ideal_sectors": needed}}
    evidence = evidence_of(LOAD, ADD, facts=facts)
    bound, limit = model_of(evidence, {"l1_pct": 60.0}).bound(Effect(), CAUSES["grid-too-small"].leaves)
    assert (1 - bound, limit) == (pytest.approx(kept), "l1")


@pytest.mark.parametrize(("integers", "kept"), [(0, 0.8), (30, 0.2)])
def test_integers_on_the_fma_pipe_compute_addresses_and_hold_no_bound(integers, kept):
    """Where loads go, the multiplications of their indices go too; those of floats stay."""
    evidence = evidence_of(LOAD, *["FFMA R5, R4, R6, R5"] * 10, *["IMAD R2, R3, R4, R2"] * integers)
    bound, limit = model_of(evidence, {"fma_pipe_pct": 80.0}).bound(
        Effect(), CAUSES["redundant-global-loads"].leaves
    )
    assert (1 - bound, limit) == (pytest.approx(kept), "fma")


@pytest.mark.parametrize(("executed", "of_some"), [(100.0, None), (25.0, 0.75)])
def test_what_a_quarter_of_the_warps_wait_for_before_a_barrier_the_others_wait_for_there(executed, of_some):
    barrier = ("BAR.SYNC.DEFER_BLOCKING 0x0", 100.0)
    lines = [(LOAD, executed), (ADD, executed), barrier, ("STG.E [R2.64], R5", 10.0)]
    evidence = evidence_of(*lines, facts={1: {"waits": {"long_scoreboard": 50}}, 3: {"waits": {"wait": 9}}})
    # What stands behind the last barrier is waited for at none.
    assert model_of(evidence).warp_slots.of_some == (
        {} if of_some is None else {"long_scoreboard": pytest.approx(of_some)}
    )


def test_no_barrier_of_another_function_waits_for_what_stands_before_it_in_the_file():
    lines = [(LOAD, 25.0), (ADD, 25.0), ("BAR.SYNC.DEFER_BLOCKING 0x0", 100.0)]
    evidence = evidence_of(*lines, facts={1: {"waits": {"long_scoreboard": 50}}})
    evidence.sites[-1].function += 1
    assert model_of(evidence).warp_slots.of_some == {}


def test_who_waits_behind_contended_atomics_waits_in_their_queue():
    evidence = evidence_of(ATOMIC, LOAD, ADD, facts={2: {"waits": {"long_scoreboard": 50}}})
    slots = model_of(evidence, contended=True).warp_slots
    assert slots.of_some["long_scoreboard"] == slots.unloaded["long_scoreboard"] == 1.0


# One SM, which could have multiplied integers for 2,000 warps.
SM_CYCLES = {"sm_cycles": 1_000.0}


@pytest.mark.parametrize(("capability", "busy"), [("9.0", 0.5), ("8.6", 0.5), ("12.0", None)])
def test_integers_are_multiplied_by_half_of_the_pipe_of_the_gpus_that_are_known_to_do_so(capability, busy):
    evidence = evidence_of(*["IMAD R2, R3, R4, R2"] * 10)
    rows = [{"launch": 0, "compute_capability": capability}]
    run = SimpleNamespace(columns=lambda *_: pa.Table.from_pylist(rows))
    model = model_of(evidence, SM_CYCLES, replace(evidence.profile, run=run))
    assert model.busy.get("fma_heavy") == busy
