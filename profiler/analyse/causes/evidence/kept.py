"""Keeps what was found in an evidence for as long as it lives: several detectors ask for the same."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar, TypeVarTuple

from profiler.analyse.causes.evidence.evidence import Evidence

_Found = TypeVar("_Found")
_Asked = TypeVarTuple("_Asked")


def kept(find: Callable[[Evidence, *_Asked], _Found]) -> Callable[[Evidence, *_Asked], _Found]:
    """Lets a function search once for each evidence, and for what else it is asked."""

    @wraps(find)
    def find_once(evidence: Evidence, *asked: *_Asked) -> _Found:
        question = (find, *asked)
        try:
            found: _Found = evidence.found[question]
        except KeyError:
            found = evidence.found[question] = find(evidence, *asked)
        return found

    return find_once
