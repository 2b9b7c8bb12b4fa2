"""Detects barriers at which warps wait for the others of their block."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from profiler.analyse.causes.detectors.candidate import EIGHTFOLD, WORTH_A_CHANGE, Candidate
from profiler.analyse.causes.evidence.addresses import address_of
from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.sites import Site
from profiler.analyse.causes.evidence.synchronisation import find_ordering, find_own_part
from profiler.analyse.causes.flow.memory.reduction_trees import find_in_trees
from profiler.analyse.causes.flow.memory.repeated_loads import find_loads_kept_apart
from profiler.catalog.metrics import LANES
from profiler.text import whole_percent

# Threads exchange values if each of them stores one, guarded by one barrier or two, and no more than three threads read it: the
# thread itself and those on either side. If threads share a tile, each stores several values, or many threads read one. In a
# tree, few threads store. The bounds lie between whole counts.
_FEWEST_STORES, _MOST_STORES = 1 / 2.5, 1.5
_MOST_READERS = 3.5
_CONFLICTING = 2.0  # passes for each that is needed
_SEVERAL = 1.5  # loads for each store
_OFTEN = "Synchronise less often: exchange values inside a warp ({shuffle}, {sync_warp}), use two buffers in turn, or smaller blocks."
_EXCHANGING = (
    "Keep the values in registers, and exchange them inside a warp ({shuffle}): the accesses to shared memory go, which this estimate includes. "
    "Fewer barriers alone save less ({sync_warp}, two buffers in turn, or smaller blocks)."
)
_ONCE = "Each warp meets a single barrier, once: use smaller blocks, so that others work while one waits."
_LESS_FENCING = (
    "Fence less often: once behind several stores, and by {} where only threads of the block read them. An atomic that releases what was stored before it "
    "needs no fence beside it."
)
_LESS_FENCING_IN_TRITON = 'Let fewer atomics order other accesses: `sem="relaxed"` where nothing has to be in order with the update.'
_FEWER_REDUCTIONS_IN_TRITON = (
    "Reduce less often: add up element by element in the loop and call `tl.sum` or `tl.max` once after it. Fewer `num_warps` wait for fewer "
    "others, and one warp for none."
)
_FEWER_TURNS_IN_TRITON = (
    "Let each turn of the loop do more between its barriers (a larger BLOCK_K, or a larger tile), or have several programs on an SM, of which "
    "others multiply while one waits (fewer `num_stages`, a smaller tile)."
)


def detect_barriers(evidence: Evidence) -> Iterable[Candidate]:
    """Names barriers, but not trees, fences that belong to atomics, and the waiting that is for loads since the barrier before."""
    apart = {*find_ordering(evidence), *find_in_trees(evidence)}
    sites = [site for site in evidence.of("barrier") if site not in apart]
    waiting = evidence.time_of(sites, "barrier", "membar")
    if waiting < WORTH_A_CHANGE:
        return
    fractions = {site: EIGHTFOLD * part for site, part in find_own_part(evidence).items()}
    kept_apart = dict.fromkeys(find_loads_kept_apart(evidence), EIGHTFOLD)
    exchanging = _exchanging(evidence)
    going = fractions | kept_apart | exchanging
    fewer = evidence.without({site: part for site, part in going.items() if site not in apart})
    weights = {site: evidence.charged[site]["barrier"] + evidence.charged[site]["membar"] for site in sites}
    words = evidence.words
    if 2 * evidence.time_of(sites, "membar") > waiting:
        what = "memory fences, until others can see what they have stored"
        advice, in_triton = _LESS_FENCING.format(words.fence_of_block), _LESS_FENCING_IN_TRITON
    else:
        what = "barriers, waiting for the others of their block"
        is_often = len(sites) > 1 or evidence.loops_around(sites)
        advice = _EXCHANGING if exchanging else _OFTEN if is_often else _ONCE
        advice = advice.format(shuffle=words.shuffle, sync_warp=words.sync_warp)
        of_tiles = _are_of_tiles(evidence, weights)
        in_triton = _FEWER_TURNS_IN_TRITON if of_tiles else _FEWER_REDUCTIONS_IN_TRITON
    yield Candidate(
        "barriers",
        f"Warps spend {whole_percent(100 * waiting)} % of their time at {what}.",
        advice,
        fewer,
        weights,
        {"waiting_pct": 100 * waiting},
        in_triton=in_triton,
    )


def _are_of_tiles(evidence: Evidence, waiting: Mapping[Site, float]) -> bool:
    """Returns whether warps wait for each other mostly in loops that multiply tiles, where barriers guard the tiles."""
    of_tiles = evidence.loops_around(evidence.of("tensor"))
    there = sum(part for site, part in waiting.items() if evidence.innermost_loop(site) in of_tiles)
    return there > sum(waiting.values()) / 2


def _exchanging(evidence: Evidence) -> dict[Site, float]:
    """Returns the parts that go of the accesses to shared memory by which threads exchange values between barriers.

    Without barriers, values stay in registers: no thread stores its value, or loads its own. If there are several loads for each
    store, one of them loads the thread's own value; a single load reads another thread's. The values of others come by shuffles,
    which take as long in the queue of shared memory as loads do. Lanes with bank conflicts read a column of what several warps
    stored as rows, and no shuffle does that.
    """
    loads, stores, barriers = (evidence.of(kind) for kind in ("shared load", "shared store", "barrier"))
    if any(_meets_in_banks(site) for site in (*loads, *stores)):
        return {}
    read, written, met = (sum(site.executed for site in sites) for sites in (loads, stores, barriers))
    by_all = sum(site.lane_executions / LANES for site in stores)
    if not read or read > _MOST_READERS * written:
        return {}
    if written > _MOST_STORES * met and not _is_in_place(evidence, loads, stores):
        return {}
    if by_all < _FEWEST_STORES * met:
        return {}
    own = written / read if read > _SEVERAL * written else 0.0
    return dict.fromkeys(stores, EIGHTFOLD) | dict.fromkeys(loads, EIGHTFOLD * own)


def _is_in_place(evidence: Evidence, loads: Iterable[Site], stores: Iterable[Site]) -> bool:
    """Returns whether most stores go to addresses that the same iteration has loaded, as in a sort that swaps: each thread then has several values."""
    loaded = {_place(evidence, site) for site in loads}
    stored = {site: site.executed for site in stores}
    again = sum(count for site, count in stored.items() if _place(evidence, site) in loaded)
    return 2 * again > sum(stored.values())


def _place(evidence: Evidence, site: Site) -> object:
    return evidence.innermost_loop(site), address_of(site)


def _meets_in_banks(site: Site) -> bool:
    return (site.passes or 0.0) > _CONFLICTING * (site.ideal_passes or 0.0)


def find_waiting_for_tiles(evidence: Evidence, staged: set[Site]) -> dict[Site, float]:
    """Returns the part of the waiting at each barrier that is for other warps of the block while they stage their part of a tile."""
    own = find_own_part(evidence)
    return {
        site: EIGHTFOLD * (1 - part)
        for site, part in own.items()
        if not staged.isdisjoint(evidence.around(site))
    }
