"""A ladder as it was climbed on one GPU with one workload, and what its charts show beyond its finding.

A `Climb` in; plain values out: the stall reasons of every rung, and the changes of every step with their intervals.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from shlex import quote
from typing import TYPE_CHECKING

from msgspec import Struct

from profiler.analyse.causes.cause import Cause, Headline
from profiler.analyse.causes.headline import next_at_place
from profiler.analyse.compare.compare import typical_ns
from profiler.analyse.findings import DELTA_COLUMNS, MetricDelta
from profiler.analyse.flat_rows import flat_row
from profiler.analyse.ladder.ladder import LadderFinding, LadderStep, RungFinding
from profiler.analyse.ladder.rungs import Conditions, Rung
from profiler.analyse.recording.profile import Profile
from profiler.catalog import DEFAULT_LADDER
from profiler.catalog.ladders.ladder import Ladder
from profiler.catalog.metrics import STALLS
from profiler.text import duration, times

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Climb:
    """`others` are the other conditions under which runs are stored.

    The finding may come from the cache. `gather` reads and compares the rungs for a question that needs more.
    """

    ladder: Ladder
    conditions: Conditions
    finding: LadderFinding
    others: list[str]
    gather: Callable[[], tuple[list[Rung], list[LadderStep]]]

    @property
    def rungs(self) -> list[Rung]:
        return self.gather()[0]

    @property
    def steps(self) -> list[LadderStep]:
        return self.gather()[1]


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
    """`reference` is the rung that the ladder declares to be the reference itself."""

    ladder: LadderFinding
    rungs: list[RungStalls]
    steps: list[StepDeltas]
    reference: int | None = None

    def to_pandas(self) -> pd.DataFrame:
        """Returns one row for each rung, indexed by its number.

        `speedup` and the columns that begin with `delta_` and `verdict_` are against the rung `before`; `profiled_` are its metrics.
        """
        import pandas as pd

        return pd.DataFrame(map(_rung_row, self.ladder.kernels)).set_index("kernel")

    def stalls_to_pandas(self) -> pd.DataFrame:
        """Returns one row for each rung with stalls, with a column for each reason, in cycles per issued instruction of a warp."""
        import pandas as pd

        rows = {rung.kernel: rung.stalls for rung in self.rungs if rung.stalls}
        return pd.DataFrame.from_dict(rows, orient="index").rename_axis("kernel")

    def steps_to_pandas(self) -> pd.DataFrame:
        """Returns one row for each step and metric, with its interval and verdict."""
        import pandas as pd

        deltas = [(step, delta) for step in self.steps for delta in step.metrics]
        rows = [{"kernel_before": one.before, "kernel": one.kernel, **delta.row()} for one, delta in deltas]
        columns = ["kernel_before", "kernel", *DELTA_COLUMNS]
        return pd.DataFrame(rows, columns=columns).set_index(["kernel", "name"])


def _rung_row(rung: RungFinding) -> dict[str, object]:
    row = flat_row(rung)
    for name in ("metrics", "delta", "speedup", "warnings"):  # which are the cautions
        del row[name]
    low, high = (rung.speedup and rung.speedup.ci) or (None, None)
    row |= {"speedup": rung.speedup and rung.speedup.ratio, "speedup_low": low, "speedup_high": high}
    row |= {f"profiled_{name}": value for name, value in rung.metrics.items()}
    row |= {f"delta_{name}": one.delta for name, one in rung.delta.items()}
    return row | {f"verdict_{name}": one.verdict for name, one in rung.delta.items()}


def derive_ladder_sheet(climb: Climb) -> LadderSheet:
    """Returns the finding of a climb with the stalls of every rung and the change of every metric in every step."""
    return LadderSheet(
        ladder=climb.finding,
        rungs=[
            RungStalls(one.kernel.number, one.kernel.name, derive_stalls(one.profile)) for one in climb.rungs
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
        reference=climb.ladder.reference,
    )


def derive_stalls(profile: Profile) -> dict[str, float]:
    """Cycles from one instruction of a warp to its next by reason, means over launches; empty if not recorded."""
    series = profile.series
    return {name: series[name].values.mean for name in STALLS if name in series}


def delta_rows(finding: LadderFinding, steps: Sequence[LadderStep]) -> list[dict[str, object]]:
    """Lists every metric of every step, and its unprofiled time, whose interval is the speedup's."""
    workload = " ".join(f"{name}={value}" for name, value in (finding.workload or {}).items())
    found = {one.kernel: one for one in finding.kernels}
    rows = []
    for step in steps:
        before, after = (found[rung.kernel.number] for rung in (step.before, step.after))
        shared: dict[str, object] = {
            "ladder": finding.ladder,
            "gpu": finding.gpu,
            "workload": workload or None,
            "kernel_before": before.kernel,
            "kernel": after.kernel,
            "run_id_before": before.run_id,
            "run_id": after.run_id,
        }
        if speedup := after.speedup:
            low, high = speedup.ci or (None, None)
            ratios = {"speedup": speedup.ratio, "speedup_low": low, "speedup_high": high}
            shared |= {**ratios, "basis": speedup.basis}
        if speedup and speedup.basis == "unprofiled":
            one, other = typical_ns(step.before.profile, step.after.profile, speedup.basis)
            time = {"metric": "time_ns", "unit": "ns", "before": one, "after": other, "delta": other - one}
            rows.append({**shared, **time, "verdict": after.verdict, "reason": ""})
        for delta in step.change.metrics if step.change else ():
            row = delta.row()
            del row["change_pct"]  # readers of the file compute it from the two means
            rows.append(shared | {"metric": row.pop("name"), **row})
    return rows


