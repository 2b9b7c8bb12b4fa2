"""Detects integer arithmetic that only finds data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set

from profiler.analyse.causes.detectors.candidate import WORTH_A_CHANGE, Candidate
from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.kept import kept
from profiler.analyse.causes.evidence.sites import ACCESSES, Kind, Site
from profiler.analyse.causes.flow.arithmetic.compiler_functions import find_calls
from profiler.analyse.causes.flow.arithmetic.divisions import (
    OF_A_DIVISION,
    find_dividing,
    find_dividing_64_bits,
    find_turn_counts,
    find_users_of_quotients,
)
from profiler.analyse.causes.flow.dataflow import choosers_of, find_address_work, reach, sources_of
from profiler.analyse.causes.flow.lane_values import ends_turns
from profiler.analyse.causes.flow.what_decides import compares_data
from profiler.analyse.code.math_functions.sizes import is_tested
from profiler.text import whole_percent

# An address takes about two integer instructions for each access (a multiply-add and a carry); a loop one to count.
_INTEGERS_PER_ACCESS = 2.0
_DIVISION_SPARED = 1 - 2 / OF_A_DIVISION


def detect_integer_overhead(evidence: Evidence) -> Iterable[Candidate]:
    """Names integer arithmetic that only finds data: for addresses, divisions, and tests of bounds."""
    accesses = sum(site.executed for site in evidence.of(*ACCESSES))
    dividing = find_dividing(evidence)
    fractions = find_spare_addresses(evidence) | dict.fromkeys(dividing, _DIVISION_SPARED)
    if max(fractions.values(), default=0.0) <= 0:
        return
    spared = {site: part * site.executed for site, part in fractions.items() if part}
    divides = sum(spared[site] for site in dividing) >= sum(spared.values()) / 2
    share, each = 100 * evidence.share_executed(fractions), evidence.executed / accesses if accesses else 0.0
    looping = sum(part for site, part in spared.items() if _is_in_turns(evidence, site))
    advice = _INTEGER_ADVICE[divides, 2 * looping >= sum(spared.values())]
    in_triton = _DIVIDE_ONCE_IN_TRITON if _costs_most(spared, dividing) else _COUNT_UP_IN_TRITON
    also_divides = not divides and evidence.share_executed(dividing) >= WORTH_A_CHANGE
    users = find_users_of_quotients(evidence)
    of_64_bits = [site for site in dividing if site in users]
    about_divisions, wide = "", ""
    if divides and _are_most(spared, find_turn_counts(evidence)):
        about_divisions, advice, in_triton = _COUNTS_TURNS, _KNOWN_STEP, _KNOWN_STEP_IN_TRITON
    elif divides and _are_most(spared, of_64_bits):
        about_divisions, advice = _LOST.format(_line_of(of_64_bits)), _IN_32_BITS + advice
    elif divides and _are_most(spared, find_dividing_64_bits(evidence)):
        wide, advice = " of 64 bits", _IN_32_BITS + advice
    yield Candidate(
        "integer-overhead",
        f"{whole_percent(share)} % of the executed instructions "
        + (
            f"divide integers{wide}, compute addresses or test bounds."
            if divides
            else f"compute addresses{', test bounds or divide integers' if also_divides else ' and test bounds'}."
        )
        + (f" There are {each:.0f} instructions for each access to memory." if accesses else "")
        + about_divisions,
        f"{advice.removesuffix('.')}; {_CHEAPER}" if also_divides else advice,
        evidence.without(fractions),
        spared,
        {"address_instructions_pct": share} | ({"instructions_per_access": each} if accesses else {}),
        in_triton=in_triton,
    )


def find_spare_addresses(evidence: Evidence, among: tuple[Kind, ...] = ACCESSES) -> dict[Site, float]:
    """Returns the part of the work on addresses, and of the tests of bounds, beyond what accesses of these kinds to memory need."""
    accesses = sum(site.executed for site in evidence.of(*among))
    wanted = {site for site in find_address_work(evidence) if site.kind == "integer"} | set(_tests(evidence))
    wanted -= _find_hashing(evidence)
    # In the order of the code: sets are in none.
    finding = [site for site in evidence.sites if site in wanted]
    count = sum(site.executed for site in finding)
    spare = max(0.0, 1 - _INTEGERS_PER_ACCESS * accesses / count) if count else 0.0
    return dict.fromkeys(finding, spare)


_ROTATING = ("SHF", "LEA")  # of one word twice: the bits that leave it at one end enter at the other
_LOST = (
    " The compiler keeps no source line of a division of 64 bits{}: the lines that are named use its result."
)
_IN_32_BITS = "Divide in 32 bits where the numbers fit. "
_COUNTS_TURNS = " The divisions only count the turns of loops: a compiler adds such divisions where it unrolls a loop whose step it does not know."
_KNOWN_STEP = (
    "Make the step of the loop a constant, such as a block size that is known when the kernel is compiled, or do not let the loop be "
    "unrolled (`#pragma unroll 1`)."
)
_KNOWN_STEP_IN_TRITON = (
    "Make the step of the loop `tl.constexpr`: a block size, or the number of programs, as an argument of the kernel instead of "
    "`tl.num_programs`."
)
_DIVIDE_ONCE_IN_TRITON = (
    "Take // and % of sizes that are known at run time out of the block: let programs be rows (`tl.program_id`) instead of "
    "dividing each index, make sizes `tl.constexpr`, and use 32-bit offsets where they suffice."
)
_COUNT_UP_IN_TRITON = (
    "Compute offsets once, before the loop, and advance them; make strides and sizes `tl.constexpr` where they are fixed, leave out "
    "masks that are always true, and use 32-bit offsets where they suffice."
)
_CHEAPER = "divide by constants and powers of two (shifts and masks), or by a multiplication and a shift that the host prepares for the divisor."
_INTEGER_ADVICE = {  # whether most of the work divides, and whether most of it is in a loop
    (True, True): "Divide once for several elements (such as those of a row), or let indices count up from turn to turn instead of dividing "
    f"in each; or {_CHEAPER}",
    (True, False): f"Let the grid and the block give the indices, a dimension for each, instead of dividing; or {_CHEAPER}",
    (False, True): "Compute addresses once and count them up, use 32-bit indices, and unroll so that offsets become constants.",
    (False, False): "Let each thread take several elements, whose addresses differ by constants and whose bounds it tests once, and use 32-bit "
    "indices.",
}  # fmt: skip


def _are_most(spared: Mapping[Site, float], some: Iterable[Site]) -> bool:
    """Returns whether more than half of what is spared is in these."""
    return 2 * sum(spared[site] for site in some) > sum(spared.values())


def _costs_most(spared: Mapping[Site, float], some: Iterable[Site]) -> bool:
    """Returns whether the line that spares most is one of these."""
    lines: dict[object, float] = {}
    for site, part in spared.items():
        lines[site.instruction.place] = lines.get(site.instruction.place, 0.0) + part
    return max(lines, key=lambda line: lines[line]) in {site.instruction.place for site in some}


def _line_of(dividing: Iterable[Site]) -> str:
    """Returns where the samples of divisions are: at the line that precedes most of them."""
    lines: dict[int, float] = {}
    for site in dividing:
        if site.instruction.line is not None:
            lines[site.instruction.line] = lines.get(site.instruction.line, 0.0) + site.executed
    return (
        f", and counts its time at what stands before it (line {max(lines, key=lambda line: lines[line])})"
        if lines
        else ""
    )


def _is_in_turns(evidence: Evidence, site: Site) -> bool:
    """Returns whether warps come here more than once each time that they enter a loop; to a called function, by any of its calls."""
    calls = find_calls(evidence).get(site, {site: 1.0})
    loops = ((call, evidence.innermost_loop(call)) for call in calls)
    return any(loop and evidence.turns(call, loop) > 1 for call, loop in loops)


@kept
def _find_hashing(evidence: Evidence) -> Set[Site]:
    """Returns what rotates the bits of words, and what makes these words: a hash, whose digits look up a table at its end, is no address.

    No index is computed by a rotation, which keeps the order of no elements.
    """
    rotating = [
        site
        for site in evidence.of("integer")
        if site.instruction.name in _ROTATING
        and len(operands := site.instruction.operands) > 3
        and operands[1] == operands[3]
    ]
    # Behind a loaded word begins its address.
    return reach(rotating, lambda site: () if site.kind in ACCESSES else sources_of(evidence, site))


def _tests(evidence: Evidence) -> list[Site]:
    """Returns the comparisons of integers that test bounds: those that end the turns of a loop are loop-overhead's.

    Minima may be the result itself, as in a network that sorts. A precise root tests the bits of its argument.
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
        and not any(is_tested(one.instruction) for one in sources_of(evidence, site))
    ]
