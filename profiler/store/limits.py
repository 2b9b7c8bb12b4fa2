"""Compares the memory that this process may use (`ulimit -v`) with what native libraries take at once.

They end the process when they get less, some with exit code 1, which means a regression.
"""

from __future__ import annotations

import os
import resource

from profiler.errors import ResourcesShort

_LEAST_MIB = 512  # for NumPy and Arrow
_FEW_MIB = 4096


def require_memory(what: str, least_mib: int = _LEAST_MIB) -> None:
    """Raise ResourcesShort when this process may use less memory than that. With little, NumPy gets one thread."""
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        return
    if limit >> 20 < least_mib:
        raise ResourcesShort(
            f"{what} needs {least_mib:,} MiB of memory, and this process may use {limit >> 20:,} MiB (ulimit -v)"
        )
    if limit >> 20 < _FEW_MIB:  # each thread of OpenBLAS takes memory as soon as NumPy is imported
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
