"""Detects products of tensor cores whose operands were halves and became floats before: they run at half the rate of halves."""

from __future__ import annotations

from collections.abc import Iterable

from profiler.analyse.causes.detectors.candidate import Candidate
from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.sites import Site
from profiler.analyse.causes.flow.arithmetic.products_of_halves import becomes_float
from profiler.analyse.causes.flow.dataflow import makers_of_value, makers_since_access

_OF_FLOATS = "TF32"
_HALF = 0.5  # of the time of a product and of the bytes that are stored for it


def detect_widened_operands(evidence: Evidence) -> Iterable[Candidate]:
    """Names products of floats, most of whose operands in shared memory were made of halves."""
    products = [site for site in evidence.of("tensor") if _OF_FLOATS in site.opcode]
    if not products:
        return
    spared: dict[Site, float] = {}
    stores = evidence.of("shared store")
    for store in stores:
        makers = makers_since_access(evidence, makers_of_value(evidence, store))
        widening = [one for one in makers if becomes_float(one)]
        if widening:
            # Halves that lie in shared memory already are operands as they are.
            staged = [one for one in makers if one.kind == "shared load"]
            spared |= {store: 1.0 if staged else _HALF, **dict.fromkeys((*widening, *staged), 1.0)}
    if 2 * _count_bytes(spared) <= _count_bytes(stores):
        return
    converting = [site for site in spared if becomes_float(site)]
    scale_after = "A factor of a row or a column of an operand can be applied to the result."
    yield Candidate(
        "type-conversions",
        "Tensor cores multiply floats (TF32) that were made of halves: at half the rate of halves, after a conversion and with twice the bytes in "
        "shared memory.",
        f"Multiply the halves as they are, with the other operand in 16 bits too. {scale_after}",
        evidence.without({**spared, **dict.fromkeys(products, _HALF)}),
        {site: site.executed for site in converting},
        {"widened_pct": 100 * evidence.share_executed(converting)},
        in_triton=f"Give `tl.dot` the 16-bit values as they were loaded, with the other operand in 16 bits too (`.to(tl.float16)`). {scale_after}",
    )


def _count_bytes(stores: Iterable[Site]) -> float:
    """Returns how much the shared stores among these instructions store."""
    return sum(one.executed * one.width for one in stores if one.kind == "shared store")
