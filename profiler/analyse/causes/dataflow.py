"""Follows registers between instructions: what a load feeds, and which address it comes from."""

from __future__ import annotations

import re
from functools import lru_cache

from profiler.analyse.causes.blame import registers_read
from profiler.analyse.causes.evidence import Evidence
from profiler.analyse.causes.sites import Site
from profiler.analyse.code.code import Instruction
from profiler.analyse.code.loops import Loop
from profiler.analyse.code.registers import follow_loop, written_registers

_ADDRESS = re.compile(r"\[([^\]]*)\]")
_REGISTER = re.compile(r"U?R\d+")
_REACH = 64  # instructions after a load in which its consumer is looked for


def feeds_shared_memory(evidence: Evidence, site: Site) -> bool:
    """Returns whether what is loaded goes to shared memory, so that it is used by the whole block."""
    if site.opcode.startswith(("LDGSTS", "UBLKCP", "UTMALDG")):
        return True
    code = evidence.profile.code
    if code is None or site.kind != "global load":
        return False
    held = set(_written(site.instruction))
    function = code.functions[site.function]
    loop = evidence.innermost_loop(site)
    following = list(function[site.position + 1 : site.position + 1 + _REACH])
    if loop is not None and len(loop.body) <= _REACH:  # stored at the start of the next iteration
        following = [one for one in following if one in loop] + [one for one in loop.body if one.offset < site.instruction.offset]
    for instruction in following:
        if instruction.name in ("STS", "STSM") and held & set(_REGISTER.findall(instruction.operands[-1])):
            return True
        if instruction.name in ("PRMT", "MOV", "F2FP", "HADD2") and held & registers_read(instruction):
            held |= set(_written(instruction))
        elif instruction.predicate is None:
            held -= set(_written(instruction))
        if not held:
            return False
    return False


def has_fixed_address(evidence: Evidence, site: Site) -> float:
    """Returns the part of the executions that repeat the same address within their loop; 0 without one."""
    loop = evidence.innermost_loop(site)
    if loop is None or not (bases := _address_registers(site.instruction)):
        return 0.0
    changed = {register for one in loop.body for register in _written(one)}
    if bases & changed:
        return 0.0
    rounds = _rounds(evidence, site, loop)
    return 1 - 1 / rounds if rounds > 1 else 0.0


def is_chased(evidence: Evidence, site: Site) -> bool:
    """Returns whether a load's address comes from its own result in the iteration before: a list that is followed."""
    loop = evidence.innermost_loop(site)
    if loop is None:
        return False
    position = next(index for index, one in enumerate(loop.body) if one.offset == site.instruction.offset)
    sources = _sources(loop)
    wanted = set(sources[position])
    seen: set[int] = set()
    while wanted - seen:
        one = (wanted - seen).pop()
        seen.add(one)
        wanted |= sources[one]
    return position in seen


@lru_cache(maxsize=256)
def _sources(loop: Loop) -> tuple[frozenset[int], ...]:
    """Returns for each position of a loop the positions whose results it reads, in this iteration or the one before."""
    return tuple(
        frozenset(
            value[0]
            for register in registers_read(loop.body[position]) - _only_written(loop.body[position])
            for value in state.get(register, ())
        )
        for position, state in follow_loop(loop.body)
        if position < len(loop.body)
    )


def _only_written(instruction: Instruction) -> frozenset[str]:
    """Returns the registers of the first operand, unless others name them too."""
    first = set(_REGISTER.findall(instruction.operands[0])) if instruction.operands else set()
    others = set(_REGISTER.findall(" ".join(instruction.operands[1:])))
    return frozenset(first - others) if _written(instruction) else frozenset()


def _rounds(evidence: Evidence, site: Site, loop: Loop) -> float:
    """Returns the iterations for each time that the loop is entered."""
    function = [one for one in evidence.sites if one.function == site.function]
    before = [one.executed for one in function if one.instruction.offset < loop.start]
    return site.executed / before[-1] if before and before[-1] else 1.0


def _address_registers(instruction: Instruction) -> frozenset[str]:
    found: set[str] = set()
    for address in _ADDRESS.findall(instruction.text):
        found |= set(_REGISTER.findall(address))
    if ".64]" in instruction.text:
        found |= {f"R{int(name[1:]) + 1}" for name in found if name.startswith("R")}
    return frozenset(found)


@lru_cache(maxsize=8192)
def _written(instruction: Instruction) -> tuple[str, ...]:
    written = written_registers(instruction)
    if not written and instruction.operands and instruction.operands[0].startswith("UR"):
        return (instruction.operands[0],)
    return tuple(written)
