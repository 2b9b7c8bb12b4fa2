"""`prof ingest`: reports that already exist, into runs."""

from __future__ import annotations

import sys
from collections import Counter
from typing import TYPE_CHECKING, Annotated

import typer

from profiler.commands.ladders import ladder_name
from profiler.commands.options import Format, FormatOption, LadderOption, RunsOption, Settings, settings_of

if TYPE_CHECKING:
    from profiler.store.ingest import Ingested


def ingest(
    context: typer.Context,
    places: Annotated[
        list[str], typer.Argument(metavar="REPORT...", help="Files, folders or glob patterns.")
    ],
    kernel: Annotated[
        int | None, typer.Option("--kernel", min=0, help="Store the report as this kernel of the ladder.")
    ] = None,
    name: Annotated[
        str | None, typer.Option("--name", help="Name of the run [default: the file's name].")
    ] = None,
    copy: Annotated[
        bool,
        typer.Option(
            "--copy/--reference", help="Keep a compressed copy of the report, or only where it lies."
        ),
    ] = True,
    jobs: Annotated[
        int | None, typer.Option("--jobs", "-j", min=1, help="Reader processes [default: one per core].")
    ] = None,
    timeout: Annotated[
        float | None,
        typer.Option("--timeout", min=0.1, help="Seconds for one report [default: by its size]."),
    ] = None,
    runs: RunsOption = None,
    ladder: LadderOption = None,
    format: FormatOption = None,
) -> None:
    """Store reports as runs, in Parquet.

    A report that is already stored changes nothing, whatever its file is called.

    Examples:

      prof ingest before.ncu-rep after.ncu-rep

      prof ingest ~/reports '/scratch/**/*.ncu-rep' --reference

      prof ingest gemm_5.ncu-rep --ladder gemm --kernel 5
    """
    from profiler.errors import IngestIncomplete
    from profiler.present.text import printable
    from profiler.store.ingest import Options, find_reports, ingest_reports
    from profiler.store.runs import RunStore

    settings = settings_of(context, runs, ladder, format)
    if name is not None and kernel is not None:
        raise typer.BadParameter("--name and --kernel exclude each other")
    reports = find_reports(places)
    if not reports:
        print(printable(f"no .ncu-rep file in {', '.join(places)}"), file=sys.stderr)
        return
    if kernel is not None and len(reports) > 1:
        raise typer.BadParameter(f"--kernel names one report, and {len(reports)} were given")
    options = Options(
        name=name,
        ladder=ladder_name(settings) if kernel is not None else None,
        kernel=kernel,
        copy=copy,
        jobs=min(jobs, len(reports)) if jobs else None,
        timeout_s=timeout,
    )
    outcomes = []
    with _Progress(len(reports), settings) as progress:
        for outcome in ingest_reports(reports, RunStore(settings.runs_folder), options):
            progress.advance(outcome)
            outcomes.append(outcome)
    if settings.format is not Format.table:
        print(_rendered(outcomes, settings.format or Format.table))
    failed = [outcome for outcome in outcomes if outcome.error]
    if not settings.quiet:
        print(_summary(outcomes), file=sys.stderr)
    if len(failed) == 1 and len(outcomes) == 1 and failed[0].error:
        raise failed[0].error
    if failed:
        raise IngestIncomplete(f"{len(failed)} of {len(outcomes)} reports were not ingested")


def _summary(outcomes: list[Ingested]) -> str:
    counts = Counter(outcome.status for outcome in outcomes)
    words = {"stored": "stored", "known": "already stored, unchanged", "failed": "not ingested"}
    return ", ".join(f"{counts[status]} {text}" for status, text in words.items() if counts[status])


def _rendered(outcomes: list[Ingested], format: Format) -> str:
    from profiler.present.encode import to_csv, to_json, to_markdown

    header = ("status", "run_id", "launches", "report", "error")
    rows = [
        (one.status, one.run_id, one.launches, str(one.report), str(one.error) if one.error else None)
        for one in outcomes
    ]
    if format is Format.json:
        return to_json([dict(zip(header, row, strict=True)) for row in rows])
    return to_markdown(header, rows, numeric=(2,)) if format is Format.markdown else to_csv(header, rows)


class _Progress:
    """A bar on a terminal, a line per report elsewhere; what became of each on standard output."""

    def __init__(self, total: int, settings: Settings) -> None:
        self._lines = settings.format is Format.table
        self._total = total
        self._done = 0
        self._bar = None
        if sys.stderr.isatty() and not settings.quiet and total > 1:
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

            self._bar = Progress(
                "reading", BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(),
                console=Console(stderr=True), transient=True,
            )  # fmt: skip
            self._task = self._bar.add_task("", total=total)

    def __enter__(self) -> _Progress:
        if self._bar:
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar:
            self._bar.stop()

    def advance(self, outcome: Ingested) -> None:
        from profiler.present.text import printable

        self._done += 1
        if self._bar:
            self._bar.advance(self._task)
        if outcome.error:
            alone = self._total == 1  # then the error itself is printed at the end
            if not alone:
                print(f"failed  {printable(str(outcome.error))}", file=sys.stderr)
        elif self._lines:
            print(f"{outcome.status:<7} {outcome.run_id}  {printable(str(outcome.report))}", flush=True)
