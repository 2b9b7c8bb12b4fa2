"""Processes of a measurement that start ahead of their turn: they import, and touch nothing of the user's before it."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

import pytest
from living import living, wait_until

from profiler.machine import available_memory_bytes
from profiler.measuring.functions.ahead import Ahead

pytestmark = [
    pytest.mark.needs("cc"),
    pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc"),
]
BRIEF, LONGER = (f"processes={processes}, repeats=3, launches=2" for processes in (2, 3))
ALL_AT_ONCE = "9"  # cores: more than a measurement has processes

# Stands for a library whose import takes long. It notes what happens when, and in which process.
LIBRARY = """
import os, sys, time
path = os.environ["NOTES"]
def note(what):
    with open(path, "a") as file:
        file.write(f"{time.monotonic()} {what} {os.getpid()}\\n")
def processes(what):
    with open(path) as file:
        return {line.split()[2] for line in file if line.split()[1] == what}
def wait_for(what, count):
    until = time.monotonic() + 60
    while len(processes(what)) < count:
        assert time.monotonic() < until, f"{len(processes(what))} of {count} {what}"
        time.sleep(0.01)
note("imports")
if os.environ.get("DIES") and sys.argv[0].endswith("child.py") and len(sys.argv) == 1:
    os._exit(9)  # it waits: who has words of its own lives
time.sleep(float(os.environ.get("SLOW_S", "0.1")))
note("imported")
"""
USES = """
import cupy
def noted(x):
    cupy.note("calls")
    return fast(x)
"""
# Runs the program as the real ncu does, before it replays.
NCU = """
import os, sys
words = sys.argv[1:]
if "--export" in words:
    program = words[words.index("--export") + 2:]
    if os.waitpid(os.posix_spawn(program[0], program, os.environ), 0)[1]:
        sys.exit("the program failed")
os.execv(sys.executable, [sys.executable, "-S", {fake!r}, *words])
"""


class Waiting:
    """A machine with a slow library, and an ncu that runs its program."""

    def __init__(self, measuring):
        self.measuring = measuring
        self.folder = measuring.folder
        self.mark = self.folder / "notes"
        (self.folder / "cupy.py").write_text(LIBRARY)
        fake = str(Path(__file__).parents[1] / "fake_ncu.py")
        (self.folder / "run_and_replay.py").write_text(NCU.format(fake=fake))
        ncu = self.folder / "bin" / "ncu"
        ncu.write_text(ncu.read_text().replace(fake, str(self.folder / "run_and_replay.py")))
        measuring.environment |= {"NOTES": str(self.mark), "PYTHON_CPU_COUNT": ALL_AT_ONCE}

    def run(self, text, **environment):
        """Returns the last line that the script prints."""
        found = self.measuring.run(USES + text, **environment)
        assert found.returncode == 0, found.stderr
        return found.stdout.splitlines()[-1]

    def start(self, text):
        (self.folder / "script.py").write_text(self.measuring.functions + USES + text)
        return subprocess.Popen(
            [sys.executable, "script.py"], cwd=self.folder, env=self.measuring.environment,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True,
        )  # fmt: skip

    def of(self, what):
        """The moments of each process, by its id, in the order of the first."""
        found = {}
        for line in self.mark.read_text().splitlines() if self.mark.exists() else ():
            moment, said, process = line.split()
            if said == what:
                found.setdefault(int(process), []).append(float(moment))
        return found

    def ncu_words(self):
        return [json.loads(call)["words"] for call in self.measuring.calls]

    def left(self):
        """The processes in folders of this test that live, after those that end have had time for it."""
        wait_until(lambda: not self._processes(), 20)
        return self._processes()

    def _processes(self):
        found = []
        for one in living():
            with suppress(OSError):
                if Path(f"/proc/{one.pid}/cwd").readlink().is_relative_to(self.folder):
                    found.append(one.words)
        return found

    def folders(self):
        return list((self.folder / "tmp").glob("prof-*-locked"))


@pytest.fixture
def waiting(measuring):
    if available_memory_bytes() < 10 << 30:
        pytest.skip("five processes at once start only where 10 GB of memory are free")
    return Waiting(measuring)


@pytest.mark.slow
def test_all_processes_import_while_the_first_measures_and_then_call_the_function_in_turn(waiting):
    """The first waits for the imports of the others, the sending process and it itself included."""
    text = f"""
