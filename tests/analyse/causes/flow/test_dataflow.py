"""Following registers finds lists, fixed addresses, and what every block computes alike."""

from dataclasses import replace

import pytest
from made_evidence import active, evidence_of

from profiler.analyse.causes.flow.block_sharing import find_block_independent
from profiler.analyse.causes.flow.dataflow import (
    OF_BLOCK,
    find_address_work,
    find_processing,
    sources_of,
)
from profiler.analyse.causes.flow.depending import find_depending
from profiler.analyse.causes.flow.loop_carried import is_carried
from profiler.analyse.causes.flow.memory.repeated_loads import find_loads_kept_apart, find_repeated_loads

LIST = (("MOV R2, R8", 10), ("LDG.E.64 R2, [R2.64]", 1000), ("ISETP.NE.AND P0, PT, R2, RZ, PT", 1000), ("@P0 BRA 0x10", 1000), ("EXIT", 10))  # fmt: skip
ARRAY = (("MOV R2, R8", 10), ("LDG.E R4, [R2.64]", 1000), ("IADD3 R2, R2, 0x4, RZ", 1000), ("@P0 BRA 0x10", 1000), ("EXIT", 10))  # fmt: skip


def test_a_load_whose_address_it_loaded_itself_follows_a_list():
    evidence = evidence_of(*LIST)
    assert is_carried(evidence, evidence.sites[1])


def test_a_load_whose_address_is_counted_up_does_not():
    evidence = evidence_of(*ARRAY)
    assert not is_carried(evidence, evidence.sites[1])


def test_the_same_address_loaded_twice_is_repeated():
    evidence = evidence_of("MOV R2, R8", "LDG.E R4, [R2.64]", "LDG.E R5, [R2.64]", "EXIT")
    assert find_repeated_loads(evidence) == [evidence.sites[2]]


def test_an_address_that_was_changed_between_is_not_the_same():
    evidence = evidence_of("MOV R2, R8", "LDG.E R4, [R2.64]", "MOV R2, R9", "LDG.E R5, [R2.64]", "EXIT")
    assert find_repeated_loads(evidence) == []


@pytest.mark.parametrize(
    ("first", "acting", "second", "repeats"),
    [
        ("@!P1 LDG.E R4, [R2.64]", 32.0, "LDG.E R5, [R2.64]", 1),  # behind a branch, which needs no predicate
        ("@!P1 LDG.E R4, [R2.64]", 31.0, "LDG.E R5, [R2.64]", 0),  # brings what some lanes lack
        ("@!P1 LDG.E R4, [R2.64]", 31.0, "@!P1 LDG.E R5, [R2.64]", 1),
        ("LDG.E R4, [R2.64]", 32.0, "@P1 LDG.E R5, [R2.64]", 1),
    ],
)
def test_what_all_lanes_have_is_loaded_again_under_any_predicate(first, acting, second, repeats):
    evidence = evidence_of("MOV R2, R8", first, second, "EXIT", facts={1: active(acting, of=32.0)})
    assert len(find_repeated_loads(evidence)) == repeats


@pytest.mark.parametrize(
    ("facts", "are_counted", "repeats"),
    [
        (active(32.0), True, 1),
        (active(32.0), False, 0),  # the mean of all instructions
        ({}, True, 0),
        ({}, False, 0),
    ],
)
@pytest.mark.parametrize(("find", "load"), [(find_repeated_loads, "LDG.E"), (find_loads_kept_apart, "LDS")])
def test_lanes_that_were_not_counted_are_not_known_to_be_all(facts, are_counted, repeats, find, load):
    """The two sides of a choice load the same for different lanes, unless one of them is taken by all."""
    both = (f"@P1 {load} R4, [R2]", f"@!P1 {load} R4, [R2]")
    evidence = evidence_of("MOV R2, R8", *both, "EXIT", facts={1: facts})
    assert len(find(replace(evidence, has_costs=are_counted))) == repeats


def test_only_what_leads_to_an_address_is_address_work():
    evidence = evidence_of("IMAD R0, R1, 0x4, R3", "IADD3 R2, R0, R8, RZ", "IADD3 R9, R10, R11, RZ", "LDG.E R4, [R2]")  # fmt: skip
    assert find_address_work(evidence) == set(evidence.sites[:2])


@pytest.mark.parametrize(
    ("second", "is_processing"),
    [
        ("ISETP.NE.AND P0, PT, R0, RZ, PT", False),  # P0 held a test of data, and is written anew
        ("ISETP.NE.AND P0, PT, R0, RZ, P0", True),
        ("@P0 IADD3 R0, R0, 0x1, RZ", True),
        ("@P0 BRA 0x40", True),
    ],
)
def test_a_predicate_that_is_written_anew_processes_nothing_of_what_it_held(second, is_processing):
    evidence = evidence_of("LDG.E R4, [R2.64]", "ISETP.GT.AND P0, PT, R4, RZ, PT", second, "NOP", "EXIT")
    assert (evidence.sites[2] in find_processing(evidence)) == is_processing


