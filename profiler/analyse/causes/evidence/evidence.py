"""Gathers what is known of one kernel for a diagnosis: its figures, its instructions, and where its time went.

A `Profile` in, an `Evidence` out. If launches differ in shape, only those of the shape that takes most of the time count, because
a mean over large and small launches describes neither.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from profiler.analyse.causes.evidence.blame import Waits
from profiler.analyse.causes.evidence.charging import are_atomics_contended, charge_waits, count_cycles_in_l1
from profiler.analyse.causes.evidence.estimates import estimate_costs, estimate_lanes
from profiler.analyse.causes.evidence.latency import Effect
from profiler.analyse.causes.evidence.measured_time import (
    hits_of_loads_in_l2,
    hits_of_waits,
    model_time,
    share_stalls,
    wasted_dram,
)
from profiler.analyse.causes.evidence.sites import (
    SIZE_IS_UNKNOWN,
    Kind,
    Site,
    only_some,
    part_of,
    read_sites,
    use_of_units,
)
from profiler.analyse.causes.evidence.time_model import TimeModel
from profiler.analyse.causes.evidence.time_shares import derive_figures
from profiler.analyse.causes.words.every import words_for
from profiler.analyse.causes.words.words import Words
from profiler.analyse.code.loops import Loop, loops_in, loops_within
from profiler.analyse.recording.launch_shapes import LaunchShape
from profiler.analyse.recording.main_shape import of_main_shape
from profiler.analyse.recording.profile import Profile
from profiler.catalog.metrics import LANES, SECTOR_BYTES

# Accesses whose data L1 may hold; it passes stores and atomics on.
_LOOKED_UP: tuple[Kind, ...] = ("global load", "local")


@dataclass(frozen=True, eq=False)
class Evidence:
    """`charged` says for each site what waiting it causes, in any unit: only shares of it are used."""

    profile: Profile
    figures: Mapping[str, float]
    sites: tuple[Site, ...]
    charged: Mapping[Site, Waits]
    model: TimeModel
    has_samples: bool
    has_costs: bool  # of each access, not estimated from totals
    atomics_are_contended: bool = False
    lookups_apart: tuple[Site, ...] = ()  # of constants, where the lanes of a warp look at different ones
    # Of loops that repeat an atomic until it succeeds: they end with the contention, and nothing else shortens them.
    retried: frozenset[Site] = frozenset()
    # The part of device memory's traffic beyond what accesses need if each makes its own trip there.
    wasted_dram: float = 0.0
    # What was found in it (`kept.py`). A changed copy keeps only what was found in the code.
    found: dict[tuple[object, ...], Any] = field(default_factory=dict, init=False, repr=False)
    of_code: dict[tuple[object, ...], Any] = field(default_factory=dict, repr=False)
    _by_kinds: dict[tuple[Kind, ...], list[Site]] = field(default_factory=dict, init=False, repr=False)

    def find(self, name: str) -> float | None:
        """Returns a figure by our name or a metric by ncu's."""
        if name in self.figures:
            return self.figures[name]
        series = self.profile.find(name)
        return series.mean if series else None

    @property
    def shape(self) -> LaunchShape | None:
        return self.profile.shapes[0] if self.profile.shapes else None

    @cached_property
    def words(self) -> Words:
        """The words of the kernel's language for what its GPU has."""
        return words_for(self.profile.language, self.profile.compute_capability)

    @cached_property
    def waits_by_reason(self) -> Waits:
        return Waits({reason: sum(waits.values()) for reason, waits in self._waits.items()})

    @cached_property
    def _waits(self) -> dict[str, dict[Site, float]]:
        """Holds by reason the waiting that instructions cause."""
        found: dict[str, dict[Site, float]] = {}
        for site, waits in self.charged.items():
            for reason, waiting in waits.items():
                found.setdefault(reason, {})[site] = waiting
        return found

    @cached_property
    def executed(self) -> float:
        return sum(site.executed for site in self.sites)

    @cached_property
    def loops(self) -> dict[int, list[Loop]]:
        code = self.profile.code
        return loops_in(code) if code else {}

    @cached_property
    def innermost_loop(self) -> Callable[[Site], Loop | None]:
        """Finds the innermost loop around an instruction. It is a dictionary's own method, because it is called so often."""
        loops = sorted(self._by_loop, key=lambda loop: loop.start - loop.end)  # longer ones first
        return {site: loop for loop in loops for site in self._by_loop[loop]}.get

    def loops_around(self, sites: Iterable[Site]) -> list[Loop]:
        """Returns the innermost loops in which these stand, each once."""
        return list(dict.fromkeys(loop for site in sites if (loop := self.innermost_loop(site))))

    def innermost_loops(self) -> Iterator[list[Site]]:
        """Yields the instructions of each loop that contains no other."""
        for loops in self.loops.values():
            yield from (self.inside(loop) for loop in loops if not loops_within(loop, loops))

    @cached_property
    def by_function(self) -> dict[int, list[Site]]:
        functions: dict[int, list[Site]] = {}
        for site in self.sites:
            functions.setdefault(site.function, []).append(site)
        return functions

    @cached_property
    def _by_loop(self) -> dict[Loop, list[Site]]:
        found = {}
        for number, loops in self.loops.items():
            sites, offsets = self.by_function.get(number, []), self._offsets.get(number, [])
            for loop in loops:
                found[loop] = sites[bisect_left(offsets, loop.start) : bisect_right(offsets, loop.end)]
        return found

    @cached_property
    def _offsets(self) -> dict[int, list[int]]:
        return {
            number: [site.instruction.offset for site in sites] for number, sites in self.by_function.items()
        }

    @cached_property
    def executed_with_lanes(self) -> dict[int, dict[float, dict[Loop | None, float]]]:
        """Holds by function, average number of lanes and innermost loop how often the most executed instruction ran.

        BSYNC, where the sides of a branch meet, does not count: each part of a split warp executes it, even the part that the branch
        sends straight to it.
        """
        found: dict[int, dict[float, dict[Loop | None, float]]] = {}
        for site in self.sites:
            of_function = found.setdefault(site.function, {})
            if site.lanes is not None and site.instruction.name != "BSYNC":
                of_loops, loop = of_function.setdefault(site.lanes, {}), self.innermost_loop(site)
                of_loops[loop] = max(site.executed, of_loops.get(loop, 0.0))
        return found

    def inside(self, loop: Loop) -> list[Site]:
        """Returns the instructions of a loop that ran."""
        return self._by_loop[loop]

    def around(self, site: Site) -> list[Site]:
        """Returns the instructions of the innermost loop around a site, or of its function."""
        loop = self.innermost_loop(site)
        return self.by_function[site.function] if loop is None else self._by_loop[loop]

    def last_before(self, function: int, loop: Loop) -> Site | None:
        """Returns the last instruction that ran before the loop."""
        count = bisect_left(self._offsets[function], loop.start)
        return self.by_function[function][count - 1] if count else None

    @cached_property
    def _places(self) -> dict[Site, int]:
        return {site: place for sites in self.by_function.values() for place, site in enumerate(sites)}

    def place(self, site: Site, among: Sequence[Site]) -> int:
        """Returns the index of an instruction among those of its function, or of a loop, that ran."""
        return self._places[site] - self._places[among[0]]

    def turns(self, site: Site, loop: Loop) -> float:
        """Returns how often an instruction of a loop runs each time that the loop is entered."""
        before = self.last_before(site.function, loop)
        return site.executed / before.executed if before else 1.0

    def goes_back(self, loop: Loop) -> bool:
        """Returns whether a loop has more iterations than entries, judged by the instruction before it."""
        inside = self.inside(loop)
        before = self.last_before(inside[0].function, loop) if inside else None
        return bool(inside) and (before is None or inside[0].executed > before.executed)

    def of(self, *kinds: Kind) -> list[Site]:
        if kinds not in self._by_kinds:
            some = not self._kinds.isdisjoint(kinds)
            self._by_kinds[kinds] = [site for site in self.sites if site.kind in kinds] if some else []
        return self._by_kinds[kinds]

    @cached_property
    def _kinds(self) -> set[Kind]:
        return {site.kind for site in self.sites}

    def weigh(self, sites: Iterable[Site]) -> dict[Site, float]:
        """Returns how long warps wait for each of these; or, if they wait for none of them, how often each ran."""
        executed = {site: site.executed for site in sites}
        waiting = {site: self.charged[site].total for site in executed}
        return waiting if any(waiting.values()) else executed

    def share_executed(self, sites: Iterable[Site]) -> float:
        """Returns the part of the executed instructions that these are, each counted once: loops may be nested."""
        counted = dict.fromkeys(sites)
        return sum(site.executed for site in counted) / self.executed if self.executed else 0.0

    def waiting_for(self, fractions: Mapping[Site, float], *reasons: str) -> dict[str, float]:
        """Returns the part of the waiting for each reason that goes away if sites cause less of it by these fractions."""
        if self.retried:
            fractions = {site: part for site, part in fractions.items() if site not in self.retried}
        waits = ((reason, self._waits.get(reason, {})) for reason in reasons or self._waits)
        return {
            reason: sum([part * of[site] for site, part in fractions.items() if site in of]) / total
            for reason, of in waits
            if (total := self.waits_by_reason[reason])
        }

    def time_of(self, sites: Iterable[Site], *reasons: str) -> float:
        """Returns the part of the warps' time in which they wait for these sites."""
        waits = self.waiting_for(dict.fromkeys(sites, 1.0), *reasons)
        return sum(self.model.life_share(reason) * part for reason, part in waits.items())

    def without(self, fractions: Mapping[Site, float]) -> Effect:
        """Returns the effect of no longer executing these parts of the sites, except for sites that are retried until others are done."""
        fractions = {site: part for site, part in fractions.items() if site not in self.retried}
        used = use_of_units(fractions)
        resources = {unit: used.get(unit, 0.0) / whole for unit, whole in self._units.items() if whole}
        resources["l1"] = self.part_of_l1(fractions)
        resources["l2"] = self.part_of_l2(fractions)
        return Effect(resources, self.waiting_for(fractions))

    def without_idle_lanes(self) -> Mapping[str, float]:
        """Returns the part of each unit's work that would go away if lanes that idle took over the work of other warps.

        An instruction costs as much however few lanes of the warp execute it. If a predicate turns lanes off, it is executed anyway.
        """
        idle = {site: 1 - site.lanes / LANES for site in self.sites if site.lanes is not None}
        used = use_of_units(idle)
        return {unit: used.get(unit, 0.0) / whole for unit, whole in self._units.items() if whole}

    def part_of_l1(self, fractions: Mapping[Site, float]) -> float:
        """Returns the part of L1's work that goes with these parts of the sites: passes of shared memory, lookups of the rest."""
        shared = self.shared_of_l1
        of_passes, of_lookups = (part_of(work, fractions) for work in (self._passes, self._cycles_in_l1))
        return shared * of_passes + (1.0 - shared) * of_lookups

    @property
    def shared_of_l1(self) -> float:
        """Returns the part of L1's work that is shared memory's.

        The counter of passes counts some for stores to global memory, too: without an access to shared memory, all work is lookups.
        """
        has_shared = self._passes or not self.has_costs
        return min(1.0, self.figures.get("shared_of_l1_pct", 0.0) / 100) if has_shared else 0.0

    @cached_property
    def _cycles_in_l1(self) -> dict[Site, float]:
        """Holds by access for how many cycles it keeps L1 busy: lanes that come one by one take one each.

        In nine of ten kernels on an H200 where nearly all lanes do so, the sum is 90 to 109 % of the measured load of L1. Without these
        cycles, it is 59 % at most.
        """
        meeting = self._of_meeting_lanes
        return only_some({site: count_cycles_in_l1(site) + meeting.get(site, 0.0) for site in self.sites})

    def added_in_l2(self, sites: Iterable[Site]) -> float:
        """Returns by which part L2's work grows if L1 no longer holds anything for these loads."""
        held = sum((site.sectors or 0.0) - self._arriving.get(site, 0.0) for site in sites)
        return held / whole if (whole := sum(self._arriving.values())) else 0.0

    def part_of_l2(self, fractions: Mapping[Site, float]) -> float:
        """Returns which part these fractions are of the sectors that reach L2. Loads that hit L1 do not reach it."""
        return part_of(self._arriving, fractions)

    @cached_property
    def _arriving(self) -> dict[Site, float]:
        """Holds by instruction the sectors that reach L2. Copies of any size are not counted: they get what the others leave."""
        arriving = {
            site: (site.sectors or 0.0) * (self.missing_l1 if site.kind in _LOOKED_UP else 1.0)
            + self._of_meeting_lanes.get(site, 0.0)
            for site in self.sites
        }
        copies = {
            site: site.lane_executions for site in self.sites if site.instruction.name in SIZE_IS_UNKNOWN
        }
        left = max(0.0, self.figures.get("l2_sectors", 0.0) - sum(arriving.values()))
        all_copies = sum(copies.values()) or 1.0
        return only_some(arriving | {site: left * count / all_copies for site, count in copies.items()})

    @cached_property
    def _of_meeting_lanes(self) -> dict[Site, float]:
        """Holds by atomic the sectors that it requests beyond those that it touches: lanes with one address come to L1 and L2 one by one.

        Nothing else requests more sectors of L2 than accesses touch and L1 does not hold. Each of these requests counts as a miss of L1.
        """
        atomics, hit = self.of("atomic"), self.figures.get("l1_hit_pct", 0.0) / 100
        more = {
            site: site.lane_executions - site.sectors
            for site in atomics
            if site.sectors and site.bytes_of_lanes > SECTOR_BYTES * site.sectors
        }
        held = hit * (self._looked_up + sum(site.sectors or 0.0 for site in atomics))
        beyond = max(0.0, self.figures.get("l2_sectors", 0.0) - (self.sectors - held))
        part = min(1.0, beyond / missing) if (missing := (1 - hit) * sum(more.values())) else 0.0
        return {site: part * sectors for site, sectors in more.items()}

    @cached_property
    def missing_l1(self) -> float:
        """Returns the part of the loaded sectors that L1 requests from L2. All stored sectors reach L2 as well."""
        arrived = self.figures.get("l2_sectors")
        if not self._looked_up or arrived is None:
            return 1.0
        others = self.sectors - self._looked_up + sum(self._of_meeting_lanes.values())
        return min(1.0, max(0.0, arrived - others) / self._looked_up)

    @cached_property
    def _looked_up(self) -> float:
        """Returns the sectors that L1 looks up."""
        return sum(site.sectors or 0.0 for site in self.sites if site.kind in _LOOKED_UP)

    @cached_property
    def sectors(self) -> float:
        return sum(site.sectors or 0.0 for site in self.sites)

    def excess_beyond_l1(self, site: Site) -> float:
        """Returns how many unused sectors of an access reach L2: of a store all, and of a load those that L1 does not hold."""
        return site.excess_sectors * (self._excess_missing_l1 if site.kind in _LOOKED_UP else 1.0)

    @cached_property
    def _excess_missing_l1(self) -> float:
        """Returns the part of the unused sectors of loads that L1 had to request from L2; it held the rest, because other accesses use them."""
        excess = sum(site.excess_sectors for site in self.sites if site.kind in _LOOKED_UP)
        arrived = self.figures.get("l2_sectors")
        if not excess or arrived is None:
            return 1.0
        # With all that is stored, and what atomics request one lane after another.
        needed = self.sectors - excess + sum(self._of_meeting_lanes.values())
        return min(1.0, max(0.0, arrived - needed) / excess)

    @cached_property
    def excess_sectors(self) -> float:
        return sum(site.excess_sectors for site in self.sites)

    @cached_property
    def _passes(self) -> dict[Site, float]:
        """Holds by instruction how many passes of shared memory it made. A shuffle makes one, which ncu counts only in the total."""
        shuffles = ("SHFL",) if self.has_costs else ()
        return only_some(
            {
                site: site.executed if site.instruction.name in shuffles else site.passes or 0.0
                for site in self.sites
            }
        )

    @cached_property
    def _units(self) -> dict[str, float]:
        return use_of_units(dict.fromkeys(self.sites, 1.0))


def gather(profile: Profile) -> Evidence:
    """Returns the evidence on the launches of the shape that takes most of the time."""
    main = of_main_shape(profile)
    figures = derive_figures(main)
    sites = tuple(read_sites(main))
    has_costs = any(site.passes is not None or site.sectors is not None for site in sites)
    if not has_costs:
        estimate_costs(sites, figures)
        estimate_lanes(sites, figures.get("threads_per_inst"))
    figures |= hits_of_loads_in_l2(figures, sites)
    figures |= hits_of_waits(figures, sites)
    stalls = share_stalls(figures, sites)
    contended = are_atomics_contended(main, figures, sites)
    charged = charge_waits(main, sites, stalls, contended)
    return Evidence(
        profile=main,
        figures=figures,
        sites=sites,
        charged=charged,
        model=model_time(main, figures, sites, stalls, charged, contended),
        has_samples=any(site.waits for site in sites),
        has_costs=has_costs,
        atomics_are_contended=contended,
        wasted_dram=wasted_dram(figures, sum(site.ideal_sectors or 0.0 for site in sites)),
    )
