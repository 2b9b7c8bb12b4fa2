"""Detects functions that take many instructions each, and knows how many of these their fast forms would spare."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from profiler.analyse.causes.detectors.candidate import Candidate
from profiler.analyse.causes.detectors.instructions.integer_overhead import called_functions, divides_integers
from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.sites import Kind, Site
from profiler.analyse.code.lasting_functions import is_of_remainder, lasting_function

# A function's signature in machine code: its unit, a test for the slow path, or the constant that reduces its argument
# (2/pi for trigonometry, log2(e) for exponentials, ln(2) for logarithms).
_FUNCTIONS = ("MUFU.EX2", "MUFU.LG2", "MUFU.SIN", "MUFU.COS", "MUFU.TANH", "MUFU.SQRT", "FCHK")
_CONSTANTS = ("0.6366197", "1.44269", "0.693147")
# A precise reciprocal or root first tests for arguments whose guess cannot be refined, by adding one of these to their bits. With
# the test, the branch around the slow path, the guess and its refinement, it takes ten instructions.
_TESTED = {"0x1800000", "-0xd000000", "0xf3000000"}
_OF_A_TESTED = 10.0
# A power needs its logarithm to more than single precision: this is the low part of log2(e), by which it multiplies once, beside
# three multiplications by the high part.
_LOGARITHM_IN_PARTS = "1.925136"
_PARTS_TOO_MANY = 2
# Some functions show by nothing but one term of their polynomial: the x^6 term of the cosine, for sine and cosine of one angle,
# which the compiler reduces once, and a term of the cosine in sinpi and cospi.
_POLYNOMIALS = ("0.0013887", "4.9348020")
# Instructions on either side of a function's signature that scale its argument and its result.
_OF_A_FUNCTION = 12
_FAST_INSTRUCTIONS = 4.0  # of a fast form: scale, evaluate, scale back
# What has no fast form can only become less precise. The error of a polynomial falls by a like factor with each term, so that half of
# the terms give half of the digits, as many as the fast forms of other functions have.
_SPARE_TERMS = 1 / 2
EVALUATING: tuple[Kind, ...] = ("fp32", "special", "integer", "control", "conversion", "mio", "other")
_RESULTS: tuple[Kind, ...] = ("fp32", "special", "fp64")


def detect_special_functions(evidence: Evidence) -> Iterable[Candidate]:
    """Names functions that take many instructions each: precise divisions and roots, powers, exponentials, trigonometry."""
    slow_paths = (sites for sites in called_functions(evidence) if not divides_integers(sites))
    fractions: dict[Site, float] = dict.fromkeys((site for sites in slow_paths for site in sites), 1.0)
    fractions = find_spare(evidence, _evaluates, EVALUATING, of_floats=True) | fractions
    busy = evidence.model.busy.get("xu", 0.0)
    if not any(fractions.values()):
        return
    share = 100 * evidence.share_executed(fractions)
    spared = {site: part * site.executed for site, part in fractions.items()}
    names, advice = _advice_on(spared)
    yield Candidate(
        "special-functions",
        f"{share:.0f} % of the executed instructions evaluate divisions, roots or functions; the special-function units are busy for "
        f"{100 * busy:.0f} % of the time." + (f" There is no fast form of {names}." if names else ""),
        advice,
        evidence.without(fractions),
        spared,
        {"special_pct": share, "special_busy_pct": 100 * busy},
        in_triton=advice if advice == _WITHOUT_FAST_FORM else "",
    )


_WITH_FAST_FORM = (
    "Use the fast forms (`__expf`, `__logf`, `__sinf`, `__fdividef`, `rsqrtf`, or `-use_fast_math`), multiply instead of dividing and of "
    "powf, or look values up."
)
_WITHOUT_FAST_FORM = (
    "Evaluate a polynomial of your own with as many terms as the result needs (half of the terms give half of the digits), evaluate it less "
    "often, or look values up."
)


def _advice_on(spared: Mapping[Site, float]) -> tuple[str, str]:
    """Returns the names of functions that have no fast form, and advice that fits the lines where most is spared."""
    found = [(site.instruction.place, one) for site in spared if (one := lasting_function(site.instruction))]
    lines = {line for line, one in found if not one.formula}
    # Where lgamma is, the remainder is lgamma's own.
    lasting = [one for line, one in found if not one.formula or line not in lines]
    names = ", ".join(sorted({one.name for one in lasting}))
    of_polynomials = sum(part for site, part in spared.items() if site.instruction.place in lines)
    if 2 * of_polynomials > sum(spared.values()):
        return names, _WITHOUT_FAST_FORM
    formulas = sorted({f"{one.name} as `{one.formula}`" for one in lasting if one.formula})
    written = f" Where it is precise enough, write {' and '.join(formulas)}." if formulas else ""
    return names, _WITH_FAST_FORM + written


def _evaluates(site: Site) -> bool:
    if site.opcode.startswith(_FUNCTIONS):
        return True
    text = site.instruction.text
    if _is_tested(site) or is_of_remainder(site.instruction):
        return True
    return "." in text and any(constant in text for constant in _CONSTANTS)


def _is_tested(site: Site) -> bool:
    return site.instruction.name in ("IADD3", "VIADD") and not _TESTED.isdisjoint(site.instruction.operands)


def _is_of_polynomial(site: Site) -> bool:
    text = site.instruction.text
    return "." in text and any(term in text for term in _POLYNOMIALS)


def find_spare(
    evidence: Evidence,
    is_function: Callable[[Site], bool],
    kinds: Sequence[Kind],
    *,
    of_floats: bool = False,
) -> dict[Site, float]:
    """Returns the part of the instructions for functions that the fast forms would save. Some of floats are known by a term alone.

    Counted are the instructions of the function's source line or, where no lines are known, the arithmetic around it: a kernel
    does more than evaluate it.
    """
    found: dict[Site, float] = {}
    for group in _around_functions(evidence, is_function, kinds):
        functions = sum(site.executed for site in group if is_function(site))
        functions -= _PARTS_TOO_MANY * sum(
            site.executed for site in group if _LOGARITHM_IN_PARTS in site.instruction.text
        )
        lasting = _find_lasting(group) if of_floats else _Lasting()
        functions = max(0.0, functions - lasting.signs)
        if of_floats and not functions:
            functions = sum(site.executed for site in group if _is_of_polynomial(site))
        if functions or lasting.terms:
            whole = sum(site.executed for site in group)
            tested = sum(site.executed for site in group if _is_tested(site))
            evaluating = whole - lasting.instructions
            if tested == functions:  # a line may do more than take a root
                evaluating = min(evaluating, _OF_A_TESTED * tested)
            spare = max(0.0, evaluating - _FAST_INSTRUCTIONS * functions) if functions else 0.0
            found |= dict.fromkeys(group, (spare + _SPARE_TERMS * lasting.terms) / whole)
    return found


@dataclass(frozen=True)
class _Lasting:
    """Counts what the functions without a fast form execute on one source line.

    `instructions` are all of them, `terms` those that add a term of a polynomial, and `signs` those that look like functions with
    a fast form.
    """

    instructions: float = 0.0
    signs: float = 0.0
    terms: float = 0.0


def _find_lasting(group: Sequence[Site]) -> _Lasting:
    found = ((site.executed, lasting_function(site.instruction)) for site in group)
    known = [(times, one) for times, one in found if one and not one.formula]
    if not known:
        return _Lasting()
    whole = sum(site.executed for site in group)
    adding = sum(site.executed for site in group if site.instruction.name == "FFMA")
    if any(one.instructions is None for _, one in known):
        return _Lasting(whole, whole, adding)  # how many instructions run depends on its branches
    own = min(whole, sum(times * (one.instructions or 0) for times, one in known))
    return _Lasting(own, sum(times * one.signs for times, one in known), adding * own / whole)


def _around_functions(
    evidence: Evidence, is_function: Callable[[Site], bool], kinds: Sequence[Kind]
) -> Iterator[list[Site]]:
    """Yields the instructions of these kinds by source line, and those near functions of which no line is known."""
    lines: dict[str, list[Site]] = {}
    for sites in evidence.by_function.values():
        near: dict[Site, None] = {}
        for index, site in enumerate(sites):
            if site.kind in kinds and (place := site.instruction.place):
                lines.setdefault(place, []).append(site)
            elif site.instruction.place is None and is_function(site):
                around = sites[max(0, index - _OF_A_FUNCTION) : index + _OF_A_FUNCTION]
                near |= dict.fromkeys(one for one in around if one.kind in _RESULTS and one.kind in kinds)
        yield list(near)
    yield from lines.values()
