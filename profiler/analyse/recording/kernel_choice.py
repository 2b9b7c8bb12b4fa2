"""Chooses the kernels that a person means, and pairs those of two recordings.

Runs and a pattern come in; names of kernels go out, or an error that lists what there is.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain

from profiler.analyse.recording.kernel_names import base_name, choice_of, plain_name, without_tags
from profiler.catalog.patterns import search_typed
from profiler.errors import KernelAmbiguous, KernelNotFound
from profiler.store.runs.manifest import KernelCount
from profiler.store.runs.run import Run
from profiler.text import Spoken, cut, lines_of_first, names_like

_MOST_LISTED = 20
_NAME_WIDTH = 200  # templates have thousands of characters, and an error is read on a terminal
# Of a file of machine code, which no other command reads.
_ONE_OF_A_FILE = "Choose one with `-k PATTERN`; `prof check --sass` compares all of two files."
_ONE_OF_EACH = "Choose one on each side with `-k PATTERN`, as in `{}`. `prof show` lists them."
_ONE_OR_ALL = "Choose one on each side with `-k PATTERN`" + Spoken(", or all that both have with --all.", ".")
_PART_OF_WORD = re.compile(r"[^\W_]{4,}|(?:[A-Z][a-z]+){2}|[A-Z]?[a-z]{3,}")


def choose_kernels(runs: Iterable[Run], pattern: str | None) -> list[list[str]]:
    """Returns the kernel names of each run that the pattern leaves, in order of first launch."""
    chosen = []
    for run in runs:
        names = [kernel.name for kernel in matching_kernels(run, pattern)]
        if not names:
            near = nearest_words(pattern or "", [kernel.name for kernel in run.manifest.kernels])
            raise KernelNotFound(
                f"{run.label}: no kernel name matches '{pattern}'{near}",
                details=_listing(run),
                remedy="Give `-k` a part of one of these names, or a regular expression that matches one.",
            )
        chosen.append(names)
    return chosen


def nearest_words(pattern: str, names: Iterable[str]) -> str:
    """Returns an ending for an error message: the words in these names that look most like the pattern."""
    words = dict.fromkeys(word for name in names for word in re.findall(r"[^\W\d]\w{2,}", name))
    whole_of = {part: word for word in words for part in (*_PART_OF_WORD.findall(word), word)}
    found = dict.fromkeys(whole_of[part] for part in names_like(pattern, whole_of, most=3))
    return f"; nearest: {', '.join(found)}" if found else ""


def choose_kernel(run: Run, pattern: str | None) -> str:
    """Returns the one kernel meant, or raises an error that lists the candidates."""
    ((name, *others),) = choose_kernels([run], pattern)
    if others:
        raise KernelAmbiguous(
            f"{run.label}: holds {1 + len(others)} kernels",
            details=_listing(run, pattern),
            remedy="Choose one with `-k PATTERN`; `prof show` lists them by their share of the time."
            if run.manifest.reports
            else _ONE_OF_A_FILE,
        )
    return name


class VersionOf(str):
    """The whole name of a kernel that one of two recordings has. In the other, it means the version of it, whatever that is called."""

    __slots__ = ()


@dataclass(frozen=True)
class KernelPairs:
    """The kernels of two runs that belong together, in pairs, and the kernels that only one of the two has."""

    pairs: list[tuple[str, str]]
    gone: list[str]
    new: list[str]


def pair_kernels(before: Run, after: Run, pattern: str | None = None) -> KernelPairs:
    """Returns the kernels of two runs in pairs: the one rule of every question about two recordings.

    One kernel a side is a pair whatever the names, since a rung renames its kernel. Otherwise kernels are matched by name,
    and then by their function's name alone, since template arguments and parameters are a change of the same kernel.
    A `VersionOf` a kernel chooses the pair that it is in.
    """
    if isinstance(pattern, VersionOf) and before.manifest.kernels and after.manifest.kernels:
        pairs = [pair for pair in pair_kernels(before, after).pairs if pattern in pair and pair[0] != pair[1]]
        if pairs:
            return KernelPairs(pairs[:1], [], [])
    left, right = choose_kernels([before, after], pattern)
    if len(left) == len(right) == 1:
        return KernelPairs([(left[0], right[0])], [], [])
    common = [name for name in left if name in right]
    alone = [{name: base_name(name) for name in side if name not in common} for side in (left, right)]
    here, there = (Counter(side.values()) for side in alone)
    other_of = {base: name for name, base in alone[1].items()}
    renamed = [(name, base) for name, base in alone[0].items() if here[base] == there[base] == 1]
    pairs = [*((name, name) for name in common), *((name, other_of[base]) for name, base in renamed)]
    paired = {name for pair in pairs for name in pair}
    gone, new = ([name for name in side if name not in paired] for side in (left, right))
    return KernelPairs(pairs, gone, new)


def names_both(pattern: str | None) -> bool:
    """Returns whether somebody chose the kernels of both sides by one pattern, and so says that they are versions of one."""
    return bool(pattern) and not isinstance(pattern, VersionOf)


def match_kernels(before: Run, after: Run, pattern: str | None, *, every: bool) -> KernelPairs:
    """Returns the pairs of kernels to compare, `every` one or the only one; raises KernelAmbiguous where that is not clear."""
    found = pair_kernels(before, after, pattern)
    if len(found.pairs) == 1 or (found.pairs and every):
        return found
    sides = choose_kernels([before, after], pattern)
    example = " ".join(choice_of(kernels[0], kernels) for kernels in sides)
    remedy = _ONE_OR_ALL if found.pairs else _ONE_OF_EACH.format(example)
    raise KernelAmbiguous(
        "it is not clear which kernel to compare",
        details=[line for run in (before, after) for line in (run.label, *_listing(run, pattern))],
        remedy=remedy if before.manifest.reports and after.manifest.reports else _ONE_OF_A_FILE,
    )


def matching_kernels(run: Run, pattern: str | None) -> list[KernelCount]:
    """Returns the kernels of a run in whose names the pattern is found; all of them without one.

    A name as an answer prints it is no pattern: it means the kernels of exactly this name. A pattern that is
    a function's whole name matches no function whose name only contains it. If no name matches, the pattern
    is tried on the names without their parameters, and then without their template arguments, so that
    `scale$` matches the end of such a name.
    """
    kernels = run.manifest.kernels
    spelled = [[name_of(one.name) for one in kernels] for name_of in (str, plain_name, base_name)]
    whole = ([name == pattern for name in names] for names in spelled)
    parts = (search_typed(pattern or "", names) for names in spelled)
    found = next(filter(any, chain(whole, parts)), [False] * len(kernels))
    return [kernel for kernel, fits in zip(kernels, found, strict=True) if fits]


def _listing(run: Run, pattern: str | None = None) -> list[str]:
    """Lists the kernels of a run with their launch counts, one a line."""
    kernels = [
        f"{kernel.launches:>5} x {cut(without_tags(kernel.name), _NAME_WIDTH)}"
        for kernel in matching_kernels(run, pattern)
    ]
    return lines_of_first(kernels, _MOST_LISTED)
