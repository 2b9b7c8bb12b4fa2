"""Detects loops in whose turns the threads of a block add up what they hold, where each of them could add up on its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set

from profiler.analyse.causes.detectors.candidate import Candidate
from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.sites import ACCESSES, SHARED, Site
from profiler.analyse.causes.flow.carried import is_carried
from profiler.analyse.causes.flow.dataflow import (
    address_registers,
    makers_of_value,
    predicates_read,
    reach,
    sources_of,
)
from profiler.analyse.causes.flow.lane_values import find_differing_in_block
from profiler.analyse.causes.flow.staging import stored_registers
from profiler.analyse.code.loops import Loop
from profiler.analyse.code.registers import REGISTER
from profiler.catalog.metrics import LANES

# Their results do not depend on the order of what they add up, except for rounding.
_ADDING = ("FADD", "DADD", "HADD2", "IADD3", "FMNMX", "VIMNMX", "IMNMX")
_GREATEST = ("FMNMX",)
_MULTIPLY_ADDS = ("FFMA",)
# What makes an exponent of a value and a maximum, scales it and tests its range, and the exponential itself.
_OF_EXPONENT = ("FADD", "FMUL", "FFMA", "FSETP", "FSEL")
_EXPONENTIAL = "MUFU.EX2"
_MOVES = ("MOV", "IMAD.MOV")
# With fewer turns, the exchange that stays after the loop is a large part of all.
_TURNS_WORTH_IT = 4
# Each step of a tree joins two halves of what is left.
_HALF = 1 / 2


def detect_sums_across_threads(evidence: Evidence) -> Iterable[Candidate]:
    """Names loops that add up what the threads of a block hold in each turn, only to add that to a sum.

    Each thread can add up its own values instead, and the threads exchange their sums once, after the loop. The same holds for a
    maximum.
    """
    for loop in sorted(evidence.loops_around(evidence.of("barrier")), key=lambda one: one.start):
        inside = evidence.inside(loop)
        barrier = next(site for site in inside if site.kind == "barrier")
        turns = evidence.turns(barrier, loop)
        exchange = _Exchange(evidence, inside)
        if turns < _TURNS_WORTH_IT or not exchange.only_adds():
            continue
        exchanging = exchange.exchanging
        fractions = dict.fromkeys(exchanging, 1 - 1 / turns)
        yield Candidate(
            "redundant-shared-accesses",
            f"In each of {turns:.0f} turns of a loop, threads exchange values through shared memory and meet at barriers to add them up, and only "
            "add the result to what they have.",
            "Let each thread add up its own values in the loop, and add up over the threads once, after it"
            + (", where each scales its sum to the greatest maximum." if exchange.has_maximum() else "."),
            evidence.without(fractions),
            {site: evidence.charged[site].total or site.executed for site in exchanging},
            {"turns": turns},
            in_triton="Exchange less often: let a turn take more elements a thread (a larger BLOCK, fewer `num_warps`), or keep a maximum and a sum "
            "for each element of the block, and call `tl.max` and `tl.sum` once, after the loop."
            if exchange.has_maximum()
            else "Add up whole blocks in the loop (`acc += x`, with `acc` of the shape of the block), and call `tl.sum` once, after it.",
        )


class _Exchange:
    """Follows through one turn of a loop what its threads exchange, to sums of all turns.

    `of_others` holds the registers with what other threads had, and by which operation their values became one. `scaled` holds those that
    depend on a maximum of all turns.
    """

    def __init__(self, evidence: Evidence, inside: Sequence[Site]) -> None:
        self.evidence, self.inside = evidence, inside
        self.exchanging: list[Site] = []
        self.sums: list[Site] = []
        self.of_others: dict[str, str] = {}
        self.scaled: set[str] = set()
        self.of_exponents: set[Site] = set()
        self._tested: set[str] = set()  # predicates
        self._stored_by = ""

    def has_maximum(self) -> bool:
        return bool(self.of_exponents)

    def only_adds(self) -> bool:
        """Returns whether values are only exchanged to be added up, and added to sums that nothing else in the loop reads.

        A maximum may be subtracted from exponents. Sums of exponentials that are rescaled as it grows are as right if each thread
        rescales its own by a maximum of its own, and those of all threads are rescaled to the greatest when they are added up.
        """
        if not all(self._goes_on(site) for site in self.inside):
            return False
        used = {site.instruction.name for site in self.exchanging}
        through_memory = any(site.kind == "shared load" for site in self.exchanging)
        known = {*self.sums, *self.of_exponents}
        return bool(
            self.sums
            and through_memory
            and "SHFL" in used
            and not _are_read_next_turn(self.of_others.keys(), self.inside)
            and not _are_read_next_turn(self.scaled, self.inside, known)
        )

    def _goes_on(self, site: Site) -> bool:
        """Takes in the next instruction; returns whether it is one of such an exchange, or none of it."""
        one = site.instruction
        read, written = site.use.inputs, set(site.use.written)
        ways = {self.of_others[name] for name in read if name in self.of_others}
        if site.kind == "control" and not self._tested.isdisjoint(predicates_read(site)):
            return False
        if site.kind == "barrier":
            self.exchanging.append(site)
            return True
        if one.name == "SHFL" or site.kind in SHARED:
            return self._moves(site, ways)
        if ways:
            return self._takes_in(site, ways - {""})
        if not self.scaled.isdisjoint(read):
            return self._scales(site)
        self._forget(written)
        self._tested -= site.use.predicates_written
        return True

    def _moves(self, site: Site, ways: Set[str]) -> bool:
        one = site.instruction
        is_store = site.kind == "shared store"
        # What is stored without having been added up over lanes may be meant for others.
        if is_store and self.of_others.keys().isdisjoint(stored_registers(one)):
            return False
        if not self.scaled.isdisjoint(site.use.inputs):
            return False
        way = self._stored_by if site.kind == "shared load" else "".join(ways)
        if is_store:
            self._stored_by = way
        self._exchange(site, way)
        return True

    def _takes_in(self, site: Site, ways: Set[str]) -> bool:
        """Adds what others had to a sum, or to what the thread has."""
        one = site.instruction
        written = set(site.use.written)
        # A factor of each thread's own gives each its own sum of what all have, as in a recurrence with a state for each thread.
        rescales = (
            one.name in _MULTIPLY_ADDS
            and self.of_others.keys().isdisjoint(REGISTER.findall(", ".join(one.operands[1:3])))
            and site not in find_differing_in_block(self.evidence)
        )
        if not rescales and (one.name not in _ADDING or ways - {one.name}):
            return False
        if written <= site.use.inputs - self.of_others.keys() and _is_a_sum(self.inside, site):
            self.sums.append(site)
        elif one.name in _GREATEST and is_carried(self.evidence, site):
            self.sums.append(site)
            self._forget(written)
            self.scaled |= written
        elif rescales:
            return False
        else:
            self._exchange(site, one.name)
        return True

    def _scales(self, site: Site) -> bool:
        """Makes an exponent of a maximum, or its exponential, which is the thread's own."""
        one, written = site.instruction, set(site.use.written)
        self.of_exponents.add(site)
        self._forget(written)
        if one.opcode.startswith(_EXPONENTIAL):
            return True
        self.scaled |= written
        self._tested |= site.use.predicates_written
        return one.opcode.startswith(_MOVES) or (
            one.name in _OF_EXPONENT and not is_carried(self.evidence, site)
        )

    def _exchange(self, site: Site, way: str) -> None:
        written = site.use.written
        self.exchanging.append(site)
        self._forget(written)
        self.of_others |= dict.fromkeys(written, way)

    def _forget(self, written: Iterable[str]) -> None:
        for name in written:
            self.scaled.discard(name)
            self.of_others.pop(name, None)


