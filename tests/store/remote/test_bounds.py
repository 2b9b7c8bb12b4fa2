"""A server that never ends: whatever it is asked for, it sends more. prof stops at the size that the file may have.

The sizes are made small here, so that a test takes no gigabytes.
"""

import shutil
import threading
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem
from moto.core import DEFAULT_ACCOUNT_ID
from moto.s3.models import s3_backends
from s3fs import S3FileSystem

from profiler.errors import DiskFull, ProfError, RemoteFailed, ReportTooLarge, RunDamaged
from profiler.store.remote import bounds, listing, objects
from profiler.store.remote.objects import ObjectPlace
from profiler.store.reports.locate import RemoteReport, fetch, find_reports
from profiler.store.runs.file_names import MANIFEST_FILE
from profiler.store.runs.run_store import RunStore

RUN = "20261120t112409z-textbook-5-0123456789ab"
MOST = 1 << 20  # stands for each of the sizes
SENT_BEYOND = 64 << 20  # what a connection may still hold when prof closes it


class Endless(BaseHTTPRequestHandler):
    """A web server that lists what its test says, and whose files have no end."""

    listing = f'<a href="{RUN}/">{RUN}</a>'
    headers_sent: ClassVar[dict[str, str]] = {}
    sent = asked = 0

    def do_HEAD(self):
        self.send_response(200)
        for name, value in self.headers_sent.items():
            self.send_header(name, value)
        self.end_headers()

    def do_GET(self):
        kind = type(self)
        kind.asked += 1
        self.send_response(200)
        is_folder = "." not in self.path.rpartition("/")[2]
        self.send_header("Content-Type", "text/html" if is_folder else "application/octet-stream")
        self.end_headers()
        if is_folder and kind.listing:
            deeper = f'<a href="{MANIFEST_FILE}">x</a>' if RUN in self.path else kind.listing
            self.wfile.write(deeper.encode())
            return
        with suppress(OSError):
            while kind.sent < 10 * SENT_BEYOND:
                self.wfile.write(b" " * (1 << 16))
                kind.sent += 1 << 16

    def log_message(self, *_):
        pass


@pytest.fixture(autouse=True)
def small(monkeypatch):
    for name in ("_MOST_BYTES", "_MOST_OTHER_BYTES", "MOST_FILE_BYTES"):  # two are private
        monkeypatch.setattr(bounds, name, MOST)
    monkeypatch.setattr("profiler.store.reports.locate.MOST_FILE_BYTES", MOST)


@pytest.fixture
def server():
    """The URL of a server without end, and its handler, which counts what it sent."""
    handler = type("Handler", (Endless,), {})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as running:
        threading.Thread(target=running.serve_forever, args=[0.02], daemon=True).start()
        yield f"http://127.0.0.1:{running.server_port}/runs", handler
        running.shutdown()


def require_refused(store):
    """The run is listed, and named as damaged because of its size."""
    assert [str(one) for one in store.ids()] == [RUN]
    assert list(store.manifests()) == []
    with pytest.raises(RunDamaged, match="larger than 1 MiB"):
        store.require_whole()


def test_a_manifest_without_end_is_one_damaged_run(server):
    url, handler = server
    require_refused(RunStore(url))
    assert handler.sent < SENT_BEYOND


@pytest.mark.parametrize("name", ["launches.parquet", "manifests.jsonl", "pack.json"])
def test_a_file_that_is_read_whole_has_a_size(server, name):
    url, handler = server
    place = ObjectPlace(url, last_files=(MANIFEST_FILE,))
    (answer,) = place.read_all([(f"{RUN}/{name}", None, None)])
    assert isinstance(answer, bounds.FileTooLarge)
    (answer,) = place.read_all([(f"{RUN}/{name}", 10, 20)])  # the server sends more than it is asked for
    assert isinstance(answer, bounds.FileTooLarge)
    assert handler.sent < SENT_BEYOND


