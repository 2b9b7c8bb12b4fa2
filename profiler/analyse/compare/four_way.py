"""The four-way confirmation: four counters move together where loads from shared memory became fewer and wider."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from profiler.analyse.findings import Confirmation, ExpectedChange, MetricDelta, Opcode
from profiler.catalog.metrics import SHARED_LOADS

EXPECTED: Mapping[str, Literal["up", "down"]] = {
    "issue_active_pct": "up",
    "fma_pipe_pct": "up",
    "lsu_pipe_pct": "down",
    "stall_mio_throttle": "down",
}
WHY_EXPECTED = (
    "Fewer and wider loads from shared memory leave more issue slots to multiply-adds and drain the queue of the memory pipes (MIO), "
    "which moves these four counters like this."
)
_LARGEST_DIFFERENCE = 0.1  # in the bits loaded: beyond it the kernels do not load the same
_LEAST_FEWER = 0.1  # loads
_LEAST_CHANGE = 0.03  # of the larger of two values: a smaller one confirms nothing


def confirm_four_way(deltas: Sequence[MetricDelta], opcodes: Sequence[Opcode]) -> list[Confirmation]:
    """Returns the confirmation with its checks, if the second kernel loads the same by fewer loads; none elsewhere."""
    if not _loads_widen(opcodes):
        return []
    by_name = {delta.name: delta for delta in deltas}
    checks = [
        ExpectedChange(metric, way, _holds(by_name.get(metric), way)) for metric, way in EXPECTED.items()
    ]
    return [Confirmation("four-way", all(check.ok is True for check in checks), checks)]


def _loads_widen(opcodes: Sequence[Opcode]) -> bool:
    loads = [one for one in opcodes if one.opcode.split(".")[0] in SHARED_LOADS]
    before, after = sum(one.before for one in loads), sum(one.after for one in loads)
    bits_before = sum((one.width_bits or 0) * one.before for one in loads)
    bits_after = sum((one.width_bits or 0) * one.after for one in loads)
    loads_the_same = abs(bits_after - bits_before) < _LARGEST_DIFFERENCE * bits_before
    return loads_the_same and after <= (1 - _LEAST_FEWER) * before


def _holds(delta: MetricDelta | None, expected: str) -> bool | None:
    if delta is None or delta.verdict == "unclear":
        return None
    size = max(abs(delta.before), abs(delta.after))
    if delta.verdict == "same" or abs(delta.delta) < _LEAST_CHANGE * size:
        return False
    return (delta.delta > 0) == (expected == "up")