_MOST_STEPS = 3


def furthest_rung(rungs: Sequence[RungFinding]) -> RungFinding | None:
    """Returns the rung that comes furthest against the reference of the first, or else the fastest. It may be the first itself.

    All rungs on the way to it have that reference: a way through another precision and back does not count.
    """
    timed = [rung for rung in rungs if rung.duration_ns]
    climbed = [rung for rung in timed if rung.before is not None]
    if not climbed:
        return None
    first = next((rung for rung in timed if rung.kernel == climbed[0].before), climbed[0])
    unlike = {one.kernel for one in rungs if (one.reference, one.basis) != (first.reference, first.basis)}
    alike = [one for one in climbed if unlike.isdisjoint(rung.kernel for rung in path_to(rungs, one))]
    found = [first, *alike] if alike else climbed
    return max(found, key=lambda rung: (rung.strongest[0], -(rung.duration_ns or 0.0)))


def headline_of_ladder(
    ladder: str,
    rungs: Sequence[RungFinding],
    furthest: RungFinding,
    causes: Sequence[Cause],
    gpu: str | None = None,
) -> Headline:
    """Returns the headline; the rung that comes `furthest` has the `causes`, and `gpu` is the name that `--gpu` needs."""
    path = path_to(rungs, furthest)
    return Headline(_what(path), _why(path), _next(ladder, gpu, furthest, causes))


def path_to(rungs: Sequence[RungFinding], last: RungFinding) -> list[RungFinding]:
    """Returns the rungs from the first to the last, each followed by the one that was compared with it.

    A ladder that leads in a circle is followed once around.
    """
    others = {rung.kernel: rung for rung in rungs if rung.kernel != last.kernel}
    path = [last]
    while (before := path[0].before) is not None and before in others:
        path.insert(0, others.pop(before))
    return path


def _what(path: Sequence[RungFinding]) -> str:
    first, last = path[0], path[-1]
    took = duration(last.duration_ns or 0.0)
    where = "" if last.basis == "unprofiled" else " under the profiler"
    pct, _ = last.strongest
    reference = last.reference if last.best_pct is None else f"the fastest algorithm of {last.reference}"
    reached = f"reaches {pct:.1f} % of {reference}, in {took}" if pct else f"takes {took}"
    if first is last or first.basis != last.basis or not first.duration_ns:
        return f"{_name(last)} {reached}{where}."
    gain = times(first.duration_ns / (last.duration_ns or 1.0))
    return f"{_name(last)} {reached}{where}: {gain} as fast as {_name(first)}."


def _why(path: Sequence[RungFinding]) -> str:
    """Returns the largest steps of the path and those that cost time; steps that change the reference do not count."""
    if len(path) == 1:
        return f"No later rung {'with this reference ' if path[0].reference else ''}does better."
    steps = [rung for before, rung in pairwise(path) if rung.speedup and rung.reference == before.reference]
    ratios = {rung.kernel: rung.speedup.ratio for rung in steps if rung.speedup}
    better = sorted((one for one in steps if one.verdict == "better"), key=lambda one: -ratios[one.kernel])
    worse = [one for one in steps if one.verdict == "worse"]
    parts = (("The largest gains on the way", better[:_MOST_STEPS]), ("Slower than the rung before", worse))
    texts = [(what, [f"{_name(one)} {times(ratios[one.kernel])}" for one in some]) for what, some in parts]
    return " ".join(f"{what}: {', '.join(some)}." for what, some in texts if some)


def _next(ladder: str, gpu: str | None, rung: RungFinding, causes: Sequence[Cause]) -> str:
    which = "" if ladder == DEFAULT_LADDER else f" --ladder {ladder}"
    which += f" --gpu {quote(gpu)}" if gpu else ""
    ask = f"`prof show {rung.kernel}{which}` shows all about it."
    return f"{_name(rung)}, {next_at_place(causes)} {ask}" if causes else ask


def _name(rung: RungFinding) -> str:
    return f"{rung.name} (rung {rung.kernel})"
