"""Finds the causes of a kernel's time: asks every detector, and estimates what each change would save.

A `Profile` in; a `Diagnosis` out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from math import prod

from msgspec.structs import replace

from profiler.analyse.causes.cause import UNCOUNTED, Cause, Diagnosis, Savings, Seen, where_is
from profiler.analyse.causes.detectors.candidate import NOT_AT_A_CEILING, WORTH_A_CHANGE, Candidate
from profiler.analyse.causes.detectors.every import DETECTORS, WITHOUT_COUNTERS
from profiler.analyse.causes.detectors.global_memory.atomics import add_retries
from profiler.analyse.causes.detectors.instructions.compilation import detect_unoptimised
from profiler.analyse.causes.evidence.evidence import Evidence, gather
from profiler.analyse.causes.evidence.kept import kept
from profiler.analyse.causes.evidence.latency import NO_INSTRUCTION, UNNAMED
from profiler.analyse.causes.evidence.time_model import NO_WARP
from profiler.analyse.causes.flow.addresses.arrays import add_arrays
from profiler.analyse.causes.flow.constant_lookups import add_lookups
from profiler.analyse.causes.flow.lane_values import add_shares
from profiler.analyse.causes.flow.stores_alike import add_stores_alike
from profiler.analyse.causes.from_counters import what_counters_show
from profiler.analyse.causes.nvidia_rules import find_estimates
from profiler.analyse.causes.order import in_order
from profiler.analyse.causes.places import find_places, find_signature
from profiler.analyse.causes.together import saved_together
from profiler.analyse.causes.wording import advise
from profiler.analyse.recording.profile import Profile
from profiler.catalog.causes import BY_NAME, LAST_WAVE, TOO_SHORT
from profiler.catalog.metrics import DURATION

_MOST_CAUSES = 6
# Where starting and ending a launch takes over half of it, less than 3 us are left: time for a few round trips to device memory, of
# 0.4 us each on an H200, and for instructions that no cache holds yet. Neither more blocks nor full warps shorten them.
_MOSTLY_STARTING = 0.5
_RULE = "nvidia_rule_speedup_pct"  # what a rule of Nsight Compute in the report estimates for the same cause


def find_all(profile: Profile) -> Diagnosis:
    """Returns the diagnosis of a kernel that was launched; `diagnose` calls this."""
    evidence = look_at(profile)
    unoptimised = _find_unoptimised(evidence)
    causes = unoptimised or _find_causes(evidence)
    return Diagnosis(
        causes=causes,
        unseen=_find_unseen(evidence),
        duration_ns=evidence.find(DURATION),
        launches=evidence.profile.launches,
        sees=_find_seen(evidence),
        busy=dict(evidence.model.busy),
        shown=what_counters_show(evidence),
        can_look=bool(evidence.model.busy or causes),
        others={} if unoptimised else _find_others(evidence, causes),
    )


def look_at(profile: Profile) -> Evidence:
    """Returns what the detectors look at: what is recorded, and what follows from several of its instructions at once."""
    evidence = gather(profile)
    evidence = add_lookups(evidence)  # how busy the cache of constants is, which no counter says
    evidence = add_retries(evidence)  # which loops only repeat an atomic until it succeeds
    evidence = add_stores_alike(evidence)  # how busy the slice of L2 is to which all threads store
    evidence = add_shares(evidence)  # which arithmetic lanes could share out, so that no bound counts it
    return add_arrays(evidence)  # which loads bring different data, so that a bound counts all of them


def _find_seen(evidence: Evidence) -> list[Seen]:
    held: dict[Seen, bool] = {
        "resources": bool(evidence.model.busy),
        "instructions": bool(evidence.sites),
        "accesses": evidence.has_costs,
        "waits": evidence.has_samples,
    }
    return [what for what, is_held in held.items() if is_held]


def _find_unseen(evidence: Evidence) -> list[str]:
    """Lists what the recording lacks for a full diagnosis."""
    lacking = []
    if not evidence.model.busy:
        lacking.append("how busy memory and pipes are")
    if not evidence.sites:
        lacking.append(UNCOUNTED)
    elif not evidence.has_costs:
        lacking.append("the sectors and passes of each access (estimated from totals)")
    if not evidence.has_samples and evidence.sites:
        lacking.append("where warps wait (estimated from how often instructions ran)")
    elif not evidence.has_samples:
        # Counters of all stall reasons say for what warps wait.
        is_counted = bool(evidence.model.waits.keys() - {NO_WARP, UNNAMED})
        lacking.append("at which instruction warps wait" if is_counted else "where warps wait")
    return lacking


def _find_unoptimised(evidence: Evidence) -> list[Cause]:
    """Returns the cause of unoptimised code, which is named alone: other causes may vanish when the compiler optimises the code."""
    return [
        _cause(evidence, one, _saves(evidence, one), _estimates(evidence))
        for one in detect_unoptimised(evidence)
    ]


def _estimates(evidence: Evidence) -> dict[str, float]:
    run = evidence.profile.run
    return find_estimates(run, evidence.profile.numbers) if run else {}


@kept
def _save_each(evidence: Evidence) -> dict[Candidate, float]:
    """Returns every candidate of the detectors, and what it is expected to save by itself."""
    detectors = DETECTORS if evidence.model.busy else WITHOUT_COUNTERS
    return {candidate: _saves(evidence, candidate) for detect in detectors for candidate in detect(evidence)}


def _find_others(evidence: Evidence, causes: Iterable[Cause]) -> dict[str, float]:
    """Returns what removing each cause that is not named would save, in percent; at a ceiling, only of those that help there."""
    saved, named = _save_each(evidence), {one.cause for one in causes}
    ceilings = [one for one in saved if one.nothing_to_gain and one.name in named]
    others = [
        one
        for one in saved
        if one.name not in named
        and not one.nothing_to_gain
        and all(_helps_at(full, one) for full in ceilings)
    ]
    return {one.name: round(100 * saved[one], 1) for one in sorted(others, key=lambda one: saved[one])}


def find_candidates(evidence: Evidence) -> dict[Candidate, float]:
    """Returns the best candidate of each cause that is worth a change, or at its ceiling, and what each is expected to save by itself."""
    saved = _save_each(evidence)
    ranked = sorted(saved, key=lambda one: -saved[one])
    best: dict[str, Candidate] = {}
    for candidate in ranked:
        if saved[candidate] >= WORTH_A_CHANGE or candidate.nothing_to_gain:
            best.setdefault(candidate.name, candidate)
    full = [one.resource for one in best.values() if one.nothing_to_gain]
    named = [one for one in best.values() if not one.nothing_to_gain]
    for candidate in ranked if full else ():
        spares = any(candidate.effect.resources.get(unit, 0.0) >= NOT_AT_A_CEILING for unit in full)
        if spares and any(_hide_each_other(evidence, one, candidate, saved) for one in named):
            best.setdefault(candidate.name, candidate)
    return {one: saved[one] for one in best.values()}


def _hide_each_other(
    evidence: Evidence, one: Candidate, other: Candidate, saved: Mapping[Candidate, float]
) -> bool:
    """Returns whether two changes save far more together than one after the other would: each spares a unit that needs nearly all of the time."""
    both = {one: saved[one], other: saved[other]}
    left = prod(1 - part for part in both.values())
    return saved_together(evidence.model, both) - (1 - left) >= NOT_AT_A_CEILING


def _find_causes(evidence: Evidence) -> list[Cause]:
    saved = find_candidates(evidence)
    best = {one.name: one for one in saved}
    if TOO_SHORT in best and saved[best[TOO_SHORT]] > _MOSTLY_STARTING:
        best = {TOO_SHORT: best[TOO_SHORT]}
    for ceiling in [one for one in best.values() if one.nothing_to_gain]:
        if any(_is_better(one, ceiling, saved[one]) for one in best.values()):
            del best[ceiling.name]
        else:
            best = {name: one for name, one in best.items() if _helps_at(ceiling, one)}
    estimates = _estimates(evidence)
    found = [_cause(evidence, candidate, saved[candidate], estimates) for candidate in best.values()]
    causes = in_order(found)[:_MOST_CAUSES]
    return list(_add_up(evidence, causes, best, saved))


def _add_up(
    evidence: Evidence,
    causes: Iterable[Cause],
    best: Mapping[str, Candidate],
    saved: Mapping[Candidate, float],
) -> Iterator[Cause]:
    """Yields the causes with what each saves together with those before it, if there are any that save time."""
    added: dict[Candidate, float] = {}
    for one in causes:
        if one.is_ceiling:
            yield one
            continue
        added[best[one.cause]] = saved[best[one.cause]]
        together = round(100 * saved_together(evidence.model, added), 1) if len(added) > 1 else None
        yield replace(one, saves_pct=replace(one.saves_pct, together=together))


def _helps_at(ceiling: Candidate, candidate: Candidate) -> bool:
    """Returns whether a candidate has its place beside a ceiling: what waits there waits for the ceiling, so that only less work would help."""
    less_work = candidate.effect.resources.get(ceiling.resource, 0.0) > 0
    return candidate.nothing_to_gain or less_work or candidate.name == LAST_WAVE


def _is_better(candidate: Candidate, ceiling: Candidate, saved: float) -> bool:
    """Returns whether a change saves much of the time or of the work of the resource that is at its ceiling.

    Warps that wait there wait for the ceiling, except for those without an instruction: they wait for no unit, which idles
    meanwhile.
    """
    work = candidate.effect.resources.get(ceiling.resource, 0.0)
    by_work = candidate.saves is None and set(candidate.effect.waits) != {NO_INSTRUCTION}
    return (
        not candidate.nothing_to_gain
        and candidate.name != LAST_WAVE
        and max(work, saved) >= NOT_AT_A_CEILING
        and (work > 0 or not by_work)
    )


def _saves(evidence: Evidence, candidate: Candidate) -> float:
    """Returns the estimate, which promises no more than the bound does."""
    if candidate.saves is None:
        return evidence.model.saved(candidate.effect)
    return min(candidate.saves, _bound(evidence, candidate)[0])


def _bound(evidence: Evidence, candidate: Candidate) -> tuple[float, str | None]:
    """Returns the most that the change could save, and the resource that needs the rest of the time."""
    if candidate.at_most is not None:
        return candidate.at_most, candidate.resource or None
    return evidence.model.bound(candidate.effect, BY_NAME[candidate.name].leaves, candidate.regrouped)


def _cause(
    evidence: Evidence, candidate: Candidate, expected: float, estimates: Mapping[str, float]
) -> Cause:
    at_most, limit = _bound(evidence, candidate)
    where = find_places(evidence, candidate.weights)
    if not where and BY_NAME[candidate.name].group == "launch":
        where = find_signature(evidence)
    return Cause(
        cause=candidate.name,
        sentence=candidate.sentence,
        try_=advise(evidence, candidate),
        saves_pct=Savings(round(100 * expected, 1), round(100 * max(expected, at_most), 1), limit),
        where=where,
        evidence={
            **candidate.evidence,
            **({_RULE: estimates[candidate.name]} if candidate.name in estimates else {}),
        },
        where_is=where_is(candidate.name, where, candidate.blames_lines),
    )
