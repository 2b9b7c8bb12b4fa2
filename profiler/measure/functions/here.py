"""Measures a function in this process, where it cannot be sent to a fresh one; the protocol is that of `child.py`."""

from __future__ import annotations

import io
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass
from typing import NoReturn

from profiler.catalog.ladders.ladder import Mode
from profiler.measure.devices.device import LocalDevice
from profiler.measure.functions import child
from profiler.measure.functions.activity import CuptiMissing, listener
from profiler.measure.rungs.program import RungJob, program_command, require_success, run_program
from profiler.measure.rungs.timing import Timed, parse_timings
from profiler.measure.tools.process import Finished


@dataclass(frozen=True)
class FunctionDevice(LocalDevice):
    """A GPU whose programs are calls of a function: in fresh processes, or in this one if there is a `call`."""

    call: child.Call | None = None

    def run(self, job: RungJob, mode: Mode, timeout_s: float, accept: tuple[int, ...] = (0,)) -> Finished:
        """Runs one step to its end; raises the error that its exit code stands for, unless `accept` has the code."""
        if self.call is None:
            return run_program(job, mode, timeout_s, accept)
        words = program_command(job, mode)[3:]
        out, error, started = io.StringIO(), io.StringIO(), time.monotonic()
        with redirect_stdout(error), redirect_stderr(error), _interrupted_after(timeout_s):
            code = child.main(words, out, self.call)
        with suppress(CuptiMissing):
            listener().stop()
        finished = Finished(tuple(words), code, out.getvalue(), error.getvalue(), time.monotonic() - started)
        return require_success(job, finished, accept)

    def time(self, job: RungJob, timeout_s: float) -> Timed:
        if self.call is None:
            return super().time(job, timeout_s)
        return parse_timings(job, self.run(job, "time", timeout_s))


@contextmanager
def _interrupted_after(seconds: float) -> Iterator[None]:
    """Raises Refused in Python code that takes longer; only the main thread can be interrupted."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(*_: object) -> NoReturn:
        raise child.Refused(f"it did not return within {seconds:g} s")

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
