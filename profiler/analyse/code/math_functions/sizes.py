"""Knows how many instructions the functions of single precision take, and their fast forms.

An instruction in; what it stands for out. Each evaluation is known by a few of its instructions: its unit, a test for the slow path,
and the terms by which it reduces its argument. Their sizes add up to those of the function.

The sizes were counted in code that nvcc 13.0 compiles for sm_90 (sm_80 and sm_100 have the same), without the moves of constants,
which loops share, and without the slow path. Each fast form is the intrinsic of CUDA C++, which keeps denormal numbers;
`-use_fast_math` drops these, too, and takes two to four instructions less.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeVar

from profiler.analyse.code.code import KEPT, Instruction, parse_text


@dataclass(frozen=True)
class Size:
    """The number of instructions of a function, and of its fast form, of which `special` run on the special-function unit.

    `form` is the intrinsic of the fast form, if there is one. A function of another base takes one more product.
    """

    precise: float
    fast: float
    special: float = 0
    form: str = ""

    def __add__(self, other: Size) -> Size:
        return Size(self.precise + other.precise, self.fast + other.fast, self.special + other.special)

    def __mul__(self, times: float) -> Size:
        return Size(self.precise * times, self.fast * times, self.special * times)


NONE = Size(0, 0)
FAST_DIVISION, FAST_POWER, FAST_ROOT = "__fdividef", "__powf", "rsqrtf"
FAST_SINE, FAST_TANGENT, FAST_EXPONENTIAL, FAST_LOGARITHM = "__sinf", "__tanf", "__expf", "__logf"
FAST_SINE_AND_COSINE = "__sincosf"
_Found = TypeVar("_Found")
# An exponential scales its argument. If the result is denormal, it halves the argument and squares the result: FMUL, FSETP, FMUL, MUFU, FMUL.
# One of these five is for 1.442695 (log2(e)), and exp2f lacks it. A logarithm is as long.
_BY_UNIT = {
    "MUFU.EX2": Size(4, 4, 1),
    "MUFU.LG2": Size(4, 4, 1),
    "MUFU.SIN": Size(2, 2, 1),
    "MUFU.COS": Size(2, 2, 1),
    "MUFU.TANH": Size(1, 1, 1),
    "MUFU.SQRT": Size(4, 4, 1),
    "FCHK": Size(10, 5, 1, FAST_DIVISION),  # a division; __fdividef scales a large divisor and the quotient
}
# A precise reciprocal or root first tests for arguments whose guess cannot be refined, by adding one of these to their bits. With
# the test, the branch around the slow path, the guess and its refinement, it takes ten instructions.
_OF_A_RECIPROCAL = "0x1800000"
_OF_A_ROOT = frozenset({"-0xd000000", "0xf3000000"})
TESTED_RECIPROCAL, TESTED_ROOT = Size(10, 5, 1, FAST_DIVISION), Size(10, 4, 1, FAST_ROOT)
# A norm scales its numbers by a power of two before it squares them, lest a square overflows, and scales the root back: 13 instructions
# in hypotf, and 16 in norm3df. If the squares are not scaled, it is a root.
_OF_A_NORM = "0x7e800000"
SCALED_NORM = Size(13, 0)
_BY_TERM = {
    1.442695: Size(1, 1),
    0.6931472: Size(1, 1),
    1.925963e-08: Size(3, 0, form=FAST_EXPONENTIAL),  # expf: 8 and 5
    7.059537e-08: Size(4, 1, form=FAST_EXPONENTIAL),  # exp10f: 8 and 5
    0.1408461: Size(23, 4, 1, FAST_LOGARITHM),  # logf and log10f: 24 and 5
    0.1684539: Size(26, 3, 1, FAST_LOGARITHM),  # log2f: 27 and 4
    # The logarithm in powf, which has 1.442695 three times: 35 and 4.
    1.925137e-08: Size(32, 1, 1, FAST_POWER),
    0.001339135: Size(33, 4, 1),  # the rest of powf, which has 0.693147 once: 34 and 5
    0.01249299: Size(68, 4, 1, FAST_POWER),  # powf of Triton's library, which has 1.442695 and MUFU.EX2 once
    0.6366197: Size(26, 2, 1, FAST_SINE),  # sinf and cosf
    0.008332703: Size(4, 2, 1, FAST_SINE_AND_COSINE),  # sincosf, which reduces its angle once: 30 and 4
    0.02429199: Size(-2, 6, 2, FAST_TANGENT),  # tanf, whose polynomial is shorter: 24 and 8
    0.133153: Size(11, -3),  # tanhf: 15 and 1
    1.904654e-09: Size(8, 5, 1),  # coshf: 15, and 12 for (exp(x) + exp(-x)) / 2
    0.00833335: Size(8, 0),  # sinhf: 23 and 12
    0.008382413: Size(22, 1),  # expm1f: 27, and 6 for exp(x) - 1
    0.1449145: Size(23, 5, 1),  # log1pf: 24, and 6 for log(1 + x)
}
# Where the compiler does not know the exponent, powf also tests whether it is zero, odd, infinite or no number: 77 instructions instead of
# 69. It rounds half of the exponent towards zero, once for each evaluation.
OF_ANY_EXPONENT = Size(8, 0)
_OF_A_POWER = frozenset({1.925137e-08, 0.01249299})
# Sines and powers have branches of their own, or a loop for large arguments: compilers do not unroll a loop that has one of them in it.
_WITH_BRANCHES = frozenset({1.925137e-08, 0.6366197})
_MOVES_CONSTANT = re.compile(
    r"(@!?U?P\d )?(MOV \w+, -?0x[0-9a-f]+|IMAD\.MOV\.U32 \w+, RZ, RZ, -?0x|HFMA2(\.MMA)? \w+, -RZ, RZ, -?\d)"
)
_NUMBER = re.compile(r"-?\d+(\.\d+)?(e[+-]?\d+)?")
_ADDS = frozenset({"IADD3", "VIADD"})  # as these functions are compiled; SUMS are all that add
_SCALES = _ADDS | {"LOP3"}  # of sm_100
_WITH_TERMS = frozenset({"FFMA", "FMUL"})


def size_of(instruction: Instruction) -> Size | None:
    """Returns what an instruction adds to the size of the function that it belongs to; None for most."""
    if scales_norm(instruction):
        return SCALED_NORM
    if instruction.name in _ADDS:
        return _size_of_tested(instruction)
    if instruction.name in _WITH_TERMS:
        return find_by_term(_BY_TERM, instruction.text)
    if instruction.name == "MUFU":
        return _BY_UNIT.get(".".join(instruction.opcode.split(".")[:2]))
    return _BY_UNIT.get(instruction.name)


def scales_norm(instruction: Instruction) -> bool:
    """Returns whether an instruction scales the numbers whose squares hypotf or norm3df adds up, for one instruction of each evaluation."""
    return instruction.name in _SCALES and _OF_A_NORM in instruction.operands


def is_tested(instruction: Instruction) -> bool:
    """Returns whether an instruction tests the argument of a precise reciprocal or root."""
    return instruction.name in _ADDS and _size_of_tested(instruction) is not None


def tests_reciprocal(instruction: Instruction) -> bool:
    return instruction.name in _ADDS and _OF_A_RECIPROCAL in instruction.operands


def moves_constant(instruction: Instruction) -> bool:
    """Returns whether an instruction moves a constant to a register, which no operand can hold beside another constant."""
    return _MOVES_CONSTANT.match(instruction.text) is not None


def takes_logarithm_of_power(instruction: Instruction) -> bool:
    """Returns whether a power takes the logarithm of its base here, for one instruction of each logarithm."""
    return instruction.name == "FFMA" and not _OF_A_POWER.isdisjoint(terms_in(instruction.text))


def rounds_exponent(instruction: Instruction) -> bool:
    """Returns whether an instruction may round half of the exponent of a power, which shows whether it is odd."""
    return instruction.opcode == "FRND.TRUNC"


def has_branches(instruction: Instruction) -> bool:
    """Returns whether a function's branches keep compilers from unrolling a loop around it, for one instruction of each evaluation."""
    return instruction.name in _WITH_TERMS and not _WITH_BRANCHES.isdisjoint(terms_in(instruction.text))


def _size_of_tested(instruction: Instruction) -> Size | None:
    if _OF_A_RECIPROCAL in instruction.operands:
        return TESTED_RECIPROCAL
    return None if _OF_A_ROOT.isdisjoint(instruction.operands) else TESTED_ROOT


@lru_cache(maxsize=KEPT)
def terms_in(text: str) -> tuple[float, ...]:
    """Returns the constants among an instruction's operands, without their signs and to seven digits, as tables of terms have them."""
    return tuple(
        float(f"{abs(float(one)):.7g}") for one in parse_text(text).operands if _NUMBER.fullmatch(one)
    )


def find_by_term(table: Mapping[float, _Found], text: str) -> _Found | None:
    """Returns what the table has for a constant among an instruction's operands. Reading these takes the time, so `terms_in` keeps them."""
    return next((table[term] for term in terms_in(text) if term in table), None)