def test_a_file_that_is_copied_has_a_size(server):
    url, handler = server
    place = ObjectPlace(url, last_files=(MANIFEST_FILE,))
    with pytest.raises(bounds.FileTooLarge):
        place.file(f"{RUN}/report.ncu-rep.zst")
    assert handler.sent < SENT_BEYOND


def test_a_listing_without_end_is_refused(server):
    url, handler = server
    handler.listing = ""
    with pytest.raises(RemoteFailed, match="the listing is larger than 1 MiB"):
        RunStore(url).ids()
    assert handler.sent < SENT_BEYOND


def test_folders_in_folders_without_end_are_searched_to_a_depth(server):
    url, handler = server
    handler.listing = '<a href="again/">again</a>'
    assert RunStore(url).ids() == []
    assert handler.asked < 10


@pytest.mark.parametrize("announced", [{}, {"Content-Length": "1000"}, {"Content-Length": str(1 << 60)}])
def test_a_report_without_end_is_one_error(server, tmp_path, announced):
    url, handler = server
    handler.headers_sent = announced | {"Accept-Ranges": "bytes"}
    with pytest.raises((RemoteFailed, ReportTooLarge)) as caught:
        fetch(RemoteReport(f"{url}/report.ncu-rep"), tmp_path / "report")
    assert isinstance(caught.value, ProfError)
    assert (tmp_path / "report").stat().st_size <= MOST if (tmp_path / "report").exists() else True
    assert handler.sent < SENT_BEYOND


def test_an_object_of_any_size_is_one_damaged_run(s3):
    """The owner of a bucket may put 5 TB at any name."""
    url = s3()
    fsspec.filesystem("s3").pipe(f"{url}/{RUN}/{MANIFEST_FILE}", b" " * (MOST + 100))
    place = ObjectPlace(url, last_files=(MANIFEST_FILE,))
    (answer,) = place.read_all([(f"{RUN}/{MANIFEST_FILE}", None, None)])
    assert isinstance(answer, bounds.FileTooLarge)
    with pytest.raises(bounds.FileTooLarge):
        place.file(f"{RUN}/{MANIFEST_FILE}")
    require_refused(RunStore(url))


def test_an_empty_object_is_read_as_one(s3):
    url = s3()
    fsspec.filesystem("s3").pipe(f"{url}/{RUN}/{MANIFEST_FILE}", b"")
    assert ObjectPlace(url, last_files=(MANIFEST_FILE,)).read(f"{RUN}/{MANIFEST_FILE}") == b""


def test_a_file_of_this_machine_has_the_same_size(tmp_path):
    folder = tmp_path / RUN
    folder.mkdir()
    (folder / MANIFEST_FILE).write_bytes(b" " * (MOST + 1))
    require_refused(RunStore(tmp_path))


def test_names_without_end_are_refused(server, monkeypatch):
    """Each page is small, and lists folders with pages of their own."""
    monkeypatch.setattr(listing, "_MOST_NAMES", 100)  # private: a million would take an hour
    url, handler = server
    handler.listing = "".join(f'<a href="{number}/">x</a>' for number in range(30))
    with pytest.raises(RemoteFailed, match="more than 100 files and folders are listed there"):
        RunStore(url).ids()


def fill(url, names):
    """Puts an object of one byte at each name, inside the server: a request for each would take it 7 ms."""
    bucket, _, folder = url.removeprefix("s3://").partition("/")
    for name in names:
        s3_backends[DEFAULT_ACCOUNT_ID]["aws"].put_object(bucket, f"{folder}/{name}", b"1")


@pytest.mark.slow
def test_names_without_end_in_a_bucket_are_refused_before_all_are_listed(s3, monkeypatch):
    """A bucket answers in pages of a thousand names."""
    monkeypatch.setattr(listing, "_MOST_NAMES", 1000)  # private: a million would take minutes
    url = s3()
    fill(url, [f"{number}/{MANIFEST_FILE}" for number in range(2100)])
    asked = []
    call = S3FileSystem.call_s3
    monkeypatch.setattr(
        S3FileSystem, "call_s3", lambda *given, **more: asked.append(1) or call(*given, **more)
    )
    with pytest.raises(RemoteFailed, match=f"{url}: more than 1,000 files and folders are listed there"):
        RunStore(url).ids()
    (report,) = find_reports([url])
    with pytest.raises(RemoteFailed, match=f"{url}: more than 1,000 files and folders are listed there"):
        fetch(report, Path("never written"))
    assert len(asked) == 4


