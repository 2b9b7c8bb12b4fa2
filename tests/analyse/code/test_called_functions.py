"""Functions that a kernel calls: where they are, and which did as much work as the hot loop."""

import pytest
from msgspec.structs import replace

from profiler.analyse.code.called_functions import find_called_as_hot, last_lines_of_called_functions
from profiler.analyse.code.loops import find_hot_loop
from tests.analyse.code.made_code import code_of, function

# The kernel calls a function, in which it spends nearly all of its time.
LOOP_THAT_IS_CALLED = (
    (8, "MOV R0, RZ"),
    (8, "CALL.REL.NOINC 0x30"),
    (8, "EXIT"),
    (8, "MOV R1, RZ"),
    (1600, "FFMA R1, R1, R2, R3"),
    (1600, "@P0 BRA 0x40"),
    (8, "RET.REL.NODEC R16, 0x0"),
    (0, "BRA 0x70"),
)
LOOP_OF_ITS_OWN = ((8, "MOV R0, RZ"), *[(2400, "FFMA R1, R1, R2, R3")] * 3, (2400, "@P0 BRA 0x10"), (8, "EXIT"))  # fmt: skip


def test_the_function_that_holds_the_hot_loop_is_not_named_beside_it():
    code = code_of(function(*LOOP_THAT_IS_CALLED))
    _, loop = find_hot_loop(code)
    assert (loop.start, loop.end) == (0x40, 0x50)
    assert find_called_as_hot(code, loop.body) == []


def test_a_called_function_of_another_kernel_is_named_whatever_offsets_the_hot_loop_has():
    """Both kernels of a graph begin at offset 0."""
    graph = code_of(function(*LOOP_OF_ITS_OWN), function(*LOOP_THAT_IS_CALLED))
    number, loop = find_hot_loop(graph)
    assert (number, loop.start, loop.end) == (0, 0x10, 0x40)
    assert find_called_as_hot(graph, loop.body) == []  # 3,216 of 9,600 instructions are less than half
    busy = [(2 * count, text) for count, text in LOOP_THAT_IS_CALLED]
    of_both = code_of(function(*LOOP_OF_ITS_OWN), function(*busy))
    number, loop = find_hot_loop(of_both)
    assert number == 0
    assert [(one.start, one.end) for one in find_called_as_hot(of_both, loop.body)] == [(0x30, 0x60)]


@pytest.mark.parametrize(("calls", "is_named"), [(799, False), (800, True)])
def test_a_called_function_is_named_if_it_did_half_the_work_of_the_loop(calls, is_named):
    """The loop issues 4,800 instructions, and the function three a call."""
    code = code_of(
        function(
            (8, "MOV R0, RZ"),
            (1600, "IADD3 R0, R0, 0x1, RZ"),
            (1600, "@P0 CALL.REL.NOINC 0x50"),
            (1600, "@P0 BRA 0x10"),
            (8, "EXIT"),
            (calls, "IMAD R1, R1, R2, R3"),
            (calls, "IMAD R1, R1, R2, R3"),
            (calls, "RET.REL.NODEC R16, 0x0"),
            (0, "BRA 0x80"),
        )
    )
    _, loop = find_hot_loop(code)
    found = find_called_as_hot(code, loop.body)
    assert [(one.start, one.end) for one in found] == ([(0x50, 0x70)] if is_named else [])
    assert all(one.samples_pct is None for one in found)


@pytest.mark.parametrize(
    ("in_it", "at", "found"),
    [
        (8, 43, {"kernel.py:43"}),
        (6, 43, set()),  # the kernel's own part of the line has as many
        (8, 12, set()),  # a function of the author has lines of its own
    ],
)
def test_the_last_line_of_a_kernel_may_stand_for_what_the_compiler_calls(in_it, at, found):
    body = function(
        (8, "CALL.REL.NOINC 0x20"), (8, "EXIT"), (8, "DFMA R2, R2, R4, R6"), (8, "RET.REL.NODEC R16, 0x0")
    )
    samples = ((3, 43), (3, 43), (in_it, at), (0, at))
    lines = tuple(
        replace(one, samples=count, file="/home/me/kernel.py", line=line)
        for one, (count, line) in zip(body, samples, strict=True)
    )
    assert last_lines_of_called_functions(code_of(lines)) == found


def test_what_the_compiler_calls_counts_for_an_early_return_that_is_laid_out_last():
    body = function(
        (8, "CALL.REL.NOINC 0x30"),
        (4, "EXIT"),
        (4, "EXIT"),
        (8, "DFMA R2, R2, R4, R6"),
        (8, "RET.REL.NODEC R16, 0x0"),
    )
    places = ((2, 43), (1, 43), (1, 12), (8, 12), (0, 12))
    lines = tuple(
        replace(one, samples=count, file="kernel.py", line=line)
        for one, (count, line) in zip(body, places, strict=True)
    )
    assert last_lines_of_called_functions(code_of(lines)) == {"kernel.py:12"}
