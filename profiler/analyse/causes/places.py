"""Finds the source lines that contribute most to a cause."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain

from profiler.analyse.causes.cause import CodePlace
from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.kept import kept
from profiler.analyse.causes.evidence.sites import Site
from profiler.analyse.causes.flow.dataflow import sources_of
from profiler.analyse.code.libraries import is_of_library

_MOST_PLACES = 3
# The descriptor of memory as a whole, which accesses name before their address.
_DESCRIPTOR = re.compile(r"desc\[(UR\d+)\]")
# The functions of Triton in Python by which warps exchange values, or which a line calls for each element. The compiler puts
# their instructions among those of the lines around.
_CALLS = re.compile(
    r"[\w)\]]\.(?:sum|max|min|argmax|argmin|xor_sum|reduce_or|cumsum|cumprod|sort|topk|softmax|sigmoid|randn?\w*)\("
)
_PYTHON = ".py"  # a line of C++ may call its own `sum`
# The CuTe DSL gives some instructions of a kernel, such as atomics, the first line of the function that launches it.
_OF_LAUNCHER = re.compile(r"\s*@cute\.jit\b")
_NEAR = 32  # instructions
_CALLED = re.compile(r"CALL\.REL\S* (?:R\d+ )?(0x[0-9a-f]+)$")


def find_places(evidence: Evidence, weights: Mapping[Site, float]) -> list[CodePlace]:
    """Returns the source lines that contribute most to a cause; instructions, if no line is known."""
    total = sum(weights.values())
    groups: dict[object, dict[Site, float]] = {}
    for site, weight in _at_calls(evidence, weights):
        if weight > 0:
            one = _written_by_the_user(evidence, site)
            group = groups.setdefault(one.instruction.place or one, {})
            group[one] = group.get(one, 0.0) + weight
    ranked = sorted(groups.values(), key=lambda group: -sum(group.values()))[:_MOST_PLACES]
    return [_place(group, total) for group in ranked]


def _at_calls(evidence: Evidence, weights: Mapping[Site, float]) -> Iterator[tuple[Site, float]]:
    """Yields what each site weighs; the calls of a function share out what it weighs."""
    calls = _find_calls(evidence)
    for site, weight in weights.items():
        for call, part in calls.get(site, {site: 1.0}).items():
            yield call, weight * part


@kept
def _find_calls(evidence: Evidence) -> dict[Site, dict[Site, float]]:
    """Returns by the instructions of functions of the compiler, such as pow, the calls of the function, each with its part of them.

    These functions stand behind the last EXIT, and have no line but that of the kernel's end.
    """
    found: dict[Site, dict[Site, float]] = {}
    for sites in evidence.by_function.values():
        calls: dict[int, dict[Site, float]] = {}
        for site in sites:
            if site.instruction.name == "CALL" and (target := _CALLED.search(site.instruction.text)):
                calls.setdefault(int(target[1], 16), {})[site] = site.executed
        last = max((place for place, site in enumerate(sites) if site.instruction.name == "EXIT"), default=-1)
        if not calls or last < 0:
            continue
        callers: dict[Site, float] = {}
        for site in sites[last + 1 :]:
            if called := calls.get(site.instruction.offset):
                whole = sum(called.values())
                callers = {call: times / whole for call, times in called.items()}
            if callers and site.instruction.place == sites[last].instruction.place:
                found[site] = callers
    return found


def find_signature(evidence: Evidence) -> list[CodePlace]:
    """Returns the line with the kernel's signature, to which its first instruction belongs, if its text is recorded."""
    return [_place({one: 1.0}, 1.0) for one in evidence.sites[:1] if one.text and not _is_library(one)]


def _written_by_the_user(evidence: Evidence, site: Site) -> Site:
    """Returns the site, or where its operands come from, or else the nearest code before it.

    The user cannot change the functions of headers, or of Triton, that are compiled in; nor is the line at fault that launches the kernel.
    A line close by that calls a function of Triton comes first.
    """
    if not _is_library(site):
        return site
    function = evidence.by_function[site.function]
    here = evidence.place(site, function)
    candidates = chain(
        _calling(function, here), _sources(evidence, site), _last_of_the_user(evidence, site.function)[here]
    )
    return next((one for one in candidates if one.instruction.place and not _is_library(one)), site)


@kept
def _last_of_the_user(evidence: Evidence, function: int) -> list[tuple[Site, ...]]:
    """Returns for each instruction of a function the nearest one before it of the user's own code, if there is one."""
    last: tuple[Site, ...] = ()
    found = []
    for one in evidence.by_function[function]:
        found.append(last)
        if one.instruction.place and not _is_library(one):
            last = (one,)
    return found


def _calling(function: Sequence[Site], here: int) -> Iterator[Site]:
    """Yields the instructions close by, the nearest first, of lines that call such a function of Triton."""
    near = [one for one in function[max(0, here - _NEAR) : here + _NEAR] if _calls(one)]
    yield from sorted(near, key=lambda one: abs(one.position - function[here].position))


def _calls(site: Site) -> bool:
    return (site.instruction.file or "").endswith(_PYTHON) and _is_call(site.text or "")


@lru_cache(maxsize=4096)
def _is_call(line: str) -> bool:
    return bool(_CALLS.search(line))


def _sources(evidence: Evidence, site: Site) -> Iterator[Site]:
    """Yields the instructions that wrote the site's operands, but not those of the descriptor of memory."""
    described = set(_DESCRIPTOR.findall(site.instruction.text))
    for one in sources_of(evidence, site):
        if described.isdisjoint(one.use.written):
            yield one


def _is_library(site: Site) -> bool:
    return is_of_library(site.instruction.file or "") or bool(_OF_LAUNCHER.match(site.text or ""))


def _place(group: Mapping[Site, float], total: float) -> CodePlace:
    heaviest = max(group, key=lambda site: group[site])
    one = heaviest.instruction
    file, _, _ = (one.place or "").rpartition(":")
    return CodePlace(
        opcode=one.opcode,
        offset=one.offset,
        share_pct=round(100 * sum(group.values()) / total, 1),
        file=file or None,
        line=one.line if file else None,
        text=(heaviest.text or "").strip() or None,
    )
