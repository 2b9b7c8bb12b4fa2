"""Starts workers as Slurm jobs, for as long as one command needs them.

Work begins as soon as one worker is connected. A job that ends by itself is replaced; one that somebody
cancelled is not. No job ever stays in the queue: when this process is killed, its workers lose their
scheduler, and end with their jobs within a minute.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

from profiler.cluster.connection import prepare_dask
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
    try:
        with _keeping_interrupt():
            from profiler.cluster.slurm_jobs import Submitter, start_cluster
        # The user's options come last, so they decide.
        submitter = Submitter(["sbatch", "--parsable", "--output", str(default_log("%j")), *words])
        cluster = start_cluster(submitter, gpus, os.environ.get(PYTHON), os.environ.get(INTERFACE))
    except ImportError as error:
        raise ClusterNotInstalled(f"what Slurm needs is not installed: {error}") from None
    except RuntimeError as error:
        raise SlurmFailed(
            f"no scheduler for the workers: {error}",
            remedy=f"Correct {INTERFACE}: `ip link` lists the interfaces.",
        ) from None
    queue = _Queue(cluster, submitter, workers, say)
    try:
        cluster.scale(jobs=workers)
        queue.wait_for_one()
        pool = WorkerPool(client_of(cluster, set_as_default=False), queue.close, queue.coming)
    except BaseException:
        queue.close()
        raise
    queue.watch()
    return pool


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
    _ended: Event = field(default_factory=Event)
    _thread: Thread | None = None

    def wait_for_one(self) -> None:
        deadline = time.monotonic() + WAIT_S
        pause_s = _FIRST_POLL_S
        while not self._has_worker():
            if len(self.submitter.jobs) == self.workers:  # all are submitted
                self._check_not_all_refused()
                states = _read_states()
                if states is not None and not self._has_worker():
                    self._check_some_live(states)
                    self._say_how_many_wait(states)
            if time.monotonic() > deadline:
                raise SlurmFailed(
                    f"Slurm started no job within {WAIT_S:g} s{self._last_said and ': '}{self._last_said}",
                    remedy="See `squeue --me` and `sinfo`: ask for less, or for another partition.",
                )
            time.sleep(pause_s)
            pause_s = min(pause_s * 1.3, POLL_S)

    def watch(self) -> None:
        self._thread = Thread(target=self._run, name="slurm", daemon=True)
        self._thread.start()

    def coming(self) -> bool:
        """Returns whether a job has no connected worker: not yet, or no longer."""
        there = self._there()
        return any(job.number and job.worker not in there for job in list(self.submitter.jobs.values()))

    def close(self) -> None:
        self._ended.set()
        if self._thread is not None:
            self._thread.join(timeout=_CLOSE_S)
        self._has_worker()  # some may have connected since the last look
        with suppress(Exception):  # the scheduler may be gone already
            self.cluster.close(timeout=_CLOSE_S)
        jobs = list(self.submitter.jobs.values())
        self._cancel_rest([job.number for job in jobs if job.number and not job.is_cancelled])
        for job in jobs:
            if job.worker in self._joined:  # the log of a job that never had a worker says why
                default_log(job.number).unlink(missing_ok=True)

    def _cancel_rest(self, numbers: Sequence[str]) -> None:
        states = _read_states() if numbers else {}
        left = [number for number in numbers if states is None or number in states]
        if left and _ask("scancel", *left) is None:
            self.say(f"Slurm did not cancel what is left: `scancel {' '.join(left)}` does")

    def _run(self) -> None:
        while not self._ended.wait(POLL_S):
            self._has_worker()
            states = _read_states()
            if states is not None:
                self._replace([job for job in list(self.submitter.jobs.values()) if _is_over(job, states)])
                self._say_how_many_wait(states)

    def _has_worker(self) -> bool:
        """Returns whether any worker is connected, or was."""
        self._joined |= self._there()
        return bool(self._joined)

    def _there(self) -> set[str]:
        scheduler: Any = self.cluster.scheduler
        return {str(worker.name) for worker in list(scheduler.workers.values())}

    def _check_not_all_refused(self) -> None:
        refusals = [job.refusal for job in self.submitter.jobs.values()]
        if refusals[0] is not None and None not in refusals:
            raise SlurmFailed("Slurm refuses the jobs", details=_indented(refusals[0].splitlines()))

    def _check_some_live(self, states: Mapping[str, JobState]) -> None:
        jobs = list(self.submitter.jobs.values())
        if not all(_is_over(job, states) for job in jobs):
            return
        job = next(job for job in jobs if job.refusal is None)
        path = Path(_facts_of(job.number).get("StdErr", default_log(job.number)))
        all_of_them = f"all {len(jobs)} jobs ended; " if len(jobs) > 1 else ""
        raise SlurmFailed(
            f"no worker came: {all_of_them}{_ending_of(job.number)[1]}",
            details=[f"  {path}:", *_indented(_last_lines(path))],
            remedy=f"Correct what the log says. A node needs this prof at the same path, or in the Python that {PYTHON} names, "
            f"and a way to this host ({INTERFACE}).",
        )

    def _replace(self, jobs: Sequence[WorkerJob]) -> None:
        if not jobs:
            return
        lost = 0
        for job in jobs:
            del self.submitter.jobs[job.worker]
            self._in_vain = 0 if job.worker in self._joined else self._in_vain + 1
            was_cancelled, text = (
                (False, job.refusal.splitlines()[-1]) if job.refusal else _ending_of(job.number)
            )
            goes_on = not was_cancelled and self._in_vain <= self.workers
            self.say(f"{text}; {'another takes its place' if goes_on else 'its place stays empty'}")
            lost += not goes_on
        self.workers -= lost
        self.cluster.sync(self._submit_again, [job.worker for job in jobs])

    async def _submit_again(self, names: Iterable[str]) -> None:
        for name in names:
            self.cluster.worker_spec.pop(name, None)
        self.cluster.scale(jobs=self.workers)

    def _say_how_many_wait(self, states: Mapping[str, JobState]) -> None:
        waiting = [
            states[job.number]
            for job in list(self.submitter.jobs.values())
            if job.number in states and states[job.number][0] == "PENDING"
        ]
        reasons = ", ".join(sorted({reason for _, reason in waiting} - {"None"}))
        said = f"{len(waiting)} of {self.workers} jobs wait in Slurm's queue ({reasons})" if reasons else ""
        if said and said != self._last_said:
            self.say(said)
        self._last_said = said


@contextmanager
def _keeping_interrupt() -> Iterator[None]:
    """Keeps our own handling of Ctrl-C: dask-jobqueue replaces it when imported, and then exits as if all were well."""
    before = signal.getsignal(signal.SIGINT)
    yield
    if signal.getsignal(signal.SIGINT) is not before:
        signal.signal(signal.SIGINT, before)


def _words(options: str) -> list[str]:
    try:
        return shlex.split(options)
    except ValueError as error:
        raise SlurmFailed(f"--slurm {options!r}: {error}") from None


def _is_over(job: WorkerJob, states: Mapping[str, JobState]) -> bool:
    return job.refusal is not None or job.number not in states


def _indented(lines: Iterable[str]) -> list[str]:
    return [f"    {line}" for line in lines]


_ASK_S = 30.0
_LOG_LINES = 10
_LOG_BYTES = 8192
_SAID = {
    "CANCELLED": "was cancelled",
    "NODE_FAIL": "lost its node",
    "OUT_OF_MEMORY": "took more memory than it had",
    "PREEMPTED": "made way for another",
    "TIMEOUT": "had no time left",
}
# A job that is COMPLETING is not over yet: Slurm does not know how it ended.
_OVER = {*_SAID, "BOOT_FAIL", "COMPLETED", "DEADLINE", "FAILED"}


JobState = tuple[str, str]  # PENDING, for example, and why


def _read_states() -> dict[str, JobState] | None:
    """Returns the states of all jobs of this user that are not over; None when Slurm does not answer."""
    answer = _ask("squeue", "--noheader", "--user", str(os.getuid()), "--format", "%i %T %r")
    if answer is None:
        return None
    found = {}
    for line in answer.splitlines():
        number, state, reason = (*line.split(None, 2), "", "")[:3]
        if state not in _OVER:
            found[number] = state, reason
    return found


def _ending_of(number: str) -> tuple[bool, str]:
    """Returns whether the job was cancelled, and how it ended, as long as Slurm remembers it."""
    facts = _facts_of(number)
    state = facts.get("JobState", "")
    code, _, signal = facts.get("ExitCode", "0:0").partition(":")
    how = f" by signal {signal}" if signal not in ("", "0") else ""
    if code != "0":
        how = f" with exit code {code}"
    said = _SAID.get(state, f"ended{how}")
    return state == "CANCELLED", f"job {number} {said}"


def _facts_of(number: str) -> dict[str, str]:
    return dict(re.findall(r"(\w+)=(\S*)", _ask("scontrol", "--oneliner", "show", "job", number) or ""))


def _ask(*command: str) -> str | None:
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=_ASK_S, check=False,
            stdin=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None


def default_log(number: str) -> Path:
    """Returns the log of a job unless the user names another. On most clusters the nodes see its folder too."""
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    folder = Path(state) / "prof" / "slurm"
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"{number}.log"


def _last_lines(path: Path) -> list[str]:
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - _LOG_BYTES))
            lines = file.read().decode(errors="replace").splitlines()
    except OSError as error:
        return [f"cannot be read here: {error.strerror}"]
    return [line for line in lines if line.strip()][-_LOG_LINES:] or ["it is empty"]
