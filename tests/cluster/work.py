"""Functions that workers are given: they have this module because its folder is in their PYTHONPATH."""

import os
import time
from pathlib import Path
from threading import Event

from profiler.cluster.worker_side import send_message, stoppable
from profiler.errors import ReportDamaged


def add(one: int, other: int) -> int:
    return one + other


def pid() -> int:
    return os.getpid()


def say(*words: str) -> int:
    for word in words:
        send_message(word)
    return len(words)


def sleep(seconds: float) -> str:
    send_message("asleep")
    time.sleep(seconds)
    return "awake"


def sign_and_sleep(file: Path, seconds: float) -> None:
    """Leaves a line in the file for each time that it was called."""
    with open(file, "a") as signed:
        signed.write(f"{os.getpid()}\n")
    sleep(seconds)


def wait_to_be_stopped(seconds: float) -> str:
    stopped = Event()
    with stoppable(stopped.set):
        send_message("waiting")
        return "stopped" if stopped.wait(seconds) else "in vain"


def die() -> None:
    os._exit(9)


def complain() -> None:
    raise ReportDamaged("x.ncu-rep: cut short", details=["  at byte 7"], remedy="Copy it again.")


def divide(by: int) -> float:
    return 1 / by


def echo(data: bytes) -> bytes:
    return data


def make_at(moment: float, count: int) -> bytes:
    """Answers given at the same moment are fetched together."""
    time.sleep(max(0.0, moment - time.time()))
    return bytes(count)
