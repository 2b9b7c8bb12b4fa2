"""Finds which instruction others wait for: not the one that stalls, but the load whose result it needs.

A sampler sees a warp wait at the first instruction that needs a result. Here such a wait is charged to the instruction
that produces the result. It writes one of the registers that are read, and its results arrive late. The nearest such
instruction before the wait counts, going back through the loop around it.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence

from profiler.analyse.causes.evidence.sites import BESIDE_SPECIAL, Kind, Site
from profiler.analyse.code.code import Code
from profiler.analyse.code.loops import Loop, loops_in
from profiler.analyse.code.opcodes import is_of_group


class Waits(dict[str, float]):
    """Waiting by stall reason; a reason that is missing counts as none."""

    @property
    def total(self) -> float:
        return sum(self.values())

    def __missing__(self, reason: str) -> float:
        return 0.0


# What a warp waits for: behind the long scoreboard L1 and beyond, behind the short one the units of the MIO, else the others of its block.
_PRODUCERS: dict[str, tuple[Kind, ...]] = {
    "long_scoreboard": ("global load", "local", "atomic"),
    "short_scoreboard": ("shared load", "shared store", "shared atomic", "special", "conversion", "fp64", "mio"),
    "barrier": ("barrier",),
    "membar": ("barrier",),
}  # fmt: skip
_AT_BARRIER = ("barrier", "membar")  # a warp is sampled as waiting at the instruction after the barrier
_WAITS_FOR_COPIES = ("LDGDEPBAR", "DEPBAR", "SYNCS", "BAR", "FENCE", "WARPGROUP")


def charge(code: Code, sites: Sequence[Site]) -> dict[Site, Waits]:
    """Returns the waiting samples that each instruction causes, by reason; every sample is charged to one instruction."""
    charged: dict[Site, Waits] = {site: Waits() for site in sites}
    by_function: dict[int, list[Site]] = {}
    for site in sites:
        by_function.setdefault(site.function, []).append(site)
    for function, members in by_function.items():
        loops = _innermost(members, loops_in(code)[function])
        late = {
            reason: [place for place, one in enumerate(members) if _arrives_late(one, kinds)]
            for reason, kinds in _PRODUCERS.items()
        }
        for index, site in enumerate(members):
            for reason, count in site.waits.items():
                before = _before(members, late.get(reason, []), index, loops.get(index))
                producer = _producer(members, before, index, reason)
                charged[producer or site][reason] += count
    return charged


def _innermost(members: Sequence[Site], loops: Iterable[Loop]) -> dict[int, range]:
    """Returns for each index the indices of the innermost loop around it."""
    found: dict[int, range] = {}
    for loop in sorted(loops, key=lambda one: one.start - one.end):  # longer ones first
        start = bisect_left(members, loop.start, key=lambda one: one.instruction.offset)
        inside = range(start, bisect_right(members, loop.end, key=lambda one: one.instruction.offset))
        found |= dict.fromkeys(inside, inside)
    return found


def _producer(members: Sequence[Site], before: Iterable[Site], index: int, reason: str) -> Site | None:
    """Returns what the instruction at `index` waits for, of those `before` it that a warp waits for with this reason."""
    waiting = members[index]
    if reason == "barrier" and waiting.kind == "tensor" and members[max(0, index - 1)].kind != "barrier":
        return _product_of_group(members, index)
    if reason in _AT_BARRIER or waiting.instruction.name in _WAITS_FOR_COPIES:
        return _nearest(before, _has_an_acting_lane)
    needed = waiting.use.named
    return _nearest(before, lambda one: not needed.isdisjoint(one.use.written))


def _nearest(sites: Iterable[Site], is_meant: Callable[[Site], bool]) -> Site | None:
    """Returns the first of these that is meant; the first of all if none is."""
    nearest = None
    for site in sites:
        if is_meant(site):
            return site
        nearest = nearest or site
    return nearest


def _has_an_acting_lane(site: Site) -> bool:
    """Returns whether every warp waits for it. A warp without an acting lane does not, as where one thread copies for the whole block."""
    return site.acting is None or site.acting >= 1


def _product_of_group(members: Sequence[Site], index: int) -> Site:
    """Returns the `wgmma` whose warps wait for each other, or for its results.

    Four warps execute it together. Where they meet before it, or wait for it to end, they are sampled as if at a barrier.
    """
    if members[index].instruction.name == "WARPGROUP" and members[index].opcode != "WARPGROUP.ARRIVE":
        near = reversed(members[:index])
    else:
        near = iter(members[index:])
    return next((one for one in near if is_of_group(one.opcode)), members[index])


def _arrives_late(site: Site, kinds: tuple[Kind, ...]) -> bool:
    """Returns whether warps wait for a result behind a scoreboard. Conversions outside the special-function unit take a fixed time."""
    return site.kind in kinds and site.instruction.name not in BESIDE_SPECIAL


def _before(members: Sequence[Site], places: Sequence[int], index: int, loop: range | None) -> Iterator[Site]:
    """Yields the instructions at these places before this one, the nearest first: of this iteration, of the one before, and of the code before the loop.

    The code before the loop comes second if it leads to more than half of the iterations.
    """
    parts: tuple[range, ...] = (range(index),)
    if loop is not None:
        leading, turn_before = range(loop.start), range(index, loop.stop)
        entering = members[leading[-1]].executed if leading else 0.0
        goes_round = 2 * entering <= members[index].executed
        parts = (
            range(loop.start, index),
            *((turn_before, leading) if goes_round else (leading, turn_before)),
        )
    for part in parts:
        inside = slice(bisect_left(places, part.start), bisect_left(places, part.stop))
        yield from (members[place] for place in reversed(places[inside]))
