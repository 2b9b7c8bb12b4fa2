"""Derives the result of a sweep: the best points, how sure their order is, and what each parameter is worth.

The points of a sweep in, a `TuningFinding` out: the contract of `prof tune --format json`. The winner is decided by
its last stage alone: who was chosen for being fast in one measurement has been lucky in it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from statistics import median
from typing import NamedTuple

from msgspec import Struct

from profiler.analyse.statistics.differences import Readings, mean_difference
from profiler.analyse.statistics.timings import TimingSummary, has_several_processes, logarithms, summarise
from profiler.store.sweeps import Stage, StoredSweep, SweepRepeat, SweptPoint

SCHEMA_VERSION = 1
_STAGES: tuple[Stage, ...] = ("final", "full", "screen")
_MOST_REASONS = 5
_COUNT = re.compile(r" is ([0-9]{1,15})(?![\w.])")  # as the compiler's reasons read: `spill_bytes is 40`


class RankedPoint(Struct, frozen=True):
    """`stage` says how well its time is known: `final` best, `screen` least. `slower_pct` is against the best."""

    settings: dict[str, int]
    time_ns: float
    spread_pct: float
    slower_pct: float
    reference_pct: float | None
    registers: int | None
    shared_bytes: int | None
    stage: Stage
    repeats: int
    is_current: bool  # what the source has now


class TuningStep(Struct, frozen=True):
    """Another point, and how much slower it is than the best, by the repeats of the last stage."""

    settings: dict[str, int]
    slower_pct: float
    ci: tuple[float, float] | None  # 95 %, of slower_pct; None with one process each
    is_sure: bool  # the interval does not hold zero


class ValueWorth(Struct, frozen=True):
    """One value of a parameter: the time of its best correct point, and how much slower that is than the best of all."""

    value: int
    points: int
    best_ns: float
    median_ns: float
    slower_pct: float


class ParameterWorth(Struct, frozen=True):
    """`worth_pct`: how much slower the best point is with the parameter's worst value than with its best."""

    name: str
    worth_pct: float
    values: list[ValueWorth]


class Fate(Struct, frozen=True):
    """Points that were compiled or tried and have no time."""

    status: str
    reason: str
    points: int


class TuningFinding(Struct, frozen=True):
    """`points` are the best of the points that were timed, and `timed` is how many were."""

    schema_version: int
    ladder: str
    kernel: int
    gpu: str
    workload: dict[str, int]
    run_id: str
    recorded: str
    seed: int | None
    reference: str | None
    combinations: int
    excluded: dict[str, int]  # by constraint, before anything was compiled
    tried: int
    timed: int
    stages: dict[Stage, int]  # points that were timed in each
    screen_repeats: int
    repeats: int
    processes: int
    within_pct: float
    reference_spread_pct: float | None  # of the reference's medians over the sweep
    points: list[RankedPoint]
    runner_up: TuningStep | None
    current: TuningStep | None  # None where the source has the best, or none of the points
    parameters: list[ParameterWorth]
    fates: list[Fate]

    @property
    def best(self) -> RankedPoint:
        return self.points[0]


class _Timed(NamedTuple):
    """A correct point with its repeats in the last stage that it reached."""

    point: SweptPoint
    settings: dict[str, int]
    stage: Stage
    repeats: list[SweepRepeat]
    time: TimingSummary


def derive_tuning(
    sweep: StoredSweep, current: Mapping[str, int] | None = None, most: int | None = None
) -> TuningFinding:
    """Ranks the points of a stored sweep, which has at least one correct point, and returns the first `most`, or all.

    `current` is what the source has now.
    """
    manifest, facts = sweep.manifest, sweep.manifest.sweep
    timed = _timed(sweep)
    best = min(timed, key=lambda one: (_STAGES.index(one.stage), one.time.median_ns))
    ranked = sorted(timed, key=lambda one: (one is not best, one.time.median_ns))
    second = next((one for one in ranked[1:] if one.stage == "final"), None)
    now = next((one for one in ranked if one.settings == current and one is not best), None)
    return TuningFinding(
        schema_version=SCHEMA_VERSION,
        ladder=manifest.ladder or "",
        kernel=manifest.kernel or 0,
        gpu=", ".join(manifest.gpus),
        workload=manifest.workload or {},
        run_id=manifest.run_id,
        recorded=manifest.recorded,
        seed=manifest.facts.seed,
        reference=manifest.facts.reference,
        combinations=facts.combinations,
        excluded=facts.excluded,
        tried=len(sweep.points),
        timed=len(timed),
        stages={
            stage: sum(any(repeat.stage == stage for repeat in one.point.repeats) for one in timed)
            for stage in reversed(_STAGES)
        },
        screen_repeats=facts.screen_repeats,
        repeats=facts.repeats,
        processes=facts.processes,
        within_pct=facts.within_pct,
        reference_spread_pct=_reference_spread_pct(sweep.points),
        points=[_ranked(one, best, current) for one in ranked[:most]],
        runner_up=_step(best, second) if second else None,
        current=_step(best, now) if now else None,
        parameters=_parameters(facts.parameters, ranked),
        fates=_fates(sweep.points),
    )


