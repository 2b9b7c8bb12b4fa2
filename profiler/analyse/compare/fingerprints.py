"""Named patterns of change: what a set of counters does together when an idea works."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from profiler.analyse.findings import Confirmation, ExpectedChange, MetricDelta


@dataclass(frozen=True)
class Fingerprint:
    """Speaks of kernels that do what the metric `about` counts; of two that do not, `otherwise` is said."""

    name: str
    doc: str
    expected: tuple[tuple[str, Literal["up", "down"]], ...]
    about: str
    otherwise: str


FOUR_WAY = Fingerprint(
    "four-way",
    "Wider shared-memory loads: more issue slots do useful FMAs, and the MIO queue drains.",
    (
        ("issue_active_pct", "up"),
        ("fma_pipe_pct", "up"),
        ("lsu_pipe_pct", "down"),
        ("stall_mio_throttle", "down"),
    ),
    about="shared_load_wavefronts",
    otherwise="neither kernel executes a load from shared memory",
)

FINGERPRINTS = (FOUR_WAY,)


def confirm(fingerprint: Fingerprint, deltas: Sequence[MetricDelta]) -> Confirmation:
    by_name = {delta.name: delta for delta in deltas}
    checks = [
        ExpectedChange(metric, expected, _holds(by_name.get(metric), expected))
        for metric, expected in fingerprint.expected
    ]
    about = by_name.get(fingerprint.about)
    is_absent = about is not None and about.before == about.after == 0
    confirmed = not is_absent and all(check.ok is True for check in checks)
    return Confirmation(fingerprint.name, confirmed, checks, fingerprint.otherwise if is_absent else "")


def _holds(delta: MetricDelta | None, expected: str) -> bool | None:
    if delta is None or delta.verdict == "unclear":
        return None
    if delta.verdict == "same":
        return False
    return (delta.delta > 0) == (expected == "up")
