"""Gives up this process's rights: `restrict` leaves it what reading a report takes, and nothing else.

In: folders that may still be read. Out: which of Linux's two means the kernel granted; neither needs privileges.

* **Landlock** refuses every file and folder but those. Descriptors that are open already stay open.
* **seccomp** refuses every system call but those in `CALLS`: no socket, no other program, no new process, no
  signal to or memory of another process, no file opened for writing, no change of a mode, a name or an owner.

Neither can be taken back, not even by native code that a report has taken over.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS = 22, 38
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # Landlock's calls, the same on every architecture
_READ_FILE, _READ_FOLDER = 1 << 2, 1 << 3
_RIGHTS_OF_VERSION = {1: 13, 2: 14, 3: 15, 4: 15}  # how many rights to files each knows; later ones 16

_LOAD, _AND, _IF_EQUAL, _RETURN = 0x20, 0x54, 0x15, 0x06
_NUMBER_AT, _ARCHITECTURE_AT, _ARGUMENTS_AT = 0, 4, 16
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000

_MACHINES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}  # column of CALLS, number in a filter
_WRITING = os.O_ACCMODE | os.O_CREAT | os.O_TRUNC
_NEW_THREAD = 0x10000

CALLS: dict[str, tuple[int | None, int | None]] = {
    # memory and threads
    "brk": (12, 214), "futex": (202, 98), "get_robust_list": (274, 100), "getcpu": (309, 168),
    "madvise": (28, 233), "membarrier": (324, 283), "mmap": (9, 222), "mprotect": (10, 226),
    "mremap": (25, 216), "munmap": (11, 215), "rseq": (334, 293), "sched_getaffinity": (204, 123),
    "sched_yield": (24, 124), "set_robust_list": (273, 99), "set_tid_address": (218, 96),
    # files
    "access": (21, None), "close": (3, 57), "dup": (32, 23), "faccessat": (269, 48), "faccessat2": (439, 439),
    "fcntl": (72, 25), "fstat": (5, 80), "getcwd": (79, 17), "getdents64": (217, 61), "lseek": (8, 62), "lstat": (6, None),
    "newfstatat": (262, 79), "poll": (7, None), "ppoll": (271, 73), "pread64": (17, 67), "read": (0, 63),
    "readlink": (89, None), "readlinkat": (267, 78), "readv": (19, 65), "stat": (4, None),
    "statx": (332, 291), "write": (1, 64), "writev": (20, 66),
    # signals, the clock, facts, the end
    "clock_getres": (229, 114), "clock_gettime": (228, 113), "clock_nanosleep": (230, 115),
    "exit": (60, 93), "exit_group": (231, 94), "getegid": (108, 177), "geteuid": (107, 175),
    "getgid": (104, 176), "getpid": (39, 172), "getppid": (110, 173), "getrandom": (318, 278),
    "getrlimit": (97, 163), "getrusage": (98, 165), "gettid": (186, 178), "gettimeofday": (96, 169),
    "getuid": (102, 174), "nanosleep": (35, 101), "restart_syscall": (219, 128),
    "rt_sigaction": (13, 134), "rt_sigprocmask": (14, 135), "rt_sigreturn": (15, 139),
    "sigaltstack": (131, 132), "sysinfo": (99, 179), "time": (201, None), "times": (100, 153),
    "uname": (63, 160),
    # with a condition: see `_conditions`
    "clone": (56, 220), "open": (2, None), "openat": (257, 56), "prlimit64": (302, 261), "tgkill": (234, 131),
}  # fmt: skip
CLONE3 = 435


@dataclass(frozen=True)
class Restricted:
    """The restrictions that are in force: `files` by Landlock, `calls` by seccomp."""

    files: bool
    calls: bool


def restrict(readable: Sequence[Path] = ()) -> Restricted:
    """Restricts this process for good to reading these folders and its open descriptors.

    Restrictions that the system does not offer are left out. Call this before threads start, since those keep their rights.
    """
    if sys.platform != "linux":
        return Restricted(files=False, calls=False)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0):
        return Restricted(files=False, calls=False)
    return Restricted(files=_restrict_files(libc, readable), calls=_restrict_calls(libc))


def _restrict_files(libc: ctypes.CDLL, readable: Sequence[Path]) -> bool:
    version = libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), 1)
    if version < 1:
        return False
    handled = ctypes.c_uint64((1 << _RIGHTS_OF_VERSION.get(version, 16)) - 1)
    rules = libc.syscall(_CREATE_RULESET, ctypes.byref(handled), ctypes.c_size_t(8), 0)
    if rules < 0:
        return False
    for folder in readable:
        descriptor = os.open(folder, os.O_PATH | os.O_CLOEXEC)
        rule = struct.pack("=Qi", _READ_FILE | _READ_FOLDER, descriptor)
        libc.syscall(_ADD_RULE, rules, 1, rule, 0)
        os.close(descriptor)
    refused = libc.syscall(_RESTRICT_SELF, rules, 0)
    os.close(rules)
    return not refused


def _restrict_calls(libc: ctypes.CDLL) -> bool:
    if platform.machine() not in _MACHINES:
        return False
    program = filter_program(platform.machine(), os.getpid())
    code = ctypes.create_string_buffer(program, len(program))
    header = struct.pack("@HP", len(program) // 8, ctypes.addressof(code))
    return not libc.prctl(_PR_SET_SECCOMP, 2, header, 0, 0)


def filter_program(machine: str, process: int) -> bytes:
    """Returns the filter of system calls, as the kernel runs it."""
    column, architecture = _MACHINES[machine]
    conditions = _conditions(process)
    steps = [
        (_LOAD, 0, 0, _ARCHITECTURE_AT),
        (_IF_EQUAL, 1, 0, architecture),
        (_RETURN, 0, 0, _REFUSE | errno.EPERM),
        (_LOAD, 0, 0, _NUMBER_AT),
        (_IF_EQUAL, 0, 1, CLONE3),
        (_RETURN, 0, 0, _REFUSE | errno.ENOSYS),  # a thread then starts by `clone`, whose flags can be seen
    ]
    for name, numbers in CALLS.items():
        if (number := numbers[column]) is None:
            continue
        if name not in conditions:
            steps += [(_IF_EQUAL, 0, 1, number), (_RETURN, 0, 0, _ALLOW)]
            continue
        argument, mask, wanted = conditions[name]
        steps += [
            (_IF_EQUAL, 0, 5, number),
            (_LOAD, 0, 0, _ARGUMENTS_AT + 8 * argument),
            (_AND, 0, 0, mask),
            (_IF_EQUAL, 0, 1, wanted),
            (_RETURN, 0, 0, _ALLOW),
            (_RETURN, 0, 0, _REFUSE | errno.EPERM),
        ]
    steps.append((_RETURN, 0, 0, _REFUSE | errno.EPERM))
    return b"".join(struct.pack("=HBBI", *step) for step in steps)


def _conditions(process: int) -> dict[str, tuple[int, int, int]]:
    """Returns the calls that are allowed only if an argument, under a mask, has a value: (argument, mask, value)."""
    return {
        "clone": (0, _NEW_THREAD, _NEW_THREAD),
        "open": (1, _WRITING, 0),
        "openat": (2, _WRITING, 0),
        "prlimit64": (0, 0xFFFFFFFF, 0),  # its own limits
        "tgkill": (0, 0xFFFFFFFF, process),  # its own threads, as `abort` does
    }
