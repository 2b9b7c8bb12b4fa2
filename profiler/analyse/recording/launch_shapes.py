"""Reads how a kernel was launched: its grid, its blocks, and what a block needs of an SM.

Launches of one name may differ in all of these; who averages them must say so.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from profiler.catalog.metrics import LANES

SHAPE_COLUMNS = (
    "grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z", "registers", "shared_static_bytes", "shared_dynamic_bytes",
)  # fmt: skip


class LaunchShape(Struct, frozen=True):
    """`grid` in blocks and `block` in threads, along x, y and z; registers of a thread, shared memory of a block."""

    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    registers: int | None
    shared_bytes: int | None
    launches: int

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
    def warps(self) -> int:
        return self.blocks * self.warps_of_block


def launch_shapes(launches: Iterable[Mapping[str, Any]]) -> list[LaunchShape]:
    """Counts the shapes in rows of the table of launches, the most frequent first; ranges and graphs have no grid, so none."""
    counted = Counter(tuple(row[name] for name in SHAPE_COLUMNS) for row in launches)
    shapes = []
    for (*sizes, registers, static, dynamic), count in counted.most_common():
        if None not in sizes:
            shared = [one for one in (static, dynamic) if one is not None]
            grid, block = tuple(sizes[:3]), tuple(sizes[3:])
            shapes.append(LaunchShape(grid, block, registers, sum(shared) if shared else None, count))
    return shapes


def shape_text(shape: LaunchShape) -> str:
    """Returns the grid and the block in words: `32 x 32 blocks of 256 threads`."""
    return f"{_extent(shape.grid, 'block')} of {_extent(shape.block, 'thread')}"


def _extent(sizes: tuple[int, int, int], of: str) -> str:
    """Returns the sizes without trailing 1s, and what they count."""
    x, y, z = sizes
    shown = (x,) if y == z == 1 else (x, y) if z == 1 else sizes
    return f"{' x '.join(f'{size:,}' for size in shown)} {of}{'s' * (shown != (1,))}"


def mixed_shapes_text(shapes: Sequence[LaunchShape]) -> str:
    """Returns the caution about figures over launches of several shapes."""
    launches = sum(shape.launches for shape in shapes)
    return f"{launches} launches of {len(shapes)} shapes: grid, block, registers or shared memory differ; causes are of those that take most of the time, every other figure is of all together"
