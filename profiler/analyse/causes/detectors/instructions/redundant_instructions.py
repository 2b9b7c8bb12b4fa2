"""Detects arithmetic that a loop repeats, and products that the addition after them could include."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import product
from math import prod

from profiler.analyse.causes.detectors.candidate import EIGHTFOLD, Candidate
from profiler.analyse.causes.detectors.instructions.powers import find_powers
from profiler.analyse.causes.evidence.blocks_of_sm import left_of_blocks
from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.sites import ARITHMETIC, Site
from profiler.analyse.causes.flow.arithmetic.divisions import find_dividing
from profiler.analyse.causes.flow.arithmetic.repeated_in_blocks import find_repeated_in_blocks
from profiler.analyse.causes.flow.arithmetic.repeated_in_turns import (
    find_repeated_by_inner_loops,
    find_steady_arithmetic,
)
from profiler.analyse.causes.flow.block_sharing import find_grid_independent
from profiler.analyse.causes.flow.dataflow import (
    COMPUTED,
    NEAR,
    OF_BLOCK,
    reach,
    readers_behind,
    readers_of,
    sources_of,
    uses_of,
)
from profiler.analyse.causes.flow.lane_values import find_differing_in_block
from profiler.analyse.code.opcodes import JUMPS_BY_REGISTER
from profiler.text import listed, whole_percent, without_capital

_ADDITIONS = {
    "FMUL": "FADD",
    "DMUL": "DADD",
    "HMUL2": "HADD2",
}  # by the product that a multiply-add would include
_RECIPROCAL = "MUFU.RCP"
_NEARLY_ALL = 0.9  # of the warps: the last blocks of a grid may lie past the end of the data
# Special registers that hold the same in every block, and the block's index, which is looked for by itself.
_ALIKE_IN_BLOCKS = ("SR_TID", "SR_LANEID", "SR_NTID", "MASK", "SRZ", OF_BLOCK)
# A block's number in its cluster, and the bit of an address from which on it says whose shared memory is meant.
_IN_CLUSTER, _WHOSE_SHARED = "SR_CgaCtaId", "0x18"
_BULK_REDUCTIONS = ("UBLKRED", "UTMAREDG")
_SHARED_OUT = "All threads of a block compute them alike: let each compute a part of them, and pass the results on through shared memory. Or "
# What a loop needs to make its result. Outside of loops, loads stay: the lookup of the result takes the place of one.
_GOING_WITH_A_LOOP = ("integer", "other", "control", "global load")


def detect_redundant_instructions(evidence: Evidence) -> Iterable[Candidate]:
    """Names arithmetic that loops repeat with the same inputs, and products that the addition after them could include."""
    # No statement computes the reciprocal in a division of integers: integer-overhead names it.
    of_integers = set(find_dividing(evidence))
    steady = find_steady_arithmetic(evidence).items()
    repeated = {site: part for site, part in steady if site not in of_integers}
    inner = find_repeated_by_inner_loops(evidence).items()
    by_inner = {site: part for site, part in inner if site not in of_integers and site not in repeated}
    unfused = dict.fromkeys(_unfused(evidence), 0.5)
    for fractions, sentence, advice, in_triton in (
        (repeated, *_say_what_repeats(evidence, repeated), ""),
        (
            by_inner,
            "An inner loop computes the same values in each turn of the loop around it.",
            "Compute them once before the outer loop, into a small array (with both loops unrolled, so that it stays in registers).",
            "",
        ),
        (
            find_powers(evidence),
            "A loop multiplies a value by the same factor again and again, from the start in each turn of the loop around it.",
            "Go on from the power of the turn before (`power *= x`, one multiplication a turn), or add up from the highest power down (Horner's "
            "scheme).",
            "",
        ),
        (
            unfused,
            "Products are rounded and then added by a second instruction, where one multiply-add would do both.",
            evidence.words.fuse,
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


def _say_what_repeats(evidence: Evidence, repeated: Mapping[Site, float]) -> tuple[str, str]:
    """Returns the sentence and the advice on values that are the same in each iteration. They may be a part of what their line computes.

    A division by a value that does not change repeats the reciprocal alone.
    """
    lines: dict[str | None, float] = {}
    for site, part in repeated.items():
        line = site.instruction.place
        lines[line] = lines.get(line, 0.0) + part * site.executed
    hottest = max(lines, key=lambda line: lines[line], default=None)
    here = [site for site in evidence.of(*ARITHMETIC) if hottest and site.instruction.place == hottest]
    divides = any(site in repeated and site.opcode.startswith(_RECIPROCAL) for site in here)
    changing = any(
        site.use.written and site not in repeated and evidence.innermost_loop(site) for site in here
    )
    if not changing:
        return (
            "A loop computes the same value in every iteration from inputs that do not change.",
            "Compute it once before the loop.",
        )
    if divides:
        return (
            "A loop computes the reciprocal of a divisor anew in every iteration, from inputs that do not change.",
            "Compute it once before the loop, and multiply by it instead of dividing.",
        )
    return (
        "A loop computes some values that are the same in every iteration, because their inputs do not change.",
        "Compute these once before the loop.",
    )


def detect_computed_by_blocks(evidence: Evidence) -> Iterable[Candidate]:
    """Names what all blocks along a dimension of the grid compute alike, in a loop that is their own work otherwise, or outside of loops.

    A kernel before this one can compute it. What is unpacked is better done by fewer blocks, each of which does the work of
    several with it.
    """
    grid = evidence.shape.grid if evidence.shape else ()
    differing = find_differing_in_block(evidence)
    ways = [(axis, blocks) for axis, blocks in zip("XYZ", grid, strict=False) if blocks > 1]
    found = {
        (axis, in_loops): find_repeated_in_blocks(evidence, f"{OF_BLOCK}.{axis}", in_loops)
        for (axis, _), in_loops in product(ways, (True, False))
    }
    for (axis, blocks), in_loops in product(ways, (True, False)):
        spared, unpacking = found[axis, in_loops]
        several = min(EIGHTFOLD, 1 - left_of_blocks(evidence, 1 / blocks))
        for sites, fractions, advice in (
            (
                spared.keys(),
                {site: part * (1 - 1 / blocks) for site, part in spared.items()},
                "Compute them once into a table, in a kernel before this one, and load them from it; or let a {} take more of what needs them{}.",
            ),
            (
                unpacking,
                dict.fromkeys(unpacking, several),
                "Let a {} take more of what needs them{}; or compute them once, in a kernel before this one, and load the results.",
            ),
        ):
            if not sites:
                continue
            share = 100 * evidence.share_executed(sites)
            the = f"the {blocks:,} blocks along {axis.lower()}"
            if all(sites <= {*found[other, in_loops][0], *found[other, in_loops][1]} for other, _ in ways):
                the = f"all {' x '.join(f'{count:,}' for _, count in ways)} blocks"
            in_cuda = advice.format("block", "")
            if sites is not unpacking and differing.isdisjoint(sites):
                in_cuda = _SHARED_OUT + without_capital(in_cuda)
            yield Candidate(
                "redundant-instructions",
                f"{f'In a loop, {the}' if in_loops else the[0].upper() + the[1:]} compute the same values: {whole_percent(share)} % of the executed "
                "instructions are for these, or for what only they need.",
                in_cuda,
                evidence.without(fractions),
                {site: site.executed + evidence.charged[site].total for site in sites},
                {"blocks_alike": float(blocks), "same_in_every_block_pct": share},
                in_triton=advice.format("program", " (a larger block along this axis)"),
            )


def detect_computed_by_all(evidence: Evidence) -> Iterable[Candidate]:
    """Names what all threads of the grid compute alike, from parameters and from what all of them load from the same place.

    What computes a result last stays, because a thread looks the result up instead. Divisors of integers are left to
    `integer-overhead`.
    """
    spared = _find_made_by_all(evidence)
    if spared:
        share = 100 * evidence.share_executed(spared)
        yield Candidate(
            "redundant-instructions",
            f"All threads of the grid compute the same values: {whole_percent(share)} % of the executed instructions depend neither on the thread nor on "
            "its block.",
            "Compute them once, on the host or in a kernel before this one, and pass the results as parameters.",
            evidence.without(spared),
            {site: site.executed for site in spared},
            {"same_in_every_thread_pct": share},
        )


def detect_same_in_all_blocks(evidence: Evidence) -> Iterable[Candidate]:
    """Names a kernel whose blocks all do the same work, at all or along an axis, because none of them reads its index there.

    Blocks that read nothing of their own can only differ by what others change meanwhile, for example if they take work from a
    counter. Code without an `EXIT` is incomplete, and not judged.
    """
    texts = [site.instruction.text for site in evidence.sites]
    if (
        evidence.shape is None
        or not any("EXIT" in text for text in texts)
        or any(_may_differ(evidence, site) for site in evidence.sites)
    ):
        return
    axes = {
        axis: blocks
        for axis, blocks in zip("XYZ", evidence.shape.grid, strict=True)
        if blocks > 1 and not any(f"{OF_BLOCK}.{axis}" in text for text in texts)
    }
    if not axes:
        return
    blocks = prod(axes.values())
    every = dict.fromkeys(evidence.sites, 1 - 1 / blocks)
    along = "" if blocks == evidence.shape.blocks else f" along {listed([axis.lower() for axis in axes])}"
    share = (
        "Let each {} take a part of the work by its index ({}), and combine the parts in a second kernel or by atomics; or, where the whole is "
        "little work, launch no more than one{}."
    )
    yield Candidate(
        "redundant-instructions",
        f"The {blocks:,} blocks{along} all do the same work, because none reads its index.",
        share.format("block", evidence.words.block, along),
        evidence.without(every),
        evidence.weigh(every),
        {"blocks_alike": float(blocks)},
        in_triton=share.format("program", "`tl.program_id`", along),
    )


def _may_differ(evidence: Evidence, site: Site) -> bool:
    """Returns whether an instruction may give blocks different values, or lead to code that is not recorded.

    It may read a block's place in a cluster, an answer of others, a clock or the SM.
    """
    name, text = site.instruction.name, site.instruction.text
    if _IN_CLUSTER in text:
        return not all(_finds_own_shared(use) for use in uses_of(evidence, site))
    reads_special = name in ("S2R", "S2UR", "CS2R") and not any(one in text for one in _ALIKE_IN_BLOCKS)
    by_register = name == "CALL" and any(one.startswith("R") for one in site.instruction.operands[:1])
    is_elsewhere = by_register or name in JUMPS_BY_REGISTER or site.opcode.startswith("CALL.ABS")
    with_others = site.kind == "atomic" or name in _BULK_REDUCTIONS or ".STRONG" in site.opcode
    return reads_special or is_elsewhere or with_others


def _finds_own_shared(use: Site) -> bool:
    """Returns whether an instruction uses a block's number in its cluster only to address the block's own shared memory."""
    return use.instruction.name in ("LEA", "ULEA") and use.instruction.operands[-1] == _WHOSE_SHARED


def _find_made_by_all(evidence: Evidence) -> dict[Site, float]:
    """Returns the part that is spared of each instruction by which all warps make values alike, with the loops that make them."""
    dividing = set(find_dividing(evidence))
    alike = dict.fromkeys(
        site
        for site in find_grid_independent(evidence)
        if site not in dividing and site.executed >= _NEARLY_ALL * _executed_if_all_came(evidence, site)
    )
    making = [
        site
        for site in alike
        if site.kind in (*ARITHMETIC, *COMPUTED) and site.use.written and site.use.inputs
    ]
    results = {site for site in making if any(one not in alike for one in readers_behind(evidence, site))}
    made = reach(results, lambda site: [one for one in sources_of(evidence, site) if one in alike])
    loops = evidence.loops_around(made)
    spared = {}
    for site in alike:
        loop = evidence.innermost_loop(site)
        if (site in made and site in making) or (loop in loops and site.kind in _GOING_WITH_A_LOOP):
            turns = evidence.turns(site, loop) if loop else 1.0
            # One warp still makes the turns, and each warp looks a result up.
            spared[site] = 1 - (1 / turns if site in results else turns / site.executed)
    return {site: part for site, part in spared.items() if part > 0}


def _executed_if_all_came(evidence: Evidence, site: Site) -> float:
    """Returns how often an instruction would run if all warps of its function came to it, and made as many iterations of its loop as now."""
    loop = evidence.innermost_loop(site)
    turns = evidence.turns(site, loop) if loop else 1.0
    return turns * evidence.by_function[site.function][0].executed


def _unfused(evidence: Evidence) -> list[Site]:
    """Returns multiplications with the addition that alone uses their result. An addition takes one product in.

    A multiplication under a predicate does not count: if it is off, the addition adds another number, as when a function scales
    tiny arguments.
    """
    found: dict[Site, None] = {}
    for index, site in enumerate(evidence.sites):
        target = site.use.written
        addition = _ADDITIONS.get(site.instruction.name)
        if addition is None or not target or site.instruction.predicate:
            continue
        following = [
            one for one in evidence.sites[index + 1 : index + 1 + NEAR] if one.function == site.function
        ]
        users = list(readers_of(target[0], following))
        if len(users) != 1 or users[0] in found or not _adds(users[0], addition):
            continue
        if set(readers_of(target[0], _until_again(evidence, site))) <= set(users):
            found |= {site: None, users[0]: None}
    return list(found)


def _until_again(evidence: Evidence, site: Site) -> list[Site]:
    """Returns what a loop executes behind an instruction until it comes there again; nothing outside of loops."""
    if (loop := evidence.innermost_loop(site)) is None:
        return []
    inside = evidence.inside(loop)
    index = inside.index(site)
    return inside[index + 1 :] + inside[:index]


def _adds(site: Site, addition: str) -> bool:
    """Returns whether an instruction adds something to its value. An addition of zero does not: machine code writes absolute values so."""
    zeros = {"RZ", "-RZ"}
    return site.instruction.name == addition and zeros.isdisjoint(site.instruction.operands[1:])
