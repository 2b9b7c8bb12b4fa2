"""The meaning of the exit codes of a rung's program, as `kernels/README.md` defines them.

0: done; 3: a shape that the rung cannot run; 4: a wrong result; 6: out of device memory. Every other code is a failure.
"""

from __future__ import annotations

import re

from profiler.errors import (
    DeviceMemoryFull,
    GpuNotFound,
    ProfError,
    ProfiledAlready,
    ProgramFailed,
    ResultWrong,
    ShapeRefused,
)

EXIT_SHAPE, EXIT_WRONG, EXIT_MEMORY = 3, 4, 6
NO_MEMORY = re.compile(r"out of (device )?memory", re.IGNORECASE)
_NO_DEVICE = re.compile(r"no CUDA.{0,20} device|CUDA driver version is insufficient", re.IGNORECASE)

# CUPTI has one listener in a process. It refuses a second one by this name, and ncu, whose children inherit it, in these words.
_OTHER_LISTENER = ("CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED", "Another tool/injection might be loaded")


def program_failure(label: str, exit_code: int | None, how: str, details: list[str]) -> ProfError:
    """Returns the error that an exit code stands for; `exit_code` is None for a program without such codes.

    `details` holds the command and the last lines that it printed.
    """
    printed = "\n".join(details[1:])
    if exit_code == EXIT_MEMORY or NO_MEMORY.search(printed):
        return DeviceMemoryFull(f"{label}: out of device memory", details=details)
    if exit_code == EXIT_SHAPE:
        return ShapeRefused(f"{label}: the program refuses this shape", details=details)
    if exit_code == EXIT_WRONG:
        return ResultWrong(f"{label}: the program says that its result is wrong", details=details)
    if says_other_listener(printed):
        return profiled_already(label, details)
    if _NO_DEVICE.search(printed):
        return GpuNotFound(f"{label}: the program sees no GPU", details=details)
    remedy = "Run the program by hand: it must end with exit code 0." if exit_code is None else None
    return ProgramFailed(f"{label} failed ({how})", details=details, remedy=remedy, reason=how)


def says_other_listener(printed: str) -> bool:
    return any(sign in printed for sign in _OTHER_LISTENER)


def profiled_already(label: str, details: list[str]) -> ProfiledAlready:
    return ProfiledAlready(
        f"{label}: another profiler listens to this process, and CUPTI allows one", details=details
    )
