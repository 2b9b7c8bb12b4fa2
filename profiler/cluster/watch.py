"""Watches which workers a scheduler has, when each was last heard of, and whether the scheduler itself answers."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from threading import Condition, Event, Thread
from typing import TYPE_CHECKING, Any

from profiler.errors import ProfError, SchedulerLost

if TYPE_CHECKING:
    from distributed import Client

POLL_S = 0.5
_POLL_PER_WORKER_S = 0.005  # a thousand workers are listed every five seconds
_PAUSE_FACTOR = 4  # listing takes at most a fifth of the time, since the scheduler has other work


@dataclass(frozen=True)
class Worker:
    """A worker process. A process that replaces a dead one is another worker."""

    name: str
    address: str
    host: str
    gpus: int  # how many it advertises, as the resource GPU
    threads: int
    memory_bytes: int  # how much it may take; 0 means no limit
    folder: str = ""  # its scratch folder, by which a process differs from the next one at the same address


class Watch:
    """Calls `gone` with every worker that left, and with None when the scheduler ends."""

    def __init__(self, client: Client, gone: Callable[[Worker | None], None]) -> None:
        self._client, self._gone = client, gone
        self._workers: dict[str, Worker] = {}
        # By address: the worker's last sign of life, and since when the scheduler reports it.
        self._seen: dict[str, tuple[float, float]] = {}
        self._changed = Condition()
        self._ended = Event()
        self._looked = time.monotonic()
        self.lost: ProfError | None = None
        self._look()
        self._thread = Thread(target=self._run, name="watch", daemon=True)
        self._thread.start()

    def workers(self) -> list[Worker]:
        with self._changed:
            return list(self._workers.values())

    def has(self, worker: Worker) -> bool:
        with self._changed:
            return self._workers.get(worker.address) == worker

    def silent_s(self, worker: Worker) -> float:
        """Returns for how long the worker has not reported to the scheduler."""
        with self._changed:
            _, since = self._seen.get(worker.address, (0.0, time.monotonic()))
        return time.monotonic() - since

    def old_s(self) -> float:
        """Returns for how long the scheduler has not listed its workers."""
        return time.monotonic() - self._looked

    def wait(self, timeout_s: float) -> None:
        """Waits until a worker came or left, or the time is up."""
        with self._changed:
            self._changed.wait(timeout_s)

    def close(self) -> None:
        self._ended.set()
        self._thread.join(timeout=5)

    def _run(self) -> None:
        took = 0.0
        while not self._ended.wait(
            max(POLL_S, _POLL_PER_WORKER_S * len(self._workers), _PAUSE_FACTOR * took)
        ):
            started = time.monotonic()
            try:
                self._look()
            except Exception as error:  # whatever Dask raises: the scheduler does not answer any more
                self._end(error)
                return
            took = time.monotonic() - started

    def _look(self) -> None:
        if self._client.status != "running":
            raise ConnectionError(f"the connection is {self._client.status}")
        scheduler: Any = self._client.scheduler
        try:
            # Client.scheduler_info would return what another thread may have replaced by a list without workers.
            identity = self._client.sync(scheduler.identity, n_workers=-1)
        except OSError:
            return  # the next look, old_s, or the client's status shows whether the scheduler is gone
        found: Mapping[str, Any] = identity["workers"]
        workers = {address: _worker_of(address, facts) for address, facts in found.items()}
        now = self._looked = time.monotonic()
        with self._changed:
            left = [worker for worker in self._workers.values() if workers.get(worker.address) != worker]
            came = workers.keys() - self._workers.keys()
            self._workers = workers
            self._seen = {
                address: (said, self._since(address, said, now))
                for address, facts in found.items()
                for said in [float(facts.get("last_seen", 0.0))]
            }
            if left or came:
                self._changed.notify_all()
        for worker in left:
            self._gone(worker)

    def _since(self, address: str, said: float, now: float) -> float:
        before, since = self._seen.get(address, (None, now))
        return since if before == said else now

    def _end(self, error: Exception) -> None:
        if self._ended.is_set():
            return
        self.lost = SchedulerLost(f"the Dask scheduler is gone: {error}")
        with self._changed:
            self._workers = {}
            self._changed.notify_all()
        self._gone(None)


def _worker_of(address: str, facts: Mapping[str, Any]) -> Worker:
    return Worker(
        name=str(facts.get("name") or address),
        address=address,
        host=str(facts.get("host", "")),
        gpus=int(facts.get("resources", {}).get("GPU", 0)),
        threads=int(facts.get("nthreads", 1)),
        memory_bytes=int(facts.get("memory_limit") or 0),
        folder=str(facts.get("local_directory", "")),
    )
