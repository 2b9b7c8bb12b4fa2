"""Reports on object storage become the runs that local files do; a real S3 server on loopback holds them."""

import socket
import sys
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from s3fs import S3FileSystem

from profiler.errors import (
    IngestIncomplete,
    NotAReport,
    RemoteDenied,
    RemoteFailed,
    RemoteNotInstalled,
    ReportDamaged,
    ReportNotFound,
)
from profiler.store.ingest.ingest import IngestOptions, ingest_reports
from profiler.store.remote import files as remote_files
from profiler.store.reports import locate as finding
from profiler.store.reports.identity import pack_report, sha256_of_report
from profiler.store.reports.locate import find_reports
from profiler.store.runs.run_store import RunStore

NAMES = ("graph", "range", "hostile")


@pytest.fixture
def aws(s3, monkeypatch):
    """For tests that change how S3 is reached: what was made of it before is not used again."""
    S3FileSystem.clear_instance_cache()
    yield monkeypatch
    S3FileSystem.clear_instance_cache()


@pytest.fixture
def bucket(s3, reports):
    """The name of a fresh bucket that holds three small reports in folders."""
    name = s3().split("/")[2]
    for report in NAMES:
        put(f"{name}/reports/deep/{report}.ncu-rep", (reports / f"{report}.ncu-rep").read_bytes())
    return name


@pytest.fixture
def empty(tmp_path):
    return RunStore(tmp_path / "runs")


def ingest(store, *places, **options):
    return list(ingest_reports(find_reports(list(places)), store, IngestOptions(**options)))


@contextmanager
def served(handler):
    """The address of a web server on this machine."""
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, args=[0.02], daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def put(place, data):
    S3FileSystem().pipe_file(place, data)


@pytest.mark.slow
def test_a_folder_in_a_bucket_becomes_the_runs_that_a_local_one_does(bucket, empty, reports, tmp_path):
    here = RunStore(tmp_path / "here")
    list(ingest_reports([reports / f"{name}.ncu-rep" for name in NAMES], here, IngestOptions()))

    outcomes = ingest(empty, f"s3://{bucket}/reports")

    assert [(one.status, one.error) for one in outcomes] == [("stored", None)] * len(NAMES)
    assert {str(one.report) for one in outcomes} == {
        f"s3://{bucket}/reports/deep/{name}.ncu-rep" for name in NAMES
    }
    assert empty.ids() == here.ids()
    for run_id in empty.ids():
        empty.open(run_id).verify()
        assert empty.open(run_id).manifest == here.open(run_id).manifest
    assert sorted(path.name for path in empty.root.iterdir()) == [
        ".lock",
        *map(str, sorted(map(str, here.ids()))),
    ]


@pytest.mark.slow
def test_the_same_bucket_again_changes_nothing_whatever_the_names(bucket, empty):
    ingest(empty, f"s3://{bucket}")
    data = S3FileSystem().cat_file(f"{bucket}/reports/deep/graph.ncu-rep")
    put(f"{bucket}/größe 雪 {'x' * 300}?.ncu-rep", data)

    outcomes = ingest(empty, f"s3://{bucket}/**/*.ncu-rep")

    assert [one.status for one in outcomes] == ["known"] * 4
    assert len(empty.ids()) == 3


@pytest.mark.slow
def test_a_compressed_report_and_a_name_that_no_file_could_have(bucket, empty, reports, tmp_path):
    pack_report(reports / "processes.ncu-rep", tmp_path / "packed")
    put(f"{bucket}/more/Wide {'x' * 300}: 雪.ncu-rep.zst", (tmp_path / "packed").read_bytes())

    (one,) = ingest(empty, f"s3://{bucket}/more")

    assert one.status == "stored"
    (run_id,) = empty.ids()
    assert run_id.name.startswith("wide-xxx")
    assert empty.open(run_id).manifest.reports[0].bytes == (reports / "processes.ncu-rep").stat().st_size


