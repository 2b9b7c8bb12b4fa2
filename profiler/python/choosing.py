"""Chooses one of several answers by its place or by its name; the error of what is not there says what is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from operator import index
from typing import Generic, NoReturn, Self, TypeVar

from profiler.analyse.recording.kernel_names import called_name, without_tags
from profiler.catalog.patterns import search_typed
from profiler.errors import KernelNotFound
from profiler.text import counted, shortened

_LINE_WIDTH = 100
_TIMES_ALONE = "only times were recorded, and no kernel by itself"
_WHO_HAS_TIMES = "`prof.show(recording)` has the times in `.timing`, and says how to record the kernels"
_Answer = TypeVar("_Answer")


class Alone:
    """An answer about one kernel. A script may treat it as one about several: `[0]` and `["its name"]` return it, and a loop yields it once."""

    def _kernel(self) -> str:
        raise NotImplementedError

    def __len__(self) -> int:
        return 1

    def __bool__(self) -> bool:
        return True

    def __iter__(self) -> Iterator[Self]:
        return iter([self])

    def __getitem__(self, kernel: int | str) -> Self:
        """Returns this answer, by the place 0 or by a name of its kernel."""
        if isinstance(kernel, str) and kernel not in self:
            return super().__getitem__(kernel)  # type: ignore[misc, no-any-return]  # which says what there is
        return chosen("the answer", [self], [self._kernel()], kernel)

    def __contains__(self, kernel: object) -> bool:
        """Returns True if the kernel has this name, as `[name]` understands it."""
        return is_there([self._kernel()], kernel)


class Several(Generic[_Answer]):
    """An answer about several kernels, or about none. If you ask it for what only one kernel has, its error says how to choose one."""

    def _answers(self) -> tuple[str, list[_Answer]]:
        """Returns what an error calls them all, and the answer about each kernel."""
        raise NotImplementedError

    def _kernels(self) -> list[str]:
        raise NotImplementedError

    def _sources(self) -> list[str]:
        """Returns the name of the recording of each kernel, where it chooses one, too."""
        return []

    def __getattr__(self, name: str) -> NoReturn:
        text = f"{type(self).__name__} has no {name!r}"
        if not name.startswith("_"):
            text += f"; {self._how_to_choose()}"
        raise AttributeError(text)

    def _how_to_choose(self) -> str:
        if not len(self):
            return f"{_TIMES_ALONE}; {_WHO_HAS_TIMES}"
        kernels = counted(len(self), "kernel")
        return f"it is about {kernels}: [0] or ['its name'] chooses one, and so does kernel_name='its name'"

    def __len__(self) -> int:
        return len(self._kernels())

    def __bool__(self) -> bool:
        return True

    def __iter__(self) -> Iterator[_Answer]:
        return iter(self._answers()[1])

    def __getitem__(self, kernel: int | str) -> _Answer:
        """Returns the answer about one kernel, by its place, by its name, or by that of its recording where it is known by it."""
        return chosen(*self._answers(), self._kernels(), kernel, self._sources())

    def __contains__(self, kernel: object) -> bool:
        """Returns True if one kernel has this name, as `[name]` understands it."""
        return is_there(self._kernels(), kernel, self._sources())

    def _ipython_key_completions_(self) -> list[str]:
        return [*map(called_name, self._kernels()), *self._sources()]


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
        if not answers:
            raise IndexError(f"{label}: {_TIMES_ALONE}, which [{place}] would choose; {_WHO_HAS_TIMES}")
        if not -len(answers) <= place < len(answers):
            raise IndexError(
                f"{label}: [{place}] is none of {counted(len(answers), 'kernel')}, counted from 0"
            )
        return answers[place]
    if not answers:
        raise KernelNotFound(f"{label}: {_TIMES_ALONE}", remedy=f"{_WHO_HAS_TIMES}.")
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
