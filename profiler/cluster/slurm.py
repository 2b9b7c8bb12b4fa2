"""Starts workers as Slurm jobs, for as long as one command needs them.

Work begins as soon as one worker is connected. A job that ends by itself is replaced; one that somebody
cancelled is not. No job ever stays in the queue: when this process is killed, its workers lose their
scheduler, and end with their jobs within a minute.
"""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

from profiler.cluster.connection import prepare_dask
from profiler.cluster.slurm_answers import (
    Ending,
    JobState,
    cancel,
    default_log,
    find_log,
    last_lines,
    read_ending,
    read_states,
)
from profiler.cluster.worker_pool import WorkerPool
from profiler.errors import ClusterNotInstalled, SlurmFailed

if TYPE_CHECKING:
    from profiler.cluster.slurm_jobs import SlurmCluster, Submitter, WorkerJob

POLL_S = 5.0  # Slurm's controller serves everybody, so ask it seldom
WAIT_S = 3600.0
PYTHON, INTERFACE = "PROF_CLUSTER_PYTHON", "PROF_CLUSTER_INTERFACE"
_FIRST_POLL_S = 0.25
_CLOSE_S = 60.0


def start_slurm_workers(
    options: str, workers: int, *, gpus: bool = True, say: Callable[[str], None] = lambda _: None
) -> WorkerPool:
    """Submits `workers` jobs of one worker each, with `options` as one would type them after sbatch.

    With `gpus`, each worker advertises the GPU that its job was given. Returns when the first worker is
    connected; SlurmFailed when none is within an hour. `say` gets lines for the user, also from another
    thread.
    """
    words = _words(options)
    if shutil.which("sbatch") is None:
        raise SlurmFailed(
            "there is no sbatch on the PATH", remedy="Run this where jobs are submitted: on a login node."
        )
    client_of = prepare_dask()
    queue = _Queue(*_start_cluster(words, gpus=gpus), workers, say)
    try:
        queue.cluster.scale(jobs=workers)
        queue.wait_for_one()
        pool = WorkerPool(client_of(queue.cluster, set_as_default=False), queue.close, queue.coming)
    except BaseException:
        queue.close()
        raise
    queue.watch()
    return pool


def _words(options: str) -> list[str]:
    try:
        return shlex.split(options)
    except ValueError as error:
        raise SlurmFailed(f"--slurm {options!r}: {error}") from None


def _start_cluster(words: Sequence[str], *, gpus: bool) -> tuple[SlurmCluster, Submitter]:
    """Starts the scheduler, and returns it with what submits its jobs."""
    try:
        with _keeping_interrupt():
            from profiler.cluster.slurm_jobs import Submitter, start_cluster
        # The user's options come last, so they decide.
        submitter = Submitter(["sbatch", "--parsable", "--output", str(default_log("%j")), *words])
        return start_cluster(submitter, gpus, os.environ.get(PYTHON), os.environ.get(INTERFACE)), submitter
    except ImportError as error:
        raise ClusterNotInstalled(f"what Slurm needs is not installed: {error}") from None
    except RuntimeError as error:
        raise SlurmFailed(
            f"no scheduler for the workers: {error}",
            remedy=f"Correct {INTERFACE}: `ip link` lists the interfaces.",
        ) from None


@contextmanager
def _keeping_interrupt() -> Iterator[None]:
    """Keeps our own handling of Ctrl-C: dask-jobqueue replaces it when imported, and then exits as if all were well."""
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        if signal.getsignal(signal.SIGINT) is not before:
            signal.signal(signal.SIGINT, before)


