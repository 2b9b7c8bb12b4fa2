"""Waits for what happens by itself, and finds processes that live."""

import time
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple


class Living(NamedTuple):
    pid: int
    parent: int
    session: int
    words: str


def living(mark=""):
    """Returns the processes that live and have the mark in their environment; none that has ended and was not waited for."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            with suppress(OSError):
                state, parent, _, session = (entry / "stat").read_text().rpartition(")")[2].split()[:4]
                if state != "Z" and (not mark or mark.encode() in (entry / "environ").read_bytes()):
                    words = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                    found.append(Living(int(entry.name), int(parent), int(session), words))
    return found


def spawned_by(pid):
    """Returns the processes that `multiprocessing` has spawned for this one, but not the one that counts its semaphores."""
    return [one.pid for one in living() if one.parent == pid and "spawn_main" in one.words]


def is_living(pid):
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


def wait_until(holds, seconds=60.0):
    """Returns whether it held within so many seconds."""
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True
