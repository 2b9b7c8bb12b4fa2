"""Runs at a URL: written whole, seen when whole, once whatever happens; a real S3 server answers here."""

import os
import shutil
import socket
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from pathlib import Path
from threading import Thread

import fsspec
import pytest
from msgspec.structs import replace
from s3fs import S3FileSystem

from profiler.errors import RemoteFailed, RunDamaged, StoreNotWritable
from profiler.store.remote.objects import ObjectPlace
from profiler.store.remote.places import location_of, state_folder
from profiler.store.runs.file_names import MANIFEST_FILE
from profiler.store.runs.manifest import read_manifest, write_manifest
from profiler.store.runs.run_id import RunId
from profiler.store.runs.run_store import RunStore
from profiler.store.tables.schema import SCHEMA_VERSION

NAMES = count()


@pytest.fixture(params=["s3", "memory"])
def url(request):
    """A place for runs: S3, which creates a file or says that it is there, and one that can only look first."""
    return request.getfixturevalue("s3")() if request.param == "s3" else f"memory://runs-{next(NAMES)}"


@pytest.fixture(scope="session")
def some(once, recorded):
    """A few of the runs that the repository ships."""
    names = {"textbook-5", "textbook-6", "gemm-4", "gemm-5", "gemm-6"}

    def copy(folder):
        for run_id in recorded.ids():
            if run_id.name in names:
                shutil.copytree(recorded.root / str(run_id), folder / "runs" / str(run_id))

    return RunStore(once("some-runs", copy) / "runs")


@pytest.fixture(scope="session")
def uploaded(s3, some):
    """The same, as any tool copies a folder: `aws s3 sync runs s3://…`."""
    url = s3()
    fsspec.filesystem("s3").put(f"{some.root}/", f"{url}/", recursive=True)
    return RunStore(url)


def commit(store, source, name=None):
    """A stored run once more, under another name where one is given; None where it is known already."""
    with store.staging() as staging:
        folder = staging.folder()
        run_id = copied(source, folder, name)
        return run_id if staging.commit(folder, run_id) else None


def copied(source, folder, name=None, recorded=None):
    """Into a folder, as if it had been prepared there; the id it has, under another name or time where one is given."""
    shutil.copytree(source.path, folder)
    recorded = recorded or source.manifest.recorded
    run_id = RunId.make(
        datetime.fromisoformat(recorded), name or source.manifest.name, source.manifest.sha256
    )
    changed = {"run_id": str(run_id), "name": run_id.name, "recorded": recorded}
    kernel = {} if name is None else {"ladder": None, "kernel": None}
    write_manifest(replace(source.manifest, **changed, **kernel), folder)
    return str(run_id)


@pytest.fixture
def source(recorded):
    return recorded.find("textbook-5", "gemm")


# Reading


@pytest.mark.slow
def test_a_folder_that_was_copied_to_a_bucket_is_read_as_it_was(uploaded, some):
    assert uploaded.ids() == some.ids()
    for name in ("textbook-5", "gemm-6"):
        here, there = some.find(name, "gemm"), uploaded.find(name, "gemm")
        assert there.manifest == here.manifest
        assert all(there.table(table).equals(here.table(table)) for table in here.manifest.tables)
        there.verify()


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [
        ["compare", "textbook-5", "textbook-6"], ["list", "textbook-*"], ["show", "textbook-6"], ["ladder"],
        ["query", "select run_id, count(*), max(value) from metrics group by 1 order by 1"],
        ["compare", "5", "6", "--format", "json"], ["sass", "5", "6"],
    ],
    ids=" ".join,
)  # fmt: skip
def test_every_answer_is_that_of_the_folder(uploaded, some, prof_here, arguments):
    there = prof_here("--runs", uploaded.root, *arguments)
    here = prof_here("--runs", some.root, *arguments)
    assert (there.returncode, there.stderr) == (0, "")
    assert there.stdout == here.stdout


def test_a_report_is_exported_from_a_bucket(uploaded, some, prof_here, tmp_path):
    for store, folder in ((uploaded, "there"), (some, "here")):
        assert (
            prof_here("--runs", store.root, "export", "textbook-5", "-o", tmp_path / folder).returncode == 0
        )
    assert (tmp_path / "there" / "textbook-5.ncu-rep").read_bytes() == (
        tmp_path / "here" / "textbook-5.ncu-rep"
    ).read_bytes()


