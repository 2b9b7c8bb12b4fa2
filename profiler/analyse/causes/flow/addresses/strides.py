"""Finds out how far each iteration of a loop moves on: by how many bytes, and whether to the neighbours of what the one before took."""

from __future__ import annotations

from profiler.analyse.causes.evidence.addresses import address_of, base_of, offset_of
from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.kept import kept
from profiler.analyse.causes.evidence.sites import GLOBAL, Site
from profiler.analyse.causes.flow.addresses.operations import CARRY, whole_number
from profiler.analyse.causes.flow.possible_writers import writers_of_any
from profiler.analyse.code.loops import Loop
from profiler.analyse.code.opcodes import SUMS, is_move
from profiler.analyse.code.registers import REGISTER, is_predicate


def step_of(site: Site, register: str) -> int | None:
    """Returns by how much an instruction raises a register, if it adds a constant to it; by less than 0 if it lowers it."""
    one = site.instruction
    added = [part for part in one.operands[1:] if part != register and not is_predicate(part)]
    is_sum = one.name in SUMS or one.opcode.startswith(CARRY)
    if not is_sum or len(added) == len(one.operands[1:]):
        return None
    numbers = [0 if part.endswith("RZ") else whole_number(part) for part in added]
    return None if None in numbers else sum(filter(None, numbers))


def _step_by(evidence: Evidence, loop: Loop, site: Site, register: str) -> int | None:
    """Returns by how much an instruction of a loop raises a register.

    At either end of an iteration, it may also move the sum back from another register.
    """
    if not is_move(site.instruction):
        return step_of(site, register)
    writers = writers_of_any(evidence, site, site.use.inputs)
    makers = [one for one in writers if one.instruction in loop]
    return step_of(makers[0], register) if len(makers) == 1 else None


def step_in_loop(evidence: Evidence, loop: Loop, access: Site) -> int | None:
    """Returns how many bytes further each iteration of a loop accesses; None where that is not the same for all of them.

    The lower half of an address says it. The upper half only takes the carry, and its register may hold something else in
    between.
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
    """Returns the accesses to global memory that, in each iteration of a loop, take the elements behind those of the one before."""
    return {site for site, (step, taken) in _steps_of(evidence).items() if abs(step) == taken}


def find_in_runs(evidence: Evidence) -> set[Site]:
    """Returns the accesses to global memory that leave out nothing from one iteration to the next.

    An iteration may take some elements again, such as the neighbours of each.
    """
    return {site for site, (step, taken) in _steps_of(evidence).items() if 0 < abs(step) <= taken}


@kept
def _steps_of(evidence: Evidence) -> dict[Site, tuple[int, int]]:
    """Returns for each access to global memory by how many bytes the next iteration moves on, if known, and how many bytes an iteration takes."""
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