@pytest.mark.slow
def test_bad_reports_are_named_by_their_url_and_the_good_ones_are_stored(bucket, empty):
    whole = S3FileSystem().cat_file(f"{bucket}/reports/deep/range.ncu-rep")
    put(f"{bucket}/reports/cut.ncu-rep", whole[:20_000])
    put(f"{bucket}/reports/empty.ncu-rep", b"")

    outcomes = {
        one.report.name: one for one in ingest(empty, f"s3://{bucket}", f"s3://{bucket}/gone.ncu-rep")
    }

    errors = {name: one.error for name, one in outcomes.items() if one.error}
    assert {name: type(error) for name, error in errors.items()} == {
        "cut.ncu-rep": ReportDamaged, "empty.ncu-rep": NotAReport, "gone.ncu-rep": ReportNotFound,
    }  # fmt: skip
    assert str(errors["cut.ncu-rep"]).startswith(f"s3://{bucket}/reports/cut.ncu-rep: damaged")
    assert len(empty.ids()) == len(NAMES)


def test_a_reference_is_the_url_and_no_copy_is_kept(bucket, empty):
    ingest(empty, f"s3://{bucket}/reports/deep/graph.ncu-rep", copy=False)

    run = empty.open(empty.ids()[0])
    assert run.manifest.reports[0].reference == f"s3://{bucket}/reports/deep/graph.ncu-rep"
    assert run.manifest.reports[0].file is None
    run.verify()


@pytest.mark.slow
def test_only_a_few_reports_lie_on_the_disk_at_a_time(bucket, empty, monkeypatch):
    """However many there are: each is removed as soon as it is read."""
    data = S3FileSystem().cat_file(f"{bucket}/reports/deep/graph.ncu-rep")
    for number in range(30):
        put(f"{bucket}/many/{number}.ncu-rep", data + bytes(number))
    # private: eight fetchers would need many more reports
    monkeypatch.setattr("profiler.store.ingest.ingest._FETCHERS", 3)
    copies = []
    there = []
    fetch = finding.fetch

    def watch(report, target, **words):
        fetch(report, target, **words)
        copies.append(target)
        there.append(sum(copy.exists() for copy in list(copies)))

    monkeypatch.setattr("profiler.store.ingest.ingest.fetch", watch)
    outcomes = ingest(empty, f"s3://{bucket}/many")

    assert len(outcomes) == len(there) == 30
    assert 1 <= max(there) <= 3


# A web server that sends without telling how much


