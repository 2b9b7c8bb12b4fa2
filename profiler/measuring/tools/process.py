"""Starts every program that prof runs: without a shell, with a time limit and a limit for its output.

A program gets a process group of its own. The whole group ends when the program exits, when its time is up, when it
prints too much, and when prof is interrupted.
"""

from __future__ import annotations

import errno
import os
import selectors
import shlex
import shutil
import signal
import subprocess
import time
from codecs import getincrementaldecoder
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import NoReturn

from profiler.errors import OutputInvalid, ProgramTimedOut, ToolNotFound
from profiler.measuring.tools.leash import leashed, release
from profiler.text import brief_word

_MOST_BYTES = 16 << 20
_LAST_LINES = 8
_WAKE_S = 0.2
_CLOSED_WAKE_S = 0.01

_running: set[int] = set()
_running_lock = Lock()


@dataclass(frozen=True)
class Finished:
    """A program that has ended."""

    command: tuple[str, ...]
    exit_code: int  # negative: the signal that ended it
    stdout: str
    stderr: str
    seconds: float

    @property
    def how(self) -> str:
        """Returns how the program ended: its exit code, or the signal's name."""
        if self.exit_code >= 0:
            return f"exit code {self.exit_code}"
        with suppress(ValueError):
            return f"ended by {signal.Signals(-self.exit_code).name}"
        return f"ended by signal {-self.exit_code}"

    @property
    def details(self) -> list[str]:
        """Returns the details of an error: the command, and the last lines that it printed."""
        return command_details(self.command, self.stdout, self.stderr)


class Running:
    """A program that was started: `finish` waits for its end, and `end` brings it about."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        folder: Path | None = None,
        environment: Mapping[str, str] | None = None,
        leash: bool = False,
    ) -> None:
        """Starts the program, which ends also when prof is killed if it is on the `leash`."""
        self.command, self._leash = tuple(command), leash
        self._process = _start(command, folder, environment, leash)
        self._is_ended = False

    @property
    def has_exited(self) -> bool:
        """Returns whether it has exited. Does not reap it, so that its group's number stays its own until it is killed."""
        return os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def finish(self, timeout_s: float, hear: Callable[[str], None] | None = None) -> Finished:
        """Waits for the program's end, which must come within that time from now."""
        started = time.monotonic()
        try:
            stdout, stderr = self._read(timeout_s, hear)
        finally:
            self.end()
        return Finished(self.command, self._process.returncode, stdout, stderr, time.monotonic() - started)

    def _read(self, timeout_s: float, hear: Callable[[str], None] | None) -> tuple[str, str]:
        """Returns what the program prints until it exits; raises if that takes too long, or is too much."""
        deadline = time.monotonic() + timeout_s
        with closing(_Output(self._process, hear)) as output:
            while True:
                has_exited = self.has_exited
                has_read = output.read(0.0 if has_exited else _WAKE_S)
                if has_exited and not has_read:
                    return output.texts  # a process that still holds the pipes open does not matter
                if output.size > _MOST_BYTES:
                    why = f"{self.command[0]} printed more than {_MOST_BYTES >> 20} MB and was killed"
                    raise OutputInvalid(why, details=command_details(self.command))
                if time.monotonic() >= deadline:
                    why = f"{self.command[0]} did not end within {timeout_s:g} s and was killed"
                    raise ProgramTimedOut(why, details=command_details(self.command, *output.texts))

    def end(self) -> None:
        """Ends the program and all that it has started; does nothing if that is done."""
        if self._is_ended:
            return
        self._is_ended = True
        with _running_lock:
            _running.discard(self._process.pid)
        _end_group(self._process.pid)
        if self._leash:
            release(self._process.pid)  # before the number can be used again
        self._process.wait()
        for stream in (self._process.stdout, self._process.stderr):
            if stream is not None:
                stream.close()