def patient(x):
    if not cupy.processes("calls"):
        cupy.wait_for("imported", 7)
    return noted(x)
print(prof.measure(patient, x, {LONGER}).ns)
"""
    assert waiting.run(text) == "1000.0"
    calls = list(waiting.of("calls").values())
    assert len(calls) == 6
    assert all(before[-1] < after[0] for before, after in pairwise(calls)), "never two at a time"
    run = waiting.measuring.runs.open(waiting.measuring.runs.ids()[0])
    assert list(run.to_pandas("timings").process) == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert len(run.manifest.reports) == 3
    assert waiting.left() == []
    assert waiting.folders() == []


@pytest.mark.slow
@pytest.mark.parametrize("cores", [1, 2])
def test_one_core_stays_for_the_process_that_measures(waiting, cores):
    text = f"""
def patient(x):
    if not cupy.processes("calls"):
        cupy.wait_for("imported", {1 + cores})
    return noted(x)
print(prof.measure(patient, x, {BRIEF}).ns)
"""
    waiting.run(text, PYTHON_CPU_COUNT=str(cores))
    imports = sorted(moments[0] for moments in waiting.of("imports").values())
    calls = [moments[0] for moments in waiting.of("calls").values()]
    # Of those that have begun: the sending process, those that have called, and those that wait.
    ahead = [sum(one < call for one in imports) - 1 - number for number, call in enumerate(calls, 1)]
    assert max(ahead) == cores - 1


@pytest.mark.parametrize(("gb", "most"), [(100, 5), (5, 2), (1, 0)])
def test_half_of_the_memory_stays_for_it_too(monkeypatch, gb, most):
    monkeypatch.setenv("PYTHON_CPU_COUNT", ALL_AT_ONCE)
    monkeypatch.setattr("profiler.measuring.functions.ahead.available_memory_bytes", lambda: gb << 30)
    assert Ahead({})._most == most  # private: a process would have to be told how much memory there is


@pytest.mark.slow
def test_what_a_user_wrote_is_imported_only_when_it_is_the_turn_of_its_process(waiting):
    """The import of a module may touch the GPU."""
    (waiting.folder / "mine.py").write_text("""
import cupy, ctypes
library = ctypes.CDLL("libcuda.so.1")
cupy.note("user's")
def noted(x):
    library.launch(b"kernel", ctypes.c_uint64(1000), 1)
    cupy.note("calls")
    return x
""")
    waiting.run(f"import mine\nprint(prof.measure(mine.noted, x, {BRIEF}).ns)\n")
    calls, own = waiting.of("calls"), waiting.of("user's")
    assert len(calls) == 4
    assert all(calls[before][-1] < own[after][0] for before, after in pairwise(calls))


@pytest.mark.slow
def test_a_call_of_one_kernel_is_profiled_without_a_name_to_wait_for(waiting):
    waiting.run(f"print(prof.measure(noted, x, {BRIEF}).ns)\n")
    assert len(waiting.ncu_words()) == 2
    for words in waiting.ncu_words():
        assert {"--kernel-name", "--launch-count"}.isdisjoint(words)
        assert words[words.index("--profile-from-start") + 1] == "off", "the window is that of the calls"


@pytest.mark.slow
@pytest.mark.parametrize("cores", ["1", ALL_AT_ONCE])
def test_of_several_kernels_only_the_longest_is_profiled(waiting, cores):
    """What was started ahead would profile all of them, and is replaced."""
    text = f"print(len(prof.measure(double, x, reference=lambda x: cupy and fast(x), {BRIEF}).launched))\n"
    assert waiting.run(text, PYTHON_CPU_COUNT=cores) == "2"
    assert len(waiting.ncu_words()) == 2
    for words in waiting.ncu_words():
        assert words[words.index("--kernel-name") + 1] == "double_kernel"
        assert words[words.index("--launch-count") + 1] == "2"
    assert waiting.left() == []


@pytest.mark.slow
def test_kernels_that_the_user_names_are_profiled_from_the_beginning(waiting):
    waiting.run("print(prof.measure(double, x, kernel_name='fill', processes=1, repeats=3, launches=2).ns)\n")
    (words,) = waiting.ncu_words()
    assert words[words.index("--kernel-name") + 1] == "regex:fill"
    assert "--launch-count" not in words, "nobody knew how many there would be"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("call", "error"),
    [
        ("wrong, x, reference=double", "ResultWrong"),
        ("raises, x", "ProgramFailed"),
        ("crashes, x", "ProgramFailed"),
        ("hangs, x, timeout_s=3", "ProgramTimedOut"),
        ("noted, x, kernel_name='triple'", "KernelNotFound"),
        ("double, x, kernel_name='triple'", "KernelNotFound"),
    ],
)
def test_a_failure_ends_all_processes_that_wait(waiting, call, error):
    assert waiting.measuring.error(f"prof.measure({call}, {BRIEF})", before=USES).startswith(f"{error}: ")
    assert waiting.left() == []
    assert waiting.folders() == []


def test_a_failure_after_the_survey_does_not_show_the_line_that_began_it(waiting):
    text = f"""
