"""Lets one prof at a time measure on a GPU: others on this host, whoever started them, wait for their turn."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import local

from profiler.measuring.tools.gpus import Gpu
from profiler.store.locks import held_if_free, locked

# The folder of the locks, for those who do not share /tmp, such as the containers of one host.
PLACE = "PROF_GPU_LOCKS"
_of_this_thread = local()


@contextmanager
def gpu_turn(gpu: Gpu, note: Callable[[str], None]) -> Iterator[None]:
    """Holds the GPU. Waits while another process or thread has it, however long that takes, and says so once.

    A program that is measured may measure by itself. It does not wait for the prof that started it, which would wait for it in turn.
    """
    if _is_held(gpu):
        yield
        return

    def say_why(holder: str) -> None:
        note(f"waiting for {holder}, which measures on the same GPU")

    with locked(_lock(gpu), None, say_why), _marked(gpu):
        yield


@contextmanager
def gpu_turn_if_free(gpu: Gpu) -> Iterator[bool]:
    """Holds the GPU and yields True, or yields False at once while another process has it."""
    with held_if_free(_lock(gpu)) as is_ours:
        if not is_ours:
            yield False
            return
        with _marked(gpu):
            yield True


def lock_folder(gpu: Gpu) -> Path:
    """Returns the folder with the lock files for this GPU, ncu's and prof's, and creates it if needed.

    It is the same for all users, whatever their TMPDIR is.
    """
    place = Path(os.environ.get(PLACE) or "/tmp")
    if not os.access(place, os.W_OK):
        place = Path(tempfile.gettempdir())
    folder = place / f"prof-{_short_name(gpu)}"
    with suppress(FileExistsError):
        folder.mkdir()
        with suppress(OSError):
            os.chmod(folder, 0o1777)  # every user who measures on this GPU must be able to take the same lock
    return folder


def _is_held(gpu: Gpu) -> bool:
    """Returns whether this thread has the GPU, or the process that started this one."""
    return gpu.uuid in _held_here() or os.environ.get(_mark(gpu), this := str(os.getpid())) != this


@contextmanager
def _marked(gpu: Gpu) -> Iterator[None]:
    """Lets this thread, and the programs that this process starts, know who has the GPU."""
    _held_here().add(gpu.uuid)
    os.environ[_mark(gpu)] = str(os.getpid())
    try:
        yield
    finally:
        _held_here().discard(gpu.uuid)
        os.environ.pop(_mark(gpu), None)


def _held_here() -> set[str]:
    if not hasattr(_of_this_thread, "gpus"):
        _of_this_thread.gpus = set()
    held: set[str] = _of_this_thread.gpus
    return held


def _lock(gpu: Gpu) -> Path:
    return lock_folder(gpu) / "prof.lock"


def _mark(gpu: Gpu) -> str:
    """Returns the name of the variable that holds the number of the process that has the GPU."""
    return f"PROF_HOLDS_{_short_name(gpu).upper()}"


def _short_name(gpu: Gpu) -> str:
    return gpu.uuid.lower()[:12]
