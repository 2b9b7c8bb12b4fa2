"""Says how to share work out among threads: the work of a block with too few threads or too many, and the iterations of uneven loops."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from profiler.analyse.causes.evidence.blocks_of_sm import shared_of_block
from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.latency import LAUNCH, SCHEDULERS, Effect
from profiler.analyse.causes.evidence.sites import Site
from profiler.analyse.causes.flow.addresses.strides import find_walking
from profiler.analyse.causes.flow.copies import count_copies
from profiler.analyse.causes.flow.dataflow import makers_of_value, makers_since_access
from profiler.analyse.causes.flow.lane_values import SUMMING
from profiler.analyse.causes.flow.same_in_turns import has_fixed_address
from profiler.catalog.metrics import LANES
from profiler.text import counted, whole_percent

SHARE_TURNS = (
    "Let the lanes of a warp share the turns out (such as a warp for each row or list), or sort the work by its length, so that neighbours make "
    "equally many turns."
)
# The turns of the longest piece of work remain, one after the other.
TAKE_NEXT = (
    "Let a lane take the next piece of work, by a counter that all share, as soon as it is through with one: a single loop over the turns of all pieces. "
    "Or sort the work by its length, where that is known before. Each turn goes on from the one before, so that lanes cannot just share the turns of a "
    "piece out."
)
_ADD_UP_ONCE = " If a turn only adds to a sum, let each thread add up its own values, and add up over the threads once, after the loop."
_SHARE = "Let the 32 threads of a warp share out those parts of the work of one block that do not depend on each other, such as the elements of a row."
_SO_FEW = "a program has so few elements that {} threads compute each of them, and one stores it"
_MORE_ELEMENTS = "a larger BLOCK or, where that holds a whole row, several rows"
ALIKE_IN_TRITON = "all threads of a program compute alike what has only one element."
_TOGETHER = "Use blocks of a multiple of 32 threads, such as 256, and let each do the work of several of these blocks side by side."


def add_up_once(evidence: Evidence, turn: Iterable[Site]) -> str:
    """Returns the advice to add up once after the loop, unless each iteration has a result of its own."""
    return "" if stores_exchanged(evidence, turn) else _ADD_UP_ONCE


def stores_exchanged(evidence: Evidence, turn: Iterable[Site]) -> bool:
    """Returns whether an iteration stores what its threads have exchanged, such as their sum, at another place than the one before."""
    return any(
        site.kind in ("global store", "atomic")
        and has_fixed_address(evidence, site) == 0
        and _is_exchanged(evidence, site)
        for site in turn
    )


def _is_exchanged(evidence: Evidence, store: Site) -> bool:
    """Returns whether a stored value is made of what other threads held."""
    makers = makers_since_access(evidence, makers_of_value(evidence, store))
    return any(one.kind == "shared load" or one.opcode.startswith(SUMMING) for one in makers)


def say_few_threads(evidence: Evidence) -> tuple[str, str]:
    """Returns the sentence and the advice for blocks that leave lanes without a thread."""
    threads = evidence.shape.threads if evidence.shape else LANES
    lanes = evidence.shape.lanes_of_warp if evidence.shape else LANES
    return (
        f"Blocks of {counted(threads, 'thread', 'threads')} fill {lanes:.3g} of the 32 lanes of a warp{' on average' * (threads > LANES)}: "
        f"{whole_percent(100 * (1 - lanes / LANES))} % of the lanes do nothing.",
        share_out(evidence) or _TOGETHER,
    )


def use_fewer_warps(evidence: Evidence) -> str:
    """Returns the advice to use fewer warps, in words of Triton, if several warps of a program compute the same elements; else nothing."""
    copies, enough = _count_enough_warps(evidence)
    return (
        f"Use `num_warps={enough}`: {_SO_FEW.format(copies)}. Or give it more elements: {_MORE_ELEMENTS}."
        if enough
        else ""
    )


def use_more_elements(evidence: Evidence) -> str:
    """Returns the advice to give a program more elements, in words of Triton, if several of its threads compute the same ones; else nothing.

    Fewer warps alone would leave as many programs to start.
    """
    copies, enough = _count_enough_warps(evidence)
    return (
        f"Give each program more elements: {_MORE_ELEMENTS}. Now, {_SO_FEW.format(copies)}." if enough else ""
    )


def _count_enough_warps(evidence: Evidence) -> tuple[int, int]:
    """Returns how many threads compute each element, and how many warps would be enough if only one did; 0 if all warps are needed."""
    warps = evidence.shape.warps_of_block if evidence.shape else 1
    copies = count_copies(evidence)
    enough = max(1, warps // copies)
    return copies, enough if enough < warps else 0


def share_out(evidence: Evidence) -> str:
    """Returns how to share the work of a block out among the lanes of a warp, if that is better than merging several blocks; else nothing.

    If a thread walks through neighbouring elements, the lanes can take these side by side. Several blocks cannot be merged if
    shared memory does not hold the data of all of them, or if so few warps would be left that a scheduler has none.
    """
    if evidence.shape is None or evidence.shape.threads >= LANES:
        return ""
    accesses = evidence.of("global load", "global store")
    is_alone = evidence.shape.threads == 1
    # What all threads of a block walk through together is not the work of one of them.
    walking = {
        site
        for site in find_walking(evidence).intersection(accesses)
        if is_alone or (site.sectors or 0.0) > site.executed
    }
    if 2 * sum(site.executed for site in walking) > sum(site.executed for site in accesses):
        return (
            "Let 32 threads or more share the work of one thread out: each takes neighbouring elements in turn (from "
            f"{evidence.words.thread[0]} on, in steps of {evidence.words.threads_in_x}), and shuffles add up what all need."
        )
    together = LANES / evidence.shape.threads
    shared = (evidence.find("shared_bytes") or 0.0) * together
    warps = evidence.shape.blocks / together
    most = shared_of_block(evidence)
    return _SHARE if shared > most or warps < SCHEDULERS * (evidence.find("sms") or 0.0) else ""


def without_repeated_by_threads(evidence: Evidence, repeated: Mapping[Site, float]) -> Effect:
    """Returns the effect of sharing out among the threads of a block what all of them do alike.

    The loads may then be uncoalesced: each lane needs a sector of its own, and only the sectors of other warps are saved. L2 gets
    the same loads as before, and fewer, fuller stores.
    """
    effect = evidence.without(repeated)
    warps = evidence.shape.warps_of_block if evidence.shape else 1
    apart = {site: 1 - 1 / warps for site in repeated if site.kind == "global load"}
    stores = {site: part for site, part in repeated.items() if site.kind == "global store"}
    kept = {
        "l1": evidence.part_of_l1({**repeated, **apart}),
        "l2": evidence.without(stores).resources["l2"],
        LAUNCH: 0.0,
    }
    return Effect({**effect.resources, **kept}, effect.waits)
