"""Finds what mixes the bits of words, as hashes, ciphers and generators of random numbers do. It is work of its own, wherever its result goes.

Each of their rounds brings upper bits of a word down to its lower ones, by a rotation or a fold. A fold is an exclusive or with
the word itself, shifted, or with the upper half of a product. Sums, products and further rounds carry the bits up again, until
each bit depends on most bits of the first word.
"""

from __future__ import annotations

from collections.abc import Iterable, Set
from itertools import permutations

from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.kept import kept
from profiler.analyse.causes.evidence.sites import ACCESSES, Site
from profiler.analyse.causes.flow.dataflow import reach, sources_of
from profiler.analyse.causes.flow.possible_writers import writers_before
from profiler.analyse.code.opcodes import SUM_BY_PRODUCT, SUMS

_Value = tuple[str, frozenset[Site]]  # a register, and what may have written it
_SHIFTS = ("SHF", "USHF")
# These rotate if they take one word twice: the bits that leave it at one end enter at the other.
_ROTATING = (*_SHIFTS, "LEA", "ULEA")
_SHIFTING = (*_ROTATING, "IMAD.SHL")
_SUMMING = (*_SHIFTS, *SUMS, SUM_BY_PRODUCT)
_UPPER, _WIDE = ("IMAD.HI", "UIMAD.HI"), ("IMAD.WIDE", "UIMAD.WIDE")
_LOGIC = ("LOP3", "ULOP3")
_EXCLUSIVE_ORS = ("0x3c", "0x5a", "0x66", "0x96")  # the tables of a ^ b, a ^ c, b ^ c and a ^ b ^ c


@kept
def find_mixing(evidence: Evidence) -> Set[Site]:
    """Returns the instructions that mix words, and those that make these words, back to what was read from memory.

    No index of an element is rotated, because that would destroy the order of the elements. It may be folded once, as a swizzle
    does: only folds of folds count.
    """
    rounds = {*_rotations(evidence), *_repeated_folds(evidence)}
    if not rounds:
        return frozenset()
    made = reach(rounds, lambda one: _makers_of(evidence, one))
    return made | _find_mixed(evidence, rounds, made)


def _makers_of(evidence: Evidence, site: Site) -> Iterable[Site]:
    """Returns what made the words that an instruction takes, also in the iteration before; nothing for an access, whose words are its address."""
    if site.kind in ACCESSES:
        return ()
    return [maker for _, makers in _words_of(evidence, site) for maker in makers]


def _words_of(evidence: Evidence, site: Site) -> Set[_Value]:
    return {_value(evidence, site, register) for register in site.use.inputs}


def _value(evidence: Evidence, site: Site, register: str) -> _Value:
    # On a path through a call, `writers_before` finds nothing.
    writers = writers_before(evidence, site, register) or sources_of(evidence, site, {register})
    return register, frozenset(writers)


def _rotations(evidence: Evidence) -> Iterable[Site]:
    """Yields the instructions that rotate a word, or two words as one of 64 bits: the bits that leave one of them enter the other."""
    halves: dict[tuple[str, str, _Value, _Value], Site] = {}
    for site in evidence.of("integer"):
        one = site.instruction
        first, by, second = (operand.removesuffix(".reuse") for operand in (*one.operands, "", "", "")[1:4])
        if one.name not in _ROTATING or second not in site.use.inputs:
            continue
        if first == second:
            yield site
        else:
            words = _value(evidence, site, first), _value(evidence, site, second)
            halves[(site.opcode, by, *words)] = site
            if other := halves.get((site.opcode, by, *words[::-1])):
                yield from (site, other)


def _repeated_folds(evidence: Evidence) -> Set[Site]:
    """Returns the folds that are made of other folds, or of themselves in the iteration before."""
    folds = {site for site in evidence.of("integer") if _is_fold(evidence, site)}
    found = set()
    for site in folds:
        made_of = reach(_makers_of(evidence, site), lambda one: _makers_of(evidence, one))
        if not folds.isdisjoint(made_of):
            found.add(site)
    return found


def _is_fold(evidence: Evidence, site: Site) -> bool:
    """Returns whether this is an exclusive or of a word with itself, shifted, or with the upper half of a product.

    Where a swizzle does that to an address, the same instruction also masks one of the two, and has another table.
    """
    one = site.instruction
    if one.name not in _LOGIC or len(one.operands) < 5 or one.operands[4] not in _EXCLUSIVE_ORS:
        return False
    words = _words_of(evidence, site)
    return any(_is_upper_half(evidence, word) for word in words) or any(
        not _shifted_to(evidence, this).isdisjoint({other, *_taken_for(evidence, other)})
        for this, other in permutations(words, 2)
    )


def _shifted_to(evidence: Evidence, word: _Value) -> Set[_Value]:
    """Returns the words that were shifted to make this one; none if that is for a 64-bit address, whose lower half carries into the upper one."""
    return {
        one
        for maker in word[1]
        if maker.opcode.startswith(_SHIFTING)
        and "X" not in maker.opcode.split(".")
        and not maker.use.predicates_written
        for one in _words_of(evidence, maker)
    }


def _taken_for(evidence: Evidence, word: _Value, by: str | tuple[str, ...] = "") -> list[_Value]:
    """Returns the words from which a word was made; with `by`, only where these opcodes made it."""
    return [one for maker in word[1] if maker.opcode.startswith(by) for one in _words_of(evidence, maker)]


def _is_upper_half(evidence: Evidence, word: _Value) -> bool:
    """Returns whether a word is the upper half of a product of two words, or a sum of that and others, shifted or not."""
    return any(
        maker.opcode.startswith(_UPPER)
        or (maker.opcode.startswith(_WIDE) and register == maker.use.written[-1])
        for register, makers in reach([word], lambda one: _taken_for(evidence, one, _SUMMING))
        for maker in makers
    )


def _find_mixed(evidence: Evidence, rounds: Set[Site], made: Set[Site]) -> Set[Site]:
    """Returns the rounds, what leads from one of them to another, and what joins several mixed words and nothing else."""
    mixed = set(rounds)
    for site in evidence.of("integer"):
        are_mixed = [not makers.isdisjoint(mixed) for _, makers in _words_of(evidence, site)]
        if any(are_mixed) if site in made else len(are_mixed) > 1 and all(are_mixed):
            mixed.add(site)
    return mixed
