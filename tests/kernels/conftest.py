"""The machine code of every rung that ships, compiled without a GPU.

`machine_code("relu", 2)` is rung 2 of `kernels/relu/ladder.toml` as the compiler made it for sm_90; `machine_code("gemm", 5,
"sm_80")` names another of the ladder's ARCHITECTURES, which campaigns compile. The rungs of a ladder are compiled together, each in a namespace, since
most of the time goes into what they include: when a test first asks for one of them, by one worker for all, and again only when
their command, the compiler, a source or a header in `kernels/` has changed. `alone=True` compiles one rung as `prof build` does;
test_every_ladder.py shows that it is the same machine code.

What must hold for every rung is in test_every_ladder.py: it compiles, spills nothing and holds the kernel that it promises. A
ladder's own module therefore states its claims alone:

    def test_rung_2_moves_128_bits_at_a_time(machine_code):
        code = machine_code("relu", 2)
        assert code.widths("LDG") == code.widths("STG") == {128}
"""

from __future__ import annotations

import hashlib
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import cast

import msgspec
import pytest

from profiler.analyse.code.opcodes import width_bits
from profiler.catalog.ladders.ladder import Kernel, Ladder
from profiler.catalog.ladders.ladder_file import read_ladder
from profiler.measure.rungs.build import build_flags
from profiler.measure.tools.process import run
from profiler.measure.tools.ptxas import Resources, parse_resources
from profiler.measure.tools.toolchain import Toolchain, describe_toolchain
from profiler.store.remote.places import sha256_of

KERNELS = Path(__file__).parents[2] / "kernels"
ARCHITECTURES = {"gemm": ("sm_80", "sm_90", "sm_100")}  # of any other ladder, sm_90 alone
SUITE_ARCHITECTURE = "sm_90"  # the others are for campaigns
_INCLUDE = re.compile(r"^#include .+$", re.MULTILINE)
_OF_OURS = re.compile(r'^#include "(.+)"$', re.MULTILINE)
_DEFINE = re.compile(r"^#define (\w+)", re.MULTILINE)
_NAMESPACE = re.compile(r"rung_\d{3}")  # as namespace_of calls it
_ARCH = re.compile(r"^\s*code for (sm_\w+)", re.MULTILINE)
_FUNCTION = re.compile(r"^\s*Function : (\S+)", re.MULTILINE)
_INSTRUCTION = re.compile(
    r"^\s*/\*(?P<offset>[0-9a-f]{4,})\*/\s+\{?\s*(?P<predicate>@!?U?P\w+\s+)?(?P<opcode>[A-Z][A-Za-z0-9_.]*)\s*(?P<operands>[^;]*);",
    re.MULTILINE,
)
_TARGET = re.compile(r"0x([0-9a-f]+)\s*$")


class Instruction(msgspec.Struct, frozen=True):
    offset: int
    opcode: str  # with modifiers, without predicate
    operands: str

    @property
    def name(self) -> str:
        return self.opcode.split(".", maxsplit=1)[0]

    @property
    def target(self) -> int | None:
        """The offset that a branch jumps to."""
        match = _TARGET.search(self.operands) if self.name == "BRA" else None
        return int(match[1], 16) if match else None


@dataclass(frozen=True)
class Code:
    """One rung on one architecture: its own kernels, which are those that its `regex` finds."""

    kernel: Kernel
    target: str  # sm_90a, where the rung asks for that
    functions: dict[str, list[Instruction]]  # by mangled name
    resources: list[Resources]

    def only(self, pattern: str) -> Code:
        """The kernels whose mangled name holds `pattern`: of two variants, the one that a claim is about."""
        return replace(
            self,
            functions={name: body for name, body in self.functions.items() if re.search(pattern, name)},
            resources=[one for one in self.resources if re.search(pattern, one.function)],
        )

    @property
    def function(self) -> list[Instruction]:
        """The instructions, where there is one kernel."""
        (body,) = self.functions.values()
        return body

    @property
    def opcodes(self) -> Counter[str]:
        """How often each opcode stands in the code, with its modifiers."""
        return Counter(one.opcode for body in self.functions.values() for one in body)

    @property
    def names(self) -> set[str]:
        """The opcodes without modifiers."""
        return {one.name for body in self.functions.values() for one in body}

    def widths(self, name: str) -> set[int]:
        """The bits that one thread moves by each LDG, STG, LDS, STS ... of the code."""
        return {width_bits(opcode) or 0 for opcode in self.opcodes if opcode.split(".")[0] == name}

    def hot_loop(self, work: Iterable[str]) -> Counter[str]:
        """How often each opcode stands in the loop with most of `work` (opcodes without modifiers), of each kernel."""
        return Counter(one.opcode for body in self.functions.values() for one in hot_loop(body, work))


