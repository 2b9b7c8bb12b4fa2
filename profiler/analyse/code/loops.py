"""Finds where a kernel spends its instructions: loops by back edges, and the hot one by execution counts.

Instructions of one function in; `Loop`s out. A loop is the span from the target of a
backward branch to the branch itself, as compilers lay loops out.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from msgspec.structs import replace

from profiler.analyse.code.code import Code, Instruction, without_padding
from profiler.analyse.code.opcodes import JUMPS_BY_REGISTER, is_matrix

_ROUNDS = 10  # the assumed iterations of a loop if nothing was counted

AS_HOT = 0.5  # of the work of the hot loop: a change of the hot one alone misses as much again if two such loops lie beside it

_AGAIN = ".ANY"  # a branch that repeats one instruction until every thread of the warp has had its turn

_ENDS = ("EXIT", "RET")

Span = tuple[int, int]  # positions of the first instruction and of the branch back to it


@dataclass(frozen=True)
class Loop:
    """`body` is everything between, with the loops inside; `own_work` is the work outside of the inner loops.

    `iterations` counts for all warps of a launch how often it went round: as often as its first instruction and the branch
    back ran. If those counts differ, because it is entered or left in between, the count of most of its own instructions decides.
    """

    body: tuple[Instruction, ...]
    iterations: float
    own_work: float

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        """Returns a hash of few figures: that of all instructions takes longer than most analyses."""
        return hash((self.start, self.end, self.iterations))

    @cached_property
    def start(self) -> int:
        return self.body[0].offset

    @cached_property
    def end(self) -> int:
        return self.body[-1].offset

    def __contains__(self, instruction: Instruction) -> bool:
        return self.start <= instruction.offset <= self.end


@lru_cache(maxsize=8)
def loops_in(code: Code) -> dict[int, list[Loop]]:
    """Returns the loops of each function; found once for all who ask."""
    return {number: find_loops(function) for number, function in enumerate(code.functions)}


def find_loops(function: Sequence[Instruction]) -> list[Loop]:
    """Returns every loop that ran, outer before inner; none without execution counts."""
    spans: dict[Span, float] = {}
    for start, end in _back_edges(function):
        if function[start].executed and (branches := function[end].executed):
            spans[start, end] = branches
    in_order = sorted(spans)
    loops = [_loop(function, span, branches, in_order) for span, branches in spans.items()]
    return sorted(loops, key=lambda loop: (loop.start, -loop.end))


def _back_edges(function: Sequence[Instruction]) -> Iterator[Span]:
    position = {instruction.offset: index for index, instruction in enumerate(function)}
    for index, instruction in enumerate(function):
        if (target := instruction.target) is None or (start := position.get(target, index + 1)) > index:
            continue
        if _leads_to(function, position, start, index):
            yield start, index


def _leads_to(function: Sequence[Instruction], position: Mapping[int, int], start: int, end: int) -> bool:
    """Returns whether code from one position on may come to another one behind it. Where an index says where a branch goes, it may.

    Code that waits out of line, behind the end of a kernel, goes back into the code that it left. That is a loop only if the code there
    may come to wait again.
    """
    reached: set[int] = set()
    wanted = [start]
    while wanted:
        for index in range(wanted.pop(), len(function)):
            if index == end:
                return True
            if index in reached:
                break
            reached.add(index)
            instruction = function[index]
            if instruction.name in JUMPS_BY_REGISTER:
                return True
            target = instruction.target
            if target is not None and target in position:
                wanted.append(position[target])
            if _never_goes_on(instruction):
                break
    return False


def _never_goes_on(instruction: Instruction) -> bool:
    """Returns whether no thread comes to the next instruction: a branch that has only its target, or an end, without a predicate."""
    is_end = instruction.name in _ENDS or (instruction.name == "BRA" and len(instruction.operands) == 1)
    return is_end and instruction.predicate is None


def find_hot_loop(code: Code) -> tuple[int, Loop] | None:
    """Returns the function's number and its loop with most work of its own; None where nothing loops."""
    found = [(number, loop) for number, loops in loops_in(code).items() for loop in loops]
    return max(found, key=lambda one: one[1].own_work, default=None)


def find_loops_as_hot(code: Code, hot: Sequence[Instruction]) -> list[Loop]:
    """Returns the other loops with at least half as much work of their own as the hot one, the most first."""
    found = [loop for loops in loops_in(code).values() for loop in loops]
    own = next((loop.own_work for loop in found if loop.body == tuple(hot)), None)
    if own is None:
        return []
    others = [one for one in found if one.body != tuple(hot) and one.own_work >= AS_HOT * own]
    return sorted(others, key=lambda one: -one.own_work)


def holder_of(code: Code, hot: Sequence[Instruction]) -> int | None:
    """Returns the number of the function that holds the hot loop: the offsets of each function begin at 0."""
    return next(
        (number for number, loops in loops_in(code).items() if any(one.body == tuple(hot) for one in loops)),
        None,
    )


def weighted_by_structure(code: Code) -> Code:
    """Returns uncounted code with counts as if one warp ran it: every loop ten times, and no instruction skipped.

    So the hot loop is the innermost of the deepest nest, unless another has ten times as many instructions. Where tensor
    cores multiply in a loop, other loops count as run once.
    """
    return dataclasses.replace(code, functions=tuple(map(_weighted, code.functions)), by_structure=True)


def _weighted(function: Sequence[Instruction]) -> tuple[Instruction, ...]:
    body = without_padding(function)
    # The end of each loop by its start: several branches may lead back to it, and the last one counts.
    ends = {start: end for start, end in _back_edges(body) if start < end and _AGAIN not in body[end].opcode}
    # A span that begins inside of an earlier one and ends behind it waits out of line, and goes back into the loop that it left.
    spans = [
        one for one in ends.items() if not any(start < one[0] <= end < one[1] for start, end in ends.items())
    ]
    multiplying = [index for index, one in enumerate(body) if is_matrix(one.opcode)]
    tensor = [span for span in spans if any(span[0] <= one <= span[1] for one in multiplying)]
    weights = [0] * len(function)
    for index in range(len(body)):
        weights[index] = _ROUNDS ** sum(start <= index <= end for start, end in tensor or spans)
    return tuple(replace(one, executed=float(weight)) for one, weight in zip(function, weights, strict=True))


def _loop(function: Sequence[Instruction], span: Span, branches: float, in_order: Iterable[Span]) -> Loop:
    """Returns the loop; its own work is what was issued because this branch went back, without the work of loops inside.

    An instruction that ran more often than the branch did so for another reason. A wait loop at the end of a kernel may jump back
    over all of the main loop, and owns nothing of it. What ran more rarely than both ends of the loop is skipped in most iterations.
    So are the many instructions that store a tile after its last iteration.
    """
    own: list[float] = []
    start, end = span[0], span[1] + 1
    for first, last in in_order:
        if (first, last) != span and span[0] <= first and last <= span[1]:
            own += (one.executed or 0.0 for one in function[start:first])
            start = max(start, last + 1)
    own += (one.executed or 0.0 for one in function[start:end])
    fewest, most = sorted((function[span[0]].executed or 0.0, branches))
    counts = Counter(count for count in own if fewest <= count <= most)
    return Loop(
        body=tuple(function[span[0] : span[1] + 1]),
        iterations=max(counts, key=lambda count: (counts[count], count)),
        own_work=sum(min(count, branches) for count in own),
    )


def loops_within(outer: Loop, loops: Iterable[Loop]) -> list[Loop]:
    """Returns the loops that stand in another one, of the same function."""
    return [one for one in loops if one is not outer and outer.start <= one.start and one.end <= outer.end]
