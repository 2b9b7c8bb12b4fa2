"""Knows the functions of single precision that have no fast form: `-use_fast_math` leaves them as they are.

An instruction comes in; out goes the function whose polynomial it is part of. Terms and sizes are of CUDA 13.0 for sm_80, 90 and 100.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from profiler.analyse.code.code import Instruction
from profiler.analyse.code.math_functions.sizes import NONE, Size, find_by_term


@dataclass(frozen=True)
class LastingFunction:
    """A function without a fast form. A `formula` can replace it if it has one; otherwise only a shorter polynomial can.

    Each evaluation runs `instructions`, or an unknown number of them (None) if its branches decide. On the way it may compute an
    exponential or a precise reciprocal, which look like functions with a fast form: `inner` is their size.
    """

    name: str
    instructions: int | None = None
    inner: Size = NONE
    formula: str = ""


# Each is known by one term of its polynomial, or of each branch's, to seven digits. The division in atan2 has a fast form, and is
# counted apart.
_BY_TERM = {
    0.07482301: LastingFunction("asin", 24),
    0.07498904: LastingFunction("acos", 25),
    0.1998878: LastingFunction("atan", 18),
    0.07479298: LastingFunction("atan2", 40),
    0.11284: LastingFunction("erf", 29, Size(4, 4)),
    0.007045788: LastingFunction("erfc", 47, Size(15, 12)),  # erfcx and normcdf, too
    9.427429e-09: LastingFunction("erfinv"),  # erfcinv and normcdfinv, too
    0.6630042: LastingFunction("erfinv"),
    60.32579: LastingFunction("erfinv"),
    0.002777655: LastingFunction("lgamma"),
    259.251: LastingFunction("lgamma"),
    0.0002208948: LastingFunction("lgamma"),
    0.1037397: LastingFunction("lgamma"),
    0.005471285: LastingFunction("lgamma"),
    0.0009921414: LastingFunction("tgamma"),
    0.007111053: LastingFunction("tgamma"),
    0.00833335: LastingFunction("sinh", formula="(exp(x) - exp(-x)) / 2"),
    0.008382413: LastingFunction("expm1", formula="exp(x) - 1"),
    0.1449145: LastingFunction("log1p", formula="log(1 + x)"),  # asinh, acosh and atanh, too
    4.934802: LastingFunction("sinpi", formula="sin(pi * (x - 2 * rint(x / 2)))"),  # cospi and sincospi, too
}
_TAKES_TERMS = frozenset({"FFMA", "FADD", "FSEL"})
# A remainder first asks whether the quotient has at most 23 bits, by a multiple of the divisor's absolute value.
_OF_A_REMAINDER = re.compile(r"\|(?:\.reuse)?, 8388608$")
_REMAINDER = LastingFunction("fmod", formula="x - y * trunc(x / y)")


def lasting_function(instruction: Instruction) -> LastingFunction | None:
    """Returns the function without a fast form that an instruction belongs to, for one instruction of each evaluation."""
    if is_of_remainder(instruction):
        return _REMAINDER
    return find_by_term(_BY_TERM, instruction.text) if instruction.name in _TAKES_TERMS else None


def is_of_remainder(instruction: Instruction) -> bool:
    return instruction.name == "FMUL" and _OF_A_REMAINDER.search(instruction.text) is not None
