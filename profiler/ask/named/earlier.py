"""Opens a run together with the one before it: the last earlier recording of the same name, workload, arguments and GPU."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path

from profiler.analyse.compare.calls import unlike_arguments
from profiler.analyse.recording.kernel_names import words_of
from profiler.ask.named.references import open_named
from profiler.ask.named.settings import Settings
from profiler.catalog.ladders.ladder import size_text
from profiler.errors import RunNotFound
from profiler.store.remote.places import location_of
from profiler.store.reports.near import files_in
from profiler.store.reports.request import stem_of
from profiler.store.runs.manifest import Manifest
from profiler.store.runs.run import Run
from profiler.store.runs.run_id import RunId
from profiler.store.runs.run_store import RunStore
from profiler.text import short_gpu


def open_with_the_one_before(reference: str, settings: Settings, *, timed: bool) -> tuple[Run, Run]:
    """Returns the run before the one that is named, and that one; a number or a name means the newest, a run id that run.

    Raises RunNotFound if no earlier run measured the same, and if the reference means a report, which no run is before.
    """
    (now,) = open_named([reference], settings, timed=timed)
    if not now.stored:
        raise RunNotFound(
            f"{now.label} is not a stored run, so it has none before it", remedy=_both_sides(Path(reference))
        )
    folder, slash, _ = reference.rstrip("/").rpartition("/")
    store = settings.open_store(location_of(folder) if slash else None)
    before = run_before(store, now.manifest)
    if before is None:
        raise _nothing_before(now, reference)
    (earlier,) = open_named([f"{folder}{slash}{before}"], replace(settings, size=None), timed=timed)
    return earlier, now


def run_before(store: RunStore, now: Manifest) -> RunId | None:
    """Returns the last run before this one that measured the same work on the same GPU, with counters or without as it did.

    One that was called with other arguments is passed over, unless all were.
    """
    named = [one for one in store.ids() if one.name == now.name and str(one) < now.run_id]
    last = None
    for run_id in sorted(named, key=str, reverse=True):
        run = next(iter(store.open_all([run_id])), None)  # a damaged run is noted and left out
        if run is not None and _measured(run.manifest) == _measured(now):
            last = last or run_id
            if not _called_otherwise(run.manifest, now):
                return run_id
    return last


def _called_otherwise(before: Manifest, now: Manifest) -> bool:
    of_functions = before.arguments and now.arguments and before.arguments != now.arguments
    return bool(of_functions or unlike_arguments(before, now))


def _measured(manifest: Manifest) -> tuple[object, ...]:
    return manifest.workload or {}, manifest.gpus, manifest.is_profiled, manifest.has_counters


def _both_sides(report: Path) -> str:
    """Returns how to compare a report: with another of its folder whose name has a word of this one's, which may be a version of it."""
    named = words_of(stem_of(report.name))
    others = (one for one in files_in(report.parent) if one.name != report.name)
    alike = (one for one in others if named & words_of(stem_of(one.name)))
    other = next(map(str, alike), "other.ncu-rep")
    return f"Name both sides, as in `prof compare {shlex.join([str(report), other])}`."


def _nothing_before(run: Run, reference: str) -> RunNotFound:
    manifest = run.manifest
    of_size = f" at {size_text(manifest.workload)}" if manifest.workload else ""
    on_gpu = f" on {short_gpu(manifest.gpus[0])}" if manifest.gpus else ""
    rung = max(1, int(reference)) if reference.isdecimal() else None
    rungs = f", as in `prof compare {rung - 1} {rung}`" if rung is not None else ""
    return RunNotFound(
        f"there is no run of {manifest.name}{of_size}{on_gpu} before {manifest.run_id}, to compare it with",
        remedy=f"Name both sides{rungs}; `prof list {manifest.name}` shows the runs of that name.",
    )
