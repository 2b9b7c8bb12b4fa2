"""The GPUs of a cluster's workers, each as a bench of the client; what they record comes back as bytes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Event
from time import monotonic
from types import TracebackType
from typing import Self

from profiler.cluster.watch import Worker
from profiler.cluster.worker_pool import WorkerPool
from profiler.errors import (
    InternalError,
    NoWorkerLeft,
    ProfError,
    SchedulerLost,
    WorkerLost,
    WorkerUnlike,
)
from profiler.measure.devices.bench import Bench, Order, Recorded
from profiler.measure.devices.job_files import kit_of, light, read_kit
from profiler.measure.devices.worker_tasks import (
    Answer,
    Brought,
    Errand,
    Facts,
    Lacking,
    Occupied,
    What,
    describe_worker,
    parse_transcript,
    run_errand,
)
from profiler.measure.rungs.program import Job
from profiler.measure.rungs.timing import Timed
from profiler.measure.tools.ncu import Ncu
from profiler.measure.tools.toolchain import Gpu
from profiler.measure.tools.transcript import Transcript
from profiler.store.runs.manifest import prof_version

_DESCRIBE_S = 60.0
_MUSTER_S = 60.0
_LATE_S = 2.0  # for the others, once one has said what it is
_MOST_ASKED = 64
_OCCUPIED_S = 0.2
_LOOK_S = 0.5
_REPORT = "report.ncu-rep"


@dataclass
class ClusterBench:
    crew: WorkerPool
    member: Worker
    facts: Facts
    _stopped: Event = field(default_factory=Event)

    @property
    def gpu(self) -> Gpu:
        return self.facts.gpu

    @property
    def ncu(self) -> Ncu:
        return self.facts.ncu

    def verify(self, job: Job, timeout_s: float) -> float | None:
        answer = self._send("verify", job, timeout_s)
        assert answer is None or isinstance(answer, float)
        return answer

    def time(self, job: Job, timeout_s: float) -> Timed:
        answer = self._send("time", job, timeout_s)
        assert isinstance(answer, Timed)
        return answer

    def record(self, order: Order, scratch: Path, at: Callable[[Transcript], None]) -> Recorded:
        answer = self._send(
            "record", order.target.job, order.timeout_s, order, lambda text: at(parse_transcript(text))
        )
        assert isinstance(answer, Brought)
        report = scratch / _REPORT
        report.write_bytes(answer.report)
        return Recorded(report, answer.launches, answer.passes)

    def stop(self) -> None:
        self._stopped.set()

    def _send(
        self,
        what: What,
        job: Job | None,
        timeout_s: float,
        order: Order | None = None,
        on_message: Callable[[str], None] | None = None,
    ) -> Answer:
        """The files of a rung go with the errand only when the worker says that it lacks them."""
        kit = kit_of(job) if job is not None else None
        bare = replace(order, target=replace(order.target, job=None, built=None)) if order else None
        errand = Errand(what, light(job) if job is not None else None, kit, timeout_s, bare)
        try:
            answer = self._wait_for(errand, None, on_message)
            if isinstance(answer, Lacking):
                assert job is not None
                assert kit is not None
                answer = self._wait_for(errand, read_kit(job, kit), on_message)
        except (WorkerLost, SchedulerLost):
            raise
        except ProfError as error:
            details = [*error.details, f"    on worker {self.member.name}"]
            raise type(error)(error.message, details=details, remedy=error.remedy) from None
        return answer

    def _wait_for(
        self, errand: Errand, files: dict[str, bytes] | None, on_message: Callable[[str], None] | None
    ) -> Answer:
        timeout_s = errand.timeout_s
        deadline = monotonic() + timeout_s
        while True:
            answer: Answer = self.crew.call(
                self.member, run_errand, errand, files, timeout_s=timeout_s, gpu=True, on_message=on_message
            )
            if not isinstance(answer, Occupied):
                return answer
            if monotonic() > deadline:
                raise WorkerLost(
                    f"worker {self.member.name}: another process has measured on its GPU for {timeout_s:g} s"
                )
            if self._stopped.wait(_OCCUPIED_S):
                raise WorkerLost(f"worker {self.member.name} was left")


class ClusterFleet:
    """The workers of a crew that have a GPU like most of them; the others are left out, and told."""

    def __init__(self, crew: WorkerPool, note: Callable[[str], None]) -> None:
        self._crew = crew
        self.note = note
        self._asked: dict[Worker, Future[Facts]] = {}
        self._asking = ThreadPoolExecutor(_MOST_ASKED, thread_name_prefix="ask")
        self._benches: dict[Worker, ClusterBench] = {}
        self._model: tuple[str, str, str] | None = None

    def expect(self, bench: Bench) -> None:
        """Workers like this one are used."""
        self._model = (bench.gpu.name, bench.gpu.arch, bench.ncu.version)

    def muster(self) -> Bench:
        """The bench that stands for all: a GPU and an ncu as most of those that are there now have them."""
        found = self._first_facts(_MUSTER_S)
        models = Counter(_model_of(facts) for _, facts in found)
        self._model = max(models, key=models.__getitem__)
        member, facts = next(one for one in found if _model_of(one[1]) == self._model)
        return ClusterBench(self._crew, member, facts)

    def workers(self) -> Sequence[Worker]:
        return [member for member in self._crew.available() if member.gpus]

    def enlist(self, worker: Worker) -> Bench | None:
        try:
            facts = self._ask(worker).result()
        except (WorkerLost, SchedulerLost):
            raise
        except ProfError as error:
            self.note(f"left out    worker {worker.name}: {error.message}")
            return None
        if facts.prof_version != prof_version():
            self.note(f"left out    {_unlike(worker, facts).message}")
            return None
        if _model_of(facts) != self._model:
            assert self._model is not None
            gpu, _, ncu = self._model
            self.note(
                f"left out    worker {worker.name}: {facts.gpu.name} with ncu {facts.ncu.version}, not {gpu} with ncu {ncu}"
            )
            return None
        bench = self._benches[worker] = ClusterBench(self._crew, worker, facts)
        return bench

    def coming(self) -> bool:
        return self._crew.coming()

    def interrupt(self) -> None:
        for bench in list(self._benches.values()):
            bench.stop()
        self._crew.interrupt()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.interrupt()
        self._asking.shutdown(wait=False, cancel_futures=True)

    def _first_facts(self, timeout_s: float) -> list[tuple[Worker, Facts]]:
        deadline = monotonic() + timeout_s
        failed: dict[str, BaseException] = {}
        while True:
            asked = {self._ask(member): member for member in self.workers()}
            if asked:
                wait(asked, timeout=_LOOK_S)
            else:
                self._crew.wait(_LOOK_S)
            if any(_is_good(one) for one in asked):
                wait(asked, timeout=_LATE_S)
                break
            failed |= {
                asked[one].name: error
                for one in asked
                if one.done() and (error := one.exception()) is not None
            }
            if monotonic() > deadline or (asked and all(one.done() for one in asked)):
                raise self._nobody(timeout_s, failed)
        found = [(member, one.result()) for one, member in asked.items() if _is_good(one)]
        for member, facts in found:
            if facts.prof_version != prof_version():
                raise _unlike(member, facts)
        return found

    def _nobody(self, timeout_s: float, failed: dict[str, BaseException]) -> ProfError:
        errors = list(failed.values())
        if errors:
            details = [f"    worker {name}: {_first_line(error)}" for name, error in failed.items()]
            if isinstance(errors[0], ProfError) and len({type(error) for error in errors}) == 1:
                return type(errors[0])("no worker can measure", details=details, remedy=errors[0].remedy)
            return NoWorkerLeft("no worker can measure", details=details)
        others = len(self._crew.available())
        if others:
            return NoWorkerLeft(
                f"none of the {others} workers has a GPU to offer",
                remedy="Start them with `prof worker ADDRESS`, or with `dask worker ADDRESS --nthreads 1 --resources GPU=1`.",
            )
        return NoWorkerLeft(f"no worker came within {timeout_s:g} s")

    def _ask(self, member: Worker) -> Future[Facts]:
        if member not in self._asked:
            self._asked[member] = self._asking.submit(self._describe, member)
        return self._asked[member]

    def _describe(self, member: Worker) -> Facts:
        try:
            facts: Facts = self._crew.call(member, describe_worker, timeout_s=_DESCRIBE_S)
        except InternalError as error:
            raise WorkerUnlike(f"worker {member.name} cannot say what it is: {error.message}") from None
        return facts


def _model_of(facts: Facts) -> tuple[str, str, str]:
    return facts.gpu.name, facts.gpu.arch, facts.ncu.version


def _is_good(asked: Future[Facts]) -> bool:
    return asked.done() and not asked.cancelled() and asked.exception() is None


def _first_line(error: BaseException) -> str:
    return error.message if isinstance(error, ProfError) else str(error)


def _unlike(member: Worker, facts: Facts) -> WorkerUnlike:
    return WorkerUnlike(f"worker {member.name} has prof {facts.prof_version}, and this is {prof_version()}")
