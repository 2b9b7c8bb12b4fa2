"""Shows the progress of `prof tune`: each stage as it begins, the best point so far, and the time that is left."""

from __future__ import annotations

import time
from contextlib import ExitStack
from statistics import median
from typing import Literal, Self

from profiler.commands.shared.options import VerbSettings
from profiler.commands.shared.progress import Progress
from profiler.measuring.rungs.build import Built
from profiler.measuring.tune.points import BuiltPoint, Choice
from profiler.measuring.tune.stages import TuneObserver
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
    """Shows each stage of a sweep as it begins."""

    def __init__(self, settings: VerbSettings) -> None:
        self._settings = settings
        self._open = ExitStack()
        self._stage = _StageProgress("", 0, settings)

    def observer(self) -> TuneObserver:
        return TuneObserver(self._chosen, self._begin, self._built, self._visited, self._note)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def _chosen(self, choice: Choice) -> None:
        allowed = choice.combinations - sum(choice.excluded.values())
        tried = f", {len(choice.points)} of them tried" if len(choice.points) < allowed else ""
        self._stage.note(f"{choice.combinations} combinations, {allowed} within the constraints{tried}")

    def _note(self, line: str) -> None:
        self._stage.note(line)

    def _begin(self, what: Literal["build"] | Stage, total: int) -> None:
        self._open.close()
        units = counted(total, "point") if what == "build" else counted(total, "process", "processes")
        self._stage.note(f"{_TITLES[what]}: {units}")
        self._stage = self._open.enter_context(_StageProgress(_TITLES[what], total, self._settings))

    def _built(self, built: Built) -> None:
        self._stage.built(built)

    def _visited(self, candidate: BuiltPoint, visit: Visit, is_known: bool) -> None:
        self._stage.visited(candidate, visit, is_known)


class _StageProgress(Progress):
    """One stage of a sweep. Processes whose times are `known` from before take no time."""

    def __init__(self, title: str, total: int, settings: VerbSettings) -> None:
        super().__init__(title, total, settings)
        self._started = time.monotonic()
        self._total, self._done, self._known = total, 0, 0
        self._best_ns = float("inf")

    def built(self, built: Built) -> None:
        self.advance(f"{'uncompiled':<12}{built.kernel.name}" if built.error else "")

    def visited(self, candidate: BuiltPoint, visit: Visit, is_known: bool) -> None:
        self._done += 1
        self._known += is_known
        settings = settings_text(candidate.settings)
        if visit.status != "correct":
            self.advance(f"{visit.status:<12}{settings}: {visit.reason}")
            return
        time_ns = median(repeat.kernel_ns for repeat in visit.repeats)
        is_best = time_ns < self._best_ns
        self._best_ns = min(time_ns, self._best_ns)
        self.advance(f"{'best so far':<12}{settings}: {duration(time_ns)}{self._left()}" if is_best else "")

    def _left(self) -> str:
        """Returns the progress of this stage and the time left, by the mean time of the processes measured in it."""
        measured = self._done - self._known
        if not measured:
            return ""
        left_s = (time.monotonic() - self._started) / measured * (self._total - self._done)
        return f" ({self._done} of {self._total}, {clock(left_s)} left)"
