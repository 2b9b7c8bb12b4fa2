"""Finds the loads from global memory whose values go to shared memory for the whole block, as those of a tile do."""

from __future__ import annotations

from collections.abc import Iterator, Set
from itertools import takewhile

from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.kept import kept
from profiler.analyse.causes.evidence.sites import COPIES_TO_SHARED, Kind, Site, kind_of
from profiler.analyse.causes.flow.dataflow import address_registers, changed_in
from profiler.analyse.code.code import Instruction
from profiler.analyse.code.registers import REGISTER, read_registers, use_of

_REACH = 512  # instructions searched behind a load: an iteration that stages tiles has several hundred
_PACKING = ("PRMT", "MOV", "F2FP", "HADD2")
_ELEMENT_BY_ELEMENT: tuple[Kind, ...] = ("fp32", "conversion", "special", "integer", "other")
# Tensor cores may read a tile from shared memory themselves.
_USING_TILES: tuple[Kind, ...] = ("shared load", "tensor")
_PRODUCTS = ("FMUL", "HMUL2", "FFMA", "HFMA2", "IMAD")
# With fewer iterations, too large a part of the work is outside of the loop: an exchange after it, or a table filled before it.
TURNS_WORTH_IT = 4


@kept
def feeds_shared_memory(evidence: Evidence, site: Site) -> bool:
    """Returns whether the loaded value goes to shared memory: as it is, or converted, scaled or shifted, but not joined with another one."""
    if site.instruction.name in COPIES_TO_SHARED:
        return True
    if site.kind != "global load":
        return False
    loop = evidence.innermost_loop(site)
    changed = changed_in(evidence, loop) if loop else None
    uses_tiles = loop is not None and any(one.kind in _USING_TILES for one in evidence.inside(loop))
    held = set(site.use.written)
    for instruction in _following(evidence, site):
        if instruction.name in ("STS", "STSM") and held & stored_registers(instruction):
            return True
        use = use_of(instruction.text)
        takes = not held.isdisjoint(use.inputs)
        if takes and (
            instruction.name in _PACKING or _is_of_one_value(instruction, held, changed, uses_tiles)
        ):
            held.update(use.written)
        # A sum, under whatever predicate, is another value.
        elif instruction.predicate is None or takes:
            held.difference_update(use.written)
        if not held:
            return False
    return False


def _following(evidence: Evidence, site: Site) -> Iterator[Instruction]:
    """Yields the instructions after this one, as far as the search goes; in a loop, those of one iteration."""
    code, loop = evidence.profile.code, evidence.innermost_loop(site)
    if code is None:
        return
    following = code.functions[site.function][site.position + 1 : site.position + 1 + _REACH]
    if loop is None or len(loop.body) > _REACH:
        yield from following
        return
    yield from takewhile(lambda one: one in loop, following)
    yield from takewhile(lambda one: one.offset < site.instruction.offset, loop.body)


def stored_registers(instruction: Instruction) -> frozenset[str]:
    """Returns the registers whose values an instruction stores."""
    return read_registers(instruction) - address_registers(instruction)


def _is_of_one_value(
    instruction: Instruction, held: Set[str], changed: Set[str] | None, uses_tiles: bool
) -> bool:
    """Returns whether an instruction converts, scales or shifts one loaded value, with nothing else that its loop has `changed`.

    In a loop that works on tiles, the scale may be loaded too, as that of a quantised value. In any other loop, a product of two
    loaded values is a step of a sum, as in a dot product.
    """
    if kind_of(instruction.opcode) not in _ELEMENT_BY_ELEMENT:
        return False
    factors, added = instruction.operands[1:], instruction.operands[:0]
    if instruction.name in _PRODUCTS:
        factors, added = instruction.operands[1:3], instruction.operands[3:]
        if held.isdisjoint(REGISTER.findall(", ".join(factors))):
            return False
        if uses_tiles:
            factors = ()
    others = {name for one in (*factors, *added) for name in REGISTER.findall(one)}.difference(held)
    if changed is None:
        return not any(name.startswith("R") for name in others)
    return others.isdisjoint(changed)
