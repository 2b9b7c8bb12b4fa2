"""Says where the shared libraries of CUDA may lie, such as CUPTI's and NVTX's."""

from __future__ import annotations

import glob
import os
import sys
from collections.abc import Iterator

from profiler.text import newest_first

CUPTI = "libcupti.so"


def library_paths(library: str) -> Iterator[str]:
    """Yields where a library may lie: beside Python's packages, in a toolkit, or, by its bare name, where the system looks."""
    for entry in sys.path:
        yield from newest_first(glob.glob(f"{glob.escape(entry or '.')}/nvidia/*/lib/{library}*"))
    homes = [os.environ.get(name) for name in ("CUDA_HOME", "CUDA_PATH")]
    for home in filter(None, [*homes, "/usr/local/cuda", *newest_first(glob.glob("/usr/local/cuda-*"))]):
        for folder in ("extras/CUPTI/lib64", "lib64", "lib"):
            yield from newest_first(glob.glob(f"{home}/{folder}/{library}*"))
    yield library
