"""Finds what leads back to itself, such as a sum that a loop carries from one iteration to the next."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence


def find_on_cycles(leads_to: Sequence[Collection[int]]) -> frozenset[int]:
    """Returns the positions that lead back to themselves, directly or through others. `leads_to` says for each one to which it leads.

    Positions that lead to each other form a strongly connected component (R. Tarjan, "Depth-First Search and Linear Graph
    Algorithms", 1972). The path is kept in a list, because code is too long for recursion.
    """
    found: set[int] = set()
    visited: dict[int, int] = {}  # each position with its number, in the order of the visits
    lowest: dict[int, int] = {}  # the lowest number on the path that it leads to
    path: list[int] = []  # the visited positions whose component is not complete yet
    on_path: set[int] = set()
    visiting: list[tuple[int, Iterator[int]]] = []

    def visit(position: int) -> None:
        visited[position] = lowest[position] = len(visited)
        path.append(position)
        on_path.add(position)
        visiting.append((position, iter(leads_to[position])))

    for start in range(len(leads_to)):
        if start in visited:
            continue
        # Most positions lead only to completed ones, and perhaps to themselves. They need no path.
        left = [one for one in leads_to[start] if one not in visited]
        if not left or left == [start]:
            visited[start] = len(visited)
            found.update(left)
            continue
        visit(start)
        while visiting:
            position, others = visiting[-1]
            for other in others:
                if other not in visited:
                    visit(other)
                    break
                if other in on_path:
                    lowest[position] = min(lowest[position], visited[other])
            else:
                visiting.pop()
                if visiting:
                    before = visiting[-1][0]
                    lowest[before] = min(lowest[before], lowest[position])
                if lowest[position] == visited[position]:
                    component = _cut_from(path, position)
                    on_path.difference_update(component)
                    if len(component) > 1 or position in leads_to[position]:
                        found.update(component)
    return frozenset(found)


def _cut_from(path: list[int], position: int) -> list[int]:
    """Removes the end of the path, from this position on, and returns it."""
    taken = [path.pop()]
    while taken[-1] != position:
        taken.append(path.pop())
    return taken
