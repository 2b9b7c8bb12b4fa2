"""Detects causes in the accesses to shared memory: passes that collide, and loads that a larger tile would save."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from profiler.analyse.causes.detectors.candidate import Candidate
from profiler.analyse.causes.detectors.global_memory.redundant_stores import part_overwritten
from profiler.analyse.causes.detectors.launch.grid import count_working_blocks
from profiler.analyse.causes.evidence.charging import find_cost_in_queue
from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.latency import Effect
from profiler.analyse.causes.evidence.sites import ACCESSES, COPIES_TO_SHARED, FENCES, Kind, Site
from profiler.analyse.causes.evidence.tensor_work import count_uses
from profiler.analyse.causes.flow.addresses import address_of, base_of
from profiler.analyse.causes.flow.dataflow import (
    choosers_of,
    find_processing,
    has_fixed_address,
    makers_of_value,
    reach,
    sources_of,
)
from profiler.analyse.causes.flow.pairings import FMAS, count_pairs
from profiler.analyse.causes.flow.staging import feeds_shared_memory
from profiler.catalog.metrics import LANES

# The next steps from one result a thread, in multiply-adds for each load: eight results in a column take three loads (one value,
# and eight of 16 bytes at once) for eight; tiles of 8 x 8 take four for 64 and, with those that stage them, reach 6.4 in
# rung 5 of the GEMM ladder. A column, which takes few registers, is worth it where it makes at least half as much again of each load, and
# a tile where it makes twice as much.
_COLUMN, _TILE = 8 / 3, 6.4
_WORTH_A_COLUMN, _WORTH_A_TILE = 1.5, 2.0
# Loads of several values along the sum are wide already: eight results in a column take nine values for eight.
_COLUMN_OF_A_WORD = 8 / 9
# Wide loads feed more multiply-adds each, but take more passes: one a cycle, in which an SM multiplies and adds for four warps. A tile of
# 8 x 8 has that many for each pass, 64 for four loads of 16 bytes.
_FED_BY_A_PASS = 4.0
# In a tile of M x N results, each staged value takes part in M N / (M + N) multiply-adds on average: 64 in one of 128 x 128, the largest
# whose results four warps hold in half of their registers. Where the copies are not counted, twice the tile is assumed to fit.
_USES_IN_A_LARGE_TILE = 128 * 128 / (128 + 128)
_OF_TWICE_THE_TILE = 1 / 2
# A product loads at most two values for each multiply-add; other code, with fewer, multiplies only in passing.
_USES_OF_A_PRODUCT = 0.5
_OF_A_TURN: tuple[Kind, ...] = ("integer", "control", "barrier", "other")
_FACTORS = 2
_BANK_BYTES = 4
_WORD_BITS = 32
_FRAGMENT_BYTES = 16  # `load_matrix_sync` needs leading dimensions that are multiples of it, and LDSM needs rows that start at one
_WAITS = ("short_scoreboard", "mio_throttle")
_MEETINGS = ("WARPSYNC", *FENCES, "CALL")  # after which other threads may read what was stored
# A trip through shared memory loads each value once; counts of a stencil, a scan or a tree are two and more. With four turns, there
# are two that can be joined, twice. Up to two operations on a value take less than its trip: an address, a load and a store.
_LOADS_OF_A_TRIP, _TURNS_TO_JOIN, _ARITHMETIC_OF_A_TRIP = 1.5, 4, 2.0


def detect_bank_conflicts(evidence: Evidence) -> Iterable[Candidate]:
    """Names accesses to shared memory that take more passes than their bytes need."""
    sites = {site: ways for site in evidence.of("shared load", "shared store") if (ways := _ways(site)) > 1.0}
    fractions = {site: 1 - 1 / ways for site, ways in sites.items()}
    if not fractions:
        return
    weights = {site: part * (site.passes or 0.0) for site, part in fractions.items()}
    worst = _worst(weights)
    # Where whole warps are kept from the access, those that make it need one pass at least.
    needed = max(1.0, (worst.ideal_passes or 0.0) / worst.executed)
    # Requests are served in order, so that whatever waits in the queue waits for the passes of all before it. The load that is waited
    # for is often a later one.
    behind = _part_of_queue(evidence, fractions)
    waits = {reason: max(part, behind) for reason, part in evidence.waiting_for(fractions, *_WAITS).items()}
    yield Candidate(
        "bank-conflicts",
        f"{worst.opcode} makes {needed * sites[worst]:.3g} passes through shared memory where {_passes_text(needed)} would do: its lanes "
        "meet in the same banks.",
        f"{_row_length(evidence, worst)}; or let neighbouring lanes access neighbouring words, or exchange bits of the index (swizzle), so that the "
        "lanes of a warp fall into different banks.",
        Effect({"l1": evidence.part_of_l1(fractions)}, lighter=waits),
        weights,
        {"passes_per_needed": sites[worst]},
        regrouped=evidence.without_idle_lanes(),
    )


def _part_of_queue(evidence: Evidence, fractions: Mapping[Site, float]) -> float:
    """Returns the part of the work of the queue to shared memory that goes with these parts of the sites."""
    whole = sum(map(find_cost_in_queue, evidence.sites))
    return sum(part * find_cost_in_queue(site) for site, part in fractions.items()) / whole if whole else 0.0


def _passes_text(passes: float) -> str:
    return "one" if passes == 1 else f"{passes:.3g}"


def _worst(weights: Mapping[Site, float]) -> Site:
    """Returns the access that costs most among those of the line that costs most, which is the first that is named."""
    lines: dict[object, float] = {}
    for site, weight in weights.items():
        line = site.instruction.place or site
        lines[line] = lines.get(line, 0.0) + weight
    return max(weights, key=lambda site: (lines[site.instruction.place or site], weights[site]))


def _row_length(evidence: Evidence, worst: Site) -> str:
    """Returns the advice on a row length that keeps the lanes of the worst access in different banks, and every access aligned.

    Eight lanes of 16 bytes, or sixteen of 8, use all banks once: they do not collide if rows are odd
    multiples of that width. Rows of fewer threads than a warp has share the banks out, if it is only rows that collide:
    with more passes than rows, the threads of one row do.
    """
    accesses = evidence.of("shared load", "shared store")
    fragments = evidence.of("tensor") or any(site.opcode.startswith(("LDSM", "STSM")) for site in accesses)
    width = _FRAGMENT_BYTES if fragments else worst.width // 8
    if width > _BANK_BYTES:
        return (
            f"Choose a row length that is an odd multiple of {width} bytes, which keeps accesses of this width aligned"
            + ("" if fragments else " (one word more is enough where the code asks for single words)")
        )
    threads = evidence.shape.block[0] if evidence.shape else LANES
    if threads < LANES and LANES % threads == 0 and _ways(worst) <= LANES / threads:
        return (
            f"Choose a row length for which the {LANES // threads} rows of {threads} threads in a warp start {threads} banks apart "
            f"({threads} words more than a multiple of {LANES}, where neighbours access neighbouring words)"
        )
    widest = max(site.width // 8 for site in accesses)
    aligned = (
        f", or by {widest} bytes where accesses of that width have to stay aligned"
        if widest > _BANK_BYTES
        else ""
    )
    return f"Pad the rows of the array by one word (an array without rows by a word after every {LANES}){aligned}"


def detect_too_little_reuse(evidence: Evidence) -> Iterable[Candidate]:
    """Names shared loads, or staged tiles, that feed little arithmetic each."""
    pairs = count_pairs(evidence)
    used = _find_used(evidence, pairs)
    loads = [site for site in evidence.of("shared load") if site in used]
    loads = [site for site in loads if evidence.innermost_loop(site)] or loads  # a loop may be unrolled whole
    stretches = {evidence.innermost_loop(site) for site in loads}
    adding = [site for site in evidence.of("fp32") if evidence.innermost_loop(site) in stretches]
    fmas = sum(site.executed * FMAS.get(site.instruction.name, 0) for site in adding)
    paired = sum(site.executed * count for site, count in pairs.items())
    count = sum(site.executed for site in loads)
    if count and (fmas + paired) / count >= _USES_OF_A_PRODUCT:
        each = (fmas + paired) / count
        passes = sum(site.ideal_passes or 0.0 for site in loads)
        words = sum(site.executed * site.width / _WORD_BITS for site in loads) / count
        part = _part_of_larger_tile(each, words, (fmas + paired) / passes if passes else _FED_BY_A_PASS)
        is_product = paired > fmas or _is_product(evidence, adding)
        yield Candidate(
            "too-little-reuse",
            f"Each load from shared memory feeds {each:.1f} {'pairs of values' if paired > fmas else 'multiply-adds'} a thread"
            + ("; with a tile of 8 x 8 results a thread, each feeds 16." if is_product else "."),
            "Let each thread compute a larger tile of results in registers, and load 16 bytes at once."
            if is_product
            else "Let each thread compute several results in registers from each value that it loads (such as neighbours of a filter, whose "
            "windows overlap), and load 16 bytes at once.",
            evidence.without(dict.fromkeys([*loads, *_of_any_tile(evidence, loads)], part)),
            {site: site.executed for site in loads},
            {"pairs_per_shared_load" if paired > fmas else "fmas_per_shared_load": each},
        )
    yield from _find_small_tiles(evidence)


def _part_of_larger_tile(of_a_load: float, words: float, of_a_pass: float) -> float:
    """Returns the part of the loads that the next larger tile of results spares.

    That follows from the multiply-adds that each load, of so many words, and each of its passes feed.
    """
    column = max(_COLUMN, words * _COLUMN_OF_A_WORD)
    if column >= _WORTH_A_COLUMN * of_a_load:
        return 1 - of_a_load / column
    tiles = ((of_a_load, _TILE), (of_a_pass, _FED_BY_A_PASS))
    return next((1 - each / tile for each, tile in tiles if tile >= _WORTH_A_TILE * each), 0.0)


def _is_product(evidence: Evidence, adding: Iterable[Site]) -> bool:
    """Returns whether most multiply-adds multiply two values from shared memory, as a matrix product does and a filter does not."""
    fmas = [site for site in adding if site.instruction.name in FMAS]
    of_two = [
        site
        for site in fmas
        if sum(one.kind == "shared load" for one in sources_of(evidence, site)) >= _FACTORS
    ]
    return 2 * sum(site.executed for site in of_two) >= sum(site.executed for site in fmas)


def _find_used(evidence: Evidence, pairs: Iterable[Site]) -> set[Site]:
    """Returns the loads from shared memory whose values take part in multiply-adds or pairs, also through other arithmetic, such as a difference.

    Each thread loads as much of everything else, such as bounds or where a tile begins, however large its tile of results is.
    """
    fmas = [site for site in evidence.of("fp32") if site.instruction.name in FMAS]
    values = reach([*fmas, *pairs], lambda site: () if site.kind in ACCESSES else sources_of(evidence, site))
    return {site for site in values if site.kind == "shared load"}


def _find_small_tiles(evidence: Evidence) -> Iterable[Candidate]:
    """Yields tiles for the tensor cores that use each staged value seldom."""
    tensor = evidence.of("tensor")
    if not tensor:
        return
    staged = [
        site
        for site in evidence.of("global load")
        if feeds_shared_memory(evidence, site) and evidence.innermost_loop(site)
    ]
    if not staged or _has_few_rows(evidence):
        return
    stores = [site for site in evidence.of("shared store") if evidence.innermost_loop(site)]
    uses = count_uses(tensor, staged)
    # A larger tile takes fewer loads for each result. Warps then hold larger parts of it, and use the values that
    # they load from shared memory for `mma.sync` as much more often; `wgmma` reads them from there itself.
    wanted = _USES_IN_A_LARGE_TILE / uses if uses else 1 / (1 - _OF_TWICE_THE_TILE)
    part = 1 - 1 / min(wanted, _most_growth(evidence))
    if part <= 0:
        return
    loads = [site for site in evidence.of("shared load") if evidence.innermost_loop(site)]
    moving = dict.fromkeys([*staged, *stores, *loads, *_of_any_tile(evidence, staged)], part)
    fewer = evidence.without(moving | dict.fromkeys([one for one in tensor if one.passes], part))
    busy = 100 * evidence.model.busy.get("tensor", 0.0)
    each = (
        f"each staged value is multiplied {uses:.0f} times, where it would be {_USES_IN_A_LARGE_TILE:.0f} times in a tile of 128 x 128 results"
        if uses
        else "tiles are loaded and staged for them"
    )
    yield Candidate(
        "too-little-reuse",
        f"The tensor cores are used {busy:.0f} % of the time, while {each}.",
        "Let a block compute a larger tile (such as 128 x 128), so that each staged value is multiplied more often.",
        # The arithmetic stays, and so do the meetings of the warps that execute it.
        Effect(
            {**fewer.resources, "tensor": 0.0}, {**fewer.waits, **evidence.waiting_for(moving, "barrier")}
        ),
        {site: evidence.charged[site].total or site.executed for site in [*staged, *stores]},
        {"tensor_pct": busy} | ({"uses_per_staged_value": uses} if uses else {}),
    )


def _has_few_rows(evidence: Evidence) -> bool:
    """Returns whether of a tile that stays for the whole loop, half is there at most: no more rows exist for what the loop loads.

    So where a few queries are padded to the 16 rows that tensor cores take. Copies before a loop may be those of its first turns.
    """
    return any(
        1 <= (LANES if site.acting is None else site.acting) <= LANES / 2
        for site in evidence.of("global load")
        if site.instruction.predicate
        and site.instruction.name not in COPIES_TO_SHARED
        and not evidence.innermost_loop(site)
        and feeds_shared_memory(evidence, site)
    )


def _most_growth(evidence: Evidence) -> float:
    """Returns how many times as high and wide a tile may become before some SMs have none: fewer SMs then load as much in all.

    A block that stores in a loop computes several tiles, and their number is not known.
    """
    sms = evidence.find("launch__sm_count")
    if not sms or evidence.shape is None or any(map(evidence.innermost_loop, evidence.of("global store"))):
        return math.inf
    return math.sqrt(count_working_blocks(evidence) / sms)


def _of_any_tile(evidence: Evidence, loads: Sequence[Site]) -> list[Site]:
    """Returns what a turn of the loops with these loads does besides, however large the tile is: with larger ones, turns are fewer.

    It computes addresses, counts turns and meets at barriers. Arithmetic with the results is as much for any tile, and so is what it takes,
    and what decides on each result, such as whether a mask hides it.
    """
    inside = [site for loop in evidence.loops_around(loads) for site in evidence.inside(loop)]
    of_results = reach(find_processing(evidence) & set(inside), lambda site: _deciding(evidence, site))
    return [site for site in inside if site.kind in _OF_A_TURN and site not in of_results]


def _deciding(evidence: Evidence, site: Site) -> list[Site]:
    """Returns what computes the operands of an instruction, and whether it is executed; of an access, nothing."""
    if site.kind in ACCESSES:
        return []
    return [*sources_of(evidence, site), *choosers_of(evidence, site)]


def detect_redundant_shared(evidence: Evidence) -> Iterable[Candidate]:
    """Names loads whose address does not change in the loop: of the thread's own value, or of one that never changes."""
    fixed = {
        site: part for site in evidence.of("shared load") if (part := has_fixed_address(evidence, site)) > 0
    }
    stores = [(evidence.innermost_loop(site), address_of(site)) for site in evidence.of("shared store")]
    # A thread that stores in several places writes those of others too, and they write its own.
    alone = {loop for loop, _ in stores if len({place for one, place in stores if one is loop}) == 1}
    own = {
        site: part
        for site, part in fixed.items()
        if (loop := evidence.innermost_loop(site)) in alone and (loop, address_of(site)) in stores
    }
    # Copies that need no registers store in shared memory too, although their kind is a load.
    writing = evidence.loops_around(site for site in evidence.sites if site.stores_in_shared)
    same = {site: part for site, part in fixed.items() if evidence.innermost_loop(site) not in writing}
    carried = bool(own)
    if loads := own or same:
        yield Candidate(
            "redundant-shared-accesses",
            "In every iteration, a loop loads what the same thread stored in shared memory in the iteration before."
            if carried
            else "A loop loads the same place in shared memory in every iteration.",
            "Keep the value in a register while the loop runs.",
            evidence.without(loads),
            {site: site.executed for site in loads},
        )
    yield from _find_overwritten(evidence)
    yield from _find_round_trips(evidence)


