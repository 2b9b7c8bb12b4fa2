"""The lists of an answer, such as its causes: a name finds an entry as well as a place does, and each list is a short table."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any, NoReturn, SupportsIndex, TypeVar, overload

from msgspec import Struct

from profiler.analyse.causes.cause import Cause, whole_place_text
from profiler.analyse.flat_rows import flat_columns, flat_row, reading_order
from profiler.analyse.recording.hot_lines import HotLine
from profiler.analyse.recording.kernel_names import called_name
from profiler.text import cut, first_of, names_like

if TYPE_CHECKING:
    import pandas as pd

_MOST_NAMED, _MOST_SHOWN, _TEXT_WIDTH = 8, 12, 36
# What an entry is called by: the first of these that it has.
_NAMES = ("name", "cause", "kernel_name")
_OF_A_CAUSE = ("cause", "saves_pct", "at_most_pct", "where", "sentence", "try")
_OF_A_LINE = ("share_pct", "file", "line", "text")
# What a list shows of its entries, as far as they have it; the frame has the rest.
_SAYS_MOST = (
    "saves_pct", "share_pct", "mean", "unit", "before", "after", "change_pct", "top_cause", "where", "verdict", "file", "line",
    "text", "section", "speedup_pct", "message",
)  # fmt: skip
_WORD = re.compile(r"[a-z]{3,}")
_Entry = TypeVar("_Entry", bound=Struct)


class Entries(list[_Entry]):
    """Entries that are found by their names too: `.metrics["duration_ns"]`, `.causes["barriers"]`; a metric also by that of Nsight Compute.

    to_pandas()  one row for each
    """

    def __init__(self, entries: Iterable[_Entry] = (), kind: type[Struct] | None = None) -> None:
        super().__init__(entries)
        self._kind = kind  # says which columns an empty list has

    @overload
    def __getitem__(self, place: SupportsIndex) -> _Entry: ...
    @overload
    def __getitem__(self, place: str) -> _Entry: ...
    @overload
    def __getitem__(self, place: slice) -> list[_Entry]: ...

    def __getitem__(self, place: SupportsIndex | slice | str) -> _Entry | list[_Entry]:
        if isinstance(place, slice):
            return Entries(super().__getitem__(place), self._kind)
        if not isinstance(place, str):
            return super().__getitem__(place)
        found = [one for one in self if place in (_name_of(one), getattr(one, "ncu", ""))][:1]
        found = found or [one for one in self if place == _shown_name(one)]
        if len(found) != 1:
            names = self._ipython_key_completions_()
            raise KeyError(f"{place!r} is none of these; {self._what_is_there(_nearest(place, names))}")
        return found[0]

    def to_pandas(self) -> pd.DataFrame:
        """Returns one row for each entry, in their order, with what says most in the first columns."""
        import pandas as pd

        frame = pd.DataFrame(map(_row, self), columns=None if self else _columns(self._kind))
        frame = frame[reading_order(frame)]
        name = next((one for one in ("name", "cause", "kernel") if one in frame), None)
        return frame.set_index(name) if name else frame

    def _what_is_there(self, names: Sequence[str]) -> str:
        if names:
            return f"there is {first_of(names, _MOST_NAMED)}"
        if self:  # such as lines of source, or what a rule says
            return f"these have no names: write a place, from 0 to {len(self) - 1}"
        return "the list is empty"

    def _ipython_key_completions_(self) -> list[str]:
        return [name for one in self if (name := _name_of(one))]

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            found = name in self._ipython_key_completions_()
            raise AttributeError(
                f"this list has no {name!r}" + (f"; [{name!r}] is that entry" if found else "")
            )

    def __repr__(self) -> str:
        if not self:
            return "[]"
        shown = self._shown()
        has_names = shown.index.name is not None
        for column in shown.select_dtypes(exclude="number"):  # on the left, as they are texts
            texts = [cut(one, _TEXT_WIDTH) for one in shown[column].fillna("")]
            shown[column] = [f"{one:{max(map(len, texts))}}" for one in texts]
        table: str = shown.to_string(float_format=_figure, na_rep="", index=has_names, index_names=False)
        return "\n".join([table, *self._more()])

    def _repr_html_(self) -> str:
        if not self:
            return "[]"
        table: str = self._shown().to_html(float_format=_figure, na_rep="", border=0, index_names=False)
        return table + "".join(f"<p>{escape(one)}</p>" for one in self._more())

    def _shown(self) -> pd.DataFrame:
        frame = self.to_pandas()
        return frame[[one for one in _SAYS_MOST if one in frame]].head(_MOST_SHOWN)

    def _more(self) -> list[str]:
        more = len(self) - _MOST_SHOWN
        return [f"and {more} more: `.to_pandas()` has them all"] if more > 0 else []


def _nearest(name: str, names: list[str]) -> Sequence[str]:
    """Returns the names most like this one; else those that hold it, or else its longest word that any name holds; else all names."""
    words = [name.lower(), *sorted(_WORD.findall(name.lower()), key=len, reverse=True)]
    holding = ([one for one in names if word in one.lower()] for word in words)
    return names_like(name, names) or next(filter(None, holding), names)


def _name_of(entry: Struct) -> str:
    return next((getattr(entry, name) for name in _NAMES if getattr(entry, name, "")), "")


def _shown_name(entry: Struct) -> str | None:
    """Returns the short name by which the table lists a kernel, which several kernels may share; None for other entries."""
    kernel = getattr(entry, "kernel_name", None)
    return called_name(kernel) if kernel else None


def _figure(value: float) -> str:
    return f"{value:,.4g}" if abs(value) < 1e4 else f"{value:,.0f}"


def _columns(kind: type[Struct] | None) -> list[str]:
    """Returns the columns that entries of this kind always have."""
    if kind is None:
        return []
    always = {Cause: _OF_A_CAUSE, HotLine: _OF_A_LINE}.get(kind) or flat_columns(kind)
    return [*always, *(["kernel"] if "kernel_name" in always and "kernel" not in always else [])]


def _row(entry: Struct) -> dict[str, Any]:
    """Returns the plain values of an entry, what says most first."""
    if isinstance(entry, Cause):
        places = _joined(list(map(whole_place_text, entry.where)))
        saves = entry.saves_pct
        values = (entry.cause, saves.expected, saves.at_most, places, entry.sentence, entry.try_)
        return dict(zip(_OF_A_CAUSE, values, strict=True))
    if isinstance(entry, HotLine):
        row = {name: getattr(entry, name) for name in _OF_A_LINE}
        return row | {f"stall_{why}_pct": share for why, share in entry.stalls.items()}
    return _with_short_name(flat_row(entry))


def _joined(places: list[str]) -> str:
    """Returns `a.py:28, :17`: places of one file name it once."""
    files = ["", *(one.rpartition(":")[0] for one in places)]
    return ", ".join(
        one.removeprefix(file) if file else one for file, one in zip(files, places, strict=False)
    )


def _with_short_name(row: dict[str, Any]) -> dict[str, Any]:
    """Returns the row with a kernel's own name as `kernel`, to read, beside its whole `kernel_name`, which chooses and joins."""
    return row | {"kernel": called_name(row["kernel_name"])} if "kernel_name" in row else row


def index_frame(entries: Sequence[Struct], kind: type[Struct]) -> pd.DataFrame:
    """Returns a row for each entry; `kernel` is a name to read, and `kernel_name` the whole one, which chooses and joins."""
    import pandas as pd

    rows = [_with_short_name(flat_row(one)) for one in entries]
    return pd.DataFrame(rows, columns=reading_order({"kernel": 0} | dict.fromkeys(flat_columns(kind))))
