"""Finds arithmetic with the same result in each turn of a loop, and the instructions that are there for this arithmetic alone.

In `for (i …) sum += sinf(angle) * x[i]`, the sine is such arithmetic: its input does not change. With it go the conversion of
`angle` if nothing else reads it, and a branch, with its test, that passes by nothing but the sine.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from operator import itemgetter

from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.sites import ACCESSES, Kind, Site
from profiler.analyse.causes.flow.dataflow import choosers_of, readers_of
from profiler.analyse.causes.flow.loop_carried import find_sources
from profiler.analyse.code.loops import Loop

ARITHMETIC: tuple[Kind, ...] = ("fp32", "fp64", "special")
_CHANGING: tuple[Kind, ...] = (*ACCESSES, "barrier", "mio")  # what others have stored, or other lanes hold
_NOBODY = ""
_END = itemgetter(0)


def find_steady_arithmetic(evidence: Evidence) -> dict[Site, float]:
    """Returns the arithmetic of loops whose inputs do not change in them, with the branches that pass nothing else by, and the part that is spared.

    That is all but the first of the turns: where warps make one turn on average, nothing repeats.
    """
    repeated: dict[Site, float] = {}
    for loop in (loop for loops in evidence.loops.values() for loop in loops):
        inside = evidence.inside(loop)
        if not inside or (turns := evidence.turns(inside[0], loop)) <= 1:
            continue
        changed = {name for site in inside for name in site.use.results}
        steady = _find_steady(evidence, inside, changed)
        alike = [
            site
            for site in inside
            # Nothing keeps the result of a test: compilers have few predicates, and make it again.
            if site.kind in ARITHMETIC and site.use.written
            if site in steady or ((read := site.use.inputs) and read.isdisjoint(changed))
        ]
        serving = _find_serving(evidence, loop, steady, set(alike))
        deciding = _find_deciding(evidence, inside, steady, set(alike))
        for site in (*alike, *serving, *deciding):
            repeated[site] = max(repeated.get(site, 0.0), 1 - 1 / turns)
    return repeated


def _find_serving(evidence: Evidence, loop: Loop, steady: Set[Site], alike: Set[Site]) -> Iterator[Site]:
    """Yields what the loop computes alike and only such arithmetic reads, such as the conversion of an index: both go together."""
    if not alike:
        return
    inside = evidence.inside(loop)
    code = evidence.by_function[inside[0].function]
    behind = code[evidence.place(inside[-1], code) + 1 :]
    left = {name: site for site in inside for name in site.use.written}  # behind the loop
    needed = {site for name, site in left.items() if any(readers_of(name, behind))}
    sites = {site.instruction.offset: site for site in inside}
    readers: dict[Site | None, set[Site | None]] = {}
    for one, sources in zip(loop.body, find_sources(loop), strict=True):
        for place in sources:
            readers.setdefault(sites.get(loop.body[place].offset), set()).add(sites.get(one.offset))
    going: set[Site | None] = set(alike)
    for site in reversed(inside):
        if site in steady and site not in going | needed and (used := readers.get(site)) and used <= going:
            going.add(site)
            yield site


def _find_steady(evidence: Evidence, inside: Sequence[Site], changed: Set[str]) -> set[Site]:
    """Returns the instructions of a loop that find the same in each of its turns.

    * A register that is written anew in each turn holds the same value there, if the instruction that writes it finds the same.
    * A value that is written under a predicate counts only for instructions under the same predicate.
    * What is written where a branch may pass by counts no further than the end of that code, unless each turn takes the same side of
      the branch and the register counted before it.
    * Nothing counts inside of loops in this one, since they may change it again.
    """
    loop = evidence.innermost_loop(inside[0])
    found: set[Site] = set()
    same: dict[str, str | None] = {}  # by register or predicate, for whom it has the value of each turn
    # Code that a branch may pass by: by its end, and the registers that stay known behind it, those of which nothing is known there.
    passed: dict[tuple[int, frozenset[str]], set[str]] = {}
    for site in inside:
        while passed and (ended := min(passed, key=_END))[0] <= site.instruction.offset:
            unknown = passed.pop(ended)
            same = {name: guard for name, guard in same.items() if name not in unknown}
        guard, results = site.instruction.predicate, site.use.results
        known = same if evidence.innermost_loop(site) is loop else {}
        is_alike = not may_change(site) and all(
            name not in changed or known.get(name, _NOBODY) in (None, guard) for name in site.taken
        )
        if is_alike:
            found.add(site)
        if target := site.leads_to:
            passed.setdefault((target, frozenset(same) if is_alike and guard else frozenset()), set())
        for (_, staying), unknown in passed.items():
            unknown.update(results - staying)
        for name in results:
            if is_alike and known is same:
                same[name] = guard if same.get(name, _NOBODY) is not None else None
            else:
                same.pop(name, None)
    return found


def may_change(site: Site) -> bool:
    """Returns whether an instruction may find another value, although what it reads is the same. Parameters and other constants stay."""
    reads_what_changes = site.kind in _CHANGING or site.multiplies_from_shared
    return reads_what_changes and site.instruction.name != "LDC"


def _find_deciding(
    evidence: Evidence, inside: Sequence[Site], steady: Set[Site], alike: Set[Site]
) -> Iterator[Site]:
    """Yields the branches that pass by nothing but such arithmetic, with their tests, and the places where threads meet behind them."""
    for place, branch in enumerate(inside):
        end = branch.leads_to
        if branch not in steady or not branch.instruction.predicate or not end:
            continue
        passed = [site for site in inside[place + 1 :] if site.instruction.offset < end]
        if alike.isdisjoint(passed) or not all(site in steady for site in passed):
            continue
        yield from (branch, *(site for site in choosers_of(evidence, branch) if site in steady))
        yield from (site for site in passed if site not in alike)
        behind = inside[place + 1 + len(passed)]
        if behind.instruction.name == "BSYNC":
            opening = next((site for site in reversed(inside[:place]) if _opens(site, behind)), behind)
            yield from (opening, behind)


def _opens(site: Site, meeting: Site) -> bool:
    """Returns whether a part of the code that threads leave together begins here."""
    return (
        site.instruction.name == "BSSY" and site.instruction.operands[:1] == meeting.instruction.operands[:1]
    )
