"""Finds the part of a kernel's code that its figures are about: the hot loop, or a whole function.

A `Code` in, a `Region` out, which knows how often each of its instructions ran in one pass.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Literal
from weakref import WeakKeyDictionary

from msgspec.structs import replace

from profiler.analyse.code.code import Code, Instruction, executed_in
from profiler.analyse.code.loops import Loop, find_hot_loop, weighted_by_structure
from profiler.analyse.code.product import Product, trace_product
from profiler.analyse.recording.profile import Profile
from profiler.errors import MetricsMissing

Scope = Literal["loop", "function"]

# Of all executed instructions. If a loop has less, ten times as much runs outside of it, as around one in which a few warps wait for a flag.
_HOT_SHARE = 0.1


@dataclass(frozen=True)
class Region:
    """The instructions looked at, and how often they were passed.

    Code without a loop is one thing, however many barriers it has; a loop `is_divided` by them.
    """

    scope: Scope
    body: tuple[Instruction, ...]
    after: tuple[Instruction, ...]
    passes: float
    warps: float
    is_divided: bool = True

    @cached_property
    def product(self) -> Product | None:
        return trace_product(self.body) if self.scope == "loop" else None

    @property
    def place(self) -> str | None:
        """Returns where a loop ends, or a function begins."""
        return self.body[-1 if self.scope == "loop" else 0].place

    def per_pass(self, instruction: Instruction) -> float:
        return (instruction.executed or 0.0) / self.passes if self.passes else 0.0

    def total(self, weigh: Callable[[Instruction], float]) -> float:
        """Returns the sum of what each instruction of a pass weighs."""
        return sum(weigh(one) * self.per_pass(one) for one in self.body)


# A page asks for each kernel five times; a loop is kept as long as its code.
_hot_regions: WeakKeyDictionary[Code, Region] = WeakKeyDictionary()


def find_region(code: Code, *, whole: bool = False) -> Region:
    """Returns the hot loop; of code in which no loop is hot, the whole function with the most work."""
    if whole:
        return _find_region(code, whole=True)
    if code not in _hot_regions:
        _hot_regions[code] = _find_region(code, whole=False)
    return _hot_regions[code]


def _find_region(code: Code, *, whole: bool) -> Region:
    found = None if whole else find_hot_loop(code)
    if found is None or not _is_hot(found[1], code) or _runs_once(found[1], code.functions[found[0]]):
        return _largest_function(code, is_divided=whole)
    number, loop = found
    function = code.functions[number]
    after = tuple(instruction for instruction in function if instruction.offset > loop.end)
    return Region("loop", loop.body, after, loop.iterations, function[0].executed or 0.0)


def _is_hot(loop: Loop, code: Code) -> bool:
    return code.by_structure or executed_in(loop.body) >= _HOT_SHARE * code.executed


def _runs_once(loop: Loop, function: Sequence[Instruction]) -> bool:
    """Returns whether each warp that comes to the loop makes one iteration, so that it is code like any other.

    An unrolled loop leaves such code for its last iterations, which are a part of its work.
    """
    comes = next((before.executed for before, one in pairwise(function) if one.offset == loop.start), None)
    return loop.iterations == comes and loop.iterations <= (function[0].executed or 0.0)


def _largest_function(code: Code, *, is_divided: bool) -> Region:
    function = max(code.functions, key=executed_in)
    if code.by_structure:
        function = tuple(replace(one, executed=min(one.executed or 0.0, 1.0)) for one in function)
    warps = function[0].executed or 0.0
    return Region("function", function, (), warps, warps, is_divided)


def read_counted_code(profile: Profile) -> Code:
    """Returns the code of a kernel, weighted by its structure if nothing was counted; raises an error that says how to record it."""
    code = profile.code
    if code is None and profile.manifest.unread:
        raise MetricsMissing(
            f"{profile.label}: {profile.manifest.unread} are left out, because NVIDIA's reader crashed on them",
            remedy="For a CUDA graph, profile its kernels one by one: `ncu --graph-profiling node`.",
        )
    if code is None or (code.is_counted and not code.executed):
        lacks = "no machine code is recorded for" if code is None else "no instruction ran of"
        raise MetricsMissing(
            f"{profile.label}: {lacks} {profile.kernel}",
            remedy="Record the kernel with `ncu --section InstructionStats --section SourceCounters`.",
        )
    return code if code.is_counted else weighted_by_structure(code)
