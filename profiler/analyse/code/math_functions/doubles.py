"""Knows how many instructions the functions of doubles take that the compiler puts in line: divisions, roots, norms, exponentials and logarithms.

An instruction in; how many of a function it stands for out, and how many in single precision. Each evaluation is known by a few of its
instructions: the guess of the special-function unit, which a dozen others refine, and a constant that it tests or masks with. The sizes
were counted in code that nvcc 13.0 compiles for sm_90 (sm_80 has the same), without the moves of constants, which loops share.
"""

from __future__ import annotations

from profiler.analyse.code.code import Instruction
from profiler.analyse.code.math_functions.sizes import SCALED_NORM, TESTED_RECIPROCAL, TESTED_ROOT

_QUOTIENT, _ROOT = "MUFU.RCP64H", "MUFU.RSQ64H"
_RECIPROCAL_ROOT_OF_FLOATS = 4  # with what scales a denormal number
_OF_A_RECIPROCAL, _OF_A_RECIPROCAL_ROOT = "0x300402", "0x7fe00000"
_OF_A_DIVISION = "1.469367938527859385e-39"
_OF_A_ROOT = ("0xfcb00000", "-0x3500000")
_OF_A_NORM = "0x7fd00000"  # from which hypot takes the power of two by which it scales its numbers
_OF_A_LOGARITHM, _OF_AN_EXPONENTIAL = "0x800fffff", "4.1917929649353027344"
# A division has 15 instructions, of which its reciprocal has 11; a root 17 and a norm 33, of which the reciprocal of a root has 12; a
# logarithm 43, of which a reciprocal has 11.
_EVALUATING = {
    _QUOTIENT: 11, _OF_A_DIVISION: 4, _ROOT: 12, **dict.fromkeys(_OF_A_ROOT, 5), _OF_A_NORM: 21, _OF_A_LOGARITHM: 32, _OF_AN_EXPONENTIAL: 23,
}  # fmt: skip
# The reciprocal of a root is no more than what is asked for, and that in a logarithm divides nothing.
_DIVIDING = {
    _QUOTIENT: 11,
    _OF_A_DIVISION: 4,
    **dict.fromkeys(_OF_A_ROOT, 17),
    _OF_A_NORM: 33,
    _OF_A_LOGARITHM: -11,
}
_OF_FLOATS = {
    _QUOTIENT: TESTED_RECIPROCAL.precise, _ROOT: _RECIPROCAL_ROOT_OF_FLOATS,
    **dict.fromkeys(_OF_A_ROOT, TESTED_ROOT.precise - _RECIPROCAL_ROOT_OF_FLOATS), _OF_A_NORM: SCALED_NORM.precise,
    _OF_A_LOGARITHM: 24 - TESTED_RECIPROCAL.precise, _OF_AN_EXPONENTIAL: 8,
}  # fmt: skip
# The guesses say less than these: tanh, an arctangent and a cube root refine one as well, and the logarithms of sm_100.
_TESTS = frozenset({_OF_A_RECIPROCAL, _OF_A_RECIPROCAL_ROOT, *_EVALUATING} - {_QUOTIENT, _ROOT})


def is_test(instruction: Instruction) -> bool:
    """Returns whether an instruction has the constant of a function that is known here."""
    return not _TESTS.isdisjoint(instruction.operands)


def size_in_line(instruction: Instruction) -> float:
    """Returns how many instructions of a function in line it stands for; none for most."""
    return _find(_EVALUATING, instruction)


def size_of_division(instruction: Instruction) -> float:
    """Returns the same of what may be spared with as many digits: divisions, roots and norms."""
    return _find(_DIVIDING, instruction)


def size_in_single_precision(instruction: Instruction) -> float:
    """Returns how many instructions take the place of the function in single precision."""
    return _find(_OF_FLOATS, instruction)


def _find(sizes: dict[str, int] | dict[str, float], instruction: Instruction) -> float:
    return next((sizes[one] for one in (instruction.opcode, *instruction.operands) if one in sizes), 0.0)
