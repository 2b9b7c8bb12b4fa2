"""How waiting for a queue is divided among those who fill it."""

from dataclasses import replace

import pytest
from made_evidence import evidence_of

from profiler.analyse.causes.evidence.charging import are_atomics_contended, charge_waits, count_waits
from profiler.analyse.recording.profile import Series
from profiler.analyse.statistics.differences import Readings
from profiler.catalog.metrics import BY_NAME


def test_without_samples_few_special_functions_do_not_cause_the_waiting_for_many_shuffles():
    """Results of both come behind the same scoreboard, as those of special registers and of indexed constants do."""
    lines = [("MUFU.RSQ R5, R6", 10), ("SHFL.BFLY PT, R4, R5, 0x1, 0x1f", 70), ("S2R R7, SR_TID.X", 10), ("LDC R8, c[0x0][R7]", 10)]  # fmt: skip
    evidence = evidence_of(*lines, ("FADD R5, R5, R4", 1000))
    charged = charge_waits(evidence.profile, evidence.sites, {"short_scoreboard": 1.0}, contended=False)
    shares = [charged[site]["short_scoreboard"] for site in evidence.sites]
    assert shares == pytest.approx([0.1, 0.7, 0.1, 0.1, 0.0])


def test_a_special_function_holds_the_queue_it_shares_with_shared_memory_up_for_two_cycles():
    evidence = evidence_of("LDS R4, [R2]", "MUFU.EX2 R5, R6", "F2F.F64.F32 R8, R7", "FADD R5, R5, R4")
    charged = charge_waits(evidence.profile, evidence.sites, {"mio_throttle": 1.0}, contended=False)
    shares = [charged[site]["mio_throttle"] for site in evidence.sites]
    assert shares == pytest.approx([0.2, 0.4, 0.4, 0.0])


@pytest.mark.parametrize(("acting", "share"), [(0.25, 0.2), (1.5, 0.5), (None, 0.5)])
def test_without_samples_warps_do_not_wait_for_an_access_that_all_their_lanes_pass_by(acting, share):
    """A quarter of a lane on average acts in a quarter of the warps at most."""
    evidence = evidence_of("LDG.E R4, [R2.64]", "@!P0 LDG.E R5, [R2.64+0x4]", facts={1: {"acting": acting}})
    charged = charge_waits(evidence.profile, evidence.sites, {"long_scoreboard": 1.0}, contended=False)
    assert charged[evidence.sites[1]]["long_scoreboard"] == pytest.approx(share)


@pytest.mark.parametrize(("sectors", "share"), [(4.0, 1 / 2), (32.0, 29 / 30)])
def test_a_load_whose_lanes_lie_apart_holds_the_queue_up_for_each_sector_too_many(sectors, share):
    """L1 looks up a line of four sectors a cycle: one for neighbours that load 4 bytes each."""
    facts = {0: {"sectors": 100 * sectors, "ideal_sectors": 400.0}}
    evidence = evidence_of("LDG.E R4, [R2.64]", "S2R R7, SR_TID.X", facts=facts)
    charged = charge_waits(evidence.profile, evidence.sites, {"mio_throttle": 1.0}, contended=False)
    assert charged[evidence.sites[0]]["mio_throttle"] == pytest.approx(share)


def test_those_who_wait_for_a_pipe_wait_for_all_who_fill_it_and_not_for_another_pipe():
    """New warps wait at their first addition, because the scheduler prefers those that have begun."""
    lines = [("IADD3 R2, R2, R8, RZ", 10), ("LOP3.LUT R3, R3, R2, RZ, 0xc0, !PT", 990), ("FADD R5, R5, R4", 1000)]  # fmt: skip
    facts = {place: {"waits": {"math_pipe_throttle": count}} for place, count in enumerate((90, 10, 7))}
    evidence = evidence_of(*lines, facts=facts)
    charged = charge_waits(evidence.profile, evidence.sites, {"math_pipe_throttle": 1.0}, contended=False)
    assert [charged[site]["math_pipe_throttle"] for site in evidence.sites] == pytest.approx([1, 99, 7])


def issuing(evidence, count):
    """The profile of the evidence, in which so many instructions were issued."""
    name = "smsp__inst_issued.sum"
    profile = replace(evidence.profile, raw={name: Series(BY_NAME["duration_ns"], name, Readings([count]))})
    vars(profile)["code"] = evidence.profile.code
    return profile


@pytest.mark.parametrize(
    ("atomic", "latency", "busy", "waits_behind_it"),
    [
        ("ATOMG.E.ADD R9, [R8.64], R4", 2_010.0, 49.0, True),
        ("ATOMG.E.ADD R9, [R8.64], R4", 1_990.0, 49.0, False),  # memory alone may take as long
        ("ATOMG.E.ADD R9, [R8.64], R4", 2_010.0, 51.0, False),  # and longer, where it is busy
        ("RED.E.ADD [R8.64], R4", 1_010.0, 49.0, True),  # all wait for the loads alone
        ("RED.E.ADD [R8.64], R4", 990.0, 49.0, False),
    ],
)
def test_a_load_that_waits_for_longer_than_memory_takes_waits_behind_atomics(atomic, latency, busy, waits_behind_it):  # fmt: skip
    """200 requests and as many instructions, so that the waiting for each instruction is that for each request, if its result is asked for."""
    evidence = evidence_of(atomic, "LDG.E R4, [R2.64]", "FADD R5, R5, R4",
                           facts={2: {"waits": {"long_scoreboard": 50}}})  # fmt: skip
    profile = issuing(evidence, 200.0)
    figures = {"mem_busy_pct": busy, "stall_long_scoreboard": latency}
    charged = charge_waits(
        profile,
        evidence.sites,
        {"long_scoreboard": 1.0},
        are_atomics_contended(profile, figures, evidence.sites),
    )
    assert [site.kind for site in evidence.sites if charged[site].total] == [
        "atomic" if waits_behind_it else "global load"
    ]


