"""Says how to bring the lanes of a warp together where they access memory apart, by what sets them apart."""

from __future__ import annotations

from collections.abc import Sequence

from profiler.analyse.causes.detectors.global_memory.lanes_apart import (
    count_narrow_columns,
    find_costliest,
    find_pieces,
    find_what_sets_apart,
    go_through_runs,
)
from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.sites import ACCESSES, Site
from profiler.analyse.causes.flow.addresses.alike_elements import count_elements_alike
from profiler.analyse.causes.flow.addresses.indexed import find_structure
from profiler.analyse.causes.flow.arithmetic.divisions import find_dividing
from profiler.analyse.causes.flow.dataflow import find_address_work_of, makers_of_address, makers_since_access
from profiler.analyse.causes.flow.lane_values import find_differing
from profiler.analyse.causes.words.triton import IN_TRITON
from profiler.catalog.metrics import LANES
from profiler.text import without_capital

_THREADS = "T is the number of threads"
_INTERLEAVE = f"Lay out the array so that element k of thread t is `x[k * T + t]` ({_THREADS})"
_TAKE_TURNS = "Let thread t take elements t, t + T, t + 2T … ({}) instead of {}. Then {}, and no element needs what was computed for another."
_OF_ROWS = f"{_THREADS}, as in {{}}, or of those that share a row where each has one of its own"
_PASS_ROW_ON = " Only one thread knows where its row lies: it passes that on, by {} or through shared memory."
# What helps without sorting where data scatters accesses: loads in CUDA C++, loads in Triton, and stores.
_KEEP_TABLE = "keep the table in shared memory if it fits"
_BRING_INTO_ORDER = (
    "bring the data into that order once before, where it serves several times (`x[:, index]`)"
)
_LET_GATHER = "store in the order of the work, and let what reads the results gather them"
_DESPITE_REMAINDERS = (
    "Triton does not see that offsets which are remainders or quotients stay neighbours. Where BLOCK divides the size, write "
    "`tl.max_contiguous(tl.multiple_of(offsets % size, BLOCK), BLOCK)` and `tl.max_constancy(offsets // size, BLOCK)`. Otherwise, "
)


def advise_apart(evidence: Evidence, sites: Sequence[Site], act: str, by_data: bool) -> str:
    """Returns how to bring the lanes of these accesses together.

    `act` says what neighbouring threads then do, such as "read neighbouring elements". `by_data` says that loaded indices set the lanes apart.
    """
    together, words = f"neighbouring threads {act}", evidence.words
    are_loads = sites[0].kind == "global load"
    if by_data:
        return (
            f"Data says where each lane goes: sort or group the work by that index, so that {together}, or "
            f"{_KEEP_TABLE if are_loads else _LET_GATHER}."
        )
    match find_what_sets_apart(evidence, sites):
        case "narrow block":
            return _widen_block(evidence, sites)
        case "short pieces":
            return f"Access the neighbouring elements of a thread {_at_once(evidence, sites)}, or let {together}."
        case "elements alike":
            threads = f"{_THREADS}, as in {words.grid_stride_loop}"
            return _TAKE_TURNS.format(threads, f"{count_elements_alike(evidence)} in a row", together)
        case "long pieces":
            return _share_pieces(evidence, sites, together)
        case "unaligned pieces":
            return f"{_INTERLEAVE}, and members of a structure in arrays of their own, so that {together}. Or {words.pass_a_tile}."
        case "structure":
            return _separate_members(evidence, sites, together)
        case "exchange":
            return (
                f"To let {together}, {words.pass_a_tile}, or change the layout. Exchanging the indices would only set the "
                f"{'stores' if are_loads else 'loads'} apart instead."
            )
        case "own turns":
            threads = _OF_ROWS.format(words.grid_stride_loop)
            passed = _PASS_ROW_ON.format(words.shuffle) if _finds_its_row(evidence, sites) else ""
            return _TAKE_TURNS.format(threads, "a run of its own", together) + passed
        case "sums of rows":
            return (
                f"Let a warp take each row instead of a thread: lane l adds up elements l, l + 32, l + 64 … of it, and shuffles ({words.shuffle_xor}) add up "
                f"the sums of the lanes. Where rows are much shorter than a warp, {without_capital(_INTERLEAVE)}, or {words.pass_a_tile}."
            )
        case "turns in order":
            return f"{_another_layout(evidence, sites)}, so that {together}. Or {words.pass_a_tile}."
        case "index":
            return _exchange_indices(evidence, sites, together)


