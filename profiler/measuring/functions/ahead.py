"""Starts the processes of a measurement before their turn: they import what they need, and wait at a gate.

Importing PyTorch takes seconds in which nothing is measured, so the next processes import while one measures. Only
behind its gate does a process load the function and make a CUDA context: the GPU works for one of them at a time.
`child.py` has the gate's other side.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from profiler.errors import ProfError
from profiler.machine import available_cores, available_memory_bytes, held
from profiler.measuring.functions.child import GATE, loaded_libraries
from profiler.measuring.tools.neutral import neutral_folder
from profiler.measuring.tools.process import Finished, Running

CHILD = (sys.executable, "-m", "profiler.measuring.functions.child")
_ENDINGS = (signal.SIGINT, signal.SIGTERM)
_MOST = 5  # that wait at once: as many as a measurement with three processes has behind its first
_BYTES = 1 << 30  # of memory for each: PyTorch with its compiler takes half of that
_ALWAYS = ("profiler.measuring.functions.arrays", "profiler.measuring.functions.verify")


@dataclass(frozen=True)
class _Start:
    """The command, folder and environment that a process is started with.

    A plain one is started without arguments. It is given them when its turn comes, so that it can serve any call.
    """

    command: tuple[str, ...]
    folder: Path | None
    environment: Mapping[str, str]  # all of it: what has changed since is not known to a process that waits

    @property
    def is_plain(self) -> bool:
        return self.command == CHILD


@dataclass(frozen=True)
class _Waiting:
    """A process that imports or waits, and the end of the pipe that it reads."""

    start: _Start
    running: Running
    gate: int

    def tell(self, **said: object) -> None:
        os.write(self.gate, json.dumps(said).encode() + b"\n")

    def end(self) -> None:
        self.running.end()
        os.close(self.gate)


class Ahead:
    """The processes that wait for their turn; use it in a `with` statement, which ends those that are left."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        """`environment` is added to that of the processes. One core stays for the one that measures, and half of the memory."""
        self._environment = environment
        self._plain = self._start(CHILD, None, environment)
        self._most = min(_MOST, available_cores() - 1, available_memory_bytes() // 2 // _BYTES)
        self._next: list[_Start] = []  # of the measurement under way
        self._later = 0  # measurements to come, of which nothing has started
        self._waiting: list[_Waiting] = []
        self._modules = ""  # the file that names them
        self._made = 0
        self._open = ExitStack()

    def __enter__(self) -> Self:
        self._folder = self._open.enter_context(neutral_folder())
        self._write_modules(loaded_libraries())
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._end_those(lambda _: True)
        finally:
            self._open.close()

    def expect(self, measurements: int) -> None:
        """Says that as many more measurements will be made, so that the first process of each can start before the last has ended."""
        self._later += measurements

    def plan(
        self, processes: int, profiles: Sequence[Sequence[str]], folder: Path, *, is_surveyed: bool = False
    ) -> None:
        """Says what the measurement under way will run: a survey, and in turns the profiles, in that folder, and timings.

        This replaces what was said before. Without `is_surveyed` nothing starts yet: the process of the survey comes first.
        """
        self.forget_profiles()
        waiting = sum(one.start.is_plain for one in self._waiting)
        for process in range(processes):
            if process or not is_surveyed:
                if waiting:
                    waiting -= 1
                else:
                    self._next.append(self._plain)
                    if not process:  # its survey was among those to come
                        self._later = max(0, self._later - 1)
            if profiles:
                self._next.append(self._start(profiles[process], folder, self._environment))
        if is_surveyed:
            self._fill()

    def forget_profiles(self) -> None:
        """Ends the processes under a profiler: their measurement is over, or they would profile too much."""
        self._next.clear()
        self._end_those(lambda one: not one.start.is_plain)

    def learn(self, modules: Sequence[str]) -> None:
        """Has all processes import these modules, which one of their kind has needed."""
        self._write_modules(modules)
        for one in self._waiting:
            one.tell(modules=self._modules)

    def run(
        self,
        command: Sequence[str],
        *,
        timeout_s: float,
        folder: Path | None = None,
        environment: Mapping[str, str] | None = None,
        leash: bool = False,
        hear: Callable[[str], None] | None = None,
    ) -> Finished:
        """Runs a process to its end as `tools/process.py` does: one that waits for its turn, or else a new one.

        Its time counts from its turn on.
        """
        start = self._start(command, folder, environment or {})
        waiting: _Waiting | None = None
        running: Running | None = None
        try:
            with held(*_ENDINGS):
                if waiting := self._take(start):
                    running = waiting.running
                else:
                    running = Running(command, folder=folder, environment=environment, leash=leash)
            if waiting is not None:
                running.command = tuple(command)
                words = command[len(CHILD) :] if start.is_plain else None
                waiting.tell(folder=str(folder or Path.cwd()), words=words)
            self._fill()
            return running.finish(timeout_s, hear)
        finally:
            if running is not None:
                running.end()
            if waiting is not None:
                os.close(waiting.gate)

    def _start(self, command: Sequence[str], folder: Path | None, environment: Mapping[str, str]) -> _Start:
        whole = {**os.environ, **environment}
        if tuple(command[: len(CHILD)]) == CHILD:
            return _Start(CHILD, None, whole)
        return _Start(tuple(command), folder, whole)

    def _take(self, start: _Start) -> _Waiting | None:
        """Returns a process that waits and was started in that way; None if none does, or if it has died."""
        if start.is_plain and start != self._plain:  # the environment has changed
            self._end_those(lambda one: one.start == self._plain)
            self._next = [start if one == self._plain else one for one in self._next]
            self._plain = start
        for one in [one for one in self._waiting if one.start == start]:
            self._waiting.remove(one)
            if not one.running.has_exited:
                return one
            one.end()  # it has died, perhaps for want of memory
        if start in self._next:
            self._next.remove(start)
        return None

    def _fill(self) -> None:
        """Starts what comes next, as far as there is room."""
        while (self._next or self._later) and len(self._waiting) < self._most:
            if self._next:
                start = self._next.pop(0)
            else:
                start, self._later = self._plain, self._later - 1
            try:
                with held(*_ENDINGS):
                    self._waiting.append(self._begin(start))
            except (ProfError, OSError):  # there is no room for more: they start when it is their turn
                return

    def _begin(self, start: _Start) -> _Waiting:
        self._made += 1
        path = self._folder / f"gate-{self._made}"
        os.mkfifo(path, 0o600)
        gate = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            environment, folder = {**start.environment, GATE: str(path)}, start.folder or self._folder
            running = Running(start.command, folder=folder, environment=environment, leash=True)
        except BaseException:
            os.close(gate)
            raise
        waiting = _Waiting(start, running, gate)
        waiting.tell(modules=self._modules)
        return waiting

    def _write_modules(self, modules: Sequence[str]) -> None:
        """Writes what to import to a file of its own: it is too much for a pipe that nobody reads yet."""
        self._made += 1
        path = self._folder / f"modules-{self._made}.json"
        path.write_text(json.dumps([*_ALWAYS, *modules]))
        self._modules = str(path)

    def _end_those(self, are_meant: Callable[[_Waiting], bool]) -> None:
        with held(*_ENDINGS):
            for one in [one for one in self._waiting if are_meant(one)]:
                one.end()
                self._waiting.remove(one)
