"""Detects causes in what is executed: instructions that a kernel could do without."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from profiler.analyse.causes.detectors.candidate import Candidate
from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.sites import ACCESSES, Kind, Site
from profiler.analyse.causes.flow.dataflow import find_address_work, readers_of
from profiler.analyse.code.lasting_functions import lasting_function
from profiler.analyse.code.registers import inputs_of, written_registers

# An address takes about two integer instructions for each access (a multiply-add and a carry); a loop one to count.
_INTEGERS_PER_ACCESS = 2.0
# The quotient of integers is computed by way of a float reciprocal: these convert to it and back.
_DIVISION = re.compile(r"I2F\.(U32|S32|U64|S64)?\.?RP|F2I\.FTZ\.U32\.TRUNC\.NTZ|F2I\.U64\.TRUNC")
# Integers of 8 and 16 bits are divided by a function that is called: a float holds them whole.
_NARROW_DIVISION = ("I2F.U16", "MUFU.RCP", "F2I.U32.TRUNC.NTZ")
# Instructions from the first conversion of a division to its result, as the compiler writes them; a shift and a mask replace them.
_OF_A_DIVISION = 20
_DIVIDING: tuple[Kind, ...] = ("integer", "conversion", "special")
_DIVISION_SPARED = 1 - 2 / _OF_A_DIVISION
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
# A remainder of floats first asks whether the quotient has at most 23 bits, by a multiple of the divisor's absolute value.
_OF_A_REMAINDER = re.compile(r"\|(?:\.reuse)?, 8388608$")
# Instructions on either side of a function's signature that scale its argument and its result.
_OF_A_FUNCTION = 12
_FAST_INSTRUCTIONS = 4.0  # of a fast form: scale, evaluate, scale back
# What has no fast form can only become less precise. The error of a polynomial falls by a like factor with each term, so that half of
# the terms give half of the digits, as many as the fast forms of other functions have.
_SPARE_TERMS = 1 / 2
EVALUATING: tuple[Kind, ...] = ("fp32", "special", "integer", "control", "conversion", "mio", "other")
_RESULTS: tuple[Kind, ...] = ("fp32", "special", "fp64")
_ADDITIONS = {
    "FMUL": "FADD",
    "DMUL": "DADD",
    "HMUL2": "HADD2",
}  # by the product that a multiply-add would include
# Instructions behind a product in which its sum is looked for: a bound of the search. Half of it and four times as much leave the
# first three causes of every kernel of the record as they are.
NEAR = 24


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
    looping = sum(part for site, part in spared.items() if evidence.innermost_loop(site))
    yield Candidate(
        "integer-overhead",
        f"{share:.0f} % of the executed instructions "
        + (
            "divide integers, compute addresses or test bounds."
            if divides
            else "compute addresses and test bounds."
        )
        + (f" There are {each:.0f} instructions for each access to memory." if accesses else ""),
        _INTEGER_ADVICE[divides, 2 * looping >= sum(spared.values())],
        evidence.without(fractions),
        spared,
        {"address_instructions_pct": share} | ({"instructions_per_access": each} if accesses else {}),
        in_triton="Take // and % of sizes that are known at run time out of the block: let programs be rows (`tl.program_id`) instead of "
        "dividing each index, make sizes `tl.constexpr`, and use 32-bit offsets where they suffice."
        if _costs_most(spared, dividing)
        else "Compute offsets once, before the loop, and advance them; make strides and sizes `tl.constexpr` where they are fixed, leave out "
        "masks that are always true, and use 32-bit offsets where they suffice.",
    )


def find_spare_addresses(evidence: Evidence) -> dict[Site, float]:
    """Returns the part of the work on addresses, and of the tests of bounds, beyond what accesses to memory need."""
    accesses = sum(site.executed for site in evidence.of(*ACCESSES))
    wanted = {site for site in find_address_work(evidence) if site.kind == "integer"} | set(_tests(evidence))
    # In the order of the code: sets are in none.
    finding = [site for site in evidence.sites if site in wanted]
    count = sum(site.executed for site in finding)
    spare = max(0.0, 1 - _INTEGERS_PER_ACCESS * accesses / count) if count else 0.0
    return dict.fromkeys(finding, spare)


_INTEGER_ADVICE = {  # whether most of the work divides, and whether most of it is in a loop
    (True, True): "Take divisions and remainders out of the loop, or use constants and powers of two (shifts and masks).",
    (True, False): "Let the grid and the block give the indices, a dimension for each, instead of dividing; or divide by constants and powers of "
    "two (shifts and masks), or by a multiplication and a shift that the host prepares for the divisor.",
    (False, True): "Compute addresses once and count them up, use 32-bit indices, and unroll so that offsets become constants.",
    (False, False): "Let each thread take several elements, whose addresses differ by constants and whose bounds it tests once, and use 32-bit "
    "indices.",
}  # fmt: skip


def _costs_most(spared: Mapping[Site, float], some: Iterable[Site]) -> bool:
    """Returns whether the line that spares most is one of these."""
    lines: dict[object, float] = {}
    for site, part in spared.items():
        lines[site.instruction.place] = lines.get(site.instruction.place, 0.0) + part
    return max(lines, key=lambda line: lines[line]) in {site.instruction.place for site in some}


def find_dividing(evidence: Evidence) -> list[Site]:
    """Returns the instructions that divide integers: those of the source line, those of the called function, or those near the conversion.

    An instruction that runs more often than the conversion on the same line is no part of the division: for
    example, the test of a loop.
    """
    found = {site for sites in _called(evidence) if _divides(sites) for site in sites}
    divisions: dict[str, float] = {}  # by source line
    for sites in evidence.by_function.values():
        for index, site in enumerate(sites):
            if not _DIVISION.match(site.opcode):
                continue
            if line := site.instruction.place:
                divisions[line] = max(site.executed, divisions.get(line, 0.0))
            else:
                near = sites[index : index + _OF_A_DIVISION]
                found.update(one for one in near if one.kind in _DIVIDING)
    return [
        site
        for site in evidence.sites
        if site in found
        or (site.kind in _DIVIDING and site.executed <= divisions.get(site.instruction.place or "", 0.0))
    ]


def _divides(function: Sequence[Site]) -> bool:
    """Returns whether a called function divides integers."""
    return any(_DIVISION.match(site.opcode) for site in function) or all(
        any(site.opcode.startswith(part) for site in function) for part in _NARROW_DIVISION
    )


def _tests(evidence: Evidence) -> list[Site]:
    """Returns the comparisons of integers: tests of bounds and of the loop's end. Minima may be the result itself, as in a network that sorts."""
    return [site for site in evidence.of("integer") if site.instruction.name == "ISETP"]


