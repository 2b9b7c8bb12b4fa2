"""Shows the progress of `prof tune`: a bar for each stage on a terminal, and lines for failures and new best points."""

from __future__ import annotations

import time
from contextlib import ExitStack
from statistics import median
from typing import Literal, Self

from profiler.commands.shared.options import VerbSettings
from profiler.commands.shared.progress import Progress
from profiler.measure.rungs.build import Built
from profiler.measure.tune.points import BuiltPoint, Choice
from profiler.measure.tune.stages import TuneObserver
from profiler.present.documents.sweep import settings_text
from profiler.store.sweeps import Stage, Visit
from profiler.text import clock, counted, duration

_TITLES = {
    "build": "building",
    "screen": "verifying, timing briefly",
    "full": "timing in full",
    "final": "timing again, in turns",
}


class TuneProgress:
    def __init__(self, settings: VerbSettings) -> None:
        self._settings = settings
        self._stage = Progress("", 0, settings)
        self._open = ExitStack()
        self._done = self._total = self._known = 0
        self._started = 0.0
        self._best_ns = float("inf")

    def observer(self) -> TuneObserver:
        return TuneObserver(self._chosen, self._begin, self._built, self._visited)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def _chosen(self, choice: Choice) -> None:
        allowed = choice.combinations - sum(choice.excluded.values())
        tried = f", {len(choice.points)} of them tried" if len(choice.points) < allowed else ""
        self._stage.note(f"{choice.combinations} combinations, {allowed} within the constraints{tried}")

    def _begin(self, what: Literal["build"] | Stage, total: int) -> None:
        self._open.close()
        self._done, self._total, self._known, self._started = 0, total, 0, time.monotonic()
        self._best_ns = float("inf")
        units = (
            counted(total, "point", "points") if what == "build" else counted(total, "process", "processes")
        )
        self._stage.note(f"{_TITLES[what]}: {units}")
        self._stage = self._open.enter_context(Progress(_TITLES[what], total, self._settings))

    def _built(self, built: Built) -> None:
        self._advance(f"{'uncompiled':<12}{built.kernel.name}" if built.error else "")

    def _visited(self, candidate: BuiltPoint, visit: Visit, is_known: bool) -> None:
        self._known += is_known
        line, settings = "", settings_text(candidate.settings)
        if visit.status != "correct":
            line = f"{visit.status:<12}{settings}: {visit.reason}"
        else:
            time_ns = median(repeat.kernel_ns for repeat in visit.repeats)
            if time_ns < self._best_ns:
                self._best_ns = time_ns
                line = f"{'best so far':<12}{settings}: {duration(time_ns)}{self._left()}"
        self._advance(line)

    def _left(self) -> str:
        """Returns the progress of this stage and the time left, by the mean time of the processes measured in it."""
        measured = self._done + 1 - self._known
        if measured <= 0:
            return ""
        each = (time.monotonic() - self._started) / measured
        left_s = each * (self._total - self._done - 1)
        return f" ({self._done + 1} of {self._total}, {clock(left_s)} left)"

    def _advance(self, line: str) -> None:
        self._done += 1
        self._stage.advance(line)