def slowest_correct(sweep: StoredSweep) -> dict[str, int]:
    return max(_timed(sweep), key=lambda one: one.time.median_ns).settings


def _timed(sweep: StoredSweep) -> list[_Timed]:
    found = []
    for point in sweep.points:
        if point.status == "correct" and point.repeats:
            stage = min((repeat.stage for repeat in point.repeats), key=_STAGES.index)
            repeats = [repeat for repeat in point.repeats if repeat.stage == stage]
            time = summarise([one.kernel_ns for one in repeats], [one.reference_ns for one in repeats])
            found.append(_Timed(point, point.settings, stage, repeats, time))
    return found


def _ranked(one: _Timed, best: _Timed, current: Mapping[str, int] | None) -> RankedPoint:
    return RankedPoint(
        settings=one.settings,
        time_ns=one.time.median_ns,
        spread_pct=one.time.spread_pct,
        slower_pct=_slower_pct(one.time.median_ns, best.time.median_ns),
        reference_pct=one.time.reference_pct,
        registers=one.point.registers,
        shared_bytes=one.point.shared_bytes,
        stage=one.stage,
        repeats=one.time.repeats,
        is_current=one.settings == current,
    )


def _slower_pct(time_ns: float, best_ns: float) -> float:
    return 100 * (time_ns / best_ns - 1)


def _step(best: _Timed, other: _Timed) -> TuningStep:
    """Compares the medians of processes as logarithms, so that the interval is one of a ratio."""
    sides = [
        Readings((one.kernel_ns for one in side.repeats), (one.process for one in side.repeats))
        for side in (best, other)
    ]
    several = all(map(has_several_processes, sides))
    difference = mean_difference(*(logarithms(side).around_medians() for side in sides)) if several else None
    if difference is None:
        slower_pct = _slower_pct(other.time.median_ns, best.time.median_ns)
        return TuningStep(other.settings, slower_pct, ci=None, is_sure=False)
    slower_pct, low, high = (100 * math.expm1(log) for log in (difference.delta, *difference.interval()))
    return TuningStep(other.settings, slower_pct, (low, high), not low <= 0 <= high)


def _parameters(declared: Mapping[str, Sequence[int]], timed: Sequence[_Timed]) -> list[ParameterWorth]:
    """Lists the parameters, those worth most first; values in the order in which they are declared, and only where any was timed."""
    best_ns = min(one.time.median_ns for one in timed)
    worths = []
    for name, values in declared.items():
        found = []
        for value in sorted({*values, *(one.settings[name] for one in timed)}):
            times = [one.time.median_ns for one in timed if one.settings[name] == value]
            if times:
                slower = _slower_pct(min(times), best_ns)
                found.append(ValueWorth(value, len(times), min(times), median(times), slower))
        worths.append(ParameterWorth(name, max(one.slower_pct for one in found), found))
    return sorted(worths, key=lambda one: -one.worth_pct)


def _fates(points: Sequence[SweptPoint]) -> list[Fate]:
    """Counts the most frequent reasons by name, and the rest of each status together. Reasons that differ only in figures are one."""
    found: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for point in points:
        if point.status != "correct":
            words = tuple(_COUNT.split(point.reason)[::2])  # between the figures
            found.setdefault((point.status, words), []).append(point.reason)
    ranked = sorted(found.items(), key=lambda item: (-len(item[1]), item[0]))
    fates = [
        Fate(status, _with_ranges(reasons), len(reasons)) for (status, _), reasons in ranked[:_MOST_REASONS]
    ]
    rest: dict[str, int] = {}
    for (status, _), reasons in ranked[_MOST_REASONS:]:
        rest[status] = rest.get(status, 0) + len(reasons)
    return fates + [Fate(status, "for other reasons", count) for status, count in rest.items()]


def _with_ranges(reasons: Sequence[str]) -> str:
    """Returns the first text with each of its figures as a range: `spill_bytes is 16 to 40`."""
    figures = zip(*(map(int, _COUNT.findall(reason)) for reason in reasons), strict=True)

    def spanned(_: re.Match[str]) -> str:
        of_all = next(figures)
        low, high = min(of_all), max(of_all)
        return f" is {low}" if low == high else f" is {low} to {high}"

    return _COUNT.sub(spanned, reasons[0])


def _reference_spread_pct(points: Sequence[SweptPoint]) -> float | None:
    """Returns how far the medians of the reference lie apart, which shows what clocks and heat did meanwhile."""
    groups: dict[tuple[int, Stage, int], list[float]] = {}
    for point in points:
        for repeat in point.repeats:
            if repeat.reference_ns is not None:
                groups.setdefault((point.point, repeat.stage, repeat.process), []).append(repeat.reference_ns)
    medians = [median(group) for group in groups.values()]
    return 100 * (max(medians) - min(medians)) / median(medians) if medians else None
