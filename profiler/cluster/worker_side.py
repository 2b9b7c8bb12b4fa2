"""What runs on a worker: one call at a time, which may say how far it is and can be stopped.

Imports nothing of Dask until it is called by it: the functions that are called import this too.
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
_AT_WORK = ("running", "paused")  # what a worker is as long as it has a scheduler


@dataclass(frozen=True)
class Failed:
    """An error that a person is to read travels as a result: to Dask it is none."""

    error: ProfError


_told: ContextVar[Callable[[str], None] | None] = ContextVar("told", default=None)
_call: ContextVar[str | None] = ContextVar("call", default=None)
_stoppers: dict[str, Callable[[], None]] = {}


def send_message(text: str) -> None:
    """For the function that is being called: its caller hears it. Elsewhere it does nothing."""
    told = _told.get()
    if told is not None:
        told(text)


@contextmanager
def stoppable(stop: Callable[[], None]) -> Iterator[None]:
    """`stop` is called, in another thread, when the caller wants no more of what happens in here, or is no more."""
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
    """The name of a call, for Dask."""
    return f"prof-{call}"


def _asks_for(call: str) -> Callable[[], bool]:
    """Whether somebody still asks for it: a scheduler drops what a client that is gone has asked for, and may be gone."""
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


def perform(topic: str, call: str, function: Callable[..., Any], arguments: Sequence[Any]) -> Any:
    """What Dask is given to run. The first message of a call says that it has begun."""
    from distributed import get_worker

    worker = get_worker()

    def say(text: str | None) -> None:
        with suppress(Exception):  # who listened may be gone; the work is not for nothing then
            worker.log_event(topic, {"call": call, "text": text})

    say(None)
    told, called = _told.set(say), _call.set(call)
    try:
        return function(*arguments)
    except ProfError as error:
        return Failed(error)
    finally:
        _told.reset(told)
        _call.reset(called)


async def stop(call: str) -> None:  # Dask waits for what is not a coroutine
    stopper = _stoppers.get(call)
    if stopper is not None:
        stopper()
