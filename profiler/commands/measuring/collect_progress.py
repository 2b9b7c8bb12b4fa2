"""Shows the progress of `prof collect`, with the time that is left.

The estimate adds up, for each step that is left, the time that it last took for the same kernel, or the mean over
the other kernels until this one has been measured once.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from functools import partial
from statistics import fmean
from threading import RLock
from types import TracebackType
from typing import TYPE_CHECKING

from profiler.commands.shared.live_display import LiveDisplay, clock
from profiler.commands.shared.options import VerbSettings
from profiler.measure.collect.collection import FATAL, CollectObserver
from profiler.measure.devices.assign import FleetObserver
from profiler.text import printable

if TYPE_CHECKING:
    from profiler.errors import ProfError
    from profiler.measure.collect.collection import CollectStep
    from profiler.measure.collect.target import Target
    from profiler.measure.tools.transcript import Transcript

_SAYS = {"verify": "verifying", "time": "timing", "profile": "profiling"}


class CollectProgress:
    """Shows a moving line on a terminal and prints plain lines elsewhere. Several threads may call it."""

    def __init__(self, steps: Sequence[CollectStep], launches: int | None, processes: int, passes: int | None,
                 settings: VerbSettings) -> None:  # fmt: skip
        self._all = list(steps)
        self._left = list(steps)
        self._launches, self._processes, self._passes = launches, processes, passes
        self._is_quiet = settings.quiet
        self._alone = len({step.label for step in steps}) == 1  # its error is printed at the end instead
        self._started = time.monotonic()
        self._begun: dict[CollectStep, float] = {}
        self._took: dict[tuple[str, str], float] = {}
        self._lock = RLock()
        self._display: LiveDisplay | None = None
        if sys.stderr.isatty() and not settings.quiet:
            self._display = LiveDisplay()

    def __enter__(self) -> CollectProgress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._display:
            self._display.stop()

    def observer(self) -> CollectObserver:
        """Returns the observer of a collection on one GPU."""
        if self._display:
            self._display.start_line()
        return self._observer("", "")

    def fleet_observer(self) -> FleetObserver:
        """Returns the observer of several workers, each of which has a line of its own on a terminal."""

        if self._display:
            self._display.start_board(self._total)
        return FleetObserver(
            lambda name, gpu: self._observer(name, gpu.uuid), self.note, self._again, self._worker_left
        )

    def note(self, line: str) -> None:
        if not self._is_quiet:
            self._print(printable(line))

    def _observer(self, worker: str, gpu: str) -> CollectObserver:
        return CollectObserver(
            partial(self._begin, worker, gpu), partial(self._at, worker, gpu), partial(self._end, worker)
        )

    def remaining_s(self, now: float) -> float | None:
        """Returns the estimated time left; None until a step of each kind that is left has been measured."""
        by_kind: dict[str, list[float]] = {}
        for (_, what), seconds in self._took.items():
            by_kind.setdefault(what, []).append(seconds)
        total = 0.0
        for step in self._left:
            known = self._took.get((step.label, step.what))
            if known is None and step.what not in by_kind:
                return None
            expected = known if known is not None else fmean(by_kind[step.what])
            total += max(0.0, expected - (now - self._begun[step])) if step in self._begun else expected
        return total

    def _begin(self, worker: str, gpu: str, step: CollectStep) -> None:
        with self._lock:
            self._begun[step] = time.monotonic()
            self._show(worker, gpu, step, "")

    def _at(self, worker: str, gpu: str, step: CollectStep, transcript: Transcript) -> None:
        with self._lock:
            self._show(worker, gpu, step, self._place(transcript))

    def _end(self, worker: str, step: CollectStep, line: str, error: ProfError | None) -> None:
        with self._lock:
            begun = self._begun.pop(step, None)
            if begun is not None and error is None and line:
                self._took[step.label, step.what] = time.monotonic() - begun
            gone = [one for one in self._left if one.label == step.label] if error else [step]
            self._left = [one for one in self._left if one not in gone]
            where = f", on {worker}" if worker else ""
            lines = [f"{line}{where}"] if line and not self._is_quiet else []
            if error is not None and not self._alone and not isinstance(error, FATAL):
                lines = [f"failed      {error.message}", *error.details, f"      {error.remedy}"]
        for text in lines:  # without the lock, which the drawing thread may need
            self._print(printable(text))

    def _again(self, targets: Sequence[Target]) -> None:
        """Counts all steps of these targets as left; those whose results were kept will take no time."""
        labels = {target.label for target in targets}
        with self._lock:
            self._left = [step for step in self._all if step in self._left or step.label in labels]
            self._begun = {step: at for step, at in self._begun.items() if step.label not in labels}

    def _worker_left(self, worker: str) -> None:
        if self._display:
            self._display.drop(worker)

    def _place(self, transcript: Transcript) -> str:
        """Returns the launch and the pass that ncu is at. ncu reports the number of passes after the first launch."""
        of = f" of {self._launches}" if self._launches else ""
        if transcript.replay:
            return f", pass {transcript.replay}{_of(self._passes)}"
        passes = transcript.passes or self._passes
        if not transcript.launches:
            return ", starting"
        place = f", launch {transcript.launches}{of}"
        if passes and transcript.launches > transcript.finished:
            at = min(passes, 1 + int(transcript.fraction * passes))
            place += f", pass {at} of {passes}"
        return place

    def _show(self, worker: str, gpu: str, step: CollectStep, place: str) -> None:
        if not self._display:
            return
        process = f", process {step.process + 1} of {self._processes}" if step.what != "verify" else ""
        text = f"{_SAYS[step.what]} {step.label}{process}{place}"
        if worker:
            self._display.show_worker(worker, gpu, text, self._begun.get(step, time.monotonic()))
        else:
            self._display.show(f"{text}   {self._clocks(1)}")

    def _total(self, workers: int) -> str:
        with self._lock:
            done = len(self._all) - len(self._left)
            if not self._left:
                return f"all measured, reading the last reports   {clock(time.monotonic() - self._started)} elapsed"
            return f"{workers} workers, {done} of {len(self._all)} steps   {self._clocks(max(1, workers))}"

    def _clocks(self, workers: int) -> str:
        now = time.monotonic()
        remaining = self.remaining_s(now)
        left = f", {clock(remaining / workers)} left" if remaining is not None else ""
        return f"{clock(now - self._started)} elapsed{left}"

    def _print(self, line: str) -> None:
        if self._display:
            self._display.print(line)
        else:
            print(line, file=sys.stderr, flush=True)


def _of(passes: int | None) -> str:
    return f" of {passes}" if passes else ""
