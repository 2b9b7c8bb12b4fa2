"""What a worker of a cluster does for `prof ingest`: reports go in, the files of their runs come out.

Nothing but bytes crosses: the two machines share no folder. A report is read as everywhere, in a child process
with a limit of memory and of time, so that the worker survives what NVIDIA's library does not.
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

from profiler.cluster.working import stoppable, tell
from profiler.errors import InternalError, ProfError
from profiler.store.reports.locate import RemoteReport, fetch
from profiler.store.reports.request import AlreadyStored, Request
from profiler.store.reports.sandbox import Extracted, Sandbox, outcome
from profiler.store.runs.commit import flush, storage_error

_MOST_RESULT_BYTES = 64_000_000  # what is read beyond it waits for the next call
_MOST_S = 10.0  # likewise: whoever waits sees runs come, and a lost worker has little in hand
_TELL_S = 0.5


@dataclass(frozen=True)
class Parcel:
    """One report: its bytes, or the URL from which the worker fetches it. The request's paths are names alone."""

    request: Request
    limit_s: float
    data: bytes | None = None
    remote: RemoteReport | None = None


@dataclass(frozen=True)
class Batch:
    parcels: tuple[Parcel, ...]
    readers: int  # that this worker may have
    memory_bytes: int  # that each of them may take; 0: all there is

    @property
    def timeout_s(self) -> float:
        """The last report may begin just before no more are begun; of a URL, it is fetched and then read."""
        return _MOST_S + max(
            (2 if parcel.remote is not None else 1) * parcel.limit_s for parcel in self.parcels
        )


@dataclass(frozen=True)
class Read:
    """What became of one report: `files` of a run, without a run nothing of it."""

    extracted: Extracted | None = None
    files: dict[str, bytes] | None = None
    error: ProfError | None = None


def read_batch(batch: Batch) -> list[Read]:
    """In their order. Fewer than were asked for where the time or the size of the result is used up."""
    sandbox = _sandbox(batch.readers, batch.memory_bytes)
    started = told = time.monotonic()
    stopped, results, result_bytes = Event(), list[Read](), 0
    with stoppable(stopped.set):
        for parcel in batch.parcels:
            now = time.monotonic()
            enough = result_bytes > _MOST_RESULT_BYTES or now - started > _MOST_S
            if results and (enough or stopped.is_set()):
                break
            if now - told > _TELL_S:
                told = now
                tell(f"report {len(results) + 1} of {len(batch.parcels)}")
            read = _read(parcel, sandbox)
            results.append(read)
            result_bytes += sum(map(len, (read.files or {}).values()))
    return results


def write_files(files: dict[str, bytes], folder: Path) -> None:
    """The folder of a run that came from a worker, down to the disk as if it had been filled here."""
    try:
        folder.mkdir(parents=True)
        for name, data in files.items():
            path = folder / os.path.basename(name)
            path.write_bytes(data)
            flush(path)
    except OSError as error:
        raise storage_error(error, folder.parent) from error


def _read(parcel: Parcel, sandbox: Sandbox) -> Read:
    try:
        with tempfile.TemporaryDirectory(prefix="prof-read-", ignore_cleanup_errors=True) as scratch:
            return _read_in(Path(scratch), parcel, sandbox)
    except OSError as error:
        return Read(error=storage_error(error, Path(tempfile.gettempdir())))
    except ProfError as error:
        return Read(error=error)
    except Exception as error:  # a bug, which shows with this report: the worker is as good as any other
        return Read(error=InternalError(f"{parcel.request.shown}: {type(error).__name__}: {error}"))


def _read_in(scratch: Path, parcel: Parcel, sandbox: Sandbox) -> Read:
    copy = scratch / parcel.request.report.name
    request = replace(parcel.request, reports=(copy,), folder=scratch / "run")
    if parcel.remote is not None:
        fetch(parcel.remote, copy, limit_s=parcel.limit_s)
    else:
        copy.write_bytes(parcel.data or b"")
    extracted = outcome(sandbox.submit(request, parcel.limit_s), request.shown)
    if isinstance(extracted, AlreadyStored):
        return Read(extracted)
    return Read(extracted, {path.name: path.read_bytes() for path in request.folder.iterdir()})


@cache
def _sandbox(readers: int, memory_bytes: int) -> Sandbox:
    """Kept for as long as the worker lives: to start a reader takes longer than to read a report."""
    sandbox = Sandbox(readers, memory_bytes=memory_bytes or None)
    Finalize(None, sandbox.stop, exitpriority=100)
    return sandbox