def _finds_its_row(evidence: Evidence, sites: Sequence[Site]) -> bool:
    """Returns whether each thread has loaded where the elements lie that it takes, or has taken room for them by an atomic."""
    makers = makers_since_access(evidence, makers_of_address(evidence, find_costliest(sites)))
    return any(one.kind in ACCESSES for one in makers & find_differing(evidence))


def _widen_block(evidence: Evidence, sites: Sequence[Site]) -> str:
    columns = count_narrow_columns(evidence, sites)
    return (
        f"Make the block wider in x: it is {columns} threads wide, so that a warp takes pieces of {columns * sites[0].width // 8} bytes of "
        "several rows. 32 threads take one piece of one row."
    )


def _share_pieces(evidence: Evidence, sites: Sequence[Site], together: str) -> str:
    """Returns what to do about pieces that need several accesses. Where nobody knows their size, vectors may begin in none of them."""
    if not find_pieces(evidence, sites).are_all_known:
        return (
            f"{_INTERLEAVE}, so that {together}. Or share the elements of a thread out among neighbouring threads, or access them "
            f"{_at_once(evidence, sites)}."
        )
    return (
        f"Access the neighbouring elements of a thread {_at_once(evidence, sites)}. That takes several pieces a thread: give it only one of them, or lay "
        f"out the array so that piece k of thread t is number `k * T + t` ({_THREADS})."
    )


def _separate_members(evidence: Evidence, sites: Sequence[Site], together: str) -> str:
    size = find_structure(evidence, find_costliest(sites))
    begins = f" (here one begins every {size:,} bytes)" if size else ""
    at_once = _at_once(evidence, sites)
    access = f"access what lies together in one thread {at_once}, or " if at_once else ""
    return f"Keep the members of a structure{begins} in arrays of their own, so that {together}. Or {access}{evidence.words.pass_a_tile}."


def _exchange_indices(evidence: Evidence, sites: Sequence[Site], together: str) -> str:
    shape, words = evidence.shape, evidence.words
    of_rows = words.warp_for_row if evidence.loops_around(sites) else ""
    is_narrow = shape is not None and shape.block[0] < min(LANES, shape.threads)
    wider = f", in blocks that are {LANES} threads wide in x" if is_narrow else ""
    return f"{words.neighbours_in_x}{of_rows}{wider}, so that {together}. Or {without_capital(_another_layout(evidence, sites))}, or {words.pass_a_tile}."


def _another_layout(evidence: Evidence, sites: Sequence[Site]) -> str:
    return _INTERLEAVE if go_through_runs(evidence, sites) else "Change the layout"


def _at_once(evidence: Evidence, sites: Sequence[Site]) -> str:
    """Returns in how many bytes a thread may access its elements at once, as far as its piece of the data is aligned; "" if that is one element."""
    pieces = find_pieces(evidence, sites)
    if not pieces.bytes_at_once:
        return ""
    if_aligned = "" if pieces.are_all_known else " if each thread's part begins at a multiple of that"
    return f"{evidence.words.at_once(pieces.bytes_at_once)}{if_aligned}"


def advise_in_triton(evidence: Evidence, name: str, sites: Sequence[Site], by_data: bool) -> str:
    if by_data:
        return (
            "Data says where each element lies: sort or group the work by that index, so that neighbours in the block are neighbours in memory, or "
            f"{_BRING_INTO_ORDER if name == 'uncoalesced-loads' else _LET_GATHER}."
        )
    is_divided = name == "uncoalesced-loads" and _divides_in_lanes(evidence, sites)
    return f"{_DESPITE_REMAINDERS}{without_capital(IN_TRITON[name])}" if is_divided else IN_TRITON[name]


def _divides_in_lanes(evidence: Evidence, sites: Sequence[Site]) -> bool:
    """Returns whether an address needs a division of what differs from lane to lane: an index that all share sets none of them apart.

    The quotient is the upper half of a product with the reciprocal of the divisor.
    """
    of_lanes = find_differing(evidence) & find_address_work_of(evidence, sites)
    return any(site.opcode.startswith("IMAD.HI") for site in of_lanes.intersection(find_dividing(evidence)))
