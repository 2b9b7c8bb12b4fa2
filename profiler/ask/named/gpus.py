"""Chooses runs by the GPU that they were recorded on, as `--gpu h200` asks for."""

from __future__ import annotations

from collections.abc import Iterable

from profiler.errors import RunNotFound
from profiler.store.runs.manifest import Manifest


def is_on(manifest: Manifest, gpu: str | None) -> bool:
    """Returns whether a run was recorded on this GPU; any run was if no GPU is asked for."""
    return gpu is None or any(is_meant(gpu, name) for name in manifest.gpus)


def is_meant(gpu: str, name: str) -> bool:
    """Returns whether a GPU's name contains what the user typed, whatever the case, the spaces and the hyphens.

    A text without a letter or a digit, such as that of a shell variable that is not set, means no GPU.
    """
    part = _plain(gpu)
    return bool(part) and part in _plain(name)


def _plain(name: str) -> str:
    return "".join(filter(str.isalnum, name.casefold()))


def no_such_gpu(gpu: str, what: str, stored: Iterable[str]) -> RunNotFound:
    """Returns the error for a GPU on which nothing is stored, with the GPUs on which there is something."""
    return RunNotFound(
        f"no run of {what} on a GPU called '{gpu}'; there are:",
        details=[f"  {name}" for name in dict.fromkeys(stored)],
        remedy="Give `--gpu` a part of one of these names, or record the kernel on that GPU.",
    )
