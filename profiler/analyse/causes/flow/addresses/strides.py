"""Finds out how far each turn of a loop moves on: by how many bytes, and whether to the neighbours of what the turn before took."""

from __future__ import annotations

from profiler.analyse.causes.evidence.addresses import address_of, base_of, offset_of
from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.kept import kept
from profiler.analyse.causes.evidence.sites import GLOBAL, Site
from profiler.analyse.causes.flow.addresses.operations import CARRY, NEGATIVE, SUMS
from profiler.analyse.causes.flow.possible_writers import writers_of_any
from profiler.analyse.code.loops import Loop
from profiler.analyse.code.opcodes import is_move
from profiler.analyse.code.registers import REGISTER, is_predicate


def step_of(site: Site, register: str) -> int | None:
    """Returns by how much an instruction raises a register, if it adds a constant to it."""
    one = site.instruction
    added = [part for part in one.operands[1:] if part != register and not is_predicate(part)]
    is_sum = one.name in SUMS or one.opcode.startswith(CARRY)
    if not is_sum or len(added) == len(one.operands[1:]):
        return None
    numbers = [int(part, 16) for part in added if part.startswith("0x")]
    zeros = [part for part in added if part.endswith("RZ")]
    is_known = len(numbers) + len(zeros) == len(added) and all(number < NEGATIVE for number in numbers)
    return sum(numbers) if is_known else None


def _step_by(evidence: Evidence, loop: Loop, site: Site, register: str) -> int | None:
    """Returns by how much an instruction of a loop raises a register, also where it moves the sum back from another one, at either end of a turn."""
    if not is_move(site.instruction):
        return step_of(site, register)
    writers = writers_of_any(evidence, site, site.use.inputs)
    makers = [one for one in writers if one.instruction in loop]
    return step_of(makers[0], register) if len(makers) == 1 else None


def step_in_loop(evidence: Evidence, loop: Loop, access: Site) -> int | None:
    """Returns how many bytes further each turn of a loop accesses; nothing where that is not the same for all turns.

    The lower half of an address says it. To the upper half goes the carry, and its register may hold something else in between.
    """
    step = 0
    for register in REGISTER.findall(address_of(access).rpartition("[")[2]):
        for site in evidence.inside(loop):
            if register in site.use.results:
                further = _step_by(evidence, loop, site, register)
                if further is None or site.instruction.predicate is not None:
                    return None
                step += further
    return step


@kept
def find_walking(evidence: Evidence) -> set[Site]:
    """Returns the accesses to global memory that, in each turn of a loop, take the elements behind those of the turn before."""
    return {site for site, (step, taken) in _steps_of(evidence).items() if abs(step) == taken}


def find_in_runs(evidence: Evidence) -> set[Site]:
    """Returns those by which the turns of a loop leave out nothing on their way, also where a turn takes some elements again, as the neighbours of each."""
    return {site for site, (step, taken) in _steps_of(evidence).items() if 0 < abs(step) <= taken}


@kept
def _steps_of(evidence: Evidence) -> dict[Site, tuple[int, int]]:
    """Returns how many bytes further the next turn of a loop accesses global memory, where that is known, and how many bytes a turn takes there."""
    copies: dict[tuple[object, Loop], list[Site]] = {}
    for site in evidence.of(*GLOBAL):
        if site.width and (loop := evidence.innermost_loop(site)):
            copies.setdefault((base_of(site), loop), []).append(site)
    return {
        site: (step, sum({offset_of(one): one.width // 8 for one in sites}.values()))
        for (_, loop), sites in copies.items()
        if (step := step_in_loop(evidence, loop, sites[0])) is not None
        for site in sites
    }
