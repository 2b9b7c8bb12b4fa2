"""No program outlives prof, however prof ends.

A guard process is told the process group of every program before that program starts. It reads a
pipe that only prof and starting programs hold: when the last of them is gone, it ends what is left.
A program registers itself, in the moment between becoming a process and becoming the program, so
that there is no gap in which a killed prof would leave it behind. A guard that was killed itself is
replaced before the next program starts; what runs by then is not known to the new one.
"""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Sequence
from contextlib import suppress
from threading import Lock

# Both run in an interpreter that loads nothing: a few milliseconds.
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
    """The command that starts `program` on the leash, and the descriptor that it must inherit."""
    pipe = _start_guard()
    return [*_PYTHON, _START, str(pipe), program, *command], pipe


def release(group: int) -> None:
    """The program has ended: its number may soon be somebody else's."""
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
            else:  # under its old number, which another thread may just be handing to a program
                os.dup2(writing, _guard_pipe, inheritable=False)
                os.close(writing)
        return _guard_pipe


def _is_unread(pipe: int) -> bool:
    """Whoever read its other end is gone."""
    poll = select.poll()
    poll.register(pipe, 0)
    return bool(poll.poll(0))
