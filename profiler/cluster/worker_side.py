"""Runs calls on a worker: a called function may send messages to its caller, and can be stopped.

This module imports Dask only when Dask calls it, since the modules of the called functions import it too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from threading import Event, Thread
from typing import Any

from profiler.errors import ProfError

_WATCH_S = 1.0
_AT_WORK = ("running", "paused")  # states of a worker that has a scheduler


@dataclass(frozen=True)
class Failed:
    """An error for people, which travels as a result so that Dask does not treat it as a failure of its own."""

    error: ProfError


@dataclass(frozen=True)
class Replaced:
    """The answer of a process that took the place of the worker that was called."""


_sender: ContextVar[Callable[[str], None] | None] = ContextVar("sender", default=None)
_call: ContextVar[str | None] = ContextVar("call", default=None)
_stoppers: dict[str, Callable[[], None]] = {}


def send_message(text: str) -> None:
    """Sends a message to the caller of the function that runs now. Does nothing outside of a call."""
    send = _sender.get()
    if send is not None:
        send(text)


@contextmanager
def stoppable(stop: Callable[[], None]) -> Iterator[None]:
    """Calls `stop`, from another thread, when the caller withdraws its call or is gone while this block runs."""
    call = _call.get()
    if call is None:
        yield
        return
    _stoppers[call] = stop
    ended = Event()
    watching = Thread(target=_watch, args=(call, _asks_for(call), ended), name="wanted", daemon=True)
    watching.start()
    try:
        yield
    finally:
        ended.set()
        _stoppers.pop(call, None)


def key_of(call: str) -> str:
    """Returns Dask's name for a call."""
    return f"prof-{call}"


def _asks_for(call: str) -> Callable[[], bool]:
    """Returns a test of whether somebody still waits for the call: the scheduler drops the calls of a lost client."""
    from distributed import get_worker

    worker = get_worker()

    def asks() -> bool:
        task = worker.state.tasks.get(key_of(call))
        return worker.status.name in _AT_WORK and task is not None and task.state != "cancelled"

    return asks


def _watch(call: str, is_wanted: Callable[[], bool], ended: Event) -> None:
    while not ended.wait(_WATCH_S):
        if not is_wanted() and (stopper := _stoppers.get(call)) is not None:
            stopper()


def perform(
    topic: str, call: str, folder: str, function: Callable[..., Any], arguments: Sequence[Any]
) -> Any:
    """Runs a call; this is the function that Dask gets. The first message of a call reports that it has begun.

    `folder` is the scratch folder of the worker that was called. When that worker dies and another process takes its
    address at once, Dask gives the call to that process; it must not run there, since it may have run already.
    """
    from distributed import get_worker

    worker = get_worker()
    if worker.local_directory != folder:
        return Replaced()

    def send(text: str | None) -> None:
        with suppress(Exception):  # the listener may be gone, but the work still counts
            worker.log_event(topic, {"call": call, "text": text})

    send(None)
    sending, called = _sender.set(send), _call.set(call)
    try:
        return function(*arguments)
    except ProfError as error:
        return Failed(error)
    finally:
        _sender.reset(sending)
        _call.reset(called)


async def stop(call: str) -> None:  # Dask waits for what is not a coroutine
    stopper = _stoppers.get(call)
    if stopper is not None:
        stopper()
