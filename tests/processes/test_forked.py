"""A process is forked, and so starts in milliseconds, unless it was given what an interpreter reads when it starts.

So is what it spawns, its reader of reports for example.
"""

import os
import signal
import subprocess
import sys
from pathlib import Path

import forked
import pytest
from living import wait_until

HAS_IMPORTS = [sys.executable, "-c", "import sys; print('pandas' in sys.modules)"]


@pytest.mark.parametrize(
    ("given", "is_forked"),
    [({}, True), ({"PYTHONHASHSEED": "6640"}, True), ({"PYTHONOPTIMIZE": "1"}, False)],
    ids=["as the tests began", "what Dask leaves behind", "another interpreter"],
)
def test_it_is_forked_where_an_interpreter_would_be_the_same(given, is_forked):
    found = forked.run(HAS_IMPORTS, env={**os.environ, **given}, capture_output=True, text=True, check=True)
    assert found.stdout == f"{is_forked}\n"


def test_the_process_that_others_are_forked_from_has_one_thread():
    """The locks of others would stay locked in what is forked from it: the C library is not told."""
    forked.run(HAS_IMPORTS, check=True, capture_output=True)
    assert len(list(Path(f"/proc/{forked.origin_pid()}/task").iterdir())) == 1


@pytest.fixture
def spawning(tmp_path):
    """`spawning(environment)`: what a process prints that spawns another one, and what that one says of itself."""
    (tmp_path / "tellers.py").write_text(
        "import os, sys\n"
        "def tell(pipe, number):\n"
        "    pipe.send(('pandas' in sys.modules, os.getppid(), os.getpgrp(), os.environ.get('LATE'), number))\n"
        "    os._exit(7)\n"
    )
    script = tmp_path / "script.py"
    script.write_text(
        "import multiprocessing, os, signal, tellers\n"
        "if __name__ == '__main__':\n"
        "    os.environ['LATE'] = 'set later'\n"
        "    if 'INTERRUPTED' in os.environ:\n"
        "        signal.signal(signal.SIGINT, lambda *_: None)\n"
        "        os.killpg(0, signal.SIGINT)\n"
        "    context = multiprocessing.get_context('spawn')\n"
        "    here, there = context.Pipe()\n"
        "    child = context.Process(target=tellers.tell, args=(there, 5))\n"
        "    child.start()\n"
        "    has_imports, parent, group, late, number = here.recv()\n"
        "    child.join()\n"
        "    ours = (parent, group) == (os.getpid(), os.getpgrp())\n"
        "    print(has_imports, ours, late, number, child.exitcode)\n"
    )

    def spawning(**environment):
        return forked.run(
            [sys.executable, script, "ingest"], env={**os.environ, **environment},
            capture_output=True, text=True, check=True, start_new_session=True,
        ).stdout  # fmt: skip

    return spawning


def test_a_forked_process_spawns_forked_children_that_are_given_what_spawned_ones_are(spawning):
    assert spawning() == "True True set later 5 7\n"


def test_a_forked_process_spawns_ordinary_children_where_that_is_asked_for(spawning):
    assert spawning(**forked.UNFORKED) == "False True set later 5 7\n"


def test_a_forked_process_that_survives_an_interrupt_of_its_group_spawns_forked_children_still(spawning):
    assert spawning(INTERRUPTED="1") == "True True set later 5 7\n"


# Starts what measures functions, which says how it was started as it reads the call that it was sent; and a program of a user.
MEASURING = """
import pickle, sys
from profiler.measuring.tools.process import Running, run
class Told:
    def __reduce__(self):
        return exec, (WHAT,)
with open("call.pickle", "wb") as file:
    pickle.dump(Told(), file)
child = [sys.executable, "-m", "profiler.measuring.functions.child", ".", "--mode", "time"]
"""


@pytest.mark.parametrize(
    ("unforked", "is_forked"), [({}, True), (forked.UNFORKED, False)], ids=["forked", "as ever"]
)
def test_a_process_that_measures_forks_those_that_call_functions_and_starts_other_programs_as_ever(
    tmp_path, unforked, is_forked
):
    code = f"""
WHAT = "import os, sys; print('pandas' in sys.modules, os.getsid(0) == os.getpid(), flush=True)"
{MEASURING}
print(run(child, timeout_s=60, leash=True).stderr.split()[:2])
print(run([sys.executable, "-c", "import sys; print('pandas' in sys.modules)"], timeout_s=60, leash=True).stdout)
"""
    environment = {**os.environ, **forked.MEASURES, **unforked}
    found = forked.run(
        [sys.executable, "-c", code], env=environment, cwd=tmp_path, capture_output=True, text=True
    )
    assert found.stdout.splitlines()[:2] == [f"['{is_forked}', 'True']", "False"], found.stderr


