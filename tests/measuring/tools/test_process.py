"""Running programs: their time and output are limited, and nothing that they started is left afterwards."""

import os
import subprocess
import sys
import threading
import time

import pytest
from living import is_living, wait_until

from profiler.errors import OutputInvalid, ProgramTimedOut, ToolNotFound
from profiler.measuring.tools.process import Running, command_details, end_all, run


def python(code):
    return [sys.executable, "-c", code]


def _gone(pid):
    return wait_until(lambda: not is_living(pid))


def test_a_finished_process_has_its_output_and_exit_code(tmp_path):
    code = "import sys, os; print(os.getcwd()); print(os.environ['X'], file=sys.stderr); sys.exit(3)"
    finished = run(python(code), timeout_s=30, folder=tmp_path, environment={"X": "y"})
    assert (finished.exit_code, finished.stdout, finished.stderr) == (3, f"{tmp_path}\n", "y\n")
    assert finished.how == "exit code 3"
    assert finished.seconds > 0


def test_a_signal_is_named():
    assert run(python("import os; os.kill(os.getpid(), 11)"), timeout_s=30).how == "ended by SIGSEGV"


def test_words_reach_the_program_as_they_are(tmp_path):
    words = ["$HOME", "a b", "*", "; touch x", "`id`", "$(id)", "'\"", "ü", ""]
    finished = run([*python("import sys; print(sys.argv[1:])"), *words], timeout_s=30, folder=tmp_path)
    assert finished.stdout.strip() == repr(words)
    assert not list(tmp_path.iterdir())


def test_output_that_is_not_text():
    finished = run(python("import sys; sys.stdout.buffer.write(b'\\xff\\x00ok')"), timeout_s=30)
    assert finished.stdout == "�\0ok"


def test_both_pipes_filled_at_once():
    code = "import sys\nfor _ in range(2000): print('x' * 999); print('y' * 999, file=sys.stderr)"
    finished = run(python(code), timeout_s=60)
    assert (len(finished.stdout), len(finished.stderr)) == (2_000_000, 2_000_000)


def test_no_standard_input():
    assert run(python("import sys; print(repr(sys.stdin.read()))"), timeout_s=30).stdout == "''\n"


@pytest.mark.slow
def test_time_runs_out_for_the_program_and_its_children(tmp_path):
    pid_file = tmp_path / "pid"
    code = (
        "import subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        f"open({str(pid_file)!r}, 'w').write(str(child.pid))\n"
        "print('before the end', flush=True)\ntime.sleep(600)"
    )
    with pytest.raises(ProgramTimedOut, match=r"did not end within 3 s") as caught:
        run(python(code), timeout_s=3)
    assert "before the end" in str(caught.value)
    assert _gone(int(pid_file.read_text()))


@pytest.mark.slow
def test_the_time_of_a_program_that_was_started_before_counts_from_when_somebody_waits_for_it():
    running = Running(python("import time; time.sleep(4); print('done')"))
    time.sleep(3.5)
    finished = running.finish(timeout_s=3)
    assert (finished.exit_code, finished.stdout) == (0, "done\n")
    assert finished.seconds < 3


def test_a_program_that_nobody_waits_for_is_ended_once_with_all_that_it_started(tmp_path):
    started = tmp_path / "started"
    code = (
        "import subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        f"open({str(started)!r}, 'w').write(f'{{child.pid}} ')\ntime.sleep(600)"
    )
    running = Running(python(code), leash=True)
    assert wait_until(lambda: started.exists() and started.read_text().endswith(" "))
    assert not running.has_exited
    running.end()
    running.end()
    assert _gone(int(started.read_text()))


def test_a_child_that_holds_the_pipe_does_not_hold_us():
    code = (
        "import subprocess, sys\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        "print(child.pid)"
    )
    finished = run(python(code), timeout_s=30)
    assert finished.seconds < 20
    assert _gone(int(finished.stdout))


@pytest.mark.slow
def test_closing_its_pipes_is_not_ending():
    code = "import os, time; os.close(1); os.close(2); time.sleep(1); os._exit(5)"
    finished = run(python(code), timeout_s=30)
    assert finished.exit_code == 5
    with pytest.raises(ProgramTimedOut):
        run(python(code.replace("sleep(1)", "sleep(600)")), timeout_s=2)


def test_output_without_end_is_ended():
    with pytest.raises(OutputInvalid, match="more than 16 MB"):
        run(python("while True: print('x' * 4096)"), timeout_s=120)


@pytest.mark.parametrize("program", ["/nonexistent/program", "/etc/passwd", "/", "a\0b", ""])
def test_a_program_that_cannot_be_started_is_reported_as_not_found(program):
    with pytest.raises(ToolNotFound, match="cannot be started"):
        run([program], timeout_s=5)


def test_an_interrupt_ends_what_runs_in_other_threads():
    ended = []
    threads = [
        threading.Thread(target=lambda: ended.append(run(["sleep", "600"], timeout_s=600).exit_code))
        for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + 60
    while len(ended) < 3 and time.monotonic() < deadline:
        end_all()
        time.sleep(0.05)
    for thread in threads:
        thread.join(timeout=60)
    assert ended == [-9, -9, -9]


def test_an_interrupt_ends_also_what_is_just_being_started(monkeypatch):
    begun = threading.Event()

    class Slow(subprocess.Popen):
        def __init__(self, *words, **options):
            super().__init__(*words, **options)
            begun.set()
            time.sleep(0.2)

    monkeypatch.setattr(subprocess, "Popen", Slow)
    ended = []
    thread = threading.Thread(target=lambda: ended.append(run(["sleep", "600"], timeout_s=30).exit_code))
    thread.start()
    assert begun.wait(60)
    end_all()
    thread.join()
    assert ended == [-9]


def test_the_last_lines_stand_below_the_command():
    said = "\n".join(str(number) for number in range(100)) + "\n\n"
    details = command_details(["a b", "c"], said)
    assert details[0] == "  'a b' c"
    assert details[1:] == [f"    {number}" for number in range(92, 100)]
    assert all(len(line) < 400 for line in command_details(["x"], "y" * 10_000))


def test_descriptors_are_closed():
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(20):
        run(["true"], timeout_s=5)
    assert len(os.listdir("/proc/self/fd")) == before
