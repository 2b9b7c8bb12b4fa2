"""Which reports a place holds, when it is a URL; `test_ingest.py` has the same of local folders."""

import fsspec
import pytest

from profiler.errors import RemoteFailed, RemoteNotInstalled, ReportNotFound
from profiler.store.remote.files import remote_errors
from profiler.store.remote.urls import is_url, public_url
from profiler.store.reports.locate import RemoteReport, fetch, find_reports, size_bytes


@pytest.fixture
def memory():
    """An object store of this process: it has no folders, only names with slashes."""
    filesystem = fsspec.filesystem("memory")
    yield filesystem
    filesystem.store.clear()
    filesystem.pseudo_dirs[:] = [""]


def put(memory, *names, data=b"report"):
    for name in names:
        memory.pipe_file(f"/bucket/{name}", data)


def found(*places):
    return [str(report) for report in find_reports(list(places))]


def test_a_folder_is_searched_to_the_bottom(memory):
    put(memory, "a.ncu-rep", "deep/er/b.ncu-rep.zst", "deep/notes.txt", "deep/ncu-rep", "other.parquet")

    assert found("memory://bucket") == ["memory://bucket/a.ncu-rep", "memory://bucket/deep/er/b.ncu-rep.zst"]
    assert found("memory://bucket/deep/") == ["memory://bucket/deep/er/b.ncu-rep.zst"]


def test_hidden_and_stored_reports_are_not_found_below_a_folder(memory):
    put(memory, ".trash/a.ncu-rep", "runs/.staging/1/b.ncu-rep.zst", "c.ncu-rep")
    put(memory, "runs/20260101t000000z-gemm-0123456789ab/report.ncu-rep.zst")
    put(memory, "runs/pack-20260101t000000z-0123456789ab/reports/0123.ncu-rep.zst")

    assert found("memory://bucket") == ["memory://bucket/c.ncu-rep"]


def test_packed_runs_are_left_alone_in_local_folders_too(tmp_path):
    folder = tmp_path / "pack-20260101t000000z-0123456789ab" / "reports"
    folder.mkdir(parents=True)
    (folder / "0123.ncu-rep.zst").touch()
    (tmp_path / "a.ncu-rep").touch()

    assert find_reports([str(tmp_path)]) == [tmp_path / "a.ncu-rep"]


def test_a_pattern_finds_files_and_folders(memory):
    put(memory, "x/a.ncu-rep", "x/y/b.ncu-rep", "x/c.txt", "z/d.ncu-rep")

    assert found("memory://bucket/**/*.ncu-rep") == [
        "memory://bucket/x/a.ncu-rep", "memory://bucket/x/y/b.ncu-rep", "memory://bucket/z/d.ncu-rep",
    ]  # fmt: skip
    assert found("memory://bucket/[xy]") == ["memory://bucket/x/a.ncu-rep", "memory://bucket/x/y/b.ncu-rep"]


def test_a_name_with_the_characters_of_a_pattern_is_itself(memory):
    put(memory, "a[1]?.ncu-rep", "a1x.ncu-rep")

    assert found("memory://bucket/a[1]?.ncu-rep") == ["memory://bucket/a[1]?.ncu-rep"]


def test_each_report_is_there_once_with_its_size(memory, tmp_path):
    put(memory, "a.ncu-rep", data=b"x" * 1000)
    local = tmp_path / "b.ncu-rep"
    local.write_bytes(b"y" * 10)

    both = find_reports(["memory://bucket", "memory://bucket/a.ncu-rep", "memory://bucket/*", str(local)])

    assert [(str(report), size_bytes(report)) for report in both] == [
        ("memory://bucket/a.ncu-rep", 1000), (str(local), 10),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("place", "error", "message"),
    [
        ("memory://bucket/gone.ncu-rep", ReportNotFound, "memory://bucket/gone.ncu-rep: nothing is there"),
        ("memory://bucket/*.ncu-rep", ReportNotFound, "memory://bucket/*.ncu-rep: nothing is there"),
        ("nosuch://bucket/x", RemoteNotInstalled, "nosuch://bucket/x: there is no file system called 'nosuch'"),
        ("gs://bucket/x", RemoteNotInstalled, "gs://bucket/x: its file system is not installed: "),
    ],
)  # fmt: skip
def test_what_cannot_be_opened_is_listed_and_says_why_when_read(memory, tmp_path, place, error, message):
    (report,) = find_reports([place])

    assert str(report) == place
    with pytest.raises(error) as caught:
        fetch(report, tmp_path / "copy")
    assert str(caught.value).startswith(message)


