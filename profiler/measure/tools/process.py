"""The one place where a program is started: no shell, a time limit, bounded output.

A program gets a process group of its own, and the whole group ends with it: when it
exits, when its time is up, when it prints without end, and when prof is interrupted.
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
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import NoReturn

from profiler.errors import OutputInvalid, ProgramTimedOut, ToolNotFound
from profiler.measure.tools.leash import leashed, release

_MOST_BYTES = 16 << 20
_LAST_LINES = 8
_LONGEST_LIST = 8
_WAKE_S = 0.2
_CLOSED_WAKE_S = 0.01

_running: set[int] = set()
_running_lock = Lock()


@dataclass(frozen=True)
class Finished:
    command: tuple[str, ...]
    exit_code: int  # negative: ended by this signal
    stdout: str
    stderr: str
    seconds: float

    @property
    def how(self) -> str:
        if self.exit_code >= 0:
            return f"exit code {self.exit_code}"
        with suppress(ValueError):
            return f"ended by {signal.Signals(-self.exit_code).name}"
        return f"ended by signal {-self.exit_code}"


def run(
    command: Sequence[str],
    *,
    timeout_s: float,
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
    leash: bool = False,
    hear: Callable[[str], None] | None = None,
) -> Finished:
    """Run to the end; the caller judges the exit code.

    What is on the `leash` ends also when prof is killed: for all that may run long. `hear`
    gets standard output piece by piece, as it is written.
    """
    started = time.monotonic()
    words: list[str] = list(command)
    inherited: tuple[int, ...] = ()
    try:
        if leash:
            words, pipe = leashed(_executable(command[0], folder), command)
            inherited = (pipe,)
        with _running_lock:  # or `end_all` would miss what is just being started
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
    try:
        stdout, stderr = _read(process, command, started + timeout_s, timeout_s, hear)
    finally:
        with _running_lock:
            _running.discard(process.pid)
        _end_group(process.pid)
        if leash:
            release(process.pid)  # before its number is free again
        process.wait()
    return Finished(tuple(command), process.returncode, stdout, stderr, time.monotonic() - started)


def _executable(program: str, folder: Path | None) -> str:
    """As a shell would find it from that folder; what is not there or may not be run is an OSError."""
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
    """End every program that other threads are waiting for; each of them then returns."""
    with _running_lock:
        for group in _running:
            _end_group(group)


def shown(command: Iterable[str]) -> str:
    """As one would type it."""
    return shlex.join(command)


def command_details(command: Iterable[str], *texts: str) -> list[str]:
    """For an error: the command, long lists in it cut, and below it the last lines of what it said."""
    lines = [line.rstrip() for text in texts for line in text.splitlines() if line.strip()]
    return [f"  {shown(map(brief_word, command))}", *(f"    {line[:300]}" for line in lines[-_LAST_LINES:])]


def brief_word(word: str) -> str:
    """`--metrics` may name a hundred: nobody reads them in an error."""
    names = word.split(",")
    return word if len(names) <= _LONGEST_LIST else f"{names[0]},...{len(names) - 1}_more"


def _read(
    process: subprocess.Popen[bytes],
    command: Sequence[str],
    deadline: float,
    timeout_s: float,
    hear: Callable[[str], None] | None,
) -> tuple[str, str]:
    assert process.stdout is not None
    assert process.stderr is not None
    pieces: dict[int, list[bytes]] = {process.stdout.fileno(): [], process.stderr.fileno(): []}
    total = 0
    heard = getincrementaldecoder("utf-8")(errors="replace")
    with process.stdout, process.stderr, selectors.DefaultSelector() as selector:
        for descriptor in pieces:
            selector.register(descriptor, selectors.EVENT_READ)
        while True:
            gone = _has_exited(process.pid)
            ready = selector.select(0.0 if gone else _WAKE_S) if selector.get_map() else []
            if gone and not ready:
                break  # what still holds its pipes open is no concern of ours
            for key, _ in ready:
                piece = os.read(key.fd, 1 << 16)
                if not piece:
                    selector.unregister(key.fd)
                pieces[key.fd].append(piece)
                if hear is not None and key.fd == process.stdout.fileno():
                    hear(heard.decode(piece))
                total += len(piece)
            if total > _MOST_BYTES:
                raise OutputInvalid(
                    f"{command[0]} printed more than {_MOST_BYTES >> 20} MB and was ended",
                    details=command_details(command),
                )
            if time.monotonic() >= deadline:
                raise ProgramTimedOut(
                    f"{command[0]} did not end within {timeout_s:g} s and was ended",
                    details=command_details(command, *(_text(piece) for piece in pieces.values())),
                )
            if not selector.get_map():
                time.sleep(_CLOSED_WAKE_S)  # it closed both pipes and runs on
    stdout, stderr = (_text(piece) for piece in pieces.values())
    return stdout, stderr


def _has_exited(pid: int) -> bool:
    """Without reaping it: its process group must not be anybody else's when it is ended."""
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _text(pieces: list[bytes]) -> str:
    return b"".join(pieces).decode(errors="replace")


def _end_group(group: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)
