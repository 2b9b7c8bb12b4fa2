"""Detects atomics that warps wait for, with the loops that repeat one until it succeeds (`retries.py`)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from profiler.analyse.causes.detectors.candidate import WORTH_A_CHANGE, Candidate
from profiler.analyse.causes.detectors.global_memory.updated_places import (
    Updated,
    find_updated,
    finding_place,
    is_swap,
)
from profiler.analyse.causes.evidence.addresses import address_of
from profiler.analyse.causes.evidence.blocks_of_sm import left_of_blocks, spare_launches
from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.latency import LAUNCH, Effect
from profiler.analyse.causes.evidence.sites import ACCESSES, Kind, Site
from profiler.analyse.causes.evidence.synchronisation import find_ordering
from profiler.analyse.causes.flow.dataflow import (
    makers_of_value,
    reach,
    readers_behind,
    sources_of,
)
from profiler.analyse.causes.flow.lane_values import find_differing_in_block
from profiler.analyse.causes.flow.loop_carried import is_carried
from profiler.analyse.causes.flow.same_in_turns import find_steady
from profiler.analyse.causes.words_of_triton import IN_TRITON
from profiler.analyse.recording.launch_shapes import LaunchShape
from profiler.catalog.metrics import LANES, SECTOR_BYTES
from profiler.text import whole_percent

ATOMIC_CONTENTION = "atomic-contention"
_MEMORY: Mapping[Kind, str] = {"atomic": "global", "shared atomic": "shared"}
_QUOTIENTS = ("IMAD.HI", "SHF.R", "PRMT")
_SIGN = "0x1f"  # a shift by 31 bits makes the upper half of an index of 64 bits, beside the lower one


def detect_atomics(evidence: Evidence) -> Iterable[Candidate]:
    """Names atomics, and the loops that retry them, where the lanes of a warp could add up first."""
    sites = _find_costly(evidence)
    if not sites:
        return
    repeated, evidence = _find_repeated(evidence, sites), replace(evidence, retried=frozenset())
    ordering = find_ordering(evidence)
    fractions = dict.fromkeys([*sites, *repeated, *ordering], 1 - 1 / LANES)
    weights = evidence.weigh(fractions)
    waiting = 100 * evidence.time_of(fractions)
    atomics = dict.fromkeys(sites, 1.0)
    of_l1, of_l2 = evidence.part_of_l1(atomics), evidence.part_of_l2(atomics)
    busy = {
        "L1 and shared memory": of_l1 * evidence.model.busy.get("l1", 0.0),
        "L2": of_l2 * evidence.model.busy.get("l2", 0.0),
    }
    busiest = max(busy, key=lambda unit: busy[unit])
    kinds = dict.fromkeys(site.kind for site in sites)
    most = max(kinds, key=lambda kind: sum(weights[site] for site in sites if site.kind == kind))
    larger = _larger_blocks(evidence) if most == "atomic" else None
    advice, in_triton = larger or _advise(evidence, evidence.of(most), weights)
    giving = [site for site in evidence.of(most) if _gives_places(evidence, site)]
    if not larger and 2 * sum(weights[site] for site in giving) > sum(
        weights[site] for site in evidence.of(most)
    ):
        advice, in_triton = advice + _IN_ORDER, IN_TRITON[ATOMIC_CONTENTION] + _IN_ORDER
    # What follows is of all of them: where both memories have some, neither is named.
    memory = f" in {_MEMORY[most]} memory" if len(kinds) == 1 else ""
    sentence = f"Warps spend {whole_percent(waiting)} % of their time waiting for atomics{memory}"
    is_retried = 2 * sum(weights[site] for site in {*repeated}) > sum(weights.values())
    if is_retried:
        sentence += ", which are retried in a loop"
    if _is_seen(evidence, ordering):
        sentence += f"{',' if is_retried else ''} and for the fences around them"
        # Atomics that queue at few places take as long without fences: 16M updates of 256 places take 4,341 us with them and 4,336 us
        # without, and those of 4M places 291 and 181 us (Triton on an H200).
        if not repeated and not evidence.atomics_are_contended:
            advice += _WITHOUT_FENCES
            in_triton = (in_triton or IN_TRITON[ATOMIC_CONTENTION]) + _WITHOUT_FENCES_IN_TRITON
    if 100 * busy[busiest] > waiting:
        keep = f"keep {busiest} busy for {whole_percent(100 * busy[busiest])} % of the time"
        # For those that return nothing, warps need not wait.
        sentence = f"{sentence}; the atomics {keep}" if round(waiting) else f"Atomics{memory} {keep}"
    if evidence.atomics_are_contended and 2 * _sampled(evidence, fractions) < waiting:
        sentence += "; the samples at other instructions are of accesses that queue behind these atomics"
    # Where atomics cost nothing, larger blocks are another cause's remedy.
    cost_something = round(max(waiting, 100 * busy[busiest])) > 0
    spared = _spared(evidence, fractions)
    yield Candidate(
        ATOMIC_CONTENTION,
        f"{sentence}.",
        advice,
        _with_larger_blocks(evidence, spared) if larger and cost_something else spared,
        weights,
        {
            "waiting_pct": waiting,
            "l1_busy_pct": 100 * busy["L1 and shared memory"],
            "l2_busy_pct": 100 * busy["L2"],
        },
        in_triton=in_triton,
    )


def _find_costly(evidence: Evidence) -> list[Site]:
    """Returns the atomics of the memory where they cost more, if those of the other memory add less to that than a change is worth; else all.

    How long warps wait for them does not tell: a reduction keeps L2 busy, and no warp waits for it.
    """
    sites = evidence.of(*_MEMORY)
    by_memory = [alike for kind in _MEMORY if (alike := evidence.of(kind))]
    if len(by_memory) < 2:
        return sites  # so it is in nearly all kernels, and costs take long to find
    costs = [_cost(evidence, alike) for alike in by_memory]
    most = max(costs)
    added = _cost(evidence, sites) - most
    return by_memory[costs.index(most)] if added < WORTH_A_CHANGE else sites


def _cost(evidence: Evidence, sites: Sequence[Site]) -> float:
    """Returns which part of the time would be saved if one of these atomics updated for all lanes."""
    repeated, evidence = _find_repeated(evidence, sites), replace(evidence, retried=frozenset())
    return evidence.model.saved(_spared(evidence, dict.fromkeys([*sites, *repeated], 1 - 1 / LANES)))


def _find_repeated(evidence: Evidence, sites: Iterable[Site]) -> list[Site]:
    """Returns what loops repeat until one of these atomics succeeds."""
    swaps = [site for site in sites if ".CAS" in site.opcode or site in evidence.retried]
    return [site for loop in evidence.loops_around(swaps) for site in evidence.inside(loop)]


def _gives_places(evidence: Evidence, site: Site) -> bool:
    """Returns whether a thread computes with the count that was there before, as one does that takes the next place in a queue.

    One that only compares it asks whether it is the last, or too many.
    """
    counts = ".ADD" in site.opcode and not _OF_FLOATS.search(site.opcode)
    return counts and any(one.instruction.name != "ISETP" for one in readers_behind(evidence, site))


def _larger_blocks(evidence: Evidence) -> tuple[str, str] | None:
    """Returns the advice where blocks have to take more elements, so that updates become fewer, also for Triton; None elsewhere."""
    sites = evidence.of("atomic", "shared atomic")
    blocks = evidence.shape.blocks if evidence.shape else 0
    if sum(site.lane_executions for site in evidence.of("atomic")) <= blocks:
        return _IN_LARGER_BLOCKS, _IN_LARGER_PROGRAMS
    if _adds_copies_of_blocks(evidence, sites):
        return _WITH_LARGER_COPIES, _IN_ONE_PROGRAM
    return (_IN_ONE_THREAD, _IN_ONE_PROGRAM) if _has_place_for_each_thread(evidence, sites) else None


def _advise(evidence: Evidence, sites: Sequence[Site], weights: Mapping[Site, float]) -> tuple[str, str]:
    """Returns who can add up what these atomics of one memory update, by the places that they update; or how to do without most of them.

    Words of Triton come with it where it has its own.
    """
    # An exchange after a loop of others may release a lock.
    releases = any(".CAS" in one.opcode for one in evidence.of("atomic", "shared atomic"))
    ways = (
        (_is_store, (_STORE, _STORE_IN_TRITON)),
        (_chooses, (_WHERE_IT_CHANGES, _WHERE_IT_CHANGES_IN_TRITON)),
    )
    for is_alike, instead in ways[1:] if releases else ways:
        alike = sum(weights[site] for site in sites if is_alike(evidence, site))
        if 2 * alike > sum(weights[site] for site in sites):
            return instead
    updated, where = find_updated(evidence, {site: weights[site] for site in sites}), _MEMORY[sites[0].kind]
    # A block of one warp has nothing left to add up when its warp has.
    if updated == "one place" and evidence.shape is not None and evidence.shape.warps_of_block == 1:
        where = "shared"
    advice = _for_type(evidence, _ADVICE[where][updated], evidence.of("atomic", "shared atomic"))
    repeating = sum(weights[site] for site in sites if _repeats_its_place(evidence, site))
    is_repeated = 2 * repeating > sum(weights[site] for site in sites)
    in_a_register, in_triton = (
        _AFTER_THE_LOOP.format(place) if is_repeated else "" for place in ("register", "variable")
    )
    if is_repeated and updated in ("places of warps", "places of lanes"):
        return in_a_register, in_triton  # nothing is left to add up with others
    if is_repeated:
        in_triton = f"{in_triton} {IN_TRITON[ATOMIC_CONTENTION]}"
    if updated == "one place" and (is_repeated or all(_stays_in_a_loop(evidence, site) for site in sites)):
        return advice.replace(_WARPS_FIRST, _THREADS_FIRST), in_triton
    return f"{in_a_register} {advice}" if is_repeated else advice, in_triton


def _is_store(_: Evidence, site: Site) -> bool:
    return ".EXCH" in site.opcode and not site.use.written


def _chooses(evidence: Evidence, site: Site) -> bool:
    """Returns whether an update may leave what is there, as one by the least does: also one that swaps in what it has chosen."""
    if _CHOOSING.search(site.opcode):
        return True
    return ".CAS" in site.opcode and any(
        one.instruction.name in _CHOICES for one in makers_of_value(evidence, site)
    )


def _sampled(evidence: Evidence, sites: Iterable[Site]) -> float:
    """Returns the part of the samples that show warps waiting at these instructions, in percent."""
    total = sum(sum(site.waits.values()) for site in evidence.sites)
    return 100 * sum(sum(site.waits.values()) for site in sites) / total if total else 100.0


def _spared(evidence: Evidence, fractions: Mapping[Site, float]) -> Effect:
    """Returns the effect of fewer updates, with what device memory reads for them.

    L2 adds to what is there, so it fetches each sector that it does not hold. What others add up first may be stored without that.
    """
    fewer = evidence.without(fractions)
    read, written = (evidence.find(f"dram_bytes_{way}") or 0.0 for way in ("read", "written"))
    updated = [site for site in fractions if site.kind == "atomic"]
    fetched = max(0.0, evidence.delivered_to(updated)) if updated and read else 0.0
    if not fetched:
        return fewer
    return replace(fewer, resources={**fewer.resources, "dram": (1 - 1 / LANES) * fetched / (read + written)})


def _with_larger_blocks(evidence: Evidence, spared: Effect) -> Effect:
    """Returns the effect of fewer updates where each block has to take more elements for that: fewer blocks are launched, too."""
    launches = spare_launches(evidence, left_of_blocks(evidence, 1 / LANES))
    return replace(spared, resources={**spared.resources, LAUNCH: launches})


def _adds_copies_of_blocks(evidence: Evidence, sites: Sequence[Site]) -> bool:
    """Returns whether each block counts in a copy of its own in shared memory already, and adds this to the others' in global memory."""
    updating = [site for site in sites if site.kind == "atomic"]
    return any(site.kind == "shared atomic" for site in sites) and all(
        any(one.kind == "shared load" for one in makers_of_value(evidence, site)) for site in updating
    )


