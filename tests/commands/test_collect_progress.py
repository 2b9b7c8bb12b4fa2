"""The progress of a collection: a bar on a terminal, lines that stay elsewhere, and the time that is left."""

import re
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from terminal import on_a_terminal

from profiler.commands.measuring import collect_progress
from profiler.commands.measuring.collect_progress import CollectProgress
from profiler.commands.shared.options import VerbSettings
from profiler.errors import ProgramFailed
from profiler.measuring.collect.collection import CollectStep
from profiler.measuring.tools.gpus import Gpu
from profiler.measuring.tools.transcript import Transcript
from profiler.text import clock

SETTINGS = VerbSettings()
FIVE, SIX = "kernel 5 at m=1", "kernel 6 at m=1"
GPU = Gpu("NVIDIA H200", "sm_90", "580.1", "GPU-02345678-abcd")


@dataclass
class Labelled:
    """All that a progress asks of a target."""

    label: str


def steps(*labels, processes=2):
    per_process = [(what, process) for process in range(processes) for what in ("time", "profile")]
    return [
        CollectStep(label, what, process)
        for label in labels
        for what, process in [("verify", 0), *per_process]
    ]


class Clock:
    def __init__(self, monkeypatch):
        self.now = 1000.0
        monkeypatch.setattr(collect_progress.time, "monotonic", lambda: self.now)


@pytest.fixture
def told(monkeypatch):
    """A progress of kernels 5 and 6, and the clock it goes by."""
    clock = Clock(monkeypatch)
    progress = CollectProgress(steps(FIVE, SIX), 5, 2, 14, SETTINGS)

    def take(step, seconds, line="done"):
        progress.observer().begin(step)
        clock.now += seconds
        progress.observer().end(step, line, None)

    return progress, clock, take


# What is left


def test_nothing_is_known_until_each_kind_of_step_was_seen(told):
    progress, clock, take = told
    assert progress.remaining_s(clock.now) is None
    take(CollectStep(FIVE, "verify"), 2)
    take(CollectStep(SIX, "verify"), 2)
    take(CollectStep(FIVE, "time", 0), 3)
    assert progress.remaining_s(clock.now) is None
    take(CollectStep(SIX, "time", 0), 5)
    take(CollectStep(FIVE, "profile", 0), 10)
    # Kernel 6 is expected to be profiled as kernel 5 was; the rest is known of each.
    assert progress.remaining_s(clock.now) == 10 + 3 + 5 + 10 + 10


def test_each_kernel_takes_as_long_as_it_took_the_last_time(told):
    progress, clock, take = told
    for label, seconds in ((FIVE, 1.0), (SIX, 100.0)):
        take(CollectStep(label, "verify"), 1)
        take(CollectStep(label, "time", 0), 1)
        take(CollectStep(label, "profile", 0), seconds)
    assert progress.remaining_s(clock.now) == (1 + 1) + (1 + 100)
    take(CollectStep(FIVE, "time", 1), 1)
    take(CollectStep(FIVE, "profile", 1), 3)
    take(CollectStep(SIX, "time", 1), 1)
    assert progress.remaining_s(clock.now) == 100
    take(CollectStep(SIX, "profile", 1), 90)
    assert progress.remaining_s(clock.now) == 0


def test_a_step_under_way_counts_down_and_never_below_nothing(told):
    progress, clock, take = told
    for label in (FIVE, SIX):
        take(CollectStep(label, "verify"), 1)
        take(CollectStep(label, "time", 0), 1)
        take(CollectStep(label, "profile", 0), 10)
        take(CollectStep(label, "time", 1), 1)
    progress.observer().begin(CollectStep(FIVE, "profile", 1))
    seen = []
    for _ in range(4):
        seen.append(progress.remaining_s(clock.now))
        clock.now += 4
    assert seen == [20, 16, 12, 10]


def test_a_kernel_that_failed_is_not_waited_for(told):
    progress, clock, take = told
    for label in (FIVE, SIX):
        take(CollectStep(label, "verify"), 1)
        take(CollectStep(label, "time", 0), 1)
    take(CollectStep(FIVE, "profile", 0), 10)
    progress.observer().begin(CollectStep(SIX, "profile", 0))
    progress.observer().end(CollectStep(SIX, "profile", 0), "", ProgramFailed("it failed"))
    assert progress.remaining_s(clock.now) == 1 + 10


