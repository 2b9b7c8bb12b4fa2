"""The short form of a finding, for agents: what matters most, in at most 8 KB of JSON.

A finding comes in, and the same type goes out, so that one schema holds for both; `left_out` counts what it lacks. A member
of which nothing is left is absent.
The classes of the finding declare how important each entry is (`analyse/importance.py`). The most important entry
that still fits is kept first, and every sentence stays with the figures that it speaks of.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from heapq import heapify, heappop, heappush
from math import inf
from typing import Any, TypeVar

from msgspec import UNSET, Struct
from msgspec.structs import fields, force_setattr, replace

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

_SENTENCES = {"sentence", "what", "why", "next", "try_", "message", "warnings", "cautions", "refused"}
_FIGURES = {"evidence", "metrics", "delta"}  # what sentences speak of
_SMALLEST_ENTRY = 8
_NO_PARTS: Mapping[str, Importance] = {}


def brief(finding: Finding, wanted: Collection[str] = (), limit: int = LIMIT_BYTES) -> Finding:
    """Shortens a finding; `wanted` metrics, by prof's name or ncu's, are as important as the headline."""
    for widths in _WIDTHS:
        draft = _Draft(finding, _Wishes(widths, frozenset(wanted)))
        if draft.fill(limit):
            break
    draft.hide_what_was_cut()
    small: Finding = draft.small
    return small


@dataclass(frozen=True)
class _Wishes:
    """The longest text that is allowed, and the metrics that were asked for."""

    widths: Widths
    wanted: frozenset[str]


class _Draft:
    """A finding that begins without any entry that could be left out, and is filled with them."""

    def __init__(self, finding: Struct, wishes: _Wishes) -> None:
        skeleton = _Copy(finding, wishes)
        self.small: Any = skeleton.value
        self._left_out = skeleton.left_out
        self._cut = skeleton.cut
        self._waiting = skeleton.entries
        heapify(self._waiting)

    def fill(self, limit: int) -> bool:
        """Returns False where not even the skeleton fits.

        The cost of an entry is an upper bound, so what is left of the room is measured and filled again.
        """
        room = limit - self._measure()
        fits = room >= 0
        while self._keep_most_important(room):
            room = limit - self._measure()
        return fits

    def _keep_most_important(self, room: float) -> bool:
        """Keeps entries while they fit; where one does not, those after it in the same list wait as well."""
        waiting, full, has_kept = [], set(), False
        while self._waiting and room >= _SMALLEST_ENTRY:
            entry = heappop(self._waiting)
            if entry.section in full:
                waiting.append(entry)
                continue
            cost = entry.cost + self._growth_of_counts(entry.copy.left_out)
            if cost > room:
                waiting.append(entry)
                full.add(entry.section)
            elif not entry.is_replaced:
                has_kept = True
                room -= cost
                entry.keep()
                self._left_out.update(entry.copy.left_out)
                self._left_out[entry.counted_as] -= 1
                self._cut += entry.copy.cut
                for inner in entry.copy.entries:
                    heappush(self._waiting, inner)
        for entry in waiting:
            heappush(self._waiting, entry)
        return has_kept

    def hide_what_was_cut(self) -> None:
        """Leaves out the members of which no entry was kept: empty, they would say that there is none.

        Those by which a reader knows what kind of answer it is stay, with `left_out` beside them.
        """
        stay = {member.name for member in fields(type(self.small)) if member.required}
        for section in self._cut:
            if not section.kept and not (section.holder is self.small and section.name in stay):
                force_setattr(section.holder, section.name, UNSET)

    def _growth_of_counts(self, more: Counter[str]) -> int:
        return _counts_in_json(self._left_out + more) - _counts_in_json(+self._left_out)

    def _measure(self) -> int:
        """Returns the bytes as printed, with the end of the line: `to_json` is ASCII."""
        force_setattr(self.small, "left_out", dict(sorted((+self._left_out).items())))
        return len(to_json(self.small)) + 1


@dataclass(eq=False)
class _Section:
    """A list, an object or an optional member of the draft; `kept` are its entries by place."""

    holder: Struct
    name: str
    depth: int
    kept: dict[int, Any] = field(default_factory=dict)

    def show(self) -> None:
        values = [self.kept[place] for place in sorted(self.kept)]
        old = getattr(self.holder, self.name)
        shown: Any = values
        if isinstance(old, dict):
            shown = dict(values)
        elif not isinstance(old, list):
            shown = values[0] if values else None
        force_setattr(self.holder, self.name, shown)

    def count_left_out(self, entries: int) -> None:
        """Adds to a count beside the list, which some findings have, what the list lacks."""
        name = f"{self.name}_left_out"
        if name in self.holder.__struct_fields__:
            force_setattr(self.holder, name, getattr(self.holder, name) + entries)


@dataclass(eq=False)
class _Entry:
    """One entry of a section; a stand-in names another, its `original`, while that is left out."""

    section: _Section
    whole: Any
    wishes: _Wishes
    parts: Mapping[str, Importance]
    counted_as: str = ""
    importance: float = 0.0
    place: int = 0
    original: _Entry | None = None
    stand_in: _Entry | None = None

    def __lt__(self, other: _Entry) -> bool:
        return (-self.importance, self.place) < (-other.importance, other.place)

    @cached_property
    def copy(self) -> _Copy:
        return _Copy(self.whole, self.wishes, self)

    @cached_property
    def _text(self) -> str:
        return to_json(self.copy.value)

    @property
    def depth(self) -> int:
        return self.section.depth + 2

    @property
    def cost(self) -> float:
        """Returns an upper bound of the bytes, since the first object in a list changes the layout around it."""
        shown = getattr(self.section.holder, self.section.name)
        if isinstance(self.whole, tuple) and self.copy.value[0] in shown:
            return inf  # another name is the same when both are short
        freed = len(self.stand_in._text) if self.stand_in and self.stand_in.is_kept else 0
        if "{" not in self._text:
            return len(self._text) + 1 - freed
        lines, around = 1 + self._text.count("\n"), 0 if self.section.kept else 6 * (self.depth + 1)
        return len(self._text) + 2 + lines * self.depth + around - freed

    @property
    def is_kept(self) -> bool:
        return self.place in self.section.kept

    @property
    def is_replaced(self) -> bool:
        return self.original is not None and self.original.is_kept

    def keep(self) -> None:
        self.section.kept[self.place] = self.copy.value
        self.section.show()
        self.section.count_left_out(-1)
        if self.stand_in and self.stand_in.is_kept:
            del self.stand_in.section.kept[self.stand_in.place]
            self.stand_in.section.show()


class _Copy:
    """A value as it will be printed, without the `entries` that may be left out, of the sections that are `cut`.

    All these entries are counted as left out.
    """

    def __init__(self, whole: Any, wishes: _Wishes, entry: _Entry | None = None) -> None:
        self._wishes = wishes
        self._at_most = entry.importance if entry else ALWAYS
        self.entries: list[_Entry] = []
        self.cut: list[_Section] = []
        self.left_out: Counter[str] = Counter()
        self.value = (
            self._of(whole, entry.section.name, entry.depth, entry.parts) if entry else self._of(whole)
        )

    def _of(
        self, value: Any, name: str = "", depth: int = 0, parts: Mapping[str, Importance] = _NO_PARTS
    ) -> Any:
        """Copies with texts shortened and numbers rounded; `name` is the name of the member that holds it."""
        widths = self._wishes.widths
        if isinstance(value, str):
            short = shortened_in_json(value, widths.sentence if name in _SENTENCES else widths.name)
            self.left_out["texts"] += short != value
            return short
        if isinstance(value, float):
            return rounded(value)
        if isinstance(value, Struct):
            return self._struct(value, depth, parts)
        if isinstance(value, dict):
            kept = len(value) if name in _FIGURES else widths.entries
            entries = {self._of(one): self._of(value[one]) for one in list(value)[:kept]}
            self.left_out["entries"] += len(value) - len(entries)  # names may be alike when they are short
            return entries
        if isinstance(value, list):
            kept = widths.entries if value and isinstance(value[0], str) else len(value)
            self.left_out["entries"] += len(value[kept:])
            return [self._of(one, name, depth + 1) for one in value[:kept]]
        return tuple(map(self._of, value)) if isinstance(value, tuple) else value

    def _struct(self, whole: Struct, depth: int, parts: Mapping[str, Importance]) -> Struct:
        declared = {**importances_of(type(whole)), **parts}
        members = {}
        for name in whole.__struct_fields__:
            member, importance = getattr(whole, name), declared.get(name)
            if importance is None or importance.first == ALWAYS:
                inner = importance.parts if importance else _NO_PARTS
                members[name] = self._of(member, name, depth + 1, inner)
            else:
                members[name] = type(member)() if isinstance(member, (list, dict)) else None
        draft = replace(whole, **members)
        self._list_entries(whole, draft, depth, declared)
        return draft

    def _list_entries(
        self, whole: Struct, draft: Struct, depth: int, declared: Mapping[str, Importance]
    ) -> None:
        cut = {name: one for name, one in declared.items() if one.first < ALWAYS}
        sections = {name: _Section(draft, name, depth) for name in cut}

        def entry(name: str, one: Any) -> _Entry:
            parts, counted_as = cut[name].parts, _counted_as(name, cut[name], one)
            return _Entry(sections[name], one, self._wishes, parts, counted_as)

        entries = {name: [entry(name, one) for one in _members(getattr(whole, name))] for name in cut}
        self.cut += [sections[name] for name, own in entries.items() if own]
        for name, own in entries.items():
            sections[name].count_left_out(len(own))
            self.left_out.update(one.counted_as for one in own)
            if instead := cut[name].instead:
                where, shown_as = instead
                for one in own:
                    shown = shown_as(one.whole)
                    one.stand_in = _Entry(sections[where], shown, self._wishes, {}, original=one)
        for name, own in entries.items():
            others = [one.stand_in for there in entries.values() for one in there if one.stand_in]
            own += [one for one in others if one.section is sections[name]]
            self._rank(own, whole, cut[name])

    def _rank(self, entries: list[_Entry], holder: Struct, importance: Importance) -> None:
        by = importance.by or (lambda *_: 0)
        ranks = [by(one.whole, holder, self._wishes.wanted) for one in entries]
        ranked = sorted(
            (place for place, rank in enumerate(ranks) if rank is not None),
            key=ranks.__getitem__,
            reverse=importance.largest_first,
        )
        for index, place in enumerate(ranked):
            one = entries[place]
            one.place = place if importance.keeps_order else index
            one.importance = min(self._at_most, importance.first - importance.each * index)
            if one.importance > 0:
                self.entries.append(one)


def _counts_in_json(counts: Counter[str]) -> int:
    return sum(len(f'"{name}":{count},') for name, count in counts.items())


def _members(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.items())
    if isinstance(value, list):
        return value.copy()
    return [] if value is None else [value]


def _counted_as(name: str, importance: Importance, entry: Any) -> str:
    counted_as = importance.counted_as or name
    return counted_as if isinstance(counted_as, str) else counted_as(entry)
