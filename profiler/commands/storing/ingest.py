"""`prof ingest` stores existing reports as runs."""

from __future__ import annotations

import os
import shlex
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from profiler.ask.named.ladders import ladder_name
from profiler.catalog.ladders.ladder import is_ladder_name
from profiler.cluster.watch import Worker
from profiler.commands.shared import options
from profiler.commands.shared.cluster_options import Cluster
from profiler.commands.shared.misuse import Misuse
from profiler.commands.shared.output import print_document
from profiler.commands.shared.progress import Progress
from profiler.errors import IngestIncomplete, ProfError, ReportError, ReportNotFound, WorkerLost
from profiler.present.documents.parts.rows import rows_document
from profiler.store.ingest.ingest import Ingested, IngestOptions, ingest_reports
from profiler.store.ingest.on_workers import IngestObserver, ingest_on_workers
from profiler.store.remote.urls import public_url
from profiler.store.reports.locate import find_reports
from profiler.store.reports.near import error_of_folder, files_in
from profiler.store.runs.file_names import holds_run
from profiler.store.tables.launch_choice import LaunchChoice
from profiler.text import counted, printable

_HEADER = ("status", "run_id", "launches", "report", "error", "unread")


def ingest(
    *,
    places: Annotated[
        list[str], Argument(metavar="REPORT...", help="Report files, folders, or patterns; also as URLs.")
    ],
    kernel: Annotated[
        int | None, Option(metavar="N", min=0, help="Store the report as this kernel of the ladder.")
    ] = None,
    name: Annotated[
        str | None, Option("--name", metavar="NAME", help="Name of the run [default: the file's name].")
    ] = None,
    kernel_name: options.KernelNameOption = None,
    nvtx: options.NvtxOption = None,
    launch: options.LaunchOption = None,
    copy: Annotated[
        bool, Option("--copy/--reference", help="Keep a compressed copy of the report, or only its path.")
    ] = True,
    jobs: Annotated[
        int | None,
        Option(
            "--jobs", "-j", metavar="N", min=1, help="Reader processes at a time [default: one per core]."
        ),
    ] = None,
    timeout: Annotated[
        float | None,
        Option(
            metavar="SECONDS",
            min=0.1,
            help="Seconds that one report may take [default: depends on its size].",
        ),
    ] = None,
    settings: options.RungSettings,
    ladder: options.LadderOption = None,
    choice: Cluster,
) -> None:
    """Store reports as runs, in Parquet.

    `prof` stores a report only once, even if it comes again under another file name. With --scheduler or --slurm,
    workers share the reports, and fetch those at URLs themselves. A worker needs 0.6 GB of memory plus 20 times the
    size of its largest report.

    Examples:
      prof ingest before.ncu-rep after.ncu-rep
      prof ingest ~/reports '/scratch/**/*.ncu-rep' --reference
      prof ingest s3://bucket/reports 'gs://bucket/**/*.ncu-rep'
      prof ingest s3://bucket/reports --scheduler tcp://host:8786
      prof ingest model.ncu-rep --nvtx forward -k softmax
      prof ingest gemm_5.ncu-rep --ladder gemm --kernel 5
    """
    if jobs is not None and choice.is_given:
        raise Misuse("--jobs is for readers on this machine: leave it out with --scheduler or --slurm")
    if name is not None and kernel is not None:
        raise Misuse("--name and --kernel exclude each other")
    if ladder is not None and kernel is None:
        raise Misuse("--ladder says what --kernel numbers mean: give both")
    reports = find_reports(places)
    if not reports:
        raise _no_reports(places)
    if kernel is not None and len(reports) > 1:
        raise Misuse(f"--kernel names one report, and {len(reports)} were given")
    wanted = IngestOptions(
        name=name,
        ladder=_ladder_of(settings) if kernel is not None else None,
        kernel=kernel,
        copy=copy,
        jobs=min(jobs, len(reports)) if jobs else None,
        timeout_s=timeout,
        choice=LaunchChoice(kernel_name, nvtx, launch),
    )
    outcomes = []
    store = settings.open_store(settings.runs_folder)
    with IngestProgress(len(reports), settings) as progress, ExitStack() as workers:
        if choice.is_given:
            pool = workers.enter_context(choice.open(gpus=False, say=progress.note))
            read = ingest_on_workers(reports, store, wanted, pool, progress)
        else:
            read = ingest_reports(reports, store, wanted)
        for outcome in read:
            if settings.format == "table" and not outcome.error:
                progress.result(_line(outcome))
            progress.advance(error=outcome.error)
            outcomes.append(outcome)
    if settings.format != "table":
        print_document(rows_document(_HEADER, list(map(_row, outcomes))), settings.format)
    settings.say(_summary(outcomes))
    _raise_failures(outcomes)


