"""Knows how many instructions the functions of doubles take that the compiler puts in line: divisions, roots, norms, exponentials, logarithms and sines.

An instruction comes in; out goes for how many instructions of a function it stands, and how many these are in single precision. Each
evaluation is known by a few of its instructions: the guess of the special-function unit, which a dozen others refine, and a constant
that it tests or masks with. The sizes were counted in code that nvcc 13.0 compiles for sm_90 (sm_80 and sm_100 have the same, or up to
seven more), without the moves of constants, which loops share, and without the slow path. Atan and cbrt have no such constant. Erf has
only the terms of its polynomial: sm_90 and sm_100 move these, at times once for several evaluations, and sm_80 does not.
"""

from __future__ import annotations

from typing import NamedTuple

from profiler.analyse.code.code import Instruction
from profiler.analyse.code.math_functions.sizes import SCALED_NORM, TESTED_RECIPROCAL, TESTED_ROOT


class _Size(NamedTuple):
    """How many instructions a function has, how many in single precision, and how many may be spared with as many digits."""

    in_line: float
    of_floats: float
    dividing: float = 0


_QUOTIENT, _ROOT = "MUFU.RCP64H", "MUFU.RSQ64H"
_OF_A_RECIPROCAL, _OF_A_RECIPROCAL_ROOT = "0x300402", "0x7fe00000"
_RECIPROCAL_ROOT_OF_FLOATS = 4  # with what scales a denormal number
# Neither a reciprocal root, which is just what is asked for, nor the reciprocal in a logarithm, tanh or erfc is a division to spare.
_OF_A_ROOT = _Size(5, TESTED_ROOT.precise - _RECIPROCAL_ROOT_OF_FLOATS, 17)
_OF_A_LOGARITHM = _Size(41, 24 - TESTED_RECIPROCAL.precise, -11)
_OF_A_SINE = _Size(16, 15)
_SIZES = {
    _QUOTIENT: _Size(11, TESTED_RECIPROCAL.precise, 11),
    "1.469367938527859385e-39": _Size(4, 0, 4),  # a division: 15
    _ROOT: _Size(12, _RECIPROCAL_ROOT_OF_FLOATS),
    "0xfcb00000": _OF_A_ROOT,  # 17
    "-0x3500000": _OF_A_ROOT,
    "0x7fd00000": _Size(21, SCALED_NORM.precise, 33),  # hypot, which takes its power of two from it: 33
    "0x800fffff": _OF_A_LOGARITHM,  # log: 52; log2 and log10 have two more
    "0x7feffffe": _OF_A_LOGARITHM,  # of sm_100
    "4.1917929649353027344": _Size(21, 8),  # exp
    "4.498046875": _Size(22, 4),  # exp2
    "3.8004419803619384766": _Size(23, 8),  # exp10
    "4.1931471824645996094": _Size(37, 27),  # expm1
    "0x40330fc1": _Size(28, 15 - TESTED_RECIPROCAL.precise, -11),  # tanh of 0.55 or more: 39
    "0x403b4000": _Size(62, 47 - 2 * TESTED_RECIPROCAL.precise, -22),  # erfc: 84
    "0x2a1abef8": _Size(51, 29),  # erf: half of a term, as sm_90 and sm_100 move it
    "2.14748364800000000000e+09": _Size(12, 11),  # what reduces the angle of sin, cos, sincos and tan
    "-0.082518599927425384521": _OF_A_SINE,  # sin and cos: 28; sinpi and cospi, too
    "0.11223486810922622681": _OF_A_SINE,  # of sm_100
}
# Without the guesses, which say less: an arctangent and a cube root refine one as well.
_TESTS = frozenset({_OF_A_RECIPROCAL, _OF_A_RECIPROCAL_ROOT, *_SIZES} - {_QUOTIENT, _ROOT})
_NONE = _Size(0, 0)


def is_test(instruction: Instruction) -> bool:
    """Returns whether an instruction has the constant of a function that is known here."""
    return not _TESTS.isdisjoint(instruction.operands)


def size_in_line(instruction: Instruction) -> float:
    """Returns how many instructions of a function in line it stands for; none for most."""
    return _size_of(instruction).in_line


def size_of_division(instruction: Instruction) -> float:
    """Returns how many of them may be spared with as many digits: those of divisions, roots and norms."""
    return _size_of(instruction).dividing


def size_in_single_precision(instruction: Instruction) -> float:
    """Returns how many instructions take the place of the function in single precision."""
    return _size_of(instruction).of_floats


def _size_of(instruction: Instruction) -> _Size:
    return next((_SIZES[one] for one in (instruction.opcode, *instruction.operands) if one in _SIZES), _NONE)
