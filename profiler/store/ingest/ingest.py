"""Many reports into runs: fetched, read in parallel, committed one by one.

Yields what became of each report as it happens; nothing here prints.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor, as_completed
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Event, Lock
from types import TracebackType

from profiler.errors import DiskFull, ProfError, StoredUnderAnotherName, StoreNotWritable
from profiler.store.file_names import HASH_CHARACTERS
from profiler.store.reports.identity import REPORT_SUFFIX
from profiler.store.reports.locate import RemoteReport, Report, fetch
from profiler.store.reports.request import AlreadyStored, Request, stem_of
from profiler.store.reports.sandbox import Extracted, Sandbox, outcome
from profiler.store.runs.commit import storage_error
from profiler.store.runs.manifest import Manifest, path_name
from profiler.store.runs.run_store import RunStore

_FETCHERS = 8  # so many reports of URLs are on the disk at a time, being fetched or read


@dataclass(frozen=True)
class Options:
    name: str | None = None
    ladder: str | None = None
    kernel: int | None = None
    copy: bool = True
    jobs: int | None = None
    timeout_s: float | None = None


@dataclass(frozen=True)
class Ingested:
    """`status` is stored, known (a run of the same report exists) or failed; `unread` is as in the manifest."""

    report: Report
    status: str
    run_id: str | None = None
    launches: int = 0
    error: ProfError | None = None
    unread: str = ""


def ingest_reports(reports: Sequence[Report], store: RunStore, options: Options) -> Iterator[Ingested]:
    """Store every report; one bad report never stops the others, a full disk does."""
    stopped = Event()
    with ExitStack() as stack:
        settling = stack.enter_context(Settling(store))
        fetchers = stack.enter_context(ThreadPoolExecutor(_FETCHERS))
        sandbox = stack.enter_context(Sandbox(options.jobs, options.timeout_s))
        stack.callback(stopped.set)  # the first to be done: who still fetches then lets it be
        pending: dict[Future[Extracted], tuple[Report, Request]] = {}
        for report in reports:
            request = request_for(report, settling.folder(), options, settling.hashes)
            if isinstance(report, RemoteReport):
                scratch = settling.folder()
                future = fetchers.submit(_fetch_and_read, report, request, scratch, sandbox, stopped)
            else:
                future = sandbox.submit(request)
            pending[future] = report, request
        for future in as_completed(pending):
            report, request = pending[future]
            try:
                extracted = outcome(future, report)
                if isinstance(extracted, AlreadyStored):
                    settling.discard(request.folder)
                    yield settling.known(report, request, extracted.sha256, verify=True)
                else:
                    yield settling.commit(report, request, extracted)
            except (DiskFull, StoreNotWritable):
                raise
            except ProfError as error:
                settling.discard(request.folder)
                yield Ingested(report, "failed", error=error)


def request_for(
    report: Report, folder: Path, options: Options, stored_hashes: frozenset[str], copied: bool = False
) -> Request:
    """With `copied`, or for a URL, what will be read is a copy: the request knows its name alone."""
    request = Request(
        (Path(report.name),),
        folder,
        name=options.name,
        ladder=options.ladder,
        kernel=options.kernel,
        copy=options.copy,
        stored_hashes=stored_hashes,
    )
    if isinstance(report, Path) and not copied:
        return replace(request, reports=(report,))
    copy = Path(path_name(stem_of(report.name)) + REPORT_SUFFIX)  # whatever an object may be called
    reference = str(report.absolute() if isinstance(report, Path) else report)
    return replace(request, reports=(copy,), shown=str(report), reference=reference)


class Settling:
    """What has been read becomes a run, unless one of the same report exists; use it in a `with` statement.

    Several threads may use it at once.
    """

    def __init__(self, store: RunStore) -> None:
        self._store = store
        self._known = {run_id.hash: run_id for run_id in store.ids()}
        self.hashes = frozenset(self._known)
        self._staging = store.staging()
        self._lock = Lock()

    def folder(self) -> Path:
        """A fresh one in the staging; whoever fills it creates it."""
        with self._lock:
            return self._staging.folder()

    def discard(self, folder: Path) -> None:
        self._staging.discard(folder)

    def commit(self, report: Report, request: Request, extracted: Manifest) -> Ingested:
        if self._staging.commit(request.folder, extracted.run_id) is None:
            return self.known(report, request, extracted.sha256)
        return Ingested(report, "stored", extracted.run_id, extracted.launches, unread=extracted.unread)

    def known(self, report: Report, request: Request, sha256: str, verify: bool = False) -> Ingested:
        """A run of this report exists; with `verify` it is read to the last byte."""
        run_id = self._known.get(sha256[:HASH_CHARACTERS])
        run = self._store.open(run_id) if run_id is not None else self._store.with_hash(sha256)
        if run is None:
            raise StoreNotWritable(f"{self._store.root}: the run of {report} vanished while it was looked up")
        if verify:
            run.verify()
        stored, wanted = run.manifest.name, path_name(request.run_name())
        if request.is_named and stored != wanted:
            raise StoredUnderAnotherName(f"{report}: stored already, as '{stored}' and not as '{wanted}'")
        manifest = run.manifest
        return Ingested(report, "known", manifest.run_id, manifest.launches, unread=manifest.unread)

    def __enter__(self) -> Settling:
        self._staging.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._staging.__exit__(kind, error, trace)


def _fetch_and_read(
    report: RemoteReport, request: Request, scratch: Path, sandbox: Sandbox, stopped: Event
) -> Extracted:
    if stopped.is_set():
        raise CancelledError
    copy = scratch / request.report
    try:
        scratch.mkdir(parents=True)
    except OSError as error:
        raise storage_error(error, scratch.parent) from error
    try:
        fetch(report, copy, go_on=lambda: not stopped.is_set())
        return sandbox.submit(replace(request, reports=(copy,))).result()
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
