"""A path may be anything a shell hands over; only a whole report is taken for one."""

import hashlib
import os
import socket
from pathlib import Path

import pyarrow as pa
import pytest

from profiler.errors import (
    NotAReport,
    ReportDamaged,
    ReportError,
    ReportNotFound,
    ReportTooLarge,
    ReportUnreadable,
    StoreNotWritable,
)
from profiler.store.reports.extract import extract_report
from profiler.store.reports.identity import (
    copy_report,
    identify_report,
    pack_report,
    read_plain,
    sha256_of_report,
)
from profiler.store.reports.request import Request


@pytest.fixture
def graph(reports):
    return reports / "graph.ncu-rep"


@pytest.fixture
def scratch(tmp_path):
    folder = tmp_path / "scratch"
    folder.mkdir()
    return folder


def refused(path, scratch):
    with pytest.raises(ReportError) as caught:
        identify_report(path, scratch)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert "\n" not in message
    assert caught.value.remedy
    return caught.value


def test_a_whole_report_is_identified_by_its_bytes(graph, scratch):
    data = graph.read_bytes()

    file = identify_report(graph, scratch)

    assert (file.path, file.plain, file.bytes) == (graph, graph, len(data))
    assert file.sha256 == hashlib.sha256(data).hexdigest()
    assert file.envelope.results == 2


def test_a_report_that_is_too_large_is_refused_before_it_is_hashed(tmp_path):
    """A sparse file of a terabyte takes no room on a disk, and a quarter of an hour to read."""
    path = tmp_path / "large.ncu-rep"
    with path.open("wb") as sparse:
        sparse.truncate(1 << 40)
    with pytest.raises(ReportTooLarge, match="larger than 16 GiB"):
        next(read_plain(path))


def test_an_empty_file_is_no_report(tmp_path, scratch):
    (tmp_path / "empty.ncu-rep").touch()

    error = refused(tmp_path / "empty.ncu-rep", scratch)

    assert isinstance(error, NotAReport)
    assert "empty" in str(error)


def test_a_folder_is_no_report(tmp_path, scratch):
    error = refused(tmp_path, scratch)
    assert isinstance(error, ReportNotFound)
    assert "a folder that holds no reports" in str(error)

    (tmp_path / "one.ncu-rep").touch()
    error = refused(tmp_path, scratch)
    assert isinstance(error, NotAReport)
    assert "a folder, not a report file" in str(error)


@pytest.mark.parametrize("writer", ["nobody writes", "somebody writes"])
def test_a_named_pipe_is_refused_without_waiting_for_it(tmp_path, scratch, writer):
    pipe = tmp_path / "pipe.ncu-rep"
    os.mkfifo(pipe)
    held = os.open(pipe, os.O_RDWR | os.O_NONBLOCK) if writer == "somebody writes" else None

    error = refused(pipe, scratch)

    assert isinstance(error, NotAReport)
    assert "a named pipe" in str(error)
    if held is not None:
        os.close(held)


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/null"])
def test_a_device_is_refused_though_it_never_ends(device, scratch):
    error = refused(Path(device), scratch)

    assert isinstance(error, NotAReport)
    assert "a device" in str(error)


def test_a_socket_is_refused(open_folder, scratch):
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(open_folder / "s.ncu-rep"))
        assert isinstance(refused(open_folder / "s.ncu-rep", scratch), ReportUnreadable)


def test_a_missing_file_and_a_dangling_link_are_not_found(tmp_path, scratch):
    (tmp_path / "link.ncu-rep").symlink_to(tmp_path / "gone.ncu-rep")

    for name in ("gone.ncu-rep", "link.ncu-rep"):
        error = refused(tmp_path / name, scratch)
        assert isinstance(error, ReportNotFound)
        assert "no such file" in str(error)


def test_a_link_to_itself_cannot_be_opened(tmp_path, scratch):
    (tmp_path / "loop.ncu-rep").symlink_to("loop.ncu-rep")

    assert isinstance(refused(tmp_path / "loop.ncu-rep", scratch), ReportUnreadable)


def test_a_path_through_a_file_cannot_be_opened(graph, scratch):
    assert isinstance(refused(graph / "inside.ncu-rep", scratch), ReportUnreadable)


def test_a_file_nobody_may_read_is_unreadable(graph, scratch, open_folder, as_nobody):
    secret = open_folder / "secret.ncu-rep"
    secret.write_bytes(graph.read_bytes())
    secret.chmod(0)

    with as_nobody():
        error = refused(secret, scratch)

    assert isinstance(error, ReportUnreadable)
    assert "Permission denied" in str(error)


