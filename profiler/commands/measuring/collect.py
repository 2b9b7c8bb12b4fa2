"""`prof collect`: kernels, or any program, into runs."""

from __future__ import annotations

import signal
import sys
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from profiler.commands.measuring.targets import LAUNCHES, program_target, rung_targets
from profiler.commands.shared.crew_options import (
    CrewChoice,
    SchedulerOption,
    SlurmOption,
    TlsCaOption,
    TlsCertOption,
    TlsKeyOption,
    WorkersOption,
)
from profiler.commands.shared.ladders import JobsOption, ParameterOption, SizeOption
from profiler.commands.shared.options import FormatOption, LadderOption, RunsOption, VerbSettings, settings_of

if TYPE_CHECKING:
    from profiler.commands.measuring.benches import Benches
    from profiler.errors import ProfError
    from profiler.measure.collect.collection import CollectPlan
    from profiler.measure.collect.target import Target
    from profiler.measure.collect.turns import CollectOutcome
    from profiler.measure.devices.groups import GroupBy
    from profiler.store.runs.run_store import RunStore

_TERMINATED = 143


class Replay(StrEnum):
    kernel = "kernel"
    application = "application"
    range = "range"
    app_range = "app-range"


class Graphs(StrEnum):
    node = "node"
    graph = "graph"


class Clock(StrEnum):
    none = "none"
    base = "base"
    boost = "boost"
    reset = "reset"


class Cache(StrEnum):
    all = "all"
    none = "none"


class Spread(StrEnum):
    workloads = "workloads"
    kernels = "kernels"


