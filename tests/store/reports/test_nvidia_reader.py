"""A value that the reader does not know stays unknown; it never becomes a zero or the usual case."""

import struct
from types import SimpleNamespace

import pytest

from profiler.store.reports.launched_code import Disassembler, LaunchedCode

# private: no report that ships holds such a launch
from profiler.store.reports.nvidia_reader import _Decoder, _Launch
from profiler.store.reports.request import Omitted, ReportPart
from profiler.store.runs.unstored import open_report
from profiler.store.tables.columns import labels_of

_PROGRAM, _EXECUTABLE = 1, 4  # of a section of an ELF file


def test_an_instruction_whose_count_is_missing_is_kept_without_one():
    code = LaunchedCode([16])

    code.note("inst_executed", [16, 32, 48], [None, 0.0, 7.0])

    assert code.executed == {16: None, 32: 0, 48: 7}
    assert code.counted_in(0) == [16, 32, 48]


def test_a_workload_of_a_type_to_come_is_unknown():
    action = SimpleNamespace(
        workload_type=lambda: 999,
        name=lambda base: "name",
        nvtx_state=lambda: None,
        NameBase_FUNCTION=0,
        NameBase_DEMANGLED=1,
        NameBase_MANGLED=2,
    )
    decoder = _Decoder("run", Omitted.NOTHING, ReportPart.ALL)

    decoder._read_identity(_Launch(0, action, LaunchedCode([])), 0, 0)  # private: as above

    assert decoder.finish().tables["launches"].column("workload").to_pylist() == ["unknown"]


@pytest.mark.parametrize("new_line", ["\n", "\r\n", "\r"])
def test_a_form_feed_begins_no_line_of_a_source_file(new_line):
    action = SimpleNamespace(
        source_files=lambda: {"mine.cu": new_line.join(["int a;\f", "int b;\u2028 int c;", "int d;"])},
        sass_by_pc=lambda address: "NOP",
        source_info=lambda address: SimpleNamespace(file_name=lambda: "mine.cu", line=lambda: 3),
        name=lambda base: "name",
        NameBase_MANGLED=2,
    )
    (row,) = Disassembler().function(action, [0], 0, [0]).rows
    assert row[2:5] == ("mine.cu", 3, "int d;")


def with_code_that_nobody_knows(report):
    """The report with other bytes in place of its machine code, which NVIDIA's reader cannot disassemble either."""
    elf = report.index(b"\x7fELF")
    table, size, count = (
        struct.unpack_from(form, report, elf + at)[0]
        for form, at in (("<Q", 0x28), ("<H", 0x3A), ("<H", 0x3C))
    )
    sections = [struct.unpack_from("<IIQQQQ", report, elf + table + size * index) for index in range(count)]
    spoiled = bytearray(report)
    for _, kind, flags, _, offset, length in sections:
        if kind == _PROGRAM and flags & _EXECUTABLE:
            spoiled[elf + offset : elf + offset + length] = b"\xff" * length
    return bytes(spoiled)


@pytest.mark.slow
def test_code_that_cannot_be_disassembled_keeps_its_counts_and_lines(reports, tmp_path, prof_here):
    """NVIDIA's reader prints ??? for the code of GPUs that it gave up, and N/A for what is no instruction."""
    whole = (reports / "several.ncu-rep").read_bytes()
    path = tmp_path / "volta.ncu-rep"
    path.write_bytes(with_code_that_nobody_knows(whole))

    read, expected = (
        open_report(path).table("instructions"),
        open_report(reports / "several.ncu-rep").table("instructions"),
    )
    assert set(labels_of(read, "opcode")) == set(labels_of(read, "sass")) == {""}
    for column in ("executed", "samples", "line"):
        assert read.column(column).equals(expected.column(column))

    shown = prof_here("show", path, "-k", "offset")
    assert "NVIDIA's reader no longer disassembles the code of this GPU" in " ".join(shown.stdout.split())
    assert prof_here("sass", path).returncode == 49
