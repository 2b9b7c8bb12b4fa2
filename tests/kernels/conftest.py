"""The ladder's machine code, compiled once for all tests: no GPU is needed for that."""

from __future__ import annotations

import os
import re
import shutil
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from profiler.catalog.ladder import Kernel, Ladder
from profiler.catalog.ladder_file import read_ladder
from profiler.measure.build import build_flags
from profiler.measure.process import run
from profiler.measure.ptxas import Resources, parse_resources
from profiler.measure.toolchain import Toolchain, describe_toolchain, find_packaged, find_toolchain
from profiler.store.sandbox import available_cores

ARCHITECTURES = ("sm_80", "sm_90", "sm_100")
TENSOR = ("HMMA", "HGMMA", "UTCHMMA")
LADDER = Path(__file__).parents[2] / "kernels/gemm/ladder.toml"
_ARCH = re.compile(r"^\s*code for (sm_\w+)", re.MULTILINE)
_FUNCTION = re.compile(r"^\s*Function : (\S+)", re.MULTILINE)
_INSTRUCTION = re.compile(
    r"^\s*/\*(?P<offset>[0-9a-f]{4,})\*/\s+\{?\s*(?P<predicate>@!?U?P\w+\s+)?(?P<opcode>[A-Z][A-Z0-9_.]*)\s*(?P<operands>[^;]*);",
    re.MULTILINE,
)
_TARGET = re.compile(r"0x([0-9a-f]+)\s*$")


@dataclass(frozen=True)
class Instruction:
    offset: int
    opcode: str  # with modifiers, without predicate
    operands: str

    @property
    def name(self) -> str:
        return self.opcode.split(".", maxsplit=1)[0]

    @property
    def target(self) -> int | None:
        """Where a branch goes."""
        match = _TARGET.search(self.operands) if self.name == "BRA" else None
        return int(match[1], 16) if match else None


@dataclass(frozen=True)
class Compiled:
    """One rung: its resources, and per architecture its functions' instructions."""

    resources: list[Resources]
    code: dict[str, dict[str, list[Instruction]]]


@dataclass(frozen=True)
class MachineCode:
    ladder: Ladder
    compiled: dict[int, Compiled]

    def target(self, number: int, arch: str) -> str:
        return self.ladder.kernel(number).targets.get(arch, arch)

    def functions(self, number: int, arch: str) -> dict[str, list[Instruction]]:
        """The rung's own kernels, without the harness's and without the variant for ragged shapes."""
        code = self.compiled[number].code[self.target(number, arch)]
        return {name: body for name, body in code.items() if "gemm_" in name and "ILb0E" not in name}

    def function(self, number: int, arch: str) -> list[Instruction]:
        (body,) = self.functions(number, arch).values()
        return body

    def hot_loop(self, number: int, arch: str) -> Counter[str]:
        """How often each opcode stands in the loop that does the rung's work."""
        return Counter(one.opcode for one in hot_loop(self.function(number, arch), ("FFMA",)))

    def tensor_loops(self, number: int, arch: str) -> set[str]:
        """The instructions, without modifiers, of the loops that multiply on the tensor cores."""
        bodies = self.functions(number, arch).values()
        return {one.name for body in bodies for one in hot_loop(body, TENSOR)}


@pytest.fixture(scope="session")
def machine_code(tmp_path_factory: pytest.TempPathFactory) -> MachineCode:
    packaged = find_packaged("nvcc")
    cuobjdump = find_packaged("cuobjdump") or shutil.which("cuobjdump")
    reason = ""
    if (packaged is None and shutil.which("nvcc") is None) or cuobjdump is None:
        reason = "nvcc and cuobjdump are not installed: requirements-test.lock brings them"
    elif shutil.which("g++") is None:
        reason = "nvcc needs a host compiler, and g++ is not installed"
    if reason:
        pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)
    toolchain = describe_toolchain(packaged) if packaged else find_toolchain()
    ladder = read_ladder(LADDER)
    folder = tmp_path_factory.mktemp("machine_code")

    def compiled(kernel: Kernel) -> tuple[int, Compiled]:
        return kernel.number, _compile(kernel, toolchain, Path(cuobjdump), folder)

    with ThreadPoolExecutor(available_cores()) as executor:
        return MachineCode(ladder, dict(executor.map(compiled, ladder.kernels)))


def _compile(kernel: Kernel, toolchain: Toolchain, cuobjdump: Path, folder: Path) -> Compiled:
    """All architectures in one call of the compiler."""
    fatbin = folder / f"{kernel.file_name}.fatbin"
    flags = [build_flags(kernel, arch) for arch in ARCHITECTURES]
    command = [
        str(toolchain.nvcc), "-Xptxas=-v", "-DPROF_NO_CUBLAS", "-fatbin",
        *dict.fromkeys(flag for group in flags for flag in group), str(kernel.source), "-o", str(fatbin),
    ]  # fmt: skip
    built = run(command, timeout_s=300)
    assert built.exit_code == 0, built.stderr
    tools = {"PATH": f"{cuobjdump.parent}:{os.environ['PATH']}"}  # it calls nvdisasm
    read = run([str(cuobjdump), "-sass", str(fatbin)], timeout_s=300, environment=tools)
    assert read.exit_code == 0, read.stderr
    return Compiled(parse_resources(built.stderr), read_sass(read.stdout))


def read_sass(text: str) -> dict[str, dict[str, list[Instruction]]]:
    """Architecture -> mangled function name -> its instructions."""
    read: dict[str, dict[str, list[Instruction]]] = {}
    for arch, section in _sections(_ARCH, text):
        functions = read.setdefault(arch, {})
        for function, body in _sections(_FUNCTION, section):
            functions[function] = [
                Instruction(int(match["offset"], 16), match["opcode"], match["operands"].strip())
                for match in _INSTRUCTION.finditer(body)
            ]
    return read


def hot_loop(instructions: list[Instruction], work: Iterable[str]) -> list[Instruction]:
    """The loop with most of the arithmetic in itself: what a loop inside of it does is not counted."""
    names = set(work)
    loops = {
        (one.target, one.offset) for one in instructions if one.target is not None and one.target < one.offset
    }

    def own_work(loop: tuple[int, int]) -> int:
        inner = [other for other in loops if other != loop and loop[0] <= other[0] and other[1] <= loop[1]]
        return sum(
            one.name in names and not any(start <= one.offset <= end for start, end in inner)
            for one in instructions
            if loop[0] <= one.offset <= loop[1]
        )

    if not loops:
        return []
    start, end = max(sorted(loops), key=own_work)
    return [one for one in instructions if start <= one.offset <= end]


def _sections(heading: re.Pattern[str], text: str) -> list[tuple[str, str]]:
    starts = list(heading.finditer(text))
    ends = [match.start() for match in starts[1:]] + [len(text)]
    return [(match[1], text[match.end() : end]) for match, end in zip(starts, ends, strict=True)]