@pytest.mark.slow
def test_a_run_is_named_by_its_url(uploaded, some, prof_here):
    ids = [some.find(name, "gemm").manifest.run_id for name in ("textbook-5", "textbook-6")]
    here, there = (
        prof_here("compare", *(f"{store.root}/{one}" for one in ids)) for store in (some, uploaded)
    )
    assert (there.returncode, there.stdout) == (0, here.stdout)


def test_a_bucket_may_be_the_baseline_of_a_check(uploaded, some, prof_here, tmp_path):
    older = some.find("gemm-5", "gemm")
    copied(older, tmp_path / "newer", recorded="2027-01-01T00:00:00Z")
    (tmp_path / "newer").rename(tmp_path / read_manifest(tmp_path / "newer").run_id)
    here, there = (prof_here("--runs", tmp_path, "check", "-b", store.root) for store in (some, uploaded))
    assert (there.returncode, here.returncode) == (80, 80)
    told = "❔ unclear: 4 recordings of the baseline have no counterpart ("
    assert there.stdout.splitlines()[0] == here.stdout.splitlines()[0]
    assert there.stdout.startswith(told)
    assert there.stdout.replace(str(uploaded.root), str(some.root)) == here.stdout


def test_a_bucket_is_no_baseline_of_its_own(uploaded, prof_here):
    done = prof_here("--runs", f"{uploaded.root}/", "check", "-b", uploaded.root)
    assert (done.returncode, done.stdout) == (21, "")
    assert f"{uploaded.root} is both the baseline and the folder to check" in done.stderr


def test_the_doctor_reaches_a_bucket(uploaded, prof_here):
    listed = prof_here("--runs", uploaded.root, "doctor").stdout
    assert f"{uploaded.root}: 5 runs" in listed
    assert "there is no such bucket" in prof_here("--runs", "s3://no-such-bucket/runs", "doctor").stdout


def test_finding_many_runs_costs_few_requests(uploaded, monkeypatch):
    calls = []

    def counted(real):
        return lambda self, method, *given, **more: calls.append(method) or real(self, method, *given, **more)

    # private: the one place where s3fs sends a request, of which `call_s3` is the form without `await`
    for name in ("_call_s3", "call_s3"):
        monkeypatch.setattr(S3FileSystem, name, counted(getattr(S3FileSystem, name)))
    store = RunStore(uploaded.root)
    assert len(store.open_all(store.ids())) == 5
    assert Counter(calls) == {"list_objects_v2": 1, "get_object": 5}  # a thousand names in each answer


def test_a_bucket_that_was_copied_down_is_a_folder_of_runs(url, source, tmp_path):
    commit(RunStore(url), source)
    system, prefix = fsspec.core.url_to_fs(url)
    system.get(f"{prefix}/", f"{tmp_path}/runs/", recursive=True)
    (run_id,) = RunStore(tmp_path / "runs").ids()
    RunStore(tmp_path / "runs").open(run_id).verify()


# Writing


def test_a_run_is_written_read_and_known(url, source):
    store = RunStore(url)
    assert commit(store, source) == source.manifest.run_id
    assert commit(store, source) is None
    assert commit(store, source, "another-name") is None
    (run_id,) = RunStore(url).ids()
    run = RunStore(url).open(run_id)
    run.verify()
    assert run.manifest == replace(source.manifest, schema_version=SCHEMA_VERSION)


def test_reports_are_ingested_into_a_bucket_once(url, reports, prof_here):
    ingest = ["--runs", url, "ingest", reports / "range.ncu-rep"]
    first, second = prof_here(*ingest), prof_here(*ingest)
    assert (first.returncode, second.returncode) == (0, 0)
    assert "1 stored" in first.stderr
    assert "stored already" in second.stderr or "known" in second.stdout + second.stderr
    assert len(RunStore(url).ids()) == 1


