"""Detects accesses to global memory that are narrower than a thread could make them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence, Set

from profiler.analyse.causes.detectors.candidate import WIDEST_BITS, WORTH_A_CHANGE, Candidate
from profiler.analyse.causes.detectors.global_memory.redundant_loads import count_times_requested
from profiler.analyse.causes.detectors.global_memory.shared_by_blocks import OFTEN
from profiler.analyse.causes.evidence.addresses import base_of
from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.latency import LAUNCH, Effect
from profiler.analyse.causes.evidence.sites import ACCESSES, ONE_LANE, SHARED, TEXTURE_FETCHES, Kind, Site
from profiler.analyse.causes.evidence.synchronisation import find_ordering
from profiler.analyse.causes.flow.addresses.apart import (
    find_side_by_side,
    is_misaligned,
    lies_apart,
)
from profiler.analyse.causes.flow.block_sharing import find_block_independent, find_single_values
from profiler.analyse.causes.flow.dataflow import (
    OF_BLOCK,
    PARAMETER,
    address_registers,
    all_makers,
    choosers_of,
    find_address_work,
    find_processing,
    makers_of_address,
    makers_of_value,
    reach,
    sources_of,
)
from profiler.analyse.causes.flow.depending import find_depending
from profiler.analyse.causes.flow.lane_values import SUMMING, is_of_loaded_data
from profiler.analyse.causes.flow.loop_carried import is_carried
from profiler.analyse.causes.flow.memory.staging import feeds_shared_memory
from profiler.analyse.causes.flow.possible_writers import writers_before
from profiler.analyse.code.opcodes import launch_sizes
from profiler.catalog.metrics import LANES, SECTOR_BYTES
from profiler.text import whole_percent

# With 4 bytes a lane, a warp requests a line of 128 bytes, which L1 answers in one cycle. Narrower requests leave a part of the
# line unused, even if L1 holds the data.
_FILLING_BITS = 32
# Arithmetic and atomics, with the fences that order them, are done for each element, however wide it is loaded.
_FOR_EACH_ELEMENT: tuple[Kind, ...] = ("fp32", "fp64", "special", "conversion", "tensor", "local", "atomic")
# Special registers, and the size of the block as LDC reads it before Blackwell.
_OF_BLOCKS = ("SR_", "c[0x0][RZ]")
# Units that work for each sector, or for each element, have as much to do as before.
_AS_MUCH_TO_MOVE = frozenset({"l2"})
_AS_MUCH_WORK = _AS_MUCH_TO_MOVE | {"fma", "alu", "fp64", "xu", "tensor"}
_FEWER_THREADS = "Where threads are then left without work, launch smaller blocks, or fewer of them."


def detect_narrow(evidence: Evidence) -> Iterable[Candidate]:
    """Names accesses narrower than 16 bytes that are otherwise well formed: aligned, contiguous, and not broadcast or gathered.

    The hardware refuses a wide access whose address is not a multiple of its width, so misaligned accesses have to be corrected
    first. Data that is requested again and again should be kept instead.
    """
    side_by_side = find_side_by_side(evidence)
    accesses = evidence.of("global load", "global store")
    sites = [
        site
        for site in accesses
        if 0 < site.width < WIDEST_BITS
        and (_could_be_wider(evidence, site) or site in side_by_side)
        and not feeds_shared_memory(evidence, site)
        and not _is_alone(evidence, site)
    ]
    # Accesses of one base become part of the same wide access, aligned or not.
    bases = {base_of(site) for site in sites}
    single = find_single_values(evidence)
    total = sum(site.bytes_of_lanes for site in accesses if site not in single)
    moved = sum(site.bytes_of_lanes for site in accesses if base_of(site) in bases and site not in single)
    if not moved or 2 * moved < total:
        return
    fills_requests = any(site.width >= _FILLING_BITS for site in sites)
    if fills_requests and count_times_requested(evidence, together=True) > OFTEN:
        return
    if evidence.waits_by_reason and evidence.time_of(accesses) < WORTH_A_CHANGE:
        return
    width = _mean_width(sites)
    widths = sorted({site.width // 8 for site in sites})
    elements = f"{WIDEST_BITS / width:.0f}" if len(widths) == 1 else "several"
    request = (evidence.shape.lanes_of_warp if evidence.shape else LANES) * width / 8
    said = _widths_text(widths)
    apart = (site for site in accesses if base_of(site) in bases and lies_apart(evidence, site))
    if 2 * sum(site.bytes_of_lanes for site in apart) > moved:
        how = f"{said} that lie side by side in a thread, and apart between threads: wider ones touch each sector less often."
    else:
        # Other accesses may be as narrow: those whose lanes lie apart, or share one place.
        are_others_narrow = any(site.width // 8 in widths for site in accesses if base_of(site) not in bases)
        how = f"{'neighbouring lanes, ' if are_others_narrow else ''}{said} a thread, {request:.0f} bytes a request{' on average' if len(widths) > 1 else ''}."
    yield Candidate(
        "narrow-accesses",
        f"{whole_percent(100 * moved / total)} % of the data moves in accesses of {how}",
        f"{evidence.words.wide_access(elements)} {_FEWER_THREADS}",
        _widened(evidence, sites, bases),
        {site: site.bytes_of_lanes for site in sites},
        {"access_bytes": width / 8, "request_bytes": request, "moved_so_pct": 100 * moved / total},
    )


def _widened(evidence: Evidence, sites: Sequence[Site], bases: Set[object]) -> Effect:
    """Returns the effect of accesses of 16 bytes: a wider one carries more bytes with as many requests under way.

    Without a loop, one thread then does the work of several. The same holds for a loop that strides across the grid, if each
    thread makes one iteration of it. In any other loop, one iteration does the work of several. A block that computes a row needs
    fewer warps for it, but at least one. There are as many rows as before, so as many blocks are launched.
    """
    gain = 1 - _mean_width(sites) / WIDEST_BITS
    launches: dict[str, float] = {}
    has_loops = any(evidence.goes_back(loop) for loops in evidence.loops.values() for loop in loops)
    if has_loops or _exchanges_elements(evidence) or _fetches_textures(evidence):
        fewer, kept = list(sites), _AS_MUCH_TO_MOVE
    else:
        fewer, kept = _made_by_fewer_threads(evidence, bases), _AS_MUCH_WORK
        if not _has_row(evidence):
            launches = {LAUNCH: gain}
        elif evidence.shape:
            gain = min(gain, 1 - 1 / math.ceil(math.prod(evidence.shape.block) / LANES))
    effect = evidence.without(dict.fromkeys(fewer, gain))
    resources = {name: part for name, part in effect.resources.items() if name not in kept}
    return Effect(resources | launches, effect.waits, warps=_resident_without(evidence, sites, gain))


def _resident_without(evidence: Evidence, sites: Sequence[Site], gone: float) -> float:
    """Returns by which factor more warps are resident if each thread takes the elements of several threads.

    The part `gone` of all warps is then not launched. Warps that had to wait for a place, as in a second wave, take the free
    places; the others stay empty. That counts only in loops where the elements beside a thread's own belong to its neighbours. In
    other loops, they belong to the thread's next iterations: it makes fewer iterations, and there are as many warps.
    """
    left = min(1.0, (1 - gone) * max(1.0, evidence.find("waves") or 1.0))
    if left == 1.0:
        return left
    down_rows = sum(site.bytes_of_lanes for site in sites if _goes_down_rows(evidence, site))
    return left if 2 * down_rows > sum(site.bytes_of_lanes for site in sites) else 1.0


def _made_by_fewer_threads(evidence: Evidence, bases: Set[object]) -> list[Site]:
    """Returns what is executed once if one thread does the work of several, without accesses that cannot be wider until they are coalesced.

    What every block prepares alike, except for addresses, is left to `too-little-work-a-thread`: the width of an access does not
    change it.
    """
    prepared = {
        site
        for site in find_block_independent(evidence, OF_BLOCK)
        if site.use.written and site.kind not in ACCESSES
    } - find_address_work(evidence)
    for_each = {*find_processing(evidence), *evidence.lookups_apart, *find_ordering(evidence)}
    return [
        site
        for site in evidence.sites
        if site.kind not in _FOR_EACH_ELEMENT
        and site not in for_each
        and site not in prepared
        and (base_of(site) in bases or not (lies_apart(evidence, site) or is_misaligned(evidence, site)))
    ]


def _goes_down_rows(evidence: Evidence, access: Site) -> bool:
    """Returns whether each iteration of a loop advances an address by a parameter, such as the length of a row, and not by a number of threads.

    The next elements of the row are then those of the neighbouring threads. Either the parameter is added to the address in each
    iteration, or the address contains its product with the loop counter.
    """
    loop = evidence.innermost_loop(access)
    if loop is None:
        return False

    def from_turns(site: Site, register: str) -> list[Site]:
        writers = writers_before(evidence, site, register)
        return [one for one in writers if one.kind not in ACCESSES and evidence.innermost_loop(one) == loop]

    makers = reach(
        (one for register in address_registers(access.instruction) for one in from_turns(access, register)),
        lambda site: [one for register in site.use.inputs for one in from_turns(site, register)],
    )
    carried = {one for one in makers if is_carried(evidence, one)}
    moving = carried.union(find_depending(evidence, evidence.inside(loop), [loop], carried))
    for one in makers:
        going_on = {
            register for register in one.use.inputs if not moving.isdisjoint(from_turns(one, register))
        }
        factors = set(one.instruction.operands[1:3]) if one.instruction.name == "IMAD" else set[str]()
        if one in carried or factors & going_on:
            besides = one.use.inputs - going_on
            if _is_size(evidence, one, besides if one in carried else besides & factors):
                return True
    return False


def _is_size(evidence: Evidence, site: Site, registers: Set[str]) -> bool:
    """Returns whether an instruction reads a parameter, in these registers or in constants, and no index or size of the block.

    The size of the grid is no such parameter. Blocks that share out rows take the product of both in each turn, which is whole rows.
    """
    makers = all_makers(evidence, sources_of(evidence, site, registers))
    text = " ".join(one.instruction.text for one in (site, *makers))
    read, sizes = set(PARAMETER.findall(text)), launch_sizes(evidence.profile.compute_capability)
    is_of_block = not read.isdisjoint(sizes.block) or any(one in text for one in _OF_BLOCKS)
    return bool(read.difference(sizes.grid)) and not is_of_block


def _has_row(evidence: Evidence) -> bool:
    """Returns whether a block computes one row, so that it cannot take more elements than the row has.

    One sign is that the stored results depend on a sum or a maximum over the block, as in a normalisation. Another is that some
    threads store nothing because of their index in the block alone: the row is shorter than the block.
    """
    stores = [site for site in evidence.of("global store") if site.acting_lanes > ONE_LANE]
    makers = reach(
        [one for store in stores for one in makers_of_value(evidence, store)],
        lambda one: () if one.kind == "global load" else sources_of(evidence, one),
    )
    if any(one.opcode.startswith(SUMMING) or one.kind == "shared load" for one in makers):
        return True
    alike = set(find_block_independent(evidence, OF_BLOCK))
    return any(
        site.acting is not None
        and site.acting < LANES - 1
        and (choosers := choosers_of(evidence, site))
        and alike.issuperset(choosers)
        for site in stores
    )


def _mean_width(sites: Sequence[Site]) -> float:
    """Returns how many bits a thread accesses at once, on average."""
    return sum(site.width * site.executed for site in sites) / sum(site.executed for site in sites)


def _exchanges_elements(evidence: Evidence) -> bool:
    """Returns whether threads exchange single elements through shared memory.

    If only one lane of each warp stores there, it stores what the warp made of its elements, such as their sum. If a thread takes
    more elements, fewer warps have such a result.
    """
    return any(site.acting_lanes > ONE_LANE for site in evidence.of(*SHARED) if site.stores_in_shared)


def _fetches_textures(evidence: Evidence) -> bool:
    """Returns whether texture units fetch an element for each lane. Such a fetch cannot be made wider."""
    return any(site.instruction.name in TEXTURE_FETCHES for site in evidence.of("global load"))


def _widths_text(widths: Sequence[int]) -> str:
    """Returns `4 bytes`, `4 or 8 bytes`, or `1, 4 or 8 bytes` where accesses differ."""
    *others, last = map(str, widths)
    return f"{', '.join(others)}{' or ' if others else ''}{last} {'byte' if widths == [1] else 'bytes'}"


def _is_alone(evidence: Evidence, site: Site) -> bool:
    """Returns whether a single lane of a warp makes the access, outside of loops.

    The elements beside its own would belong to other lanes, and nobody needs them. In a loop, the lane's own next element may lie
    there.
    """
    lanes = evidence.by_function[site.function][0].lanes or LANES
    is_one = evidence.has_costs and site.acting_lanes <= ONE_LANE < lanes
    return is_one and not evidence.innermost_loop(site)


def _could_be_wider(evidence: Evidence, site: Site) -> bool:
    """Returns whether the elements beside a thread's own are its neighbours', or those of its next iterations.

    Outside of loops, an element that data chooses has nobody's elements beside it, even if few lanes act and touch few sectors.
    """
    by_data = is_of_loaded_data(evidence, makers_of_address(evidence, site))
    return (
        _is_contiguous(evidence, site)
        and not is_misaligned(evidence, site)
        and not (by_data and evidence.innermost_loop(site) is None)
    )


def _is_contiguous(evidence: Evidence, site: Site) -> bool:
    """Returns whether the lanes touch as many bytes as they ask for, give or take a sector: no broadcast, and no gaps.

    Sectors that were not counted are estimated for all lanes.
    """
    if not site.sectors:
        return site.sectors is None
    asked = (site.acting_lanes if evidence.has_costs else LANES) * site.width / 8 / SECTOR_BYTES
    return asked - 1 < site.sectors / site.executed <= asked + 1
