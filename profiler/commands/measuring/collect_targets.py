"""Measures the targets of `prof collect` on the devices that were opened, and prints what became of each."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from shlex import quote

from profiler.ask.collect import find_collected
from profiler.ask.named.gpus import is_meant
from profiler.commands.measuring.collect_devices import CollectDevices
from profiler.commands.measuring.collect_progress import CollectProgress
from profiler.commands.measuring.since_before import says_what_changed
from profiler.commands.shared.options import VerbSettings
from profiler.commands.shared.output import print_document
from profiler.commands.shared.progress import continuable
from profiler.errors import CollectIncomplete, ProfError
from profiler.measuring.collect.collection import CollectPlan, steps_of
from profiler.measuring.collect.target import Target
from profiler.measuring.collect.times_only import collect_times
from profiler.measuring.collect.turns import CollectOutcome
from profiler.measuring.fleet.groups import GroupBy
from profiler.measuring.tools.gpus import find_gpu
from profiler.present.documents.rungs import collected_document, collected_row, next_command
from profiler.store.runs.run_store import RunStore
from profiler.text import short_gpu


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
    wanted = len(targets) + len(missing)
    if errors:
        many = f"{len(errors)} of {wanted} kernels were not collected"
        raise errors[0] if wanted == 1 else CollectIncomplete(many)


def _print_outcomes(store: RunStore, outcomes: Sequence[CollectOutcome], settings: VerbSettings) -> None:
    collected = find_collected(store, [outcome.run_id for outcome in outcomes], settings)
    found = [(outcome, one) for outcome, one in zip(outcomes, collected, strict=True) if one is not None]
    rows = [
        collected_row(outcome.status, one.run, profile, one.rung)
        for outcome, one in found
        for profile in one.profiles
    ]
    if not rows:
        return
    print_document(collected_document(rows), settings.format)
    manifests = [one.run.manifest for _, one in found]
    is_one = len(outcomes) == 1 and outcomes[0].status == "collected"
    if settings.quiet or (is_one and says_what_changed(store, manifests[0], settings)):
        return
    job = outcomes[-1].target.job
    command = next_command(manifests, job.ladder if job else None, [run_id.name for run_id in store.ids()])
    gpu = manifests[-1].gpus[0]
    if settings.usual_gpu and not is_meant(settings.usual_gpu, gpu):  # which would come first otherwise
        command += f" --gpu {quote(short_gpu(gpu))}"
    print(f"\nnext: {command}", file=sys.stderr)


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
