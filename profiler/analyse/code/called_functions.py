"""Finds the functions that a kernel calls, because the compiler did not write them into it.

Instructions of one function in, as they lie in the code; a `Called` for each place that a call leads to out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import inf

from msgspec import Struct

from profiler.analyse.code.code import Code, Instruction, executed_in, without_padding
from profiler.analyse.code.loops import AS_HOT, holder_of


@dataclass(frozen=True)
class Called:
    """The instructions of a function that is called, and the calls that ran."""

    body: tuple[Instruction, ...]
    calls: tuple[Instruction, ...]


class CalledFunction(Struct, frozen=True):
    """A function that was not inlined, such as the compiler's division, and the lines that call it, the one with most calls first.

    Both shares are of the whole kernel; `samples_pct` is null without samples.
    """

    calls_from: list[str]
    start: int
    end: int
    executed_pct: float
    samples_pct: float | None


def find_called(function: Sequence[Instruction]) -> list[Called]:
    """Returns the functions to which the calls of a function lead.

    Each goes on until the next one begins, or to the end: compilers lay out called functions behind the kernel.
    """
    body = without_padding(function)
    calls: dict[int, list[Instruction]] = {}
    for one in body:
        if one.name == "CALL" and one.executed and (target := one.called) is not None:
            calls.setdefault(target, []).append(one)
    found = [
        Called(tuple(one for one in body if start <= one.offset < end), tuple(calls[int(start)]))
        for start, end in pairwise([*sorted(calls), inf])
    ]
    return [one for one in found if one.body]


def last_lines_of_called_functions(code: Code) -> set[str]:
    """Returns the lines at which the code of kernels ends, if most of their samples are in called functions.

    The functions of the compiler have no lines of their own, and lie behind the kernel: they count for the line of the EXIT before
    them. That may be an early `return`, which the compiler has laid out last.
    """
    found = set()
    for function in code.functions:
        last = next((one.place for one in reversed(function) if one.name == "EXIT"), None)
        called = {one.offset for called in find_called(function) for one in called.body}
        at_last = [one for one in function if one.place == last]
        in_called = sum(one.samples or 0 for one in at_last if one.offset in called)
        in_kernel = sum(one.samples or 0 for one in at_last if one.offset not in called)
        if last and in_called > in_kernel:
            found.add(last)
    return found


def find_called_as_hot(code: Code, hot: Sequence[Instruction]) -> list[CalledFunction]:
    """Returns the functions outside of the hot loop that did at least half as much work as all of it, the most first.

    The function that holds the hot loop is none of them.
    """
    least = AS_HOT * executed_in(hot)
    holder = holder_of(code, hot)
    found = [
        _described(code, called)
        for number, function in enumerate(code.functions)
        for called in find_called(function)
        if number != holder or not _overlap(called.body, hot)
    ]
    others = [one for one in found if one.executed_pct * code.executed >= 100 * least]
    return sorted(others, key=lambda one: -one.executed_pct)


def _overlap(body: Sequence[Instruction], hot: Sequence[Instruction]) -> bool:
    """Returns whether two stretches of one function share instructions."""
    return body[0].offset <= hot[-1].offset and hot[0].offset <= body[-1].offset


def _described(code: Code, called: Called) -> CalledFunction:
    often = sorted(called.calls, key=lambda one: -(one.executed or 0.0))
    sampled = sum(one.samples or 0 for one in code.instructions)
    return CalledFunction(
        calls_from=list(dict.fromkeys(one.place for one in often if one.place)),
        start=called.body[0].offset,
        end=called.body[-1].offset,
        executed_pct=100 * executed_in(called.body) / code.executed,
        samples_pct=100 * sum(one.samples or 0 for one in called.body) / sampled if sampled else None,
    )
