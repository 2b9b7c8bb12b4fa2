"""Builds the model of a kernel's time from its recording: loads, waiting, latencies, and the slots for warps."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from profiler.analyse.causes.evidence.blame import Waits
from profiler.analyse.causes.evidence.charging import SPECIAL_LANES, count_waits
from profiler.analyse.causes.evidence.latency import (
    DRAM_CYCLES,
    L1_CYCLES,
    L2_CYCLES,
    SCHEDULERS,
    SHARED_CYCLES,
    UNNAMED,
    WarpSlots,
)
from profiler.analyse.causes.evidence.sites import FP64_LANES, Kind, Site
from profiler.analyse.causes.evidence.tensor_work import avoidable_part
from profiler.analyse.causes.evidence.time_model import (
    NO_WARP,
    START_NS,
    AtWork,
    TimeModel,
    reachable_of_dram,
    reachable_of_l2,
)
from profiler.analyse.recording.profile import Profile
from profiler.catalog.metrics import DURATION, LANES, SECTOR_BYTES

_FP64_LANES_OTHERWISE = 2  # of GPUs for games
_ON_TENSOR_PIPE = ".MMA"  # the end of the opcode if a product of halves goes there
# Lanes for multiplications of integers, by the first number of the capability, from the table of `FP64_LANES`.
_INTEGER_LANES = {"7": 64, "8": 64, "9": 64}
# The figure for each resource that says how much of its peak is used.
USED = {
    "dram": "dram_throughput_pct", "l2": "l2_pct", "l1": "l1_pct", "lsu": "lsu_pipe_pct", "issue": "issue_active_pct",
    "fma": "fma_pipe_pct", "alu": "alu_pipe_pct", "fp64": "fp64_pipe_pct", "xu": "xu_pipe_pct", "tensor": "tensor_pipe_pct",
}  # fmt: skip
_LOADS_IN_L2 = "l2_hits_of_loads_pct"
_WAITS_IN_L1, _WAITS_IN_CACHES = "waits_in_l1_pct", "waits_in_caches_pct"
_WAITED_FOR: Mapping[str, tuple[Kind, ...]] = {
    "long_scoreboard": ("global load", "local", "atomic"),
    "short_scoreboard": ("shared load", "shared atomic", "special", "mio"),
}
# As the kernels in tests/data/causes whose blocks end soonest show on an H100 and an H200: a slot is empty for at least 260 to 300
# cycles until the next block runs in it, and the GPU launches at most 0.81 to 0.84 blocks a cycle, however small they are.
_REFILL_CYCLES = 300.0
_BLOCKS_A_CYCLE = 0.84
# With two rounds of blocks or more, the blocks of one round could do the work of another, and every SM would still have its blocks. With
# fewer, slots are empty at the end of the launch more than between two blocks.
SOME_WAVES = 2.0


def model_time(
    profile: Profile,
    figures: Mapping[str, float],
    sites: Sequence[Site],
    stalls: Mapping[str, float],
    charged: Mapping[Site, Waits],
    contended: bool = False,
) -> TimeModel:
    """Returns the model of the time of a kernel.

    `stalls` gives the share of the waiting warps for each reason, `charged` the waiting that each instruction causes, and
    `contended` says whether `are_atomics_contended`.
    """
    latency = figures.get("warp_latency", 0.0)
    issuing, ready = (
        min(1.0, figures.get(name, 0.0) / latency) if latency else 0.0
        for name in ("stall_selected", "stall_not_selected")
    )
    capability = profile.compute_capability
    return TimeModel(
        _busy(figures, sites, capability),
        _waits(figures, stalls),
        find_avoidable(figures, sites, capability),
        issuing,
        min(ready, 1.0 - issuing),
        min(1.0, START_NS / figures[DURATION]) if figures.get(DURATION) else 0.0,
        _warp_slots(profile, figures, sites, charged, contended),
        _at_work(profile, figures),
    )


def _busy(figures: Mapping[str, float], sites: Sequence[Site], capability: str | None) -> dict[str, float]:
    """Returns the share of the time that each resource needs at the rate within reach."""
    busy = {resource: figures[name] / 100 for resource, name in USED.items() if name in figures}
    if "dram" in busy:
        busy["dram"] /= reachable_of_dram(
            figures.get("dram_bytes_read", 0.0), figures.get("dram_bytes_written", 0.0)
        )
    if "l2" in busy:
        busy["l2"] /= reachable_of_l2(busy["l2"], busy.get("dram", 0.0))
    if sites and (cycles := figures.get("sm_cycles")):
        for resource, lanes in _lanes(capability).items():
            executed = sum(site.executed * site.units.count(resource) for site in sites)
            busy[resource] = executed * LANES / lanes / cycles
    return {resource: min(1.0, share) for resource, share in busy.items()}


def _lanes(capability: str | None) -> dict[str, int]:
    """Returns how many lanes an SM has of each unit whose load follows from the executed instructions, as far as they are known."""
    known = capability or ""
    lanes = {"fp64": FP64_LANES.get(known, _FP64_LANES_OTHERWISE), "xu": SPECIAL_LANES}
    integers = _INTEGER_LANES.get(known.partition(".")[0])
    return lanes | ({"fma_heavy": integers} if integers else {})


def wasted_dram(figures: Mapping[str, float], needed: float) -> float:
    """Returns the part of device memory's traffic beyond these sectors."""
    moved = figures.get("dram_bytes_read", 0.0) + figures.get("dram_bytes_written", 0.0)
    return max(0.0, 1.0 - needed * SECTOR_BYTES / moved) if moved and needed else 0.0


