"""Detects lookups in constant memory whose lanes look at different places, and constants that their cache does not hold."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from profiler.analyse.causes.detectors.candidate import EIGHTFOLD, Candidate
from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.latency import (
    CONSTANTS,
    L2_CYCLES,
    NO_CONSTANT,
    PASSES_AT_RANDOM,
    Effect,
)
from profiler.analyse.causes.evidence.sites import BOOKKEEPING, Site
from profiler.analyse.code.opcodes import LOADS_OF_CONSTANTS
from profiler.catalog.metrics import LANES
from profiler.text import whole_percent

# The cache of constants takes two cycles for each of 32 addresses. Shared memory makes one pass a cycle.
_SPARED_IN_SHARED_MEMORY = 1 - PASSES_AT_RANDOM / (2 * LANES)
# Before a block looks anything up in shared memory, it waits for the table from L2.
_LOOKUPS_FOR_A_COPY = L2_CYCLES / (2 * LANES)
_IN_SHARED_MEMORY = (
    "Put the table into shared memory: with rows of an odd number of words where lanes read different rows, and with copies for groups of lanes where data "
    "sends many of them to the same banks. Or put it into global memory, where neighbouring lanes read neighbouring elements{}."
)
_IN_GLOBAL_MEMORY = (
    "Put the table into global memory{}, from which L1 serves at once all lanes that read the same 128 bytes. Shared memory serves any "
    "lanes, but each block has to fill it first: it pays where a thread looks up many elements."
)


def detect_divergent_constants(evidence: Evidence) -> Iterable[Candidate]:
    """Names lookups in constant memory whose address depends on the lane."""
    sites = evidence.lookups_apart
    waiting = 100 * evidence.time_of(sites)
    busy = 100 * evidence.model.busy.get(CONSTANTS, 0.0)
    if not waiting:
        return
    advice = _IN_SHARED_MEMORY if _pay_for_a_copy(evidence, sites) else _IN_GLOBAL_MEMORY
    yield Candidate(
        "divergent-constants",
        "The lanes of a warp look at different places in constant memory, which are served one after the other: warps spend "
        f"{whole_percent(waiting)} % of their time waiting for them.",
        advice.format(evidence.words.read_only),
        # There are as many lookups as before, and each is less work.
        Effect(
            {CONSTANTS: _SPARED_IN_SHARED_MEMORY},
            lighter=evidence.waiting_for(
                dict.fromkeys(sites, _SPARED_IN_SHARED_MEMORY), "mio_throttle", "short_scoreboard"
            ),
        ),
        {site: evidence.charged[site].total for site in sites},
        {"waiting_pct": waiting, "constants_busy_pct": busy},
    )


def detect_constant_misses(evidence: Evidence) -> Iterable[Candidate]:
    """Names waiting for constants that all lanes read alike, and that are not in their cache: a loop may read more than it holds.

    With several elements in a thread, a constant is fetched once for all of them, and loops that mostly wait for constants make fewer turns. The bound
    allows for all else that the elements may share.
    """
    if not (waiting := 100 * evidence.time_of(evidence.sites, NO_CONSTANT)):
        return
    in_loops = [site for site in evidence.sites if evidence.innermost_loop(site)]
    # The first constants of a kernel wait behind those of loops, although each warp reads them once.
    blamed = [site for site in in_loops if evidence.charged[site][NO_CONSTANT]] or evidence.sites
    yield Candidate(
        "constant-cache-misses",
        f"Warps spend {whole_percent(waiting)} % of their time waiting for constants that are not in their cache.",
        "Let each thread take several elements, such as eight, so that each constant that is fetched serves all of them. Or pass the constants through "
        "shared memory, a part at a time.",
        Effect(
            evidence.without(dict.fromkeys(_go_on_with_constants(evidence), EIGHTFOLD)).resources,
            evidence.waiting_for(dict.fromkeys(evidence.sites, EIGHTFOLD), NO_CONSTANT),
        ),
        {site: evidence.charged[site][NO_CONSTANT] for site in blamed},
        {"waiting_pct": waiting},
        regrouped=evidence.without(dict.fromkeys(in_loops, EIGHTFOLD)).resources,
    )


def _go_on_with_constants(evidence: Evidence) -> list[Site]:
    """Returns what loads constants, and what counts and branches, in loops that wait for constants for more than half of their time."""
    found: list[Site] = []
    for loop in evidence.loops_around(evidence.sites):
        inside = evidence.inside(loop)
        missing = sum(evidence.charged[site][NO_CONSTANT] for site in inside)
        if 2 * missing > sum(evidence.charged[site].total for site in inside):
            found += (
                site
                for site in inside
                if site.kind in BOOKKEEPING or site.instruction.name in LOADS_OF_CONSTANTS
            )
    return found


def _pay_for_a_copy(evidence: Evidence, sites: Collection[Site]) -> bool:
    """Returns whether a thread looks up so much that filling shared memory first takes less time than the lookups do now."""
    lookups = sum(site.executed for site in sites) / (evidence.shape.warps if evidence.shape else 1)
    return lookups > _LOOKUPS_FOR_A_COPY
