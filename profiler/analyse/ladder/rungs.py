"""Chooses the recordings that a ladder is drawn from: one GPU, one workload, the newest run of each rung.

Runs in; groups of runs that share their conditions out. Figures of different GPUs or workloads never stand in
one ladder.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from profiler.analyse.recording.profile import Profile, gpus_text
from profiler.catalog.ladders.ladder import Kernel, size_text
from profiler.errors import RunNotFound
from profiler.store.runs.manifest import Manifest
from profiler.store.runs.run_id import TIMED_SUFFIX
from profiler.text import Spoken

if TYPE_CHECKING:
    from profiler.store.runs.run import Run

_UNKNOWN_WORKLOAD = "workload not recorded"


class Conditions(NamedTuple):
    """The GPU and the workload that all rungs of a ladder share; the workload is None where the runs do not say it."""

    gpu: str
    workload: tuple[tuple[str, int], ...] | None

    def __str__(self) -> str:
        return f"{self.gpu}, {size_text(dict(self.workload)) if self.workload else _UNKNOWN_WORKLOAD}"


@dataclass(frozen=True)
class Rung:
    """`timed` is where the unprofiled times of the profile are from; the run itself may hold them."""

    kernel: Kernel
    profile: Profile
    timed: Run | None


def group_runs(runs: Iterable[Run]) -> dict[Conditions, list[Run]]:
    """Returns runs by the conditions that they share; first the conditions with most rungs, then with most profiles, then with the newest run."""
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
    """Returns the first conditions, or the first with the workload asked for."""
    for conditions in groups:
        if workload is None or dict(conditions.workload or ()) == workload:
            return conditions
    raise RunNotFound(
        f"no run of {size_text(workload or {})}; there are:",
        details=[f"  {conditions}" for conditions in groups],
        remedy="Choose one of them with "
        + Spoken("--size or --set-param", "`workload`")
        + ", or record this one.",
    )


def _conditions(manifest: Manifest) -> Conditions:
    workload = None if manifest.workload is None else tuple(manifest.workload.items())
    return Conditions(gpus_text(manifest.gpus), workload)
