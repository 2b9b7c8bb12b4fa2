"""No message has a password, a token or a signature, with --verbose neither: each shape of secret, at each place that reads it.

One table: the rows are what a user may type or set, the columns where an error may repeat it. The test lists all that
repeat it, so that one run shows every hole.
"""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from profiler.measuring.doctor import doctor

SECRET = "Zq7-hidden_Zq8"
LONG = "Zq7hiddenZq8" * 4

# The place of runs or a report; {at} is a server's address.
URLS = {
    "user and password": f"http://anna:{SECRET}@{{at}}/runs",
    "password alone": f"http://:{SECRET}@{{at}}/runs",
    "token as user": f"http://{SECRET}@{{at}}/runs",
    "escaped password": "http://anna:Zq7%21hidden%2FZq8@{at}/runs",
    "password with a slash": "http://anna:Zq7/hidden/Zq8@{at}/runs",
    "password with @ and :": "http://anna:Zq7:hidden@x@{at}/runs",
    "password with # and ?": "http://anna:Zq7#hidden?Zq8@{at}/runs",
    "a short password": "http://anna:Zq7h@{at}/runs",
    "signature": f"http://{{at}}/runs?X-Amz-Credential={SECRET}&X-Amz-Signature={LONG}",
    "escaped signature": "http://{at}/runs?sv=2024&sig=Zq7%2Bhidden%2FZq8%3D",
    "signature of no name": f"http://{{at}}/runs?{LONG}",
    "short signature": "http://{at}/runs?k=Zq7h",
    "fragment": f"http://{{at}}/runs#access_token={SECRET}",
    "user of a bucket": f"s3://anna:{SECRET}@bucket/runs",
    "user of sftp": f"sftp://anna:{SECRET}@127.0.0.1:9/runs",
    "user of an unknown protocol": f"nothing://anna:{SECRET}@{{at}}/runs",
    "no port": f"http://anna:{SECRET}@127.0.0.1:port/runs",
    "no host": f"http://anna:{SECRET}@/runs",
}
# Variables that file systems read: none of these is in a URL of the command line.
VARIABLES = {
    "S3's secret": {"AWS_SECRET_ACCESS_KEY": SECRET},
    "S3's session": {"AWS_SESSION_TOKEN": LONG},
    "fsspec's options": {"FSSPEC_HTTP": f'{{"headers": {{"Authorization": "Bearer {SECRET}"}}, "nothing": "{SECRET}"}}'},
    "fsspec's secret": {"FSSPEC_S3_SECRET": SECRET, "FSSPEC_S3_KEY": "key"},
    "a proxy": {"HTTP_PROXY": f"http://anna:{SECRET}@127.0.0.1:9"},
    "a SAS token": {"AZURE_STORAGE_SAS_TOKEN": f"sv=2024&sig={SECRET}%3D"},
    "a connection": {"AZURE_STORAGE_CONNECTION_STRING": f"AccountName=a;AccountKey={SECRET}=="},
    "the runs": {"PROF_RUNS": f"http://anna:{SECRET}@{{at}}/runs"},
}  # fmt: skip
VERBS = {
    "list": ("--runs", "{url}", "list"),
    "query": ("--runs", "{url}", "query", "select 1 from launches"),
    "fsck": ("--runs", "{url}", "fsck"),
    "show": ("show", "{url}/20261120t112409z-textbook-5-0123456789ab"),
    "compare": ("compare", "{url}", "{url}/x.ncu-rep"),
    "ingest": ("--runs", "{tmp}/runs", "ingest", "{url}", "{url}/x.ncu-rep"),
    "ingest there": ("--runs", "{url}", "ingest", "{tmp}/nothing.ncu-rep"),
    "export": ("--runs", "{url}", "export", "5", "-o", "{tmp}"),
    "doctor": ("--runs", "{url}", "doctor"),
    "ladder": ("ladder", "--ladder", "{url}"),
}


class Echo(BaseHTTPRequestHandler):
    """A server that refuses everything, and repeats what it was asked in every place that an error may repeat."""

    def do_GET(self):
        said = f"{self.path} {self.headers.get('Authorization', '')} {self.headers}"
        self.send_response(403, self.path)
        self.end_headers()
        self.wfile.write(said.encode())

    do_HEAD = do_GET

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def echo():
    with ThreadingHTTPServer(("127.0.0.1", 0), Echo) as server:
        threading.Thread(target=server.serve_forever, args=[0.02], daemon=True).start()
        yield f"127.0.0.1:{server.server_port}"
        server.shutdown()


def spoken(text):
    """The parts of a secret in a text: all of them begin with Zq7 or end in Zq8, as nothing else does."""
    return {part for part in ("Zq7", "Zq8", "hidden") if part in text}


@pytest.fixture
def examined_once(monkeypatch):
    """What `prof doctor` examines of the machine alone starts processes, and finds the same whatever the place of runs is."""

    def once(check):
        found = []

        def examined(*given):
            if not found:
                found.append(check(*given))
            return found[0]

        return examined

    for name in ("check_reader", "check_containment", "check_building", "check_measuring"):
        monkeypatch.setattr(doctor, name, once(getattr(doctor, name)))


@pytest.mark.slow
@pytest.mark.usefixtures("examined_once")
@pytest.mark.parametrize("verb", VERBS)
def test_no_error_repeats_a_secret(prof_here, tmp_path, monkeypatch, echo, verb):
    offenders = []

    def run(what, url):
        words = [word.format(url=url, tmp=tmp_path) for word in VERBS[verb]]
        done = prof_here(*words, "--verbose")
        if parts := spoken(done.stdout + done.stderr):
            lines = [line for line in (done.stdout + done.stderr).splitlines() if spoken(line)]
            offenders.append(f"{what}: {', '.join(sorted(parts))}: {lines[0].strip()[:300]}")
        assert "bug in prof" not in done.stderr, (what, done.stderr)

    monkeypatch.chdir(tmp_path)
    for what, url in URLS.items():
        for address in (echo, "127.0.0.1:9") if "{at}" in url else ("",):
            run(f"{what} at {address}", url.format(at=address))
    for what, variables in VARIABLES.items():
        with monkeypatch.context() as patch:
            for name, value in variables.items():
                patch.setenv(name, value.replace("{at}", echo))
            run(what, f"http://{echo}/runs")
            run(what, "s3://a-bucket-of-nobody/runs")
    assert not offenders, "\n".join(offenders)
