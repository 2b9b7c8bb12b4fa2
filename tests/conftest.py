"""Fixtures for the tests of every room: the shipped reports, stores of runs, and the real `prof`."""

import atexit
import dataclasses
import fcntl
import gc
import hashlib
import json
import os
import pickle
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from contextlib import contextmanager, nullcontext
from datetime import UTC, datetime, timedelta
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

import jsonschema
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import terminal
from hypothesis import settings
from msgspec.structs import replace

import profiler
from profiler.analyse.causes.diagnose import diagnose
from profiler.analyse.code.code import read_code
from profiler.analyse.compare.compare import compare_profiles
from profiler.analyse.recording.profile import profile_kernel
from profiler.catalog.ladders.ladder_file import read_ladder
from profiler.catalog.metrics import BY_NAME, OPCODES
from profiler.machine import available_cores
from profiler.measuring.collect.gpu_turn import PLACE
from profiler.measuring.tools.toolchain import find_packaged, toolkit_candidates
from profiler.store.cache import open_pictures
from profiler.store.ingest.ingest import IngestOptions, ingest_reports
from profiler.store.process_timings import Timing
from profiler.store.reports.request import Omitted
from profiler.store.reports.sandbox import Sandbox
from profiler.store.runs.manifest import (
    KernelCount,
    Manifest,
    Provenance,
    StoredReport,
    StoredTable,
    read_manifest,
    write_manifest,
)
from profiler.store.runs.run import Run
from profiler.store.runs.run_id import RunId
from profiler.store.runs.run_store import RunStore
from profiler.store.runs.timed_run import TimedRun, commit_timings
from profiler.store.tables.columns import TableBuilder
from profiler.store.tables.instruction_text import opcode_of
from profiler.store.tables.schema import SCHEMA_VERSION, TABLES

# As many tests run at once as there are cores, and a command that may use all of them starts a reader on each: 0.7 s of processor time.
CORES = available_cores()
ONE_CORE = "PYTHON_CPU_COUNT"
ONE_THREAD = "OPENBLAS_NUM_THREADS"
os.environ[ONE_CORE] = "1"
os.environ[ONE_THREAD] = (
    "1"  # threads that NumPy would start and no test needs: 20 ms in each process that imports it
)

# What a shell may have set must not decide a test, nor how long hundreds of processes take to start.
for _name in (
    "PROF_RUNS",
    "NO_COLOR",
    "FORCE_COLOR",
    "COLUMNS",
    "PYTHONIOENCODING",
    "PYTHONDONTWRITEBYTECODE",
    "PROF_NO_CACHE",
):
    os.environ.pop(_name, None)
sys.dont_write_bytecode = False
os.environ["PAGER"] = ""  # a test on a terminal would wait for a key
# Nor may what the user's cache holds, and it shall hold nothing of the tests.
# All workers share one: what a user's second command finds there, the second worker does. So a report that was read once is not
# read again, but in tests about reading (`every_report_is_read`).
if "PYTEST_XDIST_WORKER" not in os.environ:
    os.environ["XDG_CACHE_HOME"] = tempfile.mkdtemp(prefix="prof-tests-cache-")
    atexit.register(shutil.rmtree, os.environ["XDG_CACHE_HOME"], ignore_errors=True)

# `just campaign` tries more examples of each property.
settings.register_profile("suite", max_examples=25, deadline=None)
settings.register_profile("campaign", max_examples=2000, deadline=None)
settings.load_profile("suite")

# A script's background job ignores interrupts, and what `nohup` starts hangups; every process they start would too.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)

ROOT = Path(__file__).resolve().parent.parent
REPORTS = ROOT / "tests" / "data" / "reports"


def pytest_xdist_auto_num_workers():
    """`-n auto`: twice the cores that this process may use, as many a test waits for what hangs or was killed."""
    return 2 * CORES


