"""Detects loops that reduce what the threads of a block hold to one value in each iteration, step by step with barriers between.

One change removes the barriers, the idle lanes of the steps, the loop over them and the accesses to shared memory. One cause
names them all: barriers, or loads that do not overlap if warps wait longer for these. Other detectors leave them out.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from profiler.analyse.causes.detectors.candidate import WORTH_A_CHANGE, Candidate
from profiler.analyse.causes.detectors.sharing_out import add_up_once
from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.sites import SHARED, Site
from profiler.analyse.causes.flow.lane_values import SUMMING
from profiler.analyse.causes.flow.memory.reduction_trees import (
    ASSUMED_TURNS,
    Tree,
    copies_in,
    find_sums_for_all,
    find_trees,
)
from profiler.catalog.metrics import LANES
from profiler.text import whole_percent

# The latencies of an iteration that overlap with those of iterations beside it. Queues stay as long, because there are as many
# requests.
_ONE_AFTER_ANOTHER = ("long_scoreboard", "short_scoreboard", "wait", "branch_resolving")

_TURNS_AT_ONCE = f"Take several turns at once, such as {ASSUMED_TURNS} rows:"
_SUM_AFTER_IN_TRITON = (
    "Where {} only adds to a sum, add up whole blocks (`acc += x`), and call `tl.sum` once, after the loop."
)
_WITHOUT_TURNS_IN_TRITON = (
    " Where a turn picks one element (`tl.where(index == i, x, 0)`), reduce the whole block once instead of the loop. "
    + _SUM_AFTER_IN_TRITON.format("it")
)
_OF_ROWS_IN_TRITON = (
    f"{_SUM_AFTER_IN_TRITON.format('a turn')} A turn exchanges several values between the same barriers already: a larger BLOCK lets one exchange serve "
    "more of them, and `num_warps=1` needs no barriers."
)


def detect_trees_in_turns(evidence: Evidence) -> Iterable[Candidate]:
    """Names all trees in loops whose iterations do not need each other's results, if a single thread or the lanes of one warp use the sum.

    Each thread can take iterations of its own, or add up its own values of all iterations, so that the block meets once. Or each
    warp takes iterations of its own, and its lanes exchange values without barriers.
    """
    trees = find_trees(evidence)
    if not trees:
        return
    parts = _gone_with_any(tree.parts for tree in trees)
    waiting, executed = evidence.time_of(parts, "barrier"), 100 * evidence.share_executed(parts)
    turns = [known_turns(evidence, tree) for tree in trees]
    yield Candidate(
        "barriers",
        f"In {named_turns(turns)}, a block makes one value of what its threads hold, step by step through shared memory "
        f"with barriers between, where fewer and fewer lanes act: {whole_percent(executed)} % of the "
        f"executed instructions, and {whole_percent(100 * waiting)} % of the warps' time at barriers.",
        "Let each thread add up its values of all turns in registers, so that the block meets once, after the loop; where each turn has a "
        f"result of its own, let a warp take each turn, and add up by {evidence.words.shuffle_xor}.",
        evidence.without(parts),
        evidence.weigh(site for site in parts if site.kind == "barrier" or site.kind in SHARED),
        {**_as_figure(turns), "executed_pct": executed, "waiting_pct": 100 * waiting},
        in_triton="Where a turn only adds to a sum, add up whole blocks (`acc += x`), and call `tl.sum` once, after the loop; where each turn has a "
        "result of its own, load a block of two dimensions, with several rows, and reduce it along one (`tl.sum(x, axis=1)`).",
    )


def detect_sums_for_all(evidence: Evidence) -> Iterable[Candidate]:
    """Names sums, or other values of all threads, that a block makes in each iteration of a loop, if one exchange could serve several iterations.

    The block then waits once for what these iterations now wait for one after the other, including their loads. The change is
    named by what it saves most of: barriers or loads.
    """
    sums = find_sums_for_all(evidence)
    if not sums:
        return
    parts = _gone_with_any(one.parts for one in sums)
    inside = _gone_with_any(dict.fromkeys(evidence.inside(one.loop), max(one.parts.values())) for one in sums)
    loads = [site for site in inside if site.kind == "global load"]
    exchange = evidence.without(parts)
    at_once = replace(exchange, waits={**exchange.waits, **evidence.waiting_for(inside, *_ONE_AFTER_ANOTHER)})
    turns = [known_turns(evidence, one) for one in sums]
    figures = {**_as_figure(turns), "turns_at_once": float(ASSUMED_TURNS)}
    waiting, exchanging = evidence.time_of(loads, "long_scoreboard"), evidence.time_of(parts)
    is_for_loads = waiting > exchanging
    # With blocks of several rows, the loads of a turn are under way together, and those of the next turn come after them.
    of_rows = evidence.profile.language == "Triton" and all(_has_rows(evidence, one) for one in sums)
    executed = 100 * evidence.share_executed(parts)
    figures |= {
        "waiting_for_loads_pct": 100 * waiting,
        "exchanging_pct": 100 * exchanging,
        "executed_pct": executed,
    }
    once = add_up_once(evidence, inside)
    has_loads = bool(loads) and not (is_for_loads or of_rows)
    said = (
        f"In {named_turns(turns)}, a block makes one value of what its threads hold, such as their sum or maximum, by shuffles and through "
        f"shared memory. That is {whole_percent(executed)} % of the executed instructions, and "
        f"{whole_percent(100 * exchanging)} % of the warps' time."
    )
    if loads and not is_for_loads and waiting >= WORTH_A_CHANGE:
        said += f" They spend another {whole_percent(100 * waiting)} % waiting for what a turn loads."
    yield Candidate(
        "barriers",
        said,
        f"{_TURNS_AT_ONCE} their values pass through shared memory between the same barriers. Or let a warp take "
        f"each turn, whose lanes exchange values without barriers.{once}",
        exchange if is_for_loads or of_rows else at_once,
        evidence.weigh(parts),
        figures,
        includes="loads-not-overlapped" if has_loads else "",
        in_triton=_OF_ROWS_IN_TRITON
        if of_rows
        else "Take several turns at once: load a block of two dimensions, with several rows, and reduce it along one (`tl.sum(x, axis=1)`), so "
        "that one exchange serves them all. Or use `num_warps=1`, which needs no barriers."
        + _WITHOUT_TURNS_IN_TRITON,
    )
    if is_for_loads and not of_rows:
        yield Candidate(
            "loads-not-overlapped",
            f"In {named_turns(turns)}, a block waits for what it loads, and makes one value of it before the next turn loads: warps spend "
            f"{whole_percent(100 * waiting)} % of their time waiting for these loads, and {whole_percent(100 * exchanging)} % for that exchange.",
            f"{_TURNS_AT_ONCE} their loads are under way together, and their values pass through shared memory "
            f"between the same barriers.{once}",
            at_once,
            evidence.weigh(loads),
            figures,
            includes="barriers",
            in_triton="Take several turns at once: load a block of two dimensions, with several rows, and reduce it along one (`tl.sum(x, axis=1)`), so "
            "that their loads are under way together, and one exchange serves them all."
            + _WITHOUT_TURNS_IN_TRITON,
        )


def _gone_with_any(trees: Iterable[Mapping[Site, float]]) -> dict[Site, float]:
    """Returns which part of each instruction goes if several trees go. One may be in a loop of another: what goes with either of them goes."""
    gone: dict[Site, float] = {}
    for parts in trees:
        gone |= {site: max(part, gone.get(site, 0.0)) for site, part in parts.items()}
    return gone


def _has_rows(evidence: Evidence, one: Tree) -> bool:
    """Returns whether an exchange is of several values, as where a block of two dimensions is reduced along one: more shuffles than two values need."""
    shuffles = sum(site.opcode.startswith(SUMMING) for site in one.parts)
    warps = evidence.shape.warps_of_block if evidence.shape else 1
    return shuffles > 2 * one.exchanges * math.log2(LANES * warps)


def known_turns(evidence: Evidence, tree: Tree) -> float | None:
    """Returns how many iterations a tree's loop makes in the source; None if it may be unrolled, so that one in machine code covers several.

    If a barrier, a store or a load stands in the loop only once, only loops within it are unrolled. Several copies may also come
    from a function that is called twice. A number that may be wrong is not said.
    """
    fewest = min(copies_in(evidence, tree.loop).values(), default=1)
    return tree.turns if tree.exchanges == fewest == 1 else None


def named_turns(turns: Sequence[float | None]) -> str:
    most = _most_turns(turns)
    if len(turns) == 1:
        return "each turn of a loop" if most is None else f"each of {most:.0f} turns of a loop"
    return f"each turn of {len(turns)} loops" + (f", which make up to {most:.0f}" if most else "")


def _as_figure(turns: Sequence[float | None]) -> Mapping[str, float]:
    most = _most_turns(turns)
    return {} if most is None else {"turns": most}


def _most_turns(turns: Sequence[float | None]) -> float | None:
    """Returns the most turns of a loop, if those of all are known."""
    return None if None in turns else max(filter(None, turns))
