"""Says which fast forms stand for the functions that a kernel evaluates, and what to do where there are none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from profiler.analyse.causes.evidence.sites import Site
from profiler.analyse.code.math_functions.lasting import lasting_function
from profiler.analyse.code.math_functions.sizes import (
    Size,
    size_of,
    terms_in,
    tests_reciprocal,
    tests_root,
)

_WITH_FAST_FORM = (
    "Use the fast forms (`__expf`, `__logf`, `__sinf`, `__fdividef`, `rsqrtf`, or `-use_fast_math`), multiply instead of dividing and of "
    "powf, or look values up."
)
WITHOUT_FAST_FORM = (
    "Evaluate a polynomial of your own with as many terms as the result needs (half of the terms give half of the digits), evaluate it less "
    "often, or look values up."
)
_DIVIDES, _POWER = "`__fdividef`", "`__powf`"
# By the term of which sizes.py knows each evaluation. Exponentials and logarithms of another base are a product away.
_BY_TERM = {
    1.925963e-08: "`__expf`",
    7.059537e-08: "`__expf`",
    0.1408461: "`__logf`",
    0.1684539: "`__logf`",
    1.925137e-08: _POWER,
    0.01249299: _POWER,
    0.6366197: "`__sinf`",
    0.02429199: "`__tanf`",
}


def advise_on_functions(spared: Mapping[Site, float], dropped: Mapping[Site, Size]) -> tuple[str, str]:
    """Returns the names of functions that have no fast form, and advice that fits the lines where most is spared.

    `dropped` says which part of a fast form is not needed either.
    """
    found = [(site.instruction.place, one) for site in spared if (one := lasting_function(site.instruction))]
    lines = {line for line, one in found if not one.formula}
    # Where lgamma is, the remainder is lgamma's own.
    lasting = [one for line, one in found if not one.formula or line not in lines]
    names = ", ".join(sorted({one.name for one in lasting}))
    of_polynomials = sum(part for site, part in spared.items() if site.instruction.place in lines)
    if 2 * of_polynomials > sum(spared.values()):
        return names, WITHOUT_FAST_FORM
    formulas = sorted({f"{one.name} as `{one.formula}`" for one in lasting if one.formula})
    written = f" Where it is precise enough, write {' and '.join(formulas)}." if formulas else ""
    return names, _with_fast_forms(_find_forms(spared, dropped)) + written


def _with_fast_forms(forms: Sequence[str]) -> str:
    if not forms:
        return _WITH_FAST_FORM
    instead = " and of ".join(
        what for what, form in (("dividing", _DIVIDES), ("powf", _POWER)) if form in forms
    )
    return (
        f"Use the fast form{'s' * (len(forms) > 1)} ({', '.join(forms)}, or `-use_fast_math`)"
        + (f", multiply instead of {instead}" if instead else "")
        + ", or look values up."
    )


def _find_forms(spared: Mapping[Site, float], dropped: Mapping[Site, Size]) -> list[str]:
    """Returns the fast forms of what is evaluated, those first that spare most."""
    found: dict[str, float] = {}
    for site, part in spared.items():
        size, form = size_of(site.instruction), _form_of(site)
        # The reciprocal of a root is one function with it, and a root that is only compared is none.
        if part and size and form and (site not in dropped or dropped[site].fast < size.fast):
            found[form] = found.get(form, 0.0) + (size.precise - size.fast) * site.executed
    return sorted(found, key=lambda form: -found[form])


def _form_of(site: Site) -> str | None:
    if site.instruction.name == "FCHK" or tests_reciprocal(site.instruction):
        return _DIVIDES
    if tests_root(site.instruction):
        return "`rsqrtf`"
    return next((_BY_TERM[term] for term in terms_in(site.instruction.text) if term in _BY_TERM), None)