MachineCode = Callable[..., Code]


class Compiled(msgspec.Struct, frozen=True):
    """The result of one call of the compiler: for each architecture, each function's instructions."""

    resources: list[Resources]
    code: dict[str, dict[str, list[Instruction]]]


@dataclass(frozen=True)
class Compiler:
    toolchain: Toolchain
    cuobjdump: Path
    folder: Path
    lock: Callable[[Path], AbstractContextManager[None]]
    known: dict[str, Compiled] = field(default_factory=dict)

    @cached_property
    def headers(self) -> list[Path]:
        return sorted(KERNELS.rglob("*.cuh"))

    def alone(self, ladder: Ladder, kernel: Kernel, arch: str) -> Compiled:
        source = cast(Path, kernel.source)
        command = self._command(build_flags(kernel, arch), source)
        return self._compiled(f"{ladder.name}_{kernel.file_name}_{arch}", command, [source])

    def together(self, ladder: Ladder, kernel: Kernel, arch: str) -> Compiled:
        """The rung and all others of its ladder that take the same flags."""
        flags = build_flags(kernel, arch)
        rungs = [one for one in ladder.kernels if one.is_compiled and build_flags(one, arch) == flags]
        name = f"{ladder.name}_from_{rungs[0].file_name}_{arch}"
        one_file = self.folder / f"{name}.cu"
        command = self._command(flags, one_file)
        sources = [cast(Path, one.source) for one in rungs]
        return self._compiled(name, command, sources, (one_file, one_file_of(rungs)))

    def _command(self, flags: list[str], source: Path) -> list[str]:
        nvcc = [str(self.toolchain.nvcc), "-Xptxas=-v", "-DPROF_NO_CUBLAS", "-fatbin"]
        return [*nvcc, *dict.fromkeys(flags), str(source)]

    def _compiled(
        self, name: str, command: list[str], sources: list[Path], written: tuple[Path, str] | None = None
    ) -> Compiled:
        """`written` is the file to compile and its text, where it is made of the sources."""
        if name not in self.known:
            self.known[name] = self._compiled_by_some_worker(name, command, sources, written)
        return self.known[name]

    def _compiled_by_some_worker(
        self, name: str, command: list[str], sources: list[Path], written: tuple[Path, str] | None
    ) -> Compiled:
        path = self.folder / f"{name}.{self._made_from(command, sources)}.json"
        with self.lock(self.folder / f"{name}.lock"):
            if not path.exists():
                if written:
                    written[0].write_text(written[1])
                made = self._compile(command, path.with_suffix(".fatbin"))
                for stale in self.folder.glob(f"{name}.*.json"):
                    stale.unlink()
                new = path.with_suffix(".new")
                new.write_bytes(msgspec.json.encode(made))
                new.replace(path)
            return msgspec.json.decode(path.read_bytes(), type=Compiled)

    def _made_from(self, command: list[str], sources: list[Path]) -> str:
        files = [sha256_of(path) for path in (*sources, *self.headers, Path(__file__))]
        return hashlib.sha256(repr((self.toolchain, command, files)).encode()).hexdigest()[:16]

    def _compile(self, command: list[str], fatbin: Path) -> Compiled:
        try:
            built = run([*command, "-o", str(fatbin)], timeout_s=300)
            assert built.exit_code == 0, built.stderr
            tools = {"PATH": f"{self.cuobjdump.parent}:{os.environ['PATH']}"}  # it calls nvdisasm
            read = run([str(self.cuobjdump), "-sass", str(fatbin)], timeout_s=300, environment=tools)
            assert read.exit_code == 0, read.stderr
        finally:
            fatbin.unlink(missing_ok=True)
        return Compiled(parse_resources(built.stderr), read_sass(read.stdout))


