"""Reads the machine code of cubins, object files, fat binaries and Triton's cache with NVIDIA's `cuobjdump`.

It needs no GPU. Folders are searched for cubins, as Triton's cache holds them.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from profiler.errors import PathUnusable
from profiler.measuring.tools.process import command_details, run
from profiler.measuring.tools.toolchain import find_packaged, first_executable, toolkit_candidates
from profiler.store.reports.near import what_is_near
from profiler.store.runs.file_names import holds_run

SUFFIXES = (".cubin", ".fatbin", ".o", ".obj", ".so", ".a", ".out")
_ELF = b"\x7fELF"
_TIMEOUT_S = 300.0
_FUNCTION = re.compile(r"^\s*Function : (\S+)\s*$")
_INSTRUCTION = re.compile(r"^\s*/\*([0-9a-f]{4,})\*/\s+(.*?)\s*;\s*/\*")
_TARGET = re.compile(r"^\s*\.target\s+(\S+)|^\s*code for (\S+)")


class CodeLine(NamedTuple):
    """One instruction: its offset in the function, and its text."""

    offset: int
    text: str


CodeListing = dict[str, list[CodeLine]]


def is_code_path(reference: str) -> bool:
    """Returns True if this means a file of machine code, or a folder that holds cubins."""
    path = Path(reference)
    if path.is_dir():
        return not holds_run(path) and next(path.rglob("*.cubin"), None) is not None
    if path.suffix in SUFFIXES:
        return True
    with suppress(OSError):
        if path.is_file():
            with path.open("rb") as file:
                return file.read(len(_ELF)) == _ELF
    return False


def disassemble(path: Path) -> CodeListing:
    """Returns the instructions of every function by its mangled name; of several targets, also by the target.

    Triton's cache may hold a function several times, once for each configuration: they are numbered by their length.
    """
    files = sorted(path.rglob("*.cubin")) if path.is_dir() else [path]
    found: dict[tuple[str, str], list[list[CodeLine]]] = {}
    for file in files:
        for key, lines in _read(file).items():
            if lines not in (known := found.setdefault(key, [])):
                known.append(lines)
    targets = {target for target, _ in found}
    listing = {}
    for (target, name), variants in found.items():
        of_target = f" ({target})" if len(targets) > 1 else ""
        for number, lines in enumerate(sorted(variants, key=lambda one: (len(one), one)), 1):
            which = f" ({number} of {len(variants)})" if len(variants) > 1 else ""
            listing[f"{name}{of_target}{which}"] = lines
    return listing


def _read(path: Path) -> dict[tuple[str, str], list[CodeLine]]:
    if not path.is_file():
        raise PathUnusable(
            f"{path}: no such file; {what_is_near(path, SUFFIXES, one='file of machine code', many='files of machine code')}",
            remedy="Give a cubin, an object file, a fat binary, or a folder of cubins.",
        )
    tool = _find_cuobjdump()
    # A name such as `-x.cubin` would be an option.
    command = [str(tool), "-sass", str(path.absolute())]
    # It starts nvdisasm, which lies beside it in NVIDIA's packages.
    environment = {"PATH": f"{tool.parent}:{os.environ.get('PATH', '')}"}
    said = run(command, timeout_s=_TIMEOUT_S, environment=environment)
    found = parse(said.stdout)
    if said.exit_code or not found:
        raise PathUnusable(
            f"{path}: cuobjdump reads no machine code from it",
            details=command_details(command, said.stdout[:2000], said.stderr),
            remedy="Give a file with code for a GPU; PTX alone is not machine code.",
        )
    return found


def parse(text: str) -> dict[tuple[str, str], list[CodeLine]]:
    """Returns the instructions by target and function, from what `cuobjdump -sass` prints."""
    found: dict[tuple[str, str], list[CodeLine]] = {}
    target, lines = "", list[CodeLine]()
    for line in text.splitlines():
        if match := _TARGET.match(line):
            target = match[1] or match[2]
        elif match := _FUNCTION.match(line):
            lines = found.setdefault((target, match[1]), [])
        elif match := _INSTRUCTION.match(line):
            lines.append(CodeLine(int(match[1], 16), " ".join(match[2].split())))
    return {key: lines for key, lines in found.items() if lines}


def _find_cuobjdump() -> Path:
    packaged = find_packaged("cuobjdump")
    if packaged is not None:
        return packaged
    remedy = "Install the CUDA toolkit, or `pip install nvidia-cuda-cuobjdump nvidia-cuda-nvdisasm`."
    return first_executable("cuobjdump", toolkit_candidates("cuobjdump", os.environ), remedy)
