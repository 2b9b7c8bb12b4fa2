"""Finds powers whose exponent is a constant, where products, a root or a reciprocal take less time than the fast form of a power.

Evidence in; such powers out, each with what replaces it.

A power is the exponential of the exponent times the logarithm of its base. The logarithm has a low part, so the product needs its
rounding error, too: FMUL p, l, 3 and FFMA e, l, 3, -p. A constant exponent stands in both, in the libraries of CUDA 11.8, 12.4, 13.0
and of Triton 3.9, for sm_90.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.sites import Site
from profiler.analyse.code.code import Instruction
from profiler.analyse.code.math_functions.sizes import (
    NONE,
    POWER_BEHIND_LOGARITHM,
    POWER_LOGARITHM,
    Size,
    takes_logarithm_of_power,
)

# A scheduler issues an instruction a cycle, and its special-function unit takes eight cycles for one of a warp (CUDA C++ Programming
# Guide, "Arithmetic Instructions": 128 and 16 results a cycle and SM).
_CYCLES_OF_SPECIAL = 8
# As nvcc compiles what the advice says: a precise root, its fast reciprocal, and the fast reciprocal of a product.
_ROOT, _RECIPROCAL_ROOT, _RECIPROCAL = Size(10, 10, 1), Size(4, 4, 1), Size(5, 5, 1)
_PRODUCTS = ("FMUL", "FFMA")
_WRITTEN_OUT = 3  # factors of a product that is spelled out; a longer one is of squares


@dataclass(frozen=True)
class ConstantPower:
    """A power, how to write it, the size of its precise and its fast form, and what of the fast form is `spared` if it is written so."""

    exponent: float
    formula: str
    whole: Size
    spared: Size


def find_constant_powers(evidence: Evidence) -> dict[Site, ConstantPower]:
    """Returns such powers by the instruction that computes the rounding error of the exponent's product."""
    found: dict[Site, ConstantPower] = {}
    for sites in evidence.by_function.values():
        logarithms = sum(site.executed for site in sites if takes_logarithm_of_power(site.instruction))
        exponents = dict(_exponents(sites)) if logarithms else {}
        if not (executed := sum(site.executed for site in exponents)):
            continue
        # Powers of one base share its logarithm, and so they do its root or reciprocal.
        share = min(1.0, logarithms / executed)
        powers = {site: _power(exponent, share) for site, exponent in exponents.items()}
        found |= {site: power for site, power in powers.items() if power}
    return found


def _exponents(sites: Sequence[Site]) -> Iterator[tuple[Site, float]]:
    """Yields the errors of products with their second factor; that of a variable one is no number (nan)."""
    products: dict[str, Instruction] = {}
    for site in sites:
        one = site.instruction
        if one.name == "FFMA" and one.operands[3].startswith("-"):
            product = products.get(_plain(one.operands[3][1:]))
            if product and _factors(product) == _factors(one):
                yield site, _number(one.operands[2])
        products |= dict.fromkeys(site.use.written, one)


def _plain(operand: str) -> str:
    return operand.removesuffix(".reuse")


def _factors(instruction: Instruction) -> list[str] | None:
    return [_plain(one) for one in instruction.operands[1:3]] if instruction.name in _PRODUCTS else None


def _number(operand: str) -> float:
    try:
        return float(operand)
    except ValueError:
        return float("nan")


def _power(exponent: float, share: float) -> ConstantPower | None:
    """Returns None for exponents that are neither whole nor half-whole, and where the fast form of a power takes no longer."""
    if not exponent or (2 * exponent) % 1 != 0:
        return None
    formula, products, root = _written(exponent)
    whole = POWER_BEHIND_LOGARITHM + POWER_LOGARITHM * share
    instead = root * share + Size(products, products)
    if _cycles(instead) >= _cycles(whole):
        return None
    return ConstantPower(
        exponent, formula, whole, Size(0, whole.fast - instead.fast, whole.special - instead.special)
    )


def _written(exponent: float) -> tuple[str, int, Size]:
    """Returns how to write a power, how many products that takes, and what the root or the reciprocal in it takes."""
    size, is_whole = int(abs(exponent)), exponent % 1 == 0
    if exponent > 0 and is_whole:
        return _product("x", size), _products_for(size), NONE
    if exponent > 0 and size <= _WRITTEN_OUT:
        return "`sqrtf(x)" + " * x" * size + "`", size, _ROOT
    if exponent > 0:
        return f"{_product('x', size)} and one by `sqrtf(x)`", _products_for(size) + 1, _ROOT
    begun, factors = ("__fdividef(1, x)", size) if is_whole else ("rsqrtf(x)", int(-2 * exponent))
    formula = f"`{begun}`" if factors == 1 else f"{_product('r', factors)} with `r = {begun}`"
    return formula, _products_for(factors), _RECIPROCAL if is_whole else _RECIPROCAL_ROOT


def _product(name: str, factors: int) -> str:
    if factors <= _WRITTEN_OUT:
        return f"`{' * '.join([name] * factors)}`"
    return f"{_products_for(factors)} products (`{name} * {name}` first)"


def _products_for(factors: int) -> int:
    """Returns how many products a whole power takes: a square for each bit of the exponent but the first, and one for each further bit set."""
    return factors.bit_length() - 1 + factors.bit_count() - 1


def _cycles(size: Size) -> float:
    return max(size.fast, _CYCLES_OF_SPECIAL * size.special)


_WRITTEN = 3  # powers of which the advice speaks, so that it stays short
_TRITON_SAYS = {"__fdividef(1, x)": "1 / x", "`sqrtf(x)": "`tl.sqrt(x)", "rsqrtf(x)": "tl.rsqrt(x)"}


def by_products(powers: Mapping[Site, ConstantPower]) -> str:
    """Returns how to write these powers, those first that are evaluated most often."""
    often: dict[tuple[float, str], float] = {}
    for site, one in powers.items():
        often[one.exponent, one.formula] = often.get((one.exponent, one.formula), 0.0) + site.executed
    first = sorted(often, key=lambda key: -often[key])[:_WRITTEN]
    return f"Write the power of {', that of '.join(f'{exponent:g} as {formula}' for exponent, formula in first)}."


def powers_in_triton(advice: str) -> str:
    """Returns advice on powers in the words of Triton."""
    for in_cuda, in_triton in _TRITON_SAYS.items():
        advice = advice.replace(in_cuda, in_triton)
    return advice
