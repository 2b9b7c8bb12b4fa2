"""What a dry run writes its commands with: the tools and the GPU that are here, or words that stand for them.

Nothing is started with what comes out of here; `missing` says what stands for something else.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from profiler.errors import GpuNotFound, ToolNotFound
from profiler.measure.devices.assign import choose_gpus
from profiler.measure.devices.bench import LocalBench
from profiler.measure.tools.ncu import Ncu, find_ncu
from profiler.measure.tools.toolchain import Gpu, Toolchain, find_gpu, find_gpus, find_toolchain

_NO_NCU = Ncu(Path("ncu"), "")
_NO_NVCC = Toolchain(Path("nvcc"), "", Path())
_NO_GPU = Gpu("", "sm_XX", "", "")


def planned_bench(gpus: str | None) -> LocalBench:
    """`gpus` as they were asked for, which only a machine that has some can judge."""
    try:
        ncu = find_ncu()
    except ToolNotFound:
        ncu = _NO_NCU
    try:
        visible = [find_gpu()] if gpus is None else find_gpus()
    except GpuNotFound:
        return LocalBench(_NO_GPU, ncu)
    return LocalBench(visible[0] if gpus is None else choose_gpus(gpus, visible)[0], ncu)


def planned_toolchain() -> Toolchain:
    try:
        return find_toolchain()
    except ToolNotFound:
        return _NO_NVCC


def missing(ncu: Ncu, gpu: Gpu, toolchain: Toolchain | None) -> Iterator[str]:
    """One line for each that is not here and that a command names; a toolchain is None where none does."""
    if ncu is _NO_NCU:
        yield "no ncu was found here: `ncu` stands for its path"
    if toolchain is _NO_NVCC:
        yield "no nvcc was found here: `nvcc` stands for its path, and cuBLAS is left out"
    if toolchain is not None and gpu is _NO_GPU:
        yield "no GPU was found here: XX stands for its architecture, 90 on an H100 or H200"
