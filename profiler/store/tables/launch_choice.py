"""Chooses launches of a recording: by the kernel's name, by the NVTX ranges around them, or by their numbers."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from profiler.catalog.patterns import search_typed
from profiler.errors import KernelNotFound
from profiler.text import ends_of_range

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class LaunchChoice:
    """The launches that are meant: kernel, NVTX range and number match what was given, such as 12 or 4-6. None fits all."""

    kernels: str | None = None
    nvtx: str | None = None
    numbers: str | int | None = None

    def __str__(self) -> str:
        named = (("kernels that match", self.kernels), ("NVTX ranges that match", self.nvtx))
        parts = [f"{what} '{pattern}'" for what, pattern in named if pattern is not None]
        if self.numbers is not None:
            numbers = str(self.numbers).strip()
            parts.append(f"launches {numbers}" if "-" in numbers else f"launch {numbers}")
        return " in ".join(parts)

    def launches(self, table: pa.Table) -> set[int]:
        """Returns the numbers of the launches in the table `launches`; raises KernelNotFound for an invalid pattern or range."""
        from profiler.store.tables.columns import labels_of

        numbers = table.column("launch").to_pylist()
        chosen = set(numbers)
        if self.kernels is not None:
            names = labels_of(table, "kernel")
            found = search_typed(self.kernels, [name or "" for name in names])
            chosen &= {number for number, fits in zip(numbers, found, strict=True) if fits}
        if self.nvtx is not None:
            ranges = nvtx_names(table)
            names = list(dict.fromkeys(chain.from_iterable(ranges)))
            wanted = {name for name, fits in zip(names, search_typed(self.nvtx, names), strict=True) if fits}
            chosen &= {number for number, around in zip(numbers, ranges, strict=True) if wanted & set(around)}
        if self.numbers is not None:
            first, last = _ends(str(self.numbers))
            chosen = {number for number in chosen if first <= number <= last}
        return chosen


def _ends(numbers: str) -> tuple[int, int]:
    """Returns the first and the last launch of a number or a range."""
    if ends := ends_of_range(numbers):
        return ends
    raise KernelNotFound(
        f"launch '{numbers}' is no number and no range of them",
        remedy="Give a number, counted from 0 as ncu does, or a range such as 4-6.",
    )


ALL_LAUNCHES = LaunchChoice()


def nvtx_names(table: pa.Table) -> list[list[str]]:
    """Returns the names of the NVTX ranges around each launch of the table `launches`; "" for one without a name."""
    return [[one["name"] or "" for one in around or ()] for around in table.column("nvtx").to_pylist()]


def there_are(numbers: Collection[int]) -> str:
    """Returns which launches there are to choose from, for an error message."""
    return f"Launches are counted from 0, as ncu does: these are {min(numbers)} to {max(numbers)}."


def rows_of_launches(table: pa.Table, launches: Collection[int]) -> pa.Table:
    """Returns the rows of these launches; of a table that is not about launches, none."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if "launch" not in table.column_names:
        return table.slice(0, 0)
    column = table.column("launch")
    return table.filter(pc.is_in(column, pa.array(sorted(launches), column.type)))
