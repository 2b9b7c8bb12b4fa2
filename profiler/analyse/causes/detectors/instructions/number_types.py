"""Detects types of numbers that cost time: conversions between them, and double precision with all that goes with it.

Both estimates include what replaces the removed instructions, such as arithmetic that turns an integer into a float without a
conversion.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from profiler.analyse.causes.cause import (
    CONVERTING_FLOATS,
    IN_ANY_FUNCTIONS,
    LOADED_DIFFERENCES,
)
from profiler.analyse.causes.detectors.candidate import CYCLES, Candidate
from profiler.analyse.causes.detectors.instructions.double_functions import (
    find_called_doubles,
    find_inlined_doubles,
    find_spared_by_floats,
)
from profiler.analyse.causes.evidence.blocks_of_sm import WORTH_SAYING, warps_without
from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.latency import ISSUE, Effect
from profiler.analyse.causes.evidence.sites import ACCESSES, LOADS, STORES, Site
from profiler.analyse.causes.flow.arithmetic.compiler_functions import find_compiler_functions
from profiler.analyse.causes.flow.arithmetic.differences import are_of_loaded_doubles, find_differences
from profiler.analyse.causes.flow.arithmetic.divisions import find_dividing
from profiler.analyse.causes.flow.dataflow import NEAR, makers_of_value, reach, sources_of
from profiler.analyse.causes.words.triton import IN_TRITON
from profiler.analyse.causes.words.words import SINGLE_IS_ENOUGH
from profiler.analyse.code.libraries import is_of_library
from profiler.analyse.code.math_functions.sizes import takes_logarithm_of_power
from profiler.analyse.code.opcodes import is_move, is_sum
from profiler.analyse.code.registers import register_of
from profiler.text import listed, whole_percent

_QUARTERS = "0.6366197"  # 2 / pi, by which an angle is multiplied
_FROM_REDUCED = "I2F.F64.S64"
_ROUNDING = "FRND"  # to a whole number, which stays a float
# sinpi and cospi round their argument, and are known by a term of the cosine. Powers convert exponents to floats, and floats to
# exponents.
_OF_HALF_TURNS, _OF_EXPONENTS = "4.9348020", ("F2I.NTZ", "I2FP.F32.S32")
_FROM_INTEGER = ("I2F.", "I2FP.")
# Conversions from and to single precision. Functions of doubles convert to integers and back by themselves.
_WIDENED, _FROM_DOUBLE = "F2F.F64.F32", "F2F.F32.F64"
_FROM_INTEGER_TO_DOUBLE, _OF_DOUBLES = "I2F.F64", (_FROM_DOUBLE, "F2I.F64")
_NARROWING = ("F2FP.", "F2F.F16.F32", "F2F.BF16.F32")  # floats to halves, in pairs or one by one
_UNPACKING = ("PRMT", "SHF", "LOP3", "SGXT")  # bytes of a loaded word

_OF_A_FLOAT = 32  # bits
_ARITHMETIC = ("DADD", "DMUL", "DFMA", "DSETP", "DMNMX", "DSET")
_NOT_ENOUGH = (
    f"{SINGLE_IS_ENOUGH} (it is not where nearly equal values are subtracted, as in `a / n - b * b`)"
)
# What C++ writes as a double: a literal without a suffix, a constant of math.h, and a power, one of whose forms is of doubles.
_WRITTEN = re.compile(
    r"(?<![\w.])(?:\d+\.\d*|\.\d+|\d+(?=[eE]))(?:[eE][-+]?\d+)?(?![\w.])"
    r"|\bM_(?:E|LOG2E|LOG10E|LN2|LN10|PI|PI_2|PI_4|1_PI|2_PI|2_SQRTPI|SQRT2|SQRT1_2)\b|\bpow(?=\s*\()"
)
_MOST_EXAMPLES = 3
_SOME = 0.01  # of what works on doubles: fewer integers are sizes and counts
_MOST = 0.5  # a unit that works for more than half of the time, and more than all others, holds the kernel up


def detect_conversions(evidence: Evidence) -> Iterable[Candidate]:
    """Names conversions between types, except those that are a part of dividing integers, of a sine or cosine, or of a power."""
    dividing = find_dividing(evidence)
    # What tensor cores multiply must be narrow, and the results of one product may be operands of the next.
    products = evidence.loops_around(evidence.of("tensor"))
    of_functions = {site.source_line for site in evidence.of("fp32") if _is_of_function(site)}
    sites = [
        site
        for site in evidence.of("conversion")
        if site not in dividing
        and not site.opcode.startswith(_ROUNDING)
        and not _is_of_angle(evidence, site)
        and not (site.opcode.startswith(_OF_EXPONENTS) and site.source_line in of_functions)
        and not (site.opcode.startswith(_NARROWING) and evidence.innermost_loop(site) in products)
    ]
    if sites:
        share, waiting = 100 * evidence.share_executed(sites), 100 * evidence.time_of(sites)
        fewer = evidence.without(dict.fromkeys(sites, 1.0))
        instead = {site: others for site in sites if (others := _instead_of(evidence, site))}
        fewer_issued = {site: 1.0 - sum(instead.get(site, {}).values()) for site in sites}
        issue = evidence.without(fewer_issued).resources.get("issue", 0.0)
        yield Candidate(
            "type-conversions",
            f"{share:.3g} % of the executed instructions convert between types, and warps spend {whole_percent(waiting)} % of their time waiting for them.",
            _advice_on_conversions(evidence, sites),
            Effect({**fewer.resources, **_added(evidence, instead), "issue": issue}, fewer.waits),
            {site: site.executed for site in sites},
            {"conversions_pct": share, "waiting_pct": waiting},
        )


def _is_of_angle(evidence: Evidence, site: Site) -> bool:
    """Returns whether a conversion finds the quarter of the circle in which the argument of a sine or cosine lies."""
    sources = sources_of(evidence, site)
    before = [two for one in sources if one.kind == "conversion" for two in sources_of(evidence, one)]
    return any(_QUARTERS in one.instruction.text for one in (*sources, *before))


def _is_of_function(site: Site) -> bool:
    return _OF_HALF_TURNS in site.instruction.text or takes_logarithm_of_power(site.instruction)


def _advice_on_conversions(evidence: Evidence, sites: Sequence[Site]) -> str:
    executed = sum(site.executed for site in sites)
    if 2 * sum(site.executed for site in sites if _is_of_round_trip(evidence, site)) >= executed:
        return (
            f"Keep the value in one type. Where it is rounded on purpose, add and subtract {evidence.words.rounding_number} (1.5 * 2^23) instead, which "
            "leaves the nearest integer up to 2^22."
        )
    looping = [site for site in sites if evidence.innermost_loop(site)]
    # What does not change in the loop, the compiler converts before it.
    loaded = [site for site in looping if _is_loaded(evidence, site)]
    if 2 * sum(site.executed for site in loaded) >= executed:
        return (
            "Store the data in the type in which it is computed with, or convert each element once for all results that it serves, such as where a "
            "tile is staged."
        )
    if 2 * sum(site.executed for site in looping) >= executed:
        return "Keep the value in one type throughout the loop, such as by counting in floats beside the integers."
    return "Keep the value in one type, or convert it once where it is stored."


def _instead_of(evidence: Evidence, site: Site) -> Mapping[str, float]:
    """Returns which instructions take the place of a conversion that cannot be moved out of the loop, by their unit.

    A value that is converted and converted back is rounded on purpose; adding a large number does the same.
    An integer sum that is computed anew each time could be a sum of floats: one addition. For any other
    integer, one instruction moves the bits to a float's fraction, and another one sets its exponent.
    """
    if _is_of_round_trip(evidence, site):
        return {"fma": 1.0}
    if not site.opcode.startswith(_FROM_INTEGER) or not (made_by := _made_by(evidence, site)):
        return {}
    return {"fma": 1.0} if is_sum(made_by.instruction) else {"alu": 2.0}


def _is_loaded(evidence: Evidence, site: Site) -> bool:
    """Returns whether what is converted is made of loaded integers, such as the parts of a word, or was loaded itself."""
    unpacked = reach(
        [site],
        lambda one: sources_of(evidence, one) if one is site or one.kind == "integer" else [],
    )
    return any(one.kind in ("global load", "shared load") for one in unpacked)


def _made_by(evidence: Evidence, site: Site) -> Site | None:
    """Returns the integer arithmetic behind a converted value; None for a loaded value, because that could be stored as a float."""
    around = evidence.around(site)
    here = around.index(site)
    after = around[here + 1 :] if evidence.innermost_loop(site) else []
    wanted = site.use.inputs
    for one in (*reversed(around[:here]), *reversed(after)):
        if wanted.isdisjoint(one.use.written):
            continue
        if one.kind != "integer":
            return None
        if one.instruction.name not in _UNPACKING:
            return one
        wanted = one.use.inputs
    return None


def _added(evidence: Evidence, instead: Mapping[Site, Mapping[str, float]]) -> dict[str, float]:
    """Returns the work that replacements add to units, as negative parts of these units' work."""
    busy = evidence.model.busy
    added = {}
    for unit, cycles in CYCLES.items():
        more = sum(others.get(unit, 0.0) * site.executed for site, others in instead.items())
        if more and busy.get(unit):
            added[unit] = -cycles * busy.get(ISSUE, 0.0) * more / evidence.executed / busy[unit]
    return added


