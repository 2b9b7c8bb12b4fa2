"""Damage is seen before NVIDIA's reader, which accepts almost anything, is asked."""

import random
import struct
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from profiler.errors import NotAReport, ReportDamaged, ReportEmpty, ReportError
from profiler.store.reports.envelope import MAGIC, Envelope, read_envelope
from tests.store.flips import flipped

REPORTS = Path(__file__).parents[2] / "data" / "reports"
GRAPH = (REPORTS / "graph.ncu-rep").read_bytes()

# Where a report may be cut and still be whole: at the end of a result (and of the code that
# precedes the next), once the session's details are written. Where the version of Nsight Compute is not yet among them,
# it may be one of the first versions, which wrote none. {length: results that are left}
WHOLE_LENGTHS = {
    "graph": {39240: 1, 39305: 1, 39943: 1, 44053: 2},
    "range": {40654: 1, 40719: 1, 41353: 1, 46256: 2},
    "pm_sampling": {303480: 1},
    "hostile": {50511: 1, 64532: 2, 78557: 3, 92578: 4, 106608: 5, 120633: 6, 134645: 7, 151563: 8},
    "several": {96229: 1, 144252: 2, 191062: 3, 237619: 4, 285416: 5, 333474: 6, 416779: 7},
}


@pytest.mark.parametrize(
    ("name", "results", "processes", "created"),
    [
        ("gemm_5", 8, 1, "2026-11-20 11:24:09"),
        ("gemm_6", 8, 1, "2026-11-20 11:24:15"),
        ("graph", 2, 1, "2026-11-21 08:54:00"),
        ("hostile", 8, 1, "2026-11-21 08:53:58"),
        ("pm_sampling", 1, 1, "2026-11-20 11:24:36"),
        ("processes", 14, 2, "2026-11-21 08:54:08"),
        ("range", 2, 1, "2026-11-21 08:54:01"),
        ("several", 7, 1, "2026-11-21 08:54:03"),
        ("triton_add_full", 3, 1, "2026-11-20 11:24:27"),
    ],
)
def test_a_report_says_how_it_was_made(name, results, processes, created):
    envelope = envelope_of((REPORTS / f"{name}.ncu-rep").read_bytes())

    assert (envelope.results, envelope.processes) == (results, processes)
    assert envelope.created == datetime.fromisoformat(created).replace(tzinfo=UTC)
    assert envelope.devices == ("NVIDIA H200",)
    assert (envelope.ncu_version, envelope.cuda_version) == ("2025.3.1.0", "13.0")
    assert "/ncu --clock-control none " in envelope.command_line
    assert envelope.program.startswith("/")


@pytest.mark.campaign
@pytest.mark.parametrize("name", ["graph", "range"])
def test_every_truncation_is_refused_but_where_a_report_may_end(name):
    data = (REPORTS / f"{name}.ncu-rep").read_bytes()

    assert whole_lengths(data, range(len(data) + 1)) == WHOLE_LENGTHS[name]


@pytest.mark.parametrize("name", ["graph", "range", "pm_sampling", "hostile", "several"])
def test_a_truncation_is_refused_but_where_a_report_may_end(name):
    data = (REPORTS / f"{name}.ncu-rep").read_bytes()
    edges = {0, len(data), *WHOLE_LENGTHS[name]}
    near = {edge + step for edge in edges for step in range(-40, 41)}
    lengths = near | set(random.Random(5).sample(range(len(data)), 600)) | set(range(600))

    assert whole_lengths(data, sorted(n for n in lengths if 0 <= n <= len(data))) == WHOLE_LENGTHS[name]


def test_a_report_that_ncu_filtered_is_whole_and_one_that_is_cut_before_a_result_is_not():
    """NVIDIA's `ncu -i processes.ncu-rep --launch-skip 1 --launch-count 1` kept one result of 14, and the code of all."""
    filtered = (REPORTS.parent / "filtered.ncu-rep").read_bytes()
    assert envelope_of(filtered).results == 1

    hostile = (REPORTS / "hostile.ncu-rep").read_bytes()
    with pytest.raises(ReportDamaged, match="it ends with code that has no result"):
        envelope_of(hostile[:134797])  # the end of the code before the last result


def test_a_cut_before_the_session_details_says_so():
    with pytest.raises(ReportDamaged, match="it ends before its session details"):
        envelope_of(GRAPH[:39650])  # the end of the last block before the details


def block_of(session):
    """A block that holds nothing but details of the session, each a message shorter than 128 bytes."""
    header = b"\x1a" + bytes([len(session)]) + session
    return len(header).to_bytes(4, "little") + header


def test_reports_without_a_command_line_are_whole_where_no_version_writes_one():
    """Versions before 2022.2, and the window of Nsight Compute, which also writes the version of its host."""
    without = GRAPH[:39650] + GRAPH[39943:]  # all but the block that holds the command line
    with pytest.raises(ReportDamaged, match="it ends before its session details"):
        envelope_of(without)

    old = envelope_of(without.replace(b"2025.3.1.0", b"2022.1.1.0"))
    assert (old.results, old.ncu_version, old.command_line) == (2, "2022.1.1.0", "")
    with pytest.raises(ReportDamaged, match="it ends before its session details"):
        envelope_of(without.replace(b"2025.3.1.0", b"2022.2.0.0"))

    host = b"\x0a\x13Nsight Compute Host" + b"\x12\x0a2025.3.1.0"
    window = envelope_of(without + block_of(b"\x42" + bytes([len(host)]) + host))
    assert (window.results, window.ncu_version) == (2, "2025.3.1.0")


