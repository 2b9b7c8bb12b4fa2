"""Lists the changes along a ladder as rows, which `prof ladder --output` stores.

Steps and the finding made of them in; the rows of `store.deltas` out.
"""

from __future__ import annotations

from collections.abc import Sequence

from profiler.analyse.compare.compare import typical_ns
from profiler.analyse.findings import Speedup
from profiler.analyse.ladder.ladder import LadderFinding, LadderStep, RungFinding


def delta_rows(finding: LadderFinding, steps: Sequence[LadderStep]) -> list[dict[str, object]]:
    """Lists every metric of every step, and its unprofiled time."""
    workload = " ".join(f"{name}={value}" for name, value in (finding.workload or {}).items())
    found = {one.kernel: one for one in finding.kernels}
    rows = []
    for step in steps:
        before, after = (found[rung.kernel.number] for rung in (step.before, step.after))
        shared = {
            "ladder": finding.ladder,
            "gpu": finding.gpu,
            "workload": workload or None,
            "kernel_before": before.kernel,
            "kernel": after.kernel,
            "run_id_before": before.run_id,
            "run_id": after.run_id,
            **_speedup_columns(after.speedup),
        }
        rows += [shared | one for one in _time_columns(step, after)]
        for delta in step.change.metrics if step.change else ():
            row = delta.row()
            del row["ci"]  # its ends have columns of their own
            rows.append(shared | {"metric": row.pop("name"), **row})
    return rows


def _speedup_columns(speedup: Speedup | None) -> dict[str, object]:
    low, high = speedup.ci if speedup and speedup.ci else (None, None)
    return {
        "speedup": speedup.ratio if speedup else None,
        "speedup_low": low,
        "speedup_high": high,
        "basis": speedup.basis if speedup else None,
    }


def _time_columns(step: LadderStep, after: RungFinding) -> list[dict[str, object]]:
    """Returns the columns of a time, whose interval is the speedup's."""
    if after.speedup is None or after.speedup.basis != "unprofiled":
        return []
    before_ns, after_ns = typical_ns(step.before.profile, step.after.profile, after.speedup.basis)
    return [
        {
            "metric": "time_ns",
            "unit": "ns",
            "before": before_ns,
            "after": after_ns,
            "delta": after_ns - before_ns,
            "verdict": after.verdict,
            "reason": "",
        }
    ]
