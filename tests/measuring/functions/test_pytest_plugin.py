"""The pytest plugin: a test that measures a function passes, fails with its cause, or says that it cannot decide."""

import fcntl
import os
import re
import shutil
import subprocess
import sys
from contextlib import nullcontext
from datetime import UTC, datetime
from importlib.metadata import entry_points
from pathlib import Path

import pytest

import profiler
from profiler.python.pytest_plugin import fail_if_worse
from profiler.store.process_timings import Timing
from profiler.store.runs.manifest import Provenance
from profiler.store.runs.run_store import RunStore
from profiler.store.runs.timed_run import TimedRun, commit_timings

ROOT = Path(__file__).resolve().parents[3]

# An editable install of an older commit lacks the entry point.
INSTALLED = any(one.name == "prof" for one in entry_points(group="pytest11"))
PLUGIN = () if INSTALLED else ("-p", "profiler.python.pytest_plugin")

pytestmark = pytest.mark.needs("cc")

# What a user writes, but for `launch`, which stands for the launch of a kernel: one function that takes another time in each test.
# In `test_noisy` it also differs between the three processes of the measurement that are timed, after the one that verifies.
TESTS = """
import ctypes
import os
from functools import cache
import numpy as np

library = ctypes.CDLL("libcuda.so.1")

@cache
def noise():
    with open("processes", "a") as file:
        file.write(".")
        return (1, 1.15, 1, 0.85)[(file.tell() - 1) % 4]

def double(x, ns):
    library.launch(b"double_kernel", ctypes.c_uint64(int(ns * noise()) if ns == 1080 else ns), 1)
    return x * 2

def triple(x, ns):
    return double(x, ns) + x

def measured(prof_kernel, ns, function=double, **limits):
    reference = lambda x, ns: x + x
    options = {"processes": 3, "repeats": 4, "launches": 2}
    found = prof_kernel(function, np.ones(8), ns, reference=reference, name=function.__name__, **options, **limits)
    assert found.ns > 0

def test_same(prof_kernel): measured(prof_kernel, 1000)
def test_slower(prof_kernel): measured(prof_kernel, 1500)
def test_faster(prof_kernel): measured(prof_kernel, 500)
def test_noisy(prof_kernel): measured(prof_kernel, 1080)
def test_wrong(prof_kernel): measured(prof_kernel, 1000, triple)
def test_without_a_kernel(): pass
def test_limit_of_nothing(prof_kernel): measured(prof_kernel, 1000, max_slower_pct=float("nan"))
def test_allowed(prof_kernel):
    measured(prof_kernel, 1000 if not os.path.exists("slower") else 1500, max_slower_pct=100)
"""