def _has_place_for_each_thread(evidence: Evidence, sites: Sequence[Site]) -> bool:
    """Returns whether a thread adds at places of its own in the block, once, so that no other of its block could add to what it has.

    So it is where a block adds a row to another one: neighbours update neighbouring words, and what data says of the place is the same for all of
    them.
    """
    if not evidence.has_costs or evidence.shape is None or evidence.shape.block[0] < evidence.shape.threads:
        return False
    updating = [site for site in sites if site.kind == "atomic" and site.acting_lanes > 1]
    differing = find_differing_in_block(evidence)
    return bool(updating) and not any(
        evidence.innermost_loop(site)
        or _is_store(evidence, site)
        or _chooses(evidence, site)
        or site.bytes_of_lanes > SECTOR_BYTES * (site.sectors or 0.0)
        or any(
            one in differing and _drops_part_of_index(evidence.shape, one)
            for one in reach(finding_place(evidence, site), lambda one: sources_of(evidence, one))
        )
        for site in updating
    )


def _drops_part_of_index(shape: LaunchShape, site: Site) -> bool:
    """Returns whether an instruction may give two threads of a block the same value: what is read from memory, quotients, and remainders."""
    if site.opcode.startswith("SHF.R.S32") and site.instruction.operands[2] == _SIGN:
        return False
    if site.kind in (*ACCESSES, "special", "conversion") or site.opcode.startswith(_QUOTIENTS):
        return True
    masks = [int(one, 16) for one in site.instruction.operands[1:4] if one.startswith("0x")]
    return site.instruction.name == "LOP3" and any((shape.threads - 1) & ~mask for mask in masks)


