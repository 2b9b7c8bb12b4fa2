"""Finds what loops carry from one iteration to the next: sums, counters, and loads whose address depends on what the one before loaded."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from itertools import chain

from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.kept import kept_of_code
from profiler.analyse.causes.evidence.sites import ACCESSES, Site
from profiler.analyse.causes.flow.cycles import find_on_cycles
from profiler.analyse.causes.flow.dataflow import (
    makers_of_value,
    reach,
    sources_of,
)
from profiler.analyse.causes.flow.memory.staging import stored_registers
from profiler.analyse.causes.flow.memory.through_memory import find_stores_in_chains
from profiler.analyse.causes.flow.pointers import find_pointers
from profiler.analyse.causes.flow.same_in_turns import find_steady, has_fixed_address
from profiler.analyse.code.code import Instruction
from profiler.analyse.code.loops import Loop
from profiler.analyse.code.opcodes import MOVES, SUMS
from profiler.analyse.code.registers import (
    RegisterUse,
    is_predicate,
    opposite_of,
    predicates_in,
    register_of,
    uses_in,
    written_registers,
)

_FLOATS = ("fp32", "fp64")
# Instructions that add to a counter or an address, each with the slice of its operands that it multiplies or shifts first.
_ADDING = dict.fromkeys((*SUMS, *MOVES), (0, 0)) | {
    "IMAD": (1, 3),
    "UIMAD": (1, 3),
    "LEA": (1, 2),
    "ULEA": (1, 2),
}
_Positions = frozenset[int]
_Guard = tuple[str, int]  # a predicate, and how often it was written before
_NOTHING: _Positions = frozenset()


def is_carried(evidence: Evidence, site: Site) -> bool:
    """Returns whether a result depends on itself in the iteration before: a sum, a counter, or a load that follows a list or searches a sorted array."""
    loop = evidence.innermost_loop(site)
    return loop is not None and is_carried_by(evidence, loop, site)


def is_carried_by(evidence: Evidence, loop: Loop, site: Site) -> bool:
    """Returns whether a result depends on itself in the iteration before. The loop need not be the innermost one."""
    return site.instruction.offset in find_carried(evidence, loop)


def follows_itself(evidence: Evidence) -> bool:
    """Returns whether warps spend most of the time in a loop that makes each result from the one before, as a filter or a recurrent net does.

    The loop stores the result of each iteration. So its iterations cannot be shared out and added up, as those of a sum can. More
    blocks would have no work, unless a thread makes several such results.
    """
    return _take_most_of_the_time(evidence, {loop for _, loop in _stores_of_chains(evidence)})


def find_loop_storing_its_own(evidence: Evidence) -> Loop | None:
    """Returns the loop whose iterations blocks can share: warps spend most of the time in it, and most iterations store results of their own.

    A loop is left out if its iterations need each other. One may start from what the one before left in shared memory, or in an
    array that the loop also loads. If few iterations store, as in a search, earlier ones may decide where; in a running count,
    they decide what. A sum beside the stores needs all iterations. If each warp makes a single iteration, there is none to share.
    An atomic that returns no result counts as a store.
    """
    found = [
        loop
        for loop in chain.from_iterable(evidence.loops.values())
        if stores_its_own(evidence, loop)
        and evidence.goes_back(loop)
        and not any(
            one.kind in _FLOATS and is_carried_by(evidence, loop, one) for one in evidence.inside(loop)
        )
    ]
    return (
        max(found, key=lambda loop: loop.end - loop.start)
        if _take_most_of_the_time(evidence, found)
        else None
    )


def stores_its_own(evidence: Evidence, loop: Loop) -> bool:
    """Returns whether most iterations of a loop, or of the loops within it, store results that start from nothing that other iterations made."""
    inside = evidence.inside(loop)
    own = [one for one in inside if evidence.innermost_loop(one) == loop]
    stores = _stores_in(own) or _stores_in(inside)
    if not stores:
        return False
    loaded = {array for one in inside if one.kind == "global load" for array in find_pointers(evidence, one)}
    return (
        not any(one.kind == "barrier" or one.stores_in_shared for one in inside)
        and all(loaded.isdisjoint(find_pointers(evidence, one)) for one in stores)
        and any(
            _acts_in_most_turns(one, own, inside) and not has_fixed_address(evidence, one) for one in stores
        )
        and not any(_find_carried_into(evidence, one, loop) for one in stores)
    )


def _acts_in_most_turns(store: Site, own: Sequence[Site], inside: Sequence[Site]) -> bool:
    """Returns whether a store acts in most iterations of a loop: for most lanes, or for those that one mask leaves in every iteration.

    `own` are the instructions of the loop, and `inside` also those of the loops within.
    """
    guard = predicates_in(store.instruction.predicate or "")
    if guard and guard.isdisjoint(chain.from_iterable(one.use.predicates_written for one in inside)):
        return 2 * store.executed > max(one.executed for one in own)
    return 2 * store.lane_executions > max(one.lane_executions for one in own)


def _stores_in(sites: Iterable[Site]) -> list[Site]:
    return [
        one
        for one in sites
        if one.kind == "global store" or (one.kind == "atomic" and one.opcode.startswith("RED"))
    ]


def _take_most_of_the_time(evidence: Evidence, loops: Iterable[Loop]) -> bool:
    # One loop may be in another.
    inside = dict.fromkeys(site for loop in loops for site in evidence.inside(loop))
    waiting = sum(evidence.charged[site].total for site in inside)
    return waiting > sum(evidence.waits_by_reason.values()) / 2


def count_chains(evidence: Evidence) -> int:
    """Returns how many independent chains of results a thread makes side by side, at least. Other threads could take over some of them.

    In a chain, each result follows from the one before. The chains that count are those whose results one wide store takes: none
    of them uses what another one carries.
    """
    return min((_count_apart(evidence, *one) for one in _stores_of_chains(evidence)), default=1)


def _stores_of_chains(evidence: Evidence) -> list[tuple[Site, Loop]]:
    """Returns the stores of what an iteration makes from the result of the one before, each with its loop. Stores to local memory count, too.

    The iteration may have loaded that result again from where the one before stored it.
    """
    through_memory = find_stores_in_chains(evidence)
    return [
        (store, loop)
        for store in evidence.of("global store", "local")
        if store.instruction.name != "LDL"
        and (loop := evidence.innermost_loop(store))
        and has_fixed_address(evidence, store) == 0
        and (store in through_memory or _stores_what_it_carries(evidence, store, loop))
    ]


def _count_apart(evidence: Evidence, store: Site, loop: Loop) -> int:
    """Returns how many values a store takes, if no two of them depend on the same carried result; else 1."""
    taken: set[Site] = set()
    registers = stored_registers(store.instruction)
    for register in registers:
        makers = _computing_in(evidence, loop, sources_of(evidence, store, {register}))
        carried = {
            one
            for one in reach(makers, lambda one: _computing_in(evidence, loop, sources_of(evidence, one)))
            if one.kind in _FLOATS and is_carried(evidence, one)
        }
        if not carried or carried & taken:
            return 1
        taken |= carried
    return len(registers)


def _computing_in(evidence: Evidence, loop: Loop, sites: Iterable[Site]) -> list[Site]:
    """Returns those of the instructions that compute something in the loop."""
    return [one for one in sites if one.kind not in ACCESSES and evidence.innermost_loop(one) == loop]


def _stores_what_it_carries(evidence: Evidence, store: Site, loop: Loop) -> bool:
    """Returns whether what is stored is a result that the next iteration starts from.

    A value that is computed from such a result does not count, such as the mean of a moving window: its sum can start anew at any
    place, so that blocks could share the iterations.
    """
    return any(one.kind in _FLOATS for one in _find_carried_into(evidence, store, loop))


def _find_carried_into(evidence: Evidence, store: Site, loop: Loop) -> list[Site]:
    """Returns the instructions that write a stored value and start from their own result of the iteration before."""
    makers = _computing_in(evidence, loop, makers_of_value(evidence, store))
    return [one for one in makers if is_carried(evidence, one)]


@kept_of_code
def find_passed_on(evidence: Evidence, loop: Loop) -> frozenset[int]:
    """Returns the offsets that `find_carried` returns, without those of counters and addresses.

    These grow by the same amount in each iteration, so that any iteration can compute its own.
    """
    body, sources, carried = loop.body, find_sources(evidence, loop), find_carried(evidence, loop)
    steady = {site.instruction.offset for site in find_steady(evidence, loop).instructions}
    found = set()
    for one, read in zip(body, sources, strict=True):
        if one.offset not in carried:
            continue
        before = [body[place] for place in read if body[place].offset in carried]
        others = {body[place].offset for place in read}.difference(carried, steady)
        if others or not _only_adds(one, before):
            found.add(one.offset)
    return frozenset(found)


def _only_adds(one: Instruction, before: Iterable[Instruction]) -> bool:
    """Returns whether an instruction only adds to the results of those `before` it: it neither multiplies nor shifts them."""
    if not (multiplied := _ADDING.get(one.name)):
        return False
    factors = [name for name in one.operands if not is_predicate(name)][slice(*multiplied)]
    written = set(chain.from_iterable(map(written_registers, before)))
    return "0x1" in factors or written.isdisjoint(map(register_of, factors))


@kept_of_code
def find_carried(evidence: Evidence, loop: Loop) -> frozenset[int]:
    """Returns the offsets of a loop's instructions whose results depend on themselves in the iteration before."""
    return frozenset(loop.body[position].offset for position in find_on_cycles(find_sources(evidence, loop)))


