"""Finds which instruction others wait for: the load that feeds the instruction that stalls, not the one that stalls.

A sampler sees a warp wait at the first instruction that needs a result. Here such a wait is charged to the instruction
that produces the result: the nearest one before it, going back through the loop around it, that writes one of the
registers read and whose results arrive late.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from profiler.analyse.causes.evidence.sites import BESIDE_SPECIAL, Kind, Site
from profiler.analyse.code.code import Code
from profiler.analyse.code.loops import Loop, find_loops
from profiler.analyse.code.registers import read_registers, written_registers


class Waits(dict[str, float]):
    """Waiting by stall reason; a reason that is missing counts as none."""

    @property
    def total(self) -> float:
        return sum(self.values())

    def __missing__(self, reason: str) -> float:
        return 0.0


# What a warp waits for behind each scoreboard: the long one guards L1 and beyond, the short one the units of the MIO.
_PRODUCERS: dict[str, tuple[Kind, ...]] = {
    "long_scoreboard": ("global load", "local", "atomic"),
    "short_scoreboard": ("shared load", "shared store", "shared atomic", "special", "conversion", "fp64", "mio"),
}  # fmt: skip
# A warp is sampled as waiting at the instruction after the barrier.
_ANY_BEFORE: dict[str, tuple[Kind, ...]] = {"barrier": ("barrier",), "membar": ("barrier",)}
_WAITS_FOR_COPIES = ("LDGDEPBAR", "DEPBAR", "SYNCS", "BAR", "FENCE", "WARPGROUP")


def charge(code: Code, sites: Sequence[Site]) -> dict[Site, Waits]:
    """Returns the waiting samples that each instruction causes, by reason; every sample is charged to one instruction."""
    charged: dict[Site, Waits] = {site: Waits() for site in sites}
    by_function: dict[int, list[Site]] = {}
    for site in sites:
        by_function.setdefault(site.function, []).append(site)
    for function, members in by_function.items():
        loops = find_loops(code.functions[function])
        for index, site in enumerate(members):
            for reason, count in site.waits.items():
                producer = _producer(members, index, reason, loops)
                charged[producer or site][reason] += count
    return charged


def _producer(members: Sequence[Site], index: int, reason: str, loops: Iterable[Loop]) -> Site | None:
    """Returns what the instruction at `index` waits for; of several, the nearest before it."""
    waiting = members[index]
    if reason == "barrier" and waiting.kind == "tensor" and members[max(0, index - 1)].kind != "barrier":
        return _product_of_group(members, index)
    kinds = _PRODUCERS.get(reason)
    if kinds is None or waiting.instruction.name in _WAITS_FOR_COPIES:
        kinds = kinds or _ANY_BEFORE.get(reason, ())
        before = _before(members, index, loops) if kinds else ()
        return next((one for one in before if one.kind in kinds), None)
    needed = read_registers(waiting.instruction)
    nearest = None
    for one in _before(members, index, loops):
        if _arrives_late(one, kinds):
            if not needed.isdisjoint(written_registers(one.instruction)):
                return one
            nearest = nearest or one
    return nearest


def _product_of_group(members: Sequence[Site], index: int) -> Site:
    """Returns the `wgmma` whose warps wait for each other, or for its results.

    Four warps execute it together. Where they meet before it, or wait for it to end, they are sampled as if at a barrier.
    """
    if members[index].instruction.name == "WARPGROUP" and members[index].opcode != "WARPGROUP.ARRIVE":
        near = reversed(members[:index])
    else:
        near = iter(members[index:])
    return next((one for one in near if one.instruction.name.endswith("GMMA")), members[index])


def _arrives_late(site: Site, kinds: tuple[Kind, ...]) -> bool:
    """Returns whether warps wait for a result behind a scoreboard. Conversions outside the special-function unit take a fixed time."""
    return site.kind in kinds and site.instruction.name not in BESIDE_SPECIAL


def _before(members: Sequence[Site], index: int, loops: Iterable[Loop]) -> Iterable[Site]:
    """Yields the instructions before this one, the nearest first; then those of its loop that come after it."""
    yield from reversed(members[:index])
    inside = [loop for loop in loops if members[index].instruction in loop]
    if inside:
        innermost = min(inside, key=lambda loop: loop.end - loop.start)
        yield from (one for one in reversed(members[index:]) if one.instruction in innermost)
