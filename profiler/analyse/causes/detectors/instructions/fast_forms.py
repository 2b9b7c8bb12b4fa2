"""Says which fast forms the functions of a kernel have, and what to do if there are none."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.sites import Site
from profiler.analyse.causes.flow.arithmetic.divisors import WhoInverts, find_products_for_quotients
from profiler.analyse.causes.words.triton import FAST_IN_TRITON
from profiler.analyse.causes.words.words import FastForms
from profiler.analyse.code.math_functions.lasting import lasting_function
from profiler.analyse.code.math_functions.sizes import (
    FAST_DIVISION,
    FAST_EXPONENTIAL,
    FAST_LOGARITHM,
    FAST_POWER,
    FAST_ROOT,
    FAST_SINE,
    FAST_SINE_AND_COSINE,
    FAST_TANGENT,
    Size,
    scales_norm,
    size_of,
    tests_reciprocal,
)

_WHOLE_EXPONENT = re.compile(r"\bpow\w*\s*\([^;]*,\s*\(?-?\d\.?0*f?\s*\)|\*\*\s*\d\b(?!\.)")
_INSTEAD_OF_POWERS = ", and write powers with a small whole exponent as products (`x * x * x`)"
_INSTEAD_OF_DIVIDING: Mapping[WhoInverts, str] = {
    "thread": ", and multiply by a reciprocal that is taken once for all divisions by the same number",
    "host": ", and multiply by the reciprocal, which the host can pass, where the divisor is a constant or a parameter",
}
_WITHOUT_FAST_FORM = (
    "Evaluate a polynomial of your own with as many terms as the result needs (half of the terms give half of the digits), evaluate it less "
    "often, or look values up."
)
# MUFU.SIN and MUFU.COS err by 2^-21 up to pi, and by more beyond (CUDA C++ Programming Guide, "Mathematical Functions").
_OF_LARGE_ANGLES = " Fast functions of angles lose digits beyond pi."
_OF_ANGLES = frozenset({FAST_SINE, FAST_SINE_AND_COSINE, FAST_TANGENT})
_WITHOUT_SCALES = " Where no square overflows, write hypot and norm3d as the root of the sum of the squares (`sqrt(x * x + y * y)`)."
_TRITON_WRITES = {r"\b(exp|log|sin|sqrt)\(": r"tl.\1(", r"\b(rint|trunc)\(": r"libdevice.\1("}  # in formulas


class OnFunctions(NamedTuple):
    """Advice on functions. The words of Triton are empty if it is not known which functions are evaluated."""

    lasting: str  # the names of those that have no fast form
    advice: str
    in_triton: str
    are_most_lasting: bool = False


def advise_on_functions(
    evidence: Evidence, spared: Mapping[Site, float], dropped: Mapping[Site, Size]
) -> OnFunctions:
    """Returns advice that fits the lines where most is spared. `dropped` says which part of a fast form is not needed either."""
    found = [(site.instruction.place, one) for site in spared if (one := lasting_function(site.instruction))]
    lines = {line for line, one in found if not one.formula}
    # On a line with lgamma, a remainder is a part of lgamma.
    lasting = [one for line, one in found if not one.formula or line not in lines]
    names = " or ".join(sorted({one.name for one in lasting}))
    of_polynomials = sum(part for site, part in spared.items() if site.instruction.place in lines)
    if 2 * of_polynomials > sum(spared.values()):
        return OnFunctions(names, _WITHOUT_FAST_FORM, _WITHOUT_FAST_FORM, are_most_lasting=True)
    formulas = sorted({f"{one.name} as `{one.formula}`" for one in lasting if one.formula})
    written = f" Where it is precise enough, write {' and '.join(formulas)}." if formulas else ""
    if any(part and scales_norm(site.instruction) for site, part in spared.items()):
        written += _WITHOUT_SCALES
    forms = _find_forms(spared, dropped)
    if not _OF_ANGLES.isdisjoint(forms):
        written = _OF_LARGE_ANGLES + written
    products = [who for site, who in find_products_for_quotients(evidence).items() if spared.get(site)]
    written_in_triton = written
    for formula, instead in _TRITON_WRITES.items():
        written_in_triton = re.sub(formula, instead, written_in_triton)
    if not forms and written:  # nothing else is known to have a fast form
        return OnFunctions(names, written.removeprefix(" "), written_in_triton.removeprefix(" "))
    how = forms, _part_of_roots_alone(forms, spared, dropped), products, _have_whole_exponents(spared)
    advice, in_triton = (_with_fast_forms(fast, *how) for fast in (evidence.words.fast, FAST_IN_TRITON))
    return OnFunctions(names, advice + written, in_triton + written_in_triton if forms else "")


def _with_fast_forms(
    fast: FastForms, forms: Sequence[str], of_roots: float, products: Collection[WhoInverts], are_whole: bool
) -> str:
    """Returns the advice to use these forms.

    If roots spare most, `of_roots` says which part of them have no reciprocal taken. `are_whole` is of the exponents of powers.
    """
    if not forms:
        some = ", ".join([*map(fast.function, ("exp", "log", "sin")), fast.division, fast.reciprocal_root])
        also_products = f"or products in place of divisions and of {fast.powers}"
        return f"Use the fast forms ({some}{fast.also}), {also_products}."
    by_root = " to divide by a root" if of_roots else ""
    others = [form for form in forms if form != FAST_ROOT or of_roots < 1]
    named = list(dict.fromkeys(_name(fast, form) + by_root * (form == FAST_ROOT) for form in others))
    also = fast.also_for_roots if of_roots else fast.also
    fewer_digits = f"Take roots with fewer digits ({fast.root})"
    return (
        (f"Use the fast form{'s' * (len(named) > 1)} ({', '.join(named)}{also})" if named else fewer_digits)
        + "".join(instead for who, instead in _INSTEAD_OF_DIVIDING.items() if who in products)
        + _INSTEAD_OF_POWERS * (FAST_POWER in forms and are_whole)
        + "."
    )


def _name(fast: FastForms, form: str) -> str:
    """Returns the name of a fast form; two names, where machine code only shows what both have in common."""
    sine_or_cosine = f"{fast.function('sin')} or {fast.function('cos')}"
    return {
        FAST_EXPONENTIAL: fast.function("exp"),
        FAST_LOGARITHM: f"{fast.function('log')} or {fast.function('log2')}",
        FAST_SINE: sine_or_cosine,
        FAST_SINE_AND_COSINE: fast.sine_and_cosine or sine_or_cosine,
        FAST_TANGENT: fast.function("tan"),
        FAST_POWER: fast.power,
        FAST_DIVISION: fast.division,
        FAST_ROOT: fast.reciprocal_root,
    }[form]


def _have_whole_exponents(spared: Mapping[Site, float]) -> bool:
    """Returns whether a line takes a power with a small whole exponent, or no text of a line is recorded."""
    texts = {site.text for site, part in spared.items() if part and site.text}
    return not texts or any(map(_WHOLE_EXPONENT.search, texts))


def _part_of_roots_alone(
    forms: Sequence[str], spared: Mapping[Site, float], dropped: Mapping[Site, Size]
) -> float:
    """Returns the part of the roots that stand alone: a root and its reciprocal are one function.

    It is 0 unless the fast forms of roots spare most, and most roots stand alone.
    """
    evaluated = {site: size_of(site.instruction) for site, part in spared.items() if part}
    roots = sum(site.executed for site, size in evaluated.items() if size and size.form == FAST_ROOT)
    reciprocals = sum(
        site.executed for site in evaluated if site in dropped and tests_reciprocal(site.instruction)
    )
    return 1 - reciprocals / roots if forms[:1] == [FAST_ROOT] and 2 * reciprocals < roots else 0.0


def _find_forms(spared: Mapping[Site, float], dropped: Mapping[Site, Size]) -> list[str]:
    """Returns the fast forms of the evaluated functions, those that spare most first."""
    found: dict[str, float] = {}
    evaluated: dict[str, float] = {}
    for site, part in spared.items():
        size = size_of(site.instruction)
        # The reciprocal of a root is one function with it.
        if part and size and size.form and (site not in dropped or dropped[site].fast < size.fast):
            found[size.form] = found.get(size.form, 0.0) + (size.precise - size.fast) * site.executed
            evaluated[size.form] = evaluated.get(size.form, 0.0) + site.executed
    if FAST_TANGENT in found:  # which reduces its argument as a sine does
        found.pop(FAST_SINE, None)
    elif (
        0 < evaluated.get(FAST_SINE, 0.0) <= evaluated.get(FAST_SINE_AND_COSINE, 0.0)
    ):  # each reduces its angle so
        found[FAST_SINE_AND_COSINE] += found.pop(FAST_SINE)
    return sorted(found, key=lambda form: -found[form])
