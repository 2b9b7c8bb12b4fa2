"""Whom an instruction waits for: waiting is charged to what produces the result, not to the one that stalls."""

from collections import Counter

import pytest
from hypothesis import given, strategies as st
from made_evidence import code_of, sites_of

from profiler.analyse.causes.evidence.blame import charge


def charged_places(*lines, waits):
    """`{place: samples}` of each reason, for waits by the place of the instruction that stalls."""
    code = code_of(*lines)
    sites = sites_of(code, {place: {"waits": reasons} for place, reasons in waits.items()})
    return {site.position: dict(found) for site, found in charge(code, sites).items() if found}


def test_the_load_is_charged_and_not_the_addition_that_waits_for_it():
    lines = ("LDG.E R4, [R2.64]", "LDG.E R6, [R8.64]", "FADD R5, R5, R4", "EXIT")
    assert charged_places(*lines, waits={2: {"long_scoreboard": 9}}) == {0: {"long_scoreboard": 9}}


def test_a_load_at_the_end_of_a_loop_is_charged_for_what_waits_at_its_start():
    lines = ("MOV R4, RZ", "FADD R5, R5, R4", "LDG.E R4, [R2.64]", "@P0 BRA 0x10", "EXIT")
    assert charged_places(*lines, waits={1: {"long_scoreboard": 9}}) == {2: {"long_scoreboard": 9}}


def loop_after(first, turns, waiting, last, acting=None):
    """Returns what is charged for a wait at the start of a loop, if one access stands before the loop and one at its end."""
    lines = (first, (waiting, 100 * turns), (last, 100 * turns), ("@P0 BRA 0x10", 100 * turns), "EXIT")
    facts = {1: {"waits": {"long_scoreboard": 9}}, 2: {"acting": acting}}
    code = code_of(*lines)
    return {
        site.position: dict(found) for site, found in charge(code, sites_of(code, facts)).items() if found
    }


@pytest.mark.parametrize(("turns", "place"), [(10.0, 2), (2.0, 2), (1.5, 0)])
def test_what_was_loaded_before_a_loop_is_waited_for_in_its_first_turn_only(turns, place):
    loads = ("LDG.E R4, [R2.64]", turns, "FADD R5, R5, R4", "LDG.E R4, [R8.64]")
    assert loop_after(*loads) == {place: {"long_scoreboard": 9}}
    copies = ("LDGSTS.E [R4], [R2.64]", turns, "DEPBAR.LE SB0, 0x0", "LDGSTS.E [R4], [R8.64]")
    assert loop_after(*copies) == {place: {"long_scoreboard": 9}}


@pytest.mark.parametrize(("acting", "place"), [(32.0, 2), (1.0, 2), (0.25, 0)])
def test_a_warp_waits_for_no_copy_in_which_none_of_its_lanes_acts(acting, place):
    copies = ("LDGSTS.E.BYPASS.128 [R4], [R2.64]", 10.0, "DEPBAR.LE SB0, 0x0", "@P0 LDGSTS.E [R4], [R8.64]")
    assert loop_after(*copies, acting=acting) == {place: {"long_scoreboard": 9}}


def test_the_upper_half_of_an_address_is_a_register_that_is_read():
    lines = ("LDG.E R3, [R8.64]", "LDG.E R6, [R10.64]", "LDG.E R4, [R2.64]", "EXIT")
    assert charged_places(*lines, waits={2: {"long_scoreboard": 9}}) == {0: {"long_scoreboard": 9}}


def test_shared_memory_and_special_functions_are_behind_short_scoreboards():
    lines = ("LDG.E R4, [R2.64]", "LDS R6, [R8]", "MUFU.EX2 R7, R9", "FADD R5, R6, R7", "EXIT")
    assert charged_places(*lines, waits={3: {"short_scoreboard": 9}}) == {2: {"short_scoreboard": 9}}


def test_a_conversion_that_takes_a_fixed_time_is_waited_for_behind_no_scoreboard():
    lines = ("LDS R6, [R8]", "{} R7, R9", "FADD R5, R6, R7", "EXIT")
    for conversion, place in (("I2F.U32", 1), ("I2FP.F32.U32", 0), ("F2FP.F16.F32.PACK_AB", 0)):
        code = [line.format(conversion) for line in lines]
        assert charged_places(*code, waits={2: {"short_scoreboard": 9}}) == {place: {"short_scoreboard": 9}}


def test_a_warp_seen_after_a_barrier_waits_for_the_barrier():
    lines = ("BAR.SYNC.DEFER_BLOCKING 0x0", "LDS R6, [R8]", "EXIT")
    assert charged_places(*lines, waits={1: {"barrier": 9}}) == {0: {"barrier": 9}}


def test_a_wait_that_nothing_before_explains_stays_where_it_was_seen():
    lines = ("MOV R4, RZ", "FADD R5, R5, R4", "EXIT")
    assert charged_places(*lines, waits={1: {"long_scoreboard": 9, "wait": 2}}) == {
        1: {"long_scoreboard": 9, "wait": 2}
    }


LINES = ("LDG.E R4, [R2.64]", "LDS R6, [R8]", "FADD R5, R5, R4", "BAR.SYNC.DEFER_BLOCKING 0x0", "@P0 BRA 0x10", "EXIT")  # fmt: skip
some_waits = st.dictionaries(
    st.sampled_from(["long_scoreboard", "short_scoreboard", "barrier", "wait"]), st.integers(1, 50)
)


@given(st.dictionaries(st.integers(0, len(LINES) - 1), some_waits))
def test_every_sample_is_charged_to_one_instruction(waits):
    total = sum((Counter(reasons) for reasons in waits.values()), Counter())
    charged = charged_places(*LINES, waits=waits).values()
    assert sum((Counter(found) for found in charged), Counter()) == total


COPIES = ("LDGSTS.E.BYPASS.128 [R4], [R2.64]", "LDGDEPBAR", "DEPBAR.LE SB0, 0x1", "EXIT")


@pytest.mark.parametrize("waiting", [1, 2])
def test_who_waits_for_a_group_of_copies_waits_for_the_copies_and_not_for_what_ends_the_group(waiting):
    waits = {waiting: {"long_scoreboard": 9}}
    assert charged_places(*COPIES, waits=waits) == {0: {"long_scoreboard": 9}}


GROUP = (
    "BAR.SYNC.DEFER_BLOCKING 0x0",
    "FADD R1, R1, R1",
    "WARPGROUP.ARRIVE",
    "HGMMA.64x64x16.F32 R56, gdesc[UR12], R56",
    "WARPGROUP.DEPBAR.LE gsb0, 0x0",
    "FADD R56, R56, R56",
    "EXIT",
)


def test_warps_that_meet_at_a_product_of_four_warps_do_not_wait_at_a_barrier():
    waits = {1: {"barrier": 9}, 2: {"barrier": 5}, 4: {"barrier": 7}}
    assert charged_places(*GROUP, waits=waits) == {0: {"barrier": 9}, 3: {"barrier": 12}}


def test_the_instruction_right_after_a_barrier_waits_at_it_whatever_it_is():
    assert charged_places(GROUP[0], *GROUP[2:], waits={1: {"barrier": 9}}) == {0: {"barrier": 9}}