def _find_overwritten(evidence: Evidence) -> Iterable[Candidate]:
    """Yields stores that a loop repeats to the same place, if it neither meets other threads nor loads from places that do not change."""
    alone = [
        loop
        for loop in evidence.loops_around(evidence.of("shared store"))
        if not any(
            one.kind == "barrier"
            or one.instruction.name in _MEETINGS
            or (one.kind == "shared load" and has_fixed_address(evidence, one) > 0)
            for one in evidence.inside(loop)
        )
    ]
    repeated = {
        site: part
        for site in evidence.of("shared store")
        if evidence.innermost_loop(site) in alone and (part := part_overwritten(evidence, site)) > 0
    }
    if repeated:
        yield Candidate(
            "redundant-shared-accesses",
            "A loop stores to the same place in shared memory in each of its turns: only what the last one stores remains.",
            "Keep the value in a register while the loop runs, and store it once, after the loop.",
            evidence.without(repeated),
            {site: site.executed for site in repeated},
        )


def _find_round_trips(evidence: Evidence) -> Iterable[Candidate]:
    """Yields loops in which all values go to shared memory and back between two barriers, for little arithmetic.

    Two turns at once, on twice as many values in each thread's registers, take half of the trips, with their addresses and barriers.
    """
    loops = {evidence.innermost_loop(site): site for site in evidence.of("barrier")}
    computing = find_processing(evidence)
    for loop, barrier in loops.items():
        if loop is None or (turns := evidence.turns(barrier, loop)) < _TURNS_TO_JOIN:
            continue
        inside = evidence.inside(loop)
        loads, stores = (
            [site for site in inside if site.kind == kind] for kind in ("shared load", "shared store")
        )
        if not _are_round_trips(evidence, loads, stores, inside):
            continue
        processing = sum(site.executed for site in inside if site in computing)
        per_store = processing / sum(site.executed for site in stores)
        if per_store > _ARITHMETIC_OF_A_TRIP:
            continue
        yield Candidate(
            "redundant-shared-accesses",
            f"In each of {turns:.0f} turns of a loop, every value goes to shared memory and back for "
            f"{per_store:.1f} operations.",
            "Do two turns at once, on twice as many values in the registers of each thread (such as butterflies of radix 4), or let "
            "turns inside a warp exchange values by `__shfl_xor_sync`.",
            _with_half_the_trips(evidence, [site for site in inside if site not in computing]),
            {site: site.executed for site in (*loads, *stores)},
            {"operations_per_trip": per_store},
        )


