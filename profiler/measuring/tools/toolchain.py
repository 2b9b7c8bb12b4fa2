"""Finds nvcc with its version, and cuBLAS.

nvcc may be on the PATH, in CUDA_HOME or CUDA_PATH, in /usr/local/cuda, or in NVIDIA's packages from PyPI, in this
order. The first one that exists is used, with everything that belongs to it.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from profiler.errors import ToolNotFound
from profiler.measuring.tools.process import run

NOT_FOUND = "not found"
_TOOL_TIMEOUT_S = 60.0


@dataclass(frozen=True)
class Library:
    """A library to link: its header's folder and the file itself."""

    include: Path
    file: Path


@dataclass(frozen=True)
class Toolchain:
    """An nvcc and the folders that belong to it."""

    nvcc: Path
    version: str  # 13.0.88
    root: Path  # the folder that holds bin/ and include/
    link_folder: Path | None = None  # the CUDA runtime's folder, if nvcc does not find it by itself
    cublas: Library | None = None


def find_toolchain(environment: Mapping[str, str] = os.environ) -> Toolchain:
    """Returns the first nvcc that is installed, with what belongs to it; raises ToolNotFound."""
    remedy = "Install the CUDA toolkit, or NVIDIA's packages: `pip install nvidia-cuda-nvcc nvidia-cuda-cccl nvidia-cuda-profiler-api`."
    return describe_toolchain(first_executable("nvcc", nvcc_candidates(environment), remedy))


def describe_toolchain(nvcc: Path) -> Toolchain:
    version = tool_version(nvcc, r"\bV(\d+\.\d+\.\d+)")
    root = _root_of(nvcc)
    link_folder = None if (root / "lib64").is_dir() or (root / "targets").is_dir() else root / "lib"
    return Toolchain(nvcc, version, root, link_folder, find_cublas(root, version.split(".", maxsplit=1)[0]))


def find_cublas(root: Path, major: str) -> Library | None:
    """Returns cuBLAS of the compiler's major version: beside nvcc, among Python's packages, or the system's."""
    python = [path for folder in _nvidia_packages() for path in (folder / f"cu{major}", folder / "cublas")]
    places = [root, *sorted(root.glob("targets/*-linux")), *python, Path("/usr")]
    libraries = ("lib64", "lib", "lib/x86_64-linux-gnu", "lib/aarch64-linux-gnu")
    for place in places:
        if not (place / "include/cublas_v2.h").is_file():
            continue
        for folder in libraries:
            file = place / folder / f"libcublas.so.{major}"
            if file.is_file():
                return Library(place / "include", file)
    return None


def nvcc_candidates(environment: Mapping[str, str]) -> Iterator[Path]:
    """Yields the places where nvcc may be, the preferred one first."""
    yield from toolkit_candidates("nvcc", environment)
    yield from _packaged("bin/nvcc")


def toolkit_candidates(tool: str, environment: Mapping[str, str]) -> Iterator[Path]:
    """Yields the places where a tool of the CUDA toolkit may be: on the PATH, in CUDA_HOME, where it is installed."""
    found = shutil.which(tool, path=environment.get("PATH"))
    if found:
        yield Path(found)
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        if environment.get(variable):
            yield Path(environment[variable]) / "bin" / tool
    yield Path("/usr/local/cuda/bin") / tool


def _packaged(file: str) -> Iterator[Path]:
    """Yields the path of a file in each of NVIDIA's packages from PyPI that could hold it, newest CUDA first."""
    for folder in _nvidia_packages():
        homes = [path for path in folder.glob("cu[0-9]*") if path.name[2:].isdecimal()]
        for home in sorted(homes, key=lambda path: -int(path.name[2:])):
            yield home / file
        yield folder / "cuda_nvcc" / file


def find_packaged(tool: str) -> Path | None:
    """Returns a tool of NVIDIA's packages from PyPI, even if it is installed elsewhere too."""
    return next((path for path in _packaged(f"bin/{tool}") if path.is_file()), None)


def _nvidia_packages() -> list[Path]:
    """Returns the folders of the namespace package `nvidia`, without importing it."""
    return [folder for entry in sys.path if (folder := Path(entry or ".") / "nvidia").is_dir()]


def first_executable(tool: str, candidates: Iterable[Path], remedy: str) -> Path:
    """Returns the first candidate that can be executed; raises ToolNotFound with all of them."""
    places = list(dict.fromkeys(candidates))
    for path in places:
        if path.is_file() and os.access(path, os.X_OK):
            return path
    raise ToolNotFound(
        f"{tool} was not found on the PATH, nor here:",
        details=[f"    {place}" for place in places],
        remedy=remedy,
        reason=NOT_FOUND,
    )


def tool_version(tool: Path, pattern: str) -> str:
    """Returns the version that a tool prints; the pattern's first group matches it."""
    answer = run([str(tool), "--version"], timeout_s=_TOOL_TIMEOUT_S)
    version = re.search(pattern, answer.stdout, re.MULTILINE)
    if answer.exit_code or version is None:
        raise ToolNotFound(f"{tool}: does not report its version ({answer.how})", details=answer.details)
    return version[1]


def _root_of(nvcc: Path) -> Path:
    """Returns the toolkit's folder according to nvcc itself: the file found may be a link or a script."""
    answer = run([str(nvcc), "--dryrun", "-c", "any.cu"], timeout_s=_TOOL_TIMEOUT_S)
    top = re.search(r"^#\$ TOP=(.+)$", answer.stderr, re.MULTILINE)
    return Path(os.path.normpath(top[1].strip())) if top else nvcc.resolve().parent.parent
