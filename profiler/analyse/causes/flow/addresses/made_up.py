"""Computes addresses with made-up numbers for what is not in the code: parameters, indices, and what memory holds.

Compilers write the same address in many ways. Two accesses whose addresses come to the same number access the same place. All
instructions act, as if all predicates held and no branch were taken: iterations that are peeled off a loop end one by one. Of an
address with 64 bits, the lower half is computed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Container, Iterable, Sequence

from profiler.analyse.causes.evidence.sites import Kind, Site
from profiler.analyse.causes.flow.addresses.operations import WORDS, Operations, by_table
from profiler.analyse.causes.flow.dataflow import address_registers
from profiler.analyse.code.opcodes import LOADS_OF_CONSTANTS, WORD_BITS, word_of_constants
from profiler.analyse.code.registers import REGISTER
from profiler.catalog.metrics import LANES

_LOOKING_UP = (*LOADS_OF_CONSTANTS, "CS2R")  # parameters, constants and special registers
_ACCESSES: tuple[Kind, ...] = ("global load", "global store", "atomic")


def first_addresses(
    sites: Sequence[Site], thread: str = "", index: int | None = None, kinds: Sequence[Kind] = _ACCESSES
) -> dict[Site, int]:
    """Returns the first address of each access of these kinds in this code; each `thread` has numbers of its own.

    With an `index`, they are those of the thread with this index in a block of one dimension.
    """
    return _MadeUp(thread, index, kinds).follow(sites, _find_needed(sites, kinds))


def addresses_in_turns(before: Sequence[Site], turn: Sequence[Site], turns: int) -> list[dict[Site, int]]:
    """Returns the addresses of the accesses of a loop in its first iterations: `before` stands before the loop, and each iteration runs `turn`.

    What an iteration loads differs from what the others load.
    """
    needed = _find_needed([*before, *turn, *turn])
    numbers = _MadeUp()
    numbers.follow(before, needed)
    found = []
    for number in range(turns):
        numbers.turn = number
        found.append(numbers.follow(turn, needed))
    return found


def _find_needed(sites: Sequence[Site], kinds: Sequence[Kind] = _ACCESSES) -> set[Site]:
    """Returns the instructions from which addresses are made."""
    found: set[Site] = set()
    wanted: set[str] = set()
    for site in reversed(sites):
        if not wanted.isdisjoint(site.use.written):
            found.add(site)
            wanted = wanted.difference(site.use.written) | site.use.named
        if site.kind in kinds:
            wanted |= address_registers(site.instruction)
    return found


class _MadeUp(Operations[int]):
    """Follows numbers of 32 bits through the code in the order of its text. A loaded value, or what else is not known, gets one of its own."""

    def __init__(self, thread: str = "", index: int | None = None, kinds: Sequence[Kind] = _ACCESSES) -> None:
        self.turn = 0
        self._by_register: dict[str, int] = {}
        self._thread = thread
        self._index = index
        self._kinds = kinds

    def follow(self, sites: Iterable[Site], needed: Container[Site]) -> dict[Site, int]:
        """Runs this code once and returns the address of each access. Of what makes no address, only what is `needed` runs."""
        found: dict[Site, int] = {}
        for site in sites:
            if site.kind in self._kinds and not self._by_register.keys().isdisjoint(
                address_registers(site.instruction)
            ):
                found[site] = self.address(site)
            if site in needed:
                self._by_register |= {name: self.result(site, name) for name in site.use.written}
        return found

    def _of_thread(self, name: str) -> int:
        """Returns what a thread finds at a place that is not in the code. Another one may find something else there."""
        return _make_up(f"{name}{self._thread}{self._index or ''}")

    def held(self, site: Site, register: str) -> int:
        return self._by_register.get(register, self._of_thread(f"{register} at {site.position}"))

    def constant(self, number: int) -> int:
        return number % WORDS

    def result(self, site: Site, register: str) -> int:
        """Returns what an instruction writes to a register. Its registers after the first hold upper halves, or the words that follow in memory."""
        number, place = super().result(site, register), site.use.written.index(register)
        if not (number and place):
            return number
        # Another instruction may read that word alone.
        is_lookup = site.instruction.name in _LOOKING_UP
        word = word_of_constants(site.instruction.operands[1], place) if is_lookup else None
        return self.elsewhere(word) if word else _make_up(f"{number} {place}")

    def special(self, register: str) -> int:
        if register == "SRZ":
            return 0
        if self._index is None:
            return self._of_thread(register)
        return {"SR_TID.X": self._index, "SR_LANEID": self._index % LANES}.get(register, _make_up(register))

    def elsewhere(self, operand: str, /) -> int:
        if not operand.startswith("c["):
            return self.special(operand)
        return self._of_thread(operand) if REGISTER.search(operand) else _make_up(operand)

    def other(self, site: Site, taken: Sequence[int], /) -> int:
        one = site.instruction
        if one.name in _LOOKING_UP and not REGISTER.search(one.operands[1]):
            return taken[0]
        return self._of_thread(f"result of {site.position} in {self.turn}")

    def sum(self, one: int, other: int) -> int:
        return (one + other) % WORDS

    def product(self, one: int, other: int) -> int:
        return one * other % WORDS

    def shifted_left(self, value: int, by: int) -> int:
        return (value << by) % WORDS if by < WORD_BITS else _make_up(f"{value} << {by}")

    def shifted_right(self, value: int, by: int) -> int:
        return value >> by if by < WORD_BITS else _make_up(f"{value} >> {by}")

    def logic(self, values: Sequence[int], table: int) -> int:
        return by_table(values, table) % WORDS


def _make_up(name: str) -> int:
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=4).digest())
