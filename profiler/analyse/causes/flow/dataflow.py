"""Follows registers between instructions: what a load feeds, and which address it comes from."""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from functools import lru_cache, partial
from itertools import chain
from typing import TypeVar

from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.kept import kept_of_code
from profiler.analyse.causes.evidence.sites import ACCESSES, Kind, Site
from profiler.analyse.code.code import KEPT, Instruction
from profiler.analyse.code.loops import Loop
from profiler.analyse.code.registers import (
    REGISTER,
    predicates_in,
    register_of,
    written_registers,
)
from profiler.catalog.metrics import LANES

_Step = TypeVar("_Step")
_ADDRESS = re.compile(r"\[([^\]]*)\]")
_OF_A_PAIR = re.compile(r"(?<!U)R(\d+)\.64")
# How many instructions behind another are searched for the one that reads its result. The number is a choice: it has to exceed what
# compilers put between a result and its use to hide the latency.
NEAR = 24
_NEARLY_ALL = 0.9  # of the lanes: they are counted apart from executions
COMPUTED: tuple[Kind, ...] = ("integer", "conversion", "special", "mio", "other")
# What these read was stored by others, and may depend on anything.
CHANGED_BY_OTHERS = ("shared load", "shared atomic", "local", "atomic")
OF_BLOCK = "SR_CTAID"  # the index of a block, whichever dimension of the grid
# Special registers: of a thread in its block, of a block, and of a lane.
INDICES = ("SR_TID", OF_BLOCK, "SR_LANEID")
PARAMETER = re.compile(r"c\[0x0\]\[0x[0-9a-f]+\]")
_SUMS_BY_PRODUCT = ("IMAD.IADD", "IMAD.MOV", "IMAD.X")


@kept_of_code
def changed_in(_evidence: Evidence, loop: Loop) -> frozenset[str]:
    """Returns the registers that a loop writes, also by instructions that did not run."""
    return frozenset(register for one in loop.body for register in written_registers(one))


def written_by_any(sites: Iterable[Site]) -> set[str]:
    """Returns the registers that these instructions write."""
    return {register for site in sites for register in site.use.written}


def address_registers(instruction: Instruction) -> frozenset[str]:
    return _address_registers_in(instruction.text)


@lru_cache(maxsize=KEPT)
def _address_registers_in(text: str) -> frozenset[str]:
    found: set[str] = set()
    for address in _ADDRESS.findall(text):
        found |= set(REGISTER.findall(address))
        # Of the two addresses of a copy to shared memory, only the one that it loads from has 64 bits.
        found |= upper_halves(address)
    return frozenset(found)


def upper_halves(address: str) -> set[str]:
    return {f"R{int(number) + 1}" for number in _OF_A_PAIR.findall(address)}


@kept_of_code
def find_address_work(evidence: Evidence) -> Set[Site]:
    """Returns the instructions whose results become addresses: work that finds data, and does not process it."""
    return find_address_work_of(evidence, evidence.of(*ACCESSES))


def find_address_work_of(evidence: Evidence, accesses: Iterable[Site]) -> Set[Site]:
    """Returns the instructions whose results become addresses of these accesses."""

    def computed(sites: Iterable[Site]) -> list[Site]:
        return [site for site in sites if site.kind in COMPUTED]

    addresses = (maker for site in accesses for maker in makers_of_address(evidence, site))
    return reach(computed(addresses), lambda site: computed(sources_of(evidence, site)))


@kept_of_code
def find_processing(evidence: Evidence) -> Set[Site]:
    """Returns the instructions that compute with loaded values: work for each element. One pass over the code finds them."""
    found: set[Site] = set()
    for sites in evidence.by_function.values():
        loaded: set[str] = set()
        for site in sites:
            of_loaded = not loaded.isdisjoint(site.taken)
            if of_loaded and site.kind not in ACCESSES:
                found.add(site)
            if of_loaded or site.kind in ("global load", "shared load", "local"):
                loaded |= site.use.results
            else:
                loaded -= site.use.results
    return found


def sources_of(evidence: Evidence, site: Site, registers: Set[str] | None = None) -> list[Site]:
    """Returns the instructions that last wrote what this one reads, or only these `registers` of it; the nearest first."""
    if registers is None:
        return _sources_of_all(evidence)[site]
    sites = evidence.by_function[site.function]
    here = evidence.place(site, sites)
    last_writer = _finder_of_last_writer(evidence, site.function)
    writers = (last_writer(here, register) for register in registers)
    return _nearest_first(sites, here, [writer for writer in writers if writer is not None])