@kept_of_code
def find_sources(_evidence: Evidence, loop: Loop) -> tuple[_Positions, ...]:
    """Returns for each instruction of a loop's body those whose results it reads, also through the predicates that let it act or choose.

    A branch over an instruction decides whether that acts, and so is one of its sources. A branch out of the loop ends the loop,
    and decides nothing within it. An instruction under a predicate reads what was written under the same predicate, if anything
    was; else it reads whatever the register may hold.
    """
    body, held = loop.body, _Held()
    passed_by = _branches_around(body)
    uses = uses_in(body)
    # The first pass fills the registers, and the second one counts.
    for position, (one, use) in enumerate(zip(body, uses, strict=True)):
        held.write(use, one.predicate, position)
    found: list[_Positions] = []
    for position, (one, use) in enumerate(zip(body, uses, strict=True)):
        read = use.inputs | predicates_in(one.text) if one.name == "BRA" else use.taken
        found.append(passed_by[position].union(*held.read(read, one.predicate)))
        held.write(use, one.predicate, position)
    return tuple(found)


def _branches_around(body: Sequence[Instruction]) -> list[_Positions]:
    """Returns for each instruction the conditional branches that may skip it and stay in the same iteration."""
    places = {one.offset: place for place, one in enumerate(body)}
    passing = _NOTHING
    ends: dict[int, set[int]] = {}  # the branches that go to each place
    found = []
    for place, one in enumerate(body):
        if place in ends:
            passing -= ends[place]
        found.append(passing)
        if one.name == "BRA" and one.target is not None and predicates_in(one.text):
            end = places.get(one.target, 0)
            if end > place:
                ends.setdefault(end, set()).add(place)
                passing |= {place}
    return found


