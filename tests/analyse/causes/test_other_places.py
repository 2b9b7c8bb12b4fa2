"""What a change leaves alone: costs that lie elsewhere than where warps seem to wait, and work that only looks fixed."""

from dataclasses import replace
from types import SimpleNamespace

import pyarrow as pa
import pytest
from made_evidence import TOGETHER, active, evidence_of

from profiler.analyse.causes.detectors.global_memory import narrow_accesses, redundant_loads, redundant_stores
from profiler.analyse.causes.detectors.idle_lanes import lanes
from profiler.analyse.causes.detectors.instructions import integer_overhead, special_functions
from profiler.analyse.causes.detectors.launch import grid, little_work
from profiler.analyse.causes.detectors.retries import add_retries
from profiler.analyse.causes.detectors.shared_memory.bank_conflicts import detect_bank_conflicts
from profiler.analyse.causes.detectors.waiting import barriers, unoverlapped_loads
from profiler.analyse.causes.evidence.charging import are_atomics_contended
from profiler.analyse.causes.evidence.latency import Effect, Places
from profiler.analyse.causes.evidence.measured_time import model_time
from profiler.analyse.recording.profile import Series
from profiler.analyse.statistics.differences import Readings
from profiler.catalog.causes import BY_NAME as CAUSES
from profiler.catalog.metrics import BY_NAME

LOAD, ADD = "LDG.E R4, [R2.64]", "FADD R5, R5, R4"
ATOMIC = "RED.E.ADD.F32.FTZ.RN.STRONG.GPU [R8.64], R5"


@pytest.mark.parametrize(("needed", "kept"), [(400.0, 0.6), (100.0, 0.15)])
def test_a_grid_of_more_blocks_may_also_bring_lanes_together(needed, kept):
    """L1 is busy for 60 % of the time; only the sectors that hold data are sure to keep it busy afterwards."""
    facts = {0: {"sectors": 400.0, "ideal_sectors": needed}}
    evidence = evidence_of(LOAD, ADD, facts=facts)
    model = model_time(
        evidence.profile, {"l1_pct": 60.0}, evidence.sites, {"long_scoreboard": 1.0}, evidence.charged
    )
    bound, limit = model.bound(Effect(), CAUSES["grid-too-small"].leaves)
    assert (1 - bound, limit) == (pytest.approx(kept), "l1")


@pytest.mark.parametrize(("loads", "contended"), [(1, True), (8, True), (0, True)])
def test_loads_that_are_issued_together_wait_once_behind_an_atomic(loads, contended):
    """Warps wait for 5,000 cycles for each atomic and, once, for the loads before it: memory alone takes no 2,000."""
    lines = [f"LDG.E R{10 + one}, [R2.64+{one:#x}]" for one in range(loads)]
    evidence = evidence_of(*lines, ADD, ATOMIC, facts={loads: {"waits": {"long_scoreboard": 50}}})
    issued = Series(BY_NAME["duration_ns"], "smsp__inst_issued.sum", Readings([100.0]))
    profile = replace(evidence.profile, raw={"smsp__inst_issued.sum": issued})
    figures = {"mem_busy_pct": 10.0, "stall_long_scoreboard": 5_000.0}
    assert are_atomics_contended(profile, figures, evidence.sites) is contended
    assert not are_atomics_contended(profile, figures | {"stall_long_scoreboard": 1_900.0}, evidence.sites)
    assert not are_atomics_contended(
        profile, figures, [one for one in evidence.sites if one.kind != "atomic"]
    )


@pytest.mark.parametrize(("contended", "saved"), [(False, 0.9), (True, 0.9 / 4)])
def test_atomics_of_one_address_are_served_no_sooner_if_they_come_from_more_sms(contended, saved):
    """Three quarters of the waiting are for atomics; nine in ten SMs have no block."""
    facts = {0: {"waits": {"drain": 0}}, 2: {"waits": {"long_scoreboard": 25}}}
    figures = {"waves": 0.05, "sms": 132.0}
    evidence = evidence_of(
        ATOMIC, LOAD, ADD, facts=facts, figures=figures, grid=13, waits={"long_scoreboard": 1.0}
    )
    evidence.charged[evidence.sites[0]]["long_scoreboard"] = 75.0
    (candidate,) = grid.detect_small_grid(replace(evidence, atomics_are_contended=contended))
    assert candidate.saves == pytest.approx(saved, abs=0.02)