def _is_of_round_trip(evidence: Evidence, site: Site) -> bool:
    """Returns whether a conversion's input is the result of another, or its result the input of another."""
    sites = evidence.by_function[site.function]
    here = sites.index(site)
    read, written = site.use.inputs, set(site.use.written)
    before = (one for one in reversed(sites[max(0, here - NEAR) : here]) if read & set(one.use.written))
    after = (one for one in sites[here + 1 : here + 1 + NEAR] if written & one.use.inputs)
    return any(
        one is not None and one.kind == "conversion" for one in (next(before, None), next(after, None))
    )


def detect_fp64(evidence: Evidence) -> Iterable[Candidate]:
    """Names double-precision arithmetic, with the conversions and moves that serve it."""
    if not evidence.sites:
        yield from _busiest_with_doubles(evidence)
        return
    of_angles = _find_reductions(evidence)
    sites = [site for site in evidence.of("fp64") if site not in of_angles]
    if not sites:
        return
    converting = [site for site in sites if site.opcode.startswith(("F2F", "I2F", "F2I"))]
    # One instruction in single precision replaces one in double. Conversions go, and so do moves of constants: a double takes two
    # of them, and a float would be a part of the instruction. What refines a function's first guess goes as well.
    fractions = dict.fromkeys(sites, 0.0) | dict.fromkeys([*converting, *_moving_for_fp64(evidence)], 1.0)
    refining = find_spared_by_floats(evidence)
    fractions |= {site: max(part, fractions.get(site, 0.0)) for site, part in refining.items()}
    fewer = evidence.without(fractions)
    share, busy = 100 * evidence.share_executed(sites), 100 * evidence.model.busy.get("fp64", 0.0)
    of_floats = [site for site in converting if site.opcode.startswith((_WIDENED, _FROM_DOUBLE))]
    widened = [
        site for site in of_floats if site.opcode.startswith(_WIDENED) and not _is_of_double(evidence, site)
    ]
    said = f"{whole_percent(share)} % of the executed instructions work in double precision, and keep the units for doubles busy for {whole_percent(busy)} % of the time"
    # If more other instructions go than there are doubles, these alone do not explain what is saved.
    going = 100 * fewer.resources.get(ISSUE, 0.0)
    if going - share >= share:
        said += f"; without doubles, {whole_percent(going)} % of all instructions would go, such as those of conversions and divisions"
    said += "."
    becoming_floats = _become_floats(evidence, converting)
    integers = [
        site
        for site in converting
        if site.opcode.startswith(_FROM_INTEGER_TO_DOUBLE) and not _is_of_double(evidence, site)
    ]
    if sum(site.executed for site in integers) > sum(site.executed for site in widened):
        widened = []
    if widened or evidence.share_executed(integers) > _SOME * evidence.share_executed(sites):
        converted = 100 * _busy_converting(evidence, converting)
        said += (
            " Values are converted from float for it"
            if widened
            else " Integers are converted to doubles for it"
        )
        if converted > busy:
            said += f", which keeps the special-function units busy for {whole_percent(converted)} %"
        said += "." if widened else "; floats hold all of them exactly only up to 2^24."
    if becoming_floats and not widened:
        said += " The results are converted to float."
    words, warps = evidence.words, _more_warps(evidence, sites)
    called = {*find_called_doubles(evidence)}
    differences = find_differences(evidence, (site for site in sites if site not in called))
    enough = _NOT_ENOUGH if differences else SINGLE_IS_ENOUGH
    advice = words.without_doubles
    if widened or becoming_floats:
        named = _name_doubles(sites, of_floats) if words.find_named_doubles else ""
        advice = (words.find_named_doubles.format(named) if named else words.find_doubles) or advice
    if warps >= WORTH_SAYING:
        said += f" A double takes two registers: without doubles, an SM would hold {warps:.2g} times as many warps."
    yield Candidate(
        "fp64-arithmetic",
        said,
        advice.replace(SINGLE_IS_ENOUGH, enough),
        Effect(
            {**fewer.resources, "fp64": 1.0},
            evidence.waiting_for(fractions | dict.fromkeys(sites, 1.0)),
            warps=warps,
        ),
        {site: site.executed for site in sites},
        {
            "fp64_instructions_pct": share,
            "fp64_busy_pct": busy,
            IN_ANY_FUNCTIONS: _percent_in_functions(evidence, sites, find_inlined_doubles(evidence)),
            # Where values become doubles or floats on the way, some doubles may be there by mistake.
            CONVERTING_FLOATS: 100 * evidence.share_executed(of_floats),
        }
        | (
            {LOADED_DIFFERENCES: float(len(differences))}
            if are_of_loaded_doubles(evidence, differences)
            else {}
        ),
        in_triton=IN_TRITON["fp64-arithmetic"].replace(SINGLE_IS_ENOUGH, enough),
    )


