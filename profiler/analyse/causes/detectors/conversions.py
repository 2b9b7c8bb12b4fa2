"""Detects conversions between types, and what takes their place where a value cannot be of one type from the start."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from profiler.analyse.causes.detectors.candidate import CYCLES, Candidate
from profiler.analyse.causes.detectors.instructions import NEAR, find_dividing, sources_read
from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.latency import ISSUE, Effect
from profiler.analyse.causes.evidence.sites import Site
from profiler.analyse.code.registers import written_registers

_FROM_INTEGER = ("I2F.", "I2FP.")
_SUMS = ("IADD3", "VIADD", "UIADD3", "IMAD.IADD")
_UNPACKING = ("PRMT", "SHF", "LOP3", "SGXT")  # bytes of a loaded word


def detect_conversions(evidence: Evidence) -> Iterable[Candidate]:
    """Names conversions between types, except those that are a part of dividing integers."""
    dividing = find_dividing(evidence)
    sites = [site for site in evidence.of("conversion") if site not in dividing]
    if sites:
        share, waiting = 100 * evidence.share_executed(sites), 100 * evidence.time_of(sites)
        fewer = evidence.without(dict.fromkeys(sites, 1.0))
        instead = {site: others for site in sites if (others := _instead_of(evidence, site))}
        fewer_issued = {site: 1.0 - sum(instead.get(site, {}).values()) for site in sites}
        issue = evidence.without(fewer_issued).resources.get("issue", 0.0)
        yield Candidate(
            "type-conversions",
            f"{share:.3g} % of the executed instructions convert between types, and warps spend {waiting:.0f} % of their time waiting for them.",
            "Convert once, outside of the loop, and keep the value in one type.",
            Effect({**fewer.resources, **_added(evidence, instead), "issue": issue}, fewer.waits),
            {site: site.executed for site in sites},
            {"conversions_pct": share, "waiting_pct": waiting},
        )


def _instead_of(evidence: Evidence, site: Site) -> Mapping[str, float]:
    """Returns which instructions take the place of a conversion that cannot be moved out of the loop, by their unit.

    A value that is converted and converted back is rounded on purpose; adding a large number does the same.
    An integer sum that is computed anew each time could be a sum of floats: one addition. For any other
    integer, one instruction moves the bits to a float's fraction, and another one sets its exponent.
    """
    if _is_of_round_trip(evidence, site):
        return {"fma": 1.0}
    if not site.opcode.startswith(_FROM_INTEGER) or not (made_by := _made_by(evidence, site)):
        return {}
    return {"fma": 1.0} if made_by.opcode.startswith(_SUMS) else {"alu": 2.0}


def _made_by(evidence: Evidence, site: Site) -> Site | None:
    """Returns the integer arithmetic that computes what is converted; None for what was loaded, which could be stored as a float."""
    around = evidence.around(site)
    here = around.index(site)
    after = around[here + 1 :] if evidence.innermost_loop(site) else []
    wanted = sources_read(site)
    for one in (*reversed(around[:here]), *reversed(after)):
        if wanted.isdisjoint(written_registers(one.instruction)):
            continue
        if one.kind != "integer":
            return None
        if one.instruction.name not in _UNPACKING:
            return one
        wanted = sources_read(one)
    return None


def _added(evidence: Evidence, instead: Mapping[Site, Mapping[str, float]]) -> dict[str, float]:
    """Returns the work that is added to units, as a negative part of the work that is taken off them."""
    busy = evidence.model.busy
    added = {}
    for unit, cycles in CYCLES.items():
        more = sum(others.get(unit, 0.0) * site.executed for site, others in instead.items())
        if more and busy.get(unit):
            added[unit] = -cycles * busy.get(ISSUE, 0.0) * more / evidence.executed / busy[unit]
    return added


def _is_of_round_trip(evidence: Evidence, site: Site) -> bool:
    """Returns whether a conversion's input is the result of another, or its result the input of another."""
    sites = evidence.by_function[site.function]
    here = sites.index(site)
    read, written = sources_read(site), set(written_registers(site.instruction))
    before = (
        one
        for one in reversed(sites[max(0, here - NEAR) : here])
        if read & set(written_registers(one.instruction))
    )
    after = (one for one in sites[here + 1 : here + 1 + NEAR] if written & sources_read(one))
    return any(
        one is not None and one.kind == "conversion" for one in (next(before, None), next(after, None))
    )