@pytest.mark.parametrize(("place", "saved"), [("ATOMG", 0.0), ("ATOMS", 0.9)])
def test_a_lock_is_free_no_sooner_if_more_sms_wait_for_it(place, saved):
    """All waiting is for a lock: one for all blocks in global memory, or one for each block in its shared memory."""
    lines = ["MOV R8, R9", (f"{place}.CAS R4, [R2], R8, R9", 400.0), ("ISETP.NE.AND P0, PT, R4, RZ, PT", 400.0), ("@P0 BRA 0x10", 400.0)]  # fmt: skip
    figures = {"waves": 0.05, "sms": 132.0}
    facts = {2: {"waits": {"long_scoreboard": 100}}}
    evidence = evidence_of(*lines, facts=facts, figures=figures, grid=13)
    (candidate,) = grid.detect_small_grid(add_retries(evidence))
    assert candidate.saves == pytest.approx(saved, abs=0.02)


@pytest.mark.parametrize(
    ("access", "waits"), [("LDG.E R4, [R8.64]", 31 / 32), ("ATOMG.E.ADD R4, [R8.64], R5", 0.0)]
)
def test_lanes_that_are_off_in_an_atomic_cost_nothing(access, waits):
    """Atomics are served lane by lane, and a full warp of them takes as long as 32 warps of one lane."""
    alone = active(1.0)
    evidence = evidence_of("MOV R8, R9", access, ADD, facts={0: active(32.0), 1: alone, 2: {"lanes": 32.0, "acting": 32.0, "waits": {"long_scoreboard": 10}}})  # fmt: skip
    (candidate,) = lanes.detect_idle_lanes(evidence)
    assert candidate.name == "idle-lanes"
    assert candidate.effect.waits.get("long_scoreboard", 0.0) == pytest.approx(waits)


@pytest.mark.parametrize(("passes", "saved"), [(200.0, 7 / 16), (3200.0, 0.0)])
def test_a_warp_that_reads_a_column_of_a_tile_gets_it_by_no_shuffle(passes, saved):
    """Rows that several warps store, and of which each warp reads a column, go through shared memory with or without conflicts."""
    lines = ("STS [R8], R4", "BAR.SYNC.DEFER_BLOCKING 0x0", "LDS R6, [R9]", "FADD R6, R6, R7")
    facts = {2: {"passes": passes, "ideal_passes": 100.0}, 3: {"waits": {"barrier": 10}}}
    (candidate,) = barriers.detect_barriers(evidence_of(*lines, facts=facts))
    assert candidate.effect.resources["lsu"] == pytest.approx(saved)


SUM = (
    "MOV R4, RZ",
    ("LDG.E R6, [R2.64]", 800.0),
    ("FADD R4, R4, R6", 800.0),
    ("IADD3 R2, R2, 0x4, RZ", 800.0),
)
TURN = (("STG.E [R8.64], R4", 800.0), ("@P0 BRA 0x10", 800.0), "EXIT")
CHASED = ("MOV R4, RZ", ("LDG.E.64 R2, [R2.64]", 800.0), ("FADD R4, R4, R2", 800.0), ("MOV R12, R13", 800.0))
FOUR = (
    "MOV R4, RZ",
    *((f"LDG.E R{10 + one}, [R2.64+{4 * one:#x}]", 800.0) for one in range(4)),
    ("FADD R4, R4, R10", 800.0),
    ("IADD3 R2, R2, 0x10, RZ", 800.0),
)


@pytest.mark.parametrize(("loop", "saved"), [(SUM, 3 / 4), (CHASED, 0.0), (FOUR, 0.0)])
def test_without_a_store_in_each_turn_the_loads_of_four_turns_are_issued_together(loop, saved):
    """The compiler moves no load before a store that may change what it reads; a list has to be followed one by one all the same."""
    add = next(place for place, line in enumerate(loop) if "FADD" in line[0])
    evidence = evidence_of(*loop, *TURN, facts={add: {"waits": {"long_scoreboard": 100}}})
    (candidate,) = redundant_stores.detect_redundant_stores(evidence)
    assert candidate.effect.waits.get("long_scoreboard", 0.0) == pytest.approx(saved)


