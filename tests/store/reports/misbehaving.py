"""Requests whose reading goes wrong in a worker, as a damaged report may make NVIDIA's library do.

A worker asks its request for the name of the run once the report is identified: here that
question crashes, spins or eats, for real, in the process of the worker.
"""

import ctypes
import os
import time
from dataclasses import dataclass
from pathlib import Path

from profiler.store.reports.request import Omitted, Request


@dataclass(frozen=True)
class ReadsNull(Request):
    def run_name(self):
        return ctypes.string_at(0).decode()


@dataclass(frozen=True)
class CrashesOnGraphs(ReadsNull):
    """As NVIDIA's library does when it is asked for the code of some CUDA graphs."""

    def run_name(self):
        return super().run_name() if self.omitted is Omitted.NOTHING else Request.run_name(self)


@dataclass(frozen=True)
class CrashesOnAnyCode(ReadsNull):
    def run_name(self):
        return Request.run_name(self) if self.omitted is Omitted.ALL_CODE else super().run_name()


@dataclass(frozen=True)
class Exits(Request):
    def run_name(self):
        os._exit(7)


@dataclass(frozen=True)
class Spins(Request):
    """Spins in native code and holds the interpreter's lock, so that no Python runs, and no signal handler."""

    def run_name(self):
        (self.folder / "spinning").write_text(str(os.getpid()))
        _spin_forever()
        return "never"


@dataclass(frozen=True)
class Waits(Request):
    """Takes very long, in Python: it can be told to end."""

    def run_name(self):
        (self.folder / "waiting").touch()
        time.sleep(1_000_000)
        return "never"


@dataclass(frozen=True)
class Eats(Request):
    def run_name(self):
        eaten = []
        while True:  # address space, not memory: the limit must come before the machine suffers
            eaten.append(bytes(1 << 30))


@dataclass(frozen=True)
class Breaks(Request):
    """A bug in prof."""

    def run_name(self):
        raise ZeroDivisionError("a bug")


def _spin_forever():
    ctypes.PyDLL(None).sleep(1_000_000)


def spin_as_an_orphan(folder, limit_s):
    """Does what a worker does when it spins; its parent is then killed by the test."""
    from profiler.store.reports import sandbox

    # private: a reader runs this, and the test is its parent that dies
    sandbox._work(Spins((Path(folder) / "report.ncu-rep",), Path(folder)), limit_s)