def _no_reports(places: list[str]) -> ReportError:
    """Returns the error for folders and URLs that hold no report. For one folder, it is the error of every other verb."""
    (place, *others) = places
    if not others and os.path.isdir(place):
        if holds_run(Path(place)):
            return ReportNotFound(
                f"{place}: a stored run, and no report",
                remedy=f"It is stored already: `prof show {shlex.quote(place)}` shows it.",
            )
        if not files_in(Path(place)):
            return error_of_folder(Path(place))
    return ReportNotFound(
        f"no .ncu-rep file in {', '.join(map(public_url, places))}",
        remedy="Give a report, or a folder that holds some. A stored run is no report.",
    )


def _raise_failures(outcomes: list[Ingested]) -> None:
    errors = [outcome.error for outcome in outcomes if outcome.error]
    if errors and len(outcomes) == 1:
        raise errors[0]
    if errors:
        raise IngestIncomplete(f"{len(errors)} of {len(outcomes)} reports were not ingested")


def _ladder_of(settings: options.VerbSettings) -> str:
    """Returns the ladder's name; the ladder needs no file, but may be given by one."""
    name = ladder_name(settings)
    if not is_ladder_name(name):
        raise Misuse(f"--ladder: {printable(name)!r} is not a valid ladder name")
    return name


def _summary(outcomes: list[Ingested]) -> str:
    counts = Counter(outcome.status for outcome in outcomes)
    words = {"stored": "stored", "known": "already stored, unchanged", "failed": "not ingested"}
    return ", ".join(f"{counts[status]} {text}" for status, text in words.items() if counts[status])


def _line(outcome: Ingested) -> str:
    lacks = f"  (without {outcome.unread}: NVIDIA's reader crashed on them)" if outcome.unread else ""
    return f"{outcome.status:<7} {outcome.run_id}  {printable(str(outcome.report))}{lacks}"


def _row(outcome: Ingested) -> tuple[str | int | None, ...]:
    error = str(outcome.error) if outcome.error else None
    report, unread = str(outcome.report), outcome.unread or None
    return outcome.status, outcome.run_id, outcome.launches, report, error, unread


class IngestProgress(Progress, IngestObserver):
    """The progress of workers that read reports. The threads that drive the workers call it."""

    def __init__(self, total: int, settings: options.VerbSettings) -> None:
        super().__init__("reading", total, settings)
        self._read = Counter[Worker]()
        self._batches: dict[Worker, tuple[str, float]] = {}

    def began(self, worker: Worker, reports: int, size_bytes: int) -> None:
        batch = f"reading {counted(reports, 'report')}, {size_bytes / 1e6:.1f} MB"
        self._batches[worker] = (batch, time.monotonic())
        self.said(worker, "")

    def said(self, worker: Worker, text: str) -> None:
        batch, since_s = self._batches[worker]
        self.show(worker.name, f"{batch}{text and ': '}{text}; {self._read[worker]} read", since_s)

    def ended(self, worker: Worker, reports: int) -> None:
        self._read[worker] += reports
        self.show(worker.name, f"waiting; {self._read[worker]} read")

    def lost(self, worker: Worker, reports: int, error: ProfError) -> None:
        self.drop(worker.name)
        what = error.message if isinstance(error, WorkerLost) else f"worker {worker.name}: {error.message}"
        self.note(f"{'lost':<12}{what}; {counted(reports, 'report')} left to the others")
