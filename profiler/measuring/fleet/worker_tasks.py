"""The functions that run on a cluster's worker: they measure with the same code as a local GPU does.

A worker keeps the files of rungs until it ends. It keeps nothing of what it measures.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import astuple, dataclass, replace
from functools import cache
from pathlib import Path
from time import monotonic
from typing import Literal

from profiler.cluster.worker_side import send_message, stoppable
from profiler.errors import ProfError, ReportNotWritten, WorkerLacks
from profiler.measuring.collect.device import LocalDevice, Order, device_for_gpu
from profiler.measuring.collect.gpu_turn import gpu_turn_if_free
from profiler.measuring.rungs.job_files import JobFiles, relocate_job, write_job_files
from profiler.measuring.rungs.program import RungJob
from profiler.measuring.tools.gpus import Gpu, find_gpu
from profiler.measuring.tools.ncu import Ncu, find_ncu
from profiler.measuring.tools.neutral import neutral_folder
from profiler.measuring.tools.transcript import Transcript
from profiler.store.process_timings import ProcessTimings
from profiler.store.runs.manifest import prof_version

_PROGRESS_S = 0.25
TaskKind = Literal["verify", "time", "record"]


@dataclass(frozen=True)
class WorkerFacts:
    """The facts that decide whether a worker may measure beside the others."""

    prof_version: str
    gpu: Gpu
    ncu: Ncu


@dataclass(frozen=True)
class WorkerTask:
    """One thing to measure. `files` is None if the worker already has all that the program needs."""

    what: TaskKind
    job: RungJob | None
    files: JobFiles | None
    timeout_s: float
    order: Order | None = None  # how to record, for `record`

    @property
    def label(self) -> str:
        if self.job is not None:
            return self.job.label
        return self.order.target.label if self.order is not None else ""


@dataclass(frozen=True)
class ReportBytes:
    """A report as bytes. Only NVIDIA's reader parses them, in its sandbox on the client."""

    report: bytes
    launches: int
    passes: int | None


class FilesMissing:
    """The answer of a worker that does not have the job's files yet."""


class GpuOccupied:
    """The answer of a worker while another process measures on its GPU."""


TaskAnswer = float | ProcessTimings | ReportBytes | FilesMissing | GpuOccupied | None


def describe_worker() -> WorkerFacts:
    """Returns the facts of the worker that this runs on."""
    device = _worker_device()
    return WorkerFacts(prof_version(), device.gpu, device.ncu)


def run_task(
    task: WorkerTask, files: Mapping[str, bytes] | None, device: LocalDevice | None = None
) -> TaskAnswer:
    """Measures on `device`, by default the worker's own; `files` are the job's files, if they were sent."""
    _check_folders(task)
    device = device or _worker_device()
    # Two workers, or two clusters, may use the same GPU, and so may those who measure on this host.
    with gpu_turn_if_free(device.gpu) as is_ours:
        if not is_ours:
            return GpuOccupied()
        if task.files is None:
            with stoppable(device.stop):
                return _measure(device, task)
        folder = _folder() / task.files.hash
        if not folder.is_dir():
            if files is None:
                return FilesMissing()
            keep_job_files(task.files, files, folder)
        with stoppable(device.stop):
            return _measure_in(folder, device, task, task.files)


def _check_folders(task: WorkerTask) -> None:
    """Raises WorkerLacks if a folder that is not sent does not exist here at the same path."""
    cwd = task.order.cwd if task.order is not None else None
    ladder = task.job.ladder.folder if task.job is not None and task.files is None else None
    for folder in (cwd, ladder):
        if folder is not None and not folder.is_dir():
            raise WorkerLacks(f"{task.label}: there is no folder {folder} on this worker")


def _measure(device: LocalDevice, task: WorkerTask) -> TaskAnswer:
    if task.order is not None:
        order = replace(task.order, target=replace(task.order.target, job=task.job))
        with neutral_folder() as scratch:
            recorded = device.record(order, scratch, _throttled_progress())
            return ReportBytes(recorded.report.read_bytes(), recorded.launches, recorded.passes)
    assert task.job is not None
    if task.what == "verify":
        return device.verify(task.job, task.timeout_s)
    return device.time(task.job, task.timeout_s)


def _measure_in(folder: Path, device: LocalDevice, task: WorkerTask, files: JobFiles) -> TaskAnswer:
    """Measures with the files in `folder`. Errors name the client's paths, where one can try the command by hand."""
    job = task.job
    assert job is not None
    here = relocate_job(job, files, folder)
    try:
        return _measure(device, replace(task, job=here))
    except ProfError as error:
        paths = {str(here.ladder.folder): str(job.ladder.folder)}
        if here.binary is not None:
            paths[str(here.binary)] = str(job.binary)
        details = [_replaced(line, paths) for line in error.details]
        raise error.changed(_replaced(error.message, paths), details) from None


def _replaced(text: str, words: Mapping[str, str]) -> str:
    for old, new in words.items():
        text = text.replace(old, new)
    return text


def keep_job_files(needed: JobFiles, files: Mapping[str, bytes], folder: Path) -> None:
    """Writes the job's files. A folder of their hash is complete, since it gets its name at the end."""
    unfinished = folder.with_name(f".{folder.name}.{os.getpid()}")
    try:
        write_job_files(needed, files, unfinished)
        os.replace(unfinished, folder)
    except OSError as error:
        raise ReportNotWritten(
            f"{folder}: cannot be written: {error.strerror}",
            remedy="Check the space and the permissions of the worker's folder (--local-directory).",
        ) from None


def _throttled_progress() -> Callable[[Transcript], None]:
    """Returns a callback that sends the progress to the client, at most four times a second."""
    last_s = 0.0

    def at(transcript: Transcript) -> None:
        nonlocal last_s
        if monotonic() - last_s >= _PROGRESS_S:
            last_s = monotonic()
            send_message(encode_transcript(transcript))

    return at


def encode_transcript(transcript: Transcript) -> str:
    """Returns the progress as text for the client."""
    return json.dumps(list(astuple(transcript)[:-1]))  # all but the line that is still incomplete


def decode_transcript(text: str) -> Transcript:
    """Returns the progress that `encode_transcript` wrote."""
    return Transcript(*json.loads(text))


@cache
def _worker_device() -> LocalDevice:
    return device_for_gpu(find_gpu(), find_ncu())


@cache
def _folder() -> Path:
    """Returns the folder for rungs' files. Dask removes it when the worker ends, or when the next one starts."""
    from distributed import get_worker

    folder = Path(get_worker().local_directory) / "prof"
    folder.mkdir(exist_ok=True)
    return folder
