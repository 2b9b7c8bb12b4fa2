"""Results that wait for the one before them, and what fills that time."""

import pytest
from made_evidence import LOOP, evidence_of, names

from profiler.analyse.causes.detectors.waiting import dependent_chains, unoverlapped_loads


@pytest.mark.parametrize(("registers", "found"), [(None, 1), (127.0, 1), (128.0, 0)])
def test_a_second_chain_needs_as_many_registers_again(registers, found):
    facts = {1: {"waits": {"wait": 50}}}
    figures = {} if registers is None else {"registers": registers}
    evidence = evidence_of("FMUL R4, R4, R6", "FADD R4, R4, R5", facts=facts, figures=figures)
    assert len(list(dependent_chains.detect_dependent_chain(evidence))) == found


def test_a_list_is_a_dependent_chain_and_an_array_is_loads_that_do_not_overlap():
    chased = [("MOV R2, R8", 10), ("LDG.E.64 R2, [R2.64]", 1000), (LOOP, 1000)]
    facts = {1: {"waits": {"long_scoreboard": 9}}}
    assert names(dependent_chains.detect_dependent_chain, evidence_of(*chased, facts=facts)) == [
        "dependent-chain"
    ]
    assert names(unoverlapped_loads.detect_unoverlapped_loads, evidence_of(*chased, facts=facts)) == []


@pytest.mark.parametrize(
    ("step", "is_list"),
    [
        (("IMAD.WIDE R2, R4, 0x80, R10", "NOP"), True),
        (("SHFL.IDX PT, R5, R4, RZ, 0x1f", "IMAD.WIDE R2, R5, 0x80, R10"), True),
        (("FSETP.GT.AND P1, PT, R4, R9, PT", "@P1 IADD3 R2, R2, 0x40, RZ"), False),
    ],
)
def test_a_search_compares_what_it_has_found_and_a_list_says_what_comes_next(step, is_list):
    chased = [("MOV R2, R8", 10.0), *((one, 1000.0) for one in ("LDG.E R4, [R2.64]", *step, LOOP))]
    (candidate,) = dependent_chains.detect_dependent_chain(
        evidence_of(*chased, facts={2: {"waits": {"long_scoreboard": 9}}})
    )
    assert candidate.sentence.startswith("Each of these loads takes its address from the one") == is_list
    assert ("an array instead of a list" in candidate.advice) == is_list
    assert ("compare with several keys in each step" in candidate.advice) != is_list


@pytest.mark.parametrize(
    ("sums", "chained"),
    [
        (1, True),  # each turn adds to the sum of the turn before
        (3, True),
        (16, False),  # a tile of sums, each of which has its result long since
    ],
)
def test_a_tile_of_sums_is_no_chain_however_long_the_compiler_spaces_it_out(sums, chained):
    turn = [f"FFMA R{16 + one}, R8, R9, R{16 + one}" for one in range(sums)]
    facts = {one: {"waits": {"wait": 5}} for one in range(sums)}
    evidence = evidence_of(*turn, "@P0 BRA 0x0", "EXIT", facts=facts)
    assert bool(list(dependent_chains.detect_dependent_chain(evidence))) == chained


@pytest.mark.parametrize(("others", "filled"), [(1, 1.0), (9, 10 / 55)])
def test_other_values_fill_every_gap_of_code_that_mostly_waits_for_its_chain(others, filled):
    """Ten samples wait for the sum before, and five for each of the others, which have nothing to do with each other."""
    lines = ("FADD R4, R4, R5", "FADD R4, R4, R5", *[f"IADD3 R{16 + one}, R8, R9, RZ" for one in range(others)])  # fmt: skip
    facts = {1: {"waits": {"wait": 10}}} | {2 + one: {"waits": {"wait": 5}} for one in range(others)}
    (candidate,) = dependent_chains.detect_dependent_chain(evidence_of(*lines, "EXIT", facts=facts))
    assert candidate.effect.waits["wait"] == pytest.approx(filled)


def test_a_predicate_that_was_just_tested_is_waited_for_as_a_result_is():
    lines = ("ISETP.GT.AND P2, PT, R4, R5, PT", "SEL R6, R7, R8, P2", "EXIT")
    evidence = evidence_of(*lines, facts={1: {"waits": {"wait": 10}}})
    assert list(dependent_chains.detect_dependent_chain(evidence))
    assert not list(
        dependent_chains.detect_dependent_chain(
            evidence_of(lines[0].replace("P2", "P3"), *lines[1:], facts={1: {"waits": {"wait": 10}}})
        )
    )


def test_independent_values_fill_the_latency_of_arithmetic_and_most_of_that_of_other_units():
    code = ("FADD R5, R5, R4", "FADD R5, R5, R4", "MUFU.EX2 R6, R5", "FADD R6, R6, R7")
    facts = {1: {"waits": {"wait": 10}}, 3: {"waits": {"short_scoreboard": 10}}}
    (candidate,) = dependent_chains.detect_dependent_chain(evidence_of(*code, facts=facts))
    assert candidate.effect.waits == {"wait": 1.0, "short_scoreboard": 0.75}


@pytest.mark.parametrize(
    ("jump", "rest", "saved"),
    [
        ("@P0 BRA 0x0", 766, {"branch_resolving": 0.75, "no_instruction": 0.75}),
        ("@P0 BRA 0x0", 767, {"branch_resolving": 0.75}),
        ("EXIT", 766, {"branch_resolving": 0.0, "no_instruction": 0.0}),
    ],
)
def test_one_jump_of_a_loop_serves_several_chains_and_shortens_no_code_beyond_its_cache(jump, rest, saved):
    """Warps wait at the start of the loop, after its jump; 768 instructions fill the cache."""
    facts = {0: {"waits": {"branch_resolving": 10, "no_instruction": 10}}, 1: {"waits": {"wait": 10}}}
    evidence = evidence_of("FADD R4, R4, R5", "FADD R4, R4, R5", jump, *["NOP"] * (rest - 1), facts=facts)
    (candidate,) = dependent_chains.detect_dependent_chain(evidence)
    found = candidate.effect.waits
    assert {
        reason: found[reason] for reason in ("branch_resolving", "no_instruction") if reason in found
    } == saved
