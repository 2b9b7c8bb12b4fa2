"""Suspects as blocks: the weight of each, its name, and the sentence that explains it."""

from __future__ import annotations

from collections.abc import Sequence

from profiler.analyse.findings import Suspect
from profiler.present.document import Item, Items, Section, Text

_MOST_MISSING = 5
_TITLES = ("could save", "suspect", "why")
NOTHING_STANDS_OUT = "nothing stands out: no resource is near its peak, and no stall takes 5 % of the time"
SHARE_MEANING = "and the share of the time that relieving it could at most save"


def suspect_blocks(whose: str, suspects: Sequence[Suspect], missing: Sequence[str]) -> Section:
    """Returns the list of suspects.

    `whose` names the kernel in a word or two. `missing` are the metrics without which some suspects were not
    judged.
    """
    unjudged = unjudged_text(missing)
    if not suspects:
        return [Text(f"what binds {whose}: {unjudged or NOTHING_STANDS_OUT}")]
    items = [Item(one.weight_pct, one.name, one.sentence) for one in suspects]
    listed = Items(f"what binds {whose}, {SHARE_MEANING}", items, _TITLES)
    return [listed, Text(unjudged)] if unjudged else [listed]


def unjudged_text(missing: Sequence[str]) -> str:
    """Returns which missing metrics kept suspects from being judged; empty if all were judged."""
    if not missing:
        return ""
    more = len(missing) - _MOST_MISSING
    names = ", ".join(missing[:_MOST_MISSING]) + (f" and {more} more" if more > 0 else "")
    return f"some suspects could not be judged, because these metrics are missing: {names}"
