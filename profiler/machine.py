"""Says what this process may use of the machine, which error means that it ran short, and where it keeps what outlives it."""

from __future__ import annotations

import errno
import os
import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from profiler.errors import ResourcesShort

_LEAST_MIB = 512  # for NumPy and Arrow
_FEW_MIB = 4096


def require_memory(what: str, least_mib: int = _LEAST_MIB) -> None:
    """Raises ResourcesShort when this process may use less memory (`ulimit -v`) than that. With little, NumPy gets one thread.

    Native libraries end the process when they get less, some with exit code 1, which means a regression.
    """
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        return
    if limit >> 20 < least_mib:
        raise ResourcesShort(
            f"{what} needs {least_mib:,} MiB of memory, and this process may use {limit >> 20:,} MiB (ulimit -v)"
        )
    if limit >> 20 < _FEW_MIB:  # each thread of OpenBLAS takes memory as soon as NumPy is imported
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def physical_memory_bytes() -> int:
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


# The files of a container's memory in both versions of control groups: the limit, what is used, and the part of that which files
# take.
_OF_CONTAINERS = (
    ("memory.max", "memory.current", "memory.stat", "inactive_file"),
    ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes", "memory/memory.stat", "total_inactive_file"),
)  # fmt: skip


def available_memory_bytes(system: Path = Path("/")) -> int:
    """Returns the memory that the machine and its container have left, or all of the machine's where neither says that."""
    left = [physical_memory_bytes()]
    with suppress(OSError, KeyError, ValueError):
        left.append(_figures(system / "proc/meminfo")["MemAvailable:"] << 10)
    for limit, used, parts, of_files in _OF_CONTAINERS:
        folder = system / "sys/fs/cgroup"
        with suppress(OSError, KeyError, ValueError):  # a limit may be "max"
            free = int((folder / limit).read_text()) - int((folder / used).read_text())
            left.append(free + _figures(folder / parts)[of_files])
    return max(0, min(left))


def _figures(path: Path) -> dict[str, int]:
    """Returns the figure of each line, by its first word."""
    lines = (line.split() for line in path.read_text().splitlines())
    return {line[0]: int(line[1]) for line in lines if len(line) > 1}


def available_cores() -> int:
    """Returns the cores that this process may use: as many as PYTHON_CPU_COUNT says, which Python itself obeys from 3.13 on, or all."""
    allowed = os.environ.get("PYTHON_CPU_COUNT", "")
    if allowed.isdecimal() and int(allowed):
        return int(allowed)
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # macOS
        return os.cpu_count() or 1


def user_state_folder() -> Path:
    """Returns the folder that keeps what is to outlive a command and is no run; it need not exist yet."""
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "prof"


def leave_with_parent() -> None:
    """Ends this process when its parent is gone; a thread of a child process runs this."""
    import multiprocessing  # late: every command imports this module

    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


@contextmanager
def held(*numbers: signal.Signals) -> Iterator[None]:
    """Delays these signals until the end, so that a signal handler knows of all that was started here, and can end it.

    They are not blocked: a process started here would inherit that, and outlive the signal. Only the main thread hears signals.
    """
    import threading  # late: every command imports this module

    arrived: list[int] = []
    answered = [
        one for one in numbers if signal.getsignal(one) is not None
    ]  # not only by code that is not Python's
    if threading.current_thread() is not threading.main_thread() or len(answered) < len(numbers):
        yield
        return
    before = {one: signal.signal(one, lambda number, _: arrived.append(number)) for one in numbers}
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)
        for number in sorted(arrived, key=signal.SIGINT.__eq__):  # last what raises
            signal.raise_signal(number)


def disk_full_text(error: OSError) -> str:
    """Returns that the disk is full, or that the user may not have more of it; "" for any other error."""
    return _FULL.get(error.errno or 0, "")


_FULL = {errno.ENOSPC: "the disk is full", errno.EDQUOT: "your quota of the disk is used up"}


def find_shortage(error: BaseException) -> ResourcesShort | None:
    """Returns the error for a lack of memory, open files, threads or room in a file that is `error` or what it came from."""
    seen: BaseException | None = error
    while seen is not None:
        kind, text = type(seen).__name__, str(seen)
        if isinstance(seen, MemoryError) or kind == "OutOfMemoryException" or _NOT_LOADED in text:
            return ResourcesShort("out of memory")
        if isinstance(seen, OSError) and seen.errno in _SHORTAGES:
            return ResourcesShort(_SHORTAGES[seen.errno])
        if _NO_FOLDER in text and not resource.getrlimit(resource.RLIMIT_FSIZE)[0]:
            return ResourcesShort(_SHORTAGES[errno.EFBIG])  # Python tried to write there
        if kind == "BrokenProcessPool" or any(one in text for one in _NOT_STARTED):
            return ResourcesShort("no further process or thread could be started")
        seen = seen.__cause__ or seen.__context__
    return None


_SHORTAGES = {
    errno.ENOMEM: "out of memory",
    errno.EMFILE: "too many open files in this process",
    errno.ENFILE: "too many open files on this machine",
    errno.EAGAIN: "no further process or thread could be started",
    errno.EFBIG: "a file would be larger than this process may write (ulimit -f)",
}
_NOT_STARTED = ("can't start new thread", "error within the Pool", "Failed to launch worker thread")
_NO_FOLDER = "No usable temporary directory"
_NOT_LOADED = "failed to map segment"  # of a shared library
