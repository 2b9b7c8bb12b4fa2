"""The line tables in a report's machine code say which calls the compiler replaced by the code of a function."""

import random
import time
from pathlib import Path

import pyarrow as pa
import pytest

from profiler.store.reports.envelope import code_in

# private: no compiler writes rows of files or lines that there cannot be
from profiler.store.reports.inlined_calls import LineTable, _Row, read_line_tables
from profiler.store.runs.unstored import open_report
from profiler.store.tables.instruction_text import CalledAt, calls_in

DATA = Path(__file__).parents[2] / "data"
(PACKED,) = DATA.glob("runs/*-gemm-5-*/report-0.ncu-rep.zst")
KERNEL = "/tmp/prof/kernels/gemm/05_tile_2d.cu"


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """A kernel that hands a lambda to a function of a header, which unrolls its calls."""
    plain = tmp_path_factory.mktemp("inlined") / "gemm.ncu-rep"
    with pa.OSFile(str(PACKED)) as file:
        plain.write_bytes(pa.CompressedInputStream(file, "zstd").read())
    return plain


def table_of_kernel(report):
    """The kernel's own; the report holds the code of the harness as well."""
    tables = read_line_tables(report).values()
    return next(table for table in tables if table.calls(0x9A0, KERNEL, 62))


def test_code_of_a_lambda_lies_within_the_call_of_the_function_that_calls_it(report):
    table = table_of_kernel(report)
    header = KERNEL.replace("05_tile_2d.cu", "device.cuh")
    assert table.calls(0x9A0, KERNEL, 62) == (CalledAt(header, 63), CalledAt(KERNEL, 62))


def test_where_the_reader_says_the_line_of_a_call_only_the_calls_around_that_are_known(report):
    table = table_of_kernel(report)
    header = KERNEL.replace("05_tile_2d.cu", "device.cuh")
    assert table.calls(0x9A0, header, 63) == (CalledAt(KERNEL, 62),)
    assert table.calls(0x9A0, KERNEL, 11) == ()  # another line is not of this code
    assert table.calls(0, KERNEL, 62) == ()


def test_the_table_of_instructions_holds_the_calls():
    instructions = open_report(PACKED).table("instructions").select(["line", "inlined_at"]).to_pylist()
    found = {(row["line"], calls_in(row["inlined_at"])[-1].line) for row in instructions if row["inlined_at"]}
    assert (62, 62) in found


@pytest.mark.parametrize(("file", "line"), [(0, 5), (2, 5), (1, 0), (1, -3), (1, 2**31)])
def test_a_call_at_a_file_or_line_that_there_cannot_be_is_left_out(file, line):
    table = LineTable(["mine.cu"])
    table.append(_Row(address=0, file=1, line=30, context=0))
    table.append(_Row(address=0, file=file, line=line, context=1))
    table.append(_Row(address=0, file=1, line=6, context=2))
    assert table.calls(0, "mine.cu", 6) == (CalledAt("mine.cu", 30),)


def test_a_kernel_that_calls_nothing_has_no_calls():
    report = DATA / "reports" / "triton_add_full.ncu-rep"
    inlined_at = open_report(report).table("instructions").column("inlined_at")
    assert len(read_line_tables(report)) == 3
    assert inlined_at.null_count == len(inlined_at) > 0


@pytest.mark.parametrize("seed", range(8))
def test_damage_in_the_machine_code_is_no_error_and_takes_no_time(report, tmp_path, seed):
    """Whatever was damaged, the rest of the report can be read."""
    draw = random.Random(seed)
    data = report.read_bytes()
    elf = next(code_in(data)).elf
    start = data.index(bytes(elf[:4096]))
    damaged = tmp_path / "damaged.ncu-rep"
    began = time.monotonic()
    for _ in range(20):
        changed = bytearray(data)
        for _ in range(draw.choice([1, 10, 1000])):
            changed[start + draw.randrange(len(elf))] = draw.choice([0, 0x80, 0xFF, draw.randrange(256)])
        damaged.write_bytes(changed)
        for table in read_line_tables(damaged).values():
            for offset in range(0, 0x1000, 16):
                table.calls(offset, KERNEL, 62)
    assert time.monotonic() - began < 20
