"""Reads machine code as evidence: what kind of instruction an opcode is, and what was executed, by opcode and by access width."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from profiler.analyse.code.code import BRANCHES, KEPT, Instruction
from profiler.analyse.findings import Opcode
from profiler.catalog.metrics import LANES, FromOpcodes

# Jumps to an address in a register, or in a uniform one: a switch looks it up in a table.
JUMPS_BY_REGISTER = ("BRX", "BRXU", "JMX", "JMXU")
# Instructions that lead elsewhere, or say where lanes that went apart meet again. None writes a register, and their addresses are of code.
JUMPS = frozenset(
    (*BRANCHES, *JUMPS_BY_REGISTER, "CALL", "RET", "BSSY", "SSY", "PBK", "BREAK", "WARPSYNC", "YIELD")
)
# What does the same as another opcode at another width or by another route.
_FAMILIES = {"LDSM": "LDS", "LDGSTS": "LDG", "LD": "LDG", "ST": "STG", "STSM": "STS", "LDCU": "LDC"}
# What adds integers of 32 bits, or of 64: which of these a compiler takes depends on the GPU. A product by one that adds is `IMAD.IADD`.
SUMS = ("IADD", "IADD3", "UIADD3", "VIADD", "UVIADD")
SUM_BY_PRODUCT = "IMAD.IADD"
MOVES = ("MOV", "UMOV")
# What reads constant memory: parameters, sizes of the launch, and tables. Before Blackwell, ULDC reads one value for the warp, and since then LDCU.
LOADS_OF_CONSTANTS_OF_WARP = ("ULDC", "LDCU")
LOADS_OF_CONSTANTS = ("LDC", *LOADS_OF_CONSTANTS_OF_WARP)
_WORD_OF_CONSTANTS = re.compile(r"(c\[\w+\])\[(0x[0-9a-f]+|RZ)\]")
_MULTIPLY_ADDS = "FFMA"  # the family of all of them, also of those that tensor cores make

_MEMORY = re.compile(r"(LD[GLS]?|LDCU?|LDGSTS|ST[GLS]?|STAS|ATOM[GS]?|RED(G|AS)?|SULD|SUST)(\.|$)")
_MATRIX = re.compile(r"(LDSM|STSM)\.16\.MT?88(?:\.([24]))?$")
_CONVERSIONS = "conversions"
_KINDS = {
    "moves": re.compile(r"U?(MOV|IMAD\.MOV|LDC|P2R|R2P|S2R|CS2R)(\.|$)|(R2UR|S2UR|UP2UR|UR2UP)(\.|$)"),
    "comparisons and selects": re.compile(r"U?(ISETP|SEL|PLOP3|IMNMX|VIMNMX|VIADDMNMX)(\.|$)|VOTEU(\.|$)"),
    "branches": re.compile(r"(BRA|EXIT|RET|CALL|BSSY|BSYNC|NOP|ELECT)(\.|$)"),
    "address and integer arithmetic": re.compile(
        r"U?(IADD3?|IMAD|IMUL|VIADD|IABS|LEA|LOP3|SHF|SHL|SHR|BMSK|SGXT|PRMT)(\.|$)"
    ),
    _CONVERSIONS: re.compile(r"U?([FI]2[FI]P?|FRND)(\.|$)"),
}
_TENSOR = re.compile(r"[A-Z]*MMA\.(?:\w+\.)*?(?:(\d+)x(\d+)x(\d+)|(16|8)(8)(\d+))\b")
SCALAR_FMAS = {"FFMA": 1, "DFMA": 1, "FFMA2": 2, "HFMA2": 2}
_WARPS_OF_A_GROUP = 4
WORD_BITS = 32
INSTRUCTION_BYTES = 16
# Bits of one value that tensor cores multiply, where the opcode names no halves.
_OF_A_VALUE = (
    (re.compile(r"DMMA"), 64),
    (re.compile(r".*TF32"), 32),
    (re.compile(r"Q|.*\.([SU]8|E4M3|E5M2)"), 8),
    (re.compile(r".*\.[SU]4"), 4),
    (re.compile(r"B"), 1),
)
_OF_A_HALF = 16
_WIDTH = re.compile(r"\.[USF]?(8|16|32|64|128|256)(?![0-9x])")


@lru_cache(maxsize=1024)
def width_bits(opcode: str) -> int | None:
    """Returns the width of one thread's memory access: 128 for LDS.128, 32 for LDS; None otherwise."""
    if matrix := _MATRIX.match(opcode):  # each 8 x 8 matrix gives a thread one register
        return 32 * int(matrix.group(2) or 1)
    if not _MEMORY.match(opcode):
        return None
    widths = _WIDTH.findall(opcode)
    return int(widths[-1]) if widths else 32


