"""Ingests reports on this machine: fetches them, reads them in parallel and commits their runs one by one."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor, as_completed
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Event

from profiler.errors import DiskFull, ProfError, StoredUnderAnotherName, StoreLocked, StoreNotWritable
from profiler.machine import available_cores
from profiler.store.disk import writing_to
from profiler.store.reports.locate import RemoteReport, Report, fetch
from profiler.store.reports.request import AlreadyStored, Request, stem_of
from profiler.store.reports.sandbox import Extracted, Sandbox, outcome
from profiler.store.runs.file_names import HASH_CHARACTERS, REPORT_SUFFIX
from profiler.store.runs.manifest import Manifest
from profiler.store.runs.run_id import path_name
from profiler.store.runs.run_store import RunStore
from profiler.store.tables.launch_choice import ALL_LAUNCHES, LaunchChoice

_FETCHERS = 8  # at most so many reports from URLs are on the disk at a time


@dataclass(frozen=True)
class IngestOptions:
    name: str | None = None
    ladder: str | None = None
    kernel: int | None = None
    copy: bool = True
    jobs: int | None = None
    timeout_s: float | None = None
    choice: LaunchChoice = ALL_LAUNCHES


@dataclass(frozen=True)
class Ingested:
    """The outcome for one report. `status` is stored, known (a run of the same report exists) or failed."""

    report: Report
    status: str
    run_id: str | None = None
    launches: int = 0
    error: ProfError | None = None
    unread: str = ""


def ingest_reports(reports: Sequence[Report], store: RunStore, options: IngestOptions) -> Iterator[Ingested]:
    """Stores every report, and yields the outcomes as they come.

    A bad report does not stop the others; a full disk does.
    """
    stopped = Event()
    with ExitStack() as stack:
        committer = stack.enter_context(RunCommitter(store))
        fetchers = stack.enter_context(ThreadPoolExecutor(_FETCHERS))
        readers = min(options.jobs or available_cores(), len(reports))
        sandbox = stack.enter_context(Sandbox(readers, options.timeout_s))
        stack.callback(stopped.set)  # runs first, so that a fetch under way gives up
        reading: dict[Future[Extracted], tuple[Report, Request]] = {}
        for report in reports:
            request = request_for(report, committer.staging.folder(), options, committer.hashes)
            if isinstance(report, RemoteReport):
                scratch = committer.staging.folder()
                future = fetchers.submit(_fetch_and_read, report, request, scratch, sandbox, stopped)
            else:
                future = sandbox.submit(request)
            reading[future] = report, request
        for future in as_completed(reading):
            report, request = reading[future]
            try:
                extracted = outcome(future, report)
                if isinstance(extracted, AlreadyStored):
                    committer.staging.discard(request.folder)
                    yield committer.known(report, request, extracted.sha256, verify=True)
                else:
                    yield committer.commit(report, request, extracted)
            except (DiskFull, StoreLocked, StoreNotWritable):
                raise
            except ProfError as error:
                committer.staging.discard(request.folder)
                yield Ingested(report, "failed", error=error)


def request_for(
    report: Report, folder: Path, options: IngestOptions, stored_hashes: frozenset[str], copied: bool = False
) -> Request:
    """Makes the request to read a report.

    With `copied`, or for a URL, a copy is read, of which only the name is known yet.
    """
    request = Request(
        (Path(report.name),),
        folder,
        name=options.name,
        ladder=options.ladder,
        kernel=options.kernel,
        copy=options.copy,
        stored_hashes=stored_hashes,
        choice=options.choice,
    )
    if isinstance(report, Path) and not copied:
        return replace(request, reports=(report,))
    copy = Path(path_name(stem_of(report.name)) + REPORT_SUFFIX)  # an object may have any name
    reference = str(report.absolute() if isinstance(report, Path) else report)
    return replace(request, reports=(copy,), shown=str(report), reference=reference)


class RunCommitter:
    """Commits reports that were read, unless a run of the same report exists; use it in a `with` statement.

    Several threads may use it at once.
    """

    def __init__(self, store: RunStore) -> None:
        self._store = store
        self._known = {run_id.hash: run_id for run_id in store.ids()}
        self.hashes = frozenset(self._known)
        self.staging = store.staging()

    def commit(self, report: Report, request: Request, extracted: Manifest) -> Ingested:
        if self.staging.commit(request.folder, extracted.run_id) is None:
            return self.known(report, request, extracted.sha256)
        return Ingested(report, "stored", extracted.run_id, extracted.launches, unread=extracted.unread)

    def known(self, report: Report, request: Request, sha256: str, verify: bool = False) -> Ingested:
        """Returns the outcome for a report that is stored already; with `verify`, its run is read to the last byte first."""
        run_id = self._known.get(sha256[:HASH_CHARACTERS])
        run = self._store.open(run_id) if run_id is not None else None
        if run is None or run.manifest.sha256 != sha256:
            run = self._store.with_hash(sha256)
        if run is None:
            raise StoreNotWritable(f"{self._store.root}: the run of {report} vanished while it was looked up")
        if verify:
            run.verify()
        stored, wanted = run.manifest.name, path_name(request.run_name())
        if request.is_named and stored != wanted:
            raise StoredUnderAnotherName(f"{report}: stored already, as '{stored}' and not as '{wanted}'")
        manifest = run.manifest
        return Ingested(report, "known", manifest.run_id, manifest.launches, unread=manifest.unread)

    def __enter__(self) -> RunCommitter:
        self.staging.__enter__()
        return self

    def __exit__(self, *raised: object) -> None:
        self.staging.__exit__(*raised)


def _fetch_and_read(
    report: RemoteReport, request: Request, scratch: Path, sandbox: Sandbox, stopped: Event
) -> Extracted:
    if stopped.is_set():
        raise CancelledError
    copy = scratch / request.report
    with writing_to(scratch.parent):
        scratch.mkdir(parents=True)
    try:
        fetch(report, copy, go_on=lambda: not stopped.is_set())
        return sandbox.submit(replace(request, reports=(copy,))).result()
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
