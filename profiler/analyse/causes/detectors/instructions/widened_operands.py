"""Detects products of matrices whose operands keep them from the full rate of tensor cores: floats that were made of halves, and whole floats."""

from __future__ import annotations

import re
from collections.abc import Iterable

from profiler.analyse.causes.detectors.candidate import PASSES_OF_WIDEST, Candidate
from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.latency import FOR_SHARED_MEMORY, Effect
from profiler.analyse.causes.evidence.sites import Site
from profiler.analyse.causes.flow.arithmetic.dots_of_floats import find_dots_of_floats
from profiler.analyse.causes.flow.arithmetic.products_of_halves import becomes_float
from profiler.analyse.causes.flow.dataflow import makers_of_value, makers_since_access, sources_of
from profiler.analyse.causes.words.triton import FOR_TENSOR_CORES
from profiler.text import whole_percent

_OF_FLOATS, _OF_BYTES = "TF32", re.compile(r"\.E(4M3|5M2)")
_HALF = 0.5  # of the time of a product and of the bytes that are stored for it
# The smallest product of tensor cores on floats (TF32), of 16 x 8 x 8, makes 1,024 multiply-adds: a warp needs 32 instructions for these.
# It takes six registers of factors in each lane, which one and a half loads of 16 bytes bring.
_FMAS_OF_A_PRODUCT, _LOADS_OF_A_PRODUCT = 32, 1.5


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
    # What has 8 bits becomes a half before it becomes a float.
    are_bytes = any(_OF_BYTES.search(one.opcode) for site in converting for one in sources_of(evidence, site))
    narrow, halves = (
        ("numbers of 8 bits", "Convert them to halves, which hold them exactly,")
        if are_bytes
        else ("halves", "Multiply the halves as they are,")
    )
    scale_after = "A factor of a row or a column of an operand can be applied to the result."
    yield Candidate(
        "type-conversions",
        f"Tensor cores multiply floats (TF32) that were made of {narrow}: at half the rate of halves, after a conversion.",
        f"{halves} with the other operand in 16 bits too. {scale_after}",
        evidence.without({**spared, **dict.fromkeys(products, _HALF)}),
        {site: site.executed for site in converting},
        {"widened_pct": 100 * evidence.share_executed(converting)},
        in_triton=f"Give `tl.dot` two operands of 16 bits ({'' if are_bytes else 'halves as they were loaded, or '}`.to(tl.float16)`). {scale_after}",
    )


def _count_bytes(stores: Iterable[Site]) -> float:
    """Returns how much the shared stores among these instructions store."""
    return sum(one.executed * one.width for one in stores if one.kind == "shared store")


def detect_dots_of_floats(evidence: Evidence) -> Iterable[Candidate]:
    """Names products of matrices in Triton that threads compute by single multiply-adds. Other values of a product may stay in registers."""
    products = find_dots_of_floats(evidence)
    if not products:
        return
    loads = dict.fromkeys(load for of_product in products.values() for load in of_product)
    by_tensor_cores = sum(site.executed for site in products) / _FMAS_OF_A_PRODUCT
    needed = _LOADS_OF_A_PRODUCT * by_tensor_cores
    spared = dict.fromkeys(products, 1 - 1 / _FMAS_OF_A_PRODUCT) | dict.fromkeys(
        loads, max(0.0, 1 - needed / sum(load.executed for load in loads))
    )
    passes = sum(load.passes or 0.0 for load in loads)
    lighter = dict.fromkeys(loads, max(0.0, 1 - needed * PASSES_OF_WIDEST / passes) if passes else 0.0)
    fewer = evidence.without(spared)
    share, busy = 100 * evidence.share_executed(products), 100 * evidence.model.busy.get("tensor", 0.0)
    yield Candidate(
        "spelled-out-instructions",
        f"{whole_percent(share)} % of the executed instructions are single multiply-adds of `tl.dot`, whose operands are floats: one instruction of the tensor cores, "
        f"which are used {whole_percent(busy)} % of the time, would replace {_FMAS_OF_A_PRODUCT} of them or more.",
        FOR_TENSOR_CORES,
        Effect(
            {**fewer.resources, "l1": evidence.part_of_l1(spared | lighter)},
            fewer.waits,
            lighter=evidence.waiting_for(lighter, *FOR_SHARED_MEMORY),
        ),
        {site: site.executed for site in products},
        {"dot_of_floats_pct": share, "tensor_pct": busy},
        in_triton=FOR_TENSOR_CORES,
        fact=FOR_TENSOR_CORES,
    )
