"""A cause names a line of the user's code, even if its instruction is compiled from a header or from a function of Triton."""

from pathlib import Path

import pytest
from made_evidence import change_instruction, evidence_of

import profiler
from profiler.analyse.causes.places import find_places, find_signature
from profiler.store.tables.instruction_text import CalledAt, inlined_text

HEADER = "/usr/local/cuda/targets/x86_64-linux/include/sm_30_intrinsics.hpp"
BARRIER = "BAR.SYNC.DEFER_BLOCKING 0x0"


def place_of(*lines, last_file=HEADER):
    """The place of the last instruction, which a library holds, while the others are the user's."""
    evidence = evidence_of(*lines)
    last = evidence.sites[-1]
    change_instruction(last, file=last_file)
    (place,) = find_places(evidence, {last: 1.0})
    return place.file, place.line


def test_code_of_a_header_is_placed_where_its_operands_come_from():
    assert place_of("FADD R4, R6, R7", "FADD R9, R9, R9", "FMUL R5, R4, R4") == ("made.cu", 1)


@pytest.mark.parametrize(
    ("file", "calls", "place", "called"),
    [
        ("made.cu", [], ("made.cu", 2), None),
        ("helper.cuh", [CalledAt("made.cu", 30, "step(x);")], ("helper.cuh", 2), "made.cu:30"),
        ("helper.cuh", [CalledAt("helper.cuh", 9), CalledAt("made.cu", 30)], ("helper.cuh", 2), "made.cu:30"),
        (HEADER, [CalledAt("made.cu", 30, "sum += __shfl_xor_sync(all, sum, 1);")], ("made.cu", 30), None),
        (HEADER, [CalledAt("helper.cuh", 9), CalledAt("made.cu", 30)], ("helper.cuh", 9), "made.cu:30"),
        ("made.cu", [CalledAt("helper.cuh", 9), CalledAt("made.cu", 2)], ("made.cu", 2), None),  # a lambda
    ],
)
def test_the_line_of_the_kernels_call_stands_beside_code_of_another_function(file, calls, place, called):
    evidence = evidence_of("FADD R4, R6, R7", "FMUL R5, R4, R4")
    last = evidence.sites[-1]
    change_instruction(last, file=file)
    last.inlined_at = inlined_text(calls)
    (found,) = find_places(evidence, {last: 1.0})
    assert ((found.file, found.line), found.inlined_at) == (place, called)
    if calls and place == ("made.cu", 30):
        assert found.text == calls[0].source


@pytest.mark.parametrize(("others", "called"), [(2, "made.cu:30"), (1, "made.cu:20")])
def test_a_call_from_which_most_of_the_kernel_comes_does_not_tell_where_in_it(others, called):
    """The kernel only calls a function, at line 30, whose line 20 calls the helper."""
    evidence = evidence_of(*["FADD R4, R6, R7"] * (5 + others))
    for site in evidence.sites[others:-1]:
        site.inlined_at = inlined_text([CalledAt("made.cu", 30)])
    last = evidence.sites[-1]
    change_instruction(last, file="helper.cuh")
    last.inlined_at = inlined_text([CalledAt("made.cu", 20), CalledAt("made.cu", 30)])
    (found,) = find_places(evidence, {last: 1.0})
    assert found.inlined_at == called


def test_a_barrier_in_a_header_stands_at_the_code_before_it():
    assert place_of("FADD R4, R6, R7", "STS [R8], R4", BARRIER) == ("made.cu", 2)


def test_a_header_is_named_where_there_is_no_other_code():
    assert place_of(BARRIER) == (Path(HEADER).name, 1)


@pytest.mark.parametrize(
    "file",
    [
        "/site-packages/triton/language/standard.py",
        "/site-packages/torch/_inductor/runtime/triton_helpers.py",
        "/site-packages/numba_cuda/numba/cuda/cpython/numbers.py",
        "/site-packages/numba/cuda/mathimpl.py",
    ],
)
def test_a_function_that_a_compiler_of_python_brings_is_placed_where_its_operands_come_from(file):
    assert place_of("FADD R4, R6, R7", "FADD R9, R9, R9", "FMUL R5, R4, R4", last_file=file) == ("made.cu", 1)


@pytest.mark.parametrize(
    "file",
    [
        "/usr/include/c++/13/cmath",
        "/opt/gcc/include/c++/13/bits/stl_algo.h",
        "/usr/include/eigen3/Eigen/src/Core/Product.h",
        "/opt/venv/lib/python3.12/site-packages/cupy/_core/include/cupy/complex/complex.h",
    ],
)
def test_code_of_installed_headers_is_placed_where_its_operands_come_from(file):
    assert place_of("FADD R4, R6, R7", "FADD R9, R9, R9", "FMUL R5, R4, R4", last_file=file) == ("made.cu", 1)


@pytest.mark.parametrize(
    "file",
    [
        "int.jl",
        "./range.jl",
        "/opt/julia-1.10/share/julia/base/float.jl",
        "/home/me/.julia/packages/LLVM/wnejv/src/interop/base.jl",
        "/home/me/.julia/dev/CUDA/src/device/intrinsics/math.jl",
    ],
)
def test_what_julia_compiles_in_is_placed_where_its_operands_come_from(file):
    assert place_of("FADD R4, R6, R7", "FADD R9, R9, R9", "FMUL R5, R4, R4", last_file=file) == ("made.cu", 1)