def _is_seen(evidence: Evidence, sites: Sequence[Site]) -> bool:
    """Returns whether warps wait there for a part of their time that is shown as more than 0 %."""
    return round(100 * evidence.time_of(sites)) > 0


_IN_ORDER = (
    " The old value is used, as where it says which place comes next: take room for all of a block by one update, and let a prefix sum give each "
    "element its place in that."
)
_WITHOUT_FENCES = " Where no other access has to be in order with the updates, leave out their fences (`cuda::memory_order_relaxed`)."
_WITHOUT_FENCES_IN_TRITON = (
    ' Where no other access has to be in order with the updates, leave out their fences (`sem="relaxed"`).'
)
_CHOOSING, _CHOICES = re.compile(r"\.(?:AND|OR|MIN|MAX)\b"), ("SEL", "FSEL", "FMNMX", "IMNMX", "VIMNMX")
_WHERE_IT_CHANGES = (
    "Read the place first, and update it only if that changes it, as to a minimum if the new value is less; let one lane update for all lanes of its "
    "warp that have the same place."
)
_WHERE_IT_CHANGES_IN_TRITON = (
    "Load the places first, and let the `mask` of the atomic take only the elements that change theirs, as to a minimum those that are less; where a "
    "program has several elements for one place, reduce them first (`tl.min`, `tl.max`, `tl.reduce`)."
)
_STORE = "Nothing reads the old value: store instead of exchanging."
_STORE_IN_TRITON = "Nothing reads the old value: call `tl.store` instead of `tl.atomic_xchg`."
_COPIES_OF_LANES = (
    "Let each warp, or every few lanes, update a copy of their own, and add the copies up at the end; or let each thread add up what it has for one "
    "place before it updates."
)
_WARPS_FIRST = "Add up inside the warp first"
_THREADS_FIRST = (
    "Let each thread add up in a register over its loop, and after the loop add up inside the warp"
)
_AFTER_THE_LOOP = "The turns of a loop update one place: add up in a {}, and update once, after the loop."
_IN_REGISTER = (
    "The lanes of a warp update places of their own, so that they cannot add up for each other: let each thread take several elements for its place, "
    "add them up in a register, and update once"
)
_IN_WARP = (
    "One lane of each warp updates already, and each warp a place of its own: let each warp take several elements for its place, add them up in a "
    "register, and update once."
)
_ADVICE: Mapping[str, Mapping[Updated, str]] = {  # by the memory
    "global": {
        "one place": "Add up inside the warp first (`__reduce_add_sync`, shuffles), then inside the block in shared memory, and update global memory once "
        "a block.",
        "by one lane": "One lane of each warp updates already (the compiler sees to it where lanes add to one place): add up inside the block in shared "
        "memory as well, and update global memory once a block.",
        "places of warps": _IN_WARP,
        "places of lanes": f"{_IN_REGISTER}; or, where other warps of its block update the same places, add up in shared memory first.",
        "places of data": "Let each block update a copy of its own in shared memory, and add the copies to global memory at the end; where the places "
        "are too many for a copy, sort the updates by their place, and add up those of one place first.",
    },
    "shared": {
        "one place": "Add up inside the warp first (`__reduce_add_sync`, shuffles), so that one lane updates for all.",
        "by one lane": "One lane of each warp updates already: let it store what the warp has in a place of its own, and let one warp add these up.",
        "places of warps": _IN_WARP,
        "places of lanes": f"{_IN_REGISTER}.",
        "places of data": _COPIES_OF_LANES,
    },
}  # fmt: skip

