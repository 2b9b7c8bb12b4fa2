"""Detects loops in whose turns the threads of a warp or a block add up what they hold, where each of them could add up on its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set

from profiler.analyse.causes.detectors.candidate import Candidate
from profiler.analyse.causes.detectors.turns import as_figure, each_turn, known_turns
from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.kept import kept
from profiler.analyse.causes.evidence.sites import SHARED, Site
from profiler.analyse.causes.flow.dataflow import (
    address_registers,
    made_of,
    makers_of_value,
)
from profiler.analyse.causes.flow.lane_values import SUMMING
from profiler.analyse.causes.flow.loop_carried import is_carried
from profiler.analyse.causes.flow.reduction_trees import find_picking
from profiler.analyse.causes.flow.same_in_turns import has_fixed_address
from profiler.analyse.causes.flow.staging import TURNS_WORTH_IT
from profiler.analyse.code.registers import REGISTER
from profiler.catalog.metrics import LANES

# Their results do not depend on the order of what they add up, except for rounding.
_ADDING = ("FADD", "DADD", "HADD2", "IADD3", "FMNMX", "VIMNMX", "IMNMX")
_MULTIPLY_ADDS = ("FFMA",)


@kept
def detect_sums_across_threads(evidence: Evidence) -> list[Candidate]:
    """Names loops that add up what the threads of a warp or a block hold in each turn, only to add that to a sum, in a register or in memory.

    Each thread can add up its own values instead, and the threads exchange their sums once, after the loop. The same holds for a
    maximum. Where each turn has a sum of its own, each thread can make that of a turn alone. Where one thread gives all, `idle-lanes`
    names the loop.
    """
    return list(_find_sums(evidence))


def _find_sums(evidence: Evidence) -> Iterable[Candidate]:
    picking = {tree.loop for tree in find_picking(evidence)}
    shuffles = [site for site in evidence.of("mio") if site.opcode.startswith(SUMMING)]
    for loop in sorted(evidence.loops_around(shuffles), key=lambda one: one.start):
        inside = evidence.inside(loop)
        turns = evidence.turns(next(site for site in inside if site in shuffles), loop)
        exchange = _Exchange(evidence, inside)
        if turns < TURNS_WORTH_IT or loop in picking or not exchange.only_adds():
            continue
        exchanging = exchange.exchanging
        fractions = dict.fromkeys([*exchanging, *exchange.updates], 1 - 1 / turns)
        said = known_turns(evidence, loop, turns)
        if exchange.updates and not all(has_fixed_address(evidence, site) for site in exchange.updates):
            # Each lane then updates a place of its own: a warp makes one request for 32 updates.
            fractions |= dict.fromkeys(exchange.updates, 1 - 1 / LANES)
            if turns >= LANES and not any(site.kind == "global load" for site in inside):
                yield _with_roles_exchanged(evidence, exchange, fractions, said)
            continue
        yield Candidate(
            "redundant-shared-accesses",
            f"In {each_turn(said)}, threads exchange values {exchange.way()} to add them up, and only add the result to what they have.",
            "Let each thread add up its own values in the loop, and add up over the threads once, after it.",
            evidence.without(fractions),
            evidence.weigh(exchanging),
            as_figure(said),
            in_triton="Add up whole blocks in the loop (`acc += x`, with `acc` of the shape of the block), and call `tl.sum` once, after it.",
        )


def _with_roles_exchanged(
    evidence: Evidence, exchange: _Exchange, fractions: Mapping[Site, float], turns: float | None
) -> Candidate:
    """Returns the cause of turns that each have a sum of their own, of values which the threads hold or compute, and do not load in the turn."""
    return Candidate(
        "redundant-shared-accesses",
        f"In {each_turn(turns)}, threads exchange values {exchange.way()} to add them up, and one of them adds the result to what is in memory.",
        "Exchange the roles: let each thread make the sums of its own turns, in a loop over what the threads hold now, which passes through shared "
        "memory in tiles. Then no turn needs an exchange, and a thread updates memory once for many values.",
        evidence.without(fractions),
        evidence.weigh([*exchange.exchanging, *exchange.updates]),
        as_figure(turns),
        in_triton="Exchange the roles: let a program keep a block of sums, one for each turn, and loop over the elements (`acc += f(turn, x)`), so that "
        "no turn calls `tl.sum`, and update memory once for the block.",
    )


class _Exchange:
    """Follows through one turn of a loop what its threads exchange, to sums of all turns.

    `of_others` holds the registers with what other threads had, and by which operation their values became one, and `updates` the
    atomics that add to memory what was added up. Shared memory and its barriers are part of the exchange if what is stored there was
    added up over lanes: where each thread stores what it has, they serve something else.
    """

    def __init__(self, evidence: Evidence, inside: Sequence[Site]) -> None:
        self.evidence, self.inside = evidence, inside
        self.exchanging: list[Site] = []
        self.sums: list[Site] = []
        self.updates: list[Site] = []
        self.of_others: dict[str, str] = {}
        self._stored_by = ""
        sums = made_of(inside, {site for site in inside if site.opcode.startswith(SUMMING)})
        stores = [site for site in inside if site.kind == "shared store"]
        of_sums = [site for site in stores if not sums.isdisjoint(makers_of_value(evidence, site))]
        self._goes_through_memory = bool(of_sums)
        self._stores_else = len(of_sums) < len(stores)

    def way(self) -> str:
        return "through shared memory and meet at barriers" if self._goes_through_memory else "by shuffles"

    def only_adds(self) -> bool:
        """Returns whether values are only exchanged to be added up, and added to sums that nothing else in the loop reads, or to memory."""
        if self._goes_through_memory and self._stores_else:
            return False
        if not all(self._goes_on(site) for site in self.inside):
            return False
        return bool(
            (self.sums or self.updates) and not _are_read_next_turn(self.of_others.keys(), self.inside)
        )

    def _goes_on(self, site: Site) -> bool:
        """Takes in the next instruction; returns whether it is one of such an exchange, or none of it."""
        ways = {self.of_others[name] for name in site.use.inputs if name in self.of_others}
        if site.instruction.name == "SHFL" or (
            self._goes_through_memory and site.kind in (*SHARED, "barrier")
        ):
            self._moves(site, ways)
            return True
        if ways:
            return self._takes_in(site, ways - {""})
        self._forget(site.use.written)
        return True

    def _moves(self, site: Site, ways: Set[str]) -> None:
        if site.kind == "shared store":
            self._stored_by = "".join(ways)
        self._exchange(site, self._stored_by if site.kind == "shared load" else "".join(ways))

    def _takes_in(self, site: Site, ways: Set[str]) -> bool:
        """Adds what others had to a sum, or to what the thread has."""
        one = site.instruction
        if site.kind == "atomic":
            return self._updates_memory(site)
        written = set(site.use.written)
        is_product = one.name in _MULTIPLY_ADDS and self.of_others.keys().isdisjoint(
            REGISTER.findall(", ".join(one.operands[1:3]))
        )
        # What goes on from no turn before adds a product of the thread's own, the last of those that it adds up in a turn.
        way = "FADD" if is_product and not is_carried(self.evidence, site) else one.name
        if way not in _ADDING or ways - {way}:
            return False
        if written <= site.use.inputs - self.of_others.keys() and _is_a_sum(self.inside, site):
            self.sums.append(site)
        else:
            self._exchange(site, way)
        return True

    def _updates_memory(self, site: Site) -> bool:
        """Adds what a warp has added up to memory, by one lane that asks for nothing in return."""
        self.updates.append(site)
        is_sum = ".ADD" in site.opcode and not site.use.written and site.acting_lanes <= 1.0
        return is_sum and self.of_others.keys().isdisjoint(address_registers(site.instruction))

    def _exchange(self, site: Site, way: str) -> None:
        written = site.use.written
        self.exchanging.append(site)
        self._forget(written)
        self.of_others |= dict.fromkeys(written, way)

    def _forget(self, written: Iterable[str]) -> None:
        for name in written:
            self.of_others.pop(name, None)


def _are_read_next_turn(registers: Iterable[str], inside: Sequence[Site]) -> bool:
    """Returns whether the next turn of a loop reads what a turn leaves in one of these registers."""
    left = set(registers)
    for site in inside:
        if left & site.use.inputs:
            return True
        left -= set(site.use.written)
    return False


def _is_a_sum(inside: Sequence[Site], site: Site) -> bool:
    """Returns whether nothing else in the loop reads or writes what the instruction adds to."""
    total = set(site.use.written)
    return all(one is site or total.isdisjoint({*one.use.named, *one.use.written}) for one in inside)
