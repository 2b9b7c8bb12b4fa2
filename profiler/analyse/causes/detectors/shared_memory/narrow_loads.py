"""Detects words of shared memory that a thread loads one by one, and that could lie side by side for it.

Threads of one tile often take whole pieces of it: each a few rows, say, that other threads take too, or not at all. Then the tile can be
stored so that a piece lies side by side. Where threads take overlapping pieces, as the windows of a filter, no order of the words serves all.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from profiler.analyse.causes.detectors.candidate import WIDEST_BITS, Candidate
from profiler.analyse.causes.evidence.addresses import base_of, offset_of
from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.latency import Effect
from profiler.analyse.causes.evidence.sites import Site
from profiler.analyse.causes.flow.addresses.operations import step_of
from profiler.analyse.causes.flow.addresses.threads import offsets_of_threads
from profiler.analyse.causes.flow.dataflow import address_registers
from profiler.catalog.metrics import LANES

_WIDEST_BYTES = WIDEST_BITS // 8
_WAITS = ("short_scoreboard", "mio_throttle")
_PASS_BYTES = 128  # of shared memory that come at once
_WORD_BITS = 32
# A word that is stored elsewhere may need a store of its own, and these are four times as many as wide ones.
_LOADS_A_STORE = WIDEST_BITS / _WORD_BITS


def detect_narrow_shared(evidence: Evidence) -> Iterable[Candidate]:
    """Names the loads in loops that wider ones could replace, if the words of each thread lay side by side."""
    pieces = list(_find_pieces(evidence))
    if not pieces:
        return
    spared = {site: 1 - site.width / WIDEST_BITS for sites, _ in pieces for site in sites}
    passes = {site: _passes_spared(site, threads) for sites, threads in pieces for site in sites}
    fewer = evidence.without(spared)
    waits = evidence.waiting_for(spared, *_WAITS)
    words = sum(len(sites) for sites, _ in pieces)
    wide = sum(math.ceil(len(sites) * sites[0].width / WIDEST_BITS) for sites, _ in pieces)
    yield Candidate(
        "narrow-accesses",
        f"In each turn of a loop, a thread loads {words} words from shared memory one by one, for which {wide} wide ones would do "
        "if they lay side by side.",
        "Store the tile so that the words which a thread takes in one step lie side by side (transposed, for instance), and load them at once "
        "(`float4`).",
        Effect({**fewer.resources, "l1": evidence.part_of_l1(passes)}, lighter=waits),
        {site: site.executed * part for site, part in spared.items()},
        {"shared_loads": words, "wide_shared_loads": wide},
        in_triton="Try another layout of the tile, with which Triton loads more at once: other block sizes, a transposed operand, or another `num_warps`.",
    )


def _find_pieces(evidence: Evidence) -> Iterator[tuple[list[Site], Sequence[int]]]:
    """Yields the loads of a piece, with how far each thread's piece begins behind that of the first."""
    behind: dict[object, list[Site]] = defaultdict(list)
    for site in evidence.of("shared load"):
        if (
            (loop := evidence.innermost_loop(site))
            and _WORD_BITS <= site.width < WIDEST_BITS
            and site.instruction.name == "LDS"
        ):
            behind[loop, base_of(site), site.width].append(site)
    stored = sum(
        site.executed * max(site.width, _WORD_BITS) / _WORD_BITS
        for site in evidence.sites
        if site.stores_in_shared
    )
    for sites in behind.values():
        loads = {offset_of(site): site for site in sites}
        needed = WIDEST_BITS // sites[0].width
        if len(loads) < needed or sum(site.executed for site in sites) < _LOADS_A_STORE * stored:
            continue
        threads = offsets_of_threads(evidence, sites[0])
        if threads and _are_pieces(set(threads), loads, _step(evidence, sites[0])):
            yield sites, threads


def _are_pieces(threads: set[int], loads: Mapping[int, Site], step: int | None) -> bool:
    """Returns whether no word belongs to the pieces of two threads, or of two turns, but for threads and turns that take the same piece."""
    if step is None:
        return False
    words = {start + offset for start in threads for offset in loads}
    if len(words) < len(threads) * len(loads):
        return False
    reach = max(words) - min(words)
    turns = range(step, reach + 1, step) if step else ()
    return all(words.isdisjoint(word + further for word in words) for further in turns)


def _step(evidence: Evidence, access: Site) -> int | None:
    """Returns how many bytes further each turn of its loop accesses; nothing where it is not the same for all turns."""
    loop = evidence.innermost_loop(access)
    inside = evidence.inside(loop) if loop else []
    step = 0
    for register in address_registers(access.instruction):
        for site in inside:
            if register in site.use.results:
                further = step_of(site, register)
                if further is None or site.instruction.predicate is not None:
                    return None
                step += further
    return step


def _passes_spared(site: Site, threads: Sequence[int]) -> float:
    """Returns the part of a load's passes that go: a wide load brings as many different words, in a pass for each 128 bytes."""
    pieces = len(set(threads[:LANES]))
    wide = max(1.0, pieces * _WIDEST_BYTES / _PASS_BYTES)
    narrow = (site.passes / site.executed if site.passes else 1.0) * WIDEST_BITS / site.width
    return max(0.0, 1 - wide / narrow)
