"""Detects copies to shared memory in which the lanes of a warp load the same data, to keep it in several places."""

from __future__ import annotations

import re
from collections.abc import Iterable

from profiler.analyse.causes.detectors.candidate import Candidate
from profiler.analyse.causes.detectors.global_memory.redundant_loads import OFTEN, without_loads
from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.sites import SIZE_IS_UNKNOWN, Site
from profiler.analyse.causes.flow.staging import feeds_shared_memory
from profiler.catalog.metrics import LANES, SECTOR_BYTES

_COPY = "LDGSTS"
_PREDICATE = re.compile(r"!?U?P\d")


def detect_repeated_copies(evidence: Evidence) -> Iterable[Candidate]:
    """Names copies whose lanes ask for more bytes than the sectors hold that they touch: several lanes copy the same ones."""
    if not evidence.has_costs:
        return
    repeated: dict[Site, float] = {}
    for site in evidence.of("global load"):
        if site.instruction.name not in SIZE_IS_UNKNOWN and feeds_shared_memory(evidence, site):
            times = _times_copied(evidence, site)
            if times >= OFTEN:
                repeated[site] = 1 - 1 / times
    if not repeated:
        return
    executed = sum(site.executed for site in repeated)
    times = executed / sum((1 - part) * site.executed for site, part in repeated.items())
    yield Candidate(
        "redundant-global-loads",
        f"Lanes of a warp copy the same data to different places of shared memory, {times:.2g} times or more.",
        "Copy what several rows or columns of a tile share once, and let each thread take it from there.",
        without_loads(evidence, repeated),
        {site: part * site.executed for site, part in repeated.items()},
        {"times_copied": times},
        in_triton="Load what the rows of a tile share as one row (offsets of the shape [1, N], or one index for all rows), and let the arithmetic "
        "broadcast it: a block of pointers to equal addresses loads each copy, and keeps it.",
    )


def _times_copied(evidence: Evidence, site: Site) -> float:
    """Returns how often each byte is copied by a warp, or more: sectors may hold bytes that no lane asks for."""
    asked = _loading(evidence, site) * site.executed * LANES * (1 - site.idle_share) * site.width / 8
    return asked / (site.sectors * SECTOR_BYTES) if site.sectors else 1.0


def _loading(evidence: Evidence, site: Site) -> float:
    """Returns the part of the executions of a copy in which it loads.

    A predicate behind its addresses says whether a copy loads, or fills its place with zeros, as in turns that have no tile to
    come. No count shows that. But a copy loads as often as the fullest of those beside it under the same predicate, at least.
    """
    under = _under_predicates(evidence.around(site))
    if site not in under:
        return 1.0
    beside = [one for one, predicate in under.items() if predicate == under[site]]
    return max(min(1.0, (one.sectors or 0.0) / (one.executed * _sectors_of_a_row(one))) for one in beside)


def _under_predicates(sites: Iterable[Site]) -> dict[Site, tuple[str, Site | None]]:
    """Returns for each copy that may only fill its place with zeros the predicate that says so, and what set it last."""
    found: dict[Site, tuple[str, Site | None]] = {}
    setting: dict[str, Site] = {}
    for site in sites:
        last = site.instruction.operands[-1] if site.instruction.name == _COPY else ""
        if _PREDICATE.fullmatch(last):
            found[site] = last, setting.get(last.removeprefix("!"))
        setting |= dict.fromkeys(site.use.predicates_written, site)
    return found


def _sectors_of_a_row(site: Site) -> float:
    """Returns how many sectors the lanes of a warp touch that copy different data, side by side."""
    return max(1.0, LANES * site.width / 8 / SECTOR_BYTES)
