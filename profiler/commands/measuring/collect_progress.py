"""Shows the progress of `prof collect`, with the time that is left.

The estimate adds up, for each step that is left, the time that it last took for the same kernel, or the mean over
the other kernels until this one has been measured once.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from statistics import fmean

from profiler.commands.shared.options import VerbSettings
from profiler.commands.shared.progress import Progress
from profiler.errors import ProfError
from profiler.measuring.collect.collection import FATAL, CollectObserver, CollectStep
from profiler.measuring.collect.target import Target
from profiler.measuring.fleet.assign import FleetObserver
from profiler.measuring.tools.gpus import Gpu
from profiler.measuring.tools.transcript import Transcript

_SAYS = {"verify": "verifying", "time": "timing", "profile": "profiling"}
_GPU_CHARACTERS = 12  # the first group of a UUID, which is enough to distinguish GPUs


class CollectProgress(Progress):
    """The progress of a collection on one GPU, or on several that each have a line of their own."""

    def __init__(self, steps: Sequence[CollectStep], launches: int | None, processes: int, passes: int | None,
                 settings: VerbSettings) -> None:  # fmt: skip
        self._all = list(steps)
        self._left = list(steps)
        self._launches, self._processes, self._passes = launches, processes, passes
        self._is_alone = len({step.label for step in steps}) == 1  # its error is printed at the end instead
        self._begun: dict[CollectStep, float] = {}
        self._took: dict[tuple[str, str], float] = {}
        super().__init__("collecting", len(steps), settings, self._left_on_all_s)

    def observer(self, worker: str = "", gpu: Gpu | None = None) -> CollectObserver:
        """Returns the observer of a collection on one GPU, or on one worker of several."""
        which = f"{gpu.uuid[:_GPU_CHARACTERS]}  " if gpu else ""
        return CollectObserver(
            partial(self._begin, worker, which),
            partial(self._at, worker, which),
            partial(self._end, worker),
            self.note,
        )

    def fleet_observer(self) -> FleetObserver:
        """Returns the observer of a collection on several workers."""
        return FleetObserver(self.observer, self.note, self._again, self.drop)

    def remaining_s(self, now: float) -> float | None:
        """Returns the estimated time left on one GPU; None until a step of each kind that is left has been measured."""
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

    def _left_on_all_s(self) -> float | None:
        with self._lock:
            remaining_s = self.remaining_s(time.monotonic())
            return None if remaining_s is None else remaining_s / max(1, len(self._workers))

    def _begin(self, worker: str, which: str, step: CollectStep) -> None:
        with self._lock:
            self._begun[step] = time.monotonic()
            self._show_step(worker, which, step, "")

    def _at(self, worker: str, which: str, step: CollectStep, transcript: Transcript) -> None:
        with self._lock:
            self._show_step(worker, which, step, self._place(transcript))

    def _end(self, worker: str, step: CollectStep, line: str, error: ProfError | None) -> None:
        with self._lock:
            begun = self._begun.pop(step, None)
            if begun is not None and error is None and line:
                self._took[step.label, step.what] = time.monotonic() - begun
            self._left = [
                one for one in self._left if one != step and (error is None or one.label != step.label)
            ]
            done = len(self._all) - len(self._left)
            self.show(worker, "waiting" if self._left else "all measured, reading the last reports")
        self.note(f"{line}, on {worker}" if line and worker else line)
        if error is not None and not self._is_alone and not isinstance(error, FATAL):
            self.fail(error, "failed", f"      {error.remedy}")
        self.count(done)

    def _again(self, targets: Sequence[Target]) -> None:
        """Counts all steps of these targets as left; those whose results were kept will take no time."""
        labels = {target.label for target in targets}
        with self._lock:
            self._left = [step for step in self._all if step in self._left or step.label in labels]
            self._begun = {step: at for step, at in self._begun.items() if step.label not in labels}

    def _show_step(self, worker: str, which: str, step: CollectStep, place: str) -> None:
        process = f", process {step.process + 1} of {self._processes}" if step.what != "verify" else ""
        self.show(worker, f"{which}{_SAYS[step.what]} {step.label}{process}{place}", self._begun.get(step))

    def _place(self, transcript: Transcript) -> str:
        """Returns the launch and the pass that ncu is at. ncu reports the number of passes after the first launch."""
        of = f" of {self._launches}" if self._launches else ""
        if transcript.replay:
            of_passes = f" of {self._passes}" if self._passes else ""
            return f", pass {transcript.replay}{of_passes}"
        passes = transcript.passes or self._passes
        if not transcript.launches:
            return ", starting"
        place = f", launch {transcript.launches}{of}"
        if passes and transcript.launches > transcript.finished:
            at = min(passes, 1 + int(transcript.fraction * passes))
            place += f", pass {at} of {passes}"
        return place