@pytest.fixture
def start(measuring):
    """`start("-k", "same")`: pytest with these options, on these tests."""
    (measuring.folder / "test_kernels.py").write_text(TESTS)

    def start(*options):
        command = [sys.executable, "-m", "pytest", *PLUGIN, "-p", "no:cacheprovider"]
        return subprocess.Popen(
            [*command, "test_kernels.py", "--prof-times-only", *options],
            cwd=measuring.folder, env=measuring.environment, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    return start


def outcome(process):
    """Returns the exit code, the counts of the last line, and all that was printed."""
    printed, _ = process.communicate(timeout=120)
    last = re.sub(r" in .*|, \d+ deselected", "", printed.splitlines()[-1]).strip("= ")
    return process.returncode, last, printed


def test_functions_are_compared_with_a_baseline_that_was_measured_before(start, measuring):
    code, counts, printed = outcome(start("--prof-update", "-k", "same or wrong or allowed or nothing"))
    assert (code, counts) == (1, "2 failed, 2 passed")
    assert "max_slower_pct: a limit is a percentage from 0, not nan" in printed
    assert "'triple' computes a wrong result" in printed
    assert "During handling" not in printed, "said once"
    baseline = os.listdir(measuring.folder / "prof-baseline")
    assert len([name for name in baseline if name.startswith("2")]) == 2, (
        "a wrong function has no baseline, and neither has one without a limit"
    )
    (measuring.folder / "slower").touch()  # for the test that allows it

    code, counts, printed = outcome(start("-v", "-k", "not wrong and not nothing"))
    assert (code, counts) == (1, "1 failed, 4 passed, 1 unclear")
    outcomes = dict(re.findall(r"::test_(\w+) ([A-Z]+)", printed))
    passed = dict.fromkeys(("same", "faster", "without_a_kernel", "allowed"), "PASSED")
    assert outcomes == {**passed, "slower": "FAILED", "noisy": "UNCLEAR"}
    assert "double: regression" in printed
    assert re.search(r"duration_ns .* us -> .* us \(\+50", printed)
    assert "duration_ns" in printed.partition("prof: unclear")[2]
    assert os.listdir(measuring.folder / "prof-baseline") == baseline


@pytest.mark.slow
def test_without_a_gpu_the_test_is_skipped_with_the_reason(start, measuring):
    (measuring.folder / "bin" / "nvidia-smi").write_text("#!/bin/sh\nexit 9\n")
    code, counts, printed = outcome(start("-rs", "-k", "same or without"))
    assert (code, counts) == (0, "1 passed, 1 skipped")
    assert "no GPU: nvidia-smi lists none" in printed
    for required in (["--prof-require-gpu"], ["-o", "prof_require_gpu=true"]):
        code, counts, printed = outcome(start("-k", "same or without", *required))
        assert (code, counts) == (1, "1 failed, 1 passed")
        failure = printed.partition("short test summary info")[0]
        assert failure.count("no GPU: nvidia-smi lists none") == 1, "with no word of the exception behind it"


def test_a_baseline_that_was_named_and_is_not_there_ends_the_session_at_once(measuring):
    command = [
        sys.executable,
        "-m",
        "pytest",
        *PLUGIN,
        "-p",
        "no:cacheprovider",
        "--prof-baseline",
        "of-mian",
    ]
    done = subprocess.run(command, check=False, cwd=measuring.folder, env=measuring.environment, capture_output=True, text=True)  # fmt: skip
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert "--prof-baseline of-mian: no such folder; --prof-update makes it" in done.stderr


@pytest.mark.slow
def test_a_worker_of_xdist_waits_for_the_gpu_and_reports_what_has_no_baseline(start, measuring):
    lock = measuring.folder / "tmp" / "prof-gpu-0"
    lock.mkdir()
    with open(lock / "prof.lock", "w") as held:  # as a worker of a cluster holds it
        fcntl.flock(held, fcntl.LOCK_EX)
        waiting = start("-n", "1", "-p", "xdist", "-k", "same")
        with pytest.raises(subprocess.TimeoutExpired):
            waiting.wait(4)
    code, counts, printed = outcome(waiting)
    assert (code, counts) == (0, "1 unclear")
    assert "pytest --prof-update measures a baseline" in printed


@pytest.mark.parametrize(("slower", "outcome"), [(1, None), (2, pytest.fail.Exception)])
def test_times_alone_are_held_against_those_of_a_profiled_baseline(tmp_path, slower, outcome):
    """As `--prof-times-only` measures, after a baseline that was measured with counters."""
    (recorded,) = (ROOT / "tests/data/functions").glob("*-matmul-*")
    shutil.copytree(recorded, tmp_path / "baseline" / recorded.name)
    run = profiler.open_runs(tmp_path / "baseline")["matmul"]
    rows = run.table("timings").to_pylist()
    timings = [Timing(row["process"], row["repeat"], row["kernel_ns"] * slower, None) for row in rows]
    commit_timings(
        RunStore(tmp_path / "runs"),
        [TimedRun("", 0, {}, datetime.now(UTC), *run.manifest.gpus, "", Provenance(), timings, function="matmul")],
    )  # fmt: skip
    with pytest.raises(outcome) if outcome else nullcontext():
        fail_if_worse(tmp_path / "baseline", tmp_path / "runs")
    fail_if_worse(tmp_path / "baseline", tmp_path / "runs", max_slower_pct=150)


def test_what_cannot_be_compared_fails_and_names_the_argument_that_chooses(made, made_elsewhere, make_run):
    make_run({"kernel": "a"}, {"kernel": "b"}, name="mine", root=made_elsewhere.store.root)
    made.profile("mine", 5.0, 5.1, kernel="c")
    with pytest.raises(pytest.fail.Exception) as failed:
        fail_if_worse(made_elsewhere.store.root, made.store.root)
    assert "Choose one on each side with `kernel_name=PATTERN`" in str(failed.value)


@pytest.mark.slow
def test_a_regression_has_its_cause_in_the_message(tmp_path, reports, prof_here):
    """Kernel 6 of the GEMM ladder is the baseline of its slower predecessor."""
    for folder, report in (("baseline", "gemm_6"), ("runs", "gemm_5")):
        words = ("ingest", "--runs", tmp_path / folder, "--name", "mine", reports / f"{report}.ncu-rep")
        assert prof_here(*words).returncode == 0
    with pytest.raises(pytest.fail.Exception) as failed:
        fail_if_worse(tmp_path / "baseline", tmp_path / "runs")
    message = str(failed.value)
    assert message.startswith("mine: regression\nduration_ns 4.047 ms -> 7.607 ms (+87.95 ± ")
    headline = profiler.compare(reports / "gemm_6.ncu-rep", reports / "gemm_5.ncu-rep").headline
    assert headline.why in message
    assert headline.next in message


_ASSERTED = """
import profiler as prof

def test_no_slower():
    found = prof.check({candidate!r}, baseline={baseline!r})
    assert found.passed, str(found)
"""


@pytest.mark.slow
def test_an_assertion_about_two_reports_says_why_and_what_to_do_next(tmp_path, reports):
    """pytest cuts the middle out of what it shows of an object, and that is where the reason stands."""
    sides = {"candidate": str(reports / "gemm_5.ncu-rep"), "baseline": str(reports / "gemm_6.ncu-rep")}
    (tmp_path / "test_two.py").write_text(_ASSERTED.format(**sides))
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest", *PLUGIN, "-p", "no:cacheprovider", "test_two.py"],
        cwd=tmp_path, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    code, counts, printed = outcome(process)
    assert (code, counts) == (1, "1 failed")
    for words in ("gemm_5 takes 1.879x as long as gemm_6", "Why: ", "Next: ", "regression: duration_ns"):
        assert words in printed, words
