"""Says where the shared libraries of CUDA may lie, such as CUPTI's and NVTX's."""

from __future__ import annotations

import glob
import os
import sys
from collections.abc import Iterator

CUPTI = "libcupti.so"


def library_paths(library: str) -> Iterator[str]:
    """Yields where a library may lie: beside Python's packages, in a toolkit, or, by its bare name, where the system looks."""
    for entry in sys.path:
        yield from sorted(glob.glob(f"{glob.escape(entry or '.')}/nvidia/*/lib/{library}*"), reverse=True)
    homes = [os.environ.get(name) for name in ("CUDA_HOME", "CUDA_PATH")]
    for home in filter(
        None, [*homes, "/usr/local/cuda", *sorted(glob.glob("/usr/local/cuda-*"), reverse=True)]
    ):
        for folder in ("extras/CUPTI/lib64", "lib64", "lib"):
            yield from sorted(glob.glob(f"{home}/{folder}/{library}*"), reverse=True)
    yield library