def test_steps_kept_by_an_earlier_call_do_not_count_for_the_estimate_of_time(told):
    """It ends at once, without a line."""
    progress, clock, take = told
    for step in steps(FIVE):
        take(step, 0.001, line="")
    assert progress.remaining_s(clock.now) is None


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0:00"), (7.4, "0:07"), (59.6, "1:00"), (247, "4:07"), (3599.9, "1:00:00"), (3847, "1:04:07")],
)
def test_time_as_a_clock_shows_it(seconds, text):
    assert clock(seconds) == text


def test_the_estimate_counts_the_steps_of_a_lost_worker_again(told):
    progress, clock, take = told
    for label in (FIVE, SIX):
        take(CollectStep(label, "verify"), 1)
        take(CollectStep(label, "time", 0), 1)
        take(CollectStep(label, "profile", 0), 10)
    progress.fleet_observer().observer("h0-gpu0", GPU).begin(CollectStep(FIVE, "time", 1))
    clock.now += 50
    progress.fleet_observer().again([Labelled(FIVE)])
    assert progress.remaining_s(clock.now) == (1 + 2 * 11) + 11


# Without a terminal


def test_elsewhere_lines_stay_and_nothing_moves(told, capsys):
    progress, _, take = told
    with progress:
        take(CollectStep(FIVE, "verify"), 1, "verified    kernel 5")
        progress.observer().at(CollectStep(FIVE, "profile", 0), Transcript(launches=3))
        take(CollectStep(FIVE, "time", 0), 1, "")
        take(CollectStep(FIVE, "profile", 0), 1, "profiled    kernel 5\x1b[31m")
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == ["verified    kernel 5", "profiled    kernel 5\\x1b[31m"]


def test_elsewhere_a_worker_s_lines_say_whose_they_are(told, capsys):
    progress, _, _ = told
    fleet = progress.fleet_observer()
    fleet.observer("h0-gpu0", GPU).end(CollectStep(FIVE, "verify"), "verified    kernel 5", None)
    fleet.note("lost        worker h0-gpu0 died or left")
    assert capsys.readouterr().err.splitlines() == [
        "verified    kernel 5, on h0-gpu0",
        "lost        worker h0-gpu0 died or left",
    ]


def test_quiet_prints_failures_alone(capsys):
    progress = CollectProgress(steps(FIVE, SIX), 5, 2, 14, replace(SETTINGS, quiet=True))
    progress.observer().end(CollectStep(FIVE, "verify"), "verified", None)
    progress.observer().end(CollectStep(SIX, "verify"), "", ProgramFailed("it failed", details=["  ./mine"]))
    lines = capsys.readouterr().err.splitlines()
    assert lines[:2] == ["failed      it failed", "  ./mine"]


def test_the_failure_of_the_only_kernel_is_left_to_the_end(capsys):
    progress = CollectProgress(steps(SIX), 5, 2, 14, SETTINGS)
    progress.observer().end(CollectStep(SIX, "verify"), "", ProgramFailed("it failed"))
    assert capsys.readouterr().err == ""


# On a terminal

TERMINAL = """
import sys, time
from profiler.commands.measuring.collect_progress import CollectProgress
from profiler.commands.shared.options import VerbSettings
from profiler.measuring.collect.collection import CollectStep
from profiler.measuring.tools.transcript import Transcript
settings = VerbSettings(quiet=sys.argv[1] == "quiet")
pause = 0.0 if settings.quiet else 0.3
steps = [CollectStep("kernel 6 [x] at m=1", "profile", process) for process in (0, 1)]
with CollectProgress(steps, 5, 2, 14, settings) as progress:
    observer = progress.observer()
    observer.begin(steps[0])
    transcript = Transcript()
    for text in ('==PROF== Profiling "k": ', "0%....", "50%....100% - 14 passes\\n", '==PROF== Profiling "k": 0%..'):
        transcript.feed(text)
        observer.at(steps[0], transcript)
        time.sleep(pause)
    observer.end(steps[0], "profiled    kernel 6 [x]", None)
    observer.begin(steps[1])
    time.sleep(pause)
"""


