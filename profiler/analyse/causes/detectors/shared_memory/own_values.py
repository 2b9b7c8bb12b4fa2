"""Detects values that a thread stores in shared memory and loads again itself, although no other thread can have stored there in between.

Between two barriers, threads store in places of their own, or the program would depend on who comes first. So what a thread stored is
there until a barrier is passed and something is stored behind it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from profiler.analyse.causes.detectors.candidate import Candidate
from profiler.analyse.causes.evidence.addresses import address_of
from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.sites import MEETINGS, Site
from profiler.analyse.causes.flow.dataflow import address_registers
from profiler.analyse.causes.flow.reduction_trees import find_in_trees
from profiler.text import whole_percent

_Place = tuple[str, int]  # an address, while its registers stay, and how many bits lie there


def detect_own_values(evidence: Evidence) -> Iterable[Candidate]:
    """Names such loads, with the stores that nothing else reads. Those of a tree go with its barriers."""
    loads: list[Site] = []
    stores: list[Site] = []
    in_trees = find_in_trees(evidence)
    functions = {site.function for site in evidence.of("shared store")}
    for sites in (evidence.by_function[function] for function in functions):
        for _, group in groupby(sites, evidence.innermost_loop):
            for trip in _trips(list(group)):
                loads += (load for load in trip.loads if load not in in_trees)
                if trip.is_whole:
                    stores += (one for one in trip.stored.values() if one in trip.read - in_trees)
    if loads:
        gone = dict.fromkeys([*loads, *stores], 1.0)
        yield Candidate(
            "redundant-shared-accesses",
            f"{whole_percent(100 * len(loads) / len(evidence.of('shared load')))} % of the loads from shared memory load what the same thread stored there, "
            "and no other thread in between.",
            "Keep these values in registers"
            + (
                ", without the stores and the barrier between."
                if stores
                else ", and store only what other threads read."
            ),
            evidence.without(gone),
            {site: site.executed for site in gone},
        )


@dataclass
class _Trip:
    """The values that a thread stored between two barriers, and the loads that read them before threads store again.

    It is `whole` if nothing else is loaded past the barrier, so that nobody but the thread itself reads what it stored.
    """

    stored: dict[_Place, Site] = field(default_factory=dict)
    loads: list[Site] = field(default_factory=list)
    read: set[Site] = field(default_factory=set)
    bases: set[str] = field(default_factory=set)  # the registers of these addresses
    has_met: bool = False
    is_whole: bool = True

    def forget(self, written: set[str]) -> None:
        """Drops the places whose registers now hold another address."""
        self.stored = {
            place: store
            for place, store in self.stored.items()
            if written.isdisjoint(address_registers(store.instruction))
        }
        self.bases -= written
        self.is_whole = False


def _trips(sites: Sequence[Site]) -> Iterator[_Trip]:
    """Yields what is stored and loaded again in code that no loop enters or leaves."""
    trip = _Trip()
    for site in sites:
        if site.kind == "barrier" or site.instruction.name in MEETINGS:
            trip.has_met = True
        elif site.stores_in_shared:
            if trip.has_met:
                yield trip
                trip = _Trip()
            if site.kind == "shared store" and site.instruction.predicate is None:
                trip.stored[_place_of(site)] = site
                trip.bases |= address_registers(site.instruction)
            else:
                trip.is_whole = False
        elif site.kind == "shared load":
            store = trip.stored.get(_place_of(site))
            if store and _acts_wherever(store, site):
                trip.loads.append(site)
                trip.read.add(store)
            elif trip.has_met:
                trip.is_whole = False
        if not trip.bases.isdisjoint(site.use.written):
            trip.forget(set(site.use.written))
    trip.is_whole = (
        trip.is_whole and sites[-1].instruction.name == "EXIT"
    )  # a loop that follows may read more
    yield trip


def _place_of(site: Site) -> _Place:
    return address_of(site), site.width


def _acts_wherever(store: Site, load: Site) -> bool:
    """Returns whether every lane that loads has stored: of a branch that some lanes take, only what stands within is certain."""
    return store.executed >= load.executed and store.lane_executions >= load.lane_executions