def detect_redundant_instructions(evidence: Evidence) -> Iterable[Candidate]:
    """Names arithmetic that a loop repeats with the same inputs, and products that the addition after them could include."""
    repeated = dict.fromkeys(_invariant(evidence), 1.0)
    unfused = dict.fromkeys(_unfused(evidence), 0.5)
    for fractions, sentence, advice, in_triton in (
        (
            repeated,
            "A loop computes the same value in every iteration from inputs that do not change.",
            "Compute it once before the loop.",
            "",
        ),
        (
            unfused,
            "Products are rounded and then added by a second instruction, where one multiply-add would do both.",
            "Let the compiler fuse them (`-fmad=true`, no `__fmul_rn`), or write `fmaf(a, b, c)`.",
            "Let the compiler fuse them (`enable_fp_fusion`, as it is by default), or write `tl.fma(a, b, c)`.",
        ),
    ):
        if fractions:
            yield Candidate(
                "redundant-instructions",
                sentence,
                advice,
                evidence.without(fractions),
                {site: site.executed for site in fractions},
                in_triton=in_triton,
            )


def _invariant(evidence: Evidence) -> list[Site]:
    """Returns the arithmetic of loops whose inputs do not change in them."""
    repeated: list[Site] = []
    for loop in (loop for loops in evidence.loops.values() for loop in loops):
        inside = evidence.inside(loop)
        changed = {register for site in inside for register in written_registers(site.instruction)}
        repeated += [
            site
            for site in inside
            # Nothing keeps the result of a test: compilers have few predicates, and make it again.
            if site.kind in ("fp32", "fp64", "special") and written_registers(site.instruction)
            if (read := inputs_of(site.instruction)) and read.isdisjoint(changed)
        ]
    return repeated


