"""Reads reports in child processes, so that NVIDIA's library cannot take `prof` down.

In: requests.
Out: manifests or `ReportError`s. A pool starts readers. Each of them checks, hashes and stores reports, and has a
process without rights decode them (`contained_reader.py`). A reader that crashes or exceeds its time is replaced,
and only its report is affected. After a crash, the report is read again, each time with one optional part less; it
fails when no optional part is left. A reader never outlives its parent: it exits when the parent is gone.
An alarm ends one that exceeds its time, also in native code, where no Python runs, and whatever became of the parent.
"""

from __future__ import annotations

import importlib
import multiprocessing
import os
import resource
import signal
import tempfile
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Future
from contextlib import contextmanager, suppress
from functools import partial
from multiprocessing import resource_tracker
from multiprocessing.context import SpawnContext
from pathlib import Path
from typing import Any

from pebble import ProcessExpired, ProcessPool

from profiler.errors import InternalError, ProfError, ReaderFailed, ReaderNotStarted, ResourcesShort
from profiler.machine import find_shortage, held, leave_with_parent, physical_memory_bytes
from profiler.spawned import SpawnedProcess
from profiler.store.reports.locate import size_bytes
from profiler.store.reports.request import OUT_OF_FILES, OUT_OF_MEMORY, AlreadyStored, Omitted, Request
from profiler.store.runs.manifest import Manifest
from profiler.store.tables.arrow_alone import import_arrow_alone

Extracted = Manifest | AlreadyStored

_NEVER_TOUCHED_BYTES = 2 << 30  # address space that the libraries reserve, which a limit counts as memory
_CRASHES = {signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGSEGV}
_why_not_started: list[str] = []  # in a reader whose library does not load
_MAX_TASKS = 200  # the native library does not give all its memory back


class _ReaderProcess(SpawnedProcess):
    """A process that may also be started by a Dask worker: that is a daemon, which may not have children. These end with it anyway."""

    def start(self) -> None:
        flags = multiprocessing.current_process()._config  # type: ignore[attr-defined]
        daemon = flags.pop("daemon", None)
        try:
            super().start()
        finally:
            if daemon is not None:
                flags["daemon"] = daemon


class _Context(SpawnContext):
    """Starts readers, and remembers those that may still run."""

    def __init__(self) -> None:
        self._readers: list[_ReaderProcess] = []

    def Process(self, *arguments: Any, **options: Any) -> _ReaderProcess:  # type: ignore[override]
        self._readers = [one for one in self._readers if one.exitcode is None]
        reader = _ReaderProcess(*arguments, **options)
        self._readers.append(reader)
        return reader

    def end_readers(self) -> None:
        """Kills the readers that the pool left behind: one that replaces a crashed one may only just have started.

        It would print an error when the locks that it shares with this process are gone.
        """
        for reader in self._readers:
            if reader.is_alive():
                reader.kill()
                reader.join()


class Sandbox:
    """A pool of reader processes; use it in a `with` statement."""

    def __init__(self, workers: int, timeout_s: float | None = None, memory_bytes: int | None = None) -> None:
        """`memory_bytes` limits each reader; without it, all of the machine's memory does."""
        physical = physical_memory_bytes()
        most_bytes = min(memory_bytes + _NEVER_TOUCHED_BYTES, physical) if memory_bytes else physical
        self._timeout_s = timeout_s
        self._is_stopped = False
        self._readings: set[Future[Extracted]] = set()  # those without a result
        self._context = _Context()
        self._pool = ProcessPool(
            max_workers=workers,
            max_tasks=_MAX_TASKS,
            context=self._context,
            initializer=_enter_worker,
            initargs=[most_bytes],
        )

    def start(self) -> None:
        """Starts a reader, so that the reports to come need not wait for it."""
        self._schedule(os.getpid)

    def warm_up(self, report: Path) -> None:
        """Has a reader read a report's machine code, which NVIDIA's library prepares itself for at first.

        So the reports to come need not wait for that.
        """
        self._schedule(_prepare, report)

    def submit(self, request: Request, timeout_s: float | None = None) -> Future[Extracted]:
        limit = (
            timeout_s
            or self._timeout_s
            or sum(timeout_for_size_s(size_bytes(one)) for one in request.reports)
        )
        answer: Future[Extracted] = Future()
        self._read(request, limit, answer)
        return answer

    def _schedule(self, work: Callable[..., Any], *arguments: Any) -> Future[Any]:
        with _interrupts_held(), held(signal.SIGTERM):  # a half-started reader prints an error
            return self._pool.schedule(work, args=arguments)

    def _read(self, request: Request, limit_s: float, answer: Future[Extracted]) -> None:
        reading = self._schedule(_work, request, limit_s)
        self._readings.add(reading)
        reading.add_done_callback(self._readings.discard)
        reading.add_done_callback(partial(self._settle, request, limit_s, answer))
        if self._is_stopped:  # by another thread, which perhaps did not see this reading any more
            reading.cancel()

    def _settle(
        self, request: Request, limit_s: float, answer: Future[Extracted], reading: Future[Extracted]
    ) -> None:
        """Sets the answer, or reads again with less. Runs in a thread of the pool, or in the one that stops it."""
        try:
            answer.set_result(reading.result())
        except (Exception, CancelledError) as error:
            less = request.asking_less() if _is_crash(error) else None
            if less is not None:
                with suppress(RuntimeError):  # the pool is closed
                    self._read(less, limit_s, answer)
                    return
            answer.set_exception(CancelledError() if self._is_stopped else error)

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is not None:
            self.stop()
            return
        self._pool.close()
        self._join()

    def stop(self) -> None:
        """Abandons whatever is being read: a thread that waits for it gets CancelledError."""
        self._is_stopped = True
        self._pool.stop()
        self._join()

    def _join(self) -> None:
        self._pool.join()
        self._context.end_readers()
        for reading in tuple(self._readings):
            reading.cancel()  # a pool that stops leaves it pending, and a thread may wait for it