BOARD = """
import time
from profiler.commands.measuring.collect_progress import CollectProgress
from profiler.commands.shared.options import VerbSettings
from profiler.measuring.collect.collection import CollectStep
from profiler.measuring.tools.gpus import Gpu
from profiler.measuring.tools.transcript import Transcript
settings = VerbSettings()
steps = [CollectStep(f"kernel {number} at m=1", "profile") for number in range(40)]
with CollectProgress(steps, 5, 1, 14, settings) as progress:
    fleet = progress.fleet_observer()
    for number, step in enumerate(steps):
        fleet.observer(f"host[{number:02}]-gpu0", Gpu("H200", "sm_90", "580", f"GPU-{number:02}345678-abcd")).begin(step)
    transcript = Transcript()
    transcript.feed('==PROF== Profiling "k": 0%..')
    first = fleet.observer("host[00]-gpu0", Gpu("H200", "sm_90", "580", "GPU-00345678-abcd"))
    first.at(steps[0], transcript)
    time.sleep(0.5)
    first.end(steps[0], "profiled    kernel 0 at m=1", None)
    fleet.left("host[00]-gpu0")
    time.sleep(0.5)
"""


def shown(*arguments, script=TERMINAL):
    """Returns what a person sees of the script, in a window of 120 columns and 24 lines."""
    command = [sys.executable, "-c", script, *arguments]
    root = str(Path(__file__).parents[2])
    return on_a_terminal(command, TERM="xterm", COLUMNS="120", LINES="24", PYTHONPATH=root)


@pytest.mark.slow
def test_on_a_terminal_a_bar_moves_and_what_is_done_stays():
    seen = shown("loud")
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", seen)
    place = "profiling kernel 6 [x] at m=1, process 1 of 2"
    for launch, at in ((1, 1), (1, 8), (2, 4)):
        assert re.search(rf"0:0\d  {re.escape(place)}, launch {launch} of 5, pass {at} of 14\s", text)
    assert re.search(r"collecting \S+ 0/2 0:0\d elapsed\s", text)
    assert text.count("profiled    kernel 6 [x]") == 1
    assert re.search(r"process 2 of 2\s+collecting \S+ 1/2 0:0\d elapsed, 0:0\d left", text)
    assert seen.rfind("\x1b[?25h") > seen.rfind("\x1b[?25l"), "the cursor is shown again"


def test_on_a_terminal_each_worker_has_a_line_as_far_as_there_is_room():
    """24 lines high: 19 workers, how many more there are, the bar, and room for lines that stay."""
    seen = shown(script=BOARD)
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", seen)
    line = r"host\[00\]-gpu0   0:0\d  GPU-00345678  profiling kernel 0 at m=1, process 1 of 1, launch 1 of 5, pass 4 of 14"
    assert re.search(line, text)
    assert re.search(r"and 21 more workers\s+collecting \S+\s+0/40 0:0\d elapsed", text)
    assert text.count("profiled    kernel 0 at m=1, on host[00]-gpu0") == 1
    after = text[text.rindex("and 21 more workers") :]
    assert "host[00]-gpu0 " not in after
    assert re.search(r"and 20 more workers\s+collecting \S+\s+1/40", after)
    assert seen.rfind("\x1b[?25h") > seen.rfind("\x1b[?25l"), "the cursor is shown again"


def test_quiet_nothing_moves_there_either():
    assert shown("quiet") == ""


LONG_LINES = """
from profiler.commands.shared.options import VerbSettings
from profiler.commands.shared.progress import Progress
with Progress("reading", 2, VerbSettings()) as progress:
    progress.result("stored  20261120t112409z-gemm_5-d74a258a8c7e  /a/path/" + "x" * 90 + ".ncu-rep")
    progress.note("a note  " + "y" * 130)
"""


def test_a_line_longer_than_the_window_is_left_to_the_terminal_and_can_be_copied_whole():
    seen = shown(script=LONG_LINES)
    assert f"d74a258a8c7e  /a/path/{'x' * 90}.ncu-rep" in seen
    assert f"a note  {'y' * 130}" in seen
