"""No program outlives prof, whoever kills it, however suddenly, and whatever it is doing."""

import os
import random
import signal
import subprocess
import sys
import time

import pytest
from living import living, wait_until

from profiler.errors import ToolNotFound
from profiler.measuring.tools.process import run

# Starts a program on the leash, which starts another, and both would sleep for ten minutes.
PROF = """
import sys
from profiler.measuring.tools.process import run
program = "import os, subprocess, sys, time; subprocess.Popen(['sleep', '600']); print(1, flush=True); time.sleep(600)"
def hear(piece):
    print("started", flush=True)
while True:
    run([sys.executable, "-c", program], timeout_s=600, leash=True, hear=hear)
"""

# The same, after its guard was killed: its only child once a first program has ended.
KILL_GUARD = """
import os, signal
from pathlib import Path
from profiler.measuring.tools.process import run
run(["true"], timeout_s=60, leash=True)
(guard,) = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
os.kill(int(guard), signal.SIGKILL)
os.waitid(os.P_PID, int(guard), os.WEXITED | os.WNOWAIT)
"""

STARTED = []


@pytest.fixture(autouse=True)
def nothing_is_left_running():
    """A test that fails half way leaves no process behind."""
    yield
    for process in STARTED:
        if process.poll() is None:
            process.kill()
            process.communicate()
    STARTED.clear()


def start(mark, code=PROF):
    """A prof whose processes all carry a mark in their environment."""
    environment = {**os.environ, "LEASH_TEST": mark}
    process = subprocess.Popen(
        [sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE, text=True, start_new_session=True
    )  # fmt: skip
    STARTED.append(process)
    return process


def alive(mark):
    return [one.pid for one in living(f"LEASH_TEST={mark}\0")]


def gone(mark):
    return wait_until(lambda: not alive(mark))


pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")


@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGHUP, signal.SIGTERM, signal.SIGINT])
def test_the_program_and_its_children_end_with_prof(tmp_path, sent):
    prof = start(str(tmp_path))
    assert prof.stdout.readline() == "started\n"
    # In the moment of starting, a process shows no environment.
    wait_until(lambda: len(alive(str(tmp_path))) == 4)
    assert len(alive(str(tmp_path))) == 4, "prof, its guard, the program and what that started"

    prof.send_signal(sent)

    prof.communicate(timeout=60)
    assert gone(str(tmp_path))


def test_a_killed_process_group_takes_the_guard_by_surprise_neither(tmp_path):
    """As a terminal or a job scheduler ends a process."""
    prof = start(str(tmp_path))
    prof.stdout.readline()
    os.killpg(prof.pid, signal.SIGKILL)

    prof.communicate(timeout=60)
    assert gone(str(tmp_path))


def test_a_guard_that_was_killed_is_replaced(tmp_path):
    prof = start(str(tmp_path), KILL_GUARD + PROF)
    assert prof.stdout.readline() == "started\n"
    prof.kill()

    prof.communicate(timeout=60)
    assert gone(str(tmp_path))


def test_a_program_ends_well_though_its_guard_was_killed(tmp_path):
    code = "from profiler.measuring.tools.leash import release\nrelease(1)\nprint('well')"
    prof = start(str(tmp_path), KILL_GUARD + code)

    assert prof.communicate(timeout=60)[0] == "well\n"


def kill_at_random(root, kills, seed):
    """The kill comes at every moment, from before the first program starts to long after."""
    rng = random.Random(seed)
    for number in range(kills):
        mark = str(root / str(number))
        prof = start(mark)
        time.sleep(rng.uniform(0.0, 0.4))
        prof.kill()
        prof.communicate(timeout=60)
        assert gone(mark), f"kill {number} of seed {seed} left {alive(mark)}"


def test_killed_at_random_moments_nothing_is_left(tmp_path):
    kill_at_random(tmp_path, kills=4, seed=4)


@pytest.mark.campaign
def test_killed_at_a_hundred_random_moments(tmp_path):
    kill_at_random(tmp_path, kills=100, seed=5)


def test_words_and_exit_codes_pass_through(tmp_path):
    words = ["$HOME", "a b", "*", "; touch x", "`id`", "'\"", "ü", "", "--", "-c"]
    code = "import sys; print(sys.argv[1:]); sys.exit(7)"
    done = run([sys.executable, "-c", code, *words], timeout_s=30, folder=tmp_path, leash=True)
    assert (done.exit_code, done.stdout) == (7, f"{words}\n")
    assert done.command[0] == sys.executable
    assert not list(tmp_path.iterdir())


def test_no_descriptor_of_profs_reaches_the_program():
    """Otherwise the guard would wait for the very program that it must end."""
    code = "import os; print(sorted(map(int, os.listdir('/proc/self/fd')))[:4])"
    assert run([sys.executable, "-c", code], timeout_s=30, leash=True).stdout == "[0, 1, 2, 3]\n"
    leashed = "import os; print(len(os.listdir('/proc/self/fd')))"
    assert run([sys.executable, "-c", leashed], timeout_s=30, leash=True).stdout == "4\n"


@pytest.mark.parametrize("program", ["no-such-program", "./no-such-program", "/etc/passwd", "/", ""])
def test_a_program_that_cannot_be_started_fails_as_without_a_leash(tmp_path, program):
    with pytest.raises(ToolNotFound, match="cannot be started"):
        run([program], timeout_s=5, folder=tmp_path, leash=True)


def test_a_program_is_found_from_the_folder_that_it_starts_in(tmp_path):
    program = tmp_path / "mine"
    program.write_text("#!/bin/sh\necho here\n")
    program.chmod(0o755)
    assert run(["./mine"], timeout_s=10, folder=tmp_path, leash=True).stdout == "here\n"


def test_a_program_that_the_system_refuses_to_start_says_so(tmp_path):
    program = tmp_path / "text"
    program.write_text("no program")
    program.chmod(0o755)
    done = run([str(program)], timeout_s=10, leash=True)
    assert done.exit_code == 1
    assert "cannot be started: Exec format error" in done.stderr
    assert "Traceback" not in done.stderr
