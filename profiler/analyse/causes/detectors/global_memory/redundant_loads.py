"""Detects loads from global memory that repeat: from an address that does not change, in later passes, and for all rows of a block."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from profiler.analyse.causes.cause import IN_A_REGISTER, NOT_AT_A_CEILING
from profiler.analyse.causes.detectors.candidate import SAME_ALONG, WORTH_A_CHANGE, Candidate
from profiler.analyse.causes.detectors.global_memory.device_memory import (
    bytes_left_for,
    part_of_device_memory,
)
from profiler.analyse.causes.detectors.global_memory.fewer_loads import (
    without_hits,
    without_loads,
)
from profiler.analyse.causes.detectors.global_memory.shared_by_blocks import (
    LARGER_BLOCKS,
    MOST_REUSE,
    OFTEN,
    find_shared_by_blocks,
)
from profiler.analyse.causes.detectors.sharing_out import use_fewer_warps
from profiler.analyse.causes.evidence.addresses import address_of, base_of
from profiler.analyse.causes.evidence.blocks_of_sm import MOST_REGISTERS
from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.latency import Effect, combine
from profiler.analyse.causes.evidence.measured_time import SOME_WAVES
from profiler.analyse.causes.evidence.sites import Kind, Site
from profiler.analyse.causes.flow.arithmetic.products_of_halves import find_products_of_halves
from profiler.analyse.causes.flow.block_sharing import (
    count_blocks_alike,
    find_block_independent,
    find_lookups_alike,
    find_single_values,
)
from profiler.analyse.causes.flow.dataflow import (
    COMPUTED,
    all_makers,
    find_address_work_of,
    makers_of_address,
)
from profiler.analyse.causes.flow.lane_values import find_differing_in_block
from profiler.analyse.causes.flow.memory.reduction_trees import find_in_trees, find_sums_for_all
from profiler.analyse.causes.flow.memory.repeated_loads import (
    find_later_passes,
    find_repeated_loads,
    find_same_in_outer_turns,
)
from profiler.analyse.causes.flow.memory.repeated_stores import is_read_past_barrier, part_overwritten
from profiler.analyse.causes.flow.memory.staging import feeds_shared_memory
from profiler.analyse.causes.flow.memory.through_memory import Passed, find_passed_through_memory
from profiler.analyse.causes.flow.same_in_turns import has_fixed_address
from profiler.analyse.code.opcodes import WORD_BITS
from profiler.text import whole_percent

# "CUDA C++ Programming Guide", "Technical Specifications per Compute Capability": the constant memory of a kernel.
_CONSTANT_BYTES = 64 * 1024
_IN_A_TILE = "Keep what is used again in registers or shared memory: let a block load a tile once, and each thread compute several results from it."
_BY_DATA = (
    "What a thread loads depends on data: keep a table that fits in shared memory, or sort the work, so that the threads of a block load the same (such "
    "as the neighbours of one cell), which the block then loads once."
)
_IN_CONSTANT_MEMORY = " Constant memory ({}, up to 64 KB) serves what all threads look up at one address at a time, such as the weights of a filter."
_WITHOUT_EXCHANGE = " Each thread then adds up results of its own, so that the block no longer exchanges sums: this estimate includes that."
# L2 may serve data again that is looked up at random places, and no tile holds those.
_BEYOND_L1 = " This estimate leaves out what several blocks load alike: a block that does the work of several would load that only once."
_MANY_REGISTERS = " That takes up to {} registers beside the {:.0f} that a thread has, of at most {}: if it spills some, let several threads share its values."
_AT_ONCE = (
    "(a sum beside the sum of squares, both of each element minus the first one of its row, so that few digits are lost; an exponential that is rescaled "
    "when the maximum grows)"
)
_KEEP = (
    "Keep what the first loop reads in registers or shared memory, such as a whole row for each block, or do in one loop what the loops do "
    f"{_AT_ONCE}."
)
_TOO_LONG = (
    f"A block reads more than it could keep: do in one loop what the loops do that only add up or compare {_AT_ONCE}. One that needs their final "
    "results, such as to divide each element by a sum, still reads again: this estimate leaves it out."
)
# What a thread does once, however many rows it computes.
_ONCE_FOR_ALL: tuple[Kind, ...] = (*COMPUTED, "global load", "fp32", "fp64")


def detect_redundant_loads(evidence: Evidence) -> Iterable[Candidate]:
    """Names loads that repeat an address, or that ask the caches for the same bytes again and again."""
    yield from _find_passes(evidence)
    yield from _find_same_in_outer_turns(evidence)
    yield from _find_passed_through_memory(evidence)
    loads = [site for site in evidence.of("global load") if not feeds_shared_memory(evidence, site)]
    yield from _find_shared_by_rows(evidence, loads)
    # A flag that is polled is loaded again on purpose.
    repeatable = [site for site in loads if ".STRONG" not in site.opcode]
    fixed = {site: share for site in repeatable if (share := has_fixed_address(evidence, site)) > 0}
    fixed |= dict.fromkeys(find_repeated_loads(evidence), 1.0)
    times = count_times_requested(evidence)
    tile = (
        _name_tile(evidence, [site for site in loads if site not in fixed], fixed, times)
        if times > OFTEN
        else None
    )
    if fixed:
        yield _name_fixed(evidence, fixed, tile)
    if tile:
        yield tile
    yield from find_shared_by_blocks(evidence, [site for site in loads if site not in fixed], times)


def _name_tile(
    evidence: Evidence, loads: Sequence[Site], fixed: Mapping[Site, float], times: float
) -> Candidate:
    """Returns the cause for loads that request each byte many `times` from the caches, although device memory delivers it once.

    Only repeated hits of L1 count: they show that the same block uses the data again, and could keep it. L2 also serves lookups
    at random places. Loads whose address does not change in a loop need a register and no tile: that is another change, with an
    estimate of its own.
    """
    by_data = _are_at_places_of_data(evidence, loads)
    is_moved = by_data and evidence.profile.language != "Triton"  # there, larger blocks make fewer loads
    repeated = without_hits(evidence, loads, 1 - 1 / min(times, MOST_REUSE), fixed, is_moved)
    exchanged = _sums_of_blocks_alike(evidence, loads)
    alone = _WITHOUT_EXCHANGE if exchanged else ""
    is_ceiling = evidence.model.l2_is_full and repeated.resources.get("l2", 0.0) < NOT_AT_A_CEILING
    shared = _BEYOND_L1 if is_ceiling else ""
    # On the way to a tile, products of halves may move to tensor cores, and threads with results of their own add nothing up with others.
    on_the_way = find_products_of_halves(evidence) | find_in_trees(evidence)
    table = evidence.words.constant_memory if _is_a_table(evidence, loads) else ""
    return Candidate(
        "redundant-global-loads",
        f"Loads request {times:,.0f} times the bytes that device memory delivers: the same data is read again and again from the caches.",
        (_BY_DATA if by_data else _IN_A_TILE)
        + (
            " This estimate leaves out what is loaded from the same place in each turn of a loop: a register is enough for that."
            if fixed
            else ""
        )
        + (_IN_CONSTANT_MEMORY.format(table) if table else "")
        + shared
        + alone,
        combine([repeated, evidence.without(exchanged)]),
        {site: (site.sectors or 0.0) for site in loads},
        {"requested_per_delivered": times},
        regrouped=evidence.without(dict.fromkeys(on_the_way, 1.0)).resources,
        includes="barriers" if exchanged else "",
        in_triton=(use_fewer_warps(evidence) or LARGER_BLOCKS) + shared + alone,
    )


def _are_at_places_of_data(evidence: Evidence, loads: Iterable[Site]) -> bool:
    """Returns whether each thread has loaded the addresses of most of these loads for itself, as along a list: they lie in no tile."""
    differing = find_differing_in_block(evidence)
    sectors = {True: 0.0, False: 0.0}
    for site in loads:
        makers = all_makers(evidence, makers_of_address(evidence, site))
        by_data = any(one.kind == "global load" and one in differing for one in makers)
        sectors[by_data] += site.sectors or 0.0
    return sectors[True] > sectors[False]


def _sums_of_blocks_alike(evidence: Evidence, loads: Collection[Site]) -> dict[Site, float]:
    """Returns the exchanges of sums in loops in which several blocks make some of these loads alike.

    That is so in a matrix product if each block loads a row and all columns. If a block computes several results, such as a tile,
    each thread has some of its own, and nothing is left to exchange.
    """
    spared: dict[Site, float] = {}
    for one in find_sums_for_all(evidence):
        if any(
            site in loads and count_blocks_alike(evidence, site) > 1 for site in evidence.inside(one.loop)
        ):
            spared |= dict.fromkeys(one.parts, 1.0)
    return spared


def _is_a_table(evidence: Evidence, loads: Iterable[Site]) -> bool:
    """Returns whether constant memory has room for what all threads look up at one address at a time, and that change alone would be worth it."""
    if evidence.shape is None:
        return False
    lookups = [site for site in loads if site in find_lookups_alike(evidence)]
    size = sum(site.executed * site.width / 8 for site in lookups) / evidence.shape.warps
    fewer = without_loads(evidence, dict.fromkeys(lookups, 1.0))
    return size <= _CONSTANT_BYTES and evidence.model.saved(fewer) >= WORTH_A_CHANGE


def _name_fixed(evidence: Evidence, fixed: Mapping[Site, float], tile: Candidate | None) -> Candidate:
    """Names the loads of a loop that read the same address in each iteration.

    Some loops also store to that address in each iteration, as a sum does that is kept in memory. A register would spare both the loads
    and the stores of such a sum. Other loads only read a value that never changes. Of these two kinds, the one that saves more is named.
    A sum is named as a redundant store if its loads are less than half of what is saved, or if a tile for other loads would save more:
    redundant loads then name the tile.
    """
    stored = _stored_back(evidence, fixed)
    places = {(address_of(site), evidence.innermost_loop(site)) for site in stored}
    sums, others = dict(stored), dict[Site, float]()
    for site, part in fixed.items():
        of_sum = (address_of(site), evidence.innermost_loop(site)) in places
        (sums if of_sum else others)[site] = part
    of_sums, of_others = (without_loads(evidence, some) for some in (sums, others))
    if sums and evidence.model.saved(of_sums) >= evidence.model.saved(of_others):
        tile_first = tile and evidence.model.saved(tile.effect) > evidence.model.saved(of_sums)
        of_loads = without_loads(evidence, {site: part for site, part in sums.items() if site not in stored})
        by_stores = evidence.model.saved(of_loads) < evidence.model.saved(of_sums) / 2
        return Candidate(
            "redundant-global-stores" if tile_first or by_stores else "redundant-global-loads",
            "A loop keeps a value in global memory: in each turn, it loads and stores the same address.",
            f"Keep the value in a register while the loop runs, and store it once, after the loop.{_say_registers(evidence, stored)}",
            of_sums,
            {site: site.sectors or site.executed for site in sums},
            in_triton="Keep the value in a variable while the loop runs, and store it once, after the loop.",
        )
    repeated = {site: part * site.lane_executions for site, part in others.items()}
    all_loads = sum(site.lane_executions for site in evidence.of("global load")) or 1.0
    return Candidate(
        "redundant-global-loads",
        "A load is repeated although its address did not change.",
        f"Load the value once and keep it in a register{evidence.words.keep_loaded}.",
        of_others,
        {site: site.sectors or site.executed for site in others},
        {IN_A_REGISTER: 100 * sum(repeated.values()) / all_loads},
        in_triton="Load the value once, before the loop if one repeats it, and keep it in a variable.",
    )


def _say_registers(evidence: Evidence, stored: Iterable[Site]) -> str:
    """Returns a sentence if the values that a thread keeps at these places may need more registers than it can have."""
    kept = {address_of(site): max(1, site.width // WORD_BITS) for site in stored}
    registers, more = evidence.find("registers") or 0.0, sum(kept.values())
    return (
        _MANY_REGISTERS.format(more, registers, MOST_REGISTERS) if registers + more > MOST_REGISTERS else ""
    )


def _stored_back(evidence: Evidence, loads: Collection[Site]) -> dict[Site, float]:
    """Returns the stores of a loop to the same addresses as these loads, as for a sum in memory. A register could hold the value instead."""
    places = {(address_of(site), evidence.innermost_loop(site)) for site in loads}
    return {
        site: part
        for site in evidence.of("global store")
        if (address_of(site), evidence.innermost_loop(site)) in places
        and (part := part_overwritten(evidence, site)) > 0
        and not is_read_past_barrier(evidence, site)
    }


def _find_passes(evidence: Evidence) -> Iterable[Candidate]:
    """Yields the loads of a second pass over the same data, and of later ones."""
    if not (later := find_later_passes(evidence)):
        return
    fits = all(later.values())
    fewer = without_loads(evidence, dict.fromkeys(later, 1.0))
    again, others = (
        sum(site.bytes_asked for site in evidence.of("global load") if (site in later) == is_later)
        for is_later in (True, False)
    )
    delivered = bytes_left_for(evidence, later, "global load")
    yield Candidate(
        "redundant-global-loads",
        f"Blocks read the same data in several loops, one after the other: {whole_percent(100 * again / (again + others))} % of what loads request was read before"
        + (
            f", and device memory delivers {whole_percent(100 * delivered / again)} % of that anew."
            if delivered
            else "."
        ),
        _KEEP if fits else _TOO_LONG,
        Effect(
            {**fewer.resources, "dram": part_of_device_memory(evidence, delivered)},
            fewer.waits,
            fewer.lighter,
        ),
        {site: site.sectors or 0.0 for site in later},
        {"read_before_pct": 100 * again / (again + others)},
        in_triton="Load the whole row as one block (BLOCK of the next power of two, with more `num_warps`) and keep it. If it is too long, do in "
        f"one loop what the loops do {_AT_ONCE}."
        if fits
        else _TOO_LONG,
    )


def _find_same_in_outer_turns(evidence: Evidence) -> Iterable[Candidate]:
    """Yields the loads of inner loops that read the same in each turn of the loop around them."""
    if same := find_same_in_outer_turns(evidence):
        turns = 1 / (1 - max(same.values()))
        yield Candidate(
            "redundant-global-loads",
            f"An inner loop reads the same data in each of {turns:,.0f} turns of the loop around it.",
            "Load it once, before the outer loop, and keep it: each thread its part in registers, or the block all of it in shared memory.",
            without_loads(evidence, same),
            {site: site.sectors or 0.0 for site in same},
            {"outer_turns": turns},
            in_triton="Load it once, before the outer loop, and keep it in a variable: as one block, where a loop reads it piece by piece, with more `num_warps` if registers "
            "do not suffice.",
        )


def _find_passed_through_memory(evidence: Evidence) -> Iterable[Candidate]:
    """Yields the loads of a loop that take up what the same thread has stored there shortly before."""
    repeated = {
        load: part
        for load, passed in find_passed_through_memory(evidence).items()
        if has_fixed_address(evidence, load) == 0 and (part := _part_passed(evidence, load, passed)) > 0
    }
    if repeated:
        yield Candidate(
            "redundant-global-loads",
            "A loop loads what the same thread stored there a moment before: a result goes through memory from one turn to the next.",
            "Keep the result in a register until the next turn, and store it as now. The compiler does not, where another store in between may change it.",
            without_loads(evidence, repeated),
            {site: site.sectors or site.executed for site in repeated},
            in_triton="Keep the result in a variable until the next turn, and store it as now.",
        )


def _part_passed(evidence: Evidence, load: Site, passed: Passed) -> float:
    """Returns the part of a load's executions that take what the loop stored. The first iterations take what was there before it."""
    loop = evidence.innermost_loop(load)
    return 1 - passed.turns / max(1.0, evidence.turns(load, loop)) if loop else 0.0