def pytest_configure(config):
    """Refuses a path that does not exist. Several workers would otherwise run nothing at all, and not say why."""
    start = config.invocation_params.dir
    missing = [word for word in config.args if not (start / word.partition("::")[0]).exists()]
    if missing and not hasattr(config, "workerinput"):
        raise pytest.UsageError(f"there is no {', no '.join(missing)}")


def pytest_sessionfinish(session, exitstatus):
    """A session in CI in which no test passed fails, also if it skipped some."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    nothing = reporter is not None and not reporter.stats.get("passed")
    if os.environ.get("CI") and nothing and exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.NO_TESTS_COLLECTED


# Where tests wait for compilers, browsers, daemons and what was killed.
LONG = (
    "cluster",
    "browser",
    "dashboards",
    "measuring/functions",
    "commands/test_collect_killed.py",
    "commands/test_notebook.py",
    "store/ingest/test_killed.py",
    "store/runs/test_store_killed.py",
    "store/runs/test_disk_full.py",
    "test_needs.py",
    "test_docs.py",
)


_GARBAGE = 70_000  # objects made and not freed, after which Python looks for garbage


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Lets one worker collect first, and so compile the test files for all: in a fresh clone each of the others saves four seconds.

    No garbage is collected among thousands of tests that all stay, which saves half a second. Later it is collected a hundred
    times less often than Python does, which saves 5 % of the processor time: a test's garbage is small, and its end frees most of it.
    """
    gc.disable()
    try:
        with open(Path(os.environ["XDG_CACHE_HOME"], "tests-compiled"), "w") as turn:
            try:
                fcntl.flock(turn, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                fcntl.flock(turn, fcntl.LOCK_SH)
            return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(_GARBAGE)
        gc.enable()


@pytest.hookimpl(trylast=True)  # after those that are not to run have been taken out
def pytest_collection_modifyitems(items):
    """Several workers begin with the long tests, each with some of their modules, and end with short ones.

    `--dist=worksteal` hands each worker one piece of the list, and whoever has finished takes from the end of another's.
    """
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    if workers == 1:
        return
    long = {}
    short = []
    for item in items:
        (long.setdefault(item.path, []) if _is_long(item.path) else short).append(item)
    ordered = []
    for worker in range(workers):
        piece = [item for module in list(long.values())[worker::workers] for item in module]
        room = max(0, (len(items) - len(ordered)) // (workers - worker) - len(piece))
        ordered += piece + short[:room]
        short = short[room:]
    items[:] = ordered + short


@cache
def _is_long(file):
    return any(file.is_relative_to(ROOT / "tests" / place) for place in LONG)


class Tool(NamedTuple):
    """How to install a tool, and its programs: each of them, by any of the names that `|` separates."""

    install: str
    programs: str


TOOLS = {
    "cc": Tool("apt-get install gcc libc6-dev", "cc"),
    "chromium": Tool(
        "apt-get install chromium-headless-shell",
        "chromium-headless-shell|chromium|chromium-browser|google-chrome",
    ),
    "cuobjdump": Tool("pip install -r requirements-test.lock", "cuobjdump"),
    "compute-sanitizer": Tool("NVIDIA's CUDA toolkit", "compute-sanitizer"),
    "g++": Tool("apt-get install g++", "g++"),
    "git": Tool("apt-get install git", "git"),
    "mount": Tool("apt-get install mount", "mount"),
    "nvcc": Tool("pip install -r requirements-test.lock", "nvcc"),
    "openssl": Tool("apt-get install openssl", "openssl"),
    "ptxas": Tool("pip install -r requirements-test.lock", "ptxas"),
    "slurm": Tool("apt-get install munge slurm-wlm", "munged slurmctld slurmd sbatch"),
}
# Daemons may be outside of a user's PATH.
_PLACES = f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin"
_LACKS = re.compile(r"lacks (\S+) \((.+)\)$")


def need(name):
    """The first program of a tool. Without it the test is skipped, but in CI, where that would hide it, it fails."""
    tool = TOOLS[name]
    found = [_program(names) for names in tool.programs.split()]
    if found[0] is not None and None not in found:
        return found[0]
    reason = f"lacks {name} ({tool.install})"
    return pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)


def _program(names):
    for name in names.split("|"):
        if (packaged := find_packaged(name)) is not None:
            return packaged
        if (installed := shutil.which(name, path=_PLACES)) is not None:
            return Path(installed)
        candidates = toolkit_candidates(name, os.environ)
        if (of_toolkit := next(filter(Path.is_file, candidates), None)) is not None:
            return of_toolkit
    return None


@pytest.fixture(scope="session")
def needs():
    """`needs("git")`, for a fixture: the program, or the end of the test. A test is marked `@pytest.mark.needs("git")`."""
    return need


def pytest_runtest_setup(item):
    if item.get_closest_marker("benchmark"):
        for name in (ONE_CORE, ONE_THREAD):  # what is measured is what a user has
            os.environ.pop(name, None)
    for mark in item.iter_markers("needs"):
        for name in mark.args:
            need(name)


def pytest_terminal_summary(terminalreporter, exitstatus):
    """Says that no test has the name asked for; and which tools this machine lacks, with the tests skipped for each."""
    if exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED:
        terminalreporter.write_line("no test has this name or marker, so nothing was tested", red=True)
    skipped = (report.longrepr[2] for report in terminalreporter.stats.get("skipped", ()))
    lacking = Counter(found.groups() for reason in skipped if (found := _LACKS.search(reason)))
    if lacking:
        counts = ", ".join(f"{count} ({tool}: {how})" for (tool, how), count in lacking.most_common())
        terminalreporter.write_line(f"skipped for want of a tool: {counts}")


@pytest.fixture(scope="session")
def reports():
    """The folder of shipped reports; never write to it."""
    return REPORTS


@pytest.fixture(scope="session", autouse=True)
def locks_of_this_worker(tmp_path_factory):
    """The folder of the locks on GPUs: tests of two workers would wait for each other."""
    place = tmp_path_factory.mktemp("locks")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(PLACE, str(place))
        yield place


@pytest.fixture(scope="session")
def lock():
    """`with lock(path)`: one of the workers at a time; the file itself is empty and stays."""

    @contextmanager
    def locked(path):
        with path.open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    return locked


@pytest.fixture(scope="session")
def once(tmp_path_factory, lock):
    """`once("name", fill)`: a folder that `fill(folder)` filled, once for all workers; never change it."""
    shared = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent  # each worker has a folder of its own in there

    def once(name, fill):
        folder = shared / f"once-{name}"
        with lock(shared / f"once-{name}.lock"):
            if not folder.exists():
                unfinished = tmp_path_factory.mktemp(name)
                fill(unfinished)
                unfinished.rename(folder)
        return folder

    return once


@pytest.fixture(scope="session", autouse=True)
def reader():
    """All that this process reads is read by one process, which is started once.

    Whoever needs one of his own runs `prof`, or imports `Sandbox` itself.
    """
    with Sandbox(workers=1) as sandbox, pytest.MonkeyPatch.context() as patch:
        for name, module in list(sys.modules.items()):
            if name.startswith("profiler.") and getattr(module, "Sandbox", None) is Sandbox:
                patch.setattr(module, "Sandbox", lambda *_, **__: nullcontext(sandbox))
        yield sandbox


@pytest.fixture
def reader_without_code(reader, monkeypatch):
    """For tests about what leads to a report: machine code takes NVIDIA's reader a sixth of a second, all else a thirtieth."""

    def submit(request, timeout_s=None):
        return submit_all(dataclasses.replace(request, omitted=Omitted.ALL_CODE), timeout_s)

    submit_all = reader.submit
    monkeypatch.setattr(reader, "submit", submit)
    return reader


@pytest.fixture
def every_report_is_read(monkeypatch):
    """For tests about reading: what an earlier test read of a report is not found in the cache."""
    monkeypatch.setenv("PROF_NO_CACHE", "1")


class _DrawnOnce:
    """Draws what is asked for in processes that were started once, and no picture twice in this process."""

    def __init__(self, drawing):
        self._drawing, self._drawn = drawing, {}

    def ask(self, *chart, **options):
        return _remembered(
            self._drawn, pickle.dumps((chart, options)), lambda: self._drawing.ask(*chart, **options)
        )


@pytest.fixture(scope="session")
def drawing_processes():
    from profiler.present.page.drawing import Drawing

    with Drawing(open_pictures()) as drawing:  # what another worker has drawn is there
        yield _DrawnOnce(drawing)


@pytest.fixture
def drawing(drawing_processes, monkeypatch):
    """Every page that the test has written in this process is drawn by processes that were started once."""
    monkeypatch.setattr("profiler.present.page.drawing.Drawing", lambda kept: nullcontext(drawing_processes))


@pytest.fixture(scope="session")
def store(once):
    """Every shipped report, ingested once; never change it."""

    def ingest(folder):
        outcomes = list(
            ingest_reports(sorted(REPORTS.glob("*.ncu-rep")), RunStore(folder / "runs"), IngestOptions())
        )
        assert [one.status for one in outcomes] == ["stored"] * len(outcomes)

    return RunStore(once("store", ingest) / "runs")


@pytest.fixture(scope="session")
def prof():
    """`prof(*arguments)` runs the command in a process of its own and returns what it printed."""

    def run(*arguments, **options):
        command = prof_command(*arguments)
        return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, **options)

    return run


