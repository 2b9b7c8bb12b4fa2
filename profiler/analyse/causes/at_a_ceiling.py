"""Says which causes are named at a ceiling, where a resource works as fast as it can: only less of its work saves time.

`expected` says which part of the time each candidate is expected to save by itself.
"""

from __future__ import annotations

from collections.abc import Mapping

from profiler.analyse.causes.cause import NOT_AT_A_CEILING
from profiler.analyse.causes.detectors.candidate import WORTH_A_CHANGE, Candidate
from profiler.analyse.causes.evidence.latency import NO_INSTRUCTION
from profiler.catalog.causes import LAST_WAVE

# Sums of the same parts in another order differ by some 1e-16. So small a part of a resource's work is none.
_ROUNDING = 1e-12


def heed_ceilings(
    best: Mapping[str, Candidate], expected: Mapping[Candidate, float], busy: Mapping[str, float]
) -> dict[str, Candidate]:
    """Returns the candidates to name, by cause. A ceiling is named if no change saves much there, and beside it only what helps."""
    named = dict(best)
    for ceiling in [one for one in best.values() if one.is_ceiling]:
        if any(_saves_much(one, ceiling, expected[one]) for one in named.values()):
            del named[ceiling.name]
        else:
            named = {name: one for name, one in named.items() if helps_at(ceiling, one, busy)}
    return named


def helps_at(ceiling: Candidate, candidate: Candidate, busy: Mapping[str, float]) -> bool:
    """Returns whether a candidate helps at a ceiling: warps wait for the full resource there, so only less of its work helps.

    Less work of another unit that is as `busy` helps, too, if there is enough of it. Such a unit is L2, whose own ceiling is higher.
    """
    as_busy = [unit for unit in busy if busy[unit] >= busy.get(ceiling.resource, 1.0)]
    less_work = _work_spared(candidate, ceiling.resource) > 0 or any(
        _work_spared(candidate, unit) >= WORTH_A_CHANGE for unit in as_busy
    )
    return candidate.is_ceiling or less_work or candidate.name == LAST_WAVE


def _saves_much(candidate: Candidate, ceiling: Candidate, expected: float) -> bool:
    """Returns whether a change saves much of the time or of the work of the resource that is at its ceiling.

    Warps wait for that resource there, except for those without an instruction: they wait for no unit, and all units idle
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