@pytest.mark.parametrize(("low_part", "spared"), [(False, []), (True, [1 - 9 / 69])])
def test_the_three_multiplications_by_which_a_power_takes_its_logarithm_are_one_function(low_part, spared):
    """Without the low part of log2(e), they are three exponentials in their fast forms."""
    logarithm = ["FFMA R1, R2, 1.4426950216293334961, R1"] * 3
    rest = ["FFMA R1, R2, 1.9251366722983220825e-08, R1"] if low_part else ["FFMA R1, R2, R3, R1"]
    exponential = ["FFMA R1, R2, R1, 0.69314718246459960938", *["FFMA R3, R1, R3, R3"] * 63]
    exponential.append("FFMA R1, R2, R4, 0.0013391353422775864601" if low_part else exponential[-1])
    evidence = evidence_of(*logarithm, *rest, *exponential, line=7)
    found = special_functions.detect_special_functions(evidence)
    assert [one.effect.resources["issue"] for one in found] == pytest.approx(spared)


@pytest.mark.parametrize(
    ("width", "sectors", "acting", "served"),
    [
        (".128", 1600.0, 8.0, 3 / 4),  # a quarter of the lanes have an element
        (".128", 1600.0, 32.0, 0.0),
        ("", 100.0, 32.0, 0.0),  # the index that all lanes load is work for none of them, and nothing else is loaded
    ],
)  # fmt: skip
def test_code_without_a_barrier_serves_the_lanes_that_access_memory_in_it(width, sectors, acting, served):
    """Whole warps may have nothing to do, as where a program of 1,024 elements works on rows of 100."""
    lines = ("IMAD R9, R2, 0x190, RZ", "LDG.E R2, [R6.64]", f"@!P0 LDG.E{width} R8, [R2.64]", "EXIT")
    facts = {
        1: {"lanes": 32.0, "acting": 32.0, "sectors": 100.0, "ideal_sectors": 100.0},
        2: {"lanes": 32.0, "acting": acting, "sectors": sectors, "ideal_sectors": sectors},
    } | {place: active(32.0) for place in (0, 3)}
    evidence = evidence_of(*lines, facts=facts)
    _, idle = lanes.find_idle(evidence)
    assert idle.get(evidence.sites[0], 0.0) == pytest.approx(served)
    assert bool(list(lanes.detect_idle_lanes(evidence))) == bool(served)


ROOT = (
    "MUFU.RSQ R2, R21",
    "IADD3 R0, R21, {}, RZ",
    "ISETP.GT.U32.AND P0, PT, R0, 0x727fffff, PT",
    "@!P0 BRA 0x310",
    "FMUL.FTZ R0, R21, R2",
    "FMUL.FTZ R2, R2, 0.5",
    "FFMA R17, -R0, R0, R21",
    "FFMA R0, R17, R2, R0",
    "BSSY B1, 0x360",
    "BSYNC B1",
)


@pytest.mark.parametrize(("added", "is_root"), [("-0xd000000", True), ("-0xc000000", False)])
@pytest.mark.parametrize("more", [0, 30])
def test_a_precise_root_is_known_by_its_test_and_takes_ten_instructions_of_its_line(added, is_root, more):
    """An approximate root takes four at most, so that six of ten go, however much else the line does."""
    evidence = evidence_of(*(line.format(added) for line in ROOT), *["FFMA R3, R4, R3, R3"] * more, line=7)
    found = [one.effect.resources["issue"] for one in special_functions.detect_special_functions(evidence)]
    assert found == ([pytest.approx(6 / (10 + more))] if is_root else [])


@pytest.mark.parametrize(("reason", "launched"), [("wait", 0.98), ("long_scoreboard", 0.0), ("drain", 0.0)])
def test_warps_that_wait_for_memory_would_wait_no_less_in_the_places_between_blocks(reason, launched):
    evidence = evidence_of(LOAD, ADD, figures={"waves": 100.0}, waits={reason: 1.0})
    (candidate,) = little_work.detect_little_work(evidence)
    assert candidate.effect.resources["launch"] == pytest.approx(launched)


