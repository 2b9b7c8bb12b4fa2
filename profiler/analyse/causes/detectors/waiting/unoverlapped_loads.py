"""Detects loads from global memory of which too few are under way at once."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from profiler.analyse.causes.cause import WAITING_FOR_TILES
from profiler.analyse.causes.detectors.candidate import EIGHTFOLD, WIDEST_BITS, WORTH_A_CHANGE, Candidate
from profiler.analyse.causes.detectors.copied_loads import find_copied_loads, widest_at_once
from profiler.analyse.causes.detectors.waiting.barriers import find_waiting_for_tiles
from profiler.analyse.causes.evidence.addresses import base_of, offset_of
from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.latency import Effect
from profiler.analyse.causes.evidence.loads_under_way import (
    ENOUGH_LOADS,
    are_enough_under_way,
    find_loads_beside,
    usual_count,
)
from profiler.analyse.causes.evidence.sites import COPIES_TO_SHARED, ONE_LANE, Site
from profiler.analyse.causes.flow.arithmetic.padding import find_padding
from profiler.analyse.causes.flow.arithmetic.slow_paths import find_loads_between_slow_paths
from profiler.analyse.causes.flow.dataflow import address_comes_of
from profiler.analyse.causes.flow.loop_carried import is_carried
from profiler.analyse.causes.flow.memory.reduction_trees import find_in_trees
from profiler.analyse.causes.flow.memory.repeated_stores import part_overwritten
from profiler.analyse.causes.flow.memory.staging import feeds_shared_memory
from profiler.analyse.causes.words.words import Words
from profiler.analyse.code.opcodes import JUMPS_BY_REGISTER
from profiler.text import counted, whole_percent

# More loads than are enough hide more of the latency, but nothing of the queues. If an SM holds half of the warps that it could,
# a thread has 64 registers for them, such as for sixteen loads of 16 bytes.
_REGISTERS_FOR_LOADS = 64
_AHEAD_IN_TRITON = {
    "turns": "Load tiles ahead: with `num_stages` of 3 or more, Triton copies the next ones while this one is multiplied. It does so for loads of "
    "4 bytes a thread or more.",
    "copies": "Tiles are copied ahead already: try more `num_stages`, as far as shared memory allows, or more programs and `num_warps`.",
    "loop": "Load ahead: `tl.range(…, num_stages=3)` for the loop, several independent `tl.load` before the first use{}, or more "
    "programs and `num_warps`.",
    "": "Have more loads under way: several independent `tl.load` before the first use{}, or more programs and `num_warps`.",
}
_WORDS_IN_TRITON = (
    "Triton copies other tiles of this loop ahead already, but not this one, of which a thread loads fewer than 4 bytes at once: let it load several "
    "neighbours (`tl.multiple_of` says which offsets are multiples), or words that hold several values."
)
_MORE_WARPS_IN_TRITON = "A thread has enough loads under way already: let more warps run, with more `num_warps` for the same BLOCK, or more programs."
_LARGER_BLOCK = {
    "loop": " (a larger BLOCK for each turn)",
    "": ", a BLOCK that gives each thread several of them",
}
_REGISTER_BITS = 32
_ENDS_RUN = ("BRA", *JUMPS_BY_REGISTER, "BSYNC", "CALL", "EXIT")
_MOVED_OR_NEVER = (".CONSTANT", ".STRONG")


def detect_unoverlapped_loads(evidence: Evidence) -> Iterable[Candidate]:
    """Names loads from global memory that warps wait for, above all if few are under way at once; but not if more of them would only queue."""
    loads = [site for site in evidence.of("global load") if not is_carried(evidence, site)]
    waiting = 100 * evidence.time_of(loads, "long_scoreboard")
    if not waiting:
        return
    useful = {site: 1 - site.excess_sectors / site.sectors if site.sectors else 1.0 for site in loads}
    # Asynchronous copies go to shared memory past L1's lines and the registers, through which these loads pass. Sectors that lie
    # apart are looked up one by one in either case.
    staged = {
        site: part
        for site, part in useful.items()
        if site.opcode.startswith("LDG.") and feeds_shared_memory(evidence, site)
    }
    # A warp that stages a tile through registers waits for all of its loads together in each iteration, however many they are.
    # Copies of the next tiles, made while this one is used, remove the whole wait.
    turns = {site for site in staged if evidence.innermost_loop(site)}
    fractions = {
        site: part * (EIGHTFOLD if site in turns else _overlapped(evidence, site))
        for site, part in useful.items()
    }
    # Copies of 16 bytes bypass L1 (PTX ISA, "cp.async": `.cg` caches in L2 alone). Other warps of the SM may have used the lines
    # that L1 holds now.
    past_l1 = [site for site in turns if site.width == WIDEST_BITS]
    warps = evidence.find("active_warps")
    waits = {site: evidence.charged[site]["long_scoreboard"] for site in loads}
    tiles = {site for site in turns if _is_of_tile(evidence, site)}
    where = _most_waited_for(evidence, loads, tiles)
    # Copies of several tiles may be under way, but only those of one tile are issued together.
    few = None if where == "copies" else usual_count(evidence, waits)
    beside = [
        *([f"a warp has about {few} of them under way at a time"] if few else []),
        *([f"each scheduler has {counted(round(warps), 'warp', 'warps')}"] if warps else []),
    ]
    is_of_threads = where in ("loop", "")  # and not of tiles, between which a block has no loads under way
    if is_of_threads and are_enough_under_way(evidence, waits):
        return
    behind_stores = _find_behind_stores(evidence, loads) if is_of_threads else {}
    how = _how_to_load_ahead(evidence, where, loads, behind_stores)
    load = max(tiles if where == "turns" else loads, key=lambda one: waits[one])
    yield Candidate(
        "loads-not-overlapped",
        f"Warps spend {whole_percent(waiting)} % of their time waiting for loads from global memory{'; ' if beside else ''}{', and '.join(beside)}.",
        _say_ahead(evidence.words, _named_store(behind_stores, waits), load.width)[how],
        Effect(
            {"l1": evidence.part_of_l1(staged), "l2": -evidence.added_in_l2(past_l1)},
            {
                **evidence.waiting_for(fractions, "long_scoreboard"),
                **evidence.waiting_for(find_waiting_for_tiles(evidence, turns), "barrier"),
            },
        ),
        {site: waits[site] for site in behind_stores} if how == "stores" else waits,
        {"waiting_for_loads_pct": waiting}
        | ({WAITING_FOR_TILES: 100 * evidence.time_of(tiles, "long_scoreboard")} if where == "turns" else {})
        | ({"loads_under_way": float(few)} if few else {})
        | ({"active_warps": warps} if warps else {}),
        in_triton=_say_in_triton(evidence, where, load, few or 0),
    )


def _say_ahead(words: Words, store: str, width: int) -> Mapping[str, str]:
    """Returns how to have more loads under way, by where those are that warps wait for, and by what keeps them apart.

    "turns" are those of a loop that passes tiles on through registers, and "" stands for loads outside of loops. An asynchronous copy
    takes 4, 8 or 16 bytes a thread (PTX ISA, "cp.async"): loads of so small a `width` have to be wider first.
    """
    first = words.widen_first if width < _REGISTER_BITS else ""
    return {
        "turns": f"{first}{words.next_tile} may have room for fewer blocks.",
        "copies": "Tiles are copied asynchronously already: copy more of them ahead, as far as shared memory allows, or let more warps run.",
        "loop": "Issue more independent loads before the first use: unroll the loop, or unroll it further, or load what the next turns need before this one "
        "computes.",
        "storing loop": "Load what several turns need before the first of them stores: even in a loop that is unrolled, the compiler moves no load ahead of a "
        f"store that may change what it loads, unless it knows that the arrays lie apart{words.read_only}.",
        "slow paths": "A loop over these loads is unrolled already, but the branches of precise divisions, roots or functions stand between its copies: "
        "write their fast forms, which have no branches, and the loads of all copies are issued together.",
        "stores": f"Load all values before the first store: {store} stands before these loads, and the compiler moves no load ahead of a store that may change "
        f"what it loads, unless it knows that the arrays lie apart{words.read_only}.",
        "copied": f"A thread loads several values already: load neighbours {widest_at_once(words)}, and all others before the first use, with no branch "
        "between them.",
        "copied apart": "A thread loads several values already: issue their loads before the first use, with no branch between them.",
        "": "Let each thread take several elements, and issue all of their loads before the first use.",
    }


def _say_in_triton(evidence: Evidence, where: str, load: Site, few: int) -> str:
    """Returns the advice for Triton, by the `load` that warps wait for most, of which a `few` are under way.

    If BLOCK is longer than the row already, it advises no larger one. If registers hold enough loads already, it advises more
    warps.
    """
    if where == "" and few * _registers_of(load) >= _REGISTERS_FOR_LOADS:
        return _MORE_WARPS_IN_TRITON
    copies = (one.instruction.name in COPIES_TO_SHARED for one in evidence.around(load))
    if where == "turns" and load.width < _REGISTER_BITS and any(copies):
        return _WORDS_IN_TRITON
    larger = "" if find_padding(evidence) else _LARGER_BLOCK.get(where, "")
    return _AHEAD_IN_TRITON[where].format(larger)


def _is_of_tile(evidence: Evidence, load: Site) -> bool:
    """Returns whether a loop loads a tile into shared memory, and the block uses it in the same iteration.

    If the threads do not meet there and nothing is read, each thread keeps a result in shared memory, such as a maximum. If a
    tree adds up what was stored, that was products, which no asynchronous copy can store. What a single lane of a warp loads is a
    value for all, and no tile.
    """
    if load.acting_lanes <= ONE_LANE:
        return False
    loop = evidence.innermost_loop(load)
    inside = evidence.inside(loop) if loop else []
    used = any(site.kind in ("barrier", "shared load", "tensor") for site in inside)
    return used and find_in_trees(evidence).isdisjoint(inside)


def _most_waited_for(evidence: Evidence, loads: Sequence[Site], tiles: Collection[Site]) -> str:
    """Returns where the loads are that warps wait for most, as a key of `_AHEAD_IN_TRITON`. A loop of one iteration has no next one to load for."""
    waiting = dict.fromkeys(_AHEAD_IN_TRITON, 0.0)
    for site in loads:
        where = ""
        if site in tiles:
            where = "turns"
        elif (loop := evidence.innermost_loop(site)) and evidence.goes_back(loop):
            where = "copies" if site.instruction.name in COPIES_TO_SHARED else "loop"
        waiting[where] += evidence.charged[site]["long_scoreboard"]
    return max(waiting, key=lambda where: waiting[where])


def _how_to_load_ahead(
    evidence: Evidence, where: str, loads: Sequence[Site], behind_stores: Mapping[Site, Site]
) -> str:
    apart = find_loads_between_slow_paths(evidence)
    if 2 * evidence.time_of(apart, "long_scoreboard") > evidence.time_of(loads, "long_scoreboard"):
        return "slow paths"
    if behind_stores and not _are_of_turns(evidence, behind_stores):
        return "stores"
    if where == "":
        copied = find_copied_loads(site for site in loads if not evidence.innermost_loop(site))
        of_copied = evidence.time_of(copied, "long_scoreboard")
        if 2 * of_copied <= evidence.time_of(loads, "long_scoreboard"):
            return where
        return "copied" if _has_neighbours(copied) else "copied apart"
    if where != "loop":
        return where
    if behind_stores:
        return "storing loop"
    held = [site for site in loads if _is_behind_stores_of_turns(evidence, site)]
    is_held = 2 * evidence.time_of(held, "long_scoreboard") > evidence.time_of(loads, "long_scoreboard")
    return "storing loop" if is_held else where


def _has_neighbours(loads: Collection[Site]) -> bool:
    """Returns whether one of these loads begins where another one ends."""
    taken = {(base_of(site), offset_of(site)) for site in loads}
    return any((base_of(site), offset_of(site) + site.width // 8) in taken for site in loads)


def _is_behind_stores_of_turns(evidence: Evidence, load: Site) -> bool:
    """Returns whether the load's loop stores in each iteration, and the compiler must assume that this changes what the next iteration loads."""
    loop = evidence.innermost_loop(load)
    can_be_held = not any(part in load.opcode for part in _MOVED_OR_NEVER)
    return can_be_held and any(
        site.kind == "global store"
        and site.executed >= load.executed
        and part_overwritten(evidence, site) == 0
        for site in (evidence.inside(loop) if loop else ())
    )


