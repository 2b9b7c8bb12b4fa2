"""The machine code that the compiler makes of the shipped rungs, recorded in `tests/data/machine_code`.

A recording names its compiler and holds the hash of all else that decides it: the flags, each source with the headers of ours that
it includes, and this file. Where anything is not as it was, the compiler is called, by one worker for all, and pytest's cache keeps
what it made; `pytest tests/kernels --record` makes that the recording.
"""

from __future__ import annotations

import hashlib
import lzma
import os
import re
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar, cast

import msgspec

from profiler.catalog.ladders.ladder import Kernel, Ladder
from profiler.measuring.rungs.build import build_flags
from profiler.measuring.tools.process import run
from profiler.measuring.tools.ptxas import Resources, parse_resources
from profiler.measuring.tools.toolchain import Toolchain, describe_toolchain

ROOT = Path(__file__).resolve().parents[2]
RECORDINGS = ROOT / "tests" / "data" / "machine_code"
INSTRUCTION_BYTES = 16
_INCLUDE = re.compile(r"^#include .+$", re.MULTILINE)
_OF_OURS = re.compile(r'^#include "(.+)"$', re.MULTILINE)
_DEFINE = re.compile(r"^#define (\w+)", re.MULTILINE)
_ARCH = re.compile(r"^\s*code for (sm_\w+)", re.MULTILINE)
_FUNCTION = re.compile(r"^\s*Function : (\S+)", re.MULTILINE)
_INSTRUCTION = re.compile(
    r"^\s*/\*(?P<offset>[0-9a-f]{4,})\*/\s+\{?\s*(?:@!?U?P\w+\s+)?(?P<opcode>[A-Z][A-Za-z0-9_.]*)\s*(?P<operands>[^;]*);",
    re.MULTILINE,
)

Result = TypeVar("Result")
Code = dict[str, dict[str, list[tuple[str, str]]]]  # architecture, mangled function, opcode and operands


class Compiled(msgspec.Struct, frozen=True):
    """The result of one call of the compiler."""

    resources: list[Resources]
    code: Code


class _Recording(msgspec.Struct, frozen=True):
    compiler: str
    made_from: str
    result: msgspec.Raw


@dataclass(frozen=True)
class Sources:
    """The sources of one call of the compiler: rungs, each in a namespace if there are several, or any other source."""

    name: str
    paths: Sequence[Path]
    flags: Sequence[str] = ()
    rungs: Sequence[Kernel] = ()


def alone(ladder: Ladder, kernel: Kernel, arch: str) -> Sources:
    return Sources(
        f"{ladder.name}_{kernel.file_name}_{arch}", [cast(Path, kernel.source)], build_flags(kernel, arch)
    )


def together(ladder: Ladder, kernel: Kernel, arch: str) -> Sources:
    """The rung and all others of its ladder that take the same flags."""
    flags = build_flags(kernel, arch)
    rungs = [one for one in ladder.kernels if one.is_compiled and build_flags(one, arch) == flags]
    name = f"{ladder.name}_from_{rungs[0].file_name}_{arch}"
    return Sources(name, [cast(Path, one.source) for one in rungs], flags, rungs)