@pytest.mark.parametrize(
    ("counting", "spared"),
    [
        ("LOP3.LUT R5, R4, 0x1, RZ, 0xc0, !PT", 3 / 4 * 6 / 46),  # of the loaded value: for each element
        ("LOP3.LUT R5, R7, 0x1, RZ, 0xc0, !PT", 3 / 4 * 46 / 46),
    ],
)
def test_a_wider_access_saves_nothing_of_what_is_computed_from_each_element(counting, spared):
    lines = (
        "S2R R7, SR_CTAID.X",
        "IMAD.WIDE R2, R7, 0x4, R2",
        LOAD,
        *[counting] * 40,
        "IMAD.WIDE R8, R7, 0x4, R8",
        "STG.E [R8.64], R5",
        "EXIT",
    )
    whole = TOGETHER
    facts = {2: {**whole, "waits": {"long_scoreboard": 9}}, len(lines) - 2: whole}
    (candidate,) = narrow_accesses.detect_narrow(evidence_of(*lines, facts=facts))
    assert candidate.effect.resources["issue"] == pytest.approx(spared)


@pytest.mark.parametrize(("integers", "kept"), [(0, 0.8), (30, 0.2)])
def test_integers_on_the_fma_pipe_compute_addresses_and_hold_no_bound(integers, kept):
    """Where loads go, the multiplications of their indices go too; those of floats stay."""
    evidence = evidence_of(LOAD, *["FFMA R5, R4, R6, R5"] * 10, *["IMAD R2, R3, R4, R2"] * integers)
    model = model_time(
        evidence.profile, {"fma_pipe_pct": 80.0}, evidence.sites, {"long_scoreboard": 1.0}, evidence.charged
    )
    bound, limit = model.bound(Effect(), CAUSES["redundant-global-loads"].leaves)
    assert (1 - bound, limit) == (pytest.approx(kept), "fma")


@pytest.mark.parametrize(("executed", "of_some"), [(100.0, None), (25.0, 0.75)])
def test_what_a_quarter_of_the_warps_wait_for_before_a_barrier_the_others_wait_for_there(executed, of_some):
    barrier = ("BAR.SYNC.DEFER_BLOCKING 0x0", 100.0)
    lines = [(LOAD, executed), (ADD, executed), barrier, ("STG.E [R2.64], R5", 10.0)]
    evidence = evidence_of(*lines, facts={1: {"waits": {"long_scoreboard": 50}}, 3: {"waits": {"wait": 9}}})
    model = model_time(evidence.profile, {}, evidence.sites, {"long_scoreboard": 1.0}, evidence.charged)
    # What stands behind the last barrier is waited for at none.
    assert model.places.of_some == ({} if of_some is None else {"long_scoreboard": pytest.approx(of_some)})


def test_no_barrier_of_another_function_waits_for_what_stands_before_it_in_the_file():
    lines = [(LOAD, 25.0), (ADD, 25.0), ("BAR.SYNC.DEFER_BLOCKING 0x0", 100.0)]
    evidence = evidence_of(*lines, facts={1: {"waits": {"long_scoreboard": 50}}})
    evidence.sites[-1].function += 1
    model = model_time(evidence.profile, {}, evidence.sites, {"long_scoreboard": 1.0}, evidence.charged)
    assert model.places.of_some == {}


def test_who_waits_behind_contended_atomics_waits_in_their_queue():
    evidence = evidence_of(ATOMIC, LOAD, ADD, facts={2: {"waits": {"long_scoreboard": 50}}})
    model = model_time(evidence.profile, {}, evidence.sites, {"long_scoreboard": 1.0}, evidence.charged, True)
    assert model.places.of_some["long_scoreboard"] == model.places.unloaded["long_scoreboard"] == 1.0


@pytest.mark.parametrize(("beside", "gone"), [([], 1.0), (["LDG.E R6, [R8.64]"], 0.0)])
def test_who_waits_for_another_load_as_well_waits_for_it_when_a_repeated_one_is_gone(beside, gone):
    """The second load repeats the first; what the product needs beside it, if anything, arrives as late as before."""
    lines = ["LDG.E R4, [R2.64]", "FADD R5, R5, R4", *beside, "LDG.E R7, [R2.64]", "FFMA R5, R6, R7, R5"]
    facts = {1: {"waits": {"long_scoreboard": 10}}, len(lines) - 1: {"waits": {"long_scoreboard": 90}}}
    (candidate,) = redundant_loads.detect_redundant_loads(evidence_of(*lines, facts=facts))
    assert candidate.effect.waits["long_scoreboard"] == pytest.approx(0.9 * gone)
    assert candidate.effect.lighter["long_scoreboard"] == pytest.approx(0.9)