def _are_of_turns(evidence: Evidence, behind: Mapping[Site, Site]) -> bool:
    """Returns whether the stores belong to earlier iterations of an unrolled loop: they are at the lines of the loads that they hold back."""
    return all(
        load.instruction.place is not None
        and load.instruction.place == store.instruction.place
        and evidence.innermost_loop(load) is not None
        for load, store in behind.items()
    )


def _named_store(behind: Mapping[Site, Site], waits: Mapping[Site, float]) -> str:
    """Returns "the one at kernel.cu:12" for the store before the load that warps wait for most, if that is at another line."""
    load = max(behind, key=lambda one: waits[one], default=None)
    place = behind[load].instruction.place if load else None
    return f"the one at {place}" if load and place and place != load.instruction.place else "one"


def _find_behind_stores(evidence: Evidence, loads: Collection[Site]) -> dict[Site, Site]:
    """Returns the loads that only a store keeps from being issued with those before it, each with the first such store.

    There are none unless warps wait most for such loads and those before them. A load whose address comes from another load has
    to wait for that anyway. The compiler moves loads from memory that is known not to change, and it never moves volatile loads.
    A store that the loop overwrites itself goes with its own cause.
    """
    held: dict[Site, Site] = {}
    beside: list[Site] = []
    for sites in evidence.by_function.values():
        before: list[Site] = []
        store: Site | None = None
        is_held = False
        loop = None
        for site in sites:
            ends = site.instruction.name in _ENDS_RUN or site.kind == "barrier"
            if ends or evidence.innermost_loop(site) != loop:
                before, store, is_held = [], None, False
            loop = evidence.innermost_loop(site)
            if site.kind == "global store":
                if before and store is None and not part_overwritten(evidence, site):
                    store = site
            elif site in loads:
                can_be_held = not any(part in site.opcode for part in _MOVED_OR_NEVER)
                if store and can_be_held and not address_comes_of(evidence, site, before):
                    held[site] = store
                    beside += [] if is_held else before
                    is_held = True
                beside += [site] if is_held else []
                before.append(site)
    times = [evidence.time_of(sites, "long_scoreboard") for sites in (held, beside, loads)]
    return held if times[0] >= WORTH_A_CHANGE and 2 * times[1] >= times[2] else {}


def _overlapped(evidence: Evidence, site: Site) -> float:
    """Returns the part of the waiting for a load that ends if more loads are under way, as in a loop that is unrolled further."""
    together = [site, *find_loads_beside(evidence, site)]
    if len(together) < ENOUGH_LOADS:
        return EIGHTFOLD
    registers = sum(map(_registers_of, together))
    latency = evidence.model.warp_slots.unloaded.get("long_scoreboard", 0.0)
    return max(1 / ENOUGH_LOADS, latency * (1 - registers / _REGISTERS_FOR_LOADS))


def _registers_of(load: Site) -> float:
    return max(1.0, load.width / _REGISTER_BITS)
