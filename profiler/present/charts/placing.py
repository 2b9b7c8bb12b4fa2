"""Finds where the labels of points stand, so that a reader sees at once which point each of them names.

Drawn things come in, and offsets go out, in pixels. A label stands right beside its point. Where points are crowded it stands
farther away, and a thin line leads to its point. A chart is drawn for rooms of different widths with the same offsets, so a place
has to be good in each of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

Spot = tuple[float, float]  # from the left and from the top, or from a point
Segment = tuple[Spot, Spot]

_BESIDE = 13  # from the middle of a point to the middle of a short label beside it
_RADII, _TURNS = (_BESIDE, 20, 27, 34, 42, 50), 16
_LETTER, _HIGH, _POINT = 6.5, 11.0, 5.0  # a letter is so wide, a label so high, and half a point so large
_BETWEEN = 4.0  # labels beside each other leave such a gap, or they read as one
_NEARER = 2.0  # a label is by so much nearer to its own point than to any other, or a line leads to it
# What a place costs, in pixels that the label may stand farther away to avoid it.
_UNREADABLE, _BEYOND, _COVERS, _NEEDS_LINE, _LINE_MEETS = 2_000, 800, 200, 15, 60


class Label(NamedTuple):
    """A text, and the points of the ground that it names, which lie on one another."""

    text: str
    named: tuple[int, ...]


class Ground(NamedTuple):
    """The places of all that a label must avoid, in a drawing of one width. Each ceiling has two ends and a name of letters."""

    points: Sequence[Spot]
    ceilings: Sequence[Segment]
    letters: Sequence[Spot]


def place_labels(labels: Sequence[Label], grounds: Sequence[Ground]) -> list[Spot]:
    """Returns where each label stands, from the middle of the first point that it names.

    The first round places each label with regard to those before it, and the second with regard to all.
    """
    placed: dict[Label, Spot] = {}
    for label in (*labels, *labels):
        placed.pop(label, None)
        placed[label] = _cheapest(label, placed, grounds)
    return [placed[label] for label in labels]


def leader(label: Label, offset: Spot, grounds: Iterable[Ground]) -> Spot | None:
    """Returns where the line from a point to its label ends, from the point; None if the label needs no line."""
    away = math.hypot(*offset)
    if away <= _BESIDE + _wider(label) + 1 and all(_is_nearest(label, offset, one) for one in grounds):
        return None
    wide, high = _LETTER * len(label.text) / 2 + 1, _HIGH / 2 + 1
    inside = min(
        (reach / abs(along) for reach, along in ((wide, offset[0]), (high, offset[1])) if along), default=1.0
    )
    part = max(0.0, 1 - inside)
    return offset[0] * part, offset[1] * part


def _cheapest(label: Label, placed: dict[Label, Spot], grounds: Sequence[Ground]) -> Spot:
    offsets = iter(_offsets(label))
    best = next(offsets)
    lowest = sum(_cost(label, best, placed, ground) for ground in grounds)
    for offset in offsets:
        if math.hypot(*offset) * len(grounds) >= lowest:
            break  # and all others are farther away
        cost = sum(_cost(label, offset, placed, ground) for ground in grounds)
        if cost < lowest:
            best, lowest = offset, cost
    return best


def _offsets(label: Label) -> list[Spot]:
    """Returns the places to try, the nearest first; those of a distance go clockwise from the right."""
    turns = [math.tau * turn / _TURNS for turn in range(_TURNS)]
    around = [
        (round((radius + _wider(label)) * math.cos(turn)), round(radius * math.sin(turn)))
        for radius in _RADII
        for turn in turns
    ]
    return sorted(around, key=lambda offset: math.hypot(*offset))


def _wider(label: Label) -> float:
    """Returns by how much half the label is wider than half a label of two letters."""
    return _LETTER * max(0, len(label.text) - 2) / 2


def _cost(label: Label, offset: Spot, placed: dict[Label, Spot], ground: Ground) -> float:
    own, at = _line(label, offset, ground)
    line = (own, at)
    strangers = list(_strangers(label, ground))
    others = [(len(one.text), _line(one, place, ground)) for one, place in placed.items()]
    half = _LETTER * len(label.text) / 2
    return (
        math.dist(own, at)
        + _UNREADABLE
        * any(_meet(at, end, half + _LETTER * size / 2 + _BETWEEN, _HIGH) for size, (_, end) in others)
        + _UNREADABLE * any(_meet(at, one, half + _LETTER / 2, _HIGH) for one in ground.letters)
        + _BEYOND * any(_is_beyond(own, one) != _is_beyond(at, one) for one in ground.ceilings)
        + _COVERS * any(_meet(at, one, half + _POINT, _HIGH / 2 + _POINT) for one in strangers)
        + _COVERS * any(_distance(at, one) < _HIGH / 2 + 1 for one in ground.ceilings)
        + _COVERS * any(_distance(end, line) < _HIGH / 2 for _, (_, end) in others)
        + _NEEDS_LINE * (not _is_nearest(label, offset, ground))
        + _LINE_MEETS * sum(_distance(one, line) < _POINT for one in strangers)
        + _LINE_MEETS * sum(_distance(at, one) < _HIGH / 2 or _cross(line, one) for _, one in others)
    )


def _line(label: Label, offset: Spot, ground: Ground) -> Segment:
    """Returns the line from the point to the middle of its label."""
    across, down = ground.points[label.named[0]]
    return (across, down), (across + offset[0], down + offset[1])


def _strangers(label: Label, ground: Ground) -> Iterator[Spot]:
    return (place for which, place in enumerate(ground.points) if which not in label.named)


def _is_nearest(label: Label, offset: Spot, ground: Ground) -> bool:
    _, at = _line(label, offset, ground)
    away = math.hypot(*offset) + _NEARER
    return all(math.dist(at, one) >= away for one in _strangers(label, ground))


def _meet(one: Spot, other: Spot, wide: float, high: float) -> bool:
    return abs(one[0] - other[0]) < wide and abs(one[1] - other[1]) < high


def _distance(at: Spot, segment: Segment) -> float:
    """Returns how far the place is from the nearest place of the segment."""
    (left, top), (right, bottom) = segment
    across, down = right - left, bottom - top
    squared = across**2 + down**2
    part = ((at[0] - left) * across + (at[1] - top) * down) / squared if squared else 0.0
    part = min(1.0, max(0.0, part))
    return math.dist(at, (left + part * across, top + part * down))


def _cross(one: Segment, other: Segment) -> bool:
    return _divides(one, other) and _divides(other, one)


def _divides(line: Segment, segment: Segment) -> bool:
    """Returns whether the ends of the segment lie on both sides of the endless line."""
    return _side(line, segment[0]) * _side(line, segment[1]) < 0


def _side(line: Segment, at: Spot) -> float:
    (left, top), (right, bottom) = line
    return (right - left) * (at[1] - top) - (bottom - top) * (at[0] - left)


def _is_beyond(at: Spot, ceiling: Segment) -> bool:
    """Returns whether the place is above the endless line of a ceiling: a label there would seem to be under another roof."""
    return _side(ceiling, at) < 0
