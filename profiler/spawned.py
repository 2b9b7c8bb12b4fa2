"""Spawns processes from a user's script or notebook, which need not be written for that."""

from __future__ import annotations

import sys
from multiprocessing.context import SpawnContext, SpawnProcess
from types import ModuleType


class SpawnedProcess(SpawnProcess):
    """A spawned process that does not run the user's script again, which may have no main guard."""

    def start(self) -> None:
        script = sys.modules["__main__"]
        sys.modules["__main__"] = ModuleType("__main__")
        try:
            super().start()
        finally:
            sys.modules["__main__"] = script


class SpawnedContext(SpawnContext):
    """Makes such processes, for a pool."""

    Process = SpawnedProcess