@pytest.mark.slow
def test_a_forked_process_that_calls_a_function_ends_where_the_one_that_measures_is_killed(tmp_path):
    code = f"""
WHAT = "import os, time; print(os.getpid(), flush=True); time.sleep(600)"
{MEASURING}
print(os.read(Running(child, leash=True)._process.stderr.fileno(), 99).decode(), flush=True)
time.sleep(600)
"""
    environment = {**os.environ, **forked.MEASURES}
    command = [sys.executable, "-c", f"import os, time\n{code}"]
    with forked.Popen(command, env=environment, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as measuring:
        try:
            process = Path("/proc", measuring.stdout.readline().strip())
            assert process.name.isdecimal()
            assert process.exists()
        finally:
            measuring.kill()
    assert wait_until(lambda: not process.exists())


def origin_that(ends_by):
    forked.run(HAS_IMPORTS, check=True, capture_output=True)
    pid = forked.origin_pid()
    os.kill(pid, ends_by)
    return pid


@pytest.mark.slow
def test_another_process_to_fork_from_is_started_where_it_was_killed_and_that_is_said(capfd, monkeypatch):
    monkeypatch.setattr(sys, "__stderr__", sys.stderr)
    before = origin_that(ends_by=signal.SIGKILL)
    os.waitpid(before, 0)
    found = forked.run(HAS_IMPORTS, capture_output=True, text=True, check=True)
    assert (found.stdout, forked.origin_pid() != before) == ("True\n", True)
    assert capfd.readouterr().err == (
        "The process that others are forked from has ended. Another is started.\n"
    )


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGHUP, signal.SIGTERM])
def test_a_signal_that_is_meant_for_the_tests_leaves_the_process_that_others_are_forked_from(sent):
    before = origin_that(ends_by=sent)
    found = forked.run([sys.executable, "-c", "import signal; signal.raise_signal(15)"], capture_output=True)
    assert (found.returncode, forked.origin_pid()) == (-15, before)


REFUSED = """
import errno, os, socket, sys, tempfile, threading
import forked

def refuse():
    raise OSError(errno.EAGAIN, "cannot fork")

forked._fork_beside = refuse  # root has no limit that a test could reach
ours, theirs = socket.socketpair()
threading.Thread(target=forked._serve, args=(theirs,), daemon=True).start()
origin = forked._Origin(0, ours, {}, lambda: None)
for _ in range(2):
    try:
        origin.fork(forked._Job([], "", {}, [], False, 0, [], []), [])
    except BlockingIOError as error:
        print(error, flush=True)
"""


def test_a_machine_that_has_no_room_for_a_process_ends_no_process_that_others_are_forked_from():
    environment = {**os.environ, "PYTHONPATH": str(Path(forked.__file__).parent)}
    found = forked.run([sys.executable, "-c", REFUSED], env=environment, capture_output=True, text=True)
    assert found.stdout == 2 * "[Errno 11] cannot fork: Resource temporarily unavailable\n", found.stderr


@pytest.mark.slow
def test_an_answer_that_was_not_waited_for_is_not_taken_for_that_to_the_next_request(monkeypatch):
    forked.run(HAS_IMPORTS, check=True, capture_output=True)
    (origin,) = forked._origins  # private: its answer is left unread, as when a time limit ends a test here
    before = origin.pid

    class Interrupted:
        def __init__(self, asked):
            self.fileno, self.sendmsg, self.close = asked.fileno, asked.sendmsg, asked.close

        def recv(self, _):
            raise TimeoutError

    monkeypatch.setattr(origin, "_socket", Interrupted(origin._socket))  # private: as above
    with pytest.raises(TimeoutError):
        forked.run(HAS_IMPORTS)
    assert forked.run(HAS_IMPORTS, capture_output=True, text=True, check=True).stdout == "True\n"
    assert forked.origin_pid() != before
