"""Says how much each part of a finding matters to a reader who has room for little.

A finding's classes declare it beside the field: `Annotated[list[Cause], Importance(95, each=7)]`.
`present/brief.py` makes the short form from these declarations, the most important entries first.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, get_args

from msgspec import Struct
from msgspec.structs import fields

ALWAYS = math.inf

# Takes an entry, the object that holds it and the names that were asked for, and returns the entry's rank, the
# smallest first. An entry without a rank says nothing that matters, and is left out even where there is room.
Rank = Callable[[Any, Any, Collection[str]], Any]


@dataclass(frozen=True)
class Importance:
    """The first entry of a list or an object counts `first`, and each further one `each` less.

    An entry is never more important than the one that holds it, and an entry of no importance is left out.
    A member that is null or one object is a list of one entry. A member that is kept `ALWAYS` may
    declare its `parts`, where its own class cannot.
    """

    first: float
    each: float = 0.0
    by: Rank | None = None
    largest_first: bool = False  # the largest rank rather than the smallest
    keeps_order: bool = False  # entries stay in their order, rather than by rank
    counted_as: str | Callable[[Any], str] = ""  # in `left_out`, if not by the field's name
    # A field that names what is left out here, and how.
    instead: tuple[str, Callable[[Any], Any]] | None = None
    parts: Mapping[str, Importance] = field(default_factory=dict)


@lru_cache
def importances_of(cls: type[Struct]) -> dict[str, Importance]:
    """Returns what the class of a finding declares, by field."""
    return {
        member.name: one
        for member in fields(cls)
        for one in get_args(member.type)
        if isinstance(one, Importance)
    }
