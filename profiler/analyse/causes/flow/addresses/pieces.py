"""Finds out whether each block has a piece of work of its own, such as a row or a tile, or only as many elements as it has threads."""

from __future__ import annotations

import re

from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.kept import kept
from profiler.analyse.causes.evidence.sites import Site
from profiler.analyse.causes.flow.dataflow import reach, sources_of

_AXES = "XYZ"
# Where the sizes of a block lie among the parameters, up to compute capability 9.0 and since then.
_SIZES = ({"RZ", "0x0", "0x360"}, {"0x4", "0x364"}, {"0x8", "0x368"})
_PARAMETER = re.compile(r"c\[0x0\]\[(\w+)\]")
_SUMS = ("IMAD", "UIMAD", "LEA", "ULEA", "IADD3", "UIADD3", "VIADD", "LOP3")
_INDEX = "SR_CTAID.{}"
_THREAD = "SR_TID.{}"
_MOST_STEPS = 12  # from an element's index back to the index of the thread, as a bound of the search


@kept
def has_own_piece(evidence: Evidence) -> bool:
    """Returns whether a block has a piece of work that more threads alone do not make larger.

    Threads that load from shared memory work on something together. Otherwise, threads or warps whose index goes on from one block to
    the next (`blockIdx.x * blockDim.x + threadIdx.x`) have an element each, and any number of them makes a block.
    """
    if evidence.shape is None or not evidence.sites:
        return False
    return bool(evidence.of("shared load")) or not any(_counts_on(evidence, site) for site in evidence.sites)


def _counts_on(evidence: Evidence, site: Site) -> bool:
    """Returns whether an instruction adds the index of a thread to the number of threads in the blocks before its own."""
    if site.instruction.name not in _SUMS:
        return False
    makers = reach(
        [site],
        lambda one: sources_of(evidence, one) if one.kind in ("integer", "other") else [],
        most=_MOST_STEPS,
    )
    texts = [one.instruction.text for one in makers]
    size = evidence.shape.block if evidence.shape else (1, 1, 1)
    return any(
        any(_INDEX.format(axis) in text for text in texts)
        and (size[place] == 1 or any(_THREAD.format(axis) in text for text in texts))
        and any(_names_size(text, place, size[place]) for text in texts)
        for place, axis in enumerate(_AXES)
    )


def _names_size(text: str, place: int, size: int) -> bool:
    """Returns whether an instruction reads how many threads a block has along an axis, or multiplies by that or shifts by as many bits."""
    operands = re.split(r"[ ,]+", text)
    factors = {hex(size), hex(size.bit_length() - 1)} if size & (size - 1) == 0 else {hex(size)}
    return not factors.isdisjoint(operands) or not _SIZES[place].isdisjoint(_PARAMETER.findall(text))
