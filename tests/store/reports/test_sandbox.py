"""Whatever NVIDIA's library does to its process, it cannot take `prof` down."""

import importlib
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import CancelledError
from functools import cache
from pathlib import Path

import pytest
from living import wait_until

from profiler.errors import InternalError, ReaderFailed, ReportNotFound
from profiler.machine import available_cores
from profiler.store.reports.locate import size_bytes
from profiler.store.reports.request import Request
from profiler.store.reports.sandbox import Sandbox, outcome, timeout_for_size_s
from profiler.store.runs.file_names import MANIFEST_FILE
from profiler.store.runs.manifest import Manifest
from profiler.store.runs.run import Run


@pytest.fixture(scope="module")
def misbehaving():
    """The module of requests that go wrong, importable in workers as well."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(Path(__file__).parent))
        yield importlib.import_module("misbehaving")


@pytest.fixture(scope="module")
def sandbox(misbehaving):
    """One that must survive all of them."""
    with Sandbox(workers=2) as sandbox:
        yield sandbox


@pytest.fixture(scope="module")
def read_whole(sandbox, reports, tmp_path_factory):
    """`read_whole("several")`: the run of a report that crashes nothing."""

    @cache
    def read(name):
        path, folder = reports / f"{name}.ncu-rep", tmp_path_factory.mktemp("whole") / "run"
        return Run(folder, outcome(sandbox.submit(Request((path,), folder)), path))

    return read


@pytest.mark.slow
@pytest.mark.parametrize(
    ("request_name", "message"),
    [
        ("ReadsNull", "reader crashed on it (signal 11)"),
        ("Exits", "reader crashed on it (exit code 7)"),
        ("Spins", "reader did not finish in time and was stopped"),
        ("Eats", "reader ran out of memory on it"),
    ],
)
def test_a_worker_that_misbehaves_fails_alone(sandbox, misbehaving, reports, tmp_path, request_name, message):
    report = reports / "graph.ncu-rep"
    bad = getattr(misbehaving, request_name)((report,), tmp_path / "bad")
    limit_s = 8 if request_name == "Spins" else None

    before = sandbox.submit(Request((report,), tmp_path / "before"))
    during = sandbox.submit(bad, limit_s)
    after = sandbox.submit(Request((report,), tmp_path / "after"))

    with pytest.raises(ReaderFailed) as caught:
        outcome(during, report)
    assert str(caught.value) == f"{report}: NVIDIA's {message}"
    assert all(isinstance(outcome(good, report), Manifest) for good in (before, after))


@pytest.mark.parametrize(
    ("request_name", "report", "unread", "launches_with_code"),
    [
        ("CrashesOnGraphs", "several", "machine code and source lines of CUDA graphs", 7),
        ("CrashesOnGraphs", "graph", "machine code and source lines of CUDA graphs", 0),
        ("CrashesOnAnyCode", "several", "machine code and source lines", 0),
    ],
)
def test_after_a_crash_all_is_kept_but_the_part_that_crashed(
    sandbox, read_whole, misbehaving, reports, tmp_path, request_name, report, unread, launches_with_code
):
    """`several` holds seven kernels, `graph` nothing but graphs."""
    path, folder = reports / f"{report}.ncu-rep", tmp_path / "run"
    crashing = sandbox.submit(getattr(misbehaving, request_name)((path,), folder))
    left, whole = Run(folder, outcome(crashing, path)), read_whole(report)

    assert (left.manifest.unread, whole.manifest.unread) == (unread, "")
    assert len(set(left.table("instructions").column("launch").to_pylist())) == launches_with_code
    for table in ("launches", "metrics", "instances", "rules"):
        rows = [side.table(table).to_pylist() for side in (left, whole)]
        if launches_with_code == 0 and table == "rules":  # but for those that point into the code
            rows[1] = [row for row in rows[1] if row["name"] is not None]
        assert rows[0] == rows[1], table
    expected = {MANIFEST_FILE, "report.ncu-rep.zst", *(one.file for one in left.manifest.tables.values())}
    assert {path.name for path in left.path.iterdir()} == expected  # nothing of the reader that crashed


INGEST_WITH_A_CRASH = """
import misbehaving
from profiler.cli import main
from profiler.store.ingest import ingest
ingest.Request = misbehaving.CrashesOnGraphs
main()
"""


@pytest.mark.slow
def test_every_command_that_shows_a_run_says_what_was_left_out_of_it(reports, prof, tmp_path):
    report = reports / "graph.ncu-rep"
    command = [sys.executable, "-c", INGEST_WITH_A_CRASH, "--runs", tmp_path, "ingest", report]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}

    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
    again = prof("--runs", tmp_path, "ingest", report, "--format", "csv")
    shown = prof("--runs", tmp_path, "show", "graph")
    compared = prof("--runs", tmp_path, "compare", "graph", "graph")
    code = prof("--runs", tmp_path, "sass", "graph")

    left_out = "machine code and source lines of CUDA graphs"
    assert done.stdout.endswith(f"graph.ncu-rep  (without {left_out}: NVIDIA's reader crashed on them)\n")
    assert again.stdout.splitlines()[1].endswith(f",{left_out}")
    left_out_why = f"{left_out} are left out, because NVIDIA's reader crashed on them"
    assert f"graph: {left_out_why}" in " ".join(shown.stdout.split())
    assert f"both sides: {left_out_why}" in " ".join(compared.stdout.split())
    assert (code.returncode, code.stdout) == (49, "")
    assert f"graph: {left_out_why}" in code.stderr
    assert "--graph-profiling node" in code.stderr


def test_a_reader_that_crashes_on_a_sound_file_is_not_called_damage(sandbox, misbehaving, reports, tmp_path):
    report = reports / "graph.ncu-rep"

    with pytest.raises(ReaderFailed) as caught:
        outcome(sandbox.submit(misbehaving.ReadsNull((report,), tmp_path)), report)

    assert "need not be damaged" in caught.value.remedy


@pytest.mark.slow
def test_a_bug_in_prof_is_called_one_and_fails_alone(sandbox, misbehaving, reports, tmp_path):
    report = reports / "graph.ncu-rep"

    broken = sandbox.submit(misbehaving.Breaks((report,), tmp_path / "bad"))
    good = sandbox.submit(Request((report,), tmp_path / "good"))
    with pytest.raises(InternalError, match=r"graph\.ncu-rep: ZeroDivisionError: a bug"):
        outcome(broken, report)
    assert isinstance(outcome(good, report), Manifest)


def test_errors_come_back_from_a_worker_with_their_remedy(sandbox, tmp_path):
    report = tmp_path / "gone.ncu-rep"

    future = sandbox.submit(Request((report,), tmp_path / "folder"))
    with pytest.raises(ReportNotFound, match="no such file") as caught:
        outcome(future, report)

    assert caught.value.remedy == ReportNotFound.remedy


@pytest.mark.slow
def test_an_alarm_ends_an_orphan_that_spins_where_no_python_runs(misbehaving, reports, tmp_path):
    """Nobody is left to stop it, and its own watching thread never gets the interpreter."""
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "report.ncu-rep").symlink_to(reports / "graph.ncu-rep")
    code = f"import misbehaving; misbehaving.spin_as_an_orphan({str(folder)!r}, 1.5)"
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}

    start = time.monotonic()
    done = subprocess.run([sys.executable, "-c", code], env=environment, timeout=30, check=False)

    assert done.returncode == -signal.SIGALRM
    assert (folder / "spinning").exists()
    assert time.monotonic() - start >= 1.5


@pytest.mark.slow
def test_a_memory_limit_that_is_lower_already_stays(reports, tmp_path):
    physical = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    code = (
        "import resource, sys; half = int(sys.argv.pop(1)); resource.setrlimit(resource.RLIMIT_AS, (half, half))\n"
        "from profiler.cli import main; main()"
    )
    report = reports / "graph.ncu-rep"
    command = [sys.executable, "-c", code, str(physical // 2), "--runs", str(tmp_path), "ingest", str(report)]

    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)

    assert done.returncode == 0, done.stderr
    assert done.stderr == "1 stored\n"


@pytest.mark.slow
def test_a_limit_of_memory_leaves_room_for_what_the_libraries_only_reserve(misbehaving, reports, tmp_path):
    """As a worker with half a gigabyte has it: reports are read, and one that eats all is stopped early."""
    report = reports / "several.ncu-rep"
    with Sandbox(workers=1, timeout_s=30, memory_bytes=512 << 20) as sandbox:
        good = sandbox.submit(Request((report,), tmp_path / "good"))
        bad = sandbox.submit(misbehaving.Eats((report,), tmp_path / "bad"))

        assert isinstance(outcome(good, report), Manifest)
        with pytest.raises(ReaderFailed, match="ran out of memory"):
            outcome(bad, report)


TOLD_TO_END_WHILE_A_READER_STARTS = """
import os, signal, sys
from multiprocessing import util
from pathlib import Path
from profiler.store.reports.locate import size_bytes
from profiler.store.reports.request import Request
from profiler.store.reports.sandbox import Sandbox

