"""Two hot loops against each other: the collapse of the A operand, and what is shown beside what."""

import msgspec
import pytest

from profiler.analyse.code.hot_loop import derive_loop_sheet
from profiler.analyse.code.machine_code import (
    compare_hot_loops,
    list_changes,
    list_loads,
    loads_text,
    view_machine_code,
)
from profiler.analyse.code.opcodes import is_plumbing
from profiler.analyse.code.regions import read_counted_code
from profiler.analyse.compare.compare import compare_profiles
from profiler.analyse.findings import LoopInstruction
from profiler.analyse.recording.profile import profile_kernel
from profiler.present.documents.code import figures, scope_text
from tests.profiles import profile_of, profiles_in


@pytest.fixture(scope="module")
def pair(store):
    return [profile_of(store, name) for name in ("gemm_5", "gemm_6")]


@pytest.fixture(scope="module")
def rungs(recorded):
    return [profile_of(recorded, number) for number in "56"]


def sentences(profiles, **options):
    return [change.sentence for change in view_machine_code(profiles, **options).finding.changes]


# What changed


def test_the_eight_scalar_loads_of_the_a_operand_become_two_of_128_bits(pair):
    assert sentences(pair) == [
        "A operand: 8 LDS -> 2 LDS.128 per k-step",
        "B operand: 2 LDS.128 per k-step, unchanged",
    ]


def test_the_recorded_rungs_5_and_6_tell_the_same_story_however_far_they_are_unrolled(rungs):
    assert sentences(rungs) == [
        "A operand: 8 LDS -> 2 LDS.128 per k-step",
        "B operand: 2 LDS.128 per k-step, unchanged",
    ]


def test_the_other_way_round_is_the_other_way_round(pair):
    assert sentences(pair[::-1])[0] == "A operand: 2 LDS.128 -> 8 LDS per k-step"


def test_a_kernel_beside_itself_is_unchanged(pair):
    assert sentences([pair[0], pair[0]]) == [
        "A operand: 8 LDS per k-step, unchanged",
        "B operand: 2 LDS.128 per k-step, unchanged",
    ]


def test_a_comparison_of_whole_functions_compares_their_shared_loads(pair):
    assert sentences(pair, whole=True) == [
        "shared loads: 32,768 LDS + 8,192 LDS.128 -> 16,384 LDS.128 per warp"
    ]


def test_loops_without_a_common_step_are_compared_by_iteration(store, pair):
    view = view_machine_code([pair[0], profile_of(store, "triton_matmul", "matmul")])
    assert view.finding.per == "iteration"
    (change,) = view.finding.changes
    assert change.sentence.startswith("shared loads: 8 LDS + 2 LDS.128 -> ")
    assert change.sentence.endswith(" per iteration")


def test_a_loop_is_not_compared_with_a_function_that_has_none(store, pair):
    view = view_machine_code([pair[0], profile_of(store, "several", "calls")])
    assert view.finding.per == "warp"
    assert [change.sentence for change in view.finding.changes] == [
        "shared loads: 32,768 LDS + 8,192 LDS.128 -> none per warp"
    ]


@pytest.mark.parametrize(
    ("loads", "text"),
    [
        ([], "none"),
        ([("LDS", 8.0), ("LDS.128", 2.0)], "8 LDS + 2 LDS.128"),
        ([("LDS.128", 0.25)], "0.25 LDS.128"),
        ([("LDS", 32768.0)], "32,768 LDS"),
    ],
)
def test_loads_are_written_as_people_write_them(loads, text):
    assert loads_text([LoopInstruction(*load) for load in loads]) == text


# In a comparison


def test_a_comparison_carries_the_hot_loop_in_short(pair):
    loop = compare_profiles(*pair).instructions.hot_loop
    assert loop.per == "step"
    before, after = ({one.opcode: one.count for one in side} for side in (loop.before, loop.after))
    assert (before["FFMA"], before["LDS"], before["LDS.128"]) == (64, 8, 2)
    assert (after["FFMA"], after["LDS.128"]) == (64, 4)
    assert loop.changes[0].sentence == "A operand: 8 LDS -> 2 LDS.128 per k-step"
    assert max(len(loop.before), len(loop.after)) <= 8


@pytest.mark.parametrize(("name", "kernel"), [("hostile", "scale"), ("several", "scale"), ("graph", "")])
def test_a_comparison_of_what_has_no_counts_or_no_loop_carries_none(store, pair, name, kernel):
    other = profile_of(store, name, kernel)
    assert compare_hot_loops(pair[0], other) is None
    assert compare_hot_loops(other, pair[0]) is None


# Side by side


def test_every_instruction_of_both_loops_is_listed_once_in_order(pair):
    view = view_machine_code(pair)
    stretches = view.listing()
    for side, region in enumerate(view.regions):
        shown = [row[side] for stretch in stretches for row in stretch if row[side] is not None]
        assert shown == [one for one in region.body if one.executed]