def fails(x):
    raise ValueError("no such thing")
try:
    prof.measure(noted, x, reference=fails, {BRIEF})
except Exception as error:
    print(str(error).replace("\\n", "|"))
"""
    said = waiting.run(text)
    assert "its reference raised ValueError: no such thing" in said
    assert "survey" not in said.partition("raised")[2]


@pytest.mark.slow
def test_counters_that_are_refused_leave_the_times_and_no_process(waiting):
    ncu = waiting.folder / "bin" / "ncu"
    ncu.write_text(ncu.read_text().replace("four-way", "counters-refused"))
    said = waiting.run(
        f"a = prof.measure(noted, x, {BRIEF})\nprint(a.ns, len(a.to_pandas('timings')), a.cautions[-1])\n"
    )
    assert said.startswith("1000.0 6 times alone: "), said
    assert waiting.left() == []


@pytest.mark.slow
@pytest.mark.parametrize("how", ["interrupt", "terminate", "kill", "kill the group"])
def test_ended_at_any_moment_it_leaves_no_process_behind(waiting, how):
    process = waiting.start(f"prof.measure(noted, x, {LONGER})\n")
    while len(waiting.of("imports")) < 2 and process.poll() is None:  # its own, and that of the survey
        time.sleep(0.01)
    time.sleep(random.Random(how).uniform(0, 1.5))
    if how == "kill the group":
        os.killpg(process.pid, signal.SIGKILL)
    else:
        ending = {"interrupt": signal.SIGINT, "terminate": signal.SIGTERM, "kill": signal.SIGKILL}[how]
        process.send_signal(ending)
    said = process.communicate(timeout=60)[1]
    assert waiting.left() == [], said
    if how == "interrupt":
        assert process.returncode == 0 or "KeyboardInterrupt" in said
        assert waiting.folders() == []


@pytest.mark.slow
def test_a_process_that_dies_while_it_waits_is_replaced_at_its_turn(waiting):
    """Perhaps memory was short for all of them at once."""
    assert waiting.run(f"print(prof.measure(noted, x, {BRIEF}).ns)\n", DIES="1") == "1000.0"
    assert len(waiting.of("calls")) == 4


def test_what_cannot_be_imported_ahead_is_left_to_the_process_that_needs_it(waiting):
    """Here the library that this process has loaded is gone when the others start."""
    text = f"os.rename('cupy.py', 'gone.py')\nprint(prof.measure(fast, x, profile=False, {BRIEF}).ns)\n"
    assert waiting.run(text) == "1000.0"


@pytest.mark.slow
def test_processes_for_the_next_points_of_tuning_import_while_one_is_measured(waiting):
    text = """
def patient(x, size):
    if not cupy.processes("calls"):
        cupy.wait_for("imported", 5)
    return noted(x)