class _Held:
    """Holds, at one point of a loop, the instructions that may have written each register and predicate last."""

    def __init__(self) -> None:
        self._by_any: dict[str, _Positions] = {}
        self._under: dict[
            str, dict[_Guard, _Positions]
        ] = {}  # by the predicates under which it was written last
        self._anew: dict[str, int] = {}  # how often each predicate was written anew

    def read(self, names: Iterable[str], guard: str | None) -> list[_Positions]:
        """Returns what an instruction under a predicate reads: what was written under the same one, or else what may be there."""
        if guard is None:
            return [self._by_any.get(name, _NOTHING) for name in names]
        same = self._now(guard)
        return [self._under.get(name, {}).get(same) or self._by_any.get(name, _NOTHING) for name in names]

    def _now(self, guard: str) -> _Guard:
        return guard, self._anew.get(guard.removeprefix("!"), 0)

    def write(self, use: RegisterUse, guard: str | None, position: int) -> None:
        """Notes what an instruction writes.

        Where its predicate does not hold, the register keeps its value: the one written under the opposite predicate, or else any
        from before.
        """
        written = frozenset({position})
        for name in use.results:
            under = self._under.pop(name, {})
            if guard is None:
                self._by_any[name] = written
                continue
            opposite = self._now(opposite_of(guard))
            elsewhere = {opposite: under[opposite]} if opposite in under else {}
            self._by_any[name] = written.union(elsewhere.get(opposite) or self._by_any.get(name, _NOTHING))
            self._under[name] = {self._now(guard): written, **elsewhere}
        for predicate in use.predicates_written:
            self._anew[predicate] = self._anew.get(predicate, 0) + 1


def steps_on(site: Site, changed: Set[str]) -> bool:
    """Returns whether an instruction adds the same amount to its own register in each iteration. Under a predicate, it counts its finds."""
    operands = site.instruction.operands
    if len(operands) < 2 or operands[0] not in operands[1:] or site.instruction.predicate:
        return False
    return {operands[0]}.issuperset(site.use.named & changed)
