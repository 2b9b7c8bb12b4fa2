"""Knows whether each thread takes neighbouring elements and treats each by itself, in the same way: any thread could take any of them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Set

from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.kept import kept
from profiler.analyse.causes.evidence.sites import Site
from profiler.analyse.causes.flow.addresses.apart import MOVING
from profiler.analyse.causes.flow.addresses.threads import bytes_between_lanes
from profiler.analyse.causes.flow.dataflow import makers_of_value, makers_since_access
from profiler.analyse.causes.flow.loop_carried import is_carried
from profiler.analyse.code.opcodes import LOADS_OF_CONSTANTS

# What differs between copies of an unrolled iteration: their registers, and the predicates by which they test the end of the data.
_OWN = re.compile(r"^@\S+ |(?<![\w.])U?[RP]\d+(?:\.reuse)?")


@kept
def count_elements_alike(evidence: Evidence) -> int:
    """Returns how many neighbouring elements each thread takes one by one, and treats alike; 0 where it does anything else.

    Each store takes what one load of each array brought, and no other store takes it. What is made of these in between is the
    same for all stores. It depends neither on the thread, nor on others, nor on the iteration before.
    """
    accesses = evidence.of(*MOVING)
    stores = [site for site in accesses if site.kind == "global store"]
    between = bytes_between_lanes(evidence, accesses)
    widths = {site.width for site in accesses}
    if not stores or not between or len(widths) > 1:
        return 0
    count, rest = divmod(8 * between, widths.pop())
    made = [makers_since_access(evidence, makers_of_value(evidence, store)) for store in stores]
    if not all(made):
        return 0
    of_stores = Counter(one for makers in made for one in makers if one.kind == "global load")
    are_apart = of_stores.total() == len(of_stores) == len(accesses) - len(stores)
    forms = {frozenset(_forms_of(makers).items()) for makers in made}
    is_alike = len(forms) == 1 and not any(_is_of_others(evidence, one) for makers in made for one in makers)
    return count if not rest and len(stores) % count == 0 and are_apart and is_alike else 0


def _forms_of(makers: Set[Site]) -> Counter[str]:
    """Counts the instructions by what they do, whichever registers they take; loads by their opcode alone, as each has an address of its own."""
    return Counter(
        one.opcode if one.kind == "global load" else _OWN.sub("", one.instruction.text) for one in makers
    )


def _is_of_others(evidence: Evidence, one: Site) -> bool:
    """Returns whether a result depends on the thread, on other lanes or threads, or on the iteration before."""
    from_elsewhere = one.kind not in (
        "global load",
        "fp32",
        "fp64",
        "special",
        "conversion",
        "integer",
        "other",
    )
    is_given = one.instruction.name in LOADS_OF_CONSTANTS
    return (
        (from_elsewhere and not is_given)
        or one.instruction.name in ("CS2R", "VOTE", "ELECT")
        or is_carried(evidence, one)
    )