def test_files_without_a_manifest_are_no_run_and_do_not_hinder_the_next_upload(url, source):
    place = ObjectPlace(url, last_files=(MANIFEST_FILE,))
    for path in source.path.iterdir():
        if path.name != MANIFEST_FILE:
            place.put(f"{source.manifest.run_id}/{path.name}", path.read_bytes())
    assert RunStore(url).ids() == []
    assert commit(RunStore(url), source) == source.manifest.run_id
    RunStore(url).open(RunStore(url).ids()[0]).verify()


def test_files_of_another_version_of_prof_are_neither_overwritten_nor_believed(url, source):
    """It may be at work this moment, so that its manifest comes later: both sets of files stay as written."""
    place = ObjectPlace(url, last_files=(MANIFEST_FILE,))
    taken = f"{source.manifest.run_id}/metrics.parquet"
    place.put(taken, b"other bytes")
    assert commit(RunStore(url), source) == source.manifest.run_id
    run = RunStore(url).open(RunStore(url).ids()[0])
    run.verify()
    assert run.table("metrics").equals(source.table("metrics"))
    assert place.read(taken) == b"other bytes"


def test_a_changed_file_is_an_error_and_never_a_figure(url, source):
    commit(RunStore(url), source)
    place = ObjectPlace(url, last_files=(MANIFEST_FILE,))
    place.put(f"{source.manifest.run_id}/metrics.parquet", b"changed")
    (run_id,) = RunStore(url).ids()
    with pytest.raises(RunDamaged, match=r"metrics\.parquet: the table is not the one recorded"):
        RunStore(url).open(run_id).table("metrics")
    place.put(f"{source.manifest.run_id}/report.ncu-rep.zst", b"changed")
    with pytest.raises(RunDamaged, match="the run's report"):
        RunStore(url).open(run_id).verify_reports()


@pytest.mark.slow
@pytest.mark.parametrize("names", [("same", "same"), ("a-name", "b-name")], ids=" and ".join)
def test_two_clients_that_commit_the_same_report_at_once_leave_one_run(s3, source, names, monkeypatch):
    """Both have looked before either writes: the moment that matters, arranged."""
    # private: the moment between two looks cannot be met from outside
    monkeypatch.setattr("profiler.store.remote.upload._of_the_same", looked_before_both(2))
    url = s3()
    with ThreadPoolExecutor(2) as clients:
        done = list(clients.map(lambda name: commit(RunStore(url), source, name), names))
    (run_id,) = RunStore(url).ids()
    RunStore(url).open(run_id).verify()
    assert run_id.name in names
    assert done.count(str(run_id)) == 1


def looked_before_both(clients):
    """The real look, but the first one of every client waits until all have made theirs."""
    from threading import Barrier, local

    from profiler.store.remote import upload

    real, barrier, seen = upload._of_the_same, Barrier(clients), local()  # private: as above

    def look(place, run, sha256):
        found = real(place, run, sha256)
        if not hasattr(seen, "once"):
            seen.once = True
            barrier.wait(timeout=60)
        return found

    return look


def test_a_double_that_a_killed_client_left_is_seen_by_nobody(url, source, tmp_path):
    """Killed between its manifest and its second look: every reader takes the same one of the two."""
    place = ObjectPlace(url, last_files=(MANIFEST_FILE,))
    for name in ("b-name", "a-name"):
        run_id = copied(source, tmp_path / name, name)
        for path in (tmp_path / name).iterdir():
            place.put(f"{run_id}/{path.name}", path.read_bytes())
    (run_id,) = RunStore(url).ids()
    assert run_id.name == "a-name"
    RunStore(url).open(run_id).verify()


# What can go wrong


def answer(prof_here, url, **environment):
    S3FileSystem.clear_instance_cache()
    try:
        result = prof_here("--runs", url, "list", env={**os.environ, **environment})
    finally:
        S3FileSystem.clear_instance_cache()
    assert "Traceback" not in result.stderr
    assert "secret-of-prof" not in result.stderr
    return result


def test_a_bucket_that_is_not_there(s3, prof_here):
    result = answer(prof_here, "s3://no-such-bucket/runs")
    assert result.returncode == RemoteFailed.exit_code
    assert "prof: s3://no-such-bucket/runs: there is no such bucket" in result.stderr
    assert "Check the URL of `--runs` and the endpoint" in result.stderr