def _find_shared_by_rows(evidence: Evidence, loads: Collection[Site]) -> Iterable[Candidate]:
    """Yields the cause for what the rows of a block do alike: loads, their addresses, and arithmetic that does not depend on the row.

    If most of it is arithmetic, the cause is named for that. Rows that load nothing alike are left to other detectors. A thread
    that computes several rows does all of this only once for them. That leaves fewer threads, but no fewer than two rounds of
    blocks, which fill the GPU. If no more threads execute something than one row has, such as the first thread of each block, no
    other row repeats it.
    """
    if evidence.shape is None:
        return
    waves = evidence.find("waves") or 0.0
    for axis, index, rows in zip("YZ", evidence.words.thread[1:], evidence.shape.block[1:], strict=True):
        together = min(rows, MOST_REUSE, waves / SOME_WAVES)
        if together <= 1.0:
            continue
        of_one_row = evidence.shape.blocks * evidence.shape.threads / rows
        alike = [
            site
            for site in find_block_independent(evidence, f"SR_TID.{axis}")
            if site.kind in _ONCE_FOR_ALL and site.lane_executions > of_one_row
        ]
        loaded = [site for site in alike if site in loads]
        if not loaded:
            continue
        fewer = evidence.without(dict.fromkeys(alike, 1 - 1 / together))
        share = 100 * evidence.share_executed(alike)
        of_loads = {*find_address_work_of(evidence, loaded), *loaded}
        computing = [site for site in alike if site not in of_loads]
        if evidence.share_executed(computing) > share / 200:
            name, weights = "redundant-instructions", {site: site.executed for site in computing}
            what, once = "compute the same values, because these do", "compute these values"
            passed = "compute them and pass them on in"
        else:
            name, weights = "redundant-global-loads", {site: site.sectors or 0.0 for site in loaded}
            what, once = "load the same data, because these addresses do", "load"
            passed = "load into"
        advice = (
            f"Let each thread compute several rows (a loop over what {index} counts), and {once} once for all of them; or let one row {passed} "
            "shared memory."
        )
        if not any(f"SR_TID.{axis}" in site.instruction.text for site in evidence.sites):
            advice = (
                f"Launch blocks of one row: the kernel never asks for {index}, so that all rows do the same."
            )
        yield Candidate(
            name,
            f"The {rows} rows of a block {what} not depend on where a thread is along {axis.lower()}: {whole_percent(share)} % of the executed instructions are the same for all rows.",
            advice,
            fewer,
            weights,
            {"rows_alike": float(rows), "same_in_every_row_pct": share},
            fact=SAME_ALONG.format(axis),
        )


def count_times_requested(evidence: Evidence, together: bool = False) -> float:
    """Returns how often loads that do not fill shared memory request each byte that device memory delivers.

    With `together`, loads of one base count as one. Single values do not count.
    """
    asked: dict[object, float] = {}
    single = find_single_values(evidence)
    for site in evidence.of("global load"):
        if site not in single and not feeds_shared_memory(evidence, site):
            base, size = base_of(site), site.bytes_asked
            asked[base] = max(asked.get(base, 0.0), size) if together else asked.get(base, 0.0) + size
    delivered = evidence.find("dram_bytes_read")
    return sum(asked.values()) / delivered if delivered else 0.0