@dataclass
class _Queue:
    """The jobs of one pool: waits for their workers, and replaces jobs that end."""

    cluster: SlurmCluster
    submitter: Submitter
    workers: int
    say: Callable[[str], None]
    _joined: set[str] = field(default_factory=set)  # workers that have been connected
    _in_vain: int = 0  # jobs in a row that ended before their worker connected
    _last_said: str = ""
    _closed: Event = field(default_factory=Event)
    _watching: Thread | None = None

    def wait_for_one(self) -> None:
        """Returns when a worker is connected; SlurmFailed when none can come any more, or none came for an hour."""
        deadline = time.monotonic() + WAIT_S
        pause_s = _FIRST_POLL_S
        while not self._has_worker():
            if len(self._jobs()) == self.workers:  # all are submitted
                self._look_at_queue()
            if time.monotonic() > deadline:
                raise SlurmFailed(
                    f"Slurm started no job within {WAIT_S:g} s{self._last_said and ': '}{self._last_said}",
                    remedy="See `squeue --me` and `sinfo`: ask for less, or for another partition.",
                )
            time.sleep(pause_s)
            pause_s = min(pause_s * 1.3, POLL_S)

    def watch(self) -> None:
        """Replaces jobs that end, in another thread, until the queue is closed."""
        self._watching = Thread(target=self._replace_until_closed, name="slurm", daemon=True)
        self._watching.start()

    def coming(self) -> bool:
        """Returns whether a job has no connected worker: not yet, or no longer."""
        connected = self._connected()
        return any(job.number and job.worker not in connected for job in self._jobs())

    def close(self) -> None:
        """Ends all workers, and removes the logs of those that were connected."""
        self._closed.set()
        if self._watching is not None:
            self._watching.join(timeout=_CLOSE_S)
        self._has_worker()  # some may have connected since the last look
        with suppress(Exception):  # the scheduler may be gone already
            self.cluster.close(timeout=_CLOSE_S)
        self._cancel_rest()
        for job in self._jobs():
            if job.worker in self._joined:  # the log of a job that never had a worker says why
                default_log(job.number).unlink(missing_ok=True)

    # Workers and jobs

    def _jobs(self) -> list[WorkerJob]:
        """Returns the jobs as they are now: another thread submits some."""
        return list(self.submitter.jobs.values())

    def _connected(self) -> set[str]:
        scheduler: Any = self.cluster.scheduler
        return {str(worker.name) for worker in list(scheduler.workers.values())}

    def _has_worker(self) -> bool:
        """Returns whether any worker is connected, or was."""
        self._joined |= self._connected()
        return bool(self._joined)

    def _say_how_many_wait(self, states: Mapping[str, JobState]) -> None:
        known = [states[job.number] for job in self._jobs() if job.number in states]
        waiting = [state for state in known if state.name == "PENDING"]
        reasons = ", ".join(sorted({state.reason for state in waiting} - {"None"}))
        said = f"{len(waiting)} of {self.workers} jobs wait in Slurm's queue ({reasons})" if reasons else ""
        if said and said != self._last_said:
            self.say(said)
        self._last_said = said

    # Before a worker came

    def _look_at_queue(self) -> None:
        """Says how many jobs wait; raises SlurmFailed when none can bring a worker any more."""
        refusals = [job.refusal for job in self._jobs()]
        if refusals[0] is not None and None not in refusals:
            raise SlurmFailed("Slurm refuses the jobs", details=_indented(refusals[0].splitlines()))
        states = read_states()
        if states is None or self._has_worker():
            return
        if all(_is_over(job, states) for job in self._jobs()):
            raise self._error_of_ended()
        self._say_how_many_wait(states)

    def _error_of_ended(self) -> SlurmFailed:
        jobs = self._jobs()
        job = next(job for job in jobs if job.refusal is None)
        log = find_log(job.number)
        all_of_them = f"all {len(jobs)} jobs ended; " if len(jobs) > 1 else ""
        return SlurmFailed(
            f"no worker came: {all_of_them}{read_ending(job.number).text}",
            details=[f"  {log}:", *_indented(last_lines(log))],
            remedy=f"Correct what the log says. A node needs this prof at the same path, or in the Python that {PYTHON} names, "
            f"and a way to this host ({INTERFACE}).",
        )

    # While the pool is used, in a thread of its own

    def _replace_until_closed(self) -> None:
        while not self._closed.wait(POLL_S):
            self._has_worker()
            states = read_states()
            if states is not None:
                self._replace([job for job in self._jobs() if _is_over(job, states)])
                self._say_how_many_wait(states)

    def _replace(self, ended: Sequence[WorkerJob]) -> None:
        """Submits a job for each that ended. None for one that was cancelled, or when too many ended before their worker connected."""
        if not ended:
            return
        left_empty = 0
        for job in ended:
            del self.submitter.jobs[job.worker]
            self._in_vain = 0 if job.worker in self._joined else self._in_vain + 1
            ending = Ending(job.refusal.splitlines()[-1]) if job.refusal else read_ending(job.number)
            is_replaced = not ending.was_cancelled and self._in_vain <= self.workers
            self.say(
                f"{ending.text}; {'another takes its place' if is_replaced else 'its place stays empty'}"
            )
            left_empty += not is_replaced
        self.workers -= left_empty
        self.cluster.sync(self._submit_again, [job.worker for job in ended])

    async def _submit_again(self, names: Iterable[str]) -> None:
        for name in names:
            self.cluster.worker_spec.pop(name, None)
        self.cluster.scale(jobs=self.workers)

    # At the end

    def _cancel_rest(self) -> None:
        """Cancels what the scheduler could not cancel."""
        numbers = [job.number for job in self._jobs() if job.number and not job.is_cancelled]
        states = read_states() if numbers else {}
        left = [number for number in numbers if states is None or number in states]
        if left and not cancel(left):
            self.say(f"Slurm did not cancel what is left: `scancel {' '.join(left)}` does")


def _is_over(job: WorkerJob, states: Mapping[str, JobState]) -> bool:
    return job.refusal is not None or job.number not in states


def _indented(lines: Iterable[str]) -> list[str]:
    return [f"    {line}" for line in lines]
