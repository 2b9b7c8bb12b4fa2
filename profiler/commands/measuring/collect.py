"""`prof collect` measures kernels of a ladder, or any program, and stores them as runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Context, Option

from profiler.commands.measuring.recording_options import RecordingOptions
from profiler.commands.shared import options
from profiler.commands.shared.cluster_options import Cluster
from profiler.commands.shared.misuse import Misuse
from profiler.errors import ProfError
from profiler.measuring.fleet.groups import GroupBy
from profiler.measuring.tools.ncu import LAUNCHES


def collect(
    *,
    context: Context,
    program: Annotated[
        list[str] | None,
        Argument(metavar="[-- PROGRAM...]", help="Profile this program instead of kernels of a ladder."),
    ] = None,
    kernel: options.KernelOption = None,
    every: Annotated[bool, Option("--all", help="Measure every kernel of the ladder.")] = False,
    size: options.SizeOption = None,
    set_param: options.ParameterOption = None,
    recording: RecordingOptions,
    launches: Annotated[
        int | None,
        Option(metavar="N", min=1, help=f"Launches to profile in each process [default: {LAUNCHES}]."),
    ] = None,
    processes: options.ProcessesOption = 3,
    times_only: Annotated[
        bool,
        Option("--times-only", help="Record only when each of the program's kernels ran: needs no counters."),
    ] = False,
    verify: Annotated[bool, Option("--verify/--no-verify", help="Check each kernel's result first.")] = True,
    repeats: Annotated[
        int,
        Option(metavar="N", min=0, help="Launches to time without the profiler in each process; 0 for none."),
    ] = 20,
    name: Annotated[
        str | None,
        Option(
            "--name",
            metavar="NAME",
            help="Name of the runs of a program [default: that of the program, or of the script that Python runs].",
        ),
    ] = None,
    kernel_name: Annotated[
        str | None,
        Option(
            "--kernel-name",
            "-k",
            metavar="REGEX",
            help="Profile only the program's kernels whose names match this regular expression of ncu; case counts.",
        ),
    ] = None,
    launch_skip: Annotated[
        int, Option(metavar="N", min=0, help="Launches of the program to skip first.")
    ] = 0,
    gpus: Annotated[
        str | None, Option(metavar="LIST", help="GPUs of this host to use: all, or 0,1 [default: the first].")
    ] = None,
    spread: Annotated[
        GroupBy,
        Option(help="What to divide among GPUs: whole workloads, or also the kernels of one workload."),
    ] = "workloads",
    cwd: Annotated[
        Path | None, Option(file_okay=False, exists=True, help="Run the program in this folder.")
    ] = None,
    timeout: options.TimeoutOption = 600.0,
    resume: Annotated[
        bool | None,
        Option("--resume/--again", help="Skip everything that is collected already, or measure it again."),
    ] = None,
    dry_run: Annotated[bool, Option("--dry-run", help="Print the commands without running them.")] = False,
    jobs: options.JobsOption = None,
    cluster: Cluster,
    settings: options.RungSettings,
) -> None:
    """Measure kernels: build, verify, time, profile and store them.

    The kernels of a ladder take turns. `prof` skips a kernel if the same source and binary was already collected with
    the same size and preset, so the same command continues after an interruption. It cannot see whether a program
    of yours has changed, so it measures that again unless you give --resume, and says what changed since the last time.

    Examples:
      prof collect ./a.out
      prof collect --kernel 6
      prof collect --kernel 5-6 --launches 5 --processes 3 --size 4096
      prof collect --name mine --kernel-name 'gemm' -- python train.py
      prof collect --times-only --name mine -- python train.py
      prof collect --all --size 1024 --size 4096 --gpus all
      prof collect --all --size 1024 --size 4096 --scheduler tcp://head:8786
    """
    # Imported here, so that the help need not wait for what measures.
    from profiler.commands.measuring.collect_choice import (
        choose_work,
        profiled_targets,
        program_target,
        require_options_of_times,
        rung_targets,
    )
    from profiler.commands.measuring.collect_devices import open_devices
    from profiler.commands.measuring.collect_targets import collect_program_times, collect_targets
    from profiler.measuring.collect.collection import CollectPlan
    from profiler.measuring.collect.dry_run import dry_run_lines

    _check_choice(program, kernel, every, name, kernel_name)
    if times_only:
        require_options_of_times(context)
        target = program_target(program or [], name, kernel_name, launch_skip, launches)
        collect_program_times(target, processes, timeout, cwd, settings)
        return
    chosen = None if program else choose_work(settings, kernel, size, set_param)
    with open_devices(gpus, cluster, settings, dry_run=dry_run) as devices:
        missing: list[ProfError] = []
        if chosen is None:
            targets = [program_target(program or [], name, kernel_name, launch_skip, launches, recording)]
        else:
            gpu = devices.first.gpu
            targets, missing = rung_targets(
                chosen, settings, launches, recording, gpu, jobs, build=not dry_run
            )
        plan = CollectPlan(
            device=devices.first,
            recording=recording,
            processes=processes,
            repeats=repeats,
            verify=verify,
            timeout_s=timeout,
            cwd=cwd.resolve() if cwd else None,
            again=resume is False,
            resume=resume is True,
        )
        if repeats == 0:
            targets = profiled_targets(targets)
        if dry_run:
            print("\n".join(dry_run_lines(plan, targets)))
            return
        collect_targets(plan, targets, missing, devices, spread, settings)


def _check_choice(
    program: list[str] | None,
    kernel: list[str] | None,
    every: bool,
    name: str | None,
    kernel_name: str | None,
) -> None:
    if program and (kernel or every):
        raise Misuse("give a program of your own or kernels of a ladder, not both")
    if not program and (name or kernel_name):
        raise Misuse("--name and --kernel-name are for a program of your own: -- PROGRAM")
    if not (program or kernel or every):
        raise Misuse(
            "say what to collect: --kernel 6, --kernel 4-6, --all, or a program of your own: -- PROGRAM"
        )
    if kernel and every:
        raise Misuse("--kernel and --all exclude each other")
