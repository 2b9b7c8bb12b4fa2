"""Says where more blocks get their work from: the loop whose iterations they can share out, and how."""

from __future__ import annotations

import math
import re

from profiler.analyse.causes.detectors.candidate import ENOUGH_THREADS
from profiler.analyse.causes.detectors.sharing_out import stores_exchanged
from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.sites import SHARED, Kind
from profiler.analyse.causes.flow.arithmetic.shared_turns import find_axis_of_steps, find_loop_adding_up
from profiler.analyse.causes.flow.dataflow import address_comes_of
from profiler.analyse.causes.flow.loop_carried import find_loop_storing_its_own, find_passed_on
from profiler.analyse.causes.flow.memory.reduction_trees import find_sums_for_all, find_trees
from profiler.analyse.code.loops import Loop

_MORE_BLOCKS = "Split the work into more blocks: smaller tiles, or several threads or blocks that combine their parts of one result."
_MORE_BLOCKS_FOR_TURNS = (
    "Split the work into more blocks: smaller tiles, a dimension of the grid for a loop whose turns do not need each other, or several threads or "
    "blocks that combine their parts of one result. Where each turn needs the one before, a block can begin in the middle only with a value that it "
    "computes directly (such as a power), or by another algorithm (such as a scan)."
)
_FEWER_CHAINS = (
    "Each result is made from the one before, and a thread makes {} such rows of results or more side by side: let each thread make fewer "
    "of them, and launch more blocks."
)
_FEWER_ELEMENTS = (
    "Each result is made from the one before, for several elements side by side: let each program take fewer elements (a smaller BLOCK), "
    "and launch more programs."
)
_LAUNCH_MORE = "Launch more {0}: {1} steps by the whole grid, so that they share its turns out."
_LAUNCH_MORE_ALONG = (
    "Launch more {{0}} along {}: {{1}} steps by the size of the grid there, so that they share its turns out."
)
_GRID_FOR_TURNS = "Launch more {0}, with a dimension of the grid for what {1} counts: none of its turns needs what another one has computed."
_SHARE_SUM = (
    "Let several threads or blocks share each result: the turns of {1} only add up, so that each can take a part of them. Add the parts up at the "
    "end, by shuffles in a warp, and atomics between blocks."
)
_SHARE_SUM_IN_TRITON = (
    "Launch more programs: a smaller BLOCK in a dimension that is not reduced (`tl.sum`, `tl.max`), or several that share each result. The turns of {1} "
    "only add up, so that each program can take a part of them (split-k with `tl.atomic_add`, or a second kernel that adds up)."
)
_LESS_EACH = (
    "Let each block that has work take less of it, so that others of those that are launched have some too: smaller tiles, or several "
    "blocks that share one result and combine their parts."
)
_TAKE_TURNS = "Let the {0} without work take turns of {1}: no turn needs what another one has computed."
_SMALLER_BLOCKS = (
    " Blocks may be smaller, too, such as {} threads instead of {:,}: no thread needs another of its block."
)
_EXCHANGING: tuple[Kind, ...] = ("barrier", *SHARED)
_TURNING = re.compile(r"\b(for|while|do|goto)\b")


def advise_more_blocks(evidence: Evidence, chains: float, are_there: bool) -> tuple[str, str]:
    """Returns how to split the work, and the same in words of Triton if they differ.

    `chains` says how many chains of results, each made from the one before, a thread makes side by side; it is infinite if there
    are none. `are_there` says that more blocks are launched already, without work.
    """
    in_cuda, in_triton = _advise_sharing(evidence, chains, are_there)
    return in_cuda + ("" if are_there else _advise_smaller(evidence)), in_triton


def _advise_smaller(evidence: Evidence) -> str:
    """Returns the advice that blocks may be smaller, if they are large and their threads exchange nothing."""
    threads = evidence.shape.threads if evidence.shape else 0
    if threads <= ENOUGH_THREADS or any(one.kind in _EXCHANGING for one in evidence.sites):
        return ""
    return _SMALLER_BLOCKS.format(ENOUGH_THREADS, threads)


def _advise_sharing(evidence: Evidence, chains: float, are_there: bool) -> tuple[str, str]:
    if chains < math.inf:
        return _FEWER_CHAINS.format(chains), _FEWER_ELEMENTS
    own = find_loop_storing_its_own(evidence) or _find_loop_of_block(evidence)
    if own and _stores_in_room_taken(evidence, own):
        own = None
    loop = own or (None if are_there else find_loop_adding_up(evidence))
    if loop is None:
        turns = any(evidence.goes_back(one) for one in evidence.loops_around(evidence.sites))
        return _LESS_EACH if are_there else _MORE_BLOCKS_FOR_TURNS if turns else _MORE_BLOCKS, ""
    named, axis = _named(evidence, loop), find_axis_of_steps(evidence, loop)
    if are_there:
        in_cuda = in_triton = _TAKE_TURNS
    # If each block stored its part of a sum at a place of its own, there would be more results.
    elif axis is not None and (own or not evidence.of("global store")):
        in_cuda, in_triton = (_launch_more(evidence, along) for along in ("xyz"[axis], f"axis {axis}"))
    else:
        in_cuda, in_triton = (_GRID_FOR_TURNS, _GRID_FOR_TURNS) if own else (_SHARE_SUM, _SHARE_SUM_IN_TRITON)
    return in_cuda.format("blocks", named), in_triton.format("programs", named)


def _find_loop_of_block(evidence: Evidence) -> Loop | None:
    """Returns the loop in which warps spend most of the time, if its iterations pass nothing on, and each stores what the block has made together.

    No iteration starts from what the threads exchanged in the one before: such a loop makes no trees.
    """
    half = sum(evidence.waits_by_reason.values()) / 2
    for loop in {tree.loop: None for tree in (*find_sums_for_all(evidence), *find_trees(evidence))}:
        inside = evidence.inside(loop)
        if (
            sum(evidence.charged[site].total for site in inside) > half
            and not find_passed_on(evidence, loop)
            and stores_exchanged(evidence, inside)
        ):
            return loop
    return None


def _stores_in_room_taken(evidence: Evidence, loop: Loop) -> bool:
    """Returns whether a loop stores where an atomic before it said that there is room: another block that ran it would take room of its own."""
    inside = evidence.inside(loop)
    taking = [site for site in evidence.of("atomic") if site.use.written and site not in inside]
    stores = (site for site in inside if site.kind == "global store")
    return bool(taking) and any(address_comes_of(evidence, store, taking) for store in stores)


def _launch_more(evidence: Evidence, along: str) -> str:
    """Returns the advice to launch more, and along which axis if the grid has several."""
    has_several = evidence.shape is not None and sum(size > 1 for size in evidence.shape.grid) > 1
    return _LAUNCH_MORE_ALONG.format(along) if has_several else _LAUNCH_MORE


def _named(evidence: Evidence, loop: Loop) -> str:
    """Returns "the loop at kernel.cu:12", if that line may be one of a loop: the compiler gives some loops the line of a call."""
    last = evidence.inside(loop)[-1]
    turns_back = last.text is None or _TURNING.search(last.text)
    return f"the loop at {last.instruction.place}" if turns_back and last.instruction.place else "a loop"
