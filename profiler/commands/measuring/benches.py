"""Where a collection is measured: on one GPU here, on several of this host, or on the workers of a cluster."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import typer

from profiler.commands.shared.crew_options import CrewChoice
from profiler.commands.shared.options import VerbSettings

if TYPE_CHECKING:
    from profiler.commands.measuring.collecting import CollectProgress
    from profiler.measure.collect.collection import CollectPlan
    from profiler.measure.collect.target import Target
    from profiler.measure.collect.turns import CollectOutcome
    from profiler.measure.devices.device import Device
    from profiler.measure.devices.groups import GroupBy
    from profiler.measure.devices.on_cluster import ClusterFleet
    from profiler.measure.tools.toolchain import Gpu
    from profiler.store.runs.run_store import RunStore


@dataclass(frozen=True)
class Benches:
    """`first` stands for all: they have the same GPU and the same ncu. Alone where there is neither more of the rest."""

    first: Device
    note: Callable[[str], None]
    gpus: Mapping[str, Gpu] = field(default_factory=dict)  # several of this host, by name
    fleet: ClusterFleet | None = None  # of a cluster

    def collect(
        self,
        plan: CollectPlan,
        targets: Sequence[Target],
        by: GroupBy,
        store: RunStore,
        progress: CollectProgress,
    ) -> Iterator[CollectOutcome]:
        from profiler.measure.collect.turns import collect_here, recorded_on
        from profiler.measure.devices.assign import collect_on_fleet
        from profiler.measure.devices.groups import TargetGroup, group_targets

        groups = group_targets(targets, by)
        self._tell_who_is_idle(len(groups), by)
        if self.fleet is None and min(len(self.gpus), len(groups)) < 2:
            yield from collect_here(plan, targets, store, progress.observer())
            return
        begun = [TargetGroup(list(group), recorded_on(plan, group, store)) for group in groups]
        with self._fleet_for(len(groups)) as fleet:
            fleet.note = progress.note
            yield from collect_on_fleet(plan, begun, fleet, store, progress.audience())

    @contextmanager
    def _fleet_for(self, groups: int) -> Iterator[ClusterFleet]:
        """Of this host, no more workers than there is work for are started, and only now that they are needed."""
        if self.fleet is not None:
            yield self.fleet
            return
        from profiler.cluster.connection import start_local_workers
        from profiler.measure.devices.on_cluster import ClusterFleet

        used = dict(list(self.gpus.items())[:groups])
        environments = [{"CUDA_VISIBLE_DEVICES": gpu.uuid} for gpu in used.values()]
        with (
            start_local_workers(environments, True, list(used)) as crew,
            ClusterFleet(crew, self.note) as fleet,
        ):
            fleet.expect(self.first)
            yield fleet

    def _tell_who_is_idle(self, groups: int, by: GroupBy) -> None:
        there_are = len(self.fleet.workers()) if self.fleet is not None else len(self.gpus)
        if groups < there_are and by == "workloads":
            self.note(
                f"on {groups} of {there_are} GPUs: kernels of one size are compared with each other and stay together; "
                "--spread kernels uses more"
            )


@contextmanager
def planned_benches(gpus: str | None, choice: CrewChoice) -> Iterator[Benches]:
    """For a dry run, which starts and asks no workers, and can do without a GPU and its tools."""
    from profiler.measure.collect.stand_ins import dry_run_device

    _require_one_place(gpus, choice)
    yield Benches(dry_run_device(gpus), note=lambda _: None)


@contextmanager
def open_benches(gpus: str | None, choice: CrewChoice, settings: VerbSettings) -> Iterator[Benches]:
    _require_one_place(gpus, choice)

    def note(line: str) -> None:
        if not settings.quiet:
            print(line, file=sys.stderr, flush=True)

    if choice.is_given:
        from profiler.measure.devices.on_cluster import ClusterFleet

        with choice.open(gpus=True, say=note) as crew, ClusterFleet(crew, note) as fleet:
            yield Benches(fleet.choose_model(), note, fleet=fleet)
        return
    from profiler.measure.devices.device import LocalDevice, device_for_gpu
    from profiler.measure.tools.ncu import find_ncu
    from profiler.measure.tools.toolchain import choose_gpus, find_gpu, find_gpus

    ncu = find_ncu()
    if gpus is None:
        yield Benches(LocalDevice(find_gpu(), ncu), note)
        return
    visible = find_gpus()
    chosen = choose_gpus(gpus, visible)
    named = {f"gpu{visible.index(gpu)}": gpu for gpu in chosen}
    yield Benches(device_for_gpu(chosen[0], ncu), note, gpus=named)


def _require_one_place(gpus: str | None, choice: CrewChoice) -> None:
    if gpus is not None and choice.is_given:
        raise typer.BadParameter(
            "--gpus chooses among the GPUs of this host: not with --scheduler or --slurm"
        )