def _are_round_trips(
    evidence: Evidence, loads: Sequence[Site], stores: Sequence[Site], inside: Sequence[Site]
) -> bool:
    """Returns whether all that a loop stores was in shared memory before, and comes back to other threads with every turn.

    Partners at a distance that changes meet in groups of four. At one that does not, each has another partner in every turn.
    """
    read, written = (sum(site.executed for site in sites) for sites in (loads, stores))
    if not stores or read > _LOADS_OF_A_TRIP * written or len({base_of(site) for site in loads}) == 1:
        return False
    return all(_was_in_shared(evidence, site, inside) for site in stores)


def _with_half_the_trips(evidence: Evidence, sites: Sequence[Site]) -> Effect:
    """Returns the effect of executing these sites half as often.

    Each thread then makes twice as many accesses in a row, which queue behind each other: the waiting for them stays. The values lie
    twice as far from those of its neighbours. Where lanes meet in the same banks, twice as many do, so that the passes for that stay.
    """
    fewer = evidence.without(dict.fromkeys(sites, 1 / 2))
    apart = {site: 1 / 2 / _ways(site) for site in sites}
    waits = {reason: part for reason, part in fewer.waits.items() if reason not in _WAITS}
    return Effect({**fewer.resources, "l1": evidence.part_of_l1(apart)}, waits)


def _was_in_shared(evidence: Evidence, store: Site, inside: Sequence[Site]) -> bool:
    """Returns whether arithmetic of this loop makes what is stored from what the loop loads from shared memory."""
    within = set(inside)
    makers = reach(
        within.intersection(makers_of_value(evidence, store)),
        lambda site: () if site.kind in ACCESSES else within.intersection(sources_of(evidence, site)),
    )
    return any(site.kind == "shared load" for site in makers)


def _ways(site: Site) -> float:
    """Returns the number of passes for each pass that is needed."""
    return site.passes / site.ideal_passes if site.passes and site.ideal_passes else 1.0
