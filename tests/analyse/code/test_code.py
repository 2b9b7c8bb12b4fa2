"""The machine code of one kernel: its instructions, and which of its launches they stand for."""

import pytest

from profiler.analyse.code.code import Instruction, read_code, read_instructions
from profiler.store.tables.instruction_text import opcode_of


def instruction(text, **fields):
    return Instruction(0, opcode_of(text), text, **fields)


@pytest.mark.parametrize(
    ("text", "name", "predicate", "operands"),
    [
        ("FFMA R0, R1, -R2, R0", "FFMA", None, ["R0", "R1", "-R2", "R0"]),
        ("@!P0 LDG.E.128 R4, desc[UR4][R2.64]", "LDG", "!P0", ["R4", "desc[UR4][R2.64]"]),
        ("@!PT LDS RZ, [RZ]", "LDS", "!PT", ["RZ", "[RZ]"]),
        ("@P1 EXIT", "EXIT", "P1", []),
        ("EXIT", "EXIT", None, []),
        ("", "", None, []),
    ],
)
def test_an_instruction_is_read_from_its_text(text, name, predicate, operands):
    one = instruction(text)
    assert (one.name, one.predicate, [*one.operands]) == (name, predicate, operands)
    assert one.never_acts == (predicate == "!PT")


@pytest.mark.parametrize(
    ("file", "line", "place"),
    [
        ("/somewhere/kernels/05.cu", 47, "05.cu:47"),
        ("C:\\somewhere\\05.cu", 47, "05.cu:47"),
        ("05.cu", 47, "05.cu:47"),
        ("05.cu", None, None),
        ("05.cu", 0, None),
        (None, None, None),
    ],
)
def test_a_place_is_the_same_in_whatever_folder_the_source_was(file, line, place):
    assert instruction("NOP", file=file, line=line).place == place


def test_executions_are_the_mean_of_the_launches(make_run):
    launches = [{"kernel": "k", "instructions": [("FFMA", count), ("EXIT", 8)]} for count in (10, 20)]
    code = read_code(make_run(*launches, {"kernel": "other", "instructions": [("NOP", 1)]}), "k")
    assert [(one.opcode, one.executed) for one in code.instructions] == [("FFMA", 15), ("EXIT", 8)]
    assert (code.launches, code.like, code.executed) == (2, 2, 23)


def test_the_code_of_most_launches_stands_for_the_kernel(make_run):
    once, twice = [("FADD", 1000)], [("FFMA", 10)]
    code = read_code(make_run(*({"kernel": "k", "instructions": one} for one in (once, twice, twice))), "k")
    assert [one.opcode for one in code.instructions] == ["FFMA"]
    assert (code.launches, code.like) == (3, 2)


def test_among_as_many_launches_it_is_the_code_that_did_most(make_run):
    run = make_run(*({"kernel": "k", "instructions": one} for one in ([("FADD", 10)], [("FFMA", 1000)])))
    assert [one.opcode for one in read_code(run, "k").instructions] == ["FFMA"]


def test_a_launch_without_machine_code_does_not_count(make_run):
    run = make_run({"kernel": "k"}, {"kernel": "k", "instructions": [("FFMA", 10)]})
    assert read_code(run, "k").launches == 1
    assert read_code(make_run({"kernel": "k"}), "k") is None


def test_launches_of_several_processes_ran_the_same_code(recorded):
    """Loaded at addresses of their own, which are rebased when the report is read."""
    run = recorded.find("5", "gemm")
    assert len(set(run.table("launches").column("process").to_pylist())) > 1
    code = read_code(run, run.manifest.kernels[0].name)
    assert code.like == code.launches == run.table("launches").num_rows


def test_samples_behind_an_exit_are_those_of_the_exit(store):
    """A warp that has ended waits for its stores at the padding, which never runs and is not shown."""
    run = store.find("triton_add_full", "gemm")
    tables, _ = read_instructions(run, "add_kernel", ("samples",))
    sampled = sum(sum(table.column("samples").to_pylist()) for table in tables)
    ran = [one for one in read_code(run, "add_kernel").instructions if one.executed]
    assert sum(one.samples for one in ran) == sampled
    assert (ran[-1].name, ran[-1].main_stall) == ("EXIT", "drain")


@pytest.mark.parametrize(
    ("before", "stall", "at_exit", "behind"),
    [
        ("EXIT", "drain", 9, 1),
        ("@P0 EXIT", "drain", 9, 1),  # where some warps end, and others go on
        ("EXIT", "wait", 0, 10),  # no wait of a warp that has ended
        ("STG.E [R2.64], R4", "drain", 0, 10),
    ],
)
def test_who_drains_behind_an_exit_is_in_no_function_that_is_next(make_run, before, stall, at_exit, behind):
    lines = [("CALL.REL.NOINC 0x20", 8), (before, 8), ("FMUL R0, R0, R3", 1), ("RET.REL.NODEC R20, 0x0", 1)]
    lines = [(text, count, "made.cu", 1, 0) for text, count in lines]
    sampled = {2: {"samples": 10, "stalls": [(stall, 9), ("math_pipe_throttle", 1)]}}
    code = read_code(make_run({"kernel": "k", "instructions": lines, "sampled": sampled}), "k").instructions
    assert [one.samples or 0 for one in code] == [0, at_exit, behind, 0]
    assert code[2].main_stall == ("math_pipe_throttle" if at_exit else stall)


def test_samples_are_those_of_all_launches(make_run):
    lines = [("FADD R0, R1, R2", 8, "made.cu", 1, 0)]
    launches = [
        {
            "kernel": "k",
            "instructions": lines,
            "sampled": {0: {"samples": sum(dict(one).values()), "stalls": one}},
        }
        for one in ([("wait", 5), ("barrier", 4)], [("barrier", 3)])
    ]
    code = read_code(make_run(*launches, {"kernel": "k", "instructions": lines}), "k")
    (one,) = code.instructions
    assert (code.like, one.samples, one.main_stall) == (3, 12, "barrier")
    assert code.stalls == [{"wait": 5, "barrier": 7}]


def test_the_main_reason_to_wait_is_that_of_most_samples(store):
    run = store.find("triton_add_full", "gemm")
    (table,), _ = read_instructions(run, "add_kernel", ("stalls",))
    stalls = dict(enumerate(table.column("stalls").to_pylist()))
    code = read_code(run, "add_kernel").instructions
    waiting = [place for place, one in enumerate(code) if one.main_stall == "long_scoreboard"]
    assert waiting
    assert {max(stalls[place], key=lambda one: one[1])[0] for place in waiting} == {"long_scoreboard"}
