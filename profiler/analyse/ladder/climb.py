"""A ladder as it was climbed on one GPU with one workload, and what its charts show beyond its finding.

A `Climb` in; plain values out: the stall reasons of every rung, and the changes of every step with their intervals.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from msgspec import Struct, to_builtins

from profiler.analyse.compare.attribution import STALLS
from profiler.analyse.compare.compare import typical_ns
from profiler.analyse.findings import DELTA_COLUMNS, MetricDelta, Speedup
from profiler.analyse.ladder.ladder import LadderFinding, LadderStep, RungFinding
from profiler.analyse.ladder.rungs import Conditions, Rung
from profiler.analyse.recording.profile import Profile
from profiler.catalog.ladders.ladder import Ladder

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Climb:
    """`others` are the conditions that runs are stored of as well."""

    ladder: Ladder
    conditions: Conditions
    rungs: list[Rung]
    steps: list[LadderStep]
    finding: LadderFinding
    others: list[str]


class RungStalls(Struct, frozen=True):
    """`stalls` are as `derive_stalls` finds them."""

    kernel: int
    name: str
    stalls: dict[str, float]


class StepDeltas(Struct, frozen=True):
    """The change of every metric from rung `before` to rung `kernel`, or why they cannot be compared."""

    before: int
    kernel: int
    metrics: list[MetricDelta]
    refused: list[str]


class LadderSheet(Struct, frozen=True):
    ladder: LadderFinding
    rungs: list[RungStalls]
    steps: list[StepDeltas]

    def to_pandas(self) -> pd.DataFrame:
        """One row a rung, indexed by its number; its profiled metrics are columns."""
        import pandas as pd

        rows = [to_builtins(rung) for rung in self.ladder.kernels]
        for row in rows:
            row |= {f"profiled_{name}": value for name, value in row.pop("metrics").items()}
        return pd.DataFrame(rows).set_index("kernel")

    def stalls_to_pandas(self) -> pd.DataFrame:
        """One row a rung with stalls, a column for each reason, in cycles per issued instruction of a warp."""
        import pandas as pd

        return pd.DataFrame.from_dict(
            {rung.kernel: rung.stalls for rung in self.rungs if rung.stalls}, orient="index"
        ).rename_axis("kernel")

    def steps_to_pandas(self) -> pd.DataFrame:
        """One row a step and metric, with its interval and verdict."""
        import pandas as pd

        rows = [
            {"kernel_before": step.before, "kernel": step.kernel, **delta.row()}
            for step in self.steps
            for delta in step.metrics
        ]
        columns = ["kernel_before", "kernel", *DELTA_COLUMNS]
        return pd.DataFrame(rows, columns=columns).set_index(["kernel", "name"])


def derive_ladder_sheet(climb: Climb) -> LadderSheet:
    return LadderSheet(
        ladder=climb.finding,
        rungs=[
            RungStalls(rung.kernel.number, rung.kernel.name, derive_stalls(rung.profile))
            for rung in climb.rungs
        ],
        steps=[
            StepDeltas(
                before=step.before.kernel.number,
                kernel=step.after.kernel.number,
                metrics=step.change.metrics if step.change else [],
                refused=list(step.refused),
            )
            for step in climb.steps
        ],
    )


def derive_stalls(profile: Profile) -> dict[str, float]:
    """Cycles from one instruction of a warp to its next by reason, means over launches; empty if not recorded."""
    series = profile.series
    return {name: series[name].values.mean for name in STALLS if name in series}


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
