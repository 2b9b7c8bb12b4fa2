"""Which recordings a ladder is drawn from: one GPU, one workload, the newest run of each rung.

A store and a ladder in; one `Rung` for each kernel that has runs out. Figures of different
GPUs or workloads never stand in one ladder.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from profiler.analyse.compare.changes import profile_timings
from profiler.analyse.recording.profile import (
    UNKNOWN_GPU,
    Profile,
    choose_kernel,
    choose_kernels,
    profile_kernel,
    timings_of,
)
from profiler.analyse.recording.work import find_useful_bytes, with_work
from profiler.catalog.ladders.ladder import Kernel, Ladder, size_text
from profiler.errors import ComparisonError, RunNotFound
from profiler.store.runs.manifest import TIMED_SUFFIX, Manifest, rung_name, timed_name
from profiler.store.runs.run_store import Run, RunStore

UNKNOWN_WORKLOAD = "workload not recorded"


class Conditions(NamedTuple):
    """What all rungs of a ladder share. `workload` is None where the runs do not say it."""

    gpu: str
    workload: tuple[tuple[str, int], ...] | None

    def __str__(self) -> str:
        return f"{self.gpu}, {size_text(dict(self.workload)) if self.workload else UNKNOWN_WORKLOAD}"


@dataclass(frozen=True)
class Rung:
    """`timed` is where the unprofiled times of the profile are from; the run itself may hold them."""

    kernel: Kernel
    profile: Profile
    timed: Run | None


def find_runs(store: RunStore, ladder: Ladder) -> list[Run]:
    """Every run of the ladder's kernels, profiled or timed, oldest first."""
    names = {
        name(ladder.name, kernel.number) for kernel in ladder.kernels for name in (rung_name, timed_name)
    }
    runs = store.open_all(run_id for run_id in store.ids() if run_id.name in names)
    if not runs:
        raise RunNotFound(
            f"{store.root}: no run of any kernel of ladder '{ladder.name}'",
            remedy="`prof time` and `prof ingest REPORT --kernel N` store some; `prof list` shows what there is.",
        )
    return runs


def group_runs(runs: Iterable[Run]) -> dict[Conditions, list[Run]]:
    """By what they share: first the conditions that most rungs, then most profiles, were recorded under.

    Of several such, the newest.
    """
    groups: dict[Conditions, list[Run]] = {}
    written: dict[Conditions, Conditions] = {}  # in the order of the first run that has them
    for run in runs:
        own = _conditions(run.manifest)
        alike = own._replace(workload=own.workload and tuple(sorted(own.workload)))
        groups.setdefault(written.setdefault(alike, own), []).append(run)

    def weight(group: Sequence[Run]) -> tuple[int, int, str]:
        profiled = {run.manifest.name for run in group if run.manifest.is_profiled}
        rungs = {run.manifest.name.removesuffix(TIMED_SUFFIX) for run in group}
        return (len(rungs), len(profiled), max(run.manifest.run_id for run in group))

    return dict(sorted(groups.items(), key=lambda item: weight(item[1]), reverse=True))


def choose_conditions(
    groups: Mapping[Conditions, Sequence[Run]], workload: Mapping[str, int] | None
) -> Conditions:
    """The first, or the first of the workload asked for."""
    for conditions in groups:
        if workload is None or dict(conditions.workload or ()) == workload:
            return conditions
    raise RunNotFound(
        f"no run of {size_text(workload or {})}; there are:",
        details=[f"  {conditions}" for conditions in groups],
        remedy="Choose one of them with --size or --set-param, or record this one.",
    )


def gather_rungs(ladder: Ladder, runs: Sequence[Run]) -> list[Rung]:
    """The newest run of every kernel, with its unprofiled times where there are any; in the ladder's order.

    Without those that `find_unclear` finds.
    """
    unclear = find_unclear(ladder, runs)
    clear = [kernel for kernel in ladder.kernels if kernel.number not in unclear]
    rungs = (_rung(ladder, kernel, runs) for kernel in clear)
    return [_with_work(rung) for rung in rungs if rung is not None]


def find_unclear(ladder: Ladder, runs: Sequence[Run]) -> dict[int, ComparisonError]:
    """The rungs whose newest run holds several kernels, none of which is the one that the ladder means; and why not."""
    unclear: dict[int, ComparisonError] = {}
    for kernel in ladder.kernels:
        profiled = _newest_profiled(ladder, kernel, runs)
        try:
            if profiled is not None:
                _measured_kernel(profiled, kernel)
        except ComparisonError as error:
            unclear[kernel.number] = error
    return unclear


def _with_work(rung: Rung) -> Rung:
    return replace(rung, profile=with_work(rung.profile, find_useful_bytes(rung.profile, rung.kernel)))


def _rung(ladder: Ladder, kernel: Kernel, runs: Sequence[Run]) -> Rung | None:
    profiled = _newest_profiled(ladder, kernel, runs)
    timed = [run for run in runs if run.manifest.name == timed_name(ladder.name, kernel.number)]
    if profiled is None:
        alone = _newest(timed)
        return Rung(kernel, profile_timings(alone), alone) if alone else None
    profile = profile_kernel(profiled, _measured_kernel(profiled, kernel))
    if step_ns := timings_of(profiled):  # the rung's time, whichever of its kernels was profiled
        return Rung(kernel, replace(profile, timings_ns=step_ns), profiled)
    beside = _newest(run for run in timed if _same_binary(run.manifest, profiled.manifest))
    if beside is None:
        return Rung(kernel, profile, None)
    return Rung(kernel, replace(profile, timings_ns=profile_timings(beside).timings_ns), beside)


def _newest_profiled(ladder: Ladder, kernel: Kernel, runs: Iterable[Run]) -> Run | None:
    return _newest(run for run in runs if run.manifest.name == rung_name(ladder.name, kernel.number))


def _measured_kernel(run: Run, kernel: Kernel) -> str:
    """The only one, whatever it is called; of several, the one that the ladder's expression means.

    A library chooses its kernels itself: of those that the expression fits, the one launched most often.
    """
    if len(run.manifest.kernels) == 1:
        return run.manifest.kernels[0].name
    (fitting,) = choose_kernels([run], kernel.regex)
    candidates = [one for one in run.manifest.kernels if one.name in fitting]
    first, *others = sorted(candidates, key=lambda one: one.launches, reverse=True)
    if others and others[0].launches == first.launches:
        return choose_kernel(run, kernel.regex)  # raises, and lists them
    return first.name


def _newest(runs: Iterable[Run]) -> Run | None:
    return max(runs, key=lambda run: run.manifest.run_id, default=None)


def _same_binary(timed: Manifest, profiled: Manifest) -> bool:
    """Unless both say what they measured, and it was not the same: an older build's time is not this one's."""
    hashes = {
        manifest.provenance.binary_sha256
        for manifest in (timed, profiled)
        if manifest.provenance and manifest.provenance.binary_sha256
    }
    return len(hashes) < 2


def _conditions(manifest: Manifest) -> Conditions:
    workload = None if manifest.workload is None else tuple(manifest.workload.items())
    return Conditions(", ".join(manifest.gpus) or UNKNOWN_GPU, workload)
