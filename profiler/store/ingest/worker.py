"""Reads reports on a worker of a cluster: reports go in, the files of their runs come out.

Only bytes travel, since the two machines share no folder. Like everywhere, a child process with limits of
memory and time reads each report, so that the worker survives a crash of NVIDIA's library.
"""

from __future__ import annotations

import os
import tempfile
import time
from dataclasses import dataclass, replace
from functools import cache
from multiprocessing.util import Finalize
from pathlib import Path
from threading import Event

from profiler.cluster.worker_side import send_message, stoppable
from profiler.errors import InternalError, ProfError
from profiler.store.disk import storage_error, write_flushed, writing_to
from profiler.store.reports.locate import RemoteReport, fetch
from profiler.store.reports.request import AlreadyStored, Request
from profiler.store.reports.sandbox import Extracted, Sandbox, outcome
from profiler.store.scratch import scratch_folder

_MOST_RESULT_BYTES = 64_000_000  # when the result is larger, the rest of the batch waits for the next call
_MOST_S = 10.0  # at most for a batch, so that runs keep coming and a lost worker loses little
_MESSAGE_S = 0.5


@dataclass(frozen=True)
class ReadTask:
    """One report to read: its bytes, or the URL that the worker fetches it from. The request holds names, not paths."""

    request: Request
    limit_s: float
    data: bytes | None = None
    remote: RemoteReport | None = None


@dataclass(frozen=True)
class Batch:
    tasks: tuple[ReadTask, ...]
    readers: int  # how many reader processes the worker may have
    memory_bytes: int  # how much each reader may take; 0 means no limit

    @property
    def timeout_s(self) -> float:
        """Returns how long the batch may take: the last report starts at the latest after `_MOST_S`; a URL is
        fetched, then read.
        """
        return _MOST_S + max((2 if task.remote is not None else 1) * task.limit_s for task in self.tasks)


@dataclass(frozen=True)
class ReadResult:
    """The outcome for one report: the `files` of its run, or an error."""

    extracted: Extracted | None = None
    files: dict[str, bytes] | None = None
    error: ProfError | None = None


def read_batch(batch: Batch) -> list[ReadResult]:
    """Reads the reports in order; returns fewer than asked for when time or size of the result is used up."""
    sandbox = _sandbox(batch.readers, batch.memory_bytes)
    started_s = sent_s = time.monotonic()
    stopped, results, result_bytes = Event(), list[ReadResult](), 0
    with stoppable(stopped.set):
        for task in batch.tasks:
            now = time.monotonic()
            enough = result_bytes > _MOST_RESULT_BYTES or now - started_s > _MOST_S
            if results and (enough or stopped.is_set()):
                break
            if now - sent_s > _MESSAGE_S:
                sent_s = now
                send_message(f"report {len(results) + 1} of {len(batch.tasks)}")
            read = _read(task, sandbox)
            results.append(read)
            result_bytes += sum(map(len, (read.files or {}).values()))
    return results


def write_files(files: dict[str, bytes], folder: Path) -> None:
    """Writes the files of a run that came from a worker into a new folder, and flushes them to the disk."""
    with writing_to(folder.parent):
        folder.mkdir(parents=True)
        for name, data in files.items():
            write_flushed(folder / os.path.basename(name), data)


def _read(task: ReadTask, sandbox: Sandbox) -> ReadResult:
    try:
        with scratch_folder() as scratch:
            return _read_in(scratch, task, sandbox)
    except OSError as error:
        return ReadResult(error=storage_error(error, Path(tempfile.gettempdir())))
    except ProfError as error:
        return ReadResult(error=error)
    except Exception as error:  # a bug that this report shows: the worker itself is fine
        return ReadResult(error=InternalError(f"{task.request.shown}: {type(error).__name__}: {error}"))


def _read_in(scratch: Path, task: ReadTask, sandbox: Sandbox) -> ReadResult:
    copy = scratch / task.request.report.name
    request = replace(task.request, reports=(copy,), folder=scratch / "run")
    if task.remote is not None:
        fetch(task.remote, copy, limit_s=task.limit_s)
    else:
        copy.write_bytes(task.data or b"")
    extracted = outcome(sandbox.submit(request, task.limit_s), request.shown)
    if isinstance(extracted, AlreadyStored):
        return ReadResult(extracted)
    return ReadResult(extracted, {path.name: path.read_bytes() for path in request.folder.iterdir()})


@cache
def _sandbox(readers: int, memory_bytes: int) -> Sandbox:
    """Returns the worker's readers, kept for as long as it lives: starting one takes longer than reading a report."""
    sandbox = Sandbox(readers, memory_bytes=memory_bytes or None)
    Finalize(None, sandbox.stop, exitpriority=100)
    return sandbox
