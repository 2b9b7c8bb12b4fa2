"""Estimates what a change saves, and the most that it can save.

A kernel's time has three parts. A launch starts and ends; no change of the code shortens that. Schedulers
have no warp, as at the end of a launch; that shrinks with the work before it. In the rest, warps follow each
other in their slots (`latency.py`); the faster they do, the less time it takes.

The bound is harder: even if all waiting ended, the resources whose work the change does not reduce still need their time,
and the busiest of them decides. The record in docs/track-record.md says how far to trust the estimates.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from profiler.analyse.causes.evidence.latency import LAUNCH, NOT_SELECTED, Circle, Effect, WarpSlots

NO_WARP = "no_warp"  # a scheduler has no warp: this part of the waiting is no stall
# As a part of what is within reach. The recorded copies reach 0.94 to 1.0 of it. Beyond 0.9, only sizes and the order of the
# accesses make a difference.
AT_MEMORY = 0.9
# Nothing runs at the peak of device memory, and turning its bus round between reads and writes takes time: in the ladders of
# runs/, on an H200, the sums reach 0.94 of the peak and the copies 0.89.
ONE_WAY, BOTH_WAYS = 0.94, 0.89
# Kernels that do nothing but read from L2 keep it at 79 to 84 % of its peak, and a product of tiles at 88 % (`l2` in
# tests/data/counters/bound.cu, `read_in_l2` and `matmul_stages` in tests/data/causes, on an H200).
_REACHABLE_OF_L2 = 0.88
_SHARED_BY_SMS = ("l2", "dram", LAUNCH)
# The shortest kernels in tests/data/reports, which do next to nothing, take 2.2 to 3.0 us under the profiler on an H200: that is
# starting and draining, which no change of the code shortens.
START_NS = 3_000.0


def reachable_of_dram(read: float, written: float) -> float:
    """Returns the part of device memory's peak that is within reach for this mix of reads and writes; the most if the mix is unknown."""
    if read + written <= 0:
        return ONE_WAY
    part = written / (read + written)
    return ONE_WAY - (ONE_WAY - BOTH_WAYS) * 4 * part * (1 - part)


def reachable_of_l2(l2: float, dram: float) -> float:
    """Returns the part of L2's peak that is within reach: all of it unless L2 is full by itself.

    L2's counter never reads lower than that of device memory, because its traffic passes through L2. The counter
    then shows more than L2's own work.
    """
    is_full = l2 >= AT_MEMORY * _REACHABLE_OF_L2 and l2 > dram
    return _REACHABLE_OF_L2 if is_full else 1.0


@dataclass(frozen=True)
class AtWork:
    """The part of the time in which an SM has a warp, and the part that all SMs at work would need if they ended together.

    An SM's own units idle while it has no warp. L2 and device memory serve the other SMs meanwhile: the more SMs work, the busier
    they are, and most of all while all of them work.
    """

    each: float = 1.0
    all_of_them: float = 1.0

    def of(self, unit: str) -> float:
        return self.all_of_them if unit in _SHARED_BY_SMS else self.each


@dataclass(frozen=True)
class TimeModel:
    """`busy` is each resource's share of the time, 0 to 1. `waits` divides by reason the time in which the busiest idles.

    `issuing` is the part of a warp's time in which it issues, and `ready` the part in which it could but
    another warp does. `starting` is the part of the kernel's time in which it starts and ends. `at_work` says in which part of
    that time SMs work.
    """

    busy: Mapping[str, float]
    waits: Mapping[str, float]
    # The parts of resources' work that no code needs, whatever causes them.
    avoidable: Mapping[str, float] = field(default_factory=dict)
    issuing: float = 0.0
    ready: float = 0.0
    starting: float = 0.0
    warp_slots: WarpSlots = field(default_factory=WarpSlots)
    at_work: AtWork = field(default_factory=AtWork)

    @property
    def exposed(self) -> float:
        return 1.0 - max(self.busy.values(), default=0.0)

    @property
    def l2_is_full(self) -> bool:
        """Returns whether L2 is at its peak, and busier than device memory. Otherwise it may only pass on that memory's traffic."""
        l2 = self.busy.get("l2", 0.0)
        return l2 >= AT_MEMORY and l2 > self.busy.get("dram", 0.0)

    def wait_share(self, *reasons: str) -> float:
        """Returns the share of the kernel's time in which the busiest resource idles for these reasons."""
        return self.exposed * sum(self.waits.get(reason, 0.0) for reason in reasons)

    def life_share(self, *reasons: str) -> float:
        """Returns the part of a warp's time, from its start to its end, in which it waits for these reasons."""
        waiting = sum(self.waits.get(reason, 0.0) for reason in reasons)
        return (1.0 - self.issuing - self.ready) * waiting / (1.0 - self.waits.get(NO_WARP, 0.0) or 1.0)

    def saved(self, effect: Effect) -> float:
        """Estimates the fraction of the time that a change saves."""
        tail = self.wait_share(NO_WARP)
        if (running := 1.0 - tail) <= 0.0:
            return effect.waits.get(NO_WARP, 0.0)
        saved = 1.0 - 1.0 / self._circle.speedup(effect)
        saved = running * saved + tail * max(saved, effect.waits.get(NO_WARP, 0.0))
        return (1.0 - self.starting) * saved

    def taken(self, effect: Effect) -> float:
        """Returns which part of the time the removed work or waiting takes, even if other work hides it.

        That is the larger of the waiting and the work of the unit that loses most.
        """
        loads = {**self.busy, LAUNCH: self.warp_slots.launching}
        work = max(
            (effect.resources.get(unit, 0.0) * load for unit, load in loads.items()),
            default=0.0,
        )
        reasons = effect.waits.keys() | effect.lighter.keys()
        waiting = sum(
            max(effect.waits.get(reason, 0.0), effect.lighter.get(reason, 0.0)) * self._waited(reason)
            for reason in reasons
        )
        return max(work, waiting)

    def _waited(self, reason: str) -> float:
        return self.wait_share(NO_WARP) if reason == NO_WARP else self.life_share(reason)

    @cached_property
    def _circle(self) -> Circle:
        running = 1.0 - self.wait_share(NO_WARP)
        kept = 1.0 - self.warp_slots.empty
        waits = {reason: kept * self.life_share(reason) for reason in self.waits if reason != NO_WARP}
        return Circle(
            {
                unit: min(1.0, share / min(running, self.at_work.of(unit)))
                for unit, share in {**self.busy, LAUNCH: self.warp_slots.launching}.items()
            },
            kept * self.issuing,
            {**waits, NOT_SELECTED: kept * self.ready},
            self.warp_slots,
        )

    def bound(
        self,
        effect: Effect,
        leaves: Iterable[str],
        spared: Mapping[str, float] | None = None,
        saved: float | None = None,
    ) -> tuple[float, str | None]:
        """Returns the most that a change could save, and the resource that still needs the rest of the time.

        The change does not touch the work of the resources that it `leaves`, except for the parts that may be `spared` on the way.
        The resource is None if the estimate itself is the bound. `saved` is the estimate, if it is known already.
        """
        gone = (effect.resources, self.avoidable, spared or {})
        kept = {
            name: self.busy.get(name, 0.0) * (1.0 - max(parts.get(name, 0.0) for parts in gone))
            for name in leaves
        }
        name, needed = max(kept.items(), key=lambda item: item[1], default=("", 0.0))
        saved = self.saved(effect) if saved is None else saved
        return (saved, None) if saved > 1.0 - needed else (1.0 - needed, name if needed else None)