@pytest.mark.parametrize(("l2", "contended"), [(49.0, True), (51.0, False)])
def test_a_busy_l2_keeps_requests_as_long_as_a_contended_atomic(l2, contended):
    """What all units of memory have in common is less: it leaves out the links between L2 and the SMs."""
    evidence = evidence_of("ATOMG.E.ADD R9, [R8.64], R4", "LDG.E R4, [R2.64]", "FADD R5, R5, R4")
    figures = {"mem_busy_pct": 39.0, "l2_pct": l2, "stall_long_scoreboard": 2_010.0}
    assert are_atomics_contended(issuing(evidence, 200.0), figures, evidence.sites) == contended


@pytest.mark.parametrize("loads", [0, 1, 8])
def test_loads_that_are_issued_together_wait_once_behind_an_atomic(loads):
    """Warps wait for 5,000 cycles for each atomic and, once, for the loads before it: memory alone takes no 2,000."""
    lines = [f"LDG.E R{10 + one}, [R2.64+{one:#x}]" for one in range(loads)]
    lines += ["FADD R5, R5, R4", "RED.E.ADD [R8.64], R5"]
    evidence = evidence_of(*lines, facts={loads: {"waits": {"long_scoreboard": 50}}})
    profile = issuing(evidence, 100.0)
    figures = {"mem_busy_pct": 10.0, "stall_long_scoreboard": 5_000.0}
    assert are_atomics_contended(profile, figures, evidence.sites)
    assert not are_atomics_contended(profile, figures | {"stall_long_scoreboard": 1_900.0}, evidence.sites)
    assert not are_atomics_contended(
        profile, figures, [one for one in evidence.sites if one.kind != "atomic"]
    )


@pytest.mark.parametrize(
    ("latency", "hits", "l1", "sectors", "contended"),
    [
        (1_100.0, 50.0, 40.0, 400.0, True),  # 2,000 for the half that misses, and 115 for the other one
        (1_000.0, 50.0, 40.0, 400.0, False),
        (1_100.0, 10.0, 40.0, 400.0, False),  # most miss
        (1_100.0, 50.0, 60.0, 400.0, False),  # where L1 is busy, its hits take long, too
        (1_100.0, 50.0, 40.0, 800.0, False),  # who waits for several lines seldom finds all of them there
    ],
)
def test_loads_that_l1_answers_do_not_wait_behind_atomics(latency, hits, l1, sectors, contended):
    """100 loads of four sectors each, if side by side."""
    facts = {1: {"sectors": sectors, "ideal_sectors": 400.0}, 2: {"waits": {"long_scoreboard": 50}}}
    evidence = evidence_of("RED.E.ADD [R8.64], R4", "LDG.E R4, [R2.64]", "FADD R5, R5, R4", facts=facts)
    figures = {"mem_busy_pct": 10.0, "stall_long_scoreboard": latency, "l1_hit_pct": hits, "l1_pct": l1}
    assert are_atomics_contended(issuing(evidence, 100.0), figures, evidence.sites) == contended


@pytest.mark.parametrize(
    ("reason", "contended"), [("lg_throttle", True), ("mio_throttle", True), ("short_scoreboard", False)]
)
def test_waits_for_constants_say_nothing_of_atomics_beside_them(reason, contended):
    """They come behind the short scoreboard, as often as there are constants, and not once for each request to memory."""
    evidence = evidence_of("LDC R6, c[0x3][R7]", "RED.E.ADD [R8.64], R4")
    figures = {"mem_busy_pct": 10.0, f"stall_{reason}": 2_010.0}
    assert are_atomics_contended(issuing(evidence, 200.0), figures, evidence.sites) == contended


@pytest.mark.parametrize(
    ("needed", "waits"),
    [
        ("R5", 200),  # requested before the first wait, and so on its way for as long
        ("R6", 300),  # requested after it
        ("R9", 300),  # not known
    ],
)
def test_what_was_requested_before_a_wait_is_on_its_way_meanwhile(needed, waits):
    before = ("LDG.E R4, [R2.64]", "LDG.E R5, [R2.64+0x4]", "FADD R7, R7, R4", "LDG.E R6, [R2.64+0x8]")
    lines = (*before, f"FADD R8, R8, {needed}", "LDG.E R10, [R2.64+0xc]", "FADD R8, R8, R10")
    waiting = {"waits": {"long_scoreboard": 9}}
    sites = evidence_of(*lines, facts={2: waiting, 4: waiting, 6: waiting}).sites
    assert sum(count_waits(sites, "long_scoreboard", ("global load",)).values()) == waits


@pytest.mark.parametrize(
    ("other", "lines"),
    [
        ("LDG.E R5, [R2.64+0x7c]", 1),  # the last word of the same line
        ("LDG.E R5, [R2.64+0x80]", 2),
        ("LDG.E R5, [R6.64]", 2),
        ("RED.E.ADD [R6.64], R9", 1),  # nobody waits for what returns nothing
    ],
)
def test_a_wait_is_for_as_many_lines_as_loads_lie_in(other, lines):
    sites = evidence_of(
        "LDG.E R4, [R2.64]", other, "FADD R7, R7, R4", facts={2: {"waits": {"long_scoreboard": 9}}}
    ).sites
    waits = count_waits(sites, "long_scoreboard", ("global load", "atomic"))
    assert {count: often for count, often in waits.items() if often} == {lines: 100}
