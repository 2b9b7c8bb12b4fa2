"""Stall reasons as bars: which of them have a colour of their own, and what a warp does that waits for nothing."""

from __future__ import annotations

from collections.abc import Mapping

from profiler.present.charts.style import CATEGORIES, GREY, OTHERS

# A warp that is chosen, or could have been, waits for nothing.
READY = ("selected", "not_selected")
READY_TITLE = "issuing or ready"


def colours_of(weights: Mapping[str, float]) -> dict[str, str]:
    """Of the reasons that weigh most; the others share one. What is no wait has none."""
    waits = [reason for reason in weights if reason not in READY]
    ranked = sorted(waits, key=lambda reason: (-weights[reason], reason))
    colours = dict(zip(ranked, CATEGORIES, strict=False))
    return colours | ({OTHERS: GREY} if len(ranked) > len(CATEGORIES) else {})


def grouped(stalls: Mapping[str, float], colours: Mapping[str, str]) -> dict[str, float]:
    """The waits in the order of their colours, then what is no wait."""
    groups: dict[str, float] = dict.fromkeys([*colours, READY_TITLE], 0)
    for reason, value in stalls.items():
        groups[READY_TITLE if reason in READY else reason if reason in colours else OTHERS] += value
    return groups
