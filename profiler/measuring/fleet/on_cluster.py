"""The GPUs of a cluster's workers, used as devices of this process; reports come back as bytes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Event
from time import monotonic
from typing import Self

from profiler.cluster.watch import Worker
from profiler.cluster.worker_pool import WorkerPool
from profiler.errors import InternalError, NoWorkerLeft, ProfError, SchedulerLost, WorkerLost, WorkerUnlike
from profiler.measuring.collect.device import Device, Order, Recorded
from profiler.measuring.collect.target import REPORT_FILE
from profiler.measuring.fleet.worker_tasks import (
    FilesMissing,
    GpuOccupied,
    ReportBytes,
    TaskAnswer,
    TaskKind,
    WorkerFacts,
    WorkerTask,
    decode_transcript,
    describe_worker,
    run_task,
)
from profiler.measuring.rungs.job_files import list_job_files, read_job_files, trim_job
from profiler.measuring.rungs.program import RungJob
from profiler.measuring.tools.gpus import Gpu
from profiler.measuring.tools.ncu import Ncu
from profiler.measuring.tools.transcript import Transcript
from profiler.store.process_timings import ProcessTimings
from profiler.store.runs.manifest import prof_version

_DESCRIBE_S = 60.0
FIRST_ANSWER_S = 60.0
_LATE_S = 10.0  # time for the other workers to answer, after the first one
_MOST_AT_A_TIME = 64
_OCCUPIED_S = 0.2
_LOOK_S = 0.5


@dataclass
class WorkerDevice:
    """The GPU of one worker."""

    pool: WorkerPool
    worker: Worker
    facts: WorkerFacts
    _stopped: Event = field(default_factory=Event)

    @property
    def gpu(self) -> Gpu:
        return self.facts.gpu

    @property
    def ncu(self) -> Ncu:
        return self.facts.ncu

    def verify(self, job: RungJob, timeout_s: float) -> float | None:
        answer = self._send("verify", job, timeout_s)
        assert answer is None or isinstance(answer, float)
        return answer

    def time(self, job: RungJob, timeout_s: float) -> ProcessTimings:
        answer = self._send("time", job, timeout_s)
        assert isinstance(answer, ProcessTimings)
        return answer

    def record(self, order: Order, scratch: Path, at: Callable[[Transcript], None]) -> Recorded:
        answer = self._send(
            "record", order.target.job, order.timeout_s, order, lambda text: at(decode_transcript(text))
        )
        assert isinstance(answer, ReportBytes)
        report = scratch / REPORT_FILE
        report.write_bytes(answer.report)
        return Recorded(report, answer.launches, answer.passes)

    def stop(self) -> None:
        self._stopped.set()

    def _send(
        self,
        what: TaskKind,
        job: RungJob | None,
        timeout_s: float,
        order: Order | None = None,
        on_message: Callable[[str], None] | None = None,
    ) -> TaskAnswer:
        """Sends the task. The rung's files are sent only when the worker answers that it lacks them."""
        needed = list_job_files(job) if job is not None else None
        bare = replace(order, target=replace(order.target, job=None, built=None)) if order else None
        task = WorkerTask(what, trim_job(job) if job is not None else None, needed, timeout_s, bare)
        try:
            answer = self._wait_for(task, None, on_message)
            if isinstance(answer, FilesMissing):
                assert job is not None
                assert needed is not None
                answer = self._wait_for(task, read_job_files(job, needed), on_message)
        except (WorkerLost, SchedulerLost):
            raise
        except ProfError as error:
            raise error.changed(details=[*error.details, f"    on worker {self.worker.name}"]) from None
        return answer

    def _wait_for(
        self, task: WorkerTask, files: dict[str, bytes] | None, on_message: Callable[[str], None] | None
    ) -> TaskAnswer:
        timeout_s = task.timeout_s
        deadline = monotonic() + timeout_s
        while True:
            answer: TaskAnswer = self.pool.call(
                self.worker, run_task, task, files, timeout_s=timeout_s, gpu=True, on_message=on_message
            )
            if not isinstance(answer, GpuOccupied):
                return answer
            if monotonic() > deadline:
                raise WorkerLost(
                    f"worker {self.worker.name}: another process has measured on its GPU for {timeout_s:g} s"
                )
            if self._stopped.wait(_OCCUPIED_S):
                raise WorkerLost(f"worker {self.worker.name} is no longer needed")


