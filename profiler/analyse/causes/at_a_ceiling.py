"""Says which causes are named at a ceiling: where a resource works as fast as it can, only less of its work saves time.

`expected` says which part of the time each candidate is expected to save by itself.
"""

from __future__ import annotations

from collections.abc import Mapping

from profiler.analyse.causes.cause import NOT_AT_A_CEILING
from profiler.analyse.causes.detectors.candidate import WORTH_A_CHANGE, Candidate
from profiler.analyse.causes.evidence.latency import NO_INSTRUCTION
from profiler.catalog.causes import LAST_WAVE

# Sums of the same parts in another order differ by some 1e-16 of them: that much of a resource's work is none.
_ROUNDING = 1e-12


def heed_ceilings(
    best: Mapping[str, Candidate], expected: Mapping[Candidate, float], busy: Mapping[str, float]
) -> dict[str, Candidate]:
    """Returns what is named, each by its cause: no ceiling of which a change saves much, and beside any other only what helps there."""
    named = dict(best)
    for ceiling in [one for one in best.values() if one.is_ceiling]:
        if any(_saves_much(one, ceiling, expected[one]) for one in named.values()):
            del named[ceiling.name]
        else:
            named = {name: one for name, one in named.items() if helps_at(ceiling, one, busy)}
    return named


def helps_at(ceiling: Candidate, candidate: Candidate, busy: Mapping[str, float]) -> bool:
    """Returns whether a candidate has its place beside a ceiling: what waits there waits for the ceiling, so that only less work would help.

    So would less work of a unit that is as `busy`, such as L2, whose own ceiling is higher: as much less as is worth a change.
    """
    as_busy = [unit for unit in busy if busy[unit] >= busy.get(ceiling.resource, 1.0)]
    less_work = _work_spared(candidate, ceiling.resource) > 0 or any(
        _work_spared(candidate, unit) >= WORTH_A_CHANGE for unit in as_busy
    )
    return candidate.is_ceiling or less_work or candidate.name == LAST_WAVE


def _saves_much(candidate: Candidate, ceiling: Candidate, expected: float) -> bool:
    """Returns whether a change saves much of the time or of the work of the resource that is at its ceiling.

    Warps that wait there wait for the ceiling, except for those without an instruction: they wait for no unit, which idles
    meanwhile.
    """
    work = _work_spared(candidate, ceiling.resource)
    by_work = candidate.saves is None and set(candidate.effect.waits) != {NO_INSTRUCTION}
    return (
        not candidate.is_ceiling
        and candidate.name != LAST_WAVE
        and max(work, expected) >= NOT_AT_A_CEILING
        and (work > 0 or not by_work)
    )


def _work_spared(candidate: Candidate, resource: str) -> float:
    spared = candidate.effect.resources.get(resource, 0.0)
    return 0.0 if abs(spared) < _ROUNDING else spared