def run(
    command: Sequence[str],
    *,
    timeout_s: float,
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
    leash: bool = False,
    hear: Callable[[str], None] | None = None,
) -> Finished:
    """Runs a program to its end; the caller judges the exit code.

    A program on the `leash` ends also when prof is killed: use it for all that may run long. `hear` receives
    standard output piece by piece, as it is written.
    """
    return Running(command, folder=folder, environment=environment, leash=leash).finish(timeout_s, hear)


def _start(
    command: Sequence[str], folder: Path | None, environment: Mapping[str, str] | None, leash: bool
) -> subprocess.Popen[bytes]:
    words: list[str] = list(command)
    inherited: tuple[int, ...] = ()
    try:
        if leash:
            words, pipe = leashed(_executable(command[0], folder), command)
            inherited = (pipe,)
        with _running_lock:  # otherwise `end_all` could miss a program that is just starting
            process = subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=folder,
                env={**os.environ, **(environment or {})},
                start_new_session=True,
                pass_fds=inherited,
            )
            _running.add(process.pid)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise ToolNotFound(
            f"{command[0]}: cannot be started: {reason}",
            details=command_details(command),
            remedy="Check the program's path and that it may be executed.",
        ) from None
    return process


def _executable(program: str, folder: Path | None) -> str:
    """Returns the program as a shell in that folder would find it; raises OSError if it cannot be executed."""
    if "/" not in program:
        return shutil.which(program) or _raise_missing(program)
    path = (folder or Path()) / program
    if not path.exists():
        _raise_missing(program)
    if not os.access(path, os.X_OK) or path.is_dir():
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), program)
    return program


def _raise_missing(program: str) -> NoReturn:
    raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), program)


def end_all() -> None:
    """Ends every program that other threads wait for; their calls of `run` then return."""
    with _running_lock:
        for group in _running:
            _end_group(group)


def shown(command: Iterable[str]) -> str:
    """Returns the command as one would type it."""
    return shlex.join(command)


def command_details(command: Iterable[str], *texts: str) -> list[str]:
    """Returns the details of an error: the command with long lists cut, and the last lines that it printed."""
    lines = [line.rstrip() for text in texts for line in text.splitlines() if line.strip()]
    return [f"  {shown(map(brief_word, command))}", *(f"    {line[:300]}" for line in lines[-_LAST_LINES:])]


class _Output:
    """Reads what a program prints, and holds it; it calls `hear` with each piece of standard output as it comes."""

    def __init__(self, process: subprocess.Popen[bytes], hear: Callable[[str], None] | None) -> None:
        assert process.stdout is not None
        assert process.stderr is not None
        self._stdout = process.stdout.fileno()
        self._printed = {self._stdout: bytearray(), process.stderr.fileno(): bytearray()}
        self._hear, self._decoder = hear, getincrementaldecoder("utf-8")(errors="replace")
        self._open = selectors.DefaultSelector()
        for pipe in self._printed:
            self._open.register(pipe, selectors.EVENT_READ)

    @property
    def size(self) -> int:
        return sum(map(len, self._printed.values()))

    @property
    def texts(self) -> tuple[str, str]:
        """Returns standard output and standard error."""
        stdout, stderr = (printed.decode(errors="replace") for printed in self._printed.values())
        return stdout, stderr

    def read(self, wait_s: float) -> bool:
        """Reads what comes within that time; returns whether anything came, or a pipe was closed."""
        if not self._open.get_map():  # both are closed, and the program may still run
            time.sleep(min(wait_s, _CLOSED_WAKE_S))
            return False
        ready = self._open.select(wait_s)
        for key, _ in ready:
            piece = os.read(key.fd, 1 << 16)
            if not piece:
                self._open.unregister(key.fd)
            self._printed[key.fd] += piece
            if self._hear is not None and key.fd == self._stdout:
                self._hear(self._decoder.decode(piece))
        return bool(ready)

    def close(self) -> None:
        self._open.close()


def _end_group(group: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)
