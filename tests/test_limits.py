"""Each refusal of the machine is an error of its own: never a bug in prof, and never exit code 1, which means a regression."""

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pyarrow as pa
import pytest

from profiler.errors import (
    LadderInvalid,
    OutputNotWritable,
    PathUnusable,
    QueryFailed,
    ReportTooLarge,
    ResourcesShort,
    RunDamaged,
    StoreLocked,
    ThresholdsInvalid,
)
from profiler.machine import (
    available_cores,
    available_memory_bytes,
    find_shortage,
    held,
    physical_memory_bytes,
)
from profiler.store.locks import locked
from profiler.store.remote.urls import secrets_of, without_secrets
from profiler.store.reports.identity import read_plain
from profiler.store.reports.request import Request
from profiler.store.runs.manifest import Manifest
from profiler.store.runs.run_store import RunStore

FULL = Path("/dev/full")
needs_full = pytest.mark.skipif(not FULL.exists(), reason="this system has no /dev/full")


def shell(recorded, words, redirected, limit="true"):
    program = f"{sys.executable} -c 'from profiler.cli import main; main()' --runs {recorded.root}"
    return subprocess.run(
        ["bash", "-c", f"{limit}; {program} {words} {redirected}"],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip


# Output


@needs_full
@pytest.mark.parametrize("words", ["list", "--help", "list --help", "--version", "show 5 --format json"])
@pytest.mark.parametrize("redirected", [">/dev/full", ">/dev/full 2>/dev/full"])
def test_a_full_disk_behind_the_output_is_an_error_of_the_output(recorded, words, redirected):
    done = shell(recorded, words, redirected)
    assert done.returncode == OutputNotWritable.exit_code
    if "2>" not in redirected:
        assert done.stderr.startswith("prof: standard output cannot be written: No space left on device")


@needs_full
@pytest.mark.parametrize("redirected", ["2>/dev/full", "2>&-"])
def test_an_error_keeps_its_code_when_nobody_can_read_it(recorded, redirected):
    assert shell(recorded, "show nothing", redirected).returncode == 21


@pytest.mark.slow
@needs_full
def test_a_remark_that_cannot_be_written_is_not_taken_for_a_regression(recorded):
    finds_none = "query \"select * from metrics where metric = 'duration_ns'\""
    assert shell(recorded, finds_none, "2>/dev/full").returncode == OutputNotWritable.exit_code


@pytest.mark.parametrize("redirected", [">&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_a_closed_output_is_an_error_of_the_output(recorded, redirected):
    assert shell(recorded, "list", redirected).returncode == OutputNotWritable.exit_code


def test_a_closed_input_and_closed_errors_stop_nothing(recorded):
    done = shell(recorded, "list --kernels", "<&- 2>&-")
    assert done.returncode == 0
    assert "kernel" in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("redirected", ["<&-", "<&- >/dev/null 2>&-"])
def test_a_server_whose_input_is_closed_ends(recorded, redirected):
    assert shell(recorded, "mcp", redirected).returncode == 0


# Limits of the process


@pytest.mark.slow
@pytest.mark.parametrize("mib", [1000, 2048, 3072])
def test_a_query_with_too_little_memory_says_so(recorded, mib):
    done = shell(recorded, "query 'select count(*) from metrics'", "", f"ulimit -v {mib * 1024}")
    assert done.returncode == ResourcesShort.exit_code, done.stderr
    assert "ulimit -v" in done.stderr


@pytest.mark.slow
def test_a_query_works_with_the_least_memory_that_it_asks_for(recorded):
    done = shell(recorded, "query 'select count(*) from metrics'", "", f"ulimit -v {4096 * 1024}")
    assert done.returncode == 0, done.stderr


# The suite has a limit on each side of the one that decides; a page's is 4 GB.
_ONE_LIMIT_IS_ENOUGH = [
    ("show 5", 300), ("compare 5 6", 500), ("compare 5 6", 600), ("report -o", 600), ("report -o", 4000),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "mib"),
    [
        pytest.param(words, mib, marks=() if (words, mib) in _ONE_LIMIT_IS_ENOUGH else pytest.mark.campaign)
        for words in ("show 5", "report -o", "compare 5 6")
        for mib in (300, 500, 600, 1000, 4000)
    ],
)
def test_too_little_memory_is_never_a_regression_nor_damage(recorded, tmp_path, words, mib):
    """OpenBLAS ends a process with 1, which means a regression, and V8 prints frames of its own."""
    draws = words.startswith("report")
    done = shell(
        recorded, f"{words} {tmp_path / 'page.html'}" if draws else words, "", f"ulimit -v {mib * 1024}"
    )
    short = draws or mib < 512
    assert done.returncode == (ResourcesShort.exit_code if short else 0), done.stderr
    assert "stack trace" not in done.stderr
    assert "semaphore" not in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("files", [8, 10])
def test_a_query_that_may_open_few_files_says_so(recorded, files):
    done = shell(recorded, "query 'select count(*) from metrics'", "", f"ulimit -n {files}")
    assert done.returncode in (0, ResourcesShort.exit_code), done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("files", [8, 12, 16])
def test_readers_that_cannot_be_started_are_no_bug(recorded, reports, tmp_path, files):
    words = f"--runs {tmp_path / 'runs'} ingest {reports / 'gemm_6.ncu-rep'}"
    done = shell(recorded, words, "", f"ulimit -n {files}")
    assert done.returncode == ResourcesShort.exit_code, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("kib", [0, 1, 300])  # the report has 366 kB
def test_a_limit_of_the_size_of_files_does_not_make_a_report_damaged(recorded, reports, tmp_path, kib):
    # Python 3.11 would write halves of compiled modules, and then fail to import them.
    fresh = f"export PYTHONDONTWRITEBYTECODE=1 XDG_CACHE_HOME={tmp_path}"
    limit = f"{fresh}; ulimit -f {kib}"
    done = shell(recorded, f"show {reports / 'gemm_6.ncu-rep'}", "", limit)
    assert done.returncode == ResourcesShort.exit_code, done.stderr
    assert "ulimit -f" in done.stderr
    assert "damaged" not in done.stderr


@pytest.mark.slow
def test_a_system_without_a_folder_for_temporary_files_is_no_bug(reports):
    # private: no variable makes Python's search for such a folder end without one
    program = (
        "import tempfile; tempfile.tempdir = None; tempfile._candidate_tempdir_list = lambda: ['/nowhere']\n"
        "from profiler.cli import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, "show", str(reports / "gemm_6.ncu-rep")],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == PathUnusable.exit_code, done.stderr
    assert "TMPDIR=" in done.stderr
    assert "bug" not in done.stderr


@pytest.mark.slow
def test_few_open_files_damage_no_run(recorded):
    done = shell(recorded, "list", "", "ulimit -n 16")
    assert done.returncode == 0
    assert "damaged" not in done.stdout


def test_prof_uses_as_many_cores_as_python_was_told(monkeypatch):
    monkeypatch.setenv("PYTHON_CPU_COUNT", "3")
    assert available_cores() == 3
    monkeypatch.setenv("PYTHON_CPU_COUNT", "default")
    assert available_cores() == len(os.sched_getaffinity(0))


@pytest.mark.parametrize(
    ("files", "mib"),
    [
        ({}, 1000),
        ({"memory.max": "max\n", "memory.current": "5", "memory.stat": "inactive_file 3\n"}, 1000),
        ({"memory.max": 800 << 20, "memory.current": 700 << 20, "memory.stat": f"anon 1\ninactive_file {50 << 20}\n"}, 150),
        ({"memory.max": 800 << 20, "memory.current": 900 << 20, "memory.stat": "inactive_file 0\n"}, 0),
        ({"memory/memory.limit_in_bytes": 900 << 20, "memory/memory.usage_in_bytes": 100 << 20,
          "memory/memory.stat": "inactive_file 9\ntotal_inactive_file 0\n"}, 800),
        ({"memory/memory.limit_in_bytes": 1 << 63, "memory/memory.usage_in_bytes": 1, "memory/memory.stat": "total_inactive_file 0\n"}, 1000),
    ],
    ids=["no container", "no limit", "a limit", "beyond it", "as older systems say it", "as they say that there is none"],
)  # fmt: skip
def test_memory_is_left_in_the_machine_and_in_its_container(tmp_path, files, mib):
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc" / "meminfo").write_text(f"MemTotal: {1 << 30} kB\nMemAvailable: {1000 << 10} kB\n")
    for name, text in files.items():
        path = tmp_path / "sys/fs/cgroup" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(str(text))
    assert available_memory_bytes(tmp_path) == mib << 20


def test_where_nothing_says_how_much_memory_is_left_all_counts(tmp_path):
    assert available_memory_bytes(tmp_path) == physical_memory_bytes()


def test_a_signal_is_heard_when_what_was_started_is_known():
    """An interrupt in between would leave a process that nobody ends."""
    heard = []

    def start():
        with held(signal.SIGINT, signal.SIGTERM):
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGTERM)
            heard.append("started")

    before = signal.signal(signal.SIGTERM, lambda *_: heard.append("heard"))
    try:
        with pytest.raises(KeyboardInterrupt):
            start()
        assert heard == ["started", "heard"]
    finally:
        signal.signal(signal.SIGTERM, before)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_thread_holds_no_signals_and_starts_its_processes_all_the_same():
    started = []

    def start():
        with held(signal.SIGINT):
            started.append(True)

    thread = threading.Thread(target=start)
    thread.start()
    thread.join()
    assert started == [True]


# Paths and texts


@pytest.mark.parametrize("words", [("show",), ("sass",), ("export",), ("--ladder",), ("--runs",)])
@pytest.mark.parametrize("path", ["a" * 5000, "/tmp/" + "a" * 5000, "/a" * 3000])
def test_an_overlong_path_is_no_bug(prof_recorded, words, path):
    before, after = (words, ("list",)) if words[0].startswith("-") else ((), ())
    done = prof_recorded(*before, *(() if before else words), path, *after)
    assert done.returncode in (PathUnusable.exit_code, 11, 12, 20, 21, 44, 45), done.stderr
    assert "bug in prof" not in done.stderr


def test_a_statement_that_is_no_unicode_is_refused(prof_recorded):
    done = prof_recorded("query", b"select '\xff'".decode(errors="surrogateescape"))
    assert done.returncode == QueryFailed.exit_code, done.stderr


HOSTILE_TOML = {
    "5,000 digits": "a = " + "9" * 5000,
    "400 digits": "a = " + "9" * 400,
    "a key of 20,000 parts": ".".join(["a"] * 20_000) + " = 1",
    "a quoted key of 20,000 parts": ".".join(['"a"'] * 20_000) + " = 1",
    "deep lists": "a = " + "[" * 50_000 + "]" * 50_000,
    "deep tables": "a = " + "{a=" * 5000 + "1" + "}" * 5000,
    "2 MB": "# comment\n" * 200_000,
    "a NUL": 'a = "\0"',
}


@pytest.mark.parametrize("text", HOSTILE_TOML.values(), ids=HOSTILE_TOML.keys())
def test_a_hostile_ladder_file_is_refused_in_no_time(prof_recorded, tmp_path, text):
    ladder = tmp_path / "ladder.toml"
    ladder.write_text(text)
    done = prof_recorded("--ladder", ladder, "list", "--kernels")
    assert done.returncode == LadderInvalid.exit_code, done.stderr
    limits = tmp_path / "prof.toml"
    limits.write_text(f"[check]\n{text}")
    done = prof_recorded("check", "5", "--baseline", "6", cwd=tmp_path)
    assert done.returncode in (0, 1, ThresholdsInvalid.exit_code, 31, 80), done.stderr


@pytest.mark.slow
def test_a_message_that_quotes_a_name_without_end_stays_readable(prof_recorded, tmp_path):
    (tmp_path / "prof.toml").write_text(f'[check]\n"{"a" * 500_000}" = 1')
    done = prof_recorded("check", "5", "--baseline", "6", cwd=tmp_path)
    assert done.returncode == ThresholdsInvalid.exit_code
    assert "is not a metric of the catalogue" in done.stderr
    assert len(done.stderr) < 5000


# Files that are none


@pytest.mark.parametrize("file", ["run.json", "metrics.parquet", "report.ncu-rep.zst"])
@pytest.mark.parametrize("kind", ["pipe", "zero"])
def test_only_regular_files_are_opened(recorded, tmp_path, file, kind):
    (run_id,) = (str(one) for one in recorded.ids() if one.name == "textbook-5")
    shutil.copytree(recorded.root / run_id, tmp_path / run_id)
    odd = tmp_path / run_id / file
    odd.unlink()
    os.mkfifo(odd) if kind == "pipe" else odd.symlink_to("/dev/zero")
    store = RunStore(tmp_path)
    with pytest.raises(RunDamaged):
        store.open(store.ids()[0]).verify()


@pytest.mark.parametrize("file", ["ladder.toml", "prof.toml", "prof.accepted.jsonl"])
def test_a_file_of_a_project_is_not_read_beyond_its_largest_size(tmp_path, monkeypatch, prof_recorded, file):
    """A file of a terabyte takes no room on a disk, and comes with any repository."""
    with (tmp_path / file).open("wb") as sparse:
        sparse.truncate(1 << 40)
    monkeypatch.chdir(tmp_path)
    words = (
        ["ladder", "--ladder", tmp_path / file]
        if file == "ladder.toml"
        else ["check", "--baseline", "5", "6"]
    )
    done = prof_recorded(*words)
    refused = LadderInvalid if file == "ladder.toml" else ThresholdsInvalid
    assert done.returncode == refused.exit_code, done.stderr
    assert file in done.stderr


def test_a_bomb_is_refused_while_it_is_unpacked(tmp_path):
    """As many zeros as a hundred times the limit would shrink to: nothing of it is kept in memory or on the disk."""
    bomb = tmp_path / "bomb.ncu-rep.zst"
    frame = pa.Codec("zstd", compression_level=9).compress(b"NVR\0" + bytes((8 << 20) - 4))
    bomb.write_bytes(bytes(frame) * 400)
    with pytest.raises(ReportTooLarge, match="unpacks to more than 64 MiB"):
        sum(map(len, read_plain(bomb)))


@pytest.mark.slow
def test_a_bomb_in_a_batch_fails_alone(tmp_path, reports, prof_here):
    bomb = tmp_path / "bomb.ncu-rep.zst"
    bomb.write_bytes(bytes(pa.Codec("zstd", compression_level=9).compress(bytes(8 << 20))) * 400)
    done = prof_here("--runs", tmp_path / "runs", "ingest", bomb, reports / "gemm_6.ncu-rep")
    assert done.returncode == 42
    assert "1 stored, 1 not ingested" in done.stderr
    assert [path.name for path in (tmp_path / "runs").glob(".staging/*/*/*")] == []


# Locks and signals


def test_a_lock_is_waited_for_with_the_name_of_its_holder_and_not_for_ever(tmp_path):
    path = tmp_path / ".lock"
    code = f"import fcntl, time; f = open({str(path)!r}, 'w'); fcntl.flock(f, fcntl.LOCK_EX); print('held', flush=True); time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as holder:
        holder.stdout.readline()
        with (
            pytest.raises(StoreLocked, match=f"process {holder.pid} .*has held") as caught,
            locked(path, 0.2),
        ):
            pass
        assert find_shortage(caught.value) is None, "the command line would report it instead"
        holder.kill()
    with locked(path, 0.2):
        pass


@pytest.mark.slow
def test_a_terminated_ingest_prints_no_warning_of_python_and_leaves_nothing(tmp_path, reports):
    command = [
        sys.executable,
        "-c",
        "from profiler.cli import main; main()",
        "--runs",
        tmp_path / "runs",
        "ingest",
        reports,
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        staging = tmp_path / "runs" / ".staging"
        while not staging.exists() and running.poll() is None:
            time.sleep(0.01)
        time.sleep(0.3)
        running.send_signal(signal.SIGTERM)
        _, errors = running.communicate(timeout=60)
    assert running.returncode in (143, -signal.SIGTERM)
    assert "semaphore" not in errors
    assert not staging.exists()


@pytest.mark.slow
def test_a_clock_that_jumps_an_hour_ends_no_reader(monkeypatch, tmp_path, reports, reader):
    jumped = time.time() + 3600
    asked = reader.submit(Request((reports / "gemm_6.ncu-rep",), tmp_path / "run", copy=False))
    monkeypatch.setattr(time, "time", lambda: jumped)
    assert isinstance(asked.result(timeout=60), Manifest)


# Secrets

URL = "https://anna:pass%21word@host/x.ncu-rep?X-Amz-Signature=0123456789abcdef&n=1"
LEAKS = [
    "GET https://anna:pass%21word@host/x failed",
    "login of anna:pass!word failed",
    "password pass!word refused",
    "url='https://host/x.ncu-rep?X-Amz-Signature=0123456789abcdef&n=1'",
    "signature 0123456789abcdef does not match",
    "key of-the-environment-1 refused",
]


@pytest.mark.parametrize("text", LEAKS)
def test_a_message_has_no_secret_of_a_url_or_the_environment(text):
    shown = without_secrets(
        text, secrets_of([URL], {"AWS_SECRET_ACCESS_KEY": "of-the-environment-1", "SHELL": "bash"})
    )
    for secret in ("pass!word", "pass%21word", "0123456789abcdef", "of-the-environment-1"):
        assert secret not in shown


@pytest.mark.parametrize("text", ["a" * 100_000, "a?" * 50_000, "a://" * 25_000, "a=" * 50_000])
def test_looking_for_secrets_takes_time_that_grows_with_the_text_alone(text):
    started = time.process_time()
    without_secrets(text, secrets_of([text], {}))
    assert time.process_time() - started < 5, "in time squared it takes half a minute"


@pytest.mark.parametrize("verb", [("list",), ("show", "5"), ("query", "select 1")])
@pytest.mark.parametrize(
    "url",
    [
        "http://anna:pass%21word@127.0.0.1:9/runs?sig=0123456789abcdef",
        "sftp://anna:pass%21word@127.0.0.1:9/runs",
    ],
)
def test_a_traceback_has_no_secret_of_a_url(prof_here, verb, url):
    done = prof_here("--verbose", "--runs", url, *verb)
    assert done.returncode not in (1, 70)
    for secret in ("pass!word", "pass%21word", "0123456789abcdef"):
        assert secret not in done.stdout + done.stderr