@kept_of_code
def _sources_in(evidence: Evidence, function: int) -> dict[Site, list[Site]]:
    """Returns the sources of each instruction of a function."""
    sites = evidence.by_function[function]
    last_writer = _finder_of_last_writer(evidence, function)
    before: dict[str, int] = {}  # by register
    found = {}
    for here, site in enumerate(sites):
        writers = (before[name] if name in before else last_writer(here, name) for name in site.use.inputs)
        found[site] = _nearest_first(sites, here, [writer for writer in writers if writer is not None])
        before |= dict.fromkeys(site.use.written, here)
    return found


@kept_of_code
def _sources_of_all(evidence: Evidence) -> dict[Site, list[Site]]:
    """Returns the sources of each instruction, of whichever function."""
    return {site: found for one in evidence.by_function for site, found in _sources_in(evidence, one).items()}


@kept_of_code
def _sources_since_access(evidence: Evidence) -> dict[Site, list[Site]]:
    """Returns the sources of each instruction; none of an access, since what made its address is another question."""
    return {
        site: [] if site.kind in ACCESSES else sources for site, sources in _sources_of_all(evidence).items()
    }


def _nearest_first(sites: Sequence[Site], here: int, places: Collection[int]) -> list[Site]:
    """Returns the instructions at these places, each once, the nearest to `here` first."""
    if len(places) < 2:
        return [sites[place] for place in places]
    if max(places) < here:
        nearest = sorted(set(places), reverse=True)
    else:
        nearest = sorted(set(places), key=lambda place: abs(here - place))
    return [sites[place] for place in nearest]


def choosers_of(evidence: Evidence, site: Site) -> list[Site]:
    """Returns the instructions that last wrote the predicates that this one reads, before it in its loop or function."""
    if not (wanted := predicates_read(site)):
        return []
    sites, written = evidence.by_function[site.function], places_written(evidence, site.function)
    here, first = evidence.place(site, sites), evidence.place(evidence.around(site)[0], sites)
    places = {place_before(here, written.get(name, ())) for name in wanted}
    return [sites[place] for place in sorted(places, reverse=True) if place >= first]


def derived_from(inside: Sequence[Site], first: Set[Site]) -> Set[Site]:
    """Returns the instructions that compute with results of `first`, at once or by way of others, in one iteration of a loop."""
    found: set[Site] = set()
    registers: set[str] = set()
    for site in inside:
        is_made = not registers.isdisjoint(site.use.inputs)
        if is_made:
            found.add(site)
        if is_made or site in first:
            registers.update(site.use.written)
        else:
            registers.difference_update(site.use.written)
    return found


def makers_of_value(evidence: Evidence, store: Site) -> list[Site]:
    """Returns the instructions whose result is stored."""
    value = register_of(store.instruction.operands[-1])
    return sources_of(evidence, store, {value}) if value else []


def factors_of(site: Site) -> set[str]:
    """Returns the registers that an instruction multiplies."""
    multiplies = site.instruction.name in ("IMAD", "UIMAD") and not site.opcode.startswith(_SUMS_BY_PRODUCT)
    return set(REGISTER.findall(", ".join(site.instruction.operands[1:3]))) if multiplies else set()


def readers_behind(evidence: Evidence, site: Site) -> list[Site]:
    """Returns the instructions behind this one that read what it writes."""
    code = evidence.by_function[site.function]
    behind = code[evidence.place(site, code) + 1 :]
    return [reader for register in site.use.written for reader in readers_of(register, behind)]


@kept_of_code
def readers_in(evidence: Evidence, function: int) -> dict[Site, list[Site]]:
    """Returns for each instruction of a function those that read its result."""
    found: dict[Site, list[Site]] = {}
    for site in evidence.by_function[function]:
        for source in sources_of(evidence, site):
            found.setdefault(source, []).append(site)
    return found


def find_going_with(
    sites: Sequence[Site],
    going: Set[Site],
    readers: Mapping[Site, Collection[Site | None]],
    among: Set[Site],
) -> list[Site]:
    """Returns the instructions `among` all that go together with those `going`, because nothing else reads their results; the last first."""
    gone: set[Site | None] = set(going)
    found = []
    for site in reversed(sites):
        used = readers.get(site)
        if used and site in among and site not in gone and gone.issuperset(used):
            gone.add(site)
            found.append(site)
    return found


def readers_of(
    register: str, following: Iterable[Site], overwrites: Callable[[Site], bool] | None = None
) -> Iterator[Site]:
    """Yields the instructions that read a register before another result is written to it.

    `overwrites` says which instructions write one; by default, all that write the register do.
    """
    for site in following:
        if register in site.use.inputs:
            yield site
        if overwrites(site) if overwrites else register in site.use.written:
            return