# Compressed reports


@pytest.mark.parametrize("name", ["graph.ncu-rep.zst", "graph.ncu-rep", "graph"])
def test_a_compressed_report_is_the_report_whatever_it_is_called(graph, tmp_path, scratch, name):
    packed = tmp_path / name
    pack_report(graph, packed)

    file = identify_report(packed, scratch)

    assert file.plain.read_bytes() == graph.read_bytes()
    assert file.plain.parent == scratch
    assert file.sha256 == sha256_of_report(packed) == sha256_of_report(graph)


@pytest.mark.parametrize("left", [0.999, 0.9, 0.5, 0.01])
def test_a_compressed_report_cut_short_is_damaged(graph, tmp_path, scratch, left):
    packed = tmp_path / "graph.ncu-rep.zst"
    pack_report(graph, packed)
    data = packed.read_bytes()
    packed.write_bytes(data[: int(len(data) * left)])

    assert isinstance(refused(packed, scratch), (ReportDamaged, NotAReport))


def test_a_compressed_report_with_changed_bytes_never_passes_as_another(graph, tmp_path, scratch):
    packed = tmp_path / "graph.ncu-rep.zst"
    pack_report(graph, packed)
    data = packed.read_bytes()
    for position in range(4, len(data), len(data) // 60):
        packed.write_bytes(data[:position] + bytes([data[position] ^ 0xFF]) + data[position + 1 :])
        try:
            file = identify_report(packed, scratch)
        except ReportError:
            continue
        assert file.sha256 != sha256_of_report(graph), "a changed byte that changes nothing?"


def test_rubbish_behind_the_compressed_magic_is_damaged(tmp_path, scratch):
    path = tmp_path / "rubbish.ncu-rep.zst"
    path.write_bytes(b"\x28\xb5\x2f\xfd" + bytes(range(256)) * 10)

    error = refused(path, scratch)

    assert isinstance(error, ReportDamaged)
    assert "does not decompress" in str(error)


def test_something_else_that_was_compressed_is_no_report(tmp_path, scratch):
    path = tmp_path / "letter.ncu-rep.zst"
    path.write_bytes(pa.compress(b"Dear reader, " * 100, codec="zstd", asbytes=True))

    assert isinstance(refused(path, scratch), NotAReport)


# Whose fault it is


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="needs a file that fails when it is read")
@pytest.mark.parametrize("keep", [pack_report, copy_report])
def test_a_report_that_fails_while_it_is_read_is_unreadable(tmp_path, keep):
    with pytest.raises(ReportUnreadable, match=r"^/proc/self/mem: cannot be read: Input/output error$"):
        keep(Path("/proc/self/mem"), tmp_path / "kept")


def test_a_folder_that_cannot_be_unpacked_into_is_no_full_disk(graph, open_folder, as_nobody):
    packed = open_folder / "graph.ncu-rep.zst"
    pack_report(graph, packed)
    folder = open_folder / "folder"
    folder.mkdir(0o555)

    with as_nobody(), pytest.raises(StoreNotWritable, match="Permission denied"):
        extract_report(Request((packed,), folder))


# A report that is still being written


@pytest.mark.parametrize("change", ["grow", "rewrite", "replace", "restore its times", "remove"])
def test_a_file_that_changes_while_it_is_read_is_refused(graph, tmp_path, monkeypatch, change):
    report = tmp_path / "graph.ncu-rep"
    report.write_bytes(graph.read_bytes())
    other = tmp_path / "other"
    other.write_bytes(graph.with_name("range.ncu-rep").read_bytes())
    times = report.stat()

    def change_it(*_):
        if change == "grow":
            with report.open("ab") as file:
                file.write(b"more")
        elif change == "rewrite":
            report.write_bytes(bytes(len(graph.read_bytes())))
        elif change == "replace":
            other.replace(report)
        elif change == "restore its times":
            other.replace(report)
            os.utime(report, ns=(times.st_atime_ns, times.st_mtime_ns))
        else:
            report.unlink()

    # The earliest moment after the hash was taken: anything later is seen as well.
    import profiler.store.reports.extract as module

    identify = module.identify_report
    monkeypatch.setattr(
        module, "identify_report", lambda *args, **kw: (identify(*args, **kw), change_it())[0]
    )

    with pytest.raises(ReportError, match=r"graph\.ncu-rep: "):
        extract_report(Request((report,), tmp_path / "folder"))