def outcome(future: Future[Extracted], report: object) -> Extracted:
    """Returns the reader's result for a report, or raises the error that says what is wrong with the report.

    Raises CancelledError if the reading was abandoned.
    """
    try:
        return future.result()
    except (ProfError, CancelledError):
        raise
    except ProcessExpired as death:
        if death.exitcode == -signal.SIGALRM:
            raise ReaderFailed(f"{report}: NVIDIA's reader did not finish in time and was stopped") from None
        if death.exitcode == OUT_OF_FILES:
            raise ResourcesShort(f"{report}: too many open files in the process that reads it") from None
        if death.exitcode == OUT_OF_MEMORY:
            raise ReaderFailed(f"{report}: NVIDIA's reader ran out of memory on it") from None
        how = f"signal {-death.exitcode}" if death.exitcode < 0 else f"exit code {death.exitcode}"
        raise ReaderFailed(f"{report}: NVIDIA's reader crashed on it ({how})") from None
    except Exception as error:
        raise InternalError(f"{report}: {type(error).__name__}: {error}") from error


def _is_crash(error: BaseException) -> bool:
    """Returns whether native code crashed.

    A reader that the system killed for its memory does not count, and is not tried again.
    """
    return isinstance(error, ProcessExpired) and -error.exitcode in _CRASHES


def timeout_for_size_s(report_bytes: int) -> float:
    """Returns the time limit for a report of this size. Reading takes well under a second per megabyte, so more is a hang."""
    return 60.0 + 4.0 * report_bytes / 1e6


def _work(request: Request, limit_s: float) -> Extracted:
    if _why_not_started:
        raise ReaderNotStarted(f"ncu-report does not start: {_why_not_started[0]}")
    from profiler.store.reports.extract import extract_report

    try:
        with _alarm_after(limit_s):
            return extract_report(request)
    except MemoryError:
        os._exit(OUT_OF_MEMORY)  # memory may stay allocated, so the next report gets a new process


@contextmanager
def _alarm_after(limit_s: float) -> Iterator[None]:
    """Ends this process by a signal if what is done takes longer; the time of day may change meanwhile."""
    signal.setitimer(signal.ITIMER_REAL, limit_s)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _prepare(report: Path) -> None:
    from profiler.store.reports.contained_reader import decode_code
    from profiler.store.reports.identity import identify_report

    with _alarm_after(timeout_for_size_s(size_bytes(report))), tempfile.TemporaryDirectory() as scratch:
        decode_code([identify_report(report, Path(scratch))], "", Omitted.NOTHING)


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Blocks SIGINT. Threads of the pool that start in here inherit this, and so do the readers that they
    start.

    So a reader never sees an interrupt; the parent decides what to do about one.
    """
    resource_tracker.ensure_running()  # if it started later, it would let interrupts through again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _enter_worker(memory_bytes: int) -> None:
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    # Crashes are expected here: write no core file, and show nothing that the library prints.
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_AS, memory_bytes)
    silence = os.open(os.devnull, os.O_RDWR)
    os.dup2(silence, 1)
    os.dup2(silence, 2)
    import_arrow_alone()
    try:
        importlib.import_module("ncu_report")
    except ImportError as error:
        if find_shortage(error):
            raise
        # What fails in here ends the whole pool, so each request says it instead.
        _why_not_started.append(f"{type(error).__name__}: {error}")
    else:
        # Imported here, so that this time does not count for the first report.
        importlib.import_module("profiler.store.reports.extract")
        importlib.import_module("profiler.store.reports.contained_reader").start_reader()
    threading.Thread(target=leave_with_parent, daemon=True).start()


def _limit(what: int, limit: int) -> None:
    """Lowers a resource limit. A lower one that is set already stays, and a system without such a limit ignores this."""
    with suppress(ValueError, OSError):
        _, hard = resource.getrlimit(what)
        lower = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
        resource.setrlimit(what, (lower, lower))
