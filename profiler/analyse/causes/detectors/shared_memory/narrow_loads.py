"""Detects words of shared memory that a thread loads one by one, although they could lie side by side.

Threads often take whole pieces of a tile, such as a few rows, and any two threads take the same piece or pieces without a common
word. Then the tile can be stored so that the words of a piece lie side by side. If pieces overlap, as the windows of a filter do,
no order of the words serves all threads.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from profiler.analyse.causes.detectors.candidate import WIDEST_BITS, Candidate
from profiler.analyse.causes.evidence.addresses import base_of, offset_of
from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.kept import kept
from profiler.analyse.causes.evidence.latency import FOR_SHARED_MEMORY, PASS_BYTES, Effect
from profiler.analyse.causes.evidence.sites import Site
from profiler.analyse.causes.flow.addresses.strides import step_in_loop
from profiler.analyse.causes.flow.addresses.threads import offsets_of_threads
from profiler.analyse.code.opcodes import WORD_BITS
from profiler.catalog.metrics import LANES

_FREE_OF_CONFLICTS = " Rows whose length is an odd multiple of 16 bytes keep lanes that load different ones in different banks."
_WIDEST_BYTES = WIDEST_BITS // 8
# In another layout, each word may need a store of its own: four times as many stores as wide ones.
_LOADS_A_STORE = WIDEST_BITS / WORD_BITS


def detect_narrow_shared(evidence: Evidence) -> Iterable[Candidate]:
    """Names the loads in loops that wider ones could replace, if the words of each thread lay side by side."""
    pieces = _find_pieces(evidence)
    if not pieces:
        return
    spared = find_spared_loads(evidence)
    fewer = evidence.without(spared)
    waits = evidence.waiting_for(spared, *FOR_SHARED_MEMORY)
    words, wide = _count_in_loop(evidence, [sites for sites, _ in pieces])
    yield Candidate(
        "narrow-accesses",
        f"In each turn of a loop, a thread loads {words} words from shared memory one by one, for which {wide} wide ones would do "
        "if they lay side by side.",
        "Store the tile so that the words which a thread takes in one step lie side by side (transposed, for instance), and load 16 bytes at once."
        + (_FREE_OF_CONFLICTS if any(len(set(threads[:LANES])) > 1 for _, threads in pieces) else ""),
        Effect({**fewer.resources, "l1": evidence.part_of_l1(find_spared_passes(evidence))}, lighter=waits),
        {site: site.executed * part for site, part in spared.items()},
        {"shared_loads": words, "wide_shared_loads": wide},
        in_triton="Try another layout of the tile, with which Triton loads more at once: other block sizes, a transposed operand, or another `num_warps`.",
    )


def _count_in_loop(evidence: Evidence, pieces: Iterable[Sequence[Site]]) -> tuple[int, int]:
    """Returns the words and the wide loads in a turn of the loop that loads most of them."""
    loops: dict[object, list[Sequence[Site]]] = {}
    for sites in pieces:
        loops.setdefault(evidence.innermost_loop(sites[0]), []).append(sites)
    most = max(loops.values(), key=lambda some: sum(site.executed for sites in some for site in sites))
    return sum(map(_words, most)), sum(map(_wide, most))


def _words(sites: Sequence[Site]) -> int:
    return len(set(map(offset_of, sites)))


def _wide(sites: Sequence[Site]) -> int:
    """Returns how many wide loads bring the words of a piece."""
    return math.ceil(_words(sites) * sites[0].width / WIDEST_BITS)


@kept
def find_spared_loads(evidence: Evidence) -> Mapping[Site, float]:
    """Returns the part of these loads that wide ones would save."""
    return {site: 1 - _wide(sites) / _words(sites) for sites, _ in _find_pieces(evidence) for site in sites}


@kept
def find_spared_passes(evidence: Evidence) -> Mapping[Site, float]:
    """Returns the part of their passes that wide ones would save."""
    return {
        site: _passes_spared(site, threads) for sites, threads in _find_pieces(evidence) for site in sites
    }


@kept
def _find_pieces(evidence: Evidence) -> Sequence[tuple[Sequence[Site], Sequence[int]]]:
    """Returns the loads of each piece, and by how many bytes each thread's piece begins behind that of the first thread."""
    return list(_yield_pieces(evidence))


def _yield_pieces(evidence: Evidence) -> Iterator[tuple[list[Site], Sequence[int]]]:
    behind: dict[object, list[Site]] = defaultdict(list)
    for site in evidence.of("shared load"):
        if (
            (loop := evidence.innermost_loop(site))
            and WORD_BITS <= site.width < WIDEST_BITS
            and site.instruction.name == "LDS"
        ):
            behind[loop, base_of(site), site.width].append(site)
    stored = sum(
        site.executed * max(site.width, WORD_BITS) / WORD_BITS
        for site in evidence.sites
        if site.stores_in_shared
    )
    for sites in behind.values():
        loads = {offset_of(site): site for site in sites}
        needed = WIDEST_BITS // sites[0].width
        if len(loads) < needed or sum(site.executed for site in sites) < _LOADS_A_STORE * stored:
            continue
        threads = offsets_of_threads(evidence, sites[0])
        steps = _steps(evidence, sites[0])
        if threads and steps is not None and _are_pieces(set(threads), loads, steps):
            yield sites, threads


def _are_pieces(threads: set[int], loads: Iterable[int], steps: Iterable[int]) -> bool:
    """Returns whether the pieces of any two threads, and of any two iterations, are the same or have no word in common.

    `threads` and `steps` say by how many bytes the pieces begin behind the first one.
    """
    pieces = [{start + offset for offset in loads} for start in threads]
    words = set().union(*pieces)
    if len(words) < sum(map(len, pieces)):
        return False
    reach = max(words) - min(words)
    return all(words.isdisjoint(word + step for word in words) for step in steps if abs(step) <= reach)


def _steps(evidence: Evidence, access: Site) -> Iterable[int] | None:
    """Returns by how many bytes each later iteration of a loop accesses behind the first one; None if that is not known."""
    loop = evidence.innermost_loop(access)
    if loop is None:
        return None
    step = step_in_loop(evidence, loop, access)
    if step is None:
        return None
    return [step * turn for turn in range(1, math.ceil(evidence.turns(access, loop)))] if step else []


def _passes_spared(site: Site, threads: Sequence[int]) -> float:
    """Returns the part of a load's passes that goes if wide loads bring the same words."""
    narrow = (site.passes / site.executed if site.passes else 1.0) * WIDEST_BITS / site.width
    return max(0.0, 1 - _passes_of_wide(threads[:LANES]) / narrow)


def _passes_of_wide(lanes: Sequence[int]) -> float:
    """Returns the passes of a load of 16 bytes whose lanes begin at these places.

    Each half of a warp takes at least one pass, and one for every 128 bytes that it needs. That was counted on an H200: one piece
    for all lanes takes two passes, and so do eight pieces; 16 pieces take four, and so do 32.
    """
    halves = [set(lanes[start : start + LANES // 2]) for start in range(0, len(lanes), LANES // 2)]
    return sum(max(1.0, len(half) * _WIDEST_BYTES / PASS_BYTES) for half in halves)