def _name_doubles(sites: Iterable[Site], converting: Iterable[Site]) -> str:
    """Returns what is written as a double on the lines that also convert floats, such as "`0.5` at kernel.cu:12", those that execute most first."""
    lines: dict[str, float] = {}
    places = {site.instruction.place for site in converting if not is_of_library(site.instruction.file or "")}
    for site in sites:
        place = site.instruction.place
        written = _WRITTEN.search((site.text or "").partition("//")[0])
        if written and place in places:
            named = f"`{written.group()}` at {place}"
            lines[named] = lines.get(named, 0.0) + site.executed
    return listed(sorted(lines, key=lambda named: -lines[named])[:_MOST_EXAMPLES])


def _become_floats(evidence: Evidence, converting: Iterable[Site]) -> bool:
    """Returns whether results become floats, and doubles are neither loaded nor stored. Then integers or constants may have become doubles."""
    sites = evidence.of("fp64")
    loaded = {one for site in sites for one in sources_of(evidence, site) if one.kind in LOADS}
    stored = {one for store in evidence.of(*STORES) for one in makers_of_value(evidence, store)}
    narrowing = {site for site in converting if site.opcode.startswith(_FROM_DOUBLE)}
    are_data = any(load.width > _OF_A_FLOAT for load in loaded) or not stored.isdisjoint({*sites} - narrowing)
    return bool(narrowing) and not are_data


