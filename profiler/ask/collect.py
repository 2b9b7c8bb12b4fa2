"""What has just been recorded: each kernel of each run, with the rung that it measured."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from profiler.analyse.recording.profile import Profile
from profiler.ask.ladders import rung_of
from profiler.ask.profiles import profile_all
from profiler.ask.settings import Settings
from profiler.catalog.ladders.ladder import Kernel
from profiler.store.runs.manifest import RunId
from profiler.store.runs.run_store import Run, RunStore


@dataclass(frozen=True)
class Collected:
    """One run that was collected, now or before."""

    run: Run
    profiles: list[Profile]
    rung: Kernel | None


def find_collected(store: RunStore, run_ids: Iterable[str], settings: Settings) -> Iterator[Collected | None]:
    """Yields each run with its kernels; None for what was not recorded."""
    for text in run_ids:
        run_id = RunId.parse(text)
        run = store.open(run_id) if run_id else None
        yield Collected(run, profile_all(run, settings), rung_of(run, settings)) if run else None
