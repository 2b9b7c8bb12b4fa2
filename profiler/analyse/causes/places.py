"""Finds the source lines that contribute most to a cause."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Set
from functools import lru_cache
from typing import NamedTuple

from profiler.analyse.causes.cause import CodePlace
from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.kept import kept
from profiler.analyse.causes.evidence.sites import Site
from profiler.analyse.causes.flow.arithmetic.compiler_functions import find_calls
from profiler.analyse.code.code import parse_text, place_of
from profiler.analyse.code.libraries import Written, find_authors, is_of_library
from profiler.analyse.code.statements import whole_statement
from profiler.store.tables.instruction_text import calls_in
from profiler.text import place_name

_MOST_PLACES = 3
_MOST_OF_IT = 3 / 4  # a kernel that only calls a function still reads its parameters and computes indices
_place_of = lru_cache(maxsize=1024)(place_of)


def find_places(evidence: Evidence, weights: Mapping[Site, float]) -> list[CodePlace]:
    """Returns the source lines that contribute most to a cause; instructions, if no line is known."""
    total = sum(weights.values())
    groups = _by_place(evidence, weights)[:_MOST_PLACES]
    return [_place(evidence, group.authors, total) for group in groups]


def find_heaviest(evidence: Evidence, weights: Mapping[Site, float]) -> Collection[Site]:
    """Returns which of the sites stand at the place that is named first, in the order of the code."""
    return _by_place(evidence, weights)[0].sites


class _AtPlace(NamedTuple):
    """What the sites of one source line weigh, by the instruction whose line it is."""

    authors: dict[Written, float]
    sites: dict[Site, None]  # in order, so that sums over them have the same digits each time


def _by_place(evidence: Evidence, weights: Mapping[Site, float]) -> list[_AtPlace]:
    groups: dict[object, _AtPlace] = {}
    authors = _find_authors(evidence)
    for site, call, weight in _at_calls(evidence, weights):
        if weight > 0:
            one = authors[call]
            group = groups.setdefault(_place_of(one.file, one.line) or one, _AtPlace({}, {}))
            group.authors[one] = group.authors.get(one, 0.0) + weight
            group.sites[site] = None
    return sorted(groups.values(), key=lambda group: -sum(group.authors.values()))


def _at_calls(evidence: Evidence, weights: Mapping[Site, float]) -> Iterator[tuple[Site, Site, float]]:
    """Yields each site, an instruction that it counts for, and its weight there: the calls of a function share out its weight."""
    calls = find_calls(evidence)
    for site, weight in sorted(weights.items(), key=lambda one: (one[0].function, one[0].position)):
        for call, part in calls.get(site, {site: 1.0}).items():
            yield site, call, weight * part


def find_signature(evidence: Evidence) -> list[CodePlace]:
    """Returns the line of the kernel's first instruction, which is its signature, if its text is recorded. It has no share of a cause."""
    first = [_written(site) for site in evidence.sites[:1] if site.text]
    return [_place(evidence, {one: 0.0}, 1.0) for one in first if not one.is_library]


@kept
def _find_authors(evidence: Evidence) -> dict[Site, Written]:
    """Returns for each instruction the one whose line stands for it: the user cannot change the functions of libraries."""
    found: dict[Site, Written] = {}
    for sites in evidence.by_function.values():
        found |= zip(sites, find_authors([_written(site) for site in sites]), strict=True)
    return found


def _written(site: Site) -> Written:
    one = site.instruction
    return Written(one.text, one.file, site.text, one.line, offset=one.offset, inlined_at=site.inlined_at)


@kept
def _lines_by_file(evidence: Evidence) -> dict[str | None, dict[int, str]]:
    """Returns the texts of the lines that are known, by file and number."""
    found: dict[str | None, dict[int, str]] = {}
    for site in evidence.sites:
        for file, line, text in (
            (site.instruction.file, site.instruction.line, site.text),
            *calls_in(site.inlined_at),
        ):
            if text and line:
                found.setdefault(file, {})[line] = text
    return found


def _place(evidence: Evidence, group: Mapping[Written, float], total: float) -> CodePlace:
    one = max(group, key=lambda written: group[written])
    file, line = place_of(one.file, one.line) or (None, None)
    text = whole_statement(one.file or "", _lines_by_file(evidence).get(one.file, {}), one.line or 0).text
    return CodePlace(
        opcode=parse_text(one.text).opcode,
        offset=one.offset or 0,
        share_pct=round(100 * sum(group.values()) / total, 1),
        file=file,
        line=line,
        text=text or None,
        inlined_at=_telling_call(evidence, one),
    )


def _telling_call(evidence: Evidence, one: Written) -> str | None:
    """Returns the line where the kernel calls this code, if it comes from another function of the author's.

    That is the outermost call that tells where in the kernel the code stands: one from which most of the kernel comes does not.
    """
    calls = [
        place_of(call.file, call.line) for call in calls_in(one.inlined_at) if not is_of_library(call.file)
    ]
    telling = [call for call in calls if call not in _find_wrapping(evidence)]
    outermost = telling[-1] if telling else None
    return place_name(*outermost) if outermost and outermost != place_of(one.file, one.line) else None


@kept
def _find_wrapping(evidence: Evidence) -> Set[object]:
    """Returns the calls from which most of the instructions come, as where the kernel only calls a function."""
    counts = Counter(site.inlined_at for site in evidence.sites)
    inside = Counter[object]()
    for text, count in counts.items():
        for call in {place_of(call.file, call.line) for call in calls_in(text)}:
            inside[call] += count
    return {call for call, count in inside.items() if count > _MOST_OF_IT * len(evidence.sites)}