def test_a_load_of_a_header_is_placed_where_its_address_comes_from_and_not_where_memory_is_described():
    lines = ("IMAD.WIDE R2, R6, 0x4, R8", "ULDC.64 UR4, c[0x0][0x208]", "LDG.E R4, desc[UR4][R2.64]")
    assert place_of(*lines) == ("made.cu", 1)
    assert place_of(*lines[1:]) == ("made.cu", 1)  # the code before it


@pytest.mark.parametrize(
    ("texts", "line"),
    [
        (["v = tl.load(x)", "row = row + step", "e = tl.exp(v - tl.max(v, axis=0))"], 3),
        (["m = v.max(axis=0)", "row = row + step", "e = tl.exp(v)"], 1),
        (["v = tl.load(x)", "row = row + step", "e = tl.exp(v)"], 2),  # nothing is called: the code before it
        (["v = tl.maximum(v, w)", "row = row + step", "e = tl.exp(v)"], 2),
        (["s = (v * v).sum(axis=0)", "row = row + step", "e = tl.exp(v)"], 1),
        (["m = parts[0].max(axis=0)", "row = row + step", "e = tl.exp(v)"], 1),
    ],
)
def test_a_barrier_of_a_function_of_triton_stands_at_the_line_close_by_that_calls_one(texts, line):
    lines = ("FADD R4, R6, R7", "IADD3 R9, R9, 0x1, RZ", BARRIER, "FMUL R5, R4, R4")
    evidence = evidence_of(*lines, file="made.py")
    barrier = evidence.sites[2]
    change_instruction(barrier, file="/site-packages/triton/language/standard.py")
    for site, text in zip((evidence.sites[0], evidence.sites[1], evidence.sites[3]), texts, strict=True):
        site.text = text
    (place,) = find_places(evidence, {barrier: 1.0})
    assert place.line == (line if line < 3 else 4)


def test_a_line_of_cpp_that_calls_its_own_function_of_that_name_attracts_nothing():
    evidence = evidence_of("FADD R4, R6, R7", "IADD3 R9, R9, 0x1, RZ", BARRIER)
    evidence.sites[0].text = "float total = block.sum(mine);"
    barrier = evidence.sites[-1]
    change_instruction(barrier, file=HEADER)
    (place,) = find_places(evidence, {barrier: 1.0})
    assert place.line == 2


def test_code_far_away_is_not_what_calls():
    evidence = evidence_of("FADD R4, R6, R7", *["FMUL R8, R8, R9"] * 40, BARRIER, file="made.py")
    evidence.sites[0].text = "m = tl.max(v, axis=0)"
    barrier = evidence.sites[-1]
    change_instruction(barrier, file="/site-packages/triton/language/standard.py")
    (place,) = find_places(evidence, {barrier: 1.0})
    assert place.line == 41


@pytest.mark.parametrize(
    "file",
    [
        "/home/me/triton/softmax.py",
        "/home/me/project/include/complex.h",
        "/opt/venv/lib/python3.12/site-packages/project/kernels.cu",
        "/home/me/language/standard.py",
        "/home/me/filter/int.jl",
        "/home/me/.julia/dev/Filter/src/filter.jl",
    ],
)
def test_code_of_the_user_is_placed_where_it_stands(file):
    assert place_of("FADD R4, R6, R7", "FMUL R5, R4, R4", last_file=file) == (Path(file).name, 2)


@pytest.mark.parametrize(
    ("text", "is_named"), [(None, False), ("@cute.jit", False), ("def offset(data):", True)]
)
def test_the_first_line_of_a_kernel_is_its_signature_where_the_text_is_recorded(text, is_named):
    evidence = evidence_of("LDC R1, c[0x0][0x28]", "FADD R4, R6, R7")
    evidence.sites[0].text = text
    assert bool(find_signature(evidence)) == is_named


def test_of_a_report_with_its_source_a_cause_of_the_launch_names_a_line(reports):
    (cause,) = profiler.show(reports / "several.ncu-rep", kernel_name="scale").causes
    (place,) = cause.where
    assert (place.file, place.line, place.share_pct, cause.where_is) == ("zoo.cu", 18, 0, "kernel")
    assert place.text == "__global__ void scale(float* data, float factor) {"


@pytest.mark.parametrize(("line", "places"), [(None, [(3, 75.0), (1, 25.0)]), (9, [(9, 100.0)])])
def test_a_function_of_the_compiler_is_placed_at_its_calls_and_one_of_the_user_at_its_own_line(line, places):
    """The compiler gives its own functions the line where the kernel ends."""
    call = "CALL.REL.NOINC 0x50"
    evidence = evidence_of(call, "FADD R4, R6, R7", (call, 300.0), "EXIT", "NOP", "DMUL R8, R8, R8", "RET.REL.NODEC R4 0x0")  # fmt: skip
    end, function = evidence.sites[3], evidence.sites[5:]
    for site in function:
        change_instruction(site, line=line or end.instruction.line)
    found = find_places(evidence, {function[0]: 400.0})
    assert [(one.line, one.share_pct) for one in found] == places
