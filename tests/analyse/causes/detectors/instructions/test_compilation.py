"""What the compiler made of the code: a debug build, values in local memory, and registers of one bank."""

from dataclasses import replace

import pytest
from made_evidence import evidence_of, names

from profiler.analyse.causes import find
from profiler.analyse.causes.detectors.instructions import compilation
from profiler.analyse.causes.detectors.instructions.compilation import detect_unoptimised

IDLE = "MOV R7, R7"
# As nvcc -G writes `s += x[i]`.
DEBUG = ("LD.E R4, [R4.64]", "MOV R4, R4", "FADD R4, R19, R4", "MOV R4, R4", "MOV R0, R4", "MOV R0, R0")


def found_in(*lines):
    return [one.name for one in detect_unoptimised(evidence_of(*lines))]


def test_registers_that_are_moved_onto_themselves_show_a_debug_build():
    (candidate,) = detect_unoptimised(evidence_of(*DEBUG))
    assert candidate.evidence == {"idle_moves_pct": 50.0}
    assert candidate.effect.resources["issue"] == pytest.approx(4 / 6)  # of all moves


def test_an_optimiser_computes_addresses_once_and_puts_instructions_between_those_that_wait():
    """Of six integer instructions for one load, two are needed; what is left of the waiting is a quarter."""
    address = [f"IADD3 R{place}, R{place - 1}, 0x4, RZ" for place in range(5, 11)]
    sum_of_it, lines = "FADD R30, R31, R30", [IDLE, *address, "LDG.E R31, [R10.64]"]
    for waiting, removed in (("wait", 3 / 4), ("long_scoreboard", 0.0)):
        (candidate,) = detect_unoptimised(evidence_of(*lines, sum_of_it, facts={8: {"waits": {waiting: 9}}}))
        assert candidate.effect.waits.get(waiting, 0.0) == pytest.approx(removed)
        assert candidate.effect.resources["alu"] == pytest.approx((1 + 4) / 7)  # of a move and six additions


@pytest.mark.parametrize(
    ("line", "goes"),
    [
        ("BRA 0x20", True),
        ("@P0 BRA 0x20", False),
        ("BRA !P1, 0x20", False),
        ("PLOP3.LUT P0, PT, P0, PT, PT, 0x80, 0x0", True),
        ("ISETP.LE.AND P0, PT, R12, R3, PT", False),
    ],
)
def test_an_optimiser_lays_blocks_out_in_their_order_and_keeps_predicates_where_they_are(line, goes):
    (candidate,) = detect_unoptimised(evidence_of(*DEBUG, line))
    assert candidate.effect.resources["issue"] == pytest.approx((4 + goes) / 7)


@pytest.mark.parametrize(("cycles", "left"), [(4.0, 1), (16.0, 1 / 4), (2.0, 1)])
def test_an_optimiser_lets_an_instruction_wait_no_longer_than_arithmetic_takes(cycles, left):
    """Without it, none is scheduled."""
    evidence = evidence_of(
        *DEBUG, "FADD R30, R31, R30", facts={6: {"waits": {"wait": 9}}}, figures={"stall_wait": cycles}
    )
    (candidate,) = detect_unoptimised(evidence)
    assert candidate.effect.waits["wait"] == pytest.approx(1 - left / 4)


def test_an_optimiser_keeps_variables_in_registers_and_functions_where_they_are_called():
    """Their addresses need no integers either: of six, two stay for the one load, whatever local memory asked for."""
    address = [f"IADD3 R{place}, R{place - 1}, 0x4, RZ" for place in range(5, 11)]
    loaded = [IDLE, *address, "LDG.E R31, [R10.64]"]
    for others, gone in (
        (["STL [R1], R31", "CALL.REL.NOINC 0x100", "LDL R30, [R1]", "RET.REL.NODEC R20 0x0"], 4),
        (["STS [R1], R31", "@P0 BRA 0x100", "FADD R30, R31, R30", "EXIT"], -2),  # two more are needed
    ):
        (candidate,) = detect_unoptimised(evidence_of(*loaded, *others))
        assert candidate.effect.resources["issue"] == pytest.approx((1 + 4 + gone) / 12)


@pytest.mark.parametrize(("idle", "found"), [(1, []), (2, ["unoptimised-code"])])
def test_one_such_move_in_fifty_instructions_shows_nothing(idle, found):
    """In 2 of 947 instructions the optimiser left one."""
    assert found_in(*["FADD R5, R5, R4"] * (50 - idle), *[IDLE] * idle) == found


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("MOV R7, R7", ["unoptimised-code"]),
        ("IMAD.MOV.U32 R7, RZ, RZ, R7", ["unoptimised-code"]),
        ("UMOV UR4, UR4", ["unoptimised-code"]),
        ("MOV R7, R8", []),
        ("IMAD.MOV.U32 R7, RZ, RZ, R8", []),
        ("MOV R7, RZ", []),
        ("IADD3 R7, R7, R7, RZ", []),
    ],
)
def test_a_move_between_registers_may_be_needed(line, found):
    assert found_in(line) == found


