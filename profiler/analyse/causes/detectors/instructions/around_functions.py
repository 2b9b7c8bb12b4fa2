"""Finds what a kernel executes for a function: the instructions of its source line, or those near it if no line is known."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.sites import Kind, Site

EVALUATING: tuple[Kind, ...] = ("fp32", "special", "integer", "control", "conversion", "mio", "other")
# Instructions on either side of a function's signature that scale its argument and its result.
_OF_A_FUNCTION = 12


def find_around(
    evidence: Evidence, is_function: Callable[[Site], bool], kinds: Sequence[Kind]
) -> Iterator[list[Site]]:
    """Yields the instructions of these kinds by source line, and those near functions without a known line."""
    lines: dict[str, list[Site]] = {}
    for sites in evidence.by_function.values():
        near: dict[Site, None] = {}
        for index, site in enumerate(sites):
            if site.kind in kinds and (place := site.instruction.place):
                lines.setdefault(place, []).append(site)
            elif site.instruction.place is None and is_function(site):
                around = sites[max(0, index - _OF_A_FUNCTION) : index + _OF_A_FUNCTION]
                near |= dict.fromkeys(one for one in around if one.kind in kinds)
        yield list(near)
    yield from lines.values()