def overhead_kind(opcode: str) -> str | None:
    """Returns which kind of overhead an opcode is, such as `moves`; None for loads, stores, arithmetic and barriers."""
    return next((kind for kind, pattern in _KINDS.items() if pattern.match(opcode)), None)


def is_plumbing(opcode: str) -> bool:
    """Returns whether an opcode is for addresses, loop counters, moves or branches: the cost of a loop, not its purpose."""
    return overhead_kind(opcode) not in (None, _CONVERSIONS)


def fmas_of(instruction: Instruction) -> float:
    """Returns the multiply-adds of one thread; none for the multiplications by zero that compilers use as moves.

    The work of a matrix instruction is divided among the threads of its warp, or of the four warps that execute it together.
    """
    return _fmas_in(instruction.opcode, instruction.text)


def is_matrix(opcode: str) -> bool:
    """Returns whether tensor cores execute it, whatever they multiply: HMMA, IMMA, DMMA, HGMMA, QGMMA, UTCHMMA and others."""
    return "MMA" in opcode.partition(".")[0]


def is_of_group(opcode: str) -> bool:
    """Returns whether four warps execute it together (`wgmma`)."""
    return opcode.partition(".")[0].endswith("GMMA")


def family_of(opcode: str) -> str:
    """Returns one name for all opcodes that do the same job."""
    name = opcode.partition(".")[0]
    if name in SCALAR_FMAS or is_matrix(opcode):
        return _MULTIPLY_ADDS
    return _FAMILIES.get(name, name)


def is_move(instruction: Instruction) -> bool:
    return instruction.name in MOVES or instruction.opcode.startswith("IMAD.MOV")


def is_sum(instruction: Instruction) -> bool:
    """Returns whether an instruction adds integers, and neither multiplies nor shifts them first."""
    return instruction.name in SUMS or instruction.opcode.startswith(SUM_BY_PRODUCT)


class LaunchSizes(NamedTuple):
    """The words of constant memory that hold the size of a block in threads (`blockDim`), and that of the grid in blocks (`gridDim`)."""

    block: tuple[str, str, str]
    grid: tuple[str, str, str]


# As nvcc 13.0 compiles them from sm_75 to sm_90, and from sm_100 to sm_121. Where those lie, these have their parameters.
_SIZES = LaunchSizes(
    ("c[0x0][0x0]", "c[0x0][0x4]", "c[0x0][0x8]"), ("c[0x0][0xc]", "c[0x0][0x10]", "c[0x0][0x14]")
)
_SIZES_SINCE_BLACKWELL = LaunchSizes(
    ("c[0x0][0x360]", "c[0x0][0x364]", "c[0x0][0x368]"), ("c[0x0][0x370]", "c[0x0][0x374]", "c[0x0][0x378]")
)
_BLACKWELL = 10.0


def launch_sizes(compute_capability: str | None) -> LaunchSizes:
    """Returns where a GPU's constant memory holds the sizes of the launch; as before Blackwell where the GPU is not known."""
    is_new = compute_capability is not None and float(compute_capability) >= _BLACKWELL
    return _SIZES_SINCE_BLACKWELL if is_new else _SIZES


def word_of_constants(operand: str, place: int = 0) -> str | None:
    """Returns the name of the 32-bit word so many `place`s behind the one that an operand names; None if a register says where it lies."""
    found = _WORD_OF_CONSTANTS.fullmatch(operand)
    if found is None:
        return None
    start = 0 if found[2] == "RZ" else int(found[2], 16)
    return f"{found[1]}[{start + WORD_BITS // 8 * place:#x}]"


