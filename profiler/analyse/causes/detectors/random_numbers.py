"""Detects random numbers that are made and not used: a generator makes four at a time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from profiler.analyse.causes.detectors.candidate import Candidate
from profiler.analyse.causes.detectors.instructions import sources_read
from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.sites import Site
from profiler.analyse.code.registers import written_registers

# The factors of Philox, the generator of cuRAND, PyTorch and Triton (Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3", 2011):
# 0xD2511F53 and 0xCD9E8D57, as machine code writes them.
_FACTORS = ({"-0x2daee0ad", "0xd2511f53"}, {"-0x326172a9", "0xcd9e8d57"})
# Each of ten rounds takes two products of 64 bits. Up to three of the twenty products are constant or unused in the first and last rounds.
_PRODUCTS = 18
_MADE = 4  # numbers by these rounds
_ALL_USED = 3.5  # between whole counts


def detect_dropped_numbers(evidence: Evidence) -> Iterable[Candidate]:
    """Names the rounds of a generator of random numbers of which some results are dropped."""
    rounds: dict[Site, None] = {}
    users: dict[Site, float] = {}
    used = products = 0.0
    for sites in evidence.by_function.values():
        if not all(any(_multiplies_by(one, factor) for one in sites) for factor in _FACTORS):
            continue
        for index, site in enumerate(sites):
            if not _is_product(site):
                continue
            written = written_registers(site.instruction)
            numbers = []
            # An upper half is mixed with two other words.
            if site.opcode.startswith("IMAD.HI") or len(written) > 1:
                products += site.executed
                mixing = [
                    one
                    for one in _readers(sites, index, written[-1])
                    if sites[one].instruction.name == "LOP3"
                ]
                rounds |= dict.fromkeys(sites[one] for one in mixing)
                numbers += [one for one in mixing if not _goes_on(sites, one)]
            if not site.opcode.startswith("IMAD.HI"):
                readers = _readers(sites, index, written[0])
                numbers += [index] * any(sites[one].instruction.name != "LOP3" for one in readers)
            rounds[site] = None
            used += sum(sites[one].executed for one in numbers)
            for one in numbers:
                users |= _users(sites, one)
    each = used * _PRODUCTS / products if products else _MADE
    if not used or each >= _ALL_USED:
        return
    yield Candidate(
        "redundant-instructions",
        f"Philox makes {_MADE} random numbers in ten rounds, of which about {each:.1f} are used.",
        "Use all four: let each thread take four elements, and make their numbers by one call (`curand_uniform4`).",
        evidence.without(dict.fromkeys(rounds, 1 - each / _MADE)),
        users or {site: site.executed for site in rounds},
        {"used_of_four_numbers": each},
        in_triton="Use all four: make the numbers of four elements by one call (`tl.rand4x`, `tl.randint4x`), with a quarter of the offsets.",
    )


def _is_product(site: Site) -> bool:
    return any(_multiplies_by(site, factor) for factor in _FACTORS)


def _multiplies_by(site: Site, factor: set[str]) -> bool:
    instruction = site.instruction
    is_product = instruction.name == "IMAD" and not factor.isdisjoint(instruction.operands)
    return is_product and bool(written_registers(instruction))


def _readers(sites: Sequence[Site], index: int, register: str) -> list[int]:
    """Returns the positions of the instructions after this one that read what it wrote to the register."""
    found = []
    for position in range(index + 1, len(sites)):
        if register in sources_read(sites[position]):
            found.append(position)
        if register in written_registers(sites[position].instruction):
            break
    return found


def _goes_on(sites: Sequence[Site], index: int) -> bool:
    """Returns whether a mixed word is multiplied in another round."""
    words = written_registers(sites[index].instruction)
    return any(_is_product(sites[one]) for word in words for one in _readers(sites, index, word))


def _users(sites: Sequence[Site], index: int) -> dict[Site, float]:
    """Returns the first instructions of other files that use a number: the generator may be a function of a library."""
    found: dict[Site, float] = {}
    seen, wanted = {index}, [index]
    while wanted:
        here = wanted.pop()
        for register in written_registers(sites[here].instruction):
            for one in _readers(sites, here, register):
                if sites[one].instruction.file != sites[index].instruction.file:
                    found[sites[one]] = sites[one].executed
                elif one not in seen:
                    seen.add(one)
                    wanted.append(one)
    return found
