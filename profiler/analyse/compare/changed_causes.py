"""Compares the causes of two sides: which went away, came, shrank or grew, and of which that cannot be known.

A side may have a cause that it does not name because it costs too little. So the side is asked what removing it would save, and what
was measured of it. Or the cause was hidden: while a unit is busy with one cause, removing another saves little. When the first is gone,
the other saves more without having grown.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from profiler.analyse.causes.cause import Cause, Diagnosis, is_ceiling
from profiler.analyse.findings import CauseChange
from profiler.analyse.recording.launch_shapes import shape_alone
from profiler.analyse.recording.profile import Profile
from profiler.catalog.causes import MEASURED_BY, TOO_SHORT
from profiler.catalog.metrics import SMALLEST_RELATIVE_EFFECT

# The cost of a cause that depends on the duration alone changes with the duration, and is no reason for it.
_OF_THE_DURATION = frozenset({TOO_SHORT})
# These follow from how the kernel was launched, and are no reason either while the launch is as it was.
_OF_THE_LAUNCH = frozenset((
    "grid-too-small", "uneven-last-wave", "block-too-small", "registers-limit-occupancy", "shared-memory-limits-occupancy",
    "block-size-limits-occupancy",
))  # fmt: skip
# A cause that would save less is not missed when it is gone, and one that changed by less has not changed.
NOTABLE_PCT = 5.0
# A cause remains while it saves a third of what it saves on the other side: less is clearly less, although both are estimates.
_REMAINING = 1 / 3


@dataclass(frozen=True)
class ChangedCauses:
    """How the causes of two sides differ.

    `gone` are the causes of the first side only, and `new` those of the second only. Both sides have those in `less`, `more` and `kept`:
    their cost shrank, grew, or stayed.
    `undecided` are causes of one side that the recording of the other could not show.
    `unmoved` are causes of one side that do not explain the difference in time. Either what causes them is the same on both sides, such as
    the launch or the width of accesses. Or they take as much time on the other side, where other work hides it.
    `is_known` is False if one side recorded nothing from which a cause could be found.
    """

    gone: list[Cause] = field(default_factory=list)
    new: list[Cause] = field(default_factory=list)
    less: list[CauseChange] = field(default_factory=list)
    more: list[CauseChange] = field(default_factory=list)
    kept: list[CauseChange] = field(default_factory=list)
    undecided: list[Cause] = field(default_factory=list)
    unmoved: list[Cause] = field(default_factory=list)
    is_known: bool = True


def find_alike(before: Profile, after: Profile) -> frozenset[str]:
    """Returns the causes that follow from what is the same on both sides: the launch, or a quantity that was measured."""
    measured = {cause for cause, metrics in MEASURED_BY.items() if _are_alike(metrics, before, after)}
    return frozenset(measured | (_OF_THE_LAUNCH if _is_same_launch(before, after) else set()))


def _are_alike(metrics: Collection[str], before: Profile, after: Profile) -> bool:
    """Returns whether both sides recorded the same of these metrics, with nearly equal values that are not all 0."""
    one, other = (
        {name: side.series[name].mean for name in metrics if name in side.series} for side in (before, after)
    )
    return (
        one.keys() == other.keys()
        and any(one.values())
        and all(abs(other[name] - value) <= SMALLEST_RELATIVE_EFFECT * value for name, value in one.items())
    )


def _is_same_launch(before: Profile, after: Profile) -> bool:
    """Returns whether both had the same launch: grid, block, registers and shared memory, on the same GPU."""
    one, other = ([shape_alone(shape) for shape in side.shapes] for side in (before, after))
    return before.gpu == after.gpu and one == other != []


def compare_causes(
    before: Diagnosis, after: Diagnosis, alike: Collection[str] = frozenset()
) -> ChangedCauses:
    """Returns what became of the causes of the first side, and which the second has besides.

    Those in `alike` follow from what is the same on both sides.
    """
    if not (before.can_look and after.can_look):
        return ChangedCauses(is_known=False)
    alike = _OF_THE_DURATION.union(alike)
    remaining = [
        *(one for one in after.causes if _is_in(one, before)),
        *(one for one in _unnamed(before, after) if _is_in(one, after)),
    ]
    kept = [CauseChange(one.cause, before.saves(one.cause), after.saves(one.cause)) for one in remaining]
    gone, new = _only_in(before, after), _only_in(after, before)
    alike |= {one.cause for one in gone if _is_only_hidden(one.cause, after, before)}
    alike |= {one.cause for one in new if _is_only_hidden(one.cause, before, after)}
    moved = [one for one in kept if one.cause not in alike and _has_moved(one, before, after)]
    moved.sort(key=lambda one: -abs(one.after_pct - one.before_pct))
    return ChangedCauses(
        gone=[one for one in gone if one.cause not in alike],
        new=[one for one in new if one.cause not in alike],
        less=[one for one in moved if one.after_pct < one.before_pct],
        more=[one for one in moved if one.after_pct > one.before_pct],
        kept=kept,
        undecided=[*_undecided(before, after), *_undecided(after, before)],
        unmoved=[one for one in (*gone, *new) if one.cause in alike],
    )


def _is_in(cause: Cause, side: Diagnosis) -> bool:
    """Returns whether a side has a cause of the other one, named or not."""
    if cause.cause in {one.cause for one in side.causes}:
        return True
    return not cause.is_ceiling and side.saves(cause.cause) >= _REMAINING * cause.saves_pct.expected


def _only_in(one: Diagnosis, other: Diagnosis) -> list[Cause]:
    """Returns the notable causes that one side has and the other, for certain, has not."""
    shown = [cause for cause in _unshared(one, other) if other.could_show(cause, one)]
    return [cause for cause in shown if not cause.is_ceiling or _has_left(cause, one, other)]


def _undecided(one: Diagnosis, other: Diagnosis) -> list[Cause]:
    hidden = [cause for cause in _unshared(one, other) if not other.could_show(cause, one)]
    return [cause for cause in hidden if cause.cause not in _OF_THE_DURATION]


def _unshared(one: Diagnosis, other: Diagnosis) -> list[Cause]:
    return [cause for cause in _unnamed(one, other) if not _is_in(cause, other)]


def _unnamed(one: Diagnosis, other: Diagnosis) -> list[Cause]:
    """Returns the notable causes of one side that the other does not name."""
    names = {cause.cause for cause in other.causes}
    notable = [cause for cause in one.causes if cause.is_ceiling or cause.saves_pct.expected >= NOTABLE_PCT]
    return [cause for cause in notable if cause.cause not in names]


def _has_left(ceiling: Cause, one: Diagnosis, other: Diagnosis) -> bool:
    """Returns whether the resource that is at its ceiling on one side is used notably less on the other."""
    resource = ceiling.saves_pct.limited_by or ""
    return 100 * (one.busy.get(resource, 0.0) - other.busy.get(resource, 0.0)) >= NOTABLE_PCT


def _has_moved(one: CauseChange, before: Diagnosis, after: Diagnosis) -> bool:
    """Returns whether a cause of both sides became a larger or a smaller part of the time, and not only because the rest changed."""
    less, more = (before, after) if one.after_pct > one.before_pct else (after, before)
    return abs(one.after_pct - one.before_pct) >= NOTABLE_PCT and not _is_only_hidden(one.cause, less, more)


def _is_only_hidden(cause: str, less: Diagnosis, more: Diagnosis) -> bool:
    """Returns whether a cause takes hardly less time on the side where removing it would save `less`: there, other work hides it.

    False if the side where it would save `more` is slower: then the cause costs that side time, whatever hid it before.
    """
    times = less.duration_ns or 0.0, more.duration_ns or 0.0
    hidden, shown = less.taken_ns(cause), more.taken_ns(cause)
    is_clearly_less = hidden < _REMAINING * shown and shown - hidden >= NOTABLE_PCT / 100 * times[0]
    return not is_ceiling(cause) and 0.0 < times[1] <= times[0] and not is_clearly_less