def test_the_zero_that_ends_the_name_of_a_program_on_windows_is_no_part_of_it():
    program = envelope_of(GRAPH).program
    ended = GRAPH.replace(program.encode(), program[:-1].encode() + b"\0")
    assert envelope_of(ended).program == program[:-1]


def test_a_cut_inside_a_block_says_how_much_is_missing():
    with pytest.raises(ReportDamaged, match=r"the block at byte 39,943 lacks its last 10 bytes"):
        envelope_of(GRAPH[:-10])


def test_appended_bytes_are_refused():
    for tail in (b"\0", b"\0" * 4096, GRAPH, b"\n"):
        with pytest.raises(ReportError):
            envelope_of(GRAPH + tail)


def test_a_hole_in_the_middle_is_refused():
    rng = random.Random(11)
    for _ in range(200):
        start = rng.randrange(len(GRAPH) - 1)
        end = rng.randrange(start + 1, len(GRAPH) + 1)
        if (start, end) == (39943, len(GRAPH)):
            continue
        with pytest.raises(ReportError):
            envelope_of(GRAPH[:start] + GRAPH[end:])


@pytest.mark.parametrize(
    ("data", "error", "reason"),
    [
        (b"", NotAReport, "the file is empty"),
        (b"N", ReportDamaged, "only 1 bytes are left"),
        (MAGIC, ReportDamaged, "ends inside the file header"),
        (b"\0" * 5000, ReportDamaged, "starts with zero bytes"),
        (b"\x7fELF" + b"\1" * 100, NotAReport, "does not start with 'NVR'"),
        (b"NVR\1" + GRAPH[4:], NotAReport, "does not start with 'NVR'"),
        (b"PK\3\4", NotAReport, "does not start with 'NVR'"),
        (random.Random(2).randbytes(10_000), NotAReport, "does not start with 'NVR'"),
        (GRAPH[:10], ReportEmpty, "holds no launches"),
    ],
)
def test_a_file_that_is_no_report_is_refused_with_the_reason(data, error, reason):
    with pytest.raises(error, match=reason) as caught:
        read_envelope(data, "some.ncu-rep")

    assert str(caught.value).startswith("some.ncu-rep: ")
    assert "\n" not in str(caught.value)


def test_an_impossible_creation_time_is_damage():
    """A flipped bit there would name the run after a year that never comes."""
    seconds = varint(int(datetime(2026, 11, 21, 8, 54, 0, tzinfo=UTC).timestamp()))
    assert seconds in GRAPH
    impossible = varint(2**34)
    assert len(impossible) == len(seconds)

    with pytest.raises(ReportDamaged, match="creation time"):
        envelope_of(GRAPH.replace(seconds, impossible))


@given(st.binary(max_size=400))
def test_random_bytes_raise_nothing_but_report_errors(tail):
    for data in (tail, MAGIC + tail, MAGIC + struct.pack("<I", len(tail)) + tail, GRAPH[:10] + tail):
        with pytest.raises(ReportError):
            envelope_of(data)


@given(st.data())
def test_changed_headers_raise_nothing_but_report_errors(draw):
    headers = [n for start, end in header_spans(GRAPH) for n in range(start, end)]
    data = bytearray(GRAPH)
    for position in draw.draw(st.lists(st.sampled_from(headers), min_size=1, max_size=6)):
        data[position] = draw.draw(st.integers(0, 255))

    outcome = envelope_or_error(bytes(data))

    assert isinstance(outcome, (Envelope, ReportError))


@pytest.mark.slow
def test_any_bit_of_the_headers_may_flip_without_another_exception():
    bits = [bit for start, end in header_spans(GRAPH) for bit in range(start * 8, end * 8)]
    for bit in random.Random(3).sample(bits, 3000):
        assert isinstance(envelope_or_error(flipped(GRAPH, [bit])), (Envelope, ReportError))


def envelope_of(data):
    return read_envelope(data, "some.ncu-rep")


def envelope_or_error(data):
    try:
        return envelope_of(data)
    except ReportError as error:
        return error


def whole_lengths(data, lengths):
    view = memoryview(data)
    whole = {}
    for length in lengths:
        outcome = envelope_or_error(view[:length])
        if isinstance(outcome, Envelope):
            whole[length] = outcome.results
    return whole


def header_spans(data):
    """Returns the places of the file header and the block headers: all else is payload."""
    spans, position = [], 4
    (length,) = struct.unpack_from("<I", data, position)
    spans.append((0, position + 4 + length))
    ends = [10, 139, 17412, 30702, 39173, 39240, 39305, 39421, 39468, 39650, 39943, 44053]
    for start, _ in pairwise(ends):
        (length,) = struct.unpack_from("<I", data, start)
        spans.append((start, start + 4 + length))
    return spans


def varint(number):
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])