def names_read(registers: Set[str], following: Iterable[Site]) -> set[str]:
    """Returns which of these registers the following instructions read before they overwrite them."""
    unknown, found = set(registers), set()
    for site in following:
        if not unknown:
            break
        if read := unknown & site.use.inputs:
            found |= read
            unknown -= read
        unknown.difference_update(site.use.written)
    return found


def uses_of(evidence: Evidence, site: Site) -> Iterator[Site]:
    """Yields the instructions that read a result: in its loop, in the next iteration too, and behind the loop.

    A write that only some lanes execute does not replace the result.
    """
    code = evidence.by_function[site.function]
    inside = evidence.around(site)
    place, first = evidence.place(site, inside), evidence.place(inside[0], code)
    behind = inside[place + 1 :]
    for register in site.use.written:
        overwrites = partial(_overwrites, site, register)
        yield from readers_of(register, chain(behind, inside[: place + 1]), overwrites)
        if not any(map(overwrites, behind)):
            yield from readers_of(register, code[first + len(inside) :], overwrites)


def _overwrites(writer: Site, register: str, site: Site) -> bool:
    """Returns whether an instruction overwrites a register in all lanes of its `writer`: it is under no predicate, and in no branch."""
    if register not in site.use.written or site.instruction.predicate:
        return False
    return site.executed * (site.lanes or LANES) >= _NEARLY_ALL * writer.executed * (writer.lanes or LANES)


def reach(
    start: Iterable[_Step], onwards: Callable[[_Step], Iterable[_Step]], most: float = math.inf
) -> Set[_Step]:
    """Returns the start and all that it leads to in any number of steps, the nearest first; nothing if that is more than `most`."""
    found = dict.fromkeys(start)
    wanted = list(found)
    for one in wanted:  # which grows
        for other in onwards(one):
            if other not in found:
                found[other] = None
                wanted.append(other)
        if len(found) > most:
            return frozenset()
    return found.keys()


def makers_of_address(evidence: Evidence, access: Site) -> list[Site]:
    """Returns the instructions that wrote the registers of its address."""
    return sources_of(evidence, access, address_registers(access.instruction))


def address_comes_of(evidence: Evidence, access: Site, sites: Iterable[Site]) -> bool:
    """Returns whether the address of an access is made of results of these instructions."""
    return not all_makers(evidence, makers_of_address(evidence, access)).isdisjoint(sites)


def all_makers(evidence: Evidence, sites: Iterable[Site]) -> Set[Site]:
    """Returns these instructions and all whose results led to theirs, the nearest first."""
    return reach(sites, _sources_of_all(evidence).__getitem__)


def makers_since_access(evidence: Evidence, sites: Iterable[Site]) -> Set[Site]:
    """Returns these instructions and all whose results led to theirs, back to accesses to memory: what made their addresses is left out."""
    return reach(sites, _sources_since_access(evidence).__getitem__)


def predicates_read(site: Site) -> frozenset[str]:
    return predicates_in(site.instruction.text) if site.kind == "control" else site.use.predicates_read


@kept_of_code
def places_written(evidence: Evidence, function: int) -> Mapping[str, Sequence[int]]:
    """Returns by register and predicate the places in a function where it is written, in order."""
    found: dict[str, list[int]] = {}
    for place, site in enumerate(evidence.by_function[function]):
        for name in site.use.results:
            found.setdefault(name, []).append(place)
    return found


def place_before(here: int, places: Sequence[int]) -> int:
    """Returns the last of some places before this one; -1 where there is none."""
    before = bisect_left(places, here)
    return places[before - 1] if before else -1


@kept_of_code
def _finder_of_last_writer(evidence: Evidence, function: int) -> Callable[[int, str], int | None]:
    """Returns a function that finds which instruction last wrote a register before a position.

    If none did, it finds the last one that writes the register after the position, in a loop around both.
    """
    sites, positions = evidence.by_function[function], places_written(evidence, function)
    ends = [0] * len(sites)  # by position, where the outermost loop around it ends
    for loop in evidence.loops.get(function, ()):
        if inside := evidence.inside(loop):
            start = evidence.place(inside[0], sites)
            for index in range(start, start + len(inside)):
                ends[index] = max(ends[index], start + len(inside))

    def find(index: int, register: str) -> int | None:
        written = positions.get(register)
        if not written:
            return None
        if before := bisect_left(written, index):
            return written[before - 1]
        behind = bisect_left(written, ends[index])
        return written[behind - 1] if behind else None

    return find