def test_a_large_report_is_fetched_in_pieces(memory, tmp_path, monkeypatch):
    # private: no shipped report is larger than one piece of 16 MB
    monkeypatch.setattr("profiler.store.reports.locate._FETCH_BYTES", 100)
    data = bytes(range(256)) * 3
    put(memory, "a.ncu-rep", "empty.ncu-rep", data=data)
    put(memory, "empty.ncu-rep", data=b"")
    asked = []

    def go_on():
        asked.append(1)
        return True

    large, empty = find_reports(["memory://bucket"])
    fetch(large, tmp_path / "large", go_on)
    fetch(empty, tmp_path / "empty")

    assert (tmp_path / "large").read_bytes() == data
    assert (tmp_path / "empty").read_bytes() == b""
    assert len(asked) == 8


def test_a_report_that_shrank_since_it_was_listed_is_an_error(memory, tmp_path):
    put(memory, "a.ncu-rep", data=b"x" * 100)
    (report,) = find_reports(["memory://bucket"])
    put(memory, "a.ncu-rep", data=b"x" * 60)

    with pytest.raises(RemoteFailed, match=r"a\.ncu-rep: 100 bytes were announced, and 60 came"):
        fetch(report, tmp_path / "copy")


def test_a_size_that_no_listing_has_is_requested(memory, tmp_path):
    put(memory, "a.ncu-rep", data=b"x" * 100)

    fetch(RemoteReport("memory://bucket/a.ncu-rep"), tmp_path / "copy")

    assert (tmp_path / "copy").read_bytes() == b"x" * 100


# URLs


@pytest.mark.parametrize(
    ("url", "public"),
    [
        ("s3://bucket/a@b/c?d.ncu-rep", "s3://bucket/a@b/c?d.ncu-rep"),
        ("sftp://me:secret@host/folder", "sftp://host/folder"),
        ("https://me:p@ss@host/a.ncu-rep?X-Amz-Signature=secret#part", "https://host/a.ncu-rep"),
        ("memory://a", "memory://a"),
        ("s3://KEY:with/slash@bucket/a@b.ncu-rep", "s3://bucket/a@b.ncu-rep"),
        ("https://host:8443/a@b.ncu-rep", "https://host:8443/a@b.ncu-rep"),
        ("https://[::1]:80/a@b.ncu-rep", "https://[::1]:80/a@b.ncu-rep"),
    ],
)
def test_the_public_form_of_a_url_holds_no_secret(url, public):
    assert is_url(url)
    assert public_url(url) == public
    assert str(RemoteReport(url)) == public


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ('Invalid bucket name "me:p%40ss@bucket"', 'Invalid bucket name "bucket"'),
        ("no answer from me:p@ss@bucket", "no answer from bucket"),
        ("password p@ss is wrong", "password … is wrong"),
        ("404 at https://other:pw@host/a?Signature=abc of host", "404 at https://host/a of host"),
        ("user jane@example.org may not read", "user jane@example.org may not read"),
    ],
)
def test_a_message_of_a_file_system_is_printed_without_the_secrets_of_its_url(words, shown):
    url = "s3://me:p%40ss@bucket/runs"

    with pytest.raises(RemoteFailed) as caught, remote_errors(url):
        raise ValueError(words)

    assert str(caught.value) == f"s3://bucket/runs: {shown}"


@pytest.mark.parametrize("place", ["a.ncu-rep", "/a/b", "./s3:/x", "C:x", "", "://x"])
def test_a_path_is_no_url(place):
    assert not is_url(place)
