"""Finds the causes of a kernel's time: asks every detector, estimates what each change would save, and names those worth a change.

A `Profile` in; a `Diagnosis` out. A `Candidate` is what a detector found, and `expected` says which part of the time each is expected
to save by itself. A `Cause` is a candidate that is named.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from msgspec.structs import replace

from profiler.analyse.causes.at_a_ceiling import heed_ceilings, helps_at
from profiler.analyse.causes.cause import UNCOUNTED, Cause, Diagnosis, Savings, Seen, where_is
from profiler.analyse.causes.detectors.candidate import WORTH_A_CHANGE, Candidate
from profiler.analyse.causes.detectors.every import DETECTORS, WITHOUT_COUNTERS
from profiler.analyse.causes.detectors.global_memory.updated_places import ATOMIC_CONTENTION
from profiler.analyse.causes.detectors.instructions.compilation import detect_unoptimised
from profiler.analyse.causes.evidence.evidence import Evidence, gather
from profiler.analyse.causes.evidence.kept import kept
from profiler.analyse.causes.evidence.latency import UNNAMED
from profiler.analyse.causes.evidence.time_model import NO_WARP
from profiler.analyse.causes.flow.addresses.apart import count_bytes_apart
from profiler.analyse.causes.flow.addresses.side_by_side import add_elements
from profiler.analyse.causes.flow.lane_values import add_shares
from profiler.analyse.causes.flow.memory.constant_lookups import add_lookups
from profiler.analyse.causes.flow.memory.repeated_stores import add_stores_alike
from profiler.analyse.causes.flow.memory.retries import add_retries
from profiler.analyse.causes.from_counters import what_counters_show
from profiler.analyse.causes.nvidia_rules import find_estimates
from profiler.analyse.causes.order import in_order
from profiler.analyse.causes.places import find_places, find_signature
from profiler.analyse.causes.together import advise_after, find_hidden, saved_together
from profiler.analyse.recording.profile import Profile
from profiler.catalog.causes import BY_NAME, TOO_SHORT
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
    causes, left_out = (unoptimised, {}) if unoptimised else _find_causes(evidence)
    diagnosis = Diagnosis(
        causes=causes,
        unseen=_find_unseen(evidence),
        duration_ns=evidence.find(DURATION),
        launches=evidence.profile.launches,
        sees=_find_seen(evidence),
        busy=dict(evidence.model.busy),
        shown=what_counters_show(evidence),
        can_look=bool(evidence.model.busy or causes),
        others={} if unoptimised else _find_others(evidence, causes),
        taken={} if unoptimised else _find_taken(evidence),
        left_out=left_out,
    )
    # Some of what was found refers to the evidence, and would keep it until the garbage collector runs, which is seldom.
    evidence.found.clear()
    evidence.of_code.clear()
    return diagnosis


def look_at(profile: Profile) -> Evidence:
    """Returns what the detectors look at: what is recorded, and what follows from several of its instructions at once.

    Lookups come before retries, because the cache of constants serves loops that retry as well, and their waiting is left out from
    then on. The sectors of lanes that lie apart are counted first, because `add_elements` reads them.
    """
    evidence = count_bytes_apart(gather(profile))  # which sectors lanes that lie apart need
    evidence = add_lookups(evidence)  # how busy the cache of constants is, which no counter says
    evidence = add_retries(evidence)  # which loops only repeat an atomic until it succeeds
    evidence = add_stores_alike(evidence)  # how busy the slice of L2 is to which all threads store
    evidence = add_shares(evidence)  # which arithmetic lanes could share out, so that no bound counts it
    return add_elements(evidence)  # which accesses are of different data, so that a bound counts all of it


def _find_unoptimised(evidence: Evidence) -> list[Cause]:
    """Returns the cause of unoptimised code, which is named alone: other causes may vanish when the compiler optimises the code."""
    return [
        _cause(evidence, one, _expected_of(evidence, one), _nvidia_estimates(evidence))
        for one in detect_unoptimised(evidence)
    ]


def _find_causes(evidence: Evidence) -> tuple[list[Cause], dict[str, float]]:
    """Returns the causes to name, in the order in which to try their changes, and what the causes behind them would save."""
    expected = find_candidates(evidence)
    best = {one.name: one for one in expected}
    if TOO_SHORT in best and expected[best[TOO_SHORT]] > _MOSTLY_STARTING:
        best = {TOO_SHORT: best[TOO_SHORT]}
    best = heed_ceilings(best, expected, evidence.model.busy)
    estimates = _nvidia_estimates(evidence)
    found = [_cause(evidence, candidate, expected[candidate], estimates) for candidate in best.values()]
    ranked = list(_tell_once(in_order(found), best))
    left_out = {one.cause: one.saves_pct.expected for one in ranked[_MOST_CAUSES:]}
    return list(_add_up(evidence, ranked[:_MOST_CAUSES], best, expected)), left_out


def _tell_once(causes: Iterable[Cause], best: Mapping[str, Candidate]) -> Iterator[Cause]:
    """Yields the causes, without those that state the same fact, and give the same advice, as one before them."""
    told: set[str] = set()
    for one in causes:
        fact = best[one.cause].fact
        if not fact or fact not in told:
            yield one
        told.add(fact)


def find_candidates(evidence: Evidence) -> dict[Candidate, float]:
    """Returns the best candidate of each cause, with what each is expected to save by itself.

    Each is worth a change, or says that a ceiling is reached, or is hidden by another.
    """
    expected = expect_of_each(evidence)
    ranked = sorted(expected, key=lambda one: -expected[one])
    best = _first_of_each_cause(one for one in ranked if expected[one] >= WORTH_A_CHANGE or one.is_ceiling)
    hidden = find_hidden(evidence.model, best, expected, among=ranked)
    return {one: expected[one] for one in (*best, *hidden)}


def _first_of_each_cause(candidates: Iterable[Candidate]) -> list[Candidate]:
    first: dict[str, Candidate] = {}
    for one in candidates:
        first.setdefault(one.name, one)
    return list(first.values())


@kept
def expect_of_each(evidence: Evidence) -> dict[Candidate, float]:
    """Returns every candidate of the detectors, and what it is expected to save by itself."""
    detectors = DETECTORS if evidence.model.busy else WITHOUT_COUNTERS
    return {
        candidate: _expected_of(evidence, candidate) for detect in detectors for candidate in detect(evidence)
    }


def _expected_of(evidence: Evidence, candidate: Candidate) -> float:
    """Returns the estimate, which promises no more than the bound does."""
    saved = _modelled(evidence, candidate) if candidate.saves is None else candidate.saves
    return min(saved, bound_of(evidence, candidate)[0])


@kept
def _modelled(evidence: Evidence, candidate: Candidate) -> float:
    return evidence.model.saved(candidate.effect)


@kept
def bound_of(evidence: Evidence, candidate: Candidate) -> tuple[float, str | None]:
    """Returns the most that the change could save, and the resource that needs the rest of the time.

    Atomics of one address are served one after the other, whatever else is changed.
    """
    if candidate.at_most is not None:
        most, resource = candidate.at_most, candidate.resource or None
    else:
        most, resource = evidence.model.bound(
            candidate.effect,
            BY_NAME[candidate.name].leaves,
            candidate.regrouped,
            _modelled(evidence, candidate),
        )
    if evidence.atomics_are_contended and not (candidate.name == ATOMIC_CONTENTION or candidate.is_ceiling):
        beside_atomics = 1 - evidence.time_of(evidence.of("atomic"))
        if beside_atomics < most:
            return beside_atomics, None
    return most, resource


def _cause(
    evidence: Evidence, candidate: Candidate, expected: float, estimates: Mapping[str, float]
) -> Cause:
    at_most, limit = bound_of(evidence, candidate)
    where = find_places(evidence, candidate.weights)
    if not where and BY_NAME[candidate.name].group == "launch":
        where = find_signature(evidence)
    return Cause(
        cause=candidate.name,
        sentence=candidate.sentence,
        try_=candidate.advice_in(evidence.profile.language),
        saves_pct=Savings(round(100 * expected, 1), round(100 * at_most, 1), limit),
        where=where,
        evidence={
            **{name: float(value) for name, value in candidate.evidence.items()},
            **({_RULE: estimates[candidate.name]} if candidate.name in estimates else {}),
        },
        where_is=where_is(candidate.name, where, candidate.blames_lines),
    )


def _nvidia_estimates(evidence: Evidence) -> dict[str, float]:
    """Returns which speedups NVIDIA's rules in the report expect, for the causes that they are about."""
    return find_estimates(evidence.profile.run, evidence.profile.numbers)


