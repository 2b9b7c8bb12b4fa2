"""Calls functions on workers, each on the worker that its caller chose.

Dask starts the calls and carries arguments and results. This module adds two guarantees: a call is never
repeated behind its caller's back, and its caller gets an error when it will never be answered.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import CancelledError, Future as ThreadFuture, wait
from contextlib import suppress
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Literal, Self
from uuid import uuid4

from profiler.cluster.watch import Watch, Worker
from profiler.cluster.worker_side import Failed, Replaced, key_of, perform, stop
from profiler.errors import ClusterUnreachable, InternalError, ProfError, SchedulerLost, WorkerLost

if TYPE_CHECKING:
    from distributed import Client, Future

GRACE_S = 15.0  # on top of the function's own time limit, for the way there and back
_SILENT_S = 30.0
_WAKE_S = 1.0
_CLOSE_S = 5.0
_WITHDRAW_S = 2.0  # a worker that hangs does not answer


@dataclass(frozen=True)
class _News:
    kind: Literal["began", "said", "answered", "left"]
    text: str = ""


@dataclass
class _Call:
    id: str
    worker: Worker
    news: SimpleQueue[_News] = field(default_factory=SimpleQueue)


class WorkerPool:
    """The workers of one scheduler; use it in a `with` statement. Each thread may make one call at a time."""

    def __init__(
        self,
        client: Client,
        close: Callable[[], None] = lambda: None,
        coming: Callable[[], bool] = lambda: False,
    ) -> None:
        self.coming = coming  # whether more workers will come, however long that takes
        self._client, self._close = client, close
        self._topic = f"prof-{uuid4().hex}"
        self._calls: dict[str, _Call] = {}
        self._abandoned: set[Worker] = set()
        self._withdrawing: list[ThreadFuture[Any]] = []
        client.subscribe_topic(self._topic, self._receive)
        self._watch = Watch(client, self._gone)

    def available(self) -> list[Worker]:
        """Returns the workers that are connected and answer; raises SchedulerLost when the scheduler does not."""
        self._check_scheduler()
        return [worker for worker in self._watch.workers() if worker not in self._abandoned]

    def wait(self, timeout_s: float) -> None:
        """Waits until a worker came or left, or the time is up."""
        self._watch.wait(timeout_s)

    def call(
        self,
        worker: Worker,
        function: Callable[..., Any],
        *arguments: Any,
        timeout_s: float,
        gpu: bool = False,
        on_message: Callable[[str], None] | None = None,
    ) -> Any:
        """Calls `function` on the worker; returns its result, or raises its ProfError.

        The function belongs to a module that the worker has too, and should keep to `timeout_s` itself.
        `on_message` gets the messages that it sends. With `gpu`, the worker makes one such call at a time, also
        if several clients ask. Raises WorkerLost when the worker will not answer; it may have done some or all
        of the work then.
        """
        self._check_scheduler()
        call = _Call(uuid4().hex, worker)
        self._calls[call.id] = call
        if not self._watch.has(worker) or worker in self._abandoned:
            del self._calls[call.id]
            raise WorkerLost(f"worker {worker.name} is gone")
        future = self._client.submit(
            perform, self._topic, call.id, worker.folder, function, arguments,
            key=key_of(call.id), workers=[worker.address], allow_other_workers=False,
            resources={"GPU": 1} if gpu else None, retries=0, pure=False,
        )  # fmt: skip
        answer = self._fetch(future, call)
        try:
            self._await(call, timeout_s, on_message)
            result = _result(answer, worker)
        except BaseException:
            self._withdraw(call, future)
            raise
        finally:
            del self._calls[call.id]
        if isinstance(result, Replaced):
            self._abandoned.add(worker)
            raise WorkerLost(_died(worker))
        return result

    def interrupt(self) -> None:
        """Withdraws every call under way; the threads that wait for them get WorkerLost."""
        for call in list(self._calls.values()):
            call.news.put(_News("left"))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._watch.close()
        wait(self._withdrawing, timeout=_WITHDRAW_S)
        with suppress(Exception):  # nobody needs the client any more, in whatever state it is
            self._client.close(timeout=_CLOSE_S)
        self._close()

    def _fetch(self, future: Future[Any], call: _Call) -> ThreadFuture[Any]:
        """Fetches the answer. Never cancel this: Dask fetches the answers of several calls together, and would lose them all."""

        async def gather() -> Any:
            return await self._client.gather(future, asynchronous=True)

        answer = self._in_loop(gather())
        answer.add_done_callback(lambda _: call.news.put(_News("answered")))
        return answer

    def _await(self, call: _Call, timeout_s: float, on_message: Callable[[str], None] | None) -> None:
        """Waits until the call is answered; raises an error when it will never be."""
        deadline: float | None = None
        while True:
            try:
                news = call.news.get(timeout=_WAKE_S)
            except Empty:
                self._check_patience(call.worker, deadline, timeout_s)
                continue
            if news.kind == "answered":
                return
            if news.kind == "left":
                raise self._watch.lost or WorkerLost(_died(call.worker))
            if news.kind == "began":
                deadline = time.monotonic() + timeout_s + GRACE_S
            elif on_message is not None:
                on_message(news.text)

    def _check_patience(self, worker: Worker, deadline: float | None, timeout_s: float) -> None:
        """Raises WorkerLost when patience has run out. A call may wait for its turn for ever while its worker is alive."""
        self._check_scheduler()
        if deadline is None:
            silent_s = self._watch.silent_s(worker)
            if silent_s <= min(_SILENT_S, timeout_s + GRACE_S):
                return
            message = f"worker {worker.name} has not been heard of for {silent_s:.0f} s"
        elif time.monotonic() < deadline:
            return
        else:
            message = f"worker {worker.name} did not answer within {timeout_s:g} s"
        self._abandoned.add(worker)
        raise WorkerLost(f"{message} and gets no more work")

    def _check_scheduler(self) -> None:
        if self._watch.lost is not None:
            raise self._watch.lost
        if self._client.status != "running":
            raise SchedulerLost("the Dask scheduler is gone: the connection to it broke")
        if (old_s := self._watch.old_s()) > _SILENT_S:
            raise SchedulerLost(f"the Dask scheduler has not answered for {old_s:.0f} s")

    def _withdraw(self, call: _Call, future: Future[Any]) -> None:
        """Asks the worker not to begin the call, or to stop it. Does not wait for that."""
        if self._client.status != "running":  # Dask would wait for a new connection
            return
        address = call.worker.address
        is_there = self._watch.has(call.worker) and call.worker not in self._abandoned

        async def withdraw() -> None:
            await self._client.cancel([future], asynchronous=True, force=True)
            if is_there:
                await self._client._run(stop, call.id, workers=[address], wait=False, on_error="ignore")

        self._withdrawing.append(self._in_loop(asyncio.wait_for(withdraw(), _WITHDRAW_S)))

    def _in_loop(self, work: Coroutine[Any, Any, Any]) -> ThreadFuture[Any]:
        """Runs a coroutine in the thread of Dask's client."""
        loop: Any = self._client.loop
        return asyncio.run_coroutine_threadsafe(work, loop.asyncio_loop)

    def _receive(self, event: tuple[float, Any]) -> None:
        _, message = event
        call = self._calls.get(message["call"])
        if call is not None:
            text = message["text"]
            call.news.put(_News("began") if text is None else _News("said", text))

    def _gone(self, worker: Worker | None) -> None:
        for call in list(self._calls.values()):
            if worker is None or call.worker == worker:
                call.news.put(_News("left"))


def _died(worker: Worker) -> str:
    return f"worker {worker.name} died or left"


def _result(answer: ThreadFuture[Any], worker: Worker) -> Any:
    from distributed import KilledWorker

    try:
        result = answer.result(timeout=0)
    except (CancelledError, asyncio.CancelledError) as error:
        details = [f"    {line.strip()}" for line in str(error).splitlines()[:1]]
        raise SchedulerLost("the Dask scheduler is gone, or dropped a call", details=details) from None
    except (KilledWorker, OSError) as error:
        raise WorkerLost(f"worker {worker.name} died: {error}") from None
    except ProfError:
        raise
    except RuntimeError as error:
        if "different environments" not in str(error):
            raise InternalError(f"on worker {worker.name}: {error}") from error
        raise ClusterUnreachable(
            "the Dask scheduler cannot read what prof asks of its workers: it runs in another environment",
            remedy="Start `dask scheduler` and the workers from environments with the same prof and the same Dask.",
        ) from None
    except Exception as error:
        raise InternalError(f"on worker {worker.name}: {type(error).__name__}: {error}") from error
    if isinstance(result, Failed):
        raise result.error
    return result
