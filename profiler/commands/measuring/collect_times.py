"""`prof collect --times-only` records when the kernels of a program ran, where counters are refused or not wanted."""

from __future__ import annotations

import sys
from pathlib import Path

import typer

from profiler.ask.collect import find_collected
from profiler.commands.shared.options import VerbSettings
from profiler.commands.shared.output import print_document
from profiler.measure.collect.target import Target
from profiler.measure.collect.times_only import collect_times
from profiler.measure.tools.toolchain import find_gpu
from profiler.present.documents.collected import collected_document, collected_row
from profiler.text import printable

_TAKEN = {
    "program", "times_only", "name", "kernel_regex", "launch_skip", "launches", "processes", "cwd", "timeout", "runs",
    "ladder", "format",
}  # fmt: skip


def check_options(context: typer.Context) -> None:
    """Refuses every option that says how to use ncu, or how to measure kernels of a ladder."""
    for option in context.command.params:
        given = context.get_parameter_source(option.name or "")
        if given is not None and given.name == "COMMANDLINE" and option.name not in _TAKEN:
            raise typer.BadParameter(
                "leave it out with --times-only, which runs a program without ncu; kernels of a ladder have `prof time`",
                param_hint=option.opts[0],
            )


def collect_program_times(
    target: Target, processes: int, timeout_s: float, cwd: Path | None, settings: VerbSettings
) -> None:
    """Runs the program in several processes, stores the times of its launches as one run, and prints its kernels."""

    def note(line: str) -> None:
        if not settings.quiet:
            print(printable(line), file=sys.stderr, flush=True)

    store = settings.open_store(settings.runs_folder)
    folder = cwd.resolve() if cwd else None
    run_id = collect_times(target, find_gpu(), processes, timeout_s, folder, store, note)
    (found,) = find_collected(store, [run_id], settings)
    assert found is not None
    rows = [collected_row("collected", found.run, one, None) for one in found.profiles]
    print_document(collected_document(rows), format=settings.format)
    note(f"\nnext: prof show {found.run.manifest.name}")
