"""Gathers what is known of one kernel for a diagnosis: its figures, its instructions, and where its time went.

A `Profile` in, an `Evidence` out. Of launches that differ in shape, those of the shape that takes most of the time
count, because a mean over large and small launches describes neither.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from profiler.analyse.causes.evidence.blame import Waits
from profiler.analyse.causes.evidence.charging import charge_waits
from profiler.analyse.causes.evidence.sites import GLOBAL, SHARED, Kind, Site, read_sites
from profiler.analyse.causes.evidence.time_model import NO_WARP, REACHABLE, Effect, TimeModel
from profiler.analyse.causes.evidence.time_shares import derive_figures
from profiler.analyse.code.loops import Loop, find_loops
from profiler.analyse.recording.launch_shapes import SHAPE_COLUMNS, LaunchShape
from profiler.analyse.recording.profile import Profile, profile_kernel

# Lanes of an SM for double precision, by compute capability; consumer GPUs have two (CUDA C++ Programming Guide,
# "Arithmetic Instructions", results per clock cycle and SM).
_FP64_LANES = {"6.0": 32, "7.0": 32, "8.0": 32, "9.0": 64, "10.0": 64}
_FP64_LANES_OTHERWISE = 2
_SPECIAL_LANES = 16
_WARP = 32
_SECTOR_BITS = 256
# L1 looks up one line of four sectors a cycle; the widest contiguous access of a warp, 16 bytes a lane, is four lines.
_SECTORS_A_CYCLE = 4.0
_COALESCED_CYCLES = 4.0
_MOSTLY_SHARED = 50.0

_ALU_ON_FMA = ("IMAD", "UIMAD", "IMUL")


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
    def waits_by_reason(self) -> Waits:
        total = Waits()
        for waits in self.charged.values():
            for reason, waiting in waits.items():
                total[reason] += waiting
        return total

    @cached_property
    def executed(self) -> float:
        return sum(site.executed for site in self.sites)

    @cached_property
    def loops(self) -> dict[int, list[Loop]]:
        code = self.profile.code
        return (
            {number: find_loops(function) for number, function in enumerate(code.functions)} if code else {}
        )

    @cached_property
    def _innermost(self) -> dict[Site, Loop]:
        loops = sorted(self._by_loop, key=lambda loop: loop.start - loop.end)  # longer ones first
        return {site: loop for loop in loops for site in self._by_loop[loop]}

    def innermost_loop(self, site: Site) -> Loop | None:
        return self._innermost.get(site)

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
            sites = self.by_function.get(number, [])
            offsets = [site.instruction.offset for site in sites]
            for loop in loops:
                found[loop] = sites[bisect_left(offsets, loop.start) : bisect_right(offsets, loop.end)]
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
        sites = self.by_function[function]
        count = bisect_left(sites, loop.start, key=lambda site: site.instruction.offset)
        return sites[count - 1] if count else None

    def of(self, *kinds: Kind) -> list[Site]:
        return [site for site in self.sites if site.kind in kinds]

    def share_executed(self, sites: Iterable[Site]) -> float:
        return sum(site.executed for site in sites) / self.executed if self.executed else 0.0

    def waiting_for(self, fractions: Mapping[Site, float], *reasons: str) -> dict[str, float]:
        """Returns what part of the waiting for each reason goes if these parts of what the sites cause do."""
        total = self.waits_by_reason
        wanted = reasons or tuple(total)
        return {
            reason: sum(part * self.charged[site][reason] for site, part in fractions.items()) / total[reason]
            for reason in wanted
            if total[reason]
        }

    def time_of(self, fractions: Mapping[Site, float], *reasons: str) -> float:
        """Returns the share of the kernel's time in which it waits for these parts of the sites."""
        waits = self.waiting_for(fractions, *reasons)
        return sum(self.model.wait_share(reason) * part for reason, part in waits.items())

    def without(self, fractions: Mapping[Site, float]) -> Effect:
        """Returns the effect of executing these parts of the sites no more."""
        return Effect(
            resources={
                "issue": self._part(fractions, lambda site: site.executed),
                "fma": self._part(fractions, lambda site: site.executed * _on_fma(site)),
                "alu": self._part(fractions, lambda site: site.executed * _on_alu(site)),
                "lsu": self._part(fractions, lambda site: site.executed * _on_lsu(site)),
                "fp64": self._part(fractions, lambda site: site.executed * (site.kind == "fp64")),
                "xu": self._part(
                    fractions, lambda site: site.executed * (site.kind in ("special", "conversion"))
                ),
                "tensor": self._part(fractions, lambda site: site.executed * (site.kind == "tensor")),
                "l1": self.part_of_l1(fractions),
                "l2": self._part(fractions, lambda site: site.sectors or 0.0),
            },
            waits=self.waiting_for(fractions),
        )

    def part_of_l1(self, fractions: Mapping[Site, float]) -> float:
        """Returns the part of L1's work that goes with these parts of the sites: passes of shared memory, sectors of the rest."""
        shared = min(1.0, self.figures.get("shared_of_l1_pct", 0.0) / 100)
        of_passes = self._part(fractions, lambda site: site.passes or 0.0)
        of_sectors = self._part(fractions, lambda site: site.sectors or 0.0)
        return shared * of_passes + (1.0 - shared) * of_sectors

    def _part(self, fractions: Mapping[Site, float], weight: Callable[[Site], float]) -> float:
        total = sum(map(weight, self.sites))
        return sum(part * weight(site) for site, part in fractions.items()) / total if total else 0.0


