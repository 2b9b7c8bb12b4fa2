"""Finds arithmetic with the same result in each iteration of a loop, and the instructions that are there for this arithmetic alone.

In `for (i …) sum += sinf(angle) * x[i]`, the sine is such arithmetic: its input does not change. With it go the conversion of
`angle` if nothing else reads it, and a branch, with its test, that skips nothing but the sine.
"""

from __future__ import annotations

import math
from collections.abc import Set

from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.sites import ARITHMETIC, Kind, Site
from profiler.analyse.causes.flow.arithmetic.compiler_functions import find_evaluating, with_called
from profiler.analyse.causes.flow.dataflow import find_going_with, names_read
from profiler.analyse.causes.flow.depending import find_depending
from profiler.analyse.causes.flow.loop_carried import find_carried, find_sources
from profiler.analyse.causes.flow.same_in_turns import find_steady, may_change
from profiler.analyse.code.loops import Loop, loops_within

_COMPUTED: tuple[Kind, ...] = (*ARITHMETIC, "conversion")
# A thread has 64 registers where an SM is half full of warps.
_HELD = 64


def find_steady_arithmetic(evidence: Evidence) -> dict[Site, float]:
    """Returns the arithmetic of loops whose inputs do not change in them, with what serves it alone, and the part that is spared.

    That is all but the first of the iterations. If warps make one iteration on average, nothing repeats.
    """
    repeated: dict[Site, float] = {}
    calls = {call for one in find_evaluating(evidence) for call in one.calls}
    for loop in (loop for loops in evidence.loops.values() for loop in loops):
        inside = evidence.inside(loop)
        if (turns := _turns_of(evidence, loop)) <= 1:
            continue
        changed = {name for site in inside for name in site.use.results}
        steady = find_steady(evidence, loop).instructions
        alike = [
            site
            for site in inside
            # Nothing keeps the result of a test: compilers have few predicates, and make it again.
            if (site in calls or site.kind in ARITHMETIC) and site.use.written
            if site in steady or ((read := site.use.inputs) and read.isdisjoint(changed))
        ]
        serving = _find_going_with(evidence, loop, steady, set(alike))
        for site in (*alike, *serving):
            repeated[site] = max(repeated.get(site, 0.0), 1 - 1 / turns)
    return with_called(evidence, repeated)


def find_repeated_by_inner_loops(evidence: Evidence) -> dict[Site, float]:
    """Returns the arithmetic that an inner loop repeats in each iteration of the loop around it, and the part that is spared: all but the first.

    It depends on nothing that the outer loop carries, or that may change between its iterations: the inner loop's own counter
    begins anew. A thread has to hold the results of all iterations of the inner loop.
    """
    repeated: dict[Site, float] = {}
    for loops in evidence.loops.values():
        for outer in loops:
            inside, inner = evidence.inside(outer), loops_within(outer, loops)
            few = {
                one
                for one in inner
                if math.prod(_turns_of(evidence, loop) for loop in inner if one.body[0] in loop) <= _HELD
            }
            computing = [
                one for one in inside if one.kind in _COMPUTED and evidence.innermost_loop(one) in few
            ]
            if not computing or (turns := _turns_of(evidence, outer)) <= 1:
                continue
            carried = find_carried(evidence, outer)
            first = {site for site in inside if may_change(site) or site.instruction.offset in carried}
            before = {name for site in first for name in site.use.results}  # of the iteration before
            differing = find_depending(evidence, inside, [outer, *inner], first, before=before)
            for site in computing:
                if site not in differing:
                    repeated[site] = max(repeated.get(site, 0.0), 1 - 1 / turns)
    return repeated


def _turns_of(evidence: Evidence, loop: Loop) -> float:
    inside = evidence.inside(loop)
    return evidence.turns(inside[0], loop) if inside else 0.0


def _find_going_with(evidence: Evidence, loop: Loop, steady: Set[Site], alike: Set[Site]) -> list[Site]:
    """Returns what the loop computes alike and only such arithmetic reads, such as the conversion of an index, so that both go together."""
    if not alike:
        return []
    inside = evidence.inside(loop)
    code = evidence.by_function[inside[0].function]
    behind = code[evidence.place(inside[-1], code) + 1 :]
    left = {name: site for site in inside for name in site.use.written}  # behind the loop
    among = steady - alike - {left[name] for name in names_read(left.keys(), behind)}
    if not among:
        return []
    at = {site.instruction.offset: site for site in inside}
    body = [at.get(one.offset) for one in loop.body]  # None for what did not run
    readers: dict[Site, set[Site | None]] = {}
    for reader, sources in zip(body, find_sources(evidence, loop), strict=True):
        for source in (body[place] for place in sources):
            if source and source in among:
                readers.setdefault(source, set()).add(reader)
    return find_going_with(inside, alike, readers, among)
