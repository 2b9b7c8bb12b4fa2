"""Opens the devices of `prof collect`: GPUs of this host, or workers of a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from profiler.cluster.connection import start_local_workers
from profiler.commands.measuring.collect_progress import CollectProgress
from profiler.commands.shared.cluster_options import ClusterChoice
from profiler.commands.shared.misuse import Misuse
from profiler.commands.shared.options import VerbSettings
from profiler.measuring.collect.collection import CollectPlan
from profiler.measuring.collect.device import Device, LocalDevice, device_for_gpu
from profiler.measuring.collect.dry_run import dry_run_device
from profiler.measuring.collect.target import Target
from profiler.measuring.collect.turns import CollectOutcome, collect_here, recorded_on
from profiler.measuring.fleet.assign import collect_on_fleet
from profiler.measuring.fleet.groups import GroupBy, TargetGroup, group_targets
from profiler.measuring.fleet.on_cluster import ClusterFleet
from profiler.measuring.tools.gpus import Gpu, choose_gpus, find_gpu, find_gpus
from profiler.measuring.tools.ncu import find_ncu
from profiler.store.runs.run_store import RunStore


@dataclass(frozen=True)
class CollectDevices:
    """The GPUs of a collection. All have the model and the ncu of `first`, which is the only one without `gpus` and `fleet`."""

    first: Device
    note: Callable[[str], None]
    gpus: Mapping[str, Gpu] = field(default_factory=dict)  # of this host, by name
    fleet: ClusterFleet | None = None  # the workers of a cluster

    def collect(
        self,
        plan: CollectPlan,
        targets: Sequence[Target],
        by: GroupBy,
        store: RunStore,
        progress: CollectProgress,
    ) -> Iterator[CollectOutcome]:
        """Yields what became of each target, in the order in which they finish."""
        groups = group_targets(targets, by)
        self._note_idle_gpus(len(groups), by)
        if self.fleet is None and min(len(self.gpus), len(groups)) < 2:
            yield from collect_here(plan, targets, store, progress.observer())
            return
        begun = [TargetGroup(list(group), recorded_on(plan, group, store)) for group in groups]
        with self._fleet_for(len(groups)) as fleet:
            fleet.note = progress.note
            yield from collect_on_fleet(plan, begun, fleet, store, progress.fleet_observer())

    @contextmanager
    def _fleet_for(self, groups: int) -> Iterator[ClusterFleet]:
        """Opens the fleet: the cluster's, or new workers on this host, at most one for each group of targets."""
        if self.fleet is not None:
            yield self.fleet
            return
        used = dict(list(self.gpus.items())[:groups])
        workers = {name: {"CUDA_VISIBLE_DEVICES": gpu.uuid} for name, gpu in used.items()}
        with start_local_workers(workers) as pool, ClusterFleet(pool, self.note) as fleet:
            fleet.expect(self.first)
            yield fleet

    def _note_idle_gpus(self, groups: int, by: GroupBy) -> None:
        available = len(self.fleet.workers()) if self.fleet is not None else len(self.gpus)
        if groups < available and by == "workloads":
            self.note(
                f"on {groups} of {available} GPUs: kernels of one size are compared with each other and stay together; "
                "--spread kernels uses more"
            )


@contextmanager
def open_devices(
    gpus: str | None, choice: ClusterChoice, settings: VerbSettings, *, dry_run: bool
) -> Iterator[CollectDevices]:
    """Opens the GPUs that were asked for, by default the first of this host; a dry run gets one that stands in for them."""
    if gpus is not None and choice.is_given:
        raise Misuse("--gpus chooses among the GPUs of this host: leave it out with --scheduler or --slurm")
    note = settings.say
    if dry_run:
        yield CollectDevices(dry_run_device(gpus), note)
        return
    if choice.is_given:
        with choice.open(gpus=True, say=note) as pool, ClusterFleet(pool, note) as fleet:
            yield CollectDevices(fleet.choose_model(), note, fleet=fleet)
        return

    ncu = find_ncu()
    if gpus is None:
        yield CollectDevices(LocalDevice(find_gpu(), ncu), note)
        return
    visible = find_gpus()
    chosen = choose_gpus(gpus, visible)
    named = {f"gpu{visible.index(gpu)}": gpu for gpu in chosen}
    yield CollectDevices(device_for_gpu(chosen[0], ncu), note, gpus=named)