def _are_read_next_turn(registers: Set[str], inside: Sequence[Site], known: Set[Site] = frozenset()) -> bool:
    """Returns whether the next turn of a loop reads what a turn leaves in one of these registers, by others than the known instructions."""
    left = set(registers)
    for site in inside:
        if site not in known and left & site.use.inputs:
            return True
        left -= set(site.use.written)
    return False


def _is_a_sum(inside: Sequence[Site], site: Site) -> bool:
    """Returns whether nothing else in the loop reads or writes what the instruction adds to."""
    total = set(site.use.written)
    return all(one is site or total.isdisjoint({*one.use.named, *one.use.written}) for one in inside)


def detect_trees_in_turns(evidence: Evidence) -> Iterable[Candidate]:
    """Names loops in each turn of which the threads of a block make one value of what they hold, step by step, for a single thread.

    No turn needs the result of the one before, so that each thread can take turns of its own, and make their values in its
    registers: the block runs as many turns at once as it has threads.
    """
    meeting = _own_barriers(evidence)
    for loop, barrier in meeting.items():
        turns = evidence.turns(barrier, loop)
        exchanging = _exchanging_in_tree(evidence, loop, meeting) if turns >= _TURNS_WORTH_IT else []
        if not exchanging or evidence.shape is None:
            continue
        at_once = min(turns, evidence.shape.threads)
        yield Candidate(
            "redundant-shared-accesses",
            f"In each of {turns:.0f} turns of a loop, a block adds up what its threads hold through shared memory, step by step with barriers "
            "between, and a single thread uses the result.",
            "Let each thread take turns of its own and add up their values in its registers, so that the block meets once, after the loop; or "
            "let a warp take each turn, and add up by `__shfl_xor_sync`.",
            evidence.without(dict.fromkeys(exchanging, 1 - 1 / at_once)),
            {site: evidence.charged[site].total or site.executed for site in exchanging},
            {"turns": turns},
        )


