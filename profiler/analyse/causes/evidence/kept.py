"""Keeps what was found in an evidence for as long as it lives: several detectors ask for the same."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar, TypeVarTuple
from weakref import WeakKeyDictionary

from profiler.analyse.causes.evidence.evidence import Evidence

_Found = TypeVar("_Found")
_Asked = TypeVarTuple("_Asked")


def kept(find: Callable[[Evidence, *_Asked], _Found]) -> Callable[[Evidence, *_Asked], _Found]:
    """Lets a function search once for each evidence, and for what else it is asked."""
    known: WeakKeyDictionary[Evidence, dict[tuple[*_Asked], _Found]] = WeakKeyDictionary()

    @wraps(find)
    def find_once(evidence: Evidence, *asked: *_Asked) -> _Found:
        answers = known.setdefault(evidence, {})
        if asked not in answers:
            answers[asked] = find(evidence, *asked)
        return answers[asked]

    return find_once
