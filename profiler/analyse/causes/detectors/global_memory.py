"""Detects causes in the accesses to global and constant memory: which addresses a warp touches, how wide, how often, and whether at once."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence

from profiler.analyse.causes.detectors.candidate import EIGHTFOLD, WIDEST_BITS, Candidate
from profiler.analyse.causes.detectors.redundant_accesses import (
    OFTEN,
    base_of,
    count_times_requested,
    offset_of,
)
from profiler.analyse.causes.detectors.waiting import find_waiting_for_tiles
from profiler.analyse.causes.evidence.dataflow import (
    feeds_shared_memory,
    find_address_work,
    find_processing,
    follows_itself,
    is_gathered,
)
from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.latency import CONSTANTS, LAUNCH, Effect
from profiler.analyse.causes.evidence.sites import SHARED, Kind, Site
from profiler.catalog.metrics import LANES, SECTOR_BYTES
from profiler.text import counted

# Arithmetic and atomics are done for each element, however wide it is loaded.
_FOR_EACH_ELEMENT: tuple[Kind, ...] = ("fp32", "fp64", "special", "conversion", "tensor", "local", "atomic")
# Bits that a thread can copy to shared memory asynchronously: 32, 64 or 128 (PTX ISA, "cp.async").
_NARROWEST_COPY = 32
_WAITS = ("long_scoreboard", "lg_throttle", "drain", "tex_throttle")
_TEXTURE_FETCHES = ("TEX", "TLD", "TLD4", "TXD")
# The cache of constants takes two cycles for each of 32 addresses. Shared memory makes a pass a cycle, of which 32 lanes at random
# places of 32 banks need 3.5 on average: so many fall into the fullest bank.
_PASSES_AT_RANDOM = 3.5
_SPARED_IN_SHARED_MEMORY = 1 - _PASSES_AT_RANDOM / (2 * LANES)
# Of a store by one lane of each warp, such as of the warp's sum; two lanes are an exchange already.
_ONE_LANE = 1.5
# A part of the time that is not worth a change: what accesses wait for less than that is not made faster by wider ones.
_SEEN_TO_WAIT = 0.03


def detect_uncoalesced(evidence: Evidence) -> Iterable[Candidate]:
    """Names accesses that touch more than one sector too many for each request: their lanes lie apart."""
    variants: tuple[tuple[Kind, str, str, str, str], ...] = (
        ("global load", "uncoalesced-loads", "loads", "stores", "read neighbouring elements"),
        ("global store", "uncoalesced-stores", "stores", "loads", "write neighbouring elements"),
    )
    found = {kind: _find_apart(evidence, kind) for kind, *_ in variants}
    together = [site for sites in found.values() for site in sites]
    for kind, name, verb, others, advice in variants:
        if not (sites := found[kind]):
            continue
        request, needed = _per_request(sites)
        # If loads and stores lie apart in the same way, the same index causes both, and one change corrects both.
        is_most = (
            sum(site.excess_sectors for site in sites) >= sum(site.excess_sectors for site in together) / 2
        )
        mended = together if is_most else sites
        both = f" Its {others} lie apart too: the saving is that of correcting both at once, and includes theirs."
        yield Candidate(
            name,
            f"A warp {verb} {request:.3g} sectors of 32 bytes a request where {needed:.3g} would hold its data: its lanes "
            f"use {100 * needed / request:.3g} % of what is moved.{both if len(mended) > len(sites) else ''}",
            _advice_apart(evidence, sites, advice),
            _cheaper(evidence, mended),
            {site: site.excess_sectors for site in sites},
            {
                "sectors_per_request": request,
                "ideal_sectors_per_request": needed,
                "used_pct": 100 * needed / request,
            },
        )


def _advice_apart(evidence: Evidence, sites: Sequence[Site], advice: str) -> str:
    """Returns how to bring lanes together, by what sets them apart: loaded indices, the elements of each thread, or its index."""
    if all(is_gathered(evidence, site) for site in sites):
        return (
            f"Data says where each lane goes: sort or group the work by that index, so that neighbouring threads {advice}, or keep the "
            "table in shared memory if it fits."
        )
    side_by_side = _find_side_by_side(evidence)
    if 2 * sum(site.excess_sectors for site in sites if site in side_by_side) > sum(
        site.excess_sectors for site in sites
    ):
        return (
            "Access the neighbouring elements of a thread at once, in up to 16 bytes (a vector type), or let neighbouring threads "
            f"{advice}."
        )
    return (
        f"Let neighbouring threads {advice}: exchange the roles of the indices (such as a warp for each row, instead of a thread), change the "
        "layout, or pass a tile through shared memory."
    )


def _find_apart(evidence: Evidence, kind: Kind) -> list[Site]:
    """Returns the accesses whose lanes lie apart, without those that data scatters unless there are no others.

    Where each lane takes the element whose index it has loaded, no layout and no order of the threads makes the lanes neighbours.
    """
    apart = [site for site in _accesses(evidence, kind) if _lies_apart(evidence, site)]
    return [site for site in apart if not is_gathered(evidence, site)] or apart


def detect_misaligned(evidence: Evidence) -> Iterable[Candidate]:
    """Names accesses most of whose requests touch one sector more than their bytes fill.

    Of neighbours of one base, as of a stencil, some start inside a sector wherever the rows start: while any are aligned, no shift helps.
    """
    accesses = _accesses(evidence, "global load", "global store")
    misaligned = [site for site in accesses if _is_misaligned(evidence, site)]
    aligned = {
        base_of(site) for site in accesses if site not in misaligned and not _lies_apart(evidence, site)
    }
    sites = [site for site in misaligned if base_of(site) not in aligned]
    if sites:
        request, needed = _per_request(sites)
        narrow = _kept_narrow(evidence, sites)
        yield Candidate(
            "misaligned-accesses",
            f"The lanes of a warp are neighbours but start inside a sector: {request:.1f} sectors a request, where "
            f"{needed:.1f} would do."
            + (f" That also keeps {counted(len(narrow), 'access', 'accesses')} narrow." if narrow else ""),
            "Start rows and offsets at multiples of 32 bytes: pad the rows, or shift the first index."
            + (" Then let each thread access 16 bytes at once." if narrow else ""),
            _with_fewer(_cheaper(evidence, sites), evidence.without(narrow)),
            {site: site.excess_sectors for site in sites},
            {"sectors_per_request": request, "ideal_sectors_per_request": needed},
        )


def _kept_narrow(evidence: Evidence, sites: Sequence[Site]) -> dict[Site, float]:
    """Returns the part of the accesses that go if rows are aligned, because the hardware refuses wide ones at other addresses.

    A block that takes a row in pieces, an element a thread of each, could as well take several elements a thread. The
    pieces lie as many bytes apart as all threads access at once.
    """
    threads = math.prod(evidence.shape.block) if evidence.shape else 0
    pieces: dict[object, list[Site]] = {}
    for site in sites:
        if threads and 0 < site.width < WIDEST_BITS and offset_of(site) % (threads * site.width // 8) == 0:
            pieces.setdefault((base_of(site), site.width, site.executed), []).append(site)
    return {
        site: 1 - max(site.width / WIDEST_BITS, 1 / len(ones))
        for ones in pieces.values()
        if len({offset_of(one) for one in ones}) > 1
        for site in ones
    }


def _with_fewer(cheaper: Effect, fewer: Effect) -> Effect:
    """Returns the effect of accesses that are both fewer and cheaper; fewer of them move as much."""
    moved = ("dram", "l2", "l1")
    saved = {name: part for name, part in fewer.resources.items() if name not in moved}
    return Effect(saved | dict(cheaper.resources), fewer.waits, cheaper.lighter)


def detect_narrow(evidence: Evidence) -> Iterable[Candidate]:
    """Names accesses narrower than 16 bytes that are otherwise well formed: aligned, contiguous, and not broadcast or gathered.

    The hardware refuses a wide access whose address is not a multiple of its width, so misaligned accesses come first.
    """
    side_by_side = _find_side_by_side(evidence)
    sites = [
        site
        for site in evidence.of("global load", "global store")
        if 0 < site.width < WIDEST_BITS
        and ((_is_contiguous(evidence, site) and not _is_misaligned(evidence, site)) or site in side_by_side)
        and not feeds_shared_memory(evidence, site)
    ]
    # Those of one base become part of the same wide access, aligned or not.
    bases = {base_of(site) for site in sites}
    accesses = evidence.of("global load", "global store")
    total = sum(_bytes(site) for site in accesses)
    moved = sum(_bytes(site) for site in accesses if base_of(site) in bases)
    if not sites or 2 * moved < total or count_times_requested(evidence, together=True) > OFTEN:
        return
    if evidence.waits_by_reason and evidence.time_of(accesses) < _SEEN_TO_WAIT:
        return
    width = sum(site.width * site.executed for site in sites) / sum(site.executed for site in sites)
    # A wider access carries more bytes with as many requests under way. Without a loop, a thread takes the place of several,
    # and the number of all their instructions falls with it, except for accesses that cannot be wider until their lanes are neighbours.
    gain = 1 - width / WIDEST_BITS
    computes = any(evidence.loops.values()) or _exchanges_elements(evidence) or _fetches_textures(evidence)
    processing = find_processing(evidence)
    shrinking = (
        sites
        if computes
        else [
            site
            for site in evidence.sites
            if site.kind not in _FOR_EACH_ELEMENT
            and site not in processing
            and site not in evidence.lookups_apart
            and (
                base_of(site) in bases or not (_lies_apart(evidence, site) or _is_misaligned(evidence, site))
            )
        ]
    )
    fewer = evidence.without(dict.fromkeys(shrinking, gain))
    computing = ("l2", "fma", "alu", "fp64", "xu", "tensor")
    widths = sorted({site.width // 8 for site in sites})
    elements = f"{WIDEST_BITS / width:.0f}" if len(widths) == 1 else "several"
    yield Candidate(
        "narrow-accesses",
        f"{100 * moved / total:.0f} % of the data moves in accesses of {_widths_text(widths)} a thread, "
        f"{LANES * width / 8:.0f} bytes a request{' on average' if len(widths) > 1 else ''}.",
        f"Access 16 bytes a thread ({elements} neighbouring elements at once), with a scalar tail.",
        Effect(
            {name: part for name, part in fewer.resources.items() if name not in computing}
            | ({} if computes else {LAUNCH: gain}),
            {
                reason: part * (1 - _queued_behind_others(evidence, side_by_side) * (reason in _WAITS))
                for reason, part in fewer.waits.items()
            },
            # A thread that takes the elements of several does the work of several loops: fewer threads are left.
            warps=min(1.0, (1 - gain) * (evidence.find("waves") or 1.0)) if follows_itself(evidence) else 1.0,
        ),
        {site: _bytes(site) for site in sites},
        {"access_bytes": width / 8, "request_bytes": LANES * width / 8, "moved_so_pct": 100 * moved / total},
    )


def detect_narrow_tiles(evidence: Evidence) -> Iterable[Candidate]:
    """Names tiles that threads load in pieces too narrow for asynchronous copies, although each thread takes several of them."""
    tiles = _find_narrow_tiles(evidence)
    if not tiles:
        return
    fractions = {site: 1 - max(site.width / WIDEST_BITS, 1 / count) for site, count in tiles.items()}
    loops = {evidence.innermost_loop(site) for site in tiles}
    inside = [site for loop in loops if loop for site in evidence.inside(loop)]
    # Copies need neither registers nor stores, and there are as many addresses as copies.
    passing = [site for site in inside if site.kind == "shared store" or site.instruction.name == "PRMT"]
    share = sum(part * site.executed for site, part in fractions.items()) / sum(
        site.executed for site in tiles
    )
    addresses = find_address_work(evidence)
    fewer = evidence.without(
        fractions
        | dict.fromkeys([site for site in inside if site in addresses], share)
        | dict.fromkeys(passing, 1.0)
    )
    apart = [site for site in tiles if _lies_apart(evidence, site)]
    cheaper = _cheaper(evidence, apart) if apart else Effect()
    moved = {name: cheaper.resources.get(name, 0.0) for name in ("dram", "l2", "l1")}
    moved["l1"] += evidence.part_of_l1(dict.fromkeys([site for site in passing if site.passes], 1.0))
    width = sum(site.width * site.executed for site in tiles) / sum(site.executed for site in tiles)
    waiting = 100 * evidence.time_of(tiles, "long_scoreboard")
    yield Candidate(
        "narrow-accesses",
        f"Tiles are loaded {width / 8:.0f} {'byte' if width == 8 else 'bytes'} a thread at a time, too narrow for asynchronous copies of the "
        f"next tiles: they pass through registers, and warps spend {waiting:.0f} % of their time waiting for them.",
        "Load 16 bytes a thread: let the dimension in which a tile lies together in memory be the one in which a thread takes neighbours, "
        "and copy them asynchronously (cp.async).",
        Effect(
            {**fewer.resources, **moved},
            {
                **fewer.waits,
                **evidence.waiting_for(dict.fromkeys(tiles, EIGHTFOLD), "long_scoreboard"),
                **evidence.waiting_for(find_waiting_for_tiles(evidence, set(tiles)), "barrier"),
            },
            cheaper.lighter,
        ),
        {site: _bytes(site) for site in tiles},
        {"access_bytes": width / 8, "waiting_pct": waiting},
        in_triton="Give the dimension in which a tile lies together in memory a stride of 1 that Triton can see (an argument that is 1, or a "
        "`tl.constexpr`), and do not divide its index: for images, channels last. Then Triton copies 16 bytes a thread, `num_stages` tiles ahead.",
    )


def _find_narrow_tiles(evidence: Evidence) -> dict[Site, int]:
    """Returns the loads of a tile that are narrower than any asynchronous copy, with how many such a thread makes in a turn, if two or more."""
    rows: dict[object, list[Site]] = {}
    for site in evidence.of("global load"):
        loop = evidence.innermost_loop(site)
        if loop and 0 < site.width < _NARROWEST_COPY and feeds_shared_memory(evidence, site):
            rows.setdefault((loop, site.instruction.place, site.width), []).append(site)
    return {
        site: len(ones)
        for ones in rows.values()
        if len(ones) * ones[0].width >= _NARROWEST_COPY
        for site in ones
    }


def _exchanges_elements(evidence: Evidence) -> bool:
    """Returns whether threads exchange what they hold through shared memory, element by element.

    Where one lane of each warp stores there, it stores what the lanes of the warp made of their elements, such as their sum: if a
    thread takes more elements, fewer warps have such a result.
    """
    return any(
        site.kind == "shared atomic" or site.acting is None or site.acting > _ONE_LANE
        for site in evidence.of(*SHARED)
        if site.kind == "shared atomic" or site.stores_in_shared
    )


def _fetches_textures(evidence: Evidence) -> bool:
    """Returns whether texture units fetch an element for each lane, of which none is wider than another."""
    return any(site.instruction.name in _TEXTURE_FETCHES for site in evidence.of("global load"))


def _widths_text(widths: Sequence[int]) -> str:
    """Returns `4 bytes`, or `4 or 8 bytes` where accesses differ."""
    return f"{' or '.join(map(str, widths))} {'byte' if widths == [1] else 'bytes'}"


def _find_side_by_side(evidence: Evidence) -> set[Site]:
    """Returns accesses that take the elements of each lane one by one, and that fill together the sectors that each of them touches.

    They are those of a pixel or of a structure: the elements of one lane are neighbours, and those of the next lane follow.
    """
    together: dict[tuple[object, int, float], list[Site]] = {}
    for site in _accesses(evidence, "global load", "global store"):
        if _lies_apart(evidence, site):
            together.setdefault((base_of(site), site.width, site.executed), []).append(site)
    found: set[Site] = set()
    for (_, width, executed), sites in together.items():
        offsets = sorted({offset_of(site) for site in sites})
        filled = len(offsets) * LANES * width / 8 / SECTOR_BYTES
        if offsets[-1] - offsets[0] == (len(offsets) - 1) * width / 8 and all(
            filled - 1 < (site.sectors or 0.0) / executed <= filled + 1 for site in sites
        ):
            found.update(sites)
    return found


def _queued_behind_others(evidence: Evidence, used: Collection[Site] = ()) -> float:
    """Returns the part of the waiting for memory that is spent in queues behind sectors that no lane uses, in `used` neither with another access."""
    queued = 1 - evidence.model.places.unloaded.get("long_scoreboard", 0.0)
    unused = evidence.excess_sectors - sum(site.excess_sectors for site in used)
    return queued * unused / evidence.sectors if evidence.sectors else 0.0


def _accesses(evidence: Evidence, *kinds: Kind) -> list[Site]:
    return [site for site in evidence.of(*kinds) if site.sectors and site.ideal_sectors is not None]


def _lies_apart(evidence: Evidence, site: Site) -> bool:
    """Returns whether a request touches more than one sector too many for each row, because its lanes are not neighbours."""
    return site.excess_sectors > site.executed * _rows(evidence, site)


def _is_misaligned(evidence: Evidence, site: Site) -> bool:
    """Returns whether most rows touch one sector too many, because their neighbouring lanes start inside a sector.

    Requests that touch more have lanes that lie apart.
    """
    rows = site.executed * _rows(evidence, site)
    return rows / 2 < site.excess_sectors <= rows


def _rows(evidence: Evidence, site: Site) -> int:
    """Returns how many rows of its block a warp accesses, which lie apart and may each start inside a sector.

    Rows that fill only one sector touch two if they start inside it, and also if every other element is taken: they count as one.
    """
    columns, *others = evidence.shape.block if evidence.shape else (LANES, 1)
    if LANES % columns or columns * site.width / 8 < 2 * SECTOR_BYTES:
        return 1
    return min(LANES // columns, math.prod(others)) or 1


def _per_request(sites: Sequence[Site]) -> tuple[float, float]:
    executed = sum(site.executed for site in sites)
    return (
        sum(site.sectors or 0.0 for site in sites) / executed,
        sum(site.ideal_sectors or 0.0 for site in sites) / executed,
    )


def _cheaper(evidence: Evidence, sites: Sequence[Site]) -> Effect:
    """Returns the effect of accesses that touch no more sectors than their data fills.

    Each lookup of a sector is work for L1. A sector that L1 holds already is no work for L2, and no warp
    waits long for it. The latency of each access stays.
    """
    wasted = sum(site.excess_sectors for site in sites)
    fractions: Mapping[Site, float] = {site: site.excess_sectors / (site.sectors or 1.0) for site in sites}
    beyond = evidence.excess_beyond_l1
    fetched = {site: _part(beyond * site.excess_sectors, site.ideal_sectors or 0.0) for site in sites}
    return Effect(
        resources={
            "l2": _part(
                beyond * wasted,
                evidence.sectors - evidence.excess_sectors + beyond * (evidence.excess_sectors - wasted),
            ),
            "l1": evidence.part_of_l1(fractions),
            "dram": evidence.wasted_dram * wasted / evidence.sectors,
        },
        lighter=evidence.waiting_for(fetched, *_WAITS)
        | evidence.waiting_for(fractions, "lg_throttle", "mio_throttle"),
    )


def _part(some: float, rest: float) -> float:
    return some / (some + rest) if some else 0.0


def _is_contiguous(evidence: Evidence, site: Site) -> bool:
    """Returns whether the lanes touch as many bytes as they ask for, within a sector: no broadcast, and no gaps.

    Sectors that were not counted are estimated for all lanes.
    """
    if not site.sectors:
        return site.sectors is None
    asked = ((site.acting if evidence.has_costs else None) or LANES) * site.width / 8 / SECTOR_BYTES
    return asked - 1 < site.sectors / site.executed <= asked + 1


def _bytes(site: Site) -> float:
    return site.executed * (site.acting or LANES) * site.width / 8


def detect_divergent_constants(evidence: Evidence) -> Iterable[Candidate]:
    """Names lookups in constant memory whose address depends on the lane."""
    sites = evidence.lookups_apart
    waiting = 100 * evidence.time_of(sites)
    busy = 100 * evidence.model.busy.get(CONSTANTS, 0.0)
    if not sites or not waiting:
        return
    yield Candidate(
        "divergent-constants",
        "The lanes of a warp look at different places in constant memory, which are served one after the other: that keeps the cache of "
        f"constants busy for about {busy:.0f} % of the time, and warps spend {waiting:.0f} % of theirs waiting for it.",
        "Put the table into shared memory, or into global memory where neighbouring lanes read neighbouring elements "
        "(`const … * __restrict__`), or let all lanes of a warp look at the same place.",
        # There are as many lookups as before, and each is less work.
        Effect(
            {CONSTANTS: _SPARED_IN_SHARED_MEMORY},
            lighter=evidence.waiting_for(
                dict.fromkeys(sites, _SPARED_IN_SHARED_MEMORY), "mio_throttle", "short_scoreboard"
            ),
        ),
        {site: evidence.charged[site].total for site in sites},
        {"waiting_pct": waiting, "constants_busy_pct": busy},
    )
