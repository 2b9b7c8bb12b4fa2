"""Detects loops that go on when their work is done: a branch skips their body, and nothing is left that could change that."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from profiler.analyse.causes.detectors.candidate import Candidate
from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.sites import BOOKKEEPING, Site, executed_parts
from profiler.analyse.code.opcodes import is_move
from profiler.text import whole_percent

_TURNS = 3  # the first two may still move values; if the last two test the same, so do all later ones


def detect_empty_turns(evidence: Evidence) -> Iterable[Candidate]:
    """Names loops that a `break` would end: from some turn on, they only count."""
    empty = {
        site: part
        for inside in evidence.innermost_loops()
        for site, part in _find_empty(evidence, inside).items()
    }
    if not empty:
        return
    most = 100 * max(empty.values())
    yield Candidate(
        "loop-overhead",
        f"In {whole_percent(most)} % of its turns, a loop has no work left: a branch passes its body by, and will in each turn that follows.",
        "Leave the loop when its work is done (`break`), or make only as many turns as the sizes ask for.",
        evidence.without(empty),
        executed_parts(empty),
        {"empty_turns_pct": most},
        in_triton="Go on only while there is work (`while lo < hi:`), or make only as many turns as the sizes ask for, such as the "
        "logarithm of a length.",
    )


def _find_empty(evidence: Evidence, inside: Sequence[Site]) -> Mapping[Site, float]:
    """Returns what an iteration without work executes, with the part of the iterations that have none.

    One such iteration is left out, because the loop needs it to find that out.
    """
    passing = next((site for site in inside if _may_pass_by(site, inside)), None)
    loop = evidence.innermost_loop(passing) if passing else None
    if passing is None or loop is None:
        return {}
    begins, ends = passing.instruction.offset, passing.leads_to or 0
    idling = [one for one in inside if not begins < one.instruction.offset < ends]
    worked = max(
        (one.executed for one in inside if begins < one.instruction.offset < ends), default=passing.executed
    )
    part = 1 - worked / passing.executed - 1 / evidence.turns(passing, loop)
    if part <= 0 or not _is_for_good(passing, idling):
        return {}
    return dict.fromkeys(idling, part)


def _may_pass_by(site: Site, inside: Sequence[Site]) -> bool:
    """Returns whether a branch may lead forward within the loop."""
    return bool(site.taken) and site.leads_to is not None and site.leads_to <= inside[-1].instruction.offset


def _is_for_good(passing: Site, idling: Sequence[Site]) -> bool:
    """Returns whether a branch that skips the body once does so in all later iterations: what it tests stays the same while only `idling` runs."""
    tests = [one for one in idling if not passing.taken.isdisjoint(one.use.predicates_written)]
    if any(one.use.predicates_read for one in tests) or any(map(_may_do_more, idling)):
        return False
    held: dict[str, object] = {}
    tested: list[list[object]] = []
    for _ in range(_TURNS):
        tested.append([])
        for one in idling:
            if one in tests:
                tested[-1] += (held.get(register, register) for register in sorted(one.use.inputs))
            _follow(one, held)
    return tested[-1] == tested[-2]


def _may_do_more(site: Site) -> bool:
    """Returns whether an instruction may do more than keep the loop going, or a predicate decides what it does."""
    return site.kind not in BOOKKEEPING or (site.kind != "control" and site.instruction.predicate is not None)


def _follow(site: Site, held: dict[str, object]) -> None:
    """Follows what registers hold: a move passes a value on, and anything else makes a new one."""
    taken, written = list(site.use.inputs), site.use.written
    if is_move(site.instruction) and len(taken) == len(written) == 1:
        held[written[0]] = held.get(taken[0], taken[0])
    else:
        held |= {register: object() for register in written}