def collect(
    context: typer.Context,
    program: Annotated[
        list[str] | None,
        typer.Argument(metavar="[-- PROGRAM...]", help="Any program, instead of a ladder's."),
    ] = None,
    kernel: Annotated[
        list[str] | None,
        typer.Option("--kernel", metavar="N", help="This kernel, or a range such as 4-6; may be repeated."),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Every kernel of the ladder.")] = False,
    size: SizeOption = None,
    set_param: ParameterOption = None,
    preset: Annotated[str, typer.Option("--preset", help="What to record: see `prof presets`.")] = "default",
    section: Annotated[
        list[str] | None, typer.Option("--section", help="Record this section too; may be repeated.")
    ] = None,
    metric: Annotated[
        list[str] | None,
        typer.Option("--metric", help="Record this metric too, by prof's or ncu's name; may be repeated."),
    ] = None,
    set_: Annotated[str | None, typer.Option("--set", help="Record this set of ncu's sections too.")] = None,
    launches: Annotated[
        int | None,
        typer.Option("--launches", min=1, help=f"Launches to profile in each process [default: {LAUNCHES}]."),
    ] = None,
    processes: Annotated[
        int,
        typer.Option("--processes", min=1, help="Processes per kernel, interleaved so that drift cancels."),
    ] = 3,
    repeat: Annotated[
        int | None, typer.Option("--repeat", min=1, hidden=True, help="The old name of --processes.")
    ] = None,
    verify: Annotated[bool, typer.Option("--verify/--no-verify", help="Check the result first.")] = True,
    repeats: Annotated[
        int, typer.Option("--repeats", min=0, help="Unprofiled timings in each process; 0 for none.")
    ] = 20,
    name: Annotated[str | None, typer.Option("--name", help="What runs of any program are called.")] = None,
    kernel_regex: Annotated[
        str | None, typer.Option("--kernel-regex", metavar="REGEX", help="Which of the program's kernels.")
    ] = None,
    launch_skip: Annotated[
        int, typer.Option("--launch-skip", min=0, help="Launches of it to let pass first.")
    ] = 0,
    replay_mode: Annotated[Replay, typer.Option(help="How ncu repeats what it measures.")] = Replay.kernel,
    graph_profiling: Annotated[
        Graphs, typer.Option(help="CUDA graphs: kernel by kernel, or whole.")
    ] = Graphs.node,
    clock_control: Annotated[
        Clock, typer.Option(help="What ncu does to the clocks; untouched, and recorded, by default.")
    ] = Clock.none,
    cache_control: Annotated[
        Cache, typer.Option(help="Caches flushed before each pass, or not.")
    ] = Cache.all,
    ncu_option: Annotated[
        list[str] | None,
        typer.Option("--ncu-option", metavar="WORD", help="A further word for ncu; may be repeated."),
    ] = None,
    gpus: Annotated[
        str | None, typer.Option("--gpus", help="GPUs to spread over: all, or 0,1 [default: the first].")
    ] = None,
    spread: Annotated[
        Spread, typer.Option(help="What may go to different GPUs: kernels of one size stay together, or not.")
    ] = Spread.workloads,
    cwd: Annotated[
        Path | None,
        typer.Option("--cwd", file_okay=False, exists=True, help="Run the program in this folder."),
    ] = None,
    timeout: Annotated[float, typer.Option("--timeout", min=0.1, help="Seconds for one process.")] = 600.0,
    resume: Annotated[
        bool | None,
        typer.Option("--resume/--force", help="Skip what is collected already, or measure it again."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the commands, and run none.")] = False,
    jobs: JobsOption = None,
    scheduler: SchedulerOption = None,
    slurm: SlurmOption = None,
    workers: WorkersOption = None,
    tls_ca: TlsCaOption = None,
    tls_cert: TlsCertOption = None,
    tls_key: TlsKeyOption = None,
    runs: RunsOption = None,
    ladder: LadderOption = None,
    format: FormatOption = None,
) -> None:
    """Build, verify, time, profile and store.

    Kernels of a ladder take turns. What is collected already, from the same source and binary, at
    the same size and preset, is skipped; after an interruption the same command goes on. Of programs
    that prof does not compile it cannot know whether they changed: they are measured again, unless
    --resume says that they have not.

    Examples:

      prof collect --kernel 6

      prof collect --kernel 5-6 --launches 5 --processes 3 --size 4096

      prof collect --name mine --kernel-regex 'gemm' --launch-skip 3 -- python train.py

      prof collect --all --size 1024 --size 4096 --gpus all

      prof collect --all --size 1024 --size 4096 --scheduler tcp://head:8786
    """
    from profiler.catalog.presets import find_preset
    from profiler.commands.measuring.benches import open_benches, planned_benches
    from profiler.measure.collect.collection import CollectPlan
    from profiler.measure.tools.ncu import NcuOptions

    settings = settings_of(context, runs, ladder, format)
    _check_choice(program, kernel, every, name, kernel_regex)
    crew = CrewChoice(scheduler, slurm, workers, tls_ca, tls_cert, tls_key)
    recording = NcuOptions(
        preset=find_preset(preset).with_more(section or (), metric or (), set_),
        replay=replay_mode.value,
        graphs=graph_profiling.value,
        clock=clock_control.value,
        cache=cache_control.value,
        extra=tuple(ncu_option or ()),
    )
    if repeat is not None:
        print(
            "--repeat is called --processes now; the next release will refuse the old name", file=sys.stderr
        )
        processes = repeat
    signal.signal(signal.SIGTERM, terminate)
    with planned_benches(gpus, crew) if dry_run else open_benches(gpus, crew, settings) as benches:
        targets, missing = (
            ([program_target(program, name or "", kernel_regex, launch_skip, launches, recording)], [])
            if program
            else rung_targets(
                settings,
                kernel,
                size,
                set_param,
                launches,
                recording,
                benches.first.gpu,
                jobs,
                build=not dry_run,
            )
        )
        plan = CollectPlan(
            device=benches.first,
            recording=recording,
            processes=processes,
            repeats=repeats,
            verify=verify,
            timeout_s=timeout,
            cwd=cwd.resolve() if cwd else None,
            force=resume is False,
            resume=resume is True,
        )
        if repeats == 0:
            targets = _without_the_timed_alone(targets)
        if dry_run:
            from profiler.present.documents.dry_run import dry_run_lines

            print("\n".join(dry_run_lines(plan, targets)))
            return
        _collect(plan, targets, missing, benches, spread.value, settings)


def _check_choice(
    program: list[str] | None,
    kernel: list[str] | None,
    every: bool,
    name: str | None,
    kernel_regex: str | None,
) -> None:
    if program and (kernel or every):
        raise typer.BadParameter("a program of your own, or kernels of a ladder: not both")
    if program and not name:
        raise typer.BadParameter("say what to call its runs: --name mine -- PROGRAM")
    if not program and (name or kernel_regex):
        raise typer.BadParameter("--name and --kernel-regex are for a program of your own: -- PROGRAM")
    if not (program or kernel or every):
        raise typer.BadParameter("say what: --kernel 6, --kernel 4-6, --all, or --name mine -- PROGRAM")
    if kernel and every:
        raise typer.BadParameter("--kernel and --all exclude each other")


def _without_the_timed_alone(targets: Sequence[Target]) -> list[Target]:
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


def _collect(
    plan: CollectPlan,
    targets: Sequence[Target],
    missing: list[ProfError],
    benches: Benches,
    spread: GroupBy,
    settings: VerbSettings,
) -> None:
    from profiler.commands.measuring.collecting import CollectProgress
    from profiler.measure.collect.collection import steps_of
    from profiler.store.runs.run_store import RunStore

    store = RunStore(settings.runs_folder)
    steps = [step for target in targets for step in steps_of(plan, target)]
    launches = next((target.selection.launches for target in targets if target.is_profiled), None)
    order = {target.label: place for place, target in enumerate(targets)}
    try:
        with CollectProgress(
            steps, launches, plan.processes, plan.recording.preset.passes, settings
        ) as progress:
            outcomes = list(benches.collect(plan, targets, spread, store, progress))
    except KeyboardInterrupt:
        print("what was recorded is kept: the same command goes on from there", file=sys.stderr)
        raise
    outcomes.sort(key=lambda outcome: order[outcome.target.label])
    _print_outcomes(store, outcomes, settings)
    errors = missing + [one.error for one in outcomes if one.error is not None]
    if len(errors) == 1 and len(targets) + len(missing) == 1:
        raise errors[0]
    if errors:
        from profiler.errors import CollectIncomplete

        raise CollectIncomplete(f"{len(errors)} of {len(targets) + len(missing)} kernels were not collected")


def terminate(number: int, frame: object) -> None:  # noqa: ARG001
    raise SystemExit(_TERMINATED)


def _print_outcomes(store: RunStore, outcomes: Sequence[CollectOutcome], settings: VerbSettings) -> None:
    from profiler.ask.collect import find_collected
    from profiler.commands.shared.output import print_document
    from profiler.present.documents.collected import collected_document, collected_row, next_command

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
        print(f"\nnext: {next_command(manifests, job.ladder if job else None, names)}", file=sys.stderr)