def test_padding_is_no_instruction():
    assert found_in(IDLE, *["NOP"] * 100) == ["unoptimised-code"]


@pytest.mark.parametrize(("code", "alone"), [(DEBUG, True), ([line for line in DEBUG if "MOV" not in line], False)])  # fmt: skip
def test_unoptimised_code_is_the_only_cause_named(code, alone, monkeypatch):
    """Its loads lie apart, which is named otherwise."""
    facts = {0: {"sectors": 3200.0, "ideal_sectors": 400.0, "waits": {"long_scoreboard": 90}}}
    evidence = evidence_of(*code, facts=facts, busy={"l1": 0.9})
    monkeypatch.setattr(find, "gather", lambda profile: evidence)
    names = [one.cause for one in find.find_all(evidence.profile).causes]
    assert names == ["unoptimised-code"] if alone else "unoptimised-code" not in names and names


def test_in_uncounted_code_each_instruction_counts_the_same():
    (candidate,) = detect_unoptimised(replace(evidence_of(*DEBUG), sites=()))
    assert candidate.saves == pytest.approx(4 / 6)


@pytest.mark.parametrize(
    ("registers", "advice"), [(254.0, "Allow more registers"), (255.0, "A thread can have no more")]
)
def test_a_thread_with_all_registers_is_not_advised_to_take_more(registers, advice):
    figures = {"registers": registers, "local_spill_inst": 1.0}
    (candidate,) = compilation.detect_spills(evidence_of("LDL R4, [R1]", "EXIT", figures=figures))
    assert candidate.advice.startswith(advice)


def test_local_memory_is_a_spill_whether_registers_or_an_array_went_there():
    assert names(compilation.detect_spills, evidence_of("LDL R4, [R1]", "EXIT")) == ["register-spills"]
    assert names(compilation.detect_spills, evidence_of("LDG.E R4, [R2.64]", "EXIT")) == []


@pytest.mark.parametrize(
    ("load", "figures", "is_array"),
    [
        ("LDL R4, [R1+0x8]", {"local_spill_inst": 100.0}, False),
        ("LDL R4, [R1+0x8]", {"local_spill_inst": 0.0}, True),
        ("LDL R4, [R1+0x8]", {}, False),  # the counter is not recorded
        ("LDL R4, [R6]", {}, True),
    ],
)
def test_an_array_in_local_memory_is_no_lack_of_registers(load, figures, is_array):
    (candidate,) = compilation.detect_spills(evidence_of(load, "EXIT", figures=figures | {"registers": 40.0}))
    assert (
        candidate.sentence.startswith("An array that is indexed at run time")
        == ("(here are none)" in candidate.sentence)
        == ("Index local arrays" in candidate.advice)
        == is_array
    )
    assert ("40 registers" in candidate.sentence) != is_array


def test_an_array_in_local_memory_is_where_its_elements_are_chosen():
    """At constant places, registers could hold them."""
    (candidate,) = compilation.detect_spills(evidence_of(("STL [R1+0x4], RZ", 900.0), "LDL R4, [R9]", "EXIT"))
    assert [site.opcode for site in candidate.weights] == ["LDL"]


@pytest.mark.parametrize(
    ("reserving", "is_too_large"),
    [
        ("IADD3 R1, R1, -0x3fc, RZ", False),  # 255 registers of 4 bytes
        ("IADD3 R1, R1, -0x400, RZ", True),
        ("VIADD R1, R1, 0xfffffc04", False),
        ("VIADD R1, R1, 0xfffffc00", True),
        ("IADD3 R1, R1, -c[0x0][0x400], RZ", False),  # as many bytes as a parameter says
    ],
)
def test_arrays_that_registers_could_not_hold_are_not_advised_to_lie_there(reserving, is_too_large):
    (candidate,) = compilation.detect_spills(evidence_of(reserving, "LDL R4, [R9]", "EXIT"))
    assert ("a thread reserves 1,024 bytes" in candidate.advice) == is_too_large
    assert ("fit into registers" in candidate.advice) != is_too_large


def register_conflicts(*lines, **facts):
    return list(
        compilation.detect_register_banks(evidence_of(*lines, facts={0: facts or {"waits": {"dispatch": 9}}}))
    )