class ClusterFleet:
    """The workers of a pool that have the most common GPU and ncu. `note` receives a line for each one left out."""

    def __init__(self, pool: WorkerPool, note: Callable[[str], None]) -> None:
        self._pool = pool
        self.coming = pool.coming
        self.note = note
        self._asked: dict[Worker, Future[WorkerFacts]] = {}
        self._asking = ThreadPoolExecutor(_MOST_AT_A_TIME, thread_name_prefix="ask")
        self._devices: dict[Worker, WorkerDevice] = {}
        self._model: tuple[str, str, str] | None = None

    def expect(self, device: Device) -> None:
        """Sets the GPU and the ncu that a worker must have."""
        self._model = (device.gpu.name, device.gpu.arch, device.ncu.version)

    def choose_model(self) -> Device:
        """Chooses the GPU and the ncu that most of the present workers have, and returns one such device."""
        found = self._first_facts()
        models = Counter(_model_of(facts) for _, facts in found)
        self._model = max(models, key=models.__getitem__)
        worker, facts = next(one for one in found if _model_of(one[1]) == self._model)
        return WorkerDevice(self._pool, worker, facts)

    def workers(self) -> Sequence[Worker]:
        """Returns the present workers; raises if they cannot be known."""
        return [worker for worker in self._pool.available() if worker.gpus]

    def device_of(self, worker: Worker) -> Device | None:
        """Returns the worker's device, or None if the worker is not used; raises WorkerLost."""
        try:
            facts = self._ask(worker).result()
        except (WorkerLost, SchedulerLost):
            raise
        except ProfError as error:
            self.note(f"left out    worker {worker.name}: {error.message}")
            return None
        if facts.prof_version != prof_version():
            self.note(f"left out    {_wrong_version(worker, facts).message}")
            return None
        if _model_of(facts) != self._model:
            assert self._model is not None
            gpu, _, ncu = self._model
            self.note(
                f"left out    worker {worker.name}: {facts.gpu.name} with ncu {facts.ncu.version}, not {gpu} with ncu {ncu}"
            )
            return None
        device = self._devices[worker] = WorkerDevice(self._pool, worker, facts)
        return device

    def interrupt(self) -> None:
        """Ends what the devices are doing; the threads that wait for them go on."""
        for device in list(self._devices.values()):
            device.stop()
        self._pool.interrupt()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.interrupt()
        self._asking.shutdown(wait=False, cancel_futures=True)

    def _first_facts(self) -> list[tuple[Worker, WorkerFacts]]:
        """Waits for the first worker that answers, and a little for the others; raises if none can measure."""
        deadline = monotonic() + FIRST_ANSWER_S
        failed: dict[str, BaseException] = {}
        asked: dict[Future[WorkerFacts], Worker] = {}
        while not any(map(_is_good, asked)):
            if monotonic() > deadline or (asked and all(map(_is_unfit, asked))):
                raise self._no_worker(failed)
            asked = {self._ask(worker): worker for worker in self.workers()}
            if unanswered := [one for one in asked if not one.done()]:
                wait(unanswered, timeout=_LOOK_S)
            else:
                self._pool.wait(_LOOK_S)
            for one, worker in asked.items():
                if one.done() and (error := one.exception()) is not None:
                    failed[worker.name] = error
        wait(asked, timeout=_LATE_S)
        found = [(worker, one.result()) for one, worker in asked.items() if _is_good(one)]
        for worker, facts in found:
            if facts.prof_version != prof_version():
                raise _wrong_version(worker, facts)
        return found

    def _no_worker(self, failed: dict[str, BaseException]) -> ProfError:
        errors = list(failed.values())
        if errors:
            details = [
                f"    worker {name}: {error.message if isinstance(error, ProfError) else error}"
                for name, error in failed.items()
            ]
            if isinstance(errors[0], ProfError) and len({type(error) for error in errors}) == 1:
                return errors[0].changed("no worker can measure", details)
            return NoWorkerLeft("no worker can measure", details=details)
        others = len(self._pool.available())
        if others:
            return NoWorkerLeft(
                f"none of the {others} workers has a GPU to offer",
                remedy="Start them with `prof worker ADDRESS`, or with `dask worker ADDRESS --nthreads 1 --resources GPU=1`.",
            )
        return NoWorkerLeft(f"no worker came within {FIRST_ANSWER_S:g} s")

    def _ask(self, worker: Worker) -> Future[WorkerFacts]:
        if worker not in self._asked:
            self._asked[worker] = self._asking.submit(self._describe, worker)
        return self._asked[worker]

    def _describe(self, worker: Worker) -> WorkerFacts:
        try:
            facts: WorkerFacts = self._pool.call(worker, describe_worker, timeout_s=_DESCRIBE_S)
        except InternalError as error:
            raise WorkerUnlike(
                f"worker {worker.name} cannot report its GPU and its ncu: {error.message}"
            ) from None
        return facts


def _model_of(facts: WorkerFacts) -> tuple[str, str, str]:
    return facts.gpu.name, facts.gpu.arch, facts.ncu.version


def _is_good(asked: Future[WorkerFacts]) -> bool:
    return asked.done() and not asked.cancelled() and asked.exception() is None


def _is_unfit(asked: Future[WorkerFacts]) -> bool:
    """Returns whether the worker answered that it cannot measure. One that is lost may come back."""
    return asked.done() and not isinstance(asked.exception(), WorkerLost)


def _wrong_version(worker: Worker, facts: WorkerFacts) -> WorkerUnlike:
    return WorkerUnlike(f"worker {worker.name} has prof {facts.prof_version}, and this is {prof_version()}")
