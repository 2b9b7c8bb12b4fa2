"""Detects threads that do so little that starting them, and what every block prepares alike, is most of the work."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable

from profiler.analyse.causes.detectors.candidate import FOUR_CHAINS, SAME_ALONG, WORTH_A_CHANGE, Candidate
from profiler.analyse.causes.detectors.copied_loads import NEIGHBOURS_AT_ONCE, find_copied_loads
from profiler.analyse.causes.detectors.sharing_out import use_more_elements
from profiler.analyse.causes.evidence.blocks_of_sm import left_of_blocks, spare_launches
from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.latency import LAUNCH, Effect
from profiler.analyse.causes.evidence.loads_under_way import are_enough_under_way
from profiler.analyse.causes.evidence.measured_time import SOME_WAVES
from profiler.analyse.causes.evidence.sites import ONE_LANE, Kind, Site
from profiler.analyse.causes.flow.arithmetic.padding import find_padding
from profiler.analyse.causes.flow.block_sharing import find_block_independent
from profiler.analyse.causes.flow.dataflow import OF_BLOCK, find_address_work_of
from profiler.analyse.causes.flow.lane_values import SUMMING
from profiler.analyse.causes.flow.repeated_loads import find_repeated_loads
from profiler.analyse.causes.words_of_triton import MORE_ROWS
from profiler.analyse.recording.launch_shapes import LaunchShape
from profiler.text import whole_percent

# What a warp waits for results. A thread waits once for those of several elements, whose blocks need nothing of each other.
_LATENCIES = ("long_scoreboard", "short_scoreboard", "wait")
_ONE_REGISTER = 32  # bits
_LEFT_OUT: tuple[Kind, ...] = ("barrier", "control")  # of what is prepared once


def detect_little_work(evidence: Evidence) -> Iterable[Candidate]:
    """Names threads that spend much on preparation: on what every block repeats, on starting blocks again and again, and on waiting for few elements.

    A thread of a grid of several dimensions goes on along one of them: what does not depend on that index is done once, whatever it
    depends on besides.
    """
    waves = evidence.find("waves") or 0.0
    if waves < SOME_WAVES or not evidence.sites or evidence.shape is None:
        return
    each = evidence.executed / evidence.shape.warps
    # A thread can stop repeating its own work without larger blocks.
    repeated = set(find_repeated_loads(evidence))
    once = dict.fromkeys(_done_once(evidence), 1.0)
    loads = {
        site: wait
        for site in once
        if site.kind == "global load" and (wait := evidence.charged[site]["long_scoreboard"])
    }
    # More loads of those that fill L1 already would only queue.
    latencies = _LATENCIES[1:] if loads and are_enough_under_way(evidence, loads) else _LATENCIES
    overlapped = evidence.waiting_for(once, *latencies)
    waiting = evidence.time_of(once, *latencies)
    is_waiting = waiting >= WORTH_A_CHANGE
    waited = {site: sum(evidence.charged[site][reason] for reason in latencies) for site in once}
    # Loads of several elements are under way together, except for those that wait in a loop.
    of_loads, of_all_loads = (evidence.time_of(sites, "long_scoreboard") for sites in (once, evidence.sites))
    has_copies = bool(find_copied_loads(site for site in once if site.kind == "global load"))
    is_of_rows = any(site.opcode.startswith(SUMMING) for site in once) or bool(find_padding(evidence))
    for index, blocks in _ways_on(evidence.shape).items():
        axis = index.removeprefix(OF_BLOCK).removeprefix(".").lower()
        alike = [
            site
            for site in find_block_independent(evidence, index)
            if site.kind not in _LEFT_OUT and site not in repeated
        ]
        # Blocks can do more each until the GPU is filled twice only.
        left = left_of_blocks(evidence, 1 / blocks)
        shared = min(FOUR_CHAINS, 1 - left)
        prepared_once = dict.fromkeys(alike, 1 - left)
        fewer = evidence.without(_spared_in_rows(evidence, once, shared) | prepared_once)
        # However many elements an access brings at once, L2 has as much to move.
        resources = {**fewer.resources, "l2": evidence.part_of_l2(prepared_once)}
        waits = {
            reason: max(part, shared * overlapped.get(reason, 0.0)) for reason, part in fewer.waits.items()
        }
        same = 100 * evidence.share_executed(alike)
        said = f"A warp executes {each:,.0f} instructions and ends; {whole_percent(same)} % of them are the same in every block"
        said += f" along {axis}." if axis else "."
        if is_waiting:
            said += f" Warps wait for results for {whole_percent(100 * waiting)} % of their time: several elements in a thread would wait together."
        if has_copies:
            elements = (
                f"elements along {axis} of the grid"
                if axis
                else f"neighbouring elements {NEIGHBOURS_AT_ONCE}"
            )
        else:
            elements = f"elements {f'along {axis} of the grid, four at once' if axis else '(four at once, or a grid-stride loop)'}"
        prepared = {site: site.executed + evidence.charged[site].total for site in alike}
        yield Candidate(
            "too-little-work-a-thread",
            said,
            f"Let each thread take several {elements}, and prepare once for all of them.",
            Effect({**resources, LAUNCH: spare_launches(evidence, left)}, waits),
            (waited if is_waiting else {}) | prepared,
            {"instructions_per_warp": each, "same_in_every_block_pct": same}
            | ({"waiting_for_results_pct": 100 * waiting} if is_waiting else {}),
            includes="loads-not-overlapped" if 2 * of_loads > of_all_loads else "",
            in_triton=use_more_elements(evidence) or (MORE_ROWS if is_of_rows else ""),
            fact=SAME_ALONG.format(axis.upper())
            if axis and _do_rows_alike(evidence, axis.upper(), alike)
            else "",
        )


def _do_rows_alike(evidence: Evidence, axis: str, alike: Collection[Site]) -> bool:
    """Returns whether the rows of a block along an axis repeat what blocks do alike, and little else."""
    of_rows = (
        site for site in find_block_independent(evidence, f"SR_TID.{axis}") if site.kind not in _LEFT_OUT
    )
    return evidence.share_executed({*of_rows} ^ {*alike}) < WORTH_A_CHANGE


def _done_once(evidence: Evidence) -> list[Site]:
    """Returns what no loop repeats. One that strides across the grid makes a single turn where each thread has one element."""
    going_back = (loop for loops in evidence.loops.values() for loop in loops if evidence.goes_back(loop))
    repeating = {site for loop in going_back for site in evidence.inside(loop)}
    return [site for site in evidence.sites if site not in repeating]


def _spared_in_rows(evidence: Evidence, once: Collection[Site], shared: float) -> dict[Site, float]:
    """Returns what goes of a row that threads of one element each add up, if each takes several of its elements, such as four.

    A thread joins its own elements without a shuffle, so that fewer warps shuffle for as many rows: the part that several elements have
    in common goes. Where one warp is left for a row, it passes nothing through shared memory. Neighbours in the row are accessed at once,
    with one address. Copies of a load stand for several elements. If a block makes one value of the elements of its threads, all from the
    first exchange behind the loads on is for that value, however it is made; what stands before is for each element.
    """
    if _makes_one_value(evidence, once):
        loaded = max((site.function, site.position) for site in evidence.of("global load"))
        behind = [site for site in evidence.sites if (site.function, site.position) > loaded]
        exchange = next((at for at, site in enumerate(behind) if _is_exchange(site)), len(behind))
        # A loop over steps meets in each; another works on what is in shared memory, for each element.
        working = evidence.loops_around(behind[exchange:])
        stepping = evidence.loops_around(evidence.of("barrier"))
        return dict.fromkeys(behind[exchange:], shared) if {*working} <= {*stepping} else {}
    shuffles = [site for site in once if site.opcode.startswith(SUMMING)]
    if evidence.shape is None or not shuffles:
        return {}
    loads = evidence.of("global load")
    copies = Counter(site.instruction.place for site in loads)
    has_one = all(site in once and site.width <= _ONE_REGISTER for site in loads)
    if not has_one or max(copies.values(), default=0) != 1:
        return {}
    accesses = evidence.of("global load", "global store")
    spared = dict.fromkeys((*shuffles, *accesses, *find_address_work_of(evidence, accesses)), shared)
    stores = [site for site in evidence.sites if site.stores_in_shared]
    of_warps = all(site.acting_lanes <= ONE_LANE for site in stores)
    if of_warps and evidence.shape.warps_of_block * (1 - shared) <= 1:
        spared |= {site: 1.0 for site in once if site.kind in ("shared load", "shared store", "barrier")}
    return spared


def _is_exchange(site: Site) -> bool:
    return site.stores_in_shared or site.opcode.startswith(SUMMING)


def _makes_one_value(evidence: Evidence, once: Collection[Site]) -> bool:
    """Returns whether each thread of a block loads its elements once, and one of them stores what the block makes of all."""
    blocks = evidence.shape.blocks if evidence.shape else 0
    loads, kept = evidence.of("global load"), evidence.of("global store", "atomic")
    of_one = bool(kept) and all(site.lane_executions <= blocks for site in kept)
    of_all = any(site.lane_executions > blocks for site in loads)
    return of_one and of_all and all(site in once for site in loads)


def _ways_on(shape: LaunchShape) -> dict[str, int]:
    """Returns how many blocks a thread can go through: in any order, or along one of several dimensions of the grid."""
    along = {f"{OF_BLOCK}.{axis}": count for axis, count in zip("XYZ", shape.grid, strict=True) if count > 1}
    return {OF_BLOCK: shape.blocks} | (along if len(along) > 1 else {})
