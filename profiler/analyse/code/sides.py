"""Telling the two operands of a product apart: which loads feed one side, which the other.

Multiplications in, each as a pair of loaded elements and the accumulator it adds to; two
`Side`s out, or None where the two cannot be told apart for certain.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from profiler.analyse.code.registers import Value

Groups = frozenset[frozenset[int]]


@dataclass(frozen=True)
class Edge:
    left: Value
    right: Value
    accumulator: int


@dataclass
class Side:
    """`across` holds, for every element, the accumulators it is multiplied into."""

    loads: set[int] = field(default_factory=set)
    across: Groups = frozenset()


def split_sides(edges: Sequence[Edge], addresses: Mapping[int, object]) -> tuple[Side, Side] | None:
    """A compiler swaps factors as it likes: the sides are those of the loads, not of the instructions.

    Loads multiplied with each other are on opposite sides. Loads that never meet, as those
    of different steps, are brought together by sharing out the accumulators alike (the
    rows of a tile and its columns do so differently), else by a common address.
    """
    parts = _opposite_sides(edges)
    if not parts:
        return None
    one, other = parts.pop(0)
    while parts:
        for index, part in enumerate(parts):
            turned = _turned((one, other), part, addresses)
            if turned is not None:
                first, second = reversed(part) if turned else part
                one, other = _joined(one, first), _joined(other, second)
                del parts[index]
                break
        else:
            return None
    return (one, other) if min(one.loads) < min(other.loads) else (other, one)


def _opposite_sides(edges: Sequence[Edge]) -> list[tuple[Side, Side]]:
    """The connected parts of the graph of loads, each split in two; none if one cannot be."""
    neighbours: dict[int, set[int]] = {}
    users: dict[Value, set[int]] = {}
    for edge in edges:
        neighbours.setdefault(edge.left[0], set()).add(edge.right[0])
        neighbours.setdefault(edge.right[0], set()).add(edge.left[0])
        for value in (edge.left, edge.right):
            users.setdefault(value, set()).add(edge.accumulator)
    side_of: dict[int, int] = {}
    parts = []
    for start in neighbours:
        if start in side_of:
            continue
        side_of[start], reached = 0, [start]
        for load in reached:
            for neighbour in neighbours[load]:
                if neighbour not in side_of:
                    side_of[neighbour] = 1 - side_of[load]
                    reached.append(neighbour)
                elif side_of[neighbour] == side_of[load]:
                    return []
        parts.append((_side(reached, side_of, 0, users), _side(reached, side_of, 1, users)))
    return parts


def _side(
    loads: Sequence[int], side_of: Mapping[int, int], which: int, users: Mapping[Value, set[int]]
) -> Side:
    chosen = {load for load in loads if side_of[load] == which}
    return Side(chosen, frozenset(frozenset(users[value]) for value in users if value[0] in chosen))


def _turned(known: tuple[Side, Side], new: tuple[Side, Side], addresses: Mapping[int, object]) -> bool | None:
    """Whether the first side of the new pair belongs to the second known one; None if open."""
    if known[0].across != known[1].across:
        if (new[0].across, new[1].across) == (known[0].across, known[1].across):
            return False
        if (new[1].across, new[0].across) == (known[0].across, known[1].across):
            return True
    seen, found = ([{addresses[load] for load in side.loads} for side in pair] for pair in (known, new))
    straight = bool(seen[0] & found[0] or seen[1] & found[1])
    crossed = bool(seen[0] & found[1] or seen[1] & found[0])
    return crossed if straight != crossed else None


def _joined(one: Side, other: Side) -> Side:
    return Side(one.loads | other.loads, one.across | other.across)