@pytest.mark.slow
def test_a_pattern_is_compared_with_no_more_names_than_that(s3, monkeypatch):
    """A pattern without `**` lists only as many levels as it has; the names of one level have no end, either."""
    monkeypatch.setattr(listing, "_MOST_NAMES", 1000)  # private: a million would take minutes
    url = s3()
    fill(url, ["one.ncu-rep", *(f"deep/{number}.ncu-rep" for number in range(2100))])
    asked = []
    call = S3FileSystem.call_s3
    monkeypatch.setattr(
        S3FileSystem, "call_s3", lambda *given, **more: asked.append(1) or call(*given, **more)
    )
    assert [str(one) for one in find_reports([f"{url}/*.ncu-rep"])] == [f"{url}/one.ncu-rep"]
    for pattern in (f"{url}/**/*.ncu-rep", f"{url}/deep/*", f"{url}/d*"):
        asked.clear()
        (report,) = find_reports([pattern])
        with pytest.raises(RemoteFailed, match="more than 1,000 files and folders are listed there"):
            fetch(report, Path("never written"))
        assert asked.count(1) <= 4  # two pages of a thousand, of three


class AtOnce(MemoryFileSystem):
    """Finds all names below a folder by a search of its own, as the libraries for Google's and Azure's stores do."""

    protocol = "atonce"
    store: ClassVar[dict] = {}  # as an object of fsspec's in memory, but apart from those
    pseudo_dirs: ClassVar[list] = [""]

    def find(self, path, *given, **more):
        return super().find(path, *given, **more)


fsspec.register_implementation("atonce", AtOnce)


@pytest.mark.parametrize("store", ["s3", "memory", "atonce"])
@pytest.mark.parametrize(
    "pattern",
    ["*", "**", "a*", "a*/*", "**/*.ncu-rep", "a/**/y.ncu-rep", "*/b/**", "**/b", "**/**/[xy].*", "?/*/*", "a/x.*", "z*"],
)  # fmt: skip
def test_a_pattern_finds_what_fsspec_finds(s3, store, pattern):
    url = s3() if store == "s3" else f"{store}://bucket/runs"
    system, root = fsspec.url_to_fs(url)
    names = ["x.ncu-rep", "a/x.ncu-rep", "a/b/y.ncu-rep", "a/b/c/d/y.ncu-rep", "ab/b/x.ncu-rep", "b/x.ncu-rep"]  # fmt: skip
    system.pipe({f"{root}/{name}": b"1" for name in names})
    places = [one.rstrip("/") for one in system.glob(f"{root}/{pattern}")]
    below = {name for name in names if any(f"{root}/{name}/".startswith(f"{one}/") for one in places)}
    found = [one for one in find_reports([f"{url}/{pattern}"]) if not one.trouble]
    assert {str(one).removeprefix(f"{url}/") for one in found} == below
    system.rm(root, recursive=True)


def test_too_many_names_are_refused_by_a_store_that_finds_all_at_once(monkeypatch):
    monkeypatch.setattr(listing, "_MOST_NAMES", 3)  # private: a million would take minutes
    system = AtOnce()
    for number in range(4):
        system.pipe_file(f"/many/{number}.ncu-rep", b"1")
    with pytest.raises(RemoteFailed, match="atonce://many: more than 3 files and folders are listed there"):
        list(listing.list_files(system, "/many", "atonce://many"))
    system.rm_file("/many/3.ncu-rep")
    assert len(list(listing.list_files(system, "/many", "atonce://many"))) == 3
    system.rm("/many", recursive=True)


