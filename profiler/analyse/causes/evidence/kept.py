"""Keeps what was found in an evidence for as long as it lives: several detectors ask for the same."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from operator import attrgetter
from typing import Any, TypeVar, TypeVarTuple

from profiler.analyse.causes.evidence.evidence import Evidence

_Found = TypeVar("_Found")
_Asked = TypeVarTuple("_Asked")


def kept(find: Callable[[Evidence, *_Asked], _Found]) -> Callable[[Evidence, *_Asked], _Found]:
    """Lets a function search once for each evidence, and for what else it is asked."""
    return _kept_in(attrgetter("found"), find)


def kept_of_code(find: Callable[[Evidence, *_Asked], _Found]) -> Callable[[Evidence, *_Asked], _Found]:
    """Lets a function search once, also for changed copies of an evidence: what it finds follows from the code, and not from its costs."""
    return _kept_in(attrgetter("of_code"), find)


def _kept_in(
    place: Callable[[Evidence], dict[tuple[object, ...], Any]], find: Callable[[Evidence, *_Asked], _Found]
) -> Callable[[Evidence, *_Asked], _Found]:
    @wraps(find)
    def find_once(evidence: Evidence, *asked: *_Asked) -> _Found:
        question, known = (find, *asked), place(evidence)
        try:
            found: _Found = known[question]
        except KeyError:
            found = known[question] = find(evidence, *asked)
        return found

    return find_once
