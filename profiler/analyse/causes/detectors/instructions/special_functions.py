"""Detects functions that take many instructions each, and knows how many of these their fast forms would spare."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf

from profiler.analyse.causes.detectors.candidate import WORTH_A_CHANGE, Candidate
from profiler.analyse.causes.detectors.instructions.around_functions import EVALUATING, find_around
from profiler.analyse.causes.detectors.instructions.double_functions import (
    find_called_doubles,
    find_divisions_of_doubles,
    find_inlined_doubles,
)
from profiler.analyse.causes.detectors.instructions.fast_forms import advise_on_functions
from profiler.analyse.causes.evidence.blocks_of_sm import WORTH_SAYING, warps_without
from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.latency import Effect
from profiler.analyse.causes.evidence.sites import Site, executed_parts
from profiler.analyse.causes.flow.arithmetic.compiler_functions import find_evaluating
from profiler.analyse.causes.flow.arithmetic.divisors import find_products_for_quotients
from profiler.analyse.causes.flow.arithmetic.slow_paths import find_loads_between_slow_paths
from profiler.analyse.causes.flow.dataflow import sources_of
from profiler.analyse.code.libraries import is_of_library
from profiler.analyse.code.math_functions.lasting import is_of_remainder, lasting_function
from profiler.analyse.code.math_functions.sizes import (
    NONE,
    OF_ANY_EXPONENT,
    TESTED_RECIPROCAL,
    Size,
    is_tested,
    moves_constant,
    rounds_exponent,
    size_of,
    takes_logarithm_of_power,
    tests_reciprocal,
)
from profiler.text import whole_percent

# A function's signature in machine code: its unit, a test for the slow path, or the constant that reduces its argument
# (2/pi for trigonometry, log2(e) for exponentials, ln(2) for logarithms).
_FUNCTIONS = ("MUFU.EX2", "MUFU.LG2", "MUFU.SIN", "MUFU.COS", "MUFU.TANH", "MUFU.SQRT", "FCHK")
_CONSTANTS = ("0.6366197", "1.44269", "0.693147")
# Some functions show only by one term of their polynomial. That is the x^6 term of the cosine, for sine and cosine of one angle,
# which the compiler reduces once, and another term of the cosine in sinpi and cospi.
_POLYNOMIALS = ("0.0013887", "4.9348020")
_FAST_INSTRUCTIONS = 4.0  # of a fast form whose function is not known: scale, evaluate, scale back
# A function without a fast form can only become less precise. The error of a polynomial falls by a like factor with each term, so
# half of the terms give half of the digits: as many as the fast forms of other functions have.
_SPARE_TERMS = 1 / 2
_COEFFICIENT = re.compile(r"-?\d+\.\d")
# The larger the quotient, the more instructions a remainder of floats takes; x - y * trunc(x / y) takes a fast division, FRND and
# FFMA.
_OF_A_REMAINDER = Size(inf, 7)
# All but one multiplication of a fast division (see FCHK in sizes.py), if the reciprocal of the divisor is there.
_BY_RECIPROCAL = Size(0, 4, 1)
_UNIT, _LOADS = "xu", "long_scoreboard"
_DIGITS = 9


def detect_special_functions(evidence: Evidence) -> Iterable[Candidate]:
    """Names functions that take many instructions each: precise divisions and roots, powers, exponentials, trigonometry."""
    called = dict.fromkeys((site for one in find_evaluating(evidence) for site in one.sites), 1.0)
    inlined = find_inlined_doubles(evidence)
    dropped = _find_dropped(evidence)
    lines = [
        line
        for group in find_around(evidence, _evaluates, EVALUATING)
        if (line := _measure_line(group, dropped))
    ]
    floats = _find_spare_of_floats(lines)
    of_both = {site: min(1.0, part + floats.get(site, 0.0)) for site, part in inlined.items()}
    fractions = floats | of_both | called
    if not any(fractions.values()):
        return
    # A line that evaluates functions of doubles also does other work with doubles, which does not count.
    of_doubles_alone = inlined.keys() - floats.keys()
    share = 100 * evidence.share_executed(fractions.keys() - of_doubles_alone)
    share += 100 * sum(inlined[site] * site.executed for site in of_doubles_alone) / evidence.executed
    # Conversions from and to double precision keep the unit busy as well, and are no part of this.
    of_these = evidence.without(dict.fromkeys(fractions, 1.0)).resources.get(_UNIT, 0.0)
    busy = 100 * evidence.model.busy.get(_UNIT, 0.0) * of_these
    spared = executed_parts(fractions)
    of_doubles = sum(spared[site] for site in {*find_called_doubles(evidence), *inlined})
    of_library = sum(part for site, part in spared.items() if is_of_library(site.instruction.file or ""))
    most = sum(spared.values()) / 2
    lasting, advice, in_triton, are_most_lasting = advise_on_functions(evidence, spared, dropped)
    for_loads = evidence.time_of(find_loads_between_slow_paths(evidence), _LOADS)
    apart = for_loads > evidence.time_of(spared)
    if of_library > most and not are_most_lasting:
        in_triton = _OF_LIBRARY
    if of_doubles > most:
        divisions = sum(executed_parts(find_divisions_of_doubles(evidence)).values())
        advice = in_triton = _DIVIDING_DOUBLES if divisions > most else _of_doubles(evidence)
    effect = _keep_special(evidence, _effect_of(evidence, fractions), lines, fractions)
    # Code that hardly ever runs, such as the slow path of a division, is not worth a change for its registers alone.
    warps = _more_warps(evidence) if evidence.model.saved(effect) >= WORTH_A_CHANGE else 1.0
    yield Candidate(
        "special-functions",
        f"{whole_percent(share)} % of the executed instructions evaluate divisions, roots or functions, "
        + (
            "most of them of doubles."
            if of_doubles > most
            else f"which the compiler mostly makes of plain arithmetic, and keep the special-function units busy for {whole_percent(busy)} % of the time."
            if busy
            else "by polynomials."
        )
        + (_LOADS_APART.format(whole_percent(100 * for_loads)) if apart else "")
        + (f" There is no fast form of {lasting}." if lasting else "")
        + (_OWN_REGISTERS.format(warps) if warps >= WORTH_SAYING else ""),
        advice,
        replace(effect, warps=warps),
        spared,
        {"special_pct": share, "special_busy_pct": busy},
        in_triton=in_triton,
    )


_LOADS_APART = " Branches for rare arguments stand between loads, so that warps wait for each on its own: {} % of their time."
_OWN_REGISTERS = (
    " The functions need registers of their own: without these, an SM would hold {:.2g} times as many warps."
)
# `tl.randn` calls such code for each normal number. An option of nvcc changes the code of libraries as well.
_OF_LIBRARY = (
    "The functions are in code of a library that the kernel calls: call it less often, for several results at once if it can give them "
    "(as `tl.randn4x` does), or write what it does with the fast forms (`tl.exp2`, `tl.rsqrt`)."
)
_OF_DOUBLES = (
    "Functions of doubles have no fast forms: evaluate a function less often (once for all elements that share its arguments, in a table or on "
    "the host),{} or compute in single precision if that is enough."
)
_POWERS_AS_PRODUCTS = " write powers with a small whole exponent as products (`x * x * x`),"
_DIVIDING_DOUBLES = (
    "Divisions, roots and norms of doubles take 11 to 33 instructions each: multiply by a reciprocal that is taken once for all divisions by the same "
    "number, multiply numerators and denominators and divide once at the end, compare squares instead of roots, or compute in single precision if that "
    "is enough."
)


def _of_doubles(evidence: Evidence) -> str:
    """Returns advice on functions of doubles. Those that the compiler calls are powers."""
    called = evidence.without(dict.fromkeys(find_called_doubles(evidence), 1.0))
    return _OF_DOUBLES.format(_POWERS_AS_PRODUCTS * (evidence.model.saved(called) >= WORTH_A_CHANGE))


def _more_warps(evidence: Evidence) -> float:
    """Returns how many times as many warps fit without the registers that only called functions use."""
    called = {site for one in find_evaluating(evidence) for site in one.sites}
    kernel = (site for site in evidence.sites if site not in called and site.instruction.called is None)
    of_kernel = {name for site in kernel for name in _registers_of(site)}
    return warps_without(evidence, len({name for site in called for name in _registers_of(site)} - of_kernel))


def _registers_of(site: Site) -> list[str]:
    """Returns the registers that an instruction names, without the uniform ones, which the threads of a warp share."""
    return [name for name in (*site.use.named, *site.use.written) if not name.startswith("U")]


def _evaluates(site: Site) -> bool:
    if site.opcode.startswith(_FUNCTIONS):
        return True
    text = site.instruction.text
    if is_tested(site.instruction) or is_of_remainder(site.instruction):
        return True
    return "." in text and any(constant in text for constant in _CONSTANTS)


def _is_of_polynomial(site: Site) -> bool:
    text = site.instruction.text
    return "." in text and any(term in text for term in _POLYNOMIALS)


@dataclass(frozen=True, eq=False)
class _Line:
    """Counts the instructions that a source line executes.

    `whole` counts all of them, and `evaluating` those that may belong to functions. `precise` and `fast` are what its functions
    need in their precise and in their fast form, and `special` what the fast form needs of the special-function unit. `spare` can
    go from functions without a fast form.
    """

    sites: Sequence[Site]
    whole: float
    evaluating: float
    precise: float
    fast: float
    special: float
    spare: float


def _find_spare_of_floats(lines: Sequence[_Line]) -> dict[Site, float]:
    """Returns the part of the instructions for functions of single precision that the fast forms would save."""
    # A line may do more than evaluate functions. An instruction that two lines share counts for only one of them, so what a
    # function lacks on its own line stands on another.
    elsewhere = sum(max(0.0, line.precise - line.evaluating) for line in lines)
    more = sum(max(0.0, line.evaluating - line.precise) for line in lines if line.precise)
    part = min(1.0, elsewhere / more) if more else 0.0
    found: dict[Site, float] = {}
    for line in lines:
        evaluating = min(line.evaluating, line.precise)
        if line.precise:
            evaluating += part * max(0.0, line.evaluating - line.precise)
        spare = max(0.0, evaluating - line.fast) if line.precise > line.fast else 0.0
        spare += line.spare
        found |= dict.fromkeys(line.sites, spare / line.whole)
    return found


def _effect_of(evidence: Evidence, fractions: dict[Site, float]) -> Effect:
    """Returns the effect of fast forms, which have no branches: without these, loads are issued together."""
    fewer = evidence.without(fractions)
    apart = find_loads_between_slow_paths(evidence)
    waiting = fewer.waits.get(_LOADS, 0.0) + evidence.waiting_for(apart, _LOADS).get(_LOADS, 0.0)
    return replace(fewer, waits={**fewer.waits, _LOADS: waiting})


def _keep_special(
    evidence: Evidence, effect: Effect, lines: Sequence[_Line], fractions: Mapping[Site, float]
) -> Effect:
    """Returns the effect with that on the special-function unit: the fast forms need it, some of them more than the precise ones."""
    whole = sum(site.executed for site in evidence.sites if _UNIT in site.units)
    if not whole:
        return effect
    on_unit = {site for line in lines for site in line.sites if _UNIT in site.units}
    left = sum((1 - fractions[site]) * site.executed for site in on_unit)
    kept = max(0.0, sum(line.special for line in lines) - left)
    # Where nothing is spared, rounding must not make it look like a little: it depends on the order in which parts are added.
    removed = round(effect.resources.get(_UNIT, 0.0) - kept / whole, _DIGITS)
    return replace(effect, resources={**effect.resources, _UNIT: removed})


def _find_dropped(evidence: Evidence) -> dict[Site, Size]:
    """Returns how much of a fast form is not needed either, by the instruction that tests the argument.

    The reciprocal of a root is one function, as long as the root alone. If several divisions are by the same number, each is a
    product with its reciprocal, which is taken once.
    """
    dropped = dict.fromkeys(find_products_for_quotients(evidence), _BY_RECIPROCAL)
    return dropped | {site: TESTED_RECIPROCAL for site in evidence.sites if _is_of_root(evidence, site)}


def _is_of_root(evidence: Evidence, site: Site) -> bool:
    """Returns whether an instruction begins the precise reciprocal of a root.

    The root is a = x * g and then a + (x - a * a) * g / 2, where g is the guess of 1 / sqrt(x).
    """
    return tests_reciprocal(site.instruction) and any(
        guess.opcode.startswith("MUFU.RSQ")
        for root in sources_of(evidence, site)
        if root.instruction.name == "FFMA"
        for factor in sources_of(evidence, root)
        for guess in sources_of(evidence, factor)
    )


def _measure_line(group: Sequence[Site], dropped: Mapping[Site, Size]) -> _Line | None:
    """Returns what a line executes for functions; None if it evaluates none."""
    whole = sum(site.executed for site in group)
    lasting = _find_lasting(group)
    evaluating = whole - lasting.instructions
    sizes = [(site.executed, size) for site in group if evaluating and (size := _size_of(site))]
    known = sum((size * times for times, size in sizes), _tests_of_exponents(group))
    precise, fast = known.precise - lasting.inner.precise, known.fast - lasting.inner.fast
    if fast <= 0 and evaluating:
        polynomials = sum(site.executed for site in group if _is_of_polynomial(site))
        precise, fast = (whole, _FAST_INSTRUCTIONS * polynomials) if polynomials else (0.0, 0.0)
    if precise > 0 and not lasting.instructions:
        precise += sum(site.executed for site in group if moves_constant(site.instruction))
    spared = sum((dropped[site] * site.executed for site in group if site in dropped), NONE)
    if not precise and not lasting.spare:
        return None
    special = known.special - spared.special
    return _Line(group, whole, evaluating, precise, fast - spared.fast, special, lasting.spare)


def _tests_of_exponents(group: Sequence[Site]) -> Size:
    """Returns how many instructions test exponents that the compiler does not know; powers of one base share its logarithm."""
    if not any(takes_logarithm_of_power(site.instruction) for site in group):
        return NONE
    return OF_ANY_EXPONENT * sum(site.executed for site in group if rounds_exponent(site.instruction))


def _size_of(site: Site) -> Size | None:
    if is_of_remainder(site.instruction):
        return _OF_A_REMAINDER
    return size_of(site.instruction)


@dataclass(frozen=True)
class _Lasting:
    """Counts what the functions without a fast form execute on one source line.

    `instructions` are all of them, `spare` those that shorter polynomials save, and `inner` those
    that look like functions with a fast form.
    """

    instructions: float = 0.0
    inner: Size = NONE
    spare: float = 0.0


def _find_lasting(group: Sequence[Site]) -> _Lasting:
    found = ((site, lasting_function(site.instruction)) for site in group)
    known = [(site, one) for site, one in found if one and not one.formula]
    if not known:
        return _Lasting()
    whole = sum(site.executed for site in group)
    terms = _SPARE_TERMS * sum(site.executed for site in group if _adds_term(site))
    if any(one.instructions is None for _, one in known):
        # How many instructions run depends on the function's branches, and what looks like other functions is its own.
        return _Lasting(whole, spare=terms)
    own = min(whole, sum(site.executed * (one.instructions or 0) for site, one in known))
    inner = sum((one.inner * site.executed for site, one in known), NONE)
    return _Lasting(own, inner, terms * own / whole)


def _adds_term(site: Site) -> bool:
    """Returns whether an instruction adds a term, or chooses its coefficient: erf has two polynomials, whose terms it adds alike."""
    if site.instruction.name == "FSEL":
        return any(_COEFFICIENT.match(operand) for operand in site.instruction.operands)
    return site.instruction.name == "FFMA"
