"""Finds loops that read again what a loop before them has read, as when a row is summed in one pass and normalised in the next.

Compilers write the same address in many ways. So addresses are computed: with made-up numbers for parameters and indices, in one turn
of each loop. Two loads whose addresses begin at the same number read from the same place on.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Mapping, Sequence

from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.latency import Places
from profiler.analyse.causes.evidence.sites import Kind, Site
from profiler.analyse.code.code import Instruction
from profiler.analyse.code.loops import Loop
from profiler.analyse.code.registers import REGISTER, is_predicate
from profiler.catalog.metrics import LANES

_BITS = 32
_WORD = 1 << _BITS
# Not the descriptor before it.
_ADDRESS = re.compile(r"\[(U?R\d+)(?:\.64|\.U32)?(?:\+(-?0x[0-9a-f]+))?\](?!\[)")
_PARAMETER = re.compile(r"(c\[\w+\])\[(0x[0-9a-f]+)\]")
# Loads that begin so few bytes apart read the same array: the turns of an unrolled loop, and the parts of a thread.
_APART = 2**16
_NEARLY_ALIKE = 1.1  # counts of loops over the same data, the last turn of which may do less
# Of a block, to read it once: half of the 256 KiB of registers of an SM (CUDA C++ Programming Guide, "Technical Specifications per
# Compute Capability").
_MOST_KEPT_BYTES = 128 * 1024
# Registers of a thread, in bytes, and shared memory of an SM, which its blocks share (there, for compute capability 9.0).
_THREAD_BYTES, _SHARED_BYTES = 255 * 4, 227 * 1024
_COMPUTED = frozenset(
    {"MOV", "R2UR", "IADD3", "VIADD", "IADD", "IMAD", "LEA", "SHF", "LOP3"}
)  # in `_compute`
_ADDING = ("FADD", "FFMA", "FMNMX", "DADD", "DFMA", "HADD2", "HFMA2")
_WRITING: tuple[Kind, ...] = ("global store", "atomic", "shared store", "shared atomic")


def find_later_passes(evidence: Evidence) -> list[Site]:
    """Returns the loads by which a loop reads again what an earlier loop has read, if nothing changed it, and a block could have kept it or needs it once."""
    found: list[Site] = []
    for sites in evidence.by_function.values():
        counted = (site for site in sites if site.kind == "global load" and site.ideal_sectors)
        if len(evidence.loops_around(counted)) <= 1:
            continue  # addresses take long to find, and there is no second pass
        addresses = first_addresses(sites)
        loops = _loads_by_loop(evidence, sites, addresses)
        for place, (loop, loads) in enumerate(loops):
            kept = (
                again
                for before, loaded in loops[:place]
                if before.end < loop.start
                and (again := _again(addresses, loaded, loads))
                and not _is_stored(addresses, _between(sites, before, loop), again, loop)
                and (_fits(evidence, before, loop, again) or _both_sum_up(evidence, before, loop))
            )
            found += next(kept, [])
    return found


def _between(sites: Iterable[Site], first: Loop, last: Loop) -> list[Site]:
    """Returns the instructions of two loops, and those that stand between them."""
    return [site for site in sites if first.start <= site.instruction.offset <= last.end]


def _loads_by_loop(
    evidence: Evidence, sites: Iterable[Site], addresses: Collection[Site]
) -> list[tuple[Loop, list[Site]]]:
    found: dict[Loop, list[Site]] = {}
    for site in sites:
        loop = evidence.innermost_loop(site)
        if site.kind == "global load" and site in addresses and loop is not None and site.ideal_sectors:
            found.setdefault(loop, []).append(site)
    return sorted(found.items(), key=lambda one: one[0].start)


def _again(addresses: Mapping[Site, int], loaded: Sequence[Site], loads: Sequence[Site]) -> list[Site]:
    """Returns those of the `loads` that read the same as some of what was `loaded`: from the same place on, and as much."""
    again = [one for one in loads if _is_near(addresses, one, loaded)]
    first = [one for one in loaded if _is_near(addresses, one, again)]
    if {addresses[one] for one in first}.isdisjoint(addresses[one] for one in again):
        return []
    before, after = (sum(one.ideal_sectors or 0.0 for one in some) for some in (first, again))
    return again if max(before, after) <= _NEARLY_ALIKE * min(before, after) else []


def _is_near(addresses: Mapping[Site, int], site: Site, others: Iterable[Site]) -> bool:
    return any(
        min((addresses[site] - addresses[one]) % _WORD, (addresses[one] - addresses[site]) % _WORD) < _APART
        for one in others
    )


def _is_stored(
    addresses: Mapping[Site, int], between: Iterable[Site], loads: Sequence[Site], loop: Loop
) -> bool:
    """Returns whether the kernel stores where it loads, or at an unknown place, before it loads there.

    A loop that puts back each element which a turn loads, and no other, changes nothing that its later turns load.
    """
    stores = [one for one in between if one.kind in ("global store", "atomic")]
    near = [one for one in stores if one not in addresses or _is_near(addresses, one, loads)]
    puts_back = {addresses.get(one) for one in near} == {addresses[one] for one in loads}
    return bool(near) and not (
        puts_back and all(one.kind == "global store" and one.instruction in loop for one in near)
    )


def _fits(evidence: Evidence, before: Loop, loop: Loop, loads: Sequence[Site]) -> bool:
    """Returns whether a block could keep what it loads in the loop until then, since the loop before: in its registers, or in shared memory beside the other blocks of its SM.

    If a loop around this one does not hold the one before, all of its turns are read anew.
    """
    around = [
        one
        for one in evidence.loops.get(loads[0].function, [])
        if before.end < one.start <= loop.start and loop.end <= one.end
    ]
    entering = evidence.last_before(loads[0].function, min(around, key=lambda one: one.start))
    if entering is None or evidence.shape is None:
        return False
    warps = evidence.shape.warps_of_block
    kept = sum(one.bytes_asked for one in loads) * warps / entering.executed
    in_shared = kept * _blocks_at_once(evidence, warps) <= (evidence.find("shared_of_sm") or _SHARED_BYTES)
    return kept <= _MOST_KEPT_BYTES and (in_shared or kept <= _THREAD_BYTES * LANES * warps)


def _both_sum_up(evidence: Evidence, before: Loop, loop: Loop) -> bool:
    """Returns whether both loops add floats up and write nothing to memory, so that one loop can make both sums.

    A variance comes from running sums of differences, and a sum of exponentials is rescaled when its maximum grows: what the second
    loop knows from the first corrects the sum, and no element. Of an element that is written, this does not hold; nor does it of
    those that a search counts, because they depend on what it found before.
    """
    return all(
        any(site.instruction.name in _ADDING for site in sites)
        and not any(site.kind in _WRITING for site in sites)
        for sites in (evidence.inside(before), evidence.inside(loop))
    )


def _blocks_at_once(evidence: Evidence, warps: int) -> float:
    """Returns how many blocks an SM holds at once, as far as the grid has them; none if that is not recorded."""
    limit, waves = evidence.find("occupancy_limit_pct") or 0.0, evidence.find("waves") or 0.0
    held = evidence.find("warps_of_sm") or Places.warps
    return limit / 100 * held / warps * min(1.0, waves)


def first_addresses(sites: Sequence[Site]) -> dict[Site, int]:
    """Returns the lower half of each access's address the first time, with made-up numbers for what is not in the code.

    What cannot be computed, such as a loaded value, gets a number that nothing else has. All instructions act, as if all predicates
    held and no branch were taken: turns that are peeled off a loop end one by one.
    """
    registers: dict[str, int] = {}
    found: dict[Site, int] = {}
    for site in sites:
        if address := _ADDRESS.search(site.instruction.text):
            register, offset = address.groups()
            if register in registers:
                found[site] = (registers[register] + int(offset or "0", 16)) % _WORD
        written = site.use.written
        values = _results(site.instruction, registers)
        for place, register in enumerate(written):
            known = values is not None and place < len(values)
            registers[register] = (
                values[place] % _WORD if known and values else _made_up(f"{site.position} {place}")
            )
    return found


def _made_up(name: str) -> int:
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=4).digest())


def _results(instruction: Instruction, registers: Mapping[str, int]) -> list[int] | None:
    """Returns the words that an instruction writes; None for an instruction that makes no addresses."""
    name, *modifiers = instruction.opcode.removeprefix("U").split(".")
    operands = [one for one in instruction.operands if not is_predicate(one)][1:]
    if name in ("S2R", "S2UR", "LDC") and not REGISTER.search(operands[0]):
        return [_made_up(operands[0]), _made_up(_word_behind(operands[0]))]
    if name == "CS2R":
        return [0, 0] if operands[0] == "SRZ" else None
    if name == "HFMA2":  # how compilers write a zero for another pipe
        return [0] if operands[-2:] == ["0", "0"] and operands[0].endswith("RZ") else None
    if name not in _COMPUTED or "HI" in modifiers or "X" in modifiers:
        return None
    values = [_value(one, registers) for one in operands]
    if None in values:
        return None
    return _compute(name, modifiers, [one for one in values if one is not None])


def _word_behind(operand: str) -> str:
    """Returns the name of the parameter that a load of 64 bits takes with another one, by which it may be read alone elsewhere."""
    parameter = _PARAMETER.fullmatch(operand)
    return f"{parameter[1]}[{int(parameter[2], 16) + 4:#x}]" if parameter else f"{operand} upper"


def _value(operand: str, registers: Mapping[str, int]) -> int | None:
    sign = -1 if operand.startswith("-") else 1
    operand = (
        operand.lstrip("-").partition(".")[0] if operand.lstrip("-")[:1] in "RU" else operand.lstrip("-")
    )
    if operand in ("RZ", "URZ"):
        return 0
    if REGISTER.fullmatch(operand):
        known = registers.get(operand)
        return None if known is None else sign * known
    if operand.startswith("c["):
        return sign * _made_up(operand)
    try:
        return sign * int(operand, 0)
    except ValueError:
        return None


def _compute(name: str, modifiers: Sequence[str], values: Sequence[int]) -> list[int] | None:
    if name in ("MOV", "R2UR") or (name == "IMAD" and modifiers[:1] == ["MOV"]):
        return [values[-1] if name == "IMAD" else values[0]]
    if name in ("IADD3", "VIADD", "IADD"):
        return [sum(values)]
    if name == "IMAD":
        product = values[0] * values[1] + values[2]
        return [product, product // _WORD] if "WIDE" in modifiers else [product]
    if name == "LEA" and values[2] < _BITS:
        return [(values[0] << values[2]) + values[1]]
    if name == "SHF":
        low = values[0] % _WORD
        return [low << values[1]] if modifiers[:1] == ["L"] and values[1] < _BITS else None
    if name == "LOP3":
        return [_look_up(*values[:4])]
    return None


def _look_up(a: int, b: int, c: int, table: int) -> int:
    """Returns what LOP3 computes: for each bit, the entry of its table that the three bits choose."""
    found = 0
    for index in range(8):
        if table >> index & 1:
            found |= (a if index & 4 else ~a) & (b if index & 2 else ~b) & (c if index & 1 else ~c)
    return found % _WORD
