"""The short form of a finding, for agents: what matters most, in at most 8 KB of JSON.

A finding comes in, and the same type goes out, so that one schema holds for both; `left_out` counts what it lacks. A member
of which nothing is left is absent.
The classes of the finding declare how important each entry is (`analyse/importance.py`). All entries are ranked once, the
most important are taken while there is room, and these are copied. Every sentence stays with the figures that it speaks of.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from heapq import heapify, heappop, heappush
from itertools import islice
from operator import itemgetter
from typing import Any, NamedTuple, TypeVar

from msgspec import UNSET, Struct
from msgspec.structs import fields, replace

from profiler.analyse.importance import ALWAYS, Importance, importances_of
from profiler.present.render.json import to_json

LIMIT_BYTES = 8000
_LARGEST_WHOLE = 1e15
_ELLIPSIS = "…"


@dataclass(frozen=True)
class Widths:
    """The longest name and sentence in JSON, in bytes, and the most entries of a list or object of texts.

    Kernel names come from anybody's program and can be very long.
    """

    name: int
    sentence: int
    entries: int


# The first leaves the texts of prof itself whole; the last fits whatever the names are.
_WIDTHS = (
    Widths(160, 600, 16),
    Widths(120, 400, 16),
    Widths(60, 200, 8),
    Widths(40, 120, 4),
    Widths(32, 60, 1),
)


def rounded(value: float) -> float:
    """Rounds to six significant digits; a whole number keeps all its digits and prints as one."""
    if not value.is_integer():
        value = float(f"{value:.6g}")
    return int(value) if value.is_integer() and abs(value) < _LARGEST_WHOLE else value


def shortened_in_json(text: str, width: int) -> str:
    """Keeps the start and the end of a text that takes more than `width` bytes in JSON."""
    if _width_in_json(text) <= width:
        return text
    left = width - _width_in_json(_ELLIPSIS)
    tail = _fitting(reversed(text[-width:]), left // 3)[::-1]
    head = _fitting(text[:width], left - _width_in_json(tail))
    return f"{head}{_ELLIPSIS}{tail}"


def _fitting(characters: Iterable[str], width: int) -> str:
    taken = ""
    for character in characters:
        width -= _width_in_json(character)
        if width < 0:
            break
        taken += character
    return taken


@lru_cache(maxsize=10_000)  # the same names, and the same characters of long ones, come often
def _width_in_json(text: str) -> int:
    return len(to_json(text)) - len('""')


Finding = TypeVar("Finding", bound=Struct)
Route = tuple[str | int, ...]  # the names and numbers that lead to a list, or to one of its entries

_SENTENCES = {
    "sentence",
    "what",
    "why",
    "next",
    "try_",
    "message",
    "remedy",
    "warnings",
    "cautions",
    "refused",
}
_FIGURES = {"evidence", "metrics", "delta"}  # what sentences speak of
_WHOLE = Importance(ALWAYS)  # what nothing is declared of
_NO_PARTS = _WHOLE.parts
_SMALLEST_ENTRY = 8  # bytes, with the comma


def brief(finding: Finding, wanted: Collection[str] = (), limit: int = LIMIT_BYTES) -> Finding:
    """Shortens a finding; `wanted` metrics, by prof's name or ncu's, are as important as the headline.

    As many of the most important entries are taken as fit. Then each list goes on as far as there is room, the most
    important entry first.
    """
    ranking = _Ranking(frozenset(wanted))
    for widths in _WIDTHS:
        copy = partial(_Copy, finding, widths, ranking)
        small = copy([])
        if small.size <= limit:
            break
    entries = list(islice(ranking.by_importance(finding), limit))  # an entry takes a byte at least
    fitting = bisect_right(range(1, len(entries) + 1), limit, key=lambda number: copy(entries[:number]).size)
    taken = entries[:fitting]
    small = copy(taken)
    there = {(), *(one.place for one in taken)}
    full: set[Route] = set()
    for one in entries[fitting:]:
        if limit - small.size < _SMALLEST_ENTRY:
            break
        if one.of in full or one.holder not in there:
            continue
        larger = copy([*taken, one])
        if larger.size > limit:
            full.add(one.of)
            continue
        small = larger
        taken.append(one)
        there.add(one.place)
    short: Finding = small.finding
    return short


class _Entry(NamedTuple):
    """An entry that may be left out. It is at a `place`, in the list `of` a place, inside the entry that is its `holder`."""

    place: Route
    of: Route
    holder: Route


class _Candidate(NamedTuple):
    """An entry of a list. With `instead`, it stands for an entry of another list of the same object, by the name of that list and the
    place in it, and is shown only where that list is cut before it.
    """

    at: int
    value: Any
    instead: tuple[str, int] | None = None


class _List(NamedTuple):
    """A list that may be cut, at a place inside the entry `holder`: no entry of it is more important than that one."""

    place: Route
    holder: Route
    ranked: list[_Candidate]
    importance: Importance
    at_most: float

    def next(self, index: int) -> tuple[float, Route, int, _List]:
        """Returns the entry of this rank in an order that begins with the most important one, and with what stands first."""
        there = index < len(self.ranked)
        important = min(self.at_most, self.importance.first - self.importance.each * index) if there else 0.0
        return -important, self.place, index, self


class _Ranking:
    """Ranks every list once, for all the copies of a finding: how important an entry is does not depend on what else is kept."""

    def __init__(self, wanted: Collection[str]) -> None:
        self._wanted = wanted
        # By the holder's identity, which is its own as long as the holder is kept beside it.
        self._known: dict[tuple[int, str], tuple[Struct, list[_Candidate]]] = {}

    def by_importance(self, finding: Struct) -> Iterator[_Entry]:
        """Yields the entries of all lists, the most important first, but none before the one that holds it."""
        rest = [one.next(0) for one in self._lists_in(finding, ALWAYS, _NO_PARTS, (), ())]
        heapify(rest)
        while rest:
            less, of, index, its = heappop(rest)
            if less >= 0:
                return
            entry = its.ranked[index]
            place = (*of, entry.at)
            yield _Entry(place, of, its.holder)
            heappush(rest, its.next(index + 1))
            for one in self._lists_in(entry.value, -less, its.importance.parts, place, place):
                heappush(rest, one.next(0))

    def _lists_in(
        self, value: Any, at_most: float, parts: Mapping[str, Importance], place: Route, holder: Route
    ) -> Iterator[_List]:
        """Yields the lists that may be cut, but not those inside their entries."""
        if isinstance(value, Struct):
            declared = {**importances_of(type(value)), **parts}
            for name in value.__struct_fields__:
                importance, inside = declared.get(name, _WHOLE), (*place, name)
                if importance.first == ALWAYS:
                    member = getattr(value, name)
                    yield from self._lists_in(member, at_most, importance.parts, inside, holder)
                else:
                    yield _List(inside, holder, self.of_member(value, name, declared), importance, at_most)
        elif isinstance(value, (dict, list, tuple)):
            for at, one in enumerate(value.values() if isinstance(value, dict) else value):
                yield from self._lists_in(one, at_most, parts, (*place, at), holder)

    def of_member(self, holder: Struct, name: str, declared: Mapping[str, Importance]) -> list[_Candidate]:
        """Returns the entries of a list from the most important on, without those that are never shown."""
        key = (id(holder), name)
        if key not in self._known:
            self._known[key] = (holder, self._rank(holder, name, declared))
        return self._known[key][1]

    def _rank(self, holder: Struct, name: str, declared: Mapping[str, Importance]) -> list[_Candidate]:
        found = [_Candidate(at, one) for at, one in enumerate(_members(getattr(holder, name)))]
        for other, importance in declared.items():
            if importance.instead and importance.instead[0] == name:
                says = importance.instead[1]
                for at, one in enumerate(_members(getattr(holder, other))):
                    found.append(_Candidate(len(found), says(one), (other, at)))
        by = declared[name].by or (lambda *_: 0)
        ranks = [by(one.value, holder, self._wanted) for one in found]
        ranked = [one for one in found if ranks[one.at] is not None]
        return sorted(ranked, key=lambda one: ranks[one.at], reverse=declared[name].largest_first)


class _Copy:
    """A finding as it will be printed, with the entries that were taken, which are the most important ones of each list."""

    def __init__(self, finding: Struct, widths: Widths, ranking: _Ranking, taken: Iterable[_Entry]) -> None:
        self._widths, self._ranking = widths, ranking
        self._taken = Counter(one.of for one in taken)
        self._left_out: Counter[str] = Counter()
        small: Any = self._struct(finding, _NO_PARTS, ())
        self.finding = replace(small, left_out=dict(sorted((+self._left_out).items())))
        self.size = len(to_json(self.finding)) + 1  # bytes, with the end of the line: `to_json` is ASCII

    def _of(self, value: Any, name: str, parts: Mapping[str, Importance], place: Route) -> Any:
        """Copies with texts shortened and numbers rounded; `name` is the name of the member that holds it."""

        def part(one: Any, at: int = 0, name: str = "") -> Any:
            return self._of(one, name, parts, (*place, at))

        if isinstance(value, str):
            width = self._widths.sentence if name in _SENTENCES else self._widths.name
            short = shortened_in_json(value, width)
            self._left_out["texts"] += short != value
            return short
        if isinstance(value, float):
            return rounded(value)
        if isinstance(value, Struct):
            return self._struct(value, parts, place)
        if isinstance(value, dict):
            most = len(value) if name in _FIGURES else self._widths.entries
            kept = {part(one): part(value[one], at) for at, one in enumerate(islice(value, most))}
            self._left_out["entries"] += len(value) - len(kept)  # names may be alike when they are short
            return kept
        if isinstance(value, list):
            most = self._widths.entries if value and isinstance(value[0], str) else len(value)
            self._left_out["entries"] += len(value[most:])
            return [part(one, at, name) for at, one in enumerate(value[:most])]
        if isinstance(value, tuple):
            return tuple(part(one, at) for at, one in enumerate(value))
        return value

    def _struct(self, whole: Struct, parts: Mapping[str, Importance], place: Route) -> Struct:
        declared = {**importances_of(type(whole)), **parts}
        members: dict[str, Any] = {}
        beside: dict[str, int] = {}
        kept: dict[str, dict[int, Any]] = {}  # of each list, by their places
        # By these a reader knows what kind of answer it is, so they stay, with `left_out` beside them.
        stay = () if place else _required(type(whole))
        # What other lists lack is known before the list that names it.
        for name in sorted(whole.__struct_fields__, key=lambda one: not declared.get(one, _WHOLE).instead):
            member, importance, inside = getattr(whole, name), declared.get(name, _WHOLE), (*place, name)
            if importance.first == ALWAYS:
                members[name] = self._of(member, name, importance.parts, inside)
                continue
            ranked = self._ranking.of_member(whole, name, declared)
            kept[name] = self._kept(ranked[: self._taken[inside]], importance, inside, kept)
            own = _members(member)
            lost = [one for at, one in enumerate(own) if at not in kept[name]]
            counted_as = importance.counted_as or name
            self._left_out.update(map(counted_as, lost) if callable(counted_as) else {counted_as: len(lost)})
            if (count := f"{name}_left_out") in whole.__struct_fields__:
                beside[count] = getattr(whole, count) + len(lost)
            # Empty, it would say that there is none.
            is_absent = own and not kept[name] and name not in stay
            members[name] = UNSET if is_absent else _like(member, list(kept[name].values()))
        return replace(whole, **(members | beside))

    def _kept(
        self,
        taken: Iterable[_Candidate],
        importance: Importance,
        place: Route,
        of_others: Mapping[str, Collection[int]],
    ) -> dict[int, Any]:
        """Returns the entries that were taken, by their places, in the order in which they are shown.

        Those that stand for an entry of another list are left out if that entry is there.
        """
        kept: dict[Any, tuple[int, Any]] = {}
        for at, value, instead in taken:
            if instead and instead[1] in of_others[instead[0]]:
                continue
            one = self._of(value, str(place[-1]), importance.parts, (*place, at))
            # Of an object's names, another is the same when both are short.
            kept.setdefault(one[0] if isinstance(one, tuple) else at, (at, one))
        return dict(sorted(kept.values(), key=itemgetter(0)) if importance.keeps_order else kept.values())


def _like(member: Any, values: list[Any]) -> Any:
    """Returns the values as the list, the object or the optional member that they were taken from."""
    if isinstance(member, dict):
        return dict(values)
    if isinstance(member, list):
        return values
    return values[0] if values else None


@lru_cache
def _required(cls: type[Struct]) -> set[str]:
    return {member.name for member in fields(cls) if member.required}


def _members(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.items())
    if isinstance(value, list):
        return value.copy()
    return [] if value is None else [value]
