"""Says in which precision a kernel computes, and how much, by its executed opcodes.

Counts by opcode in; a name such as `fp32`, `bf16` or `int8` out.
"""

from __future__ import annotations

from collections.abc import Mapping

from profiler.analyse.code.code import Instruction
from profiler.analyse.code.opcodes import fmas_of, is_matrix
from profiler.catalog.metrics import LANES

# Operations of one instruction of a warp. A tensor instruction that does not name its shape does at least the
# work of the smallest (HMMA.1688); packed pairs make two operations for each lane and half, and all others two
# for each lane.
_TENSOR_WORK, _PACKED_WORK, _SCALAR_WORK = 2048, 128, 64
# The modifiers that name the type of what is multiplied.
_TENSOR_INPUTS = {
    "BF16": "bf16", "TF32": "tf32", "E4M3": "fp8", "E5M2": "fp8", "S8": "int8", "U8": "int8",
}  # fmt: skip
# Halves are named only where they are summed up. UTCHMMA and UTCQMMA take their types from a register.
_UNNAMED_INPUTS = {"HMMA": "fp16", "HGMMA": "fp16", "UTCIMMA": "int8"}
_SCALAR = {
    **dict.fromkeys(("FFMA", "FADD", "FMUL", "FFMA2", "FADD2", "FMUL2"), "fp32"),
    **dict.fromkeys(("HFMA2", "HADD2", "HMUL2"), "fp16"),
    **dict.fromkeys(("DFMA", "DADD", "DMUL"), "fp64"),
}
_WIDENED = "HADD2.F32"  # a half made a float: nothing is computed
_MOVES = "HFMA2"  # it also moves constants into registers, in kernels without halves
# Tensor cores leave sums to other units. So an arithmetic that makes up more than this part of a side is one of its own, too.
_MUCH = 1 / 3
_AS_MUCH = 1.1  # tiles that reach beyond the edge, and sums at the end, differ


def find_arithmetic(opcodes: Mapping[str, float]) -> str:
    """Returns the arithmetic of most of these executed operations; empty if there are none, or their opcodes do not say."""
    return _most(_work(opcodes))


def find_unlike_arithmetic(before: Mapping[str, float], after: Mapping[str, float]) -> tuple[str, str] | None:
    """Returns the arithmetic of each side if neither does much of the other's main one; None if they are similar or unknown."""
    sides = _work(before), _work(after)
    one, other = map(_most, sides)
    if not one or not other or _share(sides[0], other) > _MUCH or _share(sides[1], one) > _MUCH:
        return None
    return one, other


def is_as_much_arithmetic(before: Mapping[str, float], after: Mapping[str, float]) -> bool:
    """Returns whether both sides compute about as many operations, whatever grid does it; False where that is not known."""
    one, other = (sum(_work(side).values()) for side in (before, after))
    return 0 < max(one, other) <= _AS_MUCH * min(one, other)


def _work(opcodes: Mapping[str, float]) -> dict[str, float]:
    """Counts operations by their arithmetic; under an empty name if the opcode does not say it."""
    work: dict[str, float] = {}
    for opcode, count in opcodes.items():
        kind, operations = _operations(opcode)
        if kind is not None and count > 0:
            work[kind] = work.get(kind, 0.0) + count * operations
    if "fp32" in work and not _has_halves(opcodes):
        work.pop("fp16", None)
    return work


def _has_halves(opcodes: Mapping[str, float]) -> bool:
    """Returns whether halves are computed with, rather than only moved as constants."""
    names = (opcode.partition(".")[0] for opcode, count in opcodes.items() if count > 0)
    return any(name.startswith("H") and name != _MOVES for name in names)


def _most(work: Mapping[str, float]) -> str:
    return max(work, key=work.__getitem__, default="")


def _share(work: Mapping[str, float], kind: str) -> float:
    return work.get(kind, 0.0) / sum(work.values())


def _operations(opcode: str) -> tuple[str | None, float]:
    """Returns the arithmetic of an opcode: None if it computes nothing, empty if the opcode does not say it."""
    name, *modifiers = opcode.split(".")
    if opcode == _WIDENED:
        return None, 0
    if name == "DMMA":
        return "fp64", _TENSOR_WORK
    if is_matrix(opcode):
        inputs = (_TENSOR_INPUTS[modifier] for modifier in modifiers if modifier in _TENSOR_INPUTS)
        return next(inputs, _UNNAMED_INPUTS.get(name, "")), _tensor_work(opcode)
    kind = "bf16" if name in _SCALAR and "BF16_V2" in modifiers else _SCALAR.get(name)
    return kind, _PACKED_WORK if name.endswith("2") else _SCALAR_WORK


def _tensor_work(opcode: str) -> float:
    """Returns the operations of one warp for the shape that the opcode names."""
    return 2 * LANES * fmas_of(Instruction(0, opcode, "")) or _TENSOR_WORK
