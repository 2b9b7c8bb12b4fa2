"""Detects what many instructions spell out: bits that are counted one by one, and values that are chosen by one comparison after another."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from profiler.analyse.causes.detectors.candidate import Candidate
from profiler.analyse.causes.evidence.charging import SPECIAL_LANES
from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.latency import ISSUE, Effect
from profiler.analyse.causes.evidence.sites import Site
from profiler.analyse.causes.flow.dataflow import choosers_of, reach, sources_of
from profiler.analyse.code.opcodes import SUMS, is_sum
from profiler.analyse.code.registers import register_of
from profiler.catalog.metrics import LANES
from profiler.text import whole_percent

# Bits are summed in pairs, then in fours and in bytes; a multiplication then adds up the bytes of a word. Other arithmetic does
# not need all of these masks, except for the reversal of bits, which adds nothing. The last mask is used once for each word of 32
# bits.
_MASKS = ("0x55555555", "0x33333333", "0xf0f0f0f")
_ADDS_BYTES = "0x1010101"
_ADDING = (*SUMS, "LEA", "IMAD")  # also what they shift or multiply first
_SHIFTS_AND_SUMS = (*_ADDING, "SHF", "PRMT")
# Single bits of one word that are added up. Fewer than eight of them may be flags, each with its own meaning.
_LOWEST_BIT = ("0x1", "RZ", "0xc0")  # operands of a mask that keeps only this bit
_FEWEST_BITS = 8
# A value that is looked up in a table takes a shift, a mask, an address and a load. A float of a few bits takes a shift, two masks, a sum
# and a selection.
_OF_A_LOOKUP = 5
# Choices, each of a comparison and a selection. Fewer take hardly more than two lookups.
_FEWEST_CHOICES = 8
_CONSTANT = re.compile(r"-?(0x[0-9a-f]+|\d[\d.e+-]*|RZ|c\[.*)")


def detect_spelled_out(evidence: Evidence) -> Iterable[Candidate]:
    """Names bits that are counted by several instructions for each word, where `__popc` is one."""
    masked, by_masks = _find_masks(evidence)
    shifted, by_shifts = _find_single_bits(evidence)
    sites = dict.fromkeys([*masked, *shifted])
    words = by_masks + by_shifts
    if not sites or not words:
        return
    executed = sum(site.executed for site in sites)
    how = "masks and sums" if by_masks >= by_shifts else "a shift for each bit"
    share = 100 * evidence.share_executed(sites)
    fewer = evidence.without(dict.fromkeys(sites, 1.0))
    issue = fewer.resources.get(ISSUE, 0.0) * (1 - min(1.0, words / executed))
    effect = Effect({**fewer.resources, ISSUE: issue}, fewer.waits)
    yield Candidate(
        "spelled-out-instructions",
        f"{whole_percent(share)} % of the executed instructions count the bits of words by {how}: {executed / words:.0f} instructions for each word of "
        "32 bits, where one would do.",
        f"Let the instruction count the bits: {evidence.words.count_bits}.",
        effect,
        {site: site.executed for site in sites},
        {"spelled_out_pct": share, "instructions_per_word": executed / words},
        saves=min(evidence.model.saved(effect), max(0.0, 1.0 - _time_to_count(evidence, words))),
    )


def detect_chosen_one_by_one(evidence: Evidence) -> Iterable[Candidate]:
    """Names values that are chosen by comparing a number with one constant after another, where a table has them."""
    chains = _find_choices(evidence)
    if not chains:
        return
    longest = max(chains, key=len)
    sites = {site: 1 - _OF_A_LOOKUP / len(chain) for chain in chains for site in chain}
    share = 100 * evidence.share_executed(sites)
    from_bits = "or compute it from the number's bits, as a float of 4 or 8 bits has a sign, an exponent and a mantissa to shift into place"
    yield Candidate(
        "spelled-out-instructions",
        f"{whole_percent(share)} % of the executed instructions compare a number with one constant after another, to choose a value: "
        f"{len(longest)} instructions for each, where a lookup takes about {_OF_A_LOOKUP}.",
        f"Look the value up in a table in shared memory, {from_bits}.",
        evidence.without(sites),
        {site: site.executed for site in sites},
        {"chosen_one_by_one_pct": share, "choices": len(longest) // 2},
        in_triton=f"Look the value up in a table (`tl.load(table + number)`, which L1 serves), {from_bits}.",
    )


def _find_choices(evidence: Evidence) -> list[list[Site]]:
    """Returns the comparisons and selections of each number that chooses among enough values, one comparison for each."""
    by_number: dict[object, dict[Site, Site]] = {}  # the comparison of each selection
    for selection in evidence.sites:
        if selection.instruction.name in ("SEL", "FSEL"):
            for test in choosers_of(evidence, selection):
                if _is_equality(test):
                    register = register_of(test.instruction.operands[2])
                    number = (register, *sources_of(evidence, test, {register} if register else set()))
                    by_number.setdefault(number, {})[selection] = test
    chains: list[list[Site]] = []
    for tests in by_number.values():
        chain = [
            one
            for one in tests
            if not tests.keys().isdisjoint(sources_of(evidence, one)) and _takes_a_constant(one)
        ]
        compared = {tests[one].instruction.operands[3] for one in chain}
        if len(compared) >= _FEWEST_CHOICES:
            chains.append([*chain, *{tests[one]: None for one in chain}])
    return chains


def _is_equality(test: Site) -> bool:
    """Returns whether a comparison asks if a number is one constant, whatever else holds."""
    name, *further = test.opcode.split(".")
    operands = test.instruction.operands
    asks = name == "ISETP" and not {"EQ", "NE"}.isdisjoint(further)
    return asks and operands[4:] == ("PT",) and _CONSTANT.fullmatch(operands[3]) is not None


def _takes_a_constant(selection: Site) -> bool:
    return any(map(_CONSTANT.fullmatch, selection.instruction.operands[1:3]))


def _time_to_count(evidence: Evidence, words: float) -> float:
    """Returns the share of the time that the special-function units would take to count the bits of these words."""
    cycles = evidence.find("sm_cycles")
    return words * LANES / SPECIAL_LANES / cycles if cycles else 0.0


def _find_masks(evidence: Evidence) -> tuple[list[Site], float]:
    """Returns the instructions that count bits by masks, and how many words they count."""
    found: list[Site] = []
    words = 0.0
    for sites in evidence.by_function.values():
        integers = [site for site in sites if site.kind == "integer"]
        masking = [site for site in integers if _masks_of(site)]
        if {mask for site in masking for mask in _masks_of(site)} < set(_MASKS):
            continue
        inside = dict.fromkeys([*masking, *(site for site in integers if _adds_bytes(site))])
        feeding = [one for site in inside for one in sources_of(evidence, site) if _shifts_or_adds(one)]
        reading = [
            site
            for site in integers
            if _shifts_or_adds(site) and not inside.keys().isdisjoint(sources_of(evidence, site))
        ]
        members = dict.fromkeys([*inside, *feeding, *reading])
        if any(is_sum(site.instruction) or _adds_bytes(site) for site in members):
            found += [site for site in members if site.kind == "integer"]
            words += sum(site.executed for site in masking if _MASKS[-1] in _masks_of(site))
    return found, words


def _shifts_or_adds(site: Site) -> bool:
    return site.instruction.name in _SHIFTS_AND_SUMS


def _adds_bytes(site: Site) -> bool:
    return _ADDS_BYTES in site.instruction.operands


def _masks_of(site: Site) -> set[str]:
    return {mask for mask in _MASKS if mask in site.instruction.operands}


def _find_single_bits(evidence: Evidence) -> tuple[list[Site], float]:
    """Returns the instructions that take single bits of words and add them up, and how many words they count."""
    bits: dict[object, dict[str, list[Site]]] = {}
    for site in evidence.of("integer"):
        if site.instruction.name == "LOP3" and site.instruction.operands[2:5] == _LOWEST_BIT:
            word, shift, sites = _bit_of(evidence, site)
            bits.setdefault(word, {}).setdefault(shift, []).extend(sites)
    counted = [by_shift for by_shift in bits.values() if len(by_shift) >= _FEWEST_BITS]
    if not counted:
        return [], 0.0
    taking = dict.fromkeys(site for by_shift in counted for sites in by_shift.values() for site in sites)
    adding = {
        site: None
        for site in evidence.of("integer")
        if site.instruction.name in _ADDING
        and site not in taking
        and not taking.keys().isdisjoint(sources_of(evidence, site))
    }
    # Each bit may go into a sum of its own, as when cells count their neighbours.
    together = max((_count_added(evidence, site, taking, adding) for site in adding), default=0)
    if together < _FEWEST_BITS:
        return [], 0.0
    words = sum(max(site.executed for sites in by_shift.values() for site in sites) for by_shift in counted)
    return list(taking | adding), words


def _count_added(evidence: Evidence, result: Site, bits: Collection[Site], adding: Collection[Site]) -> int:
    """Returns how many of these bits a sum has in it."""
    made_of = reach(
        [result],
        lambda one: (
            (two for two in sources_of(evidence, one) if two in adding or two in bits)
            if one in adding
            else ()
        ),
    )
    return sum(one in bits for one in made_of)


def _bit_of(evidence: Evidence, masking: Site) -> tuple[object, str, list[Site]]:
    """Returns the word whose bit a mask keeps, the number of bits of the shift to the right before, and the instructions that take the bit."""
    before = next(iter(sources_of(evidence, masking)), None)
    operands = before.instruction.operands if before else ()
    if before and before.opcode.startswith("SHF.R.") and operands[2].startswith("0x"):
        word = operands[3].removesuffix(".reuse")
        return (word, *sources_of(evidence, before)), operands[2], [before, masking]
    word = masking.instruction.operands[1].removesuffix(".reuse")
    return (word, *([before] if before else ())), "0", [masking]
