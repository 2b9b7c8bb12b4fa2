"""Makes sure that no program outlives prof, however prof ends.

A guard process knows the process group of every program before that program starts. It reads from a pipe that only
prof and starting programs hold. When the last of them is gone, the guard kills the programs that are left.
A program registers itself after it has become a process and before it becomes the program, so a killed prof leaves
nothing behind. If the guard itself was killed, a new one starts before the next program; the new guard does not
know the programs that already run.
"""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Sequence
from contextlib import suppress
from threading import Lock

# Both scripts run in an interpreter that imports nothing, so they start in a few milliseconds.
_GUARD = """
import os, signal, sys
for one in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(one, signal.SIG_IGN)
groups = set()
for line in sys.stdin:
    group = int(line[1:])
    (groups.add if line[0] == "+" else groups.discard)(group)
for group in groups:
    try:
        os.killpg(group, signal.SIGKILL)
    except OSError:
        pass
"""
_START = """
import os, sys
pipe = int(sys.argv[1])
os.write(pipe, b"+%d\\n" % os.getpid())
os.close(pipe)
try:
    os.execv(sys.argv[2], sys.argv[3:])
except OSError as error:
    sys.exit(f"{sys.argv[2]}: cannot be started: {error.strerror}")
"""
_PYTHON = (sys.executable, "-I", "-S", "-c")

_lock = Lock()
_guard_pipe: int | None = None


def leashed(program: str, command: Sequence[str]) -> tuple[list[str], int]:
    """Returns the command that starts `program` on the leash, and the file descriptor that it must inherit."""
    pipe = _start_guard()
    return [*_PYTHON, _START, str(pipe), program, *command], pipe


def release(group: int) -> None:
    """Removes a program that has ended from the guard's list: its process group's number may soon be used again."""
    if _guard_pipe is not None:
        with suppress(BrokenPipeError):
            os.write(_guard_pipe, b"-%d\n" % group)


def _start_guard() -> int:
    global _guard_pipe  # noqa: PLW0603 - one for the whole process
    with _lock:
        if _guard_pipe is None or _is_unread(_guard_pipe):
            reading, writing = os.pipe()
            silence = [(os.POSIX_SPAWN_OPEN, stream, os.devnull, os.O_WRONLY, 0) for stream in (1, 2)]
            stdin = (os.POSIX_SPAWN_DUP2, reading, 0)
            os.posix_spawn(
                _PYTHON[0], [*_PYTHON, _GUARD], os.environ, file_actions=[stdin, *silence], setsid=True
            )
            os.close(reading)
            if _guard_pipe is None:
                _guard_pipe = writing
            else:  # keep the descriptor's number, which another thread may just be handing to a program
                os.dup2(writing, _guard_pipe, inheritable=False)
                os.close(writing)
        return _guard_pipe


def _is_unread(pipe: int) -> bool:
    """Returns whether the process that read the other end of the pipe is gone."""
    poll = select.poll()
    poll.register(pipe, 0)
    return bool(poll.poll(0))
