"""Ingests reports with the workers of a cluster: they read, and this process alone commits.

Threads of this process drive the workers. Each sends its worker a batch of reports, gets the files of the
runs back, and sends the next batch while those files are committed. When a worker is lost, others read its
reports, one at a time.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import BoundedSemaphore, Event, Thread

from profiler.cluster.watch import Worker
from profiler.cluster.worker_pool import WorkerPool
from profiler.errors import (
    ClusterUnreachable,
    DiskFull,
    InternalError,
    NoWorkerLeft,
    ProfError,
    ReaderFailed,
    RemoteDenied,
    RemoteFailed,
    RemoteNotInstalled,
    ReportUnreadable,
    SchedulerLost,
    StoreNotWritable,
    WorkerLost,
    WorkerUnlike,
)
from profiler.store.ingest.ingest import Ingested, IngestOptions, RunCommitter, request_for
from profiler.store.ingest.queue import QueuedReport, ReportQueue
from profiler.store.ingest.worker import Batch, ReadResult, ReadTask, read_batch, write_files
from profiler.store.reports.identity import sha256_of_report
from profiler.store.reports.locate import RemoteReport, Report
from profiler.store.reports.request import AlreadyStored, Request
from profiler.store.reports.sandbox import timeout_for_size_s
from profiler.store.runs.file_names import HASH_CHARACTERS
from profiler.store.runs.manifest import Manifest, prof_version
from profiler.store.runs.run_store import RunStore

_POLL_S = 0.25
ALONE_S = 60.0  # give up after so long without any worker
_REST_S = 2.0  # leave a lost worker alone for so long: by then the scheduler knows whether it is gone
_COMMITTERS = 4
_UNCOMMITTED = 16  # batches in memory whose runs are not committed yet; further ones wait on their workers
_UNFIT = (DiskFull, StoreNotWritable, RemoteNotInstalled)  # errors of a worker, not of the report it read


class IngestObserver:
    """Called by the driving threads when something happens to a worker. This base class ignores it all."""

    def began(self, worker: Worker, reports: int, size_bytes: int) -> None: ...

    def said(self, worker: Worker, text: str) -> None: ...

    def ended(self, worker: Worker, reports: int) -> None: ...

    def lost(self, worker: Worker, reports: int, error: ProfError) -> None: ...


def ingest_on_workers(
    reports: Sequence[Report],
    store: RunStore,
    options: IngestOptions,
    pool: WorkerPool,
    observer: IngestObserver | None = None,
) -> Iterator[Ingested]:
    """Stores every report, like `ingest_reports`, and yields the outcomes.

    Raises errors that concern all reports: the scheduler is gone, runs cannot be written, or there has been
    no worker for a minute.
    """
    with RunCommitter(store) as committer:
        ingestion = _Ingestion(reports, committer, options, pool, observer or IngestObserver())
        try:
            yield from ingestion.outcomes()
        finally:
            ingestion.stop()


class _Ingestion:
    """The reports that are left, the threads that drive the workers, and the outcomes for the caller's thread."""

    def __init__(
        self,
        reports: Sequence[Report],
        committer: RunCommitter,
        options: IngestOptions,
        pool: WorkerPool,
        observer: IngestObserver,
    ) -> None:
        self._committer, self._options, self._pool, self._observer = committer, options, pool, observer
        self._left = len(reports)
        self._queue = ReportQueue(reports)
        self._outcomes: SimpleQueue[Ingested | ProfError] = SimpleQueue()
        self._stopped = Event()
        self._drivers: list[tuple[Worker, Thread]] = []  # one for each thread that a worker offers
        self._resting: dict[Worker, float] = {}
        self._unfit: dict[Worker, ProfError] = {}
        self._committers = ThreadPoolExecutor(_COMMITTERS, thread_name_prefix="commit")
        self._uncommitted = BoundedSemaphore(_UNCOMMITTED)
        self._version = prof_version()

    def outcomes(self) -> Iterator[Ingested]:
        alone_since, looked = time.monotonic(), float("-inf")
        while self._left:
            if time.monotonic() - looked > _POLL_S:
                looked = time.monotonic()
                if self._hire() or self._pool.coming():
                    alone_since = looked
            try:
                outcome = self._outcomes.get(timeout=_POLL_S)
            except Empty:
                self._check_alone(time.monotonic() - alone_since)
                continue
            if isinstance(outcome, ProfError):
                raise outcome
            self._left -= 1
            yield outcome

    def stop(self) -> None:
        """Waits for commits under way, since the staging folder goes next.

        A call under way ends with its worker's next message, or when the pool closes.
        """
        self._queue.close()
        self._stopped.set()
        self._committers.shutdown(cancel_futures=True)

    def _hire(self) -> int:
        """Starts one driver for each thread that a worker offers; returns how many drivers are at work."""
        self._drivers = [driver for driver in self._drivers if driver[1].is_alive()]
        at_work, now = Counter(worker for worker, _ in self._drivers), time.monotonic()
        fresh = [
            (worker, Thread(target=self._work, args=(worker,), name=worker.name, daemon=True))
            for worker in self._pool.available()
            if worker not in self._unfit and now >= self._resting.get(worker, 0.0)
            for _ in range(max(1, worker.threads) - at_work[worker])
        ]
        self._drivers += fresh  # before the first starts, since the size of its batch depends on their number
        for _, thread in fresh:
            thread.start()
        return len(self._drivers)

    def _check_alone(self, alone_s: float) -> None:
        left = f"{self._left} reports are left"
        if self._unfit and alone_s > _POLL_S and not {*self._pool.available()} - self._unfit.keys():
            worker, error = next(iter(self._unfit.items()))
            raise NoWorkerLeft(f"no worker can read: {left}", details=[f"{worker.name}: {error}"])
        if alone_s > ALONE_S:
            raise NoWorkerLeft(f"no worker has been there for {alone_s:.0f} s: {left}")

    def _work(self, worker: Worker) -> None:
        with self._reporting():
            while batch := self._queue.take(len(self._drivers)):
                if not self._serve(worker, batch):
                    return

    @contextmanager
    def _reporting(self) -> Iterator[None]:
        """Hands an error that ends a thread to the caller's thread, which raises it."""
        try:
            yield
        except _IngestStopped:
            pass
        except ProfError as error:
            self._outcomes.put(error)
        except Exception as error:
            self._outcomes.put(InternalError(f"{type(error).__name__}: {error}"))

    def _serve(self, worker: Worker, taken: list[QueuedReport]) -> bool:
        """Has the worker read these reports; returns whether it may get more."""
        tasks = self._tasks(taken)
        if not tasks:
            return True
        taken = [queued for queued, _ in tasks]
        readers = max(1, worker.threads)
        batch = Batch(tuple(task for _, task in tasks), readers, worker.memory_bytes // readers)
        self._observer.began(worker, len(taken), sum(queued.size_bytes for queued in taken))
        try:
            reads: list[ReadResult] = self._pool.call(
                worker,
                read_batch,
                batch,
                timeout_s=batch.timeout_s,
                on_message=lambda text: self._on_message(worker, text),
            )
        except (SchedulerLost, ClusterUnreachable):
            raise
        except WorkerLost as error:
            self._lose(worker, taken, error)
            return False
        except ProfError as error:  # for example, it has no prof, or one without this function
            return self._discharge(worker, taken, error)
        return self._receive(worker, tasks, reads)

    def _receive(
        self, worker: Worker, tasks: list[tuple[QueuedReport, ReadTask]], reads: list[ReadResult]
    ) -> bool:
        unlike = {read.extracted.prof_version for read in reads if isinstance(read.extracted, Manifest)}
        if unlike - {self._version}:
            error = WorkerUnlike(f"it has prof {', '.join(unlike)}, and this is {self._version}")
            return self._discharge(worker, [queued for queued, _ in tasks], error)
        unread = [queued for queued, _ in tasks[len(reads) :]]
        done, trouble = [], None
        for (queued, task), read in zip(tasks, reads, strict=False):
            if isinstance(read.error, _UNFIT):
                unread.append(queued)
                trouble = read.error
            else:
                done.append((queued.report, task.request, _located(read, worker)))
        self._uncommitted.acquire()
        self._committers.submit(self._commit_all, done)  # while the worker reads the next batch
        if trouble is not None:
            return self._discharge(worker, unread, trouble)
        self._queue.put_back(unread)
        self._observer.ended(worker, len(reads))
        return True

    def _tasks(self, taken: list[QueuedReport]) -> list[tuple[QueuedReport, ReadTask]]:
        """Returns the reports that a worker must read. Reports that are stored already, or that cannot be opened, are finished here."""
        tasks = []
        for queued in taken:
            self._require_wanted()
            try:
                task = self._task(queued)
            except ProfError as error:
                self._finish(Ingested(queued.report, "failed", error=error))
                continue
            if isinstance(task, ReadTask):
                tasks.append((queued, task))
            else:
                self._finish(task)
        return tasks

    def _task(self, queued: QueuedReport) -> ReadTask | Ingested:
        report, hashes = queued.report, self._committer.hashes
        request = request_for(report, Path(), self._options, frozenset(), copied=True)
        limit_s = self._options.timeout_s or timeout_for_size_s(queued.size_bytes)
        if isinstance(report, RemoteReport):
            if report.trouble is not None:
                raise report.trouble
            return ReadTask(replace(request, stored_hashes=hashes), limit_s, remote=report)
        sha256 = sha256_of_report(report)
        if sha256[:HASH_CHARACTERS] in hashes:
            return self._committer.known(report, request, sha256)
        try:
            return ReadTask(request, limit_s, data=report.read_bytes())
        except OSError as error:
            raise ReportUnreadable(f"{report}: cannot be read: {error.strerror}") from error

    def _commit_all(self, done: list[tuple[Report, Request, ReadResult]]) -> None:
        try:
            with self._reporting():
                for report, request, read in done:
                    self._require_wanted()
                    self._finish(self._commit(report, request, read))
        finally:
            self._uncommitted.release()

    def _commit(self, report: Report, request: Request, read: ReadResult) -> Ingested:
        try:
            if read.error is not None:
                raise read.error
            assert read.extracted is not None
            if isinstance(read.extracted, AlreadyStored):
                return self._committer.known(report, request, read.extracted.sha256)
            folder = self._committer.staging.folder()
            write_files(read.files or {}, folder)
            return self._committer.commit(report, replace(request, folder=folder), read.extracted)
        except (DiskFull, StoreNotWritable):
            raise
        except ProfError as error:
            return Ingested(report, "failed", error=error)

    def _lose(self, worker: Worker, taken: list[QueuedReport], error: ProfError) -> None:
        """Puts the reports back into the queue. The worker may come back: perhaps only its connection broke."""
        self._resting[worker] = time.monotonic() + _REST_S
        self._observer.lost(worker, len(taken), error)
        for queued in self._queue.lose(taken):
            failure = ReaderFailed(
                f"{queued.report}: each of {queued.losses} workers that read it was lost",
                details=[f"the last: {error.message}"],
                remedy="Ingest it without a cluster, on a machine with more memory than such a worker has.",
            )
            self._finish(Ingested(queued.report, "failed", error=failure))

    def _discharge(self, worker: Worker, taken: list[QueuedReport], error: ProfError) -> bool:
        """Stops using the worker: one that fails at once would otherwise take most of the reports."""
        self._unfit[worker] = error
        self._observer.lost(worker, len(taken), error)
        self._queue.put_back(taken)
        return False

    def _require_wanted(self) -> None:
        if self._stopped.is_set():
            raise _IngestStopped

    def _finish(self, outcome: Ingested) -> None:
        self._queue.finish()
        self._outcomes.put(outcome)

    def _on_message(self, worker: Worker, text: str) -> None:
        self._require_wanted()
        self._observer.said(worker, text)


def _located(read: ReadResult, worker: Worker) -> ReadResult:
    """Adds the worker's name to errors about URLs: each worker has its own network and credentials."""
    error = read.error
    if not isinstance(error, RemoteDenied | RemoteFailed):
        return read
    return replace(read, error=error.changed(f"{error.message} (on worker {worker.name})"))


class _IngestStopped(Exception):
    """The caller wants no more outcomes."""