@pytest.fixture(scope="session")
def compiler(pytestconfig: pytest.Config, lock, needs) -> Compiler:
    """nvcc needs a host compiler."""
    needs("g++")
    toolchain, cuobjdump = describe_toolchain(needs("nvcc")), needs("cuobjdump")
    return Compiler(toolchain, cuobjdump, pytestconfig.cache.mkdir("machine_code"), lock)


@pytest.fixture(scope="session")
def machine_code(compiler: Compiler) -> MachineCode:
    ladders: dict[str, Ladder] = {}

    def machine_code(ladder_name: str, number: int, arch: str = "sm_90", alone: bool = False) -> Code:
        if ladder_name not in ladders:
            ladders[ladder_name] = read_ladder(KERNELS / ladder_name / "ladder.toml")
        ladder = ladders[ladder_name]
        kernel = ladder.kernel(number)
        compiled = (compiler.alone if alone else compiler.together)(ladder, kernel, arch)
        target = kernel.targets.get(arch, arch)

        def is_its_own(function: str) -> bool:
            """A kernel of a header belongs to no rung's namespace."""
            owner = _NAMESPACE.search(function)
            return (owner is None or owner[0] == namespace_of(kernel)) and bool(
                re.search(kernel.regex, function)
            )

        return Code(
            kernel,
            target,
            {name: body for name, body in compiled.code[target].items() if is_its_own(name)},
            [one for one in compiled.resources if one.target == target and is_its_own(one.function)],
        )

    return machine_code


def architectures(ladder_name: str) -> tuple[str, ...]:
    return ARCHITECTURES.get(ladder_name, ("sm_90",))


@pytest.hookimpl(tryfirst=True)  # before those that are not to run are taken out
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What is compiled for another architecture than the suite's is for campaigns."""
    for item in items:
        given = getattr(item, "callspec", None)
        arch = given and (given.params.get("arch") or given.params.get("any_arch"))
        if arch and arch != SUITE_ARCHITECTURE and item.path.is_relative_to(Path(__file__).parent):
            item.add_marker("campaign")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test with `any_ladder` and `any_arch` is about each ladder, on each architecture that it is compiled for."""
    if "any_ladder" in metafunc.fixturenames:
        names = [path.parent.name for path in sorted(KERNELS.glob("*/ladder.toml"))]
        pairs = [(name, arch) for name in names for arch in architectures(name)]
        metafunc.parametrize(("any_ladder", "any_arch"), pairs)


@pytest.fixture
def any_codes(machine_code: MachineCode, any_ladder: str, any_arch: str) -> list[Code]:
    """The code of each compiled rung of the ladder that launches a kernel."""
    ladder = read_ladder(KERNELS / any_ladder / "ladder.toml")
    compiled = [one for one in ladder.kernels if one.is_compiled and one.is_profiled]
    return [machine_code(any_ladder, one.number, any_arch) for one in compiled]


def namespace_of(kernel: Kernel) -> str:
    return f"rung_{kernel.number:03}"


def one_file_of(rungs: Sequence[Kernel]) -> str:
    """Each rung in a namespace of its own; first what they include, so that none of it ends up in there."""
    texts = [whole_source(cast(Path, kernel.source)) for kernel in rungs]
    lines = dict.fromkeys(line for text in texts for line in _INCLUDE.findall(text))
    parts = [
        f"namespace {namespace_of(kernel)} {{\n{text}\n}}\n"
        + "".join(f"#undef {name}\n" for name in _DEFINE.findall(text))
        for kernel, text in zip(rungs, texts, strict=True)
    ]
    return "\n".join([*lines, *parts])


def whole_source(path: Path) -> str:
    """Returns a source's text with the header that holds `main` in place of its include, as rungs share it and set its macros.

    It includes its other headers by their whole paths.
    """

    def included(match: re.Match[str]) -> str:
        header = (path.parent / match[1]).resolve()
        if not header.is_file():
            return match[0]  # found by the compiler's flags
        return whole_source(header) if "int main(" in header.read_text() else f'#include "{header}"'

    return _OF_OURS.sub(included, path.read_text().replace("#pragma once\n", ""))


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
