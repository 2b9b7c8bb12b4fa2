"""Reads how a kernel was launched: its grid, its blocks, and what a block needs of an SM.

Launches of one name may differ in all of these, and in their work; who averages them must say so.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from profiler.catalog.metrics import LANES
from profiler.text import counted, duration

SHAPE_COLUMNS = (
    "grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z", "registers", "shared_static_bytes", "shared_dynamic_bytes",
)  # fmt: skip
# What may be several kernels: the grid that is recorded is that of one of them.
_OF_SEVERAL = ("range", "graph", "cmdlist")
# How many times as long the same work may take: L2 delivers up to three times what device memory does to a launch that finds its data
# there, and a boosted clock is up to a third higher than the base one. What takes longer than both together does more.
SAME_WORK = 4.0


class LaunchShape(Struct, frozen=True):
    """`grid` in blocks and `block` in threads, along x, y and z; registers of a thread, shared memory of a block.

    `launches` have this shape and take about as long, `mean_ns`. `first` is the number of the first of them in the recording.
    """

    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    registers: int | None
    shared_bytes: int | None
    launches: int
    first: int | None = None
    mean_ns: float | None = None

    @property
    def blocks(self) -> int:
        return math.prod(self.grid)

    @property
    def threads(self) -> int:
        """Returns the threads of a block."""
        return math.prod(self.block)

    @property
    def warps_of_block(self) -> int:
        return math.ceil(self.threads / LANES)

    @property
    def lanes_of_warp(self) -> float:
        """Returns how many lanes of a block's warps have a thread, on average."""
        return self.threads / self.warps_of_block

    @property
    def warps(self) -> int:
        return self.blocks * self.warps_of_block


def group_launches(
    launches: Iterable[Mapping[str, Any]], times_ns: Mapping[int, float]
) -> list[tuple[LaunchShape, tuple[int, ...]]]:
    """Groups rows of the table of launches by their shape and their work, those that take most of the time first.

    Returns each group with its launches' numbers. Ranges and graphs may be of several grids, so they are in no group. Launches of one shape whose
    times are too far apart for the same work are in several groups; without times, the most frequent shape comes first.
    """
    by_shape: dict[tuple[Any, ...], list[int]] = {}
    for row in launches:
        if row["workload"] in _OF_SEVERAL:
            continue
        by_shape.setdefault(tuple(row[name] for name in SHAPE_COLUMNS), []).append(row["launch"])
    groups = []
    for (*sizes, registers, static, dynamic), alike in by_shape.items():
        if None in sizes:
            continue
        shared = [one for one in (static, dynamic) if one is not None]
        x, y, z, *block = sizes
        for numbers in _by_work(alike, times_ns):
            known = [times_ns[one] for one in numbers if one in times_ns]
            shape = LaunchShape(
                grid=(x, y, z),
                block=(block[0], block[1], block[2]),
                registers=registers,
                shared_bytes=sum(shared) if shared else None,
                launches=len(numbers),
                first=numbers[0],
                mean_ns=sum(known) / len(known) if known else None,
            )
            groups.append((shape, numbers))
    return sorted(groups, key=lambda one: -one[0].launches * (one[0].mean_ns or 1.0))


def _by_work(launches: Sequence[int], times_ns: Mapping[int, float]) -> list[tuple[int, ...]]:
    """Returns launches of one shape in groups that may do the same work: cut where times are farthest apart, until each group may."""
    by_time = sorted(launches, key=lambda launch: times_ns.get(launch, 1.0))
    took = [times_ns.get(launch, 1.0) for launch in by_time]
    cuts = [0, len(took)]
    for at in sorted(range(1, len(took)), key=lambda at: took[at - 1] / took[at]):
        place = bisect_right(cuts, at)
        if took[cuts[place] - 1] > SAME_WORK * took[cuts[place - 1]]:
            cuts.insert(place, at)
    return [tuple(sorted(by_time[start:end])) for start, end in pairwise(cuts)]


def shape_text(shape: LaunchShape) -> str:
    """Returns the grid and the block in words: `32 x 32 blocks of 256 threads`."""
    return f"{_extent(shape.grid, 'block')} of {_extent(shape.block, 'thread')}"


def _extent(sizes: tuple[int, int, int], of: str) -> str:
    """Returns the sizes without trailing 1s, and what they count."""
    x, y, z = sizes
    shown = (x,) if y == z == 1 else (x, y) if z == 1 else sizes
    return f"{' x '.join(f'{size:,}' for size in shown)} {of}{'s' * (shown != (1,))}"


def mixed_shapes_text(shapes: Sequence[LaunchShape]) -> str:
    """Returns the caution about figures over launches of several shapes, or of different work."""
    launches = sum(shape.launches for shape in shapes)
    return f"{differences_text(shapes)}; causes are of those that take longest together, every other figure is of all {launches} launches together"


def differences_text(shapes: Sequence[LaunchShape]) -> str:
    """Returns how the launches differ: in their shapes, in the work that they do, or in both."""
    alike: dict[LaunchShape, list[float]] = {}
    for shape in shapes:
        alike.setdefault(shape_alone(shape), []).append(shape.mean_ns or 0.0)
    ways = (
        [f"the launches have {len(alike)} shapes (grid, block, registers, shared memory)"]
        if len(alike) > 1
        else []
    )
    if apart := [times for times in alike.values() if len(times) > 1]:
        least, most = max(((min(times), max(times)) for times in apart), key=lambda one: one[1])
        ways.append(
            f"launches of one shape take from {duration(least)} to {duration(most)}, which cannot be the same work"
        )
    return ", and ".join(ways)


def shape_alone(shape: LaunchShape) -> LaunchShape:
    """Returns the shape without which launches had it, and how long they took."""
    return replace(shape, launches=0, first=None, mean_ns=None)


def launches_text(shape: LaunchShape) -> str:
    """Returns how many launches have the shape, how long one takes, and its number: `3 launches of 1.2 ms (the first is launch 7)`."""
    took = f" of {duration(shape.mean_ns)}" if shape.mean_ns else ""
    which = "launch" if shape.launches == 1 else "the first is launch"
    number = "" if shape.first is None else f" ({which} {shape.first})"
    return f"{counted(shape.launches, 'launch', 'launches')}{took}{number}"
