"""The GPU whose programs are calls of a function: in fresh processes, or in this one where a call cannot be sent to another.

Either speaks the protocol of `child.py`.
"""

from __future__ import annotations

import io
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from dataclasses import KW_ONLY, dataclass, field, replace
from pathlib import Path
from typing import Any, NoReturn

from profiler.catalog.ladders.ladder import Mode
from profiler.measuring.collect.device import LocalDevice, Order, Recorded
from profiler.measuring.collect.target import prepare
from profiler.measuring.functions import child
from profiler.measuring.functions.activity import CuptiMissing, listener
from profiler.measuring.functions.ahead import CHILD, Ahead
from profiler.measuring.functions.call import Call, Refused
from profiler.measuring.rungs.program import RungJob, program_command, require_success, run_program
from profiler.measuring.rungs.timing import parse_timings
from profiler.measuring.tools.process import Finished
from profiler.measuring.tools.transcript import Transcript
from profiler.store.process_timings import ProcessTimings


@dataclass(frozen=True)
class FunctionDevice(LocalDevice):
    """A GPU whose programs are calls of a function: in fresh processes of `ahead`, or in this one if there is a `call`."""

    _: KW_ONLY
    ahead: Ahead
    call: Call | None = None
    _begun: list[tuple[Order, Path]] = field(default_factory=list)  # ahead of their turn

    def plan_ahead(
        self, processes: int, order: Order | None, scratch: Path, *, is_surveyed: bool = False
    ) -> None:
        """Says what will be run, instead of what was said before; the order is recorded once in each process."""
        self._begun.clear()
        if order is not None:
            self._begun.extend((order, Path(tempfile.mkdtemp(dir=scratch))) for _ in range(processes))
        words = [prepare(one.target, self.ncu, one.recording, folder, None)[0] for one, folder in self._begun]
        folder = order.target.folder if order is not None else scratch
        self.ahead.plan(processes, words, folder, is_surveyed=is_surveyed)

    def record(self, order: Order, scratch: Path, at: Callable[[Transcript], None]) -> Recorded:
        if self._begun:
            begun, scratch = self._begun.pop(0)
            target = replace(begun.target, required_launches=order.target.required_launches)
            order = replace(begun, target=target)
        return super().record(order, scratch, at)

    def run_command(self, command: Sequence[str], **options: Any) -> Finished:
        return self.ahead.run(command, **options)

    def run(
        self,
        job: RungJob,
        mode: Mode,
        timeout_s: float,
        accept: tuple[int, ...] = (0,),
        hear: Callable[[str], None] | None = None,
    ) -> Finished:
        """Runs one step to its end; raises the error that its exit code stands for, unless `accept` has the code."""
        if self.call is None:
            return run_program(self._on_this_gpu(job), mode, timeout_s, accept, self.run_command, hear)
        words = program_command(job, mode)[len(CHILD) :]
        out, error, started = io.StringIO(), io.StringIO(), time.monotonic()
        with redirect_stdout(error), redirect_stderr(error), _interrupted_after(timeout_s):
            code = child.main(words, out, self.call)
        with suppress(CuptiMissing):
            listener().stop()
        finished = Finished(tuple(words), code, out.getvalue(), error.getvalue(), time.monotonic() - started)
        return require_success(job, finished, accept)

    def time(self, job: RungJob, timeout_s: float) -> ProcessTimings:
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
        raise Refused(f"it did not return within {seconds:g} s")

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