tuned = prof.tune(patient, x, over={"size": [1, 2, 3, 4]}, processes=2, repeats=3)
print(len(tuned), len(cupy.processes("calls")))
"""
    assert waiting.run(text) == "4 12"  # each once, and then again in two
    assert waiting.left() == []
    assert waiting.folders() == []


@pytest.mark.slow
def test_points_of_a_sweep_share_the_processes_that_wait(waiting):
    text = """
def patient(x):
    if not cupy.processes("calls"):
        cupy.wait_for("imported", 5)  # also the next two surveys
    return noted(x)
swept = prof.measure(patient, lambda n: x[:n], over={"n": [10, 20, 30]}, profile=False, processes=2, repeats=3)
print([one.manifest.facts.arguments for one in swept], len(cupy.processes("calls")))
"""
    assert waiting.run(text) == "['(float32[10])', '(float32[20])', '(float32[30])'] 6"


@pytest.mark.slow
def test_a_process_that_was_started_before_the_environment_changed_is_not_used(waiting):
    text = f"""
def of_point(x):
    assert os.environ["POINT"] == str(len(x)), os.environ["POINT"]
    return noted(x)
def made(n):
    os.environ["POINT"] = str(n)
    return x[:n]
print([one.ns for one in prof.measure(of_point, lambda n: made(n), over={{"n": [10, 20]}}, {BRIEF})])
"""
    assert waiting.run(text) == "[1000.0, 1000.0]"
    assert waiting.left() == []


class Told:
    """A process that was started before its turn, and what it is told."""

    def __init__(self, folder):
        self.gate, self.modules = folder / "gate", folder / "modules"
        (folder / "slow_module.py").write_text(f"open({str(folder / 'imported')!r}, 'w').close()\n")
        self.imported = folder / "imported"
        os.mkfifo(self.gate)
        self.pipe = os.open(self.gate, os.O_RDWR | os.O_CLOEXEC)
        self.folder = folder

    def leave(self):
        if self.pipe is not None:
            os.close(self.pipe)
        self.pipe = None

    def tell(self, **said):
        os.write(self.pipe, json.dumps(said).encode() + b"\n")

    def start(self):
        code = "import os, sys; from profiler.measuring.functions.child import await_turn\nprint(await_turn(), os.getcwd(), 'PROF_GATE' in os.environ)"
        root = str(Path(__file__).parents[3])
        environment = {**os.environ, "PROF_GATE": str(self.gate), "PYTHONPATH": f"{root}:{self.folder}"}
        return subprocess.Popen(
            [sys.executable, "-c", code, "its", "own"], env=environment, stdout=subprocess.PIPE, text=True
        )


@pytest.fixture
def told(tmp_path):
    made = Told(tmp_path)
    yield made
    made.leave()


@pytest.mark.parametrize(("words", "said"), [(["other"], ["other"]), (None, ["its", "own"])])
def test_a_process_whose_turn_has_come_imports_no_more_than_it_needs(told, words, said):
    told.modules.write_text('["slow_module"]')
    told.tell(modules=str(told.modules))
    told.tell(folder=str(told.folder), words=words)
    process = told.start()
    assert process.communicate(timeout=60)[0] == f"{said} {told.folder} False\n"
    assert not told.imported.exists()


def test_a_process_that_waits_imports_what_it_is_told_and_goes_on_waiting(told):
    told.modules.write_text('["no_such_module", "slow_module"]')
    told.tell(modules=str(told.modules))
    process = told.start()
    wait_until(told.imported.exists)
    assert process.poll() is None
    told.tell(folder="/", words=["words"])
    assert process.communicate(timeout=60)[0] == "['words'] / False\n"


@pytest.mark.parametrize("when", ["before it listens", "while it waits"])
def test_a_process_that_waits_ends_when_prof_is_gone(told, when):
    process = None
    if when == "while it waits":
        told.modules.write_text('["slow_module"]')
        told.tell(modules=str(told.modules))
        process = told.start()
        wait_until(told.imported.exists)
    told.leave()
    process = process or told.start()
    assert process.communicate(timeout=60)[0] == ""
    assert process.returncode == 1
