"""Detects integer arithmetic that only finds data."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Set

from profiler.analyse.causes.detectors.candidate import WORTH_A_CHANGE, Candidate, are_most
from profiler.analyse.causes.detectors.waiting.instruction_cache import fits_instruction_cache
from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.sites import ACCESSES, Kind, Site, executed_parts
from profiler.analyse.causes.flow.addresses.tested import find_tested
from profiler.analyse.causes.flow.arithmetic.compiler_functions import find_calls
from profiler.analyse.causes.flow.arithmetic.divisions import (
    OF_A_DIVISION,
    find_dividing,
    find_dividing_64_bits,
)
from profiler.analyse.causes.flow.arithmetic.indexed_registers import COMPARISONS, find_indexed_registers
from profiler.analyse.causes.flow.arithmetic.mixing import find_mixing
from profiler.analyse.causes.flow.branch_conditions import compares_data
from profiler.analyse.causes.flow.dataflow import (
    address_registers,
    choosers_of,
    find_address_work,
    makers_since_access,
    reach,
    sources_of,
)
from profiler.analyse.causes.flow.lane_values import ends_turns
from profiler.analyse.code.opcodes import LOADS_OF_CONSTANTS
from profiler.text import whole_percent

# An address takes about two integer instructions for each access (a multiply-add and a carry); a loop one to count.
_INTEGERS_PER_ACCESS = 2.0
_DIVISION_SPARED = 1 - 2 / OF_A_DIVISION


def detect_integer_overhead(evidence: Evidence) -> Iterable[Candidate]:
    """Names integer arithmetic that only finds data: for addresses, divisions, and tests of bounds."""
    dividing = find_dividing(evidence)
    indexed = find_indexed_registers(evidence)
    fractions = find_spare_addresses(evidence) | dict.fromkeys(dividing, _DIVISION_SPARED)
    fractions |= {site: 1.0 for site in evidence.sites if site in indexed}
    if max(fractions.values(), default=0.0) <= 0:
        return
    spared = {site: executed for site, executed in executed_parts(fractions).items() if executed}
    share = 100 * evidence.share_executed(fractions)
    figures, each = {"address_instructions_pct": share}, ""
    if accesses := sum(site.executed for site in evidence.of(*ACCESSES)):
        figures["instructions_per_access"] = evidence.executed / accesses
        each = f" There are {evidence.executed / accesses:,.0f} instructions for each access to memory."
    weights = spared
    if are_most(spared, indexed & spared.keys()):
        what, advice = _CHOOSE_REGISTERS, _advise_on_indices(evidence, indexed)
    elif sum(spared[site] for site in dividing) >= sum(spared.values()) / 2:
        what, advice = _say_divisions(evidence, spared)
    elif choosing := _find_choosing(evidence, spared):
        narrower = f"; and {evidence.words.narrow_indices}" if _has_wide_indices(evidence) else ""
        what, advice, weights = _TEST_BOUNDS, f"{_TEST_ONCE}{narrower}.", choosing
    else:
        what, advice = _say_addresses(evidence, spared, dividing)
    yield Candidate(
        "integer-overhead",
        f"{whole_percent(share)} % of the executed instructions {what}.{each}",
        advice,
        evidence.without(fractions),
        weights,
        figures,
        in_triton=_say_in_triton(evidence, spared, dividing),
    )


def _advise_on_indices(evidence: Evidence, indexed: Set[Site]) -> str:
    """Returns how the compiler learns the indices of an array. It does not know a table of them in constant memory, even if loops are unrolled."""
    comparing = [site for site in indexed if site.instruction.name in COMPARISONS]
    is_in_table = any(
        one.instruction.name in LOADS_OF_CONSTANTS and address_registers(one.instruction)
        for one in makers_since_access(evidence, comparing)
    )
    constant = _CONSTANT_TURNS.format(evidence.words.known_number)
    return f"{constant} {_CONSTANT_TABLE}" if is_in_table else constant


def _say_divisions(evidence: Evidence, spared: Mapping[Site, float]) -> tuple[str, str]:
    """Returns what most of the instructions do, where they divide, and the advice."""
    instead = _DIVIDE_ONCE if _are_in_turns(evidence, spared) else _NO_DIVISION
    advice = (
        _COMPARE
        if _leads_across_edges(evidence)
        else f"{instead}; or {_CHEAPER.format(evidence.words.divide)}"
    )
    if are_most(spared, find_dividing_64_bits(evidence)):
        return _DIVIDE.format(" of 64 bits"), _IN_32_BITS + advice
    return _DIVIDE.format(""), advice


def _leads_across_edges(evidence: Evidence) -> bool:
    """Returns whether most divisions take the remainder of a sum, by the text of their lines.

    Such a sum is the index of a neighbour, which may lie across the edge.
    """
    calls, weights = find_calls(evidence), {True: 0.0, False: 0.0}
    for site in find_dividing(evidence):
        for call, part in calls.get(site, {site: 1.0}).items():
            if call.text:
                weights[bool(_OF_A_SUM.search(call.text))] += part * site.executed
    return weights[True] > weights[False]


def _say_addresses(
    evidence: Evidence, spared: Mapping[Site, float], dividing: Iterable[Site]
) -> tuple[str, str]:
    """Returns what most of the instructions do, where they compute addresses, and the advice."""
    words = evidence.words
    are_wide = _has_wide_indices(evidence)
    # If the code does not fit into the instruction cache now, more copies of a loop would not either.
    if _are_in_turns(evidence, spared) and fits_instruction_cache(evidence):
        advice = words.count_up if are_wide else words.count_up_narrow
    else:
        start = _COUNT_UP if _are_in_turns(evidence, spared) else _SEVERAL_ELEMENTS
        advice = f"{start}, and {words.narrow_indices}" if are_wide else start
    if evidence.share_executed(dividing) >= WORTH_A_CHANGE:
        across = _leads_across_edges(evidence)
        advice = f"{_COMPARE} {advice}." if across else f"{advice}; {_CHEAPER.format(words.divide)}"
        return "compute addresses, test bounds or divide integers", advice
    return "compute addresses and test bounds", f"{advice}."


def _has_wide_indices(evidence: Evidence) -> bool:
    """Returns whether integers of 64 bits are compared. Numba tests signed indices for being negative, however narrow they are."""
    return evidence.profile.language == "Numba" or any(
        _OF_64_BITS in site.opcode for site in evidence.of("integer")
    )


def _find_choosing(evidence: Evidence, spared: Mapping[Site, float]) -> dict[Site, float]:
    """Returns the tests of bounds that choose addresses, if most of what is spared tests bounds or computes the addresses that a test chooses.

    Numba writes such tests itself, and none where indices are unsigned. In Triton, masks are what tests bounds, and its own advice speaks of
    them. A division corrects its quotient by tests of its own.
    """
    divides = evidence.share_executed(find_dividing(evidence)) >= WORTH_A_CHANGE
    if divides or evidence.profile.language in ("Numba", "Triton"):
        return {}
    tests = frozenset(_tests(evidence))
    tested = find_tested(evidence, tests)
    are_tested = are_most(spared, (tests | tested.choosing | tested.computed) & spared.keys())
    return {site: site.executed for site in tested.choosing} if are_tested else {}


def _say_in_triton(evidence: Evidence, spared: Mapping[Site, float], dividing: Iterable[Site]) -> str:
    if _costs_most(spared, dividing):
        return _DIVIDE_ONCE_IN_TRITON
    return _COUNT_UP_IN_TRITON if _are_in_turns(evidence, spared) else _LESS_IN_TRITON


def find_spare_addresses(evidence: Evidence, among: tuple[Kind, ...] = ACCESSES) -> dict[Site, float]:
    """Returns the part of the work on addresses, and of the tests of bounds, beyond what accesses of these kinds to memory need."""
    accesses = sum(site.executed for site in evidence.of(*among))
    wanted = {site for site in find_address_work(evidence) if site.kind == "integer"} | set(_tests(evidence))
    wanted -= find_mixing(evidence)
    # In the order of the code, because sets have none.
    finding = [site for site in evidence.sites if site in wanted]
    count = sum(site.executed for site in finding)
    spare = max(0.0, 1 - _INTEGERS_PER_ACCESS * accesses / count) if count else 0.0
    return dict.fromkeys(finding, spare)


_TEST_BOUNDS = "test bounds and compute addresses, most of which a test chooses"
_TEST_ONCE = (
    "Test once for a thread or a warp whether all that it accesses lies inside, and let those inside take a path without tests, on which offsets are "
    "constants"
)
_OF_64_BITS = ".EX"  # the upper halves of two numbers are compared
_DIVIDE = "divide integers{}, compute addresses or test bounds"
_CHOOSE_REGISTERS = "find the register that an index means, one element after the other, or compute addresses"
_CONSTANT_TURNS = (
    "Let the compiler know each index of a small array: give the loops a number of turns that it knows ({}), so that it "
    "unrolls them. Then each element is a register, and nothing looks for it."
)
_CONSTANT_TABLE = "Here, a table in constant memory says the index, and the host may change it: write its numbers into the code, as constants."
_FLOATS: tuple[Kind, ...] = ("fp32", "fp64", "special", "conversion")
_IN_32_BITS = "Divide in 32 bits where the numbers fit. "
_DIVIDE_ONCE_IN_TRITON = (
    "Take // and % of sizes that are known at run time out of the block: let programs be rows (`tl.program_id`) instead of "
    "dividing each index, make sizes `tl.constexpr`, and use 32-bit offsets where they suffice."
)
_LESS_IN_TRITON = (
    "Make strides and sizes `tl.constexpr` where they are fixed, leave out masks that are always true, and use 32-bit offsets where they "
    "suffice."
)
_COUNT_UP_IN_TRITON = f"Compute offsets once, before the loop, and advance them. {_LESS_IN_TRITON}"
_CHEAPER = "{} by constants and powers of two (shifts and masks), or by a multiplication and a shift that the host prepares for the divisor."
_COMPARE = "Compare instead of taking a remainder: the index of a neighbour leaves the range by less than one length, which is then added or taken away once."
_OF_A_SUM = re.compile(r"\([^()]*[+-][^()]*\)\s*%")
_DIVIDE_ONCE = "Divide once for several elements (such as those of a row), or let indices count up from turn to turn instead of dividing in each"
_NO_DIVISION = "Let the grid and the block give the indices, a dimension for each, instead of dividing"
_COUNT_UP = "Compute addresses once and count them up"
_SEVERAL_ELEMENTS = "Let each thread take several elements, whose addresses differ by constants and whose bounds it tests once"


def _costs_most(spared: Mapping[Site, float], some: Iterable[Site]) -> bool:
    """Returns whether the line that spares most is one of these."""
    lines: dict[object, float] = {}
    for site, part in spared.items():
        lines[site.instruction.place] = lines.get(site.instruction.place, 0.0) + part
    return max(lines, key=lambda line: lines[line]) in {site.instruction.place for site in some}


def _are_in_turns(evidence: Evidence, spared: Mapping[Site, float]) -> bool:
    """Returns whether at least half of what is spared is in loops."""
    return 2 * sum(part for site, part in spared.items() if _is_in_turns(evidence, site)) >= sum(
        spared.values()
    )


def _is_in_turns(evidence: Evidence, site: Site) -> bool:
    """Returns whether warps come here more than once each time that they enter a loop; for a called function, by any of its calls."""
    calls = find_calls(evidence).get(site, {site: 1.0})
    loops = ((call, evidence.innermost_loop(call)) for call in calls)
    return any(loop and evidence.turns(call, loop) > 1 for call, loop in loops)


def _tests(evidence: Evidence) -> list[Site]:
    """Returns the comparisons of integers that test bounds.

    Those that end the iterations of a loop are left to loop-overhead. Minima do not count: they may be the result itself, as in a
    network that sorts. Precise functions, such as a root or a logarithm, test the bits of floats, which does not count either.
    """
    ending = {
        test
        for branch in evidence.of("control")
        if branch.instruction.name == "BRA" and ends_turns(evidence, branch)
        for test in choosers_of(evidence, branch)
    }
    return [
        site
        for site in evidence.of("integer")
        if site.instruction.name == "ISETP"
        and site not in ending
        and not compares_data(evidence, site)
        and not _is_of_floats(evidence, site)
    ]


def _is_of_floats(evidence: Evidence, test: Site) -> bool:
    """Returns whether a comparison of integers is of the bits of a float, which no conversion has made an integer."""
    made_of = reach([test], lambda one: sources_of(evidence, one) if one.kind in ("integer", "other") else ())
    return any(one.kind in _FLOATS and one.instruction.name != "F2I" for one in made_of)
