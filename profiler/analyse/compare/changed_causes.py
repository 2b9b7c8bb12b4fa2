"""Compares the causes of two sides: which went away, came, shrank or grew, and of which that cannot be known."""

from __future__ import annotations

from dataclasses import dataclass, field

from profiler.analyse.causes.cause import Cause, Diagnosis
from profiler.analyse.findings import CauseChange
from profiler.catalog.causes import TOO_SHORT

# The cost of a cause that depends on the duration alone changes with the duration, and is no reason for it.
_OF_THE_DURATION = frozenset({TOO_SHORT})
# These follow from how the kernel was launched, and are no reason either while the launch is as it was.
_OF_THE_LAUNCH = frozenset((
    "grid-too-small", "uneven-last-wave", "block-too-small", "registers-limit-occupancy", "shared-memory-limits-occupancy",
    "block-size-limits-occupancy",
))  # fmt: skip
# A cause that would save less is not missed when it is gone, and one that changed by less has not changed.
NOTABLE_PCT = 5.0


@dataclass(frozen=True)
class ChangedCauses:
    """The causes that only the first side has, those that only the second has, those of both, and those that shrank or grew.

    `undecided` are causes of one side that the other's recording could not show. The causes in `unmoved` follow from
    the launch and the duration alone: they limit a kernel, and do not say why it got faster or slower. Nothing
    `is_known` where a side records nothing from which a cause could be found.
    """

    gone: list[Cause] = field(default_factory=list)
    new: list[Cause] = field(default_factory=list)
    less: list[CauseChange] = field(default_factory=list)
    more: list[CauseChange] = field(default_factory=list)
    kept: list[CauseChange] = field(default_factory=list)
    undecided: list[Cause] = field(default_factory=list)
    unmoved: frozenset[str] = frozenset()
    is_known: bool = True


def compare_causes(before: Diagnosis, after: Diagnosis, same_launch: bool = False) -> ChangedCauses:
    """Returns what became of the causes of the first side, and which the second has besides.

    With the `same_launch`, grid, block, registers and shared memory are those of the first side, on the same GPU.
    """
    if not (before.can_look and after.can_look):
        return ChangedCauses(is_known=False)
    earlier = {one.cause: one.saves_pct.expected for one in before.causes}
    both = [one for one in after.causes if one.cause in earlier]
    kept = [CauseChange(one.cause, earlier[one.cause], one.saves_pct.expected) for one in both]
    unmoved = _OF_THE_DURATION | (_OF_THE_LAUNCH if same_launch else frozenset())
    moved = [one for one in kept if one.cause not in unmoved and _has_moved(one, before, after)]
    moved.sort(key=lambda one: -abs(one.after_pct - one.before_pct))
    return ChangedCauses(
        gone=_only_in(before, after),
        new=_only_in(after, before),
        less=[one for one in moved if one.after_pct < one.before_pct],
        more=[one for one in moved if one.after_pct > one.before_pct],
        kept=kept,
        undecided=[*_undecided(before, after), *_undecided(after, before)],
        unmoved=unmoved,
    )


def _only_in(one: Diagnosis, other: Diagnosis) -> list[Cause]:
    """Returns the notable causes that one side has and the other, for certain, has not."""
    shown = [cause for cause in _unshared(one, other) if other.could_show(cause, one)]
    return [cause for cause in shown if not cause.is_ceiling or _has_left(cause, one, other)]


def _undecided(one: Diagnosis, other: Diagnosis) -> list[Cause]:
    hidden = [cause for cause in _unshared(one, other) if not other.could_show(cause, one)]
    return [cause for cause in hidden if cause.cause not in _OF_THE_DURATION]


def _unshared(one: Diagnosis, other: Diagnosis) -> list[Cause]:
    names = {cause.cause for cause in other.causes}
    notable = [cause for cause in one.causes if cause.is_ceiling or cause.saves_pct.expected >= NOTABLE_PCT]
    return [cause for cause in notable if cause.cause not in names]


def _has_left(ceiling: Cause, one: Diagnosis, other: Diagnosis) -> bool:
    """Returns whether the resource that is at its ceiling on one side is used notably less on the other."""
    resource = ceiling.saves_pct.limited_by or ""
    return 100 * (one.busy.get(resource, 0.0) - other.busy.get(resource, 0.0)) >= NOTABLE_PCT


def _has_moved(one: CauseChange, before: Diagnosis, after: Diagnosis) -> bool:
    """Returns whether the share of a cause changed, and its time too.

    When the rest of a kernel gets faster, the share of each cause grows although its time does not.
    """
    was, now = one.before_pct, one.after_pct
    time = now * (after.duration_ns or 0.0) - was * (before.duration_ns or 0.0)
    return abs(now - was) >= NOTABLE_PCT and time * (now - was) > 0
