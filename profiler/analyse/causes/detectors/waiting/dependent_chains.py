"""Detects chains: loads whose address comes from the load before, and arithmetic that waits for the result before."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from profiler.analyse.causes.detectors.candidate import FOUR_CHAINS, Candidate
from profiler.analyse.causes.detectors.waiting.instruction_cache import fits_instruction_cache
from profiler.analyse.causes.evidence.blocks_of_sm import MOST_REGISTERS
from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.latency import NO_INSTRUCTION, Effect
from profiler.analyse.causes.evidence.sites import Site
from profiler.analyse.causes.flow.dataflow import address_registers
from profiler.analyse.causes.flow.loop_carried import is_carried
from profiler.analyse.causes.flow.possible_writers import makers_on_all_paths
from profiler.text import whole_percent

# Cycles after which arithmetic has its result (see `candidate.py`), in which as many other instructions can issue.
_LATENCY = 4
_LIST = (
    "Each of these loads takes its address from the one before it",
    "Follow several chains in each thread, or store the data so that addresses are known ahead (an array instead of a list).",
)
_SEARCH = (
    "Where each of these loads goes is decided by a comparison of what the one before it has found",
    "Make several searches in each thread, side by side, or compare with several keys in each step, which lie side by side in memory: then there are "
    "fewer steps.",
)


def detect_dependent_chain(evidence: Evidence) -> Iterable[Candidate]:
    """Names loads whose address comes from the load before; without any, arithmetic that waits for the result before."""
    chased = [site for site in evidence.of("global load", "shared load") if is_carried(evidence, site)]
    waiting = 100 * evidence.time_of(chased, "long_scoreboard", "short_scoreboard")
    if waiting:
        searching = [site for site in chased if not _follows_list(evidence, site)]
        is_search = 200 * evidence.time_of(searching, "long_scoreboard", "short_scoreboard") > waiting
        what, advice = _SEARCH if is_search else _LIST
        yield Candidate(
            "dependent-chain",
            f"{what}; warps spend {whole_percent(waiting)} % of their time waiting for them.",
            advice,
            Effect(
                waits=evidence.waiting_for(
                    dict.fromkeys(chased, FOUR_CHAINS), "long_scoreboard", "short_scoreboard"
                )
            ),
            {site: evidence.charged[site].total for site in chased},
            {"waiting_pct": waiting},
        )
        return
    # If one set of values takes over half of the registers of a thread, there is no room for a second one beside it.
    if (evidence.find("registers") or 0.0) > MOST_REGISTERS / 2:
        return
    results = evidence.of("fp32", "fp64", "special", "integer", "tensor", "conversion")
    following = _waiting_for_results(evidence, results)
    waiting = 100 * (evidence.time_of(following, "wait") + evidence.time_of(results, "short_scoreboard"))
    if waiting:
        yield Candidate(
            "dependent-chain",
            f"Warps spend {whole_percent(waiting)} % of their time waiting for the result of the instruction before.",
            "Let each thread work on several independent values (such as four sums, or four elements at once), so that their latencies overlap.",
            Effect(waits=_side_by_side(evidence, results, following)),
            {site: evidence.charged[site]["wait"] for site in following},
            {"waiting_pct": waiting},
        )


def _follows_list(evidence: Evidence, load: Site) -> bool:
    """Returns whether a load's address is computed from what the load has brought in another iteration, and not only chosen by a comparison of that."""
    made = makers_on_all_paths(evidence, load, address_registers(load.instruction))
    return load in made


def _waiting_for_results(evidence: Evidence, results: Iterable[Site]) -> list[Site]:
    """Returns the arithmetic whose fixed waiting time independent values would fill.

    In each loop, all arithmetic counts if most of its waiting is for a result just before; else only the instructions that read
    one. A warp also waits for a fixed time because the compiler spaces independent instructions out. If there is enough
    independent work, as in a tile of sums, most of the waiting is of that kind, and more values do not help.
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
    read = site.taken
    return any(not read.isdisjoint(one.use.results) for one in before)


def _side_by_side(evidence: Evidence, results: Sequence[Site], following: Iterable[Site]) -> dict[str, float]:
    """Returns the waiting that four chains side by side would remove: their latencies overlap, and one jump of a loop serves all four.

    After a jump, a warp waits until the jump is resolved, and for the instructions at its target. Waiting for code beyond the
    cache stays.
    """
    chained = set(results)
    loops = [inside for inside in evidence.innermost_loops() if not chained.isdisjoint(inside)]
    turned = dict.fromkeys([site for inside in loops for site in inside], FOUR_CHAINS)
    of_a_jump = ("branch_resolving", *((NO_INSTRUCTION,) if fits_instruction_cache(evidence) else ()))
    return {
        **evidence.waiting_for(turned, *of_a_jump),
        **evidence.waiting_for(dict.fromkeys(following, 1.0), "wait"),
        **evidence.waiting_for(dict.fromkeys(results, FOUR_CHAINS), "short_scoreboard"),
    }
