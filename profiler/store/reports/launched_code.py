"""The machine code of one launch: where its functions start, how often each instruction ran, and where warps waited.

`action` is the launch as NVIDIA's reader returns it. All addresses are absolute.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

from profiler.store.reports.disassembly import LARGEST_FUNCTION_BYTES

_EXECUTED, _SAMPLES = "inst_executed", "smsp__pcsamp_warps_issue_stalled_"


def is_of_code(metric: str) -> bool:
    """Returns whether the instances of the metric are counts of instructions that the table of the code holds."""
    return metric == _EXECUTED or (metric.startswith(_SAMPLES) and not metric.endswith("_not_issued"))


@dataclass
class LaunchedCode:
    """The functions of a launch by the addresses at which they `start`, and what was counted at each instruction."""

    starts: list[int]
    executed: dict[int, int | None] | None = None
    samples: dict[int, dict[str, int]] | None = None

    @classmethod
    def of(cls, action: Any) -> Self:
        metric = action.metric_by_name("launch__function_pcs")
        if metric is None:
            return cls([])
        return cls(sorted({metric.as_uint64(i) for i in range(metric.num_instances())} - {0}))

    def function_of(self, address: int) -> tuple[int, int] | None:
        """Returns the function that an address is in, and the offset from its start."""
        index = bisect_right(self.starts, address) - 1
        if index < 0 or address - self.starts[index] > LARGEST_FUNCTION_BYTES:
            return None
        return index, address - self.starts[index]

    def note(self, metric: str, addresses: Sequence[int], counts: Sequence[float | None]) -> None:
        """Keeps what a metric counted at these addresses, if it is one of the code."""
        if metric == _EXECUTED:
            whole = (None if count is None else int(count) for count in counts)
            self.executed = dict(zip(addresses, whole, strict=True))
        elif is_of_code(metric):
            reason = metric.removeprefix(_SAMPLES)
            self.samples = self.samples or {}
            for address, count in zip(addresses, counts, strict=True):
                if count:
                    self.samples.setdefault(address, {})[reason] = int(count)

    def counted_in(self, index: int) -> list[int]:
        """Returns the addresses of a function at which anything was counted; none if nothing counted how often they ran."""
        # Samples also show warps on the branch behind the last counted instruction.
        seen = {*self.executed, *(self.samples or ())} if self.executed else ()
        return [one for one in seen if self.function_of(one) == (index, one - self.starts[index])]
