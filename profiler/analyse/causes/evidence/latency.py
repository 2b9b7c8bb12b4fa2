"""Follows a place for a warp on an SM, from one warp to the next: what takes its time, and how that changes with the load.

Warps run in a circle: where one has ended, the next takes its place, so that what an SM gets done is the number of its places
over the time that a warp keeps one (Little's law). That time has parts. A warp issues. It waits for latencies that are there
even if nothing else is under way. It queues for units that other warps use, the longer the busier they are. Then its place
stays empty until the next block has been launched.

A change that removes requests removes their part of all that; one that makes them lighter, their part of the queues. What is
left comes round sooner, and the sooner it comes, the longer it queues: the kernel gets as fast as both together allow.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

ISSUE, LAUNCH = "issue", "launch"
NOT_SELECTED = "not_selected"  # ready to issue, while another warp does
BARRIER = "barrier"
# Where warps queue for a unit. Requests to memory pile up from device memory through L2 and L1 to the queue of the load/store
# pipe, which shared memory and the special-function unit share.
_PIPES = ("fma", "alu", "fp64", "tensor")
_MEMORY = ("dram", "l2", "l1", "lsu")
_MIO = (*_MEMORY, "xu")
_QUEUES: Mapping[str, tuple[str, ...]] = {
    "lg_throttle": _MEMORY, "drain": _MEMORY, "tex_throttle": _MEMORY, "mio_throttle": _MIO,
    "math_pipe_throttle": _PIPES, NOT_SELECTED: (ISSUE,),
}  # fmt: skip
# Waiting for a result has both: a latency, and queues on the way.
_RESULTS: Mapping[str, tuple[str, ...]] = {"long_scoreboard": _MEMORY, "short_scoreboard": _MIO}
# Each scheduler of an SM has its own of these, and its own warps (CUDA C++ Programming Guide, "Compute Capability").
_OF_A_SCHEDULER = (ISSUE, *_PIPES, "xu")
SCHEDULERS = 4
_WARPS = 64.0  # that an SM holds
_MOST, _HALVINGS = 1_000.0, 50  # of the speed-up that is looked for, and of the interval in which it is


@dataclass(frozen=True)
class Effect:
    """A change, as fractions from 0 to 1 that it takes off the work of resources and off the waiting by reason.

    `waits` go with the requests that are made no more, and with them their latency. `lighter` goes off the queues alone: as many
    requests are less work each. `warps` times as many warps are there at once.
    """

    resources: Mapping[str, float] = field(default_factory=dict)
    waits: Mapping[str, float] = field(default_factory=dict)
    lighter: Mapping[str, float] = field(default_factory=dict)
    warps: float = 1.0


@dataclass(frozen=True)
class Places:
    """The places for warps. Parts are of the time from the start of a warp to that of the next in its place.

    `unloaded` says by reason what part of the waiting is latency, and no queue. Of the part in which the place is `empty`,
    `refilling` passes however few blocks are to be launched; `launching` is the load of what launches them. An SM has `warps`.
    """

    unloaded: Mapping[str, float] = field(default_factory=dict)
    empty: float = 0.0
    refilling: float = 0.0
    launching: float = 0.0
    warps: float = _WARPS


@dataclass(frozen=True)
class Circle:
    """One turn of a place takes 1: to issue, to wait by reason, and to be empty. `busy` is the load of each unit meanwhile."""

    busy: Mapping[str, float]
    issuing: float
    waits: Mapping[str, float]
    places: Places

    def speedup(self, effect: Effect) -> float:
        """Returns how many times as often the place turns with a change: until the turn takes too long, or a unit is full."""
        most = max((self._work(unit, effect) for unit in self.busy), default=0.0)
        low, high = 1.0, min(_MOST, 1.0 / most) if most else _MOST
        if high <= low or high * self._turn(effect, high) <= effect.warps:
            return max(low, high)
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            if middle * self._turn(effect, middle) < effect.warps:
                low = middle
            else:
                high = middle
        return low

    def _turn(self, effect: Effect, faster: float) -> float:
        """Returns the time of a turn with the change, where turns come so many times as often. Without both, it is 1."""
        fewer_issued = 1.0 - effect.resources.get(ISSUE, 0.0)
        queued_before, queued = self.issuing, self.issuing * fewer_issued
        unloaded = 0.0
        for reason, share in self.waits.items():
            if reason == BARRIER:
                continue
            requests = 1.0 - effect.waits.get(reason, 0.0)
            if reason == NOT_SELECTED:
                requests = min(requests, fewer_issued)
            units = _QUEUES.get(reason) or _RESULTS.get(reason, ())
            latency = self.places.unloaded.get(reason, 0.0) if reason in _RESULTS else float(not units)
            work = min(requests, 1.0 - effect.lighter.get(reason, 0.0))
            unloaded += share * latency * requests
            queued_before += share * (1.0 - latency)
            queued += share * (1.0 - latency) * self._left_of_queue(units, work, effect, faster)
        queued += sum(self._added_queue(unit, effect, faster) for unit in self.busy if unit != LAUNCH)
        # Warps that leave a barrier together come to the next one apart by the turns that they take at units.
        barrier = self.waits.get(BARRIER, 0.0) * (1.0 - effect.waits.get(BARRIER, 0.0))
        life = unloaded + queued + barrier * (queued / queued_before if queued_before else 1.0)
        return life + self._empty(effect, faster, life)

    def _empty(self, effect: Effect, faster: float, life: float) -> float:
        """Returns how long the place is empty: until it is filled again, queueing for that, and while others of its block still run."""
        rest = self.places.empty - self.places.refilling
        launching = self.busy.get(LAUNCH, 0.0)
        launches = 1.0 - effect.resources.get(LAUNCH, 0.0)
        queued = rest * launching * self._left_of_queue((LAUNCH,), launches, effect, faster)
        others = rest * (1.0 - launching) * life / (1.0 - self.places.empty)
        return self.places.refilling * launches + queued + self._added_queue(LAUNCH, effect, faster) + others

    def _left_of_queue(self, units: tuple[str, ...], work: float, effect: Effect, faster: float) -> float:
        """Returns the part of the waiting in these queues that is left of it; what comes to it is in `_added_queue`."""
        before = after = 0.0
        for unit in units:
            busy = self.busy.get(unit, 0.0)
            queue = self._queue(unit, busy)
            before += busy * queue
            left = min(queue, self._queue(unit, faster * self._work(unit, effect)))
            after += busy * left * min(work, 1.0 - effect.resources.get(unit, 0.0))
        return after / before if before else work

    def _added_queue(self, unit: str, effect: Effect, faster: float) -> float:
        """Returns the time by which waiting for a unit gets longer, where it becomes busier.

        A queue that is longer already than its load makes it, because warps come together, is long enough for some more.
        """
        work, busy = self._work(unit, effect), self.busy.get(unit, 0.0)
        by_load = busy / self._sharing(unit) * self._queue(unit, busy)
        before = max(by_load, self._queued.get(unit, 0.0))
        after = work / self._sharing(unit) * self._queue(unit, faster * work)
        return max(0.0, after - before * (1.0 - effect.resources.get(unit, 0.0)))

    @cached_property
    def _queued(self) -> dict[str, float]:
        """Returns the time of a turn that is spent in the queue of each unit; of several, the busier have more of it."""
        found: dict[str, float] = {}
        for reason, share in self.waits.items():
            units = _QUEUES.get(reason) or _RESULTS.get(reason, ())
            queued = share * (1.0 - self.places.unloaded.get(reason, 0.0) * (reason in _RESULTS))
            weights = {
                unit: self.busy.get(unit, 0.0) * self._queue(unit, self.busy.get(unit, 0.0)) for unit in units
            }
            for unit, weight in weights.items():
                if weight:
                    found[unit] = found.get(unit, 0.0) + queued * weight / sum(weights.values())
        return found

    def _work(self, unit: str, effect: Effect) -> float:
        return self.busy.get(unit, 0.0) * (1.0 - effect.resources.get(unit, 0.0))

    def _sharing(self, unit: str) -> float:
        """Returns how many warps share a unit: those of an SM, or of its scheduler."""
        return max(1.0, self.places.warps / (SCHEDULERS if unit in _OF_A_SCHEDULER else 1))

    def _queue(self, unit: str, busy: float) -> float:
        """Returns how many others a warp finds before it at a unit (mean value analysis of a closed network, as Schweitzer approximates it)."""
        others = 1.0 - 1.0 / self._sharing(unit)
        return others * min(1.0, busy) / (1.0 - others * min(1.0, busy))
