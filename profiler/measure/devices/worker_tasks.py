"""What runs on a worker for a bench of the client: the same code as on the client's own GPU.

The worker keeps the files of rungs for as long as it lives, and nothing of what it measures.
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import astuple, dataclass, replace
from functools import cache
from pathlib import Path
from time import monotonic
from typing import Literal

from profiler.cluster.worker_side import send_message, stoppable
from profiler.errors import ProfError, ReportNotWritten, WorkerLacks
from profiler.measure.devices.bench import LocalBench, Order, bound_bench, lock_folder
from profiler.measure.devices.job_files import Kit, settle, write_kit
from profiler.measure.rungs.program import Job
from profiler.measure.rungs.timing import Timed
from profiler.measure.tools.ncu import Ncu, find_ncu
from profiler.measure.tools.neutral import neutral_folder
from profiler.measure.tools.toolchain import Gpu, find_gpu
from profiler.measure.tools.transcript import Transcript
from profiler.store.runs.commit import try_lock
from profiler.store.runs.manifest import prof_version

_TELL_S = 0.25
_LOCK_FILE = "prof.lock"
What = Literal["verify", "time", "record"]


@dataclass(frozen=True)
class Facts:
    prof_version: str
    host: str
    gpu: Gpu
    ncu: Ncu


@dataclass(frozen=True)
class Errand:
    """`kit` is None where the program needs nothing but what is on the worker already; `order` says how to record."""

    what: What
    job: Job | None
    kit: Kit | None
    timeout_s: float
    order: Order | None = None

    @property
    def label(self) -> str:
        if self.job is not None:
            return self.job.label
        return self.order.target.label if self.order is not None else ""


@dataclass(frozen=True)
class Brought:
    """A report's bytes; nobody reads them but NVIDIA's reader, in its sandbox on the client."""

    report: bytes
    launches: int | None
    passes: int | None


class Lacking:
    """The worker has not got the files of this kit yet."""


class Occupied:
    """Another worker process measures on the same GPU."""


Answer = float | Timed | Brought | Lacking | Occupied | None


def describe_worker() -> Facts:
    bench = _bench_here()
    return Facts(prof_version(), socket.gethostname(), bench.gpu, bench.ncu)


def run_errand(errand: Errand, files: Mapping[str, bytes] | None) -> Answer:
    _check_folders(errand)
    bench = _bench_here()
    with _occupying(bench.gpu) as is_ours:
        if not is_ours:
            return Occupied()
        if errand.kit is None:
            with stoppable(bench.stop):
                return _measure(bench, errand)
        folder = _folder() / errand.kit.hash
        if not folder.is_dir():
            if files is None:
                return Lacking()
            _write(errand.kit, files, folder)
        with stoppable(bench.stop):
            return _measure_from_kit(bench, errand, errand.kit, folder)


def _check_folders(errand: Errand) -> None:
    """What does not travel has to be here, at the same path."""
    cwd = errand.order.cwd if errand.order is not None else None
    ladder = errand.job.ladder.folder if errand.job is not None and errand.kit is None else None
    for folder in (cwd, ladder):
        if folder is not None and not folder.is_dir():
            raise WorkerLacks(f"{errand.label}: there is no folder {folder} on this worker")


def _measure(bench: LocalBench, errand: Errand) -> Answer:
    if errand.order is not None:
        order = replace(errand.order, target=replace(errand.order.target, job=errand.job))
        with neutral_folder() as scratch:
            recorded = bench.record(order, scratch, _told_now_and_then())
            return Brought(recorded.report.read_bytes(), recorded.launches, recorded.passes)
    assert errand.job is not None
    if errand.what == "verify":
        return bench.verify(errand.job, errand.timeout_s)
    return bench.time(errand.job, errand.timeout_s)


def _measure_from_kit(bench: LocalBench, errand: Errand, kit: Kit, folder: Path) -> Answer:
    """Its errors name the client's paths: there somebody may try the command by hand."""
    job = errand.job
    assert job is not None
    settled = settle(job, kit, folder)
    try:
        return _measure(bench, replace(errand, job=settled))
    except ProfError as error:
        there = {str(settled.ladder.folder): str(job.ladder.folder)}
        if settled.binary is not None:
            there[str(settled.binary)] = str(job.binary)
        details = [_replaced(line, there) for line in error.details]
        raise type(error)(_replaced(error.message, there), details=details, remedy=error.remedy) from None


def _replaced(text: str, words: Mapping[str, str]) -> str:
    for old, new in words.items():
        text = text.replace(old, new)
    return text


def _write(kit: Kit, files: Mapping[str, bytes], folder: Path) -> None:
    try:
        write_kit(kit, files, folder)
    except OSError as error:
        raise ReportNotWritten(
            f"{folder}: cannot be written: {error.strerror}",
            remedy="Check the space and the permissions of the worker's folder (--local-directory).",
        ) from None


def _told_now_and_then() -> Callable[[Transcript], None]:
    """How far it is, so often that somebody can watch it and no more."""
    last_s = 0.0

    def at(transcript: Transcript) -> None:
        nonlocal last_s
        if monotonic() - last_s >= _TELL_S:
            last_s = monotonic()
            send_message(spell_transcript(transcript))

    return at


def spell_transcript(transcript: Transcript) -> str:
    return json.dumps(list(astuple(transcript)[:-1]))  # but for the line that is not whole yet


def parse_transcript(text: str) -> Transcript:
    return Transcript(*json.loads(text))


@cache
def _bench_here() -> LocalBench:
    return bound_bench(find_gpu(), find_ncu())


@cache
def _folder() -> Path:
    """Dask removes it when the worker ends, or when another is started after it was killed."""
    from distributed import get_worker

    folder = Path(get_worker().local_directory) / "prof"
    folder.mkdir(exist_ok=True)
    return folder


@contextmanager
def _occupying(gpu: Gpu) -> Iterator[bool]:
    """Two workers may have been given the same GPU, or two clusters: one of them measures at a time."""
    lock = try_lock(lock_folder(gpu) / _LOCK_FILE)
    try:
        yield lock is not None
    finally:
        if lock is not None:
            os.close(lock)
