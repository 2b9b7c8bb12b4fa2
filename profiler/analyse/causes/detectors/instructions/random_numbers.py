"""Detects random numbers that are drawn four at a time, of which most are not used."""

from __future__ import annotations

from collections.abc import Iterable

from profiler.analyse.causes.detectors.candidate import Candidate
from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.sites import executed_parts
from profiler.analyse.causes.flow.dataflow import makers_since_access, sources_of
from profiler.text import whole_percent

# Philox 4x32-10 multiplies by these two in each of its ten rounds (Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3", 2011), and
# takes the upper and the lower halves of the products. The compiler writes the factors as negative numbers.
_FACTORS = frozenset(f"{factor - (1 << 32):#x}" for factor in (0xD2511F53, 0xCD9E8D57))
_NUMBERS = 4  # of an evaluation
# If one number is used, five of the forty halves are not needed, and the compiler may compute a few others once for all threads.
_HALVES_OF_ONE = 35
_MIXING = "LOP3"


def detect_unused_numbers(evidence: Evidence) -> Iterable[Candidate]:
    """Names evaluations of Philox of whose four numbers half or fewer are used."""
    products = [site for site in evidence.of("integer") if not _FACTORS.isdisjoint(site.instruction.operands)]
    if not products:
        return
    makers = makers_since_access(evidence, {one for site in products for one in sources_of(evidence, site)})
    halves = sum(site.executed * (2 if ".WIDE" in site.opcode else 1) for site in products)
    # Each number takes one lower half that leads to no other product, by itself or mixed with an upper half.
    used = sum(site.executed for site in products if site not in makers and ".HI" not in site.opcode)
    numbers = round(used * _HALVES_OF_ONE / halves)
    if not 1 <= numbers <= _NUMBERS / 2:
        return
    evaluating = {*products, *(site for site in makers if site.instruction.name == _MIXING)}
    share = 100 * evidence.share_executed(evaluating)
    drawn_by = "tl.rand" if numbers == 1 else "tl.randn"  # which makes one normal number of two uniform ones
    spared = dict.fromkeys(evaluating, 1 - numbers / _NUMBERS)
    yield Candidate(
        "redundant-instructions",
        f"Random numbers come four at a time, and {numbers} of the four {'is' if numbers == 1 else 'are'} used: {whole_percent(share)} % of the executed "
        "instructions are rounds of Philox.",
        f"Use all four numbers of an evaluation{evidence.words.four_numbers}: let each thread draw them for four elements, or for several uses of one.",
        evidence.without(spared),
        executed_parts(spared),
        {"numbers_used": float(numbers), "philox_pct": share},
        in_triton=f"Draw four numbers at once, by `{drawn_by}4x` in place of `{drawn_by}`: for four parts of the block, or for several uses of "
        "one element.",
    )