class Chunked(BaseHTTPRequestHandler):
    """Sends a report as chunks; of `cut-NAME`, half of NAME and no last chunk."""

    protocol_version = "HTTP/1.1"
    reports: Path

    def do_GET(self):
        name = self.path.removeprefix("/")
        data = (self.reports / name.removeprefix("cut-")).read_bytes()
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        if self.command == "HEAD":
            return
        if name.startswith("cut-"):
            self.wfile.write(b"%x\r\n%b" % (len(data), data[: len(data) // 2]))
            self.close_connection = True
        else:
            self.wfile.write(b"%x\r\n%b\r\n0\r\n\r\n" % (len(data), data))

    do_HEAD = do_GET

    def log_message(self, *_): ...


@pytest.fixture
def chunked(reports, monkeypatch):
    monkeypatch.setattr(Chunked, "reports", reports, raising=False)
    with served(Chunked) as url:
        yield url


def test_a_report_of_unknown_size_is_fetched_to_its_end(chunked, empty, reports, monkeypatch):
    # private: no shipped report is larger than one piece of 16 MB
    monkeypatch.setattr(finding, "_FETCH_BYTES", 10_000)

    (outcome,) = ingest(empty, f"{chunked}/graph.ncu-rep")

    (stored,) = empty.open(empty.ids()[0]).manifest.reports
    assert (outcome.status, stored.sha256) == ("stored", sha256_of_report(reports / "graph.ncu-rep"))


def test_one_whose_connection_ends_before_it_does_is_not_stored(chunked, empty):
    (outcome,) = ingest(empty, f"{chunked}/cut-graph.ncu-rep")

    assert (type(outcome.error), empty.ids()) == (RemoteFailed, [])


# What is wrong with a URL, in one line


class Refusing(BaseHTTPRequestHandler):
    """An S3 server on which this user may do nothing."""

    def do_GET(self):
        body = b"<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>"
        self.send_response(403)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    do_HEAD = do_GET

    def log_message(self, *_): ...


@pytest.fixture
def refusing():
    with served(Refusing) as url:
        yield url


def one_line(prof_here, tmp_path, place):
    """Exit code and complaint of `prof ingest PLACE`; nothing else but a remedy may be printed."""
    done = prof_here("--runs", tmp_path / "runs", "ingest", place)
    summary, complaint, remedy = done.stderr.splitlines()
    assert (done.stdout, summary) == ("", "1 not ingested")
    assert remedy.startswith("      ")
    assert "secret-of-prof" not in done.stderr
    return done.returncode, complaint


@pytest.mark.parametrize(
    "place", ["s3://no-such-bucket/x.ncu-rep", "s3://no-such-bucket", "s3://no-such-bucket/*"]
)
def test_nothing_is_there(aws, prof_here, tmp_path, place):
    assert one_line(prof_here, tmp_path, place) == (
        ReportNotFound.exit_code, f"prof: {place}: nothing is there",
    )  # fmt: skip


def test_access_is_denied(aws, refusing, prof_here, tmp_path):
    aws.setenv("AWS_ENDPOINT_URL", refusing)

    code, complaint = one_line(prof_here, tmp_path, "s3://bucket/reports")

    assert code == RemoteDenied.exit_code
    assert complaint.startswith("prof: s3://bucket/reports: access denied: ")


def test_there_are_no_credentials(aws, prof_here, tmp_path):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        aws.delenv(name)

    assert one_line(prof_here, tmp_path, "s3://bucket/reports") == (
        RemoteDenied.exit_code, "prof: s3://bucket/reports: access denied: Unable to locate credentials",
    )  # fmt: skip


def test_nobody_answers_at_the_endpoint(aws, prof_here, tmp_path):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        aws.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{unused.getsockname()[1]}")

        code, complaint = one_line(prof_here, tmp_path, "s3://bucket/reports")

    assert code == RemoteFailed.exit_code
    assert complaint.startswith("prof: s3://bucket/reports: Could not connect to the endpoint")


@pytest.mark.slow
def test_an_endpoint_that_accepts_and_never_answers_is_given_up(aws, monkeypatch, prof_here, tmp_path):
    monkeypatch.setattr(remote_files, "_READ_S", 0.2)  # private: no option shortens the wait of ten seconds
    monkeypatch.setattr(S3FileSystem, "retries", 1)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        aws.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{silent.getsockname()[1]}")

        code, complaint = one_line(prof_here, tmp_path, "s3://bucket/reports")

    assert code == RemoteFailed.exit_code
    assert "imeout" in complaint


def test_the_file_system_is_not_installed(aws, prof_here, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "s3fs", None)
    # private: fsspec remembers a file system that it has once imported
    monkeypatch.delitem(sys.modules["fsspec.registry"]._registry, "s3", raising=False)

    code, complaint = one_line(prof_here, tmp_path, "s3://bucket/reports")

    assert code == RemoteNotInstalled.exit_code
    assert (
        complaint == "prof: s3://bucket/reports: its file system is not installed: Install s3fs to access S3"
    )


@pytest.mark.slow
def test_one_bad_url_does_not_stop_the_others(bucket, prof_here, tmp_path):
    done = prof_here(
        "--runs", tmp_path / "runs", "ingest", f"s3://{bucket}", "gs://bucket/x", "memory://none/x"
    )

    assert done.returncode == IngestIncomplete.exit_code
    assert "3 stored, 2 not ingested" in done.stderr
