"""What runs on a worker: one call at a time, which may say how far it is and can be stopped.

Imports nothing of Dask until it is called by it: the functions that are called import this too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from profiler.errors import ProfError


@dataclass(frozen=True)
class Failed:
    """An error that a person is to read travels as a result: to Dask it is none."""

    error: ProfError


_told: ContextVar[Callable[[str], None] | None] = ContextVar("told", default=None)
_call: ContextVar[str | None] = ContextVar("call", default=None)
_stoppers: dict[str, Callable[[], None]] = {}


def tell(text: str) -> None:
    """For the function that is being called: its caller hears it. Elsewhere it does nothing."""
    told = _told.get()
    if told is not None:
        told(text)


@contextmanager
def stoppable(stop: Callable[[], None]) -> Iterator[None]:
    """`stop` is called, in another thread, when the caller wants no more of what happens in here."""
    call = _call.get()
    if call is None:
        yield
        return
    _stoppers[call] = stop
    try:
        yield
    finally:
        _stoppers.pop(call, None)


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
