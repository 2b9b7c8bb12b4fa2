"""Estimates what a change saves: the time that the busiest resource needs, and the waiting that it leaves exposed.

A kernel's time is split in two. The busiest resource (a memory, a pipe, the issue slots) needs its share at its peak
rate. The rest is time in which it idles, because warps wait: that part is divided among the stall reasons as the waiting
warps are. A change takes a fraction of the work off some resources, and a fraction of the waiting off some reasons.

What remains is estimated in two ways. Where a resource is saturated, its work and the idle rest follow each other: the
change shortens both. Where none is, warps hide each other's work, and as many run at once as before, so that the kernel
shrinks as the life of each warp does (Little's law). The busier the busiest resource, the more the first counts. The time in
which a scheduler has no warp, as at the end of a launch, shrinks with the work that comes before it.

The bound is harder: of the resources whose work the change leaves as it is, the busiest still needs its time, even if all
waiting ended. The published record of the estimates (docs/causes.md) is what says how far to trust them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

# Nothing runs at the peak of device memory, and turning its bus round between reads and writes takes time: of the ladders in
# runs/, on an H200, the sums reach 0.94 of the peak and the copies 0.89.
_ONE_WAY, _BOTH_WAYS = 0.94, 0.89
# A kernel that does nothing but read from L2 keeps it at 79 % of its peak (`l2` in tests/data/counters/bound.cu, on an H200).
_REACHABLE_OF_L2 = 0.79
# Of what is within reach. The recorded copies lie between 0.94 and 1.0 of it: what is left beyond 0.9 is what sizes and the order
# of the accesses change.
AT_MEMORY = 0.9
# The shortest kernels in tests/data/reports, which do next to nothing, take 2.2 to 3.0 us under the profiler on an H200: that is
# starting and draining, which no change of the code shortens.
START_NS = 3_000.0
NO_WARP = "no_warp"  # a scheduler has no warp: a part of the waiting that is no stall
# Where warps wait for a unit that is full. Requests to memory pile up from device memory through L2 and L1 to the queue of the
# load/store pipe, which shared memory and the special-function unit share.
_MIO = ("mio_throttle", "short_scoreboard")
_MEMORY = ("long_scoreboard", "lg_throttle", "drain", "tex_throttle", *_MIO)
_MATH = ("math_pipe_throttle",)
_QUEUES: Mapping[str, tuple[str, ...]] = {
    "dram": _MEMORY, "l2": _MEMORY, "l1": _MEMORY, "lsu": _MEMORY, "xu": _MIO,
    "fma": _MATH, "alu": _MATH, "fp64": _MATH, "tensor": _MATH,
}  # fmt: skip


def reachable_of_dram(read: float, written: float) -> float:
    """Returns the part of device memory's peak that is within reach for this mix of reads and writes."""
    if read + written <= 0:
        return _ONE_WAY
    part = written / (read + written)
    return _ONE_WAY - (_ONE_WAY - _BOTH_WAYS) * 4 * part * (1 - part)


def reachable_of_l2(l2: float, dram: float) -> float:
    """Returns the part of L2's peak that is within reach: less than all of it only where L2 is full by itself.

    Its reading is no lower than that of device memory, whose traffic passes through it, and then counts more than its own work.
    """
    is_full = l2 >= AT_MEMORY * _REACHABLE_OF_L2 and l2 > dram
    return _REACHABLE_OF_L2 if is_full else 1.0


@dataclass(frozen=True)
class Effect:
    """A change, as fractions from 0 to 1 that it takes off the work of resources and off the waiting by reason.

    `in_step` is the part of the warps of an SM that all wait, or all use the same unit, so that neither hides the other.
    """

    resources: Mapping[str, float] = field(default_factory=dict)
    waits: Mapping[str, float] = field(default_factory=dict)
    in_step: float = 0.0


@dataclass(frozen=True)
class TimeModel:
    """`busy` is each resource's share of the time, 0 to 1; `waits` how the time in which the busiest idles is divided.

    `issuing` is the part of a warp's time in which it issues or could, and `starting` that of the kernel in which it starts and ends.
    """

    busy: Mapping[str, float]
    waits: Mapping[str, float]
    avoidable: Mapping[str, float] = field(
        default_factory=dict
    )  # parts that no code needs, whatever causes them
    issuing: float = 0.0
    starting: float = 0.0

    @property
    def busiest(self) -> tuple[str, float]:
        return max(self.busy.items(), key=lambda item: item[1], default=("", 0.0))

    @property
    def exposed(self) -> float:
        return 1.0 - self.busiest[1]

    def wait_share(self, *reasons: str) -> float:
        """Returns the share of the kernel's time in which the busiest resource idles for these reasons."""
        return self.exposed * sum(self.waits.get(reason, 0.0) for reason in reasons)

    def life_share(self, *reasons: str) -> float:
        """Returns the part of a warp's time, from its start to its end, in which it waits for these reasons."""
        waiting = sum(self.waits.get(reason, 0.0) for reason in reasons)
        return (1.0 - self.issuing) * waiting / (1.0 - self.waits.get(NO_WARP, 0.0) or 1.0)

    def saved(self, effect: Effect) -> float:
        """Estimates the fraction of the time that a change saves."""
        busiest, share = self.busiest
        needed = max(
            (part * (1.0 - effect.resources.get(one, 0.0)) for one, part in self.busy.items()), default=0.0
        )
        without_warps = self.waits.get(NO_WARP, 0.0)
        tail = self.exposed * without_warps
        if (running := 1.0 - tail) <= 0.0:
            return effect.waits.get(NO_WARP, 0.0)
        # The less is asked of a full unit, the less wait in its queues, whatever they themselves ask for. Of a unit that is
        # half idle, queues are short: the part of the waiting that is spent in them grows faster than the load.
        queues = dict.fromkeys(_QUEUES.get(busiest, ()), share**2 * effect.resources.get(busiest, 0.0))
        gone = sum(
            part * max(effect.waits.get(reason, 0.0), queues.get(reason, 0.0))
            for reason, part in self.waits.items()
            if reason != NO_WARP
        ) / (1.0 - without_warps or 1.0)
        in_turn = (share - needed + (running - share) * gone) / running
        of_each_warp = (1.0 - self.issuing) * gone + self.issuing * effect.resources.get("issue", 0.0)
        saturated = (1.0 - effect.in_step) * share / running
        saved = saturated * in_turn + (1.0 - saturated) * of_each_warp
        saved = min(max(0.0, saved), 1.0 - needed / running)
        saved = running * saved + tail * max(saved, effect.waits.get(NO_WARP, 0.0))
        return (1.0 - self.starting) * saved

    def bound(self, effect: Effect, leaves: Iterable[str]) -> tuple[float, str | None]:
        """Returns the most that a change could save, and the resource that still needs the rest of the time.

        The change does not touch the work of the resources that it `leaves`. None where the estimate itself is the bound.
        """
        kept = {
            name: self.busy.get(name, 0.0)
            * (1.0 - max(effect.resources.get(name, 0.0), self.avoidable.get(name, 0.0)))
            for name in leaves
        }
        name, needed = max(kept.items(), key=lambda item: item[1], default=("", 0.0))
        saved = self.saved(effect)
        return (saved, None) if saved > 1.0 - needed else (1.0 - needed, name if needed else None)
