"""Finds powers that inner loops compute from the start in each iteration of the loop around them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.sites import BOOKKEEPING, Site
from profiler.analyse.causes.flow.dataflow import written_by_any
from profiler.analyse.code.loops import Loop

_PRODUCTS = ("FMUL", "DMUL")


def find_powers(evidence: Evidence) -> dict[Site, float]:
    """Returns these products and what counts them, each with the part that is spared if an iteration starts from the last one's power.

    Each iteration of the outer loop sets a value anew, and the inner loops multiply it by another one that does not change. The
    result is the first value times a power of the second. The iteration before had nearly that power.
    """
    found: dict[Site, float] = {}
    for loops in evidence.loops.values():
        for outer in loops:
            found |= _powers_of(evidence, outer, loops)
    return found


def _powers_of(evidence: Evidence, outer: Loop, loops: Iterable[Loop]) -> dict[Site, float]:
    nest = evidence.inside(outer)
    within = (one for one in loops if outer.start < one.start and one.end < outer.end)
    inner = [inside for one in within if (inside := evidence.inside(one))]
    if not inner:
        return {}
    changed = written_by_any(nest)
    products = [site for site in nest if _is_by_the_same(site, changed)]
    if not all(_only_multiplies(one, set(products)) for one in inner):
        return {}
    multiplied = written_by_any(site for site in products if any(site in one for one in inner))
    products = [site for site in products if multiplied.issuperset(site.use.written)]
    turns, count = nest[0].executed, sum(site.executed for site in products)
    # With no more products than turns, the power of the turn before saves nothing.
    if count <= turns or not all(_begins_anew(nest, one) for one in multiplied):
        return {}
    counting = [site for one in inner for site in one if site.kind in BOOKKEEPING]
    spared = dict.fromkeys([*_choosing(nest, products), *counting], 1.0)
    return spared | dict.fromkeys(products, 1 - turns / count)


def _choosing(nest: Sequence[Site], products: Sequence[Site]) -> list[Site]:
    """Returns what chooses how many products to make, in and between the compiler's copies of an inner loop.

    If a branch skips all products, as for a power of zero, what it skips with them serves nothing else.
    """
    first, last = (products[place].instruction.offset for place in (0, -1))
    for site in nest:
        one = site.instruction
        if one.offset < first and one.target is not None and last < one.target <= nest[-1].instruction.offset:
            within = (site for site in nest if one.offset <= site.instruction.offset < (one.target or 0))
            return [site for site in within if site.kind in BOOKKEEPING]
    between = (site for site in nest if first <= site.instruction.offset <= last)
    return [site for site in between if site.kind == "control" or site.instruction.name == "ISETP"]


def _is_by_the_same(site: Site, changed: set[str]) -> bool:
    """Returns whether an instruction multiplies its own register by what does not change in the loop."""
    if site.instruction.name not in _PRODUCTS:
        return False
    target = set(site.use.written)
    factors = [operand.removesuffix(".reuse") for operand in site.instruction.operands[1:]]
    return factors.count(site.instruction.operands[0]) == 1 and changed & site.use.inputs == target


def _only_multiplies(inside: Sequence[Site], products: set[Site]) -> bool:
    """Returns whether a loop has products, and beside them only what counts and chooses. A loop that computes more does more than take a power."""
    return not products.isdisjoint(inside) and all(
        site in products or site.kind in BOOKKEEPING for site in inside
    )


def _begins_anew(nest: Sequence[Site], register: str) -> bool:
    """Returns whether each iteration first sets the register to a value that does not depend on its last one."""
    first = next(site for site in nest if register in site.use.written)
    return (
        register not in first.use.inputs
        and first.instruction.predicate is None
        and first.executed >= nest[0].executed
    )
