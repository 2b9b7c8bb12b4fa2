"""Finds loads that the slow paths of functions keep apart: no load behind the branch around such a path is issued before that branch."""

from __future__ import annotations

from collections.abc import Iterator, Set

from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.kept import kept
from profiler.analyse.causes.evidence.sites import Site
from profiler.analyse.causes.flow.dataflow import address_comes_of
from profiler.analyse.code.code import Instruction
from profiler.analyse.code.math_functions.sizes import has_branches, is_tested
from profiler.analyse.code.opcodes import JUMPS_BY_REGISTER

_BRANCHES = frozenset({"BRA", *JUMPS_BY_REGISTER, "CALL", "EXIT"})


@kept
def find_loads_between_slow_paths(evidence: Evidence) -> dict[Site, float]:
    """Returns for such loads the part of the waiting that goes with the branches of precise divisions, roots and functions.

    In an unrolled loop, the loads of each copy stand behind the branches of the copy before. Without these, the loads of all
    copies are issued together, and a warp waits no longer than for those of one copy. What another branch, a barrier or a store
    keeps apart stays apart.
    """
    found: dict[Site, float] = {}
    for groups in _runs_of_groups(evidence):
        loads = [load for group in groups for load in group]
        waits = [sum(evidence.charged[load]["long_scoreboard"] for load in group) for group in groups]
        if (
            len(groups) > 1
            and any(waits)
            and not any(address_comes_of(evidence, load, loads) for load in loads)
        ):
            found |= dict.fromkeys(loads, 1 - max(waits) / sum(waits))
    return found


def _runs_of_groups(evidence: Evidence) -> Iterator[list[list[Site]]]:
    """Yields the loads of each stretch of a loop that only branches around slow paths divide, in groups: one for each part between these."""
    if not (around_slow_paths := _find_branches(evidence)):
        return
    for loop in evidence.loops_around(evidence.of("global load")):
        groups: list[list[Site]] = [[]]
        for site in evidence.inside(loop):
            if site in around_slow_paths:
                groups.append([])
            elif evidence.innermost_loop(site) != loop or _ends_run(site):
                yield list(filter(None, groups))
                groups = [[]]
            elif site.kind == "global load":
                groups[-1].append(site)
        yield list(filter(None, groups))


def _find_branches(evidence: Evidence) -> Set[Site]:
    """Returns the branches and calls on lines that evaluate a function with a slow path: around that path, into it and back."""
    lines = {
        site.source_line
        for site in evidence.sites
        if site.instruction.place and _has_slow_path(site.instruction)
    }
    return {
        site
        for site in evidence.of("control")
        if site.instruction.name in ("BRA", "CALL") and site.source_line in lines
    }


def _has_slow_path(one: Instruction) -> bool:
    return one.name == "FCHK" or is_tested(one) or has_branches(one)


def _ends_run(site: Site) -> bool:
    return site.instruction.name in _BRANCHES or site.kind in ("barrier", "global store", "atomic")