def prof_command(*arguments):
    """The command that a shell would run, by this interpreter whatever the PATH says."""
    start = "from profiler.cli import main; main()"
    return [
        sys.executable,
        "-c",
        start,
        *(os.fspath(a) if isinstance(a, Path) else str(a) for a in arguments),
    ]


_DECODED = {}  # by name, rows, bytes and columns
_PROFILED = {}
_DIAGNOSED = {}
_CODE = {}
_SCHEMAS = {}  # that are valid
_MOST_REMEMBERED = 1000
_decode = Run._decoded  # private: as below
_check_schema = jsonschema.Draft202012Validator.check_schema
_OF_A_PROFILE = ("launches", "metrics", "instances", "instructions", "timings")
_UNCHANGING = (ROOT / "runs", ROOT / "tests" / "data" / "runs", REPORTS)


def _decoded_once(run, name, data, some=None):
    key = (name, run.manifest.tables[name].rows, data, some)
    return _remembered(_DECODED, key, lambda: _decode(run, name, data, some))


def _profiled_once(run, kernel, among=None, **how):
    """A profile keeps its run and so the run's tables: while it is remembered, no other table has their ids."""
    if run.is_far or run.path.parent not in _UNCHANGING:
        return profile_kernel(run, kernel, among, **how)
    tables = (id(run.table(name)) for name in _OF_A_PROFILE)
    key = (run.path, run.stored, kernel, None if among is None else frozenset(among), *tables)
    return _remembered(_PROFILED, key, lambda: profile_kernel(run, kernel, among, **how))


