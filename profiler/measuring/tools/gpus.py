"""Finds the GPUs that a CUDA program started from here would see, as `nvidia-smi` lists them."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from profiler.errors import GpuNotFound
from profiler.measuring.tools.process import run

_TIMEOUT_S = 60.0
_FIELDS = ("name", "compute_cap", "driver_version", "uuid")


@dataclass(frozen=True)
class Gpu:
    name: str
    arch: str  # sm_90
    driver_version: str
    uuid: str


def find_gpu(environment: Mapping[str, str] = os.environ) -> Gpu:
    """Returns the first GPU that a CUDA program started from here would see."""
    return _query_gpus(environment, _visible(environment)[:1] or ["0"])[0]


def find_gpus(environment: Mapping[str, str] = os.environ) -> list[Gpu]:
    """Returns all GPUs that a CUDA program started from here would see, in its order."""
    return _query_gpus(environment, _visible(environment))


def choose_gpus(given: str, gpus: Sequence[Gpu]) -> list[Gpu]:
    """Returns the GPUs that `--gpus` names: `all`, or numbers and UUIDs separated by commas.

    Numbers count the visible GPUs from 0.
    """
    if given == "all":
        return list(gpus)
    chosen = []
    for name in given.split(","):
        found = [gpu for index, gpu in enumerate(gpus) if name.strip() in (str(index), gpu.uuid)]
        if not found:
            raise GpuNotFound(
                f"--gpus {given}: there is no GPU '{name.strip()}'; {len(gpus)} are visible, from 0",
                remedy="Give numbers such as 0,1, UUIDs, or all.",
            )
        chosen += found
    return list(dict.fromkeys(chosen))


def _visible(environment: Mapping[str, str]) -> list[str]:
    """Returns the names in CUDA_VISIBLE_DEVICES; none if it is not set and all GPUs are visible."""
    given = environment.get("CUDA_VISIBLE_DEVICES")
    if given is None:
        return []
    named = [name.strip() for name in given.split(",")]
    if named[0] in ("", "-1"):
        raise GpuNotFound(
            "no GPU: CUDA_VISIBLE_DEVICES hides all of them", remedy="Unset CUDA_VISIBLE_DEVICES."
        )
    return named


def _query_gpus(environment: Mapping[str, str], ids: Sequence[str]) -> list[Gpu]:
    tool = shutil.which("nvidia-smi", path=environment.get("PATH"))
    if tool is None:
        raise GpuNotFound("no GPU: nvidia-smi is not on the PATH")
    command = [tool, f"--query-gpu={','.join(_FIELDS)}", "--format=csv,noheader"]
    if ids:
        command.append(f"--id={','.join(ids)}")
    answer = run(command, timeout_s=_TIMEOUT_S)
    rows = [[field.strip() for field in line.split(",")] for line in answer.stdout.strip().split("\n")]
    whole = all(len(row) == len(_FIELDS) and re.fullmatch(r"\d+\.\d", row[1]) for row in rows)
    if answer.exit_code or not whole:
        raise GpuNotFound(f"no GPU: nvidia-smi lists none ({answer.how})", details=answer.details)
    return [
        Gpu(name, f"sm_{capability.replace('.', '')}", driver, uuid)
        for name, capability, driver, uuid in rows
    ]