def gather(profile: Profile) -> Evidence:
    """Returns the evidence on the launches of the shape that takes most of the time."""
    main = _of_main_shape(profile)
    figures = derive_figures(main)
    counted = read_sites(main)
    sites = tuple(_estimated(counted, figures))
    stalls = _stall_shares(figures, sites)
    charged = charge_waits(main, sites, figures, stalls)
    return Evidence(
        profile=main,
        figures=figures,
        sites=sites,
        charged=charged,
        model=TimeModel(
            _busy(main, figures, sites), _waits(figures, stalls), {"dram": _wasted_dram(figures, sites)}
        ),
        has_samples=any(site.waits for site in sites),
        has_costs=_has_costs(counted),
    )


def _estimated(sites: Sequence[Site], figures: Mapping[str, float]) -> Sequence[Site]:
    """Returns the sites with estimates from the kernel's totals, where passes and sectors were not counted for each."""
    if _has_costs(sites):
        return sites
    weights: Counter[str] = Counter()
    for site in sites:
        weights[site.kind] += site.executed * site.width  # type: ignore[assignment]
    per_access = (
        figures.get("l1_cycles_per_access", 0.0)
        if figures.get("shared_of_l1_pct", 0.0) < _MOSTLY_SHARED
        else 0.0
    )
    return [_with_sectors(_with_passes(site, weights, figures), per_access) for site in sites]


def _has_costs(sites: Iterable[Site]) -> bool:
    return any(site.passes is not None or site.sectors is not None for site in sites)


def _with_passes(site: Site, weights: Mapping[str, float], figures: Mapping[str, float]) -> Site:
    """Divides the passes of all shared loads, or of all stores, among them by how often they ran and how wide they are."""
    kind = {"shared load": "load", "shared store": "store"}.get(site.kind)
    total = figures.get(f"shared_{kind}_wavefronts", 0.0)
    if kind is None or not total:
        return site
    part = site.executed * site.width / weights[site.kind]
    wasted = figures.get(f"shared_{kind}_conflicts", 0.0) / total
    return replace(site, passes=total * part, ideal_passes=total * part * (1 - wasted))


def _with_sectors(site: Site, cycles_per_access: float) -> Site:
    """Takes accesses for contiguous, unless L1 needs more cycles for each than the widest contiguous access does."""
    if site.kind not in ("global load", "global store") or not site.width:
        return site
    ideal = site.executed * _WARP * site.width / _SECTOR_BITS
    most = _SECTOR_BITS / site.width  # a sector of its own for each lane
    spread = min(most, max(1.0, cycles_per_access * _SECTORS_A_CYCLE / (_WARP * site.width / _SECTOR_BITS)))
    return replace(
        site, sectors=ideal * (spread if cycles_per_access > _COALESCED_CYCLES else 1.0), ideal_sectors=ideal
    )


def _of_main_shape(profile: Profile) -> Profile:
    if len(profile.shapes) < 2 or profile.run is None:
        return profile
    launches = profile.run.table("launches").select(["launch", *SHAPE_COLUMNS]).to_pylist()
    shape_of = {row["launch"]: tuple(row[name] for name in SHAPE_COLUMNS) for row in launches}
    times = _durations(profile)
    total: Counter[tuple[object, ...]] = Counter()
    for launch in profile.numbers:
        total[shape_of[launch]] += times.get(launch, 1.0)  # type: ignore[assignment]
    ((longest, _),) = total.most_common(1)
    chosen = [launch for launch in profile.numbers if shape_of[launch] == longest]
    return profile_kernel(profile.run, profile.kernel, among=chosen)


