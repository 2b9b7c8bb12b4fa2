"""The machine code of every rung that ships, compiled without a GPU.

`machine_code("relu", 2)` is rung 2 of `kernels/relu/ladder.toml` as the compiler made it for sm_90; `machine_code("gemm", 5,
"sm_80")` names another of the ladder's ARCHITECTURES, which campaigns compile. The rungs of a ladder are compiled together, each in a
namespace, since most of the time goes into what they include, and that is recorded (`compiled.py`). `alone=True` is one rung as
`prof build` compiles it; test_every_ladder.py shows that it is the same machine code.

What must hold for every rung is in test_every_ladder.py: it compiles, spills nothing and holds the kernel that it promises. A
ladder's own module therefore states its claims alone:

    def test_rung_2_moves_128_bits_at_a_time(machine_code):
        assert machine_code("relu", 2).moved == {128}
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import pytest

from profiler.analyse.code.opcodes import width_bits
from profiler.catalog.ladders.ladder import Kernel
from profiler.catalog.ladders.ladder_file import read_ladder
from profiler.measuring.tools.ptxas import Resources
from tests.kernels import compiled
from tests.kernels.compiled import INSTRUCTION_BYTES, ROOT, Compiler, Sources, namespace_of

KERNELS = Path(__file__).parents[2] / "kernels"
ARCHITECTURES = {"gemm": ("sm_80", "sm_90", "sm_100")}  # of any other ladder, sm_90 alone
SUITE_ARCHITECTURE = "sm_90"  # the others are for campaigns
PTX_OF_GEMM_8 = Sources("ptx_of_gemm_8", [KERNELS / "gemm/08_warp_tiles.cu", ROOT / "docs/widths.py"])
HOW_TO_RECORD = "run `pytest tests/kernels --record`, and commit tests/data/machine_code"
_NAMESPACE = re.compile(r"rung_\d{3}")  # as namespace_of calls it
_TARGET = re.compile(r"0x([0-9a-f]+)\s*$")


class Instruction(NamedTuple):
    offset: int
    opcode: str  # with modifiers, without predicate
    operands: str

    @property
    def name(self):
        return self.opcode.split(".", maxsplit=1)[0]

    @property
    def target(self):
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

    def only(self, pattern):
        """The kernels whose mangled name holds `pattern`: of two variants, the one that a claim is about."""
        return replace(
            self,
            functions={name: body for name, body in self.functions.items() if re.search(pattern, name)},
            resources=[one for one in self.resources if re.search(pattern, one.function)],
        )

    @property
    def function(self):
        """The instructions, where there is one kernel."""
        (body,) = self.functions.values()
        return body

    @property
    def opcodes(self):
        """How often each opcode stands in the code, with its modifiers."""
        return Counter(one.opcode for body in self.functions.values() for one in body)

    @property
    def names(self):
        """The opcodes without modifiers."""
        return {one.name for body in self.functions.values() for one in body}

    def widths(self, name):
        """The bits that one thread moves by each LDG, STG, LDS, STS ... of the code."""
        return {width_bits(opcode) or 0 for opcode in self.opcodes if opcode.split(".")[0] == name}

    @property
    def moved(self):
        """The bits that one thread moves by each access to global memory, where loads and stores are as wide."""
        assert self.widths("LDG") == self.widths("STG")
        return self.widths("LDG")

    def loads(self):
        """How often each load from global memory stands in the code, but those of constant data such as weights."""
        return {
            one: count
            for one, count in self.opcodes.items()
            if one.startswith("LDG") and "CONSTANT" not in one
        }

    def hot_loop(self, work):
        """How often each opcode stands in the loop with most of `work` (opcodes without modifiers), of each kernel."""
        return Counter(one.opcode for body in self.functions.values() for one in hot_loop(body, work))


MachineCode = Callable[..., Code]


def pytest_addoption(parser):
    parser.addoption(
        "--record", action="store_true", help="record what the compiler makes of sources that have changed"
    )


@pytest.fixture(scope="session")
def compiler(pytestconfig, lock, needs):
    records = pytestconfig.getoption("--record", False)
    return Compiler(needs, pytestconfig.cache.mkdir("machine_code"), lock, records)


@pytest.fixture(scope="session")
def machine_code(compiler):
    ladders = {}

    def machine_code(ladder_name, number, arch="sm_90", alone=False):
        if ladder_name not in ladders:
            ladders[ladder_name] = read_ladder(KERNELS / ladder_name / "ladder.toml")
        ladder = ladders[ladder_name]
        kernel = ladder.kernel(number)
        sources = (compiled.alone if alone else compiled.together)(ladder, kernel, arch)
        made = compiler.compiled(sources)
        target = kernel.targets.get(arch, arch)

        def is_its_own(function):
            """A kernel of a header belongs to no rung's namespace."""
            owner = _NAMESPACE.search(function)
            return (owner is None or owner[0] == namespace_of(kernel)) and bool(
                re.search(kernel.regex, function)
            )

        return Code(
            kernel,
            target,
            {name: instructions(body) for name, body in made.code[target].items() if is_its_own(name)},
            [one for one in made.resources if one.target == target and is_its_own(one.function)],
        )

    return machine_code


def instructions(body):
    return [Instruction(INSTRUCTION_BYTES * at, *one) for at, one in enumerate(body)]


def bounds_program(largest_k):
    """The program of test_gemm_bounds.py, as it is called there."""
    flags = ["-std=c++17", "-O2", "-arch=sm_90"]
    return Sources(f"bounds_to_{largest_k}", [Path(__file__).with_name("bounds.cu")], flags)


def architectures(ladder_name):
    return ARCHITECTURES.get(ladder_name, ("sm_90",))


@pytest.hookimpl(tryfirst=True)  # before those that are not to run are taken out
def pytest_collection_modifyitems(items):
    """Leaves tests that compile for another architecture than the suite's to campaigns."""
    for item in items:
        given = getattr(item, "callspec", None)
        arch = given and (given.params.get("arch") or given.params.get("any_arch"))
        if arch and arch != SUITE_ARCHITECTURE and item.path.is_relative_to(Path(__file__).parent):
            item.add_marker("campaign")


def pytest_generate_tests(metafunc):
    """A test with `any_ladder` and `any_arch` is about each ladder, on each architecture that it is compiled for."""
    if "any_ladder" in metafunc.fixturenames:
        names = [path.parent.name for path in sorted(KERNELS.glob("*/ladder.toml"))]
        pairs = [(name, arch) for name in names for arch in architectures(name)]
        metafunc.parametrize(("any_ladder", "any_arch"), pairs)


@pytest.fixture
def any_codes(machine_code, any_ladder, any_arch):
    """The code of each compiled rung of the ladder that launches a kernel."""
    ladder = read_ladder(KERNELS / any_ladder / "ladder.toml")
    compiled = [one for one in ladder.kernels if one.is_compiled and one.is_profiled]
    return [machine_code(any_ladder, one.number, any_arch) for one in compiled]


def hot_loop(instructions, work):
    """The loop with most of the arithmetic in itself: what a loop inside of it does is not counted."""
    names = set(work)
    loops = {
        (one.target, one.offset) for one in instructions if one.target is not None and one.target < one.offset
    }

    def own_work(loop):
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
