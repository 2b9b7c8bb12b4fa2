"""Fitting a finding into so many bytes of JSON: the most important first, the rest counted.

A finding, how to cut it and a plan of what to make room for in; the same type of finding out.
Names come from anybody's program, so texts are shortened too; numbers have six digits,
and whole ones, which are counts, all of theirs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from profiler.present.render.json import to_json

LIMIT_BYTES = 8000

# How many of a section there is room for, in steps: the next is taken where it still fits.
Plan = Sequence[tuple[str, int]]
Finding = TypeVar("Finding", bound=Struct)
Item = TypeVar("Item")

_SENTENCES = {"sentence", "why", "message", "warnings", "cautions", "refused"}
_FIGURES = {"evidence", "metrics", "delta"}  # what sentences speak of
_LARGEST_WHOLE = 1e15
_ELLIPSIS = "…"


@dataclass(frozen=True)
class Widths:
    """How long a name and a sentence may be in JSON, and how many entries a list or an object of texts may have."""

    name: int
    sentence: int
    entries: int


# The first leaves what prof itself writes whole; the last fits whatever the names hold.
_WIDTHS = (
    Widths(160, 600, 16),
    Widths(120, 400, 16),
    Widths(60, 200, 8),
    Widths(40, 120, 4),
    Widths(32, 60, 1),
)


@dataclass
class Cut:
    """One attempt: what there is room for, and what was left out."""

    widths: Widths
    room: Mapping[str, int]
    left_out: Counter[str] = field(default_factory=Counter)

    def first(
        self, section: str, items: Sequence[Item], counted_as: Callable[[Item], str] | None = None
    ) -> list[Item]:
        """As many as there is room for; the others are counted, by default under the section's name."""
        kept = self.room.get(section, 0)
        self.leave_out(items[kept:], counted_as or (lambda _: section))
        return list(items[:kept])

    def leave_out(self, items: Iterable[Item], counted_as: Callable[[Item], str]) -> None:
        self.left_out.update(map(counted_as, items))

    def plain(self, value: Any, name: str = "") -> Any:
        """The same with its texts shortened and its numbers rounded; `name` is that of the member it is."""
        if isinstance(value, str):
            short = shortened_in_json(value, self.widths.sentence if name in _SENTENCES else self.widths.name)
            self.left_out["texts"] += short != value
            return short
        if isinstance(value, float):
            return rounded(value)
        if isinstance(value, Struct):
            members = {one: self.plain(getattr(value, one), one) for one in value.__struct_fields__}
            return replace(value, **members)
        if isinstance(value, dict):
            kept = len(value) if name in _FIGURES else self.widths.entries
            entries = {self.plain(one): self.plain(value[one]) for one in list(value)[:kept]}
            self.left_out["entries"] += len(value) - len(entries)  # names may be alike when they are short
            return entries
        if isinstance(value, list):
            kept = self.widths.entries if value and isinstance(value[0], str) else len(value)
            self.left_out["entries"] += len(value[kept:])
            return [self.plain(one, name) for one in value[:kept]]
        return tuple(map(self.plain, value)) if isinstance(value, tuple) else value


def fit(
    finding: Finding, cut: Callable[[Finding, Cut], Finding], plan: Plan, limit: int = LIMIT_BYTES
) -> Finding:
    """As much of the plan as fits, in its order; texts are as long as the rest allows."""

    def attempt(widths: Widths, room: Mapping[str, int]) -> Finding:
        trial = Cut(widths, room)
        small: Finding = trial.plain(cut(finding, trial))
        return replace(small, left_out=dict(sorted((+trial.left_out).items())))

    best = finding
    for widths in _WIDTHS:
        room: dict[str, int] = {}
        best = attempt(widths, room)
        if _size(best) > limit:
            continue
        for section, count in plan:
            larger = attempt(widths, room | {section: count})
            if _size(larger) <= limit:
                best, room = larger, room | {section: count}
        break
    return best


def _size(finding: Struct) -> int:
    """In bytes as printed, with the end of its line: `to_json` is ASCII."""
    return len(to_json(finding)) + 1


def rounded(value: float) -> float:
    """Six significant digits; a whole number keeps all of its own, and prints as one."""
    if not value.is_integer():
        value = float(f"{value:.6g}")
    return int(value) if value.is_integer() and abs(value) < _LARGEST_WHOLE else value


def shortened_in_json(text: str, width: int) -> str:
    """The start and the end of a text that takes more than `width` bytes in JSON."""
    if _width_in_json(text) <= width:
        return text
    left = width - _width_in_json(_ELLIPSIS)
    tail = _fitting(reversed(text[-width:]), left // 3)[::-1]
    head = _fitting(iter(text[:width]), left - _width_in_json(tail))
    return f"{head}{_ELLIPSIS}{tail}"


def _fitting(characters: Any, width: int) -> str:
    taken = ""
    for character in characters:
        width -= _width_in_json(character)
        if width < 0:
            break
        taken += character
    return taken


@lru_cache(maxsize=10_000)  # names come again and again, and of long ones each character
def _width_in_json(text: str) -> int:
    return len(to_json(text)) - len('""')