_OF_FLOATS = re.compile(r"\.B?F\d")
_NOT_REDUCED = re.compile(rf"{_OF_FLOATS.pattern}|\.64")  # `__reduce_add_sync` takes integers of 32 bits


def _for_type(evidence: Evidence, advice: str, sites: Iterable[Site]) -> str:
    others = any(_NOT_REDUCED.search(site.opcode) or _swaps_in_float(evidence, site) for site in sites)
    return advice.replace("(`__reduce_add_sync`, shuffles)", "(`__shfl_down_sync`)") if others else advice


def _swaps_in_float(evidence: Evidence, site: Site) -> bool:
    """Returns whether a loop adds to a float in shared memory, which has no instruction for that: it swaps the sum in."""
    return is_swap(site) and any(one.kind in ("fp32", "fp64") for one in makers_of_value(evidence, site))


def _repeats_its_place(evidence: Evidence, site: Site) -> bool:
    """Returns whether a loop updates one place several times, in its turns or in copies of a turn, and does not ask what was there."""
    loop = evidence.innermost_loop(site)
    before = evidence.last_before(site.function, loop) if loop else None
    if loop is None or before is None or is_swap(site) or site.use.written:
        return False
    steady = find_steady(evidence, loop).accesses
    copies = [one for one in steady if one.opcode == site.opcode and address_of(one) == address_of(site)]
    return site in steady and len(copies) * loop.iterations > before.executed


