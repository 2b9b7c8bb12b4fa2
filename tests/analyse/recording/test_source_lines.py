"""Each instruction of a kernel counts on the source line that it comes from."""

import pytest
import track_record

import profiler
from profiler.analyse.code.code import Instruction
from profiler.analyse.recording.profile import profile_kernel
from profiler.analyse.recording.source_lines import at_authors_lines
from profiler.catalog.metrics import STALLS


@pytest.fixture(scope="module")
def lines(shipped_runs):
    """Returns the lines of a recording with samples and sources: fifteen launches of one binary."""
    return profiler.source_lines(shipped_runs.find("gemm-6-source", ladder="gemm"))


def of(lines, text):
    return [line for line in lines.lines if text in (line.text or "")]


def test_the_multiplications_are_most_of_it(lines):
    """4096 cubed of them, 32 lanes a warp, on one line of the source."""
    (multiply,) = of(lines, "sum[i][j] += a_part[i] * b_part[j]")
    assert multiply.executed >= 4096**3 / 32
    assert multiply.executed == max(line.executed for line in lines.lines)
    assert multiply.samples == max(line.samples for line in lines.lines)
    assert multiply.file == "06_vectorized.cu"


def test_lines_add_up_to_the_kernel(lines, shipped_runs):
    """Its instructions per launch, its samples in all launches, and every sample has a reason."""
    table = shipped_runs.find("gemm-6-source", ladder="gemm").to_pandas("instructions")
    assert lines.launches == table.launch.nunique()
    assert lines.executed == pytest.approx(table.executed.sum() / lines.launches)
    assert lines.samples == table.samples.sum()
    assert sum(line.executed for line in lines.lines) == pytest.approx(lines.executed)
    assert all(sum(line.stalls.values()) == line.samples for line in lines.lines)


def test_reasons_are_called_as_the_metrics_are(lines):
    reasons = {reason for line in lines.lines for reason in line.stalls}
    assert reasons <= {name.removeprefix("stall_") for name in STALLS}


def test_lines_stand_in_the_order_of_the_source_each_once(lines):
    places = [(line.file, line.line) for line in lines.lines]
    assert places == sorted(set(places))
    assert list(lines.to_pandas().index) == places


def test_without_samples_and_sources_the_executed_instructions_remain(recorded):
    lines = profiler.source_lines(recorded.find("6", ladder="gemm"))
    assert (lines.samples, {line.text for line in lines.lines}) == (0, {None})
    assert lines.executed > 4096**3 / 32


@pytest.mark.parametrize(
    ("file", "named"),
    [
        (f"/tmp/{40 * 'a'}.cubin.cu", "<CuPy source>"),  # how CuPy names what it compiles
        ("/home/me/mine.cubin.cu", "mine.cubin.cu"),
        ("/home/me/kernel.cu", "kernel.cu"),
    ],
)
def test_code_that_is_no_file_has_one_name_in_every_answer(make_run, file, named):
    run = make_run({"kernel": "k", "instructions": [("FFMA R1, R2, R3, R4", 10, file, 3, 0)]})
    (line,) = profiler.source_lines(run).lines
    assert (line.file, line.line) == (named, 3)
    assert Instruction(0, "FFMA", "FFMA R1, R2, R3, R4", file=file, line=3).place == f"{named}:3"


def test_without_line_information_there_is_nothing_to_say(make_run):
    bare = make_run({"kernel": "k", "instructions": [("FFMA", 10)]})
    assert profiler.source_lines(bare) is None
    assert profiler.source_lines(make_run({"kernel": "k"}, name="no-code")) is None


def test_code_of_a_library_counts_on_the_line_of_the_author_before_it(make_run):
    """As in Julia, whose standard library is compiled into each kernel; what nothing of the author's precedes stays there."""
    code = [
        ("S2R", 1, "boot.jl", 1, 0),
        ("IMAD", 2, "/home/one/k.jl", 7, 0),
        ("FADD", 4, "float.jl", 9, 0),
        ("FMUL", 8, "/usr/local/cuda-12.4/include/cuda_fp16.hpp", 9, 0),
        ("NOP", 16, None, None, 0),
        ("LDG", 32, "/home/one/k.jl", 8, 0),
        ("RET", 64, "float.jl", 9, 1),
    ]
    found = profiler.source_lines(make_run(*({"kernel": "k", "instructions": code} for _ in range(2))))
    assert [(one.file, one.line, one.executed) for one in found.lines] == [
        ("boot.jl", 1, 1),
        ("float.jl", 9, 64),
        ("k.jl", 7, 14),
        ("k.jl", 8, 32),
    ]
    assert found.executed == 127


def test_code_of_a_library_counts_where_its_values_come_from_as_the_causes_say(make_run):
    """The header adds what line 7 loaded, and scales it by a constant that the compiler fetched at the line of the index."""
    header = "/usr/local/cuda-12.4/include/cuComplex.h"
    code = [
        ("LDG.E.64 R4, [R2.64]", 1, "/home/one/k.cu", 7, 0),
        ("ULDC.64 UR4, c[0x3][0x40]", 2, "/home/one/k.cu", 5, 0),
        ("DADD R4, R4, R4", 4, header, 9, 0),
        ("DMUL R6, R4, UR4", 8, header, 9, 0),
    ]
    found = profiler.source_lines(make_run({"kernel": "k", "instructions": code}))
    assert [(one.line, one.executed) for one in found.lines] == [(5, 2), (7, 13)]


def test_memory_is_not_accessed_on_a_line_that_computes_an_index_also_where_there_is_no_library(make_run):
    code = [
        ("LDG.E R4, [R8.64]", 1, "/home/one/k.cu", 7, 0),
        ("STG.E.U8 [R4.64], R3", 2, "/home/one/k.cu", 5, 0),
    ]
    texts = {0: {"source": "memcpy(to, from, bytes);"}, 1: {"source": "int const i = threadIdx.x;"}}
    found = profiler.source_lines(make_run({"kernel": "k", "instructions": code, "sampled": texts}))
    assert [(one.line, one.executed) for one in found.lines] == [(7, 3)]


def test_machine_code_has_the_lines_of_the_author_not_those_of_a_library():
    """Triton compiles `tl.sum` of its `standard.py` into the kernel, whose author calls it in lines 11 and 12."""
    run = track_record.open_kernels({"norm_one_warp"})["norm_one_warp"]
    profile = profile_kernel(run, track_record.kernel_of(run))
    (function,) = at_authors_lines(profile, profile.code).functions
    recorded = [(one.place, one.text) for one in profile.code.instructions]
    shown = [(one.place, one.text) for one in function]
    moved = [(before, after) for before, after in zip(recorded, shown, strict=True) if before[0] != after[0]]
    assert {after[0] for _, after in moved} == {"python_samples_triton.py:11", "python_samples_triton.py:12"}
    assert {before[0].partition(":")[0] for before, _ in moved} == {"standard.py"}
    assert all(before[1] == after[1] for before, after in moved)
    assert not any("standard.py" in place for place, _ in shown if place)
