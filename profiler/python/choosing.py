"""Chooses one of several answers, or one entry of a list, by its place or by its name; the error of what is not there says what is."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from operator import index
from typing import Any, SupportsIndex, TypeVar, overload

from profiler.analyse.recording.kernel_names import without_tags
from profiler.catalog.patterns import search_typed
from profiler.errors import KernelNotFound
from profiler.text import counted, first_of, names_like, shortened

_LINE_WIDTH, _MOST_NAMED = 100, 8
_Answer = TypeVar("_Answer")


class Named(list[_Answer]):
    """A list whose entries a name finds as well as a place: `.metrics["duration_ns"]`, `.causes["barriers"]`."""

    @overload
    def __getitem__(self, place: SupportsIndex | str) -> _Answer: ...
    @overload
    def __getitem__(self, place: slice) -> list[_Answer]: ...

    def __getitem__(self, place: SupportsIndex | slice | str) -> _Answer | list[_Answer]:
        if not isinstance(place, str):
            return super().__getitem__(place)
        names = list(map(_name_of, self))
        if place in names:
            return self[names.index(place)]
        near = names_like(place, names) or names
        raise KeyError(f"{place!r} is none of these; there is {first_of(near, _MOST_NAMED)}")


def _name_of(one: Any) -> str:
    return getattr(one, "name", "") or getattr(one, "cause", "")


def chosen(
    label: str,
    answers: Sequence[_Answer],
    kernels: Sequence[str],
    wanted: int | str,
    recordings: Sequence[str] = (),
) -> _Answer:
    """Returns the answer about the kernel at a place, with a name, or with a name of which this is the only part.

    Where several `recordings` are named, one for each kernel, their names choose as well if no kernel's does.
    """
    if not isinstance(wanted, str):
        place = index(wanted)  # also of NumPy's integers; a slice is refused
        if not -len(answers) <= place < len(answers):
            raise IndexError(
                f"{label}: [{place}] is none of {counted(len(answers), 'kernel')}, counted from 0"
            )
        return answers[place]
    named = _places(wanted, kernels)
    found = named or _places(wanted, recordings)
    if len(found) != 1:
        what = f"no kernel{' and no recording' * bool(recordings)} is called '{wanted}'"
        if named:
            what = f"{len(found)} kernels have '{wanted}' in their names"
        elif found:
            what = f"{len(found)} kernels are of a recording with '{wanted}' in its name"
        raise KernelNotFound(
            f"{label}: {what}",
            details=[_line(place, kernels, recordings) for place in found or range(len(kernels))],
            remedy=f"Give a place such as [{next(iter(found), 0)}], a whole name, or a part that one name alone has.",
        )
    return answers[found[0]]


def _places(wanted: str, names: Sequence[str]) -> list[int]:
    whole = [place for place, name in enumerate(names) if name == wanted]
    return whole or [place for place, fits in enumerate(search_typed(wanted, names)) if fits]


def _line(place: int, kernels: Sequence[str], recordings: Sequence[str]) -> str:
    """Returns the line of an error about one kernel: its place, which chooses it, and its name without what a compiler added."""
    where = f", in {recordings[place]}" if recordings else ""
    return f"  [{place}] {shortened(without_tags(kernels[place]), _LINE_WIDTH)}{where}"


def is_there(kernels: Sequence[str], wanted: object, recordings: Sequence[str] = ()) -> bool:
    """Returns True if `chosen` finds a kernel with this name."""
    with suppress(KernelNotFound):
        return isinstance(wanted, str) and bool(chosen("", kernels, kernels, wanted, recordings))
    return False