def end(*_):
    raise SystemExit("ended")

def spawn(path, arguments, descriptors):
    child = spawn_alone(path, arguments, descriptors)
    if any(b"spawn_main" in os.fsencode(one) for one in arguments):
        os.kill(os.getpid(), signal.SIGTERM)  # the reader runs, and has not been given what it starts with
    return child

signal.signal(signal.SIGTERM, end)
spawn_alone, util.spawnv_passfds = util.spawnv_passfds, spawn
with Sandbox(workers=1) as sandbox:
    sandbox.submit(Request((Path(sys.argv[1]),), Path(sys.argv[2]))).result()
"""


@pytest.mark.slow
def test_a_signal_while_a_reader_starts_leaves_no_reader_that_prints_an_error(reports, tmp_path):
    command = [sys.executable, "-c", TOLD_TO_END_WHILE_A_READER_STARTS, reports / "graph.ncu-rep", tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (1, "ended\n")


@pytest.mark.slow
@pytest.mark.parametrize("when", ["while the reader starts", "while it reads"])
def test_who_waits_for_a_report_hears_that_its_reading_was_abandoned(misbehaving, reports, tmp_path, when):
    report, folder = reports / "graph.ncu-rep", tmp_path / "run"
    sandbox = Sandbox(workers=1)
    answer = sandbox.submit(misbehaving.Waits((report,), folder))
    if when == "while it reads":
        assert wait_until((folder / "waiting").exists, 30)

    sandbox.stop()

    assert isinstance(answer.exception(timeout=10), CancelledError)
    with pytest.raises(CancelledError):  # not an error of the report, which the user would see
        outcome(answer, report)


def test_more_is_allowed_for_larger_reports(tmp_path):
    large = tmp_path / "large"
    with large.open("wb") as file:
        file.truncate(100_000_000)

    assert timeout_for_size_s(size_bytes(tmp_path / "gone")) == 60
    assert timeout_for_size_s(size_bytes(large)) == pytest.approx(460)
    assert available_cores() >= 1


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["triton_matmul", pytest.param("triton_add_full", marks=pytest.mark.campaign)]
)
def test_the_tables_of_a_report_do_not_depend_on_the_reports_before_it(reports, tmp_path, name):
    """NVIDIA's library remembers units from the first report that a process reads."""
    report, before = reports / f"{name}.ncu-rep", reports / "graph.ncu-rep"
    with Sandbox(workers=1) as one:
        alone = outcome(one.submit(Request((report,), tmp_path / "alone")), report)
    with Sandbox(workers=1) as one:
        outcome(one.submit(Request((before,), tmp_path / "before")), before)
        after = outcome(one.submit(Request((report,), tmp_path / "after")), report)

    assert isinstance(alone, Manifest)
    assert isinstance(after, Manifest)
    assert alone.tables == after.tables