@pytest.mark.slow
def test_an_endpoint_that_does_not_answer_is_given_up_soon(s3, prof_here):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    start = time.monotonic()
    result = answer(prof_here, "s3://bucket/runs", AWS_ENDPOINT_URL=f"http://127.0.0.1:{port}")
    assert time.monotonic() - start < 30
    assert result.returncode == RemoteFailed.exit_code
    assert "Could not connect to the endpoint" in result.stderr
    assert "AWS_ENDPOINT_URL" in result.stderr


def test_a_web_server_that_does_not_answer_has_no_empty_folder(prof_here):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    result = answer(prof_here, f"http://127.0.0.1:{port}/runs")
    assert result.returncode == RemoteFailed.exit_code, result.stderr
    assert f"prof: http://127.0.0.1:{port}/runs: " in result.stderr


@pytest.mark.parametrize(("folder", "code"), [("no-such-folder", RemoteFailed.exit_code), ("empty", 0)])
def test_a_folder_that_a_web_server_lacks_is_not_an_empty_one(prof_here, tmp_path, folder, code):
    (tmp_path / "empty").mkdir()
    handler = partial(SimpleHTTPRequestHandler, directory=tmp_path)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        result = answer(prof_here, f"http://127.0.0.1:{server.server_port}/{folder}")
        server.shutdown()
    assert result.returncode == code, result.stderr


def test_without_credentials(s3, prof_here):
    environment = {name: value for name, value in os.environ.items() if "ACCESS_KEY" not in name}
    S3FileSystem.clear_instance_cache()
    result = prof_here("--runs", s3(), "list", env=environment)
    S3FileSystem.clear_instance_cache()
    assert result.returncode == 96
    assert "redentials" in result.stderr


@pytest.mark.slow
def test_access_denied(s3, prof_here):
    """The server begins to check who may do what, and this user may do nothing."""
    import urllib.request

    def checks_from(request):
        url = f"{os.environ['AWS_ENDPOINT_URL']}/moto-api/reset-auth"
        body = urllib.request.Request(url, str(request).encode(), {"Content-Type": "text/plain"})
        urllib.request.urlopen(body, timeout=60).close()

    url = s3()
    checks_from(0)
    try:
        result = answer(prof_here, url)
    finally:
        checks_from(10**9)
    assert result.returncode == 96
    assert "denied" in result.stderr.lower() or "does not exist in our records" in result.stderr


def test_a_library_that_is_not_installed_is_named(prof_here):
    result = answer(prof_here, "gs://bucket/runs")
    assert result.returncode == 95
    assert "gcsfs" in result.stderr


def test_a_store_that_cannot_be_written_stops_an_ingest_at_once(source, s3):
    store = RunStore("s3://no-such-bucket/runs")
    with pytest.raises((StoreNotWritable, RemoteFailed), match="no such bucket"):
        commit(store, source)


# Locations


def test_a_location_is_a_path_or_a_url(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert location_of(f"file://{tmp_path}/a%20b") == tmp_path / "a b"
    assert location_of("runs") == Path("runs")
    assert RunStore("s3://bucket/runs/").root == "s3://bucket/runs"
    assert RunStore("s3://bucket/runs").local == RunStore("s3://bucket/runs/").local
    assert RunStore("s3://bucket/runs").local != RunStore("s3://bucket-runs").local
    assert state_folder("s3://bucket/runs").parent == tmp_path / "prof"


def test_a_notebook_opens_a_url(uploaded, some):
    import profiler

    runs = profiler.open_runs(uploaded.root)
    assert runs.to_pandas().equals(profiler.open_runs(str(some.root)).to_pandas())


def test_no_message_and_no_folder_name_holds_a_password():
    store = RunStore("sftp://user:secret@host/runs")
    assert "secret" not in f"{store.root} {store.local}"


def test_a_sweep_wants_a_folder(s3):
    from profiler.store.sweeps import SweepStore

    with pytest.raises(StoreNotWritable, match="sweeps are kept in a folder"):
        SweepStore("s3://bucket/runs")
