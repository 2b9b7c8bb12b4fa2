"""Narrows a profile to its launches of one shape: a mean over large and small launches describes neither.

A `Profile` in; out comes one that holds only the launches of the shape that takes most of the time.
"""

from __future__ import annotations

from collections import Counter

from profiler.analyse.recording.launch_shapes import SHAPE_COLUMNS, LaunchShape, shape_text
from profiler.analyse.recording.profile import Profile, profile_kernel
from profiler.catalog.metrics import BY_NAME, DURATION


def of_main_shape(profile: Profile) -> Profile:
    if len(profile.shapes) < 2 or profile.run is None:
        return profile
    launches = profile.run.table("launches").select(["launch", *SHAPE_COLUMNS]).to_pylist()
    shape_of = {row["launch"]: tuple(row[name] for name in SHAPE_COLUMNS) for row in launches}
    times = _durations(profile)
    total: Counter[tuple[object, ...]] = Counter()
    for launch in profile.numbers:
        total[shape_of[launch]] += times.get(launch, 1.0)  # type: ignore[assignment]
    ((longest, _),) = total.most_common(1)
    chosen = [launch for launch in profile.numbers if shape_of[launch] == longest]
    return profile_kernel(profile.run, profile.kernel, among=chosen)


def say_main_shape(profile: Profile, main: Profile) -> list[str]:
    """Returns the caution that the figures show only launches of one shape; none where all launches have that shape."""
    if len(profile.shapes) == len(main.shapes):
        return []
    which = f"{main.launches} of the {profile.launches} launches"
    return [
        f"grid, block, registers or shared memory differ in {len(profile.shapes)} ways; all figures are of "
        f"{which}, those of {shape_text(main.shapes[0])}, which take most of the time"
    ]


def _durations(profile: Profile) -> dict[int, float]:
    assert profile.run is not None
    table = profile.run.table("metrics").select(["launch", "metric", "value"]).to_pylist()
    names = BY_NAME[DURATION].ncu
    return {row["launch"]: row["value"] for row in table if row["metric"] in names and row["value"]}


def pair_of_main_shapes(before: Profile, after: Profile) -> tuple[Profile, Profile, list[str]]:
    """Returns both sides of a comparison, each at the shape that takes most of its time.

    The third value is a caution that says so; it is empty if neither side was narrowed.
    """
    if len(before.shapes) < 2 and len(after.shapes) < 2:
        return before, after, []
    one, other = of_main_shape(before), of_main_shape(after)
    if one.shapes and other.shapes and _grid(one.shapes[0]) == _grid(other.shapes[0]):
        counts = f"{one.launches} of {before.launches} and {other.launches} of {after.launches}"
        shapes = f"{shape_text(one.shapes[0])}, which take most of the time ({counts})"
        return one, other, [f"the launches of {shapes}, are compared"]
    which = ", with ".join(_which(main, side.launches) for side, main in ((before, one), (after, other)))
    return one, other, [f"the launches that take most of the time are compared: {which}"]


def _which(main: Profile, launches: int) -> str:
    shape = f", of {shape_text(main.shapes[0])}" if main.shapes else ""
    return f"{main.launches} of {launches}{shape}"


def _grid(shape: LaunchShape) -> tuple[tuple[int, int, int], tuple[int, int, int]]:
    return shape.grid, shape.block
