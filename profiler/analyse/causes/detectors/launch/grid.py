"""Detects launches that are too short, and blocks that are too few or uneven."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace

from profiler.analyse.causes.detectors.candidate import Candidate
from profiler.analyse.causes.detectors.launch.more_blocks import advise_more_blocks
from profiler.analyse.causes.detectors.sharing_out import SHARE_TURNS
from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.latency import UNNAMED
from profiler.analyse.causes.evidence.sites import Site
from profiler.analyse.causes.evidence.time_model import NO_WARP, START_NS
from profiler.analyse.causes.flow.branch_conditions import is_decided_by_loads, may_work_differently
from profiler.analyse.causes.flow.lane_values import is_left_early
from profiler.analyse.causes.flow.loop_carried import (
    count_chains,
    follows_itself,
)
from profiler.analyse.causes.flow.working_blocks import (
    count_at_once,
    count_blocks,
    count_waves,
    count_working_blocks,
    find_lone_warps,
    find_lonely_loops,
    find_missing_warps,
    may_be_fewer,
    part_working,
)
from profiler.catalog.causes import TOO_SHORT
from profiler.text import counted, whole_percent, without_capital

_SHORT_NS = 10_000.0  # starting takes about a third of it
_MANY_WAVES = 10.0  # with more rounds of blocks, the last one is at most a tenth of the time
_OF_LAST_BLOCKS = 0.01  # of the instructions: a block at the end of the data may leave out as many
_SHARE_EVENLY = "Share the work out evenly: split the long pieces, start them first, or let blocks take work from a counter."
_SHARE_IF_UNEVEN = f"If some do more than others, {without_capital(_SHARE_EVENLY)}"
_SPLIT = "Split the long pieces: one {} lasts for {} % of the time at least, whatever is started first."
_SHARE_LONELY = (
    "Share the turns of this loop out, as far as none needs the one before: among all threads of a block, or in a kernel of its own among all blocks. "
    "A sum can be made of parts, which shuffles and atomics add up."
)
_SHARE_LONELY_IN_TRITON = (
    "Share the turns of this loop out, as far as none needs the one before, among all programs: in a kernel of its own, for example. A sum can be made "
    "of parts, by `tl.sum` and `tl.atomic_add`."
)
_AS_MANY_BLOCKS = "Launch a multiple of {:.0f} {}, as many for each SM, or more and smaller ones."
_LONGER_WORK = "some warps work much longer than those beside them"
_EARLIER_END = "most likely, some warps end long before others, which do more or wait longer"
_LATENCY = ("long_scoreboard", "short_scoreboard", "wait", "barrier", "drain", "lg_throttle")


def detect_short_launch(evidence: Evidence) -> Iterable[Candidate]:
    """Names a launch that spends a third of its time or more on starting and ending."""
    duration = evidence.find("duration_ns")
    if duration and duration < _SHORT_NS:
        start = (
            f", and starting and ending any launch takes about {START_NS / 1000:.0f} us"
            if duration > START_NS
            else ", about as long as one that does nothing"
        )
        yield Candidate(
            TOO_SHORT,
            f"The launch takes {duration / 1000:.1f} us{start}.",
            "Do more in one launch: batch the work, fuse it with the kernels before and after, or replay a CUDA graph.",
            evidence={"duration_ns": duration, "start_ns": START_NS},
            saves=min(1.0, START_NS / duration),
        )


def detect_small_grid(evidence: Evidence) -> Iterable[Candidate]:
    """Names a grid of fewer blocks than the GPU holds at once: some SMs have no block, or too few warps to hide waiting.

    Many of the launched blocks may have no work. Then there are two remedies: to launch more blocks, up to one for each SM, or to share the
    work out among those that are launched. The advice is the one that makes the kernel faster by the larger factor.
    Where each iteration of a loop needs the one before, more blocks help only if a thread computes several independent chains of
    iterations: each block can take some of the chains. Each chain still waits for its own loads, so only the arithmetic on the other
    chains is saved.
    """
    blocks, sms, waves = count_working_blocks(evidence), evidence.find("sms"), count_waves(evidence)
    if not blocks or not sms or not waves or waves >= 1.0:
        return
    chains = count_chains(evidence) if follows_itself(evidence) else math.inf
    of_others = 1 - 1 / chains
    if chains < math.inf:
        of_others *= 1 - evidence.model.life_share("long_scoreboard")
    if not of_others:
        return
    launched = count_blocks(evidence)
    at_once = count_at_once(evidence)
    shares_most = launched / blocks >= sms / launched
    advice, in_triton = advise_more_blocks(evidence, chains, blocks < launched and shares_most)
    idle = max(0.0, 1 - blocks / sms)
    latency = evidence.model.wait_share(NO_WARP, UNNAMED, *_LATENCY) * (1 - waves)
    # If most blocks have no work, the way that work is shared out is wrong. If fewer have none, their number is the main problem.
    is_for_few = chains == math.inf and 2 * blocks < launched and shares_most
    # At best, the work of the few blocks is shared out among all that were launched: it then takes this much less time.
    spread = 1 - blocks / launched
    empty = (idle, "the SMs have nothing to do") if idle > latency else (1 - waves, "their places are empty")
    yield Candidate(
        "load-imbalance" if is_for_few else "grid-too-small",
        f"{_named_blocks(evidence)} for {sms:.0f} SMs, which hold {at_once:,.0f} at once: {whole_percent(100 * empty[0])} % of {empty[1]}.",
        advice,
        weights=_busiest_code(evidence),
        evidence={
            "blocks": blocks,
            "waves": waves,
            "sms": sms,
            "blocks_at_once": at_once,
            "idle_sms_pct": 100 * idle,
            "empty_places_pct": 100 * (1 - waves),
        },
        # This part of the time depends on the grid: starting and ending a launch takes as long with any grid.
        saves=(1 - evidence.model.starting)
        * min(max(idle, latency), of_others, spread if is_for_few else 1.0)
        * (1 - _served_alone(evidence)),
        blames_lines=is_for_few,
        in_triton=in_triton,
    )


def _served_alone(evidence: Evidence) -> float:
    """Returns the part of a warp's time for which atomics on one address are served one after the other, from however many SMs they come.

    An atomic that has to be repeated came after another one. In shared memory, that can only be one of the same block, so those
    do not count.
    """
    atomics = evidence.of("atomic")
    repeated = [site for loop in evidence.loops_around(atomics) for site in evidence.inside(loop)]
    served = evidence.retried.intersection(repeated).union(atomics if evidence.atomics_are_contended else ())
    return replace(evidence, retried=frozenset()).time_of(served) if served else 0.0


def detect_last_wave(evidence: Evidence) -> Iterable[Candidate]:
    """Names a last round of blocks that leaves places empty."""
    waves, idle = count_waves(evidence), _idle_in_last_round(evidence)
    if waves and idle > 0:
        filling = "The grid fills" if part_working(evidence) == 1 else "The blocks that have work fill"
        last = 100 * (waves - math.floor(waves))
        full = f"so that the rounds are full: {count_at_once(evidence):,.0f} fit at once"
        yield Candidate(
            "uneven-last-wave",
            f"{filling} the GPU {waves:.2f} times: in the last round, {whole_percent(last)} % of the places have a block.",
            f"Choose the work of a block {full}. Or launch blocks for {counted(math.floor(waves), 'full round')}, and share all the work among them "
            "in small pieces.",
            weights=_busiest_code(evidence),
            evidence={"waves": waves, "last_round_pct": last},
            saves=find_unfilled(evidence),
            at_most=idle,
            in_triton=f"Choose the work of a program {full}, with these `num_warps`. Or launch one full round of programs that loop over tiles, if each "
            "then has many.",
        )


def find_unfilled(evidence: Evidence) -> float:
    """Returns the part of the time that is lost because the last round of blocks leaves places empty."""
    # If blocks end soon, warps are missing in all of many rounds, because new blocks come too slowly.
    if _is_short_lived(evidence):
        return 0.0
    # If blocks end at different times and others follow at once, an uneven last round costs less: fewer warps are missing.
    # However blocks share the work out, the busiest resource has as much of it. The occupancy counts only SMs that have a block.
    # How long others have none, their active cycles show.
    resting = _below_most(evidence, "l1tex__cycles_active") or 0.0
    return min(
        _idle_in_last_round(evidence), max(find_missing_warps(evidence), resting), evidence.model.exposed
    )


def _idle_in_last_round(evidence: Evidence) -> float:
    """Returns the places that the last round of blocks leaves empty, as a part of the places of all rounds.

    It is 0 for a grid of one round, or of an unknown number of rounds.
    """
    waves = count_waves(evidence)
    return 1 - waves / math.ceil(waves) if waves > 1.0 and not may_be_fewer(evidence) else 0.0


def detect_imbalance(evidence: Evidence) -> Iterable[Candidate]:
    """Names work that keeps some SMs, or some warps, busy for longer than the others."""
    between, active, of_active = _busy_unevenly(evidence)
    missing = 0.0 if _is_short_lived(evidence) else find_missing_warps(evidence)
    blocks, sms = count_working_blocks(evidence), evidence.find("sms") or 1.0
    no_block = _idle_in_last_round(evidence) or max(0.0, 1 - blocks / sms)
    # If one warp works while the others of its block are missing, idle-lanes says how to share its work out.
    unexplained = max(0.0, missing * (1.0 - sum(find_lone_warps(evidence).values())) - no_block)
    # While the GPU launches blocks as fast as it can, places are empty because it cannot fill more.
    unexplained *= 1.0 - evidence.model.warp_slots.launching
    of_sms, of_warps = between - no_block, unexplained * evidence.model.wait_share(NO_WARP, *_LATENCY)
    if not may_work_differently(evidence):
        of_warps = 0.0
    saves = max(of_sms, of_warps)
    if saves <= 0:
        return
    uneven = _find_uneven_loops(evidence)
    lonely = find_lonely_loops(evidence) if of_sms >= of_warps else {}
    if of_warps > of_sms:
        held = whole_percent(100 * (1 - missing))
        sentence = f"On average, an SM holds {held} % of the warps that fit: {_LONGER_WORK if uneven else _EARLIER_END}."
        advice, in_triton = _advise_on_lengths(evidence, uneven) if uneven else (_SHARE_IF_UNEVEN, "")
    elif _differ_by_a_block(evidence):
        sentence = f"{of_active}: some have a block more than others."
        advice, in_triton = (_AS_MANY_BLOCKS.format(sms, what) for what in ("blocks", "programs"))
    elif lonely:
        most = max(lonely.values())
        sentence = f"{of_active}: in a loop that few warps enter, each of them executes {most:,.0f} times as much as a warp does on average."
        advice, in_triton = _SHARE_LONELY, _SHARE_LONELY_IN_TRITON
    else:
        sentence = f"{of_active}: some blocks take longer than the rest."
        advice, in_triton = _advise_on_lengths(
            evidence, uneven, of_sms, active.get("sm_active_least_pct", 100.0)
        )
    yield Candidate(
        "load-imbalance",
        sentence,
        advice,
        weights=evidence.weigh(lonely) or uneven or _busiest_code(evidence),
        evidence={**active, "resident_warps_pct": 100 * (1 - missing)},
        saves=saves,
        blames_lines=bool(lonely or uneven),
        in_triton=in_triton,
    )


def _advise_on_lengths(
    evidence: Evidence, uneven: Mapping[Site, float], lost: float = 0.0, least: float = 100.0
) -> tuple[str, str]:
    """Returns what to do about work that takes longer than the rest, and the same in words of Triton if they differ.

    An SM idles once no block is left to start, so blocks that still run then began before. To start long blocks first saves at
    most the percentage of the time in which all SMs are active, the `least`. If more is `lost`, only splitting helps. In a single
    round, each block may take many pieces, so this says nothing about the pieces.
    """
    if _are_left_early(evidence, uneven):
        return f"{SHARE_TURNS} Split a list that is still longer than the others.", ""
    if count_waves(evidence) > 1 and 100 * lost > least:
        lasts = whole_percent(100 - least)
        return _SPLIT.format("block", lasts), _SPLIT.format("program", lasts)
    return _SHARE_EVENLY, ""


def _busy_unevenly(evidence: Evidence) -> tuple[float, dict[str, float], str]:
    """Returns the part of the time for which SMs are idle compared to the busiest one, with the figures that show it and a sentence on them."""
    least, mean, most = (evidence.find(f"l1tex__cycles_active.{which}") for which in ("min", "avg", "max"))
    if least is None or not mean or not most:
        # How long schedulers have no warp, beyond the time that any launch takes to start.
        starting = START_NS / (evidence.find("duration_ns") or START_NS)
        empty = 0.0 if _is_short_lived(evidence) else max(0.0, evidence.model.wait_share(NO_WARP) - starting)
        return (
            empty,
            {"scheduler_empty_pct": 100 * empty},
            f"For {whole_percent(100 * empty)} % of the time a scheduler has no warp",
        )
    between = 1 - mean / most
    # If all SMs execute as much, an SM took longer because it was given one block more, and next time, another SM will be. That
    # explains the time of one round of blocks, and no more: a single long block may execute little in a long time.
    more_work, a_round = _below_most(evidence, "smsp__inst_executed"), 1 / max(1.0, count_waves(evidence))
    if more_work is not None:
        between = max(min(between, more_work), between - a_round)
    active = {"sm_active_least_pct": 100 * least / most, "sm_active_mean_pct": 100 * mean / most}
    # SMs that never have a block are idle because blocks are too few.
    if 0 < (blocks := count_working_blocks(evidence)) < (sms := evidence.find("sms") or 1.0):
        having = 100 * min(1.0, mean / most * sms / blocks)
        sentence = f"SMs with a block are active for {whole_percent(having)} % of the time of the busiest one, on average"
        return between, active | {"sm_with_block_active_mean_pct": having}, sentence
    at_least, on_average = (whole_percent(percent) for percent in active.values())
    return (
        between,
        active,
        f"SMs are active for {at_least} % at least, and {on_average} % on average, of the time of the busiest one",
    )


def _differ_by_a_block(evidence: Evidence) -> bool:
    """Returns whether SMs execute more than others just as far as they have more blocks: then all blocks execute as much."""
    more_work, lacking = _below_most(evidence, "smsp__inst_executed"), _lacking_a_block(evidence)
    return lacking > 0 and more_work is not None and abs(more_work - lacking) <= _OF_LAST_BLOCKS


def _lacking_a_block(evidence: Evidence) -> float:
    """Returns the part of the time for which some SMs have a block less than others, if all blocks run at once and take equally long."""
    blocks, sms = count_working_blocks(evidence), evidence.find("sms") or 1.0
    return (
        1 - blocks / (sms * math.ceil(blocks / sms)) if sms < blocks and count_waves(evidence) <= 1.0 else 0.0
    )


def _is_short_lived(evidence: Evidence) -> bool:
    """Returns whether blocks are so many and so short that warps are missing because new blocks come too slowly.

    A warp that executes no instruction twice ends soon; one that loops makes up for its start.
    """
    warps, waves = _warps(evidence), evidence.find("waves") or 0.0
    return bool(warps) and waves >= _MANY_WAVES and evidence.executed <= warps * len(evidence.sites)


def _below_most(evidence: Evidence, counter: str) -> float | None:
    """Returns how far the mean of what SMs, or their schedulers, counted is below the most, if it was recorded."""
    mean, most = (evidence.find(f"{counter}.{which}") for which in ("avg", "max"))
    return max(0.0, 1 - mean / most) if mean and most else None


def _busiest_code(evidence: Evidence) -> dict[Site, float]:
    """Returns where warps are most of the time: the work that is to be shared out."""
    return {site: evidence.charged[site].total for site in evidence.sites}


def _find_uneven_loops(evidence: Evidence) -> dict[Site, float]:
    """Returns how long warps are in innermost loops whose number of iterations depends on data, if that is most of the time; else nothing.

    Some warps are then busy for longer because they make more iterations. In other code, blocks need not differ where it is
    hottest.
    """
    if not evidence.has_samples:
        return {}
    # A warp alone in its SM is ready most of the time, and figures of waiting do not count that.
    times = {site: float(site.instruction.samples or 0) for site in evidence.sites}
    found: dict[Site, float] = {}
    for loop in evidence.loops_around(evidence.sites):
        inside = [site for site in evidence.inside(loop) if evidence.innermost_loop(site) is loop]
        if is_decided_by_loads(evidence, inside[-1]):
            found |= {site: times[site] for site in inside}
    return found if 2 * sum(found.values()) > sum(times.values()) else {}


def _are_left_early(evidence: Evidence, uneven: Mapping[Site, float]) -> bool:
    """Returns whether most of this time is in loops that some lanes leave before others of their warp. What evens out their iterations helps both."""
    early = sum(time for site, time in uneven.items() if is_left_early(evidence, site))
    return 2 * early > sum(uneven.values())


def _named_blocks(evidence: Evidence) -> str:
    blocks, working = count_blocks(evidence), count_working_blocks(evidence)
    named = "1 block" if blocks == 1 else f"{blocks:,.0f} blocks"
    if working == blocks:
        return named
    return f"{'At most ' * may_be_fewer(evidence)}{working:,.0f} of {named} {'has' if working == 1 else 'have'} work,"


def _warps(evidence: Evidence) -> float:
    return float(evidence.shape.warps) if evidence.shape else 0.0
