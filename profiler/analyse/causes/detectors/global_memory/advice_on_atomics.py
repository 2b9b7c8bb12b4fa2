"""Says what to do about atomics: who can add up what they update, and how to do without most of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from profiler.analyse.causes.detectors.candidate import are_most
from profiler.analyse.causes.detectors.global_memory.updated_places import (
    ATOMIC_CONTENTION,
    MEMORY,
    Updated,
    find_updated,
    has_room_for_lanes,
    stays_for_turns,
)
from profiler.analyse.causes.evidence.addresses import address_of
from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.sites import ACCESSES, Site, is_swap
from profiler.analyse.causes.flow.addresses.threads import bytes_between_lanes
from profiler.analyse.causes.flow.dataflow import (
    all_makers,
    makers_of_address,
    makers_of_value,
    readers_behind,
)
from profiler.analyse.causes.flow.lane_values import find_differing_in_block
from profiler.analyse.causes.flow.same_in_turns import find_steady
from profiler.analyse.causes.words.triton import IN_TRITON
from profiler.analyse.recording.launch_shapes import LaunchShape
from profiler.catalog.metrics import SECTOR_BYTES
from profiler.text import without_capital

# Advice in CUDA C++, and in Triton.
_Advice = tuple[str, str]
_IN_ORDER = (
    "The old value is used, as where it says which place comes next: take room by one update for all elements of a {0} that go to one counter, and let a "
    "prefix sum give each of them its place in that. The more elements a {0} has, the fewer updates are left."
)
_WITHOUT_FENCES = "Where no other access has to be in order with the updates, leave out their fences{}."
_QUOTIENTS = ("IMAD.HI", "SHF.R", "PRMT")
_SIGN = "0x1f"  # a shift by 31 bits makes the upper half of an index of 64 bits, beside the lower one
_CHOOSING, _CHOICES = re.compile(r"\.(?:AND|OR|MIN|MAX)\b"), ("SEL", "FSEL", "FMNMX", "IMNMX", "VIMNMX")
_WHERE_IT_CHANGES = (
    "Read the place first, and update it only {0}; let one lane update for all lanes of its warp that have the same place.",
    "Load the places first, and let the `mask` of the atomic take only the elements that change theirs; where a "
    "program has several elements for one place, reduce them first (`tl.min`, `tl.max`, `tl.reduce`).",
)
_CHANGES: Mapping[str, str] = {
    ".OR": "if the bits are not set yet",
    ".AND": "if bits that it clears are still set",
    ".MIN": "if the new value is less",
    ".MAX": "if the new value is greater",
}
_AMONG_MANY_PLACES = (
    "The updates go to many places, and few meet at one: where most of them change nothing, read the place first, which is a trip to L2 for each, and update "
    "it only {0}. Otherwise sort them by their place, or by tiles of places that fit into shared memory, and combine there what goes to one place.",
    "The updates go to many places, and few meet at one: where most of them change nothing, load the places first, which is a trip to L2 for each, and let "
    "the `mask` of the atomic take only those that change theirs. Otherwise sort them by their place, and combine what goes to one place.",
)
# An update that is sorted is written, and read again, with its place: 16 bytes, which is half of a sector for each lane.
_SECTORS_TO_SORT = 0.5
_STORE = (
    "Nothing reads the old value: store instead of exchanging.",
    "Nothing reads the old value: call `tl.store` instead of `tl.atomic_xchg`.",
)
_COPIES_OF_LANES = (
    "Let each warp, or every few lanes, update a copy of their own, and add the copies up at the end; or let each thread add up what it has for one "
    "place before it updates."
)
_TURNS_UPDATE_ONE_PLACE = "The turns of a loop update one place: "
_ONCE_AFTER_LOOP = f"{_TURNS_UPDATE_ONE_PLACE}add up in a {{}}, and update once, after the loop."
_FIRST_IN_LOOP = f"{_TURNS_UPDATE_ONE_PLACE}add up in a {{}} first. After the loop, "
_VALUE_IS_IN = ("register", "variable")
_UNTIL_PLACE_CHANGES = "Successive turns of a loop update one place: keep the value in a {} until the place changes, and update only then."
_IN_REGISTER = (
    "The lanes of a warp update places of their own, so that they cannot add up for each other: let each thread take several elements for its place, "
    "add them up in a register, and update once"
)
_IN_WARP = (
    "One lane of each warp updates already, and each warp a place of its own: let each warp take several elements for its place, add them up in a "
    "register, and update once."
)
_BY_ONE_OF_WARP = "Add up inside the warp ({warp_sum}), so that one lane updates for all."
_ADVICE: Mapping[str, Mapping[Updated, str]] = {  # by the memory
    "global": {
        "one place": "Add up inside the warp ({warp_sum}), then inside the block in shared memory, and update global memory once "
        "a block.",
        "one place a warp": _BY_ONE_OF_WARP,
        "by one lane": "Add up inside the block in shared memory as well, and update global memory once a block.",
        "places of warps": _IN_WARP,
        "places of lanes": f"{_IN_REGISTER}; or, where other warps of its block update the same places, add up in shared memory first.",
        "places of data": "Let each block update a copy of its own in shared memory, and add the copies to global memory at the end; where the places "
        "are too many for a copy, sort the updates by tiles of places of which a block can have a copy, or by their place, and add up those of one place first.",
    },
    "shared": {
        "one place": _BY_ONE_OF_WARP,
        "one place a warp": _BY_ONE_OF_WARP,
        "by one lane": "Let each warp store what it has in a place of its own, and let one warp add these up.",
        "places of warps": _IN_WARP,
        "places of lanes": f"{_IN_REGISTER}.",
        "places of data": _COPIES_OF_LANES,
    },
}  # fmt: skip
_BY_ONE_LANE_ALREADY = {
    "global": "One lane of each warp updates already (the compiler sees to it where lanes add to one place): ",
    "shared": "One lane of each warp updates already: ",
}
_OF_FLOATS = re.compile(r"\.B?F\d")
_NOT_REDUCED = re.compile(rf"{_OF_FLOATS.pattern}|\.64")  # `__reduce_add_sync` takes integers of 32 bits
_IN_LARGER_BLOCKS = (
    "There is one update a block already: let each block take more elements before it ({}), or let it store its result, and "
    "combine the results of all blocks in a second launch."
)
_WITH_LARGER_COPIES = (
    "Each block updates a copy of its own in shared memory already: let it take more elements before it adds its copy to the others' in global "
    "memory ({}, and fewer blocks)."
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


def advise(evidence: Evidence, sites: Sequence[Site], weights: Mapping[Site, float]) -> _Advice:
    """Returns what to do about these atomics of one memory; "" for Triton where its usual words fit.

    If most of them are alike in what they are for, there may be a way without most updates. Otherwise, the places that they update decide who can add up.
    """
    of_sites = {site: weights[site] for site in sites}
    ways: tuple[tuple[Callable[[Evidence, Site], bool], _Advice], ...] = (
        (_gives_places, _in_both(_IN_ORDER, "block", "program")),
        (_could_store, _STORE),
        (_chooses, _say_where_it_changes(evidence, sites)),
        (stays_for_turns, _in_both(_UNTIL_PLACE_CHANGES, *_VALUE_IS_IN)),
    )
    for is_alike, instead in ways:
        if are_most(of_sites, (site for site in sites if is_alike(evidence, site))):
            return instead
    updated, where = find_updated(evidence, of_sites), MEMORY[sites[0].kind]
    # A block of one warp has nothing left to add up when its warp has.
    if updated == "one place" and evidence.shape is not None and evidence.shape.warps_of_block == 1:
        where = "shared"
    advice = _ADVICE[where][updated].format(warp_sum=_say_warp_sum(evidence))
    if are_most(of_sites, (site for site in sites if _repeats_its_place(evidence, site))):
        # Nothing is left to add up with others.
        if updated in ("places of warps", "places of lanes"):
            return _in_both(_ONCE_AFTER_LOOP, *_VALUE_IS_IN)
        before, before_in_triton = _in_both(_FIRST_IN_LOOP, *_VALUE_IS_IN)
        return (
            before + without_capital(advice),
            before_in_triton + without_capital(IN_TRITON[ATOMIC_CONTENTION]),
        )
    if updated == "by one lane":
        return _BY_ONE_LANE_ALREADY[where] + without_capital(advice), ""
    return advice, ""


def leave_out_fences(evidence: Evidence, advice: _Advice, first: bool) -> _Advice:
    """Returns the advice to leave out fences, before other advice or after it."""
    without, without_in_triton = map(_WITHOUT_FENCES.format, (evidence.words.relaxed, ' (`sem="relaxed"`)'))
    other, in_triton = advice
    if first:
        return f"{without} {other}", f"{without_in_triton} {in_triton}".rstrip()
    return f"{other} {without}", f"{in_triton or IN_TRITON[ATOMIC_CONTENTION]} {without_in_triton}"


def _in_both(advice: str, word: str, in_triton: str) -> _Advice:
    return advice.format(word), advice.format(in_triton)


def advise_larger_blocks(evidence: Evidence) -> _Advice | None:
    """Returns the advice where blocks have to take more elements, so that updates become fewer, also for Triton; None elsewhere."""
    sites = evidence.of(*MEMORY)
    blocks = evidence.shape.blocks if evidence.shape else 0
    updates = sum(site.lane_executions for site in evidence.of("atomic"))
    # Where far fewer blocks update, what they find decides that, and not how much they take.
    if blocks < 2 * updates <= 2 * blocks:
        return _IN_LARGER_BLOCKS.format(evidence.words.grid_stride_loop), _IN_LARGER_PROGRAMS
    if _adds_copies_of_blocks(evidence, sites):
        return _WITH_LARGER_COPIES.format(evidence.words.grid_stride_loop), _IN_ONE_PROGRAM
    return (_IN_ONE_THREAD, _IN_ONE_PROGRAM) if _has_place_for_each_thread(evidence, sites) else None


def _say_where_it_changes(evidence: Evidence, sites: Sequence[Site]) -> _Advice:
    """Returns how to leave out the updates that change nothing, by what most of them do."""
    executed = {name: sum(one.executed for one in sites if name in one.opcode) for name in _CHANGES}
    name = max(executed, key=lambda one: executed[one])
    changes = _CHANGES[name] if executed[name] else "if that changes it"
    are_spread = all(go_to_many_places(evidence, site) for site in sites)
    in_cuda, in_triton = _AMONG_MANY_PLACES if are_spread else _WHERE_IT_CHANGES
    return in_cuda.format(changes), in_triton


def find_spared_by_sorting(evidence: Evidence, sites: Sequence[Site]) -> dict[Site, float]:
    """Returns the part that goes of updates that may change nothing, and that would have to be sorted for anything to go."""
    return {
        site: max(0.0, 1 - _SECTORS_TO_SORT * site.lane_executions / site.sectors)
        for site in sites
        if site.sectors and _chooses(evidence, site) and go_to_many_places(evidence, site)
    }


def go_to_many_places(evidence: Evidence, site: Site) -> bool:
    """Returns whether data or a hash chooses a place for each lane, and few updates meet at one.

    Updates that meet are served one after the other, for which warps wait longer than for any memory; and if lanes of one warp met, their
    sectors could not hold the values of all.
    """
    return (
        site.kind == "atomic"
        and evidence.has_costs
        and not evidence.atomics_are_contended
        and bool(site.sectors)
        and has_room_for_lanes(site)
        and bytes_between_lanes(evidence, [site]) is None
    )


def _gives_places(evidence: Evidence, site: Site) -> bool:
    """Returns whether a thread computes with the count that was there before, as one does that takes the next place in a queue.

    A thread that only compares the count asks whether it is the last, or too many.
    """
    counts = ".ADD" in site.opcode and not _OF_FLOATS.search(site.opcode)
    return counts and any(one.instruction.name != "ISETP" for one in readers_behind(evidence, site))


def _could_store(evidence: Evidence, site: Site) -> bool:
    """Returns whether a store would do. Beside a loop that swaps, an exchange may release a lock."""
    return _is_store(site) and not any(".CAS" in one.opcode for one in evidence.of(*MEMORY))


def _is_store(site: Site) -> bool:
    return ".EXCH" in site.opcode and not site.use.written


def _chooses(evidence: Evidence, site: Site) -> bool:
    """Returns whether an update may leave what is there, as one by the least does: also one that swaps in what it has chosen."""
    if _CHOOSING.search(site.opcode):
        return True
    return ".CAS" in site.opcode and any(
        one.instruction.name in _CHOICES for one in makers_of_value(evidence, site)
    )


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
        or _is_store(site)
        or _chooses(evidence, site)
        or site.bytes_of_lanes > SECTOR_BYTES * (site.sectors or 0.0)
        or any(
            one in differing and _drops_part_of_index(evidence.shape, one)
            for one in all_makers(evidence, makers_of_address(evidence, site))
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


def _say_warp_sum(evidence: Evidence) -> str:
    others = any(
        _NOT_REDUCED.search(site.opcode) or _swaps_in_float(evidence, site) for site in evidence.of(*MEMORY)
    )
    return evidence.words.shuffle_down if others else evidence.words.warp_sum


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