def _unfused(evidence: Evidence) -> list[Site]:
    """Returns pairs of a multiplication and the addition that alone uses its result. An addition takes one product in."""
    found: dict[Site, None] = {}
    for index, site in enumerate(evidence.sites):
        target = written_registers(site.instruction)
        addition = _ADDITIONS.get(site.instruction.name)
        if addition is None or not target:
            continue
        following = [
            one for one in evidence.sites[index + 1 : index + 1 + NEAR] if one.function == site.function
        ]
        users = readers_of(target[0], following)
        if len(users) == 1 and users[0] not in found and _adds(users[0], addition):
            found |= {site: None, users[0]: None}
    return list(found)


def _adds(site: Site, addition: str) -> bool:
    """Returns whether an instruction adds to its value: an absolute value is written as an addition of zero."""
    zeros = {"RZ", "-RZ"}
    return site.instruction.name == addition and zeros.isdisjoint(site.instruction.operands[1:])


def detect_special_functions(evidence: Evidence) -> Iterable[Candidate]:
    """Names functions that take many instructions each: precise divisions and roots, powers, exponentials, trigonometry."""
    slow_paths = (sites for sites in _called(evidence) if not _divides(sites))
    fractions: dict[Site, float] = dict.fromkeys((site for sites in slow_paths for site in sites), 1.0)
    fractions = find_spare(evidence, _evaluates, EVALUATING, of_floats=True) | fractions
    busy = evidence.model.busy.get("xu", 0.0)
    if not any(fractions.values()):
        return
    share = 100 * evidence.share_executed(fractions)
    spared = {site: part * site.executed for site, part in fractions.items()}
    lasting = {site: function.name for site in fractions if (function := lasting_function(site.instruction))}
    places = {site.instruction.place for site in lasting}
    names = ", ".join(sorted(set(lasting.values())))
    lasts = 2 * sum(part for site, part in spared.items() if site.instruction.place in places) > sum(
        spared.values()
    )
    yield Candidate(
        "special-functions",
        f"{share:.0f} % of the executed instructions evaluate divisions, roots or functions; the special-function units are busy for "
        f"{100 * busy:.0f} % of the time." + (f" There is no fast form of {names}." if names else ""),
        _LASTING_ADVICE
        if lasts
        else "Use the fast forms (`__expf`, `__logf`, `__sinf`, `__fdividef`, `rsqrtf`, or `-use_fast_math`), multiply instead of dividing and of "
        "powf, or look values up.",
        evidence.without(fractions),
        spared,
        {"special_pct": share, "special_busy_pct": 100 * busy},
        in_triton=_LASTING_ADVICE if lasts else "",
    )


_LASTING_ADVICE = (
    "Evaluate a polynomial of your own with as many terms as the result needs (half of the terms give half of the digits), evaluate it less "
    "often, or look values up."
)


def _evaluates(site: Site) -> bool:
    if site.opcode.startswith(_FUNCTIONS):
        return True
    text = site.instruction.text
    if _is_tested(site) or _OF_A_REMAINDER.search(text):
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
    """What functions without a fast form execute on a line: `terms` of the `instructions` are those of polynomials."""

    instructions: float = 0.0
    signs: float = 0.0
    terms: float = 0.0


def _find_lasting(group: Sequence[Site]) -> _Lasting:
    known = [(site.executed, one) for site in group if (one := lasting_function(site.instruction))]
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


def _called(evidence: Evidence) -> list[list[Site]]:
    """Returns the functions behind a kernel's last EXIT: the slow paths of precise functions, and 64-bit divisions."""
    found: list[list[Site]] = []
    for sites in evidence.by_function.values():
        if any(site.opcode.startswith("CALL.REL") for site in sites):
            last = max(
                (index for index, site in enumerate(sites) if site.instruction.name == "EXIT"),
                default=len(sites),
            )
            found.append([])
            for site in sites[last + 1 :]:
                found[-1].append(site)
                if site.instruction.name == "RET":
                    found.append([])
    return found
