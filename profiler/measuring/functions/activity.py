"""Listens to CUPTI's activity records: every kernel, copy and memset of this process, with its times on the GPU.

Activity records need no privilege, unlike counters. The fields read here have the same offsets in every record of a
kernel since CUDA 9 (CUpti_ActivityKernel4 to 10 in cupti_activity.h).
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Iterator, Sequence
from contextlib import suppress
from ctypes import POINTER, byref, c_size_t, c_uint32, c_void_p
from functools import cache
from typing import NamedTuple

from profiler.measuring.tools.cuda_libraries import CUPTI, library_paths

_KERNEL, _COPY, _SET = 10, 1, 2  # CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, _MEMCPY, _MEMSET
_BUFFER_BYTES = 4 << 20
_FORCED = 1  # CUPTI_ACTIVITY_FLAG_FLUSH_FORCED
_REQUESTED = ctypes.CFUNCTYPE(None, POINTER(c_void_p), POINTER(c_size_t), POINTER(c_size_t))
_COMPLETED = ctypes.CFUNCTYPE(None, c_void_p, c_uint32, c_void_p, c_size_t, c_size_t)


class CuptiMissing(Exception):
    """There is no CUPTI, or it cannot be used here."""


class Activity(NamedTuple):
    """One piece of work on the GPU. A copy or a memset has an empty `name` and no `shape`."""

    name: str
    start_ns: int
    end_ns: int
    shape: tuple[int, ...] = ()  # grid, block, shared memory and registers

    @property
    def ns(self) -> int:
        return self.end_ns - self.start_ns


@cache
def listener() -> Listener:
    """Returns the listener of this process."""
    return Listener()


def busy_ns(activities: Sequence[Activity]) -> int:
    """Returns how long the GPU worked on at least one of the activities."""
    total, until = 0, 0
    for one in sorted(activities, key=lambda one: one.start_ns):
        total += max(0, one.end_ns - max(one.start_ns, until))
        until = max(until, one.end_ns)
    return total


class Listener:
    """Collects activities while it is started; `take` returns those since the last call of it.

    A process has one: CUPTI knows one receiver.
    """

    def __init__(self) -> None:
        self._cupti = _find_cupti()
        self._free = ctypes.CDLL(None).free
        self._free.argtypes = [c_void_p]
        self._allocate = ctypes.CDLL(None).aligned_alloc
        self._allocate.restype, self._allocate.argtypes = c_void_p, [c_size_t, c_size_t]
        self._next = self._cupti.cuptiActivityGetNextRecord
        self._next.argtypes = [c_void_p, c_size_t, POINTER(c_void_p)]
        self._heard: list[Activity] = []
        self._callbacks = (_REQUESTED(self._request), _COMPLETED(self._complete))  # CUPTI keeps no reference
        self._call("cuptiActivityRegisterCallbacks", *self._callbacks)

    def start(self) -> None:
        """Listens from now on."""
        for kind in (_KERNEL, _COPY, _SET):
            self._call("cuptiActivityEnable", c_uint32(kind))

    def stop(self) -> None:
        """Stops listening, so that the process runs as fast as before."""
        for kind in (_KERNEL, _COPY, _SET):
            self._call("cuptiActivityDisable", c_uint32(kind))

    def take(self) -> list[Activity]:
        """Returns what ended since the last call. Wait for the GPU first."""
        self._call("cuptiActivityFlushAll", c_uint32(_FORCED))
        heard, self._heard = self._heard, []
        return heard

    def _request(self, buffer: object, size: object, most: object) -> None:
        buffer[0] = self._allocate(8, _BUFFER_BYTES)  # type: ignore[index]
        size[0], most[0] = _BUFFER_BYTES, 0  # type: ignore[index]

    def _complete(self, _: object, __: int, buffer: int, ___: int, valid: int) -> None:
        record = c_void_p()
        while valid and not self._next(buffer, valid, byref(record)) and record.value:
            self._heard += _read(record.value)
        self._free(buffer)

    def _call(self, name: str, *arguments: object) -> None:
        code = getattr(self._cupti, name)(*arguments)
        if code:
            text = ctypes.c_char_p()
            self._cupti.cuptiGetResultString(code, byref(text))
            raise CuptiMissing(f"{name}: {text.value.decode() if text.value else code}")


def _read(address: int) -> Iterator[Activity]:
    (kind,) = struct.unpack("=I", ctypes.string_at(address, 4))
    if kind == _KERNEL:
        data = ctypes.string_at(address, 112)
        (registers,) = struct.unpack_from("=H", data, 6)
        start, end = struct.unpack_from("=QQ", data, 16)
        sizes = struct.unpack_from("=8i", data, 52)  # grid, block, static and dynamic shared memory
        (name,) = struct.unpack_from("=Q", data, 104)
        text = ctypes.string_at(name).decode(errors="replace") if name else "?"
        yield Activity(text, start, end, (*sizes, registers))
    elif kind in (_COPY, _SET):
        yield Activity("", *struct.unpack("=QQ", ctypes.string_at(address + 16, 16)))


def _find_cupti() -> ctypes.CDLL:
    """Returns the CUPTI that this process has loaded already, or the first that is installed and loads."""
    for path in dict.fromkeys([*_loaded(), *library_paths(CUPTI)]):
        with suppress(OSError):
            return ctypes.CDLL(path)
    raise CuptiMissing(f"no {CUPTI}: it comes with the CUDA toolkit, PyTorch and JAX")


def _loaded() -> list[str]:
    with suppress(OSError), open("/proc/self/maps") as maps:
        return [path for line in maps if CUPTI in (path := line.split(maxsplit=5)[-1].strip())]
    return []
