"""Knows the functions of single precision that have no fast form: `-use_fast_math` leaves them as they are.

An instruction in; the function out of whose polynomial it is. Terms and sizes are those of CUDA 13.0 for sm_80, 90 and 100.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from profiler.analyse.code.code import Instruction, operands_of


@dataclass(frozen=True)
class LastingFunction:
    """`instructions` of it run each time, where it has no branches. `signs` of them are also those of a function with a fast form.

    Such signs are an exponential, a logarithm or a precise reciprocal within it.
    """

    name: str
    instructions: int | None
    signs: int = 0


# By one term of the polynomial, or of each branch's. The division in atan2 has a fast form, and is counted apart.
_BY_TERM = {
    "0.0748230": LastingFunction("asin", 24),
    "0.0749890": LastingFunction("acos", 25),
    "0.1998877": LastingFunction("atan", 18),
    "0.0747929": LastingFunction("atan2", 40),
    "0.1128400": LastingFunction("erf", 29, 1),
    "0.0070457": LastingFunction("erfc", 47, 4),  # erfcx and normcdf, too
    "9.4274286": LastingFunction("erfinv", None),  # erfcinv and normcdfinv, too
    "0.6630042": LastingFunction("erfinv", None),
    "60.325786": LastingFunction("erfinv", None),
    "0.9189385": LastingFunction("lgamma", None),
    "259.25097": LastingFunction("lgamma", None),
    "0.0002208": LastingFunction("lgamma", None),
    "0.1037396": LastingFunction("lgamma", None),
    "0.0054712": LastingFunction("lgamma", None),
    "0.0009921": LastingFunction("tgamma", None),
    "0.0071110": LastingFunction("tgamma", None),
}
_TAKES_TERMS = frozenset({"FFMA", "FADD", "FSEL"})
_LENGTH = 9  # of a term as written here


def lasting_function(instruction: Instruction) -> LastingFunction | None:
    """Returns the function without a fast form that an instruction belongs to, for one instruction of each evaluation."""
    return _found_in(instruction.text) if instruction.name in _TAKES_TERMS else None


@lru_cache(maxsize=16_384)
def _found_in(text: str) -> LastingFunction | None:
    found = (_BY_TERM.get(operand.lstrip("-")[:_LENGTH]) for operand in operands_of(text))
    return next(filter(None, found), None)
