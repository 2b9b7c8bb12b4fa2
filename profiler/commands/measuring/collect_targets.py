"""Makes the targets of `prof collect`, measures them on the devices that were opened, and prints what became of each."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from shlex import quote

from typer import BadParameter, Context

from profiler.ask.collect import find_collected
from profiler.ask.named.gpus import is_meant
from profiler.ask.named.ladders import open_ladder, workloads
from profiler.cluster.connection import start_local_workers
from profiler.commands.measuring.collect_progress import CollectProgress
from profiler.commands.measuring.since_before import says_what_changed
from profiler.commands.shared.cluster_options import ClusterChoice
from profiler.commands.shared.ladders import build_errors, build_rungs, choose_rungs, usable_kernels
from profiler.commands.shared.misuse import Misuse
from profiler.commands.shared.options import VerbSettings, typed_options
from profiler.commands.shared.output import print_document
from profiler.commands.shared.progress import continuable
from profiler.errors import CollectIncomplete, ProfError
from profiler.measuring.collect.collection import CollectPlan, steps_of
from profiler.measuring.collect.dry_run import dry_run_device
from profiler.measuring.collect.target import Target, rung_target
from profiler.measuring.collect.times_only import collect_times
from profiler.measuring.collect.turns import CollectOutcome, collect_here, recorded_on
from profiler.measuring.devices.assign import collect_on_fleet
from profiler.measuring.devices.device import Device, LocalDevice, device_for_gpu
from profiler.measuring.devices.groups import GroupBy, TargetGroup, group_targets
from profiler.measuring.devices.on_cluster import ClusterFleet
from profiler.measuring.rungs.build import build_folder
from profiler.measuring.rungs.program import RungJob
from profiler.measuring.tools.ncu import LAUNCHES, NcuOptions, Selection, find_ncu
from profiler.measuring.tools.toolchain import Gpu, choose_gpus, find_gpu, find_gpus
from profiler.present.documents.rungs import collected_document, collected_row, next_command
from profiler.store.runs.run_store import RunStore
from profiler.text import short_gpu


def profiled_targets(targets: Sequence[Target]) -> list[Target]:
    """Returns the targets that are profiled, for a collection that times nothing; says which are left out."""
    for target in targets:
        if not target.is_profiled:
            left_out = f"left out    {target.label}: it is not profiled, and --repeats 0 times nothing"
            print(left_out, file=sys.stderr)
    left = [target for target in targets if target.is_profiled]
    if targets and not left:
        raise Misuse("--repeats 0 leaves nothing to measure")
    return left


def collect_targets(
    plan: CollectPlan,
    targets: Sequence[Target],
    missing: list[ProfError],
    devices: CollectDevices,
    spread: GroupBy,
    settings: VerbSettings,
) -> None:
    """Measures the targets, prints a row for each kernel, and raises if a target failed or is `missing`."""
    store = settings.open_store(settings.runs_folder)
    steps = [step for target in targets for step in steps_of(plan, target)]
    launches = next((target.selection.launches for target in targets if target.is_profiled), None)
    order = {target.label: place for place, target in enumerate(targets)}
    passes = plan.recording.preset.passes
    with (
        continuable("recordings"),
        CollectProgress(steps, launches, plan.processes, passes, settings) as progress,
    ):
        outcomes = list(devices.collect(plan, targets, spread, store, progress))
    outcomes.sort(key=lambda outcome: order[outcome.target.label])
    _print_outcomes(store, outcomes, settings)
    errors = missing + [one.error for one in outcomes if one.error is not None]
    if len(errors) == 1 and len(targets) + len(missing) == 1:
        raise errors[0]
    if errors:
        raise CollectIncomplete(f"{len(errors)} of {len(targets) + len(missing)} kernels were not collected")


def _print_outcomes(store: RunStore, outcomes: Sequence[CollectOutcome], settings: VerbSettings) -> None:
    rows, manifests = [], []
    collected = find_collected(store, [outcome.run_id for outcome in outcomes], settings)
    for outcome, found in zip(outcomes, collected, strict=True):
        if found is not None:
            manifests.append(found.run.manifest)
            rows += [collected_row(outcome.status, found.run, one, found.rung) for one in found.profiles]
    if not rows:
        return
    print_document(collected_document(rows), settings.format)
    if settings.quiet:
        return
    is_one = len(outcomes) == 1 and outcomes[0].status == "collected"
    if is_one and says_what_changed(store, manifests[0], settings):
        return
    job = outcomes[-1].target.job
    names = [run_id.name for run_id in store.ids()]
    command = next_command(manifests, job.ladder if job else None, names)
    gpu = manifests[-1].gpus[0]
    if settings.usual_gpu and not is_meant(settings.usual_gpu, gpu):  # which would come first otherwise
        command += f" --gpu {quote(short_gpu(gpu))}"
    print(f"\nnext: {command}", file=sys.stderr)


_TAKEN = {
    "program", "times_only", "name", "kernel_name", "launch_skip", "launches", "processes", "cwd", "timeout", "runs",
    "ladder", "format",
}  # fmt: skip


def check_options(context: Context) -> None:
    """Refuses every option that says how to use ncu, or how to measure kernels of a ladder."""
    for name, option in typed_options(context).items():
        if name not in _TAKEN:
            raise BadParameter(
                "leave it out with --times-only, which runs a program without ncu; kernels of a ladder have `prof time`",
                param_hint=option,
            )


def collect_program_times(
    target: Target, processes: int, timeout_s: float, cwd: Path | None, settings: VerbSettings
) -> None:
    """Runs the program in several processes, stores the times of its launches as one run, and prints its kernels."""
    store = settings.open_store(settings.runs_folder)
    folder = cwd.resolve() if cwd else None
    run_id = collect_times(target, find_gpu(), processes, timeout_s, folder, store, settings.say)
    (found,) = find_collected(store, [run_id], settings)
    assert found is not None
    rows = [collected_row("collected", found.run, one, None) for one in found.profiles]
    print_document(collected_document(rows), settings.format)
    if not settings.quiet and not says_what_changed(store, found.run.manifest, settings):
        settings.say("", f"next: prof show {found.run.manifest.name}")


def program_target(
    program: list[str],
    name: str | None,
    regex: str | None,
    skip: int,
    launches: int | None,
    recording: NcuOptions | None = None,
) -> Target:
    """Returns a program as a target; without a `recording` it is not profiled, and all its launches are timed.

    Nobody knows how many launches it makes: without --launches, up to five are profiled and one is enough.
    """
    limit = launches if launches is not None or recording is None or recording.of_ranges else LAUNCHES
    return Target(
        name=name or name_of_program(program),
        selection=Selection(regex, skip, limit),
        required_launches=launches or 1,
        program=tuple(program),
    )


def name_of_program(program: Sequence[str]) -> str:
    """Returns what the runs of a program are called unless the user says it: its file, or the script or module that Python runs."""
    name = Path(program[0]).name if program else ""
    if name.startswith("python"):
        script = next((Path(word).stem for word in program[1:] if word.endswith(".py")), "")
        module = next((after for word, after in pairwise(program) if word == "-m"), "")
        return script or module or name
    return name


def rung_targets(
    settings: VerbSettings,
    kernel: list[str] | None,
    size: list[str] | None,
    set_param: list[str] | None,
    launches: int | None,
    recording: NcuOptions,
    gpu: Gpu,
    jobs: int | None,
    *,
    build: bool,
) -> tuple[list[Target], list[ProfError]]:
    """Returns every kernel at every size, and the errors of the kernels that could not be built."""
    opened = open_ladder(settings)
    kernels = choose_rungs(opened, kernel)
    shapes = workloads(opened, size, set_param)
    built = build_rungs(opened, kernels, gpu.arch, settings, jobs) if build else {}
    missing = build_errors(built, "failed", *(("unavailable",) if kernel else ()))
    targets = []
    for values in shapes:
        for one in usable_kernels(kernels, built):
            binary = build_folder(opened, gpu.arch) / one.file_name if one.is_compiled else None
            job = RungJob(opened, one, values, binary)
            targets.append(rung_target(job, built.get(one.number), launches or LAUNCHES, recording))
    return targets, missing


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
    """Opens the GPUs that were asked for, by default the first of this host; for a dry run, only stands in for them."""
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
