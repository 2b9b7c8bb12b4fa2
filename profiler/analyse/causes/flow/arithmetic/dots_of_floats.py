"""Finds products of matrices in Triton (`tl.dot`) that threads compute by single multiply-adds: tensor cores take no whole floats."""

from __future__ import annotations

import re
from collections.abc import Mapping

from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.kept import kept
from profiler.analyse.causes.evidence.sites import Site
from profiler.analyse.causes.flow.dataflow import sources_of

_DOT = re.compile(r"\bdot\(")
_FACTORS = 2


@kept
def find_dots_of_floats(evidence: Evidence) -> Mapping[Site, frozenset[Site]]:
    """Returns the multiply-adds of these products, with the loads from shared memory that bring their factors.

    Where tensor cores multiply, a line may hold multiply-adds too, such as those that scale a sum before the product is added to it. Few
    of their factors come from shared memory.
    """
    if evidence.profile.language != "Triton":
        return {}
    by_line: dict[object, dict[Site, frozenset[Site]]] = {}
    for site in evidence.of("fp32"):
        if site.instruction.name == "FFMA" and _DOT.search(site.text or ""):
            loads = frozenset(one for one in sources_of(evidence, site) if one.kind == "shared load")
            by_line.setdefault(site.instruction.place, {})[site] = loads
    return {
        site: loads
        for of_line in by_line.values()
        if 2 * sum(len(loads) >= _FACTORS for loads in of_line.values()) > len(of_line)
        for site, loads in of_line.items()
    }
