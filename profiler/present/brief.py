"""The short form of a finding, for agents: what matters most, in at most 8 KB of JSON.

A finding comes in, and the same type goes out, so that one schema holds for both; `left_out` counts what it lacks. A member
of which nothing is left is absent.
The classes of the finding declare how important each entry is (`analyse/importance.py`). The most important entry
that still fits is kept first, and every sentence stays with the figures that it speaks of.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from math import inf
from operator import itemgetter
from typing import Any, NamedTuple, TypeVar

from msgspec import UNSET, Struct
from msgspec.structs import fields, replace

from profiler.analyse.importance import ALWAYS, HIGHEST, Importance, importances_of
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
ListPlace = tuple[str | int, ...]  # the names and numbers that lead to a list

_SENTENCES = {"sentence", "what", "why", "next", "try_", "message", "warnings", "cautions", "refused"}
_FIGURES = {"evidence", "metrics", "delta"}  # what sentences speak of
_NO_PARTS: Mapping[str, Importance] = {}
_SMALLEST_ENTRY = 8


def brief(finding: Finding, wanted: Collection[str] = (), limit: int = LIMIT_BYTES) -> Finding:
    """Shortens a finding; `wanted` metrics, by prof's name or ncu's, are as important as the headline.

    All lists are cut at the lowest level of importance at which the finding fits. Then each goes on as far as there is room,
    the most important entry first.
    """
    ranking = _Ranking(frozenset(wanted))
    for widths in _WIDTHS:
        cut_at = partial(_Cut, finding, widths, ranking)
        cut = cut_at(inf, {})
        if cut.size <= limit:
            break
    # Where the highest level does not fit, no lower one does, and each would hold as many thousands of entries.
    fails, fits = HIGHEST if cut_at(HIGHEST, {}).size > limit else 0.0, HIGHEST
    while fits - fails > 1:
        level = (fails + fits) / 2
        lower = cut_at(level, {})
        cut, fits, fails = (lower, level, fails) if lower.size <= limit else (cut, fits, level)
    full: set[ListPlace] = set()
    while limit - cut.size >= _SMALLEST_ENTRY and (goes_on := cut.next_entries.keys() - full):
        first = min(goes_on, key=lambda place: (-cut.next_entries[place].importance, place))
        more = cut_at(cut.level, {**cut.more, first: cut.next_entries[first].more_important + 1})
        if more.size <= limit:
            cut = more
        else:
            full.add(first)
    small: Finding = cut.small
    return small


class _Next(NamedTuple):
    """The most important entry that a list lacks, and how many are more important."""

    importance: float
    more_important: int


class _Ranked(NamedTuple):
    """The entries of a list, and their places from the most important on."""

    entries: list[Any]
    places: list[int]


class _Ranking:
    """Ranks every list once, for all the cuts of a finding: how important an entry is does not depend on what else is kept."""

    def __init__(self, wanted: Collection[str]) -> None:
        self._wanted = wanted
        # By the holder's identity, which is its own as long as the holder is kept beside it.
        self._known: dict[tuple[int, str], tuple[Struct, _Ranked]] = {}

    def of_member(self, holder: Struct, name: str, importance: Importance) -> _Ranked:
        key = (id(holder), name)
        if key not in self._known:
            entries = _members(getattr(holder, name))
            self._known[key] = (holder, self.of_entries(entries, holder, importance))
        return self._known[key][1]

    def of_entries(self, entries: list[Any], holder: Struct, importance: Importance) -> _Ranked:
        by = importance.by or (lambda *_: 0)
        ranks = [by(one, holder, self._wanted) for one in entries]
        places = [at for at, rank in enumerate(ranks) if rank is not None]
        places.sort(key=ranks.__getitem__, reverse=importance.largest_first)
        return _Ranked(entries, places)


class _Cut:
    """A finding as it will be printed, without the entries below a level of importance; a list may have so many or `more`."""

    def __init__(
        self,
        finding: Struct,
        widths: Widths,
        ranking: _Ranking,
        level: float,
        more: Mapping[ListPlace, int],
    ) -> None:
        self._widths, self._ranking, self.level, self.more = widths, ranking, level, more
        self.next_entries: dict[ListPlace, _Next] = {}
        self._left_out: Counter[str] = Counter()
        small: Any = self._struct(finding, ALWAYS, _NO_PARTS, ())
        self.small = replace(small, left_out=dict(sorted((+self._left_out).items())))
        self.size = len(to_json(self.small)) + 1  # bytes, with the end of the line: `to_json` is ASCII

    def _of(
        self, value: Any, name: str, at_most: float, parts: Mapping[str, Importance], place: ListPlace
    ) -> Any:
        """Copies with texts shortened and numbers rounded; `name` is the name of the member that holds it."""

        def part(one: Any, name: str = "", at: int = 0) -> Any:
            return self._of(one, name, at_most, parts, (*place, at))

        if isinstance(value, str):
            width = self._widths.sentence if name in _SENTENCES else self._widths.name
            short = shortened_in_json(value, width)
            self._left_out["texts"] += short != value
            return short
        if isinstance(value, float):
            return rounded(value)
        if isinstance(value, Struct):
            return self._struct(value, at_most, parts, place)
        if isinstance(value, dict):
            most = len(value) if name in _FIGURES else self._widths.entries
            kept = {part(one): part(value[one]) for one in list(value)[:most]}
            self._left_out["entries"] += len(value) - len(kept)  # names may be alike when they are short
            return kept
        if isinstance(value, list):
            most = self._widths.entries if value and isinstance(value[0], str) else len(value)
            self._left_out["entries"] += len(value[most:])
            return [part(one, name, at) for at, one in enumerate(value[:most])]
        return tuple(map(part, value)) if isinstance(value, tuple) else value

    def _struct(
        self, whole: Struct, at_most: float, parts: Mapping[str, Importance], place: ListPlace
    ) -> Struct:
        declared = {**importances_of(type(whole)), **parts}
        members: dict[str, Any] = {}
        counts: dict[str, int] = {}  # beside a list that is cut, in some findings
        named: dict[str, list[Any]] = {}  # what other lists lack, by the list that names it
        # By these a reader knows what kind of answer it is, so they stay, with `left_out` beside them.
        stay = () if place else _required(type(whole))

        def is_named_elsewhere(name: str) -> bool:
            return name in declared and declared[name].instead is not None

        for name in sorted(whole.__struct_fields__, key=is_named_elsewhere, reverse=True):
            member, importance, inside = getattr(whole, name), declared.get(name), (*place, name)
            if importance is None or importance.first == ALWAYS:
                inner = importance.parts if importance else _NO_PARTS
                members[name] = self._of(member, name, at_most, inner, inside)
                continue
            ranked = self._ranking.of_member(whole, name, importance)
            entries = ranked.entries
            if name in named:
                ranked = self._ranking.of_entries([*entries, *named[name]], whole, importance)
            kept = self._kept(ranked, importance, at_most, inside)
            missing = len(entries) - sum(at < len(entries) for at in kept)
            counted_as = importance.counted_as or name
            if importance.instead or callable(
                counted_as
            ):  # else nobody asks which they are, and they may be thousands
                lost = [one for at, one in enumerate(entries) if at not in kept]
            if importance.instead:
                where, shown_as = importance.instead
                named[where] = list(map(shown_as, lost))
            self._left_out.update(map(counted_as, lost) if callable(counted_as) else {counted_as: missing})
            if (beside := f"{name}_left_out") in whole.__struct_fields__:
                counts[beside] = getattr(whole, beside) + missing
            # Empty, it would say that there is none.
            is_absent = bool(entries) and not kept and name not in stay
            members[name] = UNSET if is_absent else _like(member, list(kept.values()))
        return replace(whole, **(members | counts))

    def _kept(
        self, ranked: _Ranked, importance: Importance, at_most: float, place: ListPlace
    ) -> dict[int, Any]:
        """Returns the entries that are important enough, by their places, in the order in which they are shown."""
        kept: dict[Any, tuple[int, Any]] = {}
        for index, at in enumerate(ranked.places):
            important = min(at_most, importance.first - importance.each * index)
            if important <= 0:
                break
            if important < self.level and index >= self.more.get(place, 0):
                self.next_entries[place] = _Next(important, index)
                break
            one = self._of(ranked.entries[at], str(place[-1]), important, importance.parts, (*place, at))
            # Of an object's names, another is the same when both are short.
            kept.setdefault(one[0] if isinstance(one, tuple) else at, (at, one))
        shown = sorted(kept.values(), key=itemgetter(0)) if importance.keeps_order else kept.values()
        return dict(shown)


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