def _code_once(run, kernel, among=()):
    """A profile to which the work of a ladder was added is another one, which would read the same code again."""
    if run.is_far or run.path.parent not in _UNCHANGING:
        return read_code(run, kernel, among)
    key = (run.path, kernel, tuple(among), *(id(run.table(name)) for name in ("launches", "instructions")))
    return _remembered(_CODE, key, lambda: (read_code(run, kernel, among), run))[0]


def _diagnosed_once(profile):
    """As long as a diagnosis is remembered, its profile is, so that no other has its id."""
    run = profile.run
    if run is None or run.is_far or run.path.parent not in _UNCHANGING:
        return diagnose(profile)
    return _remembered(_DIAGNOSED, id(profile), lambda: (profile, diagnose(profile)))[1]


def _checked_once(schema):
    """`jsonschema.validate` asks each time anew whether a schema is valid, which takes longer than to compare a finding with it."""

    def check():
        _check_schema(schema)
        return True

    _remembered(_SCHEMAS, json.dumps(schema), check)


def _remembered(known, key, make):
    found = known.get(key)
    if found is None:
        found = make()
        if len(known) >= _MOST_REMEMBERED:
            known.clear()
        known[key] = found
    return found


@pytest.fixture(scope="session", autouse=True)
def recorded_once():
    """Most tests ask for the same recorded runs and reports: in this process, a table of the same bytes is decoded once, and a kernel of these profiled and diagnosed once, also where a test profiles or compares it itself, and its code read once.

    The bytes are read and verified each time.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Run, "_decoded", _decoded_once)  # private: what comes after its bytes were verified
        for module in ("ask.profiles", "analyse.recording.main_shape"):
            patch.setattr(f"profiler.{module}.profile_kernel", _profiled_once)
        patch.setattr("profiler.analyse.recording.profile.read_code", _code_once)
        patch.setattr("profiler.ask.profiles.diagnose", _diagnosed_once)
        patch.setitem(compare_profiles.__kwdefaults__, "diagnose", _diagnosed_once)
        patch.setattr(jsonschema.Draft202012Validator, "check_schema", _checked_once)
        for name, module in list(sys.modules.items()):
            if ".test_" in name and getattr(module, "profile_kernel", None) is profile_kernel:
                patch.setattr(module, "profile_kernel", _profiled_once)
        yield


def _set_environment(patch, env):
    for name in os.environ.keys() - env.keys():
        patch.delenv(name)
    for name, value in env.items():
        patch.setenv(name, value)


@pytest.fixture
def prof_here(monkeypatch, capsys):
    """Like `prof`, through the same `main` and its error boundary, but in this process: faster."""
    from profiler.cli import main

    def run(*arguments, cwd=None, env=None):
        words = [str(argument) for argument in arguments]
        with monkeypatch.context() as patch:
            patch.setattr(sys, "argv", ["prof", *words])
            if cwd is not None:
                patch.chdir(cwd)
            if env is not None:
                _set_environment(patch, env)
            capsys.readouterr()
            with pytest.raises(SystemExit) as exited:
                main()
        out, err = capsys.readouterr()
        return subprocess.CompletedProcess(words, int(exited.value.code or 0), out, err)

    return run


@pytest.fixture
def prof_on_a_terminal(monkeypatch):
    """`prof_on_a_terminal("list", width=80, NO_COLOR="1")`: what a command that ends well writes to a terminal.

    This process has the terminal meanwhile, so that what it starts, such as a pager, writes there too.
    """
    from profiler.cli import main

    def run(*arguments, width=100, **environment):
        env = {**os.environ, "TERM": "xterm-256color", **environment}
        with monkeypatch.context() as patch, terminal.attached(width) as written:
            patch.setattr(sys, "argv", ["prof", *map(str, arguments)])
            _set_environment(patch, {name: value for name, value in env.items() if value is not None})
            streams = [open(number, mode, closefd=False) for number, mode in enumerate("rww")]  # noqa: SIM115 - `main` wraps them
            for name, stream in zip(("stdin", "stdout", "stderr"), streams, strict=True):
                patch.setattr(sys, name, stream)
            with pytest.raises(SystemExit) as exited:
                main()
        assert not exited.value.code, written()
        return written()

    return run


@pytest.fixture(scope="session")
def recorded():
    """Recorded runs that stay as they are whatever is recorded next, for tests that assert figures; never change them.

    tests/data/runs/README.md lists them.
    """
    return RunStore(REPORTS.parent / "runs")


@pytest.fixture
def prof_recorded(prof_here, recorded):
    """`prof_here` over the recorded runs."""
    return partial(prof_here, "--runs", recorded.root)


@pytest.fixture(scope="session")
def recorded_ladder(recorded):
    """The GEMM ladder of the recorded runs, which takes seconds to derive; never change it."""
    return profiler.ladder("gemm", recorded)


@pytest.fixture(scope="session")
def shipped_runs():
    """All runs of the repository; a new recording joins them, so a test must not assert their figures. Never change them."""
    return RunStore(ROOT / "runs")


@pytest.fixture(scope="session")
def make_run():
    """`make_run({"kernel": "scale", "ns": 1e6, "metrics": {name: value}}, ...)`: a run of made-up launches.

    The kernel is `k` if it has no name, and a metric may have our name or ncu's. A launch may also give `grid` and `block` (a count
    along x, or those along several axes), more of its `shape`, `process`, `gpu`, `nvtx` (names), `opcodes` (counts, as Nsight
    Compute counts them), `instructions` (opcode or text, count, and perhaps file, line and function), by their place what was
    `sampled` of these (`samples` and `stalls`), and `rules` (messages); anything else by keyword goes into the manifest, but
    `timings` and the folder `root` to store it in.
    """
    return _make_run


@pytest.fixture(scope="session")
def make_profile():
    """`make_profile({"ns": 1e6}, ...)`: the profile of the first kernel of the run that `make_run` would make of this."""

    def make(*launches, **fields):
        run = _make_run(*launches, **fields)
        return profile_kernel(run, run.manifest.kernels[0].name)

    return make


@pytest.fixture(scope="session")
def dated():
    """`dated(folder, seconds)`: the stored run becomes one recorded so long after the start of 2026; its new id."""

    def change(folder, seconds):
        recorded = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)
        manifest = read_manifest(folder)
        run_id = str(RunId.make(recorded, manifest.name, manifest.sha256))
        write_manifest(replace(manifest, run_id=run_id, recorded=recorded.isoformat()), folder)
        folder.rename(folder.parent / run_id)
        return run_id

    return change


def _make_run(*launches, name = "made", root = None,
              timings = (), **fields):  # fmt: skip
    content = name if root else repr((name, launches, timings, fields))  # a stored run is found by its name
    sha256 = hashlib.sha256(content.encode()).hexdigest()
    run_id = RunId("20260101t000000z", name, sha256[:12])
    builders = {table: TableBuilder(table, str(run_id)) for table in TABLES}
    for number, launch in enumerate(launches):
        _add_launch(builders, number, launch)
    for repeat, kernel_ns in enumerate(timings):
        builders["timings"].append(process=0, repeat=repeat, kernel_ns=kernel_ns)
    tables = {table: builder.finish() for table, builder in builders.items()}
    folder = (root or Path("made")) / str(run_id)
    stored = {table: _stored(folder if root else None, table, tables[table]) for table in tables}
    kernels = Counter(tables["launches"].column("kernel").to_pylist())
    facts = {
        "gpus": ["NVIDIA H200"], "ncu_version": "2025.3.1.0", "clock_control": "none", "cache_control": "all",
        "replay_mode": "kernel", "sections": ["WarpStateStats"], "workload": {"m": 4096},
        "recorded": "2026-01-01T00:00:00Z", "origin": "ingested",
    }  # fmt: skip
    manifest = Manifest(
        schema_version=SCHEMA_VERSION, run_id=str(run_id), name=name,
        reports=[StoredReport(sha256, 1000, reference="/nowhere/made.ncu-rep")], tables=stored,
        kernels=[KernelCount(kernel, count) for kernel, count in kernels.items()], **{**facts, **fields},
    )  # fmt: skip
    if root:
        write_manifest(manifest, folder)
    return Run(folder, manifest, stored=True, _tables={} if root else tables)


def _add_launch(builders, number, launch):
    kernel = launch.get("kernel", "k")
    nvtx = [{"domain": "d", "kind": "push_pop", "name": one} for one in launch.get("nvtx", ())]
    builders["launches"].append(
        launch=number, process=launch.get("process", 0), range=0, workload="kernel", function=kernel, kernel=kernel, mangled=launch.get("mangled", kernel),
        gpu=launch.get("gpu", "NVIDIA H200"), nvtx=nvtx, **_axes("grid", launch), **_axes("block", launch), **launch.get("shape", {}),
    )  # fmt: skip
    duration = {"duration_ns": (launch["ns"], "ns")} if "ns" in launch else {}
    for name, given in {**duration, **launch.get("metrics", {})}.items():
        metric = BY_NAME[name].ncu[0] if name in BY_NAME else name
        value, unit = given if isinstance(given, tuple) else (given, "")
        builders["metrics"].append(launch=number, metric=metric, value=value, unit=unit, kind="double")
    for instance, (opcode, count) in enumerate(launch.get("opcodes", {}).items()):
        builders["instances"].append(
            launch=number,
            metric=OPCODES,
            instance=instance,
            id_kind="name",
            id_name=opcode,
            value=float(count),
        )
    for index, (text, count, *place) in enumerate(launch.get("instructions", ())):
        file, line, function = place or (None, None, 0)
        builders["instructions"].append(
            launch=number, function_index=function, index=index, offset=16 * index, opcode=opcode_of(text), sass=text,
            executed=count, file=file, line=line, **launch.get("sampled", {}).get(index, {}),
        )  # fmt: skip
    for message in launch.get("rules", ()):
        builders["rules"].append(
            launch=number, section=message, rule=message, kind="warning", message=message
        )


def _axes(name, launch):
    """The columns of a grid or a block; none where the launch does not give it."""
    counts = launch.get(name, ())
    counts = counts if isinstance(counts, tuple) else (counts,)
    return {f"{name}_{axis}": count for axis, count in zip("xyz", (*counts, 1, 1)) if counts}  # noqa: B905


def _stored(folder, name, table):
    if folder is None:
        return StoredTable(f"{name}.parquet", table.num_rows, "")
    folder.mkdir(parents=True, exist_ok=True)
    data = _parquet(table) if table.num_rows else _empty(name)
    (folder / f"{name}.parquet").write_bytes(data)
    return StoredTable(f"{name}.parquet", table.num_rows, hashlib.sha256(data).hexdigest())


@cache
def _empty(name):
    """Most tables of the thousands of made-up runs are empty, and all of these are alike."""
    return _parquet(TableBuilder(name, "").finish())


def _parquet(table):
    written = pa.BufferOutputStream()
    pq.write_table(table, written)
    return written.getvalue().to_pybytes()


# Names that somebody's program may have, by accident or on purpose.
HOSTILE_NAMES = [
    "<script>alert(1)</script><!-- x --><b onclick=x>",
    "two\nlines\r\nprof: all is well",
    "\x1b[31mred\x1b[0m\x1b]0;title\x07",
    "c1 \x9b31m \x85next line \x7fdelete",
    "bidi \u202egnp.exe\u2066 \u2069\u200f",
    "zero\u200bwidth\ufeff\u2060\u00ad",
    "separators \u2028 \u2029",
    "lone \ud800 surrogate",
    "pipe|cell|| \\| \\\\|",
    "`code` ``more` ``` ~~~",
    "*em* _em_ **strong** ~~gone~~ __init__",
    "[link](https://evil.example) <https://evil.example> https://evil.example www.evil.example a@b.example",
    "![image](https://evil.example/x.png) [x]: https://evil.example",
    "# heading",
    "> quote",
    "- item",
    "1. item",
    "---",
    "&lt;entity&gt; &#60;",
    "$math$ \\(math\\)",
    "=HYPERLINK(1)",
    "+1",
    "-1+cmd|' /C calc'!A0",
    "@SUM(1)",
    "\uff1d1+1",
    "\t=1",
    "quotes \" ' ,;",
    "::error file=x,line=1::not yours",
    "  ::set-output name=x::y",
    "##[error]not yours ##vso[task.setvariable variable=x]y",
    "@everybody #1 user/repository#2 GH-3",
    "größe 雪 Ω עברית",
    "void k<" + "Pair<unsigned long long, " * 160 + "int" + ">" * 160,
]


@pytest.fixture(scope="session")
def hostile_names():
    return HOSTILE_NAMES


@pytest.fixture(scope="session")
def hostile_store(tmp_path_factory):
    """Two stored runs, `before` and `after`, with a hostile name wherever a report may hold one."""
    root = tmp_path_factory.mktemp("hostile") / "runs"
    everything = " ".join(HOSTILE_NAMES).encode("utf-8", "replace").decode()
    for which, slower in (("before", 1.0), ("after", 2.0)):
        launches = [
            {
                "kernel": name, "gpu": everything, "nvtx": [name, "inner"], "rules": [name],
                "opcodes": {name: 10.0 * slower, "LDS": 5.0},
                "metrics": {"gpu__time_duration.sum": 100 * slower + repeat, name: (slower, name)},
            }
            for name in HOSTILE_NAMES
            for repeat in range(2)
        ]  # fmt: skip
        fields = dict.fromkeys(("program", "command_line", "cuda_version", "clock_control"), everything)
        _make_run(
            *launches, name=which, root=root, **fields, gpus=[everything], sections=[everything],
            ncu_version=f"2025.3 {everything}",
        )  # fmt: skip
    return RunStore(root)


# Stores of made-up runs of a made-up ladder

_LADDER = """
title = "Made up"
reference = 0
command = ["program"]
flops = "2 * m"
bytes = "8 * m"