@pytest.mark.parametrize(
    ("opcode", "loads", "latency", "gone"),
    [
        ("LDG.E", 3, 0.0, 7 / 8),  # few loads: most of the waiting ends, whatever it is
        ("LDG.E.128", 4, 0.0, 1 / 4),
        ("LDG.E.128", 4, 1.0, 3 / 4),  # they take 16 of 64 registers
        ("LDG.E.128", 4, 0.5, 3 / 8),  # what is a queue stays
        ("LDG.E.128", 12, 1.0, 1 / 4),
        ("LDG.E.128", 20, 1.0, 1 / 4),
        ("LDG.E", 16, 1.0, 3 / 4),
        ("LDG.E.U8", 16, 1.0, 3 / 4),  # a byte takes a whole register
        ("LDG.E", 48, 1.0, 1 / 4),
    ],
)
def test_more_than_four_loads_under_way_hide_more_of_the_latency_and_nothing_of_the_queues(
    opcode, loads, latency, gone
):
    lines = [f"{opcode} R{10 + 4 * one}, [R2.64+{16 * one:#x}]" for one in range(loads)]
    facts = {loads: {"waits": {"long_scoreboard": 50}}}
    evidence = evidence_of(
        *lines, "FADD R5, R5, R10", facts=facts, places=Places({"long_scoreboard": latency})
    )
    (candidate,) = unoverlapped_loads.detect_unoverlapped_loads(evidence)
    assert candidate.effect.waits["long_scoreboard"] == pytest.approx(gone)


@pytest.mark.parametrize(("busy", "saved"), [(0.2, 0.25), (0.9, 0.1)])
def test_an_even_last_round_gives_the_busiest_resource_no_less_to_do(busy, saved):
    figures = {"waves": 1.5, "occupancy_pct": 37.5, "occupancy_limit_pct": 50.0}
    evidence = evidence_of(LOAD, ADD, busy={"alu": busy}, figures=figures)
    (candidate,) = grid.detect_last_wave(evidence)
    assert candidate.saves == pytest.approx(saved)
    assert candidate.at_most == pytest.approx(0.25)


def test_the_smallest_of_two_keys_is_a_result_and_finds_no_data():
    lines = ["VIMNMX R4, R5, R6, PT", "VIMNMX R5, R5, R6, !PT"] * 20
    assert list(integer_overhead.detect_integer_overhead(evidence_of(LOAD, *lines))) == []


# One SM, which could have multiplied integers for 2,000 warps.
SM_CYCLES = {"sm_cycles": 1_000.0}


@pytest.mark.parametrize(("capability", "busy"), [("9.0", 0.5), ("8.6", 0.5), ("12.0", None)])
def test_integers_are_multiplied_by_half_of_the_pipe_of_the_gpus_that_are_known_to_do_so(capability, busy):
    evidence = evidence_of(*["IMAD R2, R3, R4, R2"] * 10)
    rows = [{"launch": 0, "compute_capability": capability}]
    run = SimpleNamespace(columns=lambda *_: pa.Table.from_pylist(rows))
    model = model_time(
        replace(evidence.profile, run=run), SM_CYCLES, evidence.sites, {"wait": 1.0}, evidence.charged
    )
    assert model.busy.get("fma_heavy") == busy


@pytest.mark.parametrize(("lanes", "kept"), [(32.0, 0.4), (16.0, 0.2)])
def test_lanes_that_become_neighbours_may_also_share_out_what_few_of_them_execute(lanes, kept):
    """Instructions are issued for 40 % of the time, all of them for so many lanes."""
    facts = {0: {"passes": 800.0, "ideal_passes": 100.0, "lanes": lanes}, 1: {"lanes": lanes}}
    evidence = evidence_of("LDS R4, [R2]", ADD, facts=facts, busy={"issue": 0.4})
    (candidate,) = detect_bank_conflicts(evidence)
    leaves = CAUSES["bank-conflicts"].leaves
    bound, limit = evidence.model.bound(candidate.effect, leaves, candidate.regrouped)
    assert (1 - bound, limit) == (pytest.approx(kept), "issue")
