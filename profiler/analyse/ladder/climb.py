"""A ladder as it was climbed on one GPU with one workload, and what its charts show beyond its finding.

A `Climb` in; plain values out: the stall reasons of every rung, and the changes of every step with their intervals.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from msgspec import Struct, to_builtins

from profiler.analyse.compare.attribution import STALLS
from profiler.analyse.findings import DELTA_COLUMNS, MetricDelta
from profiler.analyse.ladder.ladder import LadderFinding, LadderStep
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
