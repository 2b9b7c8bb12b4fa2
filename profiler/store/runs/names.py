"""Matches what a person typed against the names of runs: a kernel number, a name, or a shell pattern.

In: the text, and the ladder that numbers refer to.
Out: names, or a test to apply to each name. Nothing is read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from fnmatch import fnmatchcase

from profiler.catalog.ladders.ladder import spans_text
from profiler.errors import RunNotFound
from profiler.store.runs.run_id import TIMED_SUFFIX, path_name, rung_name, timed_name
from profiler.text import counted, names_like, natural_order

_KERNEL_DIGITS = 9
_MOST_CHARACTERS = 200  # of a shell pattern
_SHOWN = 60
_MOST_NAMED = 8
_MOST_NEAR = 3
_PATTERN = re.compile(r"[*?\[]")
_UNSAFE_IN_PATTERN = re.compile(r"(?P<set>\[!?.[^]]*\])|[^a-z0-9._*?-]+")


def is_number(reference: str) -> bool:
    """Returns whether the text is the number of a kernel."""
    return reference.isdecimal() and len(reference) <= _KERNEL_DIGITS


def names_of(reference: str, ladder: str) -> list[str]:
    """Returns the names to look for, one after the other. A number means the kernel's profile first, then its timings."""
    if is_number(reference):
        return [name(ladder, int(reference)) for name in (rung_name, timed_name)]
    return [reference, path_name(reference)]


def name_filter(reference: str | None, ladder: str, *, of_ladder: bool = False) -> Callable[[str], bool]:
    """Returns a test of whether a name is meant. None means every name; a number, all presets and timings of
    that kernel.

    With `of_ladder`, only names of that ladder's kernels match. Raises RunNotFound for an overlong pattern.
    """
    if reference is not None and _PATTERN.search(reference) and len(reference) > _MOST_CHARACTERS:
        raise RunNotFound(
            f"'{reference[:_SHOWN]}…' is too long for a pattern of names: {len(reference)} characters",
            remedy=f"Give a pattern of at most {_MOST_CHARACTERS} characters.",
        )
    kernels = _rung_pattern(ladder, r"\d+", any_preset=True)
    return lambda name: (
        _is_meant(name, reference, ladder) and (not of_ladder or kernels.fullmatch(name) is not None)
    )


def _is_meant(name: str, reference: str | None, ladder: str) -> bool:
    if reference is None:
        return True
    if is_number(reference):
        return _rung_pattern(ladder, str(int(reference)), any_preset=True).fullmatch(name) is not None
    if _PATTERN.search(reference):
        # Reduced to the characters that `path_name` leaves in a name.
        pattern = _UNSAFE_IN_PATTERN.sub(lambda match: match["set"] or "-", reference.strip().lower())
        return fnmatchcase(name, pattern)
    return name in names_of(reference, ladder)


def no_such_name(reference: str, ladder: str, names: Collection[str], *, of_ladder: bool) -> str:
    """Returns the error text for a name that matches no run, with a pattern that finds longer names, or the names that come near."""
    if is_number(reference):
        return f"no run of kernel {reference} of ladder '{ladder}'"
    what = f"no run of ladder '{ladder}'" if of_ladder else "no run"
    if _PATTERN.search(reference):
        return f"{what} has a name that matches '{reference}'"
    pattern = f"*{path_name(reference)}*"
    around = len({name for name in names if fnmatchcase(name, pattern)})
    option = f" --ladder {ladder}" if of_ladder else ""
    if around:
        hint = f"; `prof list '{pattern}'{option}` finds {around} other name{'s' * (around > 1)}"
    else:
        near = names_like(path_name(reference), names, _MOST_NEAR)
        hint = f"; did you mean {_either(near)}?" if near else ""
    return f"{what} is named '{reference}'{hint}"


def nothing_found(reference: str, ladder: str, all_names: Iterable[str]) -> str:
    """Returns the error text for a name or a number that matches no run, with the names or numbers that come near."""
    names = sorted(set(all_names), key=natural_order)
    what = f"no run of kernel {reference}" if reference.isdecimal() else f"no run of '{reference}'"
    if not names:
        return f"{what}; it holds no runs"
    is_pattern = _PATTERN.search(reference) is not None and len(reference) <= _MOST_CHARACTERS
    if matching := [one for one in names if is_pattern and _is_meant(one, reference, ladder)]:
        such_as = f"{counted(len(matching), 'name')}, such as {_either(matching[:_MOST_NEAR])}"
        return f"'{reference}' is a pattern, where one name is wanted; it matches {such_as}"
    if not reference.isdecimal():
        longer = _holding(reference, names)
        if len(longer) > _MOST_NEAR:
            return f"{what}; {len(longer)} names hold it, such as {_either(longer[:_MOST_NEAR])}"
        if near := longer or names_like(path_name(reference), names, _MOST_NEAR):
            return f"{what}; did you mean {_either(near)}?"
        others = ", ".join(names) if len(names) <= _MOST_NAMED else f"{len(names)} other names"
        return f"{what}; it holds runs of {others}"
    if is_number(reference) and (presets := names_of_kernel(int(reference), ladder, names)):
        return f"{what} with the default preset; there is {', '.join(presets)}"
    kernels = kernels_of(ladder, names)
    return (
        f"{what}; {ladder} has runs of {spans_text(kernels)}" if kernels else f"{what}; {ladder} has no runs"
    )


def _holding(part: str, names: Iterable[str]) -> list[str]:
    """Returns the names that hold this part, those first that begin with it."""
    typed = path_name(part)
    if not any(map(str.isalnum, part)):
        return []
    return sorted((one for one in names if typed in one), key=lambda one: not one.startswith(typed))


def _either(names: Sequence[str]) -> str:
    *most, last = [f"'{one}'" for one in names]
    return f"{', '.join(most)} or {last}" if most else last


def names_of_kernel(number: int, ladder: str, names: Iterable[str]) -> list[str]:
    """Returns the names of that kernel's runs, of any preset."""
    pattern = _rung_pattern(ladder, str(number), any_preset=True)
    return sorted({name for name in names if pattern.fullmatch(name)})


def kernels_of(ladder: str, names: Iterable[str], *, any_preset: bool = False) -> list[int]:
    """Returns the numbers of a ladder's kernels that have a run, lowest first; with `any_preset`, of other presets too."""
    pattern = _rung_pattern(ladder, r"(\d+)", any_preset=any_preset)
    return sorted({int(match[1]) for name in names if (match := pattern.fullmatch(name))})


def ladders_of(names: Iterable[str]) -> list[str]:
    """Returns the ladders that have runs, as the start of their runs' names shows."""
    pattern = re.compile(rf"(.+)-\d+(?:{TIMED_SUFFIX})?")
    return sorted({match[1] for name in names if (match := pattern.fullmatch(name))})


def _rung_pattern(ladder: str, number: str, *, any_preset: bool) -> re.Pattern[str]:
    """Returns a pattern for a rung's names.

    No preset begins with a number, so `conv-2-1` is kernel 1 of `conv-2`, not of `conv`.
    """
    suffix = r"(?:-(?!\d+(?:-|$)).+)?" if any_preset else f"(?:{TIMED_SUFFIX})?"
    return re.compile(f"{re.escape(path_name(ladder))}-{number}{suffix}")
