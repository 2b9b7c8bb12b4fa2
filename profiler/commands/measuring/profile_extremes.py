"""Profiles the best and the slowest point of a sweep and compares the two."""

from __future__ import annotations

import sys
from dataclasses import replace

from profiler.analyse.tuning import TuningFinding
from profiler.ask.collect import find_extremes
from profiler.ask.compare import compare
from profiler.catalog.ladders.sweep import SweepPoint
from profiler.catalog.presets import find_preset
from profiler.commands.measuring.collect_progress import CollectProgress
from profiler.commands.shared.options import VerbSettings
from profiler.commands.shared.output import print_document
from profiler.measuring.collect.collection import CollectPlan, steps_of
from profiler.measuring.collect.device import LocalDevice
from profiler.measuring.collect.target import Target, rung_target
from profiler.measuring.collect.turns import collect_here
from profiler.measuring.tools.ncu import LAUNCHES, NcuOptions, find_ncu
from profiler.measuring.tune.sweep import SweepMeasurement
from profiler.present.documents.comparison import comparison_document
from profiler.store.sweeps import StoredSweep


def print_extremes(
    sweeping: SweepMeasurement, stored: StoredSweep, finding: TuningFinding, settings: VerbSettings
) -> None:
    """Profiles both points and prints their comparison; with JSON or CSV, the command that prints it."""
    extremes = find_extremes(stored, finding)
    if extremes is None:
        print("only one point is correct: there is nothing to compare it with", file=sys.stderr)
        return
    recording = NcuOptions(find_preset("default"))
    plan = CollectPlan(LocalDevice(sweeping.plan.gpu, find_ncu()), recording, verify=False)
    before, after = _collected(plan, _targets(sweeping, *extremes, plan), settings)
    if settings.format in ("json", "csv"):
        print(f"prof compare {before} {after}", file=sys.stderr)
        return

    (comparison,) = compare(before, after, settings)
    print("" if settings.format == "markdown" else "\nfrom the slowest point to the best\n")
    print_document(comparison_document(comparison), settings.format)


def _targets(
    sweeping: SweepMeasurement, slowest: SweepPoint, best: SweepPoint, plan: CollectPlan
) -> list[Target]:
    """Returns the two points as targets, each named after a ladder of its own so that neither run counts as the rung's newest."""
    ladder, targets = sweeping.plan.ladder, []
    points = {"slowest": slowest, "best": best}
    for name, built in zip(points, sweeping.build(list(points.values())), strict=True):
        if built.error is not None:
            raise built.error
        job = replace(sweeping.plan.job(built.kernel, 0), binary=built.binary)
        job = replace(job, ladder=replace(ladder, name=f"{ladder.name}-tune-{name}"))
        targets.append(rung_target(job, built, LAUNCHES, plan.recording))
    return targets


def _collected(plan: CollectPlan, targets: list[Target], settings: VerbSettings) -> list[str]:
    """Profiles the targets and returns the ids of their runs, in the same order."""
    steps = [step for target in targets for step in steps_of(plan, target)]
    passes = plan.recording.preset.passes
    store = settings.open_store(settings.runs_folder)
    with CollectProgress(steps, LAUNCHES, plan.processes, passes, settings) as progress:
        outcomes = list(collect_here(plan, targets, store, progress.observer()))
    for outcome in outcomes:
        if outcome.error is not None:
            raise outcome.error
    ids = {outcome.target.name: outcome.run_id for outcome in outcomes}
    return [ids[target.name] for target in targets]
