"""Knows the functions of single precision whose arguments answer a comparison of their values.

An instruction in; the function that it is a mark of out. Larger arguments of a monotone function have larger values, or smaller ones.
Angles of atan2 are compared by cross products. Terms and counts are those of CUDA 13.0 for sm_80, 90 and 100.
"""

from __future__ import annotations

from dataclasses import dataclass

from profiler.analyse.code.code import Instruction
from profiler.analyse.code.math_functions.sizes import NONE, Size, find_by_term


@dataclass(frozen=True)
class ComparedFunction:
    """A function that a comparison can do without. `size` is that of what has a fast form: all, none, or a part of it.

    Behind its mark, as many instructions of its own as it `joins` compute with another value, such as the reduced argument. Where
    there are more, the kernel computes with its result.
    """

    joins: int
    size: Size = NONE


# Each is known by one term of its polynomial, to seven digits.
_BY_TERM = {
    0.07498904: ComparedFunction(3),  # acos
    0.07482301: ComparedFunction(4),  # asin
    0.1998878: ComparedFunction(4),  # atan
    0.07479298: ComparedFunction(9, Size(10, 5, 1)),  # atan2, which divides
    0.1408461: ComparedFunction(11, Size(24, 5, 1)),  # log and log10
    0.1684539: ComparedFunction(13, Size(27, 4, 1)),  # log2
    1.925963e-08: ComparedFunction(1, Size(8, 5, 1)),  # exp
}


def compared_function(instruction: Instruction) -> ComparedFunction | None:
    """Returns the function that an instruction is a mark of, for one instruction of each evaluation."""
    return find_by_term(_BY_TERM, instruction.text) if instruction.name == "FFMA" else None