def _percent_in_functions(evidence: Evidence, sites: Iterable[Site], in_line: Mapping[Site, float]) -> float:
    """Returns how many per cent of these executions are in functions.

    That includes functions that the compiler calls, such as a power, and the parts `in_line` of those that it inlines.
    """
    called = dict.fromkeys((site for one in find_compiler_functions(evidence) for site in one.sites), 1.0)
    parts = {**in_line, **called}
    executed = {site: site.executed for site in sites}
    within = sum(times * parts.get(site, 0.0) for site, times in executed.items())
    return 100 * within / (sum(executed.values()) or 1.0)


def _busy_converting(evidence: Evidence, converting: Sequence[Site]) -> float:
    """Returns for which part of the time the special-function units convert from and to double precision."""
    part = evidence.without(dict.fromkeys(converting, 1.0)).resources.get("xu", 0.0)
    return part * evidence.model.busy.get("xu", 0.0)


def _is_of_double(evidence: Evidence, site: Site) -> bool:
    """Returns whether what becomes a double was made from a double, as inside the exponential that erf of doubles takes, or to round it."""

    def makers(one: Site) -> list[Site]:
        return [] if one.kind in ACCESSES or one.opcode.startswith(_OF_DOUBLES) else sources_of(evidence, one)

    return any(one.opcode.startswith(_OF_DOUBLES) for one in reach([site], makers))


def _busiest_with_doubles(evidence: Evidence) -> Iterable[Candidate]:
    """Names double precision if no instructions are recorded, and its pipe is busier than all else and works for most of the time."""
    units = evidence.model.busy
    busy = units.get("fp64", 0.0)
    if busy > _MOST and busy == max(units.values()):
        yield Candidate(
            "fp64-arithmetic",
            f"Double precision keeps the units for doubles busy for {whole_percent(100 * busy)} % of the time.",
            evidence.words.look_for_doubles or evidence.words.without_doubles,
            Effect({"fp64": 1.0}),
            evidence={"fp64_busy_pct": 100 * busy},
        )


def _find_reductions(evidence: Evidence) -> set[Site]:
    """Returns the double-precision instructions in sines and cosines of floats: they scale a large angle, reduced to an integer of 64 bits."""
    lines = {site.source_line for site in evidence.of("fp32") if _QUARTERS in site.instruction.text}
    found: set[Site] = set()
    for site in evidence.of("fp64"):
        if site.source_line in lines and (
            site.opcode.startswith(_FROM_REDUCED) or not found.isdisjoint(sources_of(evidence, site))
        ):
            found.add(site)
    return found


def _moving_for_fp64(evidence: Evidence) -> list[Site]:
    """Returns the moves whose result is an operand of arithmetic in double precision, or the upper half of one."""
    found = []
    for sites in evidence.by_function.values():
        for index, site in enumerate(sites):
            if not is_move(site.instruction):
                continue
            written = set(site.use.written)
            for one in sites[index + 1 : index + 1 + NEAR]:
                read = one.use.inputs
                if one.kind == "fp64" and written & read:
                    found.append(site)
                    break
                if written & read:
                    break
    return found


def _more_warps(evidence: Evidence, sites: Iterable[Site]) -> float:
    """Returns how many times as many warps fit if no value is a pair of registers, where registers limit them."""
    pairs = {
        register
        for site in sites
        if site.instruction.name in _ARITHMETIC
        for operand in site.instruction.operands
        if (register := register_of(operand))
    }
    return warps_without(evidence, len(pairs))
