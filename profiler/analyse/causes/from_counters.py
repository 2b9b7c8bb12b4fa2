"""Says what counters alone show of a kernel: its busiest unit, the warps of its SMs, and what warps wait for.

An `Evidence` in; a few sentences out, for a headline that has no cause to name.
"""

from __future__ import annotations

from profiler.analyse.causes.evidence.blocks_of_sm import find_occupancy_limits
from profiler.analyse.causes.evidence.evidence import Evidence
from profiler.analyse.causes.evidence.latency import UNNAMED
from profiler.analyse.causes.evidence.time_model import NO_WARP
from profiler.analyse.causes.evidence.time_shares import UNITS
from profiler.catalog.metrics import BY_NAME
from profiler.text import whole_percent, without_capital

# A unit that works for less than half of the time idles for most of it.
_MOST_OF_THE_TIME_PCT = 50.0
# Between two blocks, slots for warps are empty for a moment, so the occupancy stays a little below its limit.
_AS_MANY = 0.9
_MOST_REASONS, _LEAST_OF_LIFE = 2, 0.1
_ALLOWED_BY = {
    "block-too-small": "blocks of this size",
    "block-size-limits-occupancy": "blocks of this size",
    "registers-limit-occupancy": "the registers of a thread",
    "shared-memory-limits-occupancy": "the shared memory of a block",
}


def what_counters_show(evidence: Evidence) -> str:
    """Returns the sentences; "" where nothing of it is recorded."""
    told = (_busiest_text(evidence), _warps_text(evidence), _waiting_text(evidence))
    return " ".join(filter(None, told))


def _busiest_text(evidence: Evidence) -> str:
    """Returns how busy the busiest unit is, and what follows from that.

    L1's use over all of the time follows from other counters. Without them, it is known only for the time in which its SM has a warp.
    """
    figures = evidence.figures
    l1 = figures.get("l1_pct", figures.get("l1_throughput_pct", 0.0))
    busy = {name: figures[name] for name in UNITS if name in figures} | {"l1_pct": l1}
    busiest = max(busy, key=lambda name: busy[name])
    if not busy[busiest]:
        return ""
    used = round(min(100.0, busy[busiest]))
    less = "without less of that work, no change saves"
    if used < _MOST_OF_THE_TIME_PCT:
        follows = "for most of the time, warps wait or are missing"
    elif busy[busiest] < 100:
        follows = f"{less} more than {max(1, 100 - used)} % of the time"
    else:
        follows = f"{less} any time"
    return f"{UNITS[busiest]} the busiest unit, at {whole_percent(busy[busiest])} % of the peak: {follows}."


def _warps_text(evidence: Evidence) -> str:
    """Returns how many warps SMs hold, and what keeps them from holding more."""
    held, limit = evidence.find("occupancy_pct"), evidence.find("occupancy_limit_pct")
    if not held or not limit:
        return ""
    text = f"SMs hold {whole_percent(held)} % of the warps that they could"
    if held < _AS_MANY * limit:
        return f"{text}, and have room for {whole_percent(limit)} %."
    if limit >= 100:
        return f"{text}: hardly any more fit."
    limits = find_occupancy_limits(evidence)
    allowed_by = _ALLOWED_BY[min(limits, key=lambda name: limits[name])] if limits else "their limits"
    return f"{text}, about as many as {allowed_by} allow{'s' * allowed_by.startswith('the shared')}."


def _waiting_text(evidence: Evidence) -> str:
    """Returns the reasons for which warps wait most, where they were counted."""
    model = evidence.model
    shares = {reason: model.life_share(reason) for reason in model.waits if reason not in (NO_WARP, UNNAMED)}
    most = sorted(shares, key=lambda reason: -shares[reason])[:_MOST_REASONS]
    told = [
        f"{whole_percent(100 * shares[reason])} % {_for_what(reason)}"
        for reason in most
        if shares[reason] >= _LEAST_OF_LIFE
    ]
    return f"Of their time, warps spend {' and '.join(told)}." if told else ""


def _for_what(reason: str) -> str:
    """Returns what the catalogue says of a stall reason, inside a sentence."""
    metric = BY_NAME.get(f"stall_{reason}")
    doc = metric.doc.rstrip(".").partition(":")[0] if metric else ""
    return without_capital(doc) if doc.startswith("Waiting") else f"stalled ({reason})"