def _add_up(
    evidence: Evidence,
    causes: Iterable[Cause],
    best: Mapping[str, Candidate],
    expected: Mapping[Candidate, float],
) -> Iterator[Cause]:
    """Yields each cause with what it saves together with those before it, and says which of their changes its own would replace.

    A change that takes registers may cost more in warps than it gains beside the others. It is then not made, so the sum never falls.
    """
    added: dict[Candidate, float] = {}
    most = 0.0
    for one in causes:
        if one.is_ceiling:
            yield one
            continue
        try_ = advise_after(one, [other.name for other in added])
        added[best[one.cause]] = expected[best[one.cause]]
        most = max(most, saved_together(evidence.model, added))
        together = round(100 * most, 1) if len(added) > 1 else None
        yield replace(one, try_=try_, saves_pct=replace(one.saves_pct, together=together))


def _find_others(evidence: Evidence, causes: Iterable[Cause]) -> dict[str, float]:
    """Returns what removing each cause that is not named would save, in percent; at a ceiling, only for causes that help there."""
    expected, named = expect_of_each(evidence), {one.cause for one in causes}
    ceilings = [one for one in expected if one.is_ceiling and one.name in named]
    others = [
        one
        for one in expected
        if one.name not in named
        and not one.is_ceiling
        and all(helps_at(ceiling, one, evidence.model.busy) for ceiling in ceilings)
    ]
    # Of several candidates of one cause, the last one stays: it saves most.
    return {one.name: round(100 * expected[one], 1) for one in sorted(others, key=lambda one: expected[one])}


def _find_taken(evidence: Evidence) -> dict[str, float]:
    """Returns the part of the time, in percent, that each cause's work or waiting takes, even where removing it would save less."""
    expected = expect_of_each(evidence)
    # Of several candidates of one cause, the last one stays: it saves most.
    return {
        one.name: round(100 * max(expected[one], evidence.model.taken(one.effect)), 1)
        for one in sorted(expected, key=lambda one: expected[one])
    }


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
