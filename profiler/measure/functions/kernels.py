"""The kernels that a function launches, and the choice of the one to profile."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from profiler.errors import KernelNotFound


@dataclass(frozen=True)
class LaunchedKernel:
    """A kernel of a function: its launches in one call, and the time that they take together, without the profiler."""

    name: str
    launches: int
    ns: float


@dataclass(frozen=True)
class Chosen:
    """The kernel to profile: a pattern or further words for ncu, and how many launches of one call fit."""

    regex: str | None
    words: tuple[str, ...]
    launches: int


def choose(label: str, kernels: Sequence[LaunchedKernel], wanted: str | None) -> Chosen:
    """Returns the kernels that fit the regular expression `wanted`, or the one that takes most of the time."""
    if wanted is None:
        longest = max(kernels, key=lambda one: one.ns)
        # Demanglers spell template arguments in different ways, so the kernel is named as the binary names it.
        words = ("--kernel-name-base", "mangled", "--kernel-name", longest.name)
        return Chosen(None, words, longest.launches)
    try:
        found = [one for one in kernels if re.search(wanted, demangled(one.name))]
    except re.error as error:
        raise KernelNotFound(f"'{wanted}' is not a regular expression: {error}") from None
    if not found:
        names = [f"  {demangled(one.name)[:200]}" for one in kernels]
        raise KernelNotFound(f"{label} launches no kernel that fits '{wanted}'; it launches:", details=names)
    return Chosen(wanted, (), sum(one.launches for one in found))


def demangled(name: str) -> str:
    """Returns the name as its source spells it, or the name itself if it is not that of a C++ function."""
    if not name.startswith("_Z"):
        return name
    with suppress(OSError):
        library = ctypes.CDLL("libstdc++.so.6")
        library.__cxa_demangle.restype = ctypes.c_void_p
        text = library.__cxa_demangle(name.encode(), None, None, None)
        if text:
            found = ctypes.string_at(text).decode(errors="replace")
            ctypes.CDLL(None).free(ctypes.c_void_p(text))
            return found
    return name