def _stays_in_a_loop(evidence: Evidence, site: Site) -> bool:
    """Returns whether the turns of a loop update one place, beside the loop that repeats an update until it succeeds."""
    around = [loop for loop in evidence.loops.get(site.function, ()) if site.instruction in loop]
    makers = reach(finding_place(evidence, site), lambda one: sources_of(evidence, one))
    moves = any(one.kind in ACCESSES or is_carried(evidence, one) for one in makers)
    loop = None if is_swap(site) else evidence.innermost_loop(site)
    stays = loop is None or site in find_steady(evidence, loop).accesses
    return len(around) > int(is_swap(site)) and stays and not moves


_IN_LARGER_BLOCKS = (
    "There is one update a block already: let each block take more elements before it (a grid-stride loop), or let it store its result, and "
    "combine the results of all blocks in a second launch."
)
_WITH_LARGER_COPIES = (
    "Each block updates a copy of its own in shared memory already: let it take more elements before it adds its copy to the others' in global "
    "memory (a grid-stride loop, and fewer blocks)."
)
_IN_LARGER_PROGRAMS = (
    "There is one update a program already: let each program take more elements before it (a larger BLOCK, or a loop over several), or let it "
    "store its result, and combine the results of all programs in a second kernel."
)


_IN_ONE_THREAD = (
    "The threads of a block update places of their own, so that none of them can add to what another one has: let each thread take several "
    "elements for its place, in a loop (where data says the place, in its order), add them up in a register, and update once."
)
_IN_ONE_PROGRAM = (
    "The elements of a program go to places of their own: let each program take several rows for the same places, in a loop (where data says "
    "the places, in its order), add them up (`tl.sum`), and update once."
)
