"""Measures the targets of `prof collect` on the devices that were opened, and prints what became of each."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from shlex import quote

import typer

from profiler.ask.collect import find_collected
from profiler.ask.named.gpus import is_meant
from profiler.commands.measuring.collect_devices import CollectDevices
from profiler.commands.measuring.collect_progress import CollectProgress
from profiler.commands.shared.interrupts import continuable
from profiler.commands.shared.options import VerbSettings
from profiler.commands.shared.output import print_document
from profiler.errors import CollectIncomplete, ProfError
from profiler.measure.collect.collection import CollectPlan, steps_of
from profiler.measure.collect.target import Target
from profiler.measure.collect.turns import CollectOutcome
from profiler.measure.devices.groups import GroupBy
from profiler.present.documents.collected import collected_document, collected_row, next_command
from profiler.store.runs.run_store import RunStore
from profiler.text import short_gpu


def profiled_targets(targets: Sequence[Target]) -> list[Target]:
    """Returns the targets that are profiled, for a collection that times nothing; says which are left out."""
    for target in targets:
        if not target.is_profiled:
            print(
                f"left out    {target.label}: it is not profiled, and --repeats 0 times nothing",
                file=sys.stderr,
            )
    left = [target for target in targets if target.is_profiled]
    if targets and not left:
        raise typer.BadParameter("--repeats 0 leaves nothing to measure")
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
    print_document(collected_document(rows), format=settings.format)
    if not settings.quiet:
        job = outcomes[-1].target.job
        names = [run_id.name for run_id in store.ids()]
        command = next_command(manifests, job.ladder if job else None, names)
        gpu = manifests[-1].gpus[0]
        if settings.usual_gpu and not is_meant(settings.usual_gpu, gpu):  # which would come first otherwise
            command += f" --gpu {quote(short_gpu(gpu))}"
        print(f"\nnext: {command}", file=sys.stderr)