def find_avoidable(
    figures: Mapping[str, float], sites: Sequence[Site], capability: str | None
) -> dict[str, float]:
    """Returns the work that a bound must not count.

    In device memory, that is the traffic that accesses to the same data may share after a change. In the caches, it is the
    sectors that no lane uses: a change that gives the work to other blocks also decides anew which lanes are neighbours. In the
    FMA pipe, it is the multiplications of integers and the moves, which compute addresses. In the tensor pipe, it is the time
    that `mma.sync` takes longer than `wgmma`, which compilers choose for larger tiles and more warps; and all of it where nothing is
    multiplied there, because compilers move constants through that pipe, too.
    """
    loads = max((site.ideal_sectors or 0.0 for site in sites if site.kind != "global store"), default=0.0)
    stores = max((site.ideal_sectors or 0.0 for site in sites if site.kind == "global store"), default=0.0)
    touched = sum(site.sectors or 0.0 for site in sites)
    unused = sum(site.excess_sectors for site in sites) / touched if touched else 0.0
    beside_shared = 1.0 - min(1.0, figures.get("shared_of_l1_pct", 0.0) / 100)
    on_fma = sum(site.executed * site.units.count("fma") for site in sites)
    tensor = [site for site in sites if site.kind == "tensor"]
    multiplies = tensor or any(_ON_TENSOR_PIPE in site.opcode and site.kind != "other" for site in sites)
    of_floats = sum(site.executed for site in sites if "fma" in site.units and site.kind == "fp32")
    return {
        "dram": wasted_dram(figures, loads + stores),
        "l2": unused,
        "l1": beside_shared * unused,
        "fma": 1.0 - of_floats / on_fma if on_fma else 0.0,
        "tensor": avoidable_part(tensor, capability) if multiplies or not sites else 1.0,
    }


def share_stalls(figures: Mapping[str, float], sites: Iterable[Site]) -> dict[str, float]:
    """Returns the share of the waiting warps for each reason, from the counters or else the samples; without either, all have one reason."""
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
    return {reason: value / total for reason, value in stalls.items()} if total else {UNNAMED: 1.0}


def _waits(figures: Mapping[str, float], stalls: Mapping[str, float]) -> dict[str, float]:
    stalled, empty = figures.get("stalled_pct", 100.0), max(0.0, figures.get("empty_pct", 0.0))
    idle = stalled + empty
    if idle <= 0:
        return {}
    return {NO_WARP: empty / idle} | {reason: share * stalled / idle for reason, share in stalls.items()}


def _warp_slots(
    profile: Profile,
    figures: Mapping[str, float],
    sites: Sequence[Site],
    charged: Mapping[Site, Waits],
    contended: bool,
) -> WarpSlots:
    empty, refilling = _turnover(profile, figures, sites)
    return WarpSlots(
        # A warp that waits for contended atomics is in no unit's queue.
        dict.fromkeys(_WAITED_FOR, 1.0) if contended else _unloaded(figures, sites),
        empty,
        refilling,
        _launching(profile, figures),
        _resident_warps(figures),
        # Contended atomics are served one after the other, so some warps wait for them longer than others.
        dict.fromkeys(_WAITED_FOR, 1.0) if contended else _waiting_of_some(sites, charged),
    )


def _at_work(profile: Profile, figures: Mapping[str, float]) -> AtWork:
    """Returns in which part of the time SMs have a warp; all of it if that is not recorded. An SM without any block is not at work."""
    mean, most = (profile.find(f"l1tex__cycles_active.{which}") for which in ("avg", "max"))
    if not (mean and most and mean.mean and figures.get("cycles")):
        return AtWork()
    blocks, sms = (profile.shapes[0].blocks if profile.shapes else math.inf), figures.get("sms", 1.0)
    with_a_block = min(1.0, blocks / sms)
    return AtWork(min(1.0, mean.mean / figures["cycles"]), min(1.0, mean.mean / (most.mean * with_a_block)))


def _resident_warps(figures: Mapping[str, float]) -> float:
    """Returns how many warps an SM holds: as counted, or else as many as its limits allow."""
    counted = SCHEDULERS * figures.get("active_warps", 0.0)
    held = figures.get("warps_of_sm", WarpSlots.warps)
    return max(1.0, counted or held * figures.get("occupancy_limit_pct", 100.0) / 100)


