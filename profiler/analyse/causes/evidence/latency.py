"""Models the time of a warp slot of an SM: what it is spent on, and how that changes with the load.

A slot holds one warp after another: when a warp ends, the next takes its slot. So what an SM gets done is the number of its slots
over the time that a warp keeps one (Little's law). That time has parts. A warp issues. It waits for latencies that are there
even if nothing else is under way. It queues for units that other warps use, the longer the busier they are. Then its slot
stays empty until the next block has been launched.

A change that removes requests removes their part of all that. A change that makes requests lighter removes
their part of the queues. The remaining requests come sooner, and the sooner they come, the longer they queue:
the kernel gets as fast as both allow.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from typing import NamedTuple

ISSUE, LAUNCH = "issue", "launch"
CONSTANTS = "constants"  # the cache that serves lanes which look at different constants
NOT_SELECTED = "not_selected"  # ready to issue, while another warp does
ONE_SLICE = "one slice of l2"  # to which all threads store
# While a scheduler's dispatcher takes longer, for example to read registers of one bank, all warps of that scheduler wait. Each
# waits for one instruction of every other warp, so the more warps there are, the longer it waits.
DISPATCH = "dispatch"
BARRIER = "barrier"
NO_INSTRUCTION = "no_instruction"  # the next one is not in the instruction cache
NO_CONSTANT = "imc_miss"  # what an instruction names is not in the cache of constants
UNNAMED = "unnamed"  # all waiting of a recording that gives no reasons
# Where warps queue for a unit. Requests to memory pile up from device memory through L2 and L1 to the queue of the load/store
# pipe, which shared memory and the special-function unit share.
_PIPES = ("fma", "fma_heavy", "alu", "fp64", "tensor")
_MEMORY = ("dram", "l2", "l1", "lsu", CONSTANTS, ONE_SLICE)
_MIO = (*_MEMORY, "xu")
_QUEUES: Mapping[str, tuple[str, ...]] = {
    "lg_throttle": _MEMORY, "drain": _MEMORY, "tex_throttle": _MEMORY, "mio_throttle": _MIO,
    "math_pipe_throttle": _PIPES, NOT_SELECTED: (ISSUE,),
}  # fmt: skip
# Waiting for a result has both: a latency, and queues on the way.
_RESULTS: Mapping[str, tuple[str, ...]] = {
    "long_scoreboard": _MEMORY, "short_scoreboard": _MIO, UNNAMED: (ISSUE, *_PIPES, *_MIO),
}  # fmt: skip
# The reasons to wait for shared memory: for its results, or in its queue.
FOR_SHARED_MEMORY = ("short_scoreboard", "mio_throttle")
# Each scheduler of an SM has its own of these, and its own warps (CUDA C++ Programming Guide, "Compute Capability").
_OF_A_SCHEDULER = (ISSUE, *_PIPES, "xu")
SCHEDULERS = 4
_WARPS = 64.0  # the slots of an SM
# Cycles from a load to its result while nothing else is under way, on an H200 (the ladder `latency` in runs/).
SHARED_CYCLES, L1_CYCLES, L2_CYCLES, DRAM_CYCLES = 29.0, 40.0, 287.0, 698.0
# A pass of shared memory delivers so many bytes, one word of each of its 32 banks. Of 32 words at random places, 3.5 are in the fullest bank on
# average, each of which takes a pass.
PASS_BYTES = 128
PASSES_AT_RANDOM = 3.5
_MOST = 1_000.0  # the largest speed-up that is searched for
_NEAR = 1e-13  # the relative error that a speed-up may have


@dataclass(frozen=True)
class Effect:
    """A change: the fractions, from 0 to 1, that it removes of each resource's work and of the waiting for each reason.

    `waits` go with the requests that are no longer made, including their latency. `lighter` shortens the
    queues alone: there are as many requests, each with less work. `warps` times as many warps are resident.
    """

    resources: Mapping[str, float] = field(default_factory=dict)
    waits: Mapping[str, float] = field(default_factory=dict)
    lighter: Mapping[str, float] = field(default_factory=dict)
    warps: float = 1.0


def combine(effects: Collection[Effect]) -> Effect:
    """Returns the effect of several changes, each of which removes its part of what the others leave.

    Adding up the parts, or counting only the largest, changes the error of the estimates for the right causes by 0.2 points in
    four blind tests.
    """
    return Effect(
        _combined([one.resources for one in effects]),
        _combined([one.waits for one in effects]),
        _combined([one.lighter for one in effects]),
        prod(one.warps for one in effects),
    )


def _combined(parts: Collection[Mapping[str, float]]) -> dict[str, float]:
    names = {name for one in parts for name in one}
    return {name: 1.0 - prod(1.0 - one.get(name, 0.0) for one in parts) for name in names}


@dataclass(frozen=True)
class WarpSlots:
    """How long the slots of an SM, each of which holds one warp, are empty, and what the warps in them wait for.

    One turn of a slot lasts from the start of a warp in it to the start of the next one. Parts of the time are parts of a turn.
    `unloaded` gives for each stall reason the part of the waiting that is latency; the rest is queueing.
    `empty` is the part of a turn in which the slot has no warp. `refilling` is the part that starting the next block takes, even if
    few blocks are launched. `launching` is how busy the unit is that launches blocks. `warps` is the number of slots of an SM.
    `of_some` gives for each stall reason the part of the waiting that only some warps of a block do, while the others wait for them
    at a barrier.
    """

    unloaded: Mapping[str, float] = field(default_factory=dict)
    empty: float = 0.0
    refilling: float = 0.0
    launching: float = 0.0
    warps: float = _WARPS
    of_some: Mapping[str, float] = field(default_factory=dict)


class _Unit(NamedTuple):
    """A unit with its load. `sharing` warps use it. Each finds `queue` others before it, and keeps its slot `queued` longer for them."""

    busy: float
    sharing: float
    queue: float
    queued: float


class _ChangedUnit(NamedTuple):
    """A unit after a change: its `work` at the same speed, the part of its requests that is `kept`, and how many warps use it.

    A warp keeps its slot longer by `each` for every other before it. Without the change, that was `queued` in all.
    """

    work: float
    kept: float
    sharing: float
    each: float
    queued: float


class _Wait(NamedTuple):
    """The queueing of warps for one reason: its share of a turn, and the `work` that is left.

    `units` has for each unit its name, its load, how many others a warp finds there, and the part of its requests that is left.
    """

    share: float
    work: float
    units: Sequence[tuple[str, float, float, float]]
    before: float  # the sum over the units of load times others there


@dataclass(frozen=True, slots=True)
class _Changed:
    """The units and the waits of one turn after a change, however often turns come."""

    units: Mapping[str, _ChangedUnit]
    waits: Sequence[_Wait]
    issuing: float
    unloaded: float
    apart: float  # the part of `unloaded` that only some warps wait for
    apart_before: float
    barrier: float
    launches: float
    launching: _Wait  # for a slot to be filled


@dataclass(frozen=True)
class Circle:
    """One turn of a slot, as 1: to issue, to wait for each reason, and to be empty. `busy` is the load of each unit meanwhile."""

    busy: Mapping[str, float]
    issuing: float
    waits: Mapping[str, float]
    warp_slots: WarpSlots

    def speedup(self, effect: Effect) -> float:
        """Returns how many times as often the slot gets a new warp after a change: the length of a turn limits it, or a full unit."""
        changed = self._changed(effect)
        most = max((unit.work for unit in changed.units.values()), default=0.0)
        low, high = 1.0, min(_MOST, 1.0 / most) if most else _MOST
        if high <= low or high * self._turn(changed, high) <= effect.warps:
            return max(low, high)
        return find_root(lambda faster: faster * self._turn(changed, faster) - effect.warps, low, high)

    def _changed(self, effect: Effect) -> _Changed:
        changed = {name: _change(unit, name, effect) for name, unit in self._units.items()}
        fewer_issued = 1.0 - effect.resources.get(ISSUE, 0.0)
        apart_before = self.issuing
        unloaded = apart = 0.0
        waits = []
        for reason, share in self.waits.items():
            if reason == BARRIER:
                continue
            requests = 1.0 - effect.waits.get(reason, 0.0)
            if reason == NOT_SELECTED:
                requests = min(requests, fewer_issued)
            units = _QUEUES.get(reason) or _RESULTS.get(reason, ())
            latency = self._latency(reason) if reason in _RESULTS else float(not units)
            work = min(requests, 1.0 - effect.lighter.get(reason, 0.0))
            of_some = share * latency * self.warp_slots.of_some.get(reason, 0.0)
            unloaded += share * latency * requests * (effect.warps if reason == DISPATCH else 1.0)
            apart += of_some * requests
            apart_before += share * (1.0 - latency) + of_some
            if queueing := share * (1.0 - latency):
                waits.append(self._wait(queueing, work, units, changed))
        launches = 1.0 - effect.resources.get(LAUNCH, 0.0)
        return _Changed(
            units=changed,
            waits=waits,
            issuing=self.issuing * fewer_issued,
            unloaded=unloaded,
            apart=apart,
            apart_before=apart_before,
            barrier=self.waits.get(BARRIER, 0.0) * (1.0 - effect.waits.get(BARRIER, 0.0)),
            launches=launches,
            launching=self._wait(1.0, launches, (LAUNCH,), changed),
        )

    def _wait(
        self, share: float, work: float, names: Iterable[str], changed: Mapping[str, _ChangedUnit]
    ) -> _Wait:
        used = [(name, self._units[name]) for name in names if name in changed]
        units = [(name, unit.busy, unit.queue, min(work, changed[name].kept)) for name, unit in used]
        return _Wait(share, work, units, sum([unit.busy * unit.queue for _, unit in used]))

    @cached_property
    def _units(self) -> dict[str, _Unit]:
        """Returns the units that have any work."""
        found = {}
        for name, busy in self.busy.items():
            if busy:
                sharing = self._sharing(name)
                queue = _queue(sharing, busy)
                # Where warps come together, the measured queue is longer than its load explains: some more load adds nothing to it.
                queued = max(busy / sharing * queue, self._queued.get(name, 0.0))
                found[name] = _Unit(busy, sharing, queue, queued)
        return found

    def _turn(self, changed: _Changed, faster: float) -> float:
        """Returns the time of a turn with the change, if turns come this many times as often. With no change, it is 1."""
        queues, added = {}, {}
        for name, (work, _, sharing, each, before) in changed.units.items():
            queues[name] = queue = _queue(sharing, faster * work)
            added[name] = max(0.0, each * queue - before)  # where it becomes busier
        to_launch = added.pop(LAUNCH, 0.0)
        queued = changed.issuing
        for wait in changed.waits:
            queued += wait.share * _left_of_queue(wait, queues)
        queued += sum(added.values())
        # Warps that leave a barrier together arrive at the next one apart, because they take turns at units, or because
        # some of them have latencies that others have not.
        before = changed.apart_before
        apart = queued + changed.apart
        life = changed.unloaded + queued + changed.barrier * (apart / before if before else 1.0)
        return life + self._empty(changed, queues, to_launch, life)

    def _empty(self, changed: _Changed, queues: Mapping[str, float], added: float, life: float) -> float:
        """Returns how long the slot is empty: while others of its block still run, while it queues to be filled, and while it is filled."""
        rest = self.warp_slots.empty - self.warp_slots.refilling
        launching = self.busy.get(LAUNCH, 0.0)
        others = rest * (1.0 - launching) * life / (1.0 - self.warp_slots.empty)
        queued = rest * launching * _left_of_queue(changed.launching, queues)
        return self.warp_slots.refilling * changed.launches + queued + added + others

    @cached_property
    def _queued(self) -> dict[str, float]:
        """Returns the time of a turn that is spent in the queue of each unit; busier units get more of it."""
        found: dict[str, float] = {}
        for reason, share in self.waits.items():
            units = _QUEUES.get(reason) or _RESULTS.get(reason, ())
            queued = share * (1.0 - self._latency(reason) * (reason in _RESULTS))
            weights = {
                unit: self.busy[unit] * _queue(self._sharing(unit), self.busy[unit])
                for unit in units
                if unit in self.busy
            }
            for unit, weight in weights.items():
                if weight:
                    found[unit] = found.get(unit, 0.0) + queued * weight / sum(weights.values())
        return found

    def _latency(self, reason: str) -> float:
        """Returns the part of the waiting for results that is latency. Without reasons, warps queue for as long as the busiest unit works."""
        if reason == UNNAMED:
            return 1.0 - max(
                (self.busy[unit] for unit in _RESULTS[UNNAMED] if unit in self.busy), default=0.0
            )
        return self.warp_slots.unloaded.get(reason, 0.0)

    def _sharing(self, unit: str) -> float:
        """Returns how many warps share a unit: those of an SM, or of its scheduler."""
        return max(1.0, self.warp_slots.warps / (SCHEDULERS if unit in _OF_A_SCHEDULER else 1))


def find_root(rising: Callable[[float], float], low: float, high: float) -> float:
    """Returns the zero of a rising function that is positive at `high`; `low` if it is positive there too.

    The next point is where the line between the two ends meets zero. If an end stays, its value counts half, so that both
    move (the Illinois form of false position): that takes some ten steps, where halving takes 45. Beside a jump, that line may meet zero
    nearer to an end than numbers can say, and the middle is next.
    """
    below, above = rising(low), rising(high)
    if below >= 0:
        return low
    stayed = 0
    while True:
        meeting = low - below * (high - low) / (above - below)
        if high - low <= _NEAR * high:
            return meeting
        if not low < meeting < high:
            meeting = (low + high) / 2
        value = rising(meeting)
        if value < 0:
            low, below = meeting, value
            above /= 2 if stayed > 0 else 1
            stayed = 1
        else:
            high, above = meeting, value
            below /= 2 if stayed < 0 else 1
            stayed = -1


def _change(unit: _Unit, name: str, effect: Effect) -> _ChangedUnit:
    """Returns a unit after a change. With more warps, each finds more others in its queue at the same load."""
    kept = 1.0 - effect.resources.get(name, 0.0)
    work, sharing = unit.busy * kept, max(1.0, unit.sharing * effect.warps)
    return _ChangedUnit(work, kept, sharing, work / unit.sharing, unit.queued * kept)


def _left_of_queue(wait: _Wait, queues: Mapping[str, float]) -> float:
    """Returns the part of the waiting in these queues that is left. `_turn` adds what makes a queue longer."""
    if not wait.before:
        return wait.work
    after = 0.0
    for name, busy, queue, kept in wait.units:
        after += busy * min(queue, queues[name]) * kept
    return after / wait.before


def _queue(sharing: float, busy: float) -> float:
    """Returns how many others a warp finds before it at a unit (mean value analysis of a closed network, as Schweitzer approximates it)."""
    others = 1.0 - 1.0 / sharing
    # At full load, the divisor is 1 / `sharing`: for a huge `sharing`, rounding would make it 0.
    return others * min(1.0, busy) / max(1.0 / sharing, 1.0 - others * min(1.0, busy))