@dataclass(frozen=True)
class Compiler:
    """Finds what was recorded, and compiles what was not; `needs` ends a test that lacks a tool for that."""

    needs: Callable[[str], Path]
    cache: Path
    lock: Callable[[Path], AbstractContextManager[None]]
    records: bool
    known: dict[str, Any] = field(default_factory=dict)

    @cached_property
    def toolchain(self) -> Toolchain:
        return describe_toolchain(self.needs("nvcc"))

    def compiled(self, sources: Sources) -> Compiled:
        return self.result(sources, Compiled, lambda: self._compile(sources))

    def result(self, sources: Sources, kind: type[Result], make: Callable[[], Result]) -> Result:
        """Returns what `make()` once returned for these sources, or returns now if they have changed since."""
        name = sources.name
        if name not in self.known:
            with self.lock(self.cache / f"{name}.lock"):
                found = self.recorded(sources) or self._read(self.cache, sources)
                if found is None:
                    found = msgspec.Raw(msgspec.json.encode(make()))
                    self._write(self.cache, sources, found)
                if self.records and self.recorded(sources) is None:
                    self._write(RECORDINGS, sources, found)
            self.known[name] = msgspec.json.decode(found, type=kind)
        return cast(Result, self.known[name])

    def recorded(self, sources: Sources) -> msgspec.Raw | None:
        return self._read(RECORDINGS, sources)

    def _read(self, folder: Path, sources: Sources) -> msgspec.Raw | None:
        path = folder / f"{sources.name}.json.xz"
        if not path.exists():
            return None
        found = msgspec.json.decode(lzma.decompress(path.read_bytes()), type=_Recording)
        current = (found.compiler, found.made_from) == (self.toolchain.version, hash_of(sources))
        return found.result if current else None

    def _write(self, folder: Path, sources: Sources, result: msgspec.Raw) -> None:
        path = folder / f"{sources.name}.json.xz"
        recording = _Recording(self.toolchain.version, hash_of(sources), result)
        new = path.with_suffix(".new")
        new.write_bytes(lzma.compress(msgspec.json.encode(recording)))
        new.replace(path)

    def _compile(self, sources: Sources) -> Compiled:
        self.needs("g++")  # nvcc needs a host compiler
        cuobjdump = self.needs("cuobjdump")
        fatbin, source = self.cache / f"{sources.name}.fatbin", sources.paths[0]
        if sources.rungs:
            source = self.cache / f"{sources.name}.cu"
            source.write_text(one_file_of(sources.rungs))
        nvcc = [str(self.toolchain.nvcc), "-Xptxas=-v", "-DPROF_NO_CUBLAS", "-fatbin"]
        try:
            command = [*nvcc, *dict.fromkeys(sources.flags), str(source), "-o", str(fatbin)]
            built = run(command, timeout_s=300)
            assert built.exit_code == 0, built.stderr
            tools = {"PATH": f"{cuobjdump.parent}:{os.environ['PATH']}"}  # it calls nvdisasm
            read = run([str(cuobjdump), "-sass", str(fatbin)], timeout_s=300, environment=tools)
            assert read.exit_code == 0, read.stderr
        finally:
            fatbin.unlink(missing_ok=True)
        return Compiled(parse_resources(built.stderr), read_sass(read.stdout))


def hash_of(sources: Sources) -> str:
    paths = [Path(__file__).resolve(), *sorted(with_headers(sources.paths))]
    made_from = [
        (str(path.relative_to(ROOT)), hashlib.sha256(path.read_bytes()).hexdigest()) for path in paths
    ]
    numbers = [kernel.number for kernel in sources.rungs]  # they name the namespaces
    return hashlib.sha256(repr((list(sources.flags), numbers, made_from)).encode()).hexdigest()


def with_headers(sources: Sequence[Path]) -> set[Path]:
    """Returns these files, and the headers of ours that they include, directly or not."""
    found: set[Path] = set()
    waiting = [path.resolve() for path in sources]
    while waiting:
        path = waiting.pop()
        if path not in found and path.is_file():  # what is not beside it belongs to the compiler
            found.add(path)
            waiting += [(path.parent / name).resolve() for name in _OF_OURS.findall(path.read_text())]
    return found


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


def read_sass(text: str) -> Code:
    read: Code = {}
    for arch, section in _sections(_ARCH, text):
        functions = read.setdefault(arch, {})
        for function, body in _sections(_FUNCTION, section):
            found = list(_INSTRUCTION.finditer(body))
            assert [int(one["offset"], 16) for one in found] == [
                INSTRUCTION_BYTES * at for at in range(len(found))
            ]
            functions[function] = [(one["opcode"], one["operands"].strip()) for one in found]
    return read


def _sections(heading: re.Pattern[str], text: str) -> list[tuple[str, str]]:
    starts = list(heading.finditer(text))
    ends = [match.start() for match in starts[1:]] + [len(text)]
    return [(match[1], text[match.end() : end]) for match, end in zip(starts, ends, strict=True)]