def test_folders_in_folders_without_end_are_searched_to_a_depth_on_other_stores():
    """`find` follows a folder that links to itself for ever."""

    class Again(MemoryFileSystem):
        protocol = "again"

        def ls(self, path, detail=True, **_):
            return [{"name": f"{path}/again", "type": "directory", "size": 0}]

    assert list(listing.list_files(Again(), "/bucket", "again://bucket")) == []
    assert list(listing.find_matches(Again(), "/bucket/**/x", "again://bucket")) == []


@pytest.mark.parametrize(
    "name", [f"{RUN}/{'x/' * 400}{MANIFEST_FILE}", f"{RUN}/../{MANIFEST_FILE}", f"{RUN}//x"]
)
def test_names_in_a_bucket_that_prof_never_gives_are_left_out(s3, name):
    url = s3()
    for one in (name, f"{RUN}/{MANIFEST_FILE}"):
        fsspec.filesystem("s3").call_s3("put_object", Bucket=url.split("/")[2], Key=f"runs/{one}", Body=b"{}")
    assert list(ObjectPlace(url, last_files=(MANIFEST_FILE,)).files()) == [f"{RUN}/{MANIFEST_FILE}"]


@pytest.mark.slow
def test_a_bucket_lists_names_with_the_same_start_on_every_page(s3):
    url = s3()
    names = [f"{day}/{number:04}.parquet" for day in ("20261120", "20261121") for number in range(1100)]
    fill(url, names)
    place = ObjectPlace(url, last_files=(MANIFEST_FILE,))
    assert place.files() == dict.fromkeys(names, 1)
    assert place.files("20261121") == dict.fromkeys(names[1100:], 1)
    assert place.files("20261122") == {}


def test_the_bytes_that_are_read_at_once_are_bounded_together(s3, monkeypatch):
    """A thousand files, each below the bound of one, would fill the memory. Each may still be read alone."""
    monkeypatch.setattr(objects, "MOST_HELD_BYTES", MOST)
    url, names = s3(), [f"{RUN}/{number}.parquet" for number in range(150)]
    fsspec.filesystem("s3").pipe({f"{url}/{name}": b" " * (MOST // 16) for name in names})
    place = ObjectPlace(url, last_files=(MANIFEST_FILE,))
    answers = place.read_all([(name, None, None) for name in names])
    assert sum(isinstance(one, bytes) for one in answers) == 64  # what one round of requests brings
    assert {type(one) for one in answers[64:]} == {bounds.FileTooLarge}
    assert len(place.read(names[-1])) == MOST // 16


def test_a_large_file_is_not_read_ahead_of_its_need(server, s3):
    """Sixty-four tables of four gigabytes, asked for at once, are too much."""
    place = ObjectPlace(server[0], last_files=(MANIFEST_FILE,))
    (answer,) = place.read_all([(f"{RUN}/launches.parquet", None, None)], most=1000)
    assert isinstance(answer, bounds.FileTooLarge)
    assert answer.most <= 1001  # of four gigabytes
    bucket = s3()
    fsspec.filesystem("s3").pipe(f"{bucket}/{RUN}/launches.parquet", b" " * 2000)
    place = ObjectPlace(bucket, last_files=(MANIFEST_FILE,))
    (answer,) = place.read_all([(f"{RUN}/launches.parquet", None, None)], most=1000)
    assert isinstance(answer, bounds.FileTooLarge)
    assert place.read(f"{RUN}/launches.parquet") == b" " * 2000


def test_copies_leave_some_of_the_disk_free(s3, monkeypatch):
    """Many files, each below the bound of one, would fill the temporary folder."""
    url = s3()
    fsspec.filesystem("s3").pipe(f"{url}/{RUN}/report.ncu-rep.zst", b" " * 1000)
    nearly_full = type(shutil.disk_usage("/"))(100 << 30, 100 << 30, 100 << 20)
    monkeypatch.setattr(bounds.shutil, "disk_usage", lambda _: nearly_full)
    place = ObjectPlace(url, last_files=(MANIFEST_FILE,))
    with pytest.raises(DiskFull, match="copies of files at a URL would fill the disk"):
        place.file(f"{RUN}/report.ncu-rep.zst")
