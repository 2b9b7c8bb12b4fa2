"""How far a collection is, told so that a person believes it.

What is left is the sum of what each step took the last time it was taken for that kernel; until a
kernel has been measured once, what such a step took for the others.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from statistics import fmean
from threading import RLock
from types import TracebackType
from typing import TYPE_CHECKING

from profiler.commands.options import Settings

if TYPE_CHECKING:
    from profiler.errors import ProfError
    from profiler.measure.collection import Observer, Step
    from profiler.measure.transcript import Transcript

_SAYS = {"verify": "verifying", "time": "timing", "profile": "profiling"}


class CollectProgress:
    """A line that moves on a terminal, lines that stay elsewhere. Several threads may tell it."""

    def __init__(self, steps: Sequence[Step], launches: int | None, processes: int, passes: int | None,
                 settings: Settings) -> None:  # fmt: skip
        self._left = list(steps)
        self._launches, self._processes, self._passes = launches, processes, passes
        self._quiet = settings.quiet
        self._alone = len({step.label for step in steps}) == 1  # its error is what is printed at the end
        self._started = time.monotonic()
        self._begun: dict[Step, float] = {}
        self._took: dict[tuple[str, str], float] = {}
        self._lock = RLock()
        self._shown = ""
        self._status = None
        if sys.stderr.isatty() and not settings.quiet:
            from rich.console import Console

            console = Console(stderr=True, highlight=False)
            self._status = console.status("", spinner="line", refresh_per_second=8)

    def __enter__(self) -> CollectProgress:
        if self._status:
            self._status.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._status:
            self._status.stop()

    def observer(self) -> Observer:
        from profiler.measure.collection import Observer

        return Observer(self._begin, self._at, self._end)

    def remaining_s(self, now: float) -> float | None:
        """None until one step of each kind that is left has been seen."""
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

    def _begin(self, step: Step) -> None:
        with self._lock:
            self._begun[step] = time.monotonic()
            self._show(step, "")

    def _at(self, step: Step, transcript: Transcript) -> None:
        with self._lock:
            self._show(step, self._place(transcript))

    def _end(self, step: Step, line: str, error: ProfError | None) -> None:
        from profiler.measure.collection import FATAL  # what ends all is told at the end
        from profiler.present.text import printable

        with self._lock:
            begun = self._begun.pop(step, None)
            if begun is not None and error is None and line:
                self._took[step.label, step.what] = time.monotonic() - begun
            gone = [one for one in self._left if one.label == step.label] if error else [step]
            self._left = [one for one in self._left if one not in gone]
            lines = [line] if line and not self._quiet else []
            if error is not None and not self._alone and not isinstance(error, FATAL):
                lines = [f"failed      {error.message}", *error.details, f"      {error.remedy}"]
            for text in lines:
                self._print(printable(text))

    def _place(self, transcript: Transcript) -> str:
        """ncu tells how far it is within a launch; how many passes that has, once one is through."""
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

    def _show(self, step: Step, place: str) -> None:
        if not self._status:
            return
        from profiler.present.text import printable

        now = time.monotonic()
        process = f", process {step.process + 1} of {self._processes}" if step.what != "verify" else ""
        remaining = self.remaining_s(now)
        left = f", {clock(remaining)} left" if remaining is not None else ""
        from rich.markup import escape

        text = f"{_SAYS[step.what]} {step.label}{process}{place}   {clock(now - self._started)} elapsed{left}"
        self._status.update(escape(printable(text)))

    def _print(self, line: str) -> None:
        if self._status:
            self._status.console.print(line, markup=False)
        else:
            print(line, file=sys.stderr, flush=True)


def clock(seconds: float) -> str:
    """4:07, or 1:04:07."""
    minutes, second = divmod(round(seconds), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02}:{second:02}" if hours else f"{minute}:{second:02}"


def _of(passes: int | None) -> str:
    return f" of {passes}" if passes else ""