@pytest.mark.parametrize(("waited", "part"), [(1.0, 1.0), (2.0, 1.0), (8.0, 1 / 4)])
def test_conflicts_explain_no_more_waiting_than_they_hold_the_dispatcher(waited, part):
    """Each execution holds the dispatcher, and with it the one warp of its scheduler, for two cycles more than it needs."""
    figures = {"stall_dispatch": waited, "active_warps": 1.0}
    evidence = evidence_of("FFMA R0, R2, R4, R0", facts={0: {"waits": {"dispatch": 9}}}, figures=figures)
    (candidate,) = compilation.detect_register_banks(evidence)
    assert candidate.effect.waits["dispatch"] == pytest.approx(1.5 / 2 * part)


def test_arithmetic_that_reads_one_bank_while_the_other_idles_conflicts():
    (candidate,) = register_conflicts("FFMA R0, R2, R4, R0")
    # Half a cycle of the two is needed; one and a half of the three in all hold up others that are ready.
    assert candidate.effect.waits == {
        "dispatch": pytest.approx(1.5 / 2),
        "not_selected": pytest.approx(1.5 / 3),
    }


@pytest.mark.parametrize(
    "line",
    [
        "FFMA R0, R3, R3, R0",  # two registers of two banks
        "LOP3.LUT R0, R2, R4, RZ, 0xc0, !PT",  # follows only in the cycle after the next, whatever it reads
        "IMAD.WIDE R0, R2, R4, R6",  # reads a pair
    ],
)
def test_registers_that_other_names_would_not_read_faster_do_not_conflict(line):
    assert register_conflicts(line) == []


def test_banks_that_nobody_waits_for_are_no_cause():
    assert register_conflicts("FFMA R0, R2, R4, R0", waits={"wait": 9}) == []


@pytest.mark.parametrize(("calls", "is_recursion"), [("CALL.REL.NOINC 0x20", True), ("NOP", False)])
def test_a_function_that_calls_itself_keeps_registers_and_no_array(calls, is_recursion):
    """It has a stack, although the compiler needed no more registers than there are."""
    lines = ("CALL.REL.NOINC 0x20", "EXIT", "STL [R1], R2", calls, "LDL R2, [R1]", "RET.REL.NODEC R20, 0x0")
    (candidate,) = compilation.detect_spills(evidence_of(*lines, figures={"local_spill_inst": 0.0}))
    assert ("a function that calls itself" in candidate.sentence) == is_recursion
    assert candidate.advice.startswith("Turn the recursion into a loop") == is_recursion


@pytest.mark.parametrize(
    ("reserving", "is_small"),
    [("IADD3 R1, R1, -0x34, RZ", True), ("IADD3 R1, R1, -0x38, RZ", False), ("NOP", False)],
)
def test_each_element_of_a_small_array_can_take_its_value_or_none(reserving, is_small):
    (candidate,) = compilation.detect_spills(evidence_of(reserving, "LDL R4, [R9]", "EXIT"))
    assert ("let each of the few take its value or none" in candidate.advice) == is_small


@pytest.mark.parametrize(
    ("reserved", "threads", "said"),
    [
        (0x400, 32, "Or keep them in shared memory, with word k of thread t at k * T + t (T is the number of threads of a block): that takes 32,768 bytes a block."),
        (0x400, 64, "let several threads share the work of one: a thread reserves 1,024 bytes for them."),  # more than 48 KB
        (0x80, 256, "In shared memory, keep it with word k of thread t at k * T + t (T is the number of threads of a block): that takes 32,768 bytes a block."),
        (0x80, 512, "without an array (a table that never changes can be one for all threads, in shared or global memory)."),
    ],
)  # fmt: skip
def test_arrays_go_to_shared_memory_where_a_block_has_room_for_those_of_its_threads(reserved, threads, said):
    evidence = evidence_of(f"IADD3 R1, R1, -{reserved:#x}, RZ", "LDL R4, [R9]", "EXIT", block=threads)
    (candidate,) = compilation.detect_spills(evidence)
    assert candidate.advice.endswith(said)


def test_the_blocks_that_arrays_in_shared_memory_leave_on_an_sm_are_counted():
    code, fewer = (
        ("IADD3 R1, R1, -0x80, RZ", "LDL R4, [R9]", "EXIT"),
        "so that an SM holds 6 of them instead of 8",
    )
    figures = {"shared_of_block": 232_448.0, "shared_of_sm": 233_472.0, "shared_bytes": 1024.0}
    for blocks, is_said in ((8.0, True), (6.0, False)):
        evidence = evidence_of(*code, figures=figures | {"blocks_by_registers": blocks})
        (candidate,) = compilation.detect_spills(evidence)
        assert (fewer in candidate.advice) == is_said
