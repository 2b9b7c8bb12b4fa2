"""Estimates what a change saves: the time that the busiest resource needs, and the waiting that it leaves exposed.

A kernel's time is split in two. The busiest resource (a memory, a pipe, the issue slots) needs its share at its peak
rate. The rest is time in which it idles, because warps wait: that part is divided among the stall reasons as the waiting
warps are. A change takes a fraction of the work off some resources, and a fraction of the waiting off some reasons; what
remains is the estimate. The bound is harder: of the resources whose work the change leaves as it is, the busiest still
needs its time, even if all waiting ended.

The split is simple on purpose. It knows no overlap beyond "the busiest resource hides the others", so the published
record of its estimates (docs/causes.md) is what says how far to trust it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

# Nothing runs at the peak of device memory, and turning its bus round between reads and writes takes time: of the ladders in
# runs/, on an H200, the sums reach 0.94 of the peak and the copies 0.89.
_ONE_WAY, _BOTH_WAYS = 0.94, 0.89
NO_WARP = "no_warp"  # a scheduler has no warp: a part of the waiting that is no stall


def reachable_of_dram(read: float, written: float) -> float:
    """Returns the part of device memory's peak that is within reach for this mix of reads and writes."""
    if read + written <= 0:
        return _ONE_WAY
    part = written / (read + written)
    return _ONE_WAY - (_ONE_WAY - _BOTH_WAYS) * 4 * part * (1 - part)


@dataclass(frozen=True)
class Effect:
    """What a change takes away: fractions from 0 to 1 of the work of resources and of the waiting by reason."""

    resources: Mapping[str, float] = field(default_factory=dict)
    waits: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class TimeModel:
    """`busy` is each resource's share of the time, 0 to 1; `waits` how the time in which the busiest idles is divided."""

    busy: Mapping[str, float]
    waits: Mapping[str, float]
    avoidable: Mapping[str, float] = field(
        default_factory=dict
    )  # parts that no code needs, whatever causes them

    @property
    def busiest(self) -> tuple[str, float]:
        return max(self.busy.items(), key=lambda item: item[1], default=("", 0.0))

    @property
    def exposed(self) -> float:
        return 1.0 - self.busiest[1]

    def wait_share(self, *reasons: str) -> float:
        """Returns the share of the kernel's time in which the busiest resource idles for these reasons."""
        return self.exposed * sum(self.waits.get(reason, 0.0) for reason in reasons)

    def saved(self, effect: Effect) -> float:
        """Estimates the fraction of the time that a change saves."""
        needed = max(
            (share * (1.0 - effect.resources.get(name, 0.0)) for name, share in self.busy.items()),
            default=0.0,
        )
        waiting = self.exposed * sum(
            share * (1.0 - effect.waits.get(reason, 0.0)) for reason, share in self.waits.items()
        )
        return min(1.0, max(0.0, 1.0 - needed - waiting))

    def bound(self, effect: Effect, leaves: Iterable[str]) -> float:
        """Returns the most that a change could save which does not touch the work of the resources that it `leaves`."""
        kept = (
            self.busy.get(name, 0.0)
            * (1.0 - max(effect.resources.get(name, 0.0), self.avoidable.get(name, 0.0)))
            for name in leaves
        )
        return max(self.saved(effect), 1.0 - max(kept, default=0.0))
