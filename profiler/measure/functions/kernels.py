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
    """The kernel to profile: a pattern for ncu, and how many launches of one call fit it."""

    regex: str
    launches: int


def choose(label: str, kernels: Sequence[LaunchedKernel], wanted: str | None) -> Chosen:
    """Returns the kernel that fits the regular expression `wanted`, or the one that takes most of the time."""
    regex = wanted
    if regex is None:
        regex = _pattern(max(kernels, key=lambda one: one.ns).name)
    try:
        found = [one for one in kernels if re.search(regex, demangled(one.name))]
    except re.error as error:
        raise KernelNotFound(f"'{regex}' is not a regular expression: {error}") from None
    if not found:
        names = [f"  {demangled(one.name)[:200]}" for one in kernels]
        raise KernelNotFound(f"{label} launches no kernel that fits '{regex}'; it launches:", details=names)
    return Chosen(regex, sum(one.launches for one in found))


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


def _pattern(name: str) -> str:
    """Returns a pattern for this kernel. Demanglers spell template arguments differently, so it has none of them."""
    spelled = demangled(name).replace("(anonymous namespace)::", "")
    if spelled == name:
        return f"^{re.escape(name)}$"
    base = re.split(r"[<(]", spelled, maxsplit=1)[0].split()[-1]
    return rf"\b{re.escape(base.rpartition('::')[2])}\b"
