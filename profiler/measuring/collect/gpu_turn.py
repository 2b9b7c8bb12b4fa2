"""Lets one prof at a time measure on a GPU: others on this host, whoever started them, wait for their turn."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import local

from profiler.errors import OutputNotWritable
from profiler.measuring.tools.gpus import Gpu
from profiler.store.locks import held_if_free, locked

# The folder of the locks, for those who do not share /tmp, such as the containers of one host.
PLACE = "PROF_GPU_LOCKS"


class _Held(local):
    """The GPUs that a thread has, by their UUIDs."""

    def __init__(self) -> None:
        self.gpus: set[str] = set()


_held = _Held()


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
    """Holds the GPU and yields True, or yields False at once while another process or thread has it."""
    if _is_held(gpu):
        yield True
        return
    with held_if_free(_lock(gpu)) as is_ours:
        if not is_ours:
            yield False
            return
        with _marked(gpu):
            yield True


def lock_folder(gpu: Gpu) -> Path:
    """Returns the folder in TMPDIR with ncu's lock file for this GPU, and creates it if needed."""
    folder = Path(tempfile.gettempdir()) / f"prof-{_short_name(gpu)}"
    with suppress(FileExistsError):
        folder.mkdir()
        with suppress(OSError):
            os.chmod(folder, 0o1777)  # every user who measures on this GPU must be able to take the same lock
    return folder


def _lock(gpu: Gpu) -> Path:
    """Returns the file that whoever measures on this GPU locks, and creates it if needed: the same for all users, whatever their TMPDIR is."""
    named = os.environ.get(PLACE)
    place = Path(named or "/tmp")
    if not named and not os.access(place, os.W_OK):
        place = Path(tempfile.gettempdir())
    path = place / f"prof-{_short_name(gpu)}.lock"
    try:
        with suppress(FileExistsError):
            made = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW)
            os.fchmod(made, 0o666)  # whatever this user's umask is, others must be able to lock it
            os.close(made)
    except OSError as error:
        said = f"{PLACE}: " if named else ""
        raise OutputNotWritable(f"{said}{path}: cannot be created: {error.strerror}") from None
    return path


def _is_held(gpu: Gpu) -> bool:
    """Returns whether this thread has the GPU, or the process that started this one."""
    return gpu.uuid in _held.gpus or os.environ.get(_mark(gpu), this := str(os.getpid())) != this


@contextmanager
def _marked(gpu: Gpu) -> Iterator[None]:
    """Lets this thread, and the programs that this process starts, know who has the GPU."""
    _held.gpus.add(gpu.uuid)
    os.environ[_mark(gpu)] = str(os.getpid())
    try:
        yield
    finally:
        _held.gpus.discard(gpu.uuid)
        os.environ.pop(_mark(gpu), None)


def _mark(gpu: Gpu) -> str:
    """Returns the name of the variable that holds the number of the process that has the GPU."""
    return f"PROF_HOLDS_{_short_name(gpu).upper().replace('-', '_')}"  # a shell drops other names


def _short_name(gpu: Gpu) -> str:
    return gpu.uuid.lower()[:12]
