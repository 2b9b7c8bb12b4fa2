"""Many reports into runs, read by the workers of a cluster: work goes out by size, runs are committed here alone.

Each worker is driven by threads of this process: a batch goes there, and the files of its runs come back and are
committed while the next batch is read. What a lost worker had in hand is read by another, one report at a time.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import BoundedSemaphore, Condition, Event, Thread

from profiler.cluster.crew import Crew
from profiler.cluster.watch import Member
from profiler.errors import (
    ClusterUnreachable,
    DiskFull,
    InternalError,
    MemberLost,
    NoWorkerLeft,
    ProfError,
    ReaderFailed,
    RemoteDenied,
    RemoteFailed,
    RemoteNotInstalled,
    ReportUnreadable,
    SchedulerLost,
    StoreNotWritable,
    WorkerUnlike,
)
from profiler.store.file_names import HASH_CHARACTERS
from profiler.store.ingest.ingest import Ingested, Options, Settling, request_for
from profiler.store.ingest.queue import Job, Pile
from profiler.store.ingest.worker import Batch, Parcel, Read, read_batch, write_files
from profiler.store.reports.identity import sha256_of_report
from profiler.store.reports.locate import RemoteReport, Report
from profiler.store.reports.request import AlreadyStored, Request
from profiler.store.reports.sandbox import timeout_for_size_s
from profiler.store.runs.manifest import Manifest, prof_version
from profiler.store.runs.run_store import RunStore

_POLL_S = 0.25
ALONE_S = 60.0
_REST_S = 2.0  # until then it is known whether a worker that was lost is gone
_END_S = 5.0
_COMMITTERS = 4
_UNSETTLED = 16  # batches whose runs are in memory and not yet committed: more of them wait on their workers
_UNFIT = (DiskFull, StoreNotWritable, RemoteNotInstalled)  # on a worker: its trouble, and not the report's


class Observer:
    """What becomes of the workers, told while it happens by the threads that drive them. This one is not curious."""

    def began(self, member: Member, reports: int, size_bytes: int) -> None: ...

    def said(self, member: Member, text: str) -> None: ...

    def ended(self, member: Member, reports: int) -> None: ...

    def lost(self, member: Member, reports: int, error: ProfError) -> None: ...


def ingest_on_crew(
    reports: Sequence[Report],
    store: RunStore,
    options: Options,
    crew: Crew,
    observer: Observer | None = None,
    alone_s: float = ALONE_S,
) -> Iterator[Ingested]:
    """As `ingest_reports`; raises what ends all: no scheduler, no place for runs, no worker for `alone_s`."""
    with Settling(store) as settling:
        drive = _Drive(reports, settling, options, crew, observer or Observer())
        try:
            yield from drive.outcomes(alone_s)
        finally:
            drive.stop()


class _Hand(Thread):
    """Drives one worker, or one thread of it."""

    def __init__(self, member: Member, work: Callable[[Member], None]) -> None:
        super().__init__(target=work, args=(member,), name=member.name, daemon=True)
        self.member = member


class _Drive:
    def __init__(
        self, reports: Sequence[Report], settling: Settling, options: Options, crew: Crew, observer: Observer
    ) -> None:
        self._settling, self._options, self._crew, self._observer = settling, options, crew, observer
        self._left = len(reports)
        self._pile = Pile(reports)
        self._told: SimpleQueue[Ingested | ProfError] = SimpleQueue()
        self._stopped = Event()
        self._hands: list[_Hand] = []
        self._resting: dict[Member, float] = {}
        self._unfit: dict[Member, ProfError] = {}
        self._committers = ThreadPoolExecutor(_COMMITTERS, thread_name_prefix="commit")
        self._unsettled = BoundedSemaphore(_UNSETTLED)
        self._version = prof_version()
        self._idle = Condition()
        self._committing = 0

    def outcomes(self, alone_s: float) -> Iterator[Ingested]:
        alone_since, looked = time.monotonic(), float("-inf")
        while self._left:
            if time.monotonic() - looked > _POLL_S:
                looked = time.monotonic()
                if self._hire() or self._crew.coming():
                    alone_since = looked
            try:
                outcome = self._told.get(timeout=_POLL_S)
            except Empty:
                self._check_alone(time.monotonic() - alone_since, alone_s)
                continue
            if isinstance(outcome, ProfError):
                raise outcome
            self._left -= 1
            yield outcome

    def stop(self) -> None:
        """Who commits comes to an end; a call that is under way ends at the next word of its worker, or with the crew."""
        self._pile.close()
        with self._idle:
            self._stopped.set()
            self._idle.wait_for(lambda: not self._committing, timeout=_END_S)
        self._committers.shutdown(wait=False, cancel_futures=True)

    def _hire(self) -> int:
        """A thread for each call that a worker can answer at a time; how many are at work."""
        self._hands = [hand for hand in self._hands if hand.is_alive()]
        at_work, now = Counter(hand.member for hand in self._hands), time.monotonic()
        fresh = [
            _Hand(member, self._work)
            for member in self._crew.members()
            if member not in self._unfit and now >= self._resting.get(member, 0.0)
            for _ in range(max(1, member.threads) - at_work[member])
        ]
        self._hands += fresh  # all before the first begins: it takes its share of the work
        for hand in fresh:
            hand.start()
        return len(self._hands)

    def _check_alone(self, alone_s: float, most_s: float) -> None:
        left = f"{self._left} reports are left"
        if self._unfit and alone_s > _POLL_S and not {*self._crew.members()} - self._unfit.keys():
            member, error = next(iter(self._unfit.items()))
            raise NoWorkerLeft(f"no worker can read: {left}", details=[f"{member.name}: {error}"])
        if alone_s > most_s:
            raise NoWorkerLeft(f"no worker has been there for {alone_s:.0f} s: {left}")

    def _work(self, member: Member) -> None:
        try:
            while jobs := self._pile.take(len(self._hands)):
                if not self._serve(member, jobs):
                    return
        except _Stopped:
            pass
        except ProfError as error:
            self._told.put(error)
        except Exception as error:
            self._told.put(InternalError(f"{type(error).__name__}: {error}"))

    def _serve(self, member: Member, jobs: list[Job]) -> bool:
        """Whether the worker may have more."""
        parcels = self._parcels(jobs)
        if not parcels:
            return True
        jobs = [job for job, _ in parcels]
        readers = max(1, member.threads)
        batch = Batch(tuple(parcel for _, parcel in parcels), readers, member.memory_bytes // readers)
        self._observer.began(member, len(jobs), sum(job.size_bytes for job in jobs))
        try:
            reads: list[Read] = self._crew.call(
                member,
                read_batch,
                batch,
                timeout_s=batch.timeout_s,
                hear=lambda text: self._hear(member, text),
            )
        except (SchedulerLost, ClusterUnreachable):
            raise
        except MemberLost as error:
            self._lose(member, jobs, error)
            return False
        except ProfError as error:  # it has no prof, for one, or one that does not know this call
            return self._discharge(member, jobs, error)
        return self._receive(member, parcels, reads)

    def _receive(self, member: Member, parcels: list[tuple[Job, Parcel]], reads: list[Read]) -> bool:
        unlike = {read.extracted.prof_version for read in reads if isinstance(read.extracted, Manifest)}
        if unlike - {self._version}:
            error = WorkerUnlike(f"it has prof {', '.join(unlike)}, and this is {self._version}")
            return self._discharge(member, [job for job, _ in parcels], error)
        unread = [job for job, _ in parcels[len(reads) :]]
        done, trouble = [], None
        for (job, parcel), read in zip(parcels, reads, strict=False):
            if isinstance(read.error, _UNFIT):
                unread.append(job)
                trouble = read.error
            else:
                done.append((job.report, parcel.request, _located(read, member)))
        self._unsettled.acquire()
        self._committers.submit(self._settle_all, done)  # and its worker has more to do meanwhile
        if trouble is not None:
            return self._discharge(member, unread, trouble)
        self._pile.put_back(unread)
        self._observer.ended(member, len(reads))
        return True

    def _parcels(self, jobs: list[Job]) -> list[tuple[Job, Parcel]]:
        """What must be read; what is known here, or cannot be opened, is told at once."""
        parcels = []
        for job in jobs:
            if self._stopped.is_set():
                raise _Stopped
            try:
                parcel = self._parcel(job)
            except ProfError as error:
                self._tell(Ingested(job.report, "failed", error=error))
                continue
            if isinstance(parcel, Parcel):
                parcels.append((job, parcel))
            else:
                self._tell(parcel)
        return parcels

    def _parcel(self, job: Job) -> Parcel | Ingested:
        report, hashes = job.report, self._settling.hashes
        request = request_for(report, Path(), self._options, frozenset(), copied=True)
        limit_s = self._options.timeout_s or timeout_for_size_s(job.size_bytes)
        if isinstance(report, RemoteReport):
            if report.trouble is not None:
                raise report.trouble
            return Parcel(replace(request, stored_hashes=hashes), limit_s, remote=report)
        sha256 = sha256_of_report(report)
        if sha256[:HASH_CHARACTERS] in hashes:
            return self._settling.known(report, request, sha256)
        try:
            return Parcel(request, limit_s, data=report.read_bytes())
        except OSError as error:
            raise ReportUnreadable(f"{report}: cannot be read: {error.strerror}") from error

    def _settle_all(self, done: list[tuple[Report, Request, Read]]) -> None:
        try:
            for report, request, read in done:
                with self._unless_stopped():
                    outcome = self._settle(report, request, read)
                self._tell(outcome)
        except _Stopped:
            pass
        except ProfError as error:
            self._told.put(error)
        except Exception as error:
            self._told.put(InternalError(f"{type(error).__name__}: {error}"))
        finally:
            self._unsettled.release()

    def _settle(self, report: Report, request: Request, read: Read) -> Ingested:
        try:
            if read.error is not None:
                raise read.error
            assert read.extracted is not None
            if isinstance(read.extracted, AlreadyStored):
                return self._settling.known(report, request, read.extracted.sha256)
            folder = self._settling.folder()
            write_files(read.files or {}, folder)
            return self._settling.commit(report, replace(request, folder=folder), read.extracted)
        except (DiskFull, StoreNotWritable):
            raise
        except ProfError as error:
            return Ingested(report, "failed", error=error)

    def _lose(self, member: Member, jobs: list[Job], error: ProfError) -> None:
        """It may be there nevertheless: the way to it can break and be mended."""
        self._resting[member] = time.monotonic() + _REST_S
        self._observer.lost(member, len(jobs), error)
        for job in self._pile.lose(jobs):
            failure = ReaderFailed(
                f"{job.report}: each of {job.losses} workers that read it was lost",
                details=[f"the last: {error.message}"],
                remedy="Ingest it without a cluster, on a machine with more memory than such a worker has.",
            )
            self._tell(Ingested(job.report, "failed", error=failure))

    def _discharge(self, member: Member, jobs: list[Job], error: ProfError) -> bool:
        """A worker that fails everything would be the fastest of all."""
        self._unfit[member] = error
        self._observer.lost(member, len(jobs), error)
        self._pile.put_back(jobs)
        return False

    @contextmanager
    def _unless_stopped(self) -> Iterator[None]:
        """Nothing is written once the staging folder may be gone."""
        with self._idle:
            if self._stopped.is_set():
                raise _Stopped
            self._committing += 1
        try:
            yield
        finally:
            with self._idle:
                self._committing -= 1
                self._idle.notify_all()

    def _tell(self, outcome: Ingested) -> None:
        self._pile.finish()
        self._told.put(outcome)

    def _hear(self, member: Member, text: str) -> None:
        if self._stopped.is_set():
            raise _Stopped
        self._observer.said(member, text)


def _located(read: Read, member: Member) -> Read:
    """Who cannot reach a URL matters: workers have a network and credentials of their own."""
    error = read.error
    if not isinstance(error, RemoteDenied | RemoteFailed):
        return read
    message = f"{error.message} (on worker {member.name})"
    return replace(read, error=type(error)(message, details=error.details, remedy=error.remedy))


class _Stopped(Exception):
    """Nobody wants any more of it."""
