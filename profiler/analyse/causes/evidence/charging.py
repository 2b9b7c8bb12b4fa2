"""Charges the waiting of a kernel to the instructions that cause it.

Samples say at which instruction warps wait, and `blame.py` says what they wait for. Two corrections follow.
A warp that waits for a full queue waits for all instructions that fill it. Requests behind contended atomics wait for these.
Without samples, the waiting by reason is divided among the instructions that may cause it.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence

from profiler.analyse.causes.evidence.addresses import base_of, offset_of
from profiler.analyse.causes.evidence.blame import Waits, charge
from profiler.analyse.causes.evidence.estimates import SECTORS_A_CYCLE
from profiler.analyse.causes.evidence.latency import DRAM_CYCLES, L1_CYCLES
from profiler.analyse.causes.evidence.sites import ACCESSES, GLOBAL, TEXTURE_FETCHES, Kind, Site
from profiler.analyse.recording.profile import Profile
from profiler.catalog.metrics import LANES

_THROUGH_MIO: tuple[Kind, ...] = (
    "shared load",
    "shared store",
    "shared atomic",
    "special",
    "conversion",
    "mio",
)
# Which instructions a warp may be waiting for, where no samples say it.
_SUSPECTED: dict[str, tuple[Kind, ...]] = {
    "long_scoreboard": ("global load", "local", "atomic"),
    "lg_throttle": GLOBAL,
    "drain": ("global store", "atomic"),
    "short_scoreboard": ("shared load", "shared atomic", "special", "conversion", "mio"),
    "mio_throttle": _THROUGH_MIO,
    "barrier": ("barrier",),
    "membar": ("barrier",),
    "math_pipe_throttle": ("fp64", "fp32", "integer", "tensor"),
    "gmma": ("tensor",),
    "tex_throttle": ("global load",),
}
_PIPES = ("fma", "alu", "fp64", "tensor")
_FULL_PIPE = "math_pipe_throttle"
# Special functions of an SM in each cycle, and conversions on the same unit (CUDA C++ Programming Guide, "Arithmetic
# Instructions").
SPECIAL_LANES = 16
# An SM has four texture units, each of which serves a lane a cycle at best ("NVIDIA H100 Tensor Core GPU Architecture", figure of the SM).
# That is 8 cycles for a warp.
_CYCLES_OF_A_FETCH = 8.0
_COPY, _WAIT_FOR_COPIES, _COPIED = "LDGSTS", "DEPBAR", "global load"
_LINE_BYTES = 128  # of L1: loads of one line that are issued together hit or miss together
_LOADS: tuple[Kind, ...] = ("global load", "local")
_ENDS_OF_A_STRETCH = ("BRA", "BAR", "EXIT")
# Without the short scoreboard: it guards results of constants, functions and shared memory, and none of global memory.
_OF_REQUESTS = ("long_scoreboard", "lg_throttle", "mio_throttle", "drain")
_QUEUED = (*_OF_REQUESTS, "short_scoreboard")
# Cycles. Some kernels in tests/data/causes follow pointers or add up one value after the other. On an H200, while memory has
# little to do, each of their requests waits for 230 to 740, and those behind contended atomics for 43,000 and 370,000. Loads that
# are issued together wait once.
_LONGEST_LATENCY = 2_000.0
# Percent. While memory idles for half of the time, its queues are short (`time_model.py`), and a long wait has another reason.
_MEMORY_IS_BUSY = 50.0


def charge_waits(
    profile: Profile, sites: Sequence[Site], stalls: Mapping[str, float], contended: bool
) -> dict[Site, Waits]:
    """Returns the waiting that each instruction causes, by reason, in any unit.

    `stalls` gives the total of each reason, and `contended` says whether `are_atomics_contended`.
    """
    has_samples = any(site.waits for site in sites)
    charged = (
        charge(profile.code, sites) if has_samples and profile.code else {site: Waits() for site in sites}
    )
    # A warp that has ended and waits for its stores is counted, but never sampled at an instruction.
    sampled = {reason for waits in charged.values() for reason in waits}
    unseen = {reason: share for reason, share in stalls.items() if share and reason not in sampled}
    for site, waits in _suspected(sites, unseen).items():
        charged[site].update(waits)
    _share_queues(charged)
    _share_pipes(charged)
    if contended:
        _charge_atomics(charged)
    return charged


def _suspected(sites: Sequence[Site], stalls: Mapping[str, float]) -> dict[Site, dict[str, float]]:
    """Divides the waiting among the instructions that may cause it, by how often they ran: without samples, no more is known."""
    ran = {site: site.executed * _part_of_warps(site) for site in sites}
    executed: dict[str, float] = {}
    for site in sites:
        executed[site.kind] = executed.get(site.kind, 0.0) + ran[site]
    # The waiting for one execution, by kind and reason.
    each: dict[str, dict[str, float]] = {kind: {} for kind in executed}
    for reason, share in stalls.items():
        kinds = [
            kind for kind, count in executed.items() if count and kind in _SUSPECTED.get(reason, executed)
        ]
        total = sum(executed[kind] for kind in kinds)
        for kind in kinds:
            each[kind][reason] = share / total
    return {
        site: {reason: part * ran[site] for reason, part in reasons.items()}
        for site in sites
        if (reasons := each[site.kind])
    }


def _part_of_warps(site: Site) -> float:
    """Returns the largest part of the warps that can have an acting lane: if no lane of a warp acts, there is no request to wait for."""
    return 1.0 if site.acting is None or site.kind not in ACCESSES else min(1.0, site.acting)


def _share_queues(charged: Mapping[Site, Waits]) -> None:
    """Divides the waiting for a queue among the instructions that fill it: the sampled one only came too late."""
    of_memory = {site: _global_cost(site) for site in charged if site.kind in GLOBAL}
    written = {site: cost for site, cost in of_memory.items() if site.kind in ("global store", "atomic")}
    of_shared = {site: cost for site in charged if (cost := find_cost_in_queue(site))}
    share_queue(charged, "lg_throttle", of_memory)
    share_queue(charged, "drain", written)
    share_queue(charged, "mio_throttle", of_shared)


def share_queue(charged: Mapping[Site, Waits], reason: str, among: Mapping[Site, float]) -> None:
    """Divides all waiting for a reason among these instructions, by what each costs."""
    total, samples = sum(among.values()), sum(waits[reason] for waits in charged.values())
    if total and samples:
        for waits in charged.values():
            waits.pop(reason, None)
        for site, part in among.items():
            charged[site][reason] = samples * part / total


def _share_pipes(charged: Mapping[Site, Waits]) -> None:
    """Divides the waiting for a pipe among the instructions that fill it: the scheduler prefers older warps, so new ones wait at their first use."""
    for pipe in _PIPES:
        users = {site: site.executed * times for site in charged if (times := site.units.count(pipe))}
        executed, samples = sum(users.values()), sum(charged[site][_FULL_PIPE] for site in users)
        if samples:
            for site, part in users.items():
                charged[site][_FULL_PIPE] = samples * part / executed


def are_atomics_contended(profile: Profile, figures: Mapping[str, float], sites: Sequence[Site]) -> bool:
    """Returns whether warps wait for memory for longer than memory can take: then atomics of one address are served one after the other.

    Nothing else keeps a request for thousands of cycles while no unit of memory is busy. No warp waits for an atomic whose result is
    not asked for. The loads that queue behind it show how long it takes, except those that L1 answers.
    """
    loads = sum(count_waits(sites, "long_scoreboard", _LOADS).values())
    atomics, answered, stores = (
        sum(site.executed for site in sites if site.kind == kind and (not asked or site.use.written))
        for kind, asked in (("atomic", False), ("atomic", True), ("global store", False))
    )
    issued = profile.find("smsp__inst_issued.sum")
    # Of the units of memory, and of the links between them: L2 counts both.
    busiest = max(figures.get("mem_busy_pct", 100.0), figures.get("l2_pct", 0.0))
    if not atomics or not issued or busiest > _MEMORY_IS_BUSY:
        return False
    results = loads + answered
    # A hit in L1 may take as many times its latency as a load from device memory.
    hits = loads * _part_in_l1(figures, sites, loads)
    longest = _LONGEST_LATENCY * (results - hits * (1 - L1_CYCLES / DRAM_CYCLES))
    each = sum(figures.get(f"stall_{reason}", 0.0) for reason in _OF_REQUESTS) / (loads + atomics + stores)
    of_results = issued.mean * figures.get("stall_long_scoreboard", 0.0)
    return issued.mean * each >= _LONGEST_LATENCY or 0 < longest <= of_results


def _part_in_l1(figures: Mapping[str, float], sites: Sequence[Site], waits: float) -> float:
    """Returns the part of the waits for loads whose lines are all in L1; 0 while L1 is busy, since no wait is sure to be short then."""
    if not waits or figures.get("l1_pct", 100.0) > _MEMORY_IS_BUSY:
        return 0.0
    lines = sum(find_cost_in_queue(site) for site in sites if site.kind in _LOADS) / waits
    return math.pow(min(1.0, figures.get("l1_hit_pct", 0.0) / 100), max(1.0, lines))


def _charge_atomics(charged: Mapping[Site, Waits]) -> None:
    """Charges the waiting for memory to contended atomics: requests queue behind them."""
    atomics = {site: _global_cost(site) for site in charged if site.kind == "atomic"}
    total = sum(atomics.values())
    for reason in (*_QUEUED, "membar"):  # a fence waits until the atomics before it are done
        samples = sum(waits.pop(reason, 0) for waits in charged.values())
        for site, part in atomics.items():
            charged[site][reason] = samples * part / total


def _global_cost(site: Site) -> float:
    """Returns the cycles in L1, or the number of lanes for atomics, because lanes with one address are served one after the other."""
    if site.kind == "atomic":
        return site.lane_executions
    return find_cost_in_queue(site)


def find_cost_in_queue(site: Site) -> float:
    """Returns the cycles for which an access or a special function holds up the queue of shared memory; 0 for what does not pass it.

    The unit behind the queue takes a cycle for each pass, and two for 32 special functions. L1 looks up one line a cycle, and each
    sector that lies apart is in another line.
    """
    if "xu" in site.units:
        return site.executed * LANES / SPECIAL_LANES
    if site.kind in _THROUGH_MIO:
        return site.passes or site.executed
    if site.kind not in GLOBAL:
        return 0.0
    return max(site.executed, (site.ideal_sectors or 0.0) / SECTORS_A_CYCLE) + site.excess_sectors


def count_cycles_in_l1(site: Site) -> float:
    """Returns for how many cycles an access keeps L1 busy: at least one, even if all lanes load the same few sectors."""
    if site.instruction.name in TEXTURE_FETCHES:
        return site.executed * _CYCLES_OF_A_FETCH
    if site.kind in GLOBAL and site.sectors:
        return find_cost_in_queue(site)
    return (site.sectors or 0.0) / SECTORS_A_CYCLE


def count_waits(sites: Sequence[Site], reason: str, kinds: tuple[Kind, ...]) -> dict[int, float]:
    """Returns how often warps wait for results of these kinds, by the number of memory lines that are waited for together.

    A warp waits once for all that it requests before it waits or branches. Requests from before that wait make progress during it, so
    a later wait for one of them is not another one. For copies to shared memory, a warp waits at DEPBAR; between two copies, it only
    waits for a register to be free.
    """
    asked, waited_at = 0.0, -1
    requested: dict[str, int] = {}  # by register, the index of the request that writes it
    lines: set[object] = set()
    for_copies = [site for site in sites if site.instruction.name == _WAIT_FOR_COPIES]
    has_copies = any(site.instruction.name == _COPY for site in sites) and _COPIED in kinds
    waits = defaultdict(float, {1: sum(site.executed for site in for_copies) if has_copies else 0.0})
    for place, site in enumerate(sites):
        if for_copies and site.instruction.name == _COPY:
            continue
        if site.kind in kinds:
            asked = max(asked, site.executed)
            if site.use.written:  # an atomic may return nothing
                lines.add((base_of(site), offset_of(site) // _LINE_BYTES))
            requested |= dict.fromkeys(site.use.written, place)
            continue
        ends = site.instruction.name in _ENDS_OF_A_STRETCH
        if not ends and asked and site.waits.get(reason, 0):
            needed = [requested[name] for name in site.use.named if name in requested]
            if not needed or max(needed) > waited_at:
                ends, waited_at = True, place
        if ends:
            waits[len(lines)] += asked
            asked = 0.0
            lines.clear()
    waits[len(lines)] += asked
    return waits