@pytest.mark.parametrize("whole", [False, True])
def test_counts_side_by_side_add_up_to_all_that_was_executed(pair, whole):
    view = view_machine_code(pair, whole=whole)
    stretches = view.counts()
    for side, sheet in enumerate(view.finding.kernels):
        shown = sum(row[side].count for stretch in stretches for row in stretch if row[side])
        assert shown == pytest.approx(sheet.instructions)


def test_one_kernel_alone_has_rows_of_one(pair):
    view = view_machine_code(pair[:1])
    for stretches in (view.counts(), view.listing()):
        assert {len(row) for stretch in stretches for row in stretch} == {1}


def test_code_without_a_loop_is_one_stretch_however_many_barriers_it_has(store):
    view = view_machine_code([profile_of(store, "several", "calls")])
    assert len(view.counts()) == 1
    assert len(view_machine_code([profile_of(store, "several", "calls")], whole=True).counts()) > 1


# As JSON


def test_the_json_leaves_out_only_plumbing_opcodes(rungs):
    for sheet, profile in zip(view_machine_code(rungs).finding.kernels, rungs, strict=True):
        every = derive_loop_sheet(profile, read_counted_code(profile)).opcodes
        left_out = [one for one in every if one not in sheet.opcodes]
        assert len(left_out) == sheet.opcodes_left_out > 0
        assert all(is_plumbing(one.opcode) for one in left_out)
        assert sheet.opcodes == [one for one in every if one in sheet.opcodes]


def test_loads_that_feed_more_multiplications_are_shown_with_them(recorded):
    before, after = profiles_in(recorded, "gemm-4", "gemm-5")
    (change,) = compare_hot_loops(before, after).changes
    assert change.sentence == (
        "both operands: 1 LDS + 2 LDS.128 for 8 FMAs -> 8 LDS + 2 LDS.128 for 64 FMAs per k-step"
    )


@pytest.mark.parametrize(
    ("executed", "said", "unit"), [(100, "called 100 times", "call"), (8, "8 warps", "warp")]
)
def test_a_function_that_ran_more_often_than_there_are_warps_was_called(make_profile, executed, said, unit):
    """Such a function was not inlined. Its count is no number of warps."""
    code = [("FADD", executed), ("RET.REL.NODEC", executed)]
    view = view_machine_code([make_profile({"grid": 4, "block": 64, "instructions": code})])
    assert view.finding.per == unit
    assert said in scope_text(view.finding.kernels[0])
    assert (f"instructions per {unit}", [2.0]) in figures(view.finding)


def test_loads_that_may_read_any_memory_are_not_called_no_shared_loads(pair):
    """Code for debuggers reads shared memory through them."""
    sheet = derive_loop_sheet(pair[1], read_counted_code(pair[1]))
    others = [one for one in sheet.opcodes if "LDS" not in one.opcode]
    (load,) = [one for one in sheet.opcodes if one.opcode == "LDS.128"]
    without = msgspec.structs.replace(sheet, operands=[], opcodes=others)
    generic_load = msgspec.structs.replace(load, opcode="LD.E")
    generic = msgspec.structs.replace(without, opcodes=[*others, generic_load])
    assert list_changes(without, sheet, "iteration")[0].sentence.startswith("shared loads: none -> ")
    assert list_changes(generic, sheet, "iteration") == []


def test_shared_loads_are_all_added_up_however_many_other_opcodes_a_loop_has(make_run):
    """A loop of more opcodes than the short answer keeps, of which each runs more often than one of its shared loads."""
    others = [(f"{opcode} R1, R2, R3", 20) for opcode in ("FADD", "FMUL", "MUFU.RCP", "I2FP.F32.S32", "F2I.S64", "DADD", "DMUL", "HADD2", "HMUL2", "SHFL.BFLY", "STG.E", "RED.E.ADD", "ATOMS.ADD", "STS.64", "STL", "LDL", "VOTE.ANY", "MATCH.ANY")]  # fmt: skip
    code = [("LDS.64 R1, [R4]", 20), *others, ("LDS R1, [R4]", 1)]
    (sheet,) = view_machine_code(
        [profile_kernel(make_run({"kernel": "k", "instructions": code}), "k")]
    ).finding.kernels
    assert sheet.opcodes_left_out > 0
    ((said, _),) = list_loads(sheet, "warp")
    assert said == "shared loads: 1 LDS.64 + 0.05 LDS per warp"


def test_places_are_named_in_the_order_of_their_samples_or_else_of_their_executions(make_run):
    code = [("FADD R1, R2, R3", n, "k.cu", line, 0) for n, line in ((5, 1), (5, 1), (5, 2), (11, 3))]
    sampled = {0: {"samples": 1}, 1: {"samples": 1}, 2: {"samples": 7}, 3: {"samples": 1}}
    for samples, lines in ((sampled, (2, 1, 3)), ({}, (3, 1, 2))):
        run = make_run(
            {"kernel": "k", "instructions": code, "sampled": samples}, name=f"sampled-{len(samples)}"
        )
        (sheet,) = view_machine_code([profile_kernel(run, "k")], whole=True).finding.kernels
        assert sheet.opcodes[0].places == [f"k.cu:{line}" for line in lines]
