"""Narrows a profile to its launches of one shape and of the same work: a mean over large and small launches describes neither.

A `Profile` in; out comes one that holds only the launches that take most of the time.
"""

from __future__ import annotations

from collections.abc import Sequence

from profiler.analyse.recording.launch_shapes import LaunchShape, differences_text, shape_text
from profiler.analyse.recording.profile import Profile, profile_kernel


def of_main_shape(profile: Profile) -> Profile:
    if len(profile.shapes) < 2 or profile.run is None:
        return profile
    return profile_kernel(profile.run, profile.kernel, among=profile.groups[0])


def say_main_shape(profile: Profile, main: Profile) -> list[str]:
    """Returns the caution that the figures show only launches of one shape and work; none where all launches are alike."""
    if len(profile.shapes) == len(main.shapes):
        return []
    which = f"{main.launches} of the {profile.launches} launches"
    those, take = ("that", "takes") if main.launches == 1 else ("those", "take")
    return [
        f"{differences_text(profile.shapes)}; all figures are of {which}, {those} of {shape_text(main.shapes[0])}, which {take} most of the "
        "time; `--launch N` chooses others"
    ]


def pair_of_main_shapes(before: Profile, after: Profile) -> tuple[Profile, Profile, list[str]]:
    """Returns both sides of a comparison, each at the launches that take most of its time, or at the same places on both.

    The third value is a caution that says so; it is empty if neither side was narrowed.
    """
    if len(before.shapes) < 2 and len(after.shapes) < 2:
        return before, after, []
    one, other = _at_same_places(before, after) or (of_main_shape(before), of_main_shape(after))
    if one.shapes and other.shapes and _grid(one.shapes[0]) == _grid(other.shapes[0]):
        counts = f"{one.launches} of {before.launches} and {other.launches} of {after.launches}"
        shapes = f"{shape_text(one.shapes[0])}, which take most of the time ({counts})"
        return one, other, [f"the launches of {shapes}, are compared"]
    which = ", with ".join(_which(main, side.launches) for side, main in ((before, one), (after, other)))
    return one, other, [f"the launches that take most of the time are compared: {which}"]


def _at_same_places(before: Profile, after: Profile) -> tuple[Profile, Profile] | None:
    """Returns the launches that take most of the time on one side, with those at the same places on the other; None unless these are alike, too.

    If a program still launches a kernel as often, each place has the same work as before, even if other launches are the longest now.
    """
    if before.launches != after.launches:
        return None
    for side, other in ((before, after), (after, before)):
        longest = set(side.groups[0]) if side.groups else set()
        places = [place for place, number in enumerate(side.numbers) if number in longest]
        there = {other.numbers[place] for place in places}
        if any(there and there.issubset(group) for group in other.groups):
            return _at(before, places), _at(after, places)
    return None


def _at(profile: Profile, places: Sequence[int]) -> Profile:
    if profile.run is None or len(places) == profile.launches:
        return profile
    return profile_kernel(profile.run, profile.kernel, among=[profile.numbers[place] for place in places])


def _which(main: Profile, launches: int) -> str:
    shape = f", of {shape_text(main.shapes[0])}" if main.shapes else ""
    return f"{main.launches} of {launches}{shape}"


def _grid(shape: LaunchShape) -> tuple[tuple[int, int, int], tuple[int, int, int]]:
    return shape.grid, shape.block
