"""Lets one prof at a time measure on a GPU: others of this host, whosever they are, wait for their turn."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from profiler.measuring.tools.gpus import Gpu
from profiler.store.locks import locked


@contextmanager
def gpu_turn(gpu: Gpu, note: Callable[[str], None]) -> Iterator[None]:
    """Holds the GPU. Waits while another process has it, however long that takes, and says so once.

    A program that is measured may measure by itself. It does not wait for the prof that started it, which would wait for it in turn.
    """
    mark = f"PROF_HOLDS_{_short_name(gpu).upper()}"
    if os.environ.get(mark, this := str(os.getpid())) != this:  # a process that started this one has it
        yield
        return

    def say_why(holder: str) -> None:
        note(f"waiting for {holder}, which measures on the same GPU")

    with locked(gpu_lock(gpu), None, say_why):
        os.environ[mark] = this
        try:
            yield
        finally:
            os.environ.pop(mark, None)


def gpu_lock(gpu: Gpu) -> Path:
    """Returns the file that whoever measures on this GPU locks."""
    return lock_folder(gpu) / "prof.lock"


def lock_folder(gpu: Gpu) -> Path:
    """Returns the folder with the lock files for this GPU, ncu's and prof's, and creates it if needed."""
    folder = Path(tempfile.gettempdir()) / f"prof-{_short_name(gpu)}"
    with suppress(FileExistsError):
        folder.mkdir()
        with suppress(OSError):
            os.chmod(folder, 0o1777)  # every user who measures on this GPU must be able to take the same lock
    return folder


def _short_name(gpu: Gpu) -> str:
    return gpu.uuid.lower()[:12]
