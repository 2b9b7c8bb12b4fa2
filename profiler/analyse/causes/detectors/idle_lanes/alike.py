"""Detects loops in which all threads of a block do the same with the same values, or store what other threads of it store."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence, Set

from profiler.analyse.causes.detectors.candidate import Candidate
from profiler.analyse.causes.detectors.sharing_out import ALIKE_IN_TRITON, without_repeated_by_threads
from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.sites import (
    ACCESSES,
    ARITHMETIC,
    COPIES_TO_SHARED,
    LOADS,
    MEETINGS,
    STORES,
    Kind,
    Site,
    executed_parts,
    is_swap,
)
from profiler.analyse.causes.flow.block_sharing import find_grid_independent
from profiler.analyse.causes.flow.dataflow import (
    address_registers,
    sources_of,
    uses_of,
    written_by_any,
)
from profiler.analyse.causes.flow.depending import NOTHING, depending_on
from profiler.analyse.causes.flow.lane_values import find_differing_in_block
from profiler.analyse.causes.flow.loop_carried import find_passed_on, is_carried_by
from profiler.analyse.causes.flow.possible_writers import makers_on_all_paths, writers_before
from profiler.analyse.causes.flow.same_in_turns import has_fixed_address
from profiler.analyse.code.loops import Loop
from profiler.analyse.code.registers import register_of
from profiler.catalog.metrics import LANES
from profiler.text import whole_percent

# Threads meet in these, or take turns.
_TOGETHER: tuple[Kind, ...] = ("barrier", "tensor", "atomic", "shared atomic", "local")
_ADDING = ("FADD", "DADD")
_MULTIPLY_ADDS = ("FFMA", "DFMA")
_OWN_TURNS = (
    "Give each thread turns of its own: begin at the thread's index, and go on by the size of the block."
)
_BEGIN = (
    "let each thread begin with a value that it computes directly (such as a power), let one warp make all turns and share the results, or "
    "prepare these before the kernel (such as a table of constants)."
)
_DIRECTLY = "compute each element directly (such as a power), or prepare all of them before the kernel."
_BLOCK_OF_ELEMENTS = (
    "Let the program load, compute and store a block of elements (`tl.arange`; `tl.sum` adds one up) instead of one element in each turn of a loop: "
    f"{ALIKE_IN_TRITON}"
)


def detect_repeated_by_threads(evidence: Evidence) -> Iterable[Candidate]:
    """Names loops in which each thread of a block makes every iteration, although one thread for each iteration would do."""
    if not evidence.has_costs or evidence.shape is None:
        return
    threads = evidence.shape.threads
    turns: dict[Site, float] = {}  # of all loops around an instruction that can be shared out
    shared: list[Loop] = []
    for loop in (loop for loops in evidence.loops.values() for loop in loops):
        alike = _find_same_for_all(evidence, loop)
        shared += [loop] if alike else []
        for site in alike:
            turns[site] = turns.get(site, 1.0) * max(1.0, evidence.turns(evidence.inside(loop)[-1], loop))
    same = {site: 1 - 1 / min(threads, count) for site, count in turns.items()}
    stored: dict[Site, float] = {}
    most = 1.0
    for inside in evidence.innermost_loops():
        times = _times_stored(evidence, inside)
        if times > 1 and same.keys().isdisjoint(inside):
            most = max(most, times)
            stored |= dict.fromkeys(inside, 1 - 1 / times)
    if any(same.values()):
        said = "All threads that come to a loop make every turn of it, with the same values."
        yield _repeated(evidence, same, "idle-lanes", said, shared)
    if stored:
        # No lane is idle there: each of them loads and stores.
        loads = any(site.kind == "global load" for site in stored)
        name = "redundant-global-loads" if loads else "redundant-shared-accesses"
        said = f"In one loop, a block stores {most:.2g} times as many bytes as its shared memory holds: its threads store what others of it store as well."
        yield _repeated(evidence, stored, name, said, evidence.loops_around(stored))


def _repeated(
    evidence: Evidence, repeated: dict[Site, float], name: str, said: str, loops: Iterable[Loop]
) -> Candidate:
    advice, in_triton = _advise(evidence, loops)
    repeating = executed_parts(repeated)
    share = 100 * sum(repeating.values()) / evidence.executed
    return Candidate(
        name,
        f"{said} {whole_percent(share)} % of the executed instructions repeat what another thread does.",
        advice,
        without_repeated_by_threads(evidence, repeated),
        repeating,
        {"repeated_instructions_pct": share},
        in_triton=in_triton,
    )


def _advise(evidence: Evidence, loops: Iterable[Loop]) -> tuple[str, str]:
    """Returns how to share the turns of these loops out, also in words of Triton."""
    goes_on: list[bool] = []
    sums: set[int] = set()
    for loop in loops:
        of_loop = {site.instruction.offset for site in _find_sums(evidence, loop)}
        goes_on.append(not find_passed_on(evidence, loop) <= of_loop)
        sums |= of_loop
    steps = [] if all(goes_on) else [_OWN_TURNS]
    in_triton = [_BLOCK_OF_ELEMENTS]
    if any(goes_on):
        when = "Each turn goes on with what the one before has made:"
        if not all(goes_on):
            when = "Where a turn goes on with what the one before has made,"
        steps.append(f"{when} {_BEGIN}")
        in_triton.append(f"{when} {_DIRECTLY}")
    if sums:
        steps.append("What is a sum of all turns is then added up over the threads.")
    return " ".join(steps), " ".join(in_triton)


def _find_same_for_all(evidence: Evidence, loop: Loop) -> Collection[Site]:
    """Returns what all threads do alike in each iteration of a loop: all of it, or all but code that a branch skips in some iterations.

    That code may only store what the others found.
    """
    inside = evidence.inside(loop)
    if _is_same_for_all(evidence, loop, inside):
        return inside
    in_each = dict.fromkeys(site for site in inside if site.executed >= inside[0].executed)
    passed = [site for site in inside if site not in in_each]
    is_same = passed and _is_same_for_all(evidence, loop, in_each)
    return in_each if is_same and all(_keeps_a_result(evidence, one, passed) for one in passed) else ()


def _is_same_for_all(evidence: Evidence, loop: Loop, acting: Collection[Site]) -> bool:
    """Returns whether all threads of a block execute a loop alike, so that they could share out its iterations.

    The loop stores something, or adds to a sum. No value that an `acting` instruction computes, and no branch, may differ between
    threads. Only which thread stores may.
    An iteration must not need the one before it, except to add to a sum. A search and a walk along a list do need it: they find there
    where to go on.
    Each thread may go on with the sum in its own way. Then a block should make the sum only once, so the loop must not be inside another
    one. If all blocks make the same sum, a kernel before this one should make it instead.
    Each iteration must load or store at another address: else it has no data of its own to share out.
    """
    inside = evidence.inside(loop)
    loads, stores = ([site for site in inside if site.kind in kinds] for kinds in (("global load",), STORES))
    sums = _find_sums(evidence, loop)
    if not (stores or sums):
        return False
    if any(site.lanes is not None and site.lanes < LANES for site in acting):  # one thread may work for all
        return False
    differing = find_differing_in_block(evidence)
    for site in acting:
        if site.kind in _TOGETHER or ".STRONG" in site.opcode or site.instruction.name in COPIES_TO_SHARED:
            return False
        if site.kind in STORES:
            if not differing.isdisjoint(sources_of(evidence, site)):
                return False
        elif site in differing:
            return False
        if site.kind in (*LOADS, *ARITHMETIC) and site not in sums and is_carried_by(evidence, loop, site):
            return False
    function = inside[0].function
    made = depending_on(evidence, function, frozenset(sums), NOTHING) if sums else ()
    if any(site.kind not in STORES for site in differing.intersection(made)) and (
        _stands_in_another(evidence, loop, inside) or inside[0] in find_grid_independent(evidence)
    ):
        return False
    return any(_changes_address(evidence, loop, site) for site in loads or stores)


def _stands_in_another(evidence: Evidence, loop: Loop, inside: Sequence[Site]) -> bool:
    return any(
        inside[0].instruction in other for other in evidence.loops[inside[0].function] if other != loop
    )


def _keeps_a_result(evidence: Evidence, site: Site, passed: Collection[Site]) -> bool:
    """Returns whether an instruction may be there to store what an iteration has found: no other iteration uses its result.

    It is one of those that a branch may skip, the `passed` ones. Threads may differ in which of them asks for a place to store.
    If each thread loads or computes something of its own, all of them are needed.
    """
    if site.kind in ("tensor", "local") or is_swap(site) or site.instruction.name in COPIES_TO_SHARED:
        return False
    if site.kind in (*LOADS, *ARITHMETIC) and site in find_differing_in_block(evidence):
        return False
    return all(
        (user in passed and user.position > site.position) or not _may_read(evidence, user, site)
        for user in uses_of(evidence, site)
    )


def _may_read(evidence: Evidence, user: Site, writer: Site) -> bool:
    """Returns whether an instruction may read what another one wrote, on some path."""
    both = user.use.inputs.intersection(writer.use.written)
    return any(_may_hold(evidence, user, register, {writer}) for register in both)


def _may_hold(evidence: Evidence, user: Site, register: str, results: Set[Site]) -> bool:
    """Returns whether a register may hold one of these results when an instruction reads it. An unrolled loop may use it for others, too."""
    writers = writers_before(evidence, user, register)
    return not writers or not writers.isdisjoint(results)


def _changes_address(evidence: Evidence, loop: Loop, access: Site) -> bool:
    """Returns whether an access has another address in each iteration: the address is made of what one iteration leaves to the next."""
    makers = makers_on_all_paths(
        evidence, access, address_registers(access.instruction), lambda one: one.kind in ACCESSES
    )
    return any(is_carried_by(evidence, loop, maker) for maker in makers)


def _find_sums(evidence: Evidence, loop: Loop) -> set[Site]:
    """Returns the instructions that add to the sums of a loop, if nothing else in the loop reads these.

    Sums of integers do not count: they may be counters, from which each iteration begins.
    """
    inside = evidence.inside(loop)
    adding = (site for site in inside if site.instruction.name in (*_ADDING, *_MULTIPLY_ADDS))
    sums = {site for site in adding if is_carried_by(evidence, loop, site)}
    held = written_by_any(sums)
    for site in inside:
        factors = site.instruction.operands[1:3] if site.instruction.name in _MULTIPLY_ADDS else ()
        taken = set(map(register_of, factors)) if site in sums else site.use.inputs
        if any(_may_hold(evidence, site, register, sums) for register in held.intersection(taken)):
            return set()
    return sums


def _times_stored(evidence: Evidence, inside: Sequence[Site]) -> float:
    """Returns how many times a block's stores in a loop fill its shared memory; 1 if those of a single warp do not fill it once.

    Nothing reads there or meets until the loop ends, so only what is stored last to each address can count. Then threads store
    what others store, for example because each begins at its index and goes on by one. How often a loop is entered is known for
    warps only: those of a block may come to different copies of it.
    """
    shape, last = evidence.shape, inside[-1]
    loop = evidence.innermost_loop(last)
    if shape is None or not shape.shared_bytes or loop is None:
        return 1.0
    if any(site.kind in (*_TOGETHER, "shared load") or site.instruction.name in MEETINGS for site in inside):
        return 1.0
    places = (
        site for site in inside if site.kind == "shared store" and not has_fixed_address(evidence, site)
    )
    stored = sum(site.bytes_of_lanes for site in places)
    of_warp = stored / last.executed * evidence.turns(last, loop) / shape.shared_bytes
    return of_warp * shape.warps_of_block if of_warp > 1 else 1.0
