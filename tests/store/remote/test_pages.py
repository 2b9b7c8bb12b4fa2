"""Google's and Azure's stores, whose own libraries talk to a server of this machine that answers as those stores do.

The libraries are no part of prof: `pip install gcsfs adlfs` installs them.
"""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit
from xml.sax.saxutils import escape

import fsspec
import pytest

from profiler.errors import RemoteFailed
from profiler.store.remote import listing
from profiler.store.remote.listing import find_matches
from profiler.store.remote.objects import ObjectPlace
from profiler.store.runs.run_folder import MANIFEST_FILE

AT_ONCE = 100  # names on a page
LIBRARIES = {"gs": "gcsfs", "az": "adlfs"}
NAMES = ["x.ncu-rep", "a/x.ncu-rep", "a/b/y.ncu-rep", "a/b/c/d/y.ncu-rep", "ab/b/x.ncu-rep", "b/x.ncu-rep"]
PATTERNS = ["*", "**", "a*", "a*/*", "**/*.ncu-rep", "a/**/y.ncu-rep", "*/b/**", "?/*/*", "a/x.*", "z*"]


class Bucket(BaseHTTPRequestHandler):
    """Lists `names` a page at a time, by Google's JSON or Azure's XML; the mark of a page is the place of its first name."""

    names: list[str]
    asked = 0

    def do_GET(self):
        kind, query = type(self), {name: one for name, (one,) in parse_qs(urlsplit(self.path).query).items()}
        first = int(query.get("pageToken", query.get("marker", "0")))
        start, delimiter = query.get("prefix", ""), query.get("delimiter", "")
        found = {}  # whether it is a folder
        for name in sorted(kind.names):
            if name.startswith(start):
                inner, ends, _ = (
                    name[len(start) :].partition(delimiter) if delimiter else (name[len(start) :], "", "")
                )
                found[start + inner + ends] = bool(ends)
        page, more = list(found.items())[first : first + AT_ONCE], first + AT_ONCE
        token = str(more) if len(found) > more else ""
        path, body, content = urlsplit(self.path).path, b"", "application/json"
        if path.endswith("/runs/o"):
            body = google(page, token)
        elif path.endswith("/runs") and query.get("comp") == "list":
            body, content = azure(page, token), "application/xml"
        kind.asked += bool(body)
        self.send_response(200 if body else 404)
        self.send_header("Content-Type", content)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_HEAD(self):
        self.send_response(404)
        self.end_headers()

    def log_message(self, *_):
        pass


def google(page, token):
    files = [
        {"name": name, "size": "1", "kind": "storage#object"} for name, is_folder in page if not is_folder
    ]
    answer = {
        "kind": "storage#objects",
        "items": files,
        "prefixes": [name for name, is_folder in page if is_folder],
    }
    return json.dumps(answer | ({"nextPageToken": token} if token else {})).encode()


def azure(page, token):
    blobs = "".join(
        f"<BlobPrefix><Name>{escape(name)}</Name></BlobPrefix>"
        if is_folder
        else f"<Blob><Name>{escape(name)}</Name><Properties><Content-Length>1</Content-Length>"
        "<BlobType>BlockBlob</BlobType></Properties></Blob>"
        for name, is_folder in page
    )
    return (
        f'<?xml version="1.0" encoding="utf-8"?><EnumerationResults ContainerName="runs"><Blobs>{blobs}</Blobs>'
        f"<NextMarker>{token}</NextMarker></EnumerationResults>"
    ).encode()


@pytest.fixture(params=LIBRARIES)
def bucket(request, monkeypatch):
    """`bucket(names)`: the URL of a bucket with these names, and the server that counts its requests."""
    pytest.importorskip(LIBRARIES[request.param])
    handler = type("Handler", (Bucket,), {"names": []})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as running:
        threading.Thread(target=running.serve_forever, args=[0.02], daemon=True).start()
        here = f"http://127.0.0.1:{running.server_port}"
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", here)
        monkeypatch.setenv(
            "GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT", "false"
        )  # or it asks what kind of bucket it is
        monkeypatch.setitem(fsspec.config.conf, "gs", {"token": "anon"})
        account = f"AccountName=store;AccountKey=a2V5;BlobEndpoint={here}/store;"
        monkeypatch.setitem(fsspec.config.conf, "abfs", {"connection_string": account})

        def fill(names, called="runs"):
            handler.names = [f"folder/{name}" for name in names]
            return f"{request.param}://{called}/folder", handler

        yield fill
        running.shutdown()


def test_runs_are_found_on_every_page(bucket):
    url, server = bucket([f"{number:04}/{MANIFEST_FILE}" for number in range(250)])
    place = ObjectPlace(url, last_files=(MANIFEST_FILE,))
    assert place.names() == [f"{number:04}" for number in range(250)]
    assert server.asked == 3
    assert list(place.files("00")) == [f"{number:04}/{MANIFEST_FILE}" for number in range(100)]


def test_names_without_end_are_refused_before_all_are_listed(bucket, monkeypatch):
    monkeypatch.setattr(listing, "_MOST_NAMES", 150)  # private: a million would take minutes
    url, server = bucket([f"{number}.ncu-rep" for number in range(1000)])
    with pytest.raises(RemoteFailed, match="more than 150 files and folders are listed there"):
        ObjectPlace(url, last_files=(MANIFEST_FILE,)).names()
    assert server.asked == 2
    system, root = fsspec.core.url_to_fs(url)
    for pattern in ("*.ncu-rep", "**/*.ncu-rep"):
        server.asked = 0
        with pytest.raises(RemoteFailed, match="more than 150 files and folders are listed there"):
            list(find_matches(system, f"{root}/{pattern}", url))
        assert server.asked == 2


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_pattern_finds_what_it_finds_elsewhere(bucket, pattern):
    url, _ = bucket(NAMES)
    system, root = fsspec.core.url_to_fs(url)
    memory = fsspec.filesystem("memory")
    memory.pipe({f"/runs/folder/{name}": b"1" for name in NAMES})
    found = {place for place, _ in find_matches(system, f"{root}/{pattern}", url)}
    expected = {place for place, _ in find_matches(memory, f"/runs/folder/{pattern}", "memory")}
    assert found == {place.lstrip("/") for place in expected}
    memory.rm("/runs", recursive=True)


def test_a_bucket_that_is_missing_is_named(bucket):
    url, _ = bucket([], "missing")
    with pytest.raises(RemoteFailed, match="there is no such bucket"):
        ObjectPlace(url, last_files=(MANIFEST_FILE,)).names()