@lru_cache(maxsize=KEPT)
def _fmas_in(opcode: str, text: str) -> float:
    instruction = Instruction(0, opcode, text)
    if is_matrix(opcode) and (product := tensor_product(opcode)):
        return product.multiply_adds / LANES
    fmas = SCALAR_FMAS.get(instruction.name, 0)
    if not fmas or instruction.never_acts:
        return 0.0
    factors = [operand.lstrip("-|") for operand in instruction.operands[1:3]]
    return 0.0 if any(factor.startswith("RZ") for factor in factors) else float(fmas)


class TensorProduct(NamedTuple):
    """The shape of what tensor cores multiply by one instruction, and the `warps` that execute it together."""

    rows: int
    columns: int
    depth: int
    warps: int

    @property
    def multiply_adds(self) -> float:
        """Returns the multiply-adds of one execution by one warp."""
        return self.rows * self.columns * self.depth / self.warps


@lru_cache(maxsize=1024)
def tensor_product(opcode: str) -> TensorProduct | None:
    """Returns what a matrix instruction computes; None for others, and where the opcode does not say it."""
    matrix = _TENSOR.match(opcode)
    if matrix is None:
        return None
    rows, columns, depth = (int(size) for size in matrix.groups() if size)
    return TensorProduct(rows, columns, depth, _WARPS_OF_A_GROUP if is_of_group(opcode) else 1)


def factor_bits(opcode: str) -> int:
    """Returns the size of one value that tensor cores multiply."""
    return next((bits for pattern, bits in _OF_A_VALUE if pattern.match(opcode)), _OF_A_HALF)


@lru_cache(maxsize=1024)
def words_of_product(opcode: str) -> tuple[int, int, int, int] | None:
    """Returns how many registers of a thread a matrix instruction takes for its result, its two factors and its sum; None for others.

    Where four warps multiply together, their factors may lie in shared memory, where no register holds them.
    """
    product = tensor_product(opcode)
    if product is None:
        return None
    rows, columns, depth, warps = product
    bits, of_result = factor_bits(opcode), WORD_BITS
    if opcode.endswith(".F16"):
        of_result = _OF_A_HALF
    elif bits > WORD_BITS:
        of_result = bits
    sizes = ((rows * columns, of_result), (rows * depth, bits), (columns * depth, bits))
    result, left, right = (max(1, count * each // (WORD_BITS * LANES * warps)) for count, each in sizes)
    return result, left, right, result


def derive_from_opcodes(how: FromOpcodes, executed: Mapping[str, float]) -> float | None:
    """Derives a metric from warp instructions by opcode; None for the mean width where none of them was executed."""
    calls = tuple(f"{opcode}." for opcode in how.opcodes)
    meant = {opcode: count for opcode, count in executed.items() if f"{opcode}.".startswith(calls)}
    total = sum(meant.values(), 0.0)
    if how.what == "count":
        return total
    if how.what == "share":
        return 100.0 * total / sum(executed.values())
    bits = sum((width_bits(opcode) or 0) * count for opcode, count in meant.items())
    return bits / total if total else None


def compare_opcodes(before: Mapping[str, float], after: Mapping[str, float]) -> list[Opcode]:
    """Lists every opcode that either side executed, the largest change first; none where a side did not record them.

    Behind an opcode that went or came stands the one that does its job on the other side, however few instructions that takes:
    one instruction of tensor cores may do the work of many.
    """
    if not (before and after):
        return []
    counts = ((name, before.get(name, 0.0), after.get(name, 0.0)) for name in {**before, **after})
    found = [Opcode(*one, width_bits(one[0])) for one in counts]
    found.sort(key=lambda one: (-abs(_change(one)), -(one.before + one.after), one.opcode))
    in_order: dict[Opcode, None] = {}
    for one in found:
        in_order.setdefault(one)
        if (replacement := next((other for other in found if _replaces(other, one)), None)) is not None:
            in_order.setdefault(replacement)
    return list(in_order)


def _change(opcode: Opcode) -> float:
    return opcode.after - opcode.before


def _replaces(other: Opcode, one: Opcode) -> bool:
    """Returns whether one of two opcodes with the same job came or went, while the other's count moved the other way."""
    if _change(one) * _change(other) >= 0 or is_plumbing(one.opcode):
        return False
    return family_of(one.opcode) == family_of(other.opcode) and 0 in (
        one.before,
        one.after,
        other.before,
        other.after,
    )
