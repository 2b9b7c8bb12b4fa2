"""Finds what is the same in each iteration of a loop: instructions that compute the same, and accesses to the same address."""

from __future__ import annotations

from collections.abc import Mapping, Set
from operator import itemgetter
from typing import NamedTuple

from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.kept import kept, kept_of_code
from profiler.analyse.causes.evidence.sites import ACCESSES, FENCES, Kind, Site
from profiler.analyse.causes.flow.dataflow import address_registers, changed_in
from profiler.analyse.code.loops import Loop
from profiler.analyse.code.opcodes import LOADS_OF_CONSTANTS
from profiler.analyse.code.registers import predicates_in

_CHANGING: tuple[Kind, ...] = (*ACCESSES, "barrier", "mio")  # read what others stored, or other lanes hold
_END = itemgetter(0)
_NO_NAMES: frozenset[str] = frozenset()


class Steady(NamedTuple):
    """The instructions of a loop that compute the same in each iteration, and the accesses whose address stays the same."""

    instructions: frozenset[Site]
    accesses: frozenset[Site]


@kept
def has_fixed_address(evidence: Evidence, site: Site) -> float:
    """Returns the part of the executions that repeat the same address within their loop; 0 outside of a loop.

    If the loops around it leave the address as it is, too, it repeats for as many iterations as all of them make together. A loop
    around it with a barrier or a fence does not count: others may have changed what is there.
    """
    if evidence.innermost_loop(site) is None or not address_registers(site.instruction):
        return 0.0
    around = sorted(
        (loop for loop in evidence.loops.get(site.function, ()) if site.instruction in loop),
        key=lambda loop: loop.end - loop.start,
    )
    repeated = 0.0
    for loop in around:
        if site not in find_steady(evidence, loop).accesses:
            break
        if loop is not around[0] and any(
            one.kind == "barrier" or one.instruction.name in FENCES for one in evidence.inside(loop)
        ):
            break
        turns = evidence.turns(site, loop)
        repeated = max(repeated, 1 - 1 / turns) if turns > 1 else repeated
    return repeated


def may_change(site: Site) -> bool:
    """Returns whether an instruction may have another result although its operands are the same. Parameters and other constants never change."""
    reads_what_changes = site.kind in _CHANGING or site.multiplies_from_shared
    return reads_what_changes and site.instruction.name not in LOADS_OF_CONSTANTS


@kept_of_code
def find_steady(evidence: Evidence, loop: Loop) -> Steady:
    """Returns what is the same in each iteration of a loop.

    * A register that each iteration writes anew holds the same value from there on, if the instruction that writes it computes
      the same.
    * A value that is written under a predicate counts only for instructions under the same predicate, until that is written anew.
      It counts for all if the predicate is the same in each iteration and the register counted before.
    * A value that is written in code which a branch may skip counts no further than the end of that code. It counts beyond if
      each iteration goes the same way at the branch and the register counted before it.
    * Nothing counts inside of inner loops, since they may change it again.
    """
    inside = evidence.inside(loop)
    changed = set[str]().union(*[site.use.results for site in inside])
    written = changed_in(evidence, loop)
    found: set[Site] = set()
    accesses: set[Site] = set()
    same: set[str] = set()  # registers and predicates that have the same value here in each iteration
    under: dict[str, set[str]] = {}  # by predicate, those that have it for instructions under that predicate
    # Code that a branch may skip: by its end and the registers that stay known behind it, the registers that become unknown there.
    passed: dict[tuple[int, frozenset[str]], set[str]] = {}
    for site in inside:
        while passed and (ended := min(passed, key=_END))[0] <= site.instruction.offset:
            _forget(passed.pop(ended), same, under)
        guard, results = site.instruction.predicate, site.use.results
        is_here = evidence.innermost_loop(site) is loop
        known = same if is_here else _NO_NAMES
        alike = known | under[guard] if is_here and guard in under else known
        if site.kind in ACCESSES and address_registers(site.instruction) & written <= alike:
            accesses.add(site)
        # If only its predicate changes, an instruction computes the same whenever it acts. A branch, however, goes another way.
        chosen_by = predicates_in(guard) if guard else _NO_NAMES
        needed = site.taken if site.kind == "control" else site.taken - chosen_by
        is_alike = not may_change(site) and needed & changed <= alike
        if is_alike:
            found.add(site)
        if target := site.leads_to:
            stays = frozenset(same.union(*under.values())) if is_alike and guard else _NO_NAMES
            passed.setdefault((target, stays), set())
        for (_, staying), unknown in passed.items():
            unknown.update(results - staying)
        for_all = results & same if guard and chosen_by & changed <= same else _NO_NAMES if guard else results
        for predicate in site.use.predicates_written:
            under.pop(predicate, None)
            under.pop(f"!{predicate}", None)
        _forget(results, same, under)
        if is_alike and is_here:
            same |= for_all
            if guard:
                under.setdefault(guard, set()).update(results - for_all)
    return Steady(frozenset(found), frozenset(accesses))


def _forget(names: Set[str], same: set[str], under: Mapping[str, set[str]]) -> None:
    same -= names
    for some in under.values():
        some.difference_update(names)
