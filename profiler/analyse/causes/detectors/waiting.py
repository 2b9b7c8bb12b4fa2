"""Detects causes in what warps wait for: loads that are too few at once, chains of results, barriers, and their own code."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache

from profiler.analyse.causes.detectors.atomics import find_ordering
from profiler.analyse.causes.detectors.candidate import (
    EIGHTFOLD,
    FOUR_CHAINS,
    MOST_REGISTERS,
    WIDEST_BITS,
    Candidate,
)
from profiler.analyse.causes.detectors.loops import find_innermost_loops
from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.latency import NO_INSTRUCTION, Effect
from profiler.analyse.causes.evidence.sites import Site
from profiler.analyse.causes.flow.carried import is_carried
from profiler.analyse.causes.flow.dataflow import find_loads_kept_apart, predicates_read, results_of
from profiler.analyse.causes.flow.staging import feeds_shared_memory
from profiler.analyse.code.loops import Loop
from profiler.analyse.code.registers import inputs_of
from profiler.catalog.metrics import LANES
from profiler.text import counted

# With four independent loads under way, a warp waits for one of them only: the rest of the wait is memory's own.
ENOUGH_LOADS = 4
# More of them hide more of the latency, and nothing of the queues. Sixteen loads of 16 bytes take 64 registers: as many as each thread
# has where half of the places of an SM have a warp.
_MOST_LOADS = 16
# A wait that is shorter than this part of the longest one is shorter than for a load that hits L1, where the longest is for device
# memory: 40 cycles of 698 (the ladder `latency` in runs/). Most warps pass such a place without waiting.
_PASSING = 40 / 698
# The innermost instruction cache of an SM's quarter holds 12 KiB on Volta and later (Jia et al., "Dissecting the NVIDIA Volta GPU
# Architecture via Microbenchmarking", 2018).
_CACHE_BYTES = 12 * 1024
_INSTRUCTION_BYTES = 16
# Cycles after which arithmetic has its result (see `candidate.py`), in which as many other instructions can issue.
_LATENCY = 4
# Values are exchanged where each thread stores one, guarded by one barrier or by two, and no more than three threads read it: its
# own and those on either side. Where threads share a tile, each stores several values, or many read one; in a tree, few threads
# store. Bounds are between whole counts.
_FEWEST_STORES, _MOST_STORES = 1 / 2.5, 1.5
_MOST_READERS = 3.5
_CONFLICTING = 2.0  # passes for each that is needed
_SEVERAL = 1.5  # loads for each store
# How to have more loads under way, by where those are that warps wait for: loads of tiles, which a loop passes on through registers;
# copies of tiles; loads in another loop; or in none.
_AHEAD = {
    "turns": "Load the next tile while this one is used: into registers, or by asynchronous copies (cp.async) into a second buffer in shared "
    "memory.",
    "copies": "Tiles are copied asynchronously already: copy more of them ahead, as far as shared memory allows, or let more warps run.",
    "loop": "Issue several independent loads before the first use: unroll the loop, or load what the next turns need before this one computes.",
    "": "Let each thread take several elements, and issue all of their loads before the first use.",
}
_AHEAD_IN_TRITON = {
    "turns": "Load tiles ahead: with `num_stages` of 3 or more, Triton copies the next ones while this one is multiplied. It does so for loads of "
    "4 bytes a thread or more.",
    "copies": "Tiles are copied ahead already{stages}: try more `num_stages`, as far as shared memory allows, or more programs and `num_warps`.",
    "loop": "Load ahead: `tl.range(…, num_stages=3)` for the loop, several independent `tl.load` before the first use (a larger BLOCK for "
    "each turn), or more programs and `num_warps`.",
    "": "Have more loads under way: several independent `tl.load` before the first use, a BLOCK that gives each thread several of them, or "
    "more programs and `num_warps`.",
}
_LEFT_UNDER_WAY = re.compile(r"SB0, (0x[0-9a-f]+)")
_FEWER_REDUCTIONS_IN_TRITON = (
    "Reduce less often: add up element by element in the loop and call `tl.sum` or `tl.max` once after it. Fewer `num_warps` wait for fewer "
    "others, and one warp for none."
)
_FEWER_TURNS_IN_TRITON = (
    "Let each turn of the loop do more between its barriers (a larger BLOCK_K, or a larger tile), or have several programs on an SM, of which "
    "others multiply while one waits (fewer `num_stages`, a smaller tile)."
)
# The part of the time that is worth a change. If nobody waits at barriers, values that are exchanged between them are no reason
# to name them.
_SEEN_TO_WAIT = 0.03


def detect_unoverlapped_loads(evidence: Evidence) -> Iterable[Candidate]:
    """Names loads from global memory that warps wait for, most of all where few are under way at once."""
    loads = [site for site in evidence.of("global load") if not is_carried(evidence, site)]
    under_way = {site: _under_way(evidence, site) for site in loads}
    useful = {site: 1 - site.excess_sectors / site.sectors if site.sectors else 1.0 for site in loads}
    waiting = 100 * evidence.time_of(loads, "long_scoreboard")
    if not loads or not waiting:
        return
    # Asynchronous copies go to shared memory beside L1's lines and the registers, through which these loads pass. Sectors that lie
    # apart are looked up one by one for either.
    staged = {
        site: part
        for site, part in useful.items()
        if site.opcode.startswith("LDG.") and feeds_shared_memory(evidence, site)
    }
    # A warp that stages a tile through registers waits for all of its loads together in each turn of the loop, however many they are.
    # Copies of the next tiles, made while this one is used, take the whole wait away.
    turns = {site for site in staged if evidence.innermost_loop(site)}
    fractions = {
        site: part * (EIGHTFOLD if site in turns else _overlapped(evidence, under_way[site]))
        for site, part in useful.items()
    }
    # Copies of 16 bytes pass L1 by, whose lines other warps of the SM may have used (PTX ISA, "cp.async": `.cg` caches in L2 alone).
    past_l1 = [site for site in turns if site.width == WIDEST_BITS]
    warps = evidence.find("active_warps")
    few = sum(count * site.executed for site, count in under_way.items()) / sum(
        site.executed for site in loads
    )
    where = _most_waited_for(evidence, loads, turns)
    yield Candidate(
        "loads-not-overlapped",
        f"Warps spend {waiting:.0f} % of their time waiting for loads from global memory; each has about {few:.0f} of them under way"
        + (f", and a scheduler {counted(round(warps), 'warp', 'warps')}." if warps else "."),
        _AHEAD[where],
        Effect(
            {"l1": evidence.part_of_l1(staged), "l2": -evidence.added_in_l2(past_l1)},
            {
                **evidence.waiting_for(fractions, "long_scoreboard"),
                **evidence.waiting_for(find_waiting_for_tiles(evidence, turns), "barrier"),
            },
        ),
        {site: evidence.charged[site]["long_scoreboard"] for site in loads},
        {"waiting_for_loads_pct": waiting, "loads_under_way": few}
        | ({"active_warps": warps} if warps else {}),
        in_triton=_AHEAD_IN_TRITON[where].format(stages=_stages_text(evidence)),
    )


def _most_waited_for(evidence: Evidence, loads: Sequence[Site], turns: Collection[Site]) -> str:
    """Returns where the loads are that warps wait for most, as `_AHEAD` names it."""
    waiting = dict.fromkeys(_AHEAD, 0.0)
    for site in loads:
        copied = "copies" if feeds_shared_memory(evidence, site) else "loop"
        where = "turns" if site in turns else copied if evidence.innermost_loop(site) else ""
        waiting[where] += evidence.charged[site]["long_scoreboard"]
    return max(waiting, key=lambda where: waiting[where])


def _stages_text(evidence: Evidence) -> str:
    stages = _find_stages(evidence)
    return f", with `num_stages` of {stages}" if stages else ""


def _find_stages(evidence: Evidence) -> int | None:
    """Returns how many tiles shared memory has room for, one that is used and others that are copied; None without such a loop.

    A turn waits until no more groups of copies are under way than belong to the tiles after its own, and then copies one more tile.
    """
    for site in evidence.sites:
        if site.instruction.name != "DEPBAR" or not (loop := evidence.innermost_loop(site)):
            continue
        inside = [one for one in evidence.inside(loop) if evidence.innermost_loop(one) == loop]
        groups = sum(one.instruction.name == "LDGDEPBAR" for one in inside)
        left = _LEFT_UNDER_WAY.search(site.instruction.text)
        if groups and left:
            return int(left[1], 16) // groups + 2
    return None


def _overlapped(evidence: Evidence, under_way: int) -> float:
    """Returns the part of the waiting for a load that ends if more of them are under way, as in a loop that is unrolled further."""
    if under_way < ENOUGH_LOADS:
        return EIGHTFOLD
    latency = evidence.model.places.unloaded.get("long_scoreboard", 0.0)
    return max(1 / ENOUGH_LOADS, latency * (1 - under_way / _MOST_LOADS))


def find_lonely_loads(evidence: Evidence) -> list[Site]:
    """Returns the loads from global memory that a warp issues alone or with few others before it waits."""
    return [site for site in evidence.of("global load") if _under_way(evidence, site) < ENOUGH_LOADS]


def _under_way(evidence: Evidence, site: Site) -> int:
    return 1 + len(find_loads_beside(evidence, site))


def find_loads_beside(evidence: Evidence, site: Site) -> list[Site]:
    """Returns the other loads from global memory that a warp issues around this one before it waits for any."""
    function = evidence.around(site)
    here = evidence.place(site, function)
    longest = _longest_wait(evidence, site.function, evidence.innermost_loop(site))
    found: list[Site] = []
    for direction in (range(here + 1, len(function)), range(here - 1, -1, -1)):
        for index in direction:
            one = function[index]
            if one.kind == "global load":
                found.append(one)
            elif _waits_for_loads(one) > _PASSING * longest or one.instruction.name in ("BRA", "BAR", "EXIT"):
                break
    return found


@lru_cache(maxsize=8)
def _longest_wait(evidence: Evidence, function: int, loop: Loop | None) -> float:
    sites = evidence.by_function[function] if loop is None else evidence.inside(loop)
    return max(map(_waits_for_loads, sites))


def _waits_for_loads(site: Site) -> float:
    """Returns the samples of waiting for loads at each execution."""
    return site.waits.get("long_scoreboard", 0) / site.executed


def detect_dependent_chain(evidence: Evidence) -> Iterable[Candidate]:
    """Names loads whose address comes from the load before; without any, arithmetic that waits for the result before."""
    chased = [site for site in evidence.of("global load", "shared load") if is_carried(evidence, site)]
    waiting = 100 * evidence.time_of(chased, "long_scoreboard", "short_scoreboard")
    if chased and waiting:
        yield Candidate(
            "dependent-chain",
            f"Each of these loads takes its address from the one before it; warps spend {waiting:.0f} % of their time waiting for them.",
            "Follow several chains in each thread, or store the data so that addresses are known ahead (an array instead of a list).",
            Effect(
                waits=evidence.waiting_for(
                    dict.fromkeys(chased, FOUR_CHAINS), "long_scoreboard", "short_scoreboard"
                )
            ),
            {site: evidence.charged[site].total for site in chased},
            {"waiting_pct": waiting},
        )
        return
    results = evidence.of("fp32", "fp64", "special", "integer", "tensor", "conversion")
    following = _waiting_for_results(evidence, results)
    waiting = 100 * (evidence.time_of(following, "wait") + evidence.time_of(results, "short_scoreboard"))
    # Where one set of values takes over half of the registers of a thread, there is no room for a second one beside it.
    if waiting and (evidence.find("registers") or 0.0) <= MOST_REGISTERS / 2:
        yield Candidate(
            "dependent-chain",
            f"Warps spend {waiting:.0f} % of their time waiting for the result of the instruction before.",
            "Let each thread work on several independent values (such as four accumulators), so that their latencies overlap.",
            Effect(waits=_side_by_side(evidence, results, following)),
            {site: evidence.charged[site]["wait"] for site in following},
            {"waiting_pct": waiting},
        )


def _waiting_for_results(evidence: Evidence, results: Iterable[Site]) -> list[Site]:
    """Returns the arithmetic whose waiting for a fixed time other values would fill: where most of it is for the results just before.

    A warp also waits for a fixed time where the compiler spaces instructions out that have nothing to do with each other. Where there
    is enough to do beside each other, as in a tile of sums, that is most of it, and more values do not help.
    """
    groups: dict[object, list[Site]] = {}
    for site in results:
        if not evidence.charged[site]["wait"]:
            continue
        groups.setdefault(evidence.innermost_loop(site) or site.function, []).append(site)
    found: list[Site] = []
    for group in groups.values():
        following = [site for site in group if _follows_at_once(evidence, site)]
        most = 2 * sum(evidence.charged[site]["wait"] for site in following)
        found += group if most >= sum(evidence.charged[site]["wait"] for site in group) else following
    return found


def _follows_at_once(evidence: Evidence, site: Site) -> bool:
    """Returns whether an instruction reads the result of one just before it: fewer instructions stand between them than the latency has cycles."""
    around = evidence.around(site)
    here = evidence.place(site, around)
    first = here - _LATENCY
    before = around[max(0, first) : here]
    if first < 0 and evidence.innermost_loop(site):
        before = [*before, *around[first:]]
    read = inputs_of(site.instruction) | predicates_read(site)
    return any(not read.isdisjoint(results_of(one.instruction)) for one in before)


def _side_by_side(evidence: Evidence, results: Sequence[Site], following: Iterable[Site]) -> dict[str, float]:
    """Returns the waiting that four chains in turn would remove: their latencies overlap, and one jump of a loop serves all four.

    After a jump, a warp waits until the jump is resolved, and for the instructions at its target. Waiting for
    code beyond the cache stays.
    """
    chained = set(results)
    loops = [inside for inside in find_innermost_loops(evidence) if not chained.isdisjoint(inside)]
    turned = dict.fromkeys([site for inside in loops for site in inside], FOUR_CHAINS)
    of_a_jump = ("branch_resolving", *((NO_INSTRUCTION,) if _fits_cache(evidence) else ()))
    return {
        **evidence.waiting_for(turned, *of_a_jump),
        **evidence.waiting_for(dict.fromkeys(following, 1.0), "wait"),
        **evidence.waiting_for(dict.fromkeys(results, FOUR_CHAINS), "short_scoreboard"),
    }


def _fits_cache(evidence: Evidence) -> bool:
    return _INSTRUCTION_BYTES * len(evidence.sites) <= _CACHE_BYTES


def detect_barriers(evidence: Evidence) -> Iterable[Candidate]:
    """Names barriers, except for the waiting that is for loads since the barrier before, and fences that belong to atomics."""
    of_atomics = set(find_ordering(evidence))
    sites = [site for site in evidence.of("barrier") if site not in of_atomics]
    waiting = evidence.time_of(sites, "barrier", "membar")
    if waiting < _SEEN_TO_WAIT:
        return
    fractions = {
        site: EIGHTFOLD * part for site, part in find_own_part(evidence).items() if site not in of_atomics
    }
    kept_apart = dict.fromkeys(find_loads_kept_apart(evidence), EIGHTFOLD)
    fewer = evidence.without(fractions | kept_apart | _exchanging(evidence))
    weights = {site: evidence.charged[site]["barrier"] + evidence.charged[site]["membar"] for site in sites}
    yield Candidate(
        "barriers",
        f"Warps spend {100 * waiting:.0f} % of their time at barriers, waiting for the others of their block.",
        "Synchronise less often: exchange values inside a warp (`__shfl_sync`, `__syncwarp`), use two buffers in turn, or smaller blocks.",
        fewer,
        weights,
        {"waiting_pct": 100 * waiting},
        in_triton=_FEWER_TURNS_IN_TRITON if _are_of_tiles(evidence, weights) else _FEWER_REDUCTIONS_IN_TRITON,
    )


def _are_of_tiles(evidence: Evidence, waiting: Mapping[Site, float]) -> bool:
    """Returns whether warps wait for each other mostly in loops that multiply tiles, where barriers guard the tiles."""
    of_tiles = {loop for site in evidence.of("tensor") if (loop := evidence.innermost_loop(site))}
    there = sum(part for site, part in waiting.items() if evidence.innermost_loop(site) in of_tiles)
    return there > sum(waiting.values()) / 2


def _exchanging(evidence: Evidence) -> dict[Site, float]:
    """Returns the effect on the accesses to shared memory by which threads exchange values between barriers.

    Without barriers, values stay in registers: there is nothing to store, and nothing to load of a thread's own. Where there are
    several loads for each store, one of them loads the thread's own value; a single load reads another thread's. The values of others
    come by shuffles, for which the queue of shared memory takes as long as for loads. If the lanes of a warp meet in the same banks,
    they read a column of what several warps stored as rows, which no shuffle does.
    """
    loads, stores = evidence.of("shared load"), evidence.of("shared store")
    if any(_meets_in_banks(site) for site in (*loads, *stores)):
        return {}
    read, written, barriers = (
        sum(site.executed for site in sites) for sites in (loads, stores, evidence.of("barrier"))
    )
    by_all = sum(site.executed * (site.acting or LANES) / LANES for site in stores)
    if not read or read > _MOST_READERS * written or written > _MOST_STORES * barriers:
        return {}
    if by_all < _FEWEST_STORES * barriers:
        return {}
    own = written / read if read > _SEVERAL * written else 0.0
    return dict.fromkeys(stores, EIGHTFOLD) | dict.fromkeys(loads, EIGHTFOLD * own)


def _meets_in_banks(site: Site) -> bool:
    return (site.passes or 0.0) > _CONFLICTING * (site.ideal_passes or 0.0)


def find_waiting_for_tiles(evidence: Evidence, staged: set[Site]) -> dict[Site, float]:
    """Returns the part of the waiting at each barrier in which other warps of the block wait for the tile that they stage."""
    own = find_own_part(evidence)
    return {
        site: EIGHTFOLD * (1 - part)
        for site, part in own.items()
        if not staged.isdisjoint(evidence.around(site))
    }


def find_own_part(evidence: Evidence) -> dict[Site, float]:
    """Returns the part of the waiting at each barrier that is not for loads since the barrier before it."""
    parts: dict[Site, float] = {}
    loading = 0.0
    for site in evidence.sites:
        waits = evidence.charged[site]
        if site.kind == "barrier":
            waiting = waits["barrier"] + waits["membar"]
            parts[site] = waiting / (waiting + loading) if waiting else 0.0
            loading = 0.0
        elif site.kind == "global load":
            loading += waits["long_scoreboard"]
    return parts


def detect_instruction_cache(evidence: Evidence) -> Iterable[Candidate]:
    """Names code that is larger than the innermost instruction cache, where warps wait for instructions."""
    size = _INSTRUCTION_BYTES * len(evidence.sites)
    waiting = 100 * evidence.time_of(evidence.sites, NO_INSTRUCTION)
    if waiting and not _fits_cache(evidence):
        yield Candidate(
            "instruction-cache-misses",
            f"Warps spend {waiting:.0f} % of their time waiting for instructions: {size / 1024:.0f} KiB of code are executed.",
            "Unroll less (`#pragma unroll 4`), share code between branches, and keep rare cases out of the loop.",
            Effect(waits=evidence.waiting_for(dict.fromkeys(evidence.sites, EIGHTFOLD), NO_INSTRUCTION)),
            {site: evidence.charged[site][NO_INSTRUCTION] for site in evidence.sites},
            {"waiting_pct": waiting, "code_bytes": size},
        )
