"""Functions that workers are given: they have this module because its folder is in their PYTHONPATH."""

import os
import time
from pathlib import Path
from threading import Event

from profiler.cluster.worker_side import send_message, stoppable
from profiler.errors import ReportDamaged

# Of schedulers and workers: they have the `profiler` of this tree too, where another may be installed.
PYTHONPATH = os.pathsep.join(map(str, (Path(__file__).parent, Path(__file__).parents[2])))


def add(one, other):
    return one + other


def pid():
    return os.getpid()


def say(*words):
    for word in words:
        send_message(word)
    return len(words)


def sleep(seconds):
    send_message("asleep")
    time.sleep(seconds)
    return "awake"


def sign_and_sleep(file, seconds):
    """Leaves a line in the file for each time that it was called."""
    with open(file, "a") as signed:
        signed.write(f"{os.getpid()}\n")
    sleep(seconds)


def wait_to_be_stopped(seconds):
    stopped = Event()
    with stoppable(stopped.set):
        send_message("waiting")
        return "stopped" if stopped.wait(seconds) else "in vain"


def die():
    os._exit(9)


def complain():
    raise ReportDamaged("x.ncu-rep: cut short", details=["  at byte 7"], remedy="Copy it again.")


def divide(by):
    return 1 / by


def echo(data):
    return data


def make_at(moment, count):
    """Answers given at the same moment are fetched together."""
    time.sleep(max(0.0, moment - time.time()))
    return bytes(count)
