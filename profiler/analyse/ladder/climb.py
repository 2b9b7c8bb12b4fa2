"""A ladder from its store to its finding, and what its charts show beyond that.

A store and a ladder in; a `Climb` out, of one GPU and one workload. `derive_ladder_sheet` makes plain values of
it: the stall reasons of every rung, and the changes of every step with their intervals.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from msgspec import Struct, to_builtins
from msgspec.structs import replace

from profiler.analyse.compare.attribution import STALLS
from profiler.analyse.findings import MetricDelta
from profiler.analyse.ladder.ladder import (
    LadderFinding,
    LadderStep,
    LadderView,
    MissingRung,
    derive_ladder,
    derive_steps,
)
from profiler.analyse.ladder.rungs import (
    Conditions,
    Rung,
    choose_conditions,
    find_runs,
    find_unclear,
    gather_rungs,
    group_runs,
)
from profiler.analyse.recording.profile import Profile
from profiler.catalog.ladders.ladder import Kernel, Ladder
from profiler.errors import ComparisonError
from profiler.store.runs.manifest import rung_name, timed_name
from profiler.store.runs.names import of_kernel
from profiler.store.runs.run_store import Run, RunStore

if TYPE_CHECKING:
    import pandas as pd


# As many as one chart can tell apart by colour.
_MOST_WORKLOADS = 5
_MOST_NAMED = 3


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
    """From rung `before` to rung `kernel`: every metric that both have, or why they may not be compared."""

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
            {"kernel_before": step.before, "kernel": step.kernel, **to_builtins(delta)}
            for step in self.steps
            for delta in step.metrics
        ]
        columns = ["kernel_before", "kernel", *MetricDelta.__struct_fields__]
        return pd.DataFrame(rows, columns=columns).set_index(["kernel", "name"])


def find_climb(
    store: RunStore, ladder: Ladder, workload: Mapping[str, int] | None = None, view: LadderView | None = None
) -> Climb:
    """Of the workload asked for, or of what most rungs share; in the view asked for, or that of the ladder.

    What is wrong with one rung leaves that one out; where none is left, it is the error.
    """
    groups = group_runs(find_runs(store, ladder))
    conditions = choose_conditions(groups, workload)
    rungs = gather_rungs(ladder, groups[conditions])
    unclear = find_unclear(ladder, groups[conditions])
    if not rungs:
        raise next(iter(unclear.values()))
    steps = derive_steps(ladder, rungs)
    finding = replace(
        derive_ladder(ladder, conditions, rungs, steps, view),
        missing=_missing(store, ladder, rungs, unclear, groups),
    )
    others = [str(one) for one in groups if one != conditions]
    return Climb(ladder, conditions, rungs, steps, finding, others)


def _missing(
    store: RunStore,
    ladder: Ladder,
    rungs: Sequence[Rung],
    unclear: Mapping[int, ComparisonError],
    groups: Mapping[Conditions, Sequence[Run]],
) -> list[MissingRung]:
    """The ladder's rungs that are not among these."""
    there = {rung.kernel.number for rung in rungs}
    absent = [kernel for kernel in ladder.kernels if kernel.number not in there]
    stored = {run_id.name for run_id in store.ids()} if absent else set()
    return [
        MissingRung(
            kernel.number,
            kernel.name,
            unclear[kernel.number].message
            if kernel.number in unclear
            else _absence(ladder, kernel, groups, of_kernel(kernel.number, ladder.name, stored)),
        )
        for kernel in absent
    ]


def _absence(
    ladder: Ladder, kernel: Kernel, groups: Mapping[Conditions, Sequence[Run]], stored: Sequence[str]
) -> str:
    """With the names `stored` of that kernel, whatever the preset."""
    names = (rung_name(ladder.name, kernel.number), timed_name(ladder.name, kernel.number))
    elsewhere = [str(one) for one, runs in groups.items() if any(run.manifest.name in names for run in runs)]
    if elsewhere:
        more = f"; and {len(elsewhere) - _MOST_NAMED} more" if len(elsewhere) > _MOST_NAMED else ""
        return f"stored of other conditions alone: {'; '.join(elsewhere[:_MOST_NAMED])}{more}"
    if stored:
        return f"no run with the default preset; there is {', '.join(stored)}"
    needed = f"; it is built only where there is {' and '.join(kernel.needs)}" if kernel.needs else ""
    return f"no run is stored{needed}"


def find_workloads(store: RunStore, climb: Climb) -> list[LadderFinding]:
    """The climb's own workload, and beside it those that most rungs were timed at on this GPU, without steps; the smallest first."""
    own = climb.conditions
    groups = group_runs(find_runs(store, climb.ladder))
    others = [one for one in groups if one != own and one.gpu == own.gpu and one.workload is not None]
    found = [climb.finding]
    for conditions in others[: _MOST_WORKLOADS - 1]:
        rungs = gather_rungs(climb.ladder, groups[conditions])
        found.append(derive_ladder(climb.ladder, conditions, rungs, (), climb.finding.view))
    return sorted(found, key=_size)


def _size(finding: LadderFinding) -> tuple[int, tuple[int, ...]]:
    """How large its workload is: m * n * k, whichever of them makes it so."""
    sizes = tuple((finding.workload or {}).values())
    return prod(sizes), sizes


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
    return {name: series[name].values.mean() for name in STALLS if name in series}