def test_code_that_every_block_repeats_comes_before_code_that_depends_on_the_blocks_index():
    evidence = evidence_of("S2R R1, SR_TID.X", "FADD R4, R5, R6", "S2R R0, SR_CTAID.X", "IMAD R2, R0, 0x100, R1", "FADD R7, R2, R4")  # fmt: skip
    assert find_block_independent(evidence, OF_BLOCK) == list(evidence.sites[:2])


def test_a_loop_in_which_anything_depends_on_the_block_is_its_own_work():
    evidence = evidence_of("S2R R0, SR_CTAID.X", "FADD R4, R4, R6", "IADD3 R0, R0, 0x1, RZ", "@P0 BRA 0x10", "EXIT")  # fmt: skip
    assert evidence.sites[1] not in find_block_independent(evidence, OF_BLOCK)


@pytest.mark.parametrize(
    ("passing_by", "depends"),
    [
        ("@!P0 BRA 0x50", True),  # for the numbers that need it
        ("MOV R8, R8", False),  # for all: the result is another one
    ],
)
def test_what_a_branch_may_pass_by_leaves_the_result_of_the_others(passing_by, depends):
    evidence = evidence_of(
        "S2R R2, SR_TID.Y", "MUFU.RCP R4, R2", passing_by, "MOV R4, R9", "FMUL R6, R4, R4", "FADD R5, R4, R4"
    )  # fmt: skip
    *_, slow, after = evidence.sites
    depending = set(find_depending(evidence, evidence.sites, [], {evidence.sites[0]}))
    assert slow not in depending
    assert (after in depending) == depends


@pytest.mark.parametrize(
    ("second", "depends"),
    [
        (["@!P0 MOV R4, R9"], False),  # each lane has one of two other values
        (["@!P1 MOV R4, R9"], True),  # lanes for which neither predicate holds keep it
        (["ISETP.GE.AND P0, PT, R5, R6, PT", "@!P0 MOV R4, R9"], True),  # the predicate has changed since
        (["IADD3 R4, R4, R3, RZ", "@!P0 MOV R4, R9"], True),  # it was made anew
        (["@P0 MOV R4, R9"], True),
    ],
)
def test_what_two_opposite_predicates_replace_is_gone(second, depends):
    lines = ("LDG.E R4, [R2.64]", "@P0 MOV R4, RZ", *second, "FADD R6, R4, R4", "EXIT")
    evidence = evidence_of(*lines)
    depending = set(find_depending(evidence, evidence.sites, [], {evidence.sites[0]}))
    assert (evidence.sites[-2] in depending) == depends


@pytest.mark.parametrize(
    ("reader", "depends"),
    [
        ("@P0 FADD R6, R4, R4", False),
        ("@!P0 FADD R6, R4, R4", True),
        ("FADD R6, R4, R4", True),
        ("@P1 FADD R6, R4, R4", True),
    ],
)
def test_what_is_replaced_under_a_predicate_is_gone_for_what_reads_it_under_the_same_one(reader, depends):
    evidence = evidence_of("LDG.E R4, [R2.64]", "@P0 MOV R4, RZ", reader, "EXIT")
    depending = set(find_depending(evidence, evidence.sites, [], {evidence.sites[0]}))
    assert (evidence.sites[-2] in depending) == depends


def test_what_one_side_of_a_branch_replaces_is_there_behind_it():
    lines = ("LDG.E R4, [R2.64]", "@P1 BRA 0x30", "@P0 MOV R4, RZ", "@!P0 MOV R4, R9", "FADD R6, R4, R4", "EXIT")  # fmt: skip
    evidence = evidence_of(*lines)
    depending = set(find_depending(evidence, evidence.sites, [], {evidence.sites[0]}))
    assert evidence.sites[-2] in depending


@pytest.mark.parametrize(("lanes_taking_it", "depends"), [(0, False), (1, True), (None, True)])
def test_a_branch_that_no_lane_took_passes_nothing_by(lanes_taking_it, depends):
    evidence = evidence_of("LDG.E R4, [R2.64]", "@!P0 BRA 0x30", "MOV R4, R9", "FADD R6, R4, R4", facts={1: {"acting": lanes_taking_it}})  # fmt: skip
    depending = set(find_depending(evidence, evidence.sites, [], {evidence.sites[0]}))
    assert (evidence.sites[3] in depending) == depends


@pytest.mark.parametrize(
    ("end", "sources"),
    [
        ("@P0 BRA 0x0", ["FADD R4, R5, R5"]),  # of the turn before
        ("@P0 BRA 0x10", []),  # the loop begins behind the reader
        ("NOP", []),
    ],
)
def test_what_comes_later_is_a_source_only_in_a_loop_around_both(end, sources):
    evidence = evidence_of("FMUL R6, R4, R4", "FADD R4, R5, R5", end, "EXIT")
    reader = evidence.sites[0]
    assert [one.instruction.text for one in sources_of(evidence, reader)] == sources
    assert [one.instruction.text for one in sources_of(evidence, reader, {"R4"})] == sources
