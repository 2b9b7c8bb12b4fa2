"""Lets a check pass if somebody accepted what it finds: a regression, a kernel that is gone, or another in its place.

A `CheckFinding` and accepted changes in; out comes the finding, with who accepted each change, and why.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from msgspec.structs import replace

from profiler.analyse.check import AcceptedRemoval, CheckFinding, MetricCheck, PairCheck, worst
from profiler.analyse.check_summary import derive_finding
from profiler.catalog.accepted import Accepted
from profiler.catalog.metrics import SMALLEST_RELATIVE_EFFECT


def find_changes_to_accept(finding: CheckFinding, when: str, who: str, why: str) -> list[Accepted]:
    """Returns what of the finding can be accepted: every regression, what is gone, and kernels of other names."""

    accepted = partial(Accepted, when=when, who=who, why=why)
    regressions = [
        accepted(name=pair.name, metric=one.metric, before=one.before, after=one.after)
        for pair in finding.pairs
        for one in pair.checks
        if one.outcome == "regression"
    ]
    others = [accepted(name=pair.name, kernel=pair.kernel) for pair in finding.pairs if pair.is_doubted]
    return [*regressions, *others, *(accepted(name=name) for name in (*finding.gone, *finding.missing))]


def apply_accepted(finding: CheckFinding, changes: Sequence[Accepted]) -> CheckFinding:
    """Returns the finding with the accepted changes in it, which pass and say so."""
    if not changes or finding.outcome == "passed":
        return finding
    pairs = [_with_accepted(pair, changes) for pair in finding.pairs]
    removals = {one.name: _said(one) for one in changes if one.is_removal}
    lost = (finding.gone, finding.missing)
    removed = [AcceptedRemoval(name, removals[name]) for names in lost for name in names if name in removals]
    gone, missing = ([name for name in names if name not in removals] for names in lost)
    return derive_finding(
        pairs,
        finding.notes,
        gone=gone,
        missing=missing,
        new=finding.new,
        removed=[*finding.removed, *removed],
    )


def _said(one: Accepted) -> str:
    return f"{one.who}, {one.when}: {one.why}"


def _with_accepted(pair: PairCheck, changes: Sequence[Accepted]) -> PairCheck:
    checks = [_accept(pair.name, one, changes) for one in pair.checks]
    in_place = (_said(one) for one in reversed(changes) if (one.name, one.kernel) == (pair.name, pair.kernel))
    doubt_accepted = pair.doubt_accepted or (next(in_place, "") if pair.doubt else "")
    if checks == pair.checks and doubt_accepted == pair.doubt_accepted:
        return pair
    outcomes = {one.outcome for one in checks}
    if pair.doubt and not doubt_accepted:
        outcomes.add("unclear")
    outcome = worst(outcomes)
    pair = replace(pair, checks=checks, doubt_accepted=doubt_accepted)
    if outcome == pair.outcome:
        return pair
    return replace(pair, outcome=outcome, what="", why="", next="", factors=[], cause=None)


def _accept(name: str, check: MetricCheck, changes: Sequence[Accepted]) -> MetricCheck:
    """Lets a regression pass that starts from the accepted baseline, and ends no worse than the accepted figure."""
    if check.outcome != "regression":
        return check
    slack = max(check.limit_pct / 100.0, SMALLEST_RELATIVE_EFFECT)
    sign = 1.0 if check.way == "rise" else -1.0
    of_it = [
        (one, one.after)
        for one in reversed(changes)
        if (one.name, one.metric) == (name, check.metric)
        and one.before is not None
        and one.after is not None
        and abs(check.before - one.before) <= slack * abs(one.before)
    ]
    if not of_it:
        return check
    for one, after in of_it:
        if sign * (check.after - after) <= slack * abs(after):
            return replace(check, outcome="passed", accepted=_said(one), accepted_after=after)
    newest, after = of_it[0]
    return replace(check, accepted=f"{newest.who}, {newest.when}", accepted_after=after)