def _own_barriers(evidence: Evidence) -> dict[Loop, Site]:
    """Returns for each loop a barrier that is in no loop within it, at which a block meets in each turn."""
    found: dict[Loop, Site] = {}
    for site in evidence.of("barrier"):
        loop = evidence.innermost_loop(site)
        if loop and (loop not in found or site.executed > found[loop].executed):
            found[loop] = site
    return found


def _exchanging_in_tree(evidence: Evidence, loop: Loop, meeting: Mapping[Loop, Site]) -> list[Site]:
    """Returns the barriers, the accesses to shared memory, and the arithmetic between them, if they are a tree; else nothing.

    All threads store a value that nothing in the loop carries from turn to turn. Half of them load some at most, and store what they make of
    these, until one is left: where a result is for all, all load it.
    """
    inside = evidence.inside(loop)
    loads, stores = (
        [site for site in inside if site.kind == kind] for kind in ("shared load", "shared store")
    )
    parts = {site: _part_acting(evidence, meeting, site) for site in (*loads, *stores)}
    leaves = [site for site in stores if parts[site] > _HALF]
    steps = [site for site in stores if parts[site] <= _HALF]
    alone = 1 / evidence.shape.threads if evidence.shape else 0.0
    loading = {parts[site] for site in loads}
    if not (leaves and steps and loading) or min(loading) > alone or max(loading) > _HALF:
        return []
    of_others = [any(one.kind in SHARED for one in _makers_in_turn(evidence, site)) for site in steps]
    makers = {one for site in leaves for one in _makers_in_turn(evidence, site)}
    if not all(of_others) or any(one.kind in SHARED for one in makers):
        return []
    if any(_is_of_turn_before(evidence, loop, one) for one in makers) or _hands_on(inside):
        return []
    return _exchanged_in(inside)


def _part_acting(evidence: Evidence, meeting: Mapping[Loop, Site], site: Site) -> float:
    """Returns the part of a block's threads for which an access acts at each execution; all of them where lanes were not counted."""
    loop = evidence.innermost_loop(site)
    if site.acting is None or loop is None or loop not in meeting:
        return 1.0
    return site.executed * site.acting / (meeting[loop].executed * LANES)


def _makers_in_turn(evidence: Evidence, store: Site) -> Set[Site]:
    """Returns what makes the value that is stored, back to what was loaded."""
    return reach(
        makers_of_value(evidence, store),
        lambda one: () if one.kind in ACCESSES else sources_of(evidence, one),
    )


def _is_of_turn_before(evidence: Evidence, loop: Loop, site: Site) -> bool:
    """Returns whether an instruction starts from what it made in the turn before."""
    return site.kind not in ACCESSES and evidence.innermost_loop(site) == loop and is_carried(evidence, site)


def _hands_on(inside: Sequence[Site]) -> bool:
    """Returns whether a loop loads from global memory where it stores, so that a turn may need what the one before has left."""
    stored = {address_registers(site.instruction) for site in inside if site.kind == "global store"}
    return any(address_registers(site.instruction) in stored for site in inside if site.kind == "global load")


def _exchanged_in(inside: Sequence[Site]) -> list[Site]:
    """Returns the barriers, the accesses to shared memory, and what computes with the values of others."""
    found: list[Site] = []
    exchanged: set[str] = set()
    for site in inside:
        written = set(site.use.written)
        if site.kind == "barrier" or site.kind in SHARED:
            found.append(site)
        if site.kind == "shared load":
            exchanged |= written
        elif site.kind not in ACCESSES and not exchanged.isdisjoint(site.use.inputs):
            found.append(site)
            exchanged |= written
        else:
            exchanged -= written
    return found
