"""Finds the runs of a ladder and the newest run of each rung.

A rung's profile also holds its times without the profiler, from the same binary, and the work that the ladder declares.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from profiler.analyse.ladder.rungs import Rung
from profiler.analyse.recording.kernel_choice import choose_kernel, choose_kernels
from profiler.analyse.recording.profile import timings_of
from profiler.ask.named.newest_times import newest, with_newest_times
from profiler.ask.profiles import profile_rung
from profiler.catalog.ladders.ladder import Kernel, Ladder
from profiler.errors import ComparisonError, RunNotFound
from profiler.store.runs.run import Run
from profiler.store.runs.run_id import RunId, rung_name, timed_name
from profiler.store.runs.run_store import RunStore


def find_runs(store: RunStore, ladder: Ladder, stored: Iterable[RunId] | None = None) -> list[Run]:
    """Returns every run of the ladder's kernels, profiled or timed, oldest first, among those `stored` if they are listed already."""
    names = {
        name(ladder.name, kernel.number) for kernel in ladder.kernels for name in (rung_name, timed_name)
    }
    runs = store.open_all(
        run_id for run_id in (store.ids() if stored is None else stored) if run_id.name in names
    )
    if not runs:
        raise RunNotFound(
            f"{store.root}: no run of any kernel of ladder '{ladder.name}'",
            remedy="`prof time` and `prof ingest REPORT --kernel N` store some; `prof list` shows what there is.",
        )
    return runs


def gather_rungs(ladder: Ladder, runs: Sequence[Run], *, times_suffice: bool = False) -> list[Rung]:
    """Returns the newest run of every kernel in the ladder's order, with its times without the profiler if stored.

    If `times_suffice`, the counters of a timed rung are not read. Leaves out the rungs that `find_unclear` finds.
    """
    unclear = find_unclear(ladder, runs)
    clear = [kernel for kernel in ladder.kernels if kernel.number not in unclear]
    return [rung for kernel in clear if (rung := _rung(ladder, kernel, runs, times_suffice))]


def find_unclear(ladder: Ladder, runs: Sequence[Run]) -> dict[int, ComparisonError]:
    """Returns the error of each rung whose newest run holds several kernels, if the ladder does not say which one counts."""
    unclear: dict[int, ComparisonError] = {}
    for kernel in ladder.kernels:
        profiled = _newest_profiled(ladder, kernel, runs)
        try:
            if profiled is not None:
                _measured_kernel(profiled, kernel)
        except ComparisonError as error:
            unclear[kernel.number] = error
    return unclear


def _rung(ladder: Ladder, kernel: Kernel, runs: Sequence[Run], times_suffice: bool) -> Rung | None:
    profiled = _newest_profiled(ladder, kernel, runs)
    timed = [run for run in runs if run.manifest.name == timed_name(ladder.name, kernel.number)]
    if profiled is None:
        alone = newest(timed)
        return Rung(kernel, profile_rung(alone, None, kernel), alone) if alone else None
    name = _measured_kernel(profiled, kernel)
    whole = with_newest_times(profiled, timed)
    if step_ns := timings_of(whole):  # the rung's time, whichever of its kernels was profiled
        wanted = None if times_suffice else name
        return Rung(kernel, profile_rung(whole, wanted, kernel, step_ns), whole.times_from or whole)
    return Rung(kernel, profile_rung(whole, name, kernel), None)


def _newest_profiled(ladder: Ladder, kernel: Kernel, runs: Iterable[Run]) -> Run | None:
    return newest(run for run in runs if run.manifest.name == rung_name(ladder.name, kernel.number))


def _measured_kernel(run: Run, kernel: Kernel) -> str:
    """Returns the only kernel of a run, or the one that fits the ladder's regular expression.

    If several fit, as with a library that chooses its kernels itself, returns the one launched most often.
    """
    if len(run.manifest.kernels) == 1:
        return run.manifest.kernels[0].name
    (fitting,) = choose_kernels([run], kernel.regex)
    candidates = [one for one in run.manifest.kernels if one.name in fitting]
    first, *others = sorted(candidates, key=lambda one: one.launches, reverse=True)
    if others and others[0].launches == first.launches:
        return choose_kernel(run, kernel.regex)  # raises, and lists them
    return first.name
