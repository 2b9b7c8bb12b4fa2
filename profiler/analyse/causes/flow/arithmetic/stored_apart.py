"""Finds out whether the blocks along a dimension of the grid compute all of it alike, and only store it at other places.

So it is where a kernel is launched with blocks for the parts of its work, and each of them does the whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Set

from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.sites import ARITHMETIC, Kind, Site, is_blind_exchange
from profiler.analyse.causes.flow.dataflow import address_registers, sources_of
from profiler.analyse.causes.flow.depending import find_depending
from profiler.analyse.code.registers import REGISTER, words_from

_OF_ADDRESSES: tuple[Kind, ...] = ("integer", "mio", "other")
_WORK: tuple[Kind, ...] = (*ARITHMETIC, "tensor")
_CHANGED_BY_OTHERS: tuple[Kind, ...] = ("local", "atomic", "shared atomic")
_LOAD_OF_TENSOR, _STORE_OF_TENSOR = "UTMALDG", "UTMASTG"
_WORDS_OF_POINTER = 2
_INDICES = ("SR_CTAID.X", "SR_CTAID.Y", "SR_CTAID.Z")


def find_stored_apart(evidence: Evidence, index: str) -> Set[Site]:
    """Returns what finds places to store at from an index of the block, and what stores there, if that is all for which the index is read; else nothing.

    Another index has to say more: where blocks differ in nothing, they measure something, and have no data. There has to be work in loops, too.
    """
    if len(evidence.by_function) != 1 or any(_is_unknown(site) for site in evidence.sites):
        return frozenset()
    if not any(site.kind in _WORK and evidence.innermost_loop(site) for site in evidence.sites):
        return frozenset()
    found = set()
    for site in _depending(evidence, index):
        if _is_work(site):
            return frozenset()  # so it is in nearly all kernels, and the search is long
        found.add(site)
    others = (frozenset(_depending(evidence, other)) for other in _INDICES if other != index)
    if _says_more(evidence, found) or not any(_says_more(evidence, other) for other in others):
        return frozenset()
    return found


def _is_unknown(site: Site) -> bool:
    """Returns whether memory may hold anything there that others have put there. A descriptor, which a kernel makes by an exchange, is its own."""
    return site.kind in _CHANGED_BY_OTHERS or (".STRONG" in site.opcode and not is_blind_exchange(site))


def _depending(evidence: Evidence, index: str) -> Iterator[Site]:
    """Yields what depends on an index. Of descriptors that each block makes for itself, what they say counts, and not where they lie."""
    sites = evidence.sites
    makes_them = any(is_blind_exchange(site) for site in sites)
    tensors = {site for site in sites if makes_them and site.instruction.name == _LOAD_OF_TENSOR}
    reading = {site for site in sites if index in site.instruction.text}
    return find_depending(sites, evidence.loops.get(sites[0].function, ()), reading, never=tensors - reading)


def _says_more(evidence: Evidence, depending: Set[Site]) -> bool:
    """Returns whether what depends on an index is more than places to store at, such as a value that is stored, or another tile that is loaded."""
    return any(_is_more(evidence, site, depending) for site in depending) or any(
        _takes_another_tile(evidence, site, depending) for site in evidence.sites
    )


def _is_work(site: Site) -> bool:
    return site.kind != "global store" and site.kind not in _OF_ADDRESSES


def _is_more(evidence: Evidence, site: Site, depending: Set[Site]) -> bool:
    if site.kind != "global store":
        return _is_work(site)
    if site.instruction.name == _STORE_OF_TENSOR:
        return False  # what it stores is in shared memory, and no store to that depends on the index
    stored = site.use.inputs - set(address_registers(site.instruction))
    return not depending.isdisjoint(sources_of(evidence, site, stored))


def _takes_another_tile(evidence: Evidence, site: Site, depending: Set[Site]) -> bool:
    if site.instruction.name != _LOAD_OF_TENSOR:
        return False
    pointer = REGISTER.findall(site.instruction.operands[1])
    taken = site.use.inputs - set(words_from(pointer[0], _WORDS_OF_POINTER))
    return not depending.isdisjoint(sources_of(evidence, site, taken))