def _durations(profile: Profile) -> dict[int, float]:
    assert profile.run is not None
    table = profile.run.table("metrics").select(["launch", "metric", "value"]).to_pylist()
    return {
        row["launch"]: row["value"]
        for row in table
        if row["metric"] == "gpu__time_duration.sum" and row["value"]
    }


def _busy(profile: Profile, figures: Mapping[str, float], sites: Sequence[Site]) -> dict[str, float]:
    """Returns the share of the time that each resource needs at the rate within reach."""
    names = {"dram": "dram_throughput_pct", "l1": "l1_pct", "lsu": "lsu_pipe_pct", "issue": "issue_active_pct",
             "fma": "fma_pipe_pct", "alu": "alu_pipe_pct", "tensor": "tensor_pipe_pct"}  # fmt: skip
    busy = {
        resource: figures[name] / 100 / REACHABLE.get(resource, 1.0)
        for resource, name in names.items()
        if name in figures
    }
    if "l2_throughput_pct" in figures:
        # It also counts an activity of L2 that no other counter shows; the busiest of all memory units is not exceeded.
        units = [figures[name] for name in ("mem_busy_pct", "max_bandwidth_pct") if name in figures]
        busy["l2"] = min([figures["l2_throughput_pct"], *([max(units)] if units else [])]) / 100
    cycles, sms = profile.find("sm__cycles_elapsed.max"), profile.find("launch__sm_count")
    if sites and cycles and sms and cycles.mean and sms.mean:
        for resource, kinds, lanes in (
            ("fp64", ("fp64",), _fp64_lanes(profile)),
            ("xu", ("special", "conversion"), _SPECIAL_LANES),
        ):
            executed = sum(site.executed for site in sites if site.kind in kinds and _is_slow(site))
            busy[resource] = executed * _WARP / lanes / (cycles.mean * sms.mean)
    return {resource: min(1.0, share) for resource, share in busy.items()}


def _wasted_dram(figures: Mapping[str, float], sites: Iterable[Site]) -> float:
    """Returns the part of device memory's traffic beyond what all accesses need, had each its own trip to it."""
    moved = figures.get("dram_bytes_read", 0.0) + figures.get("dram_bytes_written", 0.0)
    needed = sum((site.ideal_sectors or 0.0) * _SECTOR_BITS / 8 for site in sites)
    return max(0.0, 1.0 - needed / moved) if moved and needed else 0.0


def _is_slow(site: Site) -> bool:
    """Returns whether a conversion runs on the special-function unit: those that pack or stay within integers do not."""
    return not site.opcode.startswith(("F2FP", "F2IP", "I2FP", "I2I"))


def _fp64_lanes(profile: Profile) -> int:
    assert profile.run is not None
    rows = profile.run.table("launches").select(["launch", "compute_capability"]).to_pylist()
    capability = next((row["compute_capability"] for row in rows if row["launch"] in profile.numbers), None)
    return _FP64_LANES.get(capability or "", _FP64_LANES_OTHERWISE)


def _stall_shares(figures: Mapping[str, float], sites: Iterable[Site]) -> dict[str, float]:
    """Returns how waiting warps divide among the reasons: from the counters, or else from the samples."""
    stalls = {
        name.removeprefix("stall_"): value
        for name, value in figures.items()
        if name.startswith("stall_") and name not in ("stall_selected", "stall_not_selected")
    }
    if not any(stalls.values()):
        sampled: Counter[str] = Counter()
        for site in sites:
            sampled.update(site.waits)
        stalls = {reason: float(count) for reason, count in sampled.items()}
    total = sum(stalls.values())
    return {reason: value / total for reason, value in stalls.items()} if total else {}


def _waits(figures: Mapping[str, float], stalls: Mapping[str, float]) -> dict[str, float]:
    stalled, empty = figures.get("stalled_pct", 100.0), max(0.0, figures.get("empty_pct", 0.0))
    idle = stalled + empty
    if idle <= 0:
        return {}
    return {NO_WARP: empty / idle} | {reason: share * stalled / idle for reason, share in stalls.items()}


def _on_fma(site: Site) -> bool:
    return site.kind == "fp32" or site.instruction.name in _ALU_ON_FMA


def _on_alu(site: Site) -> bool:
    return site.kind == "integer" and site.instruction.name not in _ALU_ON_FMA


def _on_lsu(site: Site) -> bool:
    return site.kind in (*GLOBAL, *SHARED)