def _waiting_of_some(sites: Sequence[Site], charged: Mapping[Site, Waits]) -> dict[str, float]:
    """Returns the part of the waiting for each reason that only some warps of a block do before a barrier.

    They wait at instructions that fewer warps execute than the barrier behind them, such as those of the first thread.
    """
    some, total = Waits(), Waits()
    before: list[Site] = []
    for site in sites:
        if before and before[-1].function != site.function:
            before = []
        if site.kind == "barrier":
            for one in before:
                if one.executed < site.executed:
                    others = 1.0 - one.executed / site.executed
                    for reason, waiting in charged[one].items():
                        some[reason] += others * waiting
            before = []
        else:
            before.append(site)
    for site in sites if some else ():
        for reason, waiting in charged[site].items():
            total[reason] += waiting
    return {reason: waiting / total[reason] for reason, waiting in some.items() if waiting}


def _launching(profile: Profile, figures: Mapping[str, float]) -> float:
    """Returns how busy the GPU is with launching blocks."""
    cycles = figures.get("cycles")
    if not profile.shapes or not cycles:
        return 0.0
    return min(1.0, profile.shapes[0].blocks / cycles / _BLOCKS_A_CYCLE)


def _turnover(profile: Profile, figures: Mapping[str, float], sites: Iterable[Site]) -> tuple[float, float]:
    """Returns the part of the time for which a slot for a warp is empty, and the least part that filling it takes."""
    occupancy, limit, waves, latency = (
        figures.get(name, 0.0) for name in ("occupancy_pct", "occupancy_limit_pct", "waves", "warp_latency")
    )
    if not (profile.shapes and occupancy and limit and latency) or waves < SOME_WAVES:
        return 0.0, 0.0
    life = latency * sum(site.executed for site in sites) / profile.shapes[0].warps
    empty = min(1.0, max(0.0, 1.0 - occupancy / limit))
    return empty, min(empty, _REFILL_CYCLES * (1.0 - empty) / life) if life else 0.0


def hits_of_loads_in_l2(figures: Mapping[str, float], sites: Iterable[Site]) -> dict[str, float]:
    """Returns the part of the loads' sectors that L2 holds; nothing where it is not known.

    The counter of hits counts stores, too, which all hit: L2 takes them without asking device memory. In copies of arrays that L2 cannot
    hold, half of the sectors hit, and no load does.
    """
    sectors, hits = figures.get("l2_sectors", 0.0), figures.get("l2_hit_pct")
    stored = sum(site.sectors or 0.0 for site in sites if site.kind == "global store")
    if hits is None or sectors <= stored:
        return {}
    return {_LOADS_IN_L2: 100 * max(0.0, hits / 100 * sectors - stored) / (sectors - stored)}


def hits_of_waits(figures: Mapping[str, float], sites: Sequence[Site]) -> dict[str, float]:
    """Returns the part of the waits for loads that hits in L1 end, and the part that hits in L1 or L2 end.

    A warp that waits for several lines waits for the slowest of them. Its wait is as short as for a hit only if all of them hit.
    """
    waits = count_waits(sites, "long_scoreboard", _WAITED_FOR["long_scoreboard"])
    total = sum(waits.values())
    return {
        name: 100 * sum(count * hit ** max(1, lines) for lines, count in waits.items()) / total
        for name, hit in zip((_WAITS_IN_L1, _WAITS_IN_CACHES), _hits(figures), strict=True)
        if total
    }


def _hits(figures: Mapping[str, float]) -> tuple[float, float]:
    """Returns the parts of the loaded sectors that L1 holds, and that L1 or L2 hold."""
    in_l2 = figures.get(_LOADS_IN_L2, figures.get("l2_hit_pct", 0.0))
    l1, l2 = (min(1.0, part / 100) for part in (figures.get("l1_hit_pct", 0.0), in_l2))
    return l1, l1 + (1 - l1) * l2


def _cycles_to_load(figures: Mapping[str, float]) -> tuple[float, float]:
    """Returns the mean latency of a wait for loads in two parts: of waits that a hit in L1 ends, and of all others."""
    in_l1, in_caches = _hits(figures)
    l1, caches = (
        figures.get(name, 100 * hit) / 100
        for name, hit in ((_WAITS_IN_L1, in_l1), (_WAITS_IN_CACHES, in_caches))
    )
    return l1 * L1_CYCLES, (caches - l1) * L2_CYCLES + (1 - caches) * DRAM_CYCLES


def latency_of_hits(figures: Mapping[str, float]) -> float:
    """Returns the part of the latency of all loads that is due to those that hit L1."""
    hits, misses = _cycles_to_load(figures)
    return hits / (hits + misses)


def _unloaded(figures: Mapping[str, float], sites: Sequence[Site]) -> dict[str, float]:
    """Returns the part of the waiting for results that is their latency in an idle GPU; the rest is queueing."""
    cycles = {"long_scoreboard": sum(_cycles_to_load(figures)), "short_scoreboard": SHARED_CYCLES}
    issued = sum(site.executed for site in sites)
    found = {}
    for reason, kinds in _WAITED_FOR.items():
        if waited := issued * figures.get(f"stall_{reason}", 0.0):
            waits = sum(count_waits(sites, reason, kinds).values())
            found[reason] = min(1.0, waits * cycles[reason] / waited)
    return found
