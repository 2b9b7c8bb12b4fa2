"""Detects threads that do so little that starting them, and what every block prepares alike, is most of the work."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from profiler.analyse.causes.detectors.candidate import FOUR_CHAINS, SAME_ALONG, WORTH_A_CHANGE, Candidate
from profiler.analyse.causes.detectors.copied_loads import find_copied_loads, widest_at_once
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
from profiler.analyse.causes.flow.memory.repeated_loads import find_repeated_loads
from profiler.analyse.causes.words.triton import MORE_ROWS
from profiler.analyse.causes.words.words import Words
from profiler.analyse.recording.launch_shapes import LaunchShape
from profiler.text import whole_percent

# Why warps wait for results. A thread that takes several elements waits once for those of all.
_LATENCIES = ("long_scoreboard", "short_scoreboard", "wait")
_ONE_REGISTER = 32  # bits
_LEFT_OUT: tuple[Kind, ...] = ("barrier", "control")  # of what is prepared once


@dataclass(frozen=True)
class _Waiting:
    """How long warps wait for results of what each thread does once: several elements in a thread would wait together."""

    part: float  # of their time
    by_reason: Mapping[str, float]  # the part of all waiting for this reason
    by_site: dict[Site, float]  # in any unit, as `Evidence.charged` has it
    is_of_most_loads: bool  # whether more of the waiting for loads is here than in loops

    @property
    def is_long(self) -> bool:
        return self.part >= WORTH_A_CHANGE


def detect_little_work(evidence: Evidence) -> Iterable[Candidate]:
    """Names threads that spend much on preparation: on what every block repeats, on starting blocks again and again, and on waiting for few elements.

    In a grid of several dimensions, a thread can go on along one of them. It then does once what does not depend on the index along this one.
    """
    if evidence.shape is None or not evidence.sites or (evidence.find("waves") or 0.0) < SOME_WAVES:
        return
    once = _find_done_once(evidence)
    waiting = _measure_waiting(evidence, once)
    has_copies = bool(find_copied_loads(site for site in once if site.kind == "global load"))
    each = evidence.executed / evidence.shape.warps
    for axis, blocks in _ways_on(evidence.shape).items():
        alike = _find_alike(evidence, axis)
        same = 100 * evidence.share_executed(alike)
        prepared = {site: site.executed + evidence.charged[site].total for site in alike}
        yield Candidate(
            "too-little-work-a-thread",
            _describe(each, same, axis, waiting),
            f"Let each thread take several {_name_elements(evidence.words, axis, has_copies)}, and prepare once for all of them.",
            _work_out_effect(evidence, once, alike, blocks, waiting),
            (waiting.by_site if waiting.is_long else {}) | prepared,
            {"instructions_per_warp": each, "same_in_every_block_pct": same}
            | ({"waiting_for_results_pct": 100 * waiting.part} if waiting.is_long else {}),
            includes="loads-not-overlapped" if waiting.is_of_most_loads else "",
            in_triton=use_more_elements(evidence) or (MORE_ROWS if _is_of_rows(evidence, once) else ""),
            fact=SAME_ALONG.format(axis) if axis and _do_rows_alike(evidence, axis, alike) else "",
        )


def _ways_on(shape: LaunchShape) -> dict[str, int]:
    """Returns how many blocks a thread can go through: by "", all of them in any order, and by each of several axes of the grid, those along it."""
    along = {axis: count for axis, count in zip("XYZ", shape.grid, strict=True) if count > 1}
    return {"": shape.blocks} | (along if len(along) > 1 else {})


def _find_done_once(evidence: Evidence) -> dict[Site, float]:
    """Returns what no loop repeats. A loop that strides across the grid makes a single turn where each thread has one element."""
    going_back = (loop for loops in evidence.loops.values() for loop in loops if evidence.goes_back(loop))
    repeating = {site for loop in going_back for site in evidence.inside(loop)}
    return {site: 1.0 for site in evidence.sites if site not in repeating}


def _measure_waiting(evidence: Evidence, once: Mapping[Site, float]) -> _Waiting:
    loads = {
        site: wait
        for site in once
        if site.kind == "global load" and (wait := evidence.charged[site]["long_scoreboard"])
    }
    # If loads fill L1 already, more of them would only queue.
    reasons = _LATENCIES[1:] if loads and are_enough_under_way(evidence, loads) else _LATENCIES
    of_loads, of_all_loads = (evidence.time_of(sites, "long_scoreboard") for sites in (once, evidence.sites))
    return _Waiting(
        evidence.time_of(once, *reasons),
        evidence.waiting_for(once, *reasons),
        {site: sum(evidence.charged[site][reason] for reason in reasons) for site in once},
        2 * of_loads > of_all_loads,
    )


def _find_alike(evidence: Evidence, axis: str) -> list[Site]:
    """Returns what all blocks do alike, or those along an axis; without what a thread repeats itself, which it can stop without larger blocks."""
    repeated = set(find_repeated_loads(evidence))
    alike = _find_independent(evidence, f"{OF_BLOCK}.{axis}" if axis else OF_BLOCK)
    return [site for site in alike if site not in repeated]


def _find_independent(evidence: Evidence, index: str) -> list[Site]:
    return [site for site in find_block_independent(evidence, index) if site.kind not in _LEFT_OUT]


def _do_rows_alike(evidence: Evidence, axis: str, alike: Collection[Site]) -> bool:
    """Returns whether the rows of a block along an axis repeat what blocks do alike, and little else."""
    of_rows = _find_independent(evidence, f"SR_TID.{axis}")
    return evidence.share_executed({*of_rows} ^ {*alike}) < WORTH_A_CHANGE


def _is_of_rows(evidence: Evidence, once: Iterable[Site]) -> bool:
    """Returns whether a block may be as long as a row, or longer: its threads add up what they have, or some of its warps have nothing."""
    return any(site.opcode.startswith(SUMMING) for site in once) or bool(find_padding(evidence))


def _describe(each: float, same: float, axis: str, waiting: _Waiting) -> str:
    along = f" along {axis.lower()}" if axis else ""
    said = f"A warp executes {each:,.0f} instructions and ends; {whole_percent(same)} % of them are the same in every block{along}."
    if waiting.is_long:
        said += f" Warps wait for results for {whole_percent(100 * waiting.part)} % of their time: several elements in a thread would wait together."
    return said


def _name_elements(words: Words, axis: str, has_copies: bool) -> str:
    """Returns which elements a thread can take: with copies of its loads, it has several at once already."""
    if axis:
        return f"elements along {axis.lower()} of the grid{'' if has_copies else ', four at once'}"
    if has_copies:
        return f"neighbouring elements {widest_at_once(words)}"
    return f"elements (four at once, or {words.grid_stride_loop})"


def _work_out_effect(
    evidence: Evidence, once: Collection[Site], alike: Iterable[Site], blocks: int, waiting: _Waiting
) -> Effect:
    """Returns the effect of threads that go through so many blocks each, or through fewer, so that those that are left fill the GPU twice."""
    left = left_of_blocks(evidence, 1 / blocks)
    shared = min(FOUR_CHAINS, 1 - left)
    prepared_once = dict.fromkeys(alike, 1 - left)
    fewer = evidence.without(_find_spared(evidence, once, shared) | prepared_once)
    # However many elements an access brings at once, L2 has as much to move.
    of_l2 = evidence.part_of_l2(prepared_once)
    return Effect(
        {**fewer.resources, "l2": of_l2, LAUNCH: spare_launches(evidence, left)},
        {
            reason: max(part, shared * waiting.by_reason.get(reason, 0.0))
            for reason, part in fewer.waits.items()
        },
    )


def _find_spared(evidence: Evidence, once: Collection[Site], shared: float) -> dict[Site, float]:
    """Returns what goes where threads that add up one element each take several, such as four.

    `shared` is the part that goes of what a thread then does once for all its elements.
    """
    if _makes_one_value(evidence, once):
        return _find_behind_exchange(evidence, shared)
    return _find_spared_in_rows(evidence, once, shared) if _adds_up_elements(evidence, once) else {}


def _makes_one_value(evidence: Evidence, once: Collection[Site]) -> bool:
    """Returns whether each thread of a block loads its elements once, and one of them stores what the block makes of all."""
    blocks = evidence.shape.blocks if evidence.shape else 0
    loads, kept = evidence.of("global load"), evidence.of("global store", "atomic")
    of_one = bool(kept) and all(site.lane_executions <= blocks for site in kept)
    of_all = any(site.lane_executions > blocks for site in loads)
    return of_one and of_all and all(site in once for site in loads)


def _find_behind_exchange(evidence: Evidence, shared: float) -> dict[Site, float]:
    """Returns the code from the first exchange behind the loads on: it makes the one value of the block, and what stands before works on each element."""
    loaded = max((site.function, site.position) for site in evidence.of("global load"))
    behind = [site for site in evidence.sites if (site.function, site.position) > loaded]
    exchange = next((at for at, site in enumerate(behind) if _is_exchange(site)), len(behind))
    # A loop over the steps of a sum has a barrier in each. Another loop works on elements in shared memory.
    working = evidence.loops_around(behind[exchange:])
    stepping = evidence.loops_around(evidence.of("barrier"))
    return dict.fromkeys(behind[exchange:], shared) if {*working} <= {*stepping} else {}


def _is_exchange(site: Site) -> bool:
    return site.stores_in_shared or site.opcode.startswith(SUMMING)


def _adds_up_elements(evidence: Evidence, once: Collection[Site]) -> bool:
    """Returns whether threads add up one element each. Copies of a load would stand for several elements."""
    loads = evidence.of("global load")
    copies = Counter(site.instruction.place for site in loads)
    return (
        any(site.opcode.startswith(SUMMING) for site in once)
        and all(site in once and site.width <= _ONE_REGISTER for site in loads)
        and max(copies.values(), default=0) == 1
    )


def _find_spared_in_rows(evidence: Evidence, once: Collection[Site], shared: float) -> dict[Site, float]:
    """Returns what a thread does once for several elements of a row: it needs no shuffle to add them up, and accesses them at once, with one address.

    Where one warp is left for a row, it passes nothing through shared memory.
    """
    accesses = evidence.of("global load", "global store")
    shuffles = [site for site in once if site.opcode.startswith(SUMMING)]
    spared = dict.fromkeys((*shuffles, *accesses, *find_address_work_of(evidence, accesses)), shared)
    of_warps = all(site.acting_lanes <= ONE_LANE for site in evidence.sites if site.stores_in_shared)
    if of_warps and evidence.shape and evidence.shape.warps_of_block * (1 - shared) <= 1:
        spared |= {site: 1.0 for site in once if site.kind in ("shared load", "shared store", "barrier")}
    return spared
