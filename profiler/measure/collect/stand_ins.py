"""Finds the tools and the GPU that a dry run names in its commands, or words that stand for them.

Nothing is started with them; `missing_tools` says which of them are only words.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from profiler.errors import GpuNotFound, ToolNotFound
from profiler.measure.devices.device import LocalDevice
from profiler.measure.tools.ncu import Ncu, find_ncu
from profiler.measure.tools.toolchain import Gpu, Toolchain, choose_gpus, find_gpu, find_gpus, find_toolchain

_NO_NCU = Ncu(Path("ncu"), "")
_NO_NVCC = Toolchain(Path("nvcc"), "", Path())
_NO_GPU = Gpu("", "sm_XX", "", "")


def dry_run_device(gpus: str | None) -> LocalDevice:
    """Returns the GPU that a dry run names. `gpus`, given by `--gpus`, is checked only on a machine with GPUs."""
    try:
        ncu = find_ncu()
    except ToolNotFound:
        ncu = _NO_NCU
    try:
        visible = [find_gpu()] if gpus is None else find_gpus()
    except GpuNotFound:
        return LocalDevice(_NO_GPU, ncu)
    return LocalDevice(visible[0] if gpus is None else choose_gpus(gpus, visible)[0], ncu)


def dry_run_toolchain() -> Toolchain:
    """Returns the toolchain that a dry run names."""
    try:
        return find_toolchain()
    except ToolNotFound:
        return _NO_NVCC


def missing_tools(ncu: Ncu, gpu: Gpu, toolchain: Toolchain | None) -> Iterator[str]:
    """Yields one line for each stand-in that a command names. `toolchain` is None if no command names nvcc."""
    if ncu is _NO_NCU:
        yield "no ncu was found here: `ncu` stands for its path"
    if toolchain is _NO_NVCC:
        yield "no nvcc was found here: `nvcc` stands for its path, and cuBLAS is left out"
    if toolchain is not None and gpu is _NO_GPU:
        yield "no GPU was found here: XX stands for its architecture, 90 on an H100 or H200"