[workload]
m = 4096
"""
_KERNEL = """
[[kernel]]
number = {number}
name = "rung_{number}"
idea = "idea {number}"
regex = "kernel_{number}"
"""


@pytest.fixture(scope="session")
def made_ladder(tmp_path_factory):
    """Rungs 0 to 3; 0 is the reference, and a launch makes `2 * m` operations."""
    path = tmp_path_factory.mktemp("ladder") / "made" / "ladder.toml"
    path.parent.mkdir()
    path.write_text(_LADDER + "".join(_KERNEL.format(number=number) for number in range(4)))
    return read_ladder(path)


class MadeStore:
    """Fills a folder of runs; every run is a second newer than the one before."""

    def __init__(self, root, make_run, date, second=0):
        self.store = RunStore(root)
        self._make_run = make_run
        self._date = date
        self._second = second

    def profile(self, name, *durations, kernel="kernel", **fields):
        """A profiled run of these durations; `counters` by ncu's name and `opcodes` are the same in every launch."""
        counters, opcodes = fields.pop("counters", {}), fields.pop("opcodes", {})
        launches = [{"kernel": kernel, "ns": ns, "metrics": counters, "opcodes": opcodes} for ns in durations]
        return self._dated(self._make_run(*launches, name=name, root=self.store.root, **fields).path)

    def time(self, ladder, number, *durations, **fields):
        """A run of timings alone, of so many `processes`; beside each, the reference took `reference_ns`, its best `best_ns`.

        Either is one time, or a list with one for each duration.
        """
        repeats = len(durations) // fields.pop("processes", 1)
        workload = fields.pop("workload", {"m": 4096})
        beside = [fields.pop(name, None) for name in ("reference_ns", "best_ns")]
        others = [one if isinstance(one, list) else [one] * len(durations) for one in beside]
        timings = [
            Timing(place // repeats, place % repeats, ns, *(one[place] for one in others))
            for place, ns in enumerate(durations)
        ]
        timed = TimedRun(
            ladder, number, workload, datetime(2026, 1, 1, tzinfo=UTC), "NVIDIA H200", "",
            Provenance(**fields), timings,
        )  # fmt: skip
        (run_id,) = commit_timings(self.store, [timed])
        return self._dated(self.store.root / run_id)

    def _dated(self, folder):
        self._second += 1
        return self._date(folder, self._second)


@pytest.fixture
def made(tmp_path, make_run, dated):
    return MadeStore(tmp_path / "runs", make_run, dated)


@pytest.fixture
def made_elsewhere(tmp_path, make_run, dated):
    """A second folder, for a baseline: what is recorded there is not what is recorded in the other."""
    return MadeStore(tmp_path / "elsewhere", make_run, dated, second=100)
