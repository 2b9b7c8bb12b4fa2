"""Detects what the compiler left in machine code: code that it did not optimise, values for which it found no registers, and operands in one bank."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence

from profiler.analyse.causes.detectors.candidate import CYCLES, FOUR_CHAINS, Candidate
from profiler.analyse.causes.detectors.instructions.integer_overhead import find_spare_addresses
from profiler.analyse.causes.evidence.blocks_of_sm import (
    MOST_REGISTERS,
    find_occupancy_limits,
    shared_of_block,
    shared_of_sm,
)
from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.latency import L1_CYCLES, NOT_SELECTED, Effect
from profiler.analyse.causes.evidence.sites import ACCESSES, Kind, Site
from profiler.analyse.causes.flow.addresses.operations import whole_number
from profiler.analyse.causes.flow.dataflow import address_registers
from profiler.analyse.code.called_functions import find_called
from profiler.analyse.code.code import Instruction
from profiler.analyse.code.opcodes import WORD_BITS, is_move
from profiler.analyse.code.register_banks import ReadCycles, count_read_cycles
from profiler.catalog.causes import UNOPTIMISED
from profiler.text import whole_percent

_STACK = frozenset({"R1"})  # the stack pointer; spilled registers are at constant distances from it
# An optimiser removes what changes nothing. In every kernel of runs/ and tests/data, moves of a register onto itself are 0.2 % of
# the instructions at most, and all but one have none; compiled for debugging, they are a fifth or more.
_MOST_IDLE_MOVES = 0.02
_WITH_MORE_REGISTERS = "Allow more registers a thread ({}), or keep fewer values alive at once."
_WITH_MOST_REGISTERS = "A thread can have no more registers: keep fewer values alive at once, with a smaller tile or with more threads for the same one."
_CONDITION = re.compile(r"\bU?P\d")
_CALLS = ("CALL", "RET")
# Cycles until the result of arithmetic is there (see FOUR_CHAINS). Without optimisation, the recorded kernels wait for 13.7 to 13.9 at each
# instruction, whatever it is.
_LATENCY = 4.0
# Cycles between two instructions of a kind in a scheduler, whatever registers they read.
_RATES: Mapping[Kind, int] = {"fp32": CYCLES["fma"], "integer": CYCLES["alu"]}
_CONSTANT_INDICES = "Index local arrays by constants (unroll the loops around them; a bound that is an argument has to become {})"
_NO_ARRAY = "use each element as it is made, without an array"
_ELSEWHERE = ", or keep the array in shared memory (a table that never changes, also in global memory)"
_TABLE_ELSEWHERE = " (a table that never changes can be one for all threads, in shared or global memory)"
# Then each lane has a bank of its own.
_INTERLEAVED = " with word k of thread t at k * T + t (T is the number of threads of a block): that takes {:,} bytes a block{}."
_FEWER_BLOCKS = ", so that an SM holds {:.0f} of them instead of {:.0f}"
# For so few bytes, three instructions for each word of an array, to compare, choose and add, are faster than a round trip to L1.
_FEW_BYTES = L1_CYCLES / 3 * WORD_BITS / 8
_EACH_OF_FEW = "let each of the few take its value or none ({}, unrolled)"
_LARGE_ARRAY = (
    "Use each element as it is made, without an array, make the arrays no larger than the data needs, or let several threads share the work of one: "
    "a thread reserves {:,} bytes for them."
)

_RECURSION = (
    "Turn the recursion into a loop with a stack of its own, which holds only what is needed later: in shared memory if it is small, or in a few "
    "registers (such as a mask for each level)."
)


def detect_unoptimised(evidence: Evidence) -> Iterable[Candidate]:
    """Names code that moves registers onto themselves. A compiler removes such moves when it optimises.

    The other causes of such code say nothing about the optimised code.
    """
    code = evidence.profile.code
    written = [one for one in code.instructions if one.name != "NOP"] if code else []
    idle = [one for one in written if _changes_nothing(one)]
    if len(idle) <= _MOST_IDLE_MOVES * len(written):
        return
    moves = [site for site in evidence.sites if is_move(site.instruction)]
    share = 100 * len(idle) / len(written)
    moving = sum(map(is_move, written)) / len(written)
    yield Candidate(
        UNOPTIMISED,
        f"{whole_percent(share)} % of the instructions move a register onto itself: the compiler did not optimise this code. What else costs "
        "time in it says little about the same source with optimisation.",
        f"Compile with optimisation and profile again: {evidence.words.optimised}.",
        _optimised(evidence, moves),
        {site: site.executed for site in moves},
        {"idle_moves_pct": share},
        saves=None if moves else moving,  # uncounted, each is taken to run as often as any other
        in_triton="Compile with optimisation and profile again: without `DISABLE_PTXAS_OPT` in the environment.",
    )


def _optimised(evidence: Evidence, moves: Sequence[Site]) -> Effect:
    """Returns the effect of what every optimiser does: it keeps values in place, inlines functions, and computes addresses once.

    Variables whose address is taken, such as those passed by reference, are in local memory until their functions are inlined.
    Blocks of code are put in the order in which they run, and predicates, too, stay in place. Without optimisation, no
    instruction is scheduled: each waits as long as the slowest arithmetic takes. An optimiser lets an instruction wait only for
    the result that it needs, and puts others between them. The code does not show what else it finds to do, so this is rather too
    little.
    """
    kept = tuple(kind for kind in ACCESSES if kind != "local")
    control = evidence.of("control")
    calls = [site for site in control if site.instruction.name in _CALLS]
    jumps = [
        site for site in control if site.opcode == "BRA" and not _CONDITION.search(site.instruction.text)
    ]
    predicates = [site for site in evidence.of("integer") if site.instruction.name == "PLOP3"]
    whole = [*moves, *calls, *jumps, *predicates, *evidence.of("local")]
    gone = find_spare_addresses(evidence, kept) | dict.fromkeys(whole, 1.0)
    fewer = evidence.without(gone)
    latency = min(1.0, _LATENCY / (evidence.find("stall_wait") or _LATENCY))
    waiting = {site: 1 - (1 - gone.get(site, 0.0)) * (1 - FOUR_CHAINS) * latency for site in evidence.sites}
    return Effect(fewer.resources, {**fewer.waits, **evidence.waiting_for(waiting, "wait")})


def _changes_nothing(instruction: Instruction) -> bool:
    """Returns whether an instruction moves a register onto itself: `MOV R7, R7`, or `IMAD.MOV.U32 R7, RZ, RZ, R7`."""
    if not is_move(instruction):
        return False
    operands = instruction.operands
    return len(operands) > 1 and set(operands[1:]) - {"RZ", "URZ"} == {operands[0]}


def detect_spills(evidence: Evidence) -> Iterable[Candidate]:
    """Names loads and stores of local memory, which holds spilled registers or indexed arrays."""
    sites = evidence.of("local")
    if not sites:
        return
    share = 100 * evidence.share_executed(sites)
    registers = evidence.find("registers")
    spilled = has_spills(evidence)
    placed = [site for site in sites if not address_registers(site.instruction) <= _STACK]
    fewer = evidence.without(dict.fromkeys(sites, 1.0))
    # Registers could hold the elements of an array whose places are known: they are not to blame.
    weights = {site: site.executed for site in ([] if spilled else placed) or sites}
    accessed = f"{share:.1f} % of the executed instructions load and store"
    if _are_of_a_recursion(evidence, sites):
        sentence = f"{accessed} local memory, where a function that calls itself keeps what it needs when it comes back."
        advice = _RECURSION
    elif spilled:
        sentence = (
            f"{accessed} local memory{f', with {registers:.0f} registers a thread' if registers else ''}."
        )
        advice = _WITH_MOST_REGISTERS if (registers or 0.0) >= MOST_REGISTERS else _WITH_MORE_REGISTERS
        advice = advice.format(evidence.words.limit_registers_anyhow)
    else:
        sentence = f"An array that is indexed at run time lies in local memory, where spilled registers would lie, too (here are none): {accessed} there."
        advice = _advise_on_arrays(evidence)
    yield Candidate(
        "register-spills",
        sentence,
        advice,
        Effect({**fewer.resources, "dram": evidence.wasted_dram}, fewer.waits),
        weights,
        {"local_instructions_pct": share} | ({"registers": registers} if registers else {}),
    )


def _are_of_a_recursion(evidence: Evidence, sites: Sequence[Site]) -> bool:
    """Returns whether most of these are in functions that call themselves."""
    code = evidence.profile.code
    inside: set[Site] = set()
    for number, own in evidence.by_function.items():
        for called in find_called(code.functions[number]) if code else ():
            if any(call in called.body for call in called.calls):
                offsets = {one.offset for one in called.body}
                inside |= {site for site in own if site.instruction.offset in offsets}
    return 2 * sum(site.executed for site in sites if site in inside) > sum(site.executed for site in sites)


def _advise_on_arrays(evidence: Evidence) -> str:
    """Returns where to keep arrays instead.

    What is too large for registers seldom fits into shared memory: an SM has no more of it than of registers.
    """
    reserved, most = _reserved_bytes(evidence), MOST_REGISTERS * WORD_BITS // 8
    layout = _layout_in_shared_memory(evidence, reserved)
    if reserved > most:
        return _LARGE_ARRAY.format(reserved) + (f" Or keep them in shared memory,{layout}" if layout else "")
    words, in_shared = evidence.words, ""
    if 0 < reserved <= _FEW_BYTES:
        instead = _EACH_OF_FEW.format(words.choose_each)
    else:
        instead = _NO_ARRAY + (_ELSEWHERE if layout or not reserved else _TABLE_ELSEWHERE)
        in_shared = f" In shared memory, keep it{layout}" if layout else ""
    return f"{words.constant_indices or _CONSTANT_INDICES.format(words.known_number)}, so that they fit into registers; where data chooses the element, {instead}.{in_shared}"


def _layout_in_shared_memory(evidence: Evidence, reserved: int) -> str:
    """Returns how the threads of a block keep their arrays in shared memory; "" where it has no room for so many bytes of each."""
    shape = evidence.shape
    size = reserved * shape.threads if shape else 0
    if not shape or not 0 < size <= shared_of_block(evidence) - (shape.shared_bytes or 0):
        return ""
    now = min(find_occupancy_limits(evidence).values(), default=math.inf)
    then = shared_of_sm(evidence) // (size + (evidence.find("shared_bytes") or 0))
    return _INTERLEAVED.format(size, _FEWER_BLOCKS.format(then, now) if then < now < math.inf else "")


def _reserved_bytes(evidence: Evidence) -> int:
    """Returns the bytes of local memory that a thread reserves where the kernel begins: `IADD3 R1, R1, -0x80, RZ`, or `VIADD R1, R1, 0xffffff80`."""
    moved_up = (
        whole_number(operand) or 0
        for site in evidence.sites
        if _STACK.issubset(site.use.written) and _STACK.issubset(site.use.inputs)
        for operand in site.instruction.operands[2:]
    )
    # A called function moves the pointer up again at its end.
    return -min([0, *moved_up])


def has_spills(evidence: Evidence) -> bool:
    """Returns whether local memory holds spilled registers, and not an array alone."""
    sites, spilled = evidence.of("local"), evidence.find("local_spill_inst")
    if spilled is None:
        spilled = float(all(address_registers(site.instruction) <= _STACK for site in sites))
    return bool(sites) and spilled > 0


def detect_register_banks(evidence: Evidence) -> Iterable[Candidate]:
    """Names arithmetic that the dispatcher holds back because it reads registers of one bank while the other one idles."""
    waiting = 100 * evidence.model.life_share("dispatch")
    cycles = _read_cycles(evidence) if waiting else {}
    executed = sum(site.executed for site in cycles)
    held = sum((one.taken - 1) * site.executed for site, one in cycles.items())
    spare = {
        site: (max(one.taken, rate) - max(one.fewest, rate)) * site.executed
        for site, one in cycles.items()
        if (rate := _RATES[site.kind]) < one.taken
    }
    if any(spare.values()):
        taken = 1 + held / executed
        fewest = taken - sum(spare.values()) / executed
        yield Candidate(
            "register-bank-conflicts",
            f"Arithmetic takes {taken:.2f} cycles an instruction to read its registers; {fewest:.2f} would do if they lay evenly in the two banks. "
            f"Warps spend {whole_percent(waiting)} % of their time held back at dispatch.",
            "Order the products so that consecutive ones share an operand, or change the tile of a thread, which gets other registers then.",
            # Others that are ready wait until the dispatcher is free again.
            Effect(
                waits={
                    "dispatch": (taken - fewest) / (taken - 1) * _held_by_banks(evidence, held),
                    NOT_SELECTED: sum(spare.values()) / (evidence.executed + held),
                }
            ),
            spare,
            {"read_cycles": taken, "fewest_read_cycles": fewest, "waiting_pct": waiting},
        )


def _held_by_banks(evidence: Evidence, held: float) -> float:
    """Returns the part of the waiting at dispatch that is for registers; the rest has other reasons.

    While the dispatcher reads for longer, no warp of its scheduler can issue: in the kernels of register_banks.py in
    tests/data/causes, warps wait at dispatch for 0.96 to 0.99 times these cycles, times the warps of a scheduler.
    """
    waited = (evidence.find("stall_dispatch") or 0.0) * evidence.executed
    warps = evidence.find("active_warps") or 0.0
    return min(1.0, held * warps / waited) if waited and warps else 1.0


def _read_cycles(evidence: Evidence) -> dict[Site, ReadCycles]:
    """Returns the cycles in which single-precision and integer instructions read their registers; others read pairs and vectors."""
    code = evidence.profile.code
    counted = (
        {one: list(count_read_cycles(code.functions[one])) for one in evidence.by_function} if code else {}
    )
    return {
        site: counted[site.function][site.position]
        for site in evidence.of(*_RATES)
        if ".WIDE" not in site.opcode and ".64" not in site.opcode
    }
