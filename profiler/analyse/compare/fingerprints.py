"""Checks named patterns of change: how a set of counters moves together if an idea works."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from profiler.analyse.findings import Confirmation, ExpectedChange, MetricDelta, Opcode
from profiler.catalog.metrics import SHARED_LOADS


@dataclass(frozen=True)
class Fingerprint:
    """The way that each metric is `expected` to move when the loads named by `opcodes` get wider and fewer; `doc` says why."""

    name: str
    doc: str
    opcodes: frozenset[str]
    expected: tuple[tuple[str, Literal["up", "down"]], ...]


FOUR_WAY = Fingerprint(
    "four-way",
    "Fewer and wider loads from shared memory leave more issue slots to multiply-adds and drain the queue of the memory pipes (MIO), which moves these four counters like this.",
    SHARED_LOADS,
    (
        ("issue_active_pct", "up"),
        ("fma_pipe_pct", "up"),
        ("lsu_pipe_pct", "down"),
        ("stall_mio_throttle", "down"),
    ),
)

FINGERPRINTS = (FOUR_WAY,)
WHY_EXPECTED = {one.name: one.doc for one in FINGERPRINTS}
_LARGEST_DIFFERENCE = 0.1  # in the bits loaded: beyond it the kernels do not load the same
_LEAST_FEWER = 0.1  # loads
_LEAST_CHANGE = 0.03  # of the larger of two values: a smaller one confirms nothing


def confirm(deltas: Sequence[MetricDelta], opcodes: Sequence[Opcode]) -> list[Confirmation]:
    """Returns the fingerprints that these two kernels should show, each with its checks; none elsewhere."""
    by_name = {delta.name: delta for delta in deltas}
    return [_confirmation(one, by_name) for one in FINGERPRINTS if _widen(one.opcodes, opcodes)]


def _widen(names: Collection[str], opcodes: Sequence[Opcode]) -> bool:
    loads = [one for one in opcodes if one.opcode.split(".")[0] in names]
    before, after = sum(one.before for one in loads), sum(one.after for one in loads)
    bits_before = sum((one.width_bits or 0) * one.before for one in loads)
    bits_after = sum((one.width_bits or 0) * one.after for one in loads)
    loads_the_same = abs(bits_after - bits_before) < _LARGEST_DIFFERENCE * bits_before
    return loads_the_same and after <= (1 - _LEAST_FEWER) * before


def _confirmation(fingerprint: Fingerprint, by_name: Mapping[str, MetricDelta]) -> Confirmation:
    ways = fingerprint.expected
    checks = [ExpectedChange(metric, way, _holds(by_name.get(metric), way)) for metric, way in ways]
    return Confirmation(fingerprint.name, all(check.ok is True for check in checks), checks)


def _holds(delta: MetricDelta | None, expected: str) -> bool | None:
    if delta is None or delta.verdict == "unclear":
        return None
    size = max(abs(delta.before), abs(delta.after))
    if delta.verdict == "same" or abs(delta.delta) < _LEAST_CHANGE * size:
        return False
    return (delta.delta > 0) == (expected == "up")
