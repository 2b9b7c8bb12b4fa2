"""Names a part of a program for profilers, through NVTX; does nothing where no profiler listens."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache

from profiler.measuring.tools.cuda_libraries import library_paths

_LIBRARIES = ("libnvtx3interop.so.1", "libnvToolsExt.so.1")
_Calls = tuple[Callable[[str], object], Callable[[], object]]


@contextmanager
def named_range(name: str) -> Iterator[None]:
    """Names everything that is launched inside for profilers: `prof collect --nvtx NAME` chooses it."""
    push, pop = _find_calls()
    push(name)
    try:
        yield
    finally:
        pop()


def _find_calls() -> _Calls:
    """Returns NVTX's push and pop, from what the program has loaded if possible; NVTX itself costs nothing unheard."""
    if "torch" in sys.modules:
        nvtx = sys.modules["torch"].cuda.nvtx
        with suppress(RuntimeError):  # PyTorch without CUDA has the functions and refuses to run them
            nvtx.range_push("")
            nvtx.range_pop()
            return nvtx.range_push, nvtx.range_pop
    if "cupy" in sys.modules:
        nvtx = sys.modules["cupy"].cuda.nvtx
        return nvtx.RangePush, nvtx.RangePop
    library = _load_nvtx()
    if library is None:
        return lambda _: None, lambda: None
    return lambda name: library.nvtxRangePushA(name.encode()), library.nvtxRangePop


@cache
def _load_nvtx() -> ctypes.CDLL | None:
    for name in _LIBRARIES:
        for path in library_paths(name):
            with suppress(OSError):
                return ctypes.CDLL(path)
    return None
