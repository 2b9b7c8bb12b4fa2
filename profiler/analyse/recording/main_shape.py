"""Narrows a profile to its launches of one shape and of the same work: a mean over large and small launches describes neither.

A `Profile` in; out comes one that holds only the launches that take most of the time.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from profiler.analyse.recording.kernel_names import names_of_sides
from profiler.analyse.recording.launch_shapes import LaunchShape, differences_text, shape_text
from profiler.analyse.recording.profile import Profile, profile_kernel

# A boosted clock is up to a third higher than the base one, so the same launch may take so many times as long as another.
_ALIKE = 4 / 3


def of_main_shape(profile: Profile) -> Profile:
    if len(profile.shapes) < 2:
        return profile
    main = profile_kernel(profile.run, profile.kernel, among=profile.groups[0])
    return replace(main, label=profile.label)  # a page calls a recording by a shorter name than its run does


def say_main_shape(profile: Profile, main: Profile) -> list[str]:
    """Returns the caution that the figures show only launches of one shape and work; none where all launches are alike."""
    if len(profile.shapes) == len(main.shapes):
        return []
    those, longest = ("that", "takes longest") if main.launches == 1 else ("those", "take longest together")
    return [
        f"{differences_text(profile.shapes)}; all figures are of {main.launches} of the {profile.launches} launches, {those} of {shape_text(main.shapes[0])}, which {longest}; "
        "`--launch N` chooses others"
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
        shapes = f"{shape_text(one.shapes[0])}, which take longest ({counts})"
        return one, other, [f"the launches of {shapes}, are compared"]
    names = names_of_sides((before.label, after.label), (before.kernel, after.kernel))
    sides = zip(names, (before, after), (one, other), strict=True)
    narrowed = {
        name: _which(main, whole.launches) for name, whole, main in sides if main.launches < whole.launches
    }
    of = f"of {next(iter(narrowed))}, " if len(narrowed) == 1 else ""
    compared = f"{of}the launches that take longest are compared: {', with '.join(narrowed.values())}"
    return one, other, [compared] if narrowed else []


def _at_same_places(before: Profile, after: Profile) -> tuple[Profile, Profile] | None:
    """Returns the launches that take most of the time on one side, with those at the same places on the other; None unless these are alike, too.

    If a program still launches a kernel as often, each place has the same work as before, even if other launches are the longest now.
    Launches at other places are taken as well, where they have the same shape and take as long as these.
    """
    if before.launches != after.launches:
        return None
    for side, other in ((before, after), (after, before)):
        longest = set(side.groups[0]) if side.groups else set()
        places = [place for place, number in enumerate(side.numbers) if number in longest]
        there = {other.numbers[place] for place in places}
        group = next((one for one in other.groups if there and there.issubset(one)), None)
        if group is not None:
            found = _at(side, longest), _at(other, _as_long(other, group, there))
            return found if side is before else found[::-1]
    return None


def _as_long(profile: Profile, group: Collection[int], chosen: Collection[int]) -> list[int]:
    """Returns the launches of a group that take as long as those chosen from it, which are among them."""
    times_ns = profile.launch_ns
    known = [times_ns[number] for number in chosen if number in times_ns]
    if not known:
        return list(group)
    least, most = max(known) / _ALIKE, min(known) * _ALIKE
    return [one for one in group if one in chosen or least <= times_ns.get(one, 0.0) <= most]


def _at(profile: Profile, numbers: Collection[int]) -> Profile:
    if len(numbers) == profile.launches:
        return profile
    return profile_kernel(profile.run, profile.kernel, among=numbers)


def _which(main: Profile, launches: int) -> str:
    shape = f", of {shape_text(main.shapes[0])}" if main.shapes else ""
    return f"{main.launches} of {launches}{shape}"


def _grid(shape: LaunchShape) -> tuple[tuple[int, int, int], tuple[int, int, int]]:
    return shape.grid, shape.block
