"""Detects too little reuse: loads from shared memory, and staged tiles, that a larger tile of results would save."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence, Set

from profiler.analyse.causes.detectors.candidate import (
    ENOUGH_THREADS,
    PASSES_OF_WIDEST,
    WIDEST_BITS,
    Candidate,
)
from profiler.analyse.causes.detectors.shared_memory.narrow_loads import find_spared_loads, find_spared_passes
from profiler.analyse.causes.evidence.blocks_of_sm import MOST_REGISTERS, REGISTERS_AT_ONCE, most_registers
from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.kept import kept
from profiler.analyse.causes.evidence.latency import Effect
from profiler.analyse.causes.evidence.sites import ACCESSES, FENCES, SHARED, Kind, Site
from profiler.analyse.causes.evidence.tensor_work import count_uses
from profiler.analyse.causes.flow.arithmetic.divisions import find_dividing
from profiler.analyse.causes.flow.arithmetic.pairs_taken_in import count_pairs
from profiler.analyse.causes.flow.dataflow import (
    choosers_of,
    find_address_work,
    find_processing,
    makers_of_value,
    makers_since_access,
    reach,
    sources_of,
)
from profiler.analyse.causes.flow.memory.reduction_trees import find_in_trees
from profiler.analyse.causes.flow.memory.staging import feeds_shared_memory
from profiler.analyse.causes.flow.working_blocks import count_working_blocks
from profiler.analyse.causes.words.triton import LARGER_TILE_IN_TRITON
from profiler.analyse.code.opcodes import SCALAR_FMAS, WORD_BITS, words_of_product
from profiler.analyse.code.registers import register_of
from profiler.text import whole_percent

# Multiply-adds of a thread for each of its loads. The next step from one result a thread is a column of eight results: it makes
# eight multiply-adds from one value and eight others, which loads of 16 bytes bring. After it comes a tile of 8 x 8 results: it
# makes 64 from eight values and eight others. One of the two operands usually lies along the sum, so that each of its values
# takes a load. If both lie across it, loads of 16 bytes are enough.
_EIGHT = 8
# Loads that bring several values along the sum are wide already. A column makes eight multiply-adds from nine such values.
_COLUMN_PER_VALUE = _EIGHT / (1 + _EIGHT)
# Wide loads feed more multiply-adds each, but take more passes. A pass takes a cycle, in which an SM multiplies and adds for four
# warps. A tile of 8 x 8 floats makes as many multiply-adds for each pass: 64 for four loads of 16 bytes, with four passes each.
# By how many times each load has to feed more before a step is worth its registers: eight sums for a column, 64 for a tile. These
# factors are a choice: no hardware sets them.
_WORTH_A_COLUMN, _WORTH_A_TILE = 1.5, 2.0
# A tile of M x N results makes M N multiply-adds from each M + N staged values: 64 for each value if the tile is 128 x 128. That
# is the largest whose results four warps hold in half of their registers.
_USES_IN_A_LARGE_TILE = 128 * 128 / (128 + 128)
# How many times as high and wide a tile is assumed to become, if its copies are not counted and its size is therefore unknown.
_ASSUMED_GROWTH = 2.0
# A product loads at most two values for each multiply-add. Code with fewer multiply-adds for each load multiplies only in
# passing.
_USES_OF_A_PRODUCT = 0.5
_OF_A_TURN: tuple[Kind, ...] = ("integer", "control", "barrier", "other")
_FACTORS = 2
_OF_INTEGERS = "IMAD"  # without a modifier: others move, shift, or find the upper half of an address
_OF_PACKED = {"IDP.4A": 4, "IDP.2A": 2}
_LARGER_TILE = "Let each thread compute a larger tile of results in registers"
_SEVERAL_RESULTS = "Let each thread compute several results in registers from each value that it loads (such as several pixels, rows or queries)"
_ROOM = " A thread can have up to {} registers (now {:.0f}) before an SM has room for fewer blocks."


def detect_too_little_reuse(evidence: Evidence) -> Iterable[Candidate]:
    """Names shared loads, or staged tiles, that feed little arithmetic each."""
    pairs = count_pairs(evidence)
    used = _find_used(evidence, pairs)
    exchanged = find_in_trees(evidence)  # sums of other threads, and no operands
    loads = [site for site in evidence.of("shared load") if site in used and site not in exchanged]
    loads = [site for site in loads if evidence.innermost_loop(site)] or loads  # a loop may be unrolled whole
    stretches = {evidence.innermost_loop(site) for site in loads}
    adding = [
        site
        for site in _find_multiply_adds(evidence)
        if evidence.innermost_loop(site) in stretches and site not in pairs
    ]
    fmas = sum(site.executed * _count_products(site) for site in adding)
    paired = sum(site.executed * count for site, count in pairs.items())
    count = sum(site.executed for site in loads)
    if count and (fmas + paired) / count >= _USES_OF_A_PRODUCT:
        each = (fmas + paired) / count
        value_bits = _bits_of_values(adding)
        part = _part_of_larger_tile(evidence, loads, fmas + paired, value_bits)
        what, figure = "multiply-adds", "fmas_per_shared_load"
        if paired > fmas:
            what, figure = "pairs of values", "pairs_per_shared_load"
        said, advice = f"Each load from shared memory feeds {each:.1f} {what} a thread", _SEVERAL_RESULTS
        if paired > fmas or _is_product(evidence, adding):
            of_tile = _EIGHT**2 / (2 * _wide_loads(value_bits))
            said, advice = (
                f"{said}; with a tile of 8 x 8 results a thread, each feeds {of_tile:.0f}",
                _LARGER_TILE,
            )
        room = _say_room(evidence) if advice == _SEVERAL_RESULTS else ""
        at_once = ", and load 16 bytes at once" if any(site.width < WIDEST_BITS for site in loads) else ""
        yield Candidate(
            "too-little-reuse",
            f"{said}.",
            f"{advice}{at_once}.{room}",
            evidence.without(dict.fromkeys([*loads, *_of_any_tile(evidence, loads)], part)),
            {site: site.executed for site in loads},
            {figure: each},
        )
    yield from _find_small_tiles(evidence)


def _say_room(evidence: Evidence) -> str:
    """Returns a sentence on how many registers more results may take, if there is room for some and less than any thread can have."""
    most, now = most_registers(evidence), evidence.find("registers") or math.inf
    return _ROOM.format(most, now) if now + REGISTERS_AT_ONCE <= most < MOST_REGISTERS else ""


def _part_of_larger_tile(evidence: Evidence, loads: Sequence[Site], uses: float, value_bits: int) -> float:
    """Returns the part of the loads that the next larger tile of results spares; 0 if wider loads of the same tile are enough."""
    none: Mapping[Site, float] = {}
    narrow = _part_of_next_tile(loads, uses, value_bits, none, none)
    wide = _part_of_next_tile(
        loads, uses, value_bits, find_spared_loads(evidence), find_spared_passes(evidence)
    )
    return narrow if wide else 0.0


def _part_of_next_tile(
    loads: Sequence[Site],
    uses: float,
    value_bits: int,
    spared: Mapping[Site, float],
    spared_passes: Mapping[Site, float],
) -> float:
    """Returns the part of the loads that the next larger tile spares, judged by the multiply-adds that each load and each of its passes feeds."""
    count = sum(site.executed * (1 - spared.get(site, 0.0)) for site in loads)
    passes = sum((site.ideal_passes or 0.0) * (1 - spared_passes.get(site, 0.0)) for site in loads)
    values = sum(site.executed * site.width / value_bits for site in loads) / count
    wide, of_tile = _wide_loads(value_bits), _EIGHT**2
    of_a_load, of_a_pass = uses / count, uses / passes if passes else math.inf
    column = max(_EIGHT / (1 + wide), values * _COLUMN_PER_VALUE)
    if column >= _WORTH_A_COLUMN * of_a_load:
        return 1 - of_a_load / column
    tiles = ((of_a_load, of_tile / (_EIGHT + wide)), (of_a_pass, of_tile / (2 * wide * PASSES_OF_WIDEST)))
    return next((1 - each / tile for each, tile in tiles if tile >= _WORTH_A_TILE * each), 0.0)


def _wide_loads(value_bits: int) -> float:
    """Returns how many loads of 16 bytes bring eight values: two for floats, and four for doubles."""
    return _EIGHT * value_bits / WIDEST_BITS


def _bits_of_values(adding: Iterable[Site]) -> int:
    """Returns the size of the values that most of these multiply-adds take: of doubles, or else of a word."""
    of_doubles = sum(site.executed if site.kind == "fp64" else -site.executed for site in adding)
    return 2 * WORD_BITS if of_doubles > 0 else WORD_BITS


@kept
def _find_multiply_adds(evidence: Evidence) -> Sequence[Site]:
    """Returns the multiply-adds of floats, doubles and integers.

    Those of integers count only if they compute with loaded values, and neither divide nor find addresses. If tensor cores
    multiply, integers only process their results.
    """
    found = [site for site in evidence.of("fp32", "fp64") if _count_products(site)]
    if evidence.of("tensor") or not evidence.of("shared load"):
        return found
    processing = find_processing(evidence) - find_address_work(evidence) - {*find_dividing(evidence)}
    return found + [site for site in evidence.of("integer") if site in processing and _count_products(site)]


def _count_products(site: Site) -> int:
    """Returns how many products an instruction adds up."""
    if site.opcode == _OF_INTEGERS:
        return int(site.instruction.operands[-1] != "RZ")
    return next(
        (count for start, count in _OF_PACKED.items() if site.opcode.startswith(start)),
        SCALAR_FMAS.get(site.instruction.name, 0),
    )


def _is_product(evidence: Evidence, adding: Sequence[Site]) -> bool:
    """Returns whether most multiply-adds multiply two values from shared memory, as a matrix product does and a filter does not."""
    of_two = [
        site
        for site in adding
        if sum(one.kind == "shared load" for one in sources_of(evidence, site)) >= _FACTORS
    ]
    return 2 * sum(site.executed for site in of_two) >= sum(site.executed for site in adding)


def _find_used(evidence: Evidence, pairs: Iterable[Site]) -> set[Site]:
    """Returns the loads from shared memory whose values take part in multiply-adds or pairs, also through other arithmetic, such as a difference.

    Other loads, such as of bounds or of a tile's beginning, are the same for any size of the thread's tile.
    """
    fmas = _find_multiply_adds(evidence)
    values = makers_since_access(evidence, [*fmas, *pairs])
    return {site for site in values if site.kind == "shared load"}


def _find_small_tiles(evidence: Evidence) -> Iterable[Candidate]:
    """Yields the cause for tiles of the tensor cores that use each staged value too seldom."""
    tensor = evidence.of("tensor")
    if not tensor:
        return
    of_results = _find_lines_of_results(evidence)
    moving_factors = [
        site for site in evidence.of("global load", *SHARED) if site.instruction.place not in of_results
    ]
    all_staged = [
        site for site in moving_factors if site.kind == "global load" and feeds_shared_memory(evidence, site)
    ]
    staged = [site for site in all_staged if evidence.innermost_loop(site)]
    if not staged:
        return
    stores, loads = (
        [site for site in moving_factors if site.kind == kind and evidence.innermost_loop(site)]
        for kind in ("shared store", "shared load")
    )
    # Copies before the loop take the place of those in its last iterations, which copy nothing. If no sectors are counted, each
    # iteration seems to copy a tile, which makes as many copies in all.
    uses = count_uses(tensor, all_staged if evidence.has_costs else staged)
    # A larger tile takes fewer loads for each result. Warps then hold larger parts of it, and use the values that
    # they load from shared memory for `mma.sync` as much more often; `wgmma` reads them from there itself.
    wanted = _USES_IN_A_LARGE_TILE / uses if uses else _ASSUMED_GROWTH
    growth = min(wanted, _most_growth(evidence))
    part = 1 - 1 / growth
    if part <= 0:
        return
    moving = dict.fromkeys([*staged, *stores, *loads, *_of_any_tile(evidence, staged)], part)
    fewer = evidence.without(moving | dict.fromkeys([one for one in tensor if one.passes], part))
    busy = 100 * evidence.model.busy.get("tensor", 0.0)
    each = (
        f"they make {uses:.0f} multiply-adds for each staged value, where a tile of 128 x 128 results would make {_USES_IN_A_LARGE_TILE:.0f}"
        if uses
        else "tiles are loaded and staged for them"
    )
    how_much, needed = _say_how_much(evidence, growth)
    yield Candidate(
        "too-little-reuse",
        f"The tensor cores are used {whole_percent(busy)} % of the time, while {each}.",
        f"Let a block compute a larger tile{how_much}, so that each staged value is multiplied more often.{needed}",
        # The arithmetic stays, and so do the barriers at which its warps meet.
        Effect(
            {**fewer.resources, "tensor": 0.0}, {**fewer.waits, **evidence.waiting_for(moving, "barrier")}
        ),
        evidence.weigh([*staged, *stores]),
        {"tensor_pct": busy} | ({"uses_per_staged_value": uses} if uses else {}),
        in_triton=f"{LARGER_TILE_IN_TRITON.format(how_much)}{needed}",
    )


def _say_how_much(evidence: Evidence, growth: float) -> tuple[str, str]:
    """Returns how much larger the tile may become, by a power of two and at most by this factor in each dimension; or what it needs for that.

    More threads share out what more results take in registers, up to those of a usual block.
    """
    shape = evidence.shape
    if shape is None or not shape.registers:
        return "", ""
    room = math.sqrt(max(1.0, ENOUGH_THREADS / shape.threads) * MOST_REGISTERS / shape.registers)
    doublings = int(2 * math.log2(max(1.0, min(growth, room))))  # of its results
    if doublings == 1:
        return ", twice as high or wide", ""
    if times := doublings // 2:
        return f", {'twice' if times == 1 else f'{2**times} times'} as high and wide", ""
    has = f"a thread has {shape.registers} of at most {MOST_REGISTERS}"
    return "", f" Its results need registers, and {has}." if room < growth else ""


def _find_lines_of_results(evidence: Evidence) -> set[str | None]:
    """Returns the lines at which shared memory passes on what products made or what is only added to them, such as a bias.

    All tiles together have as many results, however large each is. The compiler of Triton gives the line of a value to the exchange
    that it makes of it.
    """
    products = evidence.of("tensor")

    def makers(one: Site) -> Sequence[Site]:
        return () if one.kind in (*ACCESSES, "tensor") else sources_of(evidence, one)

    taken = reach([one for site in products for one in sources_of(evidence, site)], makers)
    factors = reach(
        [one for site in products for one in sources_of(evidence, site, _factors_of(site))], makers
    )
    made = (
        store
        for store in evidence.of("shared store")
        if any(one.kind == "tensor" for one in reach(makers_of_value(evidence, store), makers))
    )
    return {*_lines_of(made), *(_lines_of(taken - factors) - _lines_of(factors))} - {None}


def _lines_of(sites: Iterable[Site]) -> set[str | None]:
    """Returns the lines of those that access shared memory."""
    return {site.instruction.place for site in sites if site.kind in SHARED}


def _factors_of(product: Site) -> Set[str]:
    """Returns the registers that tensor cores multiply; all that they read if the opcode does not say how many these are."""
    if not (words := words_of_product(product.opcode)):
        return product.use.inputs
    factors = zip(map(register_of, product.instruction.operands[1:3]), words[1:3], strict=False)
    return {f"R{int(first[1:]) + word}" for first, count in factors if first for word in range(count)}


def _most_growth(evidence: Evidence) -> float:
    """Returns how many times as high and wide a tile may become before some SMs have none: then, fewer SMs load as much in all.

    A block that stores in a loop computes several tiles, and their number is not known.
    """
    sms = evidence.find("sms")
    if not sms or evidence.shape is None or any(map(evidence.innermost_loop, evidence.of("global store"))):
        return math.inf
    return math.sqrt(count_working_blocks(evidence) / sms)


def _of_any_tile(evidence: Evidence, loads: Sequence[Site]) -> list[Site]:
    """Returns what each iteration of the loops with these loads does for a tile of any size: with larger tiles, there are fewer iterations.

    An iteration computes addresses, counts and meets at barriers. Arithmetic on the results is left out, because it is the same
    in all for any tile. So are its operands, and decisions on each result, such as whether a mask hides it.
    """
    inside = [site for loop in evidence.loops_around(loads) for site in evidence.inside(loop)]
    of_results = reach(find_processing(evidence) & set(inside), lambda site: _deciding(evidence, site))
    return [
        site
        for site in inside
        if site.kind in _OF_A_TURN and site.instruction.name not in FENCES and site not in of_results
    ]


def _deciding(evidence: Evidence, site: Site) -> list[Site]:
    """Returns what computes the operands of an instruction and decides whether it is executed; nothing for an access."""
    if site.kind in ACCESSES:
        return []
    return [*sources_of(evidence, site), *choosers_of(evidence, site)]
