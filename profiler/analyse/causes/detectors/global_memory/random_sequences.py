"""Detects states of cuRAND that skip ahead to the sequence of each thread by the matrices of their generator."""

from __future__ import annotations

from collections.abc import Iterable

from profiler.analyse.causes.detectors.candidate import Candidate
from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.kept import kept
from profiler.analyse.causes.evidence.sites import Site
from profiler.text import whole_percent

_HEADER = "curand_kernel.h"  # of NVIDIA, compiled into the kernel that initialises a state


def detect_skipping_ahead(evidence: Evidence) -> Iterable[Candidate]:
    """Names what takes each thread's state to its sequence: all of it goes with a generator that only sets a counter, such as Philox."""
    skipping = find_skipping_ahead(evidence)
    if not skipping:
        return
    share = 100 * evidence.share_executed(skipping)
    yield Candidate(
        "redundant-global-loads",
        f"{whole_percent(share)} % of the executed instructions initialise random numbers: cuRAND skips ahead to the sequence of each thread, and multiplies its "
        "state by matrices that all threads load again and again.",
        "Use a generator that skips ahead by setting a counter, such as Philox (`curandStatePhilox4_32_10_t`), or the same sequence with a seed "
        "for each thread, if that is random enough; or keep the states in memory between launches, and initialise them once.",
        evidence.without(dict.fromkeys(skipping, 1.0)),
        {site: evidence.charged[site].total or site.executed for site in skipping},
        {"skipping_ahead_pct": share},
    )


@kept
def find_skipping_ahead(evidence: Evidence) -> frozenset[Site]:
    """Returns the loops with loads that are of cuRAND's header alone.

    A loop that draws numbers is the user's: it is counted, and uses the numbers, by lines of another file. Without lines, nothing is known.
    """
    found: set[Site] = set()
    for loops in evidence.loops.values():
        for inside in map(evidence.inside, loops):
            if any(site.kind == "global load" for site in inside) and all(map(_is_of_header, inside)):
                found.update(inside)
    return frozenset(found)


def _is_of_header(site: Site) -> bool:
    return (site.instruction.file or "").replace("\\", "/").rpartition("/")[2] == _HEADER
