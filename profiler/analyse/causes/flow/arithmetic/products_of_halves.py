"""Finds sums of products whose 16-bit factors become floats first. Tensor cores take such factors as they are, and add up floats."""

from __future__ import annotations

from collections.abc import Iterable, Set

from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.kept import kept
from profiler.analyse.causes.evidence.sites import Site
from profiler.analyse.causes.flow.dataflow import find_going_with, readers_in, sources_of
from profiler.analyse.code.registers import REGISTER

_ADDING = {"FADD", "FFMA"}


@kept
def find_products_of_halves(evidence: Evidence) -> frozenset[Site]:
    """Returns the products, with the conversions that serve nothing else."""
    found: set[Site] = set()
    for function, sites in evidence.by_function.items():
        readers = readers_in(evidence, function)
        converting = {site for site in sites if becomes_float(site)}
        products = {
            site
            for site in sites
            if _is_added_up(site, readers.get(site, []))
            and all(
                _comes_from(evidence, site, factor, converting) for factor in site.instruction.operands[1:3]
            )
        }
        found |= {*products, *find_going_with(sites, products, readers, converting)}
    return frozenset(found)


def _comes_from(evidence: Evidence, product: Site, factor: str, converting: Set[Site]) -> bool:
    made = sources_of(evidence, product, set(REGISTER.findall(factor)))
    return bool(made) and converting >= {*made}


def becomes_float(site: Site) -> bool:
    """Returns whether an instruction makes a float of a half, by adding zero, or of a bfloat16, by making it the upper half."""
    operands = site.instruction.operands
    of_half = site.opcode == "HADD2.F32" and operands[1] in ("RZ", "-RZ")
    return of_half or (site.opcode == "IMAD.U32" and operands[2:] == ("0x10000", "RZ"))


def _is_added_up(site: Site, readers: Iterable[Site]) -> bool:
    name = site.instruction.name
    return name == "FFMA" or (name == "FMUL" and {one.instruction.name for one in readers} <= _ADDING)
