"""Makes rows of a data frame of an answer's entries: each column holds numbers, or each texts.

An interval becomes two columns, and a list of texts one text. A class names in `also_in_rows` what it computes from its fields.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct
from msgspec.structs import asdict

_BETWEEN = "; "
# An interval, and what its ends are called.
_ENDS = {"ci": ("ci_low", "ci_high"), "ci_pct": ("ci_low_pct", "ci_high_pct")}
# A terminal that lacks room for a frame leaves out the columns in its middle.
_FIRST = ("name", "kernel", "before", "after", "before_ns", "after_ns", "mean", "share_pct", "total_ns")
_LAST = ("unit", "delta", "change_pct", "likely_saves_ns", "where", "top_cause", "verdict")


def flat_row(entry: Struct) -> dict[str, object]:
    """Returns the fields of an entry as columns; what is itself an object stays one."""
    row: dict[str, object] = {}
    for name, value in asdict(entry).items():
        if name in _ENDS:
            row |= zip(_ENDS[name], value or (None, None), strict=True)
        else:
            row[name] = _BETWEEN.join(value) if isinstance(value, list) else value
    return row | {name: getattr(entry, name) for name in _computed(type(entry))}


def flat_columns(kind: type[Struct]) -> list[str]:
    """Returns the columns of `flat_row`, also of an answer without any entry, with what says most at both ends."""
    stored = [column for name in kind.__struct_fields__ for column in _ENDS.get(name, (name,))]
    return reading_order([*stored, *_computed(kind)])


def _computed(kind: type[Struct]) -> Sequence[str]:
    return getattr(kind, "also_in_rows", ())


def reading_order(columns: Iterable[str]) -> list[str]:
    """Returns the columns with what says most first and last: long names and what is often empty stand in the middle."""
    given = list(columns)
    ends = (*_FIRST, *_LAST)
    middle = [one for one in given if one not in ends]
    first, last = ([one for one in end if one in given] for end in (_FIRST, _LAST))
    return [*first, *middle, *last]
